//! Variances, averages with weights, and reductions that leave NaN out.

use crate::array::Array;
use crate::axes::along_an_axis;
use crate::scalar::Scalar;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::Error;

twins! {
    methods [T: Field, const D: usize] Array<T, D>;
    /// The variance of all elements: the mean of the squared distances from the mean; NaN if there
    /// are none. NumPy's `var`; of complex numbers it is real. The array is read twice.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 2.0, 3.0, 6.0]);
    /// assert_eq!((x.var().get()?, x.var_ddof(1.0).get()?), (3.5, 14.0 / 3.0));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    var try_var(&self) -> Scalar<T::Real> { self.try_var_ddof(0.0) }

    /// The standard deviation: the square root of [`Array::var`].
    std try_std(&self) -> Scalar<T::Real> { self.try_var()?.try_sqrt() }

    /// The sum of the squared distances from the mean, divided by the number of elements less
    /// `ddof`.
    var_ddof try_var_ddof(&self, ddof: f64) -> Scalar<T::Real> {
        let squares = self.try_sub(&self.try_mean()?)?.try_sum_of_squares()?;
        squares.try_div(T::Real::from_f64((self.len() as f64 - ddof).max(0.0)))
    }

    /// The square root of [`Array::var_ddof`].
    std_ddof try_std_ddof(&self, ddof: f64) -> Scalar<T::Real> {
        self.try_var_ddof(ddof)?.try_sqrt()
    }
}

twins! {
    methods [T: Real, const D: usize] Array<T, D>;
    /// The sum of the elements that are not NaN. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, f64::NAN, 3.0]);
    /// assert_eq!((x.nan_sum().get()?, x.nan_mean().get()?, x.nan_max().get()?), (4.0, 2.0, 3.0));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "nansum")]
    nan_sum try_nan_sum(&self) -> Scalar<T> { self.try_replace_nan(T::ZERO)?.try_sum() }

    /// The product of the elements that are not NaN, as [`Array::nan_sum`].
    #[doc(alias = "nanprod")]
    nan_prod try_nan_prod(&self) -> Scalar<T> { self.try_replace_nan(T::ONE)?.try_prod() }

    /// The mean of the elements that are not NaN, as [`Array::nan_sum`]; NaN if there are none.
    #[doc(alias = "nanmean")]
    nan_mean try_nan_mean(&self) -> Scalar<T> {
        let n = self.try_equal(self)?.try_count()?;
        self.try_nan_sum()?.try_div(&n.try_cast::<T>()?)
    }

    /// The variance of the elements that are not NaN, as [`Array::nan_sum`]: the mean of their
    /// squared distances from their mean; NaN if there are none.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, f64::NAN, 3.0]);
    /// assert_eq!((x.nan_var().get()?, x.nan_std().get()?), (1.0, 1.0));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "nanvar")]
    nan_var try_nan_var(&self) -> Scalar<T> {
        let is_number = self.try_equal(self)?;
        let distance = self.try_sub(&self.try_nan_mean()?)?;
        let squares = is_number.try_select(&distance, T::ZERO)?.try_sum_of_squares()?;
        squares.try_div(&is_number.try_count()?.try_cast::<T>()?)
    }

    /// The standard deviation of the elements that are not NaN: the root of [`Array::nan_var`].
    #[doc(alias = "nanstd")]
    nan_std try_nan_std(&self) -> Scalar<T> { self.try_nan_var()?.try_sqrt() }

    /// The largest element that is not NaN, as [`Array::nan_sum`]; -infinity if there is none.
    #[doc(alias = "nanmax")]
    nan_max try_nan_max(&self) -> Scalar<T> {
        if self.is_empty() {
            return Err(Error::argument("nan_max", "an array with elements", "none"));
        }
        self.try_replace_nan(T::from_f64(f64::NEG_INFINITY))?.try_max()
    }

    /// The smallest element that is not NaN, as [`Array::nan_sum`]; infinity if there is none.
    #[doc(alias = "nanmin")]
    nan_min try_nan_min(&self) -> Scalar<T> {
        if self.is_empty() {
            return Err(Error::argument("nan_min", "an array with elements", "none"));
        }
        self.try_replace_nan(T::from_f64(f64::INFINITY))?.try_min()
    }

    /// The array with another value in the place of NaN. Two tasks, which fuse.
    #[doc(alias = "nan_to_num")]
    replace_nan try_replace_nan(&self, value: T) -> Self {
        self.try_equal(self)?.try_select(self, value)
    }
}

