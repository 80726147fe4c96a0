//! Scatters: values to elements of an array at indices that another array holds.
//!
//! A scatter is a host task. Its rows are those of the array that is changed, of which it makes a
//! new one; on one rank, of an array without another handle, it has no rows, and a block that it
//! changes in place. Its items are the indices in their row-major order, and each element takes
//! what its items bring in that order, one after the other, as if the items were gone through on
//! one thread: so the order of a sum does not depend on threads or ranks.
//!
//! How threads share the items is in `shares.rs` where they name single elements; where they name
//! slices, each thread goes through all items and serves its own. Over the ranks:
//! where all have all items, each serves those of its rows; where items are cut, they are sent to
//! the ranks that have their elements; and where only the items are cut, the array goes from rank
//! to rank, each of which serves its own. Sums of integers, and extremes, each rank makes of its
//! own items, and they are combined along a tree.

mod extremes;
mod points;
mod task;

use crate::array::{Array, Vector};
use crate::bodies::{self, Operation, Origin, Target};
use crate::indices::{Index, Lines};
use crate::operand::{ArrayOperand, Kind, Source, expect, named};
use crate::twins::twins;
use crate::views::check_axes;
use num_complex::Complex;
use sparsefuse_kernels::{DType, Element, Numeric};
use sparsefuse_runtime::{
    Access, Error, HostArgs, HostBody, HostTask, Privilege, Runtime, Shape, StoreHandle, TaskArg,
    View,
};
use std::borrow::Cow;
use std::sync::Arc;
use task::{Plus, Replace, Rule, Scatter};

impl<T: Element, const D: usize> Array<T, D> {
    /// Writes values to the elements at flat, row-major indices; of equal indices the last one
    /// counts. Negative indices count from the end. Values are an array that broadcasts to the
    /// shape of the indices, a scalar or a number. NumPy's `put`, and `x[indices] = values` of a
    /// vector. One task, which is not fused; views and scalars among the operands take another one
    /// each. It changes the array in place on one rank if this is its only handle, else it copies
    /// the array.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let mut x = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0]);
    /// let indices = Vector::from_vec(vec![3, 0, 3]);
    /// x.put(&indices, &Vector::from_vec(vec![7.0, 8.0, 9.0]));
    /// assert_eq!(x.to_vec()?, [8.0, 2.0, 3.0, 9.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_put`] returns.
    #[doc(alias = "scatter")]
    #[track_caller]
    pub fn put<I: Index, const E: usize>(
        &mut self,
        indices: &Array<I, E>,
        values: impl ArrayOperand<T, E>,
    ) {
        expect(self.try_put(indices, values));
    }

    /// As [`Array::put`].
    ///
    /// # Errors
    ///
    /// If the values do not broadcast to the shape of the indices, or the operands belong to two
    /// runtimes; the array is then as it was. Indices that are out of range are found when the task
    /// runs.
    pub fn try_put<I: Index, const E: usize>(
        &mut self,
        indices: &Array<I, E>,
        values: impl ArrayOperand<T, E>,
    ) -> Result<(), Error> {
        let lines = Lines::flat("put", self.len(), indices.len());
        let places = (lines, indices, Access::Held);
        *self = self.scattered(places, values.source(), indices.arg().shape(), Replace)?;
        Ok(())
    }

    /// Writes slices to the places along an axis that the indices say: slice `j` of the values,
    /// which have as many along this axis as there are indices, to the slice `indices[j]` of the
    /// array; of equal indices the last one counts. As [`Array::put`] otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let mut a = Array::<f64, 2>::zeros([3, 2]);
    /// let rows = Array::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// a.put_axis(0, &Vector::from_vec(vec![2, 0]), &rows);
    /// assert_eq!(a.to_vec()?, [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_put_axis`] returns.
    #[track_caller]
    pub fn put_axis<I: Index>(
        &mut self,
        axis: usize,
        indices: &Vector<I>,
        values: impl ArrayOperand<T, D>,
    ) {
        expect(self.try_put_axis(axis, indices, values));
    }

