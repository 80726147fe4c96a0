//! Elements as words of a text, and words as elements.

use sparsefuse_kernels::{DType, Element};
use std::fmt::LowerExp;
use std::io::{self, Write};
use std::str::FromStr;

/// The element that a word is, if it is one of this type.
pub(super) fn read<T: Element>(word: &str) -> Option<T> {
    fn number<N: FromStr>(word: &str) -> Option<N> {
        word.parse().ok()
    }
    let f64_bits = |word: &str| number::<f64>(word).map(f64::to_bits);
    let f32_bits = |word: &str| number::<f32>(word).map(|x| u64::from(x.to_bits()));
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

/// Writes an element; floats with this many digits behind the point, or with as few as say which it
/// is.
pub(super) fn write<T: Element>(
    file: &mut impl Write,
    x: T,
    precision: Option<usize>,
) -> io::Result<()> {
    let [first, second] = x.to_bits();
    let f32_of = |bits: u64| f32::from_bits(bits as u32);
    let word = match T::DTYPE {
        DType::F64 => float(f64::from_bits(first), precision),
        DType::F32 => float(f32_of(first), precision),
        DType::ComplexF64 => {
            let parts = [first, second].map(|bits| float(f64::from_bits(bits), precision));
            complex(&parts)
        }
        DType::ComplexF32 => complex(&[first, second].map(|bits| float(f32_of(bits), precision))),
        DType::Bool => first.to_string(),
        DType::I32 | DType::I64 | DType::U32 | DType::U64 => x.to_string(),
    };
    file.write_all(word.as_bytes())
}

/// More than any number has.
const MOST_DIGITS: usize = 2000;

fn float<F: LowerExp + std::fmt::Debug>(x: F, precision: Option<usize>) -> String {
    match precision {
        // Behind these there are zeros.
        Some(digits) => format!("{x:.*e}", digits.min(MOST_DIGITS)),
        None => format!("{x:?}"),
    }
}

fn complex([re, im]: &[String; 2]) -> String {
    let sign = if im.starts_with('-') { "" } else { "+" };
    format!("({re}{sign}{im}j)")
}
