//! The arithmetic of the element types as generic code of other crates has it: that of
//! [`crate::ops`].

use crate::element::{Field, Numeric, Real};
use crate::ops::NumericOps;
use num_complex::Complex;

/// What [`Numeric`] computes.
macro_rules! arithmetic {
    () => {
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            NumericOps::add(self, other)
        }
        #[inline(always)]
        fn minus(self, other: Self) -> Self {
            NumericOps::sub(self, other)
        }
        #[inline(always)]
        fn times(self, other: Self) -> Self {
            NumericOps::mul(self, other)
        }
        #[inline(always)]
        fn times_plus(self, factor: Self, addend: Self) -> Self {
            NumericOps::mul_add(self, factor, addend)
        }
        #[inline(always)]
        fn conjugate(self) -> Self {
            NumericOps::conj(self)
        }
        #[inline(always)]
        fn magnitude(self) -> Self::Magnitude {
            NumericOps::abs(self)
        }
    };
}

macro_rules! numeric {
    ($($type:ty: $real:ty),*) => {$(
        impl Numeric for $type {
            type Real = $real;
            type Magnitude = Self;
            const ZERO: Self = 0 as $type;
            const ONE: Self = 1 as $type;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $type
            }
            arithmetic!();
        }
    )*};
}

numeric!(f32: f32, f64: f64, i32: f64, i64: f64, u32: f64, u64: f64);

macro_rules! field {
    ($($float:ident),*) => {$(
        impl Field for $float {
            type Complex = Complex<$float>;
            const IS_COMPLEX: bool = false;
            #[inline(always)]
            fn from_parts(re: f64, _im: f64) -> Self {
                re as $float
            }
            #[inline(always)]
            fn parts(self) -> (f64, f64) {
                (f64::from(self), 0.0)
            }
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }
        }

        impl Real for $float {
            const EPSILON: Self = $float::EPSILON;
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }

        impl Numeric for Complex<$float> {
            type Real = $float;
            type Magnitude = $float;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                Complex { re: x as $float, im: 0.0 }
            }
            arithmetic!();
        }

        impl Field for Complex<$float> {
            type Complex = Self;
            const IS_COMPLEX: bool = true;
            #[inline(always)]
            fn from_parts(re: f64, im: f64) -> Self {
                Complex { re: re as $float, im: im as $float }
            }
            #[inline(always)]
            fn parts(self) -> (f64, f64) {
                (f64::from(self.re), f64::from(self.im))
            }
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                NumericOps::div(self, other)
            }
        }
    )*};
}

field!(f32, f64);
