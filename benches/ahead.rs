//! Running ahead: 1000 windows of about 100 us, and about as much work of the program's own beside
//! each, on one thread of the runtime's. `Runtime::start` lets both go on at once, where there is a
//! second core; `Runtime::flush` waits.
//!
//! `cargo bench --bench ahead`. The ways take turns; of each the median of several rounds is
//! printed, in us a window, and how much longer it is than the longer of the two alone. The results
//! of all ways have the same bits, which is checked.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use sparsefuse::prelude::*;
use sparsefuse::runtime::Config;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 5;
const WINDOWS: usize = 1000;
const LEN: usize = 40_000;

/// Who works, and whether at once.
#[derive(Clone, Copy)]
enum Way {
    Windows,
    Own,
    InTurn,
    AtOnce,
}

/// The program's own work.
fn own_work(steps: u32) -> f64 {
    (0..black_box(steps)).fold(1.0, |x, k| (x + f64::from(k)).sqrt())
}

/// Seconds of a window, and the bits of the result.
fn time(way: Way, runtime: &Runtime, steps: u32) -> (f64, u64) {
    let mut x = Vector::<f64>::linspace(0.0, 1.0, LEN);
    let mut own = 0.0;
    x.sum().get().unwrap();
    let begin = Instant::now();
    for _ in 0..WINDOWS {
        if !matches!(way, Way::Own) {
            x = (&x * 0.5 + 0.25).sqrt().sqrt();
        }
        match way {
            Way::Own => {}
            Way::AtOnce => runtime.start(),
            Way::Windows | Way::InTurn => runtime.flush(),
        }
        if !matches!(way, Way::Windows) {
            own += own_work(steps);
        }
    }
    runtime.flush();
    let seconds = begin.elapsed().as_secs_f64() / WINDOWS as f64;
    black_box(own);
    (seconds, x.sum().get().unwrap().to_bits())
}

fn main() {
    // Loops stay in blocks, so that no window is faster than another.
    let config = Config {
        native: None,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    runtime.enter(|| {
        let (window, _) = time(Way::Windows, &runtime, 0);
        let (own, _) = time(Way::Own, &runtime, 10_000);
        let steps = (10_000.0 * window / own) as u32;
        let ways = [Way::Windows, Way::Own, Way::InTurn, Way::AtOnce];
        let mut seconds = ways.map(|_| Vec::new());
        let mut bits = Vec::new();
        for _ in 0..ROUNDS {
            for (way, seconds) in ways.into_iter().zip(&mut seconds) {
                let (time, result) = time(way, &runtime, steps);
                seconds.push(time * 1e6);
                if !matches!(way, Way::Own) {
                    bits.push(result);
                }
            }
        }
        assert!(bits.iter().all(|&result| result == bits[0]));
        let medians = seconds.map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            seconds[ROUNDS / 2]
        });
        let longer = medians[0].max(medians[1]);
        let names = ["windows alone", "own work alone", "in turn", "at once"];
        for (name, median) in names.into_iter().zip(medians) {
            println!("{name:14} {median:8.1} us  {:5.2}", median / longer);
        }
    });
}
