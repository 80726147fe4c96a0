//! `cargo xtask differential`: the test of random programs, for as long as one likes.

use crate::cargo::{cargo, show};
use std::process::ExitCode;

/// Runs the test for about this long; it prints the seed of a program that fails.
pub(crate) fn run(seconds: u64) -> Result<ExitCode, String> {
    let mut command = cargo([
        "test",
        "--release",
        "--test",
        "differential",
        "--",
        "--nocapture",
    ]);
    command.env("SPARSEFUSE_DIFFERENTIAL_SECONDS", seconds.to_string());
    show(command)?;
    Ok(ExitCode::SUCCESS)
}
