//! Singular values against those of faer, for matrices of any shape, rank and scale; on threads and
//! ranks.

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real, random};
use sparsefuse_runtime::Error;
use sparsefuse_solvers::eigen::{EigshOptions, Singular, Which, svds};
use sparsefuse_solvers::{MatrixFree, StopReason};
use sparsefuse_sparse::{Csr, Triplets};
use sparsefuse_testing::{bits, everywhere};

/// A matrix of about a third of all entries, times a power of two, and its singular values.
fn some<T: Field>([n_rows, n_columns]: [usize; 2], seed: u64, scale: f64) -> (Csr<T>, Vec<f64>) {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    let mut triplets = Triplets::new(n_rows, n_columns).unwrap();
    let mut dense = faer::Mat::<Complex<f64>>::zeros(n_rows, n_columns);
    for row in 0..n_rows {
        for column in 0..n_columns {
            let k = 3 * (row * n_columns + column);
            if part(k) > 0.3 {
                let imaginary = if T::IS_COMPLEX { part(k + 2) } else { 0.0 };
                let value = T::from_parts(part(k + 1), imaginary);
                let (re, im) = value.parts();
                dense[(row, column)] = Complex::new(re, im);
                triplets
                    .push(row, column, T::from_parts(re * scale, im * scale))
                    .unwrap();
            }
        }
    }
    (
        Csr::from_triplets(&triplets).unwrap(),
        dense.singular_values().unwrap(),
    )
}

/// Values, orthonormal vectors, and what both have to do with the matrix.
fn check<T: Field>(a: &Csr<T>, svd: &Singular<T>, expected: &[f64], limit: f64) {
    assert!(svd.converged(), "{svd:?}");
    assert!(svd.values.is_sorted_by(|one, next| one >= next), "{svd:?}");
    let largest = expected.iter().copied().fold(0.0, f64::max);
    let [near, far] = [limit * largest, 10.0 * limit];
    for (found, expected) in svd.values.iter().zip(expected) {
        assert!((found - expected).abs() < near, "{found} {expected}");
    }
    for i in 0..svd.values.len() {
        let (u, v) = (&svd.left[i], &svd.right[i]);
        assert_eq!((u.len(), v.len()), a.shape());
        let value = T::from_f64(svd.values[i]);
        let [there, back] = [
            (a * v - u * value).norm2(),
            (a.rmatvec(u) - v * value).norm2(),
        ];
        let [there, back] = [there, back].map(|norm| norm.get().unwrap().to_f64());
        assert!(
            there < near && back < 10.0 * near,
            "{i}: {there:e} and {back:e}, at most {near:e}"
        );
        for j in 0..=i {
            let wanted = if i == j { 1.0 } else { 0.0 };
            for product in [u.dot(&svd.left[j]), v.dot(&svd.right[j])] {
                let (re, im) = product.get().unwrap().parts();
                assert!(
                    (re - wanted).abs() < far && im.abs() < far,
                    "{i} {j}: {re} {im}"
                );
            }
        }
    }
}

fn of_type<T: Field>() {
    let limit = 100.0 * T::Real::EPSILON.to_f64();
    for shape in [[40, 40], [70, 25], [25, 70], [2, 9]] {
        let (a, values) = some::<T>(shape, 3, 1.0);
        for k in [1, 4].into_iter().filter(|&k| k < shape[0].min(shape[1])) {
            let svd = svds(&a, k, &EigshOptions::default()).unwrap();
            check(&a, &svd, &values[..k], limit);
        }
    }
}

#[test]
fn singular_values_are_those_of_faer() {
    of_type::<f64>();
    of_type::<f32>();
    of_type::<Complex<f64>>();
    of_type::<Complex<f32>>();
}

#[test]
fn the_smallest_ones() {
    let (a, values) = some::<f64>([60, 30], 5, 1.0);
    let options = EigshOptions {
        which: Which::Smallest,
        ..EigshOptions::default()
    };
    let svd = svds(&a, 3, &options).unwrap();
    check(&a, &svd, &values[27..], 1e-12);
}

