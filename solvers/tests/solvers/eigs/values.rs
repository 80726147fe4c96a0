//! Values and vectors against known spectra and dense eigenvalues.

use super::{
    ALL, all_values, assert_all_near, at_most, check_pairs, convection, norm, options, some,
    with_basis,
};
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, random};
use sparsefuse_solvers::StopReason;
use sparsefuse_solvers::eigen::{
    ComplexEigen, EigsOptions, EigshOptions, WhichComplex, eigs, eigs_near, eigsh,
};
use sparsefuse_sparse::{Csr, Dia, Triplets, gallery};
use std::f64::consts::PI;

/// What is smallest of the most wanted, as the documentation says it.
fn key(which: WhichComplex, value: Complex<f64>, is_real: bool) -> f64 {
    let imaginary = if is_real { value.im.abs() } else { value.im };
    match which {
        WhichComplex::LargestMagnitude => -value.norm(),
        WhichComplex::SmallestMagnitude => value.norm(),
        WhichComplex::LargestReal => -value.re,
        WhichComplex::SmallestReal => value.re,
        WhichComplex::LargestImaginary => -imaginary,
        WhichComplex::SmallestImaginary => imaginary,
    }
}

fn check<T: Field>(
    what: &str,
    a: &Csr<T>,
    eigen: &ComplexEigen<T::Complex>,
    all: &[Complex<f64>],
    which: WhichComplex,
    tolerance: f64,
) {
    check_pairs(what, a, eigen, eigen.values.len());
    let norm = norm(a);
    let mut others = all.to_vec();
    let mut worst = f64::NEG_INFINITY;
    for value in &eigen.values {
        let distance = |other: &Complex<f64>| (other - value).norm();
        let nearest = (0..others.len())
            .min_by(|&i, &j| distance(&others[i]).total_cmp(&distance(&others[j])));
        let nearest = others.swap_remove(nearest.unwrap());
        let apart = (nearest - value).norm();
        assert!(apart <= tolerance * norm, "{what}: {value} for {nearest}");
        worst = worst.max(key(which, *value, !T::IS_COMPLEX));
    }
    for other in others {
        let key = key(which, other, !T::IS_COMPLEX);
        assert!(
            key >= worst - tolerance * norm,
            "{what}: {other} is missing"
        );
    }
}

/// The same without diffusion: 1 + 2i cos(j pi / (n + 1)).
fn advection(n: usize) -> (Csr<f64>, Vec<Complex<f64>>) {
    let diagonals = [(-1, [-1.0]), (0, [1.0]), (1, [1.0])];
    let a = Dia::from_diagonals(n, n, &diagonals).unwrap();
    let angle = |j: usize| j as f64 * PI / (n + 1) as f64;
    let values = (1..=n).map(|j| Complex::new(1.0, 2.0 * angle(j).cos()));
    (a.to_csr().unwrap(), values.collect())
}

#[test]
fn convection_and_diffusion() {
    let (a, values) = convection(60, 0.05);
    let (b, of_b) = advection(60);
    for k in [1, 2, 5] {
        for which in ALL {
            let wanted = with_basis(which, 40);
            if which != WhichComplex::LargestImaginary {
                let eigen = eigs(&a, k, &wanted).unwrap();
                let what = format!("convection {which:?} {k}");
                check(&what, &a, &eigen, &values, which, 1e-12);
            }
            // All real parts are the same.
            if ![WhichComplex::LargestReal, WhichComplex::SmallestReal].contains(&which) {
                let eigen = eigs(&b, k, &wanted).unwrap();
                let what = format!("advection {which:?} {k}");
                check(&what, &b, &eigen, &of_b, which, 1e-12);
            }
        }
    }
}

