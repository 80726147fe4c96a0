//! The method of conjugate gradients with one reduction an iteration.

use super::Method;
use super::scalars::real;
use super::turns::{norm_of, value};
use crate::operator::LinearOperator;
use crate::scaling::Rhs;
use crate::solution::{Options, Solution, StopReason};
use crate::stopping::{Next, Stopping};
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
/// and the preconditioner must be symmetric (or Hermitian) positive definite.
///
/// Chronopoulos and Gear (1989), preconditioned as in D'Azevedo, Eijkhout and Romine (1993). In
/// exact arithmetic the iterates are those of [`cg()`](crate::cg()). One product and one reduction
/// an iteration, of two inner products (preconditioned: three); holds x, r, w, p, s beside b
/// (preconditioned: and u).
///
/// # Errors
///
/// If the shapes do not fit, the matrix is seen not to be symmetric, an operator fails, or a
/// checkpoint is asked for; not converging is no error but a [`StopReason`].
pub fn single_reduction_cg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::SingleReductionCg.solve(a, b, options)
}

pub(super) async fn steps<T: Field>(
    a: &dyn LinearOperator<T>,
    b: Rhs<'_, T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    let (mut stopping, mut x, mut r) =
        Stopping::begin("single_reduction_cg", a, b, options).await?;
    if let Some(reason) = stopping.first() {
        return stopping.finish(x, reason).await;
    }
    loop {
        let u = stopping.precondition(&r)?;
        let w = a.apply(&u)?;
        let mut gamma = r.dot(&u);
        let mut sigma = u.dot(&w);
        let mut alpha = gamma.ratio(&sigma);
        let mut p = u;
        let mut s = w;
        loop {
            x += &alpha * &p;
            r -= &alpha * &s;
            let u = stopping.precondition(&r)?;
            let w = a.apply(&u)?;
            let gamma_next = r.dot(&u);
            let delta = u.dot(&w);
            let norm = if stopping.has_preconditioner() {
                norm_of(&r).await?
            } else {
                real(value(&gamma_next).await?).sqrt()
            };
            match stopping.next(&x, norm).await? {
                Next::Iterate => {}
                Next::Restart(residual) => {
                    r = residual;
                    break;
                }
                Next::Stop(reason) => return stopping.finish(x, reason).await,
            }
            if real(sigma.get()?) <= 0.0 || real(gamma_next.get()?) <= 0.0 {
                match doubt(&mut stopping, a, &x, &p, &r).await? {
                    Next::Iterate => {}
                    Next::Restart(residual) => {
                        r = residual;
                        break;
                    }
                    Next::Stop(reason) => return stopping.finish(x, reason).await,
                }
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
}

/// What to do where p'A p or r'M^-1 r is not positive by recurrence: the operators are asked
/// themselves. If they are definite on these vectors, it was rounding, and the method starts again
/// as long as that helps.
pub(super) async fn doubt<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    a: &dyn LinearOperator<T>,
    x: &Vector<T>,
    p: &Vector<T>,
    r: &Vector<T>,
) -> Result<Next<T>, Error> {
    let sigma = p.dot(&a.apply(p)?);
    let gamma = r.dot(&stopping.precondition(r)?);
    if real(value(&sigma).await?) <= 0.0 {
        Ok(Next::Stop(StopReason::IndefiniteMatrix))
    } else if real(gamma.get()?) <= 0.0 {
        Ok(Next::Stop(StopReason::IndefinitePreconditioner))
    } else {
        stopping.verify(x).await
    }
}
