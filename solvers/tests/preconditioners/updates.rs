//! New values: what an update makes is what a fresh start makes, or an estimate that is as good.

use super::dense::operator;
use super::{definite, estimating, general, other_values, random_matrix};
use sparsefuse_dense::Vector;
use sparsefuse_solvers::Preconditioner;
use sparsefuse_solvers::preconditioners::{
    Chebyshev, ChebyshevOptions, Polynomial, PolynomialOptions, estimate_largest_eigenvalue,
};
use sparsefuse_sparse::{Csr, LocalRows, gallery};

const N: usize = 40;

#[test]
fn updates_are_fresh_starts() {
    let a = random_matrix::<f64>(N, true, 7);
    // Stores of their own, and those of the matrix it was made from.
    let others = [random_matrix(N, true, 7), a.clone()];
    let others = others.map(|a| other_values(&a, 9));
    for (name, make) in general().into_iter().chain(definite()) {
        for other in &others {
            let mut updated = make(&a).unwrap();
            updated.update(other).unwrap();
            let fresh = operator(&*make(other).unwrap());
            assert_eq!(operator(&*updated), fresh, "{name}");
            let smaller = random_matrix::<f64>(N - 1, true, 7);
            assert!(updated.update(&smaller).is_err(), "{name}");
            assert_eq!(operator(&*updated), fresh, "{name}: unchanged");
        }
    }
}

/// Either refused, and then nothing has changed, or what a fresh start makes of it.
#[test]
fn another_structure_is_refused_or_a_fresh_start() {
    let a = random_matrix::<f64>(N, true, 7);
    let other = random_matrix::<f64>(N, true, 8);
    assert!(!a.has_structure_of(&other).unwrap());
    let mut refused = Vec::new();
    for (name, make) in general().into_iter().chain(definite()) {
        let mut updated = make(&a).unwrap();
        let before = operator(&*updated);
        match updated.update(&other) {
            Ok(()) => {
                let fresh = operator(&*make(&other).unwrap());
                assert_eq!(operator(&*updated), fresh, "{name}");
            }
            Err(error) => {
                assert!(error.to_string().contains("the structure"), "{error}");
                assert_eq!(operator(&*updated), before, "{name}");
                refused.push(name);
            }
        }
    }
    assert_eq!(refused, ["ilu(0)", "ilu(2)", "lu", "ic(0)", "cholesky"]);
}

#[test]
fn values_that_cannot_be_factored_change_nothing() {
    let a = random_matrix::<f64>(N, true, 7);
    // Rows of zeros at the end, where most others have been factored.
    let first = a.nnz() - 20;
    let factors = (0..a.nnz()).map(|k| if k < first { 1.0 } else { 0.0 });
    let zeros = a.values() * Vector::from_vec(factors.collect());
    let zeros = a.with_values(zeros).unwrap();
    let mut refused = 0;
    for (name, make) in general().into_iter().chain(definite()) {
        let mut updated = make(&a).unwrap();
        let before = operator(&*updated);
        if updated.update(&zeros).is_err() {
            assert_eq!(operator(&*updated), before, "{name}");
            refused += 1;
        }
    }
    // All but those that divide by the diagonal where that is not 0.
    assert_eq!(
        refused,
        general::<f64>().len() + definite::<f64>().len() - 2
    );
}

/// A band in which six neighbouring rows are strongly coupled: they alone have an eigenvalue of 5.5,
/// the others less than 2.
fn knot(at: usize) -> Csr<f64> {
    const ROWS: usize = 2000;
    let knot = at..at + 6;
    Csr::from_rows(ROWS, ROWS, |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 11 * rows.len());
        for row in rows {
            for column in row.saturating_sub(5)..(row + 6).min(ROWS) {
                let value = match (row == column, knot.contains(&row) && knot.contains(&column)) {
                    (true, _) => 1.0,
                    (false, true) => 0.9,
                    (false, false) => -0.05,
                };
                local.push(column as u32, value);
            }
            local.end_row();
        }
        local
    })
    .unwrap()
}

#[test]
fn estimates_after_updates_are_as_good_as_fresh_ones() {
    let diffusion = || gallery::diffusion2d::<f64>(50).unwrap();
    let poisson = || gallery::poisson2d::<f64>(50).unwrap();
    let cases = [
        ("scaled", diffusion(), diffusion().scale(1e3)),
        ("disturbed", diffusion(), other_values(&diffusion(), 3)),
        ("constant", diffusion(), poisson()),
        ("varying", poisson(), diffusion()),
        ("moved", knot(100), knot(1500)),
        ("tied", knot(100).scale(0.5), knot(1500)),
        (
            "in space",
            gallery::poisson3d(14).unwrap(),
            gallery::diffusion3d(14).unwrap(),
        ),
    ];
    for (name, before, after) in &cases {
        let options = ChebyshevOptions::default();
        let mut updated = Chebyshev::new(before, options).unwrap();
        for _ in 0..30 {
            updated.update(before).unwrap();
        }
        let fresh = Chebyshev::new(after, options).unwrap().largest_eigenvalue();
        let exact = estimate_largest_eigenvalue(after, 100).unwrap();
        // Again and again: what is kept is what an update has made.
        for round in 0..4 {
            updated.update(after).unwrap();
            let found = updated.largest_eigenvalue();
            assert!(
                found >= 0.97 * fresh,
                "{name} {round}: {found}, fresh {fresh}"
            );
            assert!(
                options.upper * found >= exact,
                "{name} {round}: {found} of {exact}"
            );
            assert!(
                found <= exact * (1.0 + 1e-12),
                "{name} {round}: {found} of {exact}"
            );
        }
        let mut updated = Polynomial::new(before, PolynomialOptions::default()).unwrap();
        updated.update(after).unwrap();
        let fresh = Polynomial::new(after, PolynomialOptions::default()).unwrap();
        let ratio = updated.omega() / fresh.omega();
        assert!((0.97..1.03).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn estimates_that_cannot_be_made_change_nothing() {
    let a = random_matrix::<f64>(N, true, 7);
    for (name, make) in estimating() {
        let mut updated = make(&a).unwrap();
        let before = operator(&*updated);
        let error = updated.update(&a.scale(0.0)).unwrap_err().to_string();
        assert!(error.contains("positive eigenvalues"), "{name}: {error}");
        assert_eq!(operator(&*updated), before, "{name}");
    }
}
