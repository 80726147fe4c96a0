//! Lanczos's method with thick restarts, for a Hermitian operator or the inverse of a shifted one.
//!
//! The basis V of a Krylov space grows by a vector a step; on it the operator is the small matrix
//! T = V'AV, and A V = V T + v b' with the next basis vector v and couplings b. Where the space has
//! become as large as it may, the wanted eigenvectors S of T and some more give the basis V S of a
//! smaller space with the same property: diag(theta) is its T, S'b its couplings (Wu and Simon,
//! *Thick-restart Lanczos method for large symmetric eigenvalue problems*, 2000). This is
//! mathematically what implicit restarts with exact shifts do (Sorensen 1992, ARPACK).
//!
//! With a mass matrix B the operator is B^-1 A, or the inverse of A - sigma B after B. It is
//! Hermitian in the inner product x'B y, which takes the place of x'y: T = V'BAV (Ericsson and
//! Ruhe, *The spectral transformation Lanczos method*, 1980).
//!
//! Invariants: V has orthonormal columns to rounding, since each new vector is orthogonalised
//! against all of them as often as it takes; T is real, with the elements that the theory has.

use super::Search;
use super::block::sums_of_multiples;
use super::gram_schmidt::{
    new_direction, new_direction_in, orthogonalise, square_of_length, start,
};
use super::hermitian::{Coefficients, Eigenpairs, Hermitian, combination};
use super::mass::Inner;
use crate::operator::LinearOperator;
use crate::solution::StopReason;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use std::ops::Range;

/// The wanted eigenvalues of the operator that Lanczos's method works with.
pub(super) struct Found<T> {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<Vector<T>>,
    pub(super) converged: usize,
    pub(super) iterations: usize,
    pub(super) products: usize,
    pub(super) reason: StopReason,
}

/// The method: grow, look, restart. `order` gives the numbers of ascending eigenvalues, the most
/// wanted first.
pub(super) fn find<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    inner: Option<Inner<'_, T>>,
    search: &Search<'_, T>,
    order: impl Fn(&[f64]) -> Vec<usize>,
) -> Result<Found<T>, Error> {
    let Search { k, ncv, .. } = *search;
    let n = a.shape().0;
    let mut space = Lanczos::new(op, a, inner, search.v0)?;
    let mut iterations = 0;
    let mut has_claimed = false;
    loop {
        let is_finite = space.grow(ncv)?;
        let mut pairs = space.projected.clone().eigenpairs();
        let mut order = order(&pairs.values);
        for equal in equal_values::<T>(&pairs.values) {
            space.decouple(&mut pairs.vectors[equal.clone()]);
            put_last(&mut order, equal);
        }
        let wanted = &order[..k.min(order.len())];
        let converged = space.converged(&pairs, wanted, search.tol);
        // A space that could not grow any more may have missed eigenvalues; the next one has a new
        // direction.
        let is_whole = space.len() == n || space.is_whole;
        let is_claim = converged == k && (has_claimed || !space.is_closed() || is_whole);
        let reason = match (is_finite, is_claim) {
            (false, _) => Some(StopReason::NotFinite),
            (true, true) => Some(StopReason::Converged),
            (true, false) if is_whole => Some(StopReason::Stagnation),
            (true, false) => (iterations >= search.max_iter).then_some(StopReason::IterationLimit),
        };
        if let Some(reason) = reason {
            let coefficients: Vec<_> = wanted.iter().map(|&i| pairs.vectors[i].clone()).collect();
            return Ok(Found {
                values: wanted.iter().map(|&i| pairs.values[i]).collect(),
                vectors: sums_of_multiples(&space.basis, &coefficients)?,
                converged,
                iterations,
                products: space.products,
                reason,
            });
        }
        has_claimed = converged == k;
        space.restart(&pairs, &order[..kept(k, ncv, converged)])?;
        iterations += 1;
    }
}

/// How many vectors a restart keeps: ARPACK's rule. More than are wanted, the more the more of them
/// have converged, so that the others do not stand still.
fn kept(k: usize, ncv: usize, converged: usize) -> usize {
    let kept = k + converged.min((ncv - k) / 2);
    if kept == 1 && ncv > 3 { ncv / 2 } else { kept }
}

/// Ascending values that are equal up to rounding, where there are two or more of them. Values that
/// are nothing but rounding beside the largest are equal too.
fn equal_values<T: Field>(values: &[f64]) -> Vec<Range<usize>> {
    let rounding = 10.0 * T::Real::EPSILON.to_f64();
    let largest = values
        .iter()
        .fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let is_equal = |a: &f64, b: &f64| {
        let size = a.abs().max(b.abs());
        (b - a).abs() <= rounding * size || size <= rounding * largest
    };
    let mut end = 0;
    let runs = values.chunk_by(is_equal).map(|run| {
        end += run.len();
        end - run.len()..end
    });
    runs.filter(|run| run.len() > 1).collect()
}

/// Puts the last number of a range behind the others of the range, at the places that they have.
fn put_last(order: &mut [usize], range: Range<usize>) {
    let places: Vec<usize> = (0..order.len())
        .filter(|&place| range.contains(&order[place]))
        .collect();
    for (place, number) in places.into_iter().zip(range) {
        order[place] = number;
    }
}

