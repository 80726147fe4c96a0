//! Elements as text, as NumPy shows them.
//!
//! Of more than 1000 elements the first three and the last three along each axis are shown, and
//! read. Floats have as few digits as say which number it is, at most eight behind the point (or as
//! many as the format says), and one format for all: with exponents where they differ much in size.
//! Lines end after 75 letters.

use crate::array::Array;
use crate::scalar::Scalar;
use crate::slices::step;
use sparsefuse_kernels::{DType, Element};
use sparsefuse_runtime::Error;
use std::fmt;
use std::ops::Range;

/// Elements from which on most are left out.
const MANY: usize = 1000;
/// Elements at each end of an axis of which some are left out.
const ENDS: usize = 3;
/// Letters of a line.
const WIDTH: usize = 75;
/// What stands for elements that are left out.
const GAP: &str = "...";

/// Shows the value, as [`Display`](fmt::Display) of its type does; executes what has been issued,
/// so every rank must ask. A failure is shown in place of the value.
///
/// ```
/// use sparsefuse_dense::Vector;
///
/// let mean = Vector::from_vec(vec![1.0, 2.0, 4.0]).mean();
/// assert_eq!(format!("{mean:.3}"), "2.333");
/// ```
impl<T: Element> fmt::Display for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(value) => fmt::Display::fmt(&value, f),
            Err(error) => write!(f, "({error})"),
        }
    }
}

/// Shows elements as NumPy does, all of up to 1000 and the ends of more, with at most eight digits
/// behind the point or as many as the format says; executes what has been issued, so every rank
/// must ask. A failure is shown in place of the elements.
///
/// ```
/// use sparsefuse_dense::{Array, Vector};
///
/// let a = Array::from_shape_vec([2, 2], vec![1.0, -0.5, 2.25, 10.0])?;
/// assert_eq!(a.to_string(), "[[ 1.   -0.5 ]\n [ 2.25 10.  ]]");
/// assert_eq!(Vector::<i64>::arange(5000).to_string(), "[   0    1    2 ... 4997 4998 4999]");
/// assert_eq!(format!("{:.2}", Vector::linspace(0.0, 1.0, 4)), "[0.   0.33 0.67 1.  ]");
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
impl<T: Element, const D: usize> fmt::Display for Array<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, gaps) = match shown(self) {
            Ok(shown) => shown,
            Err(error) => return write!(f, "({error})"),
        };
        let elements = match shown.to_vec() {
            Ok(elements) => elements,
            Err(error) => return write!(f, "({error})"),
        };
        if elements.is_empty() {
            return f.write_str("[]");
        }
        let text = Text {
            items: items(&elements, f.precision().unwrap_or(8)),
            shape: &shown.shape(),
            gaps: &gaps,
        };
        let mut made = String::new();
        text.write(0, 0, &mut made);
        f.write_str(&made)
    }
}

/// What is shown of an array, and along which axes something is left out in the middle.
fn shown<T: Element, const D: usize>(x: &Array<T, D>) -> Result<(Array<T, D>, [bool; D]), Error> {
    if x.len() <= MANY {
        return Ok((x.clone(), [false; D]));
    }
    let gaps = x.shape().map(|n| n > 2 * ENDS);
    Ok((ends(x, 0, &gaps)?, gaps))
}

/// The first and the last elements along this axis and those behind it, where there are gaps. Views
/// are cut before anything is copied.
fn ends<T: Element, const D: usize>(
    x: &Array<T, D>,
    axis: usize,
    gaps: &[bool; D],
) -> Result<Array<T, D>, Error> {
    let Some(&has_gap) = gaps.get(axis) else {
        return Ok(x.clone());
    };
    if !has_gap {
        return ends(x, axis + 1, gaps);
    }
    let some = |from: usize| {
        let ranges = std::array::from_fn(|d| match d == axis {
            true => step(from..from + ENDS, 1),
            false => step(.., 1),
        });
        ends(&x.try_slice(ranges)?, axis + 1, gaps)
    };
    let (first, last) = (some(0)?, some(x.shape()[axis] - ENDS)?);
    Array::try_concatenate(axis, &[&first, &last])
}

