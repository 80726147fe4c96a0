//! Chebyshev polynomials of D^-1 A, and the estimate of the largest eigenvalue that they need.

use super::jacobi::Jacobi;
use super::{Preconditioner, check_shape};
use crate::operator::LinearOperator;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;

const OP: &str = "chebyshev";

/// The seed of the vector that the estimate of the largest eigenvalue starts from.
const SEED: u64 = 0x5eed;

/// The polynomial of [`Chebyshev`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChebyshevOptions {
    /// How often the diagonal is divided by: one more than products where z starts from 0.
    pub degree: usize,
    /// The lower end of the eigenvalues that are damped, as a part of the estimated largest.
    pub lower: f64,
    /// The upper end, as a multiple of the estimated largest: what the estimate may be too low.
    pub upper: f64,
    /// The steps of the estimate, a product each.
    pub steps: usize,
}

impl Default for ChebyshevOptions {
    /// Degree 2 for the upper nine tenths of the spectrum with 10 percent above: a smoother. PETSc
    /// has the same bounds.
    fn default() -> Self {
        Self {
            degree: 2,
            lower: 0.1,
            upper: 1.1,
            steps: 10,
        }
    }
}

/// Chebyshev iteration: z is what `degree` steps for A z = r make of z = 0, a polynomial in D^-1 A
/// that is as small as possible on the eigenvalues from `lower` to `upper`.
///
/// Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition, Algorithm 12.1; for smoothers
/// Adams, Brezina, Hu and Tuminaro (2003). For Hermitian matrices with a positive diagonal. A step
/// costs a product and an update of vectors that fuses with it; no reductions, so ranks exchange
/// nothing but ghosts. Holds the inverse of the diagonal, and in a step r, d and z.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::{Chebyshev, ChebyshevOptions};
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let m = Chebyshev::new(&a, ChebyshevOptions { degree: 4, ..Default::default() })?;
/// let options = Options { preconditioner: Some(&m), ..Options::default() };
/// assert!(cg_with(&a, &Vector::ones([256]), options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chebyshev<T> {
    a: Csr<T>,
    jacobi: Jacobi<T>,
    options: ChebyshevOptions,
    largest: f64,
}

impl<T: Field> Chebyshev<T> {
    /// The iteration for a square matrix. Estimates the largest eigenvalue; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the options are out of range, D^-1 A has no positive
    /// eigenvalues, or the computation of the values failed.
    pub fn new(a: &Csr<T>, options: ChebyshevOptions) -> Result<Self, Error> {
        let is_range = 0.0 < options.lower && options.lower < options.upper;
        if options.degree == 0 || !is_range || !options.upper.is_finite() {
            let expected = "a degree above 0 and bounds with 0 < lower < upper";
            return Err(Error::argument(OP, expected, format!("{options:?}")));
        }
        let jacobi = Jacobi::new(a)?;
        let largest = largest_eigenvalue(a, &jacobi, options.steps)?;
        Ok(Self {
            a: a.clone(),
            jacobi,
            options,
            largest,
        })
    }

    /// The estimate of the largest eigenvalue of D^-1 A, without the margin.
    #[must_use]
    pub fn largest_eigenvalue(&self) -> f64 {
        self.largest
    }

    /// `x` after the steps for A x = b: a smoother.
    ///
    /// # Errors
    ///
    /// If the lengths do not fit.
    pub fn smooth(&self, b: &Vector<T>, x: Vector<T>) -> Result<Vector<T>, Error> {
        let r = b.try_sub(&self.a.try_dot(&x)?)?;
        let z = self.iterate(r, false)?;
        Ok(x + z)
    }

    /// The steps for A z = r from z = 0.
    fn iterate(&self, mut r: Vector<T>, is_adjoint: bool) -> Result<Vector<T>, Error> {
        let divide = |r: &Vector<T>| match is_adjoint {
            false => self.jacobi.apply(r),
            true => self.jacobi.apply_adjoint(r),
        };
        let product = |d: &Vector<T>| match is_adjoint {
            false => self.a.apply(d),
            true => self.a.apply_adjoint(d),
        };
        let lower = self.options.lower * self.largest;
        let upper = self.options.upper * self.largest;
        let theta = (upper + lower) / 2.0;
        let delta = (upper - lower) / 2.0;
        let sigma = theta / delta;
        let mut rho = 1.0 / sigma;
        let mut d = divide(&r)? * T::from_f64(1.0 / theta);
        let mut z = d.clone();
        for _ in 1..self.options.degree {
            r -= product(&d)?;
            let rho_next = 1.0 / (2.0 * sigma - rho);
            let scaled = divide(&r)? * T::from_f64(2.0 * rho_next / delta);
            d = d * T::from_f64(rho_next * rho) + scaled;
            z += &d;
            rho = rho_next;
        }
        Ok(z)
    }
}

impl<T: Field> LinearOperator<T> for Chebyshev<T> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.iterate(r.clone(), false)
    }

    /// The same polynomial in the adjoint.
    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.iterate(r.clone(), true)
    }
}

impl<T: Field> Preconditioner<T> for Chebyshev<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_shape(OP, self.shape(), a)?;
        *self = Self::new(a, self.options)?;
        Ok(())
    }
}

