//! Eigenvalues of operators that need not be Hermitian: what is asked for, at which scale the
//! method works, and what is claimed of what it found.
//!
//! The vectors of a real operator are kept as real and imaginary parts up to the end, so that
//! products are those of real vectors. What counts as converged is decided by true residuals.

use super::block::{check_tolerance, norms};
use super::gram_schmidt::SEED;
use super::krylov_schur::{Found, Pair, find};
use super::parts::{Parts, lengths};
use super::{
    MORE_BESIDE, Search, at, basis_len, inverse_of_shifted, is_no_answer, most_restarts,
    nearest_of, scale, step_beside,
};
use crate::krylov::scalars::{element, size};
use crate::operator::{LinearOperator, check_finite, check_len, check_square};
use crate::powers::{times_power_of, times_power_of_entries};
use crate::solution::StopReason;
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;
use std::fmt;

const OP: &str = "eigs";

/// Which of some complex eigenvalues are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WhichComplex {
    /// Those of the largest magnitude. SciPy calls them LM.
    #[default]
    LargestMagnitude,
    /// Those of the smallest magnitude, SM: found faster by [`eigs_near`] 0.
    SmallestMagnitude,
    /// Those with the largest real part. LR.
    LargestReal,
    /// Those with the smallest real part. SR.
    SmallestReal,
    /// Those with the largest imaginary part: of a real operator, whose eigenvalues come in pairs,
    /// with the largest absolute value of it. LI.
    LargestImaginary,
    /// Those with the smallest imaginary part: of a real operator with the smallest absolute value
    /// of it, and of those without one the largest. SI.
    SmallestImaginary,
}

impl WhichComplex {
    /// What is smallest of the most wanted eigenvalue; where the first numbers are equal the second
    /// count, so that the order of eigenvalues without imaginary parts is not left to chance.
    fn key(self, value: Complex<f64>, is_real: bool) -> [f64; 2] {
        let imaginary = if is_real { value.im.abs() } else { value.im };
        let first = match self {
            Self::LargestMagnitude => -size(value),
            Self::SmallestMagnitude => size(value),
            Self::LargestReal => -value.re,
            Self::SmallestReal => value.re,
            Self::LargestImaginary => -imaginary,
            Self::SmallestImaginary => imaginary,
        };
        [first, -size(value)]
    }
}

/// What [`eigs`] looks for, and how long.
pub struct EigsOptions<'a, T> {
    /// Which eigenvalues are wanted: of the operator, or of the inverse that takes its place.
    pub which: WhichComplex,
    /// The most basis vectors, at least `k` + 2, or all that there are; `None` for 2 k + 1, at
    /// least 20.
    pub ncv: Option<usize>,
    /// An eigenvalue has converged when the residual is at most `tol` times its magnitude. What
    /// rounding leaves is always enough: 1000 times the precision of the element type times the
    /// norm of the operator; of [`eigs_near`], whose inverse is rounded too, the square root of the
    /// precision in its place. `residuals` say how large they are.
    pub tol: f64,
    /// The most restarts, of which at least the last one confirms what those before have found;
    /// `None` for ten times the number of rows, at most 10,000.
    pub max_iter: Option<usize>,
    /// The vector to start from; `None` for a pseudo-random one, which is always the same.
    pub v0: Option<&'a Vector<T>>,
}

impl<T> EigsOptions<'_, T> {
    /// The most basis vectors for `k` eigenvalues of an operator with `n` rows:
    /// [`EigsOptions::ncv`] or its default.
    #[must_use]
    pub fn basis_len(&self, n: usize, k: usize) -> usize {
        basis_len(self.ncv, n, k)
    }
}

impl<T> Default for EigsOptions<'_, T> {
    /// The eigenvalues of the largest magnitude, as accurate as rounding allows: `tol` is 0, as in
    /// SciPy.
    fn default() -> Self {
        Self {
            which: WhichComplex::default(),
            ncv: None,
            tol: 0.0,
            max_iter: None,
            v0: None,
        }
    }
}

