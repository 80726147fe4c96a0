//! The biconjugate gradient method.

use super::Method;
use super::iterations::{Iterations, expect_nonzero};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::norm_of;
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
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails or has no adjoint, or a checkpoint is asked for; not
/// converging is no error but a [`StopReason`](crate::StopReason).
pub fn bicg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Bicg.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let mut shadow_r = r.clone();
    let mut p = stopping.precondition(&r)?;
    let mut shadow_p = stopping.precondition_adjoint(&shadow_r)?;
    let mut rho = shadow_r.dot(&p);
    loop {
        let q = a.apply(&p)?;
        let shadow_q = a.apply_adjoint(&shadow_p)?;
        let sigma = shadow_p.dot(&q);
        let alpha = rho.ratio(&sigma);
        *x += &alpha * &p;
        r -= &alpha * &q;
        shadow_r -= alpha.conj() * &shadow_q;
        let z = stopping.precondition(&r)?;
        let rho_next = shadow_r.dot(&z);
        stopping.check(x, norm_of(&r).await?).await?;
        expect_nonzero(&sigma, Breakdown::Sigma)?;
        expect_nonzero(&rho_next, Breakdown::Rho)?;
        let beta = &rho_next / &rho;
        let shadow_z = stopping.precondition_adjoint(&shadow_r)?;
        p = z + &beta * &p;
        shadow_p = shadow_z + beta.conj() * &shadow_p;
        rho = rho_next;
    }
}
