//! Fourier transforms, against their definition.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Field, Real, Vector};
use sparsefuse_testing::{bits, everywhere};
use std::f64::consts::TAU;

fn number(k: usize) -> f64 {
    ((k * k + 13 * k) * 7919 % 1009) as f64 / 500.0 - 1.0
}

fn some<T: Field, const D: usize>(shape: [usize; D]) -> Array<T, D> {
    Array::from_fn(shape, |at| {
        let k = at.iter().zip(shape).fold(0, |k, (&at, n)| k * n + at);
        T::from_parts(number(k), number(k + 5000))
    })
}

/// The sum that defines the transform.
fn defined(x: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
    let n = x.len();
    let term = |j: usize, k: usize| x[j] * Complex::cis(sign * TAU * (j * k % n) as f64 / n as f64);
    (0..n).map(|k| (0..n).map(|j| term(j, k)).sum()).collect()
}

fn is_near<T: Field>(made: &[T], expected: &[Complex<f64>]) -> bool {
    let limit = 10.0 * expected.len() as f64 * T::Real::EPSILON.to_f64();
    let apart = |(made, expected): (&T, &Complex<f64>)| {
        let (re, im) = made.parts();
        (Complex::new(re, im) - expected).norm()
    };
    made.len() == expected.len()
        && made
            .iter()
            .zip(expected)
            .map(apart)
            .all(|apart| apart < limit)
}

fn definitions<T: Field>() {
    for n in [1, 2, 3, 8, 30, 97, 256] {
        let x = some::<T, 1>([n]);
        let elements = x.to_vec().unwrap();
        let wide: Vec<_> = elements
            .iter()
            .map(|x| x.parts())
            .map(|(re, im)| Complex::new(re, im))
            .collect();
        let expected = defined(&wide, -1.0);
        let y = x.fft();
        assert!(is_near(&y.to_vec().unwrap(), &expected), "{n}");
        assert!(is_near(&y.ifft().to_vec().unwrap(), &wide), "{n}");
    }
}

#[test]
fn transforms_are_the_sums_that_define_them() {
    definitions::<f64>();
    definitions::<f32>();
    definitions::<Complex<f64>>();
    definitions::<Complex<f32>>();
}

#[test]
fn half_of_a_transform_is_that_of_real_numbers() {
    for n in [1, 2, 3, 4, 5, 6, 8, 14, 31, 64, 100, 250] {
        let x = some::<f64, 1>([n]);
        let half = x.rfft();
        let expected = x.fft().slice(..n / 2 + 1).to_vec().unwrap();
        assert!(is_near(&half.to_vec().unwrap(), &expected), "{n}");
        let back = half.irfft(n).to_vec().unwrap();
        assert!(
            back.iter()
                .zip(x.to_vec().unwrap())
                .all(|(back, x)| (back - x).abs() < 1e-14),
            "{n}"
        );
    }
}

#[test]
fn real_numbers_are_made_of_half_of_any_transform() {
    for n in [1, 2, 3, 4, 7, 10, 64, 99] {
        // More than is looked at, with imaginary parts everywhere.
        let y = some::<Complex<f64>, 1>([n / 2 + 4]);
        let half = y.to_vec().unwrap();
        let element = |k: usize| match k {
            _ if k == 0 || 2 * k == n => Complex::from(half[k].re),
            _ if 2 * k < n => half[k],
            _ => half[n - k].conj(),
        };
        let whole: Vec<_> = (0..n).map(element).collect();
        let sums = defined(&whole, 1.0);
        let expected: Vec<_> = sums.iter().map(|sum| sum / n as f64).collect();
        assert!(is_near(&y.irfft(n).to_vec().unwrap(), &expected), "{n}");
    }
}

#[test]
fn lines_are_transformed_along_each_axis_on_threads_and_ranks() {
    let found = everywhere(|| -> Result<_, Error> {
        let a = some::<Complex<f64>, 3>([5, 6, 7]);
        let lines = [0, 1, 2].map(|axis| a.fft_axis(axis));
        // As each line alone.
        assert_eq!(
            bits(&lines[1].index_axis(2, 3).row(4).to_vec()?),
            bits(&a.index_axis(2, 3).row(4).fft().to_vec()?)
        );
        let matrix = some::<f32, 2>([9, 16]);
        let view = matrix.slice((.., 2..)).t();
        let both = view.fft2();
        assert_eq!(
            bits(&both.to_vec()?),
            bits(&view.fft_axis(1).fft_axis(0).to_vec()?)
        );
        // Of an even number and of an odd one.
        let halves = [matrix.rfft_axis(1), matrix.slice((..5, ..)).rfft_axis(0)];
        let wholes = [halves[0].irfft_axis(1, 16), halves[1].irfft_axis(0, 5)];
        assert_eq!(matrix.rfft_axis(0).shape(), [5, 16]);
        assert_eq!(matrix.rfft_axis(0).irfft_axis(0, 9).shape(), [9, 16]);
        let lines: Result<Vec<_>, Error> = lines.iter().map(|lines| lines.to_vec()).collect();
        let [first, second] = halves.map(|half| half.to_vec().map(|half| bits(&half)));
        let [third, fourth] = wholes.map(|whole| whole.to_vec().map(|whole| bits(&whole)));
        let real = (first?, second?, third?, fourth?);
        Ok((lines?.concat(), both.to_vec()?, real))
    });
    assert_eq!(found.0.len(), 3 * 5 * 6 * 7);
}

#[test]
fn what_cannot_be_transformed_is_refused() {
    let error = Vector::<f64>::zeros([0]).try_fft().unwrap_err().to_string();
    assert_eq!(
        error,
        "fft_axis: expected at least 1 elements along axis 0, found 0"
    );
    let error = Vector::<f64>::ones([3])
        .try_irfft(8)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "irfft_axis: expected at least 5 elements along axis 0, found 3"
    );
    let error = Array::<f64, 2>::ones([3, 3])
        .try_fft_axis(2)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "fft_axis: expected an axis below 2, found 2");
    assert!(
        Array::<f64, 2>::zeros([0, 4])
            .fft_axis(1)
            .to_vec()
            .unwrap()
            .is_empty()
    );
}
