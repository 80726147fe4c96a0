//! New values: what an update makes is what a fresh start makes, or as good.

use super::dense::operator;
use super::{
    FEW, changed_values, config, definite, estimating, general, ones, other_values, random_matrix,
    real_matrix,
};
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Runtime, run_ranks};
use sparsefuse_solvers::preconditioners::{
    BlockJacobi, Chebyshev, ChebyshevOptions, Ilu0, Iluk, Ilut, IlutOptions, Polynomial,
    PolynomialOptions, estimate_largest_eigenvalue, splu,
};
use sparsefuse_solvers::{LinearOperator, Options, Preconditioner, bicgstab_with};
use sparsefuse_sparse::{Csr, LocalRows, gallery};
use std::cmp::Ordering;

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
            let found = operator(&*updated);
            let is_fresh = found == operator(&*make(other).unwrap());
            assert_eq!(is_fresh, name != "ilut", "{name}");
            let smaller = random_matrix::<f64>(N - 1, true, 7);
            assert!(updated.update(&smaller).is_err(), "{name}");
            assert_eq!(operator(&*updated), found, "{name}: unchanged");
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

#[test]
fn updates_of_ilut_are_about_as_good_as_fresh_starts() {
    let mut cases = vec![
        ("diffusion2d:50", gallery::diffusion2d::<f64>(50).unwrap()),
        ("poisson3d:14", gallery::poisson3d::<f64>(14).unwrap()),
    ];
    for name in ["pyamg_airfoil", "bcsstk16"] {
        cases.extend(real_matrix(name).map(|a| (name, a)));
    }
    for (name, a) in cases {
        let mut updated = Ilut::new(&a, IlutOptions::default()).unwrap();
        for (seed, most) in [(1, 0.01), (2, 0.1)] {
            let other = changed_values(&a, seed, most);
            updated.update(&other).unwrap();
            let fresh = Ilut::new(&other, IlutOptions::default()).unwrap();
            let [found, expected] = [&updated, &fresh].map(|m| {
                let options = Options {
                    preconditioner: Some(m as &dyn LinearOperator<f64>),
                    ..Options::default()
                };
                let solution = bicgstab_with(&other, &ones(a.n_rows()), options).unwrap();
                assert!(solution.converged(), "{name} {most}");
                solution.iterations
            });
            assert!(
                found <= expected + 1 + expected / 4,
                "{name} {most}: {found}, fresh {expected}"
            );
        }
    }
}

/// Pairs of rows, [ 1 1 ] above `second`.
fn pairs(second: [f64; 2]) -> Csr<f64> {
    const ROWS: usize = 60;
    Csr::from_rows(ROWS, ROWS, |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 2 * rows.len());
        for row in rows {
            let values = if row % 2 == 0 { [1.0, 1.0] } else { second };
            for (k, value) in values.into_iter().enumerate() {
                local.push((row / 2 * 2 + k) as u32, value);
            }
            local.end_row();
        }
        local
    })
    .unwrap()
}

/// What was dropped holds the pivots now: then other entries are kept.
#[test]
fn a_pivot_of_0_on_the_kept_structure_is_a_fresh_start() {
    let program = |_: &_| {
        let mut updated = Ilut::new(&pairs([1e-6, 1.0]), FEW).unwrap();
        assert_eq!(updated.local_entries() % 3, 0, "three entries for two rows");
        let before = updated.apply(&ones(60)).unwrap().to_vec().unwrap();
        let error = updated.update(&pairs([0.0, 0.0])).unwrap_err().to_string();
        assert!(
            error.contains("pivot other than 0 in row 1, found 0"),
            "{error}"
        );
        assert_eq!(updated.apply(&ones(60)).unwrap().to_vec().unwrap(), before);

        updated.update(&pairs([1.0, 0.0])).unwrap();
        // x + y = 1 and x = 1.
        let found = updated.apply(&ones(60)).unwrap().to_vec().unwrap();
        assert_eq!(found, [1.0, 0.0].repeat(30));
    };
    for ranks in 1..=3 {
        run_ranks(ranks, &config(), program).unwrap();
    }
}

type Make = fn(&Csr<f64>) -> Box<dyn Preconditioner<f64>>;

/// Rows on other ranks than before are fetched: one rank has no other cuts.
#[test]
fn other_cuts_keep_the_structure() {
    const ROWS: usize = 320;
    // Full rows first, so that balance cuts elsewhere.
    let make = || {
        Csr::<f64>::from_rows(ROWS, ROWS, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for row in rows {
                let is_entry = |&column: &usize| row < 40 || row.abs_diff(column) < 2;
                for column in (0..ROWS).filter(is_entry) {
                    let value = match row.cmp(&column) {
                        Ordering::Less => -1.0,
                        Ordering::Equal => 40.0,
                        Ordering::Greater => -20.0,
                    };
                    local.push(column as u32, value);
                }
                local.end_row();
            }
            local
        })
        .unwrap()
    };
    let program = |runtime: &Runtime| {
        let a = make();
        let balanced = a.balance().unwrap();
        let partitions = [&a, &balanced].map(|a| a.row_partition().unwrap());
        assert_eq!(partitions[0] == partitions[1], runtime.ranks() == 1);
        let applied = |m: &Ilut<f64>| m.apply(&ones(ROWS)).unwrap().to_vec().unwrap();
        let mut updated = Ilut::new(&a, FEW).unwrap();
        let fresh = applied(&updated);
        // What was eliminated with and then dropped is not there the next time.
        updated.update(&a).unwrap();
        let kept = applied(&updated);
        assert_ne!(kept, fresh);
        updated.update(&balanced).unwrap();
        assert_eq!(applied(&updated), kept);

        let makers: [Make; 4] = [
            |a| Box::new(splu(a).unwrap()),
            |a| Box::new(Ilu0::new(a).unwrap()),
            |a| Box::new(Iluk::new(a, 1).unwrap()),
            |a| Box::new(BlockJacobi::new(a, 7).unwrap()),
        ];
        for make in makers {
            let mut updated = make(&a);
            let fresh = updated.apply(&ones(ROWS)).unwrap().to_vec().unwrap();
            updated.update(&balanced).unwrap();
            assert_eq!(updated.apply(&ones(ROWS)).unwrap().to_vec().unwrap(), fresh);
        }
        kept
    };
    let one = run_ranks(1, &config(), program).unwrap();
    for ranks in 2..=3 {
        for kept in run_ranks(ranks, &config(), program).unwrap() {
            assert_eq!(kept, one[0]);
        }
    }
}

/// A band in which six neighbouring rows are strongly coupled: they alone have an eigenvalue of
/// 5.5, the others less than 2.
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
