//! Accuracy of the real functions. The bounds are the measured errors, rounded up; the table in
//! [`crate::math`] lists them.

use super::oracle::{BITS, Bits, DOUBLE, Oracle, ROUNDING, SINGLE, approximate, big, points, ulps};
use crate::math::{double, single};
use astro_float_num::BigFloat;

/// Checks one function of `N` arguments in both precisions; `bound` is that of `f64`.
fn check<const N: usize>(
    name: &str,
    bound: f64,
    (of_f64, of_f32): (impl Fn([f64; N]) -> f64, impl Fn([f32; N]) -> f32),
    exact: impl Fn(&mut Oracle, [BigFloat; N]) -> BigFloat,
    points: &[[f64; N]],
) {
    let mut oracle = Oracle::new();
    let (mut worst, mut worst_at) = (0.0, [0.0; N]);
    for &x in points {
        let error = ulps(DOUBLE, of_f64(x), &exact(&mut oracle, x.map(big)));
        if error > worst || error.is_nan() {
            (worst, worst_at) = (error, x);
        }
    }
    println!("{name} f64: {worst:.3} ulp at {worst_at:?}");
    assert!(worst <= bound, "{name} f64: {worst} ulp at {worst_at:?}");

    let (mut worst, mut worst_at) = (0.0, [0.0; N]);
    for x in points.iter().step_by(7).map(|x| x.map(|x| x as f32)) {
        if !x.iter().all(|x| x.is_finite() && *x != 0.0) {
            continue;
        }
        let want = exact(&mut oracle, x.map(f64::from).map(big));
        let error = ulps(SINGLE, f64::from(of_f32(x)), &want);
        if error > worst || error.is_nan() {
            (worst, worst_at) = (error, x);
        }
    }
    println!("{name} f32: {worst:.3} ulp at {worst_at:?}");
    assert!(worst <= 0.51, "{name} f32: {worst} ulp at {worst_at:?}");
}

/// Checks a function of one argument.
macro_rules! check_unary {
    ($name:ident, $bound:expr, $points:expr) => {{
        let points: Vec<[f64; 1]> = $points.iter().map(|x| [*x]).collect();
        let ours = (
            |[x]: [f64; 1]| double::$name(x),
            |[x]: [f32; 1]| single::$name(x),
        );
        check(
            stringify!($name),
            $bound,
            ours,
            |oracle, [x]| oracle.$name(&x),
            &points,
        );
    }};
}

/// Checks a function of two arguments.
macro_rules! check_binary {
    ($name:ident, $bound:expr, $points:expr) => {{
        let ours = (
            |[x, y]: [f64; 2]| double::$name(x, y),
            |[x, y]: [f32; 2]| single::$name(x, y),
        );
        check(
            stringify!($name),
            $bound,
            ours,
            |oracle, [x, y]| oracle.$name(&x, &y),
            $points,
        );
    }};
}

#[test]
fn exp_is_accurate() {
    let ranges = [(-1.0, 1.0), (-0.4, 0.4), (-746.0, 710.0), (-745.2, -708.0)];
    let anchors = [
        0.0,
        1.0,
        709.782712893384,
        745.1332191019411,
        708.3964185322641,
        0.34657359,
    ];
    let points = points(2500, &ranges, (-80, 9), &anchors);
    check_unary!(exp, 0.8, points);
}

#[test]
fn log_is_accurate() {
    let ranges = [(0.0, 2.0), (0.7, 1.42), (0.99, 1.01), (0.0, 1e3)];
    let anchors = [
        1.0,
        0.5f64.sqrt(),
        2f64.sqrt(),
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
    ];
    let mut points = points(2500, &ranges, (-1074, 1023), &anchors);
    points.retain(|x| *x > 0.0 && x.is_finite());
    check_unary!(log, 0.9, points);
}

