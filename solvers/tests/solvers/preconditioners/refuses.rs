//! Matrices that cannot be factored: which row, and what was found there.

use super::{Maker, boxed, config, definite, estimating, general, ones};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Error, Runtime, run_ranks};
use sparsefuse_solvers::multigrid::Multigrid;
use sparsefuse_solvers::preconditioners::{
    AdditiveSchwarz, BlockJacobi, BlockSolve, Chebyshev, ChebyshevOptions, Ic0, Ilu0, Ilut,
    IlutOptions, Polynomial, PolynomialOptions, SchwarzOptions, Sor, SorOptions, SorOrder,
    spcholesky, splu, spsolve,
};
use sparsefuse_solvers::{
    Input, Jacobi, KrylovSolver, LinearOperator, Method, Options, StopReason, gmres_with,
};
use sparsefuse_sparse::{Csr, LocalRows, Triplets, gallery};

/// A tridiagonal matrix of which the given row is replaced.
fn tridiagonal(n: usize, row: usize, entries: &[(u32, f64)]) -> Csr<f64> {
    Csr::from_rows(n, n, |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 0);
        for i in rows {
            let usual = [(i.wrapping_sub(1), -1.0), (i, 4.0), (i + 1, -1.0)];
            let usual = usual.into_iter().filter(|&(column, _)| column < n);
            let usual: Vec<_> = usual
                .map(|(column, value)| (column as u32, value))
                .collect();
            let entries = if i == row { entries } else { &usual[..] };
            entries
                .iter()
                .for_each(|&(column, value)| local.push(column, value));
            local.end_row();
        }
        local
    })
    .unwrap()
}

/// Asserts the message on one to three ranks, on every rank.
#[track_caller]
fn check<R>(
    entries: &[(u32, f64)],
    make: impl Fn(&Csr<f64>) -> Result<R, Error> + Sync,
    expected: &str,
) {
    for ranks in 1..=3 {
        let program = |_: &_| {
            make(&tridiagonal(60, 37, entries))
                .err()
                .map(|e| e.to_string())
        };
        for found in run_ranks(ranks, &config(), program).unwrap() {
            let found = found.unwrap_or_else(|| "a preconditioner".to_owned());
            assert!(found.contains(expected), "{ranks} ranks: {found}");
        }
    }
}

#[test]
fn rows_are_named() {
    let no_diagonal = [(36, -1.0), (38, -1.0)];
    let zero = [(36, 0.0), (37, 0.0), (38, -1.0)];
    check(
        &no_diagonal,
        Ilu0::new,
        "ilu(0): expected a diagonal entry in row 37, found none",
    );
    let pivot = "ilu(0): expected a finite pivot other than 0 in row 37, found 0";
    check(&zero, Ilu0::new, pivot);
    let sor = |a: &Csr<f64>| Sor::new(a, SorOptions::default());
    let diagonal = "expected a diagonal entry other than 0 in row 37, found ";
    check(&no_diagonal, sor, &format!("{diagonal}none"));
    check(&zero, sor, &format!("{diagonal}0"));
    let negative = [(36, -1.0), (37, -4.0), (38, -1.0)];
    let positive = "ic(0): expected a positive diagonal entry in row 37, found -4";
    check(&negative, Ic0::new, positive);
    check(&[(37, 4.0)], Ic0::new, "expected a symmetric structure");
    check(
        &[(37, 4.0), (38, -1.0)],
        Ic0::new,
        "expected a symmetric structure",
    );
    check(&[], splu, "splu: expected an entry in row 37, found none");
    check(&zero[..1], splu, "splu: expected a nonsingular matrix");
    check(
        &negative,
        spcholesky,
        "spcholesky: expected a positive definite matrix",
    );
    check(
        &[(36, 1.0), (37, f64::NAN)],
        splu,
        "splu: expected entries that are finite, found NaN in row 37, column 37",
    );
    let block = "block jacobi: expected nonsingular blocks, found a pivot of 0 in row 37";
    check(&no_diagonal, |a| BlockJacobi::new(a, 1), block);
}

