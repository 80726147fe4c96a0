//! Eigenvalues of operators, a few at one end of the spectrum, at both, or near a number; and
//! singular values.
//!
//! Hermitian operators (real: symmetric ones) have methods of their own. [`eigsh`] is Lanczos's
//! method with thick restarts, for operators of which nothing but products is known; [`eigsh_near`]
//! is the same for the inverse of A - sigma I, and finds the eigenvalues near sigma. [`lobpcg()`]
//! takes an approximate inverse instead of an exact one. All of them take a mass matrix B, for A x
//! = lambda B x. [`svds`] finds singular values of operators of any shape.
//!
//! [`eigs`] is the Krylov-Schur method for square operators that need not be Hermitian, and
//! [`eigs_near`] the same for the inverse of A - sigma I.
//!
//! All are array code: products with the operator, inner products, sums of multiples of vectors.
//! The small dense problems between them are solved on the host, from inner products that have the
//! same bits on every number of threads and ranks, by arithmetic that has the same bits everywhere.
//! So have the results, as long as the operators have them. Vectors are made on
//! [`Runtime::current`](sparsefuse_runtime::Runtime::current) where none are given.

mod general;
mod lobpcg;
mod self_adjoint;
mod singular;
mod small_svd;

mod krylov_schur;
mod lanczos;
mod schur;
mod schur_form;

mod block;
mod gram_schmidt;
mod hermitian;
mod mass;
mod matrix;
mod parts;
mod scale;
mod tridiagonal;

pub use general::{ComplexEigen, EigsOptions, WhichComplex, eigs, eigs_near};
pub use lobpcg::{LobpcgOptions, lobpcg};
pub use self_adjoint::{EigshOptions, Which, eigsh, eigsh_near, eigsh_with_inverse};
pub use singular::{Singular, svds};

use crate::operator::LinearOperator;
use crate::preconditioners::{Direct, is_singular, splu};
use crate::solution::StopReason;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, ErrorKind};
use sparsefuse_sparse::Csr;

/// Eigenvalues and eigenvectors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigen<T> {
    /// The eigenvalues, in ascending order. As many as were asked for, converged or not; fewer only
    /// if the operator gave something that is not a number, or if so few are finite, of a mass
    /// matrix that is singular.
    pub values: Vec<f64>,
    /// Their vectors, orthonormal (with a mass matrix B, in its inner product).
    pub vectors: Vec<Vector<T>>,
    /// ‖A x - lambda x‖ of each, or ‖A x - lambda B x‖, computed from the vectors at the end.
    pub residuals: Vec<f64>,
    /// How many have converged.
    pub n_converged: usize,
    /// Restarts of Lanczos's method, or iterations of LOBPCG.
    pub iterations: usize,
    /// Products with the operator, or its inverse, before the residuals were computed.
    pub products: usize,
    /// Why the method stopped.
    pub reason: StopReason,
}

impl<T> Eigen<T> {
    /// Whether all eigenvalues that were asked for have converged.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.reason == StopReason::Converged
    }
}

impl<T: Field> Eigen<T> {
    /// The vectors as the columns of a matrix, as SciPy has them: `a.matmul(v)` is `v` with its
    /// columns times the values.
    ///
    /// ```
    /// use sparsefuse_solvers::eigen::{EigshOptions, eigsh};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(100)?;
    /// let pairs = eigsh(&a, 3, &EigshOptions::default())?;
    /// assert_eq!(pairs.columns()?.shape(), [100, 3]);
    /// # Ok::<(), sparsefuse_solvers::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no vectors.
    pub fn columns(&self) -> Result<Array<T, 2>, Error> {
        columns(&self.vectors)
    }
}

/// Vectors as the columns of a matrix.
fn columns<T: Field>(vectors: &[Vector<T>]) -> Result<Array<T, 2>, Error> {
    Vector::try_stack(1, &vectors.iter().collect::<Vec<_>>())
}

