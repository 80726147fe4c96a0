//! The method of conjugate gradients.

use super::Method;
use super::iterations::Iterations;
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, State, StoreHandle};

/// Solves A x = b by conjugate gradients with the default [`Options`]; A must be symmetric (or
/// Hermitian) and positive definite, or negative definite.
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
/// As [`cg_with`]; not converging is no error but a [`StopReason`](crate::StopReason).
pub fn cg<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    cg_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned conjugate gradients; A and the preconditioner must be
/// symmetric (or Hermitian) positive definite. A may be negative definite: the iterates are those
/// of -A and -b; the preconditioner must be positive definite still.
///
/// Hestenes and Stiefel (1952), as Algorithm 9.1 of Saad, *Iterative Methods for Sparse Linear
/// Systems*, 2nd edition. One product and two (preconditioned: three) inner products an iteration;
/// holds x, r, p, q beside b (preconditioned: and z). Without a preconditioner an iteration is
/// two fused tasks, which move the matrix and 11 vectors; 10 where p is computed ahead of the rows
/// of A p that read it.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a look at some entries of the matrix shows that it is not
/// symmetric (Hermitian); not converging is no error but a [`StopReason`](crate::StopReason).
pub fn cg_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Cg.solve(a, b, options)
}

/// What an iteration leaves to the next one.
struct Step<'x, T> {
    x: &'x mut Vector<T>,
    r: Vector<T>,
    /// The preconditioned residual.
    z: Vector<T>,
    /// The direction.
    p: Vector<T>,
    rho: Scalar<T>,
    /// That of the iteration before.
    rho_before: Scalar<T>,
    /// The curvature along p.
    sigma: Scalar<T>,
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let (rho, [p]) = match stopping.saved() {
        Some((rho, others)) => (stopping.with_sign(&rho)?, others),
        None => {
            let z = stopping.precondition(&r)?;
            (r.dot(&z), [z])
        }
    };
    stopping.save_anew((x, &r), &rho, [&p])?;
    let mut step = Step {
        x,
        z: r.clone(),
        r,
        p,
        rho_before: rho.clone(),
        sigma: rho.clone(),
        rho,
    };
    step.along_p(stopping)?;
    let mut rounds = stopping.rounds();
    loop {
        let norm = stopping.norm(&step.r, &step.rho).await?;
        stopping.check(step.x, norm).await?;
        let curvatures = [&step.sigma, &step.rho];
        stopping.expect_definite(step.x, curvatures, norm).await?;
        if stopping.is_due() {
            let p = step.next_direction();
            stopping.save((step.x, &step.r), &step.rho, [&p])?;
        }
        rounds.run(&mut step, |step| {
            step.p = step.next_direction();
            step.along_p(stopping)
        })?;
    }
}

impl<T: Field> Step<'_, T> {
    /// z + beta p, conjugate to p.
    fn next_direction(&self) -> Vector<T> {
        let beta = &self.rho / &self.rho_before;
        &self.z + &beta * &self.p
    }

    /// The step along p to the least error in the norm of A.
    fn along_p(&mut self, stopping: &Stopping<'_, '_, T>) -> Result<(), Error> {
        let q = stopping.operator().apply(&self.p)?;
        self.sigma = self.p.dot(&q);
        let alpha = self.rho.ratio(&self.sigma);
        *self.x += &alpha * &self.p;
        self.r -= &alpha * &q;
        self.z = stopping.precondition(&self.r)?;
        self.rho_before = std::mem::replace(&mut self.rho, self.r.dot(&self.z));
        Ok(())
    }
}

impl<T: Field> State for Step<'_, T> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        let vectors = (&mut *self.x, &mut self.r, &mut self.z, &mut self.p);
        let scalars = (&mut self.rho, &mut self.rho_before, &mut self.sigma);
        (vectors, scalars).each_store(visit);
    }

    fn is_whole(&self) -> bool {
        [&*self.x, &self.r, &self.z, &self.p]
            .iter()
            .all(|vector| vector.is_whole())
    }
}
