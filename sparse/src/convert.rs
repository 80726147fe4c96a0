//! Conversions from and to the matrices of the ecosystem: `sprs`, `ndarray`, dense arrays.

use crate::assemble::{self, LocalRows};
use crate::csr::Csr;
use crate::triplets::Triplets;
use ndarray::{Array2, ArrayView2};
use sparsefuse_dense::Array;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use sprs::{CsMat, CsMatI};

impl<T: Numeric> Csr<T> {
    /// A matrix with the entries of a `sprs` matrix, which may be in row or column format.
    ///
    /// # Errors
    ///
    /// If a dimension is too large for 32-bit indices.
    pub fn from_sprs(matrix: &CsMat<T>) -> Result<Self, Error> {
        let converted;
        let matrix = if matrix.is_csr() {
            matrix
        } else {
            converted = matrix.to_csr();
            &converted
        };
        let (n_rows, n_cols) = matrix.shape();
        assemble::check_shape("from_sprs", n_rows, n_cols)?;
        let indptr = matrix.indptr();
        let positions = indptr.to_proper();
        let pos = positions.iter().map(|&position| position as u64);
        let crd = matrix.indices().iter().map(|&column| column as u32);
        Self::new(
            n_rows,
            n_cols,
            pos.collect(),
            crd.collect(),
            matrix.data().to_vec(),
        )
    }

    /// A matrix with the elements of a dense array that are not 0.
    ///
    /// # Errors
    ///
    /// If a dimension is too large for 32-bit indices.
    pub fn from_ndarray(dense: ArrayView2<'_, T>) -> Result<Self, Error> {
        let (n_rows, n_cols) = dense.dim();
        Self::from_rows(n_rows, n_cols, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for row in rows {
                for (column, &value) in dense.row(row).iter().enumerate() {
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
    /// If the computation of the values failed, or memory runs out on `root`.
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

    /// The matrix on the rank `root` as `sprs` holds it, as [`Csr::gather`].
    ///
    /// # Errors
    ///
    /// As [`Csr::gather`].
    pub fn gather_sprs(&self, root: usize) -> Result<Option<CsMat<T>>, Error> {
        let rows = self.gather(root)?;
        rows.map(|rows| rows.into_sprs(self.n_cols())).transpose()
    }

    /// All entries of the matrix, on every rank, row by row.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_triplets(&self) -> Result<Triplets<T>, Error> {
        self.to_rows()?.into_triplets(self.n_cols())
    }

    /// The matrix as `sprs` holds it, on every rank.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_sprs(&self) -> Result<CsMat<T>, Error> {
        self.to_rows()?.into_sprs(self.n_cols())
    }

    /// The matrix with all its zeros, on every rank. It needs rows times columns elements.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_ndarray(&self) -> Result<Array2<T>, Error> {
        let LocalRows { pos, crd, vals } = self.to_rows()?;
        let (n_rows, n_cols) = self.shape();
        let mut elements = sparsefuse_runtime::reserve(n_rows.saturating_mul(n_cols))?;
        elements.resize(n_rows * n_cols, T::ZERO);
        let mut dense = Array2::from_shape_vec(self.shape(), elements).map_err(|error| {
            Error::argument("to_ndarray", "a shape of an array", error.to_string())
        })?;
        for row in 0..self.n_rows() {
            for k in pos[row] as usize..pos[row + 1] as usize {
                dense[(row, crd[k] as usize)] = vals[k];
            }
        }
        Ok(dense)
    }

    /// The matrix with all its zeros, as an array of this runtime.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`], or if memory runs out.
    pub fn to_dense(&self) -> Result<Array<T, 2>, Error> {
        let (n_rows, n_cols) = self.shape();
        let elements = self.to_ndarray()?.into_raw_vec_and_offset().0;
        let shape = sparsefuse_runtime::Shape::new(&[n_rows, n_cols]);
        let store = self.runtime().store_from_vec(shape, elements)?;
        Array::from_store(store, None)
    }
}

impl<T: Numeric> LocalRows<T> {
    /// The entries, row by row; the rows are all rows of a matrix.
    fn into_triplets(self, n_cols: usize) -> Result<Triplets<T>, Error> {
        let n_rows = self.pos.len() - 1;
        let counts = self.pos.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let rows = counts
            .enumerate()
            .flat_map(|(row, count)| std::iter::repeat_n(row as u32, count))
            .collect();
        Triplets::from_parts(n_rows, n_cols, rows, self.crd, self.vals).map_err(|error| {
            Error::argument("to_triplets", "entries of a matrix", error.to_string())
        })
    }

    /// The same for `sprs`.
    fn into_sprs(self, n_cols: usize) -> Result<CsMat<T>, Error> {
        let shape = (self.pos.len() - 1, n_cols);
        let pos = self
            .pos
            .into_iter()
            .map(|position| position as usize)
            .collect();
        let crd = self.crd.into_iter().map(|column| column as usize).collect();
        CsMatI::try_new(shape, pos, crd, self.vals).map_err(|(_, _, _, error)| {
            Error::argument(
                "to_sprs",
                "a matrix in compressed row format",
                error.to_string(),
            )
        })
    }
}
