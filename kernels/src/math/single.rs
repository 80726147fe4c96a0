//! The elementary functions of `f32` and of complex numbers over it, through `f64`.
//!
//! The result is that of the `f64` function, rounded once more: the error stays below 0.51 ulp, and
//! overflow and underflow need no care of their own.

use super::exp::exp_near;
use super::{double, trig};
use crate::unary_operations;
use num_complex::Complex;

/// The number in double precision.
#[inline(always)]
fn wide(z: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(z.re), f64::from(z.im))
}

/// The number rounded to single precision.
#[inline(always)]
fn narrow(z: Complex<f64>) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

/// The function of `f64`, rounded.
macro_rules! through_f64 {
    ($($function:ident)*) => {$(
        #[inline(always)]
        pub(crate) fn $function(x: f32) -> f32 {
            double::$function(f64::from(x)) as f32
        }
    )*};
}

through_f64!(exp log sin cos tanh);

/// The same for the functions of reals.
macro_rules! of_reals {
    ($($types:ident: $trait:ident {$(#[$doc:meta] $op:ident $function:ident $row:tt)*})*) => {
        $(of_reals!(@$types $($function)*);)*
    };
    (@Reals $($function:ident)*) => {
        through_f64!($($function)*);
    };
    (@$types:ident $($function:ident)*) => {};
}

unary_operations!(of_reals);

/// `y[i] = exp(x[i])`; the slices have the same length. With half the operations where they
/// suffice.
#[inline(always)]
pub(crate) fn exp_block(x: &[f32], y: &mut [f32]) {
    let mut are_sure = true;
    for (x, y) in x.iter().zip(&mut *y) {
        let (power, is_sure) = exp_near(*x);
        *y = power;
        are_sure &= is_sure;
    }
    if !are_sure {
        for (x, y) in x.iter().zip(y) {
            *y = exp(*x);
        }
    }
}

/// `y[i] = sin(x[i])`; the slices have the same length.
#[inline(always)]
pub(crate) fn sin_block(x: &[f32], y: &mut [f32]) {
    trig::block(x, y, trig::sin_small, trig::sin_large, |y| y as f32);
}

/// `y[i] = cos(x[i])`; the slices have the same length.
#[inline(always)]
pub(crate) fn cos_block(x: &[f32], y: &mut [f32]) {
    trig::block(x, y, trig::cos_small, trig::cos_large, |y| y as f32);
}

/// `x` to the power `y`.
#[inline(always)]
pub(crate) fn pow(x: f32, y: f32) -> f32 {
    double::pow(f64::from(x), f64::from(y)) as f32
}

/// `x[i]` to the power `y[i]`.
#[inline(always)]
pub(crate) fn pow_block<const N: usize>(x: &[f32; N], y: &[f32; N]) -> [f32; N] {
    let (mut wide, mut exponents, mut out) = ([0.0; N], [0.0; N], [0.0; N]);
    for i in 0..N {
        (wide[i], exponents[i]) = (f64::from(x[i]), f64::from(y[i]));
    }
    let powers = double::pow_block(&wide, &exponents);
    for i in 0..N {
        out[i] = powers[i] as f32;
    }
    out
}

/// The square root of `x^2 + y^2`.
#[inline(always)]
pub(crate) fn hypot(x: f32, y: f32) -> f32 {
    double::hypot(f64::from(x), f64::from(y)) as f32
}

/// The angle of the point `(x, y)`.
#[inline(always)]
pub(crate) fn atan2(y: f32, x: f32) -> f32 {
    double::atan2(f64::from(y), f64::from(x)) as f32
}

/// The complex function of `f64`, rounded.
macro_rules! complex_through_f64 {
    ($($function:ident)*) => {$(
        #[inline(always)]
        pub(crate) fn $function(z: Complex<f32>) -> Complex<f32> {
            narrow(double::$function(wide(z)))
        }
    )*};
}

complex_through_f64!(complex_exp complex_log complex_sin complex_cos complex_tanh complex_sqrt);

/// `x` to the power `y`.
#[inline(always)]
pub(crate) fn complex_pow(x: Complex<f32>, y: Complex<f32>) -> Complex<f32> {
    narrow(double::complex_pow(wide(x), wide(y)))
}

/// The quotient.
#[inline(always)]
pub(crate) fn complex_div(x: Complex<f32>, y: Complex<f32>) -> Complex<f32> {
    narrow(double::complex_div(wide(x), wide(y)))
}
