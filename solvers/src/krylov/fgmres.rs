//! The flexible generalised minimal residual method.

use super::Method;
use super::arnoldi::{Arnoldi, Zeros};
use super::gmres::{Begin, Cycle, next_cycle};
use super::iterations::Iterations;
use super::stopping::{Judgement, Stopping};
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by flexible GMRES with the default [`Options`].
///
/// # Errors
///
/// As [`fgmres_with`].
pub fn fgmres<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    fgmres_with(a, b, Options::default())
}

/// Solves A x = b by GMRES with a preconditioner that may change from one iteration to the next,
/// such as another solver; restarted after 30 iterations, or as [`Method::Fgmres`] says.
///
/// Saad (1993), as Algorithm 9.6 of Saad, *Iterative Methods for Sparse Linear Systems*, 2nd
/// edition; preconditioned from the right. Products and reductions as
/// [`gmres()`](crate::gmres()); holds the preconditioned vectors beside the basis, twice as much.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{MatrixFree, Options, cg_with, fgmres_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// // A few iterations of another method, whose number depends on the vector.
/// let inner = MatrixFree::new(256, |r: &Vector<f64>| {
///     let options = Options { rtol: 0.1, ..Options::default() };
///     Ok(cg_with(&a, r, options)?.x)
/// });
/// let options = Options { preconditioner: Some(&inner), ..Options::default() };
/// let solution = fgmres_with(&a, &Vector::ones([256]), options)?;
/// assert!(solution.converged() && solution.iterations < 12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a checkpoint is asked for; not converging is no error but
/// a [`StopReason`](crate::StopReason).
pub fn fgmres_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::FGMRES.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    restart: usize,
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let zeros = Zeros::like(&r, restart);
    let norm = stopping.first_norm();
    let mut begin = Begin::new(stopping, (r, norm), false).await?;
    loop {
        let Begin { r, norms } = begin;
        let mut space = Arnoldi::new(r, norms.true_residual, &zeros);
        let mut preconditioned = Vec::new();
        let judgement = loop {
            let z = stopping.precondition(&space.candidate())?;
            space.step(a.apply(&z)?).await?;
            preconditioned.push(z);
            let is_full = space.len() == restart || space.is_exhausted();
            match stopping.judge(space.residual_norm()) {
                Judgement::Iterate if !is_full => {}
                judgement => break judgement,
            }
        };
        let before = x.clone();
        *x += space.combination_of(&preconditioned);
        let cycle = Cycle {
            judgement,
            is_singular: space.is_singular(),
            residual: None,
        };
        begin = next_cycle(stopping, cycle, (x, before), (norms, false)).await?;
    }
}