/// Where there are fewer than are asked for, the others are 0, and have vectors too.
#[test]
fn matrices_without_full_rank() {
    let mut triplets = Triplets::new(12, 9).unwrap();
    for row in 0..12 {
        for column in 0..9 {
            let value = ((row + 1) * (column + 2)) as f64 + (row * row) as f64;
            triplets.push(row, column, value).unwrap();
        }
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let svd = svds(&a, 5, &EigshOptions::default()).unwrap();
    check(
        &a,
        &svd,
        &[svd.values[0], svd.values[1], 0.0, 0.0, 0.0],
        1e-13,
    );
    let zero = Csr::from_triplets(&Triplets::<f64>::new(5, 7).unwrap()).unwrap();
    let svd = svds(&zero, 2, &EigshOptions::default()).unwrap();
    assert_eq!(svd.values, [0.0, 0.0]);
    assert!((svd.left[1].norm2().get().unwrap() - 1.0).abs() < 1e-15);
}

#[test]
fn matrices_of_any_scale() {
    let (a, values) = some::<f64>([30, 20], 7, 1.0);
    let expected = svds(&a, 3, &EigshOptions::default()).unwrap();
    check(&a, &expected, &values[..3], 1e-13);
    for power in [-900, -300, 300, 900] {
        let scale = 2f64.powi(power);
        let (a, _) = some::<f64>([30, 20], 7, scale);
        let svd = svds(&a, 3, &EigshOptions::default()).unwrap();
        assert!(svd.converged());
        for (found, expected) in svd.values.iter().zip(&expected.values) {
            assert!(
                (found / scale / expected - 1.0).abs() < 1e-13,
                "{power}: {found}"
            );
        }
    }
}

/// Products with dense matrices and their adjoints are those of the same matrix in rows.
#[test]
fn dense_matrices_are_operators() {
    let (a, values) = some::<Complex<f64>>([30, 20], 11, 1.0);
    let dense = a.to_dense().unwrap();
    for options in [
        EigshOptions::default(),
        EigshOptions {
            ncv: Some(12),
            ..EigshOptions::default()
        },
    ] {
        check(&a, &svds(&dense, 3, &options).unwrap(), &values[..3], 1e-13);
    }
    let bad = dense * Complex::new(f64::INFINITY, 0.0);
    let error = svds(&bad, 3, &EigshOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("svds: expected entries that are finite"),
        "{error}"
    );
}

#[test]
fn the_same_bits_on_threads_and_ranks() {
    everywhere(|| -> Result<_, Error> {
        let (a, _) = some::<f64>([35, 50], 9, 1.0);
        let svd = svds(&a, 3, &EigshOptions::default())?;
        let vectors = svd.left.iter().chain(&svd.right);
        let vectors: Result<Vec<_>, Error> = vectors.map(|x| Ok(bits(&x.to_vec()?))).collect();
        Ok((bits(&svd.values), vectors?))
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    let (a, _) = some::<f64>([5, 3], 1, 1.0);
    for k in [0, 3] {
        let error = svds(&a, k, &EigshOptions::default())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            format!(
                "svds: expected k from 1, below the number of rows and that of columns, found {k} of a \
                 matrix of 5 rows and 3 columns"
            )
        );
    }
    let free = MatrixFree::new(5, |x: &Vector<f64>| Ok(x * 2.0));
    let error = svds(&free, 2, &EigshOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("an operator with an adjoint"), "{error}");
}

/// Small singular values of long matrices of singles keep their vectors.
#[test]
fn long_matrices_in_single_precision() {
    let n = 1 << 18;
    let mut triplets = Triplets::new(n, 4).unwrap();
    for row in 0..n {
        triplets
            .push(row, row % 4, [1.0f32, 0.1, 0.01, 0.005][row % 4])
            .unwrap();
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let found = svds(&a, 3, &EigshOptions::default()).unwrap();
    for k in 0..3 {
        let image = a.matvec(&found.right[k]);
        let apart = image - &found.left[k] * found.values[k] as f32;
        let apart = apart.norm2().get().unwrap();
        assert!(apart < 1e-4 * found.values[0] as f32, "{k}: {apart}");
    }
}

/// Several small singular values, and some that are 0, have orthogonal vectors on both sides.
#[test]
fn small_singular_values_have_orthogonal_vectors() {
    let n = 20;
    for (small, limit) in [([1e-6, 0.5e-6, 0.3e-6], 1e-9), ([0.0, 0.0, 1e-6], 1e-9)] {
        let values: Vec<f64> = (0..n)
            .map(|k| match k < 3 {
                true => small[k],
                false => 1.0 + k as f64 / n as f64,
            })
            .collect();
        // Two reflections of a diagonal matrix.
        let reflection = |seed: u64| {
            let v = Vector::<f64>::random_normal([n], seed);
            let v = &v / v.norm2().get().unwrap();
            let v = v.to_vec().unwrap();
            move |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j]
        };
        let (q, p) = (reflection(1), reflection(2));
        let mut triplets = Triplets::new(n, n).unwrap();
        for i in 0..n {
            for j in 0..n {
                let terms = (0..n).map(|k| q(i, k) * values[k] * p(k, j));
                triplets.push(i, j, terms.sum::<f64>()).unwrap();
            }
        }
        let a = Csr::from_triplets(&triplets).unwrap();
        let options = EigshOptions {
            which: Which::Smallest,
            ..EigshOptions::default()
        };
        let found = svds(&a, 3, &options).unwrap();
        for side in [&found.left, &found.right] {
            for i in 0..3 {
                for j in 0..=i {
                    let product = side[i].dot(&side[j]).get().unwrap();
                    let expected = f64::from(u8::from(i == j));
                    assert!((product - expected).abs() < limit, "{i} {j}: {product}");
                }
            }
        }
        for k in 0..3 {
            let image = a.matvec(&found.right[k]) - &found.left[k] * found.values[k];
            assert!(image.norm2().get().unwrap() < 1e-13);
        }
    }
}

/// More singular values than the rank have orthonormal vectors, and those of the smallest that are
/// none of the matrix do not count.
#[test]
fn more_singular_values_than_the_rank() {
    for seed in 0..5 {
        let factor = |shape, seed| Array::<f64, 2>::random_normal(shape, seed);
        let a = factor([60, 3], seed).matmul(&factor([3, 40], 100 + seed));
        let found = svds(&a, 20, &EigshOptions::default()).unwrap();
        assert!(found.converged(), "{:?}", found.reason);
        for side in [&found.left, &found.right] {
            for (i, x) in side.iter().enumerate() {
                for (j, y) in side.iter().enumerate() {
                    let product = x.dot(y).get().unwrap() - f64::from(u8::from(i == j));
                    assert!(product.abs() < 1e-12, "{seed}: {i} {j} {product}");
                }
            }
        }
        let options = EigshOptions {
            which: Which::Smallest,
            ..EigshOptions::default()
        };
        let found = svds(&a, 3, &options).unwrap();
        assert!(found.values.iter().all(|value| *value < 1e-5));
        let good = found.residuals.iter().filter(|rest| **rest < 1e-5).count();
        assert_eq!(found.converged(), good == 3);
        assert!(good == 3 || found.reason == StopReason::Stagnation);
    }
}
