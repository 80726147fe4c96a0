//! From text to digits and an exponent, eight bytes at a time, and on to the nearest number.
//!
//! Three ways to the nearest number, cheapest first: few digits and a small power of ten are one
//! exact product or quotient of two exact doubles (Clinger 1990, "How to read floating point
//! numbers accurately"); a product with 128 bits of the power of ten ([`super::rounding`]); and
//! where that does not tell, the standard library.

use super::rounding::{DOUBLE, Form, SINGLE, nearest};
use std::str::FromStr;

/// The most digits that fit into 64 bits, whatever they are.
const MAX_DIGITS: usize = 19;

/// A decimal number in a text.
#[derive(Clone, Copy, Debug)]
pub struct Decimal<'a> {
    text: &'a [u8],
    negative: bool,
    /// The first digits that are not leading zeros, at most [`MAX_DIGITS`] of them.
    digits: u64,
    /// The exponent of the last of these digits.
    exponent: i64,
    /// Whether they are all digits.
    is_whole: bool,
    /// Whether the text had neither point nor exponent.
    pub is_integer: bool,
}

/// The decimal number at byte `at` of a text, and where it ends; none if there is no number: a sign
/// or none, digits with a point among them, before or behind them, and perhaps an exponent behind
/// `e`, or behind `d` if `is_fortran`, in either case.
#[inline]
#[must_use]
pub fn scan(bytes: &[u8], at: usize, is_fortran: bool) -> Option<(Decimal<'_>, usize)> {
    let peek = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let begin = at;
    let negative = peek(at) == b'-';
    // Signs come in no order that a processor foresees, so there is no branch.
    let mut at = at + usize::from(negative | (peek(at) == b'+'));
    let start = at;
    let first = peek(at).wrapping_sub(b'0');
    let (mut value, mut end) = match first <= 9 && peek(at + 1) == b'.' {
        true => (u64::from(first), at + 1),
        false => digits(bytes, at, 0),
    };
    let mut n_digits = end - at;
    at = end;
    let mut is_integer = true;
    let mut exponent = 0;
    if peek(at) == b'.' {
        is_integer = false;
        at += 1;
        (value, end) = digits(bytes, at, value);
        exponent = -((end - at) as i64);
        n_digits += end - at;
        at = end;
    }
    if n_digits == 0 {
        return None;
    }
    let mut is_whole = true;
    if n_digits > MAX_DIGITS {
        let left_out;
        (value, left_out) = first_digits(&bytes[start..at]);
        exponent += left_out as i64;
        is_whole = left_out == 0;
    }
    let letter = peek(at) | 0x20;
    if letter == b'e' || (is_fortran && letter == b'd') {
        is_integer = false;
        let behind;
        (behind, at) = read_exponent(bytes, at + 1)?;
        exponent = exponent.saturating_add(behind);
    }
    let decimal = Decimal {
        text: &bytes[begin..at],
        negative,
        digits: value,
        exponent,
        is_whole,
        is_integer,
    };
    Some((decimal, at))
}

/// What the digits at byte `at` make of `value`, to which they are appended, and where they end;
/// beyond 19 digits the value wraps.
#[inline]
#[must_use]
pub fn digits(bytes: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let text = u64::from_le_bytes(*eight);
        let n_digits = count_digits(text);
        if n_digits < 8 {
            let parsed = leading_digits(text, n_digits);
            value = value
                .wrapping_mul(POWERS_OF_TEN[n_digits])
                .wrapping_add(parsed);
            return (value, at + n_digits);
        }
        // Where the next ones begin does not depend on these, if a processor foresees that there
        // are eight.
        value = value
            .wrapping_mul(100_000_000)
            .wrapping_add(joined(text ^ (ONES * 0x30)));
        at += 8;
    }
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0'))
        && digit <= 9
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (value, at)
}

/// The number that one to seven digits at byte `at` are, how many they are, and the byte behind
/// them; none where there are fewer or more, or the text ends within eight bytes: what most indices
/// and many values are, in a dozen instructions.
#[inline(always)]
#[must_use]
pub fn few_digits(bytes: &[u8], at: usize) -> Option<(u64, usize, u8)> {
    let eight = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>)?;
    let text = u64::from_le_bytes(*eight);
    let n_digits = count_digits(text);
    if !(1..8).contains(&n_digits) {
        return None;
    }
    let behind = (text >> (8 * n_digits)) as u8;
    Some((leading_digits(text, n_digits), n_digits, behind))
}

/// Reads the exponent behind its letter, or none; a huge one is cut, which keeps its effect.
#[inline]
fn read_exponent(bytes: &[u8], mut at: usize) -> Option<(i64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(negative | (bytes.get(at) == Some(&b'+')));
    let start = at;
    let mut exponent = 0i64;
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0'))
        && digit <= 9
    {
        exponent = exponent.saturating_mul(10).saturating_add(i64::from(digit));
        at += 1;
    }
    (at > start).then_some((if negative { -exponent } else { exponent }, at))
}

