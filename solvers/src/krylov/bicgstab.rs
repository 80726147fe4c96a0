//! The stabilised biconjugate gradient method.

use super::Method;
use super::iterations::{Iterations, expect_nonzero};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::norm_of;
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
/// [`StopReason`](crate::StopReason).
pub fn bicgstab_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Bicgstab.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let (mut rho, [shadow, mut p]) = match stopping.saved() {
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
        *x += &alpha * p_hat;
        *x += &omega * s_hat;
        r = s - &omega * t;
        let rho_next = shadow.dot(&r);
        stopping.check(x, norm_of(&r).await?).await?;
        expect_nonzero(&sigma, Breakdown::Sigma)?;
        expect_nonzero(&omega, Breakdown::Omega)?;
        expect_nonzero(&rho_next, Breakdown::Rho)?;
        let beta = (&rho_next / &rho) * (&alpha / &omega);
        p = &r + &beta * (&p - &omega * &v);
        rho = rho_next;
        stopping.save((x, &r), &rho, [&shadow, &p])?;
    }
}
