//! Norms and condition numbers of matrices, and factors completed to square matrices.

use super::factor::{Qr, Svd};
use super::order;
use crate::array::Array;
use crate::operand::named;
use crate::scalar::Scalar;
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;

/// Which norm of a matrix: `ord` of NumPy's `linalg.norm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixNorm {
    /// The root of the sum of squares, as [`Array::norm2`] and [`Array::norm2_axis`] compute it.
    Frobenius,
    /// The largest sum of absolute values of a column.
    One,
    /// The smallest sum of absolute values of a column: `ord=-1`.
    MinusOne,
    /// The largest sum of absolute values of a row.
    Infinity,
    /// The smallest sum of absolute values of a row: `ord=-inf`.
    MinusInfinity,
    /// The largest singular value.
    Two,
    /// The smallest singular value: `ord=-2`.
    MinusTwo,
    /// The sum of the singular values: `ord='nuc'`.
    Nuclear,
}

impl<T: Field> Array<T, 2> {
    /// A norm of the matrix: NumPy's `linalg.norm(a, ord)`. Tasks that fuse, or the
    /// [singular values](Array::singular_values).
    ///
    /// ```
    /// use sparsefuse_dense::{Array, MatrixNorm};
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![0.0, -2.0, 3.0, 0.0])?;
    /// assert_eq!(a.matrix_norm(MatrixNorm::Two)?.get()?, 3.0);
    /// assert_eq!(a.matrix_norm(MatrixNorm::Nuclear)?.get()?, 5.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix has no element, unless the norm is that of Frobenius. If the matrix is not
    /// finite, singular values come with an error.
    #[doc(alias = "norm")]
    pub fn matrix_norm(&self, norm: MatrixNorm) -> Result<Scalar<T::Real>, Error> {
        const OP: &str = "matrix_norm";
        if norm != MatrixNorm::Frobenius {
            check_any(OP, self)?;
        }
        named(OP, || match norm {
            MatrixNorm::Frobenius => self.try_norm2(),
            MatrixNorm::One => self.try_abs()?.try_sum_axis(0)?.try_max(),
            MatrixNorm::MinusOne => self.try_abs()?.try_sum_axis(0)?.try_min(),
            MatrixNorm::Infinity => self.try_abs()?.try_sum_axis(1)?.try_max(),
            MatrixNorm::MinusInfinity => self.try_abs()?.try_sum_axis(1)?.try_min(),
            MatrixNorm::Two => self.singular_values()?.try_max(),
            MatrixNorm::MinusTwo => self.singular_values()?.try_min(),
            MatrixNorm::Nuclear => self.singular_values()?.try_sum(),
        })
    }

    /// The condition number, the largest singular value divided by the smallest: NumPy's
    /// `linalg.cond`. Infinite if that is 0.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![0.0, 2.0, 8.0, 0.0])?;
    /// assert_eq!(a.cond()?.get()?, 4.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix has no element. If it is not finite, the error comes with the value.
    #[doc(alias = "condition_number")]
    pub fn cond(&self) -> Result<Scalar<T::Real>, Error> {
        const OP: &str = "cond";
        check_any(OP, self)?;
        named(OP, || {
            let s = self.singular_values()?;
            let ratio = s.try_max()?.try_div(&s.try_min()?)?;
            // Of a matrix of zeros it is 0 / 0.
            let is_number = ratio.try_equal(&ratio)?;
            is_number.try_select(&ratio, T::Real::from_f64(f64::INFINITY))
        })
    }

    /// The condition number by a norm: that of the matrix times that of its inverse. NumPy's
    /// `linalg.cond(a, ord)`.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or has no element. If it is singular or not finite, the error
    /// comes with the value, where NumPy's is infinite.
    pub fn cond_by(&self, norm: MatrixNorm) -> Result<Scalar<T::Real>, Error> {
        const OP: &str = "cond_by";
        order(OP, self)?;
        check_any(OP, self)?;
        named(OP, || {
            let of_inverse = self.inv()?.matrix_norm(norm)?;
            self.matrix_norm(norm)?.try_mul(&of_inverse)
        })
    }

    /// As [`Array::qr`], with `q` completed to a square matrix of `m` orthonormal columns, and `r`
    /// with `m` rows, those below the `n`-th zeros: NumPy's `linalg.qr(a, mode='complete')`.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::random_normal([6, 3], 1);
    /// let qr = a.qr_complete()?;
    /// assert_eq!((qr.q.shape(), qr.r.shape()), ([6, 6], [6, 3]));
    /// assert!((qr.q.matmul(&qr.r) - &a).norm2().get()? < 1e-14);
    /// assert!((qr.q.t().matmul(&qr.q) - Array::eye(6)).norm2().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::qr`].
    pub fn qr_complete(&self) -> Result<Qr<T>, Error> {
        let [m, n] = self.shape();
        if m <= n {
            return self.qr();
        }
        named("qr_complete", || {
            // A reflection of zeros is the identity, so the factors of what stands before are as
            // they were, and the further columns are orthogonal to them.
            let zeros = self.runtime().enter(|| Self::try_zeros([m, m - n]))?;
            let Qr { q, r } = Self::try_concatenate(1, &[self, &zeros])?.qr()?;
            let r = r.try_slice((.., ..n))?;
            Ok(Qr { q, r })
        })
    }

    /// As [`Array::svd`], with square matrices of singular vectors: NumPy's
    /// `linalg.svd(a, full_matrices=True)`. The vectors that are more than the shorter side has
    /// elements complete the others to orthonormal ones, by [`Array::qr_complete`].
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let svd = Array::<f64, 2>::random_normal([5, 3], 1).svd_full()?;
    /// assert_eq!((svd.u.shape(), svd.s.len(), svd.vh.shape()), ([5, 5], 3, [3, 3]));
    /// assert!((svd.u.t().matmul(&svd.u) - Array::eye(5)).norm2().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::svd`].
    pub fn svd_full(&self) -> Result<Svd<T>, Error> {
        named("svd_full", || {
            let Svd { u, s, vh } = self.svd()?;
            let u = u.completed()?;
            let vh = vh.try_conj()?.t().completed()?.try_conj()?.t();
            Ok(Svd { u, s, vh })
        })
    }

    /// Orthonormal columns, and as many more as there are rows.
    fn completed(&self) -> Result<Self, Error> {
        let [m, n] = self.shape();
        if m == n {
            return Ok(self.clone());
        }
        let q = self.qr_complete()?.q;
        Self::try_concatenate(1, &[self, &q.try_slice((.., n..))?])
    }
}

fn check_any<T: Field>(op: &'static str, a: &Array<T, 2>) -> Result<(), Error> {
    match a.is_empty() {
        false => Ok(()),
        true => {
            let found = format!("one of shape {}", a.arg().shape());
            Err(Error::argument(op, "a matrix with elements", found))
        }
    }
}
