//! What the Krylov methods have beside convergence: sides, restarts, options that are refused,
//! solvers that are kept, the direct solution of real matrices.

use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, Triplet};
use sparsefuse::prelude::*;
use sparsefuse::runtime::Counters;
use sparsefuse::solvers::{Breakdown, Checkpoint, KrylovSolver, Method, Side};
use sparsefuse::sparse::matrix_market::Content;
use sparsefuse_testing::small;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;

fn square_methods() -> impl Iterator<Item = Method> {
    let methods = Method::ALL.into_iter();
    methods.filter(|method| !method.is_least_squares())
}

#[test]
fn methods_are_called_by_their_names() {
    for method in Method::ALL {
        assert_eq!(Method::from_name(method.name()), Some(method));
        assert_eq!(method.to_string(), method.name());
    }
    assert_eq!(Method::from_name("gmress"), None);
}

/// A diagonal preconditioner that is far from constant, so that the sides differ.
fn system() -> (Csr<f64>, Vector<f64>, Jacobi<f64>) {
    let a = gallery::random::<f64>(300, 8, 2).unwrap();
    let b = Vector::random_normal([300], 1);
    let (_, local) = a.local_rows().unwrap();
    let scale = |k: u64| 1.0 + (k % 10) as f64;
    let vals = local.pos.windows(2).enumerate().flat_map(|(row, entries)| {
        let local = &local;
        (entries[0]..entries[1]).map(move |k| local.vals[k as usize] * scale(row as u64))
    });
    let a = a.with_values(Vector::from_vec(vals.collect())).unwrap();
    let jacobi = Jacobi::new(&a).unwrap();
    (a, b, jacobi)
}

#[test]
fn the_preconditioner_on_either_side() {
    let (a, b, jacobi) = system();
    let on = |side, restart| {
        let options = Options {
            preconditioner: Some(&jacobi),
            rtol: 1e-10,
            ..Options::default()
        };
        let gmres = Method::Gmres { restart, side };
        let solution = gmres.solve(&a, &b, options).unwrap();
        assert!(solution.converged() && solution.relative_residual() <= 1e-10);
        assert_eq!(solution.history[0], b.norm2().get().unwrap());
        solution
    };
    for restart in [1, 4, 50] {
        let (right, left) = (on(Side::Right, restart), on(Side::Left, restart));
        assert_ne!(right.history, left.history);
        let distance = (&right.x - &left.x).norm2().get().unwrap();
        assert!(distance < 1e-8 * right.x.norm2().get().unwrap());
    }
}

/// From the right the residual never rises, and its estimate is that of the true residual, as far
/// as the basis is orthogonal: to the square root of the rounding error.
#[test]
fn gmres_minimises_the_residual() {
    let (a, b, jacobi) = system();
    for restart in [3, 8, 40] {
        let side = Side::Right;
        let gmres = Method::Gmres { restart, side };
        let all = Options {
            preconditioner: Some(&jacobi),
            rtol: 1e-12,
            ..Options::default()
        };
        let history = gmres.solve(&a, &b, all).unwrap().history;
        assert!(
            history
                .windows(2)
                .all(|pair| pair[1] <= pair[0] * (1.0 + 1e-10))
        );
        for most in 1..history.len() {
            let options = Options {
                preconditioner: Some(&jacobi),
                rtol: 0.0,
                max_iter: Some(most),
                ..Options::default()
            };
            let limited = gmres.solve(&a, &b, options).unwrap();
            let difference = (limited.residual_norm - history[most]).abs();
            assert!(
                difference <= 3e-8 * history[most] + 1e-14 * history[0],
                "{most}"
            );
        }
    }
}

/// A Krylov space that is exhausted holds the solution; where the matrix is singular on it, that
/// is said, by `minres` together with the x of the smallest residual.
#[test]
fn exhausted_spaces() {
    let a = gallery::poisson1d::<f64>(40).unwrap();
    // Symmetric: half the dimensions are enough.
    let b = Vector::from_fn([40], |[i]| if i == 19 || i == 20 { 1.0 } else { 0.0 });
    for method in [Method::GMRES, Method::FGMRES, Method::Minres] {
        let options = Options {
            rtol: 1e-13,
            ..Options::default()
        };
        let solution = method.solve(&a, &b, options).unwrap();
        assert!(solution.converged(), "{method}: {}", solution.reason);
        assert!(solution.iterations <= 20, "{method}");
    }
    let diagonal = Csr::new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![1.0, 2.0, 0.0]);
    for method in [Method::GMRES, Method::FGMRES, Method::Minres] {
        let singular = diagonal.clone().unwrap();
        let solution = method.solve(&singular, &Vector::ones([3]), Options::default());
        let solution = solution.unwrap();
        let expected = match method {
            Method::Minres => StopReason::LeastSquares,
            _ => StopReason::Breakdown(Breakdown::Projection),
        };
        assert_eq!(solution.reason, expected, "{method}");
        if method == Method::Minres {
            assert!((solution.residual_norm - 1.0).abs() < 1e-12);
        }
    }
}

