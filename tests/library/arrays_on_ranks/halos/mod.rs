//! What travels for shifted slices: each halo once, for all arrays of a step in one message to a
//! neighbour, until the array is written.

use super::stencils::{cube, star};
use super::{difference, neighbours};
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Config, Room, plan_rank, run_ranks};
use sparsefuse_testing::small;

type Grid = Array<f64, 2>;

fn config() -> Config {
    Config {
        threads: 1,
        native: None,
        ..Config::default()
    }
}

/// Messages and bytes of the third step of a program on each rank.
fn sent_by<S>(runtime: &Runtime, start: impl Fn() -> S, step: impl Fn(&mut S)) -> (u64, u64) {
    let mut state = start();
    let mut sent = (0, 0);
    for _ in 0..3 {
        let before = runtime.counters();
        step(&mut state);
        runtime.flush();
        let (messages, bytes, _) = difference(runtime.counters(), before);
        sent = (messages, bytes);
    }
    sent
}

/// What each of some ranks sends, run and planned.
fn check<S>(ranks: usize, start: impl Fn() -> S + Sync, step: impl Fn(&mut S) + Sync, halo: u64) {
    let run = run_ranks(ranks, &config(), |runtime| sent_by(runtime, &start, &step));
    for (rank, sent) in run.unwrap().into_iter().enumerate() {
        let of = neighbours(rank, ranks);
        assert_eq!(sent, (of, of * halo), "rank {rank} of {ranks}");
        let planned = plan_rank(rank, ranks, &config(), |runtime| {
            sent_by(runtime, &start, &step)
        });
        assert_eq!(planned.unwrap(), sent, "planned rank {rank} of {ranks}");
    }
}

fn of_star<const N: usize>() -> (impl Fn() -> Grid, impl Fn(&mut Grid)) {
    let start = || Array::random_uniform([N, N], 7);
    (start, |u: &mut Grid| *u = star(u))
}

fn of_cube<const N: usize>() -> (impl Fn() -> Array<f64, 3>, impl Fn(&mut Array<f64, 3>)) {
    let start = || Array::random_uniform([N; 3], 7);
    (start, |u: &mut Array<f64, 3>| *u = cube(u))
}

/// The sizes and the settings of the issue that asked for it: two rows but for the columns at
/// either side, and a plane.
#[test]
fn real_stencils_send_their_halos_and_nothing_else() {
    for ranks in [2, 4, 8] {
        let (start, step) = of_star::<4096>();
        check(ranks, start, step, 2 * 4092 * 8);
        let (start, step) = of_cube::<256>();
        check(ranks, start, step, 256 * 256 * 8);
    }
}

/// Up to as many ranks as there are rows, and more.
#[test]
fn stencils_are_planned_on_thousands_of_ranks() {
    let planned = |rank: usize, ranks: usize| {
        let (start, step) = of_star::<4096>();
        let of_star = plan_rank(rank, ranks, &config(), |runtime| {
            sent_by(runtime, start, step)
        });
        let (start, step) = of_cube::<256>();
        let of_cube = plan_rank(rank, ranks, &config(), |runtime| {
            sent_by(runtime, start, step)
        });
        (of_star.unwrap(), of_cube.unwrap())
    };
    let (row, plane) = (4092 * 8, 256 * 256 * 8);
    // The first and the last plane belong to the boundary: their ranks compute none.
    for rank in [2, 100, 253] {
        assert_eq!(planned(rank, 256), ((2, 4 * row), (2, 2 * plane)), "{rank}");
    }
    assert_eq!(planned(0, 256), ((1, 2 * row), (1, plane)));
    // One row of the star a rank, which two neighbours at either side need; of the planes of the
    // cube there are 256, on every 16th rank.
    for rank in [4, 2047, 4091] {
        assert_eq!(planned(rank, 4096).0, (4, 4 * row), "{rank}");
    }
    let of_cube: Vec<_> = (2040..2056).map(|rank| planned(rank, 4096).1).collect();
    assert_eq!(
        of_cube
            .iter()
            .filter(|sent| **sent == (2, 2 * plane))
            .count(),
        1
    );
    assert_eq!(of_cube.iter().filter(|sent| **sent == (0, 0)).count(), 15);
}

