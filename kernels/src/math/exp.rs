//! exp, expm1, tanh, sinh, cosh, and the pieces of them that other functions need.
//!
//! The argument is reduced as by Cody and Waite (*Software Manual for the Elementary Functions*,
//! 1980): `x = k ln 2 + r` with `|r| <= ln(2) / 2`, where a fused multiply-add makes the first step
//! exact. `e^r` is a polynomial; the factor 2^k is applied in two steps, so that a subnormal result
//! is rounded once.

use super::arithmetic::{clamp, fast_two_sum, polynomial, power_of_two, round, scale, two_sum};
use std::f64::consts::{LN_2, LOG2_E};

/// `ln 2 - LN_2`.
pub(super) const LN_2_LOW: f64 = 2.3190468138462996e-17;

/// `(e^r - 1 - r) / r^2` for `|r| <= 0.3467`; minimax (Remez) for the error relative to `r`, 2^-61.
pub(super) const EXP: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.0416666666666667,
    0.008333333333321591,
    0.0013888888888866783,
    0.00019841269886229906,
    2.480158736066454e-05,
    2.755724410234434e-06,
    2.7557242664863696e-07,
    2.510907509041544e-08,
    2.0924473311906215e-09,
];

/// The same for `|r| <= 0.3467` with an error of 2^-43 of `e^r`; interpolation at Chebyshev's
/// nodes.
const EXP_NEAR: [f64; 8] = [
    0.49999999999954964,
    0.16666666666662652,
    0.04166666678657062,
    0.008333333344175587,
    0.0013888839025875098,
    0.0001984122459910613,
    2.4867926653250197e-05,
    2.761758900730302e-06,
];
/// More than the error of [`exp_near`].
const NEAR: f64 = f64::from_bits((1023 - 40) << 52);
/// Up to this size of `x`, `e^x` is a normal number in single precision.
const LARGEST_NEAR: f32 = 87.0;

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let (y, k) = exp_parts(clamp(x, -746.0, 710.0));
    if x.is_nan() { f64::NAN } else { scale(y, k) }
}

/// `y[i] = exp(x[i])`; the slices have the same length.
#[inline(always)]
pub(crate) fn exp_block(x: &[f64], y: &mut [f64]) {
    for (x, y) in x.iter().zip(y) {
        *y = exp(*x);
    }
}

/// `e^x` in single precision, and whether it is surely what [`exp`] rounds to: it is within 2^-40
/// of `e^x`, and all numbers as near are rounded alike. Of 30000 results one is not sure.
#[inline(always)]
pub(super) fn exp_near(x: f32) -> (f32, bool) {
    let wide = f64::from(x);
    let k = round(wide * LOG2_E);
    let r = (-k).mul_add(LN_2, wide);
    let power = ((r * r).mul_add(polynomial(r, EXP_NEAR), r) + 1.0) * power_of_two(k);
    let (low, high) = (power * (1.0 - NEAR), power * (1.0 + NEAR));
    let is_sure = (low as f32 == high as f32) & (x.abs() <= LARGEST_NEAR);
    (low as f32, is_sure)
}

/// `(y, k)` with `e^x = y * 2^k`, `0.7 < y < 1.5` and a whole number `k`, for `|x| < 2^30`.
#[inline(always)]
pub(super) fn exp_parts(x: f64) -> (f64, f64) {
    let (k, high, low) = reduce(x);
    (exp_reduced(high, low), k)
}

/// `e^(high + low)` for `|high| <= 0.3467` and `|low| <= 2^-50`.
#[inline(always)]
pub(super) fn exp_reduced(high: f64, low: f64) -> f64 {
    let (sum, rest) = fast_two_sum(1.0, high);
    sum + (rest + (high * high).mul_add(polynomial(high, EXP), low))
}

