//! Lanczos's method with thick restarts, for a Hermitian operator or the inverse of a shifted one.
//!
//! The basis V of a Krylov space grows by a vector a step; on it the operator is the small matrix
//! T = V'AV, and A V = V T + v b' with the next basis vector v and couplings b. Where the space has
//! become as large as it may, the wanted eigenvectors S of T and some more give the basis V S of a
//! smaller space with the same property: diag(theta) is its T, S'b its couplings (Wu and Simon,
//! *Thick-restart Lanczos method for large symmetric eigenvalue problems*, 2000). This is
//! mathematically what implicit restarts with exact shifts do (Sorensen 1992, ARPACK).
//!
//! Invariants: V has orthonormal columns to rounding, since each new vector is orthogonalised
//! against all of them as often as it takes; T is real, with the elements that the theory has.

use super::block::{
    Products, check_len, check_tolerance, images, norms, residuals, sum_of_multiples,
    sums_of_multiples,
};
use super::gram_schmidt::{SEED, new_direction, orthogonalise, start};
use super::hermitian::{Eigenpairs, Hermitian, orthonormalise, unit};
use super::{Eigen, check_hermitian, inverse_of_shifted, scale};
use crate::krylov::scaling::{times_power_of, times_power_of_entries};
use crate::operator::{LinearOperator, check_square};
use crate::solution::StopReason;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;
use std::fmt;

const OP: &str = "eigsh";

/// Which eigenvalues are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// The algebraically largest. SciPy calls them LA.
    Largest,
    /// The algebraically smallest. SA.
    Smallest,
    /// Those of the largest magnitude. LM.
    #[default]
    LargestMagnitude,
    /// Those of the smallest magnitude, SM: found faster by [`eigsh_near`] 0.
    SmallestMagnitude,
    /// Half of them from each end, one more from the upper end if their number is odd. BE.
    BothEnds,
}

impl Which {
    /// The numbers of some ascending values, the most wanted first.
    fn order(self, values: &[f64]) -> Vec<usize> {
        let n = values.len();
        let mut order: Vec<usize> = (0..n).collect();
        let size = |i: usize| values[i].abs();
        match self {
            Self::Smallest => {}
            Self::Largest => order.reverse(),
            Self::LargestMagnitude => order.sort_by(|&i, &j| size(j).total_cmp(&size(i))),
            Self::SmallestMagnitude => order.sort_by(|&i, &j| size(i).total_cmp(&size(j))),
            Self::BothEnds => {
                let from_ends = |i: usize| match i % 2 {
                    0 => n - 1 - i / 2,
                    _ => i / 2,
                };
                order = (0..n).map(from_ends).collect();
            }
        }
        order
    }
}

/// What [`eigsh`] looks for, and how long.
pub struct EigshOptions<'a, T> {
    /// Which eigenvalues are wanted: of the operator, or of the inverse that takes its place.
    pub which: Which,
    /// The most basis vectors, more than `k`; `None` for 2 k + 1, at least 20.
    pub ncv: Option<usize>,
    /// An eigenvalue has converged when the residual, as the method estimates it, is at most `tol`
    /// times its magnitude. What rounding leaves is always enough: the precision of the element
    /// type times the norm of the operator.
    pub tol: f64,
    /// The most restarts; `None` for ten times the number of rows, at most 10,000.
    pub max_iter: Option<usize>,
    /// The vector to start from; `None` for a pseudo-random one, which is always the same.
    pub v0: Option<&'a Vector<T>>,
}

impl<T> EigshOptions<'_, T> {
    /// The most basis vectors for `k` eigenvalues of an operator with `n` rows: [`EigshOptions::ncv`]
    /// or its default.
    #[must_use]
    pub fn basis_len(&self, n: usize, k: usize) -> usize {
        let most = k.saturating_mul(2).saturating_add(1);
        self.ncv.unwrap_or(most.max(20).min(n))
    }
}

