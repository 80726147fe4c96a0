//! The logarithm of the absolute value of the gamma function.
//!
//! From 8.5 on it is Stirling's series, with the logarithm in extended precision:
//! `(z - 1/2) log z - z + log(2 pi) / 2 + S(1/z^2) / z`. Below, `z` is moved by whole numbers to
//! `2 + t` with `|t| <= 1/2`, where it is `t (a + t (b + t P(t)))`, which keeps the zeros at 1 and
//! 2; the factors on the way are multiplied in extended precision, so that one logarithm does for
//! them. Negative numbers are reflected: `log(pi / |z sin(pi z)|) - lgamma(z)` for `z = -x`. See
//! Abramowitz and Stegun, *Handbook of Mathematical Functions*, 6.1.
//!
//! Both sides are computed and one is selected, as everywhere here. Between the negative whole
//! numbers there are zeros, near which the error is that of a result of size 1.

use super::arithmetic::{fast_two_sum, multiply, polynomial, round, two_product, two_sum};
use super::exp::LN_2_LOW;
use super::log::log2_extended;
use super::payne_hanek::Reduced;
use super::pow::is_whole;
use super::trig::kernels;
use std::f64::consts::{LN_2, PI};

/// From here on, Stirling's series.
pub(super) const FAR: f64 = 8.5;
/// Below, negative numbers are as positive ones: `-log |x|`.
pub(super) const TINY: f64 = 8.673617379884035e-19;
/// Above, products with the logarithm overflow before the function does.
pub(super) const HUGE: f64 = 1e300;
/// A scale for these, and back.
pub(super) const SMALLER: f64 = 1.0 / 65536.0;
pub(super) const LARGER: f64 = 65536.0;

/// `1 - gamma` with its rounding error, where gamma is Euler's constant.
pub(super) const FIRST: f64 = 0.42278433509846713;
pub(super) const FIRST_LOW: f64 = 4.942915152430645e-18;

/// `(pi^2 / 6 - 1) / 2`, the next coefficient, with its rounding error.
pub(super) const SECOND: f64 = 0.3224670334241132;
pub(super) const SECOND_LOW: f64 = 1.520336175199238e-17;

/// `((lgamma(2 + t) / t - FIRST) / t - SECOND) / t` for `|t| <= 1/2`; minimax (Remez), 2^-59 of
/// lgamma.
pub(super) const NEAR_TWO: [f64; 17] = [
    -0.0673523010531982,
    0.02058080842778281,
    -0.007385551028658213,
    0.002890510330921168,
    -0.0011927539125066132,
    0.0005096695179231531,
    -0.00022315473904984315,
    9.945764295169036e-05,
    -4.492649673082057e-05,
    2.050580691485001e-05,
    -9.437417572260335e-06,
    4.3838223112502826e-06,
    -2.0491993607049724e-06,
    9.219824275927351e-07,
    -4.20955187368303e-07,
    2.769895085168386e-07,
    -1.4268078624391896e-07,
];

/// What Stirling's formula misses times `z`, in `1/z^2`, for `z >= 8.4`; minimax (Remez), 2^-61.
pub(super) const STIRLING: [f64; 7] = [
    0.08333333333333333,
    -0.0027777777777756693,
    0.0007936507912422935,
    -0.0005952370609424778,
    0.0008415382317965631,
    -0.0018948378057006205,
    0.005174361201971205,
];

/// `log(2 pi) / 2`, to 2^-56.
pub(super) const HALF_LN_2_PI: f64 = 0.9189385332046728;
/// `log pi` and `pi`: their rounding errors.
pub(super) const LN_PI: f64 = 1.1447298858494002;
pub(super) const LN_PI_LOW: f64 = 1.0265951162707826e-17;
pub(super) const PI_LOW: f64 = 1.2246467991473532e-16;

/// The logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ...
#[inline(always)]
pub(crate) fn lgamma(x: f64) -> f64 {
    let size = x.abs();
    let inside = size > 0.0 && size < f64::INFINITY;
    let z = if inside { size } else { 1.0 };
    let positive = positive_lgamma(z);
    let is_reflected = x < 0.0 && size >= TINY;
    let finite = if is_reflected {
        reflected(z, positive)
    } else {
        positive.0 + positive.1
    };
    let is_pole = x < 0.0 && is_whole(size);
    let defined = if !inside || is_pole {
        f64::INFINITY
    } else {
        finite
    };
    if x.is_nan() { f64::NAN } else { defined }
}

