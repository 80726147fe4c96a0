//! Elementary functions that give the same bits on every machine and in every SIMD width.
//!
//! The functions of the system's libm differ between machines and stay scalar. The real functions
//! here use `+ - * /`, the square root, fused multiply-add and bit operations alone, all of them
//! exactly defined by IEEE 754, and have no branches: a plain loop `y[i] = exp(x[i])` inside a
//! function compiled for AVX2 or AVX-512 becomes SIMD code. Whatever is not a number in the result
//! is the one NaN `f64::NAN`, so that not even its payload depends on how a loop was compiled.
//!
//! Two things a caller must know:
//! - The functions must be inlined into the function that enables the instruction set. They are
//!   `#[inline(always)]`, but a closure around them is not: call them from a `for` loop, not
//!   through `std::array::from_fn` or an iterator. Elsewhere each `mul_add` is a call (25 to 90 ns
//!   for one element); the bits are the same.
//! - [`double::sin`] and [`double::cos`] branch for `|x| > 2^30` and keep a loop scalar. Use
//!   [`double::sin_block`] and [`double::cos_block`] (and those of [`single`]) on slices of any
//!   length; they give the same bits.
//!
//! Largest errors found by the tests (in units in the last place of the exact result), and time for
//! one element of 1024 in cache on a Zen 5 core, in nanoseconds:
//!
//! | function | error | AVX-512 | AVX2 | method |
//! |---|---|---|---|---|
//! | exp | 0.76 | 0.6 | 1.2 | Cody and Waite, polynomial |
//! | log | 0.79 | 0.9 | 1.4 | series of `(m - 1) / (m + 1)` |
//! | sin, cos | 0.74 | 0.9 | 1.8 | Cody and Waite; Payne and Hanek |
//! | tanh | 0.84 | 1.0 | 2.1 | `e^2x - 1` in extended precision |
//! | erf | 1.38 | 1.5 | 3.0 | polynomial; `1 - e^polynomial` |
//! | cbrt | 0.52 | 1.0 | 1.9 | polynomial; Halley |
//! | lgamma | 0.59 | 9.0 | 16.6 | Stirling, recurrence, logarithms in extended precision |
//! | pow | 0.68 | 3.7 | 7.5 | logarithm in extended precision |
//! | hypot | 0.95 | 0.3 | 0.5 | scaled squares |
//! | atan2 | 1.11 | - | 2.2 | polynomial |
//! | sinh | 1.44 | - | 2.3 | `e^x - 1` in extended precision |
//! | cosh | 1.80 | - | 2.7 | the same |
//! | expm1 | 1.00 | - | 2.2 | the same |
//! | log1p | 1.27 | - | 1.4 | logarithm of the rounded sum, and what it lost |
//! | log2, log10 | 0.50 | - | 2.2 | logarithm in extended precision |
//!
//! Where there is no time for AVX-512, blocks run what is compiled for AVX2 (but of atan2 there is
//! a loop for AVX-512, which takes 2.6 in place of 3.9 on a Zen 4 core, from memory); these times
//! are rounded from a run beside other programs. A chunk of powers takes less than its powers one
//! by one ([`double::pow_block`], 5.2 in place of 6.7 on that core).
//!
//! The error of lgamma is that for positive numbers. For negative ones, between which it has zeros,
//! it is 0.8 in units of 2^-52 of the result, or of 1 where that is larger.
//!
//! Results that are subnormal are within these bounds too. The functions of `f32` compute in `f64`
//! and stay below 0.51 ulp, in about the same time for one element.
//!
//! Errors of the complex functions are relative to the size of the result, in units of 2^-52:
//!
//! | function | error |
//! |---|---|
//! | exp, log, sqrt | 1.1 |
//! | sin, cos, div | 1.5 |
//! | tanh | 2.2 |
//! | pow | 16 for `\|y log x\|` up to 25; grows with that product |
//!
//! Polynomial coefficients were fitted for this crate in 260 to 300 bits, by Remez exchange or by
//! Lawson's reweighted least squares, and rounded to `f64`; each table states interval, weight and
//! error. The methods are those of W. J. Cody and W. Waite, *Software Manual for the Elementary
//! Functions* (1980); M. Payne and R. Hanek, *Radian reduction for trigonometric functions* (1983);
//! W. Kahan, *Branch Cuts for Complex Elementary Functions* (1987); J.-M. Muller, *Elementary
//! Functions*; and Muller et al., *Handbook of Floating-Point Arithmetic*.

pub(crate) mod double;
pub(crate) mod single;

mod arithmetic;
mod cbrt;
mod complex;
pub(crate) mod constants;
mod erf;
mod exp;
mod lgamma;
mod log;
mod payne_hanek;
mod polar;
mod pow;
mod trig;

#[cfg(test)]
mod tests;
