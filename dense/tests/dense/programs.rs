//! Whole programs, constructors and interop.

use crate::{Bits, everywhere};
use num_complex::Complex;
use sparsefuse_dense::{Array, Real, Scalar, Vector};

/// The prices of European calls and puts, as one writes the formula.
pub(crate) fn black_scholes<T: Real>(
    spot: &Vector<T>,
    strike: &Vector<T>,
    years: &Vector<T>,
    rate: f64,
    volatility: f64,
) -> (Vector<T>, Vector<T>) {
    let number = T::from_f64;
    let cumulative = |x: &Vector<T>| {
        let root = number(std::f64::consts::FRAC_1_SQRT_2);
        ((x * root).erf() + T::ONE) * number(0.5)
    };
    let (rate, volatility) = (number(rate), number(volatility));
    let spread = years.sqrt() * volatility;
    let drift = years * rate + spread.square() * number(0.5);
    let d1 = ((spot / strike).ln() + drift) / &spread;
    let d2 = &d1 - &spread;
    let discounted = strike * (-(years * rate)).exp();
    let call = spot * cumulative(&d1) - &discounted * cumulative(&d2);
    let put = &discounted * cumulative(&-&d2) - spot * cumulative(&-&d1);
    (call, put)
}

/// Options on which the formula is well conditioned.
pub(crate) fn options<T: Real>(n: usize) -> [Vector<T>; 3] {
    let spread = |seed, low, high| {
        let unit = Vector::<T>::random_uniform([n], seed);
        unit * T::from_f64(high - low) + T::from_f64(low)
    };
    [
        spread(1, 10.0, 50.0),
        spread(2, 10.0, 50.0),
        spread(3, 1.0, 2.0),
    ]
}

#[test]
fn prices_of_options() {
    let found = everywhere(|| {
        let [spot, strike, years] = options::<f64>(37);
        let (call, put) = black_scholes(&spot, &strike, &years, 0.02, 0.3);
        // Parity: a call less a put is the spot less the discounted strike.
        let parity = &call - &put - (&spot - &strike * (&years * -0.02).exp());
        let wrong = parity.norm_inf().get()?;
        assert!(wrong < 1e-12, "{wrong}");
        Ok([call.bits()?, put.bits()?, call.sum().bits()?])
    });
    let prices: Vec<f64> = found[0].iter().map(|price| price.get().unwrap()).collect();
    assert!(prices.iter().all(|&price| (0.0..50.0).contains(&price)));
    // The textbook's example: spot 42, strike 40, 10 % interest, 20 %, half a year.
    let one = |x: f64| Vector::from_vec(vec![x]);
    let (call, put) = black_scholes(&one(42.0), &one(40.0), &one(0.5), 0.1, 0.2);
    assert!((call.to_vec().unwrap()[0] - 4.76).abs() < 0.005);
    assert!((put.to_vec().unwrap()[0] - 0.81).abs() < 0.005);
}