impl<T> fmt::Debug for EigsOptions<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EigsOptions")
            .field("which", &self.which)
            .field("ncv", &self.ncv)
            .field("tol", &self.tol)
            .field("max_iter", &self.max_iter)
            .field("has_v0", &self.v0.is_some())
            .finish()
    }
}

/// Eigenvalues and eigenvectors that are complex, as those of a real operator may be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComplexEigen<C> {
    /// The eigenvalues, the most wanted first. As many as were asked for, converged or not; fewer
    /// only if the operator gave something that is not a number. Of two that are conjugates of each
    /// other, as they come of a real operator, the one with the positive imaginary part is first.
    pub values: Vec<Complex<f64>>,
    /// Their vectors, of length 1. They are not orthogonal, and where an eigenvalue has fewer
    /// vectors than it occurs, some are the same up to rounding.
    pub vectors: Vec<Vector<C>>,
    /// ‖A x - lambda x‖ of each, computed from the vectors at the end.
    pub residuals: Vec<f64>,
    /// How many have converged.
    pub n_converged: usize,
    /// Restarts.
    pub iterations: usize,
    /// Products with the operator, or its inverse, before the residuals were computed.
    pub products: usize,
    /// Why the method stopped.
    pub reason: StopReason,
}

impl<C> ComplexEigen<C> {
    /// Whether all eigenvalues that were asked for have converged.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.reason == StopReason::Converged
    }
}

impl<C: Field> ComplexEigen<C> {
    /// The vectors as the columns of a matrix, as [`Eigen::columns`](super::Eigen::columns).
    ///
    /// # Errors
    ///
    /// If there are no vectors.
    pub fn columns(&self) -> Result<Array<C, 2>, Error> {
        super::columns(&self.vectors)
    }
}

/// `k` eigenvalues and vectors of an operator that need not be Hermitian, by the Krylov-Schur
/// method (G. W. Stewart, *A Krylov-Schur algorithm for large eigenproblems*, 2001). SciPy's
/// `eigs`; for Hermitian operators [`eigsh`](super::eigsh()) takes fewer operations.
///
/// ```
/// use sparsefuse_solvers::eigen::{EigsOptions, WhichComplex, eigs};
/// use sparsefuse_sparse::{Csr, Triplets};
///
/// // Rotations by a right angle, each of another size: eigenvalues ±i, ±2i, ... ±30i.
/// let mut triplets = Triplets::new(60, 60)?;
/// for j in 0..30 {
///     triplets.push(2 * j, 2 * j + 1, -(j as f64 + 1.0))?;
///     triplets.push(2 * j + 1, 2 * j, j as f64 + 1.0)?;
/// }
/// let a = Csr::from_triplets(&triplets)?;
/// let eigen = eigs(&a, 2, &EigsOptions::default())?;
/// assert!(eigen.converged());
/// assert!((eigen.values[0].im - 30.0).abs() < 1e-12 && eigen.values[0].re.abs() < 1e-12);
/// assert_eq!(eigen.values[1], eigen.values[0].conj());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// The complex eigenvalues of a real operator come in pairs of conjugates, which the method finds
/// together and with real products. Where the last of the `k` is one of a pair, it is the one with
/// the positive imaginary part, and the other is left out.
///
/// A restarted method may lose a wanted eigenvalue while the others converge. So when all have, it
/// goes on for a quarter as many restarts, all of which have to find as many; after twice as many
/// as until then it is enough if two agree. That makes it improbable that one is missing, and not
/// impossible.
///
/// A step costs a product, and one or two passes over the basis, each with one reduction; more
/// where rounding asks for it. A restart costs a pass that reads `ncv` vectors and writes `k` and
/// some more, and on the host up to 25 `ncv`^3 operations, fewer where some have converged. It
/// holds `ncv` + 1 vectors, and while it restarts those of the smaller basis too.
///
/// Residuals say how near the eigenvalues are to those of the operator only where the operator is
/// nearly normal: an eigenvalue of a defective or nearly defective one may differ by much more,
/// since a change of the operator by the residual moves it that far. Copies of a multiple
/// eigenvalue are found as [`eigsh`](super::eigsh()) finds them.
///
/// # Errors
///
/// If the operator is not square, an entry is infinite or not a number, `k` is 0 or above the
/// number of rows, `ncv` is below `k` + 2 and the number of rows, or above that number, `v0` has
/// another length, is 0 or is not finite, or the operator fails. Not to converge is no error.
pub fn eigs<T: Field>(
    a: &dyn LinearOperator<T>,
    k: usize,
    options: &EigsOptions<'_, T>,
) -> Result<ComplexEigen<T::Complex>, Error> {
    check_square(OP, a)?;
    let search = search(a.shape().0, k, options)?;
    let power = scale::power_of(OP, a)?;
    let a = &scale::divided(a, power);
    let key = |value| options.which.key(value, !T::IS_COMPLEX);
    let found = find(OP, a, &search, key)?;
    let (reason, largest) = (found.reason, found.largest);
    let eigen = finish(a, found, |theta| theta)?;
    // What rounding leaves of a few hundred restarts.
    let rounding = 1e3 * T::Real::EPSILON.to_f64();
    let eigen = match reason {
        StopReason::NotFinite => eigen,
        _ => judged(eigen, largest, options.tol, rounding),
    };
    Ok(multiplied(eigen, power))
}

