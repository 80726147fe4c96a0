//! Elementwise functions that are made of others: several tasks each, which fuse into one pass.
//!
//! Errors are in units in the last place of the result, for `f64` and for `f32`.

use crate::array::Array;
use crate::operators::binary;
use crate::scalar::Scalar;
use crate::twins::twins;
use sparsefuse_kernels::{BinaryOp, Field, Numeric, Real};
use std::f64::consts::{LN_2, PI};

/// The same methods of arrays and scalars.
macro_rules! functions {
    ($($methods:tt)*) => {
        twins! {
            methods [T: Real, const D: usize] Array<T, D>;
            $($methods)*
        }
        twins! {
            methods [T: Real] Scalar<T>;
            $($methods)*
        }
    };
}

/// The root of `1 - x^2`, accurate where `x` is close to 1.
macro_rules! cosine_of {
    ($x:expr) => {
        ($x.try_neg()?.try_add(T::ONE)?)
            .try_mul(&$x.try_add(T::ONE)?)?
            .try_sqrt()?
    };
}

functions! {
    /// The tangent: the quotient of sine and cosine. Error up to 2.
    tan try_tan(&self) -> Self { self.try_sin()?.try_div(&self.try_cos()?) }

    /// The angle between -pi/2 and pi/2 with this sine; NaN for values beyond -1 and 1. NumPy's
    /// `arcsin`. Error up to 3.
    asin try_asin(&self) -> Self { self.try_atan2(&cosine_of!(self)) }

    /// The angle between 0 and pi with this cosine; NaN for values beyond -1 and 1. NumPy's
    /// `arccos`. Error up to 3.
    acos try_acos(&self) -> Self { cosine_of!(self).try_atan2(self) }

    /// The angle between -pi/2 and pi/2 with this tangent. NumPy's `arctan`. Error up to 2.
    atan try_atan(&self) -> Self { self.try_atan2(T::ONE) }

    /// The inverse of the hyperbolic sine. NumPy's `arcsinh`. Error up to 4.
    asinh try_asinh(&self) -> Self {
        let size = self.try_abs()?;
        let square = size.try_mul(&size)?;
        // What 1 + x^2 has of its root besides 1, without cancellation.
        let root = square.try_add(T::ONE)?.try_sqrt()?.try_add(T::ONE)?;
        let near = square.try_div(&root)?.try_add(&size)?.try_ln_1p()?;
        let far = size.try_ln()?.try_add(T::from_f64(LN_2))?;
        let asinh = size.try_less(T::from_f64(LARGE))?.try_select(&near, &far)?;
        asinh.try_mul(&self.try_sign()?)
    }

    /// The inverse of the hyperbolic cosine, at least 0; NaN for values below 1. NumPy's `arccosh`.
    /// Error up to 4.
    acosh try_acosh(&self) -> Self {
        let above = self.try_sub(T::ONE)?;
        let root = self.try_add(T::ONE)?.try_mul(&above)?.try_sqrt()?;
        let near = above.try_add(&root)?.try_ln_1p()?;
        let far = self.try_ln()?.try_add(T::from_f64(LN_2))?;
        let acosh = self.try_less(T::from_f64(LARGE))?.try_select(&near, &far)?;
        // Of large negative values the above is rounded to that of 0 or -1.
        self.try_less(T::ONE)?.try_select(T::from_f64(f64::NAN), &acosh)
    }

    /// The inverse of the hyperbolic tangent; NaN for values beyond -1 and 1. NumPy's `arctanh`.
    /// Error up to 4.
    atanh try_atanh(&self) -> Self {
        let size = self.try_abs()?;
        let rest = size.try_neg()?.try_add(T::ONE)?;
        let quotient = size.try_add(&size)?.try_div(&rest)?;
        let half = quotient.try_ln_1p()?.try_mul(T::from_f64(0.5))?;
        half.try_mul(&self.try_sign()?)
    }

    /// 2 to the power of the value.
    exp2 try_exp2(&self) -> Self {
        binary::<T, T, _>(BinaryOp::Pow, &T::from_f64(2.0), &self)
    }

    /// The whole number that is left when the fraction is dropped.
    trunc try_trunc(&self) -> Self {
        let is_negative = self.try_less(T::ZERO)?;
        is_negative.try_select(&self.try_ceil()?, &self.try_floor()?)
    }

    /// `1 / (1 + exp(-x))`, between 0 and 1: SciPy's `special.expit`, the logistic function. Error
    /// up to 3, of subnormal results too.
    #[doc(alias("sigmoid", "logistic"))]
    expit try_expit(&self) -> Self {
        // The power that is at most 1, of both signs.
        let power = self.try_abs()?.try_neg()?.try_exp()?;
        let upper = self.try_less(T::ZERO)?.try_select(&power, T::ONE)?;
        upper.try_div(&power.try_add(T::ONE)?)
    }

    /// `sin(pi x) / (pi x)`, and 1 at 0: NumPy's `sinc`. 0 at all other whole numbers, where
    /// NumPy's is of the size of a rounding. Error up to 4.
    sinc try_sinc(&self) -> Self {
        // Exactly: what is left of the nearest even number, and beyond its half what is left of 1.
        let size = self.try_abs()?;
        let even = size.try_mul(T::from_f64(0.5))?.try_round()?;
        let left = size.try_sub(&even.try_add(&even)?)?;
        let near = left.try_abs()?;
        let near = near.try_minimum(&near.try_neg()?.try_add(T::ONE)?)?;
        let sine = near.try_mul(T::from_f64(PI))?.try_sin()?.try_mul(&left.try_sign()?)?;
        let quotient = sine.try_div(&size.try_mul(T::from_f64(PI))?)?;
        self.try_equal(T::ZERO)?.try_select(T::ONE, &quotient)
    }

    /// Radians as degrees.
    to_degrees try_to_degrees(&self) -> Self { self.try_mul(T::from_f64(180.0 / PI)) }

    /// Degrees as radians.
    to_radians try_to_radians(&self) -> Self { self.try_mul(T::from_f64(PI / 180.0)) }
}