/// Large arguments, and doubles close to multiples of pi/2 (the last anchor is the closest of all,
/// by Kahan and McDonald).
fn angles() -> Vec<f64> {
    let quarter = std::f64::consts::FRAC_PI_2;
    let anchors = [
        0.0,
        0.5 * quarter,
        quarter,
        2.0 * quarter,
        3.0 * quarter,
        11.0,
        22.0,
        355.0,
        1e22,
        2f64.powi(30),
        2f64.powi(1023),
        f64::MAX,
        6381956970095103.0 * 2f64.powi(797),
    ];
    let ranges = [(-0.8, 0.8), (-7.0, 7.0), (-1e6, 1e6), (-2e9, 2e9)];
    let mut points = points(1800, &ranges, (-60, 1023), &anchors);
    points.extend((1..600).map(|k| quarter * f64::from(k)));
    points.extend((1..300).map(|k| quarter * f64::from(k * 3_571_429)));
    points.retain(|x| x.is_finite());
    points
}

#[test]
fn sin_is_accurate() {
    check_unary!(sin, 0.8, angles());
}

#[test]
fn cos_is_accurate() {
    check_unary!(cos, 0.8, angles());
}

#[test]
fn tanh_is_accurate() {
    let ranges = [(-0.5, 0.5), (-2.0, 2.0), (-22.0, 22.0)];
    let points = points(
        900,
        &ranges,
        (-80, 4),
        &[0.0, 0.1732867951, 19.0, 20.0, 1e-300],
    );
    check_unary!(tanh, 0.7, points);
}

#[test]
fn sinh_and_cosh_are_accurate() {
    let ranges = [(-0.5, 0.5), (-2.0, 2.0), (-42.0, 42.0), (-711.0, 711.0)];
    let anchors = [0.0, 1.0, 40.0, 710.4758600739439, 1e-300];
    let points = points(900, &ranges, (-80, 9), &anchors);
    check_unary!(sinh, 1.5, points);
    check_unary!(cosh, 1.9, points);
}

#[test]
fn expm1_is_accurate() {
    let ranges = [(-0.5, 0.5), (-2.0, 2.0), (-50.0, 50.0), (30.0, 710.0)];
    let anchors = [0.0, 1.0, -37.0, 40.0, 709.782712893384, 1e-300];
    let points = points(900, &ranges, (-80, 9), &anchors);
    check_unary!(expm1, 0.9, points);
}

#[test]
fn log1p_is_accurate() {
    let ranges = [(-1.0, 1.0), (-0.5, 0.5), (-1e-3, 1e-3), (0.0, 1e3)];
    let anchors = [-0.5, 1.0, 1e16, 2f64.powi(54), f64::MAX];
    let mut points = points(900, &ranges, (-300, 1023), &anchors);
    points.retain(|x| *x > -1.0 && x.is_finite() && *x != 0.0);
    check_unary!(log1p, 1.1, points);
}

#[test]
fn log2_and_log10_are_accurate() {
    let ranges = [(0.0, 2.0), (0.7, 1.42), (0.99, 1.01), (0.0, 1e3)];
    let anchors = [1.0, 10.0, 5e-324, f64::MIN_POSITIVE, f64::MAX];
    let mut points = points(900, &ranges, (-1074, 1023), &anchors);
    points.retain(|x| *x > 0.0 && x.is_finite() && *x != 1.0);
    check_unary!(log2, 0.51, points);
    check_unary!(log10, 0.51, points);
}

#[test]
fn erf_is_accurate() {
    let ranges = [(-1.0, 1.0), (0.9, 1.2), (-6.5, 6.5)];
    let points = points(1500, &ranges, (-80, 2), &[0.0, 1.0, 5.92, 5.95, 1e-300]);
    check_unary!(erf, 1.5, points);
}

#[test]
fn cbrt_is_accurate() {
    let ranges = [(-2.0, 2.0), (0.3, 3.0), (-1e3, 1e3)];
    let anchors = [1.0, 2.0, 8.0, 0.125, 5e-324, f64::MIN_POSITIVE, f64::MAX];
    let mut points = points(1500, &ranges, (-1074, 1023), &anchors);
    points.retain(|x| x.is_finite());
    check_unary!(cbrt, 0.55, points);
}

