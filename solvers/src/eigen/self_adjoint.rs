//! Eigenvalues of Hermitian operators: what is asked for, at which scale the method works, and what
//! is claimed of what it found.

use super::block::{Products, check_tolerance, images, norms, residuals, sums_of_multiples};
use super::gram_schmidt::SEED;
use super::hermitian::{orthonormalise, unit};
use super::lanczos::{Found, find};
use super::mass::{After, Inner, Mass};
use super::{
    Eigen, MORE_BESIDE, Search, at, basis_len, check_hermitian, inverse_of_shifted, is_no_answer,
    most_restarts, nearest_of, scale, step_beside,
};
use crate::operator::{LinearOperator, check_len, check_square};
use crate::powers::{times_power_of, times_power_of_entries};
use crate::solution::StopReason;
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
    /// B of the generalised problem A x = lambda B x, Hermitian and positive definite; `None` for
    /// I. To [`eigsh_near`] it may be singular, as a mass matrix without mass in some unknowns is.
    pub mass: Option<&'a Csr<T>>,
}

impl<T> EigshOptions<'_, T> {
    /// The most basis vectors for `k` eigenvalues of an operator with `n` rows:
    /// [`EigshOptions::ncv`] or its default.
    #[must_use]
    pub fn basis_len(&self, n: usize, k: usize) -> usize {
        basis_len(self.ncv, n, k)
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
            mass: None,
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
            .field("has_mass", &self.mass.is_some())
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
/// A step costs a product, a pass over two vectors and one over the basis, each with one reduction;
/// one more where rounding asks for it. A restart costs a pass that reads `ncv` vectors and writes
/// `k` and some more. It holds `ncv` + 1 vectors, and while it restarts those of the smaller basis
/// too. With a mass matrix B a step also costs a solve with its sparse LU factors, which every rank
/// holds, and two or three products with B.
///
/// In exact arithmetic a Krylov space has one vector of each eigenspace. Where the space cannot
/// grow the method goes on with a new direction, and rounding does the same more slowly, so that
/// multiple eigenvalues are mostly found as often as they occur; but a tolerance that is met early
/// leaves copies out. [`lobpcg`](super::lobpcg()) finds up to as many copies as it has vectors.
///
/// A matrix that some of its entries show not to be Hermitian is refused, as [`cg`](crate::cg())
/// refuses it; of other operators nothing is known.
///
/// # Errors
///
/// If the operator is not square, an entry is infinite or not a number, `k` is 0 or not below the
/// number of rows, `ncv` is not above `k` or above the number of rows, `v0` has another length, is
/// 0 or is not finite, or the operator fails; if the mass matrix has another shape or runtime, is
/// not Hermitian or finite, or gives a vector no length. Not to converge is no error. [`eigsh`]
/// also fails if the mass matrix is singular, or memory for its factors runs out.
pub fn eigsh<T: Field>(
    a: &dyn LinearOperator<T>,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    check_square(OP, a)?;
    check_hermitian(OP, a)?;
    let power = scale::power_of(OP, a)?;
    let search = search(a.shape().0, k, options)?;
    let order = |values: &[f64]| options.which.order(values);
    let mass = Mass::of(OP, a, options.mass)?;
    let a = &scale::divided(a, power);
    let Some(mass) = mass else {
        let found = find(OP, a, None, &search, order)?;
        let eigen = finish(a, None, found, |theta| theta)?;
        let eigen = judged(a, None, eigen, options.tol, 0.0)?;
        return Ok(scale::multiplied(eigen, power, 0));
    };
    let inverse = mass.inverse(OP)?;
    let operator = After {
        first: a,
        then: &inverse,
    };
    let inner = Inner {
        mass: &mass.matrix,
        is_of_images: false,
    };
    let found = find(OP, &operator, Some(inner), &search, order)?;
    let eigen = finish(a, Some(&mass.matrix), found, |theta| theta)?;
    let eigen = judged(a, Some(&mass.matrix), eigen, options.tol, 0.0)?;
    Ok(scale::multiplied(eigen, power, mass.power))
}

/// The `k` eigenvalues of a Hermitian matrix that are nearest to `sigma`, by [`eigsh`] for the
/// inverse of A - sigma I, which [`splu`](crate::preconditioners::splu) applies: few products, each
/// a solve with the factors.
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
/// A `sigma` that is an eigenvalue up to some digits hides all others behind the rounding of that
/// one. Without a mass matrix, and for the largest magnitudes, they are then looked for beside
/// `sigma`, with factors of their own; else the residuals tell.
///
/// With a mass matrix, the lowest frequencies of a structure: its stiffness and masses here are
/// those of a chain between two walls, whose last mass is 0.
///
/// ```
/// use sparsefuse_solvers::eigen::{EigshOptions, eigsh_near};
/// use sparsefuse_sparse::{Csr, Dia, gallery};
///
/// let stiffness = gallery::poisson1d::<f64>(40)?;
/// let masses: Vec<f64> = (0..40).map(|i| if i < 39 { 0.5 } else { 0.0 }).collect();
/// let mass = Dia::from_diagonals(40, 40, &[(0, masses)])?.to_csr()?;
/// let options = EigshOptions { mass: Some(&mass), ..EigshOptions::default() };
/// let eigen = eigsh_near(&stiffness, 0.0, 3, &options)?;
/// assert!(eigen.converged());
/// let residual = &stiffness * &eigen.vectors[0] - &mass * &eigen.vectors[0] * eigen.values[0];
/// assert!(residual.norm2().get()? < 1e-12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`eigsh`], and if `sigma` is not finite, A - sigma I is singular, sigma being an eigenvalue,
/// or memory for its factors runs out.
pub fn eigsh_near<T: Field>(
    a: &Csr<T>,
    sigma: f64,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    a.runtime().enter(|| {
        let first = near(a, sigma, k, options)?;
        if options.which != Which::LargestMagnitude || options.mass.is_some() {
            return Ok(first);
        }
        // A sigma that is an eigenvalue up to some digits hides all others.
        let distances = |values: &[f64], sigma: f64| -> Vec<f64> {
            values.iter().map(|value| (value - sigma).abs()).collect()
        };
        let of_first = distances(&first.values, sigma);
        let Some(step) = step_beside(a, &of_first, &first.residuals, options.tol)? else {
            return Ok(first);
        };
        let more = (k + MORE_BESIDE).min(a.n_rows() - 1);
        let mut other = match near(a, sigma + step, more, options) {
            Ok(other) if other.converged() => other,
            Err(error) if !is_no_answer(&error) => return Err(error),
            Ok(_) | Err(_) => return Ok(first),
        };
        let beside = distances(&other.values, sigma + step);
        let Some(mut places) = nearest_of(&distances(&other.values, sigma), &beside, k, step)
        else {
            return Ok(first);
        };
        places.sort_unstable();
        other.vectors = at(&other.vectors, &places);
        other.values = at(&other.values, &places);
        other.residuals = at(&other.residuals, &places);
        other.n_converged = k;
        other.iterations += first.iterations;
        other.products += first.products;
        Ok(other)
    })
}

/// [`eigsh_near`], near this sigma and no other.
fn near<T: Field>(
    a: &Csr<T>,
    sigma: f64,
    k: usize,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    check_square(OP, a)?;
    check_hermitian(OP, a)?;
    let search = search(a.n_rows(), k, options)?;
    let mass = Mass::of(OP, a, options.mass)?;
    let scales = Scales::of(a, mass.as_ref(), sigma)?;
    let mass = mass.as_ref().map(|mass| &mass.matrix);
    let a = &times_power_of_entries(a, -scales.of_a);
    let (shift, sigma) = (T::from_f64(-scales.shift), format!("{sigma:?}"));
    let inverse = inverse_of_shifted(OP, a, mass, shift, sigma)?;
    by_inverse(a, mass, &inverse, &scales, &search, options)
}

/// As [`eigsh_near`], for any operator that applies the inverse of A - sigma I, or of A - sigma B
/// with a mass matrix: factors of another kind, or a solver, which has to be as accurate as the
/// eigenvalues are meant to be.
///
/// # Errors
///
/// As [`eigsh`], for either operator, and if `sigma` is not finite.
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
    let search = search(a.shape().0, k, options)?;
    let mass = Mass::of(OP, a, options.mass)?;
    let scales = Scales::of(a, mass.as_ref(), sigma)?;
    let mass = mass.as_ref().map(|mass| &mass.matrix);
    let power = scales.of_a;
    let (a, inverse) = (scale::divided(a, power), scale::divided(inverse, -power));
    by_inverse(&a, mass, &inverse, &scales, &search, options)
}

