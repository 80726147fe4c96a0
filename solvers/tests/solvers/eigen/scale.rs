//! Operators multiplied by powers of two have eigenvalues multiplied by them, to the bit.

use sparsefuse_dense::{Field, Vector};
use sparsefuse_runtime::Error;
use sparsefuse_solvers::eigen::{
    Eigen, EigshOptions, LobpcgOptions, Which, eigsh, eigsh_near, lobpcg,
};
use sparsefuse_solvers::preconditioners::Jacobi;
use sparsefuse_solvers::{MatrixFree, StopReason};
use sparsefuse_sparse::{Csr, gallery};

/// A number with this exponent.
fn power_of_two(power: i32) -> f64 {
    2f64.powi(power / 2) * 2f64.powi(power - power / 2)
}

fn scaled<T: Field>(power: i32) -> Csr<T> {
    let a = gallery::poisson2d::<T>(6).unwrap();
    let factor = |power| T::from_f64(power_of_two(power));
    a.scale(factor(power / 2)).scale(factor(power - power / 2))
}

/// Eigenvalues by all methods of the operator multiplied by 2^power.
fn solve<T: Field>(power: i32) -> Result<Vec<Eigen<T>>, Error> {
    let a = scaled::<T>(power);
    let of = |which| EigshOptions {
        which,
        ..EigshOptions::default()
    };
    let sigma = 3.3 * power_of_two(power);
    let jacobi = Jacobi::new(&a)?;
    let start: Vec<_> = (0..2)
        .map(|seed| Vector::random_normal([36], seed))
        .collect();
    let options = LobpcgOptions {
        preconditioner: Some(&jacobi),
        tol: 1e-3,
        ..LobpcgOptions::default()
    };
    let free = MatrixFree::new(36, |x: &Vector<T>| a.try_matvec(x));
    Ok(vec![
        eigsh(&a, 3, &of(Which::Largest))?,
        eigsh(&a, 2, &of(Which::Smallest))?,
        eigsh(&free, 2, &of(Which::Largest))?,
        eigsh_near(&a, sigma, 3, &EigshOptions::default())?,
        lobpcg(&a, &start, &options)?,
    ])
}

fn check<T: Field>(powers: &[i32]) {
    let expected = solve::<T>(0).unwrap();
    for &power in powers {
        for (found, expected) in solve::<T>(power).unwrap().iter().zip(&expected) {
            assert!(found.converged(), "2^{power}: {:?}", found.reason);
            let relative = |value: &f64| value / power_of_two(power);
            for (found, expected) in found.values.iter().map(relative).zip(&expected.values) {
                let error = (found - expected).abs() / expected.abs();
                assert!(error < 1e-4, "2^{power}: {found} for {expected}");
            }
            for residual in found.residuals.iter().map(relative) {
                assert!(residual < 1e-2, "2^{power}: a residual of {residual}");
            }
        }
    }
}

#[test]
fn eigenvalues_have_the_scale_of_the_operator() {
    check::<f64>(&[-1000, -600, -300, 300, 500, 1000]);
    check::<f32>(&[-110, -60, -35, 35, 60, 110]);
}

/// B of LOBPCG has a scale of its own.
#[test]
fn a_mass_matrix_of_any_scale() {
    let start: Vec<_> = (0..2)
        .map(|seed| Vector::random_normal([36], seed))
        .collect();
    let values = |power: i32| {
        let mass = Csr::<f64>::identity(36).unwrap().scale(power_of_two(power));
        let options = LobpcgOptions {
            mass: Some(&mass),
            ..LobpcgOptions::default()
        };
        let eigen = lobpcg(&scaled::<f64>(0), &start, &options).unwrap();
        assert!(eigen.converged(), "2^{power}: {:?}", eigen.reason);
        let length = (&mass * &eigen.vectors[0])
            .dot(&eigen.vectors[0])
            .get()
            .unwrap();
        assert!((length - 1.0).abs() < 1e-10, "2^{power}: {length}");
        eigen.values
    };
    let expected = values(0);
    for power in [-700, -301, 301, 600] {
        for (found, expected) in values(power).iter().zip(&expected) {
            let found = found * power_of_two(power);
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "2^{power}: {found}"
            );
        }
    }
}

/// Eigenvalues that double precision cannot hold are not claimed.
#[test]
fn eigenvalues_that_overflow() {
    // Up to 11.4 times 2^1021.
    let a = gallery::poisson3d::<f64>(4).unwrap();
    let a = a.scale(power_of_two(1021));
    let options = EigshOptions {
        which: Which::Largest,
        ..EigshOptions::default()
    };
    let eigen = eigsh(&a, 1, &options).unwrap();
    assert_eq!(eigen.reason, StopReason::NotFinite);
    assert_eq!(eigen.n_converged, 0);
}

#[test]
fn a_matrix_that_is_not_symmetric_is_refused() {
    let a = gallery::poisson1d::<f64>(9)
        .unwrap()
        .lower_triangle(0)
        .unwrap();
    let error = eigsh(&a, 1, &EigshOptions::default())
        .map(|_| ())
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("eigsh: expected a symmetric"),
        "{message}"
    );
}
