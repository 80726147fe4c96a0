//! What fusion makes of whole programs: fused tasks per iteration, memory, windows remembered.
//!
//! Each count is exact and the same on any number of ranks from two on; one rank, where every
//! partition is the whole store, may need fewer, but not for most Krylov methods: their products
//! exchange ghosts within a fused task. The published counts in the comments are those of
//! Yadav et al., *Composing Distributed Computations Through Task and Kernel Fusion* (2025).

use sparsefuse::prelude::*;
use sparsefuse::runtime::Counters;
use sparsefuse::solvers::{minres_with, pipelined_cg_with, single_reduction_cg_with, tfqmr_with};
use sparsefuse_testing::small;
use std::ops::ControlFlow;

fn difference(after: Counters, before: Counters) -> Counters {
    Counters {
        tasks: after.tasks - before.tasks,
        fused_tasks: after.fused_tasks - before.fused_tasks,
        windows: after.windows - before.windows,
        trace_hits: after.trace_hits - before.trace_hits,
        reductions: after.reductions - before.reductions,
        ..after
    }
}

/// What one more iteration of a program costs, between its fifth and its last.
fn per_iteration(ranks: usize, run: impl Fn(u64) + Sync) -> Counters {
    const FIRST: u64 = 5;
    const MORE: u64 = 40;
    let counts = run_ranks(ranks, &small(), |runtime| {
        let count = |iterations| {
            let before = runtime.counters();
            run(iterations);
            runtime.flush();
            difference(runtime.counters(), before)
        };
        let (few, many) = (count(FIRST), count(FIRST + MORE));
        let more = difference(many, few);
        assert_eq!(
            more.tasks % MORE,
            0,
            "every iteration issues the same tasks"
        );
        assert_eq!(
            more.fused_tasks % MORE,
            0,
            "every iteration fuses the same way"
        );
        assert_eq!(
            more.reductions % MORE,
            0,
            "every iteration reduces the same way"
        );
        Counters {
            tasks: more.tasks / MORE,
            fused_tasks: more.fused_tasks / MORE,
            reductions: more.reductions / MORE,
            ..Counters::default()
        }
    });
    let counts = counts.unwrap();
    assert!(
        counts.iter().all(|count| *count == counts[0]),
        "every rank decides alike"
    );
    counts[0]
}