#[test]
fn constructors() {
    let found = everywhere(|| {
        let eye = Array::<i32, 2>::eye(5);
        let line = Vector::<f64>::linspace(1.0, 3.0, 9).to_vec()?;
        assert_eq!(Vector::<f64>::linspace(1.0, 3.0, 1).to_vec()?, [1.0]);
        assert_eq!(Array::<u32, 2>::full([2, 2], 9).to_vec()?, [9; 4]);
        assert_eq!(Vector::full([2], true).to_vec()?, [true; 2]);
        assert_eq!(Scalar::from(4i64).get()?, 4);
        assert_eq!(Vector::<Complex<f32>>::ones([1]).to_vec()?, [Complex::ONE]);
        let count = Vector::<Complex<f64>>::arange(7).re().to_vec()?;
        Ok((eye.to_ndarray()?, line, count))
    });
    assert_eq!(found.0, ndarray::Array2::<i32>::eye(5));
    assert_eq!(
        found.1,
        (0..9)
            .map(|i| 1.0 + 0.25 * f64::from(i))
            .collect::<Vec<_>>()
    );
    assert_eq!(found.2, (0..7).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn random_numbers_depend_on_seed_and_index_alone() {
    let found = everywhere(|| {
        let long = Vector::<f64>::random_uniform([50], 9).bits()?;
        let table = Array::<f64, 2>::random_uniform([6, 5], 9).bits()?;
        let other = Vector::<f64>::random_uniform([50], 10).bits()?;
        assert_eq!(long[..30], table);
        assert!(long.iter().zip(&other).all(|(a, b)| a != b));
        let pairs = Vector::<Complex<f64>>::random_uniform([25], 9);
        let (re, im) = (pairs.re().bits()?, pairs.im().bits()?);
        assert!((0..25).all(|i| (re[i], im[i]) == (long[2 * i], long[2 * i + 1])));
        let normal = Array::<f32, 2>::random_normal([8, 4], 1);
        Ok([long, normal.bits()?, normal.sum().bits()?])
    });
    assert_eq!(found[1].len(), 32);
}

#[test]
fn random_numbers_have_their_moments() {
    let n = 40_000;
    let uniform = Vector::<f64>::random_uniform([n], 3);
    let normal = Vector::<f64>::random_normal([n], 3);
    let near = |x: Scalar<f64>, expected: f64| {
        let x = x.get().unwrap();
        assert!((x - expected).abs() < 0.02, "{x} is not near {expected}");
    };
    near(uniform.mean(), 0.5);
    near((&uniform - 0.5).square().mean(), 1.0 / 12.0);
    near(normal.mean(), 0.0);
    near(normal.square().mean(), 1.0);
    assert!(uniform.min().get().unwrap() >= 0.0 && uniform.max().get().unwrap() < 1.0);
}

#[test]
fn vectors_become_memory_without_a_copy() {
    let elements = vec![1.0, 2.0, 3.0];
    let address = elements.as_ptr();
    let x = Vector::from_vec(elements);
    assert_eq!(x.with_slice(|x| x.as_ptr()).unwrap(), address);
    assert_eq!(
        x.slice(1..).with_slice(<[f64]>::to_vec).unwrap(),
        [2.0, 3.0]
    );
}

#[test]
fn arrays_of_ndarray() {
    let plain = ndarray::Array2::from_shape_fn([4, 3], |(i, j)| (i * 3 + j) as f32);
    let slice = plain.slice(ndarray::s![1.., ..;2]).to_owned();
    let turned = plain.clone().reversed_axes();
    let column = plain.column(1).to_owned();
    let tail = plain.clone().slice_move(ndarray::s![2.., ..]);
    let found = everywhere(|| {
        for expected in [&plain, &slice, &turned, &tail] {
            let found = Array::from(expected.clone()).to_ndarray()?;
            assert_eq!(found, *expected);
        }
        Vector::from(column.clone()).to_ndarray()
    });
    assert_eq!(found, column);
}

/// Steps that add up to something else than the end, and single precision.
#[test]
fn the_last_of_numbers_at_equal_distances_is_the_end() {
    for n in [2, 7, 50, 1001, 30_000] {
        for end in [1.0, 0.1, 1.0 / 3.0, -7.3] {
            let line = Vector::<f64>::linspace(0.3, end, n).to_vec().unwrap();
            assert_eq!((line[0], line[n - 1]), (0.3, end));
            let line = Vector::linspace(0.3f32, end as f32, n).to_vec().unwrap();
            assert_eq!((line[0], line[n - 1]), (0.3, end as f32));
            let step = (f64::from(end as f32) - f64::from(0.3f32)) / (n - 1) as f64;
            let exact = (0..n - 1).map(|i| (f64::from(0.3f32) + step * i as f64) as f32);
            assert!(exact.eq(line[..n - 1].iter().copied()));
        }
    }
}
