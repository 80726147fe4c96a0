//! Which indices a slice takes: Rust's ranges, with a step where one is wanted.

use sparsefuse_runtime::{Error, Shape, View};
use std::ops::RangeToInclusive;
use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo};

/// The indices that a slice takes of one dimension: one of Rust's ranges of `usize`, or what
/// [`step`] makes of it.
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
pub fn step(range: impl IntoSlice, step: isize) -> Slice {
    Slice {
        step,
        ..range.into_slice()
    }
}

/// What a [`Slice`] can be made of: one of Rust's ranges of `usize`, or a slice.
///
/// A single index would drop the dimension, which a slice never does:
///
/// ```compile_fail,E0277
/// # use sparsefuse_dense::Vector;
/// let third = Vector::<f64>::zeros([4]).slice(2); // `2..3` is meant
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of indices",
    label = "expected a range of `usize`, such as `1..4`, `2..` or `..`, or `step(range, step)`",
    note = "the element at `i` is the slice `i..i + 1`; a matrix also has `row` and `column`"
)]
pub trait IntoSlice {
    /// The slice.
    fn into_slice(self) -> Slice;
}

/// A slice of each of `D` dimensions: a range or [`Slice`] for one, a tuple or an array of them for
/// more.
///
/// ```
/// use sparsefuse_dense::{Array, step};
///
/// let a = Array::<i64, 4>::ones([2, 3, 4, 5]);
/// assert_eq!(a.slice((1.., ..2, step(.., 2), 1..=3)).shape(), [1, 2, 2, 3]);
/// ```
///
/// There is a slice for each dimension, and there are no more:
///
/// ```compile_fail,E0277
/// # use sparsefuse_dense::Array;
/// let rows = Array::<f64, 2>::zeros([4, 4]).slice(1..3); // `(1..3, ..)` is meant
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a slice of each of {D} dimensions",
    label = "expected a range for each of {D} dimensions, as a tuple if there is more than one",
    note = "`..` takes a dimension whole: `a.slice((1..3, ..))` takes two rows of a matrix"
)]
pub trait Slices<const D: usize> {
    /// The slice of each dimension.
    fn slices(self) -> [Slice; D];
}

impl<A: IntoSlice> Slices<1> for A {
    fn slices(self) -> [Slice; 1] {
        [self.into_slice()]
    }
}

impl<A: IntoSlice, const D: usize> Slices<D> for [A; D] {
    fn slices(self) -> [Slice; D] {
        self.map(IntoSlice::into_slice)
    }
}

impl<A: IntoSlice, B: IntoSlice> Slices<2> for (A, B) {
    fn slices(self) -> [Slice; 2] {
        [self.0.into_slice(), self.1.into_slice()]
    }
}

impl<A: IntoSlice, B: IntoSlice, C: IntoSlice> Slices<3> for (A, B, C) {
    fn slices(self) -> [Slice; 3] {
        let (a, b, c) = self;
        [a.into_slice(), b.into_slice(), c.into_slice()]
    }
}

impl<A: IntoSlice, B: IntoSlice, C: IntoSlice, E: IntoSlice> Slices<4> for (A, B, C, E) {
    fn slices(self) -> [Slice; 4] {
        let (a, b, c, e) = self;
        [
            a.into_slice(),
            b.into_slice(),
            c.into_slice(),
            e.into_slice(),
        ]
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

    /// The range and the step that the slice is of a dimension of this length. A negative step
    /// walks the range backwards from its last index.
    ///
    /// ```
    /// use sparsefuse_dense::{IntoSlice, step};
    ///
    /// assert_eq!(step(2.., -1).of_len(5)?, (2..5, -1));
    /// assert!((..6).into_slice().of_len(5).is_err());
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the range does not lie within the dimension, or the step is 0.
    pub fn of_len(self, len: usize) -> Result<(Range<usize>, isize), Error> {
        let view = View::identity(Shape::new(&[len]));
        self.of(&view, 0)?;
        Ok((self.range(view.shape(), 0), self.step))
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
        // Of all steps beyond the end the effect is the same.
        let step = self.step.saturating_neg();
        let skipped = range.len().saturating_sub(1) % step.unsigned_abs();
        let start = range.start + skipped;
        view.slice(dim, start..range.end, step)
    }

    /// Whether the slice walks backwards.
    pub(crate) fn is_descending(self) -> bool {
        self.step < 0
    }

    fn range(self, shape: Shape, dim: usize) -> Range<usize> {
        self.start..self.end.unwrap_or(shape.dims()[dim])
    }
}

impl IntoSlice for Slice {
    fn into_slice(self) -> Slice {
        self
    }
}

/// Rust's ranges, one line for each type.
macro_rules! ranges {
    ($($range:ty)*) => {$(
        impl IntoSlice for $range {
            fn into_slice(self) -> Slice {
                Slice::new(&self)
            }
        }
    )*};
}

ranges! {
    Range<usize> RangeFrom<usize> RangeFull RangeInclusive<usize> RangeTo<usize>
    RangeToInclusive<usize>
}