/// What is left of the image of a vector may be small and yet be what the solution needs.
#[test]
fn spaces_that_grow_by_little() {
    fn check<T: Field>(little: f64) {
        let entries = [1.0, 1.0, 1.0, 1.0, 1.0, little].map(T::from_f64).to_vec();
        let a = Csr::new(3, 3, vec![0, 3, 5, 6], vec![0, 1, 2, 0, 1, 1], entries).unwrap();
        let b = Vector::from_vec([1.0, 0.0, 0.0].map(T::from_f64).to_vec());
        for method in [Method::GMRES, Method::FGMRES] {
            let solution = method.solve(&a, &b, Options::default()).unwrap();
            assert!(solution.converged(), "{method}: {}", solution.reason);
            assert!(solution.iterations <= 4, "{method}");
        }
    }
    check::<f32>(1e-3);
    check::<f64>(1e-3);
    check::<f64>(1e-8);
}

/// A cycle of restarted GMRES that makes the residual larger is not what comes back.
#[test]
fn no_solution_is_worse_than_none() {
    let diagonal = vec![1.0f32, 2.0, 0.0];
    let a = Csr::new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], diagonal).unwrap();
    let b = Vector::ones([3]);
    for method in [Method::GMRES, Method::FGMRES] {
        let solution = method.solve(&a, &b, Options::default()).unwrap();
        assert!(!solution.converged());
        assert!(
            solution.residual_norm <= 1.001 * solution.rhs_norm,
            "{method}"
        );
    }
}

/// With a preconditioner minres makes r'M^-1 r least, here 0.825 for the residual, not 0.778.
#[test]
fn preconditioned_minres_claims_no_least_squares() {
    // The Laplacian of a path; its image does not have b.
    let a = Csr::new(
        3,
        3,
        vec![0, 2, 5, 7],
        vec![0, 1, 0, 1, 2, 1, 2],
        vec![1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 1.0],
    )
    .unwrap();
    let b = Vector::from_vec(vec![1.0, 1.0, 5.0]);
    let plain = Method::Minres.solve(&a, &b, Options::default()).unwrap();
    assert_eq!(plain.reason, StopReason::LeastSquares);
    let jacobi = Jacobi::new(&a).unwrap();
    let options = Options {
        preconditioner: Some(&jacobi),
        ..Options::default()
    };
    let solution = Method::Minres.solve(&a, &b, options).unwrap();
    assert!(solution.residual_norm > 1.05 * plain.residual_norm);
    assert_eq!(solution.reason, StopReason::Stagnation);
    assert!(!solution.converged());
}

/// Rounding keeps the gradient above eps^(1/2) or so; from there on x grew until it was all noise.
#[test]
fn minres_ends_where_rounding_hides_the_least_squares_solution() {
    let n = 50;
    let solve = |least: f64, rtol: f64| {
        let values = (0..n).map(|i| if i == 0 { least } else { f64::from(i) });
        let (pos, crd) = ((0..=n as u64).collect(), (0..n as u32).collect());
        let a = Csr::new(n as usize, n as usize, pos, crd, values.collect()).unwrap();
        let options = Options {
            rtol,
            ..Options::default()
        };
        Method::Minres
            .solve(&a, &Vector::ones([n as usize]), options)
            .unwrap()
    };
    let singular = solve(0.0, 1e-8);
    assert_eq!(singular.reason, StopReason::LeastSquares);
    assert!((singular.residual_norm - 1.0).abs() < 1e-9);
    let x = singular.x.to_vec().unwrap();
    for i in 1..n as usize {
        assert!((x[i] * i as f64 - 1.0).abs() < 1e-5, "{i}");
    }
    // What only looks like it is solved.
    let regular = solve(1e-10, 1e-3);
    assert!(regular.converged(), "{}", regular.reason);
    assert!((regular.x.to_vec().unwrap()[0] * 1e-10 - 1.0).abs() < 1e-2);
}

