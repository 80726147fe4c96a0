//! Special cases: zeros, infinities, NaN, exact results, and the cases of IEEE 754 for pow, hypot
//! and atan2. Everything is compared bit by bit, NaN too: these functions return one NaN only.

use crate::math::double::atan2;
use crate::math::{double, single};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const TINY: f64 = 5e-324;

fn check(name: &str, of_f64: fn(f64) -> f64, of_f32: fn(f32) -> f32, cases: &[(f64, f64)]) {
    for &(x, want) in cases {
        let got = of_f64(x);
        assert_eq!(
            got.to_bits(),
            want.to_bits(),
            "{name}({x:e}): {got:e}, not {want:e}"
        );
        if x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE) {
            continue; // not a number of single precision
        }
        let (got, want) = (of_f32(x as f32), want as f32);
        assert_eq!(
            got.to_bits(),
            want.to_bits(),
            "{name}({x:e}f32): {got:e}, not {want:e}"
        );
    }
}

#[test]
fn functions_of_one_argument() {
    let exp = [
        (0.0, 1.0),
        (-0.0, 1.0),
        (TINY, 1.0),
        (INF, INF),
        (-INF, 0.0),
        (NAN, NAN),
        (-NAN, NAN),
        (710.0, INF),
        (-746.0, 0.0),
        (1e300, INF),
        (-1e300, 0.0),
    ];
    check("exp", double::exp, single::exp, &exp);
    let log = [
        (1.0, 0.0),
        (0.0, -INF),
        (-0.0, -INF),
        (-1.0, NAN),
        (-INF, NAN),
        (INF, INF),
        (NAN, NAN),
        (-NAN, NAN),
        (-TINY, NAN),
    ];
    check("log", double::log, single::log, &log);
    let odd = [(0.0, 0.0), (-0.0, -0.0), (NAN, NAN), (-NAN, NAN)];
    check("sin", double::sin, single::sin, &odd);
    check("tanh", double::tanh, single::tanh, &odd);
    check("erf", double::erf, single::erf, &odd);
    let bounded = [(INF, 1.0), (-INF, -1.0), (25.0, 1.0), (-1e300, -1.0)];
    check("tanh", double::tanh, single::tanh, &bounded);
    check("erf", double::erf, single::erf, &bounded);
    check(
        "sin",
        double::sin,
        single::sin,
        &[(INF, NAN), (-INF, NAN), (TINY, TINY)],
    );
    check(
        "tanh",
        double::tanh,
        single::tanh,
        &[(TINY, TINY), (-TINY, -TINY)],
    );
    check(
        "erf",
        double::erf,
        single::erf,
        &[(TINY, TINY), (-TINY, -TINY)],
    );
    let cbrt = [
        (0.0, 0.0),
        (-0.0, -0.0),
        (1.0, 1.0),
        (-27.0, -3.0),
        (1e-300, 1e-100),
        (INF, INF),
        (-INF, -INF),
        (NAN, NAN),
    ];
    check("cbrt", double::cbrt, single::cbrt, &cbrt);
    let signs = [
        (0.0, 0.0),
        (-0.0, -0.0),
        (INF, INF),
        (NAN, NAN),
        (-NAN, NAN),
    ];
    let odd = [(-INF, -INF), (1e300, INF), (-1e300, -INF), (-TINY, -TINY)];
    check("sinh", double::sinh, single::sinh, &signs);
    check("sinh", double::sinh, single::sinh, &odd);
    check("expm1", double::expm1, single::expm1, &signs);
    let expm1 = [(-INF, -1.0), (-1e300, -1.0), (710.0, INF), (TINY, TINY)];
    check("expm1", double::expm1, single::expm1, &expm1);
    check("log1p", double::log1p, single::log1p, &signs);
    let log1p = [(-1.0, -INF), (-2.0, NAN), (-INF, NAN), (-TINY, -TINY)];
    check("log1p", double::log1p, single::log1p, &log1p);
    let cosh = [
        (0.0, 1.0),
        (-0.0, 1.0),
        (TINY, 1.0),
        (INF, INF),
        (-INF, INF),
        (-1e300, INF),
        (NAN, NAN),
    ];
    check("cosh", double::cosh, single::cosh, &cosh);
    let logs = [
        (0.0, -INF),
        (-0.0, -INF),
        (1.0, 0.0),
        (-1.0, NAN),
        (-TINY, NAN),
        (INF, INF),
        (-INF, NAN),
        (-NAN, NAN),
    ];
    check("log2", double::log2, single::log2, &logs);
    check("log10", double::log10, single::log10, &logs);
    for n in 0..30 {
        let (two, ten) = (2f64.powi(n), 10f64.powi(n.min(22)));
        check("log2", double::log2, single::log2, &[(two, f64::from(n))]);
        let want = f64::from(n.min(22));
        assert_eq!(double::log10(ten), want);
        assert_eq!(single::log10(10f32.powi(n.min(10))), want.min(10.0) as f32);
    }
    assert_eq!(double::log2(TINY), -1074.0);
    let lgamma = [
        (1.0, 0.0),
        (2.0, 0.0),
        (0.0, INF),
        (-0.0, INF),
        (-1.0, INF),
        (-4_503_599_627_370_497.0, INF),
        (INF, INF),
        (-INF, INF),
        (NAN, NAN),
        (-NAN, NAN),
        (2.6e305, INF),
    ];
    check("lgamma", double::lgamma, single::lgamma, &lgamma);
    let cos = [
        (0.0, 1.0),
        (-0.0, 1.0),
        (INF, NAN),
        (-INF, NAN),
        (NAN, NAN),
        (TINY, 1.0),
    ];
    check("cos", double::cos, single::cos, &cos);
}

