//! From decimal digits and an exponent of ten to the nearest floating-point number, by one product
//! of 64 and 128 bits.
//!
//! The method is that of Lemire, "Number parsing at a gigabyte per second" (2021), with the shorter
//! proof of Mushtak and Lemire, "Fast number parsing without fallback" (2023).

use super::powers::{self, power};

/// A format of floating-point numbers.
pub(super) struct Form {
    /// Bits behind the one that is not stored.
    mantissa_bits: u32,
    /// What an exponent is stored as, less the exponent.
    bias: i32,
    /// How the exponent of what is infinite is stored.
    infinite: i32,
    /// The exponents of ten between which a decimal of 64 bits may lie halfway between two numbers.
    halfway: (i32, i32),
}

pub(super) const DOUBLE: Form = Form {
    mantissa_bits: 52,
    bias: 1023,
    infinite: 0x7ff,
    halfway: (-4, 23),
};

pub(super) const SINGLE: Form = Form {
    mantissa_bits: 23,
    bias: 127,
    infinite: 0xff,
    halfway: (-17, 10),
};

/// The bits of the number nearest to `digits * 10^exponent`, infinity where that is beyond the
/// largest; none where 128 bits of the power of ten do not tell, which is rare.
#[inline]
pub(super) fn nearest(form: &Form, digits: u64, exponent: i64) -> Option<u64> {
    /// No number of 64 bits times such a power is finite.
    const INFINITE: i64 = 309;
    let infinity = (form.infinite as u64) << form.mantissa_bits;
    if digits == 0 || exponent < i64::from(powers::LEAST) {
        return Some(0);
    }
    if exponent >= INFINITE {
        return Some(infinity);
    }
    let exponent = exponent as i32;
    let zeros = digits.leading_zeros();
    let (low, high) = product(exponent, digits << zeros, form.mantissa_bits + 3)?;
    let upper = (high >> 63) as u32;
    let shift = upper + 61 - form.mantissa_bits;
    let mut mantissa = high >> shift;
    // The power of two of 10^exponent, by log2(10) in 16 bits.
    let power_of_two = ((exponent * 217_706) >> 16) + 63;
    let mut stored = power_of_two + upper as i32 - zeros as i32 + form.bias;
    if stored <= 0 {
        // Below the least number whose first bit is not stored.
        if stored <= -63 {
            return Some(0);
        }
        mantissa >>= 1 - stored;
        // Halves are no case here: the power of ten is far from one.
        return Some((mantissa + (mantissa & 1)) >> 1);
    }
    let is_near = (form.halfway.0..=form.halfway.1).contains(&exponent);
    if low <= 1 && is_near && mantissa & 3 == 1 && mantissa << shift == high {
        // Halfway: to the even one, which is below.
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if mantissa >> (form.mantissa_bits + 1) != 0 {
        mantissa >>= 1;
        stored += 1;
    }
    if stored >= form.infinite {
        return Some(infinity);
    }
    let fraction = mantissa & ((1 << form.mantissa_bits) - 1);
    Some((stored as u64) << form.mantissa_bits | fraction)
}

/// The upper 128 bits, the lower half of them first, of `digits`, whose highest bit is set, times
/// the 128 bits of a power of ten; none where the bits that the power has below may carry into the
/// first `precision` ones.
#[inline]
fn product(exponent: i32, digits: u64, precision: u32) -> Option<(u64, u64)> {
    let (upper, mut lower) = power(exponent);
    if (-27..0).contains(&exponent) {
        // A decimal of 64 bits may be a multiple of 5^27, and its quotient is exact then: rounded
        // up, as in Lemire's table, the power makes a product that is not below it.
        lower += 1;
    }
    let first = u128::from(digits) * u128::from(upper);
    let (mut low, mut high) = (first as u64, (first >> 64) as u64);
    let below = u64::MAX >> precision;
    if high & below == below {
        // The lower half of the power matters.
        let second = (u128::from(digits) * u128::from(lower)) >> 64;
        let (sum, carries) = low.overflowing_add(second as u64);
        low = sum;
        high += u64::from(carries);
        // What the power is more than its 128 bits may carry too.
        if low == u64::MAX {
            return None;
        }
    }
    Some((low, high))
}
