//! Running maxima and minima, orders by several keys, and what a sort does more than is asked for.

use crate::array::{Array, Vector};
use crate::axes::along_an_axis;
use crate::operand::{expect, named};
use crate::scalar::Scalar;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Numeric, Real};
use sparsefuse_runtime::{Error, Shape};

twins! {
    @ "If there is no such axis.";
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// The running maxima along an axis: each element is the largest of all up to it, and NaN from
    /// the first NaN on. NumPy's `maximum.accumulate`. One task, as of [`Array::cumsum_axis`].
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![2, 1, 3, 4, 0, 5])?;
    /// assert_eq!(a.cummax_axis(1).to_vec()?, [2, 2, 3, 4, 4, 5]);
    /// assert_eq!(a.cummin_axis(0).to_vec()?, [2, 1, 3, 2, 0, 3]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("accumulate", "running_maximum", "cumulative_max"))]
    cummax_axis try_cummax_axis(&self, axis: usize) -> Self {
        self.scan("cummax_axis", axis, |before, x| match is_nan(before) || x <= before {
            true => before,
            false => x,
        })
    }

    /// The running minima along an axis, as [`Array::cummax_axis`]: NumPy's `minimum.accumulate`.
    #[doc(alias("accumulate", "running_minimum", "cumulative_min"))]
    cummin_axis try_cummin_axis(&self, axis: usize) -> Self {
        self.scan("cummin_axis", axis, |before, x| match is_nan(before) || x >= before {
            true => before,
            false => x,
        })
    }
}

twins! {
    methods [T: Numeric + PartialOrd] Vector<T>;
    /// The running maxima: [`Array::cummax_axis`] along the one axis.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![2.0, 1.0, 3.0]);
    /// assert_eq!(x.cummax().to_vec()?, [2.0, 2.0, 3.0]);
    /// assert_eq!(x.cummin().to_vec()?, [2.0, 1.0, 1.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    cummax try_cummax(&self) -> Self { self.try_cummax_axis(0) }

    /// The running minima: [`Array::cummin_axis`] along the one axis.
    cummin try_cummin(&self) -> Self { self.try_cummin_axis(0) }
}

twins! {
    @ "If there is no such axis, or no element at place `kth` along it.";
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// The elements along an axis in such an order that the one at place `kth` is that of the
    /// sorted line, smaller ones stand before it and larger ones behind it: NumPy's `partition`.
    /// Lines of several, longer than 20, are selected in, which takes linear time; a vector, and
    /// shorter lines, are [sorted](Array::sort_axis). The elements at some places alone are cheaper
    /// as [`Vector::quantile`].
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![5, 1, 4, 2, 3]);
    /// assert_eq!(x.partition_axis(0, 1).slice(..2).sum().get()?, 3);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("partition", "select_nth_unstable"))]
    partition_axis try_partition_axis(&self, axis: usize, kth: usize) -> Self {
        check_place("partition_axis", self, axis, kth)?;
        self.parted(axis, kth)
    }

    /// The indices of such an order: NumPy's `argpartition`, at the cost of
    /// [`Array::partition_axis`].
    #[doc(alias = "argpartition")]
    argpartition_axis try_argpartition_axis(&self, axis: usize, kth: usize) -> Array<i64, D> {
        check_place("argpartition_axis", self, axis, kth)?;
        self.arg_parted(axis, kth)
    }
}

impl<T: Numeric + PartialOrd> Vector<T> {
    /// The indices that sort by several keys, the last of which counts most: NumPy's `lexsort`.
    /// Stable, NaN last in each key. A sort and a gather for each key but the first, which is
    /// sorted alone. Keys of other types: `key.take(&order).argsort()` sorts what is in order.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (given, family) = (Vector::from_vec(vec![3, 1, 2]), Vector::from_vec(vec![1, 1, 0]));
    /// assert_eq!(Vector::lexsort(&[&given, &family]).to_vec()?, [2, 1, 0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_lexsort`] returns.
    #[must_use]
    #[track_caller]
    pub fn lexsort(keys: &[&Self]) -> Vector<i64> {
        expect(Self::try_lexsort(keys))
    }

