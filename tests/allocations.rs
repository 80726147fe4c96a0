//! How often the hot path asks the system for memory: a counting allocator around iterations of
//! conjugate gradients. What is counted is exact, so it is a bound and not a time.

#![expect(
    unsafe_code,
    reason = "a global allocator is unsafe to implement; this one counts and forwards"
)]

use sparsefuse::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// For each iteration of a solve: the list of residuals grows, twice as long each time.
const HISTORY: f64 = 0.05;

/// The system's allocator, counting the allocations of each thread.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded to the system's allocator with the arguments that it came with;
// counting touches a thread local without a destructor and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises.
        unsafe { System.realloc(data, layout, size) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises.
        unsafe { System.dealloc(data, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The allocations of this thread while `run` runs.
fn count(run: impl FnOnce()) -> usize {
    let before = COUNT.get();
    run();
    COUNT.get() - before
}

/// A runtime that computes on the thread that is counted.
fn runtime() -> Runtime {
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    Runtime::new(config).expect("one thread starts")
}

/// The allocations of one more round of `run(rounds)`.
fn per_round(run: impl Fn(usize)) -> f64 {
    const ROUNDS: usize = 64;
    // Until every window is remembered and every list has grown.
    for _ in 0..20 {
        run(ROUNDS);
        run(2 * ROUNDS);
    }
    let once = count(|| run(ROUNDS));
    let twice = count(|| run(2 * ROUNDS));
    (twice - once) as f64 / ROUNDS as f64
}

#[track_caller]
fn check(name: &str, found: f64, most: f64) {
    assert!(
        found <= most,
        "{name}: {found} allocations, more than {most}"
    );
    println!("{name}: {found} allocations");
}

#[test]
fn a_remembered_window_allocates_nothing() {
    let runtime = runtime();
    let x = runtime.enter(|| Vector::<f64>::ones([1000]));
    let chain = |rounds: usize| {
        let mut y = x.clone();
        for _ in 0..rounds {
            y = &y + &x;
        }
        runtime.flush();
    };
    check("an operation of a chain", per_round(chain), 0.0);
    let windows = |rounds: usize| {
        for _ in 0..rounds {
            let y = &x + &x;
            runtime.flush();
            drop(y);
        }
    };
    check("a window of one operation", per_round(windows), 0.0);
    let reads = |rounds: usize| {
        for _ in 0..rounds {
            x.dot(&x).get().unwrap();
        }
    };
    check("a product that is read", per_round(reads), 0.0);
}

#[test]
fn an_iteration_of_conjugate_gradients_allocates_nothing() {
    let runtime = runtime();
    let (a, b) = runtime.enter(|| {
        let a = gallery::poisson2d::<f64>(32).unwrap();
        (a, Vector::random_uniform([1024], 1))
    });
    let solve = |rounds: usize| {
        let options = Options {
            rtol: 0.0,
            max_iter: Some(rounds),
            ..Options::default()
        };
        let solution = cg_with(&a, &b, options).unwrap();
        assert_eq!(solution.iterations, rounds);
    };
    check("an iteration", per_round(solve), HISTORY);
}
