//! Operators that are functions.

use crate::operator::{LinearOperator, check_runtime};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use std::fmt;

/// An operator that is a function, not a matrix.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{MatrixFree, cg};
///
/// let double = MatrixFree::new(3, |x| Ok(x * 2.0));
/// let solution = cg(&double, &Vector::from_vec(vec![2.0, 4.0, 6.0]))?;
/// assert_eq!(solution.x.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct MatrixFree<F> {
    n: usize,
    function: F,
}

impl<F> MatrixFree<F> {
    /// A square operator on vectors of length `n`.
    pub fn new<T>(n: usize, function: F) -> Self
    where
        F: Fn(&Vector<T>) -> Result<Vector<T>, Error>,
    {
        Self { n, function }
    }

    /// An operator of any shape, rows and columns, that is a function, and its adjoint (the
    /// conjugate transpose) another one: for `bicg`, `lsqr`, `lsmr` and `svds`. SciPy's
    /// `LinearOperator(shape, matvec, rmatvec)`.
    ///
    /// ```
    /// use sparsefuse_dense::{Padding, Vector};
    /// use sparsefuse_solvers::{MatrixFree, lsqr};
    ///
    /// // x[i + 1] - x[i] for each i.
    /// let n = 5;
    /// let padded = |y: &Vector<f64>, widths| y.pad([widths], Padding::Constant(0.0));
    /// let differences = MatrixFree::with_adjoint(
    ///     (n - 1, n),
    ///     |x: &Vector<f64>| Ok(x.slice(1..) - x.slice(..x.len() - 1)),
    ///     |y: &Vector<f64>| Ok(padded(y, (1, 0)) - padded(y, (0, 1))),
    /// );
    /// let solution = lsqr(&differences, &Vector::ones([n - 1]))?;
    /// assert!(solution.converged());
    /// let apart = solution.x - Vector::linspace(-2.0, 2.0, n);
    /// assert!(apart.norm_inf().get()? < 1e-10);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    pub fn with_adjoint<T, A>(
        shape: (usize, usize),
        apply: F,
        adjoint: A,
    ) -> MatrixFreeWithAdjoint<F, A>
    where
        F: Fn(&Vector<T>) -> Result<Vector<T>, Error>,
        A: Fn(&Vector<T>) -> Result<Vector<T>, Error>,
    {
        MatrixFreeWithAdjoint {
            shape,
            apply,
            adjoint,
        }
    }
}

impl<F> fmt::Debug for MatrixFree<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatrixFree({0} by {0})", self.n)
    }
}

impl<T: Numeric, F: Fn(&Vector<T>) -> Result<Vector<T>, Error>> LinearOperator<T>
    for MatrixFree<F>
{
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        image("apply", &self.function, x, [self.n; 2])
    }
}

/// An operator that is a function, with another one as its adjoint, made by
/// [`MatrixFree::with_adjoint`].
#[derive(Clone)]
pub struct MatrixFreeWithAdjoint<F, A> {
    shape: (usize, usize),
    apply: F,
    adjoint: A,
}

impl<F, A> fmt::Debug for MatrixFreeWithAdjoint<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_cols) = self.shape;
        write!(f, "MatrixFreeWithAdjoint({n_rows} by {n_cols})")
    }
}

impl<T, F, A> LinearOperator<T> for MatrixFreeWithAdjoint<F, A>
where
    T: Numeric,
    F: Fn(&Vector<T>) -> Result<Vector<T>, Error>,
    A: Fn(&Vector<T>) -> Result<Vector<T>, Error>,
{
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let (n_rows, n_cols) = self.shape;
        image("apply", &self.apply, x, [n_cols, n_rows])
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let (n_rows, n_cols) = self.shape;
        image("apply_adjoint", &self.adjoint, x, [n_rows, n_cols])
    }
}

/// What a function makes of a vector, if it maps vectors of one length to those of the other.
fn image<T: Numeric>(
    op: &'static str,
    function: &impl Fn(&Vector<T>) -> Result<Vector<T>, Error>,
    x: &Vector<T>,
    [from, to]: [usize; 2],
) -> Result<Vector<T>, Error> {
    Error::check_shape(op, &[from], &x.shape())?;
    let y = function(x)?;
    check_runtime(op, x, &y)?;
    Error::check_shape("the function of a `MatrixFree`", &[to], &y.shape())?;
    Ok(y)
}
