//! The numbers of an archive, of any type and order of bytes, as indices and as elements.

use sparsefuse_dense::npz::{Archive, Member};
use sparsefuse_kernels::{DType, Numeric};
use sparsefuse_runtime::{Error, reserve};
use std::ops::Range;
use std::path::Path;

/// The name of the array of values.
pub(super) const DATA: &str = "data";

/// What kind of numbers an array has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Real,
    Complex,
}

/// How the numbers of an array are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) kind: Kind,
    /// Bytes of a number.
    size: usize,
    is_big_endian: bool,
}

/// A number as a file has it, without rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Numbers {
    /// How NumPy's type of this name is stored; none where it is no number that is read.
    pub(super) fn of(descr: &str) -> Option<Self> {
        let (order, name) = descr.split_at_checked(1)?;
        let (kind, size) = match name {
            "b1" => (Kind::Bool, 1),
            "i1" | "i2" | "i4" | "i8" => (Kind::Signed, name[1..].parse().ok()?),
            "u1" | "u2" | "u4" | "u8" => (Kind::Unsigned, name[1..].parse().ok()?),
            "f4" | "f8" => (Kind::Real, name[1..].parse().ok()?),
            "c8" | "c16" => (Kind::Complex, name[1..].parse().ok()?),
            _ => return None,
        };
        let is_big_endian = order == ">";
        Some(Self {
            kind,
            size,
            is_big_endian,
        })
    }

    /// Gives each of these numbers to `take`. The usual types have a loop each, in which nothing
    /// asks for the type again.
    #[inline]
    fn each<E>(self, bytes: &[u8], mut take: impl FnMut(Number) -> Result<(), E>) -> Result<(), E> {
        let (fours, eights) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
        match (self.kind, self.size, self.is_big_endian) {
            (Kind::Signed, 4, false) => fours
                .iter()
                .try_for_each(|&it| take(Number::Whole(i32::from_le_bytes(it).into()))),
            (Kind::Signed, 8, false) => eights
                .iter()
                .try_for_each(|&it| take(Number::Whole(i64::from_le_bytes(it).into()))),
            (Kind::Real, 4, false) => fours
                .iter()
                .try_for_each(|&it| take(Number::Real(f32::from_le_bytes(it).into()))),
            (Kind::Real, 8, false) => eights
                .iter()
                .try_for_each(|&it| take(Number::Real(f64::from_le_bytes(it)))),
            _ => bytes
                .chunks_exact(self.size)
                .try_for_each(|it| take(self.number(it))),
        }
    }

    /// Appends the usual numbers as elements of the same type, if all of them are finite; else
    /// nothing, and false is returned.
    fn append_as_they_are<T: Numeric>(self, bytes: &[u8], vals: &mut Vec<T>) -> bool {
        let is_same =
            !self.is_big_endian && self.kind == Kind::Real && self.size == T::DTYPE.size();
        let len = vals.len();
        match T::DTYPE {
            DType::F64 if is_same => {
                let eights = bytes.as_chunks::<8>().0.iter();
                vals.extend(eights.map(|&it| T::from_bits([u64::from_le_bytes(it), 0])));
            }
            DType::F32 if is_same => {
                let fours = bytes.as_chunks::<4>().0.iter();
                vals.extend(fours.map(|&it| T::from_bits([u32::from_le_bytes(it).into(), 0])));
            }
            _ => return false,
        }
        // Without a way out in the middle, which makes it slower than to look at all.
        let are_finite = vals[len..]
            .iter()
            .fold(true, |all, &val| all & is_finite(val));
        if !are_finite {
            vals.truncate(len);
        }
        are_finite
    }

    /// Appends the usual indices, if all of them lie in `within`; else nothing, and false is
    /// returned.
    fn append_indices<I>(
        self,
        bytes: &[u8],
        within: &Range<i64>,
        narrow: &impl Fn(i64) -> I,
        indices: &mut Vec<I>,
    ) -> bool {
        let is_inside = |index: i64| index >= within.start && index < within.end;
        match (self.kind, self.size, self.is_big_endian) {
            (Kind::Signed, 4, false) => {
                let fours = || bytes.as_chunks::<4>().0.iter();
                let of = |&it: &[u8; 4]| i64::from(i32::from_le_bytes(it));
                let are_inside = fours().fold(true, |all, it| all & is_inside(of(it)));
                if are_inside {
                    indices.extend(fours().map(|it| narrow(of(it))));
                }
                are_inside
            }
            (Kind::Signed, 8, false) => {
                let eights = || bytes.as_chunks::<8>().0.iter();
                let of = |&it: &[u8; 8]| i64::from_le_bytes(it);
                let are_inside = eights().fold(true, |all, it| all & is_inside(of(it)));
                if are_inside {
                    indices.extend(eights().map(|it| narrow(of(it))));
                }
                are_inside
            }
            _ => false,
        }
    }

    fn number(self, bytes: &[u8]) -> Number {
        let bits = |part: &[u8]| {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            if self.is_big_endian {
                word[..part.len()].reverse();
            }
            u64::from_le_bytes(word)
        };
        let real = |part: &[u8]| match part.len() {
            4 => f64::from(f32::from_bits(bits(part) as u32)),
            _ => f64::from_bits(bits(part)),
        };
        match self.kind {
            Kind::Bool => Number::Whole(i128::from(bytes[0] != 0)),
            Kind::Unsigned => Number::Whole(i128::from(bits(bytes))),
            Kind::Signed => {
                let unused = 64 - 8 * self.size as u32;
                Number::Whole(i128::from(((bits(bytes) << unused) as i64) >> unused))
            }
            Kind::Real => Number::Real(real(bytes)),
            Kind::Complex => {
                let (re, im) = bytes.split_at(self.size / 2);
                Number::Complex(real(re), real(im))
            }
        }
    }
}

