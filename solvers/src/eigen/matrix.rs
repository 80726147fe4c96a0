//! Small square matrices on the host: reflections of their rows and columns, and systems of few
//! rows.
//!
//! Complex numbers in double precision; plain arithmetic and square roots alone, as of
//! [`Hermitian`](super::hermitian::Hermitian) matrices.

use super::hermitian::{Coefficients, unit};
use crate::krylov::scalars::size;
use crate::powers::{exponent, times_power_of};
use num_complex::Complex;
use std::ops::Range;

/// The exponent below which squares of a number lose digits.
const SMALL: i32 = -400;

/// Rows that are reflected together.
const SIDE_BY_SIDE: usize = 4;

/// A square matrix, row by row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    n: usize,
    elements: Vec<Complex<f64>>,
}

impl Matrix {
    pub(super) fn zeros(n: usize) -> Self {
        Self {
            n,
            elements: vec![Complex::ZERO; n * n],
        }
    }

    pub(super) fn identity(n: usize) -> Self {
        Self {
            n,
            elements: (0..n).flat_map(|row| unit(n, row)).collect(),
        }
    }

    /// The number of rows.
    pub(super) fn n_rows(&self) -> usize {
        self.n
    }

    pub(super) fn at(&self, row: usize, column: usize) -> Complex<f64> {
        self.elements[row * self.n + column]
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: Complex<f64>) {
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

    /// The absolute value of the largest element.
    pub(super) fn largest(&self) -> f64 {
        self.elements.iter().map(|a| size(*a)).fold(0.0, f64::max)
    }

    /// Multiplied by a power of two.
    pub(super) fn times_power_of(&mut self, power: i32) {
        for element in &mut self.elements {
            element.re = times_power_of(element.re, power);
            element.im = times_power_of(element.im, power);
        }
    }

    /// Some columns of the rows that a reflection changes, multiplied by it from the left.
    pub(super) fn reflect_rows(
        &mut self,
        first: usize,
        columns: Range<usize>,
        reflection: &Reflection,
    ) {
        // Row by row, as the elements lie; sums of a column are in the order of the rows.
        let mut along = vec![Complex::<f64>::ZERO; columns.len()];
        let is_real = reflection.is_real;
        for (row, v) in (first..).zip(&reflection.v) {
            let elements = &self.elements[row * self.n..][columns.clone()];
            let pairs = along.iter_mut().zip(elements);
            match is_real {
                true => pairs.for_each(|(along, element)| *along += element * v.re),
                false => pairs.for_each(|(along, element)| *along += v.conj() * element),
            }
        }
        for (row, v) in (first..).zip(&reflection.v) {
            let elements = &mut self.elements[row * self.n..][columns.clone()];
            let (tau, pairs) = (reflection.tau, elements.iter_mut().zip(&along));
            match is_real {
                true => pairs.for_each(|(element, along)| *element -= along * v.re * tau),
                false => pairs.for_each(|(element, along)| *element -= v * along * tau),
            }
        }
    }

    /// Some rows of the columns that a reflection changes, multiplied by it from the right.
    pub(super) fn reflect_columns(
        &mut self,
        first: usize,
        rows: Range<usize>,
        reflection: &Reflection,
    ) {
        match reflection.v[..] {
            [a, b] => return self.reflect_few(first, rows, reflection, [a, b]),
            [a, b, c] => return self.reflect_few(first, rows, reflection, [a, b, c]),
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
}

impl Matrix {
    /// As [`Matrix::reflect_columns`], for the few columns that a sweep changes at a time.
    #[inline(always)]
    fn reflect_few<const N: usize>(
        &mut self,
        first: usize,
        rows: Range<usize>,
        reflection: &Reflection,
        v: [Complex<f64>; N],
    ) {
        let (tau, is_real) = (reflection.tau, reflection.is_real);
        let rows = &mut self.elements[rows.start * self.n..rows.end * self.n];
        for row in rows.chunks_exact_mut(self.n) {
            let row = &mut row[first..first + N];
            let mut along = Complex::<f64>::ZERO;
            match is_real {
                true => (0..N).for_each(|k| along += row[k] * v[k].re),
                false => (0..N).for_each(|k| along += row[k] * v[k]),
            }
            match is_real {
                true => (0..N).for_each(|k| row[k] -= along * v[k].re * tau),
                false => (0..N).for_each(|k| row[k] -= along * v[k].conj() * tau),
            }
        }
    }
}

/// Householder's reflection I - tau v v', which maps some x to a multiple of the first unit vector,
/// and so the first unit vector to a multiple of x.
pub(super) struct Reflection {
    v: Coefficients,
    tau: f64,
    /// Whether v is: then half of the products are enough.
    is_real: bool,
}

impl Reflection {
    /// Rows as long as v, multiplied by the reflection from the right.
    fn reflect<const N: usize>(&self, rows: [&mut [Complex<f64>]; N]) {
        match self.is_real {
            true => self.reflect_by(rows, |x, v| x * v.re),
            false => self.reflect_by(rows, |x, v| x * v),
        }
    }

    #[inline(always)]
    fn reflect_by<const N: usize>(
        &self,
        mut rows: [&mut [Complex<f64>]; N],
        times: impl Fn(Complex<f64>, Complex<f64>) -> Complex<f64>,
    ) {
        let mut along = [Complex::<f64>::ZERO; N];
        for (k, v) in self.v.iter().enumerate() {
            for (along, row) in along.iter_mut().zip(&rows) {
                *along += times(row[k], *v);
            }
        }
        for (k, v) in self.v.iter().enumerate() {
            for (along, row) in along.iter().zip(&mut rows) {
                row[k] -= times(*along, v.conj()) * self.tau;
            }
        }
    }

    /// None where x is 0.
    pub(super) fn of(x: &[Complex<f64>]) -> Option<Self> {
        let largest = x
            .iter()
            .map(|x| x.re.abs().max(x.im.abs()))
            .fold(0.0, f64::max);
        if largest == 0.0 {
            return None;
        }
        let mut v = x.to_vec();
        if exponent(largest) < SMALL {
            // Squares would lose digits; a multiple of x has the same reflection.
            for v in &mut v {
                v.re = times_power_of(v.re, -exponent(largest));
                v.im = times_power_of(v.im, -exponent(largest));
            }
        }
        let length = v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let first = size(v[0]);
        let phase = match first == 0.0 {
            true => Complex::ONE,
            false => v[0] / first,
        };
        v[0] += phase * length;
        let squares: f64 = v.iter().map(Complex::norm_sqr).sum();
        Some(Self {
            is_real: v.iter().all(|v| v.im == 0.0),
            v,
            tau: 2.0 / squares,
        })
    }
}

/// The solution of a system of few rows, by elimination with complete pivoting. Pivots below
/// `least` are taken for it, as the rounding of the matrix could have made them.
pub(super) fn solve(mut a: Matrix, b: &mut [Complex<f64>], least: f64) {
    let n = a.n;
    let mut order: Vec<usize> = (0..n).collect();
    for step in 0..n {
        let places = (step..n).flat_map(|row| (step..n).map(move |column| (row, column)));
        let larger = |one: &(usize, usize), other: &(usize, usize)| {
            size(a.at(one.0, one.1)).total_cmp(&size(a.at(other.0, other.1)))
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
        if !(size(a.at(step, step)) >= least) {
            a.set(step, step, Complex::new(least, 0.0));
        }
        for below in step + 1..n {
            let factor = a.at(below, step) / a.at(step, step);
            for k in step..n {
                a.set(below, k, a.at(below, k) - factor * a.at(step, k));
            }
            b[below] -= factor * b[step];
        }
    }
    let mut x = vec![Complex::ZERO; n];
    for row in (0..n).rev() {
        let known: Complex<f64> = (row + 1..n).map(|k| a.at(row, k) * x[order[k]]).sum();
        x[order[row]] = (b[row] - known) / a.at(row, row);
    }
    b.copy_from_slice(&x);
}
