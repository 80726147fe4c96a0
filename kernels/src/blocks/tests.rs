//! Programs against the reference, to the bit, for every way to run them.

use super::*;
use crate::generate::{Case, Data, case};
use crate::launch::Launch;
use crate::reference;

/// The reference, as a safe function for launches of generated cases.
fn run_reference(kernel: &Kernel, launch: &Launch<'_>) {
    // SAFETY: the generator binds every argument to memory that fits.
    unsafe { reference::run(kernel, launch) };
}

fn run_program(case: &Case, program: &Program, settings: &Settings, workers: &Workers) -> Data {
    case.run_whole(|_, launch| {
        // SAFETY: the generator binds every argument to memory that fits, and the settings name
        // instruction sets of this machine.
        unsafe { program.run(launch, Part::All, settings, workers) };
    })
}

/// One case, in every way that the settings allow.
fn check_random(seed: u64, tile_len: usize, block_lens: &[usize], workers: &[Workers]) {
    let case = case(seed, tile_len);
    let expected = case.with_one_nan(case.run_whole(run_reference));
    let program = Program::compile(&case.kernel);
    for isa in Isa::available() {
        for &block_len in block_lens {
            for workers in workers {
                let settings = Settings {
                    isa,
                    block_len,
                    parallel_threshold: 0,
                };
                let found = case.with_one_nan(run_program(&case, &program, &settings, workers));
                assert!(
                    found == expected,
                    "seed {seed}, tiles of {tile_len}, {settings:?}, {} threads\n{}",
                    workers.count(),
                    case.kernel
                );
            }
        }
    }
}

fn workers(counts: &[usize]) -> Vec<Workers> {
    counts.iter().map(|&n| Workers::new(n).unwrap()).collect()
}

#[test]
fn random_kernels_equal_the_reference_in_small_tiles() {
    let workers = workers(&[1, 3]);
    for seed in 0..3000 {
        let tile_len = [1, 3, 7, 16, 24][seed as usize % 5];
        let block_len = [0, 1, 2, 7, 16, 64][seed as usize % 6];
        check_random(seed, tile_len, &[block_len], &workers);
    }
}

#[test]
fn random_kernels_equal_the_reference_in_large_tiles() {
    let workers = workers(&[1, 2]);
    for seed in 10_000..10_060 {
        check_random(seed, 1024, &[0, 7, 64, 1000], &workers);
    }
}
