//! Powers of two for the rows and columns of a matrix, by which the largest number of each comes
//! near 1: Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices"
//! (RAL-TR-2001-034). They round nothing. What they change are pivots: the largest number of a
//! column says nothing where an equation is written in other units than the next one.

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

/// Exponents up to this one make no difference.
const NEAR: i32 = 8;
/// The most rounds. Each halves the distances from 1, of which the largest is about 2^1074.
const ROUNDS: usize = 16;

impl Balance {
    /// For entries of a structure, row by row, which are multiplied; of one that needs none they
    /// stay as they are.
    pub(super) fn of<E: Number>(structure: &Structure, entries: &mut [E]) -> Result<Self, Error> {
        let n = structure.pos.len() - 1;
        let exponents: Vec<i32> =
            try_collect(entries.iter().map(|entry| match entry.largest_part() {
                0.0 => i32::MIN,
                largest => exponent(largest),
            }))?;
        let zeros = || try_collect::<i32>(repeat_n(0, n));
        let (mut rows, mut columns) = (zeros()?, zeros()?);
        let (mut of_rows, mut of_columns) = (zeros()?, zeros()?);
        for _ in 0..ROUNDS {
            of_rows.fill(i32::MIN);
            of_columns.fill(i32::MIN);
            for row in 0..n {
                for entry in structure.entries(row) {
                    if exponents[entry] == i32::MIN {
                        continue;
                    }
                    let column = structure.crd[entry] as usize;
                    let size = exponents[entry] + rows[row] + columns[column];
                    of_rows[row] = of_rows[row].max(size);
                    of_columns[column] = of_columns[column].max(size);
                }
            }
            let mut has_changed = false;
            for (powers, largest) in [(&mut rows, &of_rows), (&mut columns, &of_columns)] {
                for (power, &largest) in powers.iter_mut().zip(largest) {
                    if largest != i32::MIN && largest / 2 != 0 {
                        *power -= largest / 2;
                        has_changed = true;
                    }
                }
            }
            if !has_changed {
                break;
            }
        }
        let mut all = rows.iter().chain(&columns);
        if all.all(|power| power.abs() <= NEAR) {
            return Ok(Self::default());
        }
        for row in 0..n {
            for entry in structure.entries(row) {
                let power = rows[row] + columns[structure.crd[entry] as usize];
                entries[entry] = entries[entry].times_power(power);
            }
        }
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

fn times_powers<E: Number>(x: &mut [E], powers: &[i32]) {
    for (x, &power) in x.iter_mut().zip(powers) {
        *x = x.times_power(power);
    }
}
