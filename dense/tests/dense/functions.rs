//! Functions that are made of others: accuracy over all magnitudes, special values, arrays and
//! scalars.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Real, Scalar, Vector};
use sparsefuse_testing::{bits, everywhere};

/// Numbers of every size, of both signs.
fn numbers() -> Vec<f64> {
    let mut numbers = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        f64::INFINITY,
        -f64::INFINITY,
        f64::NAN,
    ];
    let mut state = 1u64;
    for i in 0..1200 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let part = (state >> 11) as f64 / 2f64.powi(53);
        let size = match i % 4 {
            0 => part,
            1 => 20.0 * part,
            2 => (1.0 + part) * 2f64.powi((state % 600) as i32 - 300),
            _ => 1.0 - part * 1e-6,
        };
        numbers.push(if state & 1 == 1 { -size } else { size });
    }
    numbers
}

/// How far apart two numbers are, in units in the last place of the second.
fn ulps(found: f64, exact: f64, epsilon: f64) -> f64 {
    if found == exact || (found.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    let size = exact.abs().max(f64::MIN_POSITIVE / epsilon * f64::EPSILON);
    let unit = 2f64.powi(size.log2().floor() as i32) * epsilon;
    (found - exact).abs() / unit
}

/// Checks a function of arrays and of scalars against one of Rust's; its error is at most `bound`,
/// and that of Rust's one unit.
fn check<T: Real>(
    name: &str,
    bound: f64,
    of_array: fn(&Vector<T>) -> Vector<T>,
    of_scalar: fn(&Scalar<T>) -> Scalar<T>,
    exact: fn(f64) -> f64,
) {
    let x: Vec<T> = numbers().into_iter().map(T::from_f64).collect();
    let found = everywhere(|| {
        let made = of_array(&Vector::from_slice(&x));
        // Elements taken one at a time have the bits of the whole array.
        let at = |i: usize| of_scalar(&Scalar::new(x[i])).bits();
        assert_eq!([at(2)?, at(9)?].concat(), {
            let made = made.to_vec()?;
            bits(&[made[2], made[9]])
        });
        Ok(bits(&made.to_vec()?))
    });
    for (x, found) in x.iter().zip(&found) {
        let (x, found) = (x.to_f64(), found.get::<T>().map_or(f64::NAN, T::to_f64));
        let want = T::from_f64(exact(x)).to_f64();
        let error = ulps(found, want, T::EPSILON.to_f64());
        assert!(
            error <= bound + 1.0,
            "{name}({x:e}): {found:e}, not {want:e}: {error} ulp"
        );
        // Zeros have the sign of the exact result.
        if want == 0.0 && found == 0.0 {
            assert_eq!(
                found.is_sign_negative(),
                want.is_sign_negative(),
                "{name}({x:e})"
            );
        }
    }
}

fn functions<T: Real>() {
    check::<T>("tan", 2.5, Array::tan, Scalar::tan, f64::tan);
    check::<T>("asin", 3.0, Array::asin, Scalar::asin, f64::asin);
    check::<T>("acos", 3.0, Array::acos, Scalar::acos, f64::acos);
    check::<T>("atan", 1.0, Array::atan, Scalar::atan, f64::atan);
    check::<T>("asinh", 4.0, Array::asinh, Scalar::asinh, f64::asinh);
    check::<T>("acosh", 4.0, Array::acosh, Scalar::acosh, |x| {
        match x < 1.5 {
            // Rust's own cancels.
            true => ((x - 1.0) + ((x - 1.0) * (x + 1.0)).sqrt()).ln_1p(),
            false => x.acosh(),
        }
    });
    check::<T>("atanh", 4.0, Array::atanh, Scalar::atanh, |x| {
        // Rust's own cancels for negative numbers.
        x.abs().atanh().copysign(x)
    });
    check::<T>("exp2", 1.0, Array::exp2, Scalar::exp2, f64::exp2);
    check::<T>("sinh", 1.5, Array::sinh, Scalar::sinh, f64::sinh);
    check::<T>("cosh", 2.0, Array::cosh, Scalar::cosh, f64::cosh);
    check::<T>("exp_m1", 1.0, Array::exp_m1, Scalar::exp_m1, f64::exp_m1);
    check::<T>("ln_1p", 1.1, Array::ln_1p, Scalar::ln_1p, f64::ln_1p);
    check::<T>("log2", 0.6, Array::log2, Scalar::log2, f64::log2);
    check::<T>("log10", 0.6, Array::log10, Scalar::log10, f64::log10);
    check::<T>(
        "round",
        -1.0,
        Array::round,
        Scalar::round,
        f64::round_ties_even,
    );
    check::<T>("trunc", -1.0, Array::trunc, Scalar::trunc, f64::trunc);
    check::<T>("expit", 3.0, Array::expit, Scalar::expit, |x| {
        let power = (-x.abs()).exp();
        (if x < 0.0 { power } else { 1.0 }) / (1.0 + power)
    });
    // The sign of a NaN is that of an operation.
    let of_array = |x: &Vector<T>| x.is_finite().select(x.sinc(), T::from_f64(f64::NAN));
    let of_scalar = |x: &Scalar<T>| x.is_finite().select(x.sinc(), T::from_f64(f64::NAN));
    check::<T>("sinc", 4.0, of_array, of_scalar, |x| {
        // What is left of the nearest even number.
        let left = x.abs() - 2.0 * (x.abs() / 2.0).round_ties_even();
        let near = left.abs().min(1.0 - left.abs());
        let sine = (near * std::f64::consts::PI).sin() * left.signum();
        match x == 0.0 {
            true => 1.0,
            false => sine / (x.abs() * std::f64::consts::PI),
        }
    });
    let degrees = |x: f64| T::from_f64(x).to_f64() * (180.0 / std::f64::consts::PI);
    check::<T>(
        "to_degrees",
        1.0,
        Array::to_degrees,
        Scalar::to_degrees,
        degrees,
    );
}

#[test]
fn functions_of_f64() {
    functions::<f64>();
}

#[test]
fn functions_of_f32() {
    functions::<f32>();
}

#[test]
fn halves_and_large_numbers_are_rounded() {
    let mut x: Vec<f64> = (-20..20).map(|i| f64::from(i) * 0.5).collect();
    for near in [2f64.powi(51), 2f64.powi(52), 2f64.powi(53)] {
        x.extend([near, near - 0.5, near + 0.5, -near - 0.5, near + 1.0]);
    }
    let expected: Vec<f64> = x.iter().map(|x| x.round_ties_even()).collect();
    let of_f32: Vec<f32> = (-9..9).map(|i| 2f32.powi(22) + i as f32 * 0.5).collect();
    let expected_f32: Vec<f32> = of_f32.iter().map(|x| x.round_ties_even()).collect();
    let found = everywhere(|| {
        assert_eq!(
            Vector::from_slice(&of_f32).round().bits()?,
            bits(&expected_f32)
        );
        Vector::from_slice(&x).round().bits()
    });
    assert_eq!(found, bits(&expected));
    everywhere(|| {
        let x = Vector::from_vec(vec![1234.5678, -0.125, 2.5, 1e300]);
        // NumPy 1.24: `np.round(x, 2)`, `np.round(x, -2)`.
        assert_eq!(x.round_decimals(2).to_vec()?, [1234.57, -0.12, 2.5, 1e300]);
        assert_eq!(x.round_decimals(-2).to_vec()?[..3], [1200.0, -0.0, 0.0]);
        Ok(())
    });
}

#[test]
fn angles_and_distances() {
    everywhere(|| {
        let y = Vector::from_slice(&numbers()[..900]);
        let x = Vector::from_vec(numbers()[300..1200].to_vec());
        let (found, far) = (y.atan2(&x).to_vec()?, y.hypot(&x).to_vec()?);
        for (((y, x), found), far) in y.to_vec()?.iter().zip(x.to_vec()?).zip(&found).zip(&far) {
            assert!(ulps(*found, y.atan2(x), f64::EPSILON) <= 2.0, "{y:e} {x:e}");
            assert!(ulps(*far, y.hypot(x), f64::EPSILON) <= 2.2, "{y:e} {x:e}");
        }
        assert_eq!(
            Scalar::new(-0.0f32).atan2(-1.0f32).get()?,
            -std::f32::consts::PI
        );
        let sides = ([1e-150f64, 1e-130, -3e-130], [1e151, 1e155, 4e155]);
        let far = Vector::from_slice(&sides.0).atan2(Vector::from_slice(&sides.1));
        for (found, (y, x)) in far
            .to_vec()?
            .into_iter()
            .zip(sides.0.into_iter().zip(sides.1))
        {
            assert!(ulps(found, y.atan2(x), f64::EPSILON) <= 2.0, "{y:e} {x:e}");
        }
        type C = Complex<f64>;
        let z = Vector::from_vec(vec![C::new(0.0, 2.0), C::new(-1.0, 0.0), C::new(0.0, 0.0)]);
        let pi = std::f64::consts::PI;
        assert_eq!(z.angle().to_vec()?, [0.5 * pi, pi, 0.0]);
        assert_eq!(
            Vector::from_vec(vec![-3.0, 3.0]).angle().to_vec()?,
            [pi, 0.0]
        );
        y.atan2(&x).bits()
    });
}

#[test]
fn kinds_of_numbers() {
    everywhere(|| {
        let inf = f64::INFINITY;
        let x = Vector::from_vec(vec![1.0, -inf, f64::NAN, -0.0, f64::MAX, inf]);
        assert_eq!(
            x.is_nan().to_vec()?,
            [false, false, true, false, false, false]
        );
        assert_eq!(
            x.is_finite().to_vec()?,
            [true, false, false, true, true, false]
        );
        assert_eq!(
            x.is_infinite().to_vec()?,
            [false, true, false, false, false, true]
        );
        let complex = [
            (1.0, 2.0),
            (inf, 0.0),
            (0.0, f64::NAN),
            (f64::NAN, inf),
            (f64::MAX, f64::MAX),
        ];
        let z = Vector::from_vec(complex.map(|(re, im)| Complex::new(re, im)).to_vec());
        assert_eq!(z.is_nan().to_vec()?, [false, false, true, true, false]);
        assert_eq!(z.is_finite().to_vec()?, [true, false, false, false, true]);
        assert_eq!(z.is_infinite().to_vec()?, [false, true, false, true, false]);
        assert!(Scalar::new(f32::NAN).is_nan().get()?);
        Ok(())
    });
}

#[test]
fn acosh_of_what_is_below_1_is_nan() {
    let below = [
        0.999, 0.0, -0.5, -1.0, -3.0, -1e7, -1e9, -1e154, -1e200, -1e308,
    ];
    let x = Array::<f64, 1>::from_vec(below.to_vec());
    assert!(x.acosh().to_vec().unwrap().iter().all(|y| y.is_nan()));
    let below = [-26947.6_f32, -1e10, -3e38, f32::NEG_INFINITY];
    let x = Array::<f32, 1>::from_vec(below.to_vec());
    assert!(x.acosh().to_vec().unwrap().iter().all(|y| y.is_nan()));
}

/// Values of mpmath, of normal and of subnormal results.
#[test]
fn erfc_up_to_subnormal_results() {
    const VALUES: [(f64, f64); 41] = [
        (-30.0, 2.0),
        (-6.0, 2.0),
        (-2.5, 1.999593047982555),
        (-1.0, 1.8427007929497148),
        (-0.3, 1.3286267594591274),
        (-0.001, 1.0011283787909693),
        (-1e-300, 1.0),
        (0.0, 1.0),
        (1e-20, 1.0),
        (0.1, 0.887537083981715),
        (0.2999999, 0.6713733436669667),
        (0.3, 0.6713732405408726),
        (0.30001, 0.6713629279627145),
        (0.5, 0.4795001221869535),
        (0.55186, 0.4351272848229069),
        (0.75, 0.28884436634648486),
        (0.814, 0.24966237046692202),
        (1.0, 0.15729920705028513),
        (1.25, 0.07709987174354177),
        (1.7261, 0.01464365255778109),
        (1.8, 0.010909498364269283),
        (2.5, 0.0004069520174449589),
        (3.0, 2.209049699858544e-05),
        (4.0, 1.541725790028002e-08),
        (5.5, 7.357847917974398e-15),
        (8.0, 1.1224297172982926e-29),
        (11.25, 5.409760870689921e-57),
        (15.0, 7.212994172451207e-100),
        (20.0, 5.395865611607901e-176),
        (25.0, 8.300172571196523e-274),
        (26.5, 2.2109076642637343e-307),
        (26.55, 1.5552026941135507e-308),
        (26.6, 1.088512588544227e-309),
        (26.8, 2.484962157e-314),
        (27.0, 5.23705e-319),
        (27.1, 2.33e-321),
        (27.2, 1e-323),
        (27.226, 5e-324),
        (27.3, 0.0),
        (28.0, 0.0),
        (50.0, 0.0),
    ];
    let found = everywhere(|| {
        let x = Vector::from_vec(VALUES.map(|(x, _)| x).to_vec());
        let made = x.erfc();
        let narrow = x.cast::<f32>();
        let expected = narrow.cast::<f64>().erfc().cast::<f32>();
        assert_eq!(narrow.erfc().bits()?, expected.bits()?);
        made.bits()
    });
    for ((x, value), found) in VALUES.iter().zip(&found) {
        let found: f64 = found.get().unwrap_or(f64::NAN);
        let error = ulps(found, *value, f64::EPSILON);
        assert!(error <= 3.0, "{x}: {found:e}, not {value:e}: {error}");
    }
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let found = Vector::from_vec(special.to_vec()).erfc().to_vec().unwrap();
    assert!(found[0].is_nan() && found[1] == 0.0 && found[2] == 2.0);
}
