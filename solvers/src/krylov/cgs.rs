//! The conjugate gradient squared method.

use super::Method;
use super::iterations::{Iterations, expect_nonzero};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::norm_of;
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
/// [`StopReason`](crate::StopReason).
pub fn cgs_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Cgs.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let (mut rho, [shadow, mut u, mut p]) = match stopping.saved() {
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
        *x += &alpha * &u_hat;
        r -= &alpha * a.apply(&u_hat)?;
        drop(u_hat);
        let rho_next = shadow.dot(&r);
        stopping.check(x, norm_of(&r).await?).await?;
        expect_nonzero(&sigma, Breakdown::Sigma)?;
        expect_nonzero(&rho_next, Breakdown::Rho)?;
        let beta = &rho_next / &rho;
        u = &r + &beta * &q;
        p = &u + &beta * (&q + &beta * &p);
        rho = rho_next;
        stopping.save((x, &r), &rho, [&shadow, &u, &p])?;
    }
}
