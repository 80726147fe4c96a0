//! The stabilised biconjugate gradient method.

use super::Method;
use super::turns::norm_of;
use crate::operator::LinearOperator;
use crate::scaling::Rhs;
use crate::solution::{Breakdown, Options, Solution, StopReason};
use crate::stopping::{Next, Start, Stopping};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by the stabilised biconjugate gradient method with the default [`Options`].
///
/// # Errors
///
/// As [`bicgstab_with`].
pub fn bicgstab<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    bicgstab_with(a, b, Options::default())
}

/// Solves A x = b by the preconditioned stabilised biconjugate gradient method; A may be
/// unsymmetric.
///
/// van der Vorst (1992), preconditioned from the right as in Barrett et al., *Templates for the
/// Solution of Linear Systems*, 2.3.8. Two products and five inner products an iteration.
///
/// # Errors
///
/// If the shapes do not fit, or an operator fails; not converging is no error but a
/// [`StopReason`].
pub fn bicgstab_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Bicgstab.solve(a, b, options)
}

pub(super) async fn steps<T: Field>(
    a: &dyn LinearOperator<T>,
    b: Rhs<'_, T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    let (mut stopping, start) = Stopping::start("bicgstab", a, b, options).await?;
    let Start {
        mut x,
        mut r,
        mut saved,
    } = start;
    if let Some(reason) = stopping.first() {
        return stopping.finish(x, reason).await;
    }
    loop {
        let (mut rho, [shadow, mut p]) = match saved.take() {
            Some(saved) => saved,
            None => (r.dot(&r), [r.clone(), r.clone()]),
        };
        loop {
            let p_hat = stopping.precondition(&p)?;
            let v = a.apply(&p_hat)?;
            let sigma = shadow.dot(&v);
            let alpha = rho.ratio(&sigma);
            let s = &r - &alpha * &v;
            let s_hat = stopping.precondition(&s)?;
            let t = a.apply(&s_hat)?;
            let omega = t.dot(&s).ratio(&t.dot(&t));
            // What is not read again is let go of, and its memory taken over.
            x += &alpha * p_hat;
            x += &omega * s_hat;
            r = s - &omega * t;
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
            for (scalar, name) in [
                (&sigma, Breakdown::Sigma),
                (&omega, Breakdown::Omega),
                (&rho_next, Breakdown::Rho),
            ] {
                if scalar.get()? == T::ZERO {
                    return stopping.finish(x, StopReason::Breakdown(name)).await;
                }
            }
            let beta = (&rho_next / &rho) * (&alpha / &omega);
            p = &r + &beta * (&p - &omega * &v);
            rho = rho_next;
            if let Some(reason) = stopping.save((&x, &r), &rho, [&shadow, &p])? {
                return stopping.finish(x, reason).await;
            }
        }
    }
}
