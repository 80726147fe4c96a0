//! Matrices of more entries than one part of the work has, on several threads and ranks.

use crate::{bits, rows};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::random;
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_sparse::{Csr, Triplets};
use std::collections::BTreeMap;

const N_ROWS: usize = 70_000;
const N_COLS: usize = 90_000;

/// Entries in no order, some of them twice; near the diagonal or anywhere.
fn triplets(is_banded: bool) -> Triplets<f64> {
    let mut triplets = Triplets::new(N_ROWS, N_COLS).unwrap();
    for k in 0..150_000u64 {
        let draw = |number| random::bits(number, k) as usize;
        let row = draw(1) % N_ROWS;
        let col = if is_banded {
            row + draw(2) % 900
        } else {
            draw(2) % N_COLS
        };
        triplets.push(row, col, random::uniform(3, k)).unwrap();
    }
    let again: Vec<_> = triplets.iter().step_by(7).collect();
    for (row, col, value) in again {
        triplets
            .push(row as usize, col as usize, value / 3.0)
            .unwrap();
    }
    triplets
}

#[test]
fn threads_and_ranks_do_not_show() {
    for is_banded in [true, false] {
        let triplets = triplets(is_banded);
        // Summed in the order given.
        let mut sums = BTreeMap::new();
        for (row, col, value) in triplets.iter() {
            *sums.entry((row, col)).or_insert(0.0) += value;
        }
        let mut turned: Vec<_> = sums
            .iter()
            .map(|(&(row, col), &value)| (col, row, value))
            .collect();
        turned.sort_by_key(|&(col, row, _)| (col, row));
        let mut expected = None;
        for (threads, ranks) in [(1, 1), (3, 1), (2, 2)] {
            let config = Config {
                threads,
                ..Config::default()
            };
            let results = run_ranks(ranks, &config, |_| {
                let a = Csr::from_triplets(&triplets).unwrap();
                let found = a.to_triplets().unwrap();
                assert!(
                    found
                        .iter()
                        .eq(sums.iter().map(|(&(row, col), &value)| (row, col, value)))
                );
                // In order already.
                assert_eq!(rows(&Csr::from_triplets(&found).unwrap()), rows(&a));

                let transposed = a.transpose().unwrap();
                let entries: Vec<_> = transposed.to_triplets().unwrap().iter().collect();
                assert_eq!(entries, turned);

                let product = rows(&a.matmul(&transposed)).unwrap();
                let sum = rows(&(&a + &a.filter(|_, col, _| col % 3 == 0).unwrap())).unwrap();
                let scaled = a
                    .scale_columns(&Vector::linspace(1.0, 2.0, N_COLS))
                    .unwrap();
                (product, sum, bits(&scaled.values().to_vec().unwrap()))
            });
            for found in results.unwrap() {
                let expected = expected.get_or_insert_with(|| found.clone());
                assert!(found == *expected, "{threads} threads, {ranks} ranks");
            }
        }
    }
}
