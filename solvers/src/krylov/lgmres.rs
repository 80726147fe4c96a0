//! The generalised minimal residual method, augmented by the corrections of its last cycles.

use super::Method;
use super::arnoldi::{Arnoldi, Zeros};
use super::gmres::{Begin, Cycle, next_cycle};
use super::iterations::Iterations;
use super::recycling::{Solve, keep};
use super::stopping::{Judgement, Stopping};
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by LGMRES with the default [`Options`].
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Method, Options, Side, lgmres};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(40)?;
/// let b = &a * &Vector::ones([1600]);
/// let solution = lgmres(&a, &b)?;
/// assert!(solution.converged());
/// let gmres = Method::Gmres { restart: 33, side: Side::Right };
/// assert!(solution.iterations < gmres.solve(&a, &b, Options::default())?.iterations);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`lgmres_with`].
pub fn lgmres<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    lgmres_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned LGMRES with cycles of 30 products, each augmented by the
/// corrections of the last three; A may be unsymmetric, and the preconditioner may change.
/// [`Method::Lgmres`] has other numbers.
///
/// Baker, Jessup and Manteuffel (2005): cycles of restarted GMRES often repeat each other, which
/// the corrections of earlier ones prevent. Preconditioned from the right. With
/// [`Options::recycled`] it keeps the corrections of whole solves, the last three of them: an
/// iteration before the first cycle finds the best x along them without a product, and the first
/// cycle is augmented by them. An iteration with a correction needs no product, since its
/// image is kept, and neither does the residual at the end of a cycle. Otherwise as
/// [`fgmres()`](crate::fgmres()); holds two vectors more for each correction.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a checkpoint is asked for; not converging is no error but
/// a [`StopReason`](crate::StopReason).
pub fn lgmres_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::LGMRES.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    (restart, most): (usize, usize),
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let zeros = Zeros::like(&r, restart.saturating_add(most));
    let (solve, mut begin) = Solve::begin(stopping, x, r, most).await?;
    let mut pairs = solve.pairs.clone();
    loop {
        let Begin { r, norms } = begin;
        let mut space = Arnoldi::new(r.clone(), norms.true_residual, &zeros);
        let mut directions = Vec::new();
        let judgement = loop {
            let kept = space.len().checked_sub(restart).map(|k| &pairs[k]);
            let (direction, image) = match kept {
                Some(pair) => (pair.u.clone(), pair.c.clone()),
                None => {
                    let z = stopping.precondition(&space.candidate())?;
                    let image = a.apply(&z)?;
                    (z, image)
                }
            };
            space.step(image).await?;
            directions.push(direction);
            let is_full = space.len() >= restart.saturating_add(pairs.len());
            match stopping.judge(space.residual_norm()) {
                Judgement::Iterate if !is_full && !space.is_exhausted() => {}
                judgement => break judgement,
            }
        };
        let (u, c) = (space.combination_of(&directions), space.image());
        let before = x.clone();
        *x += &u;
        let residual = r - &c;
        if !matches!(judgement, Judgement::Iterate) {
            solve.end(&solve.pairs, (x, &residual), most).await?;
        }
        let cycle = Cycle {
            judgement,
            // A correction may lie in the space, which says nothing of the operator.
            is_singular: space.is_singular() && space.len() <= restart,
            residual: Some(residual),
        };
        keep(&mut pairs, (u, c), (most, 0.0)).await?;
        begin = next_cycle(stopping, cycle, (x, before), (norms, false)).await?;
    }
}
