//! What it costs to run parts on threads: a fork and join of empty parts, hot and after the threads
//! were left alone for a while, and how long the parts of a run last that is twice as fast on two
//! threads.
//!
//! `cargo bench -p sparsefuse-kernels --bench workers`. Medians of many rounds.

use sparsefuse_kernels::Workers;
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = Workers::new(cores).expect("threads start");
    println!("{cores} threads; ns: median, and nine tenths are below");
    for (name, pause) in [
        ("hot", Duration::ZERO),
        ("after 20 us", Duration::from_micros(20)),
        ("after 1 ms", Duration::from_millis(1)),
    ] {
        let rounds = if pause < Duration::from_millis(1) {
            20_000
        } else {
            1_000
        };
        let one = times(rounds, pause, || {
            workers.run(cores, |part| _ = black_box(part))
        });
        println!("fork and join, {name:12} {:>9} {:>9}", one[0], one[1]);
    }
    println!("additions of each part, ns on one thread, on {cores}");
    for additions in [100, 500, 1_000, 2_000, 5_000, 10_000, 100_000] {
        let work =
            |_| _ = black_box((0..additions).fold(0.0, |sum, i| sum + black_box(f64::from(i))));
        let pause = Duration::from_micros(5);
        let one = times(2_000, pause, || (0..cores).for_each(work));
        let all = times(2_000, pause, || workers.run(cores, work));
        println!("{additions:30} {:>9} {:>9}", one[0], all[0]);
    }
}

/// The median and the ninth decile of the nanoseconds of a call, each after a pause.
fn times(rounds: usize, pause: Duration, call: impl Fn()) -> [u128; 2] {
    let mut times: Vec<u128> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            while start.elapsed() < pause {
                spin_loop();
            }
            let start = Instant::now();
            call();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    [times[rounds / 2], times[rounds * 9 / 10]]
}