/// A residual of the smallest eigenvalues has a small gradient, which makes no regular system one
/// of least squares.
#[test]
fn minres_solves_what_is_regular_with_a_large_tolerance() {
    let n = 400;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    let wave = |k: usize, i: usize| ((k * (i + 1)) as f64 * std::f64::consts::PI / 401.0).sin();
    let b = Vector::from_fn([n], |[i]| wave(1, i) + 1e-3 * wave(390, i));
    let options = Options {
        rtol: 0.1,
        ..Options::default()
    };
    let solution = Method::Minres.solve(&a, &b, options).unwrap();
    assert!(solution.converged(), "{}", solution.reason);
}

#[test]
fn restarts_that_gain_nothing_end() {
    // A shift by one: nothing but the last of n iterations reduces the residual.
    let n = 12;
    let pos = (0..=n as u64).collect();
    let crd = (0..n as u32).map(|row| (row + 1) % n as u32).collect();
    let a = Csr::new(n, n, pos, crd, vec![1.0; n]).unwrap();
    let b = Vector::from_fn([n], |[i]| if i == 0 { 1.0 } else { 0.0 });
    let restarted = |restart| {
        let side = Side::Right;
        let gmres = Method::Gmres { restart, side };
        let solution = gmres.solve(&a, &b, Options::default()).unwrap();
        (solution.reason, solution.iterations)
    };
    assert_eq!(restarted(5), (StopReason::Stagnation, 5));
    assert_eq!(restarted(12), (StopReason::Converged, 12));
}

#[test]
fn a_preconditioner_that_changes() {
    let (a, b, jacobi) = system();
    let calls = Cell::new(0);
    let changing = MatrixFree::new(300, |r: &Vector<f64>| {
        calls.set(calls.get() + 1);
        let z = jacobi.apply(r)?;
        // Every other time one step of Richardson's iteration more.
        if calls.get() % 2 == 0 {
            return Ok(z);
        }
        let rest = r - &a * &z;
        Ok(&z + jacobi.apply(&rest)?)
    });
    for restart in [4, 30] {
        let options = Options {
            preconditioner: Some(&changing),
            rtol: 1e-10,
            ..Options::default()
        };
        let fgmres = Method::Fgmres { restart };
        let solution = fgmres.solve(&a, &b, options).unwrap();
        assert!(solution.converged(), "{}", solution.reason);
    }
}

#[test]
fn options_that_a_method_does_not_have_are_refused() {
    let a = gallery::poisson1d::<f64>(5).unwrap();
    let b = Vector::<f64>::ones([5]);
    let file = Path::new("state.ck");
    for method in square_methods() {
        let refused = |options, message: &str| {
            let error = method.solve(&a, &b, options).unwrap_err();
            assert_eq!(error.to_string(), format!("{method}: expected {message}"));
        };
        if !method.has_checkpoints() {
            let none = "no checkpoint, which only cg, cgs and bicgstab have, found";
            let saved = Options {
                checkpoint: Some(Checkpoint { file, every: 1 }),
                ..Options::default()
            };
            refused(saved, &format!("{none} one to be written to state.ck"));
            let resumed = Options {
                resume: Some(file),
                ..Options::default()
            };
            refused(resumed, &format!("{none} one to resume from, state.ck"));
        }
    }
}

#[test]
fn a_solver_for_many_right_hand_sides() {
    let n = 100;
    let a = gallery::poisson2d::<f64>(10).unwrap();
    let jacobi = Jacobi::new(&a).unwrap();
    let columns = Array::<f64, 2>::random_normal([n, 3], 1);
    let vectors: Vec<_> = (0..3)
        .map(|j| columns.column(j).contiguous().unwrap())
        .collect();
    for method in Method::ALL {
        let options = || Options {
            preconditioner: Some(&jacobi),
            rtol: 1e-9,
            ..Options::default()
        };
        let mut count = 0;
        let mut watch = |_: usize, _: f64| {
            count += 1;
            ControlFlow::Continue(())
        };
        let watched = Options {
            monitor: Some(&mut watch),
            ..options()
        };
        let mut solver = KrylovSolver::new(method, &a, watched);
        let many = solver.solve_many(&vectors).unwrap();
        let by_column = solver.solve_columns(&columns).unwrap();
        let mut seen = 0;
        for ((one, other), b) in many.iter().zip(&by_column).zip(&vectors) {
            let alone = method.solve(&a, b, options()).unwrap();
            assert!(alone.converged(), "{method}");
            let x = alone.x.to_vec().unwrap();
            assert_eq!(one.x.to_vec().unwrap(), x, "{method}");
            assert_eq!(other.x.to_vec().unwrap(), x, "{method}");
            seen += 2 * alone.history.len();
        }
        assert_eq!(count, seen, "{method}: the monitor sees all solves");
    }
}

