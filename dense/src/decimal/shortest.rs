//! From a floating-point number to the shortest decimal that is read as this number, of several the
//! nearest one, and its text.
//!
//! The method is Schubfach: Giulietti, "The Schubfach way to render doubles" (2021). The digits are
//! those that the standard library finds, in about a fifth of the time.

use super::powers::{is_exact, power};

/// `digits * 10^exponent`, where the digits do not end in 0, or are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortest {
    negative: bool,
    digits: u64,
    exponent: i32,
}

/// What the text of a number may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `1500`, `0.25`, as `Display` of the standard library.
    Plain,
    /// `1500.0`, `0.25`, as `Debug` of the standard library where it writes no exponent.
    Pointed,
    /// `1.5e3`, `2.5e-1`, as `LowerExp` of the standard library.
    Scientific,
}

impl Shortest {
    /// The decimal of a number that is finite.
    #[must_use]
    #[inline]
    pub fn of_double(x: f64) -> Self {
        let bits = x.to_bits();
        Self::of_parts(
            x.is_sign_negative(),
            bits & ((1 << 52) - 1),
            (bits >> 52) as i32 & 0x7ff,
            (52, 1023),
        )
    }

    /// As [`Shortest::of_double`].
    #[must_use]
    #[inline]
    pub fn of_single(x: f32) -> Self {
        let bits = x.to_bits();
        Self::of_parts(
            x.is_sign_negative(),
            u64::from(bits & ((1 << 23) - 1)),
            (bits >> 23) as i32 & 0xff,
            (23, 127),
        )
    }

    /// The decimal of a number of which these bits are stored.
    #[inline]
    fn of_parts(
        negative: bool,
        fraction: u64,
        stored: i32,
        (mantissa_bits, bias): (i32, i32),
    ) -> Self {
        let (digits, exponent) = match (fraction, stored) {
            (0, 0) => (0, 0),
            (_, 0) => shortest(fraction, 1 - bias - mantissa_bits, false),
            _ => {
                let mantissa = fraction | 1 << mantissa_bits;
                let two = stored - bias - mantissa_bits;
                let is_whole = (1 - mantissa_bits..=0).contains(&two);
                if is_whole && mantissa.trailing_zeros() as i32 >= -two {
                    (mantissa >> -two, 0)
                } else {
                    shortest(mantissa, two, fraction == 0 && stored > 1)
                }
            }
        };
        let (digits, exponent) = without_zeros(digits, exponent);
        Self {
            negative,
            digits,
            exponent,
        }
    }

    /// Appends the text of the number, which has at most 24 bytes in the notation
    /// [`Notation::Scientific`]; in others there are as many zeros as the exponent asks for.
    #[inline]
    pub fn put(self, text: &mut Vec<u8>, notation: Notation) {
        let mut buffer = [0; 20];
        let digits = decimal(self.digits, &mut buffer);
        let n = digits.len() as i32;
        // Digits before the point.
        let before = n + self.exponent;
        if self.negative {
            text.push(b'-');
        }
        if notation == Notation::Scientific {
            text.push(digits[0]);
            if n > 1 {
                text.push(b'.');
                text.extend_from_slice(&digits[1..]);
            }
            text.push(b'e');
            let exponent = before - 1;
            if exponent < 0 {
                text.push(b'-');
            }
            put_whole(text, u64::from(exponent.unsigned_abs()));
        } else if before <= 0 {
            text.extend_from_slice(b"0.");
            text.resize(text.len() + before.unsigned_abs() as usize, b'0');
            text.extend_from_slice(digits);
        } else if before < n {
            let (whole, fraction) = digits.split_at(before as usize);
            text.extend_from_slice(whole);
            text.push(b'.');
            text.extend_from_slice(fraction);
        } else {
            text.extend_from_slice(digits);
            text.resize(text.len() + (before - n) as usize, b'0');
            if notation == Notation::Pointed {
                text.extend_from_slice(b".0");
            }
        }
    }
}

/// Appends a whole number.
#[inline]
pub fn put_whole(text: &mut Vec<u8>, number: u64) {
    let mut buffer = [0; 20];
    text.extend_from_slice(decimal(number, &mut buffer));
}

/// All pairs of digits, one behind the other.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// The digits of a number, at the end of the buffer.
#[inline]
fn decimal(number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    let mut rest = number;
    // Eight digits at a time, which are a word of 32 bits.
    while rest >= 100_000_000 {
        let eight = (rest % 100_000_000) as u32;
        rest /= 100_000_000;
        let (upper, lower) = (eight / 10_000, eight % 10_000);
        for four in [lower, upper] {
            at -= 4;
            buffer[at..at + 2].copy_from_slice(&PAIRS[(four / 100) as usize]);
            buffer[at + 2..at + 4].copy_from_slice(&PAIRS[(four % 100) as usize]);
        }
    }
    let mut rest = rest as u32;
    while rest >= 100 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest >= 10 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[rest as usize]);
    } else {
        at -= 1;
        buffer[at] = b'0' + rest as u8;
    }
    &buffer[at..]
}