/// A Krylov space; see the module's text.
struct Lanczos<'a, T> {
    a: &'a dyn LinearOperator<T>,
    /// The inner product where it is not x'y.
    inner: Option<Inner<'a, T>>,
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
    /// Whether the space has all vectors that there are: with a singular mass matrix fewer than
    /// rows.
    is_whole: bool,
}

impl<'a, T: Field> Lanczos<'a, T> {
    fn new(
        op: &'static str,
        a: &'a dyn LinearOperator<T>,
        inner: Option<Inner<'a, T>>,
        v0: Option<&Vector<T>>,
    ) -> Result<Self, Error> {
        let start = start(op, a, v0)?;
        let next = match inner {
            Some(inner) => start_in(op, inner, a, start)?,
            None => start,
        };
        Ok(Self {
            a,
            inner,
            basis: Vec::new(),
            projected: Hermitian::zeros(0),
            next,
            couplings: Vec::new(),
            largest: 0.0,
            products: 0,
            directions: 0,
            is_whole: false,
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
            if self.is_whole {
                projected = projected.leading(j);
                break;
            }
            self.basis.push(self.next.clone());
            let product = self.a.apply(&self.next)?;
            self.products += 1;
            // Behind the couplings of a restart T has three diagonals: in exact arithmetic an image
            // has nothing of the other vectors.
            let near = if j == before { 0 } else { j - 1 };
            let image = orthogonalise(
                &self.basis,
                near,
                product,
                self.inner.map(|inner| inner.mass as _),
            )?;
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
                self.turn()?;
            }
        }
        self.projected = projected;
        Ok(true)
    }

    /// Goes on with another direction, if there is one.
    fn turn(&mut self) -> Result<(), Error> {
        let directions = &mut self.directions;
        let next = match self.inner {
            None => Some(new_direction(&self.basis, directions)?),
            Some(inner) => new_direction_in(inner, &self.basis, self.a, directions)?,
        };
        match next {
            Some(next) => self.next = next,
            None => self.is_whole = true,
        }
        Ok(())
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

    /// Makes b's = 0 for all but the last of some eigenvectors s of T with equal eigenvalues, by a
    /// reflection: any orthonormal basis of their space is one of eigenvectors.
    ///
    /// Of an eigenvalue that occurs more often than a restart keeps vectors, rounding always brings
    /// in another copy. Without this, T would mix it with those that have converged, again and
    /// again.
    fn decouple(&self, vectors: &mut [Coefficients]) {
        let mut normal: Vec<f64> = vectors.iter().map(|s| self.coupling(s)).collect();
        let largest = normal
            .iter()
            .fold(0.0, |largest: f64, x| largest.max(x.abs()));
        if !(largest > 0.0 && largest.is_finite()) {
            return;
        }
        // Squares of small ones would underflow.
        normal.iter_mut().for_each(|x| *x /= largest);
        let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        let last = normal.len() - 1;
        normal[last] += length.copysign(normal[last]);
        let square = normal.iter().map(|x| x * x).sum::<f64>();
        let along = combination(
            vectors,
            &normal.iter().map(|&x| x.into()).collect::<Vec<_>>(),
        );
        for (vector, x) in vectors.iter_mut().zip(&normal) {
            let times = 2.0 * x / square;
            for (s, along) in vector.iter_mut().zip(&along) {
                *s -= along * times;
            }
        }
    }

    /// Makes the space that of some eigenvectors of T.
    fn restart(&mut self, pairs: &Eigenpairs, kept: &[usize]) -> Result<(), Error> {
        let mut projected = Hermitian::zeros(kept.len());
        for (row, &i) in kept.iter().enumerate() {
            projected.set(row, row, Complex::new(pairs.values[i], 0.0));
        }
        self.projected = projected;
        let couplings = kept.iter().map(|&i| self.coupling(&pairs.vectors[i]));
        self.couplings = couplings.collect();
        let vectors: Vec<_> = kept.iter().map(|&i| pairs.vectors[i].clone()).collect();
        self.basis = sums_of_multiples(&self.basis, &vectors)?;
        Ok(())
    }
}

/// The vector that a space with a mass matrix starts with, of length 1. One that is not finite is
/// left to the first step.
fn start_in<T: Field>(
    op: &'static str,
    inner: Inner<'_, T>,
    a: &dyn LinearOperator<T>,
    start: Vector<T>,
) -> Result<Vector<T>, Error> {
    let first = match inner.is_of_images {
        true => a.apply(&start)?,
        false => start.clone(),
    };
    let square = square_of_length(&first.dot(&inner.mass.try_matvec(&first)?))?;
    if square > 0.0 && square.is_finite() {
        return Ok(first * T::from_f64(1.0 / square.sqrt()));
    }
    if square == 0.0 {
        let expected = "a mass matrix that is positive definite, or semidefinite and not 0";
        let found = "one that gives a vector no length";
        return Err(Error::argument(op, expected, found));
    }
    Ok(start)
}
