//! The transpose-free quasi-minimal residual method.

use super::Method;
use super::iterations::{Iterations, expect_nonzero};
use super::scalars::{element, read, real_rotation};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::{norm_of, root};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by the transpose-free quasi-minimal residual method with the default
/// [`Options`].
///
/// # Errors
///
/// As [`tfqmr_with`].
pub fn tfqmr<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    tfqmr_with(a, b, Options::default())
}

/// Solves A x = b by the preconditioned transpose-free quasi-minimal residual method; A may be
/// unsymmetric.
///
/// Freund (1993), as Algorithm 7.8 of Saad, *Iterative Methods for Sparse Linear Systems*, 2nd
/// edition, preconditioned from the right. An iteration here is two of the half steps that are
/// counted there, so that it costs what one of [`cgs()`](crate::cgs()) does: two products and two
/// reductions. It smooths the residuals of that method. The norms of monitor and history are
/// Freund's bound of the residual's norm, tau sqrt(m + 1) after m half steps. Holds x, d, u, v, w,
/// the shadow residual, and two images.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a checkpoint is asked for; not converging is no error but
/// a [`StopReason`](crate::StopReason).
pub fn tfqmr_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Tfqmr.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let shadow = r.clone();
    let mut w = r.clone();
    let mut u = r.clone();
    let mut u_hat = stopping.precondition(&u)?;
    let mut image = a.apply(&u_hat)?;
    let mut v = image.clone();
    let mut rho = shadow.dot(&r);
    let mut d = r.runtime().enter(|| Vector::zeros([r.len()]));
    let mut quasi = QuasiResidual::new(norm_of(&r).await?);
    loop {
        let sigma = shadow.dot(&v);
        let alpha = rho.ratio(&sigma);
        let second_u = &u - &alpha * &v;
        let second_u_hat = stopping.precondition(&second_u)?;
        let second_image = a.apply(&second_u_hat)?;
        let middle_w = &w - &alpha * &image;
        w = &middle_w - &alpha * &second_image;
        let middle_squares = middle_w.sum_of_squares();
        let squares = w.sum_of_squares();
        let rho_next = shadow.dot(&w);
        drop(middle_w);

        // All is read before anything more is issued, which then joins the next iteration.
        let half_steps = [
            (root(&middle_squares).await?, u_hat),
            (root(&squares).await?, second_u_hat),
        ];
        let step_length = read(&alpha)?;
        let breakdown = expect_nonzero(&sigma, Breakdown::Sigma)
            .and_then(|()| expect_nonzero(&rho_next, Breakdown::Rho));
        for (norm, u_hat) in half_steps {
            let (behind, eta) = quasi.step(norm, step_length);
            let [behind, eta] = [behind, eta].map(element::<T>);
            if !is_finite(behind) || !is_finite(eta) {
                // This ends the iterations, with the x of the last half step.
                stopping.check(x, f64::NAN).await?;
            }
            d = u_hat + &d * behind;
            *x += &d * eta;
        }
        stopping.check(x, quasi.bound()).await?;
        breakdown?;
        let beta = &rho_next / &rho;
        u = &w + &beta * &second_u;
        u_hat = stopping.precondition(&u)?;
        image = a.apply(&u_hat)?;
        v = &image + &beta * (&second_image + &beta * &v);
        rho = rho_next;
    }
}

/// Whether an element is neither infinite nor not a number.
fn is_finite<T: Field>(element: T) -> bool {
    let (re, im) = element.parts();
    re.is_finite() && im.is_finite()
}

/// The rotations of the quasi-residual, with the letters of the textbook.
struct QuasiResidual {
    tau: f64,
    theta: f64,
    eta: Complex<f64>,
    half_steps: u32,
}

impl QuasiResidual {
    fn new(tau: f64) -> Self {
        Self {
            tau,
            theta: 0.0,
            eta: Complex::ZERO,
            half_steps: 0,
        }
    }

    /// Takes ‖w‖ and alpha of a half step; gives the factors of the last d in the next one, and of
    /// the next d in x.
    fn step(&mut self, norm: f64, alpha: Complex<f64>) -> (Complex<f64>, Complex<f64>) {
        // A method that has broken down goes nowhere; its reason is named later.
        let behind = match alpha == Complex::ZERO {
            true => Complex::ZERO,
            false => self.eta * (self.theta * self.theta) / alpha,
        };
        let (c, s, _) = real_rotation(self.tau, norm);
        self.theta = if c == 0.0 { 0.0 } else { s / c };
        self.tau *= s;
        self.eta = alpha * (c * c);
        self.half_steps += 1;
        (behind, self.eta)
    }

    /// What the norm of the residual is not above.
    fn bound(&self) -> f64 {
        self.tau * f64::from(self.half_steps + 1).sqrt()
    }
}
