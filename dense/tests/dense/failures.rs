//! Failures while tasks run: what depends on them, what does not, and what all ranks come to know.

use crate::small;
use sparsefuse_dense::{Array, Error, Vector, step};
use sparsefuse_runtime::{Config, ErrorKind, run_ranks};

/// What was fused with something that fails, and does not depend on it, is there.
#[test]
fn results_that_depend_on_nothing_that_failed() {
    for (ranks, fusion) in [(1, true), (1, false), (3, true), (3, false)] {
        let config = Config {
            memory_limit: 1 << 20,
            fusion,
            ..Config::default()
        };
        let outcomes = run_ranks(ranks, &config, |_| {
            let x = Vector::<f64>::ones([1 << 14]);
            let y = &x * 2.0;
            let total = y.sum();
            let bad = Vector::<f64>::random_uniform([1 << 20], 1) + 1.0;
            let norm = (&bad * 2.0).norm2();
            let error = norm.get().unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Poisoned { .. }),
                "{error}"
            );
            assert!(error.to_string().contains("bytes of memory"), "{error}");
            assert_eq!(bad.to_vec().unwrap_err(), error, "the first cause");
            let sums = [total.get(), y.sum().get(), x.sum().get()];
            sums.map(|sum| sum.unwrap())
        });
        for sums in outcomes.unwrap() {
            assert_eq!(
                sums,
                [32768.0, 32768.0, 16384.0],
                "{ranks} ranks, fusion {fusion}"
            );
        }
    }
}

/// The partial results of a sum are memory, which is refused where there is too little, counted,
/// and given back.
#[test]
fn sums_of_more_elements_than_fit_in_memory() {
    const N: usize = 2000;
    // A partial result for each 16 elements, of 24 bytes.
    const PARTIALS: usize = N * N / 16 * 24;
    for (ranks, limit) in [(1, PARTIALS / 2), (1, 2 * PARTIALS), (2, PARTIALS / 8)] {
        let config = Config {
            memory_limit: limit,
            tile_len: 16,
            ..Config::default()
        };
        let outcomes = run_ranks(ranks, &config, |runtime| {
            let x = Vector::<f64>::arange(N);
            let (row, column) = (x.try_insert_axis(0)?, x.try_insert_axis(1)?);
            // What is summed is dropped before the sum is asked for, and so gets no memory.
            let sum = (row - column).square().sum();
            let sum = sum.get();
            // What follows finds the memory again.
            assert_eq!((&x + 1.0).sum().get()?, (N * (N + 1) / 2) as f64);
            assert!(runtime.memory_in_use() < 1 << 18);
            let is_counted = runtime.peak_memory() >= PARTIALS;
            assert_eq!(sum.is_ok(), is_counted, "{sum:?}");
            sum
        });
        let outcomes = outcomes.unwrap();
        for sum in &outcomes {
            match limit > PARTIALS {
                true => assert_eq!(
                    *sum,
                    Ok(2.0 * (0..N).map(|d| (N - d) * d * d).sum::<usize>() as f64)
                ),
                false => {
                    let text = sum.as_ref().unwrap_err().to_string();
                    assert!(text.contains("bytes of memory"), "{text}");
                }
            }
        }
    }
}

/// Where partial results are refused, what is fused with the sum and does not need it is there, as
/// without fusion.
#[test]
fn sums_that_are_refused_beside_other_results() {
    const N: usize = 1 << 20;
    // A partial result for each 16 elements, of 24 bytes: more than is kept uncounted.
    const PARTIALS: usize = N / 16 * 24;
    for fusion in [true, false] {
        let config = Config {
            memory_limit: 2 * N * size_of::<f64>() + PARTIALS / 2,
            tile_len: 16,
            fusion,
            ..Config::default()
        };
        let outcomes = run_ranks(1, &config, |runtime| {
            let x = Vector::<f64>::arange(N);
            let mut y = &x * 2.0;
            let sum = y.sum();
            y.assign_slice(..2, 1.0);
            runtime.flush();
            let error = sum.get().unwrap_err().to_string();
            assert!(error.contains("bytes of memory"), "{error}");
            y.to_vec()
        });
        let y = outcomes.unwrap().remove(0).unwrap();
        assert_eq!(
            (y[0], y[1], y[2], y[N - 1]),
            (1.0, 1.0, 4.0, 2.0 * (N - 1) as f64)
        );
    }
}

