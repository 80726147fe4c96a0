//! Exponentials of matrices times vectors, against eigenvalues and known solutions.

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_solvers::{expm, expm_multiply, expm_multiply_at};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::{bits, everywhere};
use std::f64::consts::PI;

/// exp(-t A) b of the Laplacian in one dimension, by its eigenvectors, which are sines.
fn heat(n: usize, t: f64, b: &[f64]) -> Vec<f64> {
    let angle = PI / (n + 1) as f64;
    let sine = |k: usize, i: usize| ((k + 1) as f64 * (i + 1) as f64 * angle).sin();
    let mut y = vec![0.0; n];
    for k in 0..n {
        let lambda = 2.0 - 2.0 * ((k + 1) as f64 * angle).cos();
        let product: f64 = (0..n).map(|i| b[i] * sine(k, i)).sum();
        let factor = 2.0 / (n + 1) as f64 * product * (-lambda * t).exp();
        (0..n).for_each(|i| y[i] += factor * sine(k, i));
    }
    y
}

fn heat_of_type<T: Field>() {
    let n = 40;
    let b: Vec<f64> = (0..n).map(|i| ((i * 37 + 5) % 11) as f64 - 5.0).collect();
    let a = gallery::poisson1d::<T>(n).unwrap();
    for t in [0.0, 0.01, 1.0, 30.0, -0.5] {
        let start = Vector::from_fn([n], |[i]| T::from_f64(b[i]));
        let y = expm_multiply(&a, &start, -t).unwrap().to_vec().unwrap();
        let expected = heat(n, t, &b);
        let largest = expected.iter().fold(0.0, |most, y| f64::max(most, y.abs()));
        for (y, expected) in y.iter().zip(&expected) {
            let (re, im) = y.parts();
            let limit = 100.0 * T::Real::EPSILON.to_f64() * largest.max(1e-3);
            assert!(
                (re - expected).abs() < limit && im.abs() < limit,
                "{t}: {re} {expected}"
            );
        }
    }
}

#[test]
fn heat_dies_away() {
    heat_of_type::<f64>();
    heat_of_type::<f32>();
    heat_of_type::<Complex<f64>>();
}

/// y' = A y of a skew matrix turns; so do numbers times i.
#[test]
fn rotations() {
    let mut triplets = Triplets::new(2, 2).unwrap();
    triplets.push(0, 1, -1.0).unwrap();
    triplets.push(1, 0, 1.0).unwrap();
    let a = Csr::from_triplets(&triplets).unwrap();
    let y = expm_multiply(&a, &Vector::from_vec(vec![1.0, 0.0]), 100.0)
        .unwrap()
        .to_vec()
        .unwrap();
    assert!((y[0] - 100f64.cos()).abs() < 1e-12 && (y[1] - 100f64.sin()).abs() < 1e-12);
    let i = Csr::<Complex<f64>>::identity(3).unwrap() * Complex::new(0.0, 2.0);
    let y = expm_multiply(&i, &Vector::ones([3]), 1.0)
        .unwrap()
        .to_vec()
        .unwrap();
    assert!((y[2] - Complex::cis(2.0)).norm() < 1e-15);
}

/// A matrix that is not normal, whose terms grow before they die away, and one that is a multiple
/// of the identity, where no product is needed.
#[test]
fn other_matrices() {
    let mut triplets = Triplets::new(3, 3).unwrap();
    for (row, column, value) in [
        (0, 1, 8.0),
        (1, 2, 8.0),
        (0, 0, -1.0),
        (1, 1, -1.0),
        (2, 2, -1.0),
    ] {
        triplets.push(row, column, value).unwrap();
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let y = expm_multiply(&a, &Vector::ones([3]), 1.0)
        .unwrap()
        .to_vec()
        .unwrap();
    // exp(-I + N) = exp(-1) (I + N + N^2 / 2).
    let scale = (-1f64).exp();
    for (y, expected) in y.iter().zip([41.0, 9.0, 1.0]) {
        assert!((y - expected * scale).abs() < 1e-14 * expected);
    }
    let large = Csr::<f64>::identity(4).unwrap() * -500.0;
    let y = expm_multiply(&large, &Vector::ones([4]), 1.0)
        .unwrap()
        .to_vec()
        .unwrap();
    assert!((y[0] / (-500f64).exp() - 1.0).abs() < 1e-13);
}

#[test]
fn the_same_bits_on_threads_and_ranks() {
    everywhere(|| -> Result<_, Error> {
        let a = gallery::poisson2d::<f64>(9)?;
        let b = Vector::random_normal([81], 1);
        Ok(bits(&expm_multiply(&a, &b, -2.0)?.to_vec()?))
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson1d::<f64>(4).unwrap();
    let message = |b: usize, t: f64| {
        expm_multiply(&a, &Vector::ones([b]), t)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(4, f64::NAN),
        "expm_multiply: expected a finite time, found NaN"
    );
    assert!(message(5, 1.0).contains("expm_multiply: expected a shape of (4), found (5)"));
    assert!(message(4, 1e300).contains("a time of at most 2^31 steps"));
    let wide = a.row_range(0..2).unwrap();
    let error = expm_multiply(&wide, &Vector::ones([4]), 1.0)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("expected a shape of (2, 2), found (2, 4)"),
        "{error}"
    );
    let bad = &a * f64::INFINITY;
    let error = expm_multiply(&bad, &Vector::ones([4]), 1.0)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("expm_multiply: expected entries that are finite"),
        "{error}"
    );
    let b = Vector::from_vec(vec![1.0, 2.0, f64::NAN, f64::INFINITY]);
    let error = expm_multiply(&a, &b, 1.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "expm_multiply: expected a right-hand side that is finite, found NaN in element 2"
    );
}

/// Elements make up for exponentials that are out of the range of their type.
#[test]
fn growth_out_of_range() {
    let made = |entry: f32, b: f32| {
        let a = Csr::<f32>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![entry, entry]).unwrap();
        let b = Vector::from_vec(vec![b, 0.0]);
        expm_multiply(&a, &b, 1.0).unwrap().to_vec().unwrap()
    };
    for (entry, b, expected) in [
        (-100.0, 1e10, (-100f64).exp() * 1e10),
        (100.0, 1e-30, 100f64.exp() * 1e-30),
        (-150.0, 1e35, (-150f64).exp() * 1e35),
    ] {
        let y = made(entry, b);
        let error = f64::from(y[0]) / expected - 1.0;
        assert!(error.abs() < 1e-5 && y[1] == 0.0, "{y:?} {expected}");
    }
    assert_eq!(made(1e6, 1.0), [f32::INFINITY, 0.0]);
    assert_eq!(made(-1e6, 1e30), [0.0, 0.0]);
}

