//! Arrays of several dimensions that are cut among ranks: what travels is what is needed. Of
//! stencils the halo, one message to a neighbour; of sums of columns partial results.

mod halos;
mod stencils;

use sparsefuse::prelude::*;
use sparsefuse::runtime::{Config, Counters, run_ranks};
use stencils::{cube, star};

/// What one step of a program sends from each rank, fused tasks of that step, and the bits of the
/// field after three more.
type Found = (Vec<(u64, u64, u64)>, Vec<u64>);

fn steps<const D: usize>(
    ranks: usize,
    fusion: bool,
    dims: [usize; D],
    step: impl Fn(&Array<f64, D>) -> Array<f64, D> + Sync,
) -> Found {
    let config = Config {
        fusion,
        threads: 1,
        native: None,
        ..Config::default()
    };
    let found = run_ranks(ranks, &config, |runtime| {
        let mut u = Array::<f64, D>::random_uniform(dims, 7);
        let mut sent = (0, 0, 0);
        for _ in 0..5 {
            let before = runtime.counters();
            u = step(&u);
            runtime.flush();
            sent = difference(runtime.counters(), before);
        }
        let total = u.sum().get().unwrap();
        let line = u.ravel().to_vec().unwrap();
        let mut bits = vec![total.to_bits()];
        bits.extend(line.iter().step_by(997).map(|value| value.to_bits()));
        (sent, bits)
    });
    let (sent, bits): (Vec<_>, Vec<_>) = found.unwrap().into_iter().unzip();
    assert!(bits.iter().all(|of_rank| *of_rank == bits[0]));
    (sent, bits.into_iter().next().unwrap())
}

fn difference(now: Counters, before: Counters) -> (u64, u64, u64) {
    (
        now.messages - before.messages,
        now.bytes_sent - before.bytes_sent,
        now.fused_tasks - before.fused_tasks,
    )
}

/// Neighbours of a rank in a row of ranks.
fn neighbours(rank: usize, ranks: usize) -> u64 {
    u64::from(rank > 0) + u64::from(rank + 1 < ranks)
}

#[test]
fn a_star_of_radius_2_sends_two_rows_to_each_neighbour() {
    let (n, m) = (700, 900);
    let (_, expected) = steps(1, false, [n, m], star);
    for ranks in [2, 3, 4, 8] {
        let (sent, bits) = steps(ranks, true, [n, m], star);
        assert_eq!(bits, expected, "{ranks} ranks");
        for (rank, &(messages, bytes, fused)) in sent.iter().enumerate() {
            let of = neighbours(rank, ranks);
            // Two rows, but for the two columns at either side.
            let halo = 2 * (m as u64 - 4) * 8;
            assert_eq!((messages, bytes), (of, of * halo), "rank {rank} of {ranks}");
            assert!(fused <= 2, "{fused} on rank {rank} of {ranks}");
        }
        let (_, bits) = steps(ranks, false, [n, m], star);
        assert_eq!(bits, expected, "{ranks} ranks, unfused");
    }
}

#[test]
fn a_cube_of_27_points_sends_a_plane_to_each_neighbour() {
    let n = 48;
    let (_, expected) = steps(1, false, [n; 3], cube);
    for ranks in [2, 4, 5] {
        let (sent, bits) = steps(ranks, true, [n; 3], cube);
        assert_eq!(bits, expected, "{ranks} ranks");
        for (rank, &(messages, bytes, fused)) in sent.iter().enumerate() {
            let of = neighbours(rank, ranks);
            let plane = (n * n * 8) as u64;
            assert_eq!(
                (messages, bytes),
                (of, of * plane),
                "rank {rank} of {ranks}"
            );
            assert!(fused <= 2, "{fused} on rank {rank} of {ranks}");
        }
    }
}

/// Few long rows, and many short ones: all ranks hold some.
#[test]
fn arrays_of_all_shapes_are_cut() {
    for dims in [[20, 5000], [1000, 100], [5000, 3], [300, 1025]] {
        let held = run_ranks(4, &Config::default(), |_| {
            let u = Array::<f64, 2>::random_uniform(dims, 3);
            let total = (&u * &u).sum().get().unwrap();
            (u.local().unwrap().rows().len(), total.to_bits())
        });
        let held = held.unwrap();
        let rows: usize = held.iter().map(|of| of.0).sum();
        assert_eq!(rows, dims[0], "{dims:?}");
        let most = held.iter().map(|of| of.0).max().unwrap();
        assert!(
            most <= dims[0].div_ceil(4) + dims[0] / 16,
            "{dims:?}: {held:?}"
        );
        assert!(held.iter().all(|of| of.1 == held[0].1));
    }
}

/// Columns of a matrix whose rows are on several ranks: partial results travel, not rows.
#[test]
fn a_gradient_travels_and_not_the_features() {
    let (n, features) = (20_000, 50);
    let run = |ranks: usize, fusion: bool| {
        let config = Config {
            fusion,
            threads: 1,
            native: None,
            ..Config::default()
        };
        let found = run_ranks(ranks, &config, |runtime| {
            let x = Array::<f64, 2>::random_uniform([n, features], 1);
            let y = Vector::<f64>::random_uniform([n], 2);
            let mut w = Vector::<f64>::zeros([features]);
            let mut sent = (0, 0, 0);
            for _ in 0..4 {
                let before = runtime.counters();
                let predicted = 1.0 / ((-x.matvec(&w)).exp() + 1.0);
                w -= x.t().matvec(&(predicted - &y)) * (1.0 / n as f64);
                runtime.flush();
                sent = difference(runtime.counters(), before);
            }
            let sums = x.sum_axis(0).to_vec().unwrap();
            let largest = x.max_axis(0).to_vec().unwrap();
            let parts = [w.to_vec().unwrap(), sums, largest].concat();
            let bits: Vec<u64> = parts.iter().map(|value| value.to_bits()).collect();
            (sent, bits)
        });
        found.unwrap()
    };
    let expected = run(1, false).remove(0).1;
    for ranks in [2, 3, 8] {
        for fusion in [true, false] {
            for (rank, (sent, bits)) in run(ranks, fusion).into_iter().enumerate() {
                assert_eq!(bits, expected, "rank {rank} of {ranks}");
                assert_eq!((sent.0, sent.1), (0, 0), "rank {rank} of {ranks}");
            }
        }
    }
}
