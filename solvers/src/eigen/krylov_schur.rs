//! The Krylov-Schur method, for an operator of which nothing but products is known.
//!
//! The basis V of a Krylov space grows by a vector a step, by Arnoldi's method; on it the operator
//! is the small matrix H = V'AV, and A V = V H + v b^T with the next basis vector v and couplings
//! b. Where the space has become as large as it may, the Schur form H = Q T Q' is ordered so that
//! the wanted eigenvalues come first, and its first columns give the basis V Q of a smaller space
//! with the same property: the first rows and columns of T are its H, b^T Q its couplings (G. W.
//! Stewart, *A Krylov-Schur algorithm for large eigenproblems*, 2001). This is mathematically what
//! implicit restarts with exact shifts do (Sorensen 1992, ARPACK).
//!
//! Invariants: V has orthonormal columns to rounding; all of a real operator is real, since its
//! Schur form is, and no restart cuts a pair of complex eigenvalues.

use super::Search;
use super::block::{sum_of_multiples, sums_of_multiples};
use super::gram_schmidt::{new_direction, orthogonalise, start};
use super::hermitian::Coefficients;
use super::matrix::Matrix;
use super::parts::Parts;
use super::schur::Schur;
use crate::krylov::scalars::size;
use crate::operator::LinearOperator;
use crate::solution::StopReason;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// An eigenvalue and its vector, of length 1.
pub(super) struct Pair<T> {
    pub(super) value: Complex<f64>,
    pub(super) vector: Parts<T>,
}

/// The wanted eigenvalues, the most wanted first; of two that are conjugates of each other the one
/// with the positive imaginary part first.
pub(super) struct Found<T> {
    pub(super) pairs: Vec<Pair<T>>,
    pub(super) converged: usize,
    pub(super) iterations: usize,
    pub(super) products: usize,
    pub(super) reason: StopReason,
    /// The largest norm of a product with a basis vector: at most the norm of the operator.
    pub(super) largest: f64,
}

/// The method: grow, look, restart. The eigenvalues with the smallest keys are wanted.
pub(super) fn find<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    search: &Search<'_, T>,
    key: impl Fn(Complex<f64>) -> [f64; 2],
) -> Result<Found<T>, Error> {
    let Search {
        ncv, tol, max_iter, ..
    } = *search;
    let mut space = Space::new(a, start(op, a, search.v0)?);
    let mut iterations = 0;
    let mut has_claimed = false;
    loop {
        let is_finite = space.grow(ncv)?;
        let mut schur = Schur::of(space.projected.clone(), !T::IS_COMPLEX);
        schur.order(&key);
        let k = search.k.min(schur.len());
        let converged = space.converged(&schur, k, tol);
        // The next space may show wanted eigenvalues that this one has missed.
        let is_claim = converged == k && (has_claimed || space.is_whole());
        let reason = match (is_finite, is_claim) {
            (false, _) => Some(StopReason::NotFinite),
            (true, true) => Some(StopReason::Converged),
            (true, false) => (iterations >= max_iter).then_some(StopReason::IterationLimit),
        };
        if let Some(reason) = reason {
            return Ok(Found {
                pairs: space.pairs(&schur, k),
                converged,
                iterations,
                products: space.products,
                reason,
                largest: space.largest,
            });
        }
        has_claimed = converged == k;
        space.restart(&schur, kept(&schur, k, ncv, converged))?;
        iterations += 1;
    }
}

/// How many vectors a restart keeps: ARPACK's rule. More than are wanted, the more the more of them
/// have converged, so that the others do not stand still; and never one of a pair alone.
fn kept(schur: &Schur, k: usize, ncv: usize, converged: usize) -> usize {
    let most = ncv - 1;
    let wanted = k + usize::from(schur.cuts_pair(k));
    let more = wanted + converged.min(ncv.saturating_sub(wanted) / 2);
    let kept = match more {
        1 if ncv > 3 => ncv / 2,
        _ => more.min(most),
    };
    match schur.cuts_pair(kept) {
        true if kept < most => kept + 1,
        true => kept - 1,
        false => kept,
    }
}

