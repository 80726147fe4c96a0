//! x^y as `2^(y log2 |x|)`, with the logarithm in extended precision, and the cases of IEEE 754.

use super::arithmetic::{clamp, fast_two_sum, multiply, round, scale, two_product};
use super::exp::{LN_2_LOW, exp_reduced};
use super::log::log2_extended;
use std::f64::consts::LN_2;

/// `x` to the power `y`, with the special cases of IEEE 754-2019, 9.2.1.
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    let size = x.abs();
    let inside = size > 0.0 && size < f64::INFINITY;
    let power = positive_pow(if inside { size } else { 1.0 }, y);
    // 0 and infinity go to 0 or infinity.
    let edge = if (size == 0.0) == (y < 0.0) {
        f64::INFINITY
    } else {
        0.0
    };
    let power = if inside { power } else { edge };
    let odd = is_whole(y) && !is_whole(0.5 * y);
    let power = if x.is_sign_negative() && odd {
        -power
    } else {
        power
    };
    let defined = if x < 0.0 && size < f64::INFINITY && !is_whole(y) {
        f64::NAN
    } else {
        power
    };
    let defined = if size == 1.0 && y.abs() == f64::INFINITY {
        1.0
    } else {
        defined
    };
    let defined = if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        defined
    };
    if x == 1.0 || y == 0.0 { 1.0 } else { defined }
}

/// `x[i]` to the power `y[i]`. One step of the computation after the other, for all elements: that
/// of one element is a chain of 150 operations, longer than what a processor looks ahead, and so
/// are two chains in sequence.
#[inline(always)]
pub(crate) fn pow_block<const N: usize>(x: &[f64; N], y: &[f64; N]) -> [f64; N] {
    let (mut out, mut are_plain) = ([0.0; N], true);
    let (mut logs, mut exponents) = ([(0.0, 0.0); N], [(0.0, 0.0, 0.0); N]);
    for i in 0..N {
        are_plain &= (x[i] > 0.0) & (x[i] < f64::INFINITY) & (y[i].abs() < f64::INFINITY);
    }
    if !are_plain {
        for i in 0..N {
            out[i] = pow(x[i], y[i]);
        }
        return out;
    }
    for i in 0..N {
        logs[i] = log2_extended(x[i]);
    }
    for i in 0..N {
        exponents[i] = exponent(logs[i], y[i]);
    }
    for i in 0..N {
        out[i] = power_of(exponents[i]);
    }
    out
}

/// The power of a positive finite number; `1` to an infinite power is left open.
#[inline(always)]
fn positive_pow(x: f64, y: f64) -> f64 {
    power_of(exponent(log2_extended(x), y))
}

/// `(k, high, low)` with `2^(y log) = 2^k e^(high + low)`, of a base-2 logarithm.
#[inline(always)]
fn exponent(log: (f64, f64), y: f64) -> (f64, f64, f64) {
    let (high, low) = two_product(y, log.0);
    let low = y.mul_add(log.1, low);
    let exponent = clamp(high, -1100.0, 1100.0);
    let low = if exponent == high { low } else { 0.0 };
    let k = round(exponent);
    let (high, low) = multiply((exponent - k, low), (LN_2, LN_2_LOW));
    let (high, low) = fast_two_sum(high, low);
    (k, high, low)
}

/// `2^k e^(high + low)`.
#[inline(always)]
fn power_of((k, high, low): (f64, f64, f64)) -> f64 {
    scale(exp_reduced(high, low), k)
}

/// Whether there is no fraction; infinities are whole, and even.
#[inline(always)]
pub(super) fn is_whole(x: f64) -> bool {
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let size = x.abs();
    size >= TWO_52 || (size + TWO_52) - TWO_52 == size
}
