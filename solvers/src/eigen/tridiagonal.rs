//! Eigenvalues and vectors of small symmetric matrices on the host: reflections to tridiagonal
//! form, and QR steps with Wilkinson's shifts (Golub and Van Loan, *Matrix Computations*, sections
//! 8.3.1 to 8.3.5).
//!
//! Plain arithmetic and square roots alone, so that every machine and every rank computes the same
//! bits. 9 n³ operations or so.

use crate::powers::{exponent, times_power_of};

/// More steps for each eigenvalue than any matrix needs: two or three are usual.
const MAX_STEPS: usize = 30;

/// Squares of elements that are nothing beside the largest, about 1: of smaller ones, which lose
/// digits, no reflection could be made.
const NOTHING: f64 = 1e-280;

/// The eigenvalues, in ascending order, and vectors of length 1 of a symmetric matrix, whose `n`
/// rows stand one behind the other; none if the steps do not converge.
pub(super) fn eigenpairs(n: usize, mut a: Vec<f64>) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    // Squares of the elements are in range then.
    let power = exponent(a.iter().fold(0.0, |largest: f64, x| largest.max(x.abs())));
    a.iter_mut().for_each(|x| *x = times_power_of(*x, -power));
    let (mut matrix, mut vectors) = reduced(n, a);
    matrix.diagonalise(&mut vectors)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| matrix.diagonal[i].total_cmp(&matrix.diagonal[j]));
    let value = |&i: &usize| times_power_of(matrix.diagonal[i], power);
    let values = order.iter().map(value).collect();
    let vector = |&i: &usize| std::mem::take(&mut vectors[i]);
    Some((values, order.iter().map(vector).collect()))
}

/// A symmetric matrix with elements on three diagonals; `below` has those beside the diagonal.
struct Tridiagonal {
    diagonal: Vec<f64>,
    below: Vec<f64>,
}

/// The tridiagonal matrix T with `a` = Q T Q', and the columns of Q. The reflections begin with the
/// last row, so that they do not touch the last components of vectors, nor rows at the end that are
/// tridiagonal: of a Krylov space these components are the residuals.
fn reduced(n: usize, mut a: Vec<f64>) -> (Tridiagonal, Vec<Vec<f64>>) {
    let mut below = vec![0.0; n.saturating_sub(1)];
    let mut reflections = Vec::new();
    for k in (1..n).rev() {
        let mut v = a[k * n..k * n + k].to_vec();
        let (first, rest) = (v[k - 1], dot(&v[..k - 1], &v[..k - 1]));
        if rest < NOTHING {
            below[k - 1] = first;
            continue;
        }
        let beta = -(first * first + rest).sqrt().copysign(first);
        let tau = (beta - first) / beta;
        v.iter_mut().for_each(|x| *x /= first - beta);
        v[k - 1] = 1.0;
        reflect_both_sides(&mut a, n, &v, tau);
        below[k - 1] = beta;
        reflections.push((v, tau));
    }
    let mut columns: Vec<Vec<f64>> = (0..n).map(|k| unit(n, k)).collect();
    for (v, tau) in reflections.iter().rev() {
        for column in &mut columns[..v.len()] {
            let column = &mut column[..v.len()];
            let along = tau * dot(column, v);
            subtract(column, along, v);
        }
    }
    let diagonal = (0..n).map(|k| a[k * n + k]).collect();
    (Tridiagonal { diagonal, below }, columns)
}

/// H A H of the reflection H = 1 - `tau` v v' and the first rows and columns A of a matrix with `n`
/// columns, which are as many as `v` is long.
fn reflect_both_sides(a: &mut [f64], n: usize, v: &[f64], tau: f64) {
    let mut w = vec![0.0; v.len()];
    for (row, x) in a.chunks_exact(n).zip(v) {
        subtract(&mut w, -tau * x, row);
    }
    let along = tau / 2.0 * dot(&w, v);
    subtract(&mut w, along, v);
    for (row, (v_row, w_row)) in a.chunks_exact_mut(n).zip(v.iter().zip(&w)) {
        for (x, (v, w)) in row.iter_mut().zip(v.iter().zip(&w)) {
            // In an order that keeps the matrix symmetric to the last bit.
            *x -= v_row * w + w_row * v;
        }
    }
}

