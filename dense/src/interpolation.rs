//! Interpolation between points with given values outside, and of periodic functions.

use crate::array::{Array, Vector};
use crate::twins::twins;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Error, Shape};

twins! {
    @ "If there is no point, there are not as many values as abscissas, or the arrays belong to two \
       runtimes.";
    [T: Real, const D: usize] Array<T, D>;
    /// As [`Array::interp`], with these values before the first point and behind the last one:
    /// NumPy's `interp(x, xs, ys, left, right)`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (xs, ys) = (Vector::from_vec(vec![0.0, 1.0]), Vector::from_vec(vec![0.0, 10.0]));
    /// let x = Vector::from_vec(vec![-1.0, 0.0, 0.5, 1.0, 2.0]);
    /// assert_eq!(x.interp_within(&xs, &ys, -7.0, 7.0).to_vec()?, [-7.0, 0.0, 5.0, 10.0, 7.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "interp")]
    interp_within try_interp_within(&self, xs: &Vector<T>, ys: &Vector<T>, left: T, right: T) -> Self {
        let made = self.try_interp(xs, ys)?;
        let n = xs.len();
        let at = |place: usize| xs.try_slice(place..=place)?.try_reshape([1; D]);
        let (first, last): (Self, Self) = (at(0)?, at(n - 1)?);
        let made = self.try_less(&first)?.try_select(left, &made)?;
        self.try_greater(&last)?.try_select(right, &made)
    }

    /// As [`Array::interp`] of a function with a period, of which the points, in any order, may lie
    /// in any of its periods: NumPy's `interp(x, xs, ys, period=period)`. Sorts the points.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (xs, ys) = (Vector::from_vec(vec![350.0, 10.0]), Vector::from_vec(vec![2.0, 4.0]));
    /// let x = Vector::from_vec(vec![0.0, 355.0, -5.0, 190.0]);
    /// assert_eq!(x.interp_periodic(&xs, &ys, 360.0).to_vec()?, [3.0, 2.5, 2.5, 2.9411764705882355]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "interp")]
    interp_periodic try_interp_periodic(&self, xs: &Vector<T>, ys: &Vector<T>, period: T) -> Self {
        const OP: &str = "interp_periodic";
        let n = xs.len();
        if n == 0 {
            return Err(Error::argument(OP, "at least one point", "none"));
        }
        if ys.len() != n {
            return Err(Error::shape(OP, Shape::new(&[n]), ys.arg().shape()));
        }
        let length = period.to_f64().abs();
        if !(length > 0.0 && length < f64::INFINITY) {
            return Err(Error::argument(OP, "a period other than 0", period.to_string()));
        }
        let period = T::from_f64(length);
        let xs = xs.try_rem(period)?;
        let order = xs.try_argsort_axis(0)?;
        let (xs, ys) = (xs.try_take(&order)?, ys.try_take(&order)?);
        let ends = |v: &Vector<T>| Ok::<_, Error>((v.try_slice(..1)?, v.try_slice(n - 1..)?));
        let ((first_x, last_x), (first_y, last_y)) = (ends(&xs)?, ends(&ys)?);
        let (before, behind) = (last_x.try_sub(period)?, first_x.try_add(period)?);
        let xs = Vector::try_concatenate(0, &[&before, &xs, &behind])?;
        let ys = Vector::try_concatenate(0, &[&last_y, &ys, &first_y])?;
        self.try_rem(period)?.try_interp(&xs, &ys)
    }
}