/// Solves side by side have the bits of solves one after the other, whatever ends them and
/// whenever; they share their tasks and reductions.
#[test]
fn right_hand_sides_side_by_side() {
    let config = Config {
        threads: 1,
        tile_len: 16,
        cut_threshold: 32,
        ..Config::default()
    };
    for ranks in [1, 3] {
        let run = run_ranks(ranks, &config, |runtime| {
            let n = 144;
            let a = gallery::poisson2d::<f64>(12).unwrap();
            let mut rhs: Vec<_> = (0..7)
                .map(|seed| Vector::random_normal([n], seed))
                .collect();
            rhs.insert(2, Vector::zeros([n]));
            rhs.insert(4, &a * &Vector::ones([n]));
            rhs.push(Vector::full([n], f64::NAN));
            let jacobi = Jacobi::new(&a).unwrap();
            for method in Method::ALL {
                let method = match method {
                    Method::Gmres { side, .. } => Method::Gmres { restart: 7, side },
                    Method::Fgmres { .. } => Method::Fgmres { restart: 7 },
                    other => other,
                };
                let options = || Options {
                    preconditioner: Some(&jacobi),
                    max_iter: Some(40),
                    ..Options::default()
                };
                let work = |before: Counters| {
                    let now = runtime.counters();
                    let reductions = now.reductions - before.reductions;
                    [now.fused_tasks - before.fused_tasks, reductions]
                };
                let start = runtime.counters();
                let alone = |b: &Vector<f64>| method.solve(&a, b, options()).unwrap();
                let one_by_one: Vec<_> = rhs.iter().map(alone).collect();
                let of_each = work(start);
                let start = runtime.counters();
                let mut solver = KrylovSolver::new(method, &a, options());
                let together = solver.solve_many(&rhs).unwrap();
                let of_all = work(start);
                for (one, other) in one_by_one.iter().zip(&together) {
                    let bits = |x: &Vector<f64>| -> Vec<u64> {
                        x.to_vec().unwrap().into_iter().map(f64::to_bits).collect()
                    };
                    assert_eq!(bits(&one.x), bits(&other.x), "{method} on {ranks}");
                    assert_eq!(one.reason, other.reason, "{method} on {ranks}");
                    assert_eq!(one.history.len(), other.history.len());
                }
                for (together, each) in of_all.into_iter().zip(of_each) {
                    assert!(
                        2 * together <= each + 12,
                        "{method}: {of_all:?} {of_each:?}"
                    );
                }
            }
        });
        run.unwrap();
    }
}

/// Where the operator of one rank fails, which none should do alone, this rank has its error, and
/// ranks that are checked say where they part.
#[test]
fn a_failure_on_one_rank_ends_the_solves_side_by_side() {
    let config = Config {
        threads: 1,
        check_ranks: true,
        ..small()
    };
    for failing in [4, 5, 12, 20] {
        let outcomes = run_ranks(2, &config, |runtime| {
            let a = gallery::poisson2d::<f64>(9).unwrap();
            let calls = Cell::new(0);
            let fails = MatrixFree::new(81, |x: &Vector<f64>| {
                calls.set(calls.get() + 1);
                if runtime.rank() == 1 && calls.get() == failing {
                    return Err(Error::argument("test", "success", "a failure"));
                }
                a.try_matvec(x)
            });
            let rhs: Vec<_> = (0..3)
                .map(|seed| Vector::random_normal([81], seed))
                .collect();
            let mut solver = KrylovSolver::new(Method::Cg, &fails, Options::default());
            let error = solver.solve_many(&rhs).unwrap_err().to_string();
            assert!(
                runtime.rank() == 0 || error.contains("found a failure"),
                "{error}"
            );
        });
        let error = outcomes.unwrap_err().to_string();
        assert!(error.contains("they diverge at task"), "{error}");
    }
}