/// What is looked for, and how long.
pub(super) struct Search<'a, T> {
    /// The number of eigenvalues.
    pub(super) k: usize,
    /// The most basis vectors.
    pub(super) ncv: usize,
    pub(super) tol: f64,
    pub(super) max_iter: usize,
    pub(super) v0: Option<&'a Vector<T>>,
}

/// How many eigenvalues more than are wanted are looked for beside sigma: those that are nearer to
/// the number beside it than to sigma.
const MORE_BESIDE: usize = 2;

/// How far from sigma to look again, where one of the nearest eigenvalues is so near that 1 /
/// (lambda - sigma) of it hides those of the others behind its rounding: a hundredth of the
/// distance of the furthest, about. `None` where all are about as near, or found as well as can be.
fn step_beside<T: Field>(
    a: &Csr<T>,
    distances: &[f64],
    residuals: &[f64],
    tol: f64,
) -> Result<Option<f64>, Error> {
    let largest = |numbers: &[f64]| numbers.iter().copied().fold(0.0, f64::max);
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let furthest = largest(distances);
    if nearest >= 1e-4 * furthest || !furthest.is_finite() {
        return Ok(None);
    }
    let size = a.norm_inf().get()?.to_f64();
    let rounding = 1e3 * T::Real::EPSILON.to_f64() * size;
    let is_hidden = largest(residuals) > rounding.max(tol * furthest);
    Ok(is_hidden.then_some(0.0137 * furthest))
}

/// Which of the eigenvalues with these distances from sigma are the `k` nearest, the nearest first.
/// They are all that lie as near to a number `step` beside sigma as the furthest of
/// `beside`; `None` where another one may be nearer to sigma.
fn nearest_of(distances: &[f64], beside: &[f64], k: usize, step: f64) -> Option<Vec<usize>> {
    let mut places: Vec<usize> = (0..distances.len()).collect();
    places.sort_by(|&one, &other| distances[one].total_cmp(&distances[other]));
    places.truncate(k);
    let radius = beside.iter().copied().fold(0.0, f64::max);
    let furthest = places.last().map(|&place| distances[place])?;
    (places.len() == k && furthest <= radius - step).then_some(places)
}

/// The items at some places.
fn at<V: Clone>(items: &[V], places: &[usize]) -> Vec<V> {
    places.iter().map(|&place| items[place].clone()).collect()
}

/// Whether nothing can be found beside sigma, and not that something is wrong.
fn is_no_answer(error: &Error) -> bool {
    is_singular(error) || matches!(error.root(), ErrorKind::Argument { .. })
}

/// The most basis vectors for `k` eigenvalues of `n` rows, unless they are given.
fn basis_len(ncv: Option<usize>, n: usize, k: usize) -> usize {
    let most = k.saturating_mul(2).saturating_add(1);
    ncv.unwrap_or(most.max(20).min(n))
}

/// The most restarts for `n` rows, unless they are given.
fn most_restarts(max_iter: Option<usize>, n: usize) -> usize {
    max_iter.unwrap_or(n.saturating_mul(10).min(10_000))
}

/// Refuses an operator that a look at some of its entries shows not to be Hermitian.
fn check_hermitian<T>(op: &'static str, a: &dyn LinearOperator<T>) -> Result<(), Error> {
    match a.asymmetry()? {
        None => Ok(()),
        Some(pair) => Err(Error::argument(
            op,
            "a symmetric (Hermitian) matrix",
            pair.to_string(),
        )),
    }
}

/// The inverse of A + `shift` B, which factors apply, where B is I unless a mass matrix is given;
/// `sigma` is the number near which eigenvalues were asked for.
fn inverse_of_shifted<T: Field>(
    op: &'static str,
    a: &Csr<T>,
    mass: Option<&Csr<T>>,
    shift: T,
    sigma: String,
) -> Result<Direct<T>, Error> {
    let shifted = match mass {
        Some(mass) => a.linear_combination(T::ONE, mass, shift)?,
        None => a.linear_combination(T::ONE, &Csr::identity(a.n_rows())?, shift)?,
    };
    splu(&shifted).map_err(|error| match is_singular(&error) {
        true => Error::argument(op, "a sigma that is not an eigenvalue", sigma),
        false => error,
    })
}
