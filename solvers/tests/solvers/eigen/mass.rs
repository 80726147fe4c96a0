//! Lanczos's method with a mass matrix, against formulas and dense eigenvalues.

use super::{hermitian, random_block};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_solvers::StopReason;
use sparsefuse_solvers::eigen::{
    Eigen, EigshOptions, LobpcgOptions, Which, eigsh, eigsh_near, eigsh_with_inverse, lobpcg, svds,
};
use sparsefuse_solvers::preconditioners::{Ic0, splu};
use sparsefuse_sparse::{Csr, Dia, gallery};
use std::f64::consts::PI;
use std::fmt::Debug;

#[track_caller]
fn check_message<R: Debug>(result: Result<R, Error>, message: &str) {
    let found = result.unwrap_err().to_string();
    assert!(found.starts_with(message), "{found}");
}

/// Stiffness and mass of a bar of `n` + 1 linear elements, fixed at both ends, and the squares of
/// its frequencies, ascending.
pub(super) fn bar<T: Field>(n: usize) -> (Csr<T>, Csr<T>, Vec<f64>) {
    let h = 1.0 / (n as f64 + 1.0);
    let bands = |side: f64, middle: f64| {
        let [side, middle] = [side, middle].map(T::from_f64);
        Dia::from_diagonals(n, n, &[(-1, [side]), (0, [middle]), (1, [side])])
            .unwrap()
            .to_csr()
            .unwrap()
    };
    let of = |j: usize| {
        let cos = (j as f64 * PI * h).cos();
        6.0 / (h * h) * (1.0 - cos) / (2.0 + cos)
    };
    let values = (1..=n).map(of).collect();
    (
        bands(-1.0 / h, 2.0 / h),
        bands(h / 6.0, 4.0 * h / 6.0),
        values,
    )
}

fn with_mass<T>(mass: &Csr<T>, which: Which) -> EigshOptions<'_, T> {
    EigshOptions {
        which,
        mass: Some(mass),
        ..EigshOptions::default()
    }
}

/// Converged, with these values, and vectors that are orthonormal in the inner product of B.
fn check<T: Field>(what: &str, mass: &Csr<T>, eigen: &Eigen<T>, expected: &[f64], tolerance: f64) {
    assert!(eigen.converged(), "{what}: {}", eigen.reason);
    assert_eq!(eigen.values.len(), expected.len(), "{what}");
    for (value, expected) in eigen.values.iter().zip(expected) {
        let error = (value - expected).abs() / expected.abs();
        assert!(error < tolerance, "{what}: {value}, not {expected}");
    }
    for (i, x) in eigen.vectors.iter().enumerate() {
        let image = mass.matvec(x);
        for (j, y) in eigen.vectors.iter().enumerate() {
            let (re, im) = y.dot(&image).get().unwrap().parts();
            let error = Complex::new(re - f64::from(i == j), im).norm();
            assert!(error < 100.0 * tolerance, "{what}: {i} {j} {error:e}");
        }
    }
}

fn frequencies_of_a_bar<T: Field>(tolerance: f64) {
    let (a, mass, values) = bar::<T>(90);
    let lowest = eigsh_near(&a, 0.0, 4, &with_mass(&mass, Which::default())).unwrap();
    check("lowest", &mass, &lowest, &values[..4], tolerance);
    let highest = eigsh(&a, 3, &with_mass(&mass, Which::Largest)).unwrap();
    check("highest", &mass, &highest, &values[87..], tolerance);
    let sigma = 0.5 * (values[20] + values[21]);
    let above = eigsh_near(&a, sigma, 3, &with_mass(&mass, Which::Largest)).unwrap();
    check("above", &mass, &above, &values[21..24], tolerance);
    let inverse = splu(&a).unwrap();
    let options = with_mass(&mass, Which::default());
    let again = eigsh_with_inverse(&a, &inverse, 0.0, 4, &options).unwrap();
    check("inverse", &mass, &again, &values[..4], tolerance);
}

#[test]
fn frequencies() {
    frequencies_of_a_bar::<f64>(1e-11);
    frequencies_of_a_bar::<f32>(1e-3);
    frequencies_of_a_bar::<Complex<f64>>(1e-11);
    frequencies_of_a_bar::<Complex<f32>>(1e-3);
}

