//! Numbers of several lines side by side, with which a transform computes as with one number: each
//! line gets the bits that it gets alone, and a register has a number of each.

use rustfft::num_traits::{FromPrimitive, Num, One, Signed, Zero};
use rustfft::{Fft, FftDirection, FftNum, FftPlannerScalar};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::sync::Arc;

/// What lines are transformed as: numbers of one line, or of several.
pub(super) trait Beside: FftNum {
    /// How many lines.
    const LINES: usize;

    /// The numbers that `number` gives for each line.
    fn of(number: impl FnMut(usize) -> f64) -> Self;

    /// The number of a line.
    fn line(&self, line: usize) -> f64;
}

/// A transform of lines of this length.
pub(super) fn planned<V: Beside>(len: usize, direction: FftDirection) -> Arc<dyn Fft<V>> {
    FftPlannerScalar::new().plan_fft(len, direction)
}

impl Beside for f64 {
    const LINES: usize = 1;

    #[inline(always)]
    fn of(mut number: impl FnMut(usize) -> f64) -> Self {
        number(0)
    }

    #[inline(always)]
    fn line(&self, _: usize) -> f64 {
        *self
    }
}

/// As many lines as two registers of every machine hold numbers.
const LINES: usize = 4;

/// Numbers of [`LINES`] lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lanes([f64; LINES]);

impl Beside for Lanes {
    const LINES: usize = LINES;

    #[inline(always)]
    fn of(number: impl FnMut(usize) -> f64) -> Self {
        Self(std::array::from_fn(number))
    }

    #[inline(always)]
    fn line(&self, line: usize) -> f64 {
        self.0[line]
    }
}

impl Lanes {
    #[inline(always)]
    fn each(self, function: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(function))
    }
}

/// Arithmetic, line by line.
macro_rules! operations {
    ($($trait:ident $method:ident $operation:tt)*) => {$(
        impl $trait for Lanes {
            type Output = Self;

            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                for line in 0..LINES {
                    self.0[line] $operation other.0[line];
                }
                self
            }
        }
    )*};
}

operations! { Add add += Sub sub -= Mul mul *= Div div /= Rem rem %= }

impl Neg for Lanes {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.each(|x| -x)
    }
}

// What follows makes a number of `Lanes`: rustfft asks for it, and uses zero, one, and the factors
// of transforms that it makes from double precision.

impl Zero for Lanes {
    fn zero() -> Self {
        Self([0.0; LINES])
    }

    fn is_zero(&self) -> bool {
        self.0 == [0.0; LINES]
    }
}

impl One for Lanes {
    fn one() -> Self {
        Self([1.0; LINES])
    }
}

impl Num for Lanes {
    type FromStrRadixErr = <f64 as Num>::FromStrRadixErr;

    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        f64::from_str_radix(text, radix).map(|x| Self([x; LINES]))
    }
}

impl Signed for Lanes {
    fn abs(&self) -> Self {
        self.each(f64::abs)
    }

    fn abs_sub(&self, other: &Self) -> Self {
        (*self - *other).each(|x| x.max(0.0))
    }

    fn signum(&self) -> Self {
        self.each(f64::signum)
    }

    fn is_positive(&self) -> bool {
        self.0.iter().all(|x| x.is_sign_positive())
    }

    fn is_negative(&self) -> bool {
        self.0.iter().all(|x| x.is_sign_negative())
    }
}

impl FromPrimitive for Lanes {
    fn from_i64(n: i64) -> Option<Self> {
        f64::from_i64(n).map(|x| Self([x; LINES]))
    }

    fn from_u64(n: u64) -> Option<Self> {
        f64::from_u64(n).map(|x| Self([x; LINES]))
    }

    fn from_f64(n: f64) -> Option<Self> {
        Some(Self([n; LINES]))
    }
}
