//! What methods refuse, and when they stop without a solution.

use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Runtime, run_ranks};
use sparsefuse_solvers::preconditioners::BlockJacobi;
use sparsefuse_solvers::{Input, Jacobi, MatrixFree, Method, Options, StopReason};
use sparsefuse_sparse::{Csr, Dia, LocalRows, gallery};

/// Second differences with a wind: not symmetric.
fn convection(n: usize, wind: f64) -> Csr<f64> {
    let rows = Csr::from_rows(n, n, |rows| {
        let mut entries = LocalRows::with_capacity(rows.len(), 3 * rows.len());
        for row in rows {
            if row > 0 {
                entries.push(row as u32 - 1, -1.0 - wind);
            }
            entries.push(row as u32, 2.0);
            if row + 1 < n {
                entries.push(row as u32 + 1, -1.0 + wind);
            }
            entries.end_row();
        }
        entries
    });
    rows.unwrap()
}

#[test]
fn a_matrix_that_is_not_symmetric_is_named_at_once() {
    for (ranks, n) in [(1, 50), (1, 50_000), (3, 50_000)] {
        let messages = run_ranks(ranks, &Config::default(), |_| {
            let a = convection(n, 0.25);
            let b = Vector::ones([n]);
            let methods = Method::ALL.into_iter().filter(|it| it.needs_hermitian());
            let refused = methods.map(|method| {
                let error = method.solve(&a, &b, Options::default()).unwrap_err();
                format!("{error}")
            });
            refused.collect::<Vec<_>>()
        });
        let messages = messages.unwrap();
        assert_eq!(messages[0].len(), 4);
        assert!(messages.iter().all(|it| *it == messages[0]));
        let expected = "cg: expected a symmetric matrix, found -7.5e-1 in row 0, column 1 and \
                        -1.25e0 in row 1, column 0";
        assert_eq!(messages[0][0], expected);
    }
    // Rounding is no asymmetry, and other methods need no symmetry.
    let b = Vector::ones([50]);
    let rounded = Method::Cg.solve(&convection(50, 1e-15), &b, Options::default());
    assert!(rounded.unwrap().converged());
    let gmres = Method::GMRES.solve(&convection(50, 0.25), &b, Options::default());
    assert!(gmres.unwrap().converged());
}

/// What is infinite or not a number is named: the entry of a matrix, the right-hand side, the
/// initial guess, also one whose residual is too large to be squared.
#[test]
fn what_is_not_finite_is_named() {
    let n = 50;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    let b = Vector::ones([n]);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // The diagonal entry of row 10.
        let entry = |[entry]: [usize; 1]| if entry == 30 { bad } else { 1.0 };
        let matrix = a.with_values(Vector::from_fn([a.nnz()], entry)).unwrap();
        let vector = Vector::from_fn([n], |[i]| if i == 17 { bad } else { 1.0 });
        for method in Method::ALL {
            let error = method.solve(&matrix, &b, Options::default()).unwrap_err();
            let name = method.name();
            let expected = format!(
                "{name}: expected entries that are finite, found {bad} in row 10, column 10"
            );
            assert_eq!(error.to_string(), expected);
            let reason = |b, x0| {
                let options = Options {
                    x0,
                    ..Options::default()
                };
                method.solve(&a, b, options).unwrap().reason
            };
            let of_b = StopReason::NotFiniteInput(Input::RightHandSide);
            assert_eq!(reason(&vector, None), of_b, "{method}");
            let of_guess = StopReason::NotFiniteInput(Input::InitialGuess);
            assert_eq!(reason(&b, Some(&vector)), of_guess, "{method}");
            let large = Vector::full([n], 1e200);
            assert_eq!(reason(&b, Some(&large)), of_guess, "{method}");
        }
    }
    assert_eq!(
        StopReason::NotFiniteInput(Input::RightHandSide).to_string(),
        "the right-hand side is infinite or not a number"
    );
}

#[test]
fn an_image_of_another_runtime_is_an_error() {
    let other = Runtime::new(Config::default()).unwrap();
    let a = gallery::poisson1d::<f64>(20).unwrap();
    let b = Vector::ones([20]);
    let elsewhere = MatrixFree::new(20, |_: &Vector<f64>| {
        Ok(other.enter(|| Vector::<f64>::ones([20])))
    });
    for method in Method::ALL {
        let options = Options {
            preconditioner: Some(&elsewhere),
            ..Options::default()
        };
        let errors = [
            method
                .solve(&elsewhere, &b, Options::default())
                .unwrap_err(),
            method.solve(&a, &b, options).unwrap_err(),
        ];
        for error in errors.map(|error| error.to_string()) {
            let is_named = error.contains("an image of another runtime");
            assert!(is_named || error.contains("without"), "{method}: {error}");
        }
    }
}

