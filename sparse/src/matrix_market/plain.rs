//! Plain lines, which are nearly all lines of nearly all files: numbers with blanks between them
//! and around them.
//!
//! What is plain and right is read here in a loop that keeps its place in a register; everything
//! else, and every error, is left to the cursor, which begins the line anew. So a line means the
//! same, and is refused with the same words, in both.

use super::entries::Entries;
use super::expand::mirror;
use super::header::Header;
use super::kinds::{FieldKind, Symmetry};
use sparsefuse_dense::decimal;
use sparsefuse_kernels::{DType, Element, Field, Numeric};

/// Reads the entries of plain lines from byte `at` on, and returns where the first other line, or
/// the end of the text, is.
pub(super) fn read<T: Field>(
    header: &Header,
    text: &[u8],
    at: usize,
    entries: &mut Entries<T>,
) -> usize {
    let is_single = <T::Real as Element>::DTYPE == DType::F32;
    let real = |at| real(text, at, is_single);
    match header.field {
        FieldKind::Pattern => lines(header, text, at, entries, |at| {
            Some((<T as Numeric>::ONE, at))
        }),
        FieldKind::Real => lines(header, text, at, entries, |at| {
            let (value, end) = real(behind_blank(text, at)?)?;
            Some((T::from_parts(value, 0.0), end))
        }),
        FieldKind::Integer => lines(header, text, at, entries, |at| {
            let (value, end) = integer(text, behind_blank(text, at)?, is_single)?;
            Some((T::from_parts(value, 0.0), end))
        }),
        FieldKind::Complex => lines(header, text, at, entries, |at| {
            let (re, end) = real(behind_blank(text, at)?)?;
            let (im, end) = real(behind_blank(text, end)?)?;
            Some((T::from_parts(re, im), end))
        }),
    }
}

/// `value` reads the value behind the indices, and says where it ends.
#[inline(always)]
fn lines<T: Field>(
    header: &Header,
    text: &[u8],
    mut at: usize,
    entries: &mut Entries<T>,
    value: impl Fn(usize) -> Option<(T, usize)>,
) -> usize {
    let (n_rows, n_cols) = (header.n_rows as u64, header.n_cols as u64);
    let symmetry = header.symmetry;
    loop {
        let line = || {
            let (row, end) = index(text, behind_blanks(text, at))?;
            let (col, end) = index(text, behind_blank(text, end)?)?;
            let (val, end) = value(end)?;
            let next = next_line(text, behind_blanks(text, end))?;
            // The first is number 1, and 0 - 1 is large.
            let (row, col) = (row.wrapping_sub(1), col.wrapping_sub(1));
            (row < n_rows && col < n_cols).then_some((row as u32, col as u32, val, next))
        };
        let Some((row, col, val, next)) = line() else {
            return at;
        };
        match symmetry {
            Symmetry::General => entries.push(row, col, val),
            _ if row > col => {
                entries.push(row, col, val);
                entries.push(col, row, mirror(symmetry, val));
            }
            Symmetry::Symmetric if row == col => entries.push(row, col, val),
            // On the diagonal, and above it, not everything is allowed.
            _ => return at,
        }
        entries.n_stored += 1;
        at = next;
    }
}

/// Behind the blanks that begin at byte `at`, if there are any.
#[inline(always)]
fn behind_blank(text: &[u8], at: usize) -> Option<usize> {
    let end = behind_blanks(text, at);
    (end > at).then_some(end)
}

/// Behind the blanks that byte `at` may begin.
#[inline(always)]
fn behind_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

/// The line behind the one that ends at byte `end`.
#[inline(always)]
fn next_line(text: &[u8], end: usize) -> Option<usize> {
    match text.get(end) {
        Some(b'\n') => Some(end + 1),
        Some(b'\r') => (text.get(end + 1) == Some(&b'\n')).then_some(end + 2),
        _ => None,
    }
}

/// The index at byte `at`, and where it ends.
#[inline(always)]
fn index(text: &[u8], at: usize) -> Option<(u64, usize)> {
    match decimal::few_digits(text, at) {
        Some((value, n_digits, _)) => Some((value, at + n_digits)),
        None => long_index(text, at),
    }
}

#[inline(never)]
fn long_index(text: &[u8], at: usize) -> Option<(u64, usize)> {
    /// As many digits fit into 64 bits, whatever they are.
    const MOST: usize = 19;
    let (value, end) = decimal::digits(text, at, 0);
    (1..=MOST).contains(&(end - at)).then_some((value, end))
}

/// The finite number at byte `at`, rounded once, and where it ends.
#[inline(always)]
fn real(text: &[u8], at: usize, is_single: bool) -> Option<(f64, usize)> {
    if let Some(found) = small_integer(text, at) {
        return Some(found);
    }
    let (decimal, end) = decimal::scan(text, at, true)?;
    let value = match is_single {
        true => f64::from(decimal.single()),
        false => decimal.double(),
    };
    value.is_finite().then_some((value, end))
}

/// As [`real`], of a number without a point and an exponent.
#[inline(always)]
fn integer(text: &[u8], at: usize, is_single: bool) -> Option<(f64, usize)> {
    small_integer(text, at).or_else(|| {
        let (decimal, _) = decimal::scan(text, at, true)?;
        decimal.is_integer.then(|| real(text, at, is_single))?
    })
}

/// An integer of one to seven digits that ends with its word: it is exact in every type.
#[inline(always)]
fn small_integer(text: &[u8], at: usize) -> Option<(f64, usize)> {
    // Signs come in no order that a processor foresees, so there is no branch.
    let is_negative = text.get(at) == Some(&b'-');
    let first = at + usize::from(is_negative);
    let (magnitude, n_digits, behind) = decimal::few_digits(text, first)?;
    let sign = u64::from(is_negative) << 63;
    let value = f64::from_bits((magnitude as f64).to_bits() | sign);
    matches!(behind, b'\n' | b' ' | b'\r').then_some((value, first + n_digits))
}