/// The texts of elements, all equally long.
fn items<T: Element>(elements: &[T], precision: usize) -> Vec<String> {
    let bits = |x: &T| x.to_bits();
    let f64_of = |[re, _]: [u64; 2]| Number::of(f64::from_bits(re));
    let f32_of = |[re, _]: [u64; 2]| Number::of(f32::from_bits(re as u32));
    let swapped = |[re, im]: [u64; 2]| [im, re];
    match T::DTYPE {
        DType::F64 => floats(elements.iter().map(bits).map(f64_of), precision, false),
        DType::F32 => floats(elements.iter().map(bits).map(f32_of), precision, false),
        DType::ComplexF64 => complex(
            floats(elements.iter().map(bits).map(f64_of), precision, false),
            floats(
                elements.iter().map(bits).map(swapped).map(f64_of),
                precision,
                true,
            ),
        ),
        DType::ComplexF32 => complex(
            floats(elements.iter().map(bits).map(f32_of), precision, false),
            floats(
                elements.iter().map(bits).map(swapped).map(f32_of),
                precision,
                true,
            ),
        ),
        DType::Bool | DType::I32 | DType::I64 | DType::U32 | DType::U64 => {
            aligned(elements.iter().map(T::to_string).collect())
        }
    }
}

/// Words, with spaces before the shorter ones.
fn aligned(words: Vec<String>) -> Vec<String> {
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.iter().map(|word| format!("{word:>width$}")).collect()
}

/// Real and imaginary parts together.
fn complex(re: Vec<String>, im: Vec<String>) -> Vec<String> {
    let joined = |(re, im): (String, String)| {
        let digits = im.trim_end();
        format!("{re}{digits}j{}", &im[digits.len()..])
    };
    re.into_iter().zip(im).map(joined).collect()
}

/// A float, and the fewest digits that say which one of its type it is.
struct Number {
    value: f64,
    plain: String,
    with_exponent: String,
    /// The sizes that are written without an exponent: NumPy compares in the type.
    without_exponent: Range<f64>,
}

impl Number {
    fn of<R: Into<f64> + fmt::Display + fmt::LowerExp + Copy>(number: R) -> Self {
        Self {
            value: number.into(),
            plain: number.to_string(),
            with_exponent: format!("{number:e}"),
            without_exponent: match size_of::<R>() {
                4 => f64::from(1e-4_f32)..1e6,
                _ => 1e-4..1e8,
            },
        }
    }
}

/// Floats in one format; with a sign before each of them where `is_signed`.
fn floats(numbers: impl Iterator<Item = Number>, precision: usize, is_signed: bool) -> Vec<String> {
    let numbers: Vec<Number> = numbers.collect();
    let sizes = || {
        let sizes = numbers.iter().map(|number| number.value.abs());
        sizes.filter(|size| size.is_finite() && *size > 0.0)
    };
    let largest = sizes().fold(0.0, f64::max);
    let smallest = sizes().fold(f64::INFINITY, f64::min);
    let plain = numbers
        .first()
        .map(|number| number.without_exponent.clone());
    let Range { start, end } = plain.unwrap_or(1e-4..1e8);
    let has_exponents = largest >= end || smallest < start || largest > 1000.0 * smallest;
    let digits_behind = |text: &str| text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let finite = || numbers.iter().filter(|number| number.value.is_finite());
    // A NaN is written without its sign.
    let is_negative = |value: f64| value.is_sign_negative() && !value.is_nan();
    let signed = |number: &Number, text: String| match is_signed && !is_negative(number.value) {
        true => format!("+{text}"),
        false => text,
    };
    // The digits of a number are those of which the last is not 0 when it is rounded.
    let rounded = |number: &Number| {
        let mantissa = number.with_exponent.split('e').next().unwrap_or_default();
        match digits_behind(mantissa) > precision {
            true => format!("{:.precision$e}", number.value),
            false => number.with_exponent.clone(),
        }
    };
    let digits_of_rounded = |number: &Number| {
        let text = rounded(number);
        let mantissa = text.split('e').next().unwrap_or_default();
        match mantissa.contains('.') {
            true => digits_behind(mantissa.trim_end_matches('0')),
            false => 0,
        }
    };
    let digits = finite().map(|number| match has_exponents {
        true => digits_of_rounded(number),
        false => digits_behind(trimmed(&number.plain, number.value, precision).trim_end()),
    });
    let most = digits.max().unwrap_or(0).min(precision);
    let lengths = finite().map(|number| {
        let text = rounded(number);
        let exponent = text.split('e').next_back().unwrap_or_default();
        exponent.trim_start_matches('-').len()
    });
    let digits_of_exponent = lengths.max().unwrap_or(0).max(2);
    let words = numbers.iter().map(|number| {
        let text = match (number.value.is_finite(), has_exponents) {
            (false, _) => number.plain.to_lowercase(),
            (true, true) => exponent(number.value, most, digits_of_exponent),
            (true, false) => {
                let text = trimmed(&number.plain, number.value, precision);
                let spaces = " ".repeat(most - digits_behind(&text));
                text + &spaces
            }
        };
        signed(number, text)
    });
    aligned(words.collect())
}

