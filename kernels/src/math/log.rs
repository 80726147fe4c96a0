//! Logarithms: the natural one, also of `1 + x`, and in extended precision the base-2 one, which
//! pow needs and of which those to the bases 2 and 10 are made.
//!
//! `x = 2^k m` with `m` between the square roots of 1/2 and 2, and
//! `log m = 2 (s + s^3/3 + s^5/5 + ...)` with `s = (m - 1) / (m + 1)`; see Muller, *Elementary
//! Functions*. The tails of the series are replaced by minimax polynomials in `z = s^2`.

use super::arithmetic::{fast_two_sum, multiply, polynomial, two_sum};
use std::f64::consts::LOG10_2;

/// The upper 42 bits of ln 2: `k` times it is exact.
pub(super) const LN_2_HIGH: f64 = 0.6931471805598903;
/// `ln 2 - LN_2_HIGH`.
pub(super) const LN_2_LOW: f64 = 5.497923018708371e-14;

/// `2/3 + 2/5 z + 2/7 z^2 + ...` for `z <= 0.02945`; minimax (Remez), 2^-58 of the logarithm.
pub(super) const LOG: [f64; 7] = [
    0.666666666666671,
    0.3999999999951885,
    0.2857142872955326,
    0.2222219905928901,
    0.1818357334916591,
    0.15313114740391645,
    0.14811043968501342,
];

/// `2 / ln 2` and `2 / (3 ln 2)`, each with its rounding error.
pub(super) const LOG2_FIRST: (f64, f64) = (2.8853900817779268, 4.0710547481862066e-17);
pub(super) const LOG2_SECOND: (f64, f64) = (0.9617966939259756, 5.0577616648125907e-17);

/// `(2/5 + 2/7 z + ...) / ln 2` for `z <= 0.02945`; minimax (Remez), 2^-71 of the logarithm.
pub(super) const LOG2_TAIL: [f64; 8] = [
    0.5770780163555853,
    0.412198583111195,
    0.3205988979483741,
    0.26230819450873744,
    0.22195253592753164,
    0.19239180801418243,
    0.1686305783163017,
    0.17143798273044586,
];

/// `log10 2 - LOG10_2`.
pub(super) const LOG10_2_LOW: f64 = -2.8037281277851704e-18;

/// The bits of the square root of 1/2.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// 2^54.
const TWO_54: f64 = 18_014_398_509_481_984.0;
/// The bits of 1.
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    let (k, m) = split(x);
    let f = m - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = s.mul_add(half_square + z * polynomial(z, LOG), k * LN_2_LOW);
    let finite = k * LN_2_HIGH - ((half_square - tail) - f);
    let positive = if x < f64::INFINITY { finite } else { x };
    let defined = if x == 0.0 {
        f64::NEG_INFINITY
    } else {
        positive
    };
    if x >= 0.0 { defined } else { f64::NAN }
}

/// The natural logarithm of `1 + x`, accurate where `x` is small: what is lost of the sum is added.
#[inline(always)]
pub(crate) fn log1p(x: f64) -> f64 {
    let (sum, error) = two_sum(1.0, x);
    // Only for `|x| < 1` is anything lost that shows.
    let lost = if sum > 0.0 && sum < TWO_54 {
        error / sum
    } else {
        0.0
    };
    let log = log(sum) + lost;
    if x == 0.0 { x } else { log }
}

/// The base-2 logarithm; exact for powers of two.
#[inline(always)]
pub(crate) fn log2(x: f64) -> f64 {
    let inside = x > 0.0 && x < f64::INFINITY;
    let (high, low) = log2_extended(if inside { x } else { 1.0 });
    outside(x, inside, high + low)
}

/// The base-10 logarithm; exact for powers of ten.
#[inline(always)]
pub(crate) fn log10(x: f64) -> f64 {
    let inside = x > 0.0 && x < f64::INFINITY;
    let log = log2_extended(if inside { x } else { 1.0 });
    let (high, low) = multiply(log, (LOG10_2, LOG10_2_LOW));
    outside(x, inside, high + low)
}

/// A logarithm, or what it is outside of the positive finite numbers.
#[inline(always)]
fn outside(x: f64, inside: bool, log: f64) -> f64 {
    let defined = if inside { log } else { x };
    let defined = if x == 0.0 { f64::NEG_INFINITY } else { defined };
    if x >= 0.0 { defined } else { f64::NAN }
}

/// The base-2 logarithm of a positive finite number as an unevaluated sum, with a relative error
/// below 2^-64.
#[inline(always)]
pub(super) fn log2_extended(x: f64) -> (f64, f64) {
    let (k, m) = split(x);
    let f = m - 1.0;
    let (sum, error) = fast_two_sum(2.0, f);
    let inverse = 1.0 / sum;
    let quotient = f * inverse;
    let rest = (-quotient).mul_add(error, (-quotient).mul_add(sum, f));
    let s = (quotient, rest * inverse);
    let z = multiply(s, s);
    let (second, error) = fast_two_sum(LOG2_SECOND.0, z.0 * polynomial(z.0, LOG2_TAIL));
    let (high, low) = multiply(z, (second, error + LOG2_SECOND.1));
    let (first, error) = fast_two_sum(LOG2_FIRST.0, high);
    let (high, low) = multiply(s, (first, error + (low + LOG2_FIRST.1)));
    // k is 0 or larger than the logarithm of m.
    let (sum, error) = fast_two_sum(k, high);
    (sum, error + low)
}

/// `(k, m)` with `x = 2^k m`, for a positive finite `x`.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    // 2^52 in front of the biased exponent makes a float of it.
    const WHOLE: u64 = 0x4330_0000_0000_0000;
    let subnormal = x < f64::MIN_POSITIVE;
    let bits = (if subnormal { x * TWO_54 } else { x }).to_bits();
    let offset = if subnormal { 1023.0 + 54.0 } else { 1023.0 };
    let exponent = bits.wrapping_add(ONE - SQRT_HALF) >> 52;
    let k = f64::from_bits(WHOLE | exponent) - (f64::from_bits(WHOLE) + offset);
    let m = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(ONE));
    (k, m)
}
