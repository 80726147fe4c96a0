//! Systems with numbers far from 1, whose products or inverses may be out of range: faer multiplies
//! by inverses of pivots, which are infinite for some of them. Plain elimination divides, and takes
//! longer.

use super::number::{Number, exponent, times_power};
use super::serial::Lu;
use faer::{Mat, MatRef};
use num_complex::Complex;

/// The exponent up to which the inverse of a number, and its product with another, are in range.
const FAR: i32 = 500;

/// Whether a number of a matrix is so large that products with it may be out of range.
pub(super) fn is_large<W: Number>(a: MatRef<'_, W>) -> bool {
    any(a, |number| exponent(number) > FAR)
}

/// Whether the inverses of the diagonal, and their products with other numbers, are in range.
pub(super) fn has_inverses<W: Number>(a: MatRef<'_, W>) -> bool {
    let is_near = |row: usize| (-FAR..=FAR).contains(&exponent(a[(row, row)].complex()));
    (0..a.ncols()).all(is_near)
}

/// Whether no number of a matrix is infinite or NaN.
pub(super) fn is_finite<W: Number>(a: MatRef<'_, W>) -> bool {
    !any(a, |number| {
        !(number.re.is_finite() && number.im.is_finite())
    })
}

fn any<W: Number>(a: MatRef<'_, W>, is_it: impl Fn(Complex<f64>) -> bool) -> bool {
    // A whole column before the next question, which takes vector instructions.
    (0..a.ncols())
        .any(|column| (a.col(column).iter()).fold(false, |is_one, x| is_one | is_it(x.complex())))
}

/// L and U with partial pivoting; a column without a pivot stays as it is.
pub(super) fn lu<W: Number>(a: MatRef<'_, W>) -> Lu<W> {
    let (m, n) = (a.nrows(), a.ncols());
    let mut factors = Mat::from_fn(m, n, |row, column| a[(row, column)].complex());
    let mut places: Vec<usize> = (0..m).collect();
    for k in 0..m.min(n) {
        let size = |row: usize| {
            let number: Complex<f64> = factors[(row, k)];
            number.re.abs().max(number.im.abs())
        };
        let pivot = (k..m).fold(k, |best, row| match size(row) > size(best) {
            true => row,
            false => best,
        });
        if size(pivot) == 0.0 {
            continue;
        }
        for column in 0..n {
            let (above, below) = (factors[(k, column)], factors[(pivot, column)]);
            (factors[(k, column)], factors[(pivot, column)]) = (below, above);
        }
        places.swap(k, pivot);
        for row in k + 1..m {
            factors[(row, k)] = quotient(factors[(row, k)], factors[(k, k)]);
        }
        for column in k + 1..n {
            let above = factors[(k, column)];
            if above == Complex::ZERO {
                continue;
            }
            for row in k + 1..m {
                let product = factors[(row, k)] * above;
                factors[(row, column)] -= product;
            }
        }
    }
    Lu {
        factors: Mat::from_fn(m, n, |row, column| {
            let number = factors[(row, column)];
            W::of_parts((number.re, number.im))
        }),
        places,
    }
}

/// Which triangle of a matrix counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Triangle {
    Lower,
    Upper,
}

/// The solution of a triangular system by substitution.
pub(super) fn solve<W: Number>(
    a: impl Fn(usize, usize) -> Complex<f64>,
    triangle: Triangle,
    b: MatRef<'_, W>,
) -> Mat<W> {
    let n = b.nrows();
    let mut x = Mat::from_fn(n, b.ncols(), |row, column| b[(row, column)].complex());
    for column in 0..b.ncols() {
        for step in 0..n {
            let row = match triangle {
                Triangle::Lower => step,
                Triangle::Upper => n - 1 - step,
            };
            let known = match triangle {
                Triangle::Lower => 0..row,
                Triangle::Upper => row + 1..n,
            };
            let mut rest: Complex<f64> = x[(row, column)];
            for k in known {
                let factor: Complex<f64> = x[(k, column)];
                if factor != Complex::ZERO {
                    rest -= a(row, k) * factor;
                }
            }
            x[(row, column)] = quotient(rest, a(row, row));
        }
    }
    Mat::from_fn(n, b.ncols(), |row, column| {
        let number = x[(row, column)];
        W::of_parts((number.re, number.im))
    })
}

/// The quotient, also where the square of the divisor is out of range.
fn quotient(x: Complex<f64>, y: Complex<f64>) -> Complex<f64> {
    if y.im == 0.0 {
        return Complex::new(x.re / y.re, x.im / y.re);
    }
    if x == Complex::ZERO {
        return x;
    }
    let (of_x, of_y) = (exponent(x), exponent(y));
    let (x, y) = (times_power(x, -of_x), times_power(y, -of_y));
    times_power(x * y.conj() / y.norm_sqr(), of_x - of_y)
}