impl<T> Default for EigshOptions<'_, T> {
    /// The eigenvalues of the largest magnitude, as accurate as rounding allows: `tol` is 0, as in
    /// SciPy.
    fn default() -> Self {
        Self {
            which: Which::default(),
            ncv: None,
            tol: 0.0,
            max_iter: None,
            v0: None,
        }
    }
}

impl<T> fmt::Debug for EigshOptions<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EigshOptions")
            .field("which", &self.which)
            .field("ncv", &self.ncv)
            .field("tol", &self.tol)
            .field("max_iter", &self.max_iter)
            .field("has_v0", &self.v0.is_some())
            .finish()
    }
}

/// `k` eigenvalues and vectors of a Hermitian operator, by Lanczos's method with thick restarts.
///
/// ```
/// use sparsefuse_solvers::eigen::{EigshOptions, Which, eigsh};
/// use sparsefuse_sparse::gallery;
/// use std::f64::consts::PI;
///
/// // 2 - 2 cos(j pi / 31) for j from 1 to 30.
/// let a = gallery::poisson1d::<f64>(30)?;
/// let options = EigshOptions { which: Which::Largest, ..EigshOptions::default() };
/// let eigen = eigsh(&a, 2, &options)?;
/// assert!(eigen.converged());
/// assert!((eigen.values[1] - (2.0 - 2.0 * (30.0 * PI / 31.0).cos())).abs() < 1e-13);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// A step costs a product, and two passes over the basis, each with one reduction; a third where
/// rounding asks for it. A restart costs a pass that reads `ncv` vectors and writes `k` and some
/// more. It holds `ncv` + 1 vectors, and while it restarts those of the smaller basis too.
///
/// In exact arithmetic a Krylov space has one vector of each eigenspace. Where the space cannot grow
/// the method goes on with a new direction, and rounding does the same more slowly, so that multiple
/// eigenvalues are mostly found as often as they occur; but a tolerance that is met early leaves
/// copies out. [`lobpcg`](super::lobpcg()) finds up to as many copies as it has vectors.
///
/// A matrix that some of its entries show not to be Hermitian is refused, as [`cg`](crate::cg())
/// refuses it; of other operators nothing is known.
///
/// # Errors
///
/// If the operator is not square, an entry is infinite or not a number, `k` is 0 or not below the
/// number of rows, `ncv` is not above `k` or above the number of rows, `v0` has another length, is 0
/// or is not finite, or the operator fails. Not to converge is no error.
pub fn eigsh<T: Field>(
    a: &dyn LinearOperator<T>,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    check_square(OP, a)?;
    check_hermitian(OP, a)?;
    let power = scale::power_of(OP, a)?;
    let a = &scale::divided(a, power);
    let eigen = finish(a, find(a, k, options)?, |theta| theta)?;
    Ok(scale::multiplied(eigen, power, 0))
}

/// The `k` eigenvalues of a Hermitian matrix that are nearest to `sigma`, by [`eigsh`] for the
/// inverse of A - sigma I, which [`splu`](crate::preconditioners::splu) applies: few products, each a solve with the factors.
///
/// ```
/// use sparsefuse_solvers::eigen::{EigshOptions, eigsh_near};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(20)?;
/// let eigen = eigsh_near(&a, 4.1, 3, &EigshOptions::default())?;
/// assert!(eigen.converged());
/// assert!(eigen.values.iter().all(|value| (value - 4.1).abs() < 0.2));
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// [`Which`] speaks of the inverse's eigenvalues 1 / (lambda - sigma): of its algebraically largest
/// ones, say, those next above `sigma`.
///
/// # Errors
///
/// As [`eigsh`], and if A - sigma I is singular, sigma being an eigenvalue, or memory for its factors
/// runs out.
pub fn eigsh_near<T: Field>(
    a: &Csr<T>,
    sigma: f64,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    a.runtime().enter(|| {
        check_square(OP, a)?;
        check_hermitian(OP, a)?;
        check_count(a.n_rows(), k, options)?;
        let (power, is_hidden) = scale::power_of_shifted(OP, a, sigma)?;
        let (a, shift) = (
            &times_power_of_entries(a, -power),
            times_power_of(sigma, -power),
        );
        let sigma = format!("{sigma:?}");
        let inverse = inverse_of_shifted(OP, a, T::from_f64(-shift), sigma)?;
        let eigen = by_inverse(a, &inverse, (shift, is_hidden), k, options)?;
        Ok(scale::multiplied(eigen, power, 0))
    })
}