/// `e^x - 1` as an unevaluated sum, for `-40 <= x <= 700`.
#[inline(always)]
pub(super) fn exp_minus_one(x: f64) -> (f64, f64) {
    let (k, high, low) = reduce(x);
    let power = power_of_two(k);
    let curve = (high * high).mul_add(polynomial(high, EXP), low);
    // 2^k - 1 is exact up to 2^-53 of it, and 0 or larger than 2^k r.
    let (whole, rest) = fast_two_sum(power, -1.0);
    let (sum, error) = fast_two_sum(whole, power * high);
    fast_two_sum(sum, power.mul_add(curve, error + rest))
}

/// `(k, high, low)` with `x = k ln 2 + high + low`.
#[inline(always)]
fn reduce(x: f64) -> (f64, f64, f64) {
    let k = round(x * LOG2_E);
    // Exact: a multiple of 2^-53 below 0.35, or x itself.
    let rest = (-k).mul_add(LN_2, x);
    let (high, low) = fast_two_sum(rest, -k * LN_2_LOW);
    (k, high, low)
}

/// The hyperbolic tangent, as `E / (E + 2)` with `E = e^2|x| - 1` in extended precision.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    // From 20 on, the result rounds to 1.
    let (high, low) = exp_minus_one(2.0 * clamp(x.abs(), 0.0, 20.0));
    let (sum, error) = two_sum(high, 2.0);
    let inverse = 1.0 / sum;
    let quotient = high * inverse;
    let rest = (-quotient).mul_add(sum, high) + (-quotient).mul_add(error + low, low);
    let tanh = rest.mul_add(inverse, quotient).copysign(x);
    if x.is_nan() { f64::NAN } else { tanh }
}

/// `e^x - 1`, accurate where `x` is small.
#[inline(always)]
pub(crate) fn expm1(x: f64) -> f64 {
    // Below, the result rounds to -1; above, 1 is less than half a unit of the power.
    let (near, _) = exp_minus_one(clamp(x, -40.0, 40.0));
    let power = if x > 40.0 { exp(x) } else { near.copysign(x) };
    if x.is_nan() { f64::NAN } else { power }
}

/// The hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh(x: f64) -> f64 {
    let size = x.abs();
    let (high, low) = exp_minus_one(clamp(size, 0.0, 40.0));
    let near = 0.5 * (high + (high / (high + 1.0) + low));
    let sinh = if size > 40.0 { half_exp(size) } else { near };
    if x.is_nan() {
        f64::NAN
    } else {
        sinh.copysign(x)
    }
}

/// The hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh(x: f64) -> f64 {
    let size = x.abs();
    let (high, low) = exp_minus_one(clamp(size, 0.0, 40.0));
    let power = high + 1.0;
    let near = 1.0 + 0.5 * (high * (high + 2.0 * low)) / power;
    let cosh = if size > 40.0 { half_exp(size) } else { near };
    if x.is_nan() { f64::NAN } else { cosh }
}

/// `e^x / 2` for `x > 40`, without overflow on the way.
#[inline(always)]
fn half_exp(x: f64) -> f64 {
    let (y, k) = exp_parts(clamp(x, 40.0, 712.0));
    scale(y, k - 1.0)
}

/// `(s, c, k)` with `sinh x = s * 2^k` and `cosh x = c * 2^k`; `k` is 0 unless `|x|` is large.
/// Beyond 1500 the product with any number but 0 overflows.
#[inline(always)]
pub(super) fn sinh_cosh(x: f64) -> (f64, f64, f64) {
    let size = clamp(x.abs(), 0.0, 1500.0);
    if size > 40.0 {
        let (y, k) = exp_parts(size);
        return (y.copysign(x), y, k - 1.0);
    }
    let (high, low) = exp_minus_one(size);
    let power = high + 1.0;
    let sinh = 0.5 * (high + (high / power + low));
    let cosh = 1.0 + 0.5 * (high * high) / power;
    (sinh.copysign(x), cosh, 0.0)
}
