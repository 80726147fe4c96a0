//! The largest eigenvalue of D^-1 A by Lanczos's method, and the vector of the estimate, from which
//! that for other values goes on.

use super::jacobi::Jacobi;
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;

const OP: &str = "largest eigenvalue";

/// The seed of the random vector that estimates start from.
const SEED: u64 = 0x5eed;

/// What is added of the kept vector to the random one. Below 1, so that it does not grow from one
/// estimate to the next until the random one no longer counts.
const KEPT: f64 = 0.7;

/// An estimate from below of the largest eigenvalue of D^-1 A, for a Hermitian matrix with a
/// positive diagonal D.
///
/// Lanczos's method with the coefficients of `steps` iterations of conjugate gradients,
/// preconditioned by D, for a pseudo-random right-hand side that is the same every time (Saad,
/// section 6.7.3). Within a few percent after 10 steps. The products fuse, and nothing is waited
/// for before the end.
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
/// If the matrix is not square, an entry is infinite or not a number, no eigenvalue is positive, or
/// the computation of the values failed.
pub fn estimate_largest_eigenvalue<T: Field>(a: &Csr<T>, steps: usize) -> Result<f64, Error> {
    let jacobi = Jacobi::new(a)?;
    check_finite(OP, a)?;
    Ok(Estimate::new(a, &jacobi, steps)?.largest())
}

/// The largest Ritz value of D^-1 A, and D times its vector.
#[derive(Clone, Debug)]
pub(super) struct Estimate<T> {
    largest: f64,
    /// As long as the vector that the steps started from, in the norm of D^-1.
    vector: Vector<T>,
}

impl<T: Field> Estimate<T> {
    /// The estimate of some steps from a random vector.
    pub(super) fn new(a: &Csr<T>, jacobi: &Jacobi<T>, steps: usize) -> Result<Self, Error> {
        Self::from(a, jacobi, random(a), steps)
    }

    /// The estimate for other values: half of the steps, from the vector of this one and the random
    /// vector together.
    ///
    /// The one makes up for the other half of the steps where the values have changed little; with
    /// the other the steps find an eigenvector that is far from all that there was before.
    pub(super) fn again(
        &self,
        a: &Csr<T>,
        jacobi: &Jacobi<T>,
        steps: usize,
    ) -> Result<Self, Error> {
        let start = random(a) + &self.vector * T::from_f64(KEPT);
        Self::from(a, jacobi, start, steps.div_ceil(2))
    }

    /// The eigenvalue, from below.
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    fn from(a: &Csr<T>, jacobi: &Jacobi<T>, start: Vector<T>, steps: usize) -> Result<Self, Error> {
        if a.n_rows() == 0 {
            let (largest, vector) = (1.0, start);
            return Ok(Self { largest, vector });
        }
        let steps = a.runtime().enter(|| Steps::new(a, jacobi, start, steps))?;
        let betas = numbers(&steps.betas)?;
        let (diagonal, squares) = tridiagonal(&numbers(&steps.alphas)?, &betas);
        let largest = largest_of_tridiagonal(&diagonal, &squares);
        if !(largest > 0.0 && largest.is_finite()) {
            let expected = "a matrix whose diagonal scaling has positive eigenvalues";
            let found = format!("{largest} as the largest");
            return Err(Error::argument(OP, expected, found));
        }
        let vector = steps.combined(&eigenvector(largest, &diagonal, &squares), &betas);
        Ok(Self { largest, vector })
    }
}

/// A random vector that is the same every time.
fn random<T: Field>(a: &Csr<T>) -> Vector<T> {
    let random = || Vector::<T::Real>::random_uniform([a.n_rows()], SEED);
    a.runtime().enter(random).cast::<T>() - T::from_f64(0.5)
}

