//! Small square matrices on the host: reflections of their rows and columns, and systems of few
//! rows.
//!
//! Real or complex numbers in double precision; plain arithmetic and square roots alone, as of
//! [`Hermitian`](super::hermitian::Hermitian) matrices.

use crate::krylov::scalars::{number, size};
use crate::powers::{exponent, times_power_of};
use sparsefuse_kernels::Field;
use std::ops::Range;

/// The exponent below which squares of a number lose digits.
const SMALL: i32 = -400;

/// Rows that are reflected together.
const SIDE_BY_SIDE: usize = 4;

/// A square matrix, row by row; of `f64` or complex numbers over it.
#[derive(Clone, Debug)]
pub(super) struct Matrix<S> {
    n: usize,
    elements: Vec<S>,
}

impl<S: Field> Matrix<S> {
    pub(super) fn zeros(n: usize) -> Self {
        Self {
            n,
            elements: vec![S::ZERO; n * n],
        }
    }

    pub(super) fn identity(n: usize) -> Self {
        let mut identity = Self::zeros(n);
        (0..n).for_each(|i| identity.set(i, i, S::ONE));
        identity
    }

    /// The number of rows.
    pub(super) fn n_rows(&self) -> usize {
        self.n
    }

    pub(super) fn at(&self, row: usize, column: usize) -> S {
        self.elements[row * self.n + column]
    }

    pub(super) fn row(&self, row: usize) -> &[S] {
        &self.elements[row * self.n..][..self.n]
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: S) {
        self.elements[row * self.n + column] = value;
    }

    /// The first rows and columns, as part of a matrix of another order.
    pub(super) fn resized(&self, n: usize) -> Self {
        let mut resized = Self::zeros(n);
        for row in 0..n.min(self.n) {
            for column in 0..n.min(self.n) {
                resized.set(row, column, self.at(row, column));
            }
        }
        resized
    }

    /// With elements of the other type; imaginary parts are dropped where that one is real.
    pub(super) fn cast<R: Field>(&self) -> Matrix<R> {
        let cast = |a: &S| {
            let (re, im) = a.parts();
            R::from_parts(re, im)
        };
        Matrix {
            n: self.n,
            elements: self.elements.iter().map(cast).collect(),
        }
    }

    /// The absolute value of the largest element.
    pub(super) fn largest(&self) -> f64 {
        let sizes = self.elements.iter().map(|a| size(number(*a)));
        sizes.fold(0.0, f64::max)
    }

    /// Multiplied by a power of two.
    pub(super) fn times_power_of(&mut self, power: i32) {
        for element in &mut self.elements {
            *element = times_power(*element, power);
        }
    }

    /// Some columns of the rows that a reflection changes, multiplied by it from the left.
    pub(super) fn reflect_rows(
        &mut self,
        first: usize,
        columns: Range<usize>,
        reflection: &Reflection<S>,
    ) {
        match reflection.v[..] {
            [a, b] => return self.reflect_few_rows(first, columns, reflection.tau, [a, b]),
            [a, b, c] => return self.reflect_few_rows(first, columns, reflection.tau, [a, b, c]),
            _ => {}
        }
        // Row by row, as the elements lie; sums of a column are in the order of the rows.
        let mut along = vec![S::ZERO; columns.len()];
        for (row, v) in (first..).zip(&reflection.v) {
            let elements = &self.elements[row * self.n..][columns.clone()];
            let v = v.conjugate();
            for (along, element) in along.iter_mut().zip(elements) {
                *along += v * *element;
            }
        }
        for (row, v) in (first..).zip(&reflection.v) {
            let elements = &mut self.elements[row * self.n..][columns.clone()];
            let v = *v * S::from_f64(reflection.tau);
            for (element, along) in elements.iter_mut().zip(&along) {
                *element -= v * *along;
            }
        }
    }

    /// As [`Matrix::reflect_rows`], for the few rows that a sweep changes at a time.
    #[inline(always)]
    fn reflect_few_rows<const N: usize>(
        &mut self,
        first: usize,
        columns: Range<usize>,
        tau: f64,
        v: [S; N],
    ) {
        let conjugates = v.map(|v| v.conjugate());
        let v = v.map(|v| v * S::from_f64(tau));
        let (n, len) = (self.n, columns.len());
        let mut rows = self.elements[first * n..(first + N) * n].chunks_exact_mut(n);
        let mut rows = [(); N].map(|()| {
            let row = rows.next().expect("as many rows as were taken");
            &mut row[columns.clone()]
        });
        for column in 0..len {
            let mut along = S::ZERO;
            (0..N).for_each(|k| along += conjugates[k] * rows[k][column]);
            (0..N).for_each(|k| rows[k][column] -= v[k] * along);
        }
    }

    /// Some rows of the columns that a reflection changes, multiplied by it from the right.
    pub(super) fn reflect_columns(
        &mut self,
        first: usize,
        rows: Range<usize>,
        reflection: &Reflection<S>,
    ) {
        match reflection.v[..] {
            [a, b] => return self.reflect_few_columns(first, rows, reflection.tau, [a, b]),
            [a, b, c] => return self.reflect_few_columns(first, rows, reflection.tau, [a, b, c]),
            _ => {}
        }
        let len = reflection.v.len();
        let mut rows = rows;
        // Several rows side by side, since each sum waits for its last term.
        while rows.len() >= SIDE_BY_SIDE {
            let start = rows.start * self.n;
            let elements = &mut self.elements[start..start + SIDE_BY_SIDE * self.n];
            let mut next = elements.chunks_exact_mut(self.n);
            let group = [(); SIDE_BY_SIDE].map(|()| {
                let row = next.next().expect("as many rows as were taken");
                &mut row[first..first + len]
            });
            reflection.reflect(group);
            rows.start += SIDE_BY_SIDE;
        }
        for row in rows {
            let start = row * self.n + first;
            reflection.reflect([&mut self.elements[start..start + len]]);
        }
    }

