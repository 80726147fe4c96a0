//! The method of conjugate gradients.

use super::Method;
use super::scalars::real;
use super::turns::{norm_of, value};
use crate::operator::LinearOperator;
use crate::scaling::Rhs;
use crate::solution::{Options, Solution, StopReason};
use crate::stopping::{Next, Start, Stopping};
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

pub(super) async fn steps<T: Field>(
    a: &dyn LinearOperator<T>,
    b: Rhs<'_, T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    let (mut stopping, start) = Stopping::start("cg", a, b, options).await?;
    let Start {
        mut x,
        mut r,
        mut saved,
    } = start;
    if let Some(reason) = stopping.first() {
        return stopping.finish(x, reason).await;
    }
    loop {
        let (mut rho, [mut p]) = match saved.take() {
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
            x += &alpha * &p;
            r -= &alpha * &q;
            let z = stopping.precondition(&r)?;
            let rho_next = r.dot(&z);
            let norm = if stopping.has_preconditioner() {
                norm_of(&r).await?
            } else {
                real(value(&rho_next).await?).sqrt()
            };
            match stopping.next(&x, norm).await? {
                Next::Iterate => {}
                Next::Restart(residual) => {
                    r = residual;
                    break;
                }
                Next::Stop(reason) => return stopping.finish(x, reason).await,
            }
            if real(sigma.get()?) <= 0.0 {
                return stopping.finish(x, StopReason::IndefiniteMatrix).await;
            }
            if real(rho_next.get()?) <= 0.0 {
                return stopping
                    .finish(x, StopReason::IndefinitePreconditioner)
                    .await;
            }
            let beta = &rho_next / &rho;
            p = z + &beta * &p;
            rho = rho_next;
            if let Some(reason) = stopping.save((&x, &r), &rho, [&p])? {
                return stopping.finish(x, reason).await;
            }
        }
    }
}