/// The first digits of digits with a point or without, behind leading zeros, and how many are left
/// out.
#[cold]
fn first_digits(text: &[u8]) -> (u64, usize) {
    let digits = text.iter().filter(|&&byte| byte != b'.');
    let mut digits = digits.skip_while(|&&byte| byte == b'0');
    let first = digits.by_ref().take(MAX_DIGITS);
    let value = first.fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    (value, digits.count())
}

impl<'a> Decimal<'a> {
    /// The text of the number.
    #[must_use]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Whether the number is negative, and its magnitude, if that is an integer of 64 bits whose
    /// text has neither point nor exponent.
    #[inline]
    #[must_use]
    pub fn whole(&self) -> Option<(bool, u64)> {
        (self.is_integer && self.is_whole).then_some((self.negative, self.digits))
    }

    /// The nearest double, infinite beyond the largest.
    #[inline]
    #[must_use]
    pub fn double(&self) -> f64 {
        let sign = u64::from(self.negative) << 63;
        if let Some(magnitude) = self.exact_quotient() {
            return f64::from_bits(magnitude.to_bits() | sign);
        }
        match self.bits(&DOUBLE) {
            Some(bits) => f64::from_bits(bits | sign),
            None => slow(self.text),
        }
    }

    /// As [`Decimal::double`], rounded once.
    #[inline]
    #[must_use]
    pub fn single(&self) -> f32 {
        match self.bits(&SINGLE) {
            Some(bits) => f32::from_bits(bits as u32 | u32::from(self.negative) << 31),
            None => slow(self.text),
        }
    }

    /// The nearest double, where one product or quotient of doubles gives it.
    #[inline]
    fn exact_quotient(&self) -> Option<f64> {
        const POWERS: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
        ];
        if !self.is_whole || self.digits > 1 << 53 {
            return None;
        }
        let digits = self.digits as f64;
        let power = POWERS.get(self.exponent.unsigned_abs() as usize)?;
        Some(if self.exponent < 0 {
            digits / power
        } else {
            digits * power
        })
    }

    #[inline]
    fn bits(&self, form: &Form) -> Option<u64> {
        let bits = nearest(form, self.digits, self.exponent)?;
        if self.is_whole {
            return Some(bits);
        }
        // What is left out is less than one more.
        let above = nearest(form, self.digits + 1, self.exponent)?;
        (bits == above).then_some(bits)
    }
}

/// The parser of the standard library, for text that [`scan`] has accepted.
#[cold]
fn slow<F: FromStr + Default>(text: &[u8]) -> F {
    let parse = |text: &[u8]| str::from_utf8(text).ok()?.parse().ok();
    parse(text)
        .or_else(|| {
            // Fortran's exponent letter is unknown to the standard library.
            let with_e = |&byte: &u8| if byte | 0x20 == b'd' { b'e' } else { byte };
            parse(&text.iter().map(with_e).collect::<Vec<_>>())
        })
        .expect("the standard library reads every decimal that is accepted")
}

