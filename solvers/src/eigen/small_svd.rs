//! The singular value decomposition of a small square matrix on the host, by rotations of pairs of
//! its columns (one-sided Jacobi; Golub and Van Loan, *Matrix Computations*, 8.6.3).
//!
//! Complex numbers in double precision; plain arithmetic and square roots alone, as of
//! [`Hermitian`](super::hermitian::Hermitian) matrices. Columns of any size are as orthogonal as
//! large ones.

use super::hermitian::{Coefficients, inner, unit};
use crate::krylov::scalars::size;
use num_complex::Complex;

/// More sweeps than any matrix needs: they converge quadratically.
const MAX_SWEEPS: usize = 60;

/// Columns that are this part of the longest one, or less, count as 0.
const NOTHING: f64 = 1e-100;

/// A `right[i]` = `values[i]` `left[i]`, the values in descending order, both sides orthonormal.
pub(super) struct SmallSvd {
    pub(super) values: Vec<f64>,
    pub(super) left: Vec<Coefficients>,
    pub(super) right: Vec<Coefficients>,
}

/// Of the matrix with these columns.
pub(super) fn small_svd(mut columns: Vec<Coefficients>) -> SmallSvd {
    let n = columns.len();
    let mut right: Vec<Coefficients> = (0..n).map(|column| unit(n, column)).collect();
    let longest = |columns: &[Coefficients]| columns.iter().map(|x| length(x)).fold(0.0, f64::max);
    let nothing = longest(&columns) * NOTHING;
    for _ in 0..MAX_SWEEPS {
        let mut is_orthogonal = true;
        for q in 1..n {
            for p in 0..q {
                if let Some(rotation) = Rotation::of(&columns[p], &columns[q], nothing) {
                    is_orthogonal = false;
                    rotation.rotate(&mut columns, (p, q));
                    rotation.rotate(&mut right, (p, q));
                }
            }
        }
        if is_orthogonal {
            break;
        }
    }
    let lengths: Vec<f64> = columns.iter().map(|column| length(column)).collect();
    // Rotations make what is rounding beside larger columns smaller and smaller, to where squares
    // are out of range.
    let least = longest(&columns) * NOTHING;
    let lengths: Vec<f64> = lengths
        .into_iter()
        .map(|length| if length <= least { 0.0 } else { length })
        .collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
    let mut left: Vec<Coefficients> = Vec::with_capacity(n);
    for &i in &order {
        left.push(match lengths[i] > 0.0 {
            true => columns[i].iter().map(|x| x / lengths[i]).collect(),
            false => orthogonal(n, &left),
        });
    }
    SmallSvd {
        values: order.iter().map(|&i| lengths[i]).collect(),
        left,
        right: order.iter().map(|&i| right[i].clone()).collect(),
    }
}

/// What makes two columns orthogonal: the second one times `phase`, whose inner product with the
/// first is real, and then a rotation of both.
struct Rotation {
    phase: Complex<f64>,
    c: f64,
    s: f64,
}

impl Rotation {
    /// None where they are orthogonal to rounding, or one is no longer than `nothing`: of such
    /// small products the phase would be rounded.
    fn of(x: &[Complex<f64>], y: &[Complex<f64>], nothing: f64) -> Option<Self> {
        let product = inner(x, y);
        let (of_x, of_y, of_both) = (length(x), length(y), size(product));
        if of_x.min(of_y) <= nothing || !(of_both > f64::EPSILON * of_x * of_y) {
            return None;
        }
        let zeta = (of_y - of_x) * (of_y + of_x) / (2.0 * of_both);
        let t = 1f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
        if t == 0.0 {
            return None;
        }
        let c = 1.0 / (1.0 + t * t).sqrt();
        Some(Self {
            phase: product.conj() / of_both,
            c,
            s: c * t,
        })
    }

    fn rotate(&self, columns: &mut [Coefficients], (p, q): (usize, usize)) {
        let (first, second) = columns.split_at_mut(q);
        for (x, y) in first[p].iter_mut().zip(&mut second[0]) {
            let (a, b) = (*x, *y * self.phase);
            (*x, *y) = (a * self.c - b * self.s, a * self.s + b * self.c);
        }
    }
}

fn length(x: &[Complex<f64>]) -> f64 {
    x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt()
}

/// A vector of length 1 that is orthogonal to fewer than `n` others.
fn orthogonal(n: usize, others: &[Coefficients]) -> Coefficients {
    let left_of = |number: usize| {
        let mut x = unit(n, number);
        // Twice, since the first pass leaves the rounding of what it takes away.
        for _ in 0..2 {
            for other in others {
                let along = inner(other, &x);
                for (x, y) in x.iter_mut().zip(other) {
                    *x -= along * y;
                }
            }
        }
        (length(&x), x)
    };
    let longest = (0..n).map(left_of).max_by(|a, b| a.0.total_cmp(&b.0));
    let (length, x) = longest.expect("there is a direction for each of n vectors");
    x.iter().map(|x| x / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::random;

    #[test]
    fn what_defines_it_holds() {
        for n in 0..9 {
            for rank in 0..=n {
                let number = |k: usize| 2.0 * random::uniform(n as u64, k as u64) - 1.0;
                let scale = |column: usize| 10f64.powi(-5 * (column % 3) as i32);
                let column = |column: usize| -> Coefficients {
                    let of = column % rank.max(1);
                    let rows = (0..n).map(|row| {
                        let k = 2 * (row * n + of);
                        Complex::new(number(k), number(k + 1)) * scale(of)
                    });
                    rows.map(|x| if rank == 0 { Complex::ZERO } else { x })
                        .collect()
                };
                let columns: Vec<Coefficients> = (0..n).map(column).collect();
                let SmallSvd {
                    values,
                    left,
                    right,
                } = small_svd(columns.clone());
                assert!(values.is_sorted_by(|a, b| a >= b));
                for i in 0..n {
                    for j in 0..n {
                        let expected = f64::from(u8::from(i == j));
                        for side in [&left, &right] {
                            let product = inner(&side[i], &side[j]);
                            assert!((product - expected).norm() < 1e-13, "{n} {rank}");
                        }
                    }
                    let mut image = vec![Complex::<f64>::ZERO; n];
                    for (column, x) in columns.iter().zip(&right[i]) {
                        for (image, a) in image.iter_mut().zip(column) {
                            *image += a * x;
                        }
                    }
                    for (image, u) in image.iter().zip(&left[i]) {
                        let apart = *image - *u * values[i];
                        assert!(apart.norm() < 1e-13);
                    }
                }
            }
        }
    }
}
