//! Numbers from text: a cursor over bytes that reads tokens of a line.
//!
//! The cursor never leaves its line on its own, and the end of the text counts as a newline.
//! Reals are rounded once, to the nearest element of the type wanted (`sparsefuse_dense::decimal`).

use super::error::{ReadErrorKind, quote};
use sparsefuse_dense::decimal::{self, Decimal};
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

    /// Goes to the beginning of a line.
    pub(super) fn go_to(&mut self, offset: usize) {
        self.at = offset;
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
        let (value, end) = decimal::digits(self.bytes, start, 0);
        self.at = end;
        let n_digits = end - start;
        let is_short =
            n_digits <= MAX_DIGITS || self.leading_zeros(start, end) + MAX_DIGITS >= n_digits;
        if n_digits == 0 || !is_short || !is_end(self.peek()) {
            self.at = start;
            return Err(self.unexpected(expected));
        }
        Ok(value)
    }

    #[cold]
    fn leading_zeros(&self, start: usize, end: usize) -> usize {
        let digits = self.bytes[start..end].iter();
        digits.take_while(|&&byte| byte == b'0').count()
    }

    /// A finite real number, rounded to the nearest of type `dtype` (single or double).
    #[inline]
    pub(super) fn real(&mut self, dtype: DType) -> Result<f64, ReadErrorKind> {
        self.skip_blanks();
        match self.decimal() {
            Some(decimal) => self.round(&decimal, dtype),
            None => Err(self.not_a_number("a number")),
        }
    }

    /// A whole number with or without a sign, rounded as by [`Cursor::real`].
    #[inline]
    pub(super) fn integer(&mut self, dtype: DType) -> Result<f64, ReadErrorKind> {
        self.skip_blanks();
        match self.decimal() {
            Some(decimal) if decimal.is_integer => self.round(&decimal, dtype),
            _ => Err(self.not_a_number("an integer")),
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

    /// The decimal number at the cursor that ends with its word, or none.
    #[inline]
    fn decimal(&self) -> Option<Decimal<'a>> {
        let (decimal, end) = decimal::scan(self.bytes, self.at, true)?;
        let behind = self.bytes.get(end).copied().unwrap_or(b'\n');
        is_end(behind).then_some(decimal)
    }

    /// The nearest number to the decimal at the cursor, which goes behind it.
    #[inline]
    fn round(&mut self, decimal: &Decimal<'_>, dtype: DType) -> Result<f64, ReadErrorKind> {
        self.at += decimal.text().len();
        let value = match dtype {
            DType::F32 => f64::from(decimal.single()),
            _ => decimal.double(),
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err(ReadErrorKind::Overflow {
                dtype: dtype.name(),
                found: quote(decimal.text()),
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
    fn numbers_are_rounded_once_or_out_of_range() {
        for text in [
            "1.0D+03",
            "+7",
            "1e400",
            "1e39",
            "3.4028236e38",
            "1e-400",
            "-0",
            "5.",
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
}