/// Columns, several times and the exponential itself, beside that of the dense matrix.
fn of_type<T: Field>() -> Result<(), Error> {
    for (n, seed) in [(1, 1), (2, 2), (5, 3), (17, 4), (30, 5)] {
        let a = gallery::random_array::<T>((n, n), 0.15, seed)?;
        let a = a.map_values(|x| {
            let (re, _) = x.parts();
            T::from_parts(8.0 * re - 3.0, 2.0 * re)
        })?;
        let near = |found: &Array<T, 2>, known: &Array<T, 2>| -> Result<bool, Error> {
            let apart = (found - known).norm2().get()?.to_f64();
            let most = 1e4 * T::Real::EPSILON.to_f64() * known.norm2().get()?.to_f64();
            Ok(apart <= most)
        };
        let exact = |t: f64| a.scale(T::from_f64(t)).to_dense()?.expm();
        let found = expm(&a)?;
        assert!(near(&found.to_dense()?, &exact(1.0)?)?, "{n}");
        let b = Array::<T, 2>::random_normal([n, 4], seed);
        let times = [0.0, 0.25, 1.0, 0.5, -0.5, -0.5];
        for (state, t) in expm_multiply_at(&a, &b, &times)?.iter().zip(times) {
            assert!(near(state, &(exact(t)?.matmul(&b)))?, "{n} {t}");
        }
        let together = expm_multiply(&a, &b, 0.75)?;
        assert!(near(&together, &(exact(0.75)?.matmul(&b)))?, "{n}");
        let of_column = expm_multiply(&a, &b.column(1), 0.75)?;
        assert!(near(
            &of_column.insert_axis(1),
            &together.slice((.., 1..2))
        )?);
    }
    Ok(())
}