/// A number with a point and at most `precision` digits behind it, without zeros at the end.
fn trimmed(plain: &str, value: f64, precision: usize) -> String {
    let behind = plain.split_once('.').map_or(0, |(_, behind)| behind.len());
    let text = match behind > precision {
        true => format!("{value:.precision$}"),
        false => plain.to_owned(),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').to_owned(),
        false => format!("{text}."),
    }
}

/// A number with `digits` digits behind the point, and an exponent of at least
/// `digits_of_exponent`.
fn exponent(value: f64, digits: usize, digits_of_exponent: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits == 0 { "." } else { "" };
    let (sign, size) = match exponent.strip_prefix('-') {
        Some(size) => ('-', size),
        None => ('+', exponent),
    };
    format!("{mantissa}{point}e{sign}{size:0>digits_of_exponent$}")
}

/// Elements in brackets.
struct Text<'a> {
    items: Vec<String>,
    shape: &'a [usize],
    gaps: &'a [bool],
}

impl Text<'_> {
    /// What there is along an axis and those behind it, of the elements from `first` on.
    fn write(&self, axis: usize, first: usize, made: &mut String) {
        let Some(&n) = self.shape.get(axis) else {
            made.push_str(&self.items[first]);
            return;
        };
        let behind = &self.shape[axis + 1..];
        made.push('[');
        if behind.is_empty() {
            self.write_line(axis, &self.items[first..first + n], made);
        } else {
            let len: usize = behind.iter().product();
            let new_line = format!("{}{}", "\n".repeat(behind.len()), " ".repeat(axis + 1));
            for i in 0..n {
                if self.gaps[axis] && i == ENDS {
                    made.push_str(&new_line);
                    made.push_str(GAP);
                }
                if i > 0 {
                    made.push_str(&new_line);
                }
                self.write(axis + 1, first + i * len, made);
            }
        }
        made.push(']');
    }

    /// Elements along the last axis, on as many lines as they take.
    fn write_line(&self, axis: usize, items: &[String], made: &mut String) {
        let (before, after) = items.split_at(if self.gaps[axis] { ENDS } else { 0 });
        let gap = self.gaps[axis].then_some(GAP);
        let words = before.iter().map(String::as_str).chain(gap);
        let mut column = axis + 1;
        for (number, word) in words.chain(after.iter().map(String::as_str)).enumerate() {
            if number > 0 && column + 1 + word.len() >= WIDTH - axis {
                made.push('\n');
                made.push_str(&" ".repeat(axis + 1));
                column = axis + 1;
            } else if number > 0 {
                made.push(' ');
                column += 1;
            }
            made.push_str(word);
            column += word.len();
        }
    }
}
