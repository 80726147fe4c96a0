//! The numbers that factors are made of: double precision, real or complex.

use crate::powers::{exponent, times_power_of};
use faer::traits::ComplexField;
use num_complex::Complex;

/// What computations need of faer's numbers.
pub(super) trait Number: ComplexField + Copy {
    fn zero() -> Self;
    fn one() -> Self;
    fn is_finite(self) -> bool;
    fn conjugate(self) -> Self;
    fn inverse(self) -> Self;
    /// The larger of the sizes of its parts.
    fn largest_part(self) -> f64;
    fn times_power(self, power: i32) -> Self;
}

impl Number for f64 {
    fn zero() -> Self {
        0.0
    }
    fn one() -> Self {
        1.0
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn conjugate(self) -> Self {
        self
    }
    fn inverse(self) -> Self {
        1.0 / self
    }
    fn largest_part(self) -> f64 {
        self.abs()
    }
    fn times_power(self, power: i32) -> Self {
        times_power_of(self, power)
    }
}

impl Number for Complex<f64> {
    fn zero() -> Self {
        Complex::ZERO
    }
    fn one() -> Self {
        Complex::ONE
    }
    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
    fn conjugate(self) -> Self {
        self.conj()
    }
    fn inverse(self) -> Self {
        // Squares of the parts are near 1.
        let power = -exponent(self.largest_part());
        self.times_power(power).inv().times_power(power)
    }
    fn largest_part(self) -> f64 {
        self.re.abs().max(self.im.abs())
    }
    fn times_power(self, power: i32) -> Self {
        Self::new(
            times_power_of(self.re, power),
            times_power_of(self.im, power),
        )
    }
}
