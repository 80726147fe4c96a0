//! Inverse iteration for eigenvectors that are none: `x <- (a - value I)^-1 x`, of a value that is
//! right up to rounding, makes the residual of nearly any `x` as small as rounding lets it be.
//!
//! faer's vectors come from a triangular system that is solved backwards without scaling. They are
//! not numbers where the solution overflows, as of a Jordan block of many rows, and have few digits
//! where parts of a matrix are of very different size.
//! (G. Peters, J. H. Wilkinson, "Inverse iteration, ill-conditioned equations and Newton's method",
//! SIAM Review 21, 1979.)

use super::number::Number;
use super::serial::{self, Lu};
use faer::{Col, Mat, MatRef};
use num_complex::Complex;
use sparsefuse_kernels::random;

/// Random vectors that residuals are multiplied by: that they hide a large one has a probability
/// of about its size over the tolerance to the power of minus this number.
const PROBES: usize = 4;

/// Values for which a matrix is factored, those with the largest residuals; vectors that are not
/// numbers are always replaced.
const MOST_VALUES: usize = 32;

/// How often a system is solved for a vector.
const STEPS: usize = 3;

/// Elements beyond which a vector is scaled.
const LARGE: f64 = 1e100;

/// Replaces the columns of `vectors` that are no eigenvectors of `a` with these values: whose
/// residual is more than rounding.
///
/// `O(n^2)` where there are none, and for each column; `O(n^3)` for each value that has some, where
/// values that are equal up to rounding are one.
pub(super) fn mend<W: Number>(
    a: MatRef<'_, W>,
    values: &[Complex<f64>],
    vectors: &mut Mat<Complex<f64>>,
) {
    let n = a.nrows();
    let rounding = f64::EPSILON * a.norm_l2();
    let tolerance = 64.0 * (n as f64).sqrt() * rounding;
    let mut suspects = suspects(a, values, vectors, tolerance);
    // Of a pair of conjugates of a real matrix the first, which gives the other.
    let is_second = seconds::<W>(values);
    suspects.retain(|&(column, _)| !is_second[column]);
    suspects.sort_by(|(a, _), (b, _)| {
        let (a, b) = (values[*a], values[*b]);
        a.re.total_cmp(&b.re).then(a.im.total_cmp(&b.im))
    });
    // Values that are equal up to rounding may have several vectors, which other starts lead to.
    let is_near =
        |a: &(usize, f64), b: &(usize, f64)| (values[a.0] - values[b.0]).norm() <= rounding;
    let worst = |of_value: &[(usize, f64)]| of_value.iter().fold(0.0, |most, it| it.1.max(most));
    let mut by_value: Vec<_> = suspects.chunk_by(is_near).collect();
    by_value.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    for (number, of_value) in by_value.iter().enumerate() {
        if number >= MOST_VALUES && worst(of_value).is_finite() {
            break;
        }
        let shifted = Shifted::new(a, values[of_value[0].0], rounding);
        for (start, &(column, _)) in of_value.iter().enumerate() {
            let Some(vector) = shifted.vector(n, start, tolerance) else {
                continue;
            };
            vectors.col_mut(column).copy_from(&vector);
            if is_second.get(column + 1) == Some(&true) {
                let conjugate = |row: usize| vector[row].conj();
                (0..n).for_each(|row| vectors[(row, column + 1)] = conjugate(row));
            }
        }
    }
}

/// Whether a value is the second of a pair of conjugates, which are neighbours, of a real matrix.
fn seconds<W: Number>(values: &[Complex<f64>]) -> Vec<bool> {
    let mut is_second = vec![false; values.len()];
    let is_complex = |column: usize| W::IS_REAL && values[column].im != 0.0;
    for column in 1..values.len() {
        let is_behind = is_complex(column - 1) && !is_second[column - 1];
        is_second[column] = is_complex(column) && is_behind;
    }
    is_second
}

