//! GCROT(m, k): generalised conjugate residuals with inner orthogonalisation and outer truncation.

use super::Method;
use super::arnoldi::{Arnoldi, Zeros};
use super::gmres::{Begin, Cycle, next_cycle};
use super::iterations::Iterations;
use super::recycling::{Solve, keep, project, without};
use super::stopping::{Judgement, Stopping};
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by GCROT(20, 20) with the default [`Options`].
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{gcrotmk, gmres};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(40)?;
/// let b = &a * &Vector::ones([1600]);
/// let solution = gcrotmk(&a, &b)?;
/// assert!(solution.converged());
/// assert!(solution.iterations < gmres(&a, &b)?.iterations);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`gcrotmk_with`].
pub fn gcrotmk<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    gcrotmk_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned GCROT(20, 20); A may be unsymmetric, and the preconditioner may
/// change. [`Method::Gcrotmk`] has other numbers.
///
/// de Sturler (1999), in the simplified and flexible form of Hicken and Zingg (2010),
/// preconditioned from the right. Each cycle is one of flexible GMRES on what is orthogonal to the
/// images C of the directions U that earlier cycles have left, `A U = C`, so that it repeats
/// nothing of them. It leaves one direction more, and the oldest is dropped. The first cycles,
/// which have few directions yet, are as much longer. With [`Options::recycled`] it keeps the
/// directions and the correction of the whole solve: an iteration before the first cycle finds the
/// best x along them without a product.
///
/// One product and one reduction an iteration, of inner products with up to m + k vectors, and
/// three reductions more a cycle; holds 2 (m + k) vectors, x and two more.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a checkpoint is asked for; not converging is no error but
/// a [`StopReason`](crate::StopReason).
pub fn gcrotmk_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::GCROTMK.solve(a, b, options)
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
        let is_first = pairs.is_empty();
        let others = pairs.iter().map(|pair| pair.c.clone()).collect();
        let mut space = Arnoldi::beside(others, (r.clone(), norms.true_residual), &zeros);
        let longest = restart.saturating_add(most - pairs.len());
        let mut directions = Vec::new();
        let judgement = loop {
            let z = stopping.precondition(&space.candidate())?;
            space.step(a.apply(&z)?).await?;
            directions.push(z);
            let is_full = space.len() == longest || space.is_exhausted();
            match stopping.judge(space.residual_norm()) {
                Judgement::Iterate if !is_full => {}
                judgement => break judgement,
            }
        };
        let us = pairs.iter().map(|pair| &pair.u);
        let u = without(
            &space.combination_of(&directions),
            us,
            &space.image_beside(),
        );
        let c = space.image();
        let before = x.clone();
        *x += &u;
        let residual = r - &c;
        keep(&mut pairs, (u, c), (most, 0.0)).await?;
        if !matches!(judgement, Judgement::Iterate) {
            solve.end(&pairs, (x, &residual), most).await?;
        }
        let cycle = Cycle {
            judgement,
            // Beside the images of others a space may end where the operator is not singular.
            is_singular: space.is_singular() && is_first,
            residual: Some(residual),
        };
        let Begin { mut r, .. } = next_cycle(stopping, cycle, (x, before), (norms, false)).await?;
        // What rounding has left of the images in it, no later cycle would take out.
        let norm = project(&pairs, x, &mut r).await?;
        if norm == 0.0 {
            return Err(stopping.verify(x).await?);
        }
        begin = Begin::new(stopping, (r, norm), false).await?;
    }
}