#[test]
fn direct_solves_name_what_is_not_finite() {
    let a = gallery::poisson1d::<f64>(4).unwrap();
    let b = Vector::from_vec(vec![1.0, f64::NEG_INFINITY, f64::NAN, 2.0]);
    assert_eq!(
        spsolve(&a, &b).unwrap_err().to_string(),
        "spsolve: expected a right-hand side that is finite, found -inf in element 1"
    );
}

#[test]
fn direct_solves_do_not_mix_runtimes() {
    let [mine, other] = [(); 2].map(|()| Runtime::new(config()).unwrap());
    let a = mine.enter(|| gallery::poisson1d::<f64>(9).unwrap());
    let b = other.enter(|| Vector::<f64>::ones([9]));
    let error = spsolve(&a, &b).unwrap_err().to_string();
    assert!(
        error.contains("expected stores of one runtime, found stores of two"),
        "{error}"
    );
}

/// Two runtimes never mix: not in an update, which leaves everything as it was, and not in a solve.
#[test]
fn operands_of_another_runtime() {
    let [mine, other] = [(); 2].map(|()| Runtime::new(config()).unwrap());
    let make = || gallery::poisson2d::<f64>(6).unwrap();
    let (a, foreign) = (mine.enter(make), other.enter(make));
    let [b, of_other] = [&mine, &other].map(|runtime| runtime.enter(|| ones(36)));
    let multigrid: (_, fn(&_) -> _) = ("multigrid", |a| boxed(Multigrid::aggregated(a)));
    let makers = general().into_iter().chain(definite()).chain(estimating());
    for (name, make) in makers.chain([multigrid]) {
        let mut m = make(&a).unwrap();
        let before = m.apply(&b).unwrap().to_vec().unwrap();
        let expected = ": expected a matrix of the runtime of the preconditioner, found one of \
                        another runtime";
        let error = m.update(&foreign).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{name}: {error}");
        assert_eq!(m.apply(&b).unwrap().to_vec().unwrap(), before, "{name}");
        let preconditioner = Some(&*m as &dyn LinearOperator<f64>);
        let options = Options {
            preconditioner,
            ..Options::default()
        };
        let error = gmres_with(&foreign, &of_other, options)
            .unwrap_err()
            .to_string();
        let expected = "gmres: expected a preconditioner of the runtime of b, found one of another \
                        runtime";
        assert_eq!(error, expected, "{name}");
    }
    for method in Method::ALL {
        for (x0, b, what) in [
            (Some(&b), &of_other, "an initial guess"),
            (None, &b, "a matrix"),
        ] {
            let options = Options {
                x0,
                ..Options::default()
            };
            let mut solver = KrylovSolver::new(method, &foreign, options);
            let error = solver.solve(b).unwrap_err().to_string();
            let expected = format!("{}: expected {what} of the runtime of b", method.name());
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}

/// An entry that is infinite or not a number is named by all set-ups and updates but Jacobi's,
/// which waits for no value: there the solve says so. An update that is refused changes nothing.
#[test]
fn entries_that_are_not_finite_are_named() {
    for ranks in 1..=3 {
        let program = |_: &_| {
            let a = gallery::poisson2d::<f64>(6).unwrap();
            let b = ones(36);
            let amg: Maker<f64> = ("amg", |a| boxed(Multigrid::aggregated(a)));
            let gmg: Maker<f64> = ("gmg", |a| boxed(Multigrid::on_grid(a, &[6, 6])));
            let makers = general().into_iter().chain(definite()).chain(estimating());
            for (name, make) in makers.chain([amg, gmg]) {
                let mut m = make(&a).unwrap();
                let before = m.apply(&b).unwrap().to_vec().unwrap();
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let row = |[entry]: [usize; 1]| if entry >= 100 { bad } else { 4.0 };
                    let bad = a.with_values(Vector::from_fn([a.nnz()], row)).unwrap();
                    let first = bad.first_not_finite().unwrap().unwrap();
                    let of_new = make(&bad).err();
                    if name == "jacobi" && first.value.is_infinite() {
                        continue;
                    }
                    if name == "jacobi" {
                        let m = make(&bad).unwrap();
                        let options = Options {
                            preconditioner: Some(&*m as &dyn LinearOperator<f64>),
                            ..Options::default()
                        };
                        let found = gmres_with(&a, &b, options).unwrap();
                        let expected = StopReason::NotFiniteInput(Input::Preconditioner);
                        assert_eq!(found.reason, expected);
                        continue;
                    }
                    for error in [of_new.unwrap(), m.update(&bad).unwrap_err()] {
                        let expected = format!(": expected entries that are finite, found {first}");
                        let error = error.to_string();
                        assert!(error.ends_with(&expected), "{name}: {error}");
                    }
                    assert_eq!(m.apply(&b).unwrap().to_vec().unwrap(), before, "{name}");
                }
            }
        };
        run_ranks(ranks, &config(), program).unwrap();
    }
}

#[test]
fn no_preconditioner_takes_a_rectangle() {
    let a = Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0]).unwrap();
    for (name, make) in general().into_iter().chain(definite()).chain(estimating()) {
        let message = make(&a).err().map(|error| error.to_string());
        assert!(message.unwrap().contains("expected a shape of"), "{name}");
    }
}