/// A mass matrix with complex entries, against the method that takes it as an operator.
#[test]
fn complex_mass_matrices() {
    let (a, _) = hermitian::<Complex<f64>>(60, 4, 3);
    let (b, values) = hermitian::<Complex<f64>>(60, 4, 5);
    let shift = Complex::new(1.0 - values[0], 0.0);
    let mass = b
        .linear_combination(Complex::ONE, &Csr::identity(60).unwrap(), shift)
        .unwrap();
    let eigen = eigsh(&a, 4, &with_mass(&mass, Which::Largest)).unwrap();
    let options = LobpcgOptions {
        mass: Some(&mass),
        largest: true,
        tol: 1e-9,
        max_iter: Some(500),
        ..LobpcgOptions::default()
    };
    let expected = lobpcg(&a, &random_block(60, 4), &options).unwrap();
    assert!(expected.converged(), "{}", expected.reason);
    check("complex", &mass, &eigen, &expected.values, 1e-10);
}

/// A that maps nearly all vectors to 0, or all: its eigenvalues are 0 as often.
#[test]
fn operators_of_low_rank() {
    let (_, mass, _) = bar::<f64>(30);
    for value in [0.0, 5.0] {
        let element = |[i]: [usize; 1]| if i == 7 { value } else { 0.0 };
        let a = Csr::identity(30).unwrap();
        let a = a.with_values(Vector::from_fn([30], element)).unwrap();
        let eigen = eigsh(&a, 3, &with_mass(&mass, Which::Largest)).unwrap();
        assert!(eigen.converged(), "{value}: {}", eigen.reason);
        let inverse = splu(&mass).unwrap();
        let unit = Vector::from_fn([30], |[i]| f64::from(i == 7));
        // The one that is not 0 is `value` times the element of the inverse of B.
        let expected = value * inverse.solve(&unit).unwrap().to_vec().unwrap()[7];
        for (found, expected) in eigen.values.iter().zip([0.0, 0.0, expected]) {
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                "{found}"
            );
        }
        // Values of 0 are those of the inverse but for rounding, whatever B is multiplied by.
        for factor in [1.0, 0.3, 7.0] {
            let mass = &mass * factor;
            let near = eigsh_near(&a, -1.0, 3, &with_mass(&mass, Which::default())).unwrap();
            assert!(near.converged(), "{value}: {}", near.reason);
            assert!(near.values.iter().all(|found| found.abs() < 1e-10));
        }
    }
}

/// The same digits at any scale of either matrix.
#[test]
fn scale_does_not_matter() {
    let (a, mass, _) = bar::<f64>(40);
    let base = eigsh_near(&a, 12.0, 3, &with_mass(&mass, Which::default())).unwrap();
    for (of_a, of_mass) in [(400, 0), (0, 400), (-700, 200), (300, -500), (500, 500)] {
        let scaled = |matrix: &Csr<f64>, power: i32| {
            // In two steps, each of which is a number.
            let half = 2f64.powi(power / 2);
            let rest = 2f64.powi(power - power / 2);
            matrix.map_values(move |x| x * half * rest).unwrap()
        };
        let (a, mass) = (scaled(&a, of_a), scaled(&mass, of_mass));
        let factor = 2f64.powi(of_a - of_mass);
        let options = with_mass(&mass, Which::default());
        let eigen = eigsh_near(&a, 12.0 * factor, 3, &options).unwrap();
        assert!(eigen.converged(), "{of_a} {of_mass}");
        assert_eq!(eigen.iterations, base.iterations);
        for (value, expected) in eigen.values.iter().zip(&base.values) {
            assert_eq!(value / factor, *expected, "{of_a} {of_mass}");
        }
        let x = eigen.vectors[0].to_vec().unwrap();
        let expected = base.vectors[0].to_vec().unwrap();
        let by = 2f64.powi(-of_mass / 2);
        assert!(x.iter().zip(&expected).all(|(x, y)| *x == y * by));
    }
}

