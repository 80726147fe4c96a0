//! Systems of equations, inverses, determinants, least squares.

use super::least_squares::shortened;
use super::work::{Method, Work};
use super::{order, submit};
use crate::array::{Array, Vector};
use crate::scalar::Scalar;
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::{Error, Shape};

impl<T: Field> Array<T, 2> {
    /// The solution of `a x = b`, of a square matrix `a` and a vector or matrix `b`, whose columns
    /// are right-hand sides: NumPy's `linalg.solve`. By an LU factorisation with partial pivoting;
    /// `2/3 n^3` operations. [`Array::lu`] keeps the factors for further right-hand sides.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    /// use sparsefuse_runtime::ErrorKind;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![2.0, 1.0, 1.0, 3.0])?;
    /// let x = a.solve(&Vector::from_vec(vec![5.0, 10.0]))?;
    /// assert!((x - Vector::from_vec(vec![1.0, 3.0])).norm2().get()? < 1e-14);
    ///
    /// let singular = Array::<f64, 2>::from_shape_vec([2, 2], vec![1.0, 2.0, 2.0, 4.0])?;
    /// let error = singular.solve(&Vector::ones([2]))?.to_vec().unwrap_err();
    /// assert!(matches!(error.root(), ErrorKind::Singular { .. }), "{error}");
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or `b` has another number of rows, or neither one dimension nor
    /// two. If the matrix is singular or not finite, the error comes with the elements.
    pub fn solve<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        const OP: &str = "solve";
        let n = order(OP, self)?;
        let columns = columns(OP, n, b)?;
        let shape = Shape::new(&columns.shape());
        let made = submit(
            Work::<T, T>::new(OP, Method::Solve),
            self,
            Some(&columns),
            shape,
        )?;
        Array::<T, 2>::wrap(made, None).try_reshape(b.shape())
    }

    /// The inverse: NumPy's `linalg.inv`. By an LU factorisation; `2 n^3` operations. To solve a
    /// system, [`Array::solve`] is faster and more accurate.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![2.0, 0.0, 0.0, 4.0])?;
    /// assert_eq!(a.inv()?.to_vec()?, [0.5, 0.0, 0.0, 0.25]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is singular or not finite, the error comes with the
    /// elements.
    #[doc(alias = "inverse")]
    pub fn inv(&self) -> Result<Self, Error> {
        const OP: &str = "inv";
        let n = order(OP, self)?;
        let work = Work::<T, T>::new(OP, Method::Inverse);
        let made = submit(work, self, None, Shape::new(&[n, n]))?;
        Ok(Self::wrap(made, None))
    }

    /// The determinant: NumPy's `linalg.det`; 1 of a matrix without rows. By an LU factorisation;
    /// `2/3 n^3` operations.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert!((a.det()?.get()? + 2.0).abs() < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is not finite, the error comes with the value.
    #[doc(alias = "determinant")]
    pub fn det(&self) -> Result<Scalar<T>, Error> {
        const OP: &str = "det";
        order(OP, self)?;
        let work = Work::<T, T>::new(OP, Method::Determinant);
        Scalar::from_store(submit(work, self, None, Shape::SCALAR)?)
    }

    /// The sign of the determinant and the logarithm of its absolute value, where the determinant
    /// itself may be too large or too small: NumPy's `linalg.slogdet`. Of complex matrices the sign
    /// is the determinant over its absolute value; of singular ones it is 0, and the logarithm
    /// minus infinity.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::eye(500) * -0.1;
    /// let (sign, log) = a.slogdet()?;
    /// assert_eq!(sign.get()?, 1.0);
    /// assert!((log.get()? - 500.0 * 0.1_f64.ln()).abs() < 1e-9);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::det`].
    pub fn slogdet(&self) -> Result<(Scalar<T>, Scalar<T::Real>), Error> {
        const OP: &str = "slogdet";
        order(OP, self)?;
        let work = Work::<T, T>::new(OP, Method::LogDeterminant);
        let made = submit(work, self, None, Shape::new(&[2]))?;
        let made = Vector::<T>::wrap(made, None);
        let log = made.try_slice(1..)?.try_re()?.try_sum()?;
        Ok((made.try_slice(..1)?.try_sum()?, log))
    }

    /// The vectors `x` for which the norms of `b - a x` are least, and among these the shortest:
    /// NumPy's `linalg.lstsq`, the first of its results. By the [pseudo-inverse](Array::pinv),
    /// whose singular value decomposition takes most of the time; of a matrix with many more rows
    /// than columns by that of its R, which is made of some rows at a time.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// // The line through three points: intercept 1, slope 2.
    /// let a = Array::<f64, 2>::from_shape_vec([3, 2], vec![1.0, 0.0, 1.0, 1.0, 1.0, 2.0])?;
    /// let line = a.lstsq(&Vector::from_vec(vec![1.0, 3.0, 5.0]))?.to_vec()?;
    /// assert!((line[0] - 1.0).abs() < 1e-14 && (line[1] - 2.0).abs() < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `b` has another number of rows than the matrix, or neither one dimension nor two. If the
    /// matrix is not finite, or is much longer than wide and a right-hand side is not, the error
    /// comes with the elements.
    #[doc(alias = "least_squares")]
    pub fn lstsq<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        const OP: &str = "lstsq";
        let [n_rows, n_columns] = self.shape();
        let columns = columns(OP, n_rows, b)?;
        let tolerance = self.tolerance();
        let (a, columns) = match shortened(OP, self, &columns)? {
            Some(short) => short,
            None => (self.clone(), columns),
        };
        let (vh, weighted) = a.pseudo_inverse(tolerance)?;
        let x = vh
            .try_conj()?
            .t()
            .try_matmul(&weighted.try_matmul(&columns)?)?;
        let mut shape = b.shape();
        shape[0] = n_columns;
        x.try_reshape(shape)
    }

    /// The pseudo-inverse of Moore and Penrose, of `n` by `m` elements: NumPy's `linalg.pinv`.
    /// Singular values below the largest, times `max(m, n)`, times the machine's precision count as
    /// 0.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![2.0, 0.0, 0.0, 0.0])?;
    /// assert_eq!(a.pinv()?.to_vec()?, [0.5, 0.0, 0.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory cannot hold the result. If the matrix is not finite, the error comes with the
    /// elements.
    pub fn pinv(&self) -> Result<Self, Error> {
        let (vh, weighted) = self.pseudo_inverse(self.tolerance())?;
        vh.try_conj()?.t().try_matmul(&weighted)
    }

    /// How many singular values are not 0, as [`Array::pinv`] counts: NumPy's `linalg.matrix_rank`.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// assert_eq!(Array::<f64, 2>::ones([3, 4]).matrix_rank()?.get()?, 1);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory cannot hold the result. If the matrix is not finite, the error comes with the
    /// value.
    pub fn matrix_rank(&self) -> Result<Scalar<i64>, Error> {
        nonzero_among(&self.singular_values()?, self.tolerance())?.try_count()
    }

    /// `v^H`, and `u^H` with its rows divided by the singular values, or times 0 where these count
    /// as 0.
    fn pseudo_inverse(&self, tolerance: T::Real) -> Result<(Self, Self), Error> {
        let svd = self.svd()?;
        let is_counted = nonzero_among(&svd.s, tolerance)?.try_insert_axis(1)?;
        let s = svd.s.try_cast::<T>()?.try_insert_axis(1)?;
        let divided = svd.u.try_conj()?.t().try_div(&s)?;
        Ok((svd.vh, is_counted.try_select(&divided, T::ZERO)?))
    }

    /// Relative to the largest singular value, up to where others count as 0.
    fn tolerance(&self) -> T::Real {
        let longer = self.shape().into_iter().max().unwrap_or(0);
        T::Real::from_f64(longer as f64 * T::Real::EPSILON.to_f64())
    }
}

/// Which singular values are not 0.
fn nonzero_among<R: Real>(s: &Vector<R>, tolerance: R) -> Result<Vector<bool>, Error> {
    if s.is_empty() {
        return s.try_greater(R::ZERO);
    }
    s.try_greater(&s.try_max()?.try_mul(tolerance)?)
}

/// Right-hand sides as columns of a matrix.
pub(super) fn columns<T: Field, const D: usize>(
    op: &'static str,
    n_rows: usize,
    b: &Array<T, D>,
) -> Result<Array<T, 2>, Error> {
    let shape = b.shape();
    if D != 1 && D != 2 {
        let found = format!("{D} dimensions");
        return Err(Error::argument(op, "a vector or a matrix", found));
    }
    let mut expected = shape;
    expected[0] = n_rows;
    Error::check_shape(op, &expected, &shape)?;
    b.try_reshape([n_rows, shape.get(1).copied().unwrap_or(1)])
}
