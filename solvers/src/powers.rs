//! Powers of two by which numbers, vectors and matrices are multiplied, which rounds nothing, so
//! that squares of their elements stay within the range of the type.

use sparsefuse_dense::Vector;
use sparsefuse_kernels::{DType, Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;
use std::num::FpCategory;

/// A matrix divided by a power of two, and that power: the matrix itself and 0, unless squares and
/// products of a few entries could become 0 or infinite.
pub(crate) fn near_one<T: Field>(a: &Csr<T>) -> Result<(Csr<T>, i32), Error> {
    let power = power_near_one::<T>(a.kept_norm_max()?);
    Ok((times_power_of_entries(a, -power), power))
}

/// The power of two that numbers up to this large are divided by: 0, unless squares and products of
/// a few of them could become 0 or infinite.
pub(crate) fn power_near_one<T: Field>(largest: f64) -> i32 {
    let range = match T::DTYPE.real() {
        DType::F32 => -30..=30,
        _ => -250..=250,
    };
    match largest == 0.0 || !largest.is_finite() || range.contains(&exponent(largest)) {
        true => 0,
        false => exponent(largest),
    }
}

/// A matrix times a power of two, exactly as far as the entries can be held.
pub(crate) fn times_power_of_entries<T: Field>(a: &Csr<T>, power: i32) -> Csr<T> {
    let scale = |a: Csr<T>, factor| a.scale(factor);
    factors::<T>(power).fold(a.clone(), scale)
}

/// A vector times a power of two, exactly as far as the elements can be held.
pub(crate) fn times_power<T: Field>(x: &Vector<T>, power: i32) -> Vector<T> {
    factors::<T>(power).fold(x.clone(), |x, factor| x * factor)
}

/// Numbers whose product is a power of two, each of which the type holds where the power need not
/// be one that it does.
fn factors<T: Field>(power: i32) -> impl Iterator<Item = T> {
    let most: i32 = match T::DTYPE.real() {
        DType::F32 => 126,
        _ => 1022,
    };
    let whole = (0..power.abs() / most).map(move |_| most * power.signum());
    let rest = Some(power % most).filter(|&rest| rest != 0);
    whole
        .chain(rest)
        .map(|power| T::from_f64(times_power_of(1.0, power)))
}

/// A vector over the power of two that brings its largest element near 1, if squares of its
/// elements may be out of range.
pub(crate) fn vector_near_one<T: Field>(x: &Vector<T>) -> Result<Vector<T>, Error> {
    let largest = x.norm_inf().get()?.to_f64();
    Ok(times_power(x, -power_near_one::<T>(largest)))
}

/// A number times a power of two.
pub(crate) fn times_power_of(mut x: f64, mut power: i32) -> f64 {
    const STEP: i32 = 1000;
    while power.abs() > STEP {
        x *= power_of_two(STEP * power.signum());
        power -= STEP * power.signum();
    }
    x * power_of_two(power)
}

/// 2^power of a power from -1022 to 1023.
fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((1023 + power) as u64) << 52)
}

/// The power of two at or below a positive number; 0 of what has none, 0 and what is not finite.
pub(crate) fn exponent(x: f64) -> i32 {
    match x.classify() {
        FpCategory::Normal => (x.to_bits() >> 52) as i32 - 1023,
        FpCategory::Subnormal => exponent(x * power_of_two(100)) - 100,
        FpCategory::Zero | FpCategory::Infinite | FpCategory::Nan => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two() {
        for power in [-1074, -1023, -1022, -1, 0, 1, 52, 1023] {
            let x = times_power_of(1.0, power);
            let expected = match power {
                ..-1022 => f64::from_bits(1 << (power + 1074)),
                _ => power_of_two(power),
            };
            assert_eq!(x, expected, "{power}");
            assert_eq!(exponent(x), power);
            if power > -1074 {
                assert_eq!(exponent(x * 1.5), power);
            }
        }
        assert_eq!(times_power_of(3.0, 2100), f64::INFINITY);
        assert_eq!(times_power_of(3.0, -2100), 0.0);
        let small = times_power_of(1.25, -1020);
        assert_eq!(times_power_of(small, 2040), times_power_of(1.25, 1020));
    }
}
