//! Chains against loops that run one after the other, to the bit; and what rows have in common,
//! counted byte by byte.
#![expect(unsafe_code, reason = "runs programs on memory of the tests")]

use super::reach::{Reach, Wait};
use crate::blocks::{Part, Program, Settings};
use crate::generate::sweeps::{Draws, Sweeps, layout};
use crate::launch::Layout;
use crate::reference;
use crate::workers::Workers;

/// The bytes of an outer row, counted.
fn bytes(begin: usize, layout: &Layout, size: usize, row: usize) -> Vec<usize> {
    let row_len = layout.len() / layout.dims[0];
    let elements = row * row_len..(row + 1) * row_len;
    let addresses =
        elements.map(|flat| begin.wrapping_add_signed(layout.offset(flat) * size as isize));
    addresses
        .flat_map(|address| address..address + size)
        .collect()
}

#[test]
fn rows_wait_for_those_that_they_have_bytes_in_common_with() {
    let mut met = 0;
    for seed in 0..8000 {
        let draws = Draws::of(seed);
        let stride = 1 + draws.below(9);
        let layout = |draws: &Draws| Layout {
            rank: 2,
            dims: [
                1 + draws.below(7) * draws.below(2),
                1 + draws.below(stride + 1),
                1,
                1,
            ],
            strides: [stride as isize, 1, 0, 0],
        };
        let layouts = [layout(&draws), layout(&draws)];
        let begins = [1000, 1000 - 40 + draws.below(80)];
        let [earlier, later] = [0, 1].map(|k| Reach::new(begins[k] as *const u8, &layouts[k], 1));
        let rows = [0, 1].map(|k| layouts[k].dims[0] as i64);
        let has_common = |j: i64, i: i64| {
            let of_earlier = bytes(begins[0], &layouts[0], 1, j as usize);
            let of_later = bytes(begins[1], &layouts[1], 1, i as usize);
            of_earlier.iter().any(|byte| of_later.contains(byte))
        };
        let pairs = || (0..rows[0]).flat_map(|j| (0..rows[1]).map(move |i| (j, i)));
        let common: Vec<_> = pairs().filter(|&(j, i)| has_common(j, i)).collect();
        let Some(wait) = Wait::new(&earlier, &later).expect("both go on by as many bytes") else {
            assert!(common.is_empty(), "seed {seed}");
            continue;
        };
        met += usize::from(!common.is_empty());
        for done in 0..=rows[0] {
            let allowed = wait.allowed(done);
            let waits = |&&(j, i): &&(i64, i64)| j >= done && i < allowed;
            assert_eq!(common.iter().find(waits), None, "seed {seed}, {done} done");
            let behind = wait.first_behind(done);
            let meets = |&&(j, i): &&(i64, i64)| j < done && i >= behind;
            assert_eq!(
                common.iter().find(meets),
                None,
                "seed {seed}, behind {done}"
            );
        }
        // However far both have come, the later one is behind by its lag.
        for front in -20..20_i64 {
            let of_earlier = front.clamp(0, rows[0]);
            let lag = wait.lag().unwrap_or(-20);
            let of_later = (front - lag).clamp(0, rows[1]);
            let waits = |&&(j, i): &&(i64, i64)| j >= of_earlier && i < of_later;
            assert_eq!(
                common.iter().find(waits),
                None,
                "seed {seed}, lag {lag} at {front}"
            );
        }
    }
    assert!(met > 1500, "{met} of 8000 have something in common");
}