/// A Krylov space; see the module's text.
struct Space<'a, T> {
    a: &'a dyn LinearOperator<T>,
    /// V.
    basis: Vec<Vector<T>>,
    /// H.
    projected: Matrix,
    /// v: the next basis vector, as long as the space can grow.
    next: Vector<T>,
    /// b: what the products with the basis vectors have of v. All are 0 where the operator maps the
    /// space to itself.
    couplings: Coefficients,
    /// The largest norm of a product with a basis vector.
    largest: f64,
    products: usize,
    /// The new directions that were made.
    directions: u64,
}

impl<'a, T: Field> Space<'a, T> {
    /// The space that grows from a vector of length 1.
    fn new(a: &'a dyn LinearOperator<T>, start: Vector<T>) -> Self {
        Self {
            a,
            basis: Vec::new(),
            projected: Matrix::zeros(0),
            next: start,
            couplings: Vec::new(),
            largest: 0.0,
            products: 0,
            directions: 0,
        }
    }

    /// Whether the space is that of all vectors.
    fn is_whole(&self) -> bool {
        self.basis.len() == self.a.shape().0
    }

    /// Grows to `len` basis vectors; gives false where a product is not finite, and leaves it out.
    fn grow(&mut self, len: usize) -> Result<bool, Error> {
        let before = self.basis.len();
        let mut projected = self.projected.resized(len);
        for j in before..len {
            self.basis.push(self.next.clone());
            let product = self.a.apply(&self.next)?;
            self.products += 1;
            let image = orthogonalise(&self.basis, 0, product, None)?;
            let is_finite = image.products.iter().all(|h| h.is_finite());
            if !(is_finite && (image.norm_before + image.norm).is_finite()) {
                self.basis.pop();
                self.projected = projected.resized(j);
                return Ok(false);
            }
            for (column, &coupling) in self.couplings.iter().enumerate() {
                projected.set(j, column, coupling);
            }
            for (row, &h) in image.products.iter().enumerate() {
                projected.set(row, j, h);
            }
            self.largest = self.largest.max(image.norm_before);
            self.couplings = vec![Complex::ZERO; j + 1];
            let negligible = 10.0 * T::Real::EPSILON.to_f64() * self.largest;
            if self.is_whole() {
                continue;
            }
            if image.norm > negligible {
                self.couplings[j] = image.norm.into();
                self.next = image.rest * T::from_f64(1.0 / image.norm);
            } else {
                self.next = new_direction(&self.basis, &mut self.directions)?;
            }
        }
        self.projected = projected;
        Ok(true)
    }

    /// How many of the first eigenvectors z of H have a residual, |b^T z|, that is small enough.
    fn converged(&self, schur: &Schur, k: usize, tol: f64) -> usize {
        let epsilon = T::Real::EPSILON.to_f64();
        let values = schur.values();
        // Of b^T z, a sum of products of rounded numbers.
        let rounding = epsilon * self.largest * (self.couplings.len() as f64).sqrt();
        let is_converged = |&place: &usize| {
            let tolerance = tol.max(epsilon) * size(values[place]);
            let residual = size(self.coupling(&schur.eigenvector(place)));
            residual <= tolerance.max(rounding)
        };
        (0..k).filter(is_converged).count()
    }

    /// b^T z.
    fn coupling(&self, z: &[Complex<f64>]) -> Complex<f64> {
        self.couplings.iter().zip(z).map(|(b, z)| b * z).sum()
    }

    /// Makes the space that of the first columns of Q.
    fn restart(&mut self, schur: &Schur, kept: usize) -> Result<(), Error> {
        let columns: Vec<Coefficients> = (0..kept).map(|column| schur.column(column)).collect();
        self.projected = schur.leading(kept);
        self.couplings = columns.iter().map(|q| self.coupling(q)).collect();
        self.basis = sums_of_multiples(&self.basis, &columns)?;
        Ok(())
    }

    /// The first eigenvalues and their vectors.
    fn pairs(&self, schur: &Schur, k: usize) -> Vec<Pair<T>> {
        let values = schur.values();
        let pair = |place: usize| {
            let z = schur.eigenvector(place);
            let is_two = !T::IS_COMPLEX && values[place].im != 0.0;
            let imaginary: Coefficients = z.iter().map(|z| Complex::from(z.im)).collect();
            Pair {
                value: values[place],
                vector: Parts {
                    real: sum_of_multiples(&self.basis, &z),
                    imaginary: is_two.then(|| sum_of_multiples(&self.basis, &imaginary)),
                },
            }
        };
        (0..k).map(pair).collect()
    }
}
