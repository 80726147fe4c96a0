//! What the runtime costs beside the arithmetic, on arrays so small that little else costs.
//!
//! `cargo bench --bench overhead`; the inverse of `thrpt` is the time of one operation, window or
//! round. Results are checked before they are timed. `cargo bench --bench cg` has iterations of
//! conjugate gradients on small systems.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sparsefuse::prelude::*;
use std::hint::black_box;
use std::time::Duration;

const LEN: usize = 1000;

fn runtime() -> Runtime {
    Runtime::new(Config::default()).unwrap()
}

/// `y = y + x` a thousand times, then one flush.
fn chain(criterion: &mut Criterion) {
    const OPERATIONS: u64 = 1000;
    let runtime = runtime();
    let x = runtime.enter(|| Vector::<f64>::ones([LEN]));
    let run = || {
        let mut y = x.clone();
        for _ in 0..OPERATIONS {
            y = &y + &x;
        }
        runtime.flush();
        y
    };
    assert_eq!(run().to_vec().unwrap(), vec![OPERATIONS as f64 + 1.0; LEN]);
    let mut group = criterion.benchmark_group("chain of y = y + x");
    group.throughput(Throughput::Elements(OPERATIONS));
    group.bench_function("1000 operations", |bencher| bencher.iter(run));
    group.finish();
}

/// Windows of one task, with the flush of a window of none, and a reduction that is read.
fn windows(criterion: &mut Criterion) {
    let runtime = runtime();
    let x = runtime.enter(|| Vector::<f64>::ones([LEN]));
    let y = runtime.enter(|| Vector::<f64>::full([LEN], 2.0));
    let add = || {
        let z = &x + &y;
        runtime.flush();
        z
    };
    let dot = || x.dot(&y).get().unwrap();
    assert_eq!(add().to_vec().unwrap(), [3.0; LEN]);
    assert_eq!(dot(), 2.0 * LEN as f64);
    let mut group = criterion.benchmark_group("one window");
    group.throughput(Throughput::Elements(1));
    group.bench_function("flush of nothing", |bencher| {
        bencher.iter(|| runtime.flush())
    });
    group.bench_function("z = x + y", |bencher| bencher.iter(add));
    group.bench_function("x.dot(y).get()", |bencher| bencher.iter(dot));
    let known = x.dot(&y);
    assert_eq!(known.get().unwrap(), 2.0 * LEN as f64);
    group.bench_function("get of what is known", |bencher| {
        bencher.iter(|| known.get().unwrap());
    });
    // The same arithmetic without a runtime.
    let (x, y) = (vec![1.0; LEN], vec![2.0; LEN]);
    group.bench_function("z = x + y in plain Rust", |bencher| {
        bencher.iter(|| -> Vec<f64> {
            let pairs = black_box(&x).iter().zip(black_box(&y));
            pairs.map(|(x, y)| x + y).collect()
        });
    });
    group.finish();
}

/// `x = x + (b - A x) / 8` and additions, 37 tasks a round, that read nothing for 2000 rounds, from
/// the first window on: what it takes to find where the program repeats itself is part of it.
fn rounds(criterion: &mut Criterion) {
    const ROUNDS: usize = 2000;
    const TASKS: usize = 37;
    let run = || {
        let runtime = runtime();
        runtime.enter(|| {
            let a = gallery::poisson2d::<f64>(32).unwrap();
            let b = Vector::<f64>::full([32 * 32], 1e-3);
            let mut x = Vector::<f64>::zeros([32 * 32]);
            for _ in 0..ROUNDS {
                x = &x + &((&b - &(&a * &x)) * 0.125);
                for _ in 4..TASKS {
                    x = &x + &b;
                }
            }
            x.to_vec().unwrap()
        })
    };
    assert!(run().iter().all(|x| x.is_finite()));
    let mut group = criterion.benchmark_group("rounds without a read");
    group.throughput(Throughput::Elements(ROUNDS as u64));
    group.bench_function("37 tasks on poisson2d:32", |bencher| bencher.iter(run));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = chain, windows, rounds
}
criterion_main!(benches);
