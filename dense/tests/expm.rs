//! Exponentials of matrices against known ones, and SciPy's figures.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use proptest::prelude::*;
use sparsefuse_dense::{Array, Error, Field, Real};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::{bits, everywhere};

type Matrix<T> = Array<T, 2>;

fn matrix<T: Field>(rows: &[&[f64]]) -> Matrix<T> {
    Array::from_fn([rows.len(), rows.len()], |[i, j]| T::from_f64(rows[i][j]))
}

/// A matrix with nothing special about it, with elements from -1 to 1.
fn some<T: Field>(n: usize, seed: usize) -> Matrix<T> {
    let number = |k: usize| ((k * k + 13 * k + seed) * 7919 % 1009) as f64 / 504.0 - 1.0;
    Array::from_fn([n, n], |[i, j]| {
        let k = i * n + j;
        T::from_parts(number(k), number(k + 5000))
    })
}

/// The norm of a difference beside that of what is expected, relative to the precision of the type.
#[track_caller]
fn check<T: Field>(what: &str, found: &Matrix<T>, expected: &Matrix<T>, limit: f64) {
    let size = expected.norm2().get().unwrap().to_f64();
    let difference = (found - expected).norm2().get().unwrap().to_f64();
    let error = difference / size / T::Real::EPSILON.to_f64();
    assert!(error < limit, "{what}: {error} times the precision");
}

/// The first terms of the series.
fn series<T: Field>(a: &Matrix<T>, terms: usize) -> Matrix<T> {
    let mut term = Array::eye(a.shape()[0]);
    let mut sum = term.clone();
    for k in 1..=terms {
        term = term.matmul(a) * T::from_f64(1.0 / k as f64);
        sum += &term;
    }
    sum
}

/// Norms at which each degree is used, and some for which the matrix is halved.
fn against_the_series<T: Field>() {
    for n in [1, 2, 5, 24] {
        for (norm, limit) in [
            (1e-3, 10.0),
            (0.1, 10.0),
            (0.6, 10.0),
            (1.9, 20.0),
            (4.0, 50.0),
        ] {
            let a = some::<T>(n, 1);
            let size = a.abs().sum_axis(0).max().get().unwrap().to_f64();
            let a = a * T::from_f64(norm / size);
            check(
                &format!("{n} {norm}"),
                &a.expm().unwrap(),
                &series(&a, 60),
                limit,
            );
        }
    }
}

#[test]
fn the_series() {
    against_the_series::<f64>();
    against_the_series::<f32>();
    against_the_series::<Complex<f64>>();
    against_the_series::<Complex<f32>>();
}

/// exp(A) exp(-A) = I, exp(2 A) = exp(A)², also where there are several squarings.
#[test]
fn products_of_exponentials() {
    for n in [3, 20, 61] {
        let a = some::<Complex<f64>>(n, 2) * Complex::from(0.4);
        let both = a.expm().unwrap().matmul(&(-&a).expm().unwrap());
        check("inverse", &both, &Array::eye(n), 1e6);
        let one = a.expm().unwrap();
        check(
            "double",
            &(&a * Complex::from(2.0)).expm().unwrap(),
            &one.matmul(&one),
            1e3,
        );
    }
}

#[test]
fn rotations() {
    for t in [1e-9, 0.3, 2.0, 100.0, -1e4] {
        let a = matrix::<f64>(&[&[0.0, -t], &[t, 0.0]]);
        let (sin, cos) = t.sin_cos();
        let expected = matrix(&[&[cos, -sin], &[sin, cos]]);
        check(
            "rotation",
            &a.expm().unwrap(),
            &expected,
            10.0 * (1.0 + t.abs()),
        );
        // The same as a number.
        let i = Array::<Complex<f64>, 2>::full([1, 1], Complex::new(0.0, t));
        let expected = Array::full([1, 1], Complex::new(cos, sin));
        check(
            "number",
            &i.expm().unwrap(),
            &expected,
            10.0 * (1.0 + t.abs()),
        );
    }
}

#[test]
fn diagonals() {
    let numbers: [f64; 6] = [-700.0, -3.0, 0.0, 1e-20, 1.0, 30.0];
    let a = Array::from_fn([6, 6], |[i, j]| if i == j { numbers[i] } else { 0.0 });
    let found = a.expm().unwrap().to_vec().unwrap();
    for (i, number) in numbers.iter().enumerate() {
        for j in 0..6 {
            let expected = if i == j { number.exp() } else { 0.0 };
            assert!(
                (found[6 * i + j] - expected).abs() <= 1e-13 * expected,
                "{i} {j}"
            );
        }
    }
    assert_eq!(
        Array::<f64, 2>::zeros([3, 3])
            .expm()
            .unwrap()
            .to_vec()
            .unwrap(),
        Array::<f64, 2>::eye(3).to_vec().unwrap()
    );
    assert!(
        Array::<f64, 2>::zeros([0, 0])
            .expm()
            .unwrap()
            .to_vec()
            .unwrap()
            .is_empty()
    );
}

