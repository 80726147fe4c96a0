//! `cargo xtask fuzz`: libFuzzer on the Matrix Market reader.

use crate::cargo::{nightly, show, succeeds};
use std::process::ExitCode;

/// Runs the fuzz target for this long, or says what is missing.
pub(crate) fn run(seconds: u64) -> Result<ExitCode, String> {
    if !succeeds(nightly(["--version"])) {
        return Err("a nightly compiler is missing; run: rustup toolchain install nightly".into());
    }
    if !succeeds(nightly(["fuzz", "--version"])) {
        return Err("cargo-fuzz is missing; run: cargo install cargo-fuzz".into());
    }
    let limit = format!("-max_total_time={seconds}");
    show(nightly(["fuzz", "run", "matrix_market", "--", &limit]))?;
    println!("no crash in {seconds} s");
    Ok(ExitCode::SUCCESS)
}
