//! Golden text for each pass, and random kernels that must keep every bit.

#![expect(
    unsafe_code,
    reason = "the reference interpreter works on plain memory"
)]

use super::*;
use crate::generate;
use crate::reference;
use crate::text::parse;
use crate::verify::verify;

/// The reference, as a safe function for launches of generated cases.
fn run(kernel: &Kernel, launch: &crate::launch::Launch<'_>) {
    // SAFETY: the kernel is verified, and the generator binds every argument to memory that fits.
    unsafe { reference::run(kernel, launch) };
}

fn check_random(seed: u64, tile_len: usize) {
    let case = generate::case(seed, tile_len);
    verify(&case.kernel).unwrap();
    let expected = case.without_temporaries(case.run_whole(run));
    let original = case.kernel.to_string();
    let all_args: Vec<ArgId> = (0..case.kernel.args.len() as ArgId).collect();
    let all_params: Vec<u32> = (0..case.params.len() as u32).collect();
    let check = |pass: &str, kernel: &Kernel, args: &[ArgId], params: &[u32]| {
        let about = || format!("seed {seed}, tiles of {tile_len}, {pass}\n{original}\n{kernel}");
        assert_eq!(verify(kernel), Ok(()), "{}", about());
        let found = case.without_temporaries(case.run(kernel, args, params, run));
        assert!(found == expected, "{}", about());
    };
    let optimized = optimize_with(case.kernel.clone(), &mut |pass, kernel| {
        if pass != "compact" {
            check(pass, kernel, &all_args, &all_params);
        }
    });
    check(
        "compact",
        &optimized.kernel,
        &optimized.args,
        &optimized.params,
    );
}

#[test]
fn passes_keep_every_bit_of_random_kernels() {
    for seed in 0..2000 {
        check_random(seed, [1, 3, 16][seed as usize % 3]);
    }
    for seed in 0..20 {
        check_random(seed, 1024);
    }
}
