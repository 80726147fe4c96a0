//! Which indices a slice takes: Rust's ranges, with a step where one is wanted.

use sparsefuse_runtime::{Error, Shape, View};
use std::ops::RangeToInclusive;
use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo};

/// The indices that a slice takes of one dimension. Rust's ranges of `usize` convert to it;
/// [`step`] adds a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    start: usize,
    /// `None` for the end of the dimension.
    end: Option<usize>,
    step: isize,
}

/// Every `step`-th index of a range; a negative step walks the range backwards from its last
/// index.
///
/// ```
/// use sparsefuse_dense::{Vector, step};
///
/// let x = Vector::<i64>::arange(6);
/// assert_eq!(x.slice(step(.., 2)).to_vec()?, [0, 2, 4]);
/// assert_eq!(x.slice(step(..5, -2)).to_vec()?, [4, 2, 0]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
#[must_use]
pub fn step(range: impl Into<Slice>, step: isize) -> Slice {
    Slice {
        step,
        ..range.into()
    }
}

/// A slice of each of `D` dimensions: a range or [`Slice`] for one, a tuple of them for more.
pub trait Slices<const D: usize> {
    /// The slice of each dimension.
    fn slices(self) -> [Slice; D];
}

impl<A: Into<Slice>> Slices<1> for A {
    fn slices(self) -> [Slice; 1] {
        [self.into()]
    }
}

impl<A: Into<Slice>, B: Into<Slice>> Slices<2> for (A, B) {
    fn slices(self) -> [Slice; 2] {
        [self.0.into(), self.1.into()]
    }
}

impl<A: Into<Slice>, B: Into<Slice>, C: Into<Slice>> Slices<3> for (A, B, C) {
    fn slices(self) -> [Slice; 3] {
        [self.0.into(), self.1.into(), self.2.into()]
    }
}

impl Slice {
    fn new(range: &impl RangeBounds<usize>) -> Self {
        // An index beyond the largest is out of every range, and is reported as such.
        let after = |&index: &usize| index.saturating_add(1);
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(before) => after(before),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => Some(after(last)),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => None,
        };
        Self {
            start,
            end,
            step: 1,
        }
    }

    /// Dimension `dim` of a view, sliced.
    pub(crate) fn of(self, view: &View, dim: usize) -> Result<View, Error> {
        view.slice(dim, self.range(view.shape(), dim), self.step)
    }

    /// Dimension `dim` of a view, sliced to the same indices in ascending order.
    pub(crate) fn ascending_of(self, view: &View, dim: usize) -> Result<View, Error> {
        let range = self.range(view.shape(), dim);
        if self.step >= 0 {
            return view.slice(dim, range, self.step);
        }
        let step = self.step.unsigned_abs();
        let skipped = range.len().saturating_sub(1) % step;
        let start = range.start + skipped;
        view.slice(dim, start..range.end, step as isize)
    }

    /// Whether the slice walks backwards.
    pub(crate) fn is_descending(self) -> bool {
        self.step < 0
    }

    fn range(self, shape: Shape, dim: usize) -> Range<usize> {
        self.start..self.end.unwrap_or(shape.dims()[dim])
    }
}

/// Rust's ranges, one line for each type.
macro_rules! ranges {
    ($($range:ty)*) => {$(
        impl From<$range> for Slice {
            fn from(range: $range) -> Self {
                Self::new(&range)
            }
        }
    )*};
}

ranges! {
    Range<usize> RangeFrom<usize> RangeFull RangeInclusive<usize> RangeTo<usize>
    RangeToInclusive<usize>
}