#[test]
fn loops_in_bands_have_the_bits_of_loops_one_after_the_other() {
    let workers = [1, 2, 3, 4].map(|n| Workers::new(n).unwrap());
    let (mut chained, mut divided, mut passing) = (0, 0, 0);
    for seed in 0..400 {
        let case = Sweeps::new(seed);
        // SAFETY: each view lies within its memory, and a loop reads what it writes in the same
        // place only.
        let expected = case.run(|launch| unsafe { reference::run(&case.kernel, launch) });
        let program = Program::compile(&case.kernel);
        for block_len in [0, 16, 64] {
            let settings = Settings {
                block_len,
                parallel_threshold: 0,
                band_threshold: 0,
                ..Settings::default()
            };
            for workers in &workers {
                // SAFETY: as above.
                let found = case.run(|launch| unsafe {
                    program.run(launch, Part::All, &settings, workers);
                });
                assert!(
                    found == expected,
                    "seed {seed}, blocks of {block_len}, {} threads\n{}",
                    workers.count(),
                    case.kernel
                );
                let plan = program.bands.as_ref().and_then(|bands| bands.last_plan());
                let chains = plan.iter().flat_map(|plan| &plan.chains);
                for chain in chains {
                    chained += chain.links.len();
                    divided += usize::from(chain.threads > 1);
                    passing += chain.rings.len() * usize::from(chain.threads > 1);
                }
            }
        }
    }
    assert!(chained > 20_000, "{chained} loops were part of a chain");
    assert!(divided > 2000, "{divided} chains ran on several threads");
    assert!(
        passing > 300,
        "{passing} memories passed through the cache there"
    );
}

/// A store gets memory of its own where that of another one, which the kernel takes for its own,
/// has no room: then one number stands for two places. A chain that took their distance for rows
/// went on for hours.
#[test]
fn memory_in_two_places_says_nothing_of_rows() {
    let (n, far) = (64, 1 << 21);
    let mut case = Sweeps::empty(vec![far + n * n]);
    let (old, new, other) = (0, far, n * n);
    let inner = layout(&[n, n], &[n - 2, n - 2]);
    for (from, to) in [(old, other), (other, new), (new, other), (other, new)] {
        let around = [n, n + 2, 1, 2 * n + 1].map(|first| (0, from + first));
        let args = case.kernel.args.len();
        case.add(&around, (0, to + n + 1), (inner, 0.25));
        let memory = |grid: usize| u32::from(grid == other);
        for arg in &mut case.kernel.args[args..] {
            arg.memory = memory(from);
        }
        let written = case.kernel.args.last_mut().unwrap();
        written.memory = memory(to);
    }
    let program = Program::compile(&case.kernel);
    let settings = Settings {
        band_threshold: 1,
        ..Settings::default()
    };
    // SAFETY: as in the tests above.
    let expected = case.run(|launch| unsafe { reference::run(&case.kernel, launch) });
    // SAFETY: as in the tests above.
    let found = case.run(|launch| unsafe {
        program.run(launch, Part::All, &settings, &Workers::alone());
    });
    assert!(found == expected);
    let plan = program.bands.as_ref().and_then(|bands| bands.last_plan());
    let plan = plan.unwrap();
    let links = plan.chains.iter().flat_map(|chain| &chain.links);
    let lags: Vec<_> = links.map(|link| link.lag).collect();
    assert_eq!(lags, [0, 1, 2, 3]);
}

/// Sweeps of five points in place of one another: what a chain is for.
#[test]
fn sweeps_of_a_stencil_are_one_chain() {
    let n = 64;
    let mut case = Sweeps::empty(vec![n * n; 2]);
    for sweep in 0..20 {
        let (from, to) = (sweep % 2, 1 - sweep % 2);
        let around = [n, n + 2, 1, 2 * n + 1].map(|first| (from, first));
        let inner = layout(&[n, n], &[n - 2, n - 2]);
        case.add(&around, (to, n + 1), (inner, 0.25));
    }
    let program = Program::compile(&case.kernel);
    let settings = Settings {
        band_threshold: 1,
        block_len: 128,
        ..Settings::default()
    };
    // SAFETY: as in the test above.
    let expected = case.run(|launch| unsafe { reference::run(&case.kernel, launch) });
    // SAFETY: as in the test above.
    let found = case.run(|launch| unsafe {
        program.run(launch, Part::All, &settings, &Workers::alone());
    });
    assert!(found == expected);
    let plan = program
        .bands
        .as_ref()
        .and_then(|bands| bands.last_plan())
        .unwrap();
    let [chain] = &plan.chains[..] else {
        panic!("{} chains", plan.chains.len());
    };
    let lags: Vec<_> = chain.links.iter().map(|link| link.lag).collect();
    // A sweep needs the row below, and may not overwrite what the sweep before still reads.
    assert_eq!(lags, (0..20).collect::<Vec<_>>());
    assert_eq!(chain.band, 2);
}
