//! The examples at small sizes: the same hash on threads, ranks and processes and without fusion,
//! and the result that plain loops give, which know nothing of the library.
//!
//! The programs are modules here, so that one link serves all of them. Under `mpiexec`, ranks are
//! those of all processes (`xtask/src/mpi.rs`).

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]
#![expect(
    clippy::duplicate_mod,
    reason = "each example is a program with modules of its own"
)]

mod options;

#[path = "../../examples/black_scholes.rs"]
#[expect(dead_code, reason = "`main`")]
mod black_scholes;
#[path = "../../examples/block_cholesky.rs"]
#[expect(dead_code, reason = "`main`")]
mod block_cholesky;
#[path = "../../examples/block_jacobi.rs"]
#[expect(dead_code, reason = "`main`")]
mod block_jacobi;
#[path = "../../examples/block_product.rs"]
#[expect(dead_code, reason = "`main`")]
mod block_product;
#[path = "../../examples/channel_flow.rs"]
#[expect(dead_code, reason = "`main`")]
mod channel_flow;
#[path = "../../examples/euler_dg.rs"]
#[expect(dead_code, reason = "`main`")]
mod euler_dg;
#[path = "../../examples/jacobi.rs"]
#[expect(dead_code, reason = "`main`")]
mod jacobi;
#[path = "../../examples/k_means.rs"]
#[expect(dead_code, reason = "`main`")]
mod k_means;
#[path = "../../examples/logistic_regression.rs"]
#[expect(dead_code, reason = "`main`")]
mod logistic_regression;
#[path = "../../examples/low_rank_product.rs"]
#[expect(dead_code, reason = "`main`")]
mod low_rank_product;
#[path = "../../examples/mandelbrot.rs"]
#[expect(dead_code, reason = "`main`")]
mod mandelbrot;
#[path = "../../examples/matrix_factorization.rs"]
#[expect(dead_code, reason = "`main`")]
mod matrix_factorization;
#[path = "../../examples/n_body.rs"]
#[expect(dead_code, reason = "`main`")]
mod n_body;
#[path = "../../examples/navier_stokes_dg.rs"]
#[expect(dead_code, reason = "`main`")]
mod navier_stokes_dg;
#[path = "../../examples/page_rank.rs"]
#[expect(dead_code, reason = "`main`")]
mod page_rank;
#[path = "../../examples/prk_stencil.rs"]
#[expect(dead_code, reason = "`main`")]
mod prk_stencil;
#[path = "../../examples/rydberg.rs"]
#[expect(dead_code, reason = "`main`")]
mod rydberg;
#[path = "../../examples/shallow_water.rs"]
#[expect(dead_code, reason = "`main`")]
mod shallow_water;
#[path = "../../examples/stencil27.rs"]
#[expect(dead_code, reason = "`main`")]
mod stencil27;
#[path = "../../examples/synthetic_graphs.rs"]
#[expect(dead_code, reason = "`main`")]
mod synthetic_graphs;
#[path = "../../examples/task_bench.rs"]
#[expect(dead_code, reason = "`main`")]
mod task_bench;
#[path = "../../examples/tree_n_body.rs"]
#[expect(dead_code, reason = "`main`")]
mod tree_n_body;
#[path = "../../examples/wave_dg.rs"]
#[expect(dead_code, reason = "`main`")]
mod wave_dg;

mod flows;
mod graphs;
mod learning;
mod points;
mod stencils;
mod systems;
mod waves;

use sparsefuse::runtime::{Config, Error, Processes};
use sparsefuse_frame::{About, Report, Run, execute_with};
use sparsefuse_testing::small;

/// Threads, ranks of each process, other options.
const SETTINGS: [(&str, &str, &[&str]); 6] = [
    ("1", "1", &[]),
    ("2", "1", &[]),
    ("2", "2", &[]),
    ("1", "3", &["--no-fusion"]),
    ("1", "5", &[]),
    ("1", "1", &["--no-fusion"]),
];

/// Runs an example in all settings that must not matter, and returns its report.
#[track_caller]
fn everywhere(
    about: &About,
    arguments: &[&str],
    program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync,
) -> Report {
    // Tiles of a few elements, so that small arrays are cut.
    let config = Config {
        tile_len: 16,
        native: None,
        ..small()
    };
    let processes = Processes::join().unwrap();
    let run = |(threads, ranks, more): (&str, &str, &[&str])| {
        let setting = ["--threads", threads, "--ranks", ranks];
        let arguments = [arguments, &setting, more].concat();
        let report = execute_with(&config, &processes, about, &arguments, &program).unwrap();
        assert!(report.is_right(), "{arguments:?}: {}", report.to_json());
        report
    };
    // Several processes have several ranks anyway, and messages between them take their time.
    let settings = match processes.count() {
        1 => &SETTINGS[1..],
        _ => &SETTINGS[2..3],
    };
    let first = run(SETTINGS[0]);
    for &setting in settings {
        assert_eq!(run(setting).hash(), first.hash(), "{setting:?}");
    }
    first
}

/// The result is this one, but for a difference of `tolerance` times the largest element; the first
/// process has it.
#[track_caller]
fn check_result(report: &Report, expected: &[f64], tolerance: f64) {
    if report.shape().is_empty() {
        return;
    }
    assert_eq!(report.values().len(), expected.len());
    let largest = expected
        .iter()
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (at, (found, expected)) in report.values().iter().zip(expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance * largest,
            "element {at}: {found}, expected {expected}"
        );
    }
}
