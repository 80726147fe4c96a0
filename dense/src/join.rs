//! Arrays joined, split, repeated, rolled and padded along axes.
//!
//! Everything here is made of slices, of assignments to them, and of gathers, so ranks exchange
//! what these exchange.

use crate::array::{Array, Vector};
use crate::bodies::{self, Operation, Origin, Target};
use crate::copies::Order;
use crate::operand::{check_len, named};
use crate::slices::{IntoSlice, Slice};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Value};
use sparsefuse_runtime::{Error, Runtime, Shape, TaskArg, try_collect};
use std::ops::Range;

/// What [`Array::pad`] puts around an array.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Padding<T> {
    /// One value.
    Constant(T),
    /// The elements at the edge, again and again.
    Edge,
    /// The array mirrored at its edges, whose elements are not repeated: `3 2 | 1 2 3 | 2 1`.
    Reflect,
    /// The array mirrored at its edges, whose elements are repeated: `2 1 | 1 2 3 | 3 2`.
    Symmetric,
    /// The array from its other end: `2 3 | 1 2 3 | 1 2`.
    Wrap,
}

twins! {
    [T: Element, const D: usize] Array<T, D>;
    /// The arrays one behind the other along an axis; their other lengths agree. One task that
    /// fills the result, and one for each array; of many short ones, on one rank, one for some at a
    /// time.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let (a, b) = (Vector::from_vec(vec![1, 2]), Vector::from_vec(vec![3]));
    /// assert_eq!(Vector::concatenate(0, &[&a, &b, &a]).to_vec()?, [1, 2, 3, 1, 2]);
    ///
    /// let a = Array::from_shape_vec([2, 1], vec![1, 2])?;
    /// assert_eq!(Array::concatenate(1, &[&a, &a]).to_vec()?, [1, 1, 2, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("vstack", "hstack", "append", "join"))]
    @ "If there is no array or no such axis, other lengths than those along the axis differ, \
        memory cannot hold the result, or the arrays belong to different runtimes."
    concatenate try_concatenate(axis: usize, arrays: &[&Self]) -> Self {
        const OP: &str = "concatenate";
        check_axes::<D>(OP, [axis])?;
        let Some(first) = arrays.first() else {
            return Err(Error::argument(OP, "at least one array", "none"));
        };
        let mut shape = first.shape();
        for array in &arrays[1..] {
            let found = array.shape();
            let len = shape[axis].saturating_add(found[axis]);
            shape[axis] = found[axis];
            if shape != found {
                return Err(Error::shape(OP, Shape::new(&shape), array.arg().shape()));
            }
            shape[axis] = len;
        }
        let len = Shape::new(&shape).checked_len();
        if crate::join_many::pays(first.runtime(), arrays.len(), len) {
            return Self::joined(OP, axis, arrays);
        }
        let mut whole = Self::blank(OP, first.runtime(), shape)?;
        let mut end = 0;
        for array in arrays {
            let begin = end;
            end += array.shape()[axis];
            let part = along(axis, begin..end);
            named(OP, || whole.try_assign_slice(part, *array))?;
        }
        Ok(whole)
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// An array that is to be written by slices.
    fn blank(op: &'static str, runtime: &Runtime, shape: [usize; D]) -> Result<Self, Error> {
        let shape = Shape::new(&shape);
        check_len(op, shape)?;
        let store = runtime.new_store(shape, T::DTYPE);
        let fill = bodies::body(Operation::Fill(Origin::Number, Target::Array), T::DTYPE);
        let nothing = Value::from_bits(T::DTYPE, [0; 2]);
        runtime.submit(fill, &[TaskArg::from(&store)], &[nothing])?;
        Ok(Self::wrap(store, None))
    }
}

twins! {
    [T: Element, const D: usize] Array<T, D>;
    /// The parts of an array that lie between some indices of an axis, ascending: one more than
    /// there are indices, some of them perhaps empty. Views.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let parts = Vector::<i64>::arange(5).split(0, &[2, 3]);
    /// assert_eq!(parts[0].to_vec()?, [0, 1]);
    /// assert_eq!(parts[1].to_vec()?, [2]);
    /// assert_eq!(parts[2].to_vec()?, [3, 4]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("hsplit", "vsplit", "array_split"))]
    @ "If there is no such axis, or an index is beyond its end or below the one before it."
    split try_split(&self, axis: usize, at: &[usize]) -> Vec<Self> {
        check_axes::<D>("split", [axis])?;
        let ends = at.iter().copied().chain([self.shape()[axis]]);
        let mut begin = 0;
        let part = |end| {
            let part = || self.try_slice(along(axis, begin..end));
            let part = named("split", part);
            begin = end;
            part
        };
        ends.map(part).collect()
    }

    /// The array with its elements moved along an axis by `shift` places, towards the end if that
    /// is positive; what leaves one end enters at the other. Three tasks.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 2, 3, 4]);
    /// assert_eq!(x.roll(0, 1).to_vec()?, [4, 1, 2, 3]);
    /// assert_eq!(x.roll(0, -5).to_vec()?, [2, 3, 4, 1]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no such axis."
    roll try_roll(&self, axis: usize, shift: isize) -> Self {
        check_axes::<D>("roll", [axis])?;
        let n = self.shape()[axis];
        if n == 0 {
            return Ok(self.clone());
        }
        let place = n - shift.rem_euclid(n as isize) as usize;
        let [last, first] = [place..n, 0..place].map(|range| self.try_slice(along(axis, range)));
        Self::try_concatenate(axis, &[&last?, &first?])
    }

    /// Each slice along an axis `times` times, side by side. One task, which is not fused; on
    /// several ranks two that make indices, and a gather by them.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 2]);
    /// assert_eq!(x.repeat(0, 3).to_vec()?, [1, 1, 1, 2, 2, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no such axis, or memory cannot hold the result."
    repeat try_repeat(&self, axis: usize, times: usize) -> Self {
        self.copies("repeat", axis, times, Order::Each)
    }

    /// The array repeated as a whole, `times[d]` times along axis `d`. One task for each axis along
    /// which it is repeated, which is not fused; on several ranks two that make indices, and a
    /// gather by them.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([1, 2], vec![1, 2])?;
    /// assert_eq!(a.tile([2, 2]).to_vec()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If memory cannot hold the result."
    tile try_tile(&self, times: [usize; D]) -> Self {
        let shape = self.shape();
        let larger: [usize; D] = std::array::from_fn(|d| shape[d].saturating_mul(times[d]));
        check_len("tile", Shape::new(&larger))?;
        let mut tiled = self.clone();
        if larger.contains(&0) {
            let none = try_collect(std::iter::empty())?;
            return self.runtime().enter(|| Self::from_shape_vec(larger, none));
        }
        for (axis, &times) in times.iter().enumerate().filter(|&(_, &times)| times != 1) {
            tiled = tiled.copies("tile", axis, times, Order::All)?;
        }
        Ok(tiled)
    }

    /// The array with elements around it: `widths[d].0` before it and `widths[d].1` behind it along
    /// axis `d`. Two tasks for a constant; otherwise two more for each end, or, where an end is
    /// longer than the array, a few tasks for each axis that make indices, and a gather by them.
    ///
    /// ```
    /// use sparsefuse_dense::{Padding, Vector};
    ///
    /// let x = Vector::from_vec(vec![1, 2, 3]);
    /// assert_eq!(x.pad([(1, 2)], Padding::Constant(0)).to_vec()?, [0, 1, 2, 3, 0, 0]);
    /// assert_eq!(x.pad([(2, 1)], Padding::Edge).to_vec()?, [1, 1, 1, 2, 3, 3]);
    /// assert_eq!(x.pad([(2, 2)], Padding::Reflect).to_vec()?, [3, 2, 1, 2, 3, 2, 1]);
    /// assert_eq!(x.pad([(2, 2)], Padding::Wrap).to_vec()?, [2, 3, 1, 2, 3, 1, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If memory cannot hold the result, or an axis without elements is to be padded with them."
    pad try_pad(&self, widths: [(usize, usize); D], padding: Padding<T>) -> Self {
        const OP: &str = "pad";
        let shape = self.shape();
        let padded = |d: usize| {
            shape[d]
                .saturating_add(widths[d].0)
                .saturating_add(widths[d].1)
        };
        let padded: [usize; D] = std::array::from_fn(padded);
        check_len(OP, Shape::new(&padded))?;
        if let Padding::Constant(value) = padding {
            let whole = || Self::try_full(padded, value);
            let mut whole = self.runtime().enter(whole)?;
            let inner: [_; D] = std::array::from_fn(|d| widths[d].0..widths[d].0 + shape[d]);
            whole.try_assign_slice(inner, self)?;
            return Ok(whole);
        }
        if (0..D).any(|axis| shape[axis] == 0 && widths[axis] != (0, 0)) {
            let expected = "elements along the axis that is padded with them";
            return Err(Error::argument(OP, expected, "none"));
        }
        let has_parts = |axis| {
            let (before, after): (usize, usize) = widths[axis];
            padding.has_parts(shape[axis], before.max(after))
        };
        match (0..D).all(has_parts) {
            true => self.padded_by_parts(widths, padded, padding),
            false => self.padded_by_indices(widths, padded, padding),
        }
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Padded with parts of its own: the array in the middle, and what is at its ends along one
    /// axis after the other, those of an axis with the ends along those before.
    fn padded_by_parts(
        &self,
        widths: [(usize, usize); D],
        padded: [usize; D],
        padding: Padding<T>,
    ) -> Result<Self, Error> {
        let shape = self.shape();
        let mut whole = Self::blank("pad", self.runtime(), padded)?;
        let mut inner: [Range<usize>; D] =
            std::array::from_fn(|d| widths[d].0..widths[d].0 + shape[d]);
        whole.try_assign_slice(inner.clone(), self)?;
        let is_padded = |axis: &usize| widths[*axis] != (0, 0);
        for (number, axis) in (0..D).filter(is_padded).enumerate() {
            let (before, after) = widths[axis];
            for (is_first, width) in [(true, before), (false, after)] {
                if width == 0 {
                    continue;
                }
                let (mut part, is_turned) = match number {
                    0 => {
                        let (from, is_turned) = padding.part((0, shape[axis]), is_first, width);
                        (self.try_slice(along(axis, from))?, is_turned)
                    }
                    _ => {
                        let ends = (before, before + shape[axis]);
                        let (from, is_turned) = padding.part(ends, is_first, width);
                        inner[axis] = from;
                        (whole.try_slice(inner.clone())?, is_turned)
                    }
                };
                if is_turned {
                    part = part.try_flip(axis)?;
                }
                let mut dims = part.shape();
                dims[axis] = width;
                part = part.try_broadcast_to(dims)?;
                if number > 0 {
                    // An array of its own: what is held elsewhere is copied before it is written.
                    part = part.try_copy()?;
                }
                inner[axis] = match is_first {
                    true => 0..width,
                    false => padded[axis] - width..padded[axis],
                };
                whole.try_assign_slice(inner.clone(), &part)?;
            }
            inner[axis] = 0..padded[axis];
        }
        Ok(whole)
    }

    /// Padded by indices, which may go through the array several times.
    fn padded_by_indices(
        &self,
        widths: [(usize, usize); D],
        padded: [usize; D],
        padding: Padding<T>,
    ) -> Result<Self, Error> {
        let mut made = self.clone();
        for (axis, &(before, after)) in widths.iter().enumerate() {
            if (before, after) == (0, 0) {
                continue;
            }
            let n = self.shape()[axis] as i64;
            // Counted from the first element of the array.
            let indices = self
                .runtime()
                .enter(|| Vector::<i64>::try_arange(padded[axis]));
            let place = indices?.try_sub(before as i64)?;
            let indices = match padding {
                Padding::Constant(_) | Padding::Edge => place.try_clamp(0, n - 1)?,
                Padding::Wrap => place.try_rem(n)?,
                Padding::Reflect => {
                    let place = place.try_rem(2 * (n - 1))?;
                    place.try_minimum(place.try_neg()?.try_add(2 * (n - 1))?)?
                }
                Padding::Symmetric => {
                    let place = place.try_rem(2 * n)?;
                    place.try_minimum(place.try_neg()?.try_add(2 * n - 1)?)?
                }
            };
            made = made.try_take_axis(axis, &indices)?;
        }
        Ok(made)
    }
}

impl<T> Padding<T> {
    /// Whether each end is one part of an array that is this long.
    fn has_parts(&self, len: usize, width: usize) -> bool {
        match self {
            Self::Constant(_) | Self::Edge => true,
            Self::Reflect => width < len,
            Self::Symmetric | Self::Wrap => width <= len,
        }
    }

    /// The part of an array from `first` to `last` that is an end of this width, and whether it is
    /// turned round; one slice stands for all.
    fn part(
        &self,
        (first, last): (usize, usize),
        is_first: bool,
        width: usize,
    ) -> (Range<usize>, bool) {
        match (self, is_first) {
            (Self::Constant(_) | Self::Edge, true) => (first..first + 1, false),
            (Self::Constant(_) | Self::Edge, false) => (last - 1..last, false),
            (Self::Reflect, true) => (first + 1..first + 1 + width, true),
            (Self::Reflect, false) => (last - 1 - width..last - 1, true),
            (Self::Symmetric, true) => (first..first + width, true),
            (Self::Symmetric, false) => (last - width..last, true),
            (Self::Wrap, true) => (last - width..last, false),
            (Self::Wrap, false) => (first..first + width, false),
        }
    }
}

/// Stacks of arrays with `$less` dimensions, which have `$more`.
macro_rules! stacks {
    ($($more:literal -> $less:literal),*) => {$(
        twins! {
            [T: Element] Array<T, $less>;
            /// The arrays, of one shape, side by side along a new axis. One task that fills the
            /// result, and one for each array. The type before `stack` is that of the arrays, with
            /// one dimension less than the result:
            ///
            /// ```
            /// use sparsefuse_dense::{Array, Vector};
            ///
            /// let (a, b) = (Vector::from_vec(vec![1, 2]), Vector::from_vec(vec![3, 4]));
            /// assert_eq!(Vector::stack(0, &[&a, &b]).to_vec()?, [1, 2, 3, 4]);
            /// assert_eq!(Vector::stack(1, &[&a, &b]).to_vec()?, [1, 3, 2, 4]);
            ///
            /// let rows = Array::<i32, 2>::zeros([2, 3]);
            /// let images = Array::<i32, 2>::stack(0, &[&rows, &(&rows + 1)]);
            /// assert_eq!(images.shape(), [2, 2, 3]);
            /// # Ok::<(), sparsefuse_dense::Error>(())
            /// ```
            #[doc(alias("column_stack", "dstack"))]
            @ "If there is no array, the axis is beyond the number of dimensions, the shapes \
                differ, memory cannot hold the result, or the arrays belong to different runtimes."
            stack try_stack(axis: usize, arrays: &[&Self]) -> Array<T, $more> {
                for array in arrays {
                    Error::check_shape("stack", &arrays[0].shape(), &array.shape())?;
                }
                named("stack", || {
                    let parts = arrays.iter().map(|array| array.try_insert_axis(axis));
                    let parts: Vec<_> = parts.collect::<Result<_, Error>>()?;
                    Array::try_concatenate(axis.min($less), &parts.iter().collect::<Vec<_>>())
                })
            }
        }
    )*};
}

stacks!(2 -> 1, 3 -> 2, 4 -> 3);

/// A slice along one axis, with the others whole.
pub(crate) fn along<const D: usize>(axis: usize, range: impl IntoSlice) -> [Slice; D] {
    let mut slices = [(..).into_slice(); D];
    slices[axis] = range.into_slice();
    slices
}
