//! Programs under limits of memory that one rank may exceed alone: no rank panics or waits for
//! ever, and all ranks learn of it or none does.

use crate::small;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::random;
use sparsefuse_runtime::{Config, Error, ErrorKind, Runtime, run_ranks};
use sparsefuse_sparse::{Csr, LocalRows, gallery};
use std::sync::mpsc::channel;
use std::time::Duration;

const N: usize = 600;

/// Draws from the same numbers on every rank.
struct Draw {
    seed: u64,
    next: u64,
}

impl Draw {
    fn below(&mut self, n: u64) -> usize {
        self.next += 1;
        (random::bits(self.seed, self.next) % n) as usize
    }
}

/// A matrix of which rank 0 has most entries, so that it runs out first.
fn matrix(kind: usize) -> Result<Csr<f64>, Error> {
    match kind {
        0 => gallery::banded_varying(N, 9),
        1 => gallery::random(N, 6, 1),
        _ => Csr::from_rows(N, N, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for row in rows {
                for column in 0..if row < 40 { 200 } else { 3 } {
                    local.push(column, 1.0 + row as f64);
                }
                local.end_row();
            }
            local
        }),
    }
}

/// A program; what it computes does not matter, but each value that it asks for is asked for by all
/// ranks.
fn program(seed: u64) -> Result<Vec<f64>, Error> {
    let mut draw = Draw { seed, next: 0 };
    let a = matrix(draw.below(3))?;
    let mut a = match draw.below(4) {
        0 => a.balance()?,
        1 => a.transpose()?,
        _ => a,
    };
    let mut vectors = vec![Vector::<f64>::ones([N]), Vector::random_uniform([N], seed)];
    let mut scalars: Vec<Scalar<f64>> = vec![vectors[0].sum()];
    let mut values = Vec::new();
    for _ in 0..30 {
        let (i, j) = (
            draw.below(vectors.len() as u64),
            draw.below(vectors.len() as u64),
        );
        let s = draw.below(scalars.len() as u64);
        match draw.below(13) {
            0 | 1 => vectors.push(&a * &vectors[i]),
            2 => vectors.push(&vectors[i] + &vectors[j]),
            3 => vectors.push(&scalars[s] * &vectors[i]),
            4 => scalars.push(vectors[i].dot(&vectors[j])),
            5 => {
                // One task may do both, and fail on the rank that has no memory for the vector.
                let product = &scalars[s] * &scalars[0];
                vectors.push(&vectors[i] + &vectors[j]);
                values.push(product.get()?);
                scalars.push(product);
            }
            6 => values.push(scalars[s].get()?),
            7 => values.extend(vectors[i].to_vec()?),
            8 => a = &a * &scalars[s],
            12 => vectors.push(a.diagonal(0)?),
            9 => {
                vectors.remove(i);
                vectors.push(Vector::ones([N]));
            }
            10 => {
                // Behind so few rows that every rank holds all of them.
                let few = vectors[i].slice(..3);
                scalars.push((&few + &few).sum());
            }
            _ => {
                let mut x = vectors[i].clone();
                x.try_assign_slice(5..N - 9, vectors[j].slice(7..N - 7))?;
                vectors.push(x);
            }
        }
    }
    for vector in &vectors {
        values.extend(vector.to_vec()?);
    }
    for scalar in &scalars {
        values.push(scalar.get()?);
    }
    Ok(values)
}

/// Runs a program, which gets this seed, on threads of its own, so that a deadlock is a failure.
#[track_caller]
fn run<R: Send + 'static>(
    ranks: usize,
    config: &Config,
    seed: u64,
    program: fn(u64) -> Result<R, Error>,
) -> Vec<Result<R, Error>> {
    let (send, receive) = channel();
    let config = config.clone();
    let work = move || {
        let outcome = run_ranks(ranks, &config, |runtime: &Runtime| {
            let outcome = program(seed);
            // The last call: a rank that is out of step is found here.
            let marks = runtime.all_gather(&[seed]).unwrap();
            assert!(marks.iter().all(|mark| *mark == [seed]));
            outcome
        });
        // The receiver is gone if this is late.
        let _ = send.send(outcome);
    };
    std::thread::Builder::new().spawn(work).unwrap();
    let outcome = receive.recv_timeout(Duration::from_secs(60));
    let outcome = outcome.unwrap_or_else(|_| panic!("seed {seed} on {ranks} ranks: a deadlock"));
    outcome.unwrap_or_else(|error| panic!("seed {seed} on {ranks} ranks: {error}"))
}

/// Rows whose maker talks to the other rank; rank 0 has 8 of the 10 rows, and needs more memory.
fn rows_of_both_ranks(_seed: u64) -> Result<Csr<f64>, Error> {
    Csr::from_rows(10, 10, |rows| {
        let lens = Runtime::current().all_gather(&[rows.len() as u64]);
        let lens = lens.expect("no rank makes rows if one has no memory for them");
        let mut local = LocalRows::with_capacity(rows.len(), rows.len());
        for row in rows {
            local.push(row as u32, lens[0][0] as f64);
            local.end_row();
        }
        local
    })
}

#[test]
fn a_rank_without_memory_for_its_rows_keeps_none_waiting() {
    let mut n_made = 0;
    for memory_limit in (0..1_000).step_by(8) {
        let config = Config {
            memory_limit,
            ..small()
        };
        let made = run(2, &config, 0, rows_of_both_ranks);
        assert_eq!(made[0].is_ok(), made[1].is_ok(), "{memory_limit}");
        n_made += usize::from(made[0].is_ok());
    }
    assert!((1..124).contains(&n_made), "{n_made}");
}

#[test]
fn all_ranks_run_out_of_memory_or_none() {
    let (mut n_failed, mut n_late, mut n_done) = (0, 0, 0);
    for seed in 0..60 {
        for ranks in [2, 3] {
            for step in 0..6 {
                let limit = 20_000 * (1 + step) + random::bits(seed, step) % 20_000;
                let config = Config {
                    memory_limit: limit as usize,
                    pack_after: (seed % 2) as usize,
                    fusion: seed % 3 > 0,
                    native: None,
                    ..small()
                };
                let outcomes = run(ranks, &config, seed, program);
                let is_ok = outcomes[0].is_ok();
                for outcome in &outcomes {
                    assert_eq!(
                        outcome.is_ok(),
                        is_ok,
                        "seed {seed}: {:?}",
                        outcome.as_ref().err()
                    );
                }
                let is_late = outcomes.iter().any(|outcome| {
                    let error = outcome.as_ref().err();
                    error.is_some_and(|error| matches!(error.kind(), ErrorKind::Poisoned { .. }))
                });
                n_done += usize::from(is_ok);
                n_failed += usize::from(!is_ok);
                n_late += usize::from(is_late);
            }
        }
    }
    let counts = format!("{n_done} ended, {n_failed} failed, {n_late} of them in a task");
    println!("{counts}");
    assert!(n_done > 100 && n_late > 20, "{counts}");
}