#[test]
fn a_shift_makes_pivots_positive() {
    // Kershaw's matrix: positive definite, and IC(0) has a negative pivot.
    let rows = [
        [3.0, -2.0, 0.0, 2.0],
        [-2.0, 3.0, -2.0, 0.0],
        [0.0, -2.0, 3.0, -2.0],
        [2.0, 0.0, -2.0, 3.0],
    ];
    let a = Csr::from_rows(4, 4, |range| {
        let mut local = LocalRows::with_capacity(4, 12);
        for row in range {
            for (column, &value) in rows[row].iter().enumerate() {
                if value != 0.0 {
                    local.push(column as u32, value);
                }
            }
            local.end_row();
        }
        local
    })
    .unwrap();
    let m = Ic0::new(&a).unwrap();
    assert!(m.shift() > 0.0 && m.shift() < 1.0, "{}", m.shift());
}

/// Squares of entries that leave the range of their type do not drop all but the diagonal.
#[test]
fn thresholds_of_large_entries_are_finite() {
    let a = gallery::poisson2d::<f64>(16).unwrap().scale(1e160);
    let ilut = Ilut::new(&a, IlutOptions::default()).unwrap();
    assert!(ilut.local_entries() > 256);
}

/// The inverse of such a matrix has elements that are infinite, and the matrix is not singular.
#[test]
fn matrices_with_large_inverses_are_not_singular() {
    let n = 1100;
    let mut triplets = Triplets::new(n, n).unwrap();
    for row in 0..n {
        triplets.push(row, row, 1.0).unwrap();
        if row + 1 < n {
            triplets.push(row, row + 1, -2.0).unwrap();
        }
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let mut first = vec![0.0; n];
    first[0] = 1.0;
    let b = Vector::from_vec(first.clone());
    assert_eq!(
        splu(&a).unwrap().apply(&b).unwrap().to_vec().unwrap(),
        first
    );
    // Of the transpose the last pivot would be 2^-1099.
    let error = splu(&a.transpose().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("found one with a pivot of 0"), "{error}");
    let singular = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0; 4]).unwrap();
    let error = splu(&singular).unwrap_err().to_string();
    assert!(error.ends_with("found one with a pivot of 0"), "{error}");
}