/// As [`eigsh_near`], for any operator that applies the inverse of A - sigma I: factors of another
/// kind, or a solver, which has to be as accurate as the eigenvalues are meant to be.
///
/// # Errors
///
/// As [`eigsh`], for either operator.
pub fn eigsh_with_inverse<T: Field>(
    a: &dyn LinearOperator<T>,
    inverse: &dyn LinearOperator<T>,
    sigma: f64,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    check_square(OP, a)?;
    if inverse.shape() != a.shape() {
        let found = format!("one of shape {:?}", inverse.shape());
        let expected = format!("an inverse of shape {:?}", a.shape());
        return Err(Error::argument(OP, expected, found));
    }
    check_hermitian(OP, a)?;
    let (power, is_hidden) = scale::power_of_shifted(OP, a, sigma)?;
    let (a, inverse) = (scale::divided(a, power), scale::divided(inverse, -power));
    let shift = (times_power_of(sigma, -power), is_hidden);
    let eigen = by_inverse(&a, &inverse, shift, k, options)?;
    Ok(scale::multiplied(eigen, power, 0))
}

/// By the inverse of A - sigma I, at a scale that suits the method. Where the rounding of sigma hides
/// A, nothing has converged: the inverse is that of -sigma I.
fn by_inverse<T: Field>(
    a: &dyn LinearOperator<T>,
    inverse: &dyn LinearOperator<T>,
    (sigma, is_hidden): (f64, bool),
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    let found = find(inverse, k, options)?;
    let mut eigen = finish(a, found, |nu| sigma + 1.0 / nu)?;
    if is_hidden {
        eigen.converged = 0;
        eigen.reason = StopReason::Stagnation;
        return Ok(eigen);
    }
    judged(a, eigen, options.tol)
}

/// The wanted eigenvalues of the operator that Lanczos's method works with.
struct Found<T> {
    values: Vec<f64>,
    vectors: Vec<Vector<T>>,
    converged: usize,
    iterations: usize,
    products: usize,
    reason: StopReason,
}

