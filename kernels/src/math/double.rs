//! Elementary functions of `f64`. PLACEHOLDER: the system's functions, to be replaced.

use num_complex::Complex;

#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    x.exp()
}
#[inline(always)]
pub(crate) fn complex_exp(x: Complex<f64>) -> Complex<f64> {
    x.exp()
}

#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    x.ln()
}
#[inline(always)]
pub(crate) fn complex_log(x: Complex<f64>) -> Complex<f64> {
    x.ln()
}

#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    x.sin()
}
#[inline(always)]
pub(crate) fn complex_sin(x: Complex<f64>) -> Complex<f64> {
    x.sin()
}

#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    x.cos()
}
#[inline(always)]
pub(crate) fn complex_cos(x: Complex<f64>) -> Complex<f64> {
    x.cos()
}

#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    x.tanh()
}
#[inline(always)]
pub(crate) fn complex_tanh(x: Complex<f64>) -> Complex<f64> {
    x.tanh()
}

#[inline(always)]
pub(crate) fn complex_sqrt(x: Complex<f64>) -> Complex<f64> {
    x.sqrt()
}
#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    x
}
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    x.powf(y)
}
#[inline(always)]
pub(crate) fn hypot(x: f64, y: f64) -> f64 {
    x.hypot(y)
}
#[inline(always)]
pub(crate) fn complex_pow(x: Complex<f64>, y: Complex<f64>) -> Complex<f64> {
    x.powc(y)
}
#[inline(always)]
pub(crate) fn complex_div(x: Complex<f64>, y: Complex<f64>) -> Complex<f64> {
    x / y
}
