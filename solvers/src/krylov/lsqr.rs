//! LSQR: least squares by the bidiagonalisation of the matrix.

use super::Method;
use super::iterations::Iterations;
use super::least_squares::{Bidiagonal, Estimates, LeastSquares};
use super::scalars::real_rotation;
use crate::operator::LinearOperator;
use crate::solution::{Options, Solution};
use crate::turns::norm_of;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Minimises ‖b - A x‖ by LSQR with the default [`Options`].
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::lsqr;
/// use sparsefuse_sparse::Csr;
///
/// // A line through three points, (0, 1), (1, 2) and (2, 4).
/// let a = Csr::<f64>::new(3, 2, vec![0, 1, 3, 5], vec![0, 0, 1, 0, 1], vec![1.0, 1.0, 1.0, 1.0, 2.0])?;
/// let b = Vector::from_vec(vec![1.0, 2.0, 4.0]);
/// let line = lsqr(&a, &b)?.checked()?.x.to_vec()?;
/// assert!((line[0] - 5.0 / 6.0).abs() < 1e-9 && (line[1] - 1.5).abs() < 1e-9);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`lsqr_with`].
pub fn lsqr<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    lsqr_with(a, b, Options::default())
}

/// Minimises ‖b - A x‖ by LSQR; A may have any shape and rank, and must have an adjoint. Of several
/// solutions it finds the shortest, without a preconditioner; with an initial guess, the one
/// nearest to it. [`Method::Lsqr`] has damping.
///
/// Paige and Saunders (1982). In exact arithmetic the iterates are those of conjugate gradients on
/// the normal equations. Two products, one of them with the adjoint, and two reductions an
/// iteration; holds x, v, w and u. The preconditioner stands on the right and must have an adjoint
/// too.
///
/// It has converged when ‖b - A x‖ <= max(rtol ‖b‖, atol), or when the gradient
/// ‖A'(b - A x)‖ <= rtol ‖A‖ ‖b - A x‖ ([`StopReason::LeastSquares`](crate::StopReason)), as
/// SciPy's with `btol` and `atol` both rtol.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails or has no adjoint, or a checkpoint is asked for; not
/// converging is no error but a [`StopReason`](crate::StopReason).
pub fn lsqr_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::LSQR.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    problem: &mut LeastSquares<'_, '_, T>,
    r: Vector<T>,
) -> Iterations<T> {
    let mut bidiagonal = Bidiagonal::new(problem, &r).await?;
    problem.begin(&bidiagonal).await?;
    let mut w = bidiagonal.v.clone();
    let mut x = problem.zeros();
    let mut factors = Factors::new(&bidiagonal, problem.damping());
    loop {
        bidiagonal.step(problem).await?;
        let step = factors.step(bidiagonal.alpha, bidiagonal.beta);
        x += &w * T::from_f64(step.along);
        w = &bidiagonal.v - &w * T::from_f64(step.behind);
        let estimates = factors.estimates(&x, bidiagonal.alpha).await?;
        problem.check(&x, &estimates).await?;
    }
}

/// The QR factorisation of the bidiagonal matrix, with the letters of the paper.
struct Factors {
    damping: f64,
    rho_bar: f64,
    phi_bar: f64,
    /// The cosine of the last rotation.
    c: f64,
    /// The part of what is minimised that damping has taken out, squared.
    damped: f64,
    a_squares: f64,
}

/// What an iteration does with its vectors: x += along w, w = v - behind w.
struct Step {
    along: f64,
    behind: f64,
}

impl Factors {
    fn new<T>(first: &Bidiagonal<T>, damping: f64) -> Self {
        Self {
            damping,
            rho_bar: first.alpha,
            phi_bar: first.beta,
            c: 1.0,
            damped: 0.0,
            a_squares: first.alpha * first.alpha,
        }
    }

    fn step(&mut self, alpha: f64, beta: f64) -> Step {
        let damping = self.damping;
        let (damped_c, damped_s, rho_bar) = real_rotation(self.rho_bar, damping);
        self.damped += (damped_s * self.phi_bar).powi(2);
        let phi_bar = damped_c * self.phi_bar;

        let (c, s, rho) = real_rotation(rho_bar, beta);
        let theta = s * alpha;
        self.rho_bar = -c * alpha;
        let phi = c * phi_bar;
        self.phi_bar = s * phi_bar;
        self.c = c;
        self.a_squares += alpha * alpha + beta * beta + damping * damping;
        Step {
            along: phi / rho,
            behind: theta / rho,
        }
    }

    async fn estimates<T: Field>(&self, x: &Vector<T>, alpha: f64) -> Result<Estimates, Error> {
        let squares = self.phi_bar * self.phi_bar + self.damped;
        let residual = if self.damping == 0.0 {
            self.phi_bar.abs()
        } else {
            let x_squares = norm_of(x).await?.powi(2);
            let undamped = squares - self.damping * self.damping * x_squares;
            undamped.max(0.0).sqrt()
        };
        Ok(Estimates {
            residual,
            damped_residual: squares.sqrt(),
            gradient: (self.phi_bar * alpha * self.c).abs(),
            a_norm: self.a_squares.sqrt(),
        })
    }
}
