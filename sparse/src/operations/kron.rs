//! The Kronecker product.
//!
//! Row `i p + r` of the product of `A` with a matrix `B` of `p` rows is row `i` of `A` with each
//! element replaced by it times row `r` of `B`. A rank makes its rows of the product from the rows
//! of both factors that they need.

use crate::assembly;
use crate::exchange::ghosts::Ghosts;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::parallel;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The Kronecker product `A ⊗ B`: each element of `A` replaced by it times `B`.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// // The Laplace operator of a 3 by 3 grid from those of its sides.
    /// let (line, one) = (gallery::poisson1d::<f64>(3)?, Csr::identity(3)?);
    /// let grid = &line.kron(&one)? + &one.kron(&line)?;
    /// assert_eq!(grid.to_ndarray()?, gallery::poisson2d::<f64>(3)?.to_ndarray()?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the product has too many rows or columns, the computation of the values failed, or
    /// memory runs out.
    pub fn kron(&self, other: &Self) -> Result<Self, Error> {
        let n_rows = self.n_rows().saturating_mul(other.n_rows());
        let n_cols = self.n_cols().saturating_mul(other.n_cols());
        assembly::check_shape("kron", n_rows, n_cols)?;
        eager("kron", &[self, other], || {
            self.kron_of(other, (n_rows, n_cols))
        })
    }

    fn kron_of(&self, other: &Self, (n_rows, n_cols): (usize, usize)) -> Result<Self, Error> {
        let runtime = self.runtime();
        let own = runtime.default_rows(Shape::new(&[n_rows]));
        let rows = own.1.clone();
        let per_row = other.n_rows();
        let outer = match rows.is_empty() {
            true => 0..0,
            false => rows.start / per_row..(rows.end - 1) / per_row + 1,
        };
        let held = self.rows_at(None, outer.clone())?;
        let source = other.own_rows()?;
        let ghosts = Ghosts::new(runtime, source.partition, inner_rows(&rows, per_row))?;
        let fetched = ghosts.fetch_rows(source.as_rows())?;
        let numbers = ghosts.indices();
        let number_of = |row: usize| numbers.partition_point(|&other| (other as usize) < row);
        let (left, right) = (held.as_rows(), fetched.as_rows());
        let parts = parallel::chunks(rows.len(), 1 << 12);
        let of_row = |row: usize| {
            let row = rows.start + row;
            (row / per_row - outer.start, number_of(row % per_row))
        };
        let count = |part: Range<usize>, counts: &mut [u64]| {
            for (row, count) in part.zip(counts) {
                let (row, inner) = of_row(row);
                *count = (left.entries(row).len() * right.entries(inner).len()) as u64;
            }
        };
        let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
            let mut at = 0;
            for row in part {
                let (row, inner) = of_row(row);
                for (column, value) in left.row(row) {
                    let first = column * other.n_cols() as u32;
                    for (column, other) in right.row(inner) {
                        (crd[at], vals[at]) = (first + column, value.times(other));
                        at += 1;
                    }
                }
            }
        };
        let stores = assembly::in_parts(runtime, (n_rows, n_cols), own, &parts, (&count, &fill));
        stores.map(Self::of_stores)
    }
}

/// The rows of the right factor, of `per_row`, that some rows of the product need.
fn inner_rows(rows: &Range<usize>, per_row: usize) -> Vec<u32> {
    let inner = |range: Range<usize>| range.map(|row| row as u32);
    if rows.len() >= per_row {
        return inner(0..per_row).collect();
    }
    let (start, end) = (rows.start % per_row, rows.end % per_row);
    match (rows.is_empty(), start < end) {
        (true, _) => Vec::new(),
        (false, true) => inner(start..end).collect(),
        (false, false) => inner(0..end).chain(inner(start..per_row)).collect(),
    }
}
