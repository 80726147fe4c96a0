//! Arrays of indices: which elements they name.
//!
//! An index is a whole number of any of the four types; a negative one counts from the end, as in
//! NumPy. Which unit an item names is found in one place ([`Lines`]), by gathers and scatters
//! alike, and so is the complaint about an index that is out of range. That is part of what a task
//! finds when it runs, so the error comes with the elements of its result.

use crate::array::Array;
use crate::operand::{check_len, expect};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape};
use std::borrow::Cow;
use std::ops::Range;

mod sealed {
    pub trait Sealed {}
}

/// The element types of indices: `i32`, `i64`, `u32`, `u64`. Negative indices count from the end.
///
/// Implemented by this crate only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an index",
    label = "expected an array of `i32`, `i64`, `u32` or `u64`"
)]
pub trait Index: Element + PartialOrd + sealed::Sealed {
    /// The place that the index names among `len`; `None` if it is out of range.
    fn place(self, len: usize) -> Option<usize>;
    /// Whether it counts from the end.
    fn is_negative(self) -> bool;
}

macro_rules! index {
    ($($type:ty: $is_negative:expr, $place:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Index for $type {
            #[inline(always)]
            fn place(self, len: usize) -> Option<usize> {
                let place: u64 = $place(self, len as u64);
                (place < len as u64).then_some(place as usize)
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                $is_negative(self)
            }
        }
    )*};
}

/// What is still negative afterwards is larger than any length, as a number without a sign.
#[inline(always)]
fn from_end(index: i64, len: u64) -> u64 {
    let end = if index < 0 { len } else { 0 };
    (index as u64).wrapping_add(end)
}

index! {
    i32: |index| index < 0, |index, len| from_end(i64::from(index), len);
    i64: |index| index < 0, from_end;
    u32: |_| false, |index, _| u64::from(index);
    u64: |_| false, |index, _| index;
}

/// What the items of a gather or scatter name: an array is seen as lines of `n` units of `inner`
/// elements, and of each line `m` are named. Item `o * m + j` is the unit with the number
/// `o * n + index[j]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    /// The operation, for messages.
    pub(crate) op: &'static str,
    /// Units of a line.
    pub(crate) n: usize,
    /// Items of a line: the number of indices.
    pub(crate) m: usize,
    /// Elements of a unit.
    pub(crate) inner: usize,
    /// Whether negative indices count from the end; they are out of range otherwise.
    pub(crate) counts_from_end: bool,
}

impl Lines {
    /// Single elements of an array of `n`, by `m` indices.
    pub(crate) fn flat(op: &'static str, n: usize, m: usize) -> Self {
        Self {
            op,
            n,
            m,
            inner: 1,
            counts_from_end: true,
        }
    }

    /// Slices of an array along an axis that it has.
    pub(crate) fn along(op: &'static str, shape: &[usize], axis: usize, m: usize) -> Self {
        Self {
            op,
            n: shape[axis],
            m,
            inner: shape[axis + 1..].iter().product(),
            counts_from_end: true,
        }
    }

    /// The number of items that have this number of elements.
    pub(crate) fn items(&self, elements: usize) -> usize {
        elements.checked_div(self.inner).unwrap_or(0)
    }

    /// Calls `act` with each of some items, ascending, and the first element of what it names. Of
    /// the indices these are here, of which the first has the number `first`.
    ///
    /// # Errors
    ///
    /// At the first index that is out of range.
    #[inline(always)]
    pub(crate) fn for_each<I: Index>(
        &self,
        items: Range<usize>,
        indices: (&[I], usize),
        mut act: impl FnMut(usize, usize),
    ) -> Result<(), Error> {
        self.segments(items, indices, |segment| {
            for (number, &index) in segment.indices.iter().enumerate() {
                match self.place(index) {
                    Some(place) => {
                        let unit = segment.base + place;
                        act(segment.item + number, unit * self.inner);
                    }
                    None => return Err(self.refused(index, segment.number + number)),
                }
            }
            Ok(())
        })
    }

    /// Calls `act` with each segment of some items: those of a line. Otherwise as
    /// [`Lines::for_each`].
    #[inline(always)]
    pub(crate) fn segments<'a, I: Index>(
        &self,
        items: Range<usize>,
        (indices, first): (&'a [I], usize),
        mut act: impl FnMut(Segment<'a, I>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut item = items.start;
        while item < items.end {
            let (line, number) = (item / self.m, item % self.m);
            let len = (items.end - item).min(self.m - number);
            act(Segment {
                item,
                number,
                base: line * self.n,
                indices: &indices[number - first..][..len],
            })?;
            item += len;
        }
        Ok(())
    }

    /// The unit of a line that an index names.
    #[inline(always)]
    pub(crate) fn place<I: Index>(&self, index: I) -> Option<usize> {
        let place = index.place(self.n);
        place.filter(|_| self.counts_from_end || !index.is_negative())
    }

    /// The complaint about an index by its number.
    #[cold]
    pub(crate) fn refused<I: Index>(&self, index: I, number: usize) -> Error {
        let (n, first) = (self.n, if self.counts_from_end { "-" } else { "" });
        let expected = match (n, self.counts_from_end) {
            (0, _) => "no index, since there are no elements".to_owned(),
            (_, true) => format!("indices from {first}{n} to {}", n - 1),
            (_, false) => format!("indices from 0 to {}", n - 1),
        };
        let found = format!("{index} at position {number}");
        Error::argument(self.op, expected, found)
    }
}

/// Neighbouring items of one line.
pub(crate) struct Segment<'a, I> {
    /// The first of them.
    pub(crate) item: usize,
    /// The number of its index.
    pub(crate) number: usize,
    /// The number of the line's first unit.
    pub(crate) base: usize,
    /// One for each item.
    pub(crate) indices: &'a [I],
}

