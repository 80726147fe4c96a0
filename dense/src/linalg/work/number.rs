//! The numbers that faer computes with.

use super::spectrum;
use faer::linalg::evd::EvdError;
use faer::traits::ComplexField;
use faer::{Mat, MatRef};
use num_complex::Complex;

/// Real or complex numbers in double precision.
pub(super) trait Number: ComplexField<Real = f64> + Copy {
    fn of_parts(parts: (f64, f64)) -> Self;
    fn complex(self) -> Complex<f64>;
    /// The eigenvalues, and the eigenvectors if there is a matrix for them.
    fn eig(
        a: MatRef<'_, Self>,
        vectors: Option<&mut Mat<Complex<f64>>>,
    ) -> Result<Vec<Complex<f64>>, EvdError>;

    #[inline]
    fn from_real(x: f64) -> Self {
        Self::of_parts((x, 0.0))
    }
}

impl Number for f64 {
    #[inline]
    fn of_parts((re, _): (f64, f64)) -> Self {
        re
    }
    #[inline]
    fn complex(self) -> Complex<f64> {
        Complex::from(self)
    }
    fn eig(
        a: MatRef<'_, Self>,
        vectors: Option<&mut Mat<Complex<f64>>>,
    ) -> Result<Vec<Complex<f64>>, EvdError> {
        spectrum::eig_of_real(a, vectors)
    }
}

impl Number for Complex<f64> {
    #[inline]
    fn of_parts((re, im): (f64, f64)) -> Self {
        Complex::new(re, im)
    }
    #[inline]
    fn complex(self) -> Complex<f64> {
        self
    }
    fn eig(
        a: MatRef<'_, Self>,
        vectors: Option<&mut Mat<Complex<f64>>>,
    ) -> Result<Vec<Complex<f64>>, EvdError> {
        spectrum::eig_of_complex(a, vectors)
    }
}

/// The power of two at or below the larger part of a number; of 0 and subnormal numbers that below
/// all others.
#[inline]
pub(super) fn exponent(x: Complex<f64>) -> i32 {
    (x.re.abs().max(x.im.abs()).to_bits() >> 52) as i32 - 1023
}

/// A number times a power of two, which may itself be out of range.
#[inline]
pub(super) fn times_power(x: Complex<f64>, power: i32) -> Complex<f64> {
    let half = power / 2;
    x * 2f64.powi(half) * 2f64.powi(power - half)
}