    /// As [`Vector::lexsort`].
    ///
    /// # Errors
    ///
    /// If there is no key, or their lengths or runtimes differ.
    pub fn try_lexsort(keys: &[&Self]) -> Result<Vector<i64>, Error> {
        const OP: &str = "lexsort";
        let Some((first, others)) = keys.split_first() else {
            return Err(Error::argument(OP, "one key or more", "none"));
        };
        let shape: Shape = first.arg().shape();
        if let Some(other) = others.iter().find(|other| other.len() != first.len()) {
            return Err(Error::shape(OP, shape, other.arg().shape()));
        }
        named(OP, || {
            let mut order = first.try_argsort_axis(0)?;
            for key in others {
                let next = key.try_take(&order)?.try_argsort_axis(0)?;
                order = order.try_take(&next)?;
            }
            Ok(order)
        })
    }
}

twins! {
    @ "If the array is empty.";
    [T: Real, const D: usize] Array<T, D>;
    /// The flat index of the smallest element that is not NaN, the first of equals; -1 if there is
    /// none, where NumPy's `nanargmin` raises. The array is read twice.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![f64::NAN, 2.0, 1.0]);
    /// assert_eq!((x.nan_argmin().get()?, x.nan_argmax().get()?), (2, 1));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "nanargmin")]
    nan_argmin try_nan_argmin(&self) -> Scalar<i64> { self.place_of(&self.try_nan_min()?) }

    /// The flat index of the largest element that is not NaN, as [`Array::nan_argmin`]: NumPy's
    /// `nanargmax`.
    #[doc(alias = "nanargmax")]
    nan_argmax try_nan_argmax(&self) -> Scalar<i64> { self.place_of(&self.try_nan_max()?) }
}

impl<T: Real, const D: usize> Array<T, D> {
    /// The flat index of the first element that equals a value, or -1.
    fn place_of(&self, value: &Scalar<T>) -> Result<Scalar<i64>, Error> {
        let is_it = self.try_equal(value)?;
        let place = is_it.try_cast::<i32>()?.try_argmax()?;
        is_it.try_any()?.try_select(&place, -1)
    }
}

along_an_axis! {
    [2 -> 1, 3 -> 2, 4 -> 3]
    /// The index of the smallest element along an axis that is not NaN, the first of equals; -1
    /// where there is none. NumPy's `nanargmin` with an axis.
    #[doc(alias = "nanargmin")]
    nan_argmin_axis try_nan_argmin_axis [Real] -> i64: |array, axis| {
        let smallest = array.try_replace_nan(T::from_f64(f64::INFINITY))?.try_min_axis(axis)?;
        let is_it = array.try_equal(&smallest.try_insert_axis(axis)?)?;
        let place = is_it.try_cast::<i32>()?.try_argmax_axis(axis)?;
        is_it.try_any_axis(axis)?.try_select(&place, -1)
    }

    /// The index of the largest element along an axis that is not NaN, as
    /// [`Self::nan_argmin_axis`]. NumPy's `nanargmax` with an axis.
    #[doc(alias = "nanargmax")]
    nan_argmax_axis try_nan_argmax_axis [Real] -> i64: |array, axis| {
        let largest = array.try_replace_nan(T::from_f64(f64::NEG_INFINITY))?.try_max_axis(axis)?;
        let is_it = array.try_equal(&largest.try_insert_axis(axis)?)?;
        let place = is_it.try_cast::<i32>()?.try_argmax_axis(axis)?;
        is_it.try_any_axis(axis)?.try_select(&place, -1)
    }
}

/// Numbers that are not equal to themselves.
#[expect(clippy::eq_op, reason = "NaN differs from itself")]
fn is_nan<T: PartialEq>(x: T) -> bool {
    x != x
}

fn check_place<T: Numeric, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    axis: usize,
    kth: usize,
) -> Result<(), Error> {
    check_axes::<D>(op, [axis])?;
    match x.shape()[axis] {
        n if kth < n => Ok(()),
        n => {
            let expected = format!("a place below {n} along axis {axis}");
            Err(Error::argument(op, expected, kth.to_string()))
        }
    }
}
