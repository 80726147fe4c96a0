//! Argument reduction modulo pi/2 for large arguments.
//!
//! Payne and Hanek (*Radian reduction for trigonometric functions*, SIGNUM Newsletter 18, 1983):
//! of the bits of 2/pi, those whose product with `x` is a multiple of 4 are left out, and those far
//! below the point do not matter. What remains is a product of 53 with 192 bits, exact in integers.

use super::arithmetic::multiply;
use std::f64::consts::FRAC_PI_2;

/// An argument after reduction: `x = quadrant pi/2 + high + low`, up to multiples of 2 pi.
pub(super) struct Reduced {
    /// From 0 to 3.
    pub(super) quadrant: u64,
    pub(super) high: f64,
    pub(super) low: f64,
}

/// `pi/2 - FRAC_PI_2`.
const FRAC_PI_2_LOW: f64 = 6.123233995736766e-17;

/// The bits of 2/pi behind the point, after 64 zeros.
const TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];

/// Reduces a finite `x` with `|x| >= 2^30`; the error is below 2^-130, that is 2^-68 of the result
/// in the worst case (no double comes closer than about 2^-62 to a multiple of pi/2).
pub(super) fn reduce(x: f64) -> Reduced {
    let bits = x.abs().to_bits();
    let significand = (bits & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000;
    // x = significand * 2^exponent; bits of 2/pi of weight above 2^(1 - exponent) drop out.
    let exponent = (bits >> 52) as i64 - 1075;
    let window = bits_of_two_over_pi((exponent + 62) as usize);
    let [top, middle, bottom] = product(significand, window);

    // The top two bits are the quadrant, the others a fraction; round to the nearest quadrant.
    let quadrant = top >> 62;
    let fraction = [
        top << 2 | middle >> 62,
        middle << 2 | bottom >> 62,
        bottom << 2,
    ];
    let up = fraction[0] >> 63;
    let (high, low) = fraction_to_float(if up == 1 { negated(fraction) } else { fraction });
    let (high, low) = multiply((high, low), (FRAC_PI_2, FRAC_PI_2_LOW));
    let quadrant = quadrant + up;
    // -x = -quadrant pi/2 - r.
    let backward = x.is_sign_negative();
    let negative = backward != (up == 1);
    let sign = if negative { -1.0 } else { 1.0 };
    Reduced {
        quadrant: if backward {
            quadrant.wrapping_neg()
        } else {
            quadrant
        } & 3,
        high: sign * high,
        low: sign * low,
    }
}

/// 192 bits of the table, from bit number `first` on, most significant word first.
fn bits_of_two_over_pi(first: usize) -> [u64; 3] {
    let (word, shift) = (first / 64, first % 64);
    std::array::from_fn(|i| {
        let next = TWO_OVER_PI.get(word + i + 1).copied().unwrap_or(0);
        let pair = u128::from(TWO_OVER_PI[word + i]) << 64 | u128::from(next);
        (pair << shift >> 64) as u64
    })
}

/// `factor * words` modulo 2^192.
fn product(factor: u64, words: [u64; 3]) -> [u64; 3] {
    let factor = u128::from(factor);
    let bottom = factor * u128::from(words[2]);
    let middle = factor * u128::from(words[1]) + (bottom >> 64);
    let top = factor * u128::from(words[0]) + (middle >> 64);
    [top as u64, middle as u64, bottom as u64]
}

/// The two's complement.
fn negated(words: [u64; 3]) -> [u64; 3] {
    let low = (u128::from(words[1]) << 64 | u128::from(words[2])).wrapping_neg();
    let carry = u64::from(low == 0);
    [
        (!words[0]).wrapping_add(carry),
        (low >> 64) as u64,
        low as u64,
    ]
}

/// A fraction of 192 bits as an unevaluated sum; its first 60 bits or so may be zeros.
fn fraction_to_float(words: [u64; 3]) -> (f64, f64) {
    let zeros = words[0].leading_zeros().min(63);
    let high = u128::from(words[0]) << 64 | u128::from(words[1]);
    let normal = high << zeros | u128::from(words[2]) >> (64 - zeros);
    // The upper 53 bits, and the 53 after them.
    let unit = f64::from_bits(u64::from(1023 - 53 - zeros) << 52);
    let lower_unit = f64::from_bits(u64::from(1023 - 106 - zeros) << 52);
    let upper = (normal >> 75) as f64;
    let lower = (normal >> 22 & 0x001f_ffff_ffff_ffff) as f64;
    (upper * unit, lower * lower_unit)
}
