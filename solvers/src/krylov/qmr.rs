//! The quasi-minimal residual method.

use super::Method;
use super::iterations::Iterations;
use super::scalars::{element, read, read_all, real_rotation, size};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution};
use crate::turns::{norm_of, root};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by the quasi-minimal residual method with the default [`Options`].
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::qmr;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::random::<f64>(200, 5, 1)?;
/// let b = &a * &Vector::ones([200]);
/// let solution = qmr(&a, &b)?;
/// assert!(solution.converged());
/// assert!((solution.x.to_vec()?[17] - 1.0).abs() < 1e-6);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`qmr_with`].
pub fn qmr<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    qmr_with(a, b, Options::default())
}

/// Solves A x = b by the preconditioned quasi-minimal residual method; A may be unsymmetric, and
/// both A and the preconditioner must have an adjoint. It smooths the residuals of
/// [`bicg()`](crate::bicg()), and does not break down where those would be infinite.
///
/// Freund and Nachtigal (1991), without look-ahead, by the coupled two-term recurrences of their
/// paper of 1994, as in Barrett et al., *Templates for the Solution of Linear Systems*, 2.3.6,
/// preconditioned from the right. The residual is a mean of the last one and of the next Lanczos
/// vector, so that its norm follows from inner products of these: two products, one of them with
/// the adjoint, and two reductions an iteration. Holds x, r, d, p, q and the Lanczos vectors v and
/// z.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails or has no adjoint, or a checkpoint is asked for; not
/// converging is no error but a [`StopReason`](crate::StopReason).
pub fn qmr_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Qmr.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    mut r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let mut long_v = r.clone();
    let mut long_z = stopping.precondition_adjoint(&r)?;
    let mut p = r.runtime().enter(|| Vector::zeros([r.len()]));
    let mut q = p.clone();
    let mut d = p.clone();
    let mut last = Products::of(&long_v, &long_z, &r).await?;
    let mut mean = Mean::new(last.rho);
    // By which p and q are conjugate to those before.
    let [mut of_p, mut of_q] = [Complex::ZERO; 2];
    loop {
        if last.within == Complex::ZERO {
            return Err(Breakdown::Rho.into());
        }
        let delta = last.delta();
        let v = &long_v * T::from_f64(1.0 / last.rho);
        let z = &long_z * T::from_f64(1.0 / last.xi);
        p = stopping.precondition(&v)? - &p * element::<T>(of_p);
        q = &z - &q * element::<T>(of_q);
        let image = a.apply(&p)?;
        let shadow_image = stopping.precondition_adjoint(&a.apply_adjoint(&q)?)?;
        let sigma = q.dot(&image);
        let beta = &sigma * element::<T>(delta.inv());
        long_v = image - &beta * &v;
        long_z = shadow_image - beta.conj() * &z;

        let next = Products::of(&long_v, &long_z, &r).await?;
        let sigma = read(&sigma)?;
        if sigma == Complex::ZERO {
            return Err(Breakdown::Sigma.into());
        }
        let step = mean.step((last.rho, sigma / delta), &next);
        if !step.is_finite() {
            // This ends the iterations, with the last x.
            stopping.check(x, f64::NAN).await?;
        }
        d = &p * element::<T>(step.eta) + &d * T::from_f64(step.behind);
        *x += &d;
        r = r * T::from_f64(step.kept) - &long_v * element::<T>(step.eta);
        let norm = match step.norm {
            Some(norm) => norm,
            None => norm_of(&r).await?,
        };
        mean.norm = norm;
        stopping.check(x, norm).await?;
        of_p = next.delta() / sigma * next.xi;
        of_q = (next.delta() / sigma).conj() * next.rho;
        last = next;
    }
}

/// The inner products of the next Lanczos vectors, before these are divided by their norms.
struct Products {
    /// ‖v‖.
    rho: f64,
    /// ‖z‖.
    xi: f64,
    /// z'v.
    within: Complex<f64>,
    /// r'v.
    with_residual: Complex<f64>,
}

impl Products {
    /// All of them in one reduction.
    async fn of<T: Field>(v: &Vector<T>, z: &Vector<T>, r: &Vector<T>) -> Result<Self, Error> {
        let z_squares = z.sum_of_squares();
        let of_v = v.dots(&[v, z, r]);
        let xi = root(&z_squares).await?;
        let of_v = read_all(&of_v)?;
        Ok(Self {
            rho: of_v[0].re.sqrt(),
            xi,
            within: of_v[1],
            with_residual: of_v[2],
        })
    }

    /// z'v of the vectors of length 1.
    fn delta(&self) -> Complex<f64> {
        self.within / self.rho / self.xi
    }
}

/// Where less of the squares of a residual than this part is left, they are computed anew.
const LEAST_LEFT: f64 = 1.0 / 64.0;

/// The rotations of the quasi-residual, with the letters of the paper.
struct Mean {
    theta: f64,
    gamma: f64,
    eta: Complex<f64>,
    /// The norm of the residual.
    norm: f64,
}

/// What a step makes of x and of the residual.
struct Step {
    /// The factor of p in the next d.
    eta: Complex<f64>,
    /// That of the last d.
    behind: f64,
    /// That of the last residual in the next one.
    kept: f64,
    /// The norm of the next residual, where the inner products tell it.
    norm: Option<f64>,
}

impl Mean {
    fn new(norm: f64) -> Self {
        Self {
            theta: 0.0,
            gamma: 1.0,
            eta: -Complex::ONE,
            norm,
        }
    }

    /// Takes ‖v‖ and beta of the step, and the inner products of the next vectors.
    fn step(&mut self, (rho, beta): (f64, Complex<f64>), next: &Products) -> Step {
        let (c, s, _) = real_rotation(self.gamma * size(beta), next.rho);
        let behind = self.theta * c;
        let change = c / self.gamma;
        self.theta = s / c;
        self.gamma = c;
        self.eta *= -(beta.inv() * rho) * (change * change);
        let kept = s * s;
        let squares = (kept * self.norm).powi(2) + self.eta.norm_sqr() * next.rho.powi(2);
        let both = (self.eta * next.with_residual).re;
        let left = squares - 2.0 * kept * both;
        Step {
            eta: self.eta,
            behind: behind * behind,
            kept,
            norm: (left >= LEAST_LEFT * squares).then(|| left.sqrt()),
        }
    }
}

impl Step {
    /// Whether all factors are neither infinite nor not a number.
    fn is_finite(&self) -> bool {
        let factors = [self.eta.re, self.eta.im, self.behind, self.kept];
        factors.iter().all(|factor| factor.is_finite())
    }
}