/// A Krylov method, as a value.
type Method = fn(&Csr<f64>, &Vector<f64>, Options<'_, f64>) -> Result<Solution<f64>, Error>;

/// Runs a Krylov method for exactly `iterations` iterations.
fn iterate(method: Method, preconditioned: bool, iterations: u64) {
    let a = gallery::poisson2d::<f64>(40).unwrap();
    let b = Vector::random_uniform([1600], 1);
    let jacobi = Jacobi::new(&a).unwrap();
    let options = Options {
        rtol: 0.0,
        max_iter: Some(iterations as usize),
        preconditioner: preconditioned.then_some(&jacobi as _),
        ..Options::default()
    };
    let solution = method(&a, &b, options).unwrap();
    assert_eq!(solution.iterations as u64, iterations);
}

/// Asserts the fused tasks per iteration on one rank and on several, and on these the reductions.
#[track_caller]
fn check(on_one: u64, on_several: u64, reductions: u64, run: impl Fn(u64) + Sync) {
    for ranks in [1, 2, 3, 5] {
        let expected = if ranks == 1 {
            (on_one, 0)
        } else {
            (on_several, reductions)
        };
        let found = per_iteration(ranks, &run);
        let Counters {
            tasks, fused_tasks, ..
        } = found;
        println!("{found:?} on {ranks} ranks");
        let found = (fused_tasks, found.reductions);
        assert_eq!(found, expected, "of {tasks} tasks on {ranks} ranks");
    }
}

#[test]
fn conjugate_gradients() {
    check(2, 2, 2, |k| {
        iterate(|a, b, options| cg_with(a, b, options), false, k)
    });
}

#[test]
fn conjugate_gradients_with_jacobi() {
    check(2, 2, 2, |k| {
        iterate(|a, b, options| cg_with(a, b, options), true, k)
    });
}

#[test]
fn conjugate_gradients_squared() {
    check(2, 2, 2, |k| {
        iterate(|a, b, options| cgs_with(a, b, options), false, k)
    });
}

#[test]
fn stabilised_biconjugate_gradients() {
    check(3, 3, 3, |k| {
        iterate(|a, b, options| bicgstab_with(a, b, options), false, k)
    });
}

/// One reduction an iteration, with a preconditioner too.
#[test]
fn conjugate_gradients_with_a_single_reduction() {
    for is_preconditioned in [false, true] {
        check(1, 1, 1, |k| {
            let method: Method = |a, b, options| single_reduction_cg_with(a, b, options);
            iterate(method, is_preconditioned, k);
        });
    }
}

/// One reduction an iteration; the product does not wait for it.
#[test]
fn pipelined_conjugate_gradients() {
    for is_preconditioned in [false, true] {
        check(1, 2, 1, |k| {
            let method: Method = |a, b, options| pipelined_cg_with(a, b, options);
            iterate(method, is_preconditioned, k);
        });
    }
}

#[test]
fn minimal_residuals() {
    check(2, 2, 2, |k| {
        iterate(|a, b, options| minres_with(a, b, options), false, k)
    });
}

#[test]
fn transpose_free_quasi_minimal_residuals() {
    check(2, 2, 2, |k| {
        iterate(|a, b, options| tfqmr_with(a, b, options), false, k)
    });
}

/// A cycle of four iterations: one reduction each, and one for the norm of the next residual.
#[test]
fn generalised_minimal_residuals() {
    const CYCLE: u64 = 4;
    for is_preconditioned in [false, true] {
        check(5, 5, CYCLE + 1, |cycles| {
            let method: Method = |a, b, options| {
                let restart = CYCLE as usize;
                let side = Side::Right;
                sparsefuse::solvers::Method::Gmres { restart, side }.solve(a, b, options)
            };
            iterate(method, is_preconditioned, CYCLE * cycles);
        });
    }
}

/// The matrix once, and of vectors what the textbook names, each in the memory of what it replaces.
#[test]
fn memory_of_krylov_methods() {
    let methods: [(&str, Method, usize); 3] = [
        // b, x, r, p, q.
        ("cg", |a, b, options| cg_with(a, b, options), 5),
        // b, x, r, the shadow, and u, p, v, of which q and u + q take over two.
        ("cgs", |a, b, options| cgs_with(a, b, options), 7),
        // b, x, r and s, the shadow, p, v, t.
        ("bicgstab", |a, b, options| bicgstab_with(a, b, options), 7),
    ];
    // So that the plain matrix is there all the time.
    let config = Config {
        pack_after: usize::MAX,
        ..Config::default()
    };
    for (name, method, vectors) in methods {
        let runtime = Runtime::new(config.clone()).unwrap();
        let n = 200 * 200;
        let peak = runtime.enter(|| {
            let a = gallery::poisson2d::<f64>(200).unwrap();
            let b = Vector::random_uniform([n], 1);
            let solution = method(&a, &b, Options::default()).unwrap();
            assert!(solution.converged(), "{name}");
            let matrix = 8 * (n + 1) + (4 + 8) * a.nnz();
            assert!(
                runtime.peak_memory() > matrix + (vectors - 1) * 8 * n,
                "{name}: what is counted is all there is"
            );
            runtime.peak_memory() - matrix
        });
        let small_change = 64 << 10;
        assert!(
            peak <= vectors * 8 * n + small_change,
            "{name}: {} vectors beside the matrix",
            peak as f64 / (8 * n) as f64
        );
    }
}

#[test]
fn every_iteration_after_the_third_is_remembered() {
    let methods: [(&str, Method); 3] = [
        ("cg", |a, b, options| cg_with(a, b, options)),
        ("cgs", |a, b, options| cgs_with(a, b, options)),
        ("bicgstab", |a, b, options| bicgstab_with(a, b, options)),
    ];
    for (name, method) in methods {
        for ranks in [1, 2, 3] {
            let runs = run_ranks(ranks, &small(), |runtime| {
                let a = gallery::poisson2d::<f64>(20).unwrap();
                let mut new_windows = Vec::new();
                let mut watch = |_, _| {
                    let counters = runtime.counters();
                    new_windows.push(counters.windows - counters.trace_hits);
                    ControlFlow::Continue(())
                };
                let options = Options {
                    monitor: Some(&mut watch),
                    ..Options::default()
                };
                let b = Vector::random_uniform([400], 1);
                let solution = method(&a, &b, options).unwrap();
                assert!(solution.iterations > 20);
                new_windows
            });
            for new_windows in runs.unwrap() {
                let last = new_windows[new_windows.len() - 1];
                assert_eq!(
                    new_windows[3], last,
                    "{name} on {ranks} ranks: {new_windows:?}"
                );
            }
        }
    }
}