impl Tridiagonal {
    /// Makes the matrix diagonal, by rotations that change the vectors too.
    fn diagonalise(&mut self, vectors: &mut [Vec<f64>]) -> Option<()> {
        let mut steps = MAX_STEPS * self.diagonal.len();
        let mut last = self.diagonal.len().saturating_sub(1);
        while last > 0 {
            if self.is_negligible(last - 1) {
                self.below[last - 1] = 0.0;
                last -= 1;
                continue;
            }
            let coupled = (0..last).rev().take_while(|&k| !self.is_negligible(k));
            let first = coupled.last().unwrap_or(last);
            if first > 0 {
                self.below[first - 1] = 0.0;
            }
            steps = steps.checked_sub(1)?;
            self.step(first, last, vectors);
        }
        Some(())
    }

    fn is_negligible(&self, k: usize) -> bool {
        let around = self.diagonal[k].abs() + self.diagonal[k + 1].abs();
        !(self.below[k].abs() > f64::EPSILON / 2.0 * around)
    }

    /// An implicit QR step of the rows from `first` to `last`.
    fn step(&mut self, first: usize, last: usize, vectors: &mut [Vec<f64>]) {
        let Self { diagonal, below } = self;
        let mut x = diagonal[first] - shift(diagonal[last - 1], below[last - 1], diagonal[last]);
        let mut z = below[first];
        for k in first..last {
            let (c, s, r) = rotation(x, z);
            if k > first {
                below[k - 1] = r;
            }
            let (upper, middle, lower) = (diagonal[k], below[k], diagonal[k + 1]);
            let twice = 2.0 * c * s * middle;
            diagonal[k] = c * c * upper + twice + s * s * lower;
            diagonal[k + 1] = s * s * upper - twice + c * c * lower;
            below[k] = c * s * (lower - upper) + (c * c - s * s) * middle;
            if k + 1 < last {
                x = below[k];
                z = s * below[k + 1];
                below[k + 1] *= c;
            }
            let (before, after) = vectors.split_at_mut(k + 1);
            for (v, w) in before[k].iter_mut().zip(&mut after[0]) {
                (*v, *w) = (c * *v + s * *w, c * *w - s * *v);
            }
        }
    }
}

/// Wilkinson's shift: the eigenvalue of `[upper, middle; middle, lower]` that is nearer to `lower`.
/// `middle` is not 0.
fn shift(upper: f64, middle: f64, lower: f64) -> f64 {
    let half = (upper - lower) / 2.0;
    let (_, _, root) = rotation(half, middle);
    lower - middle * (middle / (half + root.copysign(half)))
}

/// c, s and r >= 0 with c x + s z = r and c z - s x = 0.
fn rotation(x: f64, z: f64) -> (f64, f64, f64) {
    let largest = x.abs().max(z.abs());
    if largest == 0.0 {
        return (1.0, 0.0, 0.0);
    }
    let (x, z) = (x / largest, z / largest);
    let r = (x * x + z * z).sqrt();
    (x / r, z / r, r * largest)
}

fn unit(n: usize, place: usize) -> Vec<f64> {
    let mut unit = vec![0.0; n];
    unit[place] = 1.0;
    unit
}

/// x - factor y.
fn subtract(x: &mut [f64], factor: f64, y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x -= factor * y;
    }
}

/// x'y, in four sums: one would wait for each term.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    const LANES: usize = 4;
    let (wide_x, rest_x) = x.as_chunks::<LANES>();
    let (wide_y, rest_y) = y.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (x, y) in wide_x.iter().zip(wide_y) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    let rest: f64 = rest_x.iter().zip(rest_y).map(|(x, y)| x * y).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}
