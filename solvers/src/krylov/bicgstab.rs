//! The stabilised biconjugate gradient method.

use super::Method;
use super::iterations::{Iterations, expect_nonzero};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::root;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, State, StoreHandle};

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
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, or an operator fails; not converging is no error but a
/// [`StopReason`](crate::StopReason).
pub fn bicgstab_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Bicgstab.solve(a, b, options)
}

/// What an iteration leaves to the next one.
struct Step<'x, T: Field> {
    x: &'x mut Vector<T>,
    r: Vector<T>,
    squares: Scalar<T::Real>,
    /// The direction, and the image of what it is preconditioned to.
    p: Vector<T>,
    v: Vector<T>,
    rho: Scalar<T>,
    /// That of the iteration before.
    rho_before: Scalar<T>,
    sigma: Scalar<T>,
    alpha: Scalar<T>,
    omega: Scalar<T>,
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let (rho, [shadow, p]) = match stopping.saved() {
        Some(saved) => saved,
        None => (r.dot(&r), [r.clone(), r.clone()]),
    };
    stopping.save_anew((x, &r), &rho, [&shadow, &p])?;
    let mut step = Step {
        x,
        squares: r.sum_of_squares(),
        v: p.clone(),
        r,
        p,
        rho_before: rho.clone(),
        sigma: rho.clone(),
        alpha: rho.clone(),
        omega: rho.clone(),
        rho,
    };
    step.along_p(&shadow, stopping)?;
    let mut rounds = stopping.rounds();
    loop {
        let norm = root(&step.squares).await?;
        stopping.check(step.x, norm).await?;
        expect_nonzero(&step.sigma, Breakdown::Sigma)?;
        expect_nonzero(&step.omega, Breakdown::Omega)?;
        expect_nonzero(&step.rho, Breakdown::Rho)?;
        if stopping.is_due() {
            let p = step.next_direction();
            stopping.save((step.x, &step.r), &step.rho, [&shadow, &p])?;
        }
        rounds.run(&mut step, |step| {
            step.p = step.next_direction();
            step.along_p(&shadow, stopping)
        })?;
    }
}

impl<T: Field> Step<'_, T> {
    fn next_direction(&self) -> Vector<T> {
        let beta = (&self.rho / &self.rho_before) * (&self.alpha / &self.omega);
        &self.r + &beta * (&self.p - &self.omega * &self.v)
    }

    /// The step along p, and the one that makes the residual behind it least.
    fn along_p(&mut self, shadow: &Vector<T>, stopping: &Stopping<'_, '_, T>) -> Result<(), Error> {
        let a = stopping.operator();
        let p_hat = stopping.precondition(&self.p)?;
        self.v = a.apply(&p_hat)?;
        self.sigma = shadow.dot(&self.v);
        self.alpha = self.rho.ratio(&self.sigma);
        let s = &self.r - &self.alpha * &self.v;
        let s_hat = stopping.precondition(&s)?;
        let t = a.apply(&s_hat)?;
        self.omega = t.dot(&s).ratio(&t.dot(&t));
        // What is not read again is let go of, and its memory taken over.
        *self.x += &self.alpha * p_hat;
        *self.x += &self.omega * s_hat;
        self.r = s - &self.omega * t;
        self.squares = self.r.sum_of_squares();
        self.rho_before = std::mem::replace(&mut self.rho, shadow.dot(&self.r));
        Ok(())
    }
}

impl<T: Field> State for Step<'_, T> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        let vectors = (&mut *self.x, &mut self.r, &mut self.p, &mut self.v);
        let products = (&mut self.squares, &mut self.sigma);
        let lengths = (&mut self.alpha, &mut self.omega);
        let rhos = (&mut self.rho, &mut self.rho_before);
        (vectors, products, lengths, rhos).each_store(visit);
    }

    fn is_whole(&self) -> bool {
        let mut vectors = [&*self.x, &self.r, &self.p, &self.v].into_iter();
        vectors.all(|vector| vector.is_whole())
    }
}
