//! ILU(0) of a matrix that one rank holds, such as a block of a larger one.

use super::elimination::{Earlier, Factored, Memory, Pivot, Rule, Work};
use super::pattern::Pattern;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{LocalRows, Rows};
use std::sync::Arc;

/// The factors, and where the entries of the matrix are.
#[derive(Clone, Debug)]
pub(crate) struct LocalFactors<T> {
    pos: Arc<Vec<u64>>,
    crd: Arc<Vec<u32>>,
    factored: Factored<T>,
}

impl<T: Field> LocalFactors<T> {
    /// The factors, or the first pivot that cannot be divided by.
    pub(crate) fn new(
        op: &'static str,
        rows: LocalRows<T>,
    ) -> Result<Result<Self, Pivot<T>>, Error> {
        let LocalRows { pos, crd, vals } = rows;
        Self::eliminated(op, Arc::new(pos), Arc::new(crd), &vals)
    }

    /// The same for other values of the entries.
    pub(crate) fn with_values(
        &self,
        op: &'static str,
        vals: &[T],
    ) -> Result<Result<Self, Pivot<T>>, Error> {
        Self::eliminated(op, Arc::clone(&self.pos), Arc::clone(&self.crd), vals)
    }

    fn eliminated(
        op: &'static str,
        pos: Arc<Vec<u64>>,
        crd: Arc<Vec<u32>>,
        vals: &[T],
    ) -> Result<Result<Self, Pivot<T>>, Error> {
        let rows = Rows::of_parts(&pos, &crd, vals);
        let pattern = Pattern::of_rows(op, 0..rows.len(), rows)?;
        let work = Work {
            op,
            rule: Rule::General,
            first: 0,
            needed: &[],
            earlier: Earlier::none(),
            scale: None,
        };
        let memory = Memory::new(0, pattern, work.rule)?;
        let (factored, found) = work.eliminate(rows, memory);
        let made = Self { pos, crd, factored };
        Ok(found?.map_or(Ok(made), Err))
    }

    /// x := U^-1 L^-1 x.
    pub(crate) fn solve(&self, x: &mut [T]) {
        let Factored {
            lower,
            upper,
            pivots,
            ..
        } = &self.factored;
        let (lower, upper) = (lower.as_rows(), upper.as_rows());
        for row in 0..x.len() {
            let entries = lower.row(row);
            x[row] = entries.fold(x[row], |rest, (column, entry)| {
                rest - entry * x[column as usize]
            });
        }
        for row in (0..x.len()).rev() {
            // In ascending columns.
            let entries = upper.row(row).rev();
            let rest = entries.fold(x[row], |rest, (column, entry)| {
                rest - entry * x[column as usize]
            });
            x[row] = rest.over(pivots[row]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A banded matrix of order `n` that dominates its diagonal, row by row without zeros.
    fn band(n: usize, reach: usize) -> LocalRows<f64> {
        let mut rows = LocalRows::with_capacity(n, 0);
        for row in 0..n {
            for column in row.saturating_sub(reach)..n.min(row + reach + 1) {
                let value = match column == row {
                    true => 4.0 * reach as f64,
                    false => -1.0 - ((row * 7 + column * 3) % 5) as f64 / 8.0,
                };
                rows.push(column as u32, value);
            }
            rows.end_row();
        }
        rows
    }

    /// A band without gaps has no fill, so its incomplete factors are exact.
    #[test]
    fn the_factors_of_a_band_solve_it() -> Result<(), Error> {
        let rows = band(40, 3);
        let x: Vec<f64> = (0..40).map(|row| 1.0 + (row % 7) as f64).collect();
        let view = rows.as_rows();
        let product = |row| {
            view.row(row)
                .map(|(column, value)| value * x[column as usize])
        };
        let mut b: Vec<f64> = (0..40).map(|row| product(row).sum()).collect();
        let factors = LocalFactors::new("test", rows.clone())?;
        let factors = factors.map_err(|pivot| pivot.error("test"))?;
        factors.solve(&mut b);
        assert!(b.iter().zip(&x).all(|(found, x)| (found - x).abs() < 1e-12));
        Ok(())
    }

    #[test]
    fn the_first_pivot_that_is_0_is_found() -> Result<(), Error> {
        let mut rows = band(5, 1);
        // The entries in columns 2 and 3.
        let first = rows.pos[3] as usize;
        rows.vals[first..first + 2].fill(0.0);
        let found = LocalFactors::new("test", rows)?.err();
        assert_eq!(found, Some(Pivot { row: 3, value: 0.0 }));
        Ok(())
    }
}
