//! Eigenvalues of operators that are not Hermitian: against known spectra and dense eigenvalues by
//! faer; what is claimed and what is not; on any number of threads and ranks; and what is refused.

mod claims;
mod real;
mod refuses;
mod runs;
mod values;

use num_complex::Complex;
use sparsefuse_kernels::{Field, Real, random};
use sparsefuse_solvers::eigen::{ComplexEigen, EigsOptions, WhichComplex};
use sparsefuse_sparse::{Csr, Dia, Triplets};
use std::f64::consts::PI;

const ALL: [WhichComplex; 6] = [
    WhichComplex::LargestMagnitude,
    WhichComplex::SmallestMagnitude,
    WhichComplex::LargestReal,
    WhichComplex::SmallestReal,
    WhichComplex::LargestImaginary,
    WhichComplex::SmallestImaginary,
];

fn options<'a, T>(which: WhichComplex) -> EigsOptions<'a, T> {
    EigsOptions {
        which,
        ..EigsOptions::default()
    }
}

fn with_basis<'a, T>(which: WhichComplex, ncv: usize) -> EigsOptions<'a, T> {
    EigsOptions {
        ncv: Some(ncv),
        ..options(which)
    }
}

fn at_most<'a, T>(max_iter: usize) -> EigsOptions<'a, T> {
    EigsOptions {
        max_iter: Some(max_iter),
        ..EigsOptions::default()
    }
}

/// A matrix with about `per_row` entries in a row, none where it is given as a diagonal of 0.
fn some<T: Field>(n: usize, per_row: usize, seed: u64) -> Csr<T> {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    let mut triplets = Triplets::new(n, n).unwrap();
    for row in 0..n {
        for column in 0..n {
            let k = 3 * (row * n + column);
            if part(k).abs() * n as f64 <= per_row as f64 {
                triplets
                    .push(row, column, T::from_parts(part(k + 1), part(k + 2)))
                    .unwrap();
            }
        }
    }
    Csr::from_triplets(&triplets).unwrap()
}

/// Convection and diffusion on a line: the eigenvalues are 2 - 2 sqrt(1 - c²) cos(j pi / (n + 1)),
/// all real for c below 1.
fn convection(n: usize, c: f64) -> (Csr<f64>, Vec<Complex<f64>>) {
    let diagonals = [(-1, [-1.0 - c]), (0, [2.0]), (1, [-1.0 + c])];
    let a = Dia::from_diagonals(n, n, &diagonals).unwrap();
    let angle = |j: usize| j as f64 * PI / (n + 1) as f64;
    let values = (1..=n).map(|j| 2.0 - 2.0 * (1.0 - c * c).sqrt() * angle(j).cos());
    (a.to_csr().unwrap(), values.map(Complex::from).collect())
}

/// All eigenvalues, by faer.
fn all_values<T: Field>(a: &Csr<T>) -> Vec<Complex<f64>> {
    let elements = a.to_dense().unwrap().to_vec().unwrap();
    let n = a.n_rows();
    let dense = faer::Mat::from_fn(n, n, |row, column| {
        let (re, im) = elements[row * n + column].parts();
        Complex::new(re, im)
    });
    dense.eigenvalues().unwrap()
}

/// The largest 2-norm of an image that is known of a matrix: at most the geometric mean of two
/// norms.
fn norm<T: Field>(a: &Csr<T>) -> f64 {
    let norms = [a.norm1().get().unwrap(), a.norm_inf().get().unwrap()];
    let [one, inf] = norms.map(|norm| norm.to_f64());
    (one * inf).sqrt()
}

fn check_pairs<T: Field>(what: &str, a: &Csr<T>, eigen: &ComplexEigen<T::Complex>, k: usize) {
    assert!(
        eigen.converged(),
        "{what}: {} {}",
        eigen.reason,
        eigen.n_converged
    );
    assert_eq!(
        (eigen.n_converged, eigen.values.len(), eigen.vectors.len()),
        (k, k, k),
        "{what}"
    );
    let epsilon = T::Real::EPSILON.to_f64();
    let norm = norm(a);
    let complex = a.map_values(|x| {
        let (re, im) = x.parts();
        T::Complex::from_parts(re, im)
    });
    let complex = complex.unwrap();
    for (i, x) in eigen.vectors.iter().enumerate() {
        let value = T::Complex::from_parts(eigen.values[i].re, eigen.values[i].im);
        let left = &complex * x - x * value;
        let left = left.norm2().get().unwrap().to_f64();
        let reported = eigen.residuals[i];
        assert!(
            (left - reported).abs() <= 10.0 * epsilon * norm,
            "{what}: {left}, {reported}"
        );
        assert!(
            left <= 200.0 * epsilon * norm,
            "{what}: {i}: {left} of {norm}"
        );
        let length = x.norm2().get().unwrap().to_f64();
        assert!((length - 1.0).abs() < 20.0 * epsilon, "{what}: {length}");
    }
    if T::IS_COMPLEX {
        return;
    }
    let mut i = 0;
    while i < k {
        let value = eigen.values[i];
        i += 1;
        if value.im != 0.0 {
            assert!(value.im > 0.0, "{what}: {value}");
            if i < k {
                assert_eq!(eigen.values[i], value.conj(), "{what}");
                let difference = &eigen.vectors[i] - eigen.vectors[i - 1].conj();
                assert_eq!(difference.norm_inf().get().unwrap().to_f64(), 0.0, "{what}");
            }
            i += 1;
        }
    }
}

#[track_caller]
fn assert_all_near(values: &[Complex<f64>], number: f64, distance: f64) {
    for value in values {
        assert!((value - number).norm() < distance, "{value}");
    }
}