/// The elements between cuts of rows of this many elements.
pub(crate) fn element_cuts(cuts: Option<&[usize]>, row_len: usize) -> Option<Vec<usize>> {
    cuts.map(|cuts| cuts.iter().map(|cut| cut * row_len).collect())
}

/// The rank that has an element, of those that these cuts give elements to.
pub(crate) fn owner(cuts: &[usize], element: usize) -> usize {
    cuts.partition_point(|&cut| cut <= element) - 1
}

/// Elements of which each rank has made some, in the order of the ranks, or where none is cut all,
/// as an argument of one dimension is cut. Every rank must ask.
pub(crate) fn as_cut<'h, T: Element>(
    args: &HostArgs<'_>,
    made: &'h [T],
    is_cut: bool,
    number: usize,
) -> Result<Cow<'h, [T]>, Error> {
    if !is_cut {
        return args.recut(made, 1, None, args.cuts(number));
    }
    let lens = args.all_reduce(vec![made.len() as u64], |some, others| some.extend(others))?;
    let mut cuts = vec![0];
    for (rank, &len) in lens.iter().enumerate() {
        cuts.push(cuts[rank] + len as usize);
    }
    args.recut(made, 1, Some(&cuts), args.cuts(number))
}

impl<const E: usize> Array<i64, E> {
    /// The flat, row-major indices of the elements of an array of this shape that have these
    /// indices in its dimensions; all index arrays have one shape. NumPy's `ravel_multi_index`. One
    /// task.
    ///
    /// With it, the operations on flat indices ([`Array::take`], [`Array::put`], [`Array::add_at`])
    /// work on points:
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let mut a = Array::<f64, 2>::zeros([2, 3]);
    /// let (i, j) = (Vector::from_vec(vec![0, 1, 0]), Vector::from_vec(vec![2, -1, 2]));
    /// let flat = Vector::ravel_multi_index([2, 3], [&i, &j]);
    /// assert_eq!(flat.to_vec()?, [2, 5, 2]);
    /// a.add_at(&flat, 1.0);
    /// assert_eq!(a.to_vec()?, [0.0, 0.0, 2.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_ravel_multi_index`] returns.
    #[must_use]
    #[track_caller]
    pub fn ravel_multi_index<I: Index, const D: usize>(
        shape: [usize; D],
        indices: [&Array<I, E>; D],
    ) -> Self {
        expect(Self::try_ravel_multi_index(shape, indices))
    }

    /// As [`Array::ravel_multi_index`].
    ///
    /// # Errors
    ///
    /// If the index arrays have different shapes, or there are none. Indices that are out of range
    /// are found when the task runs.
    pub fn try_ravel_multi_index<I: Index, const D: usize>(
        shape: [usize; D],
        indices: [&Array<I, E>; D],
    ) -> Result<Self, Error> {
        const OP: &str = "ravel_multi_index";
        check_len(OP, Shape::new(&shape))?;
        let Some(first) = indices.first() else {
            return Err(Error::argument(OP, "one dimension or more", "none"));
        };
        let flat = Shape::new(&first.shape());
        for other in indices {
            Error::check_shape(OP, &first.shape(), &other.shape())?;
        }
        let contiguous: Result<Vec<_>, Error> =
            indices.iter().map(|array| array.contiguous()).collect();
        let contiguous = contiguous?;
        let row_len = flat.row_len();
        let function = move |args: &mut HostArgs<'_>| {
            let begin = args.rows().start * row_len;
            let made = args.write::<i64>(D)?;
            let read: Result<Vec<&[I]>, Error> = (0..D).map(|d| args.read::<I>(d)).collect();
            let read = read?;
            args.in_parts(made, 1, |first, part| {
                part.fill(0);
                for (indices, &n) in read.iter().zip(&shape) {
                    let lines = Lines::flat(OP, n, usize::MAX);
                    let items = begin + first..begin + first + part.len();
                    lines.for_each(items, (indices, begin), |item, place| {
                        let flat = &mut part[item - begin - first];
                        *flat = *flat * n as i64 + place as i64;
                    })?;
                }
                Ok(())
            })
        };
        let reads = contiguous.iter().map(|array| (array.store(), Access::Rows));
        let reads: Vec<_> = reads.collect();
        Array::made_by(OP, first.runtime(), flat, &reads, function)
    }
}
