//! What is claimed of spaces that cannot grow, of shifts that hide the matrix, of numbers far from
//! 1; and what is not claimed.

use super::{assert_all_near, at_most, check_pairs, convection, norm, some};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_solvers::eigen::{EigsOptions, eigs, eigs_near};
use sparsefuse_solvers::{LinearOperator, MatrixFree, StopReason};
use sparsefuse_sparse::{Csr, Triplets};

/// Spaces that cannot grow: the method goes on with new directions.
#[test]
fn invariant_spaces() {
    let identity = Csr::<f64>::identity(40).unwrap();
    let eigen = eigs(&identity, 3, &EigsOptions::default()).unwrap();
    check_pairs("identity", &identity, &eigen, 3);
    assert_all_near(&eigen.values, 1.0, 1e-14);
    let zero = Csr::<f64>::from_triplets(&Triplets::new(30, 30).unwrap()).unwrap();
    let eigen = eigs(&zero, 2, &EigsOptions::default()).unwrap();
    assert!(eigen.converged());
    assert_eq!(
        (&eigen.values, &eigen.residuals),
        (&vec![Complex::ZERO; 2], &vec![0.0; 2])
    );

    // A start vector that is an eigenvector, and not a wanted one.
    let diagonal: Vec<f64> = (0..40).map(|i| if i < 4 { 2.0 } else { 1.0 }).collect();
    let a = identity.with_values(Vector::from_vec(diagonal)).unwrap();
    let v0 = Vector::from_fn([40], |[i]| f64::from(i == 35));
    let options = EigsOptions {
        v0: Some(&v0),
        ..EigsOptions::default()
    };
    let eigen = eigs(&a, 2, &options).unwrap();
    assert!(eigen.converged());
    assert_all_near(&eigen.values, 2.0, 1e-14);
}

/// The shift hides the matrix, or is an eigenvalue up to rounding: nothing is claimed that is no
/// eigenpair.
#[test]
fn shifts_of_which_nothing_follows() {
    let (a, values) = convection(30, 0.05);
    for sigma in [Complex::new(1e17, 0.0), Complex::new(0.0, 1e120)] {
        let eigen = eigs_near(&a, sigma, 3, &EigsOptions::default()).unwrap();
        assert_eq!(
            (eigen.reason, eigen.n_converged),
            (StopReason::Stagnation, 0),
            "{sigma}"
        );
    }
    let mut real: Vec<f64> = values.iter().map(|value| value.re).collect();
    real.sort_by(f64::total_cmp);
    let eigen = eigs_near(&a, real[2] + 1e-14, 3, &EigsOptions::default()).unwrap();
    assert!(eigen.n_converged >= 1 && (eigen.values[0] - real[2]).norm() < 1e-12);
    let size = norm(&a);
    let small = eigen
        .residuals
        .iter()
        .filter(|&&left| left < 1e-7 * size)
        .count();
    assert!(eigen.n_converged <= small);
}

/// Matrices multiplied by a number have eigenvalues multiplied by it.
#[test]
fn the_scale_of_the_operator() {
    let a = some::<f64>(60, 5, 2);
    let expected = eigs(&a, 4, &EigsOptions::default()).unwrap();
    let near = eigs_near(&a, 0.3, 3, &EigsOptions::default()).unwrap();
    for scale in [1e-200, 1e-300, 1e200, 1e290] {
        let scaled = &a * scale;
        let free = MatrixFree::new(60, |x: &Vector<f64>| scaled.try_matvec(x));
        for operator in [&scaled as &dyn LinearOperator<f64>, &free] {
            let eigen = eigs(operator, 4, &EigsOptions::default()).unwrap();
            assert!(eigen.converged(), "{scale}: {}", eigen.reason);
            for (value, expected) in eigen.values.iter().zip(&expected.values) {
                assert!(
                    (value / scale - expected).norm() < 1e-11,
                    "{scale}: {value}"
                );
            }
        }
        let eigen = eigs_near(&scaled, 0.3 * scale, 3, &EigsOptions::default()).unwrap();
        assert!(eigen.converged(), "{scale}: {}", eigen.reason);
        for (value, expected) in eigen.values.iter().zip(&near.values) {
            assert!(
                (value / scale - expected).norm() < 1e-10,
                "{scale}: {value}"
            );
        }
    }
    let huge = Csr::<f64>::identity(4).unwrap() * 1e308;
    let sum = &huge + &(&huge.transpose().unwrap() * 0.7);
    let eigen = eigs(&sum, 1, &EigsOptions::default()).unwrap();
    assert!(eigen.converged() && (eigen.values[0].re / 1.7e308 - 1.0).abs() < 1e-14);
}

#[test]
fn not_to_converge_is_no_error() {
    let a = some::<f64>(400, 6, 9);
    let eigen = eigs(&a, 6, &at_most(1)).unwrap();
    assert_eq!(
        (eigen.reason, eigen.iterations),
        (StopReason::IterationLimit, 1)
    );
    assert!(eigen.n_converged < 6 && eigen.values.len() == 6 && !eigen.converged());
    let broken = MatrixFree::new(50, |x: &Vector<f64>| Ok(x * f64::NAN));
    let eigen = eigs(&broken, 2, &EigsOptions::default()).unwrap();
    assert_eq!(
        (eigen.reason, eigen.values.len()),
        (StopReason::NotFinite, 0)
    );
    // A tolerance that is met early takes fewer products.
    let with = |tol| {
        eigs(
            &a,
            2,
            &EigsOptions {
                tol,
                ..EigsOptions::default()
            },
        )
        .unwrap()
    };
    let (coarse, fine) = (with(1e-3), with(0.0));
    assert!(coarse.converged() && coarse.products < fine.products);
    assert!(
        coarse
            .residuals
            .iter()
            .zip(&coarse.values)
            .all(|(left, value)| *left <= 1.1e-3 * value.norm())
    );
}