/// The same where one rank alone fails, and the others know of nothing: what the ranks reduce
/// together fails on all of them or on none.
#[test]
fn one_rank_alone_fails() {
    for (fusion, failing) in [(true, 0), (true, 1), (true, 2), (false, 1)] {
        let config = Config {
            memory_limit: 1 << 16,
            fusion,
            ..small()
        };
        let outcomes = run_ranks(3, &config, |runtime| {
            let full = (runtime.rank() == failing).then(|| runtime.room::<bool>(57_000).unwrap());
            let x = Vector::<f64>::ones([60]);
            let bad = Array::<f64, 2>::random_uniform([60, 64], 1) + 1.0;
            let y = &x * 2.0;
            let (good, lost) = (y.sum(), bad.sum());
            let after = &y + &x;
            let least = after.min();
            runtime.flush();
            drop(full);
            let error = lost.get().unwrap_err();
            assert!(error.to_string().contains("bytes of memory"), "{error}");
            assert!(bad.to_vec().is_err());
            let again = &y * &good;
            (good.get(), least.get(), after.to_vec(), again.to_vec())
        });
        for (good, least, after, again) in outcomes.unwrap() {
            assert_eq!(
                (good.unwrap(), least.unwrap()),
                (120.0, 3.0),
                "rank {failing}"
            );
            assert_eq!(after.unwrap(), [3.0; 60]);
            assert_eq!(again.unwrap(), [240.0; 60]);
        }
    }
}

/// Arrays of elements that one rank has no memory for: it goes on as the others, and fails with
/// them.
#[test]
fn one_rank_alone_lacks_memory_for_elements() {
    let config = Config {
        memory_limit: 1 << 16,
        check_ranks: true,
        ..small()
    };
    for failing in [0, 1, 2] {
        let outcomes = run_ranks(3, &config, |runtime| {
            let full = (runtime.rank() == failing).then(|| runtime.room::<bool>(57_000).unwrap());
            let x = Array::from_shape_vec([60, 64], vec![1.0; 60 * 64])?;
            let y = Array::<f64, 2>::try_from_fn([60, 64], |[i, _]| i as f64)?;
            drop(full);
            for lost in [&x, &y, &(&x + 1.0), &(&y + 1.0)] {
                assert!(lost.sum().get().is_err());
                let error = lost.to_vec().unwrap_err().to_string();
                assert!(error.contains("bytes of memory"), "{error}");
            }
            Array::from_shape_vec([60, 64], vec![1.0; 60 * 64])?
                .sum()
                .get()
        });
        for sum in outcomes.unwrap() {
            assert_eq!(sum.unwrap(), 3840.0, "rank {failing}");
        }
    }
}

/// Neighbours that one rank has no memory for: it does not run on the rows that would read them.
#[test]
fn one_rank_alone_lacks_memory_for_a_halo() {
    let config = Config {
        memory_limit: 1 << 16,
        ..small()
    };
    for failing in [0, 1, 2] {
        let outcomes = run_ranks(3, &config, |runtime| {
            let shifted = |is_forward: bool, is_full: bool| {
                let x = Vector::from_vec((0..6000).map(f64::from).collect());
                let mut y = Vector::<f64>::zeros([6000]);
                runtime.flush();
                let full = is_full.then(|| runtime.room::<bool>(20_000).unwrap());
                match is_forward {
                    true => y.assign_slice(..5999, x.slice(1..) * 2.0),
                    false => y.assign_slice(1.., x.slice(..5999) * 2.0),
                }
                runtime.flush();
                drop(full);
                y.sum().get()
            };
            let is_full = runtime.rank() == failing;
            let is_lost = [true, false].map(|is_forward| shifted(is_forward, is_full).is_err());
            let again = [true, false].map(|is_forward| shifted(is_forward, false).unwrap());
            (is_lost, again)
        });
        for (is_lost, again) in outcomes.unwrap() {
            assert_eq!(is_lost, [failing < 2, failing > 0], "rank {failing}");
            assert_eq!(again, [35_994_000.0, 35_982_002.0]);
        }
    }
}

/// What could not be computed is gone when all of it is written anew.
#[test]
fn arrays_that_failed_and_are_assigned_as_a_whole() {
    for ranks in [1, 3] {
        let outcome = run_ranks(ranks, &small(), |_| {
            let bad = Vector::<f64>::ones([40]).take(&Vector::full([40], 40));
            let good = Vector::from_vec((0..40).map(f64::from).collect());
            for (mut x, is_read) in [(bad.clone(), false), (bad.clone(), true)] {
                assert!(!is_read || x.to_vec().is_err());
                x.assign_slice(.., &good);
                assert_eq!(x.to_vec()?, good.to_vec()?);
            }
            // A part alone does not mend it.
            let mut x = bad.clone();
            x.assign_slice(1.., 2.0);
            assert!(x.to_vec().is_err());
            x.assign_slice(.., 3.0);
            assert_eq!(x.to_vec()?, [3.0; 40]);
            x.assign_slice(.., good.max());
            assert_eq!(x.to_vec()?, [39.0; 40]);
            x.assign_slice(step(.., -1), &good);
            assert_eq!(x.slice(..2).to_vec()?, [39.0, 38.0]);
            x.assign_slice(.., good.take(&Vector::full([40], 41)));
            assert!(x.to_vec().is_err());
            Ok::<(), Error>(())
        });
        outcome
            .unwrap()
            .into_iter()
            .collect::<Result<(), _>>()
            .unwrap();
    }
}