/// The `k` eigenvalues of a matrix that are nearest to `sigma`, which may be complex, the nearest
/// first: by [`eigs`] for the inverse of A - sigma I, which [`splu`](crate::preconditioners::splu)
/// applies. Few products, each a solve with the factors.
///
/// ```
/// use num_complex::Complex;
/// use sparsefuse_solvers::eigen::{EigsOptions, eigs_near};
/// use sparsefuse_sparse::Dia;
///
/// // 1 + 2i cos(j pi / 41) for j from 1 to 40.
/// let a = Dia::from_diagonals(40, 40, &[(-1, [-1.0]), (0, [1.0]), (1, [1.0])])?.to_csr()?;
/// let eigen = eigs_near(&a, Complex::new(1.0, 1.0), 3, &EigsOptions::default())?;
/// assert!(eigen.converged());
/// let angle = 14.0 * std::f64::consts::PI / 41.0;
/// assert!((eigen.values[0] - Complex::new(1.0, 2.0 * angle.cos())).norm() < 1e-13);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// [`WhichComplex`] speaks of the inverse's eigenvalues 1 / (lambda - sigma). A complex `sigma`
/// makes a complex matrix of a real one, and then no pair is found together. Where `sigma` is an
/// eigenvalue up to some digits, which hides the others, those of the largest magnitude are looked
/// for beside it too, with factors of their own.
///
/// # Errors
///
/// As [`eigs`], and if `sigma` is not finite, A - sigma I is singular, sigma being an eigenvalue,
/// or memory for its factors runs out.
pub fn eigs_near<T: Field>(
    a: &Csr<T>,
    sigma: impl Into<Complex<f64>>,
    k: usize,
    options: &EigsOptions<'_, T>,
) -> Result<ComplexEigen<T::Complex>, Error> {
    let sigma = sigma.into();
    if !sigma.is_finite() {
        return Err(Error::argument(OP, "a finite sigma", text(sigma)));
    }
    a.runtime().enter(|| {
        if T::IS_COMPLEX || sigma.im == 0.0 {
            return near_or_beside(a, sigma, k, options);
        }
        check_finite(OP, a)?;
        let complex = |x: T| {
            let (re, im) = x.parts();
            T::Complex::from_parts(re, im)
        };
        let v0 = options.v0.map(Vector::cast::<T::Complex>);
        let options = EigsOptions {
            v0: v0.as_ref(),
            which: options.which,
            ncv: options.ncv,
            tol: options.tol,
            max_iter: options.max_iter,
        };
        near_or_beside(&a.map_values(complex)?, sigma, k, &options)
    })
}

