//! Several quantiles, by one sort, of real and of whole numbers.

use crate::array::{Array, Vector};
use crate::join::along;
use crate::quantiles::{check_any, check_part};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, try_collect};

twins! {
    @ "If there is no such axis, it has length 0, or a part does not lie between 0 and 1.";
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// Several quantiles along an axis, which stand along the first axis of the result, the other
    /// axes behind it in their order: NumPy's `quantile(a, parts, axis)`, and with `100 * parts`
    /// its `percentile`. Each as [`Vector::quantile`], to the bit; those of whole numbers are of
    /// `f64`. A sort along the axis, two
    /// gathers, and tasks that fuse; up to a few quantiles of long lines are found faster one by
    /// one, by `quantile_axis`, which does not sort.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 6.0, 5.0, 4.0])?;
    /// let ends = a.quantiles_axis(1, &[0.0, 0.5, 1.0]);
    /// assert_eq!(ends.shape(), [3, 2]);
    /// assert_eq!(ends.to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("quantile", "percentile"))]
    quantiles_axis try_quantiles_axis(&self, axis: usize, parts: &[f64]) -> Array<T::Real, D> {
        const OP: &str = "quantiles_axis";
        check_axes::<D>(OP, [axis])?;
        let n = self.shape()[axis];
        check_any(OP, n)?;
        parts.iter().try_for_each(|&part| check_part(OP, part))?;
        let places = parts.iter().map(|part| part * (n - 1) as f64);
        let low: Vec<i64> = try_collect(places.clone().map(|place| place as i64))?;
        let high = try_collect(low.iter().map(|&low| (low + 1).min(n as i64 - 1)))?;
        let rests: Vec<f64> = try_collect(places.map(|place| place - place.floor()))?;
        // From the nearer of both, as NumPy.
        let is_near = try_collect(rests.iter().map(|&rest| rest < 0.5))?;
        let is_whole = try_collect(rests.iter().map(|&rest| rest == 0.0))?;
        let nearest = |rest: f64| T::Real::from_f64(if rest < 0.5 { rest } else { 1.0 - rest });
        let weights = try_collect(rests.into_iter().map(nearest))?;
        let runtime = self.runtime();
        let mut shape = [1; D];
        shape[0] = low.len();
        let [low, high] = [low, high].map(|places| {
            runtime.enter(|| Vector::from_shape_vec([places.len()], places))
        });
        let (low, high) = (low?, high?);
        let [is_near, is_whole] = [is_near, is_whole]
            .map(|holds| runtime.enter(|| Array::<bool, D>::from_shape_vec(shape, holds)));
        let (is_near, is_whole) = (is_near?, is_whole?);
        let weights = runtime.enter(|| Array::<T::Real, D>::from_shape_vec(shape, weights))?;
        let sorted = self.try_sort_axis(axis)?.try_move_axis(axis, 0)?;
        let [low, high] = [&low, &high].map(|places| widened(&sorted.try_take_axis(0, places)?));
        let (low, high) = (low?, high?);
        // Of two infinite elements there is no difference, and none is taken from an element alone.
        let is_one = low.try_equal(&high)?.try_or(&is_whole)?;
        let distance = is_one.try_select(T::Real::ZERO, &high.try_sub(&low)?)?;
        let distance = distance.try_mul(&weights)?;
        let found = is_near.try_select(&low.try_add(&distance)?, &high.try_sub(&distance)?)?;
        // NaN is the last one.
        let last = widened(&sorted.try_slice(along::<D>(0, n - 1..n))?)?;
        last.try_equal(&last)?.try_select(&found, &last)
    }
}

twins! {
    @ "If there is no element, or a part does not lie between 0 and 1.";
    [T: Numeric + PartialOrd] Vector<T>;
    /// The quantiles for several parts between 0 and 1, in their order: NumPy's
    /// `quantile(x, parts)`, and with `100 * parts` its `percentile`; otherwise as
    /// [`Array::quantiles_axis`].
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3, 1, 2, 5, 4]);
    /// assert_eq!(x.quantiles(&[0.25, 0.5, 1.0]).to_vec()?, [2.0, 3.0, 5.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("quantile", "percentile"))]
    quantiles try_quantiles(&self, parts: &[f64]) -> Vector<T::Real> {
        self.try_quantiles_axis(0, parts)
    }
}

/// Elements as real numbers, which most are already.
fn widened<T: Numeric, const D: usize>(x: &Array<T, D>) -> Result<Array<T::Real, D>, Error> {
    match T::DTYPE == T::Real::DTYPE {
        true => Ok(Array::wrap(x.store().clone(), x.view().cloned())),
        false => x.try_cast(),
    }
}