/// The series of a nilpotent matrix ends; that of a large one has large terms, but the matrix need
/// not be halved as its norm says, since its powers are small.
#[test]
fn nilpotent_matrices() {
    for size in [1e-200, 1e-3, 1.0, 50.0, 1e6, 1e40] {
        let a = Array::<f64, 2>::from_fn([5, 5], |[i, j]| match j == i + 1 {
            true => size,
            false => 0.0,
        });
        check("shift", &a.expm().unwrap(), &series(&a, 4), 20.0);
    }
    // exp of (1 c; 0 -1) is (e, c sinh 1; 0, 1 / e): example 2 of Al-Mohy and Higham.
    for c in [1e3, 1e6, 1e9] {
        let found = matrix::<f64>(&[&[1.0, c], &[0.0, -1.0]]).expm().unwrap();
        let (e, sinh) = (1f64.exp(), 1f64.sinh());
        let expected = [e, c * sinh, 0.0, 1.0 / e];
        for (found, expected) in found.to_vec().unwrap().iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-13 * expected,
                "{c}: {found} for {expected}"
            );
        }
    }
}

/// What a norm beyond all others would have halved away.
#[test]
fn an_element_that_is_larger_by_many_orders_of_magnitude() {
    for large in [1e20, 1e40, 1e90] {
        let found = matrix::<f64>(&[&[0.0, large], &[0.0, 1.0]]).expm().unwrap();
        let expected = [1.0, large * 1f64.exp_m1(), 0.0, 1f64.exp()];
        for (found, expected) in found.to_vec().unwrap().iter().zip(expected) {
            let apart = (found - expected).abs() / expected.max(1.0);
            assert!(
                apart <= 1e-16 * large.sqrt().sqrt().max(100.0),
                "{large}: {found} for {expected}"
            );
        }
    }
}

/// The example of Moler and Van Loan, with the eigenvalues -1 and -17, and a matrix with equal
/// ones.
#[test]
fn eigenvalues_far_apart_and_equal() {
    let (e, f) = ((-1f64).exp(), (-17f64).exp());
    let a = matrix::<f64>(&[&[-49.0, 24.0], &[-64.0, 31.0]]);
    let expected = matrix(&[
        &[-2.0 * e + 3.0 * f, 1.5 * (e - f)],
        &[-4.0 * (e - f), 3.0 * e - 2.0 * f],
    ]);
    check("apart", &a.expm().unwrap(), &expected, 200.0);
    let a = matrix::<f64>(&[&[-1.0, 9.0], &[0.0, -1.0]]);
    let expected = matrix(&[&[e, 9.0 * e], &[0.0, e]]);
    check("equal", &a.expm().unwrap(), &expected, 10.0);
}

const FIGURES: [(f64, f64, f64); 5] = [
    (0.01, 0.9999905119481015, 1.0065060049206829),
    (0.3, 0.9911328526992257, 1.1979470858904608),
    (1.0, 0.8919112762579252, 1.6834177712845206),
    (8.0, -19.109798204198743, 9.96219261147857),
    (-20.0, -4.953070386204469, -5.635636527186569),
];

/// The first and the last element that SciPy 1.17 finds for the elements sin(i + 2 j) times a
/// factor.
#[test]
fn figures_of_scipy() {
    for (factor, first, last) in FIGURES {
        let a = Array::<f64, 2>::from_fn([6, 6], |[i, j]| factor * ((i + 2 * j) as f64).sin());
        let found = a.expm().unwrap().to_vec().unwrap();
        for (found, expected) in [(found[0], first), (found[35], last)] {
            assert!((found / expected - 1.0).abs() < 1e-12, "{factor}: {found}");
        }
    }
}

#[test]
fn the_scale_of_the_norm() {
    let tiny = some::<f64>(4, 3) * 1e-200;
    check("tiny", &tiny.expm().unwrap(), &Array::eye(4), 1.0);
    // exp of large negative numbers is 0, and turns of any size are bounded.
    let negative = Array::<f64, 2>::eye(3) * -1e200;
    assert_eq!(negative.expm().unwrap().to_vec().unwrap(), [0.0; 9]);
    let turn = matrix::<f64>(&[&[0.0, -1e12], &[1e12, 0.0]])
        .expm()
        .unwrap();
    assert!((turn.det().unwrap().get().unwrap() - 1.0).abs() < 1e-2);
}