    /// As [`Array::put_axis`].
    ///
    /// # Errors
    ///
    /// If there is no such axis, the values do not broadcast to the shape of the slices, or the
    /// operands belong to two runtimes; the array is then as it was. Indices that are out of range
    /// are found when the task runs.
    pub fn try_put_axis<I: Index>(
        &mut self,
        axis: usize,
        indices: &Vector<I>,
        values: impl ArrayOperand<T, D>,
    ) -> Result<(), Error> {
        *self = self.scattered_along(("put_axis", axis), indices, values.source(), Replace)?;
        Ok(())
    }

    /// A scatter of slices.
    fn scattered_along<I: Index>(
        &self,
        (op, axis): (&'static str, usize),
        indices: &Vector<I>,
        values: Source<'_>,
        rule: impl Rule<T>,
    ) -> Result<Self, Error> {
        check_axes::<D>(op, [axis])?;
        let mut shape = self.shape();
        let lines = Lines::along(op, &shape, axis, indices.len());
        shape[axis] = indices.len();
        let places = (lines, indices, Access::Whole);
        self.scattered(places, values, Shape::new(&shape), rule)
    }

    /// The task. The values have the given shape; `Held`, there is one for each index, and each
    /// rank has some of them; `Whole`, every rank has all indices.
    fn scattered<I: Index, R: Rule<T>, const N: usize>(
        &self,
        (lines, indices, access): (Lines, &Array<I, N>, Access),
        values: Source<'_>,
        shape: Shape,
        _: R,
    ) -> Result<Self, Error> {
        let runtime = self.runtime();
        let (stored, number) = match values.0 {
            Kind::Number(number) => (None, number.get::<T>()),
            value => (Some(stored::<T>(lines.op, runtime, value, shape)?), None),
        };
        let indices = indices.contiguous()?;
        let in_place = self.view_in_place();
        let x = match in_place {
            Some(_) => Cow::Borrowed(self),
            None => Cow::Owned(self.contiguous()?),
        };
        let mut reads = vec![(x.store(), Access::Rows), (indices.store(), access)];
        if let Some(stored) = &stored {
            reads.push((stored, Access::Held));
        }
        let scatter = Scatter {
            lines,
            is_flat: access == Access::Held,
            row_len: x.arg().shape().row_len(),
            items_of_row: lines.items(shape.row_len()),
            n_items: lines.items(shape.len()),
            number,
            in_any_order: R::IS_SUM && T::DTYPE.is_integer(),
            is_extreme: R::IS_EXTREME,
            is_in_place: in_place.is_some(),
        };
        let function = move |args: &mut HostArgs<'_>| scatter.run::<I>(args, R::combine);
        let Some(view) = in_place else {
            return Array::made_by(lines.op, runtime, x.arg().shape(), &reads, function);
        };
        let block = (Privilege::Write, Access::Block, T::DTYPE);
        let others = &reads[1..];
        let declared = others
            .iter()
            .map(|(store, access)| (Privilege::Read, *access, store.dtype()));
        let declared: Vec<_> = [block].into_iter().chain(declared).collect();
        let target = TaskArg {
            store: self.store(),
            view: view.as_ref(),
        };
        let args = others.iter().map(|(store, _)| TaskArg::from(*store));
        let args: Vec<TaskArg<'_>> = [target].into_iter().chain(args).collect();
        let body = HostBody::new(lines.op, &declared);
        runtime.submit_host(&body, &args, HostTask::new(function))?;
        Ok(self.clone())
    }

    /// How a task sees the array as one block, if it may change it in place: nothing else holds it,
    /// and this rank and the memory of the host have all of it.
    fn view_in_place(&self) -> Option<Option<Arc<View>>> {
        let (runtime, shape) = (self.runtime(), self.arg().shape());
        let is_here = runtime.ranks() == 1 && runtime.device().is_none();
        let is_own = is_here && self.view().is_none() && !self.is_empty();
        if !is_own || !runtime.is_unique(self.store()) {
            return None;
        }
        if D <= 2 {
            return Some(None);
        }
        let rows = Shape::new(&[shape.rows(), shape.row_len()]);
        let block = View::identity(shape).reshape(rows)?;
        Some(Some(Arc::new(block)))
    }
}

impl<T: Numeric, const D: usize> Array<T, D> {
    /// Adds values to the elements at flat, row-major indices, for every index that names an
    /// element once, in the row-major order of the indices: NumPy's `add.at`, with the same bits on
    /// any threads and ranks. As [`Array::put`] otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let mut x = Vector::<f64>::zeros([4]);
    /// let indices = Vector::from_vec(vec![3, 0, 3, -3]);
    /// x.add_at(&indices, &Vector::from_vec(vec![7.0, 8.0, 9.0, 1.0]));
    /// assert_eq!(x.to_vec()?, [8.0, 1.0, 0.0, 16.0]);
    /// x.add_at(&indices, 1.0);
    /// assert_eq!(x.to_vec()?, [9.0, 2.0, 0.0, 18.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_add_at`] returns.
    #[doc(alias("scatter_add", "index_add"))]
    #[track_caller]
    pub fn add_at<I: Index, const E: usize>(
        &mut self,
        indices: &Array<I, E>,
        values: impl ArrayOperand<T, E>,
    ) {
        expect(self.try_add_at(indices, values));
    }