/// [`near`], and where sigma is an eigenvalue up to some digits, so that the inverse hides all
/// others behind the rounding of that one, near a number beside it ([`step_beside`]).
fn near_or_beside<T: Field>(
    a: &Csr<T>,
    sigma: Complex<f64>,
    k: usize,
    options: &EigsOptions<'_, T>,
) -> Result<ComplexEigen<T::Complex>, Error> {
    let first = near(a, sigma, k, options)?;
    if options.which != WhichComplex::LargestMagnitude {
        return Ok(first);
    }
    let distances = |values: &[Complex<f64>], sigma: Complex<f64>| -> Vec<f64> {
        values.iter().map(|value| size(*value - sigma)).collect()
    };
    let of_first = distances(&first.values, sigma);
    let Some(step) = step_beside(a, &of_first, &first.residuals, options.tol)? else {
        return Ok(first);
    };
    let more = (k + MORE_BESIDE).min(a.n_rows());
    let mut other = match near(a, sigma + step, more, options) {
        Ok(other) if other.converged() => other,
        Err(error) if !is_no_answer(&error) => return Err(error),
        Ok(_) | Err(_) => return Ok(first),
    };
    let beside = distances(&other.values, sigma + step);
    let Some(places) = nearest_of(&distances(&other.values, sigma), &beside, k, step) else {
        return Ok(first);
    };
    other.vectors = at(&other.vectors, &places);
    other.values = at(&other.values, &places);
    other.residuals = at(&other.residuals, &places);
    other.n_converged = k;
    other.iterations += first.iterations;
    other.products += first.products;
    Ok(other)
}

/// [`eigs_near`], with a sigma that is an element.
fn near<T: Field>(
    a: &Csr<T>,
    sigma: Complex<f64>,
    k: usize,
    options: &EigsOptions<'_, T>,
) -> Result<ComplexEigen<T::Complex>, Error> {
    check_square(OP, a)?;
    let n = a.n_rows();
    let search = search(n, k, options)?;
    let (power, is_hidden) = scale::power_of_shifted(OP, a, sigma.re.abs().max(sigma.im.abs()))?;
    let a = &times_power_of_entries(a, -power);
    let shift = Complex::new(
        times_power_of(sigma.re, -power),
        times_power_of(sigma.im, -power),
    );
    let inverse = inverse_of_shifted(OP, a, None, element(-shift), text(sigma))?;
    let key = |value| options.which.key(value, !T::IS_COMPLEX);
    let found = find(OP, &inverse, &search, key)?;
    let reason = found.reason;
    let mut eigen = finish(a, found, |nu| shift + nu.inv())?;
    if is_hidden {
        eigen.n_converged = 0;
        eigen.reason = StopReason::Stagnation;
    } else if reason != StopReason::NotFinite {
        let probe = Vector::random_normal([n], SEED);
        let norms = norms(&[a.try_matvec(&probe)?, probe])?;
        let epsilon = T::Real::EPSILON.to_f64();
        let rounding = epsilon.sqrt().min(1e4 * epsilon);
        eigen = judged(eigen, norms[0] / norms[1], options.tol, rounding);
    }
    Ok(multiplied(eigen, power))
}

/// A number as people write it.
fn text(sigma: Complex<f64>) -> String {
    match sigma.im == 0.0 {
        true => format!("{:?}", sigma.re),
        false => sigma.to_string(),
    }
}

/// Checks what is asked for.
fn search<'a, T: Field>(
    n: usize,
    k: usize,
    options: &EigsOptions<'a, T>,
) -> Result<Search<'a, T>, Error> {
    if k == 0 || k > n {
        let (expected, found) = match n {
            0 => ("a matrix of one row or more".to_owned(), n),
            _ => (format!("k from 1 to {n}, the number of rows"), k),
        };
        return Err(Error::argument(OP, expected, found.to_string()));
    }
    check_tolerance(OP, options.tol)?;
    let ncv = options.basis_len(n, k);
    let least = n.min(k.saturating_add(2));
    if ncv < least || ncv > n {
        let expected = match least == n {
            true => format!("ncv of {n}"),
            false => format!("ncv from {least} to {n}"),
        };
        return Err(Error::argument(OP, expected, ncv.to_string()));
    }
    if let Some(v0) = options.v0 {
        check_len(OP, n, v0)?;
    }
    Ok(Search {
        k,
        ncv,
        tol: options.tol,
        max_iter: most_restarts(options.max_iter, n),
        v0: options.v0,
    })
}