#[test]
fn the_same_bits_on_threads_and_ranks() {
    everywhere(|| -> Result<_, Error> {
        let a = some::<f64>(13, 1);
        let z = some::<Complex<f32>>(7, 2);
        let of = |factor: f64| Ok::<_, Error>(bits(&(&a * factor).expm()?.to_vec()?));
        Ok((of(1e-4)?, of(0.1)?, of(3.0)?, bits(&z.expm()?.to_vec()?)))
    });
}

#[test]
fn what_has_no_exponential_is_refused() {
    let message = |a: Matrix<f64>| a.expm().unwrap_err().to_string();
    assert_eq!(
        message(Array::ones([2, 3])),
        "expm: expected a square matrix, found 2 rows and 3 columns"
    );
    for bad in [f64::NAN, f64::INFINITY] {
        let mut a = Matrix::<f64>::ones([3, 3]);
        a.assign_slice((1..2, 2..3), bad);
        let expected = format!("expm: expected finite elements, found {bad} in row 1, column 2");
        assert_eq!(message(a), expected);
    }
    let overflows = "can hold, found one whose exponential overflows";
    let error = message(Array::eye(3) * 710.0);
    assert_eq!(
        error,
        format!("expm: expected a matrix whose exponential f64 {overflows}")
    );
    let error = (Matrix::<f32>::eye(3) * 89.0)
        .expm()
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        format!("expm: expected a matrix whose exponential f32 {overflows}")
    );
    let error = message(Array::full([2, 2], 1e308));
    assert!(error.contains("1-norm"), "{error}");
}

/// Of a runtime that is not the current one.
#[test]
fn what_it_takes_is_made_in_the_runtime_of_the_matrix() {
    let runtime = Runtime::new(Config::default()).unwrap();
    for size in [0.5, 30.0] {
        let a = runtime.enter(|| Matrix::<f64>::eye(3) * size);
        let found = a.expm().unwrap().to_vec().unwrap()[4];
        assert!(
            (found / f64::exp(size) - 1.0).abs() < 1e-13,
            "{size}: {found}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// With eigenvalues d and any vectors: exp(S D S^-1) S = S exp(D).
    #[test]
    fn eigenvalues_are_those_of_the_exponential(n in 1usize..8, seed in 0usize..1000, size in 0.01f64..20.0) {
        let s = some::<f64>(n, seed) + Matrix::<f64>::eye(n) * (n as f64 + 1.0);
        let d = |j: usize| ((j * 31 + seed) % 17) as f64 / 8.5 * size - size;
        let scaled = |f: &dyn Fn(f64) -> f64| Array::from_fn([n, n], |[i, j]| if i == j { f(d(j)) } else { 0.0 });
        let a = s.matmul(&scaled(&|x| x)).matmul(&s.inv().unwrap());
        let left = a.expm().unwrap().matmul(&s);
        check("eigenvalues", &left, &s.matmul(&scaled(&f64::exp)), 1e5);
    }
}

/// Triangles, whose exponentials have the exponentials of their diagonals, above and below.
#[test]
fn triangles_with_large_elements() {
    for (n, x) in [(12, 1e2), (12, 1e4), (20, 1e3), (12, 1e8)] {
        let expected = Matrix::<f64>::from_fn([n, n], |[i, j]| match i.checked_sub(j) {
            Some(power) => (1..=power).fold(1.0, |sum, k| sum * x / k as f64),
            None => 0.0,
        });
        let below = Matrix::<f64>::from_fn([n, n], |[i, j]| if i == j + 1 { x } else { 0.0 });
        let (lower, upper) = (below.expm().unwrap(), below.t().expm().unwrap());
        for (found, expected) in [(lower, expected.clone()), (upper, expected.t())] {
            let error = (&found - &expected).abs() / (expected.abs() + 1.0);
            let error = error.max().get().unwrap();
            assert!(error < 1e-9, "{n} {x}: {error}");
        }
    }
    let a = matrix::<f64>(&[&[-1.0, 1e8, 0.0], &[0.0, -2.0, 1e8], &[0.0, 0.0, -3.0]]);
    let diagonal = a.expm().unwrap().diagonal(0).to_vec().unwrap();
    let expected = [-1f64, -2.0, -3.0].map(f64::exp);
    for (found, expected) in diagonal.iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-15, "{found} {expected}");
    }
}