/// A and B divided by powers of two, and sigma beside them.
struct Scales {
    of_a: i32,
    of_mass: i32,
    shift: f64,
    /// Whether the rounding of sigma hides A.
    is_hidden: bool,
}

impl Scales {
    fn of<T: Field>(
        a: &dyn LinearOperator<T>,
        mass: Option<&Mass<T>>,
        sigma: f64,
    ) -> Result<Self, Error> {
        if !sigma.is_finite() {
            return Err(Error::argument(OP, "a finite sigma", sigma.to_string()));
        }
        let of_mass = mass.map_or(0, |mass| mass.power);
        let shift = times_power_of(sigma, of_mass);
        let (of_a, is_hidden) = scale::power_of_shifted(OP, a, shift)?;
        // Times a mass matrix sigma may be as small as A; residuals tell.
        let is_hidden = is_hidden && mass.is_none();
        Ok(Self {
            of_a,
            of_mass,
            shift: times_power_of(shift, -of_a),
            is_hidden,
        })
    }
}

/// By the inverse of A - sigma B, at a scale that suits the method. Where the rounding of sigma
/// hides A, nothing has converged: the inverse is that of -sigma B.
fn by_inverse<T: Field>(
    a: &dyn LinearOperator<T>,
    mass: Option<&Csr<T>>,
    inverse: &dyn LinearOperator<T>,
    scales: &Scales,
    search: &Search<'_, T>,
    options: &EigshOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    let order = |values: &[f64]| options.which.order(values);
    let found = match mass {
        None => find(OP, inverse, None, search, order)?,
        Some(mass) => {
            let operator = After {
                first: mass,
                then: inverse,
            };
            let inner = Inner {
                mass,
                is_of_images: true,
            };
            let mut found = find(OP, &operator, Some(inner), search, order)?;
            // An image has nothing of what a singular mass matrix maps to 0 and no step would
            // notice.
            found.vectors = images(&operator, &found.vectors)?;
            found
        }
    };
    let mut eigen = finish(a, mass, found, |nu| scales.shift + 1.0 / nu)?;
    if scales.is_hidden {
        eigen.n_converged = 0;
        eigen.reason = StopReason::Stagnation;
    } else {
        eigen = judged(a, mass, eigen, options.tol, scales.shift)?;
    }
    Ok(scale::multiplied(eigen, scales.of_a, scales.of_mass))
}

