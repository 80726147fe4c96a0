//! Products of sparse matrices and vectors, beside those of `sprs` and `faer` on one thread.
//!
//! `cargo bench --bench spmv`. The bytes per second count the same bytes for everyone: those of the
//! matrix with 8-byte positions, 4-byte columns and 8-byte values, and of both vectors once.
//! (`sprs` holds 8-byte columns and so moves more.) Products are checked before they are timed.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::sparse::{SparseRowMat, Triplet};
use faer::{Accum, MatMut, MatRef, Par};
use sparsefuse::prelude::*;
use sprs::CsMat;
use std::time::Duration;

/// A matrix by name, made by the current runtime.
fn matrix(name: &str) -> Csr<f64> {
    let made = match name {
        "poisson2d:512" => gallery::poisson2d(512),
        "poisson2d:1024" => gallery::poisson2d(1024),
        "poisson3d:64" => gallery::poisson3d(64),
        _ => gallery::random(200_000, 20, 1),
    };
    made.unwrap()
}

fn input(n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5)
        .collect()
}

fn in_faer(a: &CsMat<f64>) -> SparseRowMat<u32, f64> {
    let entry = |(&val, (row, col)): (&f64, (usize, usize))| Triplet {
        row: row as u32,
        col: col as u32,
        val,
    };
    let entries: Vec<_> = a.iter().map(entry).collect();
    SparseRowMat::try_new_from_triplets(a.rows(), a.cols(), &entries).unwrap()
}

fn sprs_product(a: &CsMat<f64>, x: &[f64], y: &mut [f64]) {
    y.fill(0.0);
    sprs::prod::mul_acc_mat_vec_csr(a.view(), x, y);
}

fn faer_product(a: &SparseRowMat<u32, f64>, x: &[f64], y: &mut [f64]) {
    let (n_rows, n_cols) = (y.len(), x.len());
    faer::sparse::linalg::matmul::sparse_dense_matmul(
        MatMut::from_column_major_slice_mut(y, n_rows, 1),
        Accum::Replace,
        a.as_ref(),
        MatRef::from_column_major_slice(x, n_cols, 1),
        1.0,
        Par::Seq,
    );
}

#[track_caller]
fn check_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-12,
            "{found} is not {expected}"
        );
    }
}

fn products(criterion: &mut Criterion) {
    for name in [
        "poisson2d:512",
        "poisson2d:1024",
        "poisson3d:64",
        "random:200000x20",
    ] {
        let mut group = criterion.benchmark_group(format!("spmv {name}"));
        let plain = matrix(name).to_sprs().unwrap();
        let x = input(plain.cols());
        let mut y = vec![0.0; plain.rows()];
        let vectors = 8 * (plain.rows() + plain.cols());
        let bytes = 8 * (plain.rows() + 1) + 12 * plain.nnz() + vectors;
        group.throughput(Throughput::Bytes(bytes as u64));

        sprs_product(&plain, &x, &mut y);
        let expected = y.clone();
        group.bench_function("sprs", |bencher| {
            bencher.iter(|| sprs_product(&plain, &x, &mut y));
        });
        let a = in_faer(&plain);
        faer_product(&a, &x, &mut y);
        check_near(&y, &expected);
        group.bench_function("faer", |bencher| {
            bencher.iter(|| faer_product(&a, &x, &mut y))
        });

        for threads in [1, 2] {
            let config = Config {
                threads,
                ..Config::default()
            };
            let runtime = Runtime::new(config).unwrap();
            let (a, x) = runtime.enter(|| (matrix(name), Vector::from_slice(&x)));
            check_near(&(&a * &x).to_vec().unwrap(), &expected);
            let id = BenchmarkId::new("sparsefuse", format!("{threads} threads"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let y = &a * &x;
                    runtime.flush();
                    y
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = products
}
criterion_main!(benches);
