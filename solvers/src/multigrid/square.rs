//! The square of an absolute value.

use sparsefuse_kernels::Field;

/// The square of the absolute value.
pub(super) fn square<T: Field>(value: T) -> f64 {
    let (re, im) = value.parts();
    re * re + im * im
}
