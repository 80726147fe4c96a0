//! Accuracy and special cases of the complex functions. Errors are relative to the size of the
//! result, in units of 2^-52 for `Complex<f64>` and 2^-23 for `Complex<f32>`.

use super::oracle::{BITS, Bits, Oracle, ROUNDING, approximate, big};
use crate::math::{double, single};
use astro_float_num::BigFloat;
use num_complex::Complex;

type C64 = Complex<f64>;
type C32 = Complex<f32>;

/// A complex number of the oracle.
#[derive(Clone)]
struct Big {
    re: BigFloat,
    im: BigFloat,
}

fn add(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.add(b, BITS, ROUNDING)
}

fn mul(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.mul(b, BITS, ROUNDING)
}

fn div(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.div(b, BITS, ROUNDING)
}

fn size_squared(z: &Big) -> BigFloat {
    add(&mul(&z.re, &z.re), &mul(&z.im, &z.im))
}

/// The functions of a complex number, from textbook formulas.
impl Oracle {
    fn complex_exp(&mut self, z: &Big) -> Big {
        let size = self.exp(&z.re);
        Big {
            re: mul(&size, &self.cos(&z.im)),
            im: mul(&size, &self.sin(&z.im)),
        }
    }

    fn complex_log(&mut self, z: &Big) -> Big {
        Big {
            re: mul(&self.log(&size_squared(z)), &big(0.5)),
            im: self.angle(z),
        }
    }

    /// By half angles: `2 atan(y / (|z| + x))`, which cancels for negative `x` alone.
    fn angle(&mut self, z: &Big) -> BigFloat {
        let size = size_squared(z).sqrt(BITS, ROUNDING);
        let tangent = if z.re.is_negative() {
            div(&add(&size, &z.re.neg()), &z.im)
        } else {
            div(&z.im, &add(&size, &z.re))
        };
        let half = tangent.atan(BITS, ROUNDING, &mut self.constants);
        mul(&half, &big(2.0))
    }

    fn complex_sqrt(&mut self, z: &Big) -> Big {
        let size = size_squared(z).sqrt(BITS, ROUNDING);
        let large = mul(&add(&size, &z.re.abs()), &big(0.5)).sqrt(BITS, ROUNDING);
        let small = div(&mul(&z.im, &big(0.5)), &large);
        if z.re.is_positive() {
            return Big {
                re: large,
                im: small,
            };
        }
        let im = if z.im.is_negative() {
            large.neg()
        } else {
            large
        };
        Big {
            re: small.abs(),
            im,
        }
    }

    fn complex_sin(&mut self, z: &Big) -> Big {
        Big {
            re: mul(&self.sin(&z.re), &self.cosh(&z.im)),
            im: mul(&self.cos(&z.re), &self.sinh(&z.im)),
        }
    }

    fn complex_cos(&mut self, z: &Big) -> Big {
        Big {
            re: mul(&self.cos(&z.re), &self.cosh(&z.im)),
            im: mul(&self.sin(&z.re), &self.sinh(&z.im)).neg(),
        }
    }

    fn complex_tanh(&mut self, z: &Big) -> Big {
        let twice = Big {
            re: mul(&z.re, &big(2.0)),
            im: mul(&z.im, &big(2.0)),
        };
        let below = add(&self.cosh(&twice.re), &self.cos(&twice.im));
        Big {
            re: div(&self.sinh(&twice.re), &below),
            im: div(&self.sin(&twice.im), &below),
        }
    }

    fn complex_mul(a: &Big, b: &Big) -> Big {
        Big {
            re: add(&mul(&a.re, &b.re), &mul(&a.im, &b.im).neg()),
            im: add(&mul(&a.re, &b.im), &mul(&a.im, &b.re)),
        }
    }

    fn complex_pow(&mut self, x: &Big, y: &Big) -> Big {
        let log = self.complex_log(x);
        self.complex_exp(&Self::complex_mul(&log, y))
    }

    fn complex_div(&mut self, x: &Big, y: &Big) -> Big {
        let conjugate = Big {
            re: y.re.clone(),
            im: y.im.neg(),
        };
        let above = Self::complex_mul(x, &conjugate);
        let below = size_squared(y);
        Big {
            re: div(&above.re, &below),
            im: div(&above.im, &below),
        }
    }
}

