//! Powers of two for the rows and columns of a matrix, by which the sizes of their entries come
//! near 1 in the mean of the exponents: Curtis and Reid, "On the automatic scaling of matrices for
//! Gaussian elimination" (1972), by some rounds over columns and rows in turn. They round nothing.
//! What they change are pivots: the largest number of a column says nothing where an equation is
//! written in other units than the next one.
//!
//! By the columns alone no pivot changes. What is left of the sizes of rows after some rounds is
//! alike in rows that have columns in common, and only such are compared.

use super::{Number, Structure};
use crate::powers::exponent;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// What rows and columns are multiplied by, as exponents of 2; empty where nothing is.
#[derive(Default)]
pub(super) struct Balance {
    rows: Vec<i32>,
    columns: Vec<i32>,
}

/// An entry whose exponent is further than this below those of the largest ones of its row and its
/// column is left out of both means.
const FAR: i32 = 200;
/// Exponents up to this one make no difference.
const NEAR: i32 = 8;
/// The most rounds.
const ROUNDS: usize = 20;

impl Balance {
    /// For entries of a structure, row by row, which are multiplied; those of a matrix that needs
    /// it not stay as they are.
    pub(super) fn of<E: Number>(structure: &Structure, entries: &mut [E]) -> Result<Self, Error> {
        let n = structure.pos.len() - 1;
        // The logarithms of sizes, less those of rows and columns; of 0 there is none.
        let mut sizes = sizes(structure, entries)?;
        let zeros = || try_collect::<f64>(repeat_n(0.0, n));
        let (mut rows, mut columns) = (zeros()?, zeros()?);
        let (mut sums, mut counts) = (zeros()?, zeros()?);
        for _ in 0..ROUNDS {
            let mut largest = 0.0_f64;
            for by_rows in [false, true] {
                sums.fill(0.0);
                counts.fill(0.0);
                structure.each(|entry, row, column| {
                    if !sizes[entry].is_nan() {
                        let line = if by_rows { row } else { column };
                        sums[line] += sizes[entry];
                        counts[line] += 1.0;
                    }
                });
                for (sum, &count) in sums.iter_mut().zip(&counts) {
                    *sum /= count.max(1.0);
                    largest = largest.max(sum.abs());
                }
                structure.each(|entry, row, column| {
                    sizes[entry] -= sums[if by_rows { row } else { column }];
                });
                let powers = if by_rows { &mut rows } else { &mut columns };
                for (power, mean) in powers.iter_mut().zip(&sums) {
                    *power -= mean;
                }
            }
            if largest < 1.0 {
                break;
            }
        }
        let whole = |powers: &[f64]| try_collect(powers.iter().map(|power| power.round() as i32));
        let (rows, columns) = (whole(&rows)?, whole(&columns)?);
        let mut all = rows.iter().chain(&columns);
        if all.all(|power: &i32| power.abs() <= NEAR) {
            return Ok(Self::default());
        }
        structure.each(|entry, row, column| {
            entries[entry] = entries[entry].times_power(rows[row] + columns[column]);
        });
        Ok(Self { rows, columns })
    }

    /// Multiplies what stands for the rows.
    pub(super) fn times_rows<E: Number>(&self, x: &mut [E]) {
        times_powers(x, &self.rows);
    }

    /// Multiplies what stands for the columns.
    pub(super) fn times_columns<E: Number>(&self, x: &mut [E]) {
        times_powers(x, &self.columns);
    }
}

/// The exponents of the entries; of those that say nothing, not a number.
fn sizes<E: Number>(structure: &Structure, entries: &[E]) -> Result<Vec<f64>, Error> {
    let n = structure.pos.len() - 1;
    let size = |entry: &E| match entry.largest_part() {
        0.0 => i32::MIN,
        largest => exponent(largest),
    };
    let least = || try_collect(repeat_n(i32::MIN, n));
    let (mut of_rows, mut of_columns): (Vec<i32>, Vec<i32>) = (least()?, least()?);
    structure.each(|entry, row, column| {
        let size = size(&entries[entry]);
        of_rows[row] = of_rows[row].max(size);
        of_columns[column] = of_columns[column].max(size);
    });
    let mut sizes = try_collect(repeat_n(f64::NAN, entries.len()))?;
    structure.each(|entry, row, column| {
        let size = size(&entries[entry]);
        let largest = of_rows[row].min(of_columns[column]);
        if size != i32::MIN && size >= largest - FAR {
            sizes[entry] = f64::from(size);
        }
    });
    Ok(sizes)
}

fn times_powers<E: Number>(x: &mut [E], powers: &[i32]) {
    for (x, &power) in x.iter_mut().zip(powers) {
        *x = x.times_power(power);
    }
}