fn check_random<T: Field>(tolerance: f64) {
    for (n, per_row) in [(1, 1), (2, 2), (3, 3), (5, 5), (21, 6), (60, 8)] {
        let a = some::<T>(n, per_row, 3 + n as u64);
        let values = all_values(&a);
        let counts = [1, 2, 4, 7, n - 1, n];
        for k in counts.into_iter().filter(|&k| 0 < k && k <= n) {
            for which in ALL {
                // In the middle of the spectrum they converge when the space is nearly all.
                let ncv = match which {
                    WhichComplex::SmallestMagnitude | WhichComplex::SmallestImaginary => n,
                    _ => n.min(k + 30),
                };
                let eigen = eigs(&a, k, &with_basis(which, ncv)).unwrap();
                let what = format!("{which:?} {k} of {n}");
                assert_eq!(eigen.values.len(), k, "{what}");
                check(&what, &a, &eigen, &values, which, tolerance);
            }
        }
    }
}

#[test]
fn dense_eigenvalues() {
    check_random::<f64>(1e-10);
    check_random::<Complex<f64>>(1e-10);
    check_random::<f32>(2e-3);
    check_random::<Complex<f32>>(2e-3);
}

/// With the default number of basis vectors there are many restarts.
#[test]
fn many_restarts() {
    let a = some::<f64>(400, 6, 9);
    let values = all_values(&a);
    for which in [
        WhichComplex::LargestMagnitude,
        WhichComplex::LargestReal,
        WhichComplex::LargestImaginary,
    ] {
        for k in [1, 3, 6, 15] {
            let eigen = eigs(&a, k, &options(which)).unwrap();
            check(&format!("{which:?} {k}"), &a, &eigen, &values, which, 1e-11);
            assert!(k > 3 || eigen.iterations > 1);
        }
    }
}

/// A restart may lose a wanted eigenvalue while all others converge: what is claimed has it again.
#[test]
fn eigenvalues_that_restarts_lose() {
    for seed in 0..8 {
        let a = some::<f64>(250, 6, 29 + seed);
        let values = all_values(&a);
        for (which, k) in [
            (WhichComplex::LargestMagnitude, 3),
            (WhichComplex::LargestReal, 1),
            (WhichComplex::LargestImaginary, 3),
        ] {
            let eigen = eigs(&a, k, &options(which)).unwrap();
            let what = format!("{seed}: {which:?} {k}");
            check(&what, &a, &eigen, &values, which, 1e-10);
        }
    }
}

/// Grcar's matrix, whose eigenvalues are far more sensitive than those of a normal one. In a small
/// space ARPACK finds none of them either, in 400 restarts.
#[test]
fn grcar() {
    let n = 40;
    let diagonals = [(-1, [-1.0]), (0, [1.0]), (1, [1.0]), (2, [1.0]), (3, [1.0])];
    let a = Dia::from_diagonals(n, n, &diagonals).unwrap();
    let a = a.to_csr().unwrap();
    let values = all_values(&a);
    for which in [WhichComplex::LargestMagnitude, WhichComplex::SmallestReal] {
        let eigen = eigs(&a, 4, &with_basis(which, n)).unwrap();
        check(&format!("{which:?}"), &a, &eigen, &values, which, 1e-6);
        let limited = EigsOptions {
            max_iter: Some(50),
            ..options(which)
        };
        let eigen = eigs(&a, 4, &limited).unwrap();
        let small = eigen.residuals.iter().filter(|&&left| left < 1e-12);
        assert!(
            eigen.n_converged <= small.count() && eigen.converged() == (eigen.n_converged == 4)
        );
    }
    let eigen = eigs_near(&a, Complex::new(1.0, 2.0), 3, &EigsOptions::default()).unwrap();
    assert!(eigen.converged());
    for value in eigen.values {
        assert!(
            values.iter().any(|other| (other - value).norm() < 1e-6),
            "{value}"
        );
    }
}

