//! Eigenvalues and eigenvectors.

use super::work::{Method, Work};
use super::{order, submit};
use crate::array::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape};

/// The eigenvalues and eigenvectors of a Hermitian matrix.
#[derive(Clone, Debug)]
pub struct Eigh<T: Field> {
    /// The eigenvalues, in ascending order.
    pub values: Vector<T::Real>,
    /// The eigenvectors, orthonormal, as columns.
    pub vectors: Array<T, 2>,
}

/// The eigenvalues and eigenvectors of a matrix.
#[derive(Clone, Debug)]
pub struct Eig<T: Field> {
    /// The eigenvalues, in no order.
    pub values: Vector<T::Complex>,
    /// The eigenvectors, of length 1, as columns.
    pub vectors: Array<T::Complex, 2>,
}

impl<T: Field> Array<T, 2> {
    /// The eigenvalues and eigenvectors of a symmetric or Hermitian matrix: NumPy's `linalg.eigh`.
    /// What is above the diagonal is not looked at. Vectors are a view of a store. For a few
    /// eigenvalues of a large sparse matrix there is `eigsh`.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![2.0, 1.0, 1.0, 2.0])?;
    /// let eigh = a.eigh()?;
    /// let residual = a.matmul(&eigh.vectors) - &eigh.vectors * eigh.values.insert_axis(0);
    /// assert!(residual.norm2().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is not finite, the error comes with the elements.
    pub fn eigh(&self) -> Result<Eigh<T>, Error> {
        const OP: &str = "eigh";
        let n = order(OP, self)?;
        let work = Work::<T, T>::new(OP, Method::Eigh);
        let made = submit(work, self, None, Shape::new(&[n + 1, n]))?;
        let made = Self::wrap(made, None);
        Ok(Eigh {
            values: made.try_row(n)?.try_re()?,
            vectors: made.try_slice((..n, ..))?,
        })
    }

    /// The eigenvalues of a symmetric or Hermitian matrix, in ascending order: NumPy's
    /// `linalg.eigvalsh`. What is above the diagonal is not looked at.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![3.0, 0.0, 0.0, -1.0])?;
    /// assert_eq!(a.eigvalsh()?.to_vec()?, [-1.0, 3.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is not finite, the error comes with the elements.
    pub fn eigvalsh(&self) -> Result<Vector<T::Real>, Error> {
        const OP: &str = "eigvalsh";
        let n = order(OP, self)?;
        let work = Work::<T, T::Real>::new(OP, Method::Eigvalsh);
        let made = submit(work, self, None, Shape::new(&[n]))?;
        Ok(Vector::wrap(made, None))
    }

    /// The eigenvalues and eigenvectors of a square matrix, complex ones of a real matrix too:
    /// NumPy's `linalg.eig`. By a Schur form of the balanced matrix; vectors that are not numbers,
    /// and those of the 32 values, or conjugate pairs, with the largest residuals, where these are
    /// more than rounding, are found by inverse iteration. A value that has fewer vectors than
    /// copies (a Jordan block) has the same vector several times.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// // A rotation by a right angle.
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![0.0, -1.0, 1.0, 0.0])?;
    /// let values = a.eig()?.values.to_vec()?;
    /// assert!(values.iter().all(|value| value.re.abs() < 1e-15 && (value.im.abs() - 1.0).abs() < 1e-15));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is not finite, the error comes with the elements.
    pub fn eig(&self) -> Result<Eig<T>, Error> {
        const OP: &str = "eig";
        let n = order(OP, self)?;
        let work = Work::<T, T::Complex>::new(OP, Method::Eig);
        let made = submit(work, self, None, Shape::new(&[n + 1, n]))?;
        let made = Array::wrap(made, None);
        Ok(Eig {
            values: made.try_row(n)?,
            vectors: made.try_slice((..n, ..))?,
        })
    }

    /// The eigenvalues of a square matrix, in no order: NumPy's `linalg.eigvals`.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// // The roots of x^2 - 3 x + 2, by its companion matrix.
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![3.0, -2.0, 1.0, 0.0])?;
    /// let mut roots = a.eigvals()?.to_vec()?;
    /// roots.sort_by(|x, y| x.re.total_cmp(&y.re));
    /// assert!((roots[0].re - 1.0).abs() < 1e-14 && (roots[1].re - 2.0).abs() < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is not finite, the error comes with the elements.
    pub fn eigvals(&self) -> Result<Vector<T::Complex>, Error> {
        const OP: &str = "eigvals";
        let n = order(OP, self)?;
        let work = Work::<T, T::Complex>::new(OP, Method::Eigvals);
        let made = submit(work, self, None, Shape::new(&[n]))?;
        Ok(Vector::wrap(made, None))
    }
}