    /// As [`Matrix::reflect_columns`], for the few columns that a sweep changes at a time.
    #[inline(always)]
    fn reflect_few_columns<const N: usize>(
        &mut self,
        first: usize,
        rows: Range<usize>,
        tau: f64,
        v: [S; N],
    ) {
        let conjugates = v.map(|v| v.conjugate() * S::from_f64(tau));
        let rows = &mut self.elements[rows.start * self.n..rows.end * self.n];
        for row in rows.chunks_exact_mut(self.n) {
            let row = &mut row[first..first + N];
            let mut along = S::ZERO;
            (0..N).for_each(|k| along += row[k] * v[k]);
            (0..N).for_each(|k| row[k] -= along * conjugates[k]);
        }
    }
}

/// A number times a power of two.
fn times_power<S: Field>(x: S, power: i32) -> S {
    let (re, im) = x.parts();
    S::from_parts(times_power_of(re, power), times_power_of(im, power))
}

/// Householder's reflection I - tau v v', which maps some x to a multiple of the first unit vector,
/// and so the first unit vector to a multiple of x.
pub(super) struct Reflection<S> {
    v: Vec<S>,
    tau: f64,
}

impl<S: Field> Reflection<S> {
    /// Rows as long as v, multiplied by the reflection from the right.
    fn reflect<const N: usize>(&self, mut rows: [&mut [S]; N]) {
        let mut along = [S::ZERO; N];
        for (k, &v) in self.v.iter().enumerate() {
            for (along, row) in along.iter_mut().zip(&rows) {
                *along += row[k] * v;
            }
        }
        for (k, v) in self.v.iter().enumerate() {
            let v = v.conjugate() * S::from_f64(self.tau);
            for (along, row) in along.iter().zip(&mut rows) {
                row[k] -= *along * v;
            }
        }
    }

    /// The one that does so with the last unit vector and x in reverse.
    pub(super) fn reversed(mut self) -> Self {
        self.v.reverse();
        self
    }

    /// None where x is 0.
    pub(super) fn of(x: &[S]) -> Option<Self> {
        let sizes = x.iter().map(|x| {
            let (re, im) = x.parts();
            re.abs().max(im.abs())
        });
        let largest = sizes.fold(0.0, f64::max);
        if largest == 0.0 {
            return None;
        }
        let mut v = x.to_vec();
        if exponent(largest) < SMALL {
            // Squares would lose digits; a multiple of x has the same reflection.
            v.iter_mut()
                .for_each(|v| *v = times_power(*v, -exponent(largest)));
        }
        let squares = |v: &[S]| v.iter().map(|v| number(*v).norm_sqr()).sum::<f64>();
        let (first, length) = (size(number(v[0])), squares(&v).sqrt());
        // Any will do where it is far below the others, and its square may have lost digits.
        let phase = match first <= 1e-100 * length {
            true => S::ONE,
            false => {
                let (re, im) = v[0].parts();
                S::from_parts(re / first, im / first)
            }
        };
        v[0] += phase * S::from_f64(length);
        let tau = 2.0 / squares(&v);
        Some(Self { v, tau })
    }
}

/// The solution of a system of few rows, by elimination with complete pivoting. Pivots below
/// `least` are taken for it, as the rounding of the matrix could have made them.
pub(super) fn solve<S: Field>(mut a: Matrix<S>, b: &mut [S], least: f64) {
    let n = a.n;
    let mut order: Vec<usize> = (0..n).collect();
    for step in 0..n {
        let places = (step..n).flat_map(|row| (step..n).map(move |column| (row, column)));
        let larger = |one: &(usize, usize), other: &(usize, usize)| {
            let size = |at: &(usize, usize)| size(number(a.at(at.0, at.1)));
            size(one).total_cmp(&size(other))
        };
        let (row, column) = places.max_by(larger).expect("a row is left");
        for k in 0..n {
            a.elements.swap(step * n + k, row * n + k);
        }
        for k in 0..n {
            a.elements.swap(k * n + step, k * n + column);
        }
        b.swap(step, row);
        order.swap(step, column);
        if !(size(number(a.at(step, step))) >= least) {
            a.set(step, step, S::from_f64(least));
        }
        for below in step + 1..n {
            let factor = a.at(below, step) / a.at(step, step);
            for k in step..n {
                a.set(below, k, a.at(below, k) - factor * a.at(step, k));
            }
            b[below] -= factor * b[step];
        }
    }
    let mut x = vec![S::ZERO; n];
    for row in (0..n).rev() {
        let known = (row + 1..n).fold(S::ZERO, |sum, k| sum + a.at(row, k) * x[order[k]]);
        x[order[row]] = (b[row] - known) / a.at(row, row);
    }
    b.copy_from_slice(&x);
}
