//! Eigenvalues against formulas, dense eigenvalues by faer, and SciPy's figures for real matrices;
//! on any number of threads and ranks; and what is refused.

mod lanczos;
mod lobpcg;
mod mass;
mod real;
mod refuses;
mod runs;
mod scale;

use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real, random};
use sparsefuse_solvers::eigen::Eigen;
use sparsefuse_sparse::{Csr, Triplets};
use std::f64::consts::PI;

/// The eigenvalues of the Laplacian on a grid with `n` points along each of `dims` axes, ascending.
fn poisson_values(n: usize, dims: usize) -> Vec<f64> {
    let along = |j: usize| 4.0 * (j as f64 * PI / (2.0 * (n as f64 + 1.0))).sin().powi(2);
    let mut sums = vec![0.0];
    for _ in 0..dims {
        let sum = |sum: f64| (1..=n).map(move |j| sum + along(j));
        sums = sums.into_iter().flat_map(sum).collect();
    }
    sums.sort_by(f64::total_cmp);
    sums
}

/// A Hermitian matrix with about `per_row` entries in a row, and its eigenvalues, ascending.
fn hermitian<T: Field>(n: usize, per_row: usize, seed: u64) -> (Csr<T>, Vec<f64>) {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    let mut triplets = Triplets::new(n, n).unwrap();
    let mut dense = faer::Mat::<Complex<f64>>::zeros(n, n);
    for row in 0..n {
        for column in row..n {
            let k = 3 * (row * n + column);
            if row != column && part(k).abs() * n as f64 > per_row as f64 {
                continue;
            }
            let is_imaginary = T::IS_COMPLEX && row != column;
            let (re, im) = (part(k + 1), if is_imaginary { part(k + 2) } else { 0.0 });
            let value = T::from_parts(re, im);
            let (re, im) = value.parts();
            triplets.push(row, column, value).unwrap();
            dense[(row, column)] = Complex::new(re, im);
            if row != column {
                triplets.push(column, row, T::from_parts(re, -im)).unwrap();
                dense[(column, row)] = Complex::new(re, -im);
            }
        }
    }
    let values = dense.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
    (Csr::from_triplets(&triplets).unwrap(), values)
}

fn random_block<T: Field>(n: usize, k: usize) -> Vec<Vector<T>> {
    (0..k)
        .map(|j| Vector::random_normal([n], 40 + j as u64))
        .collect()
}

/// All pairs have converged, to these values within `tolerance` times the largest magnitude of the
/// spectrum; vectors are orthonormal, and their residuals are the reported ones.
#[track_caller]
fn check<T: Field>(what: &str, a: &Csr<T>, eigen: &Eigen<T>, expected: &[f64], tolerance: f64) {
    assert!(eigen.converged(), "{what}: {}", eigen.reason);
    assert_eq!(eigen.n_converged, expected.len(), "{what}");
    assert_eq!(eigen.values.len(), expected.len(), "{what}");
    let norm = a.norm_inf().get().unwrap().to_f64();
    for (found, expected) in eigen.values.iter().zip(expected) {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance * norm,
            "{what}: {found}, not {expected}"
        );
    }
    let epsilon = T::Real::EPSILON.to_f64();
    for (i, x) in eigen.vectors.iter().enumerate() {
        let left = a * x - x * T::from_f64(eigen.values[i]);
        let left = left.norm2().get().unwrap().to_f64();
        let reported = eigen.residuals[i];
        assert!(
            (left - reported).abs() <= epsilon * norm,
            "{what}: {left}, {reported}"
        );
        assert!(
            left <= (tolerance.sqrt() * norm).max(50.0 * epsilon * norm),
            "{what}: {left}"
        );
        for (j, y) in eigen.vectors.iter().enumerate() {
            let (re, im) = x.dot(y).get().unwrap().parts();
            let off = (re - f64::from(i == j)).abs() + im.abs();
            assert!(off < 200.0 * epsilon, "{what}: {i}, {j}: {off}");
        }
    }
}
