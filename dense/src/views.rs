//! Views: other ways to see the same elements, without a task and without a copy.
//!
//! A view is an array like any other, and a value: it keeps what it sees now, whatever is done to
//! other handles later. The one operation that writes in place, [`Array::assign_slice`], copies
//! first if another handle could notice.

use crate::array::Array;
use crate::bodies::Origin;
use crate::bodies::{self, Operation, Target};
use crate::operand::{ArrayOperand, Kind, Source, check_len, expect, named};
use crate::slices::{Slice, Slices};
use crate::twins::twins;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Shape, TaskArg, View};
use std::sync::Arc;

twins! {
    [T: Element, const D: usize] Array<T, D>;
    /// The elements within the given ranges: one for each dimension.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// // The middle difference of neighbours.
    /// let x = Vector::from_vec(vec![1, 4, 9, 16]);
    /// let difference = x.slice(1..) - x.slice(..3);
    /// assert_eq!(difference.to_vec()?, [3, 5, 7]);
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(a.slice((.., 1..)).to_vec()?, [2, 3, 5, 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If a range leaves the array, or a step is 0."
    slice try_slice(&self, ranges: impl Slices<D>) -> Self {
        let slices = ranges.slices();
        self.seen(|view| sliced(view, &slices, Slice::of))
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The array with its dimensions in the opposite order.
    #[must_use]
    #[track_caller]
    pub fn transpose(&self) -> Self {
        expect(self.seen(|view| Ok(view.transpose())))
    }

    /// Short for [`Array::transpose`].
    #[must_use]
    pub fn t(&self) -> Self {
        self.transpose()
    }
}

twins! {
    [T: Element, const D: usize] Array<T, D>;
    /// The array with its axes in another order: axis `d` is what axis `order[d]` was. A view.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 3>::zeros([2, 3, 4]);
    /// assert_eq!(a.permute_axes([2, 0, 1]).shape(), [4, 2, 3]);
    /// assert_eq!(a.swap_axes(0, 1).shape(), [3, 2, 4]);
    /// assert_eq!(a.move_axis(0, 2).shape(), [3, 4, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("permute_dims", "permuted_axes"))]
    @ "If the order does not have each axis once."
    permute_axes try_permute_axes(&self, order: [usize; D]) -> Self {
        self.seen(|view| view.permute(&order))
    }

    /// The array with two axes exchanged. A view.
    #[doc(alias = "swapaxes")]
    @ "If there is no such axis."
    swap_axes try_swap_axes(&self, a: usize, b: usize) -> Self {
        check_axes::<D>("swap_axes", [a, b])?;
        let mut order: [usize; D] = std::array::from_fn(|d| d);
        order.swap(a, b);
        self.try_permute_axes(order)
    }

    /// The array with axis `from` as axis `to`; the others keep their order. A view.
    #[doc(alias = "moveaxis")]
    @ "If there is no such axis."
    move_axis try_move_axis(&self, from: usize, to: usize) -> Self {
        check_axes::<D>("move_axis", [from, to])?;
        let mut order: [usize; D] = std::array::from_fn(|d| d);
        if from < to {
            order[from..=to].rotate_left(1);
        } else {
            order[to..=from].rotate_right(1);
        }
        self.try_permute_axes(order)
    }

    /// The array with the elements along an axis in the opposite order. A view.
    #[doc(alias("flipud", "fliplr", "invert_axis"))]
    @ "If there is no such axis."
    flip try_flip(&self, axis: usize) -> Self {
        check_axes::<D>("flip", [axis])?;
        self.seen(|view| view.slice(axis, 0..view.shape().dims()[axis], -1))
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The array repeated to a larger shape, by NumPy's rules: dimensions are matched from the
    /// last, and those of length 1 or missing ones repeat.
    ///
    /// # Panics
    ///
    /// If a dimension has neither length 1 nor the length asked for; [`Self::try_broadcast_to`]
    /// returns the error.
    #[must_use]
    #[track_caller]
    pub fn broadcast_to<const E: usize>(&self, shape: [usize; E]) -> Array<T, E> {
        expect(self.try_broadcast_to(shape))
    }

    /// As [`Self::broadcast_to`].
    ///
    /// # Errors
    ///
    /// If a dimension has neither length 1 nor the length asked for.
    pub fn try_broadcast_to<const E: usize>(
        &self,
        shape: [usize; E],
    ) -> Result<Array<T, E>, Error> {
        let shape = Shape::new(&shape);
        named("broadcast_to", || {
            check_len("broadcast_to", shape)?;
            self.seen(|view| view.broadcast_to(shape))
        })
    }

    /// The same elements, row-major, in another shape. A view, if steps through memory can say it,
    /// as of arrays and slices of rows; else of a copy, which one task makes.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// // A vector as a grid, and its columns as one vector.
    /// let grid: Array<i64, 2> = Vector::from_fn([6], |i| i[0] as i64).try_reshape([2, 3])?;
    /// assert_eq!(grid.sum_axis(0).to_vec()?, [3, 5, 7]);
    /// assert_eq!(grid.t().ravel().to_vec()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the shapes have different numbers of elements; [`Self::try_reshape`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn reshape<const E: usize>(&self, shape: [usize; E]) -> Array<T, E> {
        expect(self.try_reshape(shape))
    }

    /// As [`Self::reshape`].
    ///
    /// # Errors
    ///
    /// If the shapes have different numbers of elements.
    pub fn try_reshape<const E: usize>(&self, shape: [usize; E]) -> Result<Array<T, E>, Error> {
        let target = Shape::new(&shape);
        if target.checked_len() != Some(self.len()) {
            let expected = format!("a shape of {} elements", self.len());
            return Err(Error::argument("reshape", expected, target.to_string()));
        }
        let reshaped = |array: &Self| {
            let whole = || View::identity(array.store().shape());
            let view = array.view().map_or_else(whole, |view| **view);
            let view = view.reshape(target)?;
            let view = (!view.is_identity()).then(|| Arc::new(view));
            Some(Array::wrap(array.store().clone(), view))
        };
        if let Some(array) = reshaped(self) {
            return Ok(array);
        }
        // A copy has its elements one after the other.
        let copy = reshaped(&self.try_copy()?);
        copy.ok_or_else(|| Error::shape("reshape", self.arg().shape(), target))
    }

    /// The elements, row-major, as a vector: [`Array::reshape`] to one dimension.
    ///
    /// # Panics
    ///
    /// If repeated elements are too many for a copy; [`Array::try_reshape`] returns the error.
    #[doc(alias = "flatten")]
    #[must_use]
    #[track_caller]
    pub fn ravel(&self) -> Array<T, 1> {
        expect(self.try_reshape([self.len()]))
    }

    /// Writes `value` to the elements within the given ranges. One task, and before it one that
    /// copies the array, unless this is the only handle of it.
    ///
    /// ```
    /// use sparsefuse_dense::{Vector, step};
    ///
    /// let mut x = Vector::<f64>::zeros([5]);
    /// x.assign_slice(1..4, 2.0);
    /// x.assign_slice(step(.., 4), &Vector::from_vec(vec![7.0, 8.0]));
    /// assert_eq!(x.to_vec()?, [7.0, 2.0, 2.0, 2.0, 8.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a range leaves the array, or the value does not broadcast to the shape of the slice;
    /// [`Array::try_assign_slice`] returns the error.
    #[track_caller]
    pub fn assign_slice(&mut self, ranges: impl Slices<D>, value: impl ArrayOperand<T, D>) {
        expect(self.try_assign_slice(ranges, value));
    }

    /// As [`Array::assign_slice`].
    ///
    /// # Errors
    ///
    /// If a range leaves the array, a step is 0, or the value does not broadcast to the shape of
    /// the slice; the array is then as it was.
    pub fn try_assign_slice(
        &mut self,
        ranges: impl Slices<D>,
        value: impl ArrayOperand<T, D>,
    ) -> Result<(), Error> {
        named("assign_slice", || {
            self.assign(&ranges.slices(), value.source())
        })
    }

    fn assign(&mut self, slices: &[Slice; D], Source(value): Source<'_>) -> Result<(), Error> {
        let whole = View::identity(self.arg().shape());
        let target = sliced(&whole, slices, Slice::ascending_of)?;
        let view = value_view(value, slices, target.shape())?;
        if target.shape().is_empty() {
            return Ok(());
        }
        if target.is_identity() {
            // Nothing of what the array was is needed, even if it could not be computed.
            let store = self.runtime().new_store(target.shape(), T::DTYPE);
            Self::fill(TaskArg::from(&store), value, view.as_ref())?;
            *self = Self::wrap(store, None);
            return Ok(());
        }
        // The value is still borrowed, so an array that is also (seen by) the value is not unique.
        if self.view().is_some() || !self.runtime().is_unique(self.store()) {
            *self = self.try_copy()?;
        }
        let target = Arc::new(target);
        let target = TaskArg {
            store: self.store(),
            view: Some(&target),
        };
        Self::fill(target, value, view.as_ref())
    }

    /// Issues the task that writes a value, an array through a view, into a target.
    fn fill(target: TaskArg<'_>, value: Kind<'_>, view: Option<&Arc<View>>) -> Result<(), Error> {
        let runtime = target.store.runtime();
        let fill = |origin| bodies::body(Operation::Fill(origin, Target::Array), T::DTYPE);
        match value {
            Kind::Array(arg) => {
                let arg = TaskArg { view, ..arg };
                runtime.submit(fill(Origin::Array), &[arg, target], &[])
            }
            Kind::Scalar(scalar) => {
                let args = [TaskArg::from(scalar), target];
                runtime.submit(fill(Origin::Scalar), &args, &[])
            }
            Kind::Number(number) => runtime.submit(fill(Origin::Number), &[target], &[number]),
        }
    }

    /// Changes the elements within the given ranges in place: `change` gets them as they are, and
    /// what it returns is written to them. The tasks of the change and one more, which fuse; before
    /// them one that copies the array, unless this is the only handle of it.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let mut x = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0]);
    /// let y = Vector::from_vec(vec![10.0, 20.0]);
    /// x.update_slice(1..3, |slice| slice + &y); // NumPy's `x[1:3] += y`
    /// assert_eq!(x.to_vec()?, [1.0, 12.0, 23.0, 4.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_update_slice`] returns, and if `change` panics.
    #[doc(alias = "slice_mut")]
    #[track_caller]
    pub fn update_slice(&mut self, ranges: impl Slices<D>, change: impl FnOnce(Self) -> Self) {
        expect(self.try_update_slice(ranges, |slice| Ok(change(slice))));
    }

    /// As [`Array::update_slice`].
    ///
    /// # Errors
    ///
    /// If a range leaves the array, a step is 0, `change` fails, or what it returns does not
    /// broadcast to the shape of the slice; the array is then as it was.
    pub fn try_update_slice(
        &mut self,
        ranges: impl Slices<D>,
        change: impl FnOnce(Self) -> Result<Self, Error>,
    ) -> Result<(), Error> {
        let slices = ranges.slices();
        // The handle of the slice is gone when the array is written.
        const OP: &str = "update_slice";
        let slice = named(OP, || self.seen(|view| sliced(view, &slices, Slice::of)))?;
        let value = change(slice)?;
        named(OP, || {
            self.assign(&slices, Source(Kind::Array(value.arg())))
        })
    }

    /// The array through a change of its view.
    pub(crate) fn seen<const E: usize>(
        &self,
        change: impl FnOnce(&View) -> Result<View, Error>,
    ) -> Result<Array<T, E>, Error> {
        let view = match self.view() {
            Some(view) => change(view)?,
            None => change(&View::identity(self.store().shape()))?,
        };
        let view = (!view.is_identity()).then(|| Arc::new(view));
        Ok(Array::wrap(self.store().clone(), view))
    }
}

/// An array of `D` dimensions has these axes.
pub(crate) fn check_axes<const D: usize>(
    op: &'static str,
    axes: impl IntoIterator<Item = usize>,
) -> Result<(), Error> {
    match axes.into_iter().find(|&axis| axis >= D) {
        None => Ok(()),
        Some(axis) => {
            let expected = format!("an axis below {D}");
            Err(Error::argument(op, expected, axis.to_string()))
        }
    }
}

fn sliced<const D: usize>(
    view: &View,
    slices: &[Slice; D],
    slice_of: impl Fn(Slice, &View, usize) -> Result<View, Error>,
) -> Result<View, Error> {
    let mut view = *view;
    for (dim, &slice) in slices.iter().enumerate() {
        view = slice_of(slice, &view, dim)?;
    }
    Ok(view)
}

/// How the value of an assignment is seen by a slice that is written in ascending order: broadcast
/// to its shape, and backwards where the slice was meant backwards.
fn value_view<const D: usize>(
    value: Kind<'_>,
    slices: &[Slice; D],
    shape: Shape,
) -> Result<Option<Arc<View>>, Error> {
    let Kind::Array(arg) = value else {
        return Ok(None);
    };
    let seen = arg.view.map_or(View::identity(arg.shape()), |view| **view);
    let fits = seen.broadcast_to(shape);
    let mut view = fits.map_err(|_| Error::shape("assign_slice", shape, arg.shape()))?;
    for (dim, slice) in slices.iter().enumerate() {
        if slice.is_descending() {
            view = view.slice(dim, 0..shape.dims()[dim], -1)?;
        }
    }
    Ok((!view.is_identity()).then(|| Arc::new(view)))
}
