//! Conversions from and to dense arrays, rows and triplets.

use crate::formats::csr::Csr;
use crate::local::rows::LocalRows;
use crate::local::triplets::Triplets;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric> Csr<T> {
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
    /// If the computation of the values failed, memory runs out on `root`, or there is no such rank.
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

    /// The matrix with all its zeros, as an array of this runtime.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`], or if memory runs out.
    #[doc(alias = "toarray")]
    #[doc(alias = "todense")]
    pub fn to_dense(&self) -> Result<Array<T, 2>, Error> {
        let (n_rows, n_cols) = self.shape();
        let elements = self.to_elements()?;
        let shape = sparsefuse_runtime::Shape::new(&[n_rows, n_cols]);
        let store = self.runtime().store_from_vec(shape, elements)?;
        Array::from_store(store, None)
    }

    /// The elements with all zeros, row by row, on every rank.
    pub(crate) fn to_elements(&self) -> Result<Vec<T>, Error> {
        let LocalRows { pos, crd, vals } = self.to_rows()?;
        let (n_rows, n_cols) = self.shape();
        let len = n_rows.saturating_mul(n_cols);
        let mut elements = sparsefuse_runtime::reserve(len)?;
        elements.resize(len, T::ZERO);
        for row in 0..n_rows {
            for k in pos[row] as usize..pos[row + 1] as usize {
                elements[row * n_cols + crd[k] as usize] = vals[k];
            }
        }
        Ok(elements)
    }
}
