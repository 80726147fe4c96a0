//! LSMR: least squares by the minimal residual of the normal equations.

use super::Method;
use super::iterations::Iterations;
use super::least_squares::{Bidiagonal, Estimates, LeastSquares};
use super::scalars::{length, real, real_rotation};
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use crate::turns::norm_of;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Minimises ‖b - A x‖ by LSMR with the default [`Options`].
///
/// # Errors
///
/// As [`lsmr_with`].
pub fn lsmr<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    lsmr_with(a, b, Options::default())
}

/// Minimises ‖b - A x‖ by LSMR; A may have any shape and rank, and must have an adjoint. Of several
/// solutions it finds the shortest, without a preconditioner; with an initial guess, the one
/// nearest to it. [`Method::Lsmr`] has damping.
///
/// Fong and Saunders (2011). In exact arithmetic the iterates are those of
/// [`minres()`](crate::minres()) on the normal equations, so that the gradient falls in every
/// iteration, where that of [`lsqr()`](crate::lsqr()) need not. Two products, one of them with the
/// adjoint, and two reductions an iteration; holds x, v, h, the last h and u. Preconditioner and
/// convergence are as there.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails or has no adjoint, or a checkpoint is asked for; not
/// converging is no error but a [`StopReason`](crate::StopReason).
pub fn lsmr_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::LSMR.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    problem: &mut LeastSquares<'_, '_, T>,
    r: Vector<T>,
) -> Iterations<T> {
    let mut bidiagonal = Bidiagonal::new(problem, &r).await?;
    problem.begin(&bidiagonal).await?;
    let mut x = problem.zeros();
    let mut h = bidiagonal.v.clone();
    let mut h_bar = problem.zeros();
    let mut factors = Factors::new(&bidiagonal, problem.damping());
    loop {
        bidiagonal.step(problem).await?;
        let step = factors.step(bidiagonal.alpha, bidiagonal.beta);
        if !step.is_finite::<T>() {
            return Err(problem.not_finite(&x)?);
        }
        h_bar = &h - &h_bar * T::from_f64(step.behind_bar);
        x += &h_bar * T::from_f64(step.along);
        h = &bidiagonal.v - &h * T::from_f64(step.behind);
        let estimates = factors.estimates(&x).await?;
        problem.check(&x, &estimates).await?;
    }
}

/// The two QR factorisations, with the letters of the paper.
struct Factors {
    damping: f64,
    alpha_bar: f64,
    zeta: f64,
    zeta_bar: f64,
    rho: f64,
    rho_bar: f64,
    c_bar: f64,
    s_bar: f64,
    residual: ResidualNorm,
    a_squares: f64,
}

/// What an iteration does with its vectors: h_bar = h - behind_bar h_bar, x += along h_bar,
/// h = v - behind h.
struct Step {
    behind_bar: f64,
    along: f64,
    behind: f64,
}

impl Step {
    /// Whether the type of the elements holds its numbers.
    fn is_finite<T: Field>(&self) -> bool {
        let numbers = [self.behind_bar, self.along, self.behind];
        numbers.iter().all(|&x| real(T::from_f64(x)).is_finite())
    }
}

impl Factors {
    fn new<T>(first: &Bidiagonal<T>, damping: f64) -> Self {
        Self {
            damping,
            alpha_bar: first.alpha,
            zeta: 0.0,
            zeta_bar: first.alpha * first.beta,
            rho: 1.0,
            rho_bar: 1.0,
            c_bar: 1.0,
            s_bar: 0.0,
            residual: ResidualNorm::new(first.beta),
            a_squares: first.alpha * first.alpha,
        }
    }

    fn step(&mut self, alpha: f64, beta: f64) -> Step {
        let (c_hat, s_hat, alpha_hat) = real_rotation(self.alpha_bar, self.damping);

        let last_rho = self.rho;
        let (c, s, rho) = real_rotation(alpha_hat, beta);
        let theta = s * alpha;
        self.rho = rho;
        self.alpha_bar = c * alpha;

        let last_rho_bar = self.rho_bar;
        let theta_bar = self.s_bar * rho;
        let (c_bar, s_bar, rho_bar) = real_rotation(self.c_bar * rho, theta);
        (self.c_bar, self.s_bar, self.rho_bar) = (c_bar, s_bar, rho_bar);
        let last_zeta = self.zeta;
        self.zeta = c_bar * self.zeta_bar;
        self.zeta_bar *= -s_bar;

        let rotations = [(c_hat, s_hat), (c, s)];
        self.residual
            .step(rotations, theta_bar, rho_bar, [last_zeta, self.zeta]);
        self.a_squares += alpha * alpha + beta * beta + self.damping * self.damping;
        Step {
            behind_bar: theta_bar * rho / (last_rho * last_rho_bar),
            along: self.zeta / (rho * rho_bar),
            behind: theta / rho,
        }
    }

    async fn estimates<T: Field>(&self, x: &Vector<T>) -> Result<Estimates, Error> {
        let damped_residual = self.residual.norm;
        let residual = if self.damping == 0.0 {
            damped_residual
        } else {
            let size = self.damping * norm_of(x).await?;
            (damped_residual * damped_residual - size * size)
                .max(0.0)
                .sqrt()
        };
        Ok(Estimates {
            residual,
            damped_residual,
            gradient: self.zeta_bar.abs(),
            a_norm: self.a_squares.sqrt(),
        })
    }
}

/// The norm of the residual, by a third factorisation: section 5.1 of the paper.
struct ResidualNorm {
    beta_double_dot: f64,
    beta_dot: f64,
    last_rho_dot: f64,
    last_tau_tilde: f64,
    theta_tilde: f64,
    /// What damping has taken out, squared.
    damped: f64,
    norm: f64,
}

impl ResidualNorm {
    fn new(beta: f64) -> Self {
        Self {
            beta_double_dot: beta,
            beta_dot: 0.0,
            last_rho_dot: 1.0,
            last_tau_tilde: 0.0,
            theta_tilde: 0.0,
            damped: 0.0,
            norm: beta,
        }
    }

    fn step(
        &mut self,
        [(c_hat, s_hat), (c, s)]: [(f64, f64); 2],
        theta_bar: f64,
        rho_bar: f64,
        [last_zeta, zeta]: [f64; 2],
    ) {
        let beta_acute = c_hat * self.beta_double_dot;
        let beta_check = -s_hat * self.beta_double_dot;
        let beta_hat = c * beta_acute;
        self.beta_double_dot = -s * beta_acute;

        let last_theta_tilde = self.theta_tilde;
        let (c_tilde, s_tilde, rho_tilde) = real_rotation(self.last_rho_dot, theta_bar);
        self.theta_tilde = s_tilde * rho_bar;
        self.last_rho_dot = c_tilde * rho_bar;
        self.beta_dot = -s_tilde * self.beta_dot + c_tilde * beta_hat;

        self.last_tau_tilde = (last_zeta - last_theta_tilde * self.last_tau_tilde) / rho_tilde;
        let tau_dot = (zeta - self.theta_tilde * self.last_tau_tilde) / self.last_rho_dot;
        self.damped += beta_check * beta_check;
        let undamped = length(self.beta_dot - tau_dot, self.beta_double_dot);
        self.norm = length(undamped, self.damped.sqrt());
    }
}
