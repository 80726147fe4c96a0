//! The numbers of a method on the host.
//!
//! Rotations and small triangular systems are computed here and not by tasks, in double precision
//! and complex, whatever the elements are: what a method reads of them are inner products, which
//! have the same bits everywhere, so these numbers have them too. No function of the system's
//! mathematical library is used but the square root, which is exact.

use num_complex::Complex;
use sparsefuse_dense::{Scalar, Scalars};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// An inner product, once it is known.
pub(crate) fn read<T: Field>(scalar: &Scalar<T>) -> Result<Complex<f64>, Error> {
    Ok(number(scalar.get()?))
}

/// Inner products, once they are known.
pub(crate) fn read_all<T: Field>(scalars: &Scalars<T>) -> Result<Vec<Complex<f64>>, Error> {
    Ok(scalars.get()?.into_iter().map(number).collect())
}

/// An element as a number of the host.
pub(crate) fn number<T: Field>(element: T) -> Complex<f64> {
    let (re, im) = element.parts();
    Complex::new(re, im)
}

/// The nearest element.
pub(crate) fn element<T: Field>(value: Complex<f64>) -> T {
    T::from_parts(value.re, value.im)
}

/// The real part of a number that is real but for rounding.
pub(super) fn real<T: Field>(value: T) -> f64 {
    value.parts().0
}

/// |z|, without the rounding of a library's `hypot`.
pub(crate) fn size(z: Complex<f64>) -> f64 {
    z.norm_sqr().sqrt()
}

/// c, s and r with c a + s b = r and -conj(s) a + c b = 0: the rotation by which b vanishes.
pub(super) fn rotation(a: Complex<f64>, b: Complex<f64>) -> (f64, Complex<f64>, Complex<f64>) {
    let (a_size, b_size) = (size(a), size(b));
    if b_size == 0.0 {
        return (1.0, Complex::ZERO, a);
    }
    if a_size == 0.0 {
        return (0.0, b.conj() / b_size, Complex::new(b_size, 0.0));
    }
    let length = length(a_size, b_size);
    let phase = a / a_size;
    (a_size / length, phase * b.conj() / length, phase * length)
}

/// The same for real numbers.
pub(super) fn real_rotation(a: f64, b: f64) -> (f64, f64, f64) {
    let length = length(a, b);
    if length == 0.0 {
        (1.0, 0.0, 0.0)
    } else {
        (a / length, b / length, length)
    }
}

/// The square root of a² + b², which does not overflow where it need not.
pub(super) fn length(a: f64, b: f64) -> f64 {
    let largest = a.abs().max(b.abs());
    if largest == 0.0 {
        // Perhaps one of them is not a number.
        return (a + b).abs();
    }
    let (a, b) = (a / largest, b / largest);
    largest * (a * a + b * b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_make_the_second_number_vanish() {
        let numbers = [
            Complex::ZERO,
            Complex::ONE,
            Complex::new(-3.0, 0.5),
            Complex::new(1e-200, -2e-200),
            Complex::new(0.0, 1e150),
        ];
        for a in numbers {
            for b in numbers {
                let (c, s, r) = rotation(a, b);
                let scale = size(a).max(size(b)).max(f64::MIN_POSITIVE);
                assert!(size(a * c + s * b - r) <= 1e-15 * scale, "{a} {b}");
                assert!(size(b * c - s.conj() * a) <= 1e-15 * scale, "{a} {b}");
                assert!((c * c + s.norm_sqr() - 1.0).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn lengths_neither_overflow_nor_hide_what_is_not_finite() {
        assert!((length(3e200, -4e200) / 5e200 - 1.0).abs() < 1e-15);
        assert_eq!(length(0.0, 0.0), 0.0);
        for other in [0.0, 1.0, f64::NAN] {
            assert!(length(f64::NAN, other).is_nan() && length(other, f64::NAN).is_nan());
        }
        assert!(!length(f64::INFINITY, 1.0).is_finite());
    }
}
