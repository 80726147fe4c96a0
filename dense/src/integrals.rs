//! Running integrals, and integrals by Simpson's rule.

use crate::array::{Array, Vector};
use crate::axes::along_an_axis;
use crate::join::along;
use crate::scalar::Scalar;
use crate::slices::step;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

twins! {
    @ "If there is no such axis.";
    [T: Field, const D: usize] Array<T, D>;
    /// The integrals from the first point along an axis to each further one, by the trapezoidal
    /// rule, one less than there are points, which lie `spacing` apart: SciPy's
    /// `cumulative_trapezoid(a, dx=spacing, axis=axis)`. Few tasks, and a
    /// [running sum](Array::cumsum_axis).
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let y = Vector::from_vec(vec![1.0, 2.0, 4.0]);
    /// assert_eq!(y.cumulative_trapezoid(0, 2.0).to_vec()?, [3.0, 9.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "cumtrapz")]
    cumulative_trapezoid try_cumulative_trapezoid(&self, axis: usize, spacing: T) -> Self {
        check_axes::<D>("cumulative_trapezoid", [axis])?;
        let half = T::from_f64(0.5);
        self.sums_of_two(axis)?.try_mul(spacing)?.try_mul(half)?.try_cumsum_axis(axis)
    }
}

twins! {
    @ "If there is no such axis, there are not as many abscissas as elements along it, or the \
       arrays belong to two runtimes.";
    [T: Field, const D: usize] Array<T, D>;
    /// As [`Array::cumulative_trapezoid`] at points with these abscissas, at any distances: SciPy's
    /// `cumulative_trapezoid(a, xs, axis=axis)`.
    cumulative_trapezoid_at try_cumulative_trapezoid_at(&self, axis: usize, xs: &Vector<T>) -> Self {
        const OP: &str = "cumulative_trapezoid_at";
        check_axes::<D>(OP, [axis])?;
        Error::check_shape(OP, &[self.shape()[axis]], &xs.shape())?;
        let distance: Self = xs.distances(axis)?;
        let sums = self.sums_of_two(axis)?.try_mul(&distance)?;
        sums.try_mul(T::from_f64(0.5))?.try_cumsum_axis(axis)
    }
}

twins! {
    methods [T: Field] Vector<T>;
    /// The integral of a function that the vector has at points that lie `spacing` apart, by
    /// Simpson's rule, which is exact for polynomials of degree 3: SciPy's
    /// `simpson(y, dx=spacing)`. Of an even number of points the last two are integrated by the
    /// parabola through the last three, as in SciPy (K. V. Cartwright, *Simpson's Rule Cumulative
    /// Integration with MS Excel and Irregularly-spaced Data*, 2017); of two by the trapezoidal
    /// rule; of fewer it is 0. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<f64>::linspace(0.0, 2.0, 5);
    /// assert!(((&x * &x * &x).simpson(0.5).get()? - 4.0).abs() < 1e-14);
    /// assert!(((&x * &x).simpson_at(&x).get()? - 8.0 / 3.0).abs() < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    simpson try_simpson(&self, spacing: T) -> Scalar<T> {
        let n = self.len();
        if n < 3 {
            let sums = self.sums_of_two(0)?.try_mul(T::from_f64(0.5))?;
            return sums.try_sum()?.try_mul(spacing);
        }
        let odd = n - usize::from(n.is_multiple_of(2));
        let middle = self.every_second(0, 1, odd - 1)?.try_mul(T::from_f64(4.0))?;
        let pairs = self.every_second(0, 0, odd - 2)?.try_add(&middle)?;
        let pairs = pairs.try_add(&self.every_second(0, 2, odd)?)?;
        let mut sum = pairs.try_sum()?.try_mul(T::from_f64(1.0 / 3.0))?;
        if odd < n {
            let at = |place: usize, weight: f64| {
                let element = self.try_slice(place..=place)?.try_sum()?;
                element.try_mul(T::from_f64(weight))
            };
            sum = sum.try_add(&at(n - 1, 5.0 / 12.0)?)?.try_add(&at(n - 2, 2.0 / 3.0)?)?;
            sum = sum.try_sub(&at(n - 3, 1.0 / 12.0)?)?;
        }
        sum.try_mul(spacing)
    }
}