/// Values that anyone can look up, so that the oracle is not alone.
#[test]
fn published_values() {
    let close = |got: f64, want: f64| {
        let neighbours = [want.next_down(), want, want.next_up()];
        assert!(neighbours.contains(&got), "{got:e}, not {want:e}");
    };
    close(double::sin(1e22), -0.8522008497671888);
    close(double::cos(1e22), 0.5232147853951389);
    close(
        double::cos(6381956970095103.0 * 2f64.powi(797)),
        -4.687165924254628e-19,
    );
    close(double::exp(1.0), std::f64::consts::E);
    close(double::log(10.0), std::f64::consts::LN_10);
    close(double::tanh(0.5), 0.46211715726000975);
    close(double::erf(0.5), 0.5204998778130465);
    close(double::cbrt(2.0), 1.2599210498948732);
    close(double::lgamma(0.5), 0.5723649429247001);
    close(double::lgamma(10.0), 12.801827480081469);
    close(double::lgamma(-0.5), 1.2655121234846454);
    close(double::pow(2.0, 0.5), std::f64::consts::SQRT_2);
}

#[test]
fn powers() {
    let cases = [
        // Zero exponents and base 1 win over NaN.
        (NAN, 0.0, 1.0),
        (INF, -0.0, 1.0),
        (0.0, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-1.0, NAN, NAN),
        (0.0, NAN, NAN),
        // Infinite exponents.
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (2.0, INF, INF),
        (2.0, -INF, 0.0),
        (0.5, INF, 0.0),
        (-0.5, -INF, INF),
        (-2.0, INF, INF),
        (0.0, INF, 0.0),
        (0.0, -INF, INF),
        (-INF, -INF, 0.0),
        // Zero and infinite bases.
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, 2.5, 0.0),
        (0.0, -3.0, INF),
        (-0.0, -3.0, -INF),
        (-0.0, -2.0, INF),
        (-0.0, -0.5, INF),
        (INF, 2.0, INF),
        (INF, -2.0, 0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.0, INF),
        (-INF, 0.5, INF),
        (-INF, -3.0, -0.0),
        (-INF, -2.0, 0.0),
        // Negative bases.
        (-2.0, 3.0, -8.0),
        (-2.0, 4.0, 16.0),
        (-2.0, 0.5, NAN),
        (-2.0, -1.0, -0.5),
        (-1.0, 1e300, 1.0),
        (-1.0, 9007199254740991.0, -1.0),
        (-1.0, 9007199254740992.0, 1.0),
        // Exact results, overflow and underflow.
        (3.0, 2.0, 9.0),
        (10.0, 15.0, 1e15),
        (4.0, 0.5, 2.0),
        (2.0, -1074.0, TINY),
        (2.0, 1023.0, 2f64.powi(1023)),
        (2.0, 1024.0, INF),
        (-2.0, 1025.0, -INF),
        (0.5, 1e9, 0.0),
        (-0.5, 1e9 + 1.0, -0.0),
        (1e300, 1e300, INF),
        (1e300, -1e300, 0.0),
        (1.0000001, 1e300, INF),
        (2.0, 1e-300, 1.0),
        (1e-300, TINY, 1.0),
    ];
    for (x, y, want) in cases {
        let got = double::pow(x, y);
        assert_eq!(
            got.to_bits(),
            want.to_bits(),
            "{x:e} ^ {y:e}: {got:e}, not {want:e}"
        );
    }
    assert_eq!(single::pow(-2.0, 3.0), -8.0);
    assert_eq!(single::pow(2.0, -149.0), f32::from_bits(1));
    assert_eq!(single::pow(-1.0, f32::NEG_INFINITY), 1.0);
}

#[test]
fn distances() {
    let cases = [
        (3.0, 4.0, 5.0),
        (0.0, 0.0, 0.0),
        (-0.0, -0.0, 0.0),
        (INF, NAN, INF),
        (NAN, -INF, INF),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (TINY, 0.0, TINY),
        (3.0 * TINY, 4.0 * TINY, 5.0 * TINY),
        (f64::MAX, 0.0, f64::MAX),
        (f64::MAX, f64::MAX, INF),
    ];
    for (x, y, want) in cases {
        let got = double::hypot(x, y);
        assert_eq!(
            got.to_bits(),
            want.to_bits(),
            "hypot({x:e}, {y:e}): {got:e}, not {want:e}"
        );
    }
    assert_eq!(single::hypot(3e38, 4e37), 3.0265492e38);
}