fn inner(u: &Grid, row: isize, column: isize) -> Grid {
    let [n, m] = u.shape();
    let range = |by: isize, len: usize| (1 + by) as usize..(len as isize - 1 + by) as usize;
    u.slice((range(row, n), range(column, m)))
}

fn neighbours_of(u: &Grid) -> Grid {
    inner(u, -1, 0) + inner(u, 1, 0) + inner(u, 0, -1) + inner(u, 0, 1)
}

/// Two fields that depend on each other, and a coefficient that stays: one message for both fields,
/// and none for the coefficient but the first.
#[test]
fn the_fields_of_a_step_share_a_message_and_what_stays_is_sent_once() {
    let (n, m) = (600, 500);
    let start = || [1, 2, 3].map(|seed| Grid::random_uniform([n, m], seed));
    let step = |[u, v, k]: &mut [Grid; 3]| {
        let flow = inner(k, 1, 0) * neighbours_of(v) - inner(k, -1, 0) * inner(u, 0, 0);
        let back = neighbours_of(u) * inner(k, 0, 0);
        u.assign_slice((1..n - 1, 1..m - 1), flow * 0.1);
        v.assign_slice((1..n - 1, 1..m - 1), back * 0.2);
    };
    let row = (m - 2) as u64 * 8;
    for ranks in [2, 3, 8] {
        check(ranks, start, step, 2 * row);
    }
    let bits = |ranks: usize, fusion: bool| {
        let config = Config { fusion, ..config() };
        let found = run_ranks(ranks, &config, |runtime| {
            let mut state = start();
            for _ in 0..4 {
                step(&mut state);
                runtime.flush();
            }
            let [u, v, _] = state;
            [u.to_vec().unwrap(), v.to_vec().unwrap()].concat()
        });
        let found = found.unwrap().remove(0);
        found.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let expected = bits(1, false);
    for ranks in [2, 3, 8] {
        assert!(bits(ranks, true) == expected, "{ranks} ranks");
        assert!(bits(ranks, false) == expected, "{ranks} ranks, unfused");
    }
}

/// What `explain` says of the messages and the bytes of a window, and how many stores got a new
/// version.
fn explained(runtime: &Runtime) -> ((u64, u64), usize) {
    let text = runtime.explain();
    let mut sent = (0, 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["sends", messages, "messages,", bytes, "bytes"] = words[..] {
            sent.0 += messages.parse::<u64>().unwrap();
            sent.1 += bytes.parse::<u64>().unwrap();
        }
    }
    (sent, text.matches(" becomes ").count())
}

/// Sweeps in place that need rows of neighbours as the sweep before has left them: one message to a
/// neighbour for all of a window, with a row for each sweep; and a single sweep. So it is sent,
/// planned and explained, and each window writes a new version of the array.
#[test]
fn sweeps_of_a_window_share_a_message_of_a_row_each() {
    let (n, m) = (600, 500);
    let start = || Grid::random_uniform([n, m], 7);
    for (sweeps, halo) in [(1, (m - 2) * 8), (2, 2 * m * 8), (4, 4 * m * 8)] {
        let step = |u: &mut Grid| {
            for _ in 0..sweeps {
                let mean = neighbours_of(u) * 0.25;
                u.assign_slice((1..n - 1, 1..m - 1), mean);
            }
        };
        for ranks in [2, 3, 8] {
            check(ranks, start, step, halo as u64);
            let of_runtime = |runtime: &Runtime| {
                let sent = sent_by(runtime, start, step);
                assert_eq!(explained(runtime), (sent, 1), "{sweeps} on {ranks} ranks");
                runtime.peak_memory()
            };
            let run = run_ranks(ranks, &config(), of_runtime).unwrap();
            for (rank, peak) in run.into_iter().enumerate() {
                let planned = plan_rank(rank, ranks, &config(), of_runtime);
                assert_eq!(planned.unwrap(), peak, "rank {rank} of {ranks}");
                // Two arrays, room for halos, and what the pool adds to a size.
                assert!(peak * ranks < 3 * n * m * 8, "{peak} bytes, rank {rank}");
            }
        }
    }
}

/// An array that is written is sent anew, also where only a part has changed, and also if the
/// program still reads what was there before.
#[test]
fn what_is_written_is_sent_anew() {
    let bits = |ranks: usize, fusion: bool| {
        let config = Config { fusion, ..small() };
        let found = run_ranks(ranks, &config, |_| {
            let mut u = Grid::random_uniform([40, 6], 1);
            let mut seen = Vec::new();
            for step in 0..6 {
                let before = (step > 2).then(|| u.local().unwrap());
                let sum = neighbours_of(&u);
                match step % 3 {
                    0 => u.assign_slice((1..39, 1..5), &sum * 0.25),
                    1 => u.assign_slice((20..21, ..), f64::from(step)),
                    _ => {}
                }
                seen.extend(sum.to_vec().unwrap());
                drop(before);
            }
            seen.extend(u.to_vec().unwrap());
            seen.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        });
        found.unwrap()
    };
    let expected = bits(1, false).remove(0);
    for ranks in [1, 2, 3, 5] {
        for fusion in [true, false] {
            let found = bits(ranks, fusion);
            assert!(found.iter().all(|of| *of == expected), "{ranks}, {fusion}");
        }
    }
}

/// The bytes that a rank may have in the tests of ranks that lack memory.
const LIMIT: usize = 1 << 17;

/// Takes memory until there is none for 16384 bytes.
fn fill(runtime: &Runtime) -> Vec<Room<bool>> {
    let mut full = Vec::new();
    while LIMIT - runtime.memory_in_use() >= 16384 {
        full.push(runtime.room(4096).unwrap());
    }
    full
}

/// One rank lacks memory for a field whose halo would share a message with that of another: what is
/// made of the other is there, with its bits.
#[test]
fn a_field_that_one_rank_lacks_does_not_spoil_the_halo_of_another() {
    let shape = [48, 12];
    let expected = run_ranks(1, &small(), |_| {
        neighbours_of(&(Grid::random_uniform(shape, 1) * 2.0))
            .to_vec()
            .unwrap()
    });
    let expected = expected.unwrap().remove(0);
    for fusion in [true, false] {
        for failing in 0..3 {
            let config = Config {
                memory_limit: LIMIT,
                fusion,
                ..small()
            };
            let found = run_ranks(3, &config, |runtime| {
                let u = Grid::random_uniform(shape, 1);
                runtime.flush();
                let full = (runtime.rank() == failing).then(|| fill(runtime));
                let large = Array::<f64, 2>::random_uniform([48, 128], 2);
                let lost = (&large + 1.0).slice((.., ..12)) * 1.0;
                let v = &u * 2.0;
                let (good, bad) = (neighbours_of(&v), neighbours_of(&lost));
                runtime.flush();
                drop(full);
                assert!(bad.to_vec().is_err());
                // What is around the rows of `v` stays there.
                let again = neighbours_of(&v);
                (good.to_vec().unwrap(), again.to_vec().unwrap())
            });
            for (good, again) in found.unwrap() {
                assert!(good == expected && again == expected, "{failing}, {fusion}");
            }
        }
    }
}

/// One rank lacks memory for a new version of an array: the array fails on all ranks, and what else
/// there is does not.
#[test]
fn a_version_that_one_rank_lacks_fails_on_all() {
    let shape = [48, 12];
    let expected = run_ranks(1, &small(), |_| {
        neighbours_of(&Grid::random_uniform(shape, 2))
            .to_vec()
            .unwrap()
    });
    let expected = expected.unwrap().remove(0);
    let config = Config {
        memory_limit: LIMIT,
        ..small()
    };
    for failing in 0..3 {
        let found = run_ranks(3, &config, |runtime| {
            let mut u = Grid::random_uniform([48, 128], 1);
            let v = Grid::random_uniform(shape, 2);
            let sweep = |u: &mut Grid| {
                let mean = neighbours_of(u) * 0.25;
                u.assign_slice((1..47, 1..127), mean);
            };
            sweep(&mut u);
            runtime.flush();
            let full = (runtime.rank() == failing).then(|| fill(runtime));
            sweep(&mut u);
            let good = neighbours_of(&v);
            runtime.flush();
            drop(full);
            assert!(u.to_vec().is_err());
            good.to_vec().unwrap()
        });
        for good in found.unwrap() {
            assert!(good == expected, "{failing}");
        }
    }
}
