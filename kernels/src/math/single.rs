//! Elementary functions of `f32`. PLACEHOLDER: the system's functions, to be replaced.

use num_complex::Complex;

#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    x.exp()
}
#[inline(always)]
pub(crate) fn complex_exp(x: Complex<f32>) -> Complex<f32> {
    x.exp()
}

#[inline(always)]
pub(crate) fn log(x: f32) -> f32 {
    x.ln()
}
#[inline(always)]
pub(crate) fn complex_log(x: Complex<f32>) -> Complex<f32> {
    x.ln()
}

#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    x.sin()
}
#[inline(always)]
pub(crate) fn complex_sin(x: Complex<f32>) -> Complex<f32> {
    x.sin()
}

#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    x.cos()
}
#[inline(always)]
pub(crate) fn complex_cos(x: Complex<f32>) -> Complex<f32> {
    x.cos()
}

#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    x.tanh()
}
#[inline(always)]
pub(crate) fn complex_tanh(x: Complex<f32>) -> Complex<f32> {
    x.tanh()
}

#[inline(always)]
pub(crate) fn complex_sqrt(x: Complex<f32>) -> Complex<f32> {
    x.sqrt()
}
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    x
}
#[inline(always)]
pub(crate) fn pow(x: f32, y: f32) -> f32 {
    x.powf(y)
}
#[inline(always)]
pub(crate) fn hypot(x: f32, y: f32) -> f32 {
    x.hypot(y)
}
#[inline(always)]
pub(crate) fn complex_pow(x: Complex<f32>, y: Complex<f32>) -> Complex<f32> {
    x.powc(y)
}
#[inline(always)]
pub(crate) fn complex_div(x: Complex<f32>, y: Complex<f32>) -> Complex<f32> {
    x / y
}
