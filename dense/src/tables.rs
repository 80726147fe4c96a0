//! Functions given by tables: histograms, and interpolation between points.

use crate::array::{Array, Vector};
use crate::operand::{check_len, expect};
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

impl<T: Real, const D: usize> Array<T, D> {
    /// How many elements lie in each of `bins` intervals of equal length between `range.start` and
    /// `range.end`, and the ends of these: one more. Each has its lower end, the last one its upper
    /// one too; what lies outside, and NaN, is left out. NumPy's `histogram` with `range`. Every rank
    /// has all counts while they are made.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 0.1, 0.5, 1.0, 7.0]);
    /// let (counts, ends) = x.histogram(2, 0.0..1.0);
    /// assert_eq!((counts.to_vec()?, ends.to_vec()?), (vec![2, 2], vec![0.0, 0.5, 1.0]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_histogram`] returns.
    #[must_use]
    #[track_caller]
    pub fn histogram(&self, bins: usize, range: Range<f64>) -> (Vector<i64>, Vector<T>) {
        expect(self.try_histogram(bins, range))
    }

    /// As [`Array::histogram`].
    ///
    /// # Errors
    ///
    /// If there is no bin, or the range is not one of finite numbers, the first below the last.
    pub fn try_histogram(
        &self,
        bins: usize,
        range: Range<f64>,
    ) -> Result<(Vector<i64>, Vector<T>), Error> {
        const OP: &str = "histogram";
        if bins == 0 {
            return Err(Error::argument(OP, "at least one bin", "none"));
        }
        // Two more count what lies outside.
        check_len(OP, Shape::new(&[bins.saturating_add(2)]))?;
        let length = range.end - range.start;
        if !(length > 0.0 && length < f64::INFINITY) {
            let expected = "a range of finite numbers, the first below the last";
            return Err(Error::argument(OP, expected, format!("{range:?}")));
        }
        let step = length / bins as f64;
        let end = |i: usize| match i == bins {
            true => T::from_f64(range.end),
            false => T::from_f64(i as f64 * step + range.start),
        };
        let make = || Vector::try_from_fn([bins + 1], |[i]| end(i));
        let ends = self.runtime().enter(make)?;
        // 0 below the first end, `bins + 1` from the last one on, unless it is met.
        let place = ends.try_searchsorted_right(self)?;
        let is_last = self.try_equal(end(bins))?;
        let place = is_last.try_select(bins as i64, &place)?;
        let counts = place.try_bincount(bins + 2)?;
        Ok((counts.try_slice(1..bins + 1)?, ends))
    }

    /// For each element `x` the value at `x` of the function that is linear between points, of which
    /// `xs` has the abscissas, ascending, and `ys` the values; before the first point and behind the
    /// last one it is constant. NumPy's `interp(x, xs, ys)`. Every rank has all points; gathers, and
    /// tasks that fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let xs = Vector::from_vec(vec![0.0, 1.0, 3.0]);
    /// let ys = Vector::from_vec(vec![0.0, 10.0, 20.0]);
    /// let x = Vector::from_vec(vec![0.5, 2.0, 9.0, -1.0]);
    /// assert_eq!(x.interp(&xs, &ys).to_vec()?, [5.0, 15.0, 20.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_interp`] returns.
    #[must_use]
    #[track_caller]
    pub fn interp(&self, xs: &Vector<T>, ys: &Vector<T>) -> Self {
        expect(self.try_interp(xs, ys))
    }

    /// As [`Array::interp`].
    ///
    /// # Errors
    ///
    /// If there is no point, or there are not as many values as abscissas. Whether these are ascending
    /// is not looked at.
    pub fn try_interp(&self, xs: &Vector<T>, ys: &Vector<T>) -> Result<Self, Error> {
        const OP: &str = "interp";
        let n = xs.len();
        if n == 0 {
            return Err(Error::argument(OP, "at least one point", "none"));
        }
        if ys.len() != n {
            return Err(Error::shape(OP, Shape::new(&[n]), ys.arg().shape()));
        }
        let last = n as i64 - 1;
        let right = xs.try_searchsorted_right(self)?;
        // The point before the element; the last one has none behind it.
        let before = right.try_sub(1)?.try_clamp(0, (last - 1).max(0))?;
        let after = before.try_add(1)?.try_minimum(last)?;
        let [x0, x1] = [&before, &after].map(|place| xs.try_take(place));
        let [y0, y1] = [&before, &after].map(|place| ys.try_take(place));
        let (x0, y0, y1) = (x0?, y0?, y1?);
        let slope = y1.try_sub(&y0)?.try_div(&x1?.try_sub(&x0)?)?;
        let between = self.try_sub(&x0)?.try_mul(&slope)?.try_add(&y0)?;
        // At a point, and outside, no other value has a part in it, be it infinite.
        let is_before = self.try_less_equal(&x0)?;
        let is_behind = right.try_greater(last)?.try_and(self.try_equal(self)?)?;
        let made = is_before.try_select(&y0, &between)?;
        is_behind.try_select(&y1, &made)
    }
}
