//! The biconjugate gradient method.

use super::Method;
use super::turns::norm_of;
use crate::operator::LinearOperator;
use crate::scaling::Rhs;
use crate::solution::{Breakdown, Options, Solution, StopReason};
use crate::stopping::{Next, Stopping};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by the biconjugate gradient method with the default [`Options`].
///
/// # Errors
///
/// As [`bicg_with`].
pub fn bicg<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    bicg_with(a, b, Options::default())
}

/// Solves A x = b by the preconditioned biconjugate gradient method; A may be unsymmetric, and
/// both A and the preconditioner must have an adjoint.
///
/// Fletcher (1976), as in Barrett et al., *Templates for the Solution of Linear Systems*, 2.3.5.
/// Two products, one of them with the adjoint, and three inner products an iteration; holds x, r,
/// p, q and the shadows of the last three.
///
/// # Errors
///
/// If the shapes do not fit, an operator fails or has no adjoint, or a checkpoint is asked for; not
/// converging is no error but a [`StopReason`].
pub fn bicg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Bicg.solve(a, b, options)
}

pub(super) async fn steps<T: Field>(
    a: &dyn LinearOperator<T>,
    b: Rhs<'_, T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    let (mut stopping, mut x, mut r) = Stopping::begin("bicg", a, b, options).await?;
    if let Some(reason) = stopping.first() {
        return stopping.finish(x, reason).await;
    }
    loop {
        let mut shadow_r = r.clone();
        let mut p = stopping.precondition(&r)?;
        let mut shadow_p = stopping.precondition_adjoint(&shadow_r)?;
        let mut rho = shadow_r.dot(&p);
        loop {
            let q = a.apply(&p)?;
            let shadow_q = a.apply_adjoint(&shadow_p)?;
            let sigma = shadow_p.dot(&q);
            let alpha = rho.ratio(&sigma);
            x += &alpha * &p;
            r -= &alpha * &q;
            shadow_r -= alpha.conj() * &shadow_q;
            let z = stopping.precondition(&r)?;
            let rho_next = shadow_r.dot(&z);
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
            let shadow_z = stopping.precondition_adjoint(&shadow_r)?;
            p = z + &beta * &p;
            shadow_p = shadow_z + beta.conj() * &shadow_p;
            rho = rho_next;
        }
    }
}
