//! Building blocks of the elementary functions: exact sums and products, polynomials, powers of
//! two.
//!
//! An unevaluated sum `(high, low)` stands for `high + low` with `|low|` at most half a unit in the
//! last place of `high` ("double-double"). The exact operations are those of Dekker and Knuth; see
//! Muller et al., *Handbook of Floating-Point Arithmetic*, chapters 4 and 5.
//! Everything here is branch-free, so a loop over it becomes SIMD code.

/// 2^52 * 1.5: adding it leaves the nearest whole number in the low bits of the significand.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;

/// 2^52 + 1023: adding it to a whole number leaves the biased exponent of that power of two.
pub(super) const EXPONENT: f64 = 4_503_599_627_371_519.0;

/// The nearest whole number, ties to even; `|x| < 2^51`. `f64::round_ties_even` is a call on
/// baseline x86-64.
#[inline(always)]
pub(super) fn round(x: f64) -> f64 {
    (x + ROUND) - ROUND
}

/// The lowest two bits of a whole number with `|k| < 2^51`, in two's complement.
#[inline(always)]
pub(super) fn low_bits(k: f64) -> u64 {
    (k + ROUND).to_bits() & 3
}

/// 2^k for a whole number `-1022 <= k <= 1023`.
#[inline(always)]
pub(super) fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + EXPONENT).to_bits() << 52)
}

/// `x * 2^k` for a whole number `|k| <= 2000`, rounded once for `0.5 <= |x| <= 2`.
#[inline(always)]
pub(super) fn scale(x: f64, k: f64) -> f64 {
    let half = round(k * 0.5);
    x * power_of_two(half) * power_of_two(k - half)
}

/// `x` between `low` and `high`; NaN stays NaN.
#[inline(always)]
pub(super) fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `c[0] + c[1] x + c[2] x^2 + ...`: Horner's rule on the even and the odd terms apart, which
/// halves the chain of dependent operations.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let square = x * x;
    let (mut this, mut other) = (c[N - 1], c[N - 2]);
    let mut i = N - 2;
    while i > 0 {
        i -= 1;
        (this, other) = (other, this.mul_add(square, c[i]));
    }
    this.mul_add(x, other)
}

/// `a + b` exactly, where `|a| >= |b|` or `a == 0` (Dekker's Fast2Sum).
#[inline(always)]
pub(super) fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// `a + b` exactly (Knuth's 2Sum).
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// `a * b` exactly, unless it underflows.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// The product of two unevaluated sums, with an error below 2^-100 of it. The low part may be some
/// units in the last place of the high part; [`fast_two_sum`] would mend that.
#[inline(always)]
pub(super) fn multiply(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (high, low) = two_product(a.0, b.0);
    (high, low + a.0.mul_add(b.1, a.1 * b.0))
}
