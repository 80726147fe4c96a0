//! Arrays turned by right angles, and angles made continuous.

use crate::array::Array;
use crate::join::along;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Real};
use sparsefuse_runtime::Error;

twins! {
    @ "If there are no such axes, or both are one.";
    [T: Element, const D: usize] Array<T, D>;
    /// The array turned by `times` right angles in the plane of two axes, from the first to the
    /// second: NumPy's `rot90(a, times, axes)`. A view.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 2], vec![1, 2, 3, 4])?;
    /// assert_eq!(a.rot90(1, [0, 1]).to_vec()?, [2, 4, 1, 3]);
    /// assert_eq!(a.rot90(-1, [0, 1]).to_vec()?, [3, 1, 4, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    rot90 try_rot90(&self, times: isize, axes: [usize; 2]) -> Self {
        const OP: &str = "rot90";
        check_axes::<D>(OP, axes)?;
        let [first, second] = axes;
        if first == second {
            let found = format!("{first} and {second}");
            return Err(Error::argument(OP, "two different axes", found));
        }
        match times.rem_euclid(4) {
            0 => Ok(self.clone()),
            1 => self.try_flip(second)?.try_swap_axes(first, second),
            2 => self.try_flip(first)?.try_flip(second),
            _ => self.try_swap_axes(first, second)?.try_flip(second),
        }
    }
}

twins! {
    @ "If there is no such axis, or the period is not a positive number.";
    [T: Real, const D: usize] Array<T, D>;
    /// The numbers, such as angles, without jumps along an axis: from where an element differs from
    /// that before it by more than half a period, a multiple of the period is added. NumPy's
    /// `unwrap(x, axis=axis, period=period)`, whose period is `2.0 * PI` if none is given. A
    /// [running sum](Array::cumsum_axis), and tasks that fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let hours = Vector::from_vec(vec![22.0, 23.0, 1.0, 4.0, 23.0]);
    /// assert_eq!(hours.unwrap_axis(0, 24.0).to_vec()?, [22.0, 23.0, 25.0, 28.0, 23.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("unwrap", "phase"))]
    unwrap_axis try_unwrap_axis(&self, axis: usize, period: f64) -> Self {
        const OP: &str = "unwrap_axis";
        check_axes::<D>(OP, [axis])?;
        if !(period > 0.0 && period < f64::INFINITY) {
            return Err(Error::argument(OP, "a positive period", period.to_string()));
        }
        let n = self.shape()[axis];
        if n < 2 {
            return Ok(self.clone());
        }
        let (period, half) = (T::from_f64(period), T::from_f64(period * 0.5));
        let difference = self.try_diff(axis)?;
        let jumps = difference.try_map(|step| {
            let near = (step + half) % period - half;
            let is_turned = near.equal(-half) & step.greater(T::ZERO);
            let near = is_turned.select(half, near);
            step.abs().less(half).select(T::ZERO, near - step)
        })?;
        let first = self.try_slice(along::<D>(axis, 0..1))?;
        let others = self.try_slice(along::<D>(axis, 1..n))?;
        let others = others.try_add(&jumps.try_cumsum_axis(axis)?)?;
        Self::try_concatenate(axis, &[&first, &others])
    }
}
