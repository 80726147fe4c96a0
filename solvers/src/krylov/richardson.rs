//! Richardson's iteration: the preconditioner alone, again and again.

use super::Method;
use super::iterations::Iterations;
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use crate::turns::norm_of;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by Richardson's iteration with the default [`Options`]; without a preconditioner
/// it converges only where all eigenvalues of A lie within 1 of 1.
///
/// # Errors
///
/// As [`richardson_with`].
pub fn richardson<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
) -> Result<Solution<T>, Error> {
    richardson_with(a, b, Options::default())
}

/// Solves A x = b by x += M^-1 (b - A x): multigrid as a solver, with a multigrid preconditioner;
/// the method of Jacobi, or of Gauss and Seidel, with theirs.
///
/// Richardson (1910); Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition, section
/// 4.1. One product and one inner product an iteration; holds x and r.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Options, multigrid::Multigrid, richardson_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(32)?;
/// let b = &a * &Vector::ones([1024]);
/// let cycle = Multigrid::on_grid(&a, &[32, 32])?;
/// let options = Options { preconditioner: Some(&cycle), ..Options::default() };
/// assert!(richardson_with(&a, &b, options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a checkpoint is asked for; not converging is no error but
/// a [`StopReason`](crate::StopReason).
pub fn richardson_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Richardson.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    loop {
        *x += stopping.precondition(&r)?;
        r = stopping.residual(x)?;
        stopping.check(x, norm_of(&r).await?).await?;
    }
}
