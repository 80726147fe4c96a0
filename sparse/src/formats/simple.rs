//! Matrices that need no entries to be given: zeros, and ones on a diagonal.

use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, try_collect};
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// A matrix without entries, as SciPy's `csr_array((m, n))`.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::<f64>::zeros(2, 3)?;
    /// assert_eq!((a.shape(), a.nnz()), ((2, 3), 0));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more than `u32::MAX` rows or columns, or memory runs out.
    pub fn zeros(n_rows: usize, n_cols: usize) -> Result<Self, Error> {
        let count = |rows: Range<usize>| try_collect((0..rows.len() + 1).map(|_| 0));
        Self::from_counted_rows(n_rows, n_cols, count, |_, _, _, _| ())
    }

    /// The matrix with ones at `a[i, i + offset]`: above the main diagonal for positive offsets,
    /// below for negative ones. As SciPy's `eye_array(m, n, k)`; [`Csr::identity`] is the square
    /// one with its ones on the main diagonal.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::<f64>::eye_at(2, 3, 1)?;
    /// assert_eq!(a.to_dense()?.to_vec()?, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::zeros`].
    #[doc(alias = "eye_array")]
    pub fn eye_at(n_rows: usize, n_cols: usize, offset: isize) -> Result<Self, Error> {
        Self::on_diagonal((n_rows, n_cols), offset, T::ONE)
    }

    /// The matrix with one value everywhere on a diagonal.
    pub(crate) fn on_diagonal(
        (n_rows, n_cols): (usize, usize),
        offset: isize,
        value: T,
    ) -> Result<Self, Error> {
        let Range { start, end } = rows_of_diagonal((n_rows, n_cols), offset);
        let before = |row: usize| (row.clamp(start, end) - start) as u64;
        let count = |rows: Range<usize>| {
            let first = before(rows.start);
            try_collect((0..rows.len() + 1).map(|row| before(rows.start + row) - first))
        };
        let fill = |rows: Range<usize>, _: &[u64], crd: &mut [u32], vals: &mut [T]| {
            let of_diagonal = rows.start.clamp(start, end)..rows.end.clamp(start, end);
            for (column, row) in crd.iter_mut().zip(of_diagonal) {
                *column = row.saturating_add_signed(offset) as u32;
            }
            vals.fill(value);
        };
        Self::from_counted_rows(n_rows, n_cols, count, fill)
    }
}

/// The rows in which a diagonal has elements.
pub(crate) fn rows_of_diagonal((n_rows, n_cols): (usize, usize), offset: isize) -> Range<usize> {
    let first = offset.min(0).unsigned_abs().min(n_rows);
    let columns = n_cols.saturating_sub(offset.max(0).unsigned_abs());
    first..n_rows.min(first.saturating_add(columns))
}
