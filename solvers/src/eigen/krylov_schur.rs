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
//! eigenvalue that the space did not hold well, which is lost then: the others converge without it,
//! and ARPACK and SLEPc claim them. So what has converged is confirmed here: the method goes on
//! with a pseudo-random direction orthogonal to the space of what was found, for at least a part of
//! the restarts that this has taken, and until the next Ritz value is so near to an eigenvalue that
//! this cannot be a wanted one. If a wanted eigenvalue turns up it has to converge, and all is
//! confirmed again.
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
    let mut confirmation = Confirmation::default();
    let mut iterations = 0;
    loop {
        let is_finite = space.grow(ncv)?;
        let mut schur = Schur::of(&space.projected, !T::IS_COMPLEX, space.invariant);
        let seen = space.look(&mut schur, search.k, tol, &key);
        let reason = match is_finite {
            true => confirmation.reason(&seen, iterations, max_iter),
            false => Some(StopReason::NotFinite),
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
        // Rounding may have changed which of two equal keys comes first: those that were looked at
        // stay where they are.
        if confirmation.begins(&seen, iterations) {
            schur.order(seen.wanted..ncv, &key);
            space.restart_anew(&schur, seen.wanted)?;
        } else {
            let kept = kept(&seen, ncv);
            schur.order(seen.wanted..kept + 1, &key);
            space.restart(&schur, in_whole_pairs(&schur, kept))?;
        }
        iterations += 1;
    }
}

/// How many vectors a restart keeps: ARPACK's rule. More than are wanted, the more the more of them
/// have converged, so that the others do not stand still.
fn kept(seen: &Seen, ncv: usize) -> usize {
    let more = seen.wanted + seen.converged.min(ncv.saturating_sub(seen.wanted) / 2);
    match more {
        1 if ncv > 3 => ncv / 2,
        _ => more.min(ncv - 1),
    }
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
    /// The key of the last of the wanted ones, and its absolute value.
    largest_key: f64,
    size_of_last: f64,
    /// What rounding may make of an eigenvalue.
    rounding: f64,
    /// Whether the next Ritz value behind them is near enough to an eigenvalue to see that it is
    /// none of the wanted ones.
    is_settled: bool,
    /// Whether the space is that of all vectors.
    is_whole: bool,
}

impl Seen {
    fn is_found(&self) -> bool {
        self.converged == self.k
    }
}

/// The search from a new direction by which it is confirmed that nothing is missing.
#[derive(Default)]
struct Confirmation {
    /// The restart that it began with, and the largest key of a wanted eigenvalue.
    begun: Option<(usize, f64)>,
    /// How often it has begun.
    times: usize,
}

impl Confirmation {
    /// More often than wanted eigenvalues turn up one after the other.
    const MOST_TIMES: usize = 5;

    /// Why the method ends. A confirmation takes at least a quarter of the restarts of the search
    /// before it: an eigenvalue that is missing would take as long, and may turn up behind one that
    /// is not wanted. As nothing forces the next Ritz value to settle, it takes no more restarts
    /// than that search.
    fn reason(&mut self, seen: &Seen, iterations: usize, max_iter: usize) -> Option<StopReason> {
        let is_last = iterations >= max_iter;
        if seen.is_found() {
            // Ritz values that have not converged may be where no eigenvalue is, so what they
            // displace for a while does not count.
            self.begun = self.begun.filter(|(_, key)| seen.largest_key >= *key);
            let is_confirmed = match self.begun {
                Some((begun, _)) => {
                    let taken = iterations - begun;
                    is_last || taken > begun || (seen.is_settled && taken > begun / 4)
                }
                None => self.times == Self::MOST_TIMES,
            };
            if seen.is_whole || is_confirmed {
                return Some(StopReason::Converged);
            }
        }
        is_last.then_some(StopReason::IterationLimit)
    }

