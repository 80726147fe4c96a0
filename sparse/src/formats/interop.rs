//! Conversions from and to the matrices of the ecosystem, `sprs` and `ndarray`; here with the
//! feature `interop`.

use crate::assembly;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::local::rows::LocalRows;
use crate::local::triplets::Triplets;
use ndarray::{Array2, ArrayView2};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, reserve};
use sprs::{CsMat, CsMatI, TriMat};

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
        assembly::check_shape("from_sprs", n_rows, n_cols)?;
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

    /// The matrix on the rank `root` as `sprs` holds it, as [`Csr::gather`].
    ///
    /// # Errors
    ///
    /// As [`Csr::gather`].
    pub fn gather_sprs(&self, root: usize) -> Result<Option<CsMat<T>>, Error> {
        let rows = self.gather(root)?;
        rows.map(|rows| rows.into_sprs(self.n_cols())).transpose()
    }

    /// The matrix as `sprs` holds it, on every rank.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_sprs(&self) -> Result<CsMat<T>, Error> {
        self.to_rows()?.into_sprs(self.n_cols())
    }

    /// A matrix with the elements of a dense array that are not 0.
    ///
    /// # Errors
    ///
    /// If a dimension is too large for 32-bit indices.
    pub fn from_ndarray(dense: ArrayView2<'_, T>) -> Result<Self, Error> {
        let (n_rows, n_cols) = dense.dim();
        Self::from_dense_rows(n_rows, n_cols, |row| dense.row(row).into_iter().copied())
    }

    /// The matrix with all its zeros, on every rank. It needs rows times columns elements.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_ndarray(&self) -> Result<Array2<T>, Error> {
        Array2::from_shape_vec(self.shape(), self.to_elements()?)
            .map_err(|error| Error::argument("to_ndarray", "an ndarray", error.to_string()))
    }

    /// The elements with all zeros, row by row, on every rank.
    fn to_elements(&self) -> Result<Vec<T>, Error> {
        let LocalRows { pos, crd, vals } = self.to_rows()?;
        let (n_rows, n_cols) = self.shape();
        let len = n_rows.saturating_mul(n_cols);
        let mut elements = reserve(len)?;
        elements.resize(len, T::ZERO);
        for row in 0..n_rows {
            for k in pos[row] as usize..pos[row + 1] as usize {
                elements[row * n_cols + crd[k] as usize] = vals[k];
            }
        }
        Ok(elements)
    }
}

impl<T: Numeric> Csc<T> {
    /// A matrix with the entries of a `sprs` matrix, which may be in row or column format.
    ///
    /// # Errors
    ///
    /// If a dimension is too large for 32-bit indices.
    pub fn from_sprs(matrix: &CsMat<T>) -> Result<Self, Error> {
        let transpose = matrix.transpose_view().to_owned();
        Csr::from_sprs(&transpose).map(Self::of_transpose)
    }

    /// The matrix as `sprs` holds it, in column format, on every rank.
    ///
    /// # Errors
    ///
    /// As [`Csr::to_rows`].
    pub fn to_sprs(&self) -> Result<CsMat<T>, Error> {
        Ok(self.transpose().to_sprs()?.transpose_into())
    }
}

impl<T: Numeric> Coo<T> {
    /// A matrix with the entries of a `sprs` matrix.
    ///
    /// # Errors
    ///
    /// If a dimension is too large for 32-bit indices.
    pub fn from_sprs(matrix: &TriMat<T>) -> Result<Self, Error> {
        assembly::check_shape("from_sprs", matrix.rows(), matrix.cols())?;
        let narrow = |indices: &[usize]| indices.iter().map(|&index| index as u32).collect();
        Self::from_triplets(Triplets::from_checked_parts(
            matrix.rows(),
            matrix.cols(),
            narrow(matrix.row_inds()),
            narrow(matrix.col_inds()),
            matrix.data().to_vec(),
        ))
    }

    /// The matrix as `sprs` holds it, on every rank.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn to_sprs(&self) -> Result<TriMat<T>, Error> {
        let (rows, cols, vals) = self.to_triplets()?.into_parts();
        let wide = |indices: Vec<u32>| indices.into_iter().map(|index| index as usize).collect();
        Ok(TriMat::from_triplets(
            self.shape(),
            wide(rows),
            wide(cols),
            vals,
        ))
    }
}

impl<T: Numeric> LocalRows<T> {
    /// The rows as `sprs` holds them; they are all rows of a matrix.
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
