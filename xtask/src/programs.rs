//! `cargo xtask bench examples` and `cargo xtask bench tasks`: programs of `examples/` beside the
//! same programs on other systems, by the scripts that run both in turn.

use crate::cargo::{cargo, command, show};
use crate::mpi;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the driver of `bench peers` keeps Python packages, too.
const ENVIRONMENT: &str = "target/peers/venv";

/// What is passed on to `compare.py`.
#[derive(Debug, clap::Args)]
pub(crate) struct Examples {
    /// What to run, as `stencil27` or `channel_flow:1024:10` (name, size, steps); all by default
    #[arg(value_name = "NAME[:SIZE[:STEPS]]")]
    work: Vec<String>,
    /// Beside what
    #[arg(long, default_value = "numpy,jax,numba")]
    peers: String,
    /// Threads of all of them; with one, each is pinned to the first core
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Rounds, in each of which all run in turn
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Install no Python packages
    #[arg(long)]
    no_install: bool,
}

/// What is passed on to the scripts for graphs of tasks.
#[derive(Debug, clap::Args)]
pub(crate) struct Tasks {
    /// Patterns of Task Bench: stencil_1d, nearest, fft, no_comm, tree, dom
    #[arg(long, default_value = "stencil_1d")]
    patterns: String,
    /// Points of a time step
    #[arg(long, default_value = "8,1024")]
    widths: String,
    /// Rounds, in each of which all run in turn
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Install no Python packages
    #[arg(long)]
    no_install: bool,
}

/// The examples beside NumPy, JAX and numba.
pub(crate) fn examples(arguments: &Examples) -> Result<ExitCode, String> {
    let peers = arguments.peers.split(',');
    let packages: Vec<&str> = peers.chain(["numpy", "scipy"]).collect();
    let python = python(&packages, arguments.no_install)?;
    let mut build = cargo(["build", "--release"]);
    match arguments.work.is_empty() {
        true => build.arg("--examples"),
        false => build.args(arguments.work.iter().flat_map(|work| {
            let name = work.split(':').next().unwrap_or(work);
            ["--example", name]
        })),
    };
    show(build)?;
    let mut compare = command(&python, ["benches/python/examples/compare.py"]);
    compare
        .args(&arguments.work)
        .args(["--peers", &arguments.peers]);
    compare.args(["--threads", &arguments.threads.to_string()]);
    compare.args(["--rounds", &arguments.rounds.to_string()]);
    show(compare)?;
    Ok(ExitCode::SUCCESS)
}

/// Task Bench beside MPI, where that can be had, and graphs of tasks beside Dask.
pub(crate) fn tasks(arguments: &Tasks) -> Result<ExitCode, String> {
    let python = python(&["numpy", "dask"], arguments.no_install)?;
    show(cargo([
        "build",
        "--release",
        "--example",
        "synthetic_graphs",
    ]))?;
    show(command(&python, ["benches/python/examples/dask_graphs.py"]))?;
    let has_mpi = mpi::is_ready();
    let mut build = cargo(["build", "--release", "--example", "task_bench"]);
    let systems = match has_mpi {
        true => {
            build.args(mpi::FEATURES);
            let program = [
                "-O3",
                "-o",
                "target/nonblock",
                "benches/task_bench/nonblock.c",
            ];
            show(command("mpicc", program))?;
            "threads,ranks,ranks-in-process,mpi"
        }
        false => "threads,ranks-in-process",
    };
    show(build)?;
    let mut metg = command(&python, ["benches/task_bench/metg.py"]);
    metg.args(["--systems", systems, "--patterns", &arguments.patterns]);
    metg.args(["--widths", &arguments.widths]);
    metg.args(["--rounds", &arguments.rounds.to_string()]);
    // Open MPI refuses to start processes for root otherwise.
    metg.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    metg.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    show(metg)?;
    Ok(ExitCode::SUCCESS)
}

/// A Python that has the packages: that of an environment of the project, in which they are
/// installed if need be.
fn python(packages: &[&str], no_install: bool) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = root.join(ENVIRONMENT).join("bin/python");
    if no_install {
        return Ok(python);
    }
    let make = ["-m", "venv", ENVIRONMENT];
    show(command("python3", make)).map_err(|failure| {
        format!("{failure}; on Debian or Ubuntu: sudo apt-get install python3-venv")
    })?;
    let mut install = command(&python, ["-m", "pip", "install", "--quiet"]);
    install.args(packages);
    show(install)?;
    Ok(python)
}