    /// Whether one begins with this restart: if all wanted eigenvalues have converged.
    fn begins(&mut self, seen: &Seen, iterations: usize) -> bool {
        if !seen.is_found() || self.begun.is_some() {
            return false;
        }
        // Keys that differ by less than rounding may make are equal.
        let rounding = f64::EPSILON.sqrt() * seen.size_of_last + seen.rounding;
        self.begun = Some((iterations, seen.largest_key - rounding));
        self.times += 1;
        true
    }
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
        // Of an eigenvalue, what the next one behind the wanted ones may be away from one. It is
        // behind them by then, or on its way there.
        const NEAR: f64 = 0.01;
        let k = k.min(schur.len());
        schur.order(0..k + 2, &key);
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
        // None if not even the first product is finite.
        let last = k.checked_sub(1).map_or(Complex::ZERO, |last| values[last]);
        let largest_key = key(last)[0];
        let is_settled = converged == k && wanted < schur.len() && {
            let behind = key(values[wanted])[0] - largest_key;
            residual(wanted) <= behind.max(NEAR * size(values[wanted]))
        };
        Seen {
            k,
            wanted,
            converged,
            largest_key,
            size_of_last: size(last),
            rounding: self.rounding(),
            is_settled,
            is_whole: self.is_whole(),
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

    /// The same of the first `wanted` columns, which have converged, and those behind them that
    /// have, too; what is left of their couplings is dropped, and the space goes on from a new
    /// direction.
    fn restart_anew(&mut self, schur: &Schur, wanted: usize) -> Result<(), Error> {
        let most = wanted.midpoint(schur.len() - 1);
        let couplings = self.couplings_of(schur);
        let behind = couplings[wanted..most].iter();
        let converged = behind.take_while(|b| size(**b) <= self.rounding()).count();
        let kept = wanted + converged;
        let kept = kept - usize::from(schur.cuts_pair(kept));
        self.restart(schur, kept)?;
        self.couplings.fill(Complex::ZERO);
        self.invariant = kept;
        self.next = new_direction(&self.basis, &mut self.directions)?;
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

    /// What each restart sees: how many of three have converged, the key of the last of them, and
    /// whether the next one has settled; from the last one on always the same. Gives the restart
    /// with which the method ends.
    fn end(looks: &[(usize, f64, bool)], max_iter: usize) -> (usize, StopReason) {
        let mut confirmation = Confirmation::default();
        let mut iterations = 0;
        loop {
            let (converged, largest_key, is_settled) = looks[iterations.min(looks.len() - 1)];
            let seen = Seen {
                k: 3,
                wanted: 3,
                converged,
                largest_key,
                size_of_last: 1.0,
                rounding: 0.0,
                is_settled,
                is_whole: false,
            };
            if let Some(reason) = confirmation.reason(&seen, iterations, max_iter) {
                return (iterations, reason);
            }
            confirmation.begins(&seen, iterations);
            iterations += 1;
        }
    }

    #[test]
    fn what_has_converged_is_confirmed() {
        use StopReason::{Converged, IterationLimit};
        let search = vec![(2, -0.5, true); 8];
        let after = |looks: &[(usize, f64, bool)]| [&search, looks].concat();
        // Found in the first space: one more has to agree.
        assert_eq!(end(&[(3, -0.5, false)], 100), (1, Converged));
        // A quarter of the search at least, and as long as the search if nothing settles.
        assert_eq!(end(&after(&[(3, -0.5, true)]), 100), (11, Converged));
        assert_eq!(end(&after(&[(3, -0.5, false)]), 100), (17, Converged));
        // Where a Ritz value is for a while means nothing,
        let passing = [(3, -0.5, true), (2, -0.7, true), (3, -0.5, true)];
        assert_eq!(end(&after(&passing), 100), (11, Converged));
        // nor does the rounding of a key; another eigenvalue does.
        let rounded = [(3, -0.5, true), (3, -0.5 - 1e-12, true)];
        assert_eq!(end(&after(&rounded), 100), (11, Converged));
        let other = [(3, -0.5, true), (2, -0.6, true), (3, -0.6, true)];
        assert_eq!(end(&after(&other), 100), (13, Converged));
        assert_eq!(end(&after(&[(3, -0.5, true)]), 9), (9, Converged));
        assert_eq!(end(&after(&[(3, -0.5, true)]), 8), (8, IterationLimit));
        // Not for ever.
        let looks: Vec<_> = (0..20).map(|i| (3, -f64::from(i), true)).collect();
        assert_eq!(end(&looks, 100), (5, Converged));
    }
}
