//! The distinct slices of an array along an axis: of a matrix its distinct rows or columns.
//!
//! Slices are the rows of a matrix here. They are sorted by their first elements, and those that
//! agree in these by the others, for which every rank holds the matrix. Rows of a few elements are
//! sorted by each column, from the last one to the first. A row that differs from the one before it
//! is the first of its kind.

use crate::array::{Array, Vector};
use crate::operand::named;
use crate::runs::sort_to;
use crate::search::lengths;
use crate::shares::part;
use crate::sort::key_of_equals;
use crate::views::check_axes;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, try_collect};
use std::cmp::Ordering;

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// The distinct slices along an axis, in the order of their elements: of a matrix the distinct
    /// rows for axis 0, columns for axis 1. A slice with a NaN differs from all others. NumPy's
    /// `unique` with an axis.
    ///
    /// One task sorts the slices, and every rank reads all of them; then few tasks, of which one
    /// finds the number of slices and is waited for. Slices of up to 4 elements, on several ranks
    /// of up to 8, are sorted once for each of these, and no rank reads all.
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

/// The numbers of rows in the order of their elements; of equal ones in the order of the rows.
fn ordered<T: Numeric + PartialOrd>(rows: &Array<T, 2>) -> Result<Vector<i64>, Error> {
    /// The longest rows that are sorted by one column after the other: on one rank those for which
    /// that is faster.
    const SHORT: [usize; 2] = [4, 8];
    let [n_rows, n_columns] = rows.shape();
    let runtime = rows.runtime();
    if n_columns == 0 {
        return runtime.enter(|| Vector::<i64>::try_arange(n_rows));
    }
    if n_columns <= SHORT[usize::from(runtime.ranks() > 1)] {
        let mut order = runtime.enter(|| Vector::<i64>::try_arange(n_rows))?;
        for column in (0..n_columns).rev() {
            let elements = rows.try_column(column)?.try_take(&order)?;
            order = order.try_take(&elements.try_argsort_axis(0)?)?;
        }
        return Ok(order);
    }
    let function = move |args: &mut HostArgs<'_>| {
        let (x, made) = (args.read::<T>(0)?, args.write::<i64>(1)?);
        let first = |row: usize| (key_of_equals(x[row * n_columns]), row as u64);
        let mut items = try_collect((0..n_rows).map(|_| (0, 0)))?;
        sort_to(args, first, &mut items, |item| item)?;
        // Rows that agree in their first elements are neighbours now.
        let rest = |row: u64| &x[row as usize * n_columns..][1..n_columns];
        let ends = ends_of_parts(&items, args.threads());
        args.in_parts_to(&mut items, &ends, |_, items| {
            for run in items.chunk_by_mut(|a, b| a.0 == b.0) {
                run.sort_unstable_by(|a, b| compared(rest(a.1), rest(b.1)).then(a.1.cmp(&b.1)));
            }
            Ok(())
        })?;
        let begin = args.cuts(1).map_or(0, |cuts| cuts[args.rank()]);
        let own = items[begin..].iter();
        made.iter_mut()
            .zip(own)
            .for_each(|(made, &(_, row))| *made = row as i64);
        Ok(())
    };
    let reads = [(rows.store(), Access::Whole)];
    let shape = Shape::new(&[n_rows]);
    Array::made_by("unique_axis", runtime, shape, &reads, function)
}

/// Two rows in the order of their elements.
fn compared<T: Numeric>(a: &[T], b: &[T]) -> Ordering {
    let pairs = a
        .iter()
        .zip(b)
        .map(|(&a, &b)| (key_of_equals(a), key_of_equals(b)));
    let mut unequal = pairs.filter(|(a, b)| a != b);
    unequal.next().map_or(Ordering::Equal, |(a, b)| a.cmp(&b))
}

/// Where about equal parts end, none within items with one key.
fn ends_of_parts(items: &[(u64, u64)], parts: usize) -> Vec<usize> {
    let end = |number: usize| match items.get(part(items.len(), number, parts).end) {
        Some(&(key, _)) => items.partition_point(|item| item.0 < key),
        None => items.len(),
    };
    (0..parts).map(end).collect()
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