/// A Jordan block: a change by the rounding moves its eigenvalue by the root of the rounding.
#[test]
fn defective_matrices() {
    for (n, block) in [(12, 2), (30, 3), (12, 12)] {
        let a = jordan(n, block);
        let eigen = eigs(&a, 2, &with_basis(WhichComplex::default(), n.min(25))).unwrap();
        check_pairs("jordan", &a, &eigen, 2);
        let moved = 10.0 * 1e-15f64.powf(1.0 / block as f64);
        assert_all_near(&eigen.values, 3.0, moved);
    }
    // No space but that of all vectors holds an eigenvector, or one nearly.
    let eigen = eigs(&jordan(60, 60), 2, &at_most(20)).unwrap();
    let small = eigen.residuals.iter().filter(|&&left| left < 1e-12);
    assert!(eigen.n_converged <= small.count());
}

/// One Jordan block for 3, and other eigenvalues below 1.
fn jordan(n: usize, block: usize) -> Csr<f64> {
    let mut triplets = Triplets::new(n, n).unwrap();
    for i in 0..n {
        let value = if i < block { 3.0 } else { i as f64 / n as f64 };
        triplets.push(i, i, value).unwrap();
        if i + 1 < block {
            triplets.push(i, i + 1, 1.0).unwrap();
        }
    }
    Csr::from_triplets(&triplets).unwrap()
}

