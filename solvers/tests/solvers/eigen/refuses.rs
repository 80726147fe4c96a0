//! What is refused, and how it is said.

use super::random_block;
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Error, Runtime};
use sparsefuse_solvers::eigen::{
    EigshOptions, LobpcgOptions, eigsh, eigsh_near, eigsh_with_inverse, lobpcg,
};
use sparsefuse_solvers::{Jacobi, LinearOperator};
use sparsefuse_sparse::{Csr, gallery};
use std::fmt::Debug;

#[track_caller]
fn check<R: Debug>(result: Result<R, Error>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn eigsh_refuses() {
    let a = gallery::poisson1d::<f64>(10).unwrap();
    let default = EigshOptions::default();
    let wide = Csr::<f64>::new(1, 2, vec![0, 1], vec![0], vec![1.0]).unwrap();
    check(
        eigsh(&wide, 1, &default),
        "eigsh: expected a shape of (1, 1), found (1, 2)",
    );
    check(
        eigsh_near(&wide, 0.0, 1, &default),
        "eigsh: expected a shape of (1, 1), found (1, 2)",
    );
    for k in [0, 10, 11] {
        let message = format!("eigsh: expected k from 1 to 9, below the number of rows, found {k}");
        check(eigsh(&a, k, &default), &message);
        check(eigsh_near(&a, 0.0, k, &default), &message);
    }
    for ncv in [3, 11] {
        let options = EigshOptions {
            ncv: Some(ncv),
            ..EigshOptions::default()
        };
        let message = format!("eigsh: expected ncv from 4 to 10, found {ncv}");
        check(eigsh(&a, 3, &options), &message);
    }
    for (v0, message) in [
        (
            Vector::ones([9]),
            "eigsh: expected a shape of (10), found (9)",
        ),
        (
            Vector::zeros([10]),
            "eigsh: expected a start vector with a length above 0, found 0",
        ),
    ] {
        let options = EigshOptions {
            v0: Some(&v0),
            ..EigshOptions::default()
        };
        check(eigsh(&a, 3, &options), message);
    }
    let options = EigshOptions {
        tol: f64::NAN,
        ..EigshOptions::default()
    };
    check(
        eigsh(&a, 3, &options),
        "eigsh: expected tol to be 0 or more, found NaN",
    );
    let other = gallery::poisson1d::<f64>(9).unwrap();
    check(
        eigsh_with_inverse(&a, &other, 0.0, 3, &default),
        "eigsh: expected an inverse of shape (10, 10), found one of shape (9, 9)",
    );
    let identity = Csr::<f64>::identity(10).unwrap();
    check(
        eigsh_near(&identity, 1.0, 2, &default),
        "eigsh: expected a sigma that is not an eigenvalue, found 1.0",
    );
}

#[test]
fn what_is_not_finite_is_named() {
    let a = gallery::poisson1d::<f64>(20).unwrap();
    let (eigsh_options, lobpcg_options) = (EigshOptions::default(), LobpcgOptions::default());
    let start = random_block(20, 2);
    for bad in [f64::NAN, f64::INFINITY] {
        // The diagonal entry of row 5.
        let entry = |[entry]: [usize; 1]| if entry == 15 { bad } else { 1.0 };
        let matrix = a.with_values(Vector::from_fn([a.nnz()], entry)).unwrap();
        let message =
            |op| format!("{op}: expected entries that are finite, found {bad} in row 5, column 5");
        check(eigsh(&matrix, 2, &eigsh_options), &message("eigsh"));
        check(
            eigsh_near(&matrix, 0.0, 2, &eigsh_options),
            &message("eigsh"),
        );
        check(lobpcg(&matrix, &start, &lobpcg_options), &message("lobpcg"));
        let options = LobpcgOptions {
            mass: Some(&matrix),
            ..LobpcgOptions::default()
        };
        check(lobpcg(&a, &start, &options), &message("lobpcg"));
        let vector = Vector::from_fn([20], |[i]| if i == 7 { bad } else { 1.0 });
        let options = EigshOptions {
            v0: Some(&vector),
            ..EigshOptions::default()
        };
        let message = format!("eigsh: expected a start vector with a length above 0, found {bad}");
        check(eigsh(&a, 2, &options), &message);
        let mut start = random_block(20, 2);
        start[1] = vector;
        let message = "lobpcg: expected vectors whose elements are finite, found an element that is \
                       not in vector 1";
        check(lobpcg(&a, &start, &lobpcg_options), message);
    }
}

#[test]
fn lobpcg_refuses() {
    let a = gallery::poisson1d::<f64>(10).unwrap();
    let default = LobpcgOptions::default();
    let wide = Csr::<f64>::new(1, 2, vec![0, 1], vec![0], vec![1.0]).unwrap();
    let one = random_block(2, 1);
    check(
        lobpcg(&wide, &one, &default),
        "lobpcg: expected a shape of (1, 1), found (1, 2)",
    );
    for k in [0, 10] {
        let message = format!("lobpcg: expected from 1 to 9 vectors to start from, found {k}");
        check(lobpcg(&a, &random_block(10, k), &default), &message);
    }
    check(
        lobpcg(&a, &random_block(9, 2), &default),
        "lobpcg: expected a shape of (10), found (9)",
    );
    let constraints = random_block(10, 3);
    let constrained = LobpcgOptions {
        constraints: &constraints,
        ..LobpcgOptions::default()
    };
    check(
        lobpcg(&a, &random_block(10, 7), &constrained),
        "lobpcg: expected from 1 to 6 vectors to start from, found 7",
    );
    let mut dependent = random_block::<f64>(10, 2);
    dependent.push(&dependent[0] * 2.0);
    let message = "lobpcg: expected 3 linearly independent vectors, found 2";
    check(lobpcg(&a, &dependent, &default), message);
    let constrained = LobpcgOptions {
        constraints: &dependent,
        ..LobpcgOptions::default()
    };
    check(lobpcg(&a, &random_block(10, 1), &constrained), message);
    let jacobi = Jacobi::new(&gallery::poisson1d::<f64>(9).unwrap()).unwrap();
    let operator: &dyn LinearOperator<f64> = &jacobi;
    for options in [
        LobpcgOptions {
            preconditioner: Some(operator),
            ..LobpcgOptions::default()
        },
        LobpcgOptions {
            mass: Some(operator),
            ..LobpcgOptions::default()
        },
    ] {
        let message = "lobpcg: expected operators of shape (10, 10), found one of shape (9, 9)";
        check(lobpcg(&a, &random_block(10, 2), &options), message);
    }
    let options = LobpcgOptions {
        tol: -1.0,
        ..LobpcgOptions::default()
    };
    check(
        lobpcg(&a, &random_block(10, 2), &options),
        "lobpcg: expected tol to be 0 or more, found -1",
    );
}

/// Two runtimes never mix; a matrix of one that is not the current one has a start vector there.
#[test]
fn operands_of_another_runtime() {
    let [mine, other] = [(); 2].map(|()| Runtime::new(Config::default()).unwrap());
    let a = mine.enter(|| gallery::poisson1d::<f64>(20).unwrap());
    let foreign = other.enter(|| gallery::poisson1d::<f64>(20).unwrap());
    assert!(eigsh(&a, 1, &EigshOptions::default()).unwrap().converged());
    let v0 = other.enter(|| Vector::ones([20]));
    let options = EigshOptions {
        v0: Some(&v0),
        ..EigshOptions::default()
    };
    check(
        eigsh(&a, 1, &options),
        "eigsh: expected a matrix of the runtime of v0, found one of another runtime",
    );
    let start = [mine.enter(|| Vector::ones([20]))];
    let mixed = "lobpcg: expected operators and vectors of the runtime of the first vector, found \
                 one of another runtime";
    check(lobpcg(&foreign, &start, &LobpcgOptions::default()), mixed);
    let jacobi = Jacobi::new(&foreign).unwrap();
    let options = LobpcgOptions {
        preconditioner: Some(&jacobi),
        ..LobpcgOptions::default()
    };
    check(lobpcg(&a, &start, &options), mixed);
}

/// Before anything is factored or solved.
#[test]
fn a_sigma_that_is_not_finite() {
    let a = gallery::poisson1d::<f64>(20).unwrap();
    let options = EigshOptions::default();
    for (sigma, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let expected = format!("eigsh: expected a finite sigma, found {text}");
        check(eigsh_near(&a, sigma, 1, &options), &expected);
        check(eigsh_with_inverse(&a, &a, sigma, 1, &options), &expected);
    }
}
