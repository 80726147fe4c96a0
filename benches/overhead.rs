//! What the runtime costs beside the arithmetic, on arrays so small that little else costs.
//!
//! `cargo bench --bench overhead`; the inverse of `thrpt` is the time of one operation, window or
//! iteration. Results are checked before they are timed.

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

/// Windows of one task, and of a reduction that is read.
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
    group.bench_function("z = x + y", |bencher| bencher.iter(add));
    group.bench_function("x.dot(y).get()", |bencher| bencher.iter(dot));
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

/// Iterations of conjugate gradients on 1024 rows.
fn conjugate_gradients(criterion: &mut Criterion) {
    const ITERATIONS: usize = 40;
    let runtime = runtime();
    let (a, b) = runtime.enter(|| {
        let a = gallery::poisson2d::<f64>(32).unwrap();
        (a, Vector::random_uniform([1024], 1))
    });
    assert!(cg(&a, &b).unwrap().converged());
    let run = || {
        let options = Options {
            rtol: 0.0,
            max_iter: Some(ITERATIONS),
            ..Options::default()
        };
        cg_with(&a, &b, options).unwrap()
    };
    assert_eq!(run().iterations, ITERATIONS);
    let mut group = criterion.benchmark_group("cg iteration");
    group.throughput(Throughput::Elements(ITERATIONS as u64));
    group.bench_function("poisson2d:32", |bencher| bencher.iter(run));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = chain, windows, conjugate_gradients
}
criterion_main!(benches);