/// The distance of `got` from `want`, relative to the size of `want`.
fn relative_error(got: C64, want: &Big) -> f64 {
    let error = Big {
        re: add(&want.re, &big(got.re).neg()),
        im: add(&want.im, &big(got.im).neg()),
    };
    approximate(&div(&size_squared(&error), &size_squared(want))).sqrt()
}

fn exact(z: C64) -> Big {
    Big {
        re: big(z.re),
        im: big(z.im),
    }
}

fn narrow(z: C64) -> C32 {
    Complex::new(z.re as f32, z.im as f32)
}

fn wide(z: C32) -> C64 {
    Complex::new(f64::from(z.re), f64::from(z.im))
}

/// Checks one function of `N` complex numbers in both precisions.
fn check<const N: usize>(
    name: &str,
    bound: f64,
    (of_f64, of_f32): (impl Fn([C64; N]) -> C64, impl Fn([C32; N]) -> C32),
    oracle: impl Fn(&mut Oracle, [Big; N]) -> Big,
    points: &[[C64; N]],
) {
    let mut numbers = Oracle::new();
    let (mut worst, mut worst_at) = ([0.0; 2], points[0]);
    for &z in points {
        let error = relative_error(of_f64(z), &oracle(&mut numbers, z.map(exact)));
        if error > worst[0] || error.is_nan() {
            (worst[0], worst_at) = (error, z);
        }
        let z = z.map(narrow);
        let got = of_f32(z);
        if z.iter().all(|z| z.re != 0.0 && z.im != 0.0) && in_range(got) {
            let want = oracle(&mut numbers, z.map(wide).map(exact));
            worst[1] = relative_error(wide(got), &want).max(worst[1]);
        }
    }
    let [error, error_single] = [worst[0] * 2f64.powi(52), worst[1] * 2f64.powi(23)];
    println!("{name}: {error:.3} and {error_single:.3} eps, worst at {worst_at:?}");
    assert!(error <= bound, "{name}: {error} eps at {worst_at:?}");
    assert!(
        error_single <= 0.51,
        "{name} in single precision: {error_single} eps"
    );
}

/// Whether both parts are normal numbers.
fn in_range(z: C32) -> bool {
    z.re.is_normal() && z.im.is_normal()
}

macro_rules! check_unary {
    ($name:ident, $bound:expr, $points:expr) => {{
        let points: Vec<[C64; 1]> = $points.iter().map(|z| [*z]).collect();
        let ours = (
            |[z]: [C64; 1]| double::$name(z),
            |[z]: [C32; 1]| single::$name(z),
        );
        check(
            stringify!($name),
            $bound,
            ours,
            |o, [z]| o.$name(&z),
            &points,
        );
    }};
}

macro_rules! check_binary {
    ($name:ident, $bound:expr, $points:expr) => {{
        let ours = (
            |[x, y]: [C64; 2]| double::$name(x, y),
            |[x, y]: [C32; 2]| single::$name(x, y),
        );
        check(
            stringify!($name),
            $bound,
            ours,
            |o, [x, y]| o.$name(&x, &y),
            $points,
        );
    }};
}

/// Points in a square around 0, with parts of different size, and (if `far`) of any size.
fn points(side: f64, far: bool) -> Vec<C64> {
    let mut bits = Bits(11);
    let mut points = Vec::new();
    for _ in 0..500 {
        points.push(Complex::new(
            bits.uniform(-side, side),
            bits.uniform(-side, side),
        ));
        points.push(Complex::new(
            bits.uniform(-2.0, 2.0),
            bits.uniform(-2.0, 2.0),
        ));
        points.push(Complex::new(bits.spread(-40, 1), bits.spread(-40, 1)));
        if far {
            points.push(Complex::new(bits.spread(-400, 400), bits.spread(-400, 400)));
            points.push(Complex::new(bits.spread(600, 1022), bits.spread(600, 1022)));
            points.push(Complex::new(
                bits.spread(-1020, -600),
                bits.spread(-1020, -600),
            ));
        }
    }
    points
}

#[test]
fn exp_is_accurate() {
    check_unary!(complex_exp, 1.5, points(700.0, false));
}

#[test]
fn log_is_accurate() {
    let mut points = points(100.0, true);
    let mut bits = Bits(2);
    for _ in 0..1000 {
        // Close to the unit circle, where log |z| is tiny but the angle may be tiny as well.
        let angle = bits.spread(-30, 1);
        points.push(Complex::new(double::cos(angle), double::sin(angle)));
        points.push(Complex::new(
            1.0 + bits.spread(-52, -10),
            bits.spread(-52, -10),
        ));
    }
    check_unary!(complex_log, 1.5, points);
}

