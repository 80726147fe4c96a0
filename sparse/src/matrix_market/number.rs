//! Numbers from text: a cursor over bytes that reads tokens of a line.
//!
//! The cursor never leaves its line on its own, and the end of the text counts as a newline.
//! Reals are rounded once, to the nearest element of the type wanted. Three ways, cheapest first:
//! few digits and a small power of ten are one exact product or quotient of two exact doubles
//! (Clinger 1990, "How to read floating point numbers accurately"); else the parser of the
//! standard library decides; and where a double would have to be rounded a second time and lies
//! halfway between two singles, the standard library reads the text as a single.

use super::error::{ReadErrorKind, quote};
use sparsefuse_kernels::DType;
use std::borrow::Cow;

/// A position in some lines of text.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes before the cursor.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Goes to the next line that holds more than blanks and a comment; false if there is none.
    #[inline]
    pub(super) fn seek_content(&mut self) -> bool {
        while self.at < self.bytes.len() {
            self.skip_blanks();
            match self.peek() {
                b'\n' | b'%' => self.skip_line(),
                _ => return true,
            }
        }
        false
    }

    /// Goes to the beginning of the next line.
    #[inline]
    pub(super) fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        let newline = rest.iter().position(|&byte| byte == b'\n');
        self.at += newline.map_or(rest.len(), |newline| newline + 1);
    }

    /// Goes to the beginning of the next line, over blanks only.
    #[inline]
    pub(super) fn end_line(&mut self) -> Result<(), ReadErrorKind> {
        self.skip_blanks();
        if self.peek() != b'\n' {
            return Err(self.unexpected("the end of the line"));
        }
        self.at = self.bytes.len().min(self.at + 1);
        Ok(())
    }

    /// The text up to the next blank or newline; empty at the end of the line.
    #[inline]
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let start = self.at;
        while !is_end(self.peek()) {
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }

    /// A whole number below 10^19 without a sign.
    #[inline]
    pub(super) fn whole(&mut self, expected: &'static str) -> Result<u64, ReadErrorKind> {
        self.skip_blanks();
        let start = self.at;
        let mut value = 0;
        self.digits(&mut value);
        let n_digits = self.at - start;
        if n_digits == 0 || n_digits > MAX_DIGITS || !is_end(self.peek()) {
            self.at = start;
            return Err(self.unexpected(expected));
        }
        Ok(value)
    }

    /// A finite real number, rounded to the nearest of type `dtype` (single or double).
    #[inline]
    pub(super) fn real(&mut self, dtype: DType) -> Result<f64, ReadErrorKind> {
        self.skip_blanks();
        let start = self.at;
        let Some(decimal) = self.decimal() else {
            self.at = start;
            return Err(self.not_a_number("a number"));
        };
        self.round(decimal, start, dtype)
    }

    /// A whole number with or without a sign, rounded as by [`Cursor::real`].
    #[inline]
    pub(super) fn integer(&mut self, dtype: DType) -> Result<f64, ReadErrorKind> {
        self.skip_blanks();
        let start = self.at;
        match self.decimal() {
            Some(decimal) if decimal.is_integer => self.round(decimal, start, dtype),
            _ => {
                self.at = start;
                Err(self.not_a_number("an integer"))
            }
        }
    }

    #[inline]
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b'\n')
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while is_blank(self.peek()) {
            self.at += 1;
        }
    }

    /// Appends the digits at the cursor to `value`, which wraps beyond 19 of them.
    #[inline]
    fn digits(&mut self, value: &mut u64) {
        while let Some(eight) = self.bytes[self.at..].first_chunk::<8>() {
            let (n_digits, parsed) = leading_digits(u64::from_le_bytes(*eight));
            *value = value
                .wrapping_mul(POWERS_OF_TEN[n_digits])
                .wrapping_add(parsed);
            self.at += n_digits;
            if n_digits < 8 {
                return;
            }
        }
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            *value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
    }

    /// Reads a decimal number that ends with its word, or none.
    #[inline]
    fn decimal(&mut self) -> Option<Decimal> {
        let negative = self.peek() == b'-';
        if negative || self.peek() == b'+' {
            self.at += 1;
        }
        let start = self.at;
        let mut digits = 0;
        self.digits(&mut digits);
        let mut n_digits = self.at - start;
        let mut is_integer = true;
        let mut exponent = 0;
        if self.peek() == b'.' {
            is_integer = false;
            self.at += 1;
            let point = self.at;
            self.digits(&mut digits);
            exponent = -((self.at - point) as i64);
            n_digits += self.at - point;
        }
        if n_digits == 0 {
            return None;
        }
        let is_exact =
            n_digits <= MAX_DIGITS || significant_digits(&self.bytes[start..self.at]) <= MAX_DIGITS;
        if matches!(self.peek(), b'e' | b'E' | b'd' | b'D') {
            is_integer = false;
            self.at += 1;
            exponent = exponent.saturating_add(self.exponent()?);
        }
        is_end(self.peek()).then_some(Decimal {
            negative,
            digits,
            exponent,
            is_exact,
            is_integer,
        })
    }

    /// Reads the exponent behind its letter, or none; a huge one is cut, which keeps its effect.
    #[inline]
    fn exponent(&mut self) -> Option<i64> {
        let negative = self.peek() == b'-';
        if negative || self.peek() == b'+' {
            self.at += 1;
        }
        let start = self.at;
        let mut exponent = 0i64;
        while self.peek().is_ascii_digit() {
            let digit = i64::from(self.peek() - b'0');
            exponent = exponent.saturating_mul(10).saturating_add(digit);
            self.at += 1;
        }
        (self.at > start).then_some(if negative { -exponent } else { exponent })
    }

    /// The nearest number to a decimal whose text begins at `start` and ends at the cursor.
    #[inline]
    fn round(&self, decimal: Decimal, start: usize, dtype: DType) -> Result<f64, ReadErrorKind> {
        let text = &self.bytes[start..self.at];
        let double = decimal
            .exact_quotient()
            .unwrap_or_else(|| slow::<f64>(text));
        let value = match dtype {
            DType::F32 => single(double).unwrap_or_else(|| f64::from(slow::<f32>(text))),
            _ => double,
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err(ReadErrorKind::Overflow {
                dtype: dtype.name(),
                found: quote(text),
            })
        }
    }

    /// The error for the word at the cursor where a number was expected.
    #[cold]
    fn not_a_number(&mut self, expected: &'static str) -> ReadErrorKind {
        let start = self.at;
        let word = self.word().to_ascii_lowercase();
        self.at = start;
        let unsigned = word
            .strip_prefix(b"-")
            .or(word.strip_prefix(b"+"))
            .unwrap_or(&word);
        if unsigned.starts_with(b"nan") || unsigned.starts_with(b"inf") {
            return ReadErrorKind::NotFinite {
                found: self.found(),
            };
        }
        self.unexpected(expected)
    }

    /// The error for the word at the cursor where something else was expected.
    #[cold]
    pub(super) fn unexpected(&mut self, expected: &'static str) -> ReadErrorKind {
        ReadErrorKind::Unexpected {
            expected,
            found: self.found(),
        }
    }

    fn found(&mut self) -> Cow<'static, str> {
        quote(self.word())
    }
}