/// For a positive finite number, as an unevaluated sum.
#[inline(always)]
fn positive_lgamma(z: f64) -> (f64, f64) {
    let is_far = z >= FAR;
    let whole = round(z);
    let t = if is_far { 0.0 } else { z - whole };
    // lgamma(2 + t).
    let (first, first_low) = two_product(t, FIRST);
    let (square, square_low) = two_product(t, t);
    let (second, second_low) = multiply((square, square_low), (SECOND, SECOND_LOW));
    let (near, error) = fast_two_sum(first, second);
    let rest = (t * square).mul_add(polynomial(t, NEAR_TWO), t * FIRST_LOW);
    let near_low = rest + (first_low + second_low + error);
    // Stirling's formula without the logarithm.
    let scale = if z > HUGE { SMALLER } else { 1.0 };
    let inverse = 1.0 / z;
    let series = polynomial(inverse * inverse, STIRLING).mul_add(inverse, HALF_LN_2_PI);
    let (half_less, half_less_low) = two_sum(z * scale, -0.5 * scale);
    // The logarithm of this, times that.
    let (of, of_low) = factors(z, whole);
    let log = log_extended(if is_far { (z, 0.0) } else { (of, of_low) });
    let sign = if whole < 1.5 { -1.0 } else { 1.0 };
    let times = if is_far {
        (half_less, half_less_low)
    } else {
        (sign, 0.0)
    };
    let (product, product_low) = multiply(times, log);
    let (other, other_low) = if is_far {
        (-z * scale, series * scale)
    } else {
        (near, near_low)
    };
    let (sum, error) = two_sum(product, other);
    let (high, low) = two_sum(sum, error + (product_low + other_low));
    let back = if z > HUGE { LARGER } else { 1.0 };
    (high * back, low * back)
}

/// What lies between `z` and `2 + t`: the product whose logarithm is added from 2 on, and taken
/// away below.
#[inline(always)]
fn factors(z: f64, whole: f64) -> (f64, f64) {
    let (square, square_low) = two_product(z, z);
    let (sum, error) = fast_two_sum(z, square);
    let below = if whole < 0.5 {
        (sum, error + square_low)
    } else {
        (z, 0.0)
    };
    let (mut high, mut low) = if whole < 1.5 { below } else { (1.0, 0.0) };
    let mut k = 1.0;
    while k < 6.5 {
        let factor = if whole > k + 1.5 { z - k } else { 1.0 };
        let (product, error) = two_product(high, factor);
        (high, low) = (product, low.mul_add(factor, error));
        k += 1.0;
    }
    (high, low)
}

/// The natural logarithm of a positive finite number, an unevaluated sum.
#[inline(always)]
fn log_extended(x: (f64, f64)) -> (f64, f64) {
    let (high, low) = multiply(log2_extended(x.0), (LN_2, LN_2_LOW));
    fast_two_sum(high, low + x.1 / x.0)
}

/// For `-z`, which is not whole, given the function at `z`.
#[inline(always)]
fn reflected(z: f64, positive: (f64, f64)) -> f64 {
    let distance = (z - round(z)).abs();
    let is_near = distance <= 0.25;
    let turn = if is_near { distance } else { 0.5 - distance };
    let (high, error) = two_product(turn, PI);
    let (sin, cos) = kernels(&Reduced {
        quadrant: 0,
        high,
        low: turn.mul_add(PI_LOW, error),
    });
    let sin = if is_near { sin } else { cos };
    // There is no logarithm at a whole number.
    let (product, low) = two_product(z, if sin > 0.0 { sin } else { 1.0 });
    let log = log_extended((product, low));
    let (sum, first) = two_sum(LN_PI, -log.0);
    let (sum, second) = two_sum(sum, -positive.0);
    sum + (first + second + (LN_PI_LOW - log.1 - positive.1))
}