/// The eigenvalues of the operator, vectors of length 1, and true residuals.
fn finish<T: Field>(
    a: &dyn LinearOperator<T>,
    found: Found<T>,
    value_of: impl Fn(Complex<f64>) -> Complex<f64>,
) -> Result<ComplexEigen<T::Complex>, Error> {
    let (values, vectors): (Vec<_>, Vec<_>) = found
        .pairs
        .into_iter()
        .map(|Pair { value, vector }| {
            let mapped = value_of(value);
            // The first of a pair stays the one with the positive imaginary part.
            let is_other = vector.imaginary.is_some() && (mapped.im > 0.0) != (value.im > 0.0);
            let mapped = if is_other { mapped.conj() } else { mapped };
            (mapped, vector.conjugate_if(is_other))
        })
        .unzip();
    let vectors = of_length_1(&vectors)?;
    let left: Vec<Parts<T>> = vectors
        .iter()
        .zip(&values)
        .map(|(x, &value)| x.residual(a, value))
        .collect::<Result<_, Error>>()?;
    Ok(ComplexEigen {
        residuals: lengths(&left)?,
        vectors: vectors.iter().map(Parts::joined).collect(),
        values,
        n_converged: found.converged,
        iterations: found.iterations,
        products: found.products,
        reason: found.reason,
    })
}

/// Many restarts have left rounding in the lengths.
fn of_length_1<T: Field>(vectors: &[Parts<T>]) -> Result<Vec<Parts<T>>, Error> {
    let lengths = lengths(vectors)?;
    let pairs = vectors.iter().zip(lengths);
    Ok(pairs.map(|(x, length)| x.scaled(1.0 / length)).collect())
}

/// Counts only what true residuals confirm, beside the size of the operator and what rounding
/// leaves of it.
fn judged<C>(
    mut eigen: ComplexEigen<C>,
    size_of_a: f64,
    tol: f64,
    rounding: f64,
) -> ComplexEigen<C> {
    let values = eigen.values.iter().map(|value| size(*value));
    let largest = values.fold(size_of_a, f64::max);
    let pairs = eigen.residuals.iter().zip(&eigen.values);
    let is_small = |(residual, value): &(&f64, &Complex<f64>)| {
        **residual <= (tol * size(**value)).max(rounding * largest)
    };
    eigen.n_converged = eigen.n_converged.min(pairs.filter(is_small).count());
    if eigen.reason == StopReason::Converged && eigen.n_converged < eigen.values.len() {
        eigen.reason = StopReason::Stagnation;
    }
    eigen
}

/// What was found of an operator divided by 2^`power`, of the operator. Nothing is claimed of
/// numbers that overflow.
fn multiplied<C>(mut eigen: ComplexEigen<C>, power: i32) -> ComplexEigen<C> {
    for value in &mut eigen.values {
        value.re = times_power_of(value.re, power);
        value.im = times_power_of(value.im, power);
    }
    for residual in &mut eigen.residuals {
        *residual = times_power_of(*residual, power);
    }
    let pairs = eigen.values.iter().zip(&eigen.residuals);
    let is_finite = |pair: &(&Complex<f64>, &f64)| pair.0.is_finite() && pair.1.is_finite();
    let n_finite = pairs.filter(is_finite).count();
    if n_finite < eigen.values.len() {
        eigen.n_converged = eigen.n_converged.min(n_finite);
        eigen.reason = StopReason::NotFinite;
    }
    eigen
}
