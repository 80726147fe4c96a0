//! What is refused, and how it is said.

use super::{convection, with_basis};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_solvers::eigen::{EigsOptions, WhichComplex, eigs, eigs_near};
use sparsefuse_sparse::{Csr, Triplets};

#[test]
fn what_does_not_fit_is_refused() {
    let (a, _) = convection(10, 0.5);
    let default = EigsOptions::default();
    let message = |k, options: &EigsOptions<'_, f64>| {
        let errors = [
            eigs(&a, k, options).unwrap_err(),
            eigs_near(&a, 0.1, k, options).unwrap_err(),
        ];
        let [one, other] = errors.map(|error| error.to_string());
        assert_eq!(one, other);
        one
    };
    for k in [0, 11] {
        let expected = format!("eigs: expected k from 1 to 10, the number of rows, found {k}");
        assert_eq!(message(k, &default), expected);
    }
    let with = |ncv| with_basis(WhichComplex::default(), ncv);
    assert_eq!(
        message(3, &with(4)),
        "eigs: expected ncv from 5 to 10, found 4"
    );
    assert_eq!(
        message(3, &with(11)),
        "eigs: expected ncv from 5 to 10, found 11"
    );
    assert_eq!(message(9, &with(9)), "eigs: expected ncv of 10, found 9");
    let tol = EigsOptions {
        tol: f64::NAN,
        ..EigsOptions::default()
    };
    assert_eq!(
        message(3, &tol),
        "eigs: expected tol to be 0 or more, found NaN"
    );
    for (v0, expected) in [
        (
            Vector::ones([9]),
            "eigs: expected a shape of (10), found (9)",
        ),
        (
            Vector::zeros([10]),
            "eigs: expected a start vector with a length above 0, found 0",
        ),
        (
            Vector::full([10], f64::NAN),
            "eigs: expected a start vector with a length above 0, found NaN",
        ),
    ] {
        let options = EigsOptions {
            v0: Some(&v0),
            ..EigsOptions::default()
        };
        assert_eq!(message(3, &options), expected);
    }
    let wide = a.row_range(0..2).unwrap();
    let error = eigs(&wide, 1, &default).unwrap_err().to_string();
    assert_eq!(error, "eigs: expected a shape of (2, 2), found (2, 10)");
    let error = eigs_near(&wide, Complex::I, 1, &default)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "eigs: expected a shape of (2, 2), found (2, 10)");
    let none = Csr::<f64>::from_triplets(&Triplets::new(0, 0).unwrap()).unwrap();
    let error = eigs(&none, 1, &default).unwrap_err().to_string();
    assert_eq!(error, "eigs: expected a matrix of one row or more, found 0");
    let identity = Csr::<f64>::identity(10).unwrap();
    let error = eigs_near(&identity, 1.0, 2, &default)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "eigs: expected a sigma that is not an eigenvalue, found 1.0"
    );
    let error = eigs_near(&identity, f64::INFINITY, 2, &default)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "eigs: expected a finite sigma, found inf");
}

#[test]
fn what_is_not_finite_is_named() {
    let (a, _) = convection(20, 0.5);
    for bad in [f64::NAN, f64::INFINITY] {
        let entry = |[entry]: [usize; 1]| if entry == 15 { bad } else { 1.0 };
        let matrix = a.with_values(Vector::from_fn([a.nnz()], entry)).unwrap();
        let expected =
            format!("eigs: expected entries that are finite, found {bad} in row 5, column 5");
        let default = EigsOptions::default();
        let errors = [
            eigs(&matrix, 2, &default),
            eigs_near(&matrix, 0.0, 2, &default),
            eigs_near(&matrix, Complex::I, 2, &default),
        ];
        for error in errors {
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
    }
}
