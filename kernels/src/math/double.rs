//! The elementary functions of `f64` and of complex numbers over it, under the names that
//! [`crate::ops`] uses.

pub(crate) use super::cbrt::cbrt;
pub(crate) use super::complex::{
    complex_cos, complex_div, complex_exp, complex_log, complex_pow, complex_sin, complex_sqrt,
    complex_tanh,
};
pub(crate) use super::erf::erf;
pub(crate) use super::exp::{cosh, exp, exp_block, expm1, sinh, tanh};
pub(crate) use super::lgamma::lgamma;
pub(crate) use super::log::{log, log1p, log2, log10};
pub(crate) use super::polar::{atan2, hypot};
pub(crate) use super::pow::{pow, pow_block};
pub(crate) use super::trig::{cos, sin};
pub(crate) use super::trig::{cos_block, sin_block};
