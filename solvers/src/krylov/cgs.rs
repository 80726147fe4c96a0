//! The conjugate gradient squared method.

use super::Method;
use super::turns::norm_of;
use crate::operator::LinearOperator;
use crate::scaling::Rhs;
use crate::solution::{Breakdown, Options, Solution, StopReason};
use crate::stopping::{Next, Start, Stopping};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by the conjugate gradient squared method with the default [`Options`].
///
/// # Errors
///
/// As [`cgs_with`].
pub fn cgs<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    cgs_with(a, b, Options::default())
}

/// Solves A x = b by the preconditioned conjugate gradient squared method; A may be unsymmetric.
///
/// Sonneveld (1989), preconditioned from the right as in Barrett et al., *Templates for the
/// Solution of Linear Systems*, 2.3.7. Two products and three inner products an iteration; its
/// residual may rise steeply before it falls, where [`bicgstab()`](crate::bicgstab()) is smoother.
///
/// # Errors
///
/// If the shapes do not fit, or an operator fails; not converging is no error but a
/// [`StopReason`].
pub fn cgs_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Cgs.solve(a, b, options)
}

pub(super) async fn steps<T: Field>(
    a: &dyn LinearOperator<T>,
    b: Rhs<'_, T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    let (mut stopping, start) = Stopping::start("cgs", a, b, options).await?;
    let Start {
        mut x,
        mut r,
        mut saved,
    } = start;
    stopping.expect_squared_peaks();
    if let Some(reason) = stopping.first() {
        return stopping.finish(x, reason).await;
    }
    loop {
        let (mut rho, [shadow, mut u, mut p]) = match saved.take() {
            Some(saved) => saved,
            None => (r.dot(&r), [r.clone(), r.clone(), r.clone()]),
        };
        loop {
            let p_hat = stopping.precondition(&p)?;
            let v = a.apply(&p_hat)?;
            let sigma = shadow.dot(&v);
            let alpha = rho.ratio(&sigma);
            // What is not read again is let go of, and its memory taken over.
            let q = &u - &alpha * v;
            let u_hat = stopping.precondition(&(u + &q))?;
            x += &alpha * &u_hat;
            r -= &alpha * a.apply(&u_hat)?;
            drop(u_hat);
            let rho_next = shadow.dot(&r);
            let norm = norm_of(&r).await?;
            match stopping.next(&x, norm).await? {
                Next::Iterate => {}
                Next::Restart(residual) => {
                    r = residual;
                    break;
                }
                Next::Stop(reason) => return stopping.finish(x, reason).await,
            }
            if sigma.get()? == T::ZERO {
                return stopping
                    .finish(x, StopReason::Breakdown(Breakdown::Sigma))
                    .await;
            }
            if rho_next.get()? == T::ZERO {
                return stopping
                    .finish(x, StopReason::Breakdown(Breakdown::Rho))
                    .await;
            }
            let beta = &rho_next / &rho;
            u = &r + &beta * &q;
            p = &u + &beta * (&q + &beta * &p);
            rho = rho_next;
            if let Some(reason) = stopping.save((&x, &r), &rho, [&shadow, &u, &p])? {
                return stopping.finish(x, reason).await;
            }
        }
    }
}
