//! The habits of the project as commands: `cargo xtask --help` lists them.
//!
//! Each command runs cargo and what cargo has built, so it needs no shell and no system package;
//! the tests under `mpiexec` alone need some. What goes wrong is told in one sentence that says
//! what to do about it, and ends the program with status 1.

mod tally;
mod test;

mod mpi;

mod bench;
mod estimates;
mod peers;
mod programs;

mod differential;
mod fuzz;
mod map;
mod table;

mod cargo;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The habits of the project: every check, the benches, the long-running tests.
///
/// Before you push: `cargo xtask test`. While you work: `cargo xtask test --quick`, or plain
/// `cargo test -p CRATE`.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    verbatim_doc_comment
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every check: format, clippy, documentation, all tests, tests under mpiexec
    ///
    /// Stops at the first check that fails. The last line is `N passed, N failed`, the sum over
    /// all tests. Needs Rust with the components rustfmt and clippy, and for the last check an MPI,
    /// which root on Debian or Ubuntu gets installed; elsewhere it is skipped if there is none.
    Test {
        /// Only format, clippy and unit tests
        #[arg(long)]
        quick: bool,
        /// Only the tests under mpiexec
        #[arg(long, conflicts_with = "quick")]
        mpi: bool,
    },
    /// Run the benches of `benches/` and print one table of them
    ///
    /// The figures are those of criterion, which keeps them under
    /// `target/criterion`: the median time of an iteration and the median distance from it.
    #[command(args_conflicts_with_subcommands = true)]
    Bench {
        #[command(subcommand)]
        beside: Option<Bench>,
        /// The bench to run; all of them without it
        name: Option<String>,
    },
    /// Solve with the matrices of the test collection in many ways, and write `docs/solvers.md`
    Table,
    /// Write `docs/map.md`: every source file with the first sentence of its header
    Map,
    /// Feed random files to the Matrix Market reader (needs a nightly compiler and cargo-fuzz)
    Fuzz {
        /// How long
        #[arg(default_value_t = 60)]
        seconds: u64,
    },
    /// Run random programs with fusion on and off, on many threads and ranks, and compare all bits
    Differential {
        /// How long
        #[arg(default_value_t = 60)]
        seconds: u64,
    },
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Run sparsefuse beside PETSc, MKL, Eigen, SciPy, NumPy and others, and write a report
    ///
    /// Products, Krylov solves, operations that make matrices, multigrid from the matrix to the
    /// solution, and elementwise programs on one core and on all. Every competitor is
    /// a process that sets up once; results are compared before anything is timed; then all do a
    /// batch of the work in turn, round after round, so that the phases of the machine hit them
    /// alike. The bandwidth of the machine is measured beside each table.
    ///
    /// The report goes to `benches/results/peers.md` with plots beside it, everything else to
    /// `target/peers`: a Python environment with NumPy, SciPy, PyAMG, numexpr, numba, JAX and MKL
    /// (2 GB, the first time), matrices (4 GB), programs, and what competitors say on standard
    /// error. PETSc, Eigen and Boost (for AMGCL) are Debian packages, which are installed only by
    /// root. Who cannot be had is named as missing, with what to do about it.
    ///
    /// Examples:
    ///   cargo xtask bench peers --quick --only poisson2d:128
    ///   cargo xtask bench peers --only spmv --only black-scholes --rounds 9
    ///   cargo xtask bench peers --only gmg --only amg --against petsc
    #[command(verbatim_doc_comment)]
    Peers(peers::Arguments),
    /// Run programs of `examples/` beside the same ones in NumPy, JAX and numba, and compare
    /// results
    ///
    /// Prints the mean time of a step of each, medians over the rounds. Needs Python; packages go
    /// to an environment under `target/peers`.
    ///
    /// Examples:
    ///   cargo xtask bench examples
    ///   cargo xtask bench examples channel_flow:1024:10 stencil27 --peers numba --rounds 3
    #[command(verbatim_doc_comment)]
    Examples(programs::Examples),
    /// Run graphs of tasks beside Dask, and Task Bench beside MPI: what a task costs
    ///
    /// Task Bench prints METG(50), the granularity of tasks at which half of the time is theirs,
    /// and the floor. Needs Python, and an MPI for ranks as processes.
    ///
    /// Example:
    ///   cargo xtask bench tasks --patterns stencil_1d,fft --widths 2,8,128
    #[command(verbatim_doc_comment)]
    Tasks(programs::Tasks),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test { mpi: true, .. } => mpi::run_alone(),
        Command::Test { quick, .. } => test::run(quick),
        Command::Bench {
            beside: Some(beside),
            ..
        } => match beside {
            Bench::Peers(arguments) => peers::run(&arguments),
            Bench::Examples(arguments) => programs::examples(&arguments),
            Bench::Tasks(arguments) => programs::tasks(&arguments),
        },
        Command::Table => table::run(),
        Command::Map => map::run(),
        Command::Bench { beside: None, name } => bench::run(name.as_deref()),
        Command::Fuzz { seconds } => fuzz::run(seconds),
        Command::Differential { seconds } => differential::run(seconds),
    };
    match outcome {
        Ok(exit) => exit,
        Err(advice) => {
            eprintln!("xtask: {advice}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