#[test]
fn sqrt_is_accurate() {
    check_unary!(complex_sqrt, 2.0, points(100.0, true));
}

#[test]
fn sin_and_cos_are_accurate() {
    check_unary!(complex_sin, 2.0, points(700.0, false));
    check_unary!(complex_cos, 2.0, points(700.0, false));
}

#[test]
fn tanh_is_accurate() {
    let mut points = points(30.0, false);
    points.extend(
        (0..300).map(|i| Complex::new(1e-3 * f64::from(i % 17), 1.5 + 1e-4 * f64::from(i))),
    );
    points.push(Complex::new(300.0, 1.0));
    check_unary!(complex_tanh, 4.0, points);
}

#[test]
fn div_is_accurate() {
    let below = points(10.0, true);
    let above = below.iter().rev();
    let pairs: Vec<[C64; 2]> = above.zip(&below).map(|(x, y)| [*x, *y]).collect();
    let fits = |[x, y]: &[C64; 2]| {
        let exponent = |z: &C64| z.re.abs().max(z.im.abs()).log2();
        (exponent(x) - exponent(y)).abs() < 900.0
    };
    let pairs: Vec<_> = pairs.into_iter().filter(fits).collect();
    check_binary!(complex_div, 3.0, &pairs);
}

#[test]
fn pow_is_accurate() {
    let mut bits = Bits(8);
    let mut number = |side: f64| Complex::new(bits.uniform(-side, side), bits.uniform(-side, side));
    let mut pairs: Vec<[C64; 2]> = (0..1000).map(|_| [number(3.0), number(3.0)]).collect();
    for n in -20..=20 {
        pairs.push([number(4.0), Complex::new(f64::from(n), 1e-300)]);
    }
    check_binary!(complex_pow, 20.0, &pairs);
}

#[test]
fn whole_powers_are_products() {
    let z = Complex::new(1.5, -0.25);
    assert_eq!(double::complex_pow(z, Complex::new(1.0, 0.0)), z);
    assert_eq!(double::complex_pow(z, Complex::new(2.0, 0.0)), z * z);
    assert_eq!(
        double::complex_pow(Complex::new(0.0, 1.0), Complex::new(-2.0, 0.0)),
        Complex::new(-1.0, 0.0)
    );
    assert_eq!(
        single::complex_pow(Complex::new(0.0, 2.0), Complex::new(3.0, 0.0)),
        Complex::new(0.0, -8.0)
    );
}

/// Asserts equal bits, with all NaNs alike.
fn same(got: C64, re: f64, im: f64) {
    let equal = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    assert!(
        equal(got.re, re) && equal(got.im, im),
        "{got:?}, not ({re:?}, {im:?})"
    );
}

