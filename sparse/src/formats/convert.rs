//! Conversions from and to dense arrays, rows and triplets.

use crate::assembly::{self, ASSEMBLE};
use crate::exchange::ghosts::rows_at;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::parallel::{self, Threads};
use crate::local::rows::{LocalRows, Rows};
use crate::local::triplets::Triplets;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

/// Elements of a dense array that one thread looks at at a time.
const PART: usize = 1 << 18;

impl<T: Numeric> Csr<T> {
    /// The elements of an array that are not 0, as SciPy's `csr_array(a)`. Executes the window, and
    /// works on all threads: two passes over the array, of which each rank reads the rows that it
    /// has of the matrix. Those of other ranks travel, where the array is cut otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1.0, 0.0, 2.0, 0.0, 0.0, 3.0])?;
    /// let sparse = Csr::from_dense(&a)?;
    /// assert_eq!((sparse.shape(), sparse.nnz(), sparse.get(1, 2)?), ((2, 3), 3, 3.0));
    /// assert_eq!(sparse.to_dense()?.to_vec()?, a.to_vec()?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the array failed, or it is too large for a sparse matrix.
    #[doc(alias = "csr_array")]
    pub fn from_dense(a: &Array<T, 2>) -> Result<Self, Error> {
        let [n_rows, n_cols] = a.shape();
        assembly::check_shape("csr", n_rows, n_cols)?;
        let runtime = a.runtime();
        let a = a.contiguous()?;
        let stores = runtime.eager_task(ASSEMBLE, &[a.store()], || {
            let own = runtime.default_rows(Shape::new(&[n_rows]));
            runtime.agree(assembly::check_memory(runtime, &own.1))?;
            let held = runtime.agree(a.local())?;
            let elements = rows_at(runtime, (own.0, &own.1), &held, n_cols)?;
            let row = |row: usize| elements[row * n_cols..][..n_cols].iter();
            let is_entry = |value: &&T| **value != T::ZERO;
            let count = |rows: Range<usize>, counts: &mut [u64]| {
                for (number, count) in rows.zip(counts) {
                    *count = row(number).filter(is_entry).count() as u64;
                }
            };
            let fill = |rows: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
                let entries = rows.flat_map(|number| {
                    let columns = (0..).zip(row(number));
                    columns.filter(move |(_, value)| is_entry(value))
                });
                for ((crd, val), (column, &value)) in crd.iter_mut().zip(vals).zip(entries) {
                    (*crd, *val) = (column, value);
                }
            };
            let parts = parallel::chunks(own.1.len(), PART.div_ceil(n_cols.max(1)));
            let shape = (n_rows, n_cols);
            assembly::in_parts(runtime, shape, own, &parts, (&count, &fill))
        });
        stores.map(Self::of_stores)
    }

    /// A matrix with the elements of a dense one that are not 0; `elements` gives those of a row.
    pub(crate) fn from_dense_rows<I: Iterator<Item = T>>(
        n_rows: usize,
        n_cols: usize,
        elements: impl Fn(usize) -> I,
    ) -> Result<Self, Error> {
        Self::from_rows(n_rows, n_cols, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for row in rows {
                for (column, value) in elements(row).enumerate() {
                    if value != T::ZERO {
                        local.push(column as u32, value);
                    }
                }
                local.end_row();
            }
            local
        })
    }
}

impl<T: Numeric> Csr<T> {
    /// The matrix itself, as other formats have it too. Free.
    ///
    /// # Errors
    ///
    /// None.
    pub fn to_csr(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    /// All rows of the matrix, on every rank; executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn to_rows(&self) -> Result<LocalRows<T>, Error> {
        let runtime = self.runtime();
        // Also a rank that has failed takes part in all of the exchanges.
        let pos = runtime.read(self.pos(), None);
        let crd = runtime.read(self.crd(), None);
        let vals = self.values().to_vec();
        Ok(LocalRows {
            pos: pos?,
            crd: crd?,
            vals: vals?,
        })
    }

    /// All rows of the matrix on the rank `root`, `None` on the others; executes the window. Every
    /// rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, memory runs out on `root`, or there is no such
    /// rank.
    pub fn gather(&self, root: usize) -> Result<Option<LocalRows<T>>, Error> {
        let runtime = self.runtime();
        let pos = runtime.gather(self.pos(), None, root)?;
        let crd = runtime.gather(self.crd(), None, root)?;
        let vals = self.values().contiguous()?;
        let vals = runtime.gather(vals.store(), None, root)?;
        Ok(match (pos, crd, vals) {
            (Some(pos), Some(crd), Some(vals)) => Some(LocalRows { pos, crd, vals }),
            _ => None,
        })
    }

    /// All entries of the matrix on the rank `root`, row by row, as [`Csr::gather`].
    ///
    /// # Errors
    ///
    /// As [`Csr::gather`].
    pub fn gather_triplets(&self, root: usize) -> Result<Option<Triplets<T>>, Error> {
        let rows = self.gather(root)?;
        rows.map(|rows| rows.into_triplets(self.n_cols()))
            .transpose()
    }

    /// All entries of the matrix, on every rank, row by row.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_triplets(&self) -> Result<Triplets<T>, Error> {
        self.to_rows()?.into_triplets(self.n_cols())
    }

    /// The matrix with all its zeros, as an array of this runtime, of which each rank makes its
    /// rows. Executes the window, and works on all threads.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`], or if memory runs out.
    #[doc(alias = "toarray")]
    #[doc(alias = "todense")]
    pub fn to_dense(&self) -> Result<Array<T, 2>, Error> {
        let shape = Shape::new(&[self.n_rows(), self.n_cols()]);
        eager("to_dense", &[self], || {
            let runtime = self.runtime();
            let (partition, own) = runtime.default_rows(shape);
            let held = self.rows_at(Some(partition), own)?;
            let rows = held.as_rows();
            let store = runtime.store_by_filling(shape, partition, |elements| {
                fill_dense(&Threads::of(runtime), rows, self.n_cols(), elements);
                Ok(())
            });
            Array::from_store(runtime.agree(store)?, None)
        })
    }
}

/// Elements of a dense matrix that a thread writes at a time, at least a row.
const DENSE_PART: usize = 1 << 15;

/// Writes all elements of some rows.
fn fill_dense<T: Numeric>(threads: &Threads, rows: Rows<'_, T>, n_cols: usize, elements: &mut [T]) {
    let width = n_cols.max(1);
    let parts = parallel::chunks(rows.len(), DENSE_PART.div_ceil(width));
    let lens = parts.iter().map(|part| part.len() * n_cols);
    let work = parts.iter().cloned().zip(parallel::split(elements, lens));
    parallel::each(threads, work, |(part, elements)| {
        for (row, elements) in part.zip(elements.chunks_exact_mut(width)) {
            elements.fill(T::ZERO);
            for (column, value) in rows.row(row) {
                elements[column as usize] = value;
            }
        }
    });
}
