//! A matrix within another frame: with more or fewer rows and columns, and with elements in the
//! place of some of its own.

use crate::assembly;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::merge::Terms;
use crate::local::parallel;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The matrix with another number of rows and columns: what lies beyond them is left out, and
    /// what is new is 0. As SciPy's `resize`, which changes the matrix. Linear in rows and entries;
    /// executes the window, and works on all threads.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let b = a.resize(2, 4)?;
    /// assert_eq!(b.to_dense()?.to_vec()?, [2.0, -1.0, 0.0, 0.0, -1.0, 2.0, -1.0, 0.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more than `u32::MAX` rows or columns, the computation of the values failed, or
    /// memory runs out.
    pub fn resize(&self, n_rows: usize, n_cols: usize) -> Result<Self, Error> {
        self.placed("resize", (n_rows, n_cols), (0, 0))
    }

    /// The matrix with another one in the place of the block whose first element is in this row and
    /// column: SciPy's `a[i:i + m, j:j + n] = b`, as a new matrix. Of the block's elements what is
    /// stored becomes stored, zeros too. Cost as of a sum.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let b = a.with_block(0, 1, &Csr::identity(2)?)?;
    /// assert_eq!(b.to_dense()?.to_vec()?, [2.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 2.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the block does not lie within the matrix, the matrices are those of two runtimes, the
    /// computation of the values failed, or memory runs out.
    pub fn with_block(&self, row: usize, column: usize, block: &Self) -> Result<Self, Error> {
        const OP: &str = "with_block";
        let (height, width) = block.shape();
        let (end, last) = (row.saturating_add(height), column.saturating_add(width));
        if end > self.n_rows() || last > self.n_cols() {
            let expected = format!("a block within {} by {}", self.n_rows(), self.n_cols());
            let found = format!("rows {row}..{end}, columns {column}..{last}");
            return Err(Error::argument(OP, expected, found));
        }
        let is_outside = |i: usize, j: usize, _| i < row || i >= end || j < column || j >= last;
        let others = self.kept(OP, is_outside)?;
        others.replaced(OP, &block.placed(OP, self.shape(), (row, column))?)
    }

    /// The matrix with another element in this row and column: SciPy's `a[i, j] = x`, as a new
    /// matrix. It is stored, also if it is 0. Linear in all entries: for many elements see
    /// [`Csr::with_entries_of`].
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?.with_element(0, 2, 7.0)?;
    /// assert_eq!((a.get(0, 2)?, a.nnz()), (7.0, 8));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such row or column, the computation of the values failed, or memory runs out.
    pub fn with_element(&self, row: usize, column: usize, value: T) -> Result<Self, Error> {
        const OP: &str = "with_element";
        if row >= self.n_rows() || column >= self.n_cols() {
            let expected = format!("a place in {} by {}", self.n_rows(), self.n_cols());
            return Err(Error::argument(OP, expected, format!("({row}, {column})")));
        }
        let element = self
            .runtime()
            .enter(|| Self::new(1, 1, vec![0, 1], vec![0], vec![value]));
        self.replaced(OP, &element?.placed(OP, self.shape(), (row, column))?)
    }

    /// The matrix with the elements of another one wherever that has an entry, also if it is a 0:
    /// SciPy's `a[i, j] = v` of index arrays, as a new matrix. Cost as of a sum.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, Triplets};
    ///
    /// let a = Csr::identity(3)?;
    /// let new = Triplets::from_parts(3, 3, vec![0, 2], vec![0, 1], vec![5.0, 6.0])?;
    /// let b = a.with_entries_of(&Csr::from_triplets(&new)?)?;
    /// assert_eq!(b.to_dense()?.to_vec()?, [5.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 6.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn with_entries_of(&self, other: &Self) -> Result<Self, Error> {
        self.replaced("with_entries_of", other)
    }

    fn replaced(&self, op: &'static str, other: &Self) -> Result<Self, Error> {
        let terms = Terms {
            both: |_, new| new,
            left: |old| old,
            right: |new| new,
        };
        self.joined(op, other, |_, new| new.clone(), terms)
    }

    /// The matrix as a part of one of another shape, its first element in this row and column; what
    /// lies beyond that one is left out.
    fn placed(
        &self,
        op: &'static str,
        (n_rows, n_cols): (usize, usize),
        (down, right): (usize, usize),
    ) -> Result<Self, Error> {
        assembly::check_shape(op, n_rows, n_cols)?;
        eager(op, &[self], || {
            let runtime = self.runtime();
            let own = runtime.default_rows(Shape::new(&[n_rows]));
            let first = own.1.start;
            let old = |row: usize| row.saturating_sub(down).min(self.n_rows());
            let wanted = old(first)..old(own.1.end);
            let held = self.rows_at(None, wanted.clone())?;
            let from = held.as_rows();
            // The entries of a row, where the matrix has one.
            let row_of = |row: usize| {
                let old = (first + row).checked_sub(down);
                let old = old.filter(|old| wanted.contains(old))?;
                Some(from.row(old - wanted.start))
            };
            let room = n_cols.saturating_sub(right);
            let is_within = |column: u32| (column as usize) < room;
            let count = |part: Range<usize>, counts: &mut [u64]| {
                for (row, count) in part.zip(counts) {
                    let entries = row_of(row).into_iter().flatten();
                    *count = entries.filter(|&(column, _)| is_within(column)).count() as u64;
                }
            };
            let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
                let entries = part.filter_map(row_of).flatten();
                let entries = entries.filter(|&(column, _)| is_within(column));
                for ((crd, val), (column, value)) in crd.iter_mut().zip(vals).zip(entries) {
                    (*crd, *val) = (column + right as u32, value);
                }
            };
            let parts = parallel::chunks(own.1.len(), 1 << 12);
            let stores =
                assembly::in_parts(runtime, (n_rows, n_cols), own, &parts, (&count, &fill));
            stores.map(Self::of_stores)
        })
    }
}
