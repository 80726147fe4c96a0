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
//! Columns without couplings are an invariant space; they stay as they are, and only the rest of H
//! is reduced.
//!
//! A restart takes away the directions of unwanted Ritz values. One of these may lie near a wanted
//! eigenvalue that the space did not hold well; the others converge while it comes back. So what is
//! claimed has to be what several spaces find, one after the other: one more than the first, and a
//! quarter as many as it took to find it. (Of 270 searches in pseudo-random matrices of 250 rows 4
//! lose an eigenvalue where one space confirms, and 1 with this rule, for a quarter more products.)
//! Where eigenvalues are so sensitive that rounding makes others, spaces may never agree for so
//! long; when the search has taken twice as long, two are enough.
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
    let mut claim = Claim::default();
    loop {
        let is_finite = space.grow(ncv)?;
        let mut schur = Schur::of(&space.projected, !T::IS_COMPLEX, space.invariant);
        let seen = space.look(&mut schur, search.k, tol, &key);
        let is_found = seen.converged == seen.k;
        let is_claim = claim.holds(is_found, iterations) || (is_found && space.is_whole());
        let reason = match (is_finite, is_claim) {
            (false, _) => Some(StopReason::NotFinite),
            (true, true) => Some(StopReason::Converged),
            (true, false) => (iterations >= max_iter).then_some(StopReason::IterationLimit),
        };
        if let Some(reason) = reason {
            return Ok(Found {
                pairs: space.pairs(&schur, seen.k),
                converged: seen.converged,
                iterations,
                products: space.products,
                reason,
                largest: space.largest,
            });
        }
        let kept = kept(&seen, ncv);
        schur.order(seen.wanted..kept + 1, &key);
        space.restart(&schur, in_whole_pairs(&schur, kept))?;
        iterations += 1;
    }
}

/// What is said of the spaces that show as many converged eigenvalues as are wanted; see the
/// module's text.
#[derive(Default)]
struct Claim {
    /// The restarts before the first such space.
    search: Option<usize>,
    /// How many such spaces there are, one after the other.
    agreed: usize,
}

impl Claim {
    /// Whether enough spaces agree; the last of them is the one after this number of restarts.
    fn holds(&mut self, is_found: bool, restarts: usize) -> bool {
        if !is_found {
            self.agreed = 0;
            return false;
        }
        self.agreed += 1;
        let search = *self.search.get_or_insert(restarts);
        self.agreed > 1 + search / 4 || (self.agreed > 1 && restarts > 2 * search)
    }
}

/// How many vectors a restart keeps: those that have converged, and half of the others, as SLEPc
/// does. Of 270 searches in pseudo-random matrices this takes half of the products that ARPACK's
/// rule takes, which keeps hardly more than are wanted.
fn kept(seen: &Seen, ncv: usize) -> usize {
    seen.converged.midpoint(ncv).max(seen.wanted).min(ncv - 1)
}

/// The number of vectors that is nearest to this one and leaves none of a pair alone.
fn in_whole_pairs(schur: &Schur, kept: usize) -> usize {
    match schur.cuts_pair(kept) {
        true if kept + 1 < schur.len() => kept + 1,
        true => kept - 1,
        false => kept,
    }
}

/// What a space shows of the wanted eigenvalues.
struct Seen {
    /// How many are wanted, of those that the space can show.
    k: usize,
    /// The same, and one more where the last of them is one of a pair.
    wanted: usize,
    /// How many of the wanted ones have converged.
    converged: usize,
}

/// A Krylov space; see the module's text.
struct Space<'a, T> {
    a: &'a dyn LinearOperator<T>,
    /// V.
    basis: Vec<Vector<T>>,
    /// H.
    projected: Matrix<Complex<f64>>,
    /// v: the next basis vector, as long as the space can grow.
    next: Vector<T>,
    /// b: what the products with the basis vectors have of v. All are 0 where the operator maps the
    /// space to itself.
    couplings: Coefficients,
    /// The first basis vectors that span a space which the operator maps to itself: those without
    /// couplings.
    invariant: usize,
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
            invariant: 0,
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

    /// Orders the Ritz values, and compares what is left of the wanted ones with what is allowed:
    /// A V z - theta V z = v b^T z of an eigenvector z of H.
    fn look(
        &self,
        schur: &mut Schur,
        k: usize,
        tol: f64,
        key: impl Fn(Complex<f64>) -> [f64; 2],
    ) -> Seen {
        let k = k.min(schur.len());
        schur.order(0..k + 1, &key);
        let wanted = k + usize::from(schur.cuts_pair(k));
        let (values, couplings) = (schur.values(), self.couplings_of(schur));
        let residual = |place: usize| {
            let z = schur.in_columns(place);
            let terms = z.iter().zip(&couplings);
            size(terms.map(|(z, b)| z * b).sum())
        };
        let epsilon = T::Real::EPSILON.to_f64();
        let is_converged = |&place: &usize| {
            let tolerance = tol.max(epsilon) * size(values[place]);
            residual(place) <= tolerance.max(self.rounding())
        };
        let converged = (0..k).filter(is_converged).count();
        Seen {
            k,
            wanted,
            converged,
        }
    }

    /// Of a coupling, a sum of products of rounded numbers.
    fn rounding(&self) -> f64 {
        T::Real::EPSILON.to_f64() * self.largest * (self.couplings.len() as f64).sqrt()
    }

    /// b^T Q.
    fn couplings_of(&self, schur: &Schur) -> Coefficients {
        let column = |column| {
            let terms = self.couplings.iter().zip(schur.column(column));
            terms.map(|(b, q)| b * q).sum()
        };
        (0..schur.len()).map(column).collect()
    }

    /// Makes the space that of the first columns of Q.
    fn restart(&mut self, schur: &Schur, kept: usize) -> Result<(), Error> {
        let columns: Vec<Coefficients> = (0..kept).map(|column| schur.column(column)).collect();
        self.projected = schur.leading(kept);
        self.couplings = self.couplings_of(schur);
        self.couplings.truncate(kept);
        self.basis = sums_of_multiples(&self.basis, &columns)?;
        let negligible = T::Real::EPSILON.to_f64() * self.largest;
        let is_coupled = |b: &Complex<f64>| !(size(*b) <= negligible);
        let uncoupled = self.couplings.iter().position(is_coupled).unwrap_or(kept);
        self.invariant = uncoupled - usize::from(schur.cuts_pair(uncoupled));
        self.couplings[..self.invariant].fill(Complex::ZERO);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The restarts before a claim, if the spaces show this one after the other.
    fn claimed(looks: &[bool]) -> Option<usize> {
        let mut claim = Claim::default();
        (0..looks.len()).find(|&i| claim.holds(looks[i], i))
    }

    #[test]
    fn what_several_spaces_find_is_claimed() {
        assert_eq!(claimed(&[true; 4]), Some(1));
        let search = |restarts: usize, then: &[bool]| [&vec![false; restarts], then].concat();
        assert_eq!(claimed(&search(7, &[true; 4])), Some(9));
        assert_eq!(claimed(&search(8, &[true; 9])), Some(11));
        assert_eq!(claimed(&search(8, &[true, true, false, true])), None);
        let again = [true, true, false, true, true, true, true];
        assert_eq!(claimed(&search(8, &again)), Some(14));
        // Spaces that never agree for long.
        let sensitive = [true, true, false].repeat(10);
        assert_eq!(claimed(&search(8, &sensitive)), Some(18));
    }
}