#[test]
fn columns_times_and_exponentials() -> Result<(), Error> {
    of_type::<f32>()?;
    of_type::<f64>()?;
    of_type::<Complex<f64>>()?;
    let none = Csr::<f64>::zeros(0, 0)?;
    assert_eq!(expm(&none)?.shape(), (0, 0));
    assert_eq!(
        expm_multiply(&none, &Array::<f64, 2>::ones([0, 3]), 1.0)?.shape(),
        [0, 3]
    );
    let a = Csr::<f64>::identity(3)?;
    assert_eq!(
        expm_multiply(&a, &Array::<f64, 2>::ones([3, 0]), 1.0)?.shape(),
        [3, 0]
    );
    assert!(expm_multiply_at(&a, &Vector::ones([3]), &[])?.is_empty());
    assert!(expm_multiply_at(&a, &Vector::ones([3]), &[1.0, f64::NAN]).is_err());
    assert!(expm_multiply(&a, &Array::<f64, 2>::ones([2, 3]), 1.0).is_err());
    assert!(expm_multiply(&a, &Array::<f64, 3>::ones([3, 1, 1]), 1.0).is_err());
    let refused = [
        expm(&(&a * 1e4)),
        expm(&(&a * f64::NAN)),
        expm(&(&a * f64::INFINITY)),
        expm(&Csr::<f64>::zeros(2, 3)?),
    ];
    assert!(refused.iter().all(Result::is_err));
    // Far from normal: halvings that the norm asks for would take the digits of what is near 1.
    let skew = Csr::from_entries(2, 2, [(0, 0, 1.0), (0, 1, 1e6), (1, 1, -1.0)])?;
    let known = [1f64.exp(), 1e6 * 1f64.sinh(), 0.0, (-1f64).exp()];
    let found = expm(&skew)?.to_dense()?.to_vec()?;
    let apart = found
        .iter()
        .zip(known)
        .map(|(x, y)| (x - y).abs() / y.abs().max(1.0));
    assert!(apart.fold(0.0, f64::max) < 1e-14, "{found:?}");
    // What a norm beyond all others would have halved away.
    let known = |large: f64| [1.0, large * 1f64.exp_m1(), 0.0, 1f64.exp()];
    for (large, limit) in [(1e20, 1e-10), (1e40, 1e-5)] {
        let a = Csr::from_entries(2, 2, [(0, 1, large), (1, 1, 1.0)])?;
        let found = expm(&a)?.to_dense()?.to_vec()?;
        for (found, known) in found.iter().zip(known(large)) {
            let apart = (found - known).abs() / known.max(1.0);
            assert!(apart < limit, "{large}: {found} for {known}");
        }
    }
    let shift = Csr::from_entries(2, 2, [(0, 1, 1e40)])?;
    let found = expm(&shift)?.to_dense()?.to_vec()?;
    let apart = found.iter().zip([1.0f64, 1e40, 0.0, 1.0]);
    assert!(
        apart
            .map(|(x, y)| (x - y).abs() / y.max(1.0))
            .fold(0.0, f64::max)
            < 1e-14
    );
    // A small column has its digits beside a large one.
    let spread = Csr::from_entries(3, 3, [(1, 1, 5.0), (2, 2, -5.0)])?;
    let small = |[i, j]: [usize; 2]| [[1.0, 0.0], [0.0, 1e-20], [0.0, 0.0]][i][j];
    let found = expm_multiply(&spread, &Array::from_fn([3, 2], small), 1.0)?.to_vec()?;
    assert!(
        (found[3] / 5f64.exp() / 1e-20 - 1.0).abs() < 1e-14,
        "{found:?}"
    );
    // Norms near the ends of the range, of which exponentials vanish or are the identity.
    assert_eq!(expm(&(&a * -1e300))?.nnz(), 0);
    assert_eq!(expm(&(Csr::<f32>::identity(3)? * -3e38))?.nnz(), 0);
    assert!(expm(&(&a * 1e-300))?.equals(&a)?);
    let column = (0..3).map(|row| (row, 0, -1e308)).chain([(0, 1, 1.0)]);
    let column = Csr::from_entries(3, 3, column)?;
    assert!(expm(&column).is_err());
    // Blocks stay blocks, and of zeros no entries are made.
    let blocks = Csr::block_diag(&[&gallery::poisson1d::<f64>(3)?, &(&a * 0.0)])?;
    assert_eq!(expm(&blocks)?.nnz(), 9 + 3);
    everywhere(|| {
        let a = gallery::banded_varying::<f64>(20, 3)?;
        let b = Array::<f64, 2>::random_normal([20, 3], 1);
        let states = expm_multiply_at(&a, &b, &[0.5, 1.0])?;
        let found = expm(&a.scale(0.1))?;
        Ok([
            bits(&states[0].to_vec()?),
            bits(&states[1].to_vec()?),
            bits(&found.to_dense()?.to_vec()?),
        ])
    });
    Ok(())
}

/// Of a lower triangle rounding above the diagonal would grow with each squaring.
#[test]
fn exponentials_of_triangles() {
    for (n, x) in [(12, 1e2), (12, 1e3), (20, 1e3), (12, 1e4)] {
        let mut triplets = Triplets::new(n, n).unwrap();
        for i in 1..n {
            triplets.push(i, i - 1, x).unwrap();
        }
        let below = Csr::<f64>::from_triplets(&triplets).unwrap();
        let lower = expm(&below).unwrap();
        let upper = expm(&below.transpose().unwrap()).unwrap();
        assert_eq!(lower.bandwidth().unwrap().1, 0);
        for i in 0..n {
            assert_eq!(lower.get(i, i).unwrap(), 1.0);
            let expected = (1..=i).fold(1.0, |sum, k| sum * x / k as f64);
            for found in [lower.get(i, 0).unwrap(), upper.get(0, i).unwrap()] {
                assert!(
                    (found / expected - 1.0).abs() < 1e-9,
                    "{n} {x} {i}: {found}"
                );
            }
        }
    }
}

/// A triangle with elements far above the diagonal is no band.
#[test]
fn exponentials_of_wide_triangles() {
    let n = 1000;
    let row = (1..n).map(|column| (0, column, 1.0));
    let entries = row.chain((0..n).map(|i| (i, i, 1.0 + i as f64 / 1e4)));
    let a = Csr::<f64>::from_entries(n, n, entries).unwrap();
    for (a, at) in [(a.clone(), (0, 1)), (a.transpose().unwrap(), (1, 0))] {
        let power = expm(&a).unwrap();
        let (below, above) = power.bandwidth().unwrap();
        assert_eq!(below.min(above), 0);
        let [first, second] = [1.0, 1.0001].map(f64::exp);
        let expected = (second - first) / 1e-4;
        let found = power.get(at.0, at.1).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
    }
}
