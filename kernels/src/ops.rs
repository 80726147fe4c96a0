//! What each operation of the IR computes on one element, for each element type.
//!
//! This is the only definition: the SIMD loops of [`crate::blocks`] inline these functions, and
//! [`crate::scalar`], the reference interpreter and constant folding call them, so all of them give
//! the same bits. Nothing here may depend on the instruction set: a fused multiply-add is always
//! fused (`mul_add`), everything else always rounds twice.

use crate::element::{Element, Numeric};
use crate::math;
use crate::unary_operations;
use num_complex::Complex;

/// Arithmetic of every type but `bool`.
pub(crate) trait NumericOps: Numeric {
    /// The type of [`NumericOps::abs`], `re` and `im`.
    type Abs: Element;
    fn neg(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;
    fn sign(self) -> Self;
    fn conj(self) -> Self;
    fn abs(self) -> Self::Abs;
    fn re(self) -> Self::Abs;
    fn im(self) -> Self::Abs;
    /// `self * factor + addend`, fused; complex numbers take four fused steps, in this order:
    /// `re += a.re * b.re`, `re -= a.im * b.im`, `im += a.re * b.im`, `im += a.im * b.re`.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
}

/// Order, for reals and integers.
pub(crate) trait OrderedOps: NumericOps + PartialOrd {
    fn rem(self, other: Self) -> Self;
    fn floor_div(self, other: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn is_nan(self) -> bool;

    /// The nearest whole number, of two the even one.
    fn round(self) -> Self;

    /// This number, or a NaN if so. Without a branch and without a choice: a choice between what is
    /// in memory and something else would be stored under a mask, which takes several times as long
    /// as a plain store.
    fn or_nan_if(self, is_nan: bool) -> Self;

    /// The smaller, the first of equals; NaN if one is NaN.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let smaller = if other < self { other } else { self };
        smaller.or_nan_if(other.is_nan())
    }

    /// The larger, the first of equals; NaN if one is NaN.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let larger = if other > self { other } else { self };
        larger.or_nan_if(other.is_nan())
    }
}