/// Checks what is asked for.
fn search<'a, T: Field>(
    n: usize,
    k: usize,
    options: &EigshOptions<'a, T>,
) -> Result<Search<'a, T>, Error> {
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
    Ok(Search {
        k,
        ncv,
        tol: options.tol,
        max_iter: most_restarts(options.max_iter, n),
        v0: options.v0,
    })
}

/// Values in ascending order, vectors without what many restarts have left of rounding, and true
/// residuals.
fn finish<T: Field>(
    a: &dyn LinearOperator<T>,
    mass: Option<&Csr<T>>,
    found: Found<T>,
    value_of: impl Fn(f64) -> f64,
) -> Result<Eigen<T>, Error> {
    let mass_images = |vectors: &[Vector<T>]| match mass {
        Some(mass) => images(mass, vectors),
        None => Ok(vectors.to_vec()),
    };
    let values = found.values.iter().map(|&value| value_of(value));
    let mut pairs: Vec<(f64, Vector<T>)> = values.zip(found.vectors).collect();
    pairs.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    let (values, vectors): (Vec<f64>, Vec<Vector<T>>) = pairs.into_iter().unzip();
    let gram = Products::of_hermitian(&vectors, &mass_images(&vectors)?)?.read_hermitian()?;
    let units: Vec<_> = (0..vectors.len()).map(|i| unit(vectors.len(), i)).collect();
    let vectors = sums_of_multiples(&vectors, &orthonormalise(&gram, &[], &units, 0.0))?;
    let left = residuals(&values, &images(a, &vectors)?, &mass_images(&vectors)?);
    Ok(Eigen {
        residuals: norms(&left)?,
        values,
        vectors,
        n_converged: found.converged,
        iterations: found.iterations,
        products: found.products,
        reason: found.reason,
    })
}

/// Counts what is an eigenpair of A by its true residual too, and not only by the method's own
/// recurrence: of an operator that is not Hermitian that says nothing; and of a shifted inverse, if
/// sigma is an eigenvalue up to rounding, that is so large that the rounding of its products hides
/// all others. Where A is 0, all that a residual has is the rounding of the shift.
fn judged<T: Field>(
    a: &dyn LinearOperator<T>,
    mass: Option<&Csr<T>>,
    mut eigen: Eigen<T>,
    tol: f64,
    shift: f64,
) -> Result<Eigen<T>, Error> {
    let Some(runtime) = eigen.vectors.first().map(Vector::runtime) else {
        return Ok(eigen);
    };
    let epsilon = T::Real::EPSILON.to_f64();
    let most = tol.max(epsilon.sqrt());
    let rounding = |of_a: f64| match of_a == 0.0 {
        true => 100.0 * epsilon * shift.abs() / most,
        false => 0.0,
    };
    let probe = runtime.enter(|| Vector::random_normal([a.shape().0], SEED));
    let sizes: Vec<f64> = match mass {
        None => {
            let norms = norms(&[a.apply(&probe)?, probe])?;
            let values = eigen.values.iter().map(|value| value.abs());
            let size = values.fold(rounding(norms[0]).max(norms[0] / norms[1]), f64::max);
            vec![size; eigen.values.len()]
        }
        // Of A x and lambda B x, whose x need not have length 1.
        Some(mass) => {
            let of_probe = norms(&[a.apply(&probe)?, mass.try_matvec(&probe)?, probe])?;
            let pairs = eigen.values.iter().zip(norms(&eigen.vectors)?);
            let rounding = rounding(of_probe[0]);
            let size = |(value, length): (&f64, f64)| {
                (of_probe[0] + value.abs().max(rounding) * of_probe[1]) * (length / of_probe[2])
            };
            pairs.map(size).collect()
        }
    };
    let pairs = eigen.residuals.iter().zip(sizes);
    let small = pairs.filter(|&(&residual, size)| residual <= most * size);
    eigen.n_converged = eigen.n_converged.min(small.count());
    if eigen.reason == StopReason::Converged && eigen.n_converged < eigen.values.len() {
        eigen.reason = StopReason::Stagnation;
    }
    Ok(eigen)
}
