//! The method of conjugate gradients with one reduction an iteration.

use super::Method;
use super::iterations::{End, Iterations};
use super::scalars::real;
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use crate::turns::norm_of;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by single-reduction conjugate gradients with the default [`Options`].
///
/// # Errors
///
/// As [`single_reduction_cg_with`].
pub fn single_reduction_cg<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
) -> Result<Solution<T>, Error> {
    single_reduction_cg_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned conjugate gradients whose inner products are one reduction; A
/// and the preconditioner must be symmetric (or Hermitian) positive definite; A may be negative
/// definite.
///
/// Chronopoulos and Gear (1989), preconditioned as in D'Azevedo, Eijkhout and Romine (1993). In
/// exact arithmetic the iterates are those of [`cg()`](crate::cg()). One product and one reduction
/// an iteration, of two inner products (preconditioned: three); holds x, r, w, p, s beside b
/// (preconditioned: and u).
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, the matrix is seen not to be symmetric, an operator fails, or a checkpoint is
/// asked for; not converging is no error but a [`StopReason`](crate::StopReason).
pub fn single_reduction_cg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::SingleReductionCg.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let u = stopping.precondition(&r)?;
    let w = a.apply(&u)?;
    let mut gamma = r.dot(&u);
    let mut sigma = u.dot(&w);
    let mut alpha = gamma.ratio(&sigma);
    let mut p = u;
    let mut s = w;
    loop {
        *x += &alpha * &p;
        r -= &alpha * &s;
        let u = stopping.precondition(&r)?;
        let w = a.apply(&u)?;
        let gamma_next = r.dot(&u);
        let delta = u.dot(&w);
        let norm = stopping.norm(&r, &gamma_next).await?;
        stopping.check(x, norm).await?;
        if stopping.is_indefinite(real(sigma.get()?)) || real(gamma_next.get()?) <= 0.0 {
            doubt(stopping, x, &p, &r).await?;
        }
        let beta = &gamma_next / &gamma;
        // p'A p of the next p, by recurrence.
        sigma = delta - &beta * &gamma_next / &alpha;
        alpha = gamma_next.ratio(&sigma);
        p = u + &beta * &p;
        s = w + &beta * &s;
        gamma = gamma_next;
    }
}

/// What to do where p'A p or r'M^-1 r has the wrong sign by recurrence: the operators are asked
/// themselves. If they are definite on these vectors, it was rounding, and the method starts again
/// as long as that helps.
pub(super) async fn doubt<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &Vector<T>,
    p: &Vector<T>,
    r: &Vector<T>,
) -> Result<(), End<T>> {
    let sigma = p.dot(&stopping.operator().apply(p)?);
    let gamma = r.dot(&stopping.precondition(r)?);
    let norm = norm_of(r).await?;
    stopping.expect_definite(x, [&sigma, &gamma], norm).await?;
    Err(stopping.verify(x).await?)
}