/// An estimate from below of the largest eigenvalue of D^-1 A, for a Hermitian matrix with a
/// positive diagonal D.
///
/// Lanczos's method with the coefficients of `steps` iterations of conjugate gradients,
/// preconditioned by D, for a pseudo-random right-hand side that is the same every time (Saad,
/// section 6.7.3). Within a few percent after 10 steps. The products fuse, and nothing is waited for
/// before the end.
///
/// ```
/// use sparsefuse_solvers::preconditioners::estimate_largest_eigenvalue;
/// use sparsefuse_sparse::gallery;
///
/// // 2 sin^2(pi n / (2 n + 2)), n = 16, is the largest.
/// let largest = estimate_largest_eigenvalue(&gallery::poisson2d::<f64>(16)?, 10)?;
/// assert!(1.8 < largest && largest < 1.983);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, no eigenvalue is positive, or the computation of the values failed.
pub fn estimate_largest_eigenvalue<T: Field>(a: &Csr<T>, steps: usize) -> Result<f64, Error> {
    largest_eigenvalue(a, &Jacobi::new(a)?, steps)
}

pub(super) fn largest_eigenvalue<T: Field>(
    a: &Csr<T>,
    jacobi: &Jacobi<T>,
    steps: usize,
) -> Result<f64, Error> {
    let (alphas, betas) = a.runtime().enter(|| lanczos(a, jacobi, steps))?;
    let values = |scalars: Vec<Scalar<T>>| -> Result<Vec<f64>, Error> {
        let value = |scalar: Scalar<T>| Ok(scalar.get()?.parts().0);
        scalars.into_iter().map(value).collect()
    };
    let (diagonal, squares) = tridiagonal(&values(alphas)?, &values(betas)?);
    let largest = largest_of_tridiagonal(&diagonal, &squares);
    if largest > 0.0 && largest.is_finite() {
        return Ok(largest);
    }
    let expected = "a matrix whose diagonal scaling has positive eigenvalues";
    let found = format!("{largest} as the largest");
    Err(Error::argument(OP, expected, found))
}

/// The coefficients of conjugate gradients, from a pseudo-random residual.
#[expect(clippy::type_complexity, reason = "two lists of coefficients")]
fn lanczos<T: Field>(
    a: &Csr<T>,
    jacobi: &Jacobi<T>,
    steps: usize,
) -> Result<(Vec<Scalar<T>>, Vec<Scalar<T>>), Error> {
    let (mut alphas, mut betas) = (Vec::new(), Vec::new());
    let half = T::from_f64(0.5);
    let mut r: Vector<T> =
        (Vector::<T::Real>::random_uniform([a.n_rows()], SEED)).cast::<T>() - half;
    let mut z = jacobi.apply(&r)?;
    let mut p = z.clone();
    let mut rho = r.dot(&z);
    for _ in 0..steps.min(a.n_rows()).max(1) {
        let q = a.try_dot(&p)?;
        let alpha = rho.ratio(&p.dot(&q));
        r -= &alpha * &q;
        z = jacobi.apply(&r)?;
        let rho_next = r.dot(&z);
        let beta = rho_next.ratio(&rho);
        p = &z + &beta * &p;
        rho = rho_next;
        alphas.push(alpha);
        betas.push(beta);
    }
    Ok((alphas, betas))
}

/// The diagonal and the squares beside it of Lanczos's tridiagonal matrix; it ends where the
/// coefficients show that the method has found all it can.
fn tridiagonal(alphas: &[f64], betas: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut diagonal, mut squares) = (Vec::new(), Vec::new());
    for k in 0..alphas.len() {
        let is_useful = alphas[k] > 0.0 && alphas[k].is_finite();
        if !is_useful || (k > 0 && !(betas[k - 1] > 0.0 && betas[k - 1].is_finite())) {
            break;
        }
        if k == 0 {
            diagonal.push(1.0 / alphas[0]);
        } else {
            diagonal.push(1.0 / alphas[k] + betas[k - 1] / alphas[k - 1]);
            squares.push(betas[k - 1] / (alphas[k - 1] * alphas[k - 1]));
        }
    }
    (diagonal, squares)
}

/// The largest eigenvalue of a symmetric tridiagonal matrix by bisection: how many eigenvalues lie
/// below a number is the count of negative pivots (Golub and Van Loan, *Matrix Computations*, 4th
/// edition, section 8.4). 0 for no matrix at all.
fn largest_of_tridiagonal(diagonal: &[f64], squares: &[f64]) -> f64 {
    let radius = |k: usize| {
        let beside = |k: usize| squares.get(k).map_or(0.0, |square| square.sqrt());
        beside(k) + k.checked_sub(1).map_or(0.0, beside)
    };
    let ends = |sign: f64| {
        let end = |(k, &entry): (usize, &f64)| sign * entry + radius(k);
        diagonal
            .iter()
            .enumerate()
            .map(end)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    if diagonal.is_empty() {
        return 0.0;
    }
    let (mut low, mut high) = (-ends(-1.0), ends(1.0));
    let are_all_below = |x: f64| {
        let mut pivot = 1.0;
        (0..diagonal.len()).all(|k| {
            let square = if k == 0 { 0.0 } else { squares[k - 1] };
            pivot = diagonal[k] - x - square / pivot;
            pivot < 0.0
        })
    };
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if are_all_below(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalue_of_a_tridiagonal_matrix() {
        // 2 on the diagonal, 1 beside it: 2 + 2 cos(pi / (n + 1)).
        for n in [1, 2, 5, 40] {
            let found = largest_of_tridiagonal(&vec![2.0; n], &vec![1.0; n - 1]);
            let expected = 2.0 + 2.0 * (std::f64::consts::PI / (n as f64 + 1.0)).cos();
            assert!((found - expected).abs() < 1e-13, "{n}: {found} {expected}");
        }
        assert_eq!(largest_of_tridiagonal(&[], &[]), 0.0);
    }
}
