//! The conjugate gradient squared method.

use super::Method;
use super::iterations::{Iterations, expect_nonzero};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::root;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, State, StoreHandle};

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
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, or an operator fails; not converging is no error but a
/// [`StopReason`](crate::StopReason).
pub fn cgs_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Cgs.solve(a, b, options)
}

/// What an iteration leaves to the next one.
struct Step<'x, T: Field> {
    x: &'x mut Vector<T>,
    r: Vector<T>,
    squares: Scalar<T::Real>,
    u: Vector<T>,
    q: Vector<T>,
    /// The direction.
    p: Vector<T>,
    rho: Scalar<T>,
    /// That of the iteration before.
    rho_before: Scalar<T>,
    sigma: Scalar<T>,
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let (rho, [shadow, u, p]) = match stopping.saved() {
        Some(saved) => saved,
        None => (r.dot(&r), [r.clone(), r.clone(), r.clone()]),
    };
    stopping.save_anew((x, &r), &rho, [&shadow, &u, &p])?;
    let mut step = Step {
        x,
        squares: r.sum_of_squares(),
        r,
        q: u.clone(),
        u,
        p,
        rho_before: rho.clone(),
        sigma: rho.clone(),
        rho,
    };
    step.along_p(&shadow, stopping)?;
    let mut rounds = stopping.rounds();
    loop {
        let norm = root(&step.squares).await?;
        stopping.check(step.x, norm).await?;
        expect_nonzero(&step.sigma, Breakdown::Sigma)?;
        expect_nonzero(&step.rho, Breakdown::Rho)?;
        if stopping.is_due() {
            let (u, p) = step.next_directions();
            stopping.save((step.x, &step.r), &step.rho, [&shadow, &u, &p])?;
        }
        rounds.run(&mut step, |step| {
            (step.u, step.p) = step.next_directions();
            step.along_p(&shadow, stopping)
        })?;
    }
}

impl<T: Field> Step<'_, T> {
    /// u and p.
    fn next_directions(&self) -> (Vector<T>, Vector<T>) {
        let beta = &self.rho / &self.rho_before;
        let u = &self.r + &beta * &self.q;
        let p = &u + &beta * (&self.q + &beta * &self.p);
        (u, p)
    }

    fn along_p(&mut self, shadow: &Vector<T>, stopping: &Stopping<'_, '_, T>) -> Result<(), Error> {
        let a = stopping.operator();
        let p_hat = stopping.precondition(&self.p)?;
        let v = a.apply(&p_hat)?;
        self.sigma = shadow.dot(&v);
        let alpha = self.rho.ratio(&self.sigma);
        // What is not read again is let go of, and its memory taken over.
        self.q = &self.u - &alpha * v;
        let u_hat = stopping.precondition(&(&self.u + &self.q))?;
        *self.x += &alpha * &u_hat;
        self.r -= &alpha * a.apply(&u_hat)?;
        self.squares = self.r.sum_of_squares();
        self.rho_before = std::mem::replace(&mut self.rho, shadow.dot(&self.r));
        Ok(())
    }
}

impl<T: Field> State for Step<'_, T> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        let vectors = (&mut *self.x, &mut self.r, &mut self.u, &mut self.q);
        let products = (&mut self.squares, &mut self.sigma);
        let rhos = (&mut self.rho, &mut self.rho_before);
        (vectors, &mut self.p, products, rhos).each_store(visit);
    }

    fn is_whole(&self) -> bool {
        let mut vectors = [&*self.x, &self.r, &self.u, &self.q, &self.p].into_iter();
        vectors.all(|vector| vector.is_whole())
    }
}