/// Whether an element is neither infinite nor not a number, nor a part of it.
pub(super) fn is_finite<T: Numeric>(value: T) -> bool {
    value.minus(value) == T::ZERO
}

/// Refuses an archive whose values are of a type that is not read into `T`.
pub(super) fn check_type<T: Numeric>(archive: &Archive) -> Result<(), Error> {
    let member = archive.member(DATA)?;
    let is_whole = !T::DTYPE.is_complex() && !T::DTYPE.is_real_float();
    let found = Numbers::of(member.descr()).map(|numbers| numbers.kind);
    let expected = match found {
        Some(Kind::Bool | Kind::Signed | Kind::Unsigned) => return Ok(()),
        Some(Kind::Real) if !is_whole => return Ok(()),
        Some(Kind::Complex) if T::DTYPE.is_complex() => return Ok(()),
        Some(Kind::Real | Kind::Complex) if is_whole => "whole numbers",
        Some(Kind::Complex) => "real numbers",
        _ => "numbers of 32 or 64 bits or whole ones",
    };
    let expected = format!("{expected}, to be read into {}", T::DTYPE);
    Err(member.error(expected, format!("'{}'", member.descr())))
}

/// The element that a number is, rounded once; none where it is out of range.
fn element<T: Numeric>(number: Number) -> Option<T> {
    let whole = |bits: Option<u64>| bits.map(|bits| [bits, 0]);
    let bits = match (T::DTYPE, number) {
        (DType::F64 | DType::ComplexF64, Number::Whole(x)) => Some([(x as f64).to_bits(), 0]),
        (DType::F32 | DType::ComplexF32, Number::Whole(x)) => {
            Some([u64::from((x as f32).to_bits()), 0])
        }
        (DType::F64 | DType::ComplexF64, Number::Real(x)) => Some([x.to_bits(), 0]),
        (DType::F32 | DType::ComplexF32, Number::Real(x)) => single(x).map(|re| [re, 0]),
        (DType::ComplexF64, Number::Complex(re, im)) => Some([re.to_bits(), im.to_bits()]),
        (DType::ComplexF32, Number::Complex(re, im)) => {
            single(re).and_then(|re| Some([re, single(im)?]))
        }
        (DType::I32, Number::Whole(x)) => whole(i32::try_from(x).ok().map(|x| u64::from(x as u32))),
        (DType::I64, Number::Whole(x)) => whole(i64::try_from(x).ok().map(|x| x as u64)),
        (DType::U32, Number::Whole(x)) => whole(u32::try_from(x).ok().map(u64::from)),
        (DType::U64, Number::Whole(x)) => whole(u64::try_from(x).ok()),
        // Such types have been refused.
        _ => None,
    };
    bits.map(T::from_bits)
}

/// The bits of the nearest `f32`; none where that is infinite and the number is not.
fn single(x: f64) -> Option<u64> {
    let rounded = x as f32;
    (rounded.is_finite() || !x.is_finite()).then_some(u64::from(rounded.to_bits()))
}

/// The values of a range of a member, of which `place` says the row and column of each, from 0 in
/// the range; none where it is outside the matrix.
pub(super) fn values<T: Numeric>(
    member: Member<'_>,
    range: Range<usize>,
    place: impl Fn(usize) -> Option<(u64, u64)>,
) -> Result<Vec<T>, Error> {
    let numbers = numbers_of(&member, "numbers of 32 or 64 bits or whole ones")?;
    let mut vals: Vec<T> = reserve(range.len())?;
    let name = member.place().to_owned();
    member.read(range, |bytes| {
        if numbers.append_as_they_are(bytes, &mut vals) {
            return Ok(());
        }
        numbers.each(bytes, |number| {
            let value = element(number);
            let value = match value.filter(|&value| is_finite(value)) {
                Some(value) => value,
                None => match place(vals.len()) {
                    Some(place) => return Err(refuse_value(&name, number, value, place)),
                    None => T::ZERO,
                },
            };
            vals.push(value);
            Ok(())
        })
    })?;
    Ok(vals)
}

