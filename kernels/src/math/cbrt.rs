//! The cube root.
//!
//! `|x| = 2^(3q) u` with `u` between 0.35 and 2.83; a polynomial gives the root of `u` to 19 bits,
//! and a step of Halley's method trebles them. Its residual is exact to twice the precision, so the
//! only error that counts is that of the last addition.

use super::arithmetic::{polynomial, power_of_two, round};
use super::log::split;

pub(super) const THIRD: f64 = 1.0 / 3.0;
/// The cube roots of 2 and 1/2.
pub(super) const ROOT_2: f64 = 1.259921049894873;
pub(super) const ROOT_HALF: f64 = 0.7937005259840998;

/// The cube root between the square roots of 1/2 and 2; minimax (Remez), relative error 2^-19.6.
pub(super) const CBRT: [f64; 6] = [
    0.42168965668512,
    1.0560156299238839,
    -0.8360707795611012,
    0.5109667762001833,
    -0.1795572647383053,
    0.026954994605503466,
];

/// The cube root, negative for negative numbers.
#[inline(always)]
pub(crate) fn cbrt(x: f64) -> f64 {
    let size = x.abs();
    let inside = size > 0.0 && size < f64::INFINITY;
    let (k, m) = split(if inside { size } else { 1.0 });
    let q = round(k * THIRD);
    let rest = k - 3.0 * q;
    let u = m * power_of_two(rest);
    let factor = if rest > 0.0 { ROOT_2 } else { 1.0 };
    let factor = if rest < 0.0 { ROOT_HALF } else { factor };
    let root = polynomial(m, CBRT) * factor;
    let square = root * root;
    let error = root.mul_add(root, -square);
    let residual = (-square).mul_add(root, u) - error * root;
    let step = root * residual / (2.0 * square).mul_add(root, u);
    let root = ((root + step) * power_of_two(q)).copysign(x);
    let defined = if inside { root } else { x };
    if x.is_nan() { f64::NAN } else { defined }
}