#[test]
fn multiple_eigenvalues() {
    // 4 twice, ±3i twice each, the others smaller.
    let mut triplets = Triplets::new(40, 40).unwrap();
    for i in 0..2 {
        triplets.push(i, i, 4.0).unwrap();
        let at = 2 + 2 * i;
        triplets.push(at, at + 1, 3.0).unwrap();
        triplets.push(at + 1, at, -3.0).unwrap();
    }
    for i in 6..40 {
        triplets.push(i, i, 2.0 * i as f64 / 40.0).unwrap();
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let all = all_values(&a);
    let eigen = eigs(&a, 6, &EigsOptions::default()).unwrap();
    check(
        "multiple",
        &a,
        &eigen,
        &all,
        WhichComplex::LargestMagnitude,
        1e-13,
    );
}

/// A Krylov space has one vector of a multiple eigenvalue, up to rounding; new directions have the
/// others.
#[test]
fn eigenvalues_of_high_multiplicity() {
    let diagonal = |i: usize| if i < 5 { 4.0 } else { 3.0 * i as f64 / 60.0 };
    let a = Csr::<f64>::identity(60).unwrap();
    let a = a
        .with_values(Vector::from_fn([60], |[i]| diagonal(i)))
        .unwrap();
    let eigen = eigs(&a, 3, &EigsOptions::default()).unwrap();
    check_pairs("five times", &a, &eigen, 3);
    assert_all_near(&eigen.values, 4.0, 1e-13);
}

/// The cyclic permutation: all eigenvalues are of modulus 1, so none is the largest, and nothing
/// separates the wanted ones. Nothing is claimed unless the space is all there is, or the part is
/// another one.
#[test]
fn a_permutation() {
    let permutation = |n: usize| {
        let mut triplets = Triplets::new(n, n).unwrap();
        (0..n).for_each(|i| triplets.push((i + 1) % n, i, 1.0).unwrap());
        Csr::<f64>::from_triplets(&triplets).unwrap()
    };
    let roots = |n: usize| -> Vec<_> {
        (0..n)
            .map(|j| Complex::cis(2.0 * PI * j as f64 / n as f64))
            .collect()
    };
    let a = permutation(16);
    for which in ALL {
        let eigen = eigs(&a, 5, &options(which)).unwrap();
        check("whole", &a, &eigen, &roots(16), which, 1e-13);
    }
    let a = permutation(100);
    let eigen = eigs(&a, 4, &at_most(40)).unwrap();
    assert_eq!(eigen.reason, StopReason::IterationLimit);
    assert!(eigen.n_converged < 4 && eigen.values.len() == 4);
    let small = eigen.residuals.iter().filter(|&&left| left < 1e-12);
    assert_eq!(small.count(), eigen.n_converged);
    let right = WhichComplex::LargestReal;
    let eigen = eigs(&a, 3, &with_basis(right, 60)).unwrap();
    check("right", &a, &eigen, &roots(100), right, 1e-13);
}

#[test]
fn near_a_number() {
    let a = some::<f64>(120, 6, 4);
    let z = some::<Complex<f64>>(120, 6, 4);
    let (of_a, of_z) = (all_values(&a), all_values(&z));
    for sigma in [
        Complex::ZERO,
        Complex::new(0.7, 0.0),
        Complex::new(0.5, 0.9),
        Complex::new(-1.0, -0.2),
    ] {
        let nearest = |all: &[Complex<f64>]| {
            let mut all = all.to_vec();
            all.sort_by(|x, y| (x - sigma).norm().total_cmp(&(y - sigma).norm()));
            all
        };
        let check_near = |eigen: &ComplexEigen<Complex<f64>>, all: &[Complex<f64>]| {
            assert!(eigen.products < 150, "{}", eigen.products);
            let expected = nearest(all);
            for (value, expected) in eigen.values.iter().zip(&expected) {
                let distances = [value, expected].map(|value| (value - sigma).norm());
                assert!(
                    (distances[0] - distances[1]).abs() < 1e-11,
                    "{sigma}: {value} {expected}"
                );
                assert!(
                    all.iter().any(|other| (other - value).norm() < 1e-11),
                    "{value}"
                );
            }
        };
        let eigen = eigs_near(&a, sigma, 5, &EigsOptions::default()).unwrap();
        assert!(eigen.converged() && eigen.residuals.iter().all(|&left| left < 1e-11));
        if sigma.im == 0.0 {
            check_pairs("near", &a, &eigen, 5);
        }
        check_near(&eigen, &of_a);
        let eigen = eigs_near(&z, sigma, 5, &EigsOptions::default()).unwrap();
        assert!(eigen.converged() && eigen.residuals.iter().all(|&left| left < 1e-11));
        check_near(&eigen, &of_z);
    }
    let (a, values) = convection(30, 0.05);
    let single = a.map_values(|x| x as f32).unwrap();
    let eigen = eigs_near(&single, 0.0, 2, &EigsOptions::default()).unwrap();
    assert!(eigen.converged());
    assert!((eigen.values[0] - values[0]).norm() < 1e-5);
}

/// On a symmetric matrix the values are those of the method for such, and real.
#[test]
fn symmetric_matrices() {
    let a = gallery::poisson2d::<f64>(12).unwrap();
    let expected = eigsh(&a, 3, &EigshOptions::default()).unwrap();
    let eigen = eigs(&a, 3, &EigsOptions::default()).unwrap();
    check_pairs("poisson", &a, &eigen, 3);
    for (value, expected) in eigen.values.iter().zip(expected.values.iter().rev()) {
        assert!(value.im == 0.0 && (value.re - expected).abs() < 1e-12);
    }
    assert!(
        eigen.vectors[0]
            .to_vec()
            .unwrap()
            .iter()
            .all(|x| x.im == 0.0)
    );
}

/// A dense matrix is an operator too.
#[test]
fn dense_operators() {
    let a = Array::<f64, 2>::from_fn([30, 30], |[i, j]| {
        random::normal(5, (30 * i + j) as u64) as f64
    });
    let eigen = eigs(&a, 4, &EigsOptions::default()).unwrap();
    assert!(eigen.converged());
    let all = all_values(&Csr::from_dense(&a).unwrap());
    for value in eigen.values {
        assert!(all.iter().any(|other| (other - value).norm() < 1e-12));
    }
}

/// Many eigenvalues that are 0 up to rounding, of which none is in the way of the wanted ones.
#[test]
fn the_smallest_of_matrices_of_low_rank() {
    let ones = Csr::from_dense(&Array::<f64, 2>::ones([20, 20])).unwrap();
    for which in [WhichComplex::SmallestMagnitude, WhichComplex::SmallestReal] {
        let options = EigsOptions {
            which,
            ..EigsOptions::default()
        };
        let eigen = eigs(&ones, 3, &options).unwrap();
        for value in &eigen.values {
            assert!(value.norm() < 1e-13, "{which:?}: {:?}", eigen.values);
        }
    }
}
