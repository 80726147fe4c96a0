//! Iterations of conjugate gradients on the 5-point problem, fused and not, beside plain loops.
//!
//! `cargo bench --bench cg`; the inverse of `thrpt` is the time of one iteration. An iteration
//! moves, per row and with the matrix in compressed rows, 64 bytes of matrix and 88 of vectors
//! fused, 112 not fused. Every variant is checked against the plain loops before it is timed.
//!
//! And of several right-hand sides, one after the other and side by side.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sparsefuse::prelude::*;
use sparsefuse::sparse::LocalRows;
use std::time::Duration;

/// Conjugate gradients as one writes them without a library: one loop for each operation.
fn plain_loops(a: &LocalRows<f64>, b: &[f64], iterations: usize) -> Vec<f64> {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut x = vec![0.0; b.len()];
    let mut q = vec![0.0; b.len()];
    let (mut r, mut p) = (b.to_vec(), b.to_vec());
    let mut rho = dot(&r, &r);
    for _ in 0..iterations {
        for (row, q) in q.iter_mut().enumerate() {
            let entries = a.pos[row] as usize..a.pos[row + 1] as usize;
            let pairs = a.crd[entries.clone()].iter().zip(&a.vals[entries]);
            *q = pairs
                .map(|(&column, value)| value * p[column as usize])
                .sum();
        }
        let alpha = rho / dot(&p, &q);
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
        let rho_next = dot(&r, &r);
        let beta = rho_next / rho;
        p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + beta * *p);
        rho = rho_next;
    }
    x
}

fn solve(a: &Csr<f64>, b: &Vector<f64>, iterations: usize) -> Solution<f64> {
    let options = Options {
        rtol: 0.0,
        max_iter: Some(iterations),
        ..Options::default()
    };
    cg_with(a, b, options).unwrap()
}

#[track_caller]
fn check_near(found: &[f64], expected: &[f64]) {
    let size = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let distance = (found - expected).abs();
        assert!(distance <= 1e-9 * size, "{found} is not {expected}");
    }
}

fn iterations(criterion: &mut Criterion) {
    for (n, iterations) in [(32, 40), (128, 200), (512, 40), (1024, 20)] {
        let mut group = criterion.benchmark_group(format!("cg iteration poisson2d:{n}"));
        group.throughput(Throughput::Elements(iterations as u64));
        let b: Vec<f64> = (0..n * n)
            .map(|i| ((i * 7919) % 1009) as f64 / 1009.0)
            .collect();
        let rows = gallery::poisson2d::<f64>(n).unwrap().to_rows().unwrap();
        let expected = plain_loops(&rows, &b, iterations);
        group.bench_function("plain loops", |bencher| {
            bencher.iter(|| plain_loops(&rows, &b, iterations));
        });
        for fusion in [true, false] {
            for threads in [1, 2] {
                let config = Config {
                    threads,
                    fusion,
                    ..Config::default()
                };
                let runtime = Runtime::new(config).unwrap();
                let (a, b) = runtime.enter(|| {
                    (
                        gallery::poisson2d::<f64>(n).unwrap(),
                        Vector::from_slice(&b),
                    )
                });
                check_near(&solve(&a, &b, iterations).x.to_vec().unwrap(), &expected);
                let name = if fusion { "fused" } else { "not fused" };
                let id = BenchmarkId::new(name, format!("{threads} threads"));
                group.bench_function(id, |bencher| bencher.iter(|| solve(&a, &b, iterations)));
            }
        }
        group.finish();
    }
}

/// Eight right-hand sides, one after the other and by `solve_many`, which takes them side by side
/// where the matrix is most of what an iteration reads: not on 5 entries a row, but on 13 and 41.
fn many(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cg iterations of 8 right-hand sides");
    const ITERATIONS: usize = 20;
    group.throughput(Throughput::Elements(8 * ITERATIONS as u64));
    for threads in [1, 2] {
        let config = Config {
            threads,
            ..Config::default()
        };
        Runtime::new(config).unwrap().enter(|| {
            let a = gallery::diffusion2d::<f64>(500).unwrap();
            let (square, fourth) = (&a * &a, &(&a * &a) * &(&a * &a));
            let random = |seed| Vector::random_normal([a.n_rows()], seed);
            let rhs: Vec<_> = (0..8).map(random).collect();
            for (entries, a) in [(5, &a), (13, &square), (41, &fourth)] {
                let options = Options {
                    rtol: 0.0,
                    max_iter: Some(ITERATIONS),
                    ..Options::default()
                };
                let mut solver = KrylovSolver::new(Method::Cg, a, options);
                let id = |how: &str| {
                    BenchmarkId::new(how, format!("{entries} a row, {threads} threads"))
                };
                group.bench_function(id("solve"), |bencher| {
                    bencher.iter(|| rhs.iter().for_each(|b| drop(solver.solve(b).unwrap())));
                });
                group.bench_function(id("solve_many"), |bencher| {
                    bencher.iter(|| solver.solve_many(&rhs).unwrap());
                });
            }
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = iterations, many
}
criterion_main!(benches);