/// Elementary functions, for floats and complex numbers.
pub(crate) trait FloatOps: NumericOps {
    fn sqrt(self) -> Self;
    fn exp(self) -> Self;
    fn log(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tanh(self) -> Self;
}

/// Functions of reals alone: the trait, and what they are on a type.
macro_rules! real_ops {
    ($($types:ident: $trait:ident {$(#[$doc:meta] $op:ident $function:ident $row:tt)*})*) => {
        $(real_ops!(@$types $trait $($function)*);)*
    };
    (@Reals $trait:ident $($function:ident)*) => {
        /// Functions of reals alone.
        pub(crate) trait $trait: FloatOps + OrderedOps {$(
            fn $function(self) -> Self;
        )*}

        real_ops!(@of f32 single $trait $($function)*);
        real_ops!(@of f64 double $trait $($function)*);
    };
    (@of $float:ident $math:ident $trait:ident $($function:ident)*) => {
        impl $trait for $float {$(
            #[inline(always)]
            fn $function(self) -> Self {
                math::$math::$function(self)
            }
        )*}
    };
    (@$types:ident $trait:ident $($function:ident)*) => {};
}

unary_operations!(real_ops);

/// Functions of points of the plane.
pub(crate) trait PlaneOps: RealOps {
    fn atan2(self, x: Self) -> Self;
    fn hypot(self, other: Self) -> Self;
}

/// Logic of `bool` alone.
pub(crate) trait LogicOps: Element {
    fn not(self) -> Self;
}

/// Logic: `bool`, and integers bit by bit.
pub(crate) trait BitOps: Element {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

/// Functions of one value that are computed elsewhere.
macro_rules! forwards {
    ($trait:ident for $type:ty: $($name:ident => $function:path),*) => {
        impl $trait for $type {$(
            #[inline(always)]
            fn $name(self) -> Self {
                $function(self)
            }
        )*}
    };
}

macro_rules! float_ops {
    ($float:ident, $math:ident) => {
        impl NumericOps for $float {
            type Abs = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn pow(self, other: Self) -> Self {
                math::$math::pow(self, other)
            }
            #[inline(always)]
            fn sign(self) -> Self {
                // NaN and both zeros stay as they are.
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self
                }
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }
            #[inline(always)]
            fn re(self) -> Self {
                self
            }
            #[inline(always)]
            fn im(self) -> Self {
                0.0
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                $float::mul_add(self, factor, addend)
            }
        }

        impl OrderedOps for $float {
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                let rest = self % other;
                if rest == 0.0 {
                    $float::copysign(0.0, other)
                } else if (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
            /// As NumPy's: by the remainder, which is exact, where the quotient may round up to a
            /// whole number that is too large.
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                let (rest, quotient) = (self % other, self / other);
                let is_below = rest != 0.0 && (rest < 0.0) != (other < 0.0);
                let nearly = (self - rest) / other - if is_below { 1.0 } else { 0.0 };
                let floor = nearly.floor();
                if other == 0.0 {
                    quotient
                } else if nearly == 0.0 {
                    $float::copysign(0.0, quotient)
                } else if nearly - floor > 0.5 {
                    floor + 1.0
                } else {
                    floor
                }
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $float::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $float::ceil(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                $float::round_ties_even(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $float::is_nan(self)
            }
            #[inline(always)]
            fn or_nan_if(self, is_nan: bool) -> Self {
                let nan = if is_nan { Self::NAN.to_bits() } else { 0 };
                Self::from_bits(self.to_bits() | nan)
            }
        }

        impl PlaneOps for $float {
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                math::$math::atan2(self, x)
            }
            #[inline(always)]
            fn hypot(self, other: Self) -> Self {
                math::$math::hypot(self, other)
            }
        }

        forwards! { FloatOps for $float:
            sqrt => $float::sqrt, exp => math::$math::exp, log => math::$math::log,
            sin => math::$math::sin, cos => math::$math::cos, tanh => math::$math::tanh
        }

        impl NumericOps for Complex<$float> {
            type Abs = $float;
            #[inline(always)]
            fn neg(self) -> Self {
                Complex::new(-self.re, -self.im)
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Complex::new(self.re + other.re, self.im + other.im)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Complex::new(self.re - other.re, self.im - other.im)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Complex::new(
                    self.re * other.re - self.im * other.im,
                    self.re * other.im + self.im * other.re,
                )
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                math::$math::complex_div(self, other)
            }
            #[inline(always)]
            fn pow(self, other: Self) -> Self {
                math::$math::complex_pow(self, other)
            }
            #[inline(always)]
            fn sign(self) -> Self {
                let abs = self.abs();
                let unit = |x: $float| match x.abs() == $float::INFINITY {
                    true => $float::copysign(1.0, x),
                    false => 0.0,
                };
                let (re, im) = (unit(self.re), unit(self.im));
                if (re == 0.0) != (im == 0.0) {
                    // As NumPy: the direction of the one part that is infinite.
                    Complex::new(re, im)
                } else if abs == 0.0 {
                    self
                } else {
                    Complex::new(self.re / abs, self.im / abs)
                }
            }
            #[inline(always)]
            fn conj(self) -> Self {
                Complex::new(self.re, -self.im)
            }
            #[inline(always)]
            fn abs(self) -> $float {
                math::$math::hypot(self.re, self.im)
            }
            #[inline(always)]
            fn re(self) -> $float {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $float {
                self.im
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                let re = self.re.mul_add(factor.re, addend.re);
                let im = self.re.mul_add(factor.im, addend.im);
                Complex::new(
                    (-self.im).mul_add(factor.im, re),
                    self.im.mul_add(factor.re, im),
                )
            }
        }

        forwards! { FloatOps for Complex<$float>:
            sqrt => math::$math::complex_sqrt, exp => math::$math::complex_exp,
            log => math::$math::complex_log, sin => math::$math::complex_sin,
            cos => math::$math::complex_cos, tanh => math::$math::complex_tanh
        }
    };
}

float_ops!(f32, single);
float_ops!(f64, double);

macro_rules! integer_ops {
    ($int:ident, $sign:expr, $abs:expr, $rem:expr, $is_negative:expr) => {
        impl NumericOps for $int {
            type Abs = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other == 0 {
                    0
                } else {
                    self.wrapping_div(other)
                }
            }
            #[inline(always)]
            fn pow(self, other: Self) -> Self {
                if $is_negative(other) {
                    // 1 / self^-other, truncated; only 1 and -1 have a whole inverse.
                    return if self == 1 {
                        1
                    } else if self.wrapping_add(1) == 0 {
                        if other & 1 == 0 { 1 } else { self }
                    } else {
                        0
                    };
                }
                let (mut base, mut exponent, mut power) = (self, other, 1 as $int);
                while exponent != 0 {
                    if exponent & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                power
            }
            #[inline(always)]
            fn sign(self) -> Self {
                $sign(self)
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $abs(self)
            }
            #[inline(always)]
            fn re(self) -> Self {
                self
            }
            #[inline(always)]
            fn im(self) -> Self {
                0
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                self.wrapping_mul(factor).wrapping_add(addend)
            }
        }

        impl OrderedOps for $int {
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                if other == 0 { 0 } else { $rem(self, other) }
            }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let (quotient, rest) = (self.wrapping_div(other), self.wrapping_rem(other));
                let is_below = rest != 0 && $is_negative(rest) != $is_negative(other);
                quotient.wrapping_sub(Self::from(is_below))
            }
            #[inline(always)]
            fn floor(self) -> Self {
                self
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                self
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn round(self) -> Self {
                self
            }
            #[inline(always)]
            fn or_nan_if(self, _: bool) -> Self {
                self
            }
        }
    };
}

macro_rules! signed_ops {
    ($int:ident) => {
        integer_ops!(
            $int,
            $int::signum,
            $int::wrapping_abs,
            |a: $int, b: $int| {
                let rest = a.wrapping_rem(b);
                if rest != 0 && (rest < 0) != (b < 0) {
                    rest.wrapping_add(b)
                } else {
                    rest
                }
            },
            |x: $int| x < 0
        );
    };
}

macro_rules! unsigned_ops {
    ($int:ident) => {
        integer_ops!(
            $int,
            |x: $int| $int::from(x != 0),
            |x: $int| x,
            |a: $int, b: $int| a % b,
            |_: $int| false
        );
    };
}

signed_ops!(i32);
signed_ops!(i64);
unsigned_ops!(u32);
unsigned_ops!(u64);

impl LogicOps for bool {
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
}

macro_rules! bit_ops {
    ($($type:ident)*) => {$(
        impl BitOps for $type {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

bit_ops!(i32 i64 u32 u64 bool);
