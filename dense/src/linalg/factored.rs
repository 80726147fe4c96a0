//! Systems with triangular matrices, and with factors that are used again.

use super::solve::columns;
use super::work::{Method, Work};
use super::{order, submit};
use crate::array::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape};

/// The factors of a square matrix with its rows in another order: `a[p] = l u`.
///
/// ```
/// use sparsefuse_dense::{Array, Vector};
///
/// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![0.0, 2.0, 1.0, 3.0])?;
/// let lu = a.lu()?;
/// assert_eq!(lu.p()?.to_vec()?, [1, 0]);
/// assert_eq!(lu.l()?.matmul(&lu.u()?).to_vec()?, [1.0, 3.0, 0.0, 2.0]);
/// // The factors serve any number of right-hand sides.
/// for b in [[2.0, 4.0], [4.0, 7.0]] {
///     let b = Vector::from_slice(&b);
///     assert_eq!(a.matvec(&lu.solve(&b)?).to_vec()?, b.to_vec()?);
/// }
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lu<T: Field> {
    /// `u`, below its diagonal `l`, and behind them a row with the numbers `p`.
    made: Array<T, 2>,
}

impl<T: Field> Lu<T> {
    /// The lower triangle, with ones on its diagonal.
    ///
    /// # Errors
    ///
    /// If memory cannot hold it.
    pub fn l(&self) -> Result<Array<T, 2>, Error> {
        let runtime = self.made.runtime();
        let ones = runtime.enter(|| Array::<T, 2>::try_eye(self.n()))?;
        self.both()?.try_lower_triangle(-1)?.try_add(&ones)
    }

    /// The upper triangle.
    ///
    /// # Errors
    ///
    /// If memory cannot hold it.
    pub fn u(&self) -> Result<Array<T, 2>, Error> {
        self.both()?.try_upper_triangle(0)
    }

    /// The row of the matrix that each row of `l u` is.
    ///
    /// # Errors
    ///
    /// If memory cannot hold them.
    pub fn p(&self) -> Result<Vector<i64>, Error> {
        self.made.try_row(self.n())?.try_re()?.try_cast()
    }

    /// The solution of `a x = b`, of a vector or matrix `b`, whose columns are right-hand sides:
    /// SciPy's `linalg.lu_solve`. `2 n^2` operations for each.
    ///
    /// # Errors
    ///
    /// As [`Array::solve`]; that of a singular matrix comes with the solution.
    pub fn solve<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        solution("lu_solve", Method::SolveLu, (&self.made, self.n()), b)
    }

    fn n(&self) -> usize {
        self.made.shape()[1]
    }

    fn both(&self) -> Result<Array<T, 2>, Error> {
        self.made.try_slice((..self.n(), ..))
    }
}

impl<T: Field> Array<T, 2> {
    /// The LU factorisation with partial pivoting, to solve systems with the same matrix one after
    /// the other: SciPy's `linalg.lu_factor` and `linalg.lu`. `2/3 n^3` operations.
    ///
    /// # Errors
    ///
    /// If the matrix is not square. If it is singular or not finite, the error comes with the
    /// elements.
    #[doc(alias = "lu_factor")]
    pub fn lu(&self) -> Result<Lu<T>, Error> {
        const OP: &str = "lu";
        let n = order(OP, self)?;
        let work = Work::<T, T>::new(OP, Method::Lu);
        let made = submit(work, self, None, Shape::new(&[n + 1, n]))?;
        Ok(Lu {
            made: Self::wrap(made, None),
        })
    }

    /// The solution of `l x = b` of a lower triangular matrix, by substitution: SciPy's
    /// `linalg.solve_triangular` with `lower=True`. Elements above the diagonal have no part in it,
    /// if they are finite. `n^2` operations for each column of `b`.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let l = Array::<f64, 2>::from_shape_vec([2, 2], vec![2.0, 7.0, 1.0, 4.0])?;
    /// let b = Vector::from_vec(vec![4.0, 10.0]);
    /// assert_eq!(l.solve_lower(&b)?.to_vec()?, [2.0, 2.0]);
    /// assert_eq!(l.t().solve_upper(&b)?.to_vec()?, [0.75, 2.5]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::solve`].
    #[doc(alias = "solve_triangular")]
    pub fn solve_lower<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        const OP: &str = "solve_lower";
        let n = order(OP, self)?;
        solution(OP, Method::SolveLower, (self, n), b)
    }

    /// The solution of `u x = b` of an upper triangular matrix, as [`Array::solve_lower`].
    ///
    /// # Errors
    ///
    /// As [`Array::solve`].
    #[doc(alias = "solve_triangular")]
    pub fn solve_upper<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        const OP: &str = "solve_upper";
        let n = order(OP, self)?;
        solution(OP, Method::SolveUpper, (self, n), b)
    }

    /// The solution of `a x = b` where this is the factor `l` of `a = l l^H` that
    /// [`Array::cholesky`] makes: SciPy's `linalg.cho_solve`. `2 n^2` operations for each column of
    /// `b`.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![4.0, 2.0, 2.0, 5.0])?;
    /// let l = a.cholesky()?;
    /// assert_eq!(l.solve_cholesky(&Vector::from_vec(vec![8.0, 12.0]))?.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::solve`].
    #[doc(alias = "cho_solve")]
    pub fn solve_cholesky<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        const OP: &str = "solve_cholesky";
        let n = order(OP, self)?;
        solution(OP, Method::SolveCholesky, (self, n), b)
    }
}

/// The solution of a system with these factors of a matrix of order `n`.
fn solution<T: Field, const D: usize>(
    op: &'static str,
    method: Method,
    (factors, n): (&Array<T, 2>, usize),
    b: &Array<T, D>,
) -> Result<Array<T, D>, Error> {
    let columns = columns(op, n, b)?;
    let shape = Shape::new(&columns.shape());
    let made = submit(
        Work::<T, T>::new(op, method),
        factors,
        Some(&columns),
        shape,
    )?;
    Array::<T, 2>::wrap(made, None).try_reshape(b.shape())
}
