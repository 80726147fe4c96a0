//! Factorisations: Cholesky, QR, singular values.

use super::work::{Method, Work};
use super::{order, submit};
use crate::array::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape};

/// The factors of `a = q r`.
#[derive(Clone, Debug)]
pub struct Qr<T: Field> {
    /// Orthonormal columns: `m` by `min(m, n)`.
    pub q: Array<T, 2>,
    /// Upper triangular: `min(m, n)` by `n`.
    pub r: Array<T, 2>,
}

/// The factors of `a = u diag(s) vh`.
#[derive(Clone, Debug)]
pub struct Svd<T: Field> {
    /// The left singular vectors, as columns: `m` by `min(m, n)`.
    pub u: Array<T, 2>,
    /// The singular values, in descending order.
    pub s: Vector<T::Real>,
    /// The right singular vectors, conjugated and as rows: `min(m, n)` by `n`.
    pub vh: Array<T, 2>,
}

impl<T: Field> Array<T, 2> {
    /// The lower triangular `l` of `a = l l^H`: NumPy's `linalg.cholesky`. Elements above the
    /// diagonal are not looked at. `1/3 n^3` operations.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![4.0, 2.0, 2.0, 5.0])?;
    /// assert_eq!(a.cholesky()?.to_vec()?, [2.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is not positive definite, or not finite, the error comes
    /// with the elements.
    pub fn cholesky(&self) -> Result<Self, Error> {
        const OP: &str = "cholesky";
        let n = order(OP, self)?;
        let work = Work::<T, T>::new(OP, Method::Cholesky);
        let made = submit(work, self, None, Shape::new(&[n, n]))?;
        Ok(Self::wrap(made, None))
    }

    /// Orthonormal columns and an upper triangle whose product is the matrix: NumPy's `linalg.qr`.
    /// By Householder's reflections. What is returned are views of one store.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::random_normal([6, 3], 1);
    /// let qr = a.qr()?;
    /// assert!((qr.q.matmul(&qr.r) - &a).norm2().get()? < 1e-14);
    /// assert!((qr.q.t().matmul(&qr.q) - Array::eye(3)).norm2().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory cannot hold the result. If the matrix is not finite, the error comes with the
    /// elements.
    pub fn qr(&self) -> Result<Qr<T>, Error> {
        const OP: &str = "qr";
        let [m, n] = self.shape();
        let work = Work::<T, T>::new(OP, Method::Qr);
        let made = submit(work, self, None, Shape::new(&[m + n, m.min(n)]))?;
        let made = Self::wrap(made, None);
        Ok(Qr {
            q: made.try_slice((..m, ..))?,
            r: made.try_slice((m.., ..))?.t(),
        })
    }

    /// Singular values and vectors, as many as the shorter side has elements: NumPy's
    /// `linalg.svd(a, full_matrices=False)`. Vectors are views of one store.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::random_normal([5, 3], 1);
    /// let svd = a.svd()?;
    /// let product = (&svd.u * svd.s.insert_axis(0)).matmul(&svd.vh);
    /// assert!((product - &a).norm2().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory cannot hold the result. If the matrix is not finite, the error comes with the
    /// elements.
    pub fn svd(&self) -> Result<Svd<T>, Error> {
        const OP: &str = "svd";
        let [m, n] = self.shape();
        let work = Work::<T, T>::new(OP, Method::Svd);
        let made = submit(work, self, None, Shape::new(&[m + n + 1, m.min(n)]))?;
        let made = Self::wrap(made, None);
        Ok(Svd {
            u: made.try_slice((..m, ..))?,
            s: made.try_row(m + n)?.try_re()?,
            vh: made.try_slice((m..m + n, ..))?.t(),
        })
    }

    /// The singular values, in descending order: NumPy's `linalg.svdvals`. The largest is the
    /// 2-norm of the matrix, and the largest divided by the least its condition number.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![0.0, 2.0, 3.0, 0.0])?;
    /// assert_eq!(a.singular_values()?.to_vec()?, [3.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory cannot hold the result. If the matrix is not finite, the error comes with the
    /// elements.
    #[doc(alias = "svdvals")]
    pub fn singular_values(&self) -> Result<Vector<T::Real>, Error> {
        const OP: &str = "singular_values";
        let [m, n] = self.shape();
        let work = Work::<T, T::Real>::new(OP, Method::SingularValues);
        let made = submit(work, self, None, Shape::new(&[m.min(n)]))?;
        Ok(Vector::wrap(made, None))
    }
}
