//! Derivatives and integrals of functions that arrays have at points.

use crate::array::{Array, Vector};
use crate::axes::along_an_axis;
use crate::join::along;
use crate::operand::named;
use crate::scalar::Scalar;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use std::ops::Range;

twins! {
    [T: Field, const D: usize] Array<T, D>;
    /// The derivative along an axis whose points lie `spacing` apart: half the difference of both
    /// neighbours, at the ends the difference of the element and its one neighbour, divided by the
    /// spacing. NumPy's `gradient(a, spacing, axis=axis)`. Few tasks, and four that join the parts.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 2.0, 4.0, 7.0]);
    /// assert_eq!(x.gradient(0, 0.5).to_vec()?, [2.0, 3.0, 5.0, 6.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no such axis, or it has fewer than two elements."
    gradient try_gradient(&self, axis: usize, spacing: T) -> Self {
        const OP: &str = "gradient";
        let n = self.points_along(OP, axis)?;
        named(OP, || {
            let difference = |of: Range<usize>, and: Range<usize>| {
                self.part(axis, of)?.try_sub(&self.part(axis, and)?)
            };
            let inner = difference(2..n, 0..n - 2)?.try_div(spacing.plus(spacing))?;
            let first = difference(1..2, 0..1)?.try_div(spacing)?;
            let last = difference(n - 1..n, n - 2..n - 1)?.try_div(spacing)?;
            Self::try_concatenate(axis, &[&first, &inner, &last])
        })
    }

    /// As [`Array::gradient`] at points with these abscissas along the axis, at any distances: the
    /// derivative of the parabola through an element and both neighbours. NumPy's
    /// `gradient(a, xs, axis=axis)`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let xs = Vector::<f64>::from_vec(vec![0.0, 1.0, 3.0, 4.0]);
    /// let derivative = (&xs * &xs).gradient_at(0, &xs);
    /// let expected = Vector::from_vec(vec![1.0, 2.0, 6.0, 7.0]);
    /// assert!((derivative - expected).norm_inf().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no such axis, it has fewer than two elements, there are not as many abscissas, \
        or the arrays belong to two runtimes."
    gradient_at try_gradient_at(&self, axis: usize, xs: &Vector<T>) -> Self {
        const OP: &str = "gradient_at";
        let n = self.points_along(OP, axis)?;
        Error::check_shape(OP, &[n], &xs.shape())?;
        named(OP, || {
            let mut shape = [1; D];
            shape[axis] = n - 1;
            let distance: Self = xs.try_diff(0)?.try_reshape(shape)?;
            let before = distance.part(axis, 0..n - 2)?;
            let after = distance.part(axis, 1..n - 1)?;
            let both = before.try_add(&after)?;
            // NumPy's formulas, in its order.
            let left = after.try_neg()?.try_div(&before.try_mul(&both)?)?;
            let middle = after.try_sub(&before)?.try_div(&before.try_mul(&after)?)?;
            let right = before.try_div(&after.try_mul(&both)?)?;
            let inner = left.try_mul(&self.part(axis, 0..n - 2)?)?;
            let inner = inner.try_add(&middle.try_mul(&self.part(axis, 1..n - 1)?)?)?;
            let inner = inner.try_add(&right.try_mul(&self.part(axis, 2..n)?)?)?;
            let at_end = |place: usize| {
                let (element, next) = (place..place + 1, place + 1..place + 2);
                let difference = self
                    .part(axis, next)?
                    .try_sub(&self.part(axis, element.clone())?)?;
                difference.try_div(&distance.part(axis, element)?)
            };
            Self::try_concatenate(axis, &[&at_end(0)?, &inner, &at_end(n - 2)?])
        })
    }
}

impl<T: Field, const D: usize> Array<T, D> {
    /// The sums of neighbours along an axis.
    fn neighbours(&self, axis: usize) -> Result<Self, Error> {
        check_axes::<D>("trapezoid", [axis])?;
        let n = self.shape()[axis];
        let before = self.part(axis, 0..n.saturating_sub(1))?;
        self.part(axis, n.min(1)..n)?.try_add(&before)
    }

    /// Some elements along an axis.
    fn part(&self, axis: usize, range: Range<usize>) -> Result<Self, Error> {
        self.try_slice(along::<D>(axis, range))
    }

    /// The elements along an axis, of which there are two at least.
    fn points_along(&self, op: &'static str, axis: usize) -> Result<usize, Error> {
        check_axes::<D>(op, [axis])?;
        match self.shape()[axis] {
            n @ 2.. => Ok(n),
            n => {
                let expected = format!("at least 2 elements along axis {axis}");
                Err(Error::argument(op, expected, n.to_string()))
            }
        }
    }
}

twins! {
    [T: Field] Vector<T>;
    /// The integral of a function that the vector has at points that lie `spacing` apart, by the
    /// trapezoidal rule; 0 of fewer than two points. NumPy's `trapezoid(y, dx=spacing)`. Few tasks,
    /// which fuse to one pass.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let y = Vector::from_vec(vec![1.0, 2.0, 4.0]);
    /// assert_eq!(y.trapezoid(1.0).get()?, 4.5);
    /// assert_eq!(y.trapezoid_at(&Vector::from_vec(vec![0.0, 2.0, 3.0])).get()?, 6.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("trapz", "integral"))]
    @ "As all functions of one value: see the [rules](crate#rules)."
    trapezoid try_trapezoid(&self, spacing: T) -> Scalar<T> {
        self.neighbours(0)?.try_mul(spacing)?.halves()
    }

    /// As [`Vector::trapezoid`] at points with these abscissas, at any distances. NumPy's
    /// `trapezoid(y, xs)`.
    @ "If there are not as many abscissas as elements, or the vectors belong to two runtimes."
    trapezoid_at try_trapezoid_at(&self, xs: &Self) -> Scalar<T> {
        const OP: &str = "trapezoid_at";
        Error::check_shape(OP, &self.shape(), &xs.shape())?;
        named(OP, || {
            self.neighbours(0)?.try_mul(&xs.try_diff(0)?)?.halves()
        })
    }
}

impl<T: Field> Vector<T> {
    /// The sum of the halves.
    fn halves(&self) -> Result<Scalar<T>, Error> {
        self.try_mul(T::from_f64(0.5))?.try_sum()
    }
}

along_an_axis! {
    [2 -> 1, 3 -> 2, 4 -> 3]
    /// The integrals along an axis, whose points lie 1 apart, as [`Vector::trapezoid`]; those of
    /// points that lie `h` apart are `h` times these. NumPy's `trapezoid` with an axis.
    #[doc(alias("trapz", "trapezoid"))]
    trapezoid_axis try_trapezoid_axis [Field] -> T: |array, axis| {
        array.neighbours(axis)?.try_mul(T::from_f64(0.5))?.try_sum_axis(axis)
    }
}
