//! The method of conjugate gradients.

use super::Method;
use super::iterations::{Iterations, expect_positive};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution, StopReason};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by conjugate gradients with the default [`Options`]; A must be symmetric (or
/// Hermitian) positive definite.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::cg;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let b = &a * &Vector::ones([256]);
/// let solution = cg(&a, &b)?;
/// assert!(solution.converged());
/// assert!((solution.x.to_vec()?[17] - 1.0).abs() < 1e-6);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If the shapes do not fit; not converging is no error but a [`StopReason`].
pub fn cg<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    cg_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned conjugate gradients; A and the preconditioner must be
/// symmetric (or Hermitian) positive definite.
///
/// Hestenes and Stiefel (1952), as Algorithm 9.1 of Saad, *Iterative Methods for Sparse Linear
/// Systems*, 2nd edition. One product and two (preconditioned: three) inner products an iteration;
/// holds x, r, p, q beside b (preconditioned: and z). Without a preconditioner an iteration is
/// two fused tasks, which move the matrix and 11 vectors; 10 where p is computed ahead of the rows
/// of A p that read it.
///
/// # Errors
///
/// If the shapes do not fit, an operator fails, or a look at some entries of the matrix shows that
/// it is not symmetric (Hermitian); not converging is no error but a [`StopReason`].
pub fn cg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Cg.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let (mut rho, [mut p]) = match stopping.saved() {
        Some(saved) => saved,
        None => {
            let z = stopping.precondition(&r)?;
            (r.dot(&z), [z])
        }
    };
    loop {
        let q = a.apply(&p)?;
        let sigma = p.dot(&q);
        let alpha = rho.ratio(&sigma);
        *x += &alpha * &p;
        r -= &alpha * &q;
        let z = stopping.precondition(&r)?;
        let rho_next = r.dot(&z);
        let norm = stopping.norm(&r, &rho_next).await?;
        stopping.check(x, norm).await?;
        expect_positive(&sigma, StopReason::IndefiniteMatrix)?;
        expect_positive(&rho_next, StopReason::IndefinitePreconditioner)?;
        let beta = &rho_next / &rho;
        p = z + &beta * &p;
        rho = rho_next;
        stopping.save((x, &r), &rho, [&p])?;
    }
}
