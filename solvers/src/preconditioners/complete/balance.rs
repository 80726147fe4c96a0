//! Powers of two for the rows and columns of a matrix, by which the sizes of their entries come
//! near 1 in the mean of the exponents: Curtis and Reid, "On the automatic scaling of matrices for
//! Gaussian elimination" (1972), by some rounds over columns and rows in turn. They round nothing.
//! What they change are pivots: the largest number of a column says nothing where an equation is
//! written in other units than the next one.
//!
//! Where an entry would leave the range of the type, or a right-hand side could, all powers are
//! halved until none does.
//!
//! By the columns alone no pivot changes. What is left of the sizes of rows after some rounds is
//! alike in rows that have columns in common, and only such are compared.

use super::Structure;
use super::number::Number;
use crate::powers::exponent;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;
use std::ops::RangeInclusive;

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
/// The exponents that entries may get: none becomes infinite, also after some sums, or loses
/// digits.
const RANGE: RangeInclusive<i32> = -1000..=1000;
/// The least exponent of an entry that is left out of the means, which may lose digits but does not
/// become 0.
const LEAST: i32 = -1070;
/// The largest power, by which elements of right-hand sides and solutions are multiplied too.
const LARGEST: i32 = 450;

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
        let (mut rows, mut columns) = (whole(&rows)?, whole(&columns)?);
        while !keeps(structure, (entries, &sizes), &rows, &columns) {
            // Halves leave every entry nearer to what it was.
            let powers = rows.iter_mut().chain(&mut columns);
            powers.for_each(|power| *power /= 2);
        }
        let mut all = rows.iter().chain(&columns);
        if all.all(|power: &i32| power.abs() <= NEAR) {
            return Ok(Self::default());
        }
        structure.each(|entry, row, column| {
            entries[entry] = entries[entry].times_power(rows[row] + columns[column]);
        });
        Ok(Self { rows, columns })
    }

    /// Multiplies what stands for the rows: each of them has `run` numbers in a row, and all may
    /// come several times.
    pub(super) fn times_rows<E: Number>(&self, x: &mut [E], run: usize) {
        times_powers(x, run, &self.rows);
    }

    /// Multiplies what stands for the columns.
    pub(super) fn times_columns<E: Number>(&self, x: &mut [E], run: usize) {
        times_powers(x, run, &self.columns);
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

/// Whether no power is beyond [`LARGEST`], and all entries stay within [`RANGE`] when they are
/// multiplied, or come nearer to it.
fn keeps<E: Number>(
    structure: &Structure,
    (entries, sizes): (&[E], &[f64]),
    rows: &[i32],
    columns: &[i32],
) -> bool {
    let mut powers = rows.iter().chain(columns);
    let mut keeps = powers.all(|power| power.abs() <= LARGEST);
    structure.each(|entry, row, column| {
        let size = entries[entry].largest_part();
        if size != 0.0 {
            let (before, power) = (exponent(size), rows[row] + columns[column]);
            let is_too_large = power > 0 && before + power > *RANGE.end();
            let least = if sizes[entry].is_nan() {
                LEAST
            } else {
                *RANGE.start()
            };
            let is_too_small = power < 0 && before + power < least;
            keeps &= !is_too_large && !is_too_small;
        }
    });
    keeps
}

fn times_powers<E: Number>(x: &mut [E], run: usize, powers: &[i32]) {
    for (x, &power) in x.chunks_exact_mut(run).zip(powers.iter().cycle()) {
        for x in x {
            *x = x.times_power(power);
        }
    }
}
