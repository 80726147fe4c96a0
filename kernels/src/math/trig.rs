//! sin and cos.
//!
//! Both reduce `x = q pi/2 + r` with `|r| <= pi/4` and `r` as an unevaluated sum. Up to 2^30 that
//! is the method of Cody and Waite with pi/2 in three parts, branch-free. Beyond,
//! [`super::payne_hanek`] reduces exactly, one number at a time. [`sin_block`] and [`cos_block`]
//! run the first over the whole block as a SIMD loop and mend the rare large elements in a second
//! pass; they give the same bits as [`sin`] and [`cos`].

use super::arithmetic::{fast_two_sum, low_bits, polynomial, round, two_product, two_sum};
use super::payne_hanek::{self, Reduced};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Up to here the fast reduction holds.
pub(super) const LARGE: f64 = 1_073_741_824.0;

/// `pi/2 - FRAC_PI_2`, and what then still misses.
pub(super) const FRAC_PI_2_LOW: f64 = 6.123233995736766e-17;
pub(super) const FRAC_PI_2_LOWEST: f64 = -1.4973849048591698e-33;

/// `(sin(r)/r - 1) / z` with `z = r^2` for `|r| <= pi/4`; minimax (Remez), 2^-57 of the sine.
pub(super) const SIN: [f64; 6] = [
    -0.1666666666666664,
    0.008333333333323624,
    -0.00019841269830108815,
    2.7557313638500214e-06,
    -2.5050732378961625e-08,
    1.5894579740654464e-10,
];

/// `(cos(r) - 1 + z/2) / z^2` for `|r| <= pi/4`; minimax (Remez), 2^-62 of the cosine.
pub(super) const COS: [f64; 6] = [
    0.04166666666666665,
    -0.0013888888888882816,
    2.4801587294605744e-05,
    -2.755731573025873e-07,
    2.0875896367138317e-09,
    -1.1367900016246307e-11,
];

/// The sine, exact argument reduction for every finite `x`.
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    if is_large(x) {
        sin_large(x)
    } else {
        sin_small(x)
    }
}

/// The cosine, exact argument reduction for every finite `x`.
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    if is_large(x) {
        cos_large(x)
    } else {
        cos_small(x)
    }
}

/// `y[i] = sin(x[i])`; the slices have the same length.
#[inline(always)]
pub(crate) fn sin_block(x: &[f64], y: &mut [f64]) {
    block(x, y, sin_small, sin_large, |y| y);
}

/// `y[i] = cos(x[i])`; the slices have the same length.
#[inline(always)]
pub(crate) fn cos_block(x: &[f64], y: &mut [f64]) {
    block(x, y, cos_small, cos_large, |y| y);
}

/// `small` on everything in a loop without branches, then `large` where it is due.
#[inline(always)]
pub(super) fn block<T: Copy + Into<f64>>(
    x: &[T],
    y: &mut [T],
    small: impl Fn(f64) -> f64,
    large: impl Fn(f64) -> f64,
    narrow: impl Fn(f64) -> T,
) {
    assert_eq!(x.len(), y.len());
    let mut any_large = 0;
    for i in 0..x.len() {
        y[i] = narrow(small(x[i].into()));
        any_large |= u64::from(is_large(x[i].into()));
    }
    if any_large != 0 {
        for i in 0..x.len() {
            if is_large(x[i].into()) {
                y[i] = narrow(large(x[i].into()));
            }
        }
    }
}

/// Whether the fast reduction does not do; also for infinities and NaN.
#[inline(always)]
fn is_large(x: f64) -> bool {
    const BITS: u64 = LARGE.to_bits();
    x.abs().to_bits() > BITS
}

/// The sine for `|x| <= LARGE`.
#[inline(always)]
pub(super) fn sin_small(x: f64) -> f64 {
    let sin = sin_reduced(&reduce(x));
    // Keep the sign of zero.
    if x == 0.0 { x } else { sin }
}

/// The cosine for `|x| <= LARGE`.
#[inline(always)]
pub(super) fn cos_small(x: f64) -> f64 {
    cos_reduced(&reduce(x))
}

/// The sine for every `x` beyond.
#[cold]
#[inline(never)]
pub(super) fn sin_large(x: f64) -> f64 {
    if x.is_finite() {
        sin_reduced(&payne_hanek::reduce(x))
    } else {
        f64::NAN
    }
}

/// The cosine for every `x` beyond.
#[cold]
#[inline(never)]
pub(super) fn cos_large(x: f64) -> f64 {
    if x.is_finite() {
        cos_reduced(&payne_hanek::reduce(x))
    } else {
        f64::NAN
    }
}

/// The reduction of Cody and Waite for `|x| <= LARGE`.
///
/// The first step is exact: its result is below 1 and a multiple of 2^-53. The error of the last is
/// below 2^-120, and no double in the range comes closer than 2^-60 to a multiple of pi/2.
#[inline(always)]
fn reduce(x: f64) -> Reduced {
    let q = round(x * FRAC_2_PI);
    let rest = (-q).mul_add(FRAC_PI_2, x);
    let (product, product_low) = two_product(q, FRAC_PI_2_LOW);
    let (sum, error) = two_sum(rest, -product);
    let low = (-q).mul_add(FRAC_PI_2_LOWEST, error - product_low);
    let (high, low) = fast_two_sum(sum, low);
    Reduced {
        quadrant: low_bits(q),
        high,
        low,
    }
}

#[inline(always)]
fn sin_reduced(r: &Reduced) -> f64 {
    let (sin, cos) = kernels(r);
    let size = if r.quadrant & 1 == 0 { sin } else { cos };
    with_quadrant_sign(size, r.quadrant)
}

#[inline(always)]
fn cos_reduced(r: &Reduced) -> f64 {
    let (sin, cos) = kernels(r);
    let size = if r.quadrant & 1 == 0 { cos } else { sin };
    with_quadrant_sign(size, r.quadrant + 1)
}

/// Negates in quadrants 2 and 3 (modulo 4).
#[inline(always)]
fn with_quadrant_sign(x: f64, quadrant: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ ((quadrant & 2) << 62))
}

/// Sine and cosine of the reduced argument.
#[inline(always)]
pub(super) fn kernels(r: &Reduced) -> (f64, f64) {
    let (z, z_low) = two_product(r.high, r.high);
    let low = (-0.5 * z).mul_add(r.low, r.low);
    let sin = r.high + (z * r.high).mul_add(polynomial(z, SIN), low);
    let (most, rest) = fast_two_sum(1.0, -0.5 * z);
    let linear = (-r.high).mul_add(r.low, -0.5 * z_low);
    let curve = (z * z).mul_add(polynomial(z, COS), linear);
    (sin, most + (rest + curve))
}