along_an_axis! {
    [2 -> 1, 3 -> 2, 4 -> 3]
    /// The sums of the elements along an axis that are not NaN, as `sum_axis`.
    #[doc(alias = "nansum")]
    nan_sum_axis try_nan_sum_axis [Real] -> T: |array, axis| {
        array.try_replace_nan(T::ZERO)?.try_sum_axis(axis)
    }

    /// The products of the elements along an axis that are not NaN, as `prod_axis`.
    #[doc(alias = "nanprod")]
    nan_prod_axis try_nan_prod_axis [Real] -> T: |array, axis| {
        array.try_replace_nan(T::ONE)?.try_prod_axis(axis)
    }

    /// The largest of the elements along an axis that are not NaN, as `max_axis`; -infinity where
    /// there is none.
    #[doc(alias = "nanmax")]
    nan_max_axis try_nan_max_axis [Real] -> T: |array, axis| {
        array.try_replace_nan(T::from_f64(f64::NEG_INFINITY))?.try_max_axis(axis)
    }

    /// The smallest of the elements along an axis that are not NaN, as `min_axis`; infinity where
    /// there is none.
    #[doc(alias = "nanmin")]
    nan_min_axis try_nan_min_axis [Real] -> T: |array, axis| {
        array.try_replace_nan(T::from_f64(f64::INFINITY))?.try_min_axis(axis)
    }

    /// The means of the elements along an axis that are not NaN; NaN where there are none.
    #[doc(alias = "nanmean")]
    nan_mean_axis try_nan_mean_axis [Real] -> T: |array, axis| {
        let is_number = array.try_equal(array)?.try_cast::<T>()?;
        array.try_nan_sum_axis(axis)?.try_div(&is_number.try_sum_axis(axis)?)
    }

    /// The variances along an axis of the elements that are not NaN; NaN where there are none.
    #[doc(alias = "nanvar")]
    nan_var_axis try_nan_var_axis [Real] -> T: |array, axis| {
        let is_number = array.try_equal(array)?;
        let mean = array.try_nan_mean_axis(axis)?.try_insert_axis(axis)?;
        let distance = is_number.try_select(&array.try_sub(&mean)?, T::ZERO)?;
        let count = is_number.try_cast::<T>()?.try_sum_axis(axis)?;
        distance.try_square()?.try_sum_axis(axis)?.try_div(&count)
    }

    /// The standard deviations along an axis of the elements that are not NaN.
    #[doc(alias = "nanstd")]
    nan_std_axis try_nan_std_axis [Real] -> T: |array, axis| {
        array.try_nan_var_axis(axis)?.try_sqrt()
    }

    /// The Euclidean norms along an axis, as `sum_axis`; real of complex numbers. NumPy's
    /// `linalg.norm` with an axis.
    #[doc(alias = "norm")]
    norm2_axis try_norm2_axis [Field] -> T::Real: |array, axis| {
        array.try_abs()?.try_square()?.try_sum_axis(axis)?.try_sqrt()
    }
}

twins! {
    @ "If the shapes differ.";
    [T: Field, const D: usize] Array<T, D>;
    /// The mean with weights: the sum of `self * weights` divided by that of the weights. NumPy's
    /// `average`, which refuses weights whose sum is 0; here the mean is infinite or NaN then.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (x, w) = (Vector::from_vec(vec![1.0, 5.0]), Vector::from_vec(vec![3.0, 1.0]));
    /// assert_eq!(x.average(&w).get()?, 2.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    average try_average(&self, weights: &Self) -> Scalar<T> {
        Error::check_shape("average", &self.shape(), &weights.shape())?;
        self.try_dot_unconjugated(weights)?
            .try_div(&weights.try_sum()?)
    }

    /// Which elements are close to those of another array: `|a - b| <= atol + rtol * |b|`, or equal
    /// where they are infinite; none that is NaN. NumPy's `isclose`, whose `rtol` is 1e-5 and
    /// `atol` 1e-8. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, f64::INFINITY, f64::NAN]);
    /// let is_close = x.is_close(&(&x + 1e-9), 1e-5, 1e-8);
    /// assert_eq!(is_close.to_vec()?, [true, true, false]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "isclose")]
    is_close try_is_close(&self, other: &Self, rtol: f64, atol: f64) -> Array<bool, D> {
        Error::check_shape("is_close", &self.shape(), &other.shape())?;
        let distance = self.try_sub(other)?.try_abs()?;
        let bound = other.try_abs()?.try_mul(T::Real::from_f64(rtol))?;
        let is_near = distance.try_less_equal(bound.try_add(T::Real::from_f64(atol))?)?;
        let is_near = is_near.try_and(other.try_is_finite()?)?;
        is_near.try_or(self.try_equal(other)?)
    }

    /// Whether all elements are close to those of another array, as [`Array::is_close`] says.
    /// NumPy's `allclose`. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, f64::INFINITY]);
    /// assert!(x.all_close(&(&x + 1e-9), 1e-5, 1e-8).get()?);
    /// assert!(!x.all_close(&(&x + 0.1), 1e-5, 1e-8).get()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "allclose")]
    all_close try_all_close(&self, other: &Self, rtol: f64, atol: f64) -> Scalar<bool> {
        Error::check_shape("all_close", &self.shape(), &other.shape())?;
        self.try_is_close(other, rtol, atol)?.try_all()
    }
}

twins! {
    [T: Numeric, const D: usize] Array<T, D>;
    /// The differences of neighbours along an axis, one less than there are elements. NumPy's
    /// `diff`. One task.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// assert_eq!(Vector::from_vec(vec![1, 4, 9]).diff(0).to_vec()?, [3, 5]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no such axis."
    diff try_diff(&self, axis: usize) -> Self {
        check_axes::<D>("diff", [axis])?;
        let n = self.shape()[axis];
        let first = self.try_split(axis, &[n.saturating_sub(1)])?.swap_remove(0);
        let last = self.try_split(axis, &[n.min(1)])?.swap_remove(1);
        last.try_sub(&first)
    }
}

twins! {
    [T: Real] Array<T, 2>;
    /// The covariances of variables, of which each row has one: NumPy's `cov`. One task each for
    /// means, distances and their product, which takes most of the time.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let x = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 6.0, 4.0, 2.0])?;
    /// assert_eq!(x.cov().to_vec()?, [1.0, -2.0, -2.0, 4.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If memory cannot hold the result."
    cov try_cov(&self) -> Self {
        let distance = self.try_sub(&self.try_mean_axis(1)?.try_insert_axis(1)?)?;
        let n = (self.shape()[1] as f64 - 1.0).max(0.0);
        distance.try_matmul(&distance.t())?.try_div(T::from_f64(n))
    }
}