/// 10^n for up to eight digits.
const POWERS_OF_TEN: [u64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

const ONES: u64 = 0x0101_0101_0101_0101;

/// How many of eight bytes, the first of which is the lowest, are ASCII digits before one that is
/// not. All together: numbers differ in length, so a loop over their digits ends where the
/// processor does not expect it.
#[inline]
fn count_digits(text: u64) -> usize {
    let digits = text ^ (ONES * 0x30);
    // A byte above 9 carries into its high half when 6 is added, or has that half set already; up
    // to the first such byte none carries into the next one.
    let others = (digits | digits.wrapping_add(ONES * 6)) & (ONES * 0xf0);
    (others.trailing_zeros() / 8) as usize
}

/// The number that the first of eight bytes are, which are digits.
#[inline]
fn leading_digits(text: u64, n_digits: usize) -> u64 {
    // Digits end in the highest byte, behind zeros: two shifts, since one by 64 bits is none.
    let unused = 8 * (8 - n_digits) as u32;
    joined((text ^ (ONES * 0x30)) << (unused / 2) << (unused / 2))
}

/// The number that eight bytes from 0 to 9 are, the first of which is the lowest: neighbours become
/// pairs, pairs fours, fours eight.
#[inline]
fn joined(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let with_e = text.replace(['d', 'D'], "e");
        let (decimal, end) = scan(text.as_bytes(), 0, true).unwrap();
        assert_eq!(end, text.len(), "{text}");
        let double = with_e.parse::<f64>().unwrap();
        assert_eq!(decimal.double().to_bits(), double.to_bits(), "{text}");
        let single = with_e.parse::<f32>().unwrap();
        assert_eq!(decimal.single().to_bits(), single.to_bits(), "{text}");
    }

    #[test]
    fn agrees_with_the_standard_library_at_the_edges() {
        for text in [
            "0",
            "-0",
            "0e999999999999999999999",
            "-0.0e-99",
            "1e22",
            "1e23",
            "9007199254740993",
            "9007199254740993e-22",
            "4.9e-324",
            "2.4e-324",
            "1.7976931348623157e308",
            "1.8e308",
            "1e400",
            "1e-400",
            "3.4028235e38",
            "3.4028236e38",
            "1e39",
            "1.401298464324817e-45",
            "7.006492321624085e-46",
            "1.1754943508222875e-38",
            "16777217",
            "16777219",
            // Halfway between two singles, and just above: the double is the same.
            "1.00000005960464477539062500",
            "1.00000005960464477539062501",
            "0.00000000000000000000000123456789",
            "123456789012345678901234567890",
            ".5",
            "5.",
            "+7",
            "1.0D+03",
            "1.5d-3",
            "12345678",
            "123456789",
            "1234567890123456.7e+00005",
            "00000000000000000000000000000001.5",
            "18446744073709551615",
            "9999999999999999999",
            "99999999999999999999",
            "1.79769313486231580793728971405e308",
            "0.50000000000000000",
            "9007199254740993.0000000000000000000000000000",
            "9007199254740993.0000000000000000000000000001",
            "9007199254740993000e-3",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1e-342",
            "18446744073709551615e-343",
            "18446744073709551615e-342",
            "1e308",
            "1e309",
            "0.0000001e316",
            "6.631236846766476e-316",
        ] {
            check(text);
        }
        for power in -400..400 {
            for digits in [
                "1",
                "5",
                "17976931348623157",
                "9007199254740993",
                "18446744073709551615",
            ] {
                check(&format!("{digits}e{power}"));
            }
        }
    }

    #[test]
    fn halves_are_rounded_to_the_even_number() {
        // Exactly between two doubles, and as near to that as 19 digits allow.
        for power in 0..24u32 {
            for odd in [(1u64 << 53) + 1, (1 << 53) + 3, (1 << 54) - 1] {
                let Some(product) = odd.checked_mul(5u64.pow(power)) else {
                    continue;
                };
                for digits in [product - 1, product, product + 1] {
                    check(&format!("{digits}e-{power}"));
                    check(&format!("{digits}e{power}"));
                }
            }
            let odd = (1u64 << 24) + 1;
            if let Some(product) = odd.checked_mul(5u64.pow(power)) {
                for digits in [product - 1, product, product + 1] {
                    check(&format!("{digits}e-{power}"));
                }
            }
        }
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", ".", "-", "e5", "1e", "1e+", "--1", "+.e1", "inf", "nan"] {
            assert!(scan(text.as_bytes(), 0, true).is_none(), "{text}");
        }
        for (text, len) in [("1x", 1), ("1.2.3", 3), ("0x10", 1), ("1_0", 1), ("1,5", 1)] {
            assert_eq!(scan(text.as_bytes(), 0, true).unwrap().1, len, "{text}");
        }
        assert_eq!(scan(b"1d5", 0, false).unwrap().1, 1);
    }

    #[test]
    fn digits_up_to_another_byte() {
        for (bytes, digits) in [
            (*b"1234567/", (7, 1_234_567)),
            (*b"1234567:", (7, 1_234_567)),
            (*b"/2345678", (0, 0)),
            (*b"1234\xff678", (4, 1234)),
            (*b"12345 78", (5, 12_345)),
            (*b"1 \xff\xff\xff\xff\xff\xff", (1, 1)),
            (*b"90817263", (8, 90_817_263)),
        ] {
            let text = u64::from_le_bytes(bytes);
            let n_digits = count_digits(text);
            assert_eq!((n_digits, leading_digits(text, n_digits)), digits);
        }
    }

    #[test]
    fn few_digits_end_within_eight_bytes() {
        for (text, found) in [
            ("1 2 3 4 5", Some((1, 1, b' '))),
            ("1234567\n", Some((1_234_567, 7, b'\n'))),
            ("0000012.5", Some((12, 7, b'.'))),
            ("12345678 ", None),
            (" 12345678", None),
            ("1234567", None),
            ("", None),
        ] {
            assert_eq!(few_digits(text.as_bytes(), 0), found, "{text}");
        }
        assert_eq!(few_digits(b"x 42 behind it", 2), Some((42, 2, b' ')));
        assert_eq!(few_digits(b"x", 2), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn agrees_with_the_standard_library(
            text in "[-+]?([0-9]{1,25}|[0-9]{0,12}\\.[0-9]{1,25})([eEdD][-+]?[0-9]{1,3})?",
        ) {
            check(&text);
        }

        #[test]
        fn texts_of_any_length_read_back(bits: u64, digits in 0usize..25) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            check(&format!("{double:e}"));
            check(&format!("{double:.digits$e}"));
            let single = f32::from_bits(bits as u32);
            prop_assume!(single.is_finite());
            check(&format!("{single:e}"));
            check(&format!("{single:.digits$e}"));
        }
    }
}
