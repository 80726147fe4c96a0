//! The distinct slices of an array along an axis: of a matrix its distinct rows or columns.
//!
//! Slices are the rows of a matrix here. A stable sort by each column, from the last one to the
//! first, leaves the rows in the order of their elements; a row that differs from the one before it
//! is the first of its kind.

use crate::array::{Array, Vector};
use crate::operand::named;
use crate::search::lengths;
use crate::views::check_axes;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// The distinct slices along an axis, in the order of their elements: of a matrix the distinct
    /// rows for axis 0, columns for axis 1. A slice with a NaN differs from all others. NumPy's
    /// `unique` with an axis.
    ///
    /// Sorts the slices once for each element of a slice, so it is for short ones; then few tasks,
    /// of which one finds the number of slices and is waited for.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([4, 2], vec![3, 1, 0, 7, 3, 1, 0, 2])?;
    /// assert_eq!(a.unique_axis(0)?.to_vec()?, [0, 2, 0, 7, 3, 1]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such axis, or the computation of the array failed.
    #[doc(alias("unique", "distinct"))]
    pub fn unique_axis(&self, axis: usize) -> Result<Self, Error> {
        named("unique_axis", || {
            let groups = Groups::of(self, axis)?;
            groups.slices(self, axis)
        })
    }

    /// The distinct slices as [`Array::unique_axis`] gives them, and how often each stands in the
    /// array.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([3, 2], vec![3, 1, 0, 7, 3, 1])?;
    /// let (rows, counts) = a.unique_axis_counts(0)?;
    /// assert_eq!((rows.to_vec()?, counts.to_vec()?), (vec![0, 7, 3, 1], vec![1, 2]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::unique_axis`].
    pub fn unique_axis_counts(&self, axis: usize) -> Result<(Self, Vector<i64>), Error> {
        named("unique_axis_counts", || {
            let groups = Groups::of(self, axis)?;
            let counts = lengths(&groups.first, groups.order.len())?;
            Ok((groups.slices(self, axis)?, counts))
        })
    }

    /// The distinct slices as [`Array::unique_axis`] gives them, and for each slice of the array
    /// its place among them.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([3, 2], vec![3, 1, 0, 7, 3, 1])?;
    /// let (rows, inverse) = a.unique_axis_inverse(0)?;
    /// assert_eq!(inverse.to_vec()?, [1, 0, 1]);
    /// assert_eq!(rows.take_axis(0, &inverse).to_vec()?, a.to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::unique_axis`].
    pub fn unique_axis_inverse(&self, axis: usize) -> Result<(Self, Vector<i64>), Error> {
        named("unique_axis_inverse", || {
            let groups = Groups::of(self, axis)?;
            Ok((groups.slices(self, axis)?, groups.inverse()?))
        })
    }
}

/// Which slices are equal.
struct Groups {
    /// The slices in order.
    order: Vector<i64>,
    /// Whether each of them is the first of its kind, and the places of those that are.
    is_first: Vector<bool>,
    first: Vector<i64>,
}

impl Groups {
    fn of<T: Numeric + PartialOrd, const D: usize>(
        array: &Array<T, D>,
        axis: usize,
    ) -> Result<Self, Error> {
        check_axes::<D>("unique_axis", [axis])?;
        let slices = array.try_move_axis(axis, 0)?;
        let shape = slices.shape();
        let rows = slices.try_reshape([shape[0], shape[1..].iter().product()])?;
        let rows = rows.contiguous()?;
        let order = ordered(&rows)?;
        let is_first = begins(&rows.try_take_axis(0, &order)?)?;
        let first = is_first.flat_nonzero()?;
        Ok(Self {
            order,
            is_first,
            first,
        })
    }

    /// The first slice of each kind.
    fn slices<T: Numeric, const D: usize>(
        &self,
        array: &Array<T, D>,
        axis: usize,
    ) -> Result<Array<T, D>, Error> {
        array.try_take_axis(axis, &self.order.try_take(&self.first)?)
    }

    /// The kind of each slice of the array.
    fn inverse(&self) -> Result<Vector<i64>, Error> {
        let kinds = self.is_first.try_cast::<i64>()?.try_cumsum_axis(0)?;
        let n = self.order.len();
        let mut inverse = self.order.runtime().enter(|| Vector::try_zeros([n]))?;
        inverse.try_put(&self.order, &kinds.try_sub(1)?)?;
        Ok(inverse)
    }
}

/// The numbers of rows in the order of their elements.
fn ordered<T: Numeric + PartialOrd>(rows: &Array<T, 2>) -> Result<Vector<i64>, Error> {
    let [n_rows, n_columns] = rows.shape();
    let runtime = rows.runtime();
    let mut order = runtime.enter(|| Vector::<i64>::try_arange(n_rows))?;
    for column in (0..n_columns).rev() {
        let elements = rows.try_column(column)?.try_take(&order)?;
        order = order.try_take(&elements.try_argsort_axis(0)?)?;
    }
    Ok(order)
}

/// Whether each row differs from the one before it.
fn begins<T: Numeric>(rows: &Array<T, 2>) -> Result<Vector<bool>, Error> {
    let n_rows = rows.shape()[0];
    let n_first = n_rows.min(1);
    let first = rows.runtime().enter(|| Vector::try_full([n_first], true))?;
    let before = rows.try_slice((..n_rows - n_first, ..))?;
    let others = rows.try_slice((n_first.., ..))?.try_not_equal(&before)?;
    Vector::try_concatenate(0, &[&first, &others.try_any_axis(1)?])
}
