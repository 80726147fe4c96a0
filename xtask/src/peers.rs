//! `cargo xtask bench peers`: the package `benches/peers`, which is no member of the workspace.

use crate::cargo::{cargo, show};
use std::process::ExitCode;

/// What is passed on to the driver.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only work whose name contains this, as `spmv` or `cg poisson2d:512`; may be repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Only competitors whose name contains this, as `petsc`, beside sparsefuse; may be repeated
    #[arg(long, value_name = "NAME")]
    against: Vec<String>,
    /// Rounds of each piece of work [default: 5, quick: 3]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Fewer and shorter rounds, and smaller matrices where a single time takes long, to see that
    /// everything works
    #[arg(long)]
    quick: bool,
    /// Install neither Debian nor Python packages
    #[arg(long)]
    no_install: bool,
}

/// Builds the driver, with MPI if that can be had, and runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let manifest = "benches/peers/Cargo.toml";
    let words = ["--release", "--locked", "--manifest-path", manifest];
    let with_mpi = ["--features", "mpi"];
    let mut build = cargo(["build"]);
    build.args(words).args(with_mpi);
    let mut command = cargo(["run"]);
    command.args(words);
    if show(build).is_ok() {
        command.args(with_mpi);
    } else {
        eprintln!("xtask: going on without MPI");
    }
    command.arg("--");
    // A part of the work, or a quick look at it, does not replace the figures of the project.
    let is_partial = arguments.quick || !arguments.only.is_empty() || !arguments.against.is_empty();
    let results = if is_partial {
        "target/peers/results/peers.md"
    } else {
        "benches/results/peers.md"
    };
    command.args(["--results", results, "--folder", "target/peers"]);
    for pattern in &arguments.only {
        command.args(["--only", pattern]);
    }
    for name in &arguments.against {
        command.args(["--against", name]);
    }
    if let Some(rounds) = arguments.rounds {
        command.args(["--rounds", &rounds.to_string()]);
    }
    if arguments.quick {
        command.arg("--quick");
    }
    if arguments.no_install {
        command.arg("--no-install");
    }
    show(command)?;
    Ok(ExitCode::SUCCESS)
}