/// From here on `x^2 + 1` is `x^2`, for `f32` too.
const LARGE: f64 = 268_435_456.0;

/// Methods whose results have another type: of arrays and of scalars.
macro_rules! of_fields {
    ($([$($generic:tt)*] $type:ty, $real:ty, $bool:ty;)*) => {$(
        twins! {
            methods [$($generic)*] $type;
            /// Whether the value is NaN, in either part of a complex number. NumPy's `isnan`.
            is_nan try_is_nan(&self) -> $bool { self.try_not_equal(self) }

            /// Whether the value is neither infinite nor NaN. NumPy's `isfinite`.
            is_finite try_is_finite(&self) -> $bool {
                // The difference is NaN otherwise.
                let nothing = self.try_sub(self)?;
                nothing.try_equal(&nothing)
            }

            /// Whether the value is infinite, in either part of a complex number. NumPy's `isinf`.
            is_infinite try_is_infinite(&self) -> $bool {
                let infinity = T::Real::from_f64(f64::INFINITY);
                let is_infinite = self.try_re()?.try_abs()?.try_equal(infinity)?;
                is_infinite.try_or(self.try_im()?.try_abs()?.try_equal(infinity)?)
            }

            /// The angle of a complex number, from -pi to pi; of a real one 0 or pi.
            #[doc(alias = "arg")]
            angle try_angle(&self) -> $real { self.try_im()?.try_atan2(&self.try_re()?) }
        }
    )*};
}

of_fields! {
    [T: Field, const D: usize] Array<T, D>, Array<T::Real, D>, Array<bool, D>;
    [T: Field] Scalar<T>, Scalar<T::Real>, Scalar<bool>;
}

twins! {
    [T: Real, const D: usize] Array<T, D>;
    /// The nearest numbers with this many decimals, of two the even one: rounds `x * 10^decimals`,
    /// as NumPy's `round` with `decimals` does. Negative ones round to tens, hundreds, …
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![2.5, 3.5, -0.25, 1234.5678]);
    /// assert_eq!(x.round().to_vec()?, [2.0, 4.0, -0.0, 1235.0]);
    /// assert_eq!(x.round_decimals(2).to_vec()?, [2.5, 3.5, -0.25, 1234.57]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "As all functions of one value: see the [rules](crate#rules)."
    round_decimals try_round_decimals(&self, decimals: i32) -> Self {
        let scale = T::from_f64(10f64.powi(decimals.saturating_abs()));
        match decimals < 0 {
            true => self.try_div(scale)?.try_round()?.try_mul(scale),
            false => self.try_mul(scale)?.try_round()?.try_div(scale),
        }
    }
}