#[test]
fn lgamma_is_accurate() {
    let ranges = [(0.0, 3.0), (0.9, 1.1), (1.9, 2.1), (0.0, 20.0), (0.0, 1e3)];
    let anchors = [0.5, 1.0, 1.5, 2.0, 2.5, 8.5, 1e300, 5e-324, 2.5e305];
    let mut points = points(400, &ranges, (-1074, 1012), &anchors);
    // At its zeros the oracle is only near 0; they are special cases.
    points.retain(|x| *x > 0.0 && x.is_finite() && ![1.0, 2.0].contains(x));
    check_unary!(lgamma, 0.7, points);
}

/// Of negative numbers the errors are those of results of at least size 1.
#[test]
fn lgamma_of_negative_numbers_is_accurate() {
    let zeros = [-2.457024738220801, -2.7476826467274127, -3.955294284858598];
    let mut points = points(
        600,
        &[(-3.0, 0.0), (-20.0, 0.0), (-300.0, 0.0)],
        (-80, 9),
        &zeros,
    );
    points.retain(|x| *x < 0.0 && x.fract() != 0.0);
    let (mut oracle, mut worst) = (Oracle::new(), 0.0);
    for x in points {
        let (got, want) = (double::lgamma(x), oracle.lgamma(&big(x)));
        let size = approximate(&want).abs().max(1.0) * f64::EPSILON;
        let error = approximate(&want.sub(&big(got), BITS, ROUNDING)).abs() / size;
        assert!(error <= 1.0, "lgamma({x:e}): {got:e}, off by {error} eps");
        worst = error.max(worst);
    }
    println!("lgamma of negative numbers: {worst} eps");
}

#[test]
fn pow_is_accurate() {
    let mut bits = Bits(3);
    let mut pairs = Vec::new();
    for _ in 0..2000 {
        pairs.push([bits.uniform(0.0, 3.0), bits.uniform(-20.0, 20.0)]);
        pairs.push([bits.spread(-60, 60).abs(), bits.uniform(-10.0, 10.0)]);
        // Results of every size, up to overflow and down to underflow.
        let x = bits.spread(-1074, 1023).abs();
        pairs.push([x, bits.uniform(-1075.0, 1024.0) / x.log2()]);
        let x = 1.0 + bits.spread(-52, -3);
        pairs.push([x, bits.uniform(-1075.0, 1024.0) / x.log2()]);
        pairs.push([bits.uniform(0.7, 1.42), bits.spread(-40, 8)]);
    }
    pairs.retain(|[x, y]| *x > 0.0 && y.is_finite());
    check_binary!(pow, 0.8, &pairs);
}

#[test]
fn hypot_is_accurate() {
    let mut bits = Bits(5);
    let mut pairs = Vec::new();
    for _ in 0..2500 {
        pairs.push([bits.uniform(-2.0, 2.0), bits.uniform(-2.0, 2.0)]);
        let x = bits.spread(-1074, 1022);
        pairs.push([x, x * bits.uniform(0.0, 2.0)]);
        pairs.push([bits.spread(-1074, 1023), bits.spread(-1074, 1023)]);
    }
    pairs.retain(|[_, y]| y.is_finite());
    check_binary!(hypot, 1.2, &pairs);
}

#[test]
fn atan2_is_accurate() {
    let mut bits = Bits(11);
    let mut pairs = Vec::new();
    for _ in 0..1500 {
        pairs.push([bits.uniform(-2.0, 2.0), bits.uniform(-2.0, 2.0)]);
        let x = bits.spread(-900, 900);
        pairs.push([x * bits.uniform(-2.0, 2.0), x]);
        pairs.push([bits.spread(-60, 60), 1.0]);
        pairs.push([bits.spread(-500, 500), bits.spread(-500, 500)]);
        pairs.push([bits.spread(-1000, 1000), bits.spread(500, 1000)]);
    }
    check_binary!(atan2, 0.95, &pairs);
}
