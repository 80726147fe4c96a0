//! Operations on the structures of sparse matrices: milliseconds on 1 and 2 threads.
//!
//! `cargo bench --bench sparse_ops -- [N [ROUNDS]]`: 2-D Poisson on an N x N grid (2048), the best
//! of some rounds (5), the numbers of threads alternately.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use sparsefuse::kernels::random;
use sparsefuse::prelude::*;
use sparsefuse::sparse::{Multiplication, gallery};
use std::time::Instant;

/// An operation on the matrix of a runtime, with what it needs besides.
type Operation = fn(&Inputs) -> usize;

struct Inputs {
    a: Csr<f64>,
    triplets: Triplets<f64>,
    shuffled: Triplets<f64>,
    square: std::cell::RefCell<Multiplication<f64>>,
}

const OPERATIONS: [(&str, Operation); 5] = [
    ("A * A", |inputs| inputs.a.matmul(&inputs.a).nnz()),
    ("A * A, new values", |inputs| {
        let mut square = inputs.square.borrow_mut();
        square.update(&inputs.a, &inputs.a).unwrap().nnz()
    }),
    ("transpose", |inputs| inputs.a.transpose().unwrap().nnz()),
    ("triplets in order", |inputs| {
        Csr::from_triplets(&inputs.triplets).unwrap().nnz()
    }),
    ("triplets shuffled", |inputs| {
        Csr::from_triplets(&inputs.shuffled).unwrap().nnz()
    }),
];

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse::<usize>().ok());
    let n = numbers.next().unwrap_or(2048);
    let rounds = numbers.next().unwrap_or(5);
    let runtimes = [1, 2].map(|threads| {
        Runtime::new(Config {
            threads,
            ..Config::default()
        })
        .unwrap()
    });
    let inputs = runtimes
        .each_ref()
        .map(|runtime| runtime.enter(|| inputs(n)));
    println!(
        "{:<20}{:>12}{:>12}   ms, n = {n}",
        "", "1 thread", "2 threads"
    );
    for (name, operation) in OPERATIONS {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..rounds {
            for ((runtime, inputs), best) in runtimes.iter().zip(&inputs).zip(&mut best) {
                let start = Instant::now();
                let nnz = runtime.enter(|| operation(inputs));
                *best = best.min(start.elapsed().as_secs_f64() * 1e3);
                assert!(nnz > 0);
            }
        }
        println!("{name:<20}{:>12.1}{:>12.1}", best[0], best[1]);
    }
}

fn inputs(n: usize) -> Inputs {
    let a = gallery::poisson2d::<f64>(n).unwrap();
    let triplets = a.to_triplets().unwrap();
    let (mut rows, mut cols, mut vals) = triplets.clone().into_parts();
    for k in (1..rows.len()).rev() {
        let other = (random::bits(1, k as u64) % (k as u64 + 1)) as usize;
        rows.swap(k, other);
        cols.swap(k, other);
        vals.swap(k, other);
    }
    let shuffled =
        Triplets::from_parts(triplets.n_rows(), triplets.n_cols(), rows, cols, vals).unwrap();
    let square = Multiplication::new(&a, &a).unwrap().into();
    Inputs {
        a,
        triplets,
        shuffled,
        square,
    }
}
