//! The pipelined method of conjugate gradients.

use super::Method;
use super::iterations::Iterations;
use super::scalars::real;
use super::single_reduction_cg::doubt;
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use crate::turns::{root, value};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by pipelined conjugate gradients with the default [`Options`].
///
/// # Errors
///
/// As [`pipelined_cg_with`].
pub fn pipelined_cg<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
) -> Result<Solution<T>, Error> {
    pipelined_cg_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned conjugate gradients whose one reduction travels while the
/// preconditioner and A are applied; both must be symmetric (or Hermitian) positive definite, but A
/// may be negative definite.
///
/// Ghysels and Vanroose (2014), Algorithm 4. In exact arithmetic the iterates are those of
/// [`cg()`](crate::cg()); rounding keeps the residual from falling as far, and where the recurrence
/// claims too much the method starts again. One product and one reduction an iteration, of two
/// inner products (preconditioned: three); holds x, r, w, p, s, z beside b (preconditioned: and u,
/// q), and reads and writes all of them. In single precision the recurrences drift away within some
/// hundred iterations; take [`single_reduction_cg()`](crate::single_reduction_cg()) there.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, the matrix is seen not to be symmetric, an operator fails, or a checkpoint is
/// asked for; not converging is no error but a [`StopReason`](crate::StopReason).
pub fn pipelined_cg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::PipelinedCg.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let is_preconditioned = stopping.has_preconditioner();
    let mut u = stopping.precondition(&r)?;
    let mut w = a.apply(&u)?;
    let mut gamma = r.dot(&u);
    let mut sigma = u.dot(&w);
    let mut alpha = gamma.ratio(&sigma);
    let mut p = u.clone();
    let mut s = w.clone();
    let mut q = stopping.precondition(&w)?;
    let mut z = a.apply(&q)?;
    loop {
        *x += &alpha * &p;
        r -= &alpha * &s;
        u = match is_preconditioned {
            true => u - &alpha * &q,
            false => r.clone(),
        };
        w -= &alpha * &z;
        let gamma_next = r.dot(&u);
        let delta = u.dot(&w);
        let squares = is_preconditioned.then(|| r.sum_of_squares());
        // What follows needs none of the inner products.
        let m = stopping.precondition(&w)?;
        let n = a.apply(&m)?;
        let norm = match squares {
            Some(squares) => root(&squares).await?,
            None => real(value(&gamma_next).await?).sqrt(),
        };
        stopping.check(x, norm).await?;
        if stopping.is_indefinite(real(sigma.get()?)) || real(gamma_next.get()?) <= 0.0 {
            doubt(stopping, x, &p, &r).await?;
        }
        let beta = &gamma_next / &gamma;
        // p'A p of the next p, by recurrence.
        sigma = delta - &beta * &gamma_next / &alpha;
        alpha = gamma_next.ratio(&sigma);
        p = &u + &beta * &p;
        s = &w + &beta * &s;
        q = match is_preconditioned {
            true => m + &beta * &q,
            false => s.clone(),
        };
        z = n + &beta * &z;
        gamma = gamma_next;
    }
}