/// From the second solve on nothing is analysed, and no memory comes from the system.
#[test]
fn a_solver_keeps_what_it_needs() {
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    runtime.enter(|| {
        let a = gallery::poisson2d::<f64>(40).unwrap();
        for method in Method::ALL {
            let options = Options {
                max_iter: Some(70),
                rtol: 0.0,
                dtol: f64::INFINITY,
                ..Options::default()
            };
            let mut solver = KrylovSolver::new(method, &a, options);
            let mut solve = |seed| {
                let before = runtime.counters();
                let solution = solver.solve(&Vector::random_normal([1600], seed)).unwrap();
                assert_eq!(solution.iterations, 70, "{method}: {}", solution.reason);
                drop(solution);
                let after = runtime.counters();
                let new = (after.windows - after.trace_hits) - (before.windows - before.trace_hits);
                (new, runtime.peak_memory())
            };
            solve(1);
            let (_, peak) = solve(2);
            for seed in 3..5 {
                assert_eq!(solve(seed), (0, peak), "{method}, right-hand side {seed}");
            }
        }
    });
}

/// The files of `shared/matrices` that a test has time for, and whether each is positive definite.
fn small_matrices() -> Vec<(String, Triplets<f64>, bool)> {
    let Some(folder) = sparsefuse_testing::matrices() else {
        return Vec::new();
    };
    let manifest = std::fs::read_to_string(folder.join("manifest.csv")).unwrap();
    let rows = manifest
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>());
    let is_small = |columns: &Vec<&str>| {
        let number = |column: usize| columns[column].parse::<usize>().unwrap();
        number(6) == number(7) && number(6) <= 1500 && columns[13] != "complex"
    };
    rows.filter(is_small)
        .map(|columns| {
            let content = matrix_market::read(folder.join(columns[1])).unwrap().1;
            let Content::Sparse(triplets) = content else {
                panic!("{} is sparse", columns[0])
            };
            (columns[0].to_owned(), triplets, columns[12] == "SPD/HPD")
        })
        .collect()
}

/// A method that claims to have converged on a real matrix is as near to faer's direct solution as
/// the residual says; and many methods do.
#[test]
fn real_matrices_beside_a_direct_solution() {
    let matrices = small_matrices();
    let mut converged = 0;
    for (name, triplets, is_definite) in &matrices {
        let n = triplets.n_rows();
        let a = Csr::from_triplets(triplets).unwrap();
        let b = &a * &Vector::ones([n]);
        let entries: Vec<_> = triplets
            .iter()
            .map(|(row, col, val)| Triplet::new(row as usize, col as usize, val))
            .collect();
        let direct = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &entries).unwrap();
        let Ok(lu) = direct.sp_lu() else {
            println!("{name}: singular");
            continue;
        };
        let jacobi = Jacobi::new(&a).unwrap();
        for method in Method::ALL {
            if method.is_for_definite() && !is_definite {
                continue;
            }
            let options = Options {
                preconditioner: Some(&jacobi),
                max_iter: Some(1000),
                ..Options::default()
            };
            let solution = method.solve(&a, &b, options);
            if method.needs_hermitian() && !a.is_hermitian().unwrap() {
                let error = solution.unwrap_err().to_string();
                assert!(error.contains("a symmetric matrix"), "{name}: {error}");
                continue;
            }
            let solution = solution.unwrap();
            println!(
                "{name} {method}: {} after {}, {:.1e}",
                solution.reason,
                solution.iterations,
                solution.relative_residual()
            );
            if solution.reason != StopReason::Converged {
                continue;
            }
            converged += 1;
            // x - x* = A^-1 r, by the direct method.
            let r = (&b - &a * &solution.x).to_vec().unwrap();
            let error = lu.solve(faer::MatRef::from_column_major_slice(&r, n, 1));
            let rhs = b.to_vec().unwrap();
            let exact = lu.solve(faer::MatRef::from_column_major_slice(&rhs, n, 1));
            let x = solution.x.to_vec().unwrap();
            for (i, &found) in x.iter().enumerate() {
                let distance = (found - exact[(i, 0)] - -error[(i, 0)]).abs();
                let scale = exact.norm_max() + error.norm_max();
                assert!(
                    distance <= 1e-3 * scale,
                    "{name} {method}: {distance} of {scale}"
                );
            }
        }
    }
    assert!(converged >= 3 * matrices.len(), "{converged}");
}