#[inline]
fn without_zeros(mut digits: u64, mut exponent: i32) -> (u64, i32) {
    if digits == 0 {
        return (0, 0);
    }
    for (power, zeros) in [
        (100_000_000, 8),
        (100_000_000, 8),
        (10_000, 4),
        (100, 2),
        (10, 1),
    ] {
        if digits.is_multiple_of(power) {
            digits /= power;
            exponent += zeros;
        }
    }
    (digits, exponent)
}

/// The shortest decimal in the interval that is rounded to `mantissa * 2^two`, whose lower half is
/// shorter if `is_closer_below`. It may end in zeros.
#[inline]
fn shortest(mantissa: u64, two: i32, is_closer_below: bool) -> (u64, i32) {
    // Ends of the interval belong to it if the mantissa is even.
    let is_open = mantissa & 1;
    let below = 4 * mantissa - 2 + u64::from(is_closer_below);
    let above = 4 * mantissa + 2;
    // The logarithm of the interval's length: log10(2) in 22 bits, and log10(4 / 3).
    let ten = (two * 1_262_611 - if is_closer_below { 524_031 } else { 0 }) >> 22;
    // log2(10) in 19 bits.
    let shift = two + ((-ten * 1_741_647) >> 19) + 1;
    let (upper, lower) = power(-ten);
    let lower = lower + u64::from(!is_exact(-ten));
    let scaled = |number: u64| round_to_odd((upper, lower), number << shift);
    let least = scaled(below) + is_open;
    let value = scaled(4 * mantissa);
    let most = scaled(above) - is_open;
    let whole = value / 4;
    if whole >= 10 {
        // One digit less, if that is in the interval on one side.
        let tens = whole / 10;
        let is_below = least <= 40 * tens;
        let is_above = 40 * tens + 40 <= most;
        if is_below != is_above {
            return (tens + u64::from(is_above), ten + 1);
        }
    }
    let is_below = least <= 4 * whole;
    let is_above = 4 * whole + 4 <= most;
    if is_below != is_above {
        return (whole + u64::from(is_above), ten);
    }
    // Halfway between two decimals up, as the standard library does it, and not to the even one.
    (whole + u64::from(value >= 4 * whole + 2), ten)
}

/// The upper 64 of the 192 bits of a product, the last one set if any below is.
#[inline]
fn round_to_odd((upper, lower): (u64, u64), number: u64) -> u64 {
    let below = (u128::from(lower) * u128::from(number)) >> 64;
    let sum = u128::from(upper) * u128::from(number) + below;
    (sum >> 64) as u64 | u64::from(sum as u64 > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(number: Shortest, notation: Notation) -> String {
        let mut text = Vec::new();
        number.put(&mut text, notation);
        String::from_utf8(text).unwrap()
    }

    fn check(x: f64) {
        let number = Shortest::of_double(x);
        assert_eq!(text(number, Notation::Scientific), format!("{x:e}"));
        assert_eq!(text(number, Notation::Plain), format!("{x}"));
        if x == 0.0 || (1e-4..1e16).contains(&x.abs()) {
            assert_eq!(text(number, Notation::Pointed), format!("{x:?}"));
        }
        let single = x as f32;
        if single.is_finite() {
            check_single(single);
        }
    }

    fn check_single(x: f32) {
        let number = Shortest::of_single(x);
        assert_eq!(text(number, Notation::Scientific), format!("{x:e}"));
        assert_eq!(text(number, Notation::Plain), format!("{x}"));
    }

    #[test]
    fn edges_are_those_of_the_standard_library() {
        for x in [
            0.0,
            1.0,
            1.5,
            0.1,
            100.0,
            1e7,
            123_456.0,
            9_007_199_254_740_993.0,
        ] {
            check(x);
            check(-x);
        }
        for x in [
            5e-324,
            1e-323,
            f64::MIN_POSITIVE,
            f64::MAX,
            1e22,
            1e23,
            9.5e-3,
            4.35,
        ] {
            check(x);
            check(f64::from_bits(x.to_bits() - 1));
        }
        // Powers of two and of ten, and their neighbours.
        for power in -1074..1024 {
            let x = 2f64.powi(power);
            check(x);
            check(f64::from_bits(x.to_bits() + 1));
            check(f64::from_bits(x.to_bits().saturating_sub(1)));
        }
        for power in -323..=308 {
            check(format!("1e{power}").parse().unwrap());
        }
        for power in -149..128 {
            let x = 2f32.powi(power);
            check_single(x);
            check_single(f32::from_bits(x.to_bits() + 1));
            check_single(f32::from_bits(x.to_bits().saturating_sub(1)));
        }
    }

    #[test]
    fn whole_numbers_have_their_digits() {
        let mut number = 1u64;
        for _ in 0..64 {
            for number in [number - 1, number, number.wrapping_mul(7)] {
                let mut text = Vec::new();
                put_whole(&mut text, number);
                assert_eq!(text, number.to_string().as_bytes());
            }
            number = number.wrapping_mul(3);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn texts_are_those_of_the_standard_library(bits: u64, whole: u32, power in -20i32..20) {
            let x = f64::from_bits(bits);
            if x.is_finite() {
                check(x);
            }
            let x = f32::from_bits(bits as u32);
            if x.is_finite() {
                check_single(x);
            }
            check(f64::from(whole) * 10f64.powi(power));
            check(f64::from(whole) / 10f64.powi(power));
        }
    }
}
