//! Distance and angle of a point: hypot, the logarithm of the distance, and atan2.

use super::arithmetic::{fast_two_sum, polynomial, two_product};
use super::log::log;
use std::f64::consts::{FRAC_PI_4, LN_2};

/// `pi/4 - FRAC_PI_4`.
pub(super) const FRAC_PI_4_LOW: f64 = 3.061616997868383e-17;

/// The tangent of pi/8.
pub(super) const TAN_FRAC_PI_8: f64 = 0.41421356237309503;

/// `(atan(t)/t - 1) / z` with `z = t^2` for `|t| <= tan(pi/8)`; minimax (Remez), 2^-63 of atan.
pub(super) const ATAN: [f64; 12] = [
    -0.3333333333333333,
    0.19999999999998538,
    -0.14285714285469026,
    0.11111111091865897,
    -0.09090908238965838,
    0.07692284199274528,
    -0.0666623979239242,
    0.058770841147537965,
    -0.05218462535053515,
    0.045026410495897194,
    -0.03343131218231932,
    0.015132810930770088,
];

/// The square root of `x^2 + y^2` without overflow or underflow on the way; an infinite argument
/// gives infinity, even beside NaN.
#[inline(always)]
pub(crate) fn hypot(x: f64, y: f64) -> f64 {
    let (large, small) = sorted(x, y);
    let shift = shift(large);
    let (a, b) = (large * shift.factor, small * shift.factor);
    let root = a.mul_add(a, b * b).sqrt() * shift.inverse;
    let number = if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        root
    };
    let infinite = x.abs() == f64::INFINITY || y.abs() == f64::INFINITY;
    if infinite { f64::INFINITY } else { number }
}

/// `log(hypot(x, y))`, accurate where the distance is close to 1.
#[inline(always)]
pub(super) fn log_hypot(x: f64, y: f64) -> f64 {
    let (large, small) = sorted(x, y);
    let shift = shift(large);
    let (a, a_low) = two_product(large * shift.factor, large * shift.factor);
    let (b, b_low) = two_product(small * shift.factor, small * shift.factor);
    let (sum, error) = fast_two_sum(a, b);
    let (high, low) = fast_two_sum(sum, error + (a_low + b_low));
    let near = 0.5 * (log(high) + low / high);
    let number = shift.exponent.mul_add(LN_2, near);
    let infinite = x.abs() == f64::INFINITY || y.abs() == f64::INFINITY;
    // Before what is not a number, since the larger one of 0 and that is 0.
    let number = if large == 0.0 {
        f64::NEG_INFINITY
    } else {
        number
    };
    let number = if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        number
    };
    if infinite { f64::INFINITY } else { number }
}

/// The angle of the point `(x, y)`, from -pi to pi, with the special cases of IEEE 754-2019, 9.2.1.
#[inline(always)]
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    let (large, small) = sorted(x, y);
    let shift = shift(large);
    let (large, small) = if large == f64::INFINITY {
        (1.0, if small == f64::INFINITY { 1.0 } else { 0.0 })
    } else if large == 0.0 {
        (1.0, 0.0)
    } else {
        // Nothing is squared but the quotient: the sum of both must not overflow.
        let factor = if shift.factor < 1.0 {
            0.25
        } else {
            shift.factor
        };
        (large * factor, small * factor)
    };
    let (angle, low, eighths) = atan_quotient(small, large);
    // Reflect at the diagonal, then at the vertical axis: the angle is `quarter * pi/4 ± angle`.
    let steep = y.abs() > x.abs();
    let (quarter, sign) = if steep {
        (2.0 - eighths, -1.0)
    } else {
        (eighths, 1.0)
    };
    let left = x.is_sign_negative();
    let (quarter, sign) = if left {
        (4.0 - quarter, -sign)
    } else {
        (quarter, sign)
    };
    let (base, base_low) = two_product(quarter, FRAC_PI_4);
    let (sum, error) = fast_two_sum(base, sign * angle);
    let total = sum + (error + (quarter.mul_add(FRAC_PI_4_LOW, base_low) + sign * low));
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        total.copysign(y)
    }
}

/// `(a, low, n)` with `atan(y / x) = n pi/4 + a + low`, for `0 <= y <= x`, `x > 0`.
#[inline(always)]
fn atan_quotient(y: f64, x: f64) -> (f64, f64, f64) {
    let high = y > x * TAN_FRAC_PI_8;
    let above = if high { y - x } else { y };
    let (below, error) = if high { fast_two_sum(x, y) } else { (x, 0.0) };
    let t = above / below;
    let rest = (-t).mul_add(error, (-t).mul_add(below, above)) / below;
    let z = t * t;
    (
        t,
        (t * z).mul_add(polynomial(z, ATAN), rest),
        if high { 1.0 } else { 0.0 },
    )
}

/// The absolute values, the larger one first (NaN anywhere).
#[inline(always)]
fn sorted(x: f64, y: f64) -> (f64, f64) {
    let (x, y) = (x.abs(), y.abs());
    if x < y { (y, x) } else { (x, y) }
}

/// A power of two by which to multiply before squaring.
pub(super) struct Shift {
    /// 2^-exponent.
    pub(super) factor: f64,
    /// 2^exponent.
    pub(super) inverse: f64,
    pub(super) exponent: f64,
}

/// The shift that brings `large` into the range where squares neither overflow nor underflow.
#[inline(always)]
pub(super) fn shift(large: f64) -> Shift {
    const BIG: f64 = f64::from_bits((1023 + 500) << 52);
    const SMALL: f64 = f64::from_bits((1023 - 400) << 52);
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let (big, small) = (large > BIG, large < SMALL);
    let factor = if big { DOWN } else { 1.0 };
    let inverse = if big { UP } else { 1.0 };
    let exponent = if big { 600.0 } else { 0.0 };
    Shift {
        factor: if small { UP } else { factor },
        inverse: if small { DOWN } else { inverse },
        exponent: if small { -600.0 } else { exponent },
    }
}