#[test]
fn angles() {
    let cases = [
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (0.0, 0.0, 0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (1.0, 0.0, FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (1.0, INF, 0.0),
        (-1.0, -INF, -PI),
        (INF, 1.0, FRAC_PI_2),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (1.0, 1.0, FRAC_PI_4),
        (1e300, 1e-300, FRAC_PI_2),
        (1e-300, -1e300, PI),
        (TINY, TINY, FRAC_PI_4),
    ];
    for (y, x, want) in cases {
        let got = atan2(y, x);
        assert_eq!(
            got.to_bits(),
            want.to_bits(),
            "atan2({y:e}, {x:e}): {got:e}, not {want:e}"
        );
    }
}

/// The block forms give the bits of the scalar forms, wherever the large arguments stand.
#[test]
fn blocks_equal_scalars() {
    for stride in [1, 2, 7, 1000] {
        let x: Vec<f64> = (0..131)
            .map(|i| {
                let small = f64::from(i) * 0.37 - 20.0;
                if i % stride == 3 % stride {
                    small * 1e200
                } else {
                    small
                }
            })
            .chain([INF, -INF, NAN, -0.0, 2f64.powi(30), 2f64.powi(30).next_up()])
            .collect();
        let mut y = vec![0.0; x.len()];
        let check = |y: &[f64], scalar: fn(f64) -> f64| {
            for i in 0..x.len() {
                assert_eq!(y[i].to_bits(), scalar(x[i]).to_bits(), "{:e}", x[i]);
            }
        };
        double::sin_block(&x, &mut y);
        check(&y, double::sin);
        double::cos_block(&x, &mut y);
        check(&y, double::cos);
        blocks_equal_scalars_in_single_precision(&x);
    }
}

#[test]
fn exponentials_of_a_block_equal_those_of_its_numbers() {
    // All floats are too many: some of each exponent, and all around the largest that are not
    // apart.
    let some = (0..=u32::MAX).step_by(65_521).map(f32::from_bits);
    let borders = [87.0f32, -87.0, 88.72284, -103.97208, 0.0];
    let around = borders.iter().flat_map(|x| {
        let bits = x.to_bits();
        (bits.saturating_sub(50)..bits + 50).map(f32::from_bits)
    });
    let x: Vec<f32> = some.chain(around).collect();
    for x in x.chunks(16) {
        let mut y = vec![0.0; x.len()];
        single::exp_block(x, &mut y);
        for (x, y) in x.iter().zip(y) {
            assert_eq!(y.to_bits(), single::exp(*x).to_bits(), "{x:e}");
        }
    }
}

#[test]
fn powers_of_a_block_equal_those_of_its_numbers() {
    let bases = [
        1e-310,
        3e-160,
        0.7,
        1.0,
        1.0f64.next_up(),
        2.0,
        97.3,
        1e200,
        f64::MAX,
    ];
    let exponents = [
        0.0, -0.0, 1.5, -1.5, 0.3, 2.0, -3.0, 1e3, -1e3, 1e-20, 1e300,
    ];
    let special = [INF, -INF, NAN, -0.0, 0.0, -2.0, -2.5];
    for n_special in [0, 1, 7] {
        let bases = bases.iter().chain(&special[..n_special]);
        let pairs = bases.flat_map(|&x| {
            let exponents = exponents.iter().chain(&special[..n_special]);
            exponents.map(move |&y| (x, y))
        });
        let pairs: Vec<(f64, f64)> = pairs.collect();
        for pairs in pairs.as_chunks::<9>().0 {
            let (x, y) = (pairs.map(|(x, _)| x), pairs.map(|(_, y)| y));
            let found = double::pow_block(&x, &y);
            let (x32, y32) = (x.map(|x| x as f32), y.map(|y| y as f32));
            let found32 = single::pow_block(&x32, &y32);
            for i in 0..9 {
                let expected = double::pow(x[i], y[i]);
                assert_eq!(found[i].to_bits(), expected.to_bits(), "{}^{}", x[i], y[i]);
                let expected = single::pow(x32[i], y32[i]);
                assert_eq!(
                    found32[i].to_bits(),
                    expected.to_bits(),
                    "{}^{}",
                    x[i],
                    y[i]
                );
            }
        }
    }
}

fn blocks_equal_scalars_in_single_precision(x: &[f64]) {
    let x: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let (mut sin, mut cos) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    single::sin_block(&x, &mut sin);
    single::cos_block(&x, &mut cos);
    for i in 0..x.len() {
        assert_eq!(sin[i].to_bits(), single::sin(x[i]).to_bits(), "{:e}", x[i]);
        assert_eq!(cos[i].to_bits(), single::cos(x[i]).to_bits(), "{:e}", x[i]);
    }
}