#[test]
fn special_cases() {
    let c = Complex::new;
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // Nothing overflows before the result does.
    same(double::complex_exp(c(710.0, 0.0)), inf, 0.0);
    assert!(double::complex_exp(c(709.9, 1.0)).re.is_finite());
    assert!(double::complex_sin(c(1e-9, 712.0)).re.is_finite());
    same(double::complex_tanh(c(1e300, 1.0)), 1.0, 0.0);
    same(double::complex_tanh(c(-800.0, 2.0)), -1.0, -0.0);
    same(double::complex_sqrt(c(f64::MAX, 0.0)), f64::MAX.sqrt(), 0.0);
    same(
        double::complex_div(c(1e308, 1e308), c(1e308, 1e308)),
        1.0,
        0.0,
    );
    same(
        double::complex_div(c(1e-308, 1e-308), c(1e-308, 1e-308)),
        1.0,
        0.0,
    );
    same(
        double::complex_div(c(f64::MAX, f64::MAX), c(2.0, 0.0)),
        f64::MAX / 2.0,
        f64::MAX / 2.0,
    );
    same(
        double::complex_div(c(5e-324, 0.0), c(5e-324, 0.0)),
        1.0,
        0.0,
    );
    // Zeros, signed.
    same(double::complex_exp(c(0.0, -0.0)), 1.0, -0.0);
    same(double::complex_log(c(0.0, 0.0)), -inf, 0.0);
    same(
        double::complex_log(c(-1.0, -0.0)),
        0.0,
        -std::f64::consts::PI,
    );
    same(double::complex_sqrt(c(-4.0, 0.0)), 0.0, 2.0);
    same(double::complex_sqrt(c(-4.0, -0.0)), 0.0, -2.0);
    same(double::complex_sqrt(c(0.0, -0.0)), 0.0, -0.0);
    same(double::complex_sin(c(0.0, -0.0)), 0.0, -0.0);
    same(double::complex_tanh(c(-0.0, 0.0)), -0.0, 0.0);
    same(double::complex_div(c(1.0, -1.0), c(0.0, 0.0)), inf, -inf);
    same(double::complex_div(c(0.0, 0.0), c(0.0, 0.0)), nan, nan);
    same(double::complex_pow(c(0.0, 0.0), c(0.0, 0.0)), 1.0, 0.0);
    same(double::complex_pow(c(0.0, 0.0), c(2.5, 1.0)), 0.0, 0.0);
    same(double::complex_pow(c(nan, nan), c(0.0, 0.0)), 1.0, 0.0);
    // Infinities.
    same(double::complex_exp(c(-inf, nan)), 0.0, 0.0);
    same(double::complex_exp(c(inf, 0.0)), inf, 0.0);
    same(double::complex_exp(c(inf, 2.0)), -inf, inf);
    same(
        double::complex_log(c(inf, -inf)),
        inf,
        -std::f64::consts::FRAC_PI_4,
    );
    same(double::complex_log(c(nan, inf)), inf, nan);
    same(double::complex_sqrt(c(nan, -inf)), inf, -inf);
    same(double::complex_sqrt(c(-inf, 3.0)), 0.0, inf);
    same(double::complex_sin(c(0.0, inf)), 0.0, inf);
    same(double::complex_cos(c(0.0, inf)), inf, -0.0);
    same(double::complex_tanh(c(-inf, nan)), -1.0, 0.0);
    same(double::complex_div(c(1.0, 2.0), c(inf, inf)), 0.0, 0.0);
    same(double::complex_div(c(inf, 1.0), c(2.0, 0.0)), inf, nan);
}

/// What Annex G of C asks for, where one part alone would be a NaN.
#[test]
fn infinite_numbers_divided_by_finite_ones() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let of = |x: (f64, f64), y: (f64, f64)| {
        let quotient = double::complex_div(Complex::new(x.0, x.1), Complex::new(y.0, y.1));
        (quotient.re, quotient.im)
    };
    assert_eq!(of((0.0, inf), (1e-5, -700.0)), (-inf, inf));
    assert_eq!(of((inf, 1.0), (-2.0, 1e-5)), (-inf, -inf));
    assert_eq!(of((inf, -inf), (1.0, 1.0)).1, -inf);
    assert_eq!(of((1.0, 2.0), (inf, 3.0)), (0.0, 0.0));
    let (re, im) = of((0.0, inf), (2.0, 0.0));
    assert!(re.is_nan() && im == inf);
    let (re, im) = of((nan, 1.0), (2.0, 1.0));
    assert!(re.is_nan() && im.is_nan());
}

#[test]
fn a_nan_beside_zero_is_no_zero() {
    for z in [Complex::new(0.0, f64::NAN), Complex::new(f64::NAN, -0.0)] {
        let log = double::complex_log(z);
        assert!(log.re.is_nan() && log.im.is_nan());
        for power in [0.5, 2.0, 3.0, -1.0] {
            let found = double::complex_pow(z, Complex::new(power, 0.0));
            assert!(found.re.is_nan() && found.im.is_nan(), "{power}: {found}");
        }
    }
    assert_eq!(
        double::complex_log(Complex::new(0.0, 0.0)).re,
        f64::NEG_INFINITY
    );
}

/// Far along the imaginary axis cosh overflows before its product with a small sine does.
#[test]
fn sines_far_from_the_real_axis_overflow_last() {
    let small = f64::MIN_POSITIVE;
    let found = double::complex_sin(Complex::new(small, 1410.0)).re;
    let exact = (1410.0 + small.ln()).exp() / 2.0;
    assert!((found / exact - 1.0).abs() < 1e-9, "{found}, not {exact}");
    assert_eq!(
        double::complex_sin(Complex::new(small, 1e5)).re,
        f64::INFINITY
    );
}