twins! {
    @ "If there are not as many abscissas as elements, or the vectors belong to two runtimes.";
    [T: Field] Vector<T>;
    /// As [`Vector::simpson`] at points with these abscissas, at any distances: SciPy's
    /// `simpson(y, xs)`. Of an even number of points the last three differ, else the integral is
    /// not a number.
    simpson_at try_simpson_at(&self, xs: &Vector<T>) -> Scalar<T> {
        Error::check_shape("simpson_at", &[self.len()], &xs.shape())?;
        let n = self.len();
        let y = |first: usize, last: usize| self.try_slice(step(first..last, 2));
        let number = T::from_f64;
        let h = xs.try_diff(0)?;
        if n < 3 {
            let sums = self.sums_of_two(0)?.try_mul(&h)?;
            return sums.try_mul(number(0.5))?.try_sum();
        }
        // An odd number of points at the beginning.
        let odd = n - usize::from(n.is_multiple_of(2));
        let (h0, h1) = (h.try_slice(step(0..odd - 1, 2))?, h.try_slice(step(1..odd - 1, 2))?);
        // Where two points have the same abscissa, quotients count as 0, as in SciPy.
        let over = |x: &Self, by: &Self| by.try_not_equal(T::ZERO)?.try_select(&x.try_div(by)?, T::ZERO);
        let (both, ratio) = (h0.try_add(&h1)?, over(&h0, &h1)?);
        let inverse = ratio.try_not_equal(T::ZERO)?.try_select(&ratio.try_recip()?, T::ZERO)?;
        let two_less = |x: &Self| x.try_neg()?.try_add(number(2.0));
        let first = y(0, odd - 2)?.try_mul(&two_less(&inverse)?)?;
        let middle = over(&both.try_mul(&both)?, &h0.try_mul(&h1)?)?;
        let middle = y(1, odd - 1)?.try_mul(&middle)?;
        let last = y(2, odd)?.try_mul(&two_less(&ratio)?)?;
        let pairs = first.try_add(&middle)?.try_add(&last)?;
        let sum = pairs.try_mul(&both)?.try_mul(number(1.0 / 6.0))?.try_sum()?;
        if odd == n {
            return Ok(sum);
        }
        let at = |x: &Self, place: usize| x.try_slice(place..=place)?.try_sum();
        let (h0, h1) = (at(&h, n - 3)?, at(&h, n - 2)?);
        let (both, square) = (h0.try_add(&h1)?, h1.try_mul(&h1)?);
        let three = h0.try_mul(&h1)?.try_mul(number(3.0))?;
        let alpha = square.try_mul(number(2.0))?.try_add(&three)?;
        let alpha = alpha.try_div(&both.try_mul(number(6.0))?)?;
        let beta = square.try_add(&three)?.try_div(&h0.try_mul(number(6.0))?)?;
        let eta = square.try_mul(&h1)?;
        let eta = eta.try_div(&h0.try_mul(&both)?.try_mul(number(6.0))?)?;
        let sum = sum.try_add(&alpha.try_mul(&at(self, n - 1)?)?)?;
        let sum = sum.try_add(&beta.try_mul(&at(self, n - 2)?)?)?;
        sum.try_sub(&eta.try_mul(&at(self, n - 3)?)?)
    }
}

along_an_axis! {
    [2 -> 1, 3 -> 2, 4 -> 3]
    /// The integrals along an axis, whose points lie 1 apart, as [`Vector::simpson`]; those of
    /// points that lie `h` apart are `h` times these. SciPy's `simpson` with an axis.
    #[doc(alias = "simpson")]
    simpson_axis try_simpson_axis [Field] -> T: |array, axis| {
        let n = array.points(axis)?;
        if n < 3 {
            return array.sums_of_two(axis)?.try_mul(T::from_f64(0.5))?.try_sum_axis(axis);
        }
        let odd = n - usize::from(n.is_multiple_of(2));
        let every_second = |first: usize, last: usize| array.every_second(axis, first, last);
        let middle = every_second(1, odd - 1)?.try_mul(T::from_f64(4.0))?;
        let pairs = every_second(0, odd - 2)?.try_add(&middle)?.try_add(&every_second(2, odd)?)?;
        let sum = pairs.try_sum_axis(axis)?.try_mul(T::from_f64(1.0 / 3.0))?;
        if odd == n {
            return Ok(sum);
        }
        let at = |place: usize, weight: f64| {
            array.try_index_axis(axis, place)?.try_mul(T::from_f64(weight))
        };
        let sum = sum.try_add(&at(n - 1, 5.0 / 12.0)?)?.try_add(&at(n - 2, 2.0 / 3.0)?)?;
        sum.try_sub(&at(n - 3, 1.0 / 12.0)?)
    }
}

impl<T: Field, const D: usize> Array<T, D> {
    /// The number of points along an axis.
    fn points(&self, axis: usize) -> Result<usize, Error> {
        check_axes::<D>("simpson_axis", [axis])?;
        Ok(self.shape()[axis])
    }

    /// The sums of neighbours along an axis.
    fn sums_of_two(&self, axis: usize) -> Result<Self, Error> {
        let n = self.shape()[axis];
        let before = self.try_slice(along::<D>(axis, 0..n.saturating_sub(1)))?;
        self.try_slice(along::<D>(axis, n.min(1)..n))?
            .try_add(&before)
    }

    /// Every second element along an axis, between two places.
    fn every_second(&self, axis: usize, first: usize, last: usize) -> Result<Self, Error> {
        self.try_slice(along::<D>(axis, step(first..last, 2)))
    }
}

impl<T: Field> Vector<T> {
    /// The distances of neighbours, along an axis.
    fn distances<const D: usize>(&self, axis: usize) -> Result<Array<T, D>, Error> {
        let distances = self.try_diff(0)?;
        let mut shape = [1; D];
        shape[axis] = distances.len();
        distances.try_reshape(shape)
    }
}