/// The columns whose residual `a v - value v` is larger than the tolerance, for vectors of
/// length 1, as random vectors `w` see it: `(w a) v - value (w v)`; and how large that is, infinite
/// for what is not a number.
fn suspects<W: Number>(
    a: MatRef<'_, W>,
    values: &[Complex<f64>],
    vectors: &Mat<Complex<f64>>,
    tolerance: f64,
) -> Vec<(usize, f64)> {
    let n = a.nrows();
    let probes = Mat::from_fn(PROBES, n, |row, column| {
        random::normal(0, (row * n + column) as u64)
    });
    let seen = Mat::from_fn(PROBES, n, |row, column| W::from_real(probes[(row, column)]));
    let seen = serial::product(seen.as_ref(), a);
    let of_vectors = |left: Mat<Complex<f64>>| serial::product(left.as_ref(), vectors.as_ref());
    let seen = of_vectors(Mat::from_fn(PROBES, n, |row, column| {
        seen[(row, column)].complex()
    }));
    let images = of_vectors(Mat::from_fn(PROBES, n, |row, column| {
        Complex::from(probes[(row, column)])
    }));
    let residual = |column: usize| {
        let length = vectors.col(column).norm_l2();
        let of_probe = |row: usize| seen[(row, column)] - values[column] * images[(row, column)];
        let largest = (0..PROBES).map(|row| of_probe(row).norm() / length);
        let found = largest.fold(0.0, |most: f64, size| if size > most { size } else { most });
        let is_number =
            length > 0.0 && length.is_finite() && (0..PROBES).all(|row| !of_probe(row).is_nan());
        (column, if is_number { found } else { f64::INFINITY })
    };
    let residuals = (0..n).map(residual);
    residuals.filter(|it| it.1 > tolerance).collect()
}

/// `a - value I`, factored.
struct Shifted {
    /// A rounding of the matrix: what pivots are at least.
    rounding: f64,
    factors: Lu<Complex<f64>>,
}

impl Shifted {
    /// The value is moved by a rounding of the matrix, so that hardly any pivot is 0.
    fn new<W: Number>(a: MatRef<'_, W>, value: Complex<f64>, rounding: f64) -> Self {
        let shift = value + rounding;
        let shifted = Mat::from_fn(a.nrows(), a.ncols(), |row, column| {
            let element = a[(row, column)].complex();
            if row == column {
                element - shift
            } else {
                element
            }
        });
        Self {
            rounding,
            factors: serial::lu(shifted.as_ref()),
        }
    }

    /// A vector of length 1 whose residual is at most the tolerance, if some steps find one. The
    /// first that is found: another step may lead from the only eigenvector of a value to what it
    /// is the image of.
    fn vector(&self, n: usize, start: usize, tolerance: f64) -> Option<Col<Complex<f64>>> {
        let mut x = Col::from_fn(n, |row| {
            Complex::from(random::normal(start as u64, row as u64))
        });
        normalise(&mut x);
        for _ in 0..STEPS {
            // The image of what is found has length 1.
            let growth = self.solve(&mut x) + normalise(&mut x);
            if growth >= -tolerance.ln() {
                return Some(x);
            }
        }
        None
    }

    /// `x <- c (a - value I)^-1 x` for some `c` that keeps it in range; the logarithm of `1 / c`.
    fn solve(&self, x: &mut Col<Complex<f64>>) -> f64 {
        let n = x.nrows();
        let Lu { factors, places } = &self.factors;
        let mut solution = Col::from_fn(n, |row| x[places[row]]);
        let mut scaled = 0.0;
        for column in 0..n {
            scaled += keep_in_range(&mut solution, column);
            let known = solution[column];
            for row in column + 1..n {
                solution[row] -= factors[(row, column)] * known;
            }
        }
        for column in (0..n).rev() {
            let pivot = factors[(column, column)];
            solution[column] /= match pivot.norm() < self.rounding {
                true => Complex::from(self.rounding),
                false => pivot,
            };
            scaled += keep_in_range(&mut solution, column);
            let known = solution[column];
            for row in 0..column {
                solution[row] -= factors[(row, column)] * known;
            }
        }
        *x = solution;
        scaled
    }
}

/// Divides a vector by its length, whose logarithm is returned.
fn normalise(x: &mut Col<Complex<f64>>) -> f64 {
    let length = x.norm_l2();
    divide(x, length);
    length.ln()
}

/// Divides a vector by the size of an element that is large; the logarithm of the divisor.
fn keep_in_range(x: &mut Col<Complex<f64>>, at: usize) -> f64 {
    let size = x[at].norm();
    if size <= LARGE {
        return 0.0;
    }
    divide(x, size);
    size.ln()
}

fn divide(x: &mut Col<Complex<f64>>, divisor: f64) {
    for row in 0..x.nrows() {
        x[row] /= divisor;
    }
}
