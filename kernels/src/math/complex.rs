//! Elementary functions of complex numbers, from the real functions of this module alone.
//!
//! They branch and do not become SIMD code, but are inlined like the others, so that a fused
//! multiply-add is one instruction. Errors are relative to the size of the result, not to each
//! part.

use super::arithmetic::{power_of_two, round};
use super::exp::{exp_parts, sinh_cosh};
use super::polar::{atan2, hypot, log_hypot, shift};
use super::trig::{cos, sin};
use num_complex::Complex;

type C64 = Complex<f64>;

/// e^z; the size never overflows before the parts do.
#[inline(always)]
pub(crate) fn complex_exp(z: C64) -> C64 {
    if z.re == f64::NEG_INFINITY {
        return number(0.0, 0.0);
    }
    if z.re == f64::INFINITY && !z.im.is_finite() {
        return number(f64::INFINITY, f64::NAN);
    }
    polar(z.re, z.im)
}

/// The number with these parts; each NaN becomes the one NaN.
#[inline(always)]
fn number(re: f64, im: f64) -> C64 {
    Complex {
        re: if re.is_nan() { f64::NAN } else { re },
        im: if im.is_nan() { f64::NAN } else { im },
    }
}

/// `e^log_size` at the given angle.
#[inline(always)]
fn polar(log_size: f64, angle: f64) -> C64 {
    let (size, k) = exp_parts(log_size.clamp(-2000.0, 2000.0));
    let im = if angle == 0.0 {
        angle
    } else {
        size * sin(angle)
    };
    number(scale_far(size * cos(angle), k), scale_far(im, k))
}

/// `x * 2^k` for a whole number `|k| <= 3000`.
#[inline(always)]
fn scale_far(x: f64, k: f64) -> f64 {
    let third = round(k / 3.0);
    let power = power_of_two(third);
    x * power * power * power_of_two(k - 2.0 * third)
}

/// The principal logarithm: `log |z|` and the angle from -pi to pi.
#[inline(always)]
pub(crate) fn complex_log(z: C64) -> C64 {
    number(log_hypot(z.re, z.im), atan2(z.im, z.re))
}

/// `sin x cosh y + i cos x sinh y`.
#[inline(always)]
pub(crate) fn complex_sin(z: C64) -> C64 {
    let (sinh, cosh, k) = sinh_cosh(z.im);
    let im = if z.im == 0.0 { z.im } else { cos(z.re) * sinh };
    number(scale_far(sin(z.re) * cosh, k), scale_far(im, k))
}

/// `cos x cosh y - i sin x sinh y`.
#[inline(always)]
pub(crate) fn complex_cos(z: C64) -> C64 {
    let (sinh, cosh, k) = sinh_cosh(z.im);
    number(
        scale_far(cos(z.re) * cosh, k),
        scale_far(-sin(z.re) * sinh, k),
    )
}

/// The hyperbolic tangent, as in Kahan, *Branch Cuts for Complex Elementary Functions* (1987).
#[inline(always)]
pub(crate) fn complex_tanh(z: C64) -> C64 {
    if z.re.abs() > 22.0 {
        // 1 - tanh is below half an ulp; the imaginary part is 4 sin y cos y e^(-2 |x|).
        let one = 1.0f64.copysign(z.re);
        if z.im.is_nan() {
            // The sign of a NaN means nothing, so it decides nothing either.
            return if z.re.is_finite() {
                number(f64::NAN, f64::NAN)
            } else {
                number(one, 0.0)
            };
        }
        let waves = if z.im.is_finite() {
            4.0 * sin(z.im) * cos(z.im)
        } else {
            0.0
        };
        let (size, k) = exp_parts((-2.0 * z.re.abs()).max(-2000.0));
        let im = scale_far(waves * size, k).copysign(if waves == 0.0 { z.im } else { waves });
        return number(one, im);
    }
    let (sinh, cosh, _) = sinh_cosh(z.re);
    let tan = if z.im == 0.0 {
        z.im
    } else {
        sin(z.im) / cos(z.im)
    };
    let beta = tan.mul_add(tan, 1.0);
    let below = (beta * sinh).mul_add(sinh, 1.0);
    number(beta * cosh * sinh / below, tan / below)
}

/// The square root with a real part that is not negative, as in Kahan (1987).
#[inline(always)]
pub(crate) fn complex_sqrt(z: C64) -> C64 {
    if z.im.abs() == f64::INFINITY {
        return number(f64::INFINITY, z.im);
    }
    if z.re == 0.0 && z.im == 0.0 {
        return number(0.0, z.im);
    }
    if z.re == f64::INFINITY {
        return number(
            z.re,
            if z.im.is_nan() {
                z.im
            } else {
                0.0f64.copysign(z.im)
            },
        );
    }
    if z.re == f64::NEG_INFINITY {
        let re = if z.im.is_nan() { z.im } else { 0.0 };
        return number(re, f64::INFINITY.copysign(z.im));
    }
    // The root of 2^(2 k) z is 2^k times the root; the exponents of a shift are even.
    let shift = shift(z.re.abs().max(z.im.abs()));
    let (re, im) = (z.re * shift.factor, z.im * shift.factor);
    let unscale = power_of_two(0.5 * shift.exponent);
    let large = (0.5 * (re.abs() + hypot(re, im))).sqrt();
    let small = 0.5 * im.abs() / large;
    let (re, im) = if re >= 0.0 {
        (large, small)
    } else {
        (small, large)
    };
    number(re * unscale, (im * unscale).copysign(z.im))
}