/// Why a number is not read into a type.
fn refuse_value<T: Numeric>(
    name: &Path,
    number: Number,
    value: Option<T>,
    (row, column): (u64, u64),
) -> Error {
    let found = match number {
        Number::Whole(x) => x.to_string(),
        Number::Real(x) => format!("{x:?}"),
        Number::Complex(re, im) => format!("{re:?}{im:+?}i"),
    };
    let expected = match value {
        Some(_) => "finite values".to_owned(),
        None => format!("values in the range of {}", T::DTYPE),
    };
    let found = format!("{found} in row {row}, column {column}");
    Error::file(name, expected, found)
}

/// The indices of a range of a member, each of which is to lie in `within`, as `narrow` makes them.
pub(super) fn indices<I>(
    member: Member<'_>,
    range: Range<usize>,
    within: Range<i64>,
    narrow: impl Fn(i64) -> I,
) -> Result<Vec<I>, Error> {
    let numbers = numbers_of(&member, "whole numbers")?;
    if !matches!(numbers.kind, Kind::Signed | Kind::Unsigned) {
        return Err(member.error("whole numbers", format!("'{}'", member.descr())));
    }
    let mut indices = reserve(range.len())?;
    let (name, first) = (member.place().to_owned(), range.start);
    let refused = |index: i128, place: usize| {
        let expected = format!("indices in {}..{}", within.start, within.end);
        Error::file(&name, expected, format!("{index} at {}", first + place))
    };
    member.read(range, |bytes| {
        if numbers.append_indices(bytes, &within, &narrow, &mut indices) {
            return Ok(());
        }
        numbers.each(bytes, |number| {
            let Number::Whole(index) = number else {
                unreachable!("the numbers of such a kind are whole");
            };
            let index = i64::try_from(index)
                .ok()
                .filter(|index| within.contains(index))
                .ok_or_else(|| refused(index, indices.len()))?;
            indices.push(narrow(index));
            Ok(())
        })
    })?;
    Ok(indices)
}

fn numbers_of(member: &Member<'_>, expected: &str) -> Result<Numbers, Error> {
    Numbers::of(member.descr())
        .ok_or_else(|| member.error(expected, format!("'{}'", member.descr())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_numbers_in_both_orders() {
        let read = |descr: &str, bytes: &[u8]| Numbers::of(descr).map(|it| it.number(bytes));
        assert_eq!(read("<i2", &[0xfe, 0xff]), Some(Number::Whole(-2)));
        assert_eq!(read(">i2", &[0xff, 0xfe]), Some(Number::Whole(-2)));
        assert_eq!(
            read("<u8", &[0xff; 8]),
            Some(Number::Whole(u64::MAX.into()))
        );
        assert_eq!(read("|b1", &[1]), Some(Number::Whole(1)));
        assert_eq!(read(">f4", &1.5f32.to_be_bytes()), Some(Number::Real(1.5)));
        let parts = [1.5f32.to_be_bytes(), (-2f32).to_be_bytes()].concat();
        assert_eq!(read(">c8", &parts), Some(Number::Complex(1.5, -2.0)));
        for descr in ["", "<f2", "|O", "<f16", "|S3", "é"] {
            assert_eq!(read(descr, &[0; 16]), None);
        }
    }

    #[test]
    fn numbers_are_rounded_once_or_out_of_range() {
        // Halfway between two numbers of 24 bits but for the last bit, which 53 bits do not have.
        let whole = (1i128 << 60) + (1 << 36) + 1;
        assert_eq!(
            element::<f32>(Number::Whole(whole)),
            Some((1u64 << 60) as f32 * (1.0 + f32::EPSILON))
        );
        assert_eq!(element::<f32>(Number::Real(1e39)), None);
        assert_eq!(
            element::<f32>(Number::Real(f64::INFINITY)),
            Some(f32::INFINITY)
        );
        assert_eq!(element::<i32>(Number::Whole(1 << 31)), None);
        assert_eq!(element::<u64>(Number::Whole(-1)), None);
        assert_eq!(element::<i64>(Number::Whole(-1)), Some(-1));
        assert!(is_finite(u64::MAX) && !is_finite(f32::NAN) && !is_finite(f64::INFINITY));
    }
}