/// Every second unknown has no mass. Without them A is a tridiagonal matrix, half of whose
/// eigenvalues the others are.
#[test]
fn unknowns_without_mass() {
    for n in [60, 8] {
        let a = gallery::poisson1d::<f64>(n).unwrap();
        let element = |[i]: [usize; 1]| f64::from(i % 2 == 0);
        let mass = Csr::identity(n).unwrap();
        let mass = mass.with_values(Vector::from_fn([n], element)).unwrap();
        let rest = faer::Mat::<f64>::from_fn(n / 2, n / 2, |i, j| match i.abs_diff(j) {
            0 if i == 0 => 1.5,
            0 => 1.0,
            1 => -0.5,
            _ => 0.0,
        });
        let values = rest.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
        let options = with_mass(&mass, Which::default());
        let eigen = eigsh_near(&a, 0.0, 3, &options).unwrap();
        check("without mass", &mass, &eigen, &values[..3], 1e-11);
        for x in &eigen.vectors {
            let residual = &a * x - mass.matvec(x) * eigen.values[0];
            assert!(residual.norm_inf().get().unwrap().is_finite());
        }
        assert!(eigen.residuals.iter().all(|residual| *residual < 1e-11));
        let message = "eigsh: expected a mass matrix that is positive definite, found a singular one, \
                       which `eigsh_near` takes";
        check_message(eigsh(&a, 3, &options), message);
    }
    // More than there are.
    let a = gallery::poisson1d::<f64>(12).unwrap();
    let element = |[i]: [usize; 1]| f64::from(i < 2);
    let mass = Csr::identity(12).unwrap();
    let mass = mass.with_values(Vector::from_fn([12], element)).unwrap();
    let eigen = eigsh_near(&a, 0.0, 4, &with_mass(&mass, Which::default())).unwrap();
    assert_eq!(eigen.reason, StopReason::Stagnation);
    assert_eq!((eigen.values.len(), eigen.n_converged), (2, 2));
}

#[test]
fn what_is_refused() {
    let a = gallery::poisson1d::<f64>(10).unwrap();
    let check = |mass: &Csr<f64>, expected: &str| {
        let options = with_mass(mass, Which::default());
        check_message(eigsh_near(&a, 0.5, 2, &options), expected);
        check_message(eigsh(&a, 2, &options), expected);
    };
    check(
        &Csr::identity(9).unwrap(),
        "eigsh: expected a mass matrix of shape (10, 10), found one of shape (9, 9)",
    );
    let unsymmetric = Dia::from_diagonals(10, 10, &[(0, [1.0]), (1, [0.5])]).unwrap();
    let mass = unsymmetric.to_csr().unwrap();
    check(
        &mass,
        "eigsh: expected a symmetric (Hermitian) matrix, found ",
    );
    let identity = Csr::<f64>::identity(10).unwrap();
    let bad = identity.map_values(|_| f64::NAN).unwrap();
    check(
        &bad,
        "eigsh: expected entries that are finite, found NaN in row 0, column 0",
    );
    let none = identity.map_values(|_| 0.0).unwrap();
    check_message(
        eigsh_near(&a, 0.5, 2, &with_mass(&none, Which::default())),
        "eigsh: expected a mass matrix that is positive definite, or semidefinite and not 0, found",
    );
    let options = with_mass(&identity, Which::default());
    check_message(
        svds(&a, 2, &options),
        "svds: expected options without a mass matrix, found one",
    );
    // A solver that is no inverse claims nothing.
    let grid = gallery::poisson2d::<f64>(10).unwrap();
    let rough = Ic0::new(&grid).unwrap();
    let mass = Csr::identity(100).unwrap();
    let options = with_mass(&mass, Which::default());
    let eigen = eigsh_with_inverse(&grid, &rough, 0.0, 3, &options).unwrap();
    assert!(!eigen.converged());
}

/// A large sigma times a small mass is not large beside the stiffness.
#[test]
fn masses_far_below_one() {
    let k = gallery::poisson1d::<f64>(100).unwrap().scale(10.0);
    let mass = Csr::<f64>::identity(100).unwrap().scale(1e-26);
    let eigen = eigsh_near(&k, 1e27, 3, &with_mass(&mass, Which::default())).unwrap();
    assert!(eigen.converged(), "{eigen:?}");
    let expected = [9.64e26, 1.018e27, 1.073e27];
    for (value, expected) in eigen.values.iter().zip(expected) {
        assert!((value / expected - 1.0).abs() < 2e-3, "{:?}", eigen.values);
    }
}