/// `e^(y log x)`; whole real exponents up to 64 multiply instead, where nothing overflows.
///
/// The relative error of the logarithm is multiplied by the size of `y log x`. A zero to a power
/// with positive real part is 0, `x^0` is 1 for every `x`.
#[inline(always)]
pub(crate) fn complex_pow(x: C64, y: C64) -> C64 {
    if y.re == 0.0 && y.im == 0.0 {
        return number(1.0, 0.0);
    }
    if x.re == 0.0 && x.im == 0.0 {
        return zero_pow(y);
    }
    if y.im == 0.0 && y.re.abs() <= 64.0 && round(y.re) == y.re {
        let power = whole_pow(x, y.re.abs() as u32);
        if in_range(power) {
            return if y.re < 0.0 {
                complex_div(number(1.0, 0.0), power)
            } else {
                power
            };
        }
    }
    let log = complex_log(x);
    let log_size = y.re * log.re - if y.im == 0.0 { 0.0 } else { y.im * log.im };
    let angle = y.re * log.im + if y.im == 0.0 { 0.0 } else { y.im * log.re };
    complex_exp(number(log_size, angle))
}

/// 0 to a power other than 0.
fn zero_pow(y: C64) -> C64 {
    if y.re > 0.0 {
        number(0.0, 0.0)
    } else if y.re < 0.0 && y.im == 0.0 {
        number(f64::INFINITY, f64::NAN)
    } else {
        number(f64::NAN, f64::NAN)
    }
}

/// `x^n` by repeated squaring.
#[inline(always)]
fn whole_pow(x: C64, n: u32) -> C64 {
    let (mut square, mut rest, mut power) = (x, n, number(1.0, 0.0));
    while rest != 0 {
        if rest & 1 == 1 {
            power = complex_mul(power, square);
        }
        square = complex_mul(square, square);
        rest >>= 1;
    }
    power
}

/// Whether the size is far from overflow and underflow.
#[inline(always)]
fn in_range(z: C64) -> bool {
    let size = z.re.abs().max(z.im.abs());
    size > 1e-280 && size < 1e280
}

#[inline(always)]
fn complex_mul(a: C64, b: C64) -> C64 {
    number(
        sum_of_products(a.re, b.re, -a.im, b.im),
        sum_of_products(a.re, b.im, a.im, b.re),
    )
}

/// `a b + c d` with an error below 1.5 ulp of the result even where it cancels (Kahan; see
/// Jeannerod, Louvet and Muller, *Further analysis of Kahan's algorithm*, 2013).
#[inline(always)]
fn sum_of_products(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let product = c * d;
    let error = c.mul_add(d, -product);
    a.mul_add(b, product) + error
}

/// The quotient `x conj(y) / |y|^2`, after both are scaled by powers of two so that nothing
/// overflows or underflows before the result does.
///
/// A nonzero number over zero is infinite, and zero over zero is NaN, as in C's Annex G.
#[inline(always)]
pub(crate) fn complex_div(x: C64, y: C64) -> C64 {
    let (above, k_above) = normalized(x);
    let (below, k_below) = normalized(y);
    let square = below.re.mul_add(below.re, below.im * below.im);
    let re = sum_of_products(above.re, below.re, above.im, below.im) / square;
    let im = sum_of_products(above.im, below.re, -above.re, below.im) / square;
    let k = k_above - k_below;
    let finite = number(scale_far(re, k), scale_far(im, k));
    if finite.re.is_nan() || finite.im.is_nan() {
        recovered(x, y).unwrap_or(finite)
    } else {
        finite
    }
}

/// `(w, k)` with `z = w 2^k` and parts of `w` below 2.
#[inline(always)]
fn normalized(z: C64) -> (C64, f64) {
    let large = z.re.abs().max(z.im.abs());
    let shift = shift(large);
    let bits = (large * shift.factor).to_bits() >> 52;
    let in_range = bits > 1023 - 1000 && bits < 1023 + 1000;
    let exponent = if in_range { bits as f64 - 1023.0 } else { 0.0 };
    let factor = power_of_two(-exponent);
    let w = number(z.re * shift.factor * factor, z.im * shift.factor * factor);
    (w, exponent + shift.exponent)
}

/// The quotient where zeros or infinities made NaN of a part of it (C, Annex G.5.1); `None` where
/// they did not.
#[cold]
fn recovered(x: C64, y: C64) -> Option<C64> {
    let (infinite_x, infinite_y) = (is_infinite(x), is_infinite(y));
    let nan = f64::NAN;
    if y.re == 0.0 && y.im == 0.0 && !(x.re.is_nan() && x.im.is_nan()) {
        let infinity = f64::INFINITY.copysign(y.re);
        let part = |a: f64| {
            if a == 0.0 || a.is_nan() {
                nan
            } else {
                infinity * a
            }
        };
        Some(number(part(x.re), part(x.im)))
    } else if infinite_x && y.re.is_finite() && y.im.is_finite() {
        let (a, b) = (unit(x.re), unit(x.im));
        let part = |a: f64| {
            if a == 0.0 || a.is_nan() {
                nan
            } else {
                f64::INFINITY * a
            }
        };
        Some(number(part(a * y.re + b * y.im), part(b * y.re - a * y.im)))
    } else if infinite_y && x.re.is_finite() && x.im.is_finite() {
        let (c, d) = (unit(y.re), unit(y.im));
        let zero = |part: f64| 0.0 * part;
        Some(number(zero(x.re * c + x.im * d), zero(x.im * c - x.re * d)))
    } else {
        None
    }
}

fn is_infinite(z: C64) -> bool {
    z.re.is_infinite() || z.im.is_infinite()
}

/// 1 for infinity, 0 for finite numbers, with the sign.
fn unit(x: f64) -> f64 {
    (if x.is_infinite() { 1.0f64 } else { 0.0 }).copysign(x)
}
