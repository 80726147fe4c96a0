//! How many fused tasks array programs become. The published counts are those of Yadav et al.,
//! *Composing Distributed Computations Through Task and Kernel Fusion* (2025).

use crate::programs::{black_scholes, options};
use crate::small;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_runtime::{Config, run_ranks};

/// Published: 1 of 67.
#[test]
fn prices_of_options_are_one_fused_task() {
    for ranks in [1, 2, 3, 5] {
        let counts = run_ranks(ranks, &small(), |runtime| {
            let [spot, strike, years] = options::<f64>(37);
            runtime.flush();
            let before = runtime.counters();
            let (call, put) = black_scholes(&spot, &strike, &years, 0.02, 0.3);
            runtime.flush();
            let after = runtime.counters();
            drop((call, put));
            (
                after.tasks - before.tasks,
                after.fused_tasks - before.fused_tasks,
            )
        });
        for (tasks, fused_tasks) in counts.unwrap() {
            assert!(tasks > 30, "{tasks} tasks");
            assert_eq!(fused_tasks, 1, "on {ranks} ranks");
        }
    }
}

/// Jacobi's method on a matrix that its diagonal dominates. Published: 2 of 3.
#[test]
fn an_iteration_of_jacobi_is_one_fused_task() {
    const ITERATIONS: u64 = 40;
    let n = 13;
    for ranks in [1, 2, 3, 5] {
        let runs = run_ranks(ranks, &small(), |runtime| {
            let a = Array::<f64, 2>::random_uniform([n, n], 1) + Array::<f64, 2>::eye(n) * 20.0;
            let b = Vector::<f64>::random_uniform([n], 2);
            let diagonal = (&a * Array::<f64, 2>::eye(n)).sum_axis(1);
            let mut x = Vector::<f64>::zeros([n]);
            runtime.flush();
            let before = runtime.counters();
            for _ in 0..ITERATIONS {
                x += (&b - a.matvec(&x)) / &diagonal;
            }
            runtime.flush();
            let fused_tasks = runtime.counters().fused_tasks - before.fused_tasks;
            let residual = (&b - a.matvec(&x)).norm2().get().unwrap();
            (fused_tasks, residual)
        });
        for (fused_tasks, residual) in runs.unwrap() {
            assert!(residual < 1e-10, "{residual}");
            assert!(
                fused_tasks <= ITERATIONS + 1,
                "{fused_tasks} on {ranks} ranks"
            );
        }
    }
}

#[test]
fn temporaries_get_no_memory() {
    let config = Config {
        memory_limit: 5 * 8000,
        ..Config::default()
    };
    let peak = run_ranks(1, &config, |runtime| {
        let x = Vector::<f64>::ones([1000]);
        runtime.flush();
        let y = ((&x + 1.0) * &x - 3.0).square() + (&x * 2.0).recip();
        let first = y.with_slice(|y| y[0]).unwrap();
        (first, runtime.peak_memory())
    });
    let (first, peak) = peak.unwrap()[0];
    assert_eq!(first, 1.5);
    assert!(peak < 3 * 8000, "{peak} bytes");
}

/// A longer window costs less by what it takes to begin and end one, so windows of few elements
/// grow.
#[test]
fn windows_with_much_to_do_stay_as_they_are() {
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    let windows = |n: usize| {
        let counted = run_ranks(1, &config, |runtime| {
            let mut x = Vector::<f64>::zeros([n]);
            for _ in 0..3000 {
                x = &x * 0.5 + 1.0;
            }
            runtime.flush();
            runtime.counters().windows
        });
        counted.expect("the rank succeeds")[0]
    };
    let (few, many) = (windows(10), windows(50_000));
    assert!(few + 10 < many, "{few} and {many} windows");
}