/// The inverses of some pivots are infinite, and the solutions are not.
#[test]
fn direct_solves_of_numbers_far_from_one() {
    for scale in [1e-310_f64, 1e-160, 1e160, 1e307] {
        let vals = vec![2.0, 1.0, scale, 3.0 * scale];
        let a = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vals).unwrap();
        let factors = splu(&a).unwrap();
        let b = Vector::from_vec(vec![3.0, 4.0 * scale]);
        let x = factors.solve(&b).unwrap().to_vec().unwrap();
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-13), "{scale}: {x:?}");
        let b = Vector::from_vec(vec![2.0 + scale, 1.0 + 3.0 * scale]) * 0.25;
        let x = factors.apply_adjoint(&b).unwrap().to_vec().unwrap();
        // The other one is lost beside the scale.
        let known = if scale < 1.0 { x[0] } else { x[1] };
        assert!((known - 0.25).abs() < 1e-13, "{scale}: {x:?}");
        let vals = [2.0, 1.0, scale, 3.0 * scale].map(|x| Complex::new(0.6 * x, 0.8 * x));
        let complex = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vals.to_vec()).unwrap();
        let b = Vector::from_vec(vec![Complex::new(3.0, 0.0), (4.0 * scale).into()]);
        let x = splu(&complex).unwrap().solve(&b).unwrap().to_vec().unwrap();
        let error = |x: &Complex<f64>| (x - Complex::new(0.6, -0.8)).norm();
        assert!(x.iter().all(|x| error(x) < 1e-13), "{scale}: {x:?}");
    }
}

/// L U with pivots needs no diagonal.
#[test]
fn direct_blocks_need_no_diagonal() {
    let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 0], vec![1.0; 3]).unwrap();
    let options = SchwarzOptions {
        blocks: Some(1),
        solve: BlockSolve::Direct,
        ..SchwarzOptions::default()
    };
    let m = AdditiveSchwarz::new(&a, options).unwrap();
    let b = Vector::from_vec(vec![3.0, 1.0]);
    assert_eq!(m.apply(&b).unwrap().to_vec().unwrap(), [1.0, 2.0]);
}

/// Vectors of another length are refused, also one of a single element, which would be repeated.
#[test]
fn vectors_of_another_length() {
    let a = gallery::poisson2d::<f64>(6).unwrap();
    let n = a.n_rows();
    let multigrid = Multigrid::aggregated(&a).unwrap();
    let multicolor = SorOptions {
        order: SorOrder::Multicolor,
        ..SorOptions::default()
    };
    let makers: [(&str, Box<dyn LinearOperator<f64>>); 6] = [
        ("jacobi", Box::new(Jacobi::new(&a).unwrap())),
        ("sor", Box::new(Sor::new(&a, multicolor).unwrap())),
        ("multigrid", Box::new(multigrid)),
        ("ilu0", Box::new(Ilu0::new(&a).unwrap())),
        (
            "chebyshev",
            Box::new(Chebyshev::new(&a, ChebyshevOptions::default()).unwrap()),
        ),
        (
            "polynomial",
            Box::new(Polynomial::new(&a, PolynomialOptions::default()).unwrap()),
        ),
    ];
    for (name, m) in makers {
        for len in [1, n - 1, n + 1] {
            assert!(m.apply(&Vector::ones([len])).is_err(), "{name} of {len}");
        }
        assert!(m.apply(&Vector::ones([n])).is_ok(), "{name}");
    }
}

/// An overlap of everything that is connected ends.
#[test]
fn blocks_with_all_of_the_matrix() {
    for ranks in 1..=3 {
        run_ranks(ranks, &config(), |_| {
            let a = gallery::poisson1d::<f64>(24).unwrap();
            let options = SchwarzOptions {
                overlap: usize::MAX,
                solve: BlockSolve::Direct,
                ..SchwarzOptions::default()
            };
            let m = AdditiveSchwarz::new(&a, options).unwrap();
            assert_eq!(m.apply(&ones(24)).unwrap().len(), 24);
        })
        .unwrap();
    }
}
