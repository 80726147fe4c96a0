//! Stencils as plain array code on one thread, two threads and two ranks: a star of radius 2 on a
//! plane, as in the Parallel Research Kernels, and the mean of 27 neighbours in a cube.
//!
//! `cargo bench --bench stencils`. The ways run alternately, in blocks and in native code, which is
//! timed once it is there; of each the median step of several rounds is printed, the bytes per
//! second of a step that reads and writes each grid once, and how much faster than one thread it
//! is. The fields of all ways have the same bits, which is checked.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

#[path = "../tests/library/arrays_on_ranks/stencils/mod.rs"]
mod stencils;

use sparsefuse::prelude::*;
use sparsefuse::runtime::{Config, run_ranks};
use std::thread;
use std::time::{Duration, Instant};
use stencils::{cube, star};

const ROUNDS: usize = 5;
const STEPS: usize = 5;

/// The time in which loops become native code.
const COMPILATION: Duration = Duration::from_secs(2);

/// The seconds of a step, and the bits of the sum of the field.
fn time<const D: usize>(
    (ranks, threads, is_native): (usize, usize, bool),
    dims: [usize; D],
    step: impl Fn(&Array<f64, D>) -> Array<f64, D> + Sync,
) -> (f64, u64) {
    let default = Config::default();
    let config = Config {
        threads,
        native: default.native.clone().filter(|_| is_native),
        ..default
    };
    let found = run_ranks(ranks, &config, |runtime| {
        let mut u = Array::<f64, D>::random_uniform(dims, 7);
        for _ in 0..8 {
            u = step(&u);
            runtime.flush();
        }
        u.sum().get().unwrap();
        if is_native {
            wait();
        }
        u = step(&u);
        runtime.flush();
        if is_native {
            assert!(
                runtime.explain().contains("runs native"),
                "{}",
                runtime.explain()
            );
        }
        // All ranks begin together.
        u.sum().get().unwrap();
        let begin = Instant::now();
        for _ in 0..STEPS {
            u = step(&u);
            runtime.flush();
        }
        let total = u.sum().get().unwrap();
        (
            begin.elapsed().as_secs_f64() / STEPS as f64,
            total.to_bits(),
        )
    });
    found.unwrap()[0]
}

/// Waits for the compiler, which works beside. Ranks must not look when it is ready, since all of
/// them take equally many steps.
#[expect(clippy::disallowed_methods, reason = "see above")]
fn wait() {
    thread::sleep(COMPILATION);
}

fn compare<const D: usize>(
    name: &str,
    dims: [usize; D],
    step: impl Fn(&Array<f64, D>) -> Array<f64, D> + Sync,
) {
    let ways = [
        ("1 thread, blocks", (1, 1, false)),
        ("1 thread", (1, 1, true)),
        ("2 threads", (1, 2, true)),
        ("2 ranks", (2, 1, true)),
    ];
    let mut times = [const { Vec::new() }; 4];
    let mut bits = Vec::new();
    for _ in 0..ROUNDS {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let (seconds, total) = time(*way, dims, &step);
            times.push(seconds);
            bits.push(total);
        }
    }
    assert!(
        bits.iter().all(|total| *total == bits[0]),
        "all bits are equal"
    );
    let medians = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    let bytes = 2.0 * 8.0 * dims.iter().product::<usize>() as f64;
    for ((way, _), median) in ways.iter().zip(medians) {
        println!(
            "{name:10} {way:16} {:9.2} ms a step, {:5.1} GB/s, {:.2} of one thread in blocks",
            median * 1e3,
            bytes / median / 1e9,
            medians[0] / median
        );
    }
}

fn main() {
    compare("star 2048²", [2048, 2048], star);
    compare("star 4096²", [4096, 4096], star);
    compare("cube 128³", [128; 3], cube);
    compare("cube 256³", [256; 3], cube);
}
