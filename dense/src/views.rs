//! Views: other ways to see the same elements, without a task and without a copy.
//!
//! A view is an array like any other, and a value: it keeps what it sees now, whatever is done to
//! other handles later. The one operation that writes in place, [`Array::assign_slice`], copies
//! first if another handle could notice.

use crate::array::{Array, Vector};
use crate::bodies::Origin;
use crate::bodies::{self, Operation, Target};
use crate::operand::{ArrayOperand, Kind, Source, check_len, expect};
use crate::slices::{Slice, Slices};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Shape, TaskArg, View};
use std::sync::Arc;

impl<T: Element, const D: usize> Array<T, D> {
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
    ///
    /// # Panics
    ///
    /// If a range leaves the array; [`Array::try_slice`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, ranges: impl Slices<D>) -> Self {
        expect(self.try_slice(ranges))
    }

    /// As [`Array::slice`].
    ///
    /// # Errors
    ///
    /// If a range leaves the array, or a step is 0.
    pub fn try_slice(&self, ranges: impl Slices<D>) -> Result<Self, Error> {
        let slices = ranges.slices();
        self.seen(|view| sliced(view, &slices, Slice::of))
    }

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

    /// The array repeated to a larger shape, by NumPy's rules: dimensions are matched from the
    /// last, and those of length 1 or missing ones repeat.
    ///
    /// # Errors
    ///
    /// If a dimension has neither length 1 nor the length asked for.
    pub fn broadcast_to<const E: usize>(&self, shape: [usize; E]) -> Result<Array<T, E>, Error> {
        let shape = Shape::new(&shape);
        check_len("broadcast", shape)?;
        self.seen(|view| view.broadcast_to(shape))
    }

    /// The same elements, row-major, in another shape. A copy on the host: executes what has been
    /// issued, and every rank gets all elements.
    ///
    /// # Errors
    ///
    /// If the shapes have different numbers of elements, or the computation of the array failed.
    pub fn reshape<const E: usize>(&self, shape: [usize; E]) -> Result<Array<T, E>, Error> {
        let target = Shape::new(&shape);
        if target.checked_len() != Some(self.len()) {
            return Err(Error::shape("reshape", self.arg().shape(), target));
        }
        let store = self.runtime().store_from_vec(target, self.to_vec()?)?;
        Ok(Array::wrap(store, None))
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
        let slices = ranges.slices();
        let whole = View::identity(self.arg().shape());
        let target = sliced(&whole, &slices, Slice::ascending_of)?;
        let Source(value) = value.source();
        let view = value_view(value, &slices, target.shape())?;
        if target.shape().is_empty() {
            return Ok(());
        }
        // The value is still borrowed, so an array that is also (seen by) the value is not unique.
        if self.view().is_some() || !self.runtime().is_unique(self.store()) {
            *self = self.try_copy()?;
        }
        let target = (!target.is_identity()).then(|| Arc::new(target));
        let target = TaskArg {
            store: self.store(),
            view: target.as_ref(),
        };
        let fill = |origin| bodies::body(Operation::Fill(origin, Target::Array), T::DTYPE);
        match value {
            Kind::Array(arg) => {
                let arg = TaskArg {
                    view: view.as_ref(),
                    ..arg
                };
                self.runtime()
                    .submit(fill(Origin::Array), &[arg, target], &[])
            }
            Kind::Scalar(scalar) => {
                let args = [TaskArg::from(scalar), target];
                self.runtime().submit(fill(Origin::Scalar), &args, &[])
            }
            Kind::Number(number) => {
                self.runtime()
                    .submit(fill(Origin::Number), &[target], &[number])
            }
        }
    }

    /// The array through a change of its view.
    fn seen<const E: usize>(
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

impl<T: Element> Array<T, 2> {
    /// Row `row` as a vector.
    ///
    /// # Panics
    ///
    /// If the row does not exist; [`Array::try_row`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn row(&self, row: usize) -> Vector<T> {
        expect(self.try_row(row))
    }

    /// As [`Array::row`].
    ///
    /// # Errors
    ///
    /// If the row does not exist.
    pub fn try_row(&self, row: usize) -> Result<Vector<T>, Error> {
        self.seen(|view| view.index(0, row))
    }

    /// Column `column` as a vector.
    ///
    /// # Panics
    ///
    /// If the column does not exist; [`Array::try_column`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn column(&self, column: usize) -> Vector<T> {
        expect(self.try_column(column))
    }

    /// As [`Array::column`].
    ///
    /// # Errors
    ///
    /// If the column does not exist.
    pub fn try_column(&self, column: usize) -> Result<Vector<T>, Error> {
        self.seen(|view| view.index(1, column))
    }
}

impl<T: Element> Vector<T> {
    /// The vector as a matrix: with one row for `axis` 0, with one column for `axis` 1.
    ///
    /// # Panics
    ///
    /// If `axis` is above 1; [`Vector::try_insert_axis`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn insert_axis(&self, axis: usize) -> Array<T, 2> {
        expect(self.try_insert_axis(axis))
    }

    /// As [`Vector::insert_axis`].
    ///
    /// # Errors
    ///
    /// If `axis` is above 1.
    pub fn try_insert_axis(&self, axis: usize) -> Result<Array<T, 2>, Error> {
        self.seen(|view| view.insert_axis(axis))
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
