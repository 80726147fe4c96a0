//! Elements as words of a text, and words as elements.

use crate::decimal::{self, Decimal, Notation, Shortest, put_whole};
use sparsefuse_kernels::{DType, Element};
use std::io::Write;
use std::str::FromStr;

/// The element at byte `at` of a line, and where it ends, if it is a number that looks as usual.
pub(super) fn scan<T: Element>(line: &[u8], at: usize) -> Option<(T, usize)> {
    let (number, end) = decimal::scan(line, at, false)?;
    let whole = |is_signed| {
        number
            .whole()
            .filter(|&(negative, _)| is_signed || !negative)
    };
    let signed = || {
        let (negative, magnitude) = whole(true)?;
        let value = i64::try_from(magnitude).ok()?;
        Some(if negative { -value } else { value })
    };
    let bits = match T::DTYPE {
        DType::F64 => number.double().to_bits(),
        DType::F32 => number.single().to_bits().into(),
        DType::I32 => u64::from(i32::try_from(signed()?).ok()? as u32),
        DType::I64 => signed()? as u64,
        DType::U32 => u32::try_from(whole(false)?.1).ok()?.into(),
        DType::U64 => whole(false)?.1,
        DType::ComplexF64 | DType::ComplexF32 | DType::Bool => return None,
    };
    Some((T::from_bits([bits, 0]), end))
}

/// The element that a word is, if it is one of this type.
pub(super) fn read<T: Element>(word: &str) -> Option<T> {
    fn number<N: FromStr>(word: &str) -> Option<N> {
        word.parse().ok()
    }
    /// What is usual in less time.
    fn usual(word: &str) -> Option<Decimal<'_>> {
        let (number, end) = decimal::scan(word.as_bytes(), 0, false)?;
        (end == word.len()).then_some(number)
    }
    let f64_bits = |word: &str| {
        let double = usual(word).map(|number| number.double());
        double.or_else(|| number::<f64>(word)).map(f64::to_bits)
    };
    let f32_bits = |word: &str| {
        let single = usual(word).map(|number| number.single());
        let single = single.or_else(|| number::<f32>(word));
        single.map(|x| u64::from(x.to_bits()))
    };
    let bits = match T::DTYPE {
        DType::F64 => [f64_bits(word)?, 0],
        DType::F32 => [f32_bits(word)?, 0],
        DType::ComplexF64 => parts(word, f64_bits)?,
        DType::ComplexF32 => parts(word, f32_bits)?,
        DType::I32 => [u64::from(number::<i32>(word)? as u32), 0],
        DType::I64 => [number::<i64>(word)? as u64, 0],
        DType::U32 => [u64::from(number::<u32>(word)?), 0],
        DType::U64 => [number::<u64>(word)?, 0],
        DType::Bool => match word {
            "0" | "False" | "false" => [0, 0],
            "1" | "True" | "true" => [1, 0],
            _ => return None,
        },
    };
    Some(T::from_bits(bits))
}

/// The parts of a complex number: `1.5-2j`, `1.5+-2j`, `1.5`, `2j`, in brackets or not.
fn parts(word: &str, bits: impl Fn(&str) -> Option<u64>) -> Option<[u64; 2]> {
    let inner = word
        .strip_prefix('(')
        .and_then(|word| word.strip_suffix(')'));
    let word = inner.unwrap_or(word).trim();
    let Some(word) = word.strip_suffix(['j', 'J']) else {
        return Some([bits(word)?, bits("0")?]);
    };
    // The last sign that is not the first letter and not one of an exponent.
    let is_between = |&(at, c): &(usize, char)| {
        let begins = word[..at].chars().next_back();
        (c == '+' || c == '-') && begins.is_some_and(|c| !matches!(c, 'e' | 'E'))
    };
    match word.char_indices().rev().find(is_between) {
        Some((at, _)) => {
            let (re, im) = word.split_at(at);
            let re = match im.starts_with('-') {
                true => re.strip_suffix('+').unwrap_or(re),
                false => re,
            };
            Some([bits(re)?, bits(im)?])
        }
        None => Some([bits("0")?, bits(word)?]),
    }
}

/// Appends an element; floats with this many digits behind the point, or with as few as say which
/// it is.
pub(super) fn write<T: Element>(text: &mut Vec<u8>, x: T, precision: Option<usize>) {
    let [first, second] = x.to_bits();
    let f32_of = |bits: u64| f32::from_bits(bits as u32);
    let put_signed = |text: &mut Vec<u8>, x: i64| {
        if x < 0 {
            text.push(b'-');
        }
        put_whole(text, x.unsigned_abs());
    };
    match T::DTYPE {
        DType::F64 => put_double(text, f64::from_bits(first), precision),
        DType::F32 => put_single(text, f32_of(first), precision),
        DType::ComplexF64 => put_complex(text, [first, second], |text, bits| {
            put_double(text, f64::from_bits(bits), precision);
        }),
        DType::ComplexF32 => put_complex(text, [first, second], |text, bits| {
            put_single(text, f32_of(bits), precision);
        }),
        DType::Bool | DType::U32 | DType::U64 => put_whole(text, first),
        DType::I32 => put_signed(text, i64::from(first as u32 as i32)),
        DType::I64 => put_signed(text, first as i64),
    }
}

/// More than any number has.
const MOST_DIGITS: usize = 2000;

/// The shortest notation that tells a whole number from an integer, as `Debug` chooses it.
fn notation(magnitude: f64) -> Notation {
    match magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        true => Notation::Pointed,
        false => Notation::Scientific,
    }
}

fn put_double(text: &mut Vec<u8>, x: f64, precision: Option<usize>) {
    match precision {
        None if x.is_finite() => Shortest::of_double(x).put(text, notation(x.abs())),
        None => put(text, format_args!("{x:?}")),
        // Behind these there are zeros.
        Some(digits) => put(text, format_args!("{x:.*e}", digits.min(MOST_DIGITS))),
    }
}

fn put_single(text: &mut Vec<u8>, x: f32, precision: Option<usize>) {
    match precision {
        None if x.is_finite() => {
            // The limits of the notation are singles.
            let is_pointed = x == 0.0 || (1e-4..1e16).contains(&x.abs());
            let notation = match is_pointed {
                true => Notation::Pointed,
                false => Notation::Scientific,
            };
            Shortest::of_single(x).put(text, notation);
        }
        None => put(text, format_args!("{x:?}")),
        Some(digits) => put(text, format_args!("{x:.*e}", digits.min(MOST_DIGITS))),
    }
}

fn put_complex(text: &mut Vec<u8>, [re, im]: [u64; 2], put: impl Fn(&mut Vec<u8>, u64)) {
    text.push(b'(');
    put(text, re);
    let behind = text.len();
    put(text, im);
    if text[behind] != b'-' {
        text.insert(behind, b'+');
    }
    text.extend_from_slice(b"j)");
}

fn put(text: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("memory takes all that is written to it");
}