    /// As [`Array::add_at`].
    ///
    /// # Errors
    ///
    /// As [`Array::try_put`].
    pub fn try_add_at<I: Index, const E: usize>(
        &mut self,
        indices: &Array<I, E>,
        values: impl ArrayOperand<T, E>,
    ) -> Result<(), Error> {
        let lines = Lines::flat("add_at", self.len(), indices.len());
        let places = (lines, indices, Access::Held);
        *self = self.scattered(places, values.source(), indices.arg().shape(), Plus)?;
        Ok(())
    }

    /// Adds slices to the places along an axis that the indices say, in the order of the indices;
    /// as [`Array::put_axis`] otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let mut a = Array::<i64, 2>::zeros([2, 2]);
    /// let rows = Array::from_shape_vec([3, 2], vec![1, 2, 3, 4, 5, 6])?;
    /// a.add_at_axis(0, &Vector::from_vec(vec![1, 0, 1]), &rows);
    /// assert_eq!(a.to_vec()?, [3, 4, 6, 8]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_add_at_axis`] returns.
    #[track_caller]
    pub fn add_at_axis<I: Index>(
        &mut self,
        axis: usize,
        indices: &Vector<I>,
        values: impl ArrayOperand<T, D>,
    ) {
        expect(self.try_add_at_axis(axis, indices, values));
    }

    /// As [`Array::add_at_axis`].
    ///
    /// # Errors
    ///
    /// As [`Array::try_put_axis`].
    pub fn try_add_at_axis<I: Index>(
        &mut self,
        axis: usize,
        indices: &Vector<I>,
        values: impl ArrayOperand<T, D>,
    ) -> Result<(), Error> {
        *self = self.scattered_along(("add_at_axis", axis), indices, values.source(), Plus)?;
        Ok(())
    }
}

twins! {
    [I: Index, const E: usize] Array<I, E>;
    /// How often each of the numbers 0, 1, … `len - 1` stands in the array; any other number is an
    /// error. NumPy's `bincount`, with a length that is given. Two tasks.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 3, 1, 0]);
    /// assert_eq!(x.bincount(5).to_vec()?, [1, 2, 0, 1, 0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "histogram")]
    @ "If memory cannot hold the counts. Numbers that are out of range are found when the task \
        runs."
    bincount try_bincount(&self, len: usize) -> Vector<i64> {
        self.counted("bincount", len, Source(Kind::Number(1i64.to_value())))
    }
}

impl<I: Index, const E: usize> Array<I, E> {
    /// For each of the numbers 0, 1, … `len - 1`, the sum of the weights of where it stands in the
    /// array, added in the row-major order of the array; any other number is an error. Weights are
    /// an array that broadcasts to the shape of this one. NumPy's `bincount` with weights. Two
    /// tasks, and two more for `f32`, whose weights are added as copies in double precision.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 3, 1, 0]);
    /// let weights = Vector::from_vec(vec![0.5, 1.0, 0.25, 2.0]);
    /// assert_eq!(x.bincount_weighted(&weights, 4).to_vec()?, [2.0, 0.75, 0.0, 1.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_bincount_weighted`] returns.
    #[must_use]
    #[track_caller]
    pub fn bincount_weighted<T: Numeric>(&self, weights: &Array<T, E>, len: usize) -> Vector<T> {
        expect(self.try_bincount_weighted(weights, len))
    }