/// Checks what is asked for; gives the number of basis vectors.
fn check_count<T: Field>(
    n: usize,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<usize, Error> {
    if k == 0 || k >= n {
        let (expected, found) = match n {
            0 | 1 => ("a matrix of two rows or more".to_owned(), n),
            _ => (
                format!("k from 1 to {}, below the number of rows", n - 1),
                k,
            ),
        };
        return Err(Error::argument(OP, expected, found.to_string()));
    }
    check_tolerance(OP, options.tol)?;
    let ncv = options.basis_len(n, k);
    if ncv <= k || ncv > n {
        let expected = format!("ncv from {} to {n}", k + 1);
        return Err(Error::argument(OP, expected, ncv.to_string()));
    }
    if let Some(v0) = options.v0 {
        check_len(OP, n, v0)?;
    }
    Ok(ncv)
}

/// The method: grow, look, restart.
fn find<T: Field>(
    a: &dyn LinearOperator<T>,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Found<T>, Error> {
    let n = a.shape().0;
    let ncv = check_count(n, k, options)?;
    let max_iter = options.max_iter.unwrap_or(n.saturating_mul(10).min(10_000));
    let mut space = Lanczos::new(a, options.v0)?;
    let mut iterations = 0;
    let mut has_claimed = false;
    loop {
        let is_finite = space.grow(ncv)?;
        let pairs = space.projected.clone().eigenpairs();
        let order = options.which.order(&pairs.values);
        let wanted = &order[..k.min(order.len())];
        let converged = space.converged(&pairs, wanted, options.tol);
        // A space that could not grow any more may have missed eigenvalues; the next one has a new
        // direction.
        let is_claim = converged == k && (has_claimed || !space.is_closed() || space.len() == n);
        let reason = match (is_finite, is_claim) {
            (false, _) => Some(StopReason::NotFinite),
            (true, true) => Some(StopReason::Converged),
            (true, false) => (iterations >= max_iter).then_some(StopReason::IterationLimit),
        };
        if let Some(reason) = reason {
            let coefficients: Vec<_> = wanted.iter().map(|&i| pairs.vectors[i].clone()).collect();
            return Ok(Found {
                values: wanted.iter().map(|&i| pairs.values[i]).collect(),
                vectors: sums_of_multiples(&space.basis, &coefficients),
                converged,
                iterations,
                products: space.products,
                reason,
            });
        }
        has_claimed = converged == k;
        space.restart(&pairs, &order[..kept(k, ncv, converged)]);
        iterations += 1;
    }
}

/// How many vectors a restart keeps: ARPACK's rule. More than are wanted, the more the more of them
/// have converged, so that the others do not stand still.
fn kept(k: usize, ncv: usize, converged: usize) -> usize {
    let kept = k + converged.min((ncv - k) / 2);
    if kept == 1 && ncv > 3 { ncv / 2 } else { kept }
}

/// Values in ascending order, vectors without what many restarts have left of rounding, and true
/// residuals.
fn finish<T: Field>(
    a: &dyn LinearOperator<T>,
    found: Found<T>,
    value_of: impl Fn(f64) -> f64,
) -> Result<Eigen<T>, Error> {
    let values = found.values.iter().map(|&value| value_of(value));
    let mut pairs: Vec<(f64, Vector<T>)> = values.zip(found.vectors).collect();
    pairs.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    let (values, vectors): (Vec<f64>, Vec<Vector<T>>) = pairs.into_iter().unzip();
    let gram = Products::of_hermitian(&vectors, &vectors).read_hermitian()?;
    let units: Vec<_> = (0..vectors.len()).map(|i| unit(vectors.len(), i)).collect();
    let vectors = sums_of_multiples(&vectors, &orthonormalise(&gram, &[], &units, 0.0));
    let left = residuals(&values, &images(a, &vectors)?, &vectors);
    Ok(Eigen {
        residuals: norms(&left)?,
        values,
        vectors,
        converged: found.converged,
        iterations: found.iterations,
        products: found.products,
        reason: found.reason,
    })
}

/// Counts what is an eigenpair of A too, not only of its shifted inverse: if sigma is an eigenvalue
/// up to rounding, that is so large that the rounding of its products hides all others.
fn judged<T: Field>(
    a: &dyn LinearOperator<T>,
    mut eigen: Eigen<T>,
    tol: f64,
) -> Result<Eigen<T>, Error> {
    let Some(runtime) = eigen.vectors.first().map(Vector::runtime) else {
        return Ok(eigen);
    };
    let probe = runtime.enter(|| Vector::random_normal([a.shape().0], SEED));
    let norms = norms(&[a.apply(&probe)?, probe])?;
    let values = eigen.values.iter().map(|value| value.abs());
    let size = values.fold(norms[0] / norms[1], f64::max);
    let most = tol.max(T::Real::EPSILON.to_f64().sqrt()) * size;
    let small = eigen.residuals.iter().filter(|&&norm| norm <= most);
    eigen.converged = eigen.converged.min(small.count());
    if eigen.reason == StopReason::Converged && eigen.converged < eigen.values.len() {
        eigen.reason = StopReason::Stagnation;
    }
    Ok(eigen)
}

/// A Krylov space; see the module's text.
struct Lanczos<'a, T> {
    a: &'a dyn LinearOperator<T>,
    /// V.
    basis: Vec<Vector<T>>,
    /// T.
    projected: Hermitian,
    /// v: the next basis vector, as long as the space can grow.
    next: Vector<T>,
    /// b: what the products with the basis vectors have of v. Its last element is not 0 unless the
    /// operator maps the space to itself.
    couplings: Vec<f64>,
    /// The largest norm of a product with a basis vector.
    largest: f64,
    products: usize,
    /// The new directions that were made.
    directions: u64,
}

impl<'a, T: Field> Lanczos<'a, T> {
    fn new(a: &'a dyn LinearOperator<T>, v0: Option<&Vector<T>>) -> Result<Self, Error> {
        let next = start(OP, a, v0)?;
        Ok(Self {
            a,
            basis: Vec::new(),
            projected: Hermitian::zeros(0),
            next,
            couplings: Vec::new(),
            largest: 0.0,
            products: 0,
            directions: 0,
        })
    }

    /// The number of basis vectors.
    fn len(&self) -> usize {
        self.basis.len()
    }

    /// Whether the operator maps the space to itself, up to rounding.
    fn is_closed(&self) -> bool {
        self.couplings.iter().all(|&coupling| coupling == 0.0)
    }

    /// Grows to `len` basis vectors; gives false where a product is not finite, and leaves it out.
    fn grow(&mut self, len: usize) -> Result<bool, Error> {
        let before = self.len();
        let mut projected = Hermitian::zeros(len);
        for row in 0..before {
            projected.set(row, row, self.projected.at(row, row));
        }
        for j in before..len {
            self.basis.push(self.next.clone());
            let product = self.a.apply(&self.next)?;
            self.products += 1;
            let image = orthogonalise(&self.basis, product)?;
            let alpha = image.products[j].re;
            if !(image.norm_before + image.norm + alpha).is_finite() {
                self.basis.pop();
                self.projected = projected.leading(j);
                return Ok(false);
            }
            for (row, &coupling) in self.couplings.iter().enumerate() {
                projected.set(row, j, Complex::new(coupling, 0.0));
            }
            projected.set(j, j, Complex::new(alpha, 0.0));
            self.largest = self.largest.max(image.norm_before);
            self.couplings = vec![0.0; j + 1];
            let negligible = 10.0 * T::Real::EPSILON.to_f64() * self.largest;
            if image.norm > negligible {
                self.couplings[j] = image.norm;
                self.next = image.rest * T::from_f64(1.0 / image.norm);
            } else if self.len() < self.a.shape().0 {
                self.next = new_direction(&self.basis, &mut self.directions)?;
            }
        }
        self.projected = projected;
        Ok(true)
    }

    /// How many of the wanted pairs have a residual, |b's| of an eigenvector s of T, that is small
    /// enough.
    fn converged(&self, pairs: &Eigenpairs, wanted: &[usize], tol: f64) -> usize {
        let epsilon = T::Real::EPSILON.to_f64();
        let sizes = pairs.values.iter().map(|value| value.abs());
        let rounding = epsilon * sizes.fold(0.0, f64::max);
        let is_converged = |&&i: &&usize| {
            let tolerance = tol.max(epsilon) * pairs.values[i].abs();
            self.coupling(&pairs.vectors[i]).abs() <= tolerance.max(rounding)
        };
        wanted.iter().filter(is_converged).count()
    }

    /// b's.
    fn coupling(&self, s: &[Complex<f64>]) -> f64 {
        let terms = self.couplings.iter().zip(s);
        terms.map(|(coupling, s)| coupling * s.re).sum()
    }

    /// Makes the space that of some eigenvectors of T.
    fn restart(&mut self, pairs: &Eigenpairs, kept: &[usize]) {
        let mut projected = Hermitian::zeros(kept.len());
        for (row, &i) in kept.iter().enumerate() {
            projected.set(row, row, Complex::new(pairs.values[i], 0.0));
        }
        self.projected = projected;
        let couplings = kept.iter().map(|&i| self.coupling(&pairs.vectors[i]));
        self.couplings = couplings.collect();
        let vectors = kept.iter().map(|&i| &pairs.vectors[i]);
        self.basis = vectors.map(|s| sum_of_multiples(&self.basis, s)).collect();
    }
}