#[test]
fn fgmres_with_a_giant_restart_and_with_none() {
    let a = gallery::poisson1d::<f64>(30).unwrap();
    let b = Vector::ones([30]);
    let solve = |restart| Method::Fgmres { restart }.solve(&a, &b, Options::default());
    for restart in [usize::MAX, usize::MAX / 2, 100_000_000_000] {
        assert!(solve(restart).unwrap().converged());
    }
    let error = solve(0).unwrap_err().to_string();
    assert_eq!(error, "fgmres: expected restart to be 1 or more, found 0");
}

#[test]
fn block_jacobi_with_giant_blocks() {
    let a = gallery::poisson1d::<f64>(30).unwrap();
    let m = BlockJacobi::new(&a, usize::MAX).unwrap();
    let options = Options {
        preconditioner: Some(&m),
        ..Options::default()
    };
    let found = Method::Cg.solve(&a, &Vector::ones([30]), options).unwrap();
    assert_eq!(found.iterations, 1);
    // Blocks of 8 TB are refused before anything is allocated.
    let a = gallery::poisson1d::<f64>(1_000_000).unwrap();
    let error = BlockJacobi::new(&a, usize::MAX).unwrap_err().to_string();
    assert!(
        error.contains("blocks whose inverses memory can hold"),
        "{error}"
    );
}

/// x += r with A = 3 I triples the error and more: the residual doubles in each iteration.
#[test]
fn a_residual_that_grows_diverges() {
    let a = Csr::<f64>::identity(10).unwrap().scale(3.0);
    let b = Vector::ones([10]);
    let run = |dtol: f64| {
        let options = Options {
            dtol,
            max_iter: Some(200),
            ..Options::default()
        };
        let found = Method::Richardson.solve(&a, &b, options).unwrap();
        (found.reason, found.iterations)
    };
    assert_eq!(run(1e5), (StopReason::Diverged, 17));
    assert_eq!(run(1000.0), (StopReason::Diverged, 10));
    assert_eq!(run(f64::INFINITY), (StopReason::IterationLimit, 200));
    assert_eq!(StopReason::Diverged.to_string(), "diverged");
    // A guess that is far off has its own residual to be measured by.
    let x0 = Vector::from_vec(vec![1e9; 10]);
    let options = Options {
        x0: Some(&x0),
        ..Options::default()
    };
    assert!(Method::Cg.solve(&a, &b, options).unwrap().converged());
}

/// With a wind over the grid the residuals of biconjugate gradients rise a million times before
/// they fall; those of a method that smooths them do not.
#[test]
fn a_residual_that_has_peaks_converges() {
    let n = 100;
    let (along, across) = (20.0 / 101.0, 10.0 / 101.0);
    let line = |wind: f64| {
        let diagonals = [(-1, [-1.0 - wind]), (0, [2.0]), (1, [-1.0 + wind])];
        Dia::from_diagonals(n, n, &diagonals)
            .unwrap()
            .to_csr()
            .unwrap()
    };
    let one = Csr::identity(n).unwrap();
    let a = one.kron(&line(along)).unwrap() + line(across).kron(&one).unwrap();
    let b = &a * Vector::ones([n * n]);
    let peak = |method: Method| {
        let found = method.solve(&a, &b, Options::default()).unwrap();
        assert!(found.converged(), "{method}: {found}");
        found.history.iter().copied().fold(0.0, f64::max) / found.rhs_norm
    };
    assert!(peak(Method::Bicg) > 1e5);
    assert!(peak(Method::Qmr) < 1e2);
}

/// In single precision nothing is claimed below half of its precision: the residual that says so
/// may itself be rounding.
#[test]
fn single_precision_claims_nothing_below_its_precision() {
    let a = gallery::random::<f32>(500, 5, 3).unwrap();
    let wide = gallery::random::<f64>(500, 5, 3).unwrap();
    let b = Vector::<f32>::random_normal([500], 7);
    let jacobi = Jacobi::new(&a).unwrap();
    let exact = |x: &[f32]| {
        let x = Vector::from_vec(x.iter().map(|&x| f64::from(x)).collect());
        let wide_b: Vec<f64> = b.to_vec().unwrap().iter().map(|&b| f64::from(b)).collect();
        let b = Vector::from_vec(wide_b);
        let r = &b - &wide * &x;
        r.norm2().get().unwrap() / b.norm2().get().unwrap()
    };
    for rtol in [1e-6, 1e-7, 3e-8, 1e-8, 1e-9, 0.0] {
        for method in Method::ALL.into_iter().filter(|it| !it.needs_hermitian()) {
            let options = Options {
                rtol,
                preconditioner: Some(&jacobi),
                ..Options::default()
            };
            let found = method.solve(&a, &b, options).unwrap();
            let claims = found.reason == StopReason::Converged;
            assert!(!claims || rtol > 5e-8, "{method}: {rtol}");
            let x = found.x.to_vec().unwrap();
            let rounding = 1e-7;
            assert!(!claims || exact(&x) <= rtol + rounding, "{method}: {rtol}");
        }
    }
}
