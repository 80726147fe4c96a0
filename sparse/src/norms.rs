//! Sums and norms: products with a vector of ones and reductions of the values, so lazy, fused and
//! in the runtime's order of summation. What goes by columns goes through the transpose, which makes
//! the order that of the rows.

use crate::csr::Csr;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;

impl<T: Numeric> Csr<T> {
    /// The sum of each row. One product with a vector.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// assert_eq!(a.row_sums()?.to_vec()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the product cannot be issued.
    pub fn row_sums(&self) -> Result<Vector<T>, Error> {
        self.try_dot(&self.runtime().enter(|| Vector::ones([self.n_cols()])))
    }

    /// The sum of each column, over ascending rows. One transpose, and one product with a vector.
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn column_sums(&self) -> Result<Vector<T>, Error> {
        self.transpose()?.row_sums()
    }

    /// The absolute values of the entries. One task.
    #[must_use]
    pub fn abs(&self) -> Csr<T::Magnitude> {
        self.mapped(self.values().abs())
    }

    /// The complex conjugate. One task; [`Csr::adjoint`] transposes too.
    #[must_use]
    pub fn conj(&self) -> Self {
        self.mapped(self.values().conj())
    }

    /// The same structure with values of perhaps another type, one for each entry.
    fn mapped<U: Numeric>(&self, vals: Vector<U>) -> Csr<U> {
        Csr::from_stores(self.shape(), self.pos().clone(), self.crd().clone(), vals)
    }
}

impl<T: Field> Csr<T> {
    /// The 1-norm: the largest sum of absolute values of a column. One transpose.
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn norm_one(&self) -> Result<Scalar<T::Real>, Error> {
        Ok(self.abs().column_sums()?.norm_inf())
    }

    /// The infinity norm: the largest sum of absolute values of a row. One product with a vector
    /// and one reduction.
    ///
    /// # Errors
    ///
    /// As [`Csr::row_sums`].
    pub fn norm_inf(&self) -> Result<Scalar<T::Real>, Error> {
        Ok(self.abs().row_sums()?.norm_inf())
    }

    /// The Frobenius norm: the square root of the sum of the squares of all values. One reduction.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![3.0, -4.0])?;
    /// assert_eq!(a.norm_frobenius().get()?, 5.0);
    /// assert_eq!(a.norm_max().get()?, 4.0);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    #[must_use]
    pub fn norm_frobenius(&self) -> Scalar<T::Real> {
        self.values().norm2()
    }

    /// The largest absolute value of an entry; 0 if there is none. One reduction.
    #[must_use]
    pub fn norm_max(&self) -> Scalar<T::Real> {
        self.values().norm_inf()
    }
}