/// The most digits that fit into 64 bits, whatever they are.
const MAX_DIGITS: usize = 19;

/// `digits * 10^exponent`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    negative: bool,
    digits: u64,
    exponent: i64,
    /// Whether `digits` has not wrapped.
    is_exact: bool,
    /// Whether the text had neither point nor exponent.
    is_integer: bool,
}

impl Decimal {
    /// The nearest double, where one product or quotient of doubles gives it.
    #[inline]
    fn exact_quotient(self) -> Option<f64> {
        const POWERS: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
        ];
        if !self.is_exact || self.digits > 1 << 53 {
            return None;
        }
        let digits = self.digits as f64;
        let power = POWERS.get(self.exponent.unsigned_abs() as usize)?;
        let magnitude = if self.exponent < 0 {
            digits / power
        } else {
            digits * power
        };
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

/// A double as the nearest single, if rounding a decimal to the double first cannot have changed
/// which single that is: the double is not halfway between two singles.
#[inline]
fn single(double: f64) -> Option<f64> {
    const HALFWAY: u64 = 1 << 28;
    let is_halfway = double.to_bits() & (2 * HALFWAY - 1) == HALFWAY;
    let is_subnormal = double != 0.0 && double.abs() < f64::from(f32::MIN_POSITIVE);
    (!is_halfway && !is_subnormal).then(|| f64::from(double as f32))
}

/// The parser of the standard library, for text that [`Cursor::decimal`] has accepted.
#[cold]
fn slow<F: std::str::FromStr + Default>(text: &[u8]) -> F {
    let parse = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    parse(text)
        .or_else(|| {
            // Fortran's exponent letter is unknown to the standard library.
            let is_letter = |byte: u8| matches!(byte, b'd' | b'D');
            let with_e = |&byte: &u8| if is_letter(byte) { b'e' } else { byte };
            parse(&text.iter().map(with_e).collect::<Vec<_>>())
        })
        .expect("the standard library reads every decimal that the cursor accepts")
}

/// The number of digits in `text` behind leading zeros and without the point.
#[cold]
fn significant_digits(text: &[u8]) -> usize {
    let leading = text
        .iter()
        .take_while(|&&byte| matches!(byte, b'0' | b'.'))
        .count();
    text[leading..].iter().filter(|&&byte| byte != b'.').count()
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

/// How many of eight bytes, the first of which is the lowest, are ASCII digits before one that is
/// not, and the number that they are. All together: numbers differ in length, so a loop over their
/// digits ends where the processor does not expect it.
#[inline]
fn leading_digits(text: u64) -> (usize, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let digits = text ^ (ONES * 0x30);
    // A byte above 9 carries into its high half when 6 is added, or has that half set already; up
    // to the first such byte none carries into the next one.
    let others = (digits | digits.wrapping_add(ONES * 6)) & (ONES * 0xf0);
    let n_digits = (others.trailing_zeros() / 8) as usize;
    // Digits end in the highest byte, behind zeros: two shifts, since one by 64 bits is none.
    let unused = 8 * (8 - n_digits) as u32;
    let digits = digits << (unused / 2) << (unused / 2);
    // Join neighbours: bytes to pairs, pairs to fours, fours to eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let all = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (n_digits, all)
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[inline]
fn is_end(byte: u8) -> bool {
    is_blank(byte) || byte == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let double = text.replace(['d', 'D'], "e").parse::<f64>().unwrap();
        let single = text.replace(['d', 'D'], "e").parse::<f32>().unwrap();
        let read = |dtype| Cursor::new(text.as_bytes()).real(dtype).ok();
        let bits = |x: f64| x.is_finite().then(|| x.to_bits());
        assert_eq!(read(DType::F64).map(f64::to_bits), bits(double), "{text}");
        assert_eq!(
            read(DType::F32).map(f64::to_bits),
            bits(single.into()),
            "{text}"
        );
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
        ] {
            check(text);
        }
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in [
            "", ".", "-", "e5", "1e", "1e+", "1x", "1.2.3", "--1", "0x10", "1_0", "1,5",
        ] {
            let mut cursor = Cursor::new(text.as_bytes());
            assert!(cursor.real(DType::F64).is_err(), "{text}");
        }
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
            assert_eq!(leading_digits(u64::from_le_bytes(bytes)), digits);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(
            text in "[-+]?([0-9]{1,25}|[0-9]{0,12}\\.[0-9]{1,25})([eEdD][-+]?[0-9]{1,3})?",
        ) {
            check(&text);
        }

        #[test]
        fn shortest_text_reads_back(bits: u64) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            check(&format!("{double:e}"));
            let single = f32::from_bits(bits as u32);
            prop_assume!(single.is_finite());
            check(&format!("{single:e}"));
        }
    }
}