/// Steps of conjugate gradients, preconditioned by D.
struct Steps<T> {
    alphas: Vec<Scalar<T>>,
    betas: Vec<Scalar<T>>,
    /// The residuals that the steps began with: Lanczos's vectors but for lengths and signs.
    residuals: Vec<Vector<T>>,
}

impl<T: Field> Steps<T> {
    fn new(a: &Csr<T>, jacobi: &Jacobi<T>, mut r: Vector<T>, steps: usize) -> Result<Self, Error> {
        let (mut alphas, mut betas, mut residuals) = (Vec::new(), Vec::new(), Vec::new());
        let mut z = jacobi.apply(&r)?;
        let mut p = z.clone();
        let mut rho = r.dot(&z);
        for step in 1.. {
            let q = a.try_matvec(&p)?;
            let alpha = rho.ratio(&p.dot(&q));
            residuals.push(r.clone());
            if step >= steps.min(a.n_rows()) {
                alphas.push(alpha);
                break;
            }
            r -= &alpha * &q;
            z = jacobi.apply(&r)?;
            let rho_next = r.dot(&z);
            let beta = rho_next.ratio(&rho);
            p = &z + &beta * &p;
            rho = rho_next;
            alphas.push(alpha);
            betas.push(beta);
        }
        Ok(Self {
            alphas,
            betas,
            residuals,
        })
    }

    /// The sum of Lanczos's vectors with these coefficients, as many as are of use.
    fn combined(&self, coefficients: &[f64], betas: &[f64]) -> Vector<T> {
        let mut sum = &self.residuals[0] * T::from_f64(coefficients[0]);
        let mut length = 1.0;
        for (k, y) in coefficients.iter().enumerate().skip(1) {
            // The length of this residual, as a part of that of the first; signs alternate.
            length *= -betas[k - 1].sqrt();
            sum += &self.residuals[k] * T::from_f64(y / length);
        }
        sum
    }
}

fn numbers<T: Field>(scalars: &[Scalar<T>]) -> Result<Vec<f64>, Error> {
    let number = |scalar: &Scalar<T>| Ok(scalar.get()?.parts().0);
    scalars.iter().map(number).collect()
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

/// The eigenvector of a symmetric tridiagonal matrix for its largest eigenvalue, of length 1, by
/// two steps of inverse iteration. Shifted by a little more than the eigenvalue, all pivots are
/// positive and nothing cancels.
fn eigenvector(largest: f64, diagonal: &[f64], squares: &[f64]) -> Vec<f64> {
    let shift = largest * (1.0 + 1e-9);
    let mut pivots = vec![shift - diagonal[0]];
    for (k, square) in squares.iter().enumerate() {
        pivots.push(shift - diagonal[k + 1] - square / pivots[k]);
    }
    let mut x = vec![1.0; diagonal.len()];
    for _ in 0..2 {
        for k in 1..x.len() {
            x[k] += squares[k - 1].sqrt() / pivots[k - 1] * x[k - 1];
        }
        for k in (0..x.len()).rev() {
            let above = squares
                .get(k)
                .map_or(0.0, |square| square.sqrt() * x[k + 1]);
            x[k] = (x[k] + above) / pivots[k];
        }
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= length);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_sparse::gallery;

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

    #[test]
    fn the_vector_is_that_of_the_eigenvalue() -> Result<(), Error> {
        let a = gallery::diffusion2d::<f64>(20)?;
        let jacobi = Jacobi::new(&a)?;
        let mut estimate = Estimate::new(&a, &jacobi, 10)?;
        for _ in 0..3 {
            let vector = jacobi.apply(&estimate.vector)?;
            let length = vector.dot(&estimate.vector).get()?;
            let quotient = vector.dot(&a.try_matvec(&vector)?).get()? / length;
            assert!(
                (quotient - estimate.largest).abs() < 1e-12,
                "{quotient} {estimate:?}"
            );
            estimate = estimate.again(&a, &jacobi, 10)?;
        }
        Ok(())
    }
}