    /// As [`Array::bincount_weighted`].
    ///
    /// # Errors
    ///
    /// If the weights do not broadcast to the shape of the array or belong to another runtime, or
    /// memory cannot hold the sums. Numbers that are out of range are found when the task runs.
    pub fn try_bincount_weighted<T: Numeric>(
        &self,
        weights: &Array<T, E>,
        len: usize,
    ) -> Result<Vector<T>, Error> {
        match T::DTYPE {
            DType::F32 => self.weighted::<f64>(&weights.try_cast()?, len)?.try_cast(),
            DType::ComplexF32 => {
                let wide = weights.try_cast::<Complex<f64>>()?;
                self.weighted(&wide, len)?.try_cast()
            }
            _ => self.weighted(weights, len),
        }
    }

    fn weighted<T: Numeric>(&self, weights: &Array<T, E>, len: usize) -> Result<Vector<T>, Error> {
        self.counted("bincount_weighted", len, Source(Kind::Array(weights.arg())))
    }

    fn counted<T: Numeric>(
        &self,
        op: &'static str,
        len: usize,
        values: Source<'_>,
    ) -> Result<Vector<T>, Error> {
        let lines = Lines {
            counts_from_end: false,
            ..Lines::flat(op, len, self.len())
        };
        let none = named(op, || {
            self.runtime().enter(|| Vector::<T>::try_zeros([len]))
        })?;
        let places = (lines, self, Access::Held);
        none.scattered(places, values, self.arg().shape(), Plus)
    }
}

/// The values of a scatter, of this shape, in a store of their own.
pub(crate) fn stored<T: Element>(
    op: &'static str,
    runtime: &Runtime,
    value: Kind<'_>,
    shape: Shape,
) -> Result<StoreHandle, Error> {
    let fill = |origin| bodies::body(Operation::Fill(origin, Target::Array), T::DTYPE);
    let made = || runtime.new_store(shape, T::DTYPE);
    match value {
        Kind::Array(arg) if arg.view.is_none() && arg.shape() == shape => Ok(arg.store.clone()),
        Kind::Array(arg) => {
            let seen = arg.view.map_or(View::identity(arg.shape()), |view| **view);
            let seen = seen.broadcast_to(shape);
            let view = Arc::new(seen.map_err(|_| Error::shape(op, shape, arg.shape()))?);
            let view = Some(&view).filter(|view| !view.is_identity());
            let made = made();
            let args = [TaskArg { view, ..arg }, TaskArg::from(&made)];
            runtime.submit(fill(Origin::Array), &args, &[])?;
            Ok(made)
        }
        Kind::Scalar(scalar) => {
            let made = made();
            let args = [TaskArg::from(scalar), TaskArg::from(&made)];
            runtime.submit(fill(Origin::Scalar), &args, &[])?;
            Ok(made)
        }
        Kind::Number(number) => {
            let made = made();
            let args = [TaskArg::from(&made)];
            runtime.submit(fill(Origin::Number), &args, &[number])?;
            Ok(made)
        }
    }
}
