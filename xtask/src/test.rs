//! `cargo xtask test`: every check, one after the other.
//!
//! The checks share what they compile: clippy and the documentation need the same metadata of the
//! dependencies, clippy and the tests the same build scripts and procedural macros.

use crate::cargo::{cargo, show, succeeds, text};
use crate::mpi;
use crate::tally::Tally;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// One check: a heading, a call of cargo, and what to do when it fails.
struct Check {
    heading: &'static str,
    arguments: &'static [&'static str],
    /// A variable of the environment that the call gets.
    variable: Option<(&'static str, &'static str)>,
    advice: &'static str,
}

const FORMAT: Check = Check {
    heading: "format",
    arguments: &["fmt", "--all", "--check"],
    variable: None,
    advice: "run `cargo fmt --all`",
};
const CLIPPY: Check = Check {
    heading: "clippy",
    arguments: &[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ],
    variable: None,
    advice: "mend what clippy shows; a lint that is wrong here gets `#[expect(…, reason = \"…\")]`",
};
/// The library without its features, which all other checks have on.
const MINIMAL: Check = Check {
    heading: "no features",
    arguments: &[
        "clippy",
        "-p",
        "sparsefuse",
        "-p",
        "sparsefuse-solvers",
        "-p",
        "sparsefuse-sparse",
        "--lib",
        "--no-default-features",
        "--",
        "-D",
        "warnings",
    ],
    variable: None,
    advice: "what needs an optional crate belongs in the file that its feature switches",
};
/// The workspace of the peers has a lock file of its own, which a new dependency of a crate
/// changes.
const PEERS: Check = Check {
    heading: "lock of peers",
    arguments: &[
        "update",
        "--workspace",
        "--locked",
        "--manifest-path",
        "benches/peers/Cargo.toml",
    ],
    variable: None,
    advice: "run `cargo update --workspace --manifest-path benches/peers/Cargo.toml`",
};
/// The example that is a workspace of its own, as that of a user, has one too. Its sources are a
/// test of the library, which clippy and the tests see.
const OWN_TASKS: Check = Check {
    heading: "lock of own tasks",
    arguments: &[
        "update",
        "--workspace",
        "--locked",
        "--manifest-path",
        "examples/own-tasks/Cargo.toml",
    ],
    variable: None,
    advice: "run `cargo update --workspace --manifest-path examples/own-tasks/Cargo.toml`",
};
const DOCUMENTATION: Check = Check {
    heading: "documentation",
    arguments: &[
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ],
    variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    advice: "mend the comments that rustdoc shows",
};
/// All of them but those of the documentation: so named, cargo does not build the programs of
/// `examples/` besides, which clippy has seen and which are modules of `tests/examples`.
const TESTS: Check = Check {
    heading: "tests",
    arguments: &["test", "--workspace", "--no-fail-fast", "--tests"],
    variable: None,
    advice: "run one of the failed tests alone: `cargo test -p CRATE NAME`",
};
const DOC_TESTS: Check = Check {
    heading: "tests of docs",
    arguments: &["test", "--workspace", "--no-fail-fast", "--doc"],
    variable: None,
    advice: "run those of one crate alone: `cargo test -p CRATE --doc`",
};
const UNIT_TESTS: Check = Check {
    heading: "unit tests",
    arguments: &["test", "--workspace", "--no-fail-fast", "--lib", "--bins"],
    variable: None,
    advice: TESTS.advice,
};

/// Runs all checks, or only the quick ones, up to the first that fails.
pub(crate) fn run(quick: bool) -> Result<ExitCode, String> {
    for component in ["fmt", "clippy"] {
        if !succeeds(cargo([component, "--version"])) {
            return Err(format!(
                "`cargo {component}` is missing; run: rustup component add rustfmt clippy"
            ));
        }
    }
    let has_mpi = !quick && mpi::is_ready();
    // Code that features add is what clippy sees, and code that they replace what the documentation
    // and the check without features see.
    let (seen, tested): (&[&str], &[&str]) = if has_mpi {
        (
            &["--features", "sparsefuse/cuda,sparsefuse/mpi"],
            &mpi::FEATURES,
        )
    } else {
        (&["--features", "sparsefuse/cuda"], &[])
    };
    let mut times = Vec::new();
    let mut check = |check: &Check, features| {
        let time = run_check(check, features, show)?;
        times.push((check.heading, time));
        Ok::<(), String>(())
    };
    check(&FORMAT, &[])?;
    check(&CLIPPY, seen)?;
    if !quick {
        for one in [PEERS, OWN_TASKS, MINIMAL, DOCUMENTATION] {
            check(&one, &[])?;
        }
    }
    let tests: &[Check] = if quick {
        &[UNIT_TESTS]
    } else {
        &[TESTS, DOC_TESTS]
    };
    let mut tally = Tally::default();
    // What fails does not keep the next from running.
    let mut outcome = Ok(());
    for tests in tests {
        let ended = run_check(tests, tested, |command| count(command, &mut tally));
        outcome = outcome.and(ended.map(|time| times.push((tests.heading, time))));
    }
    let outcome = outcome.and_then(|()| {
        match (has_mpi, quick) {
            (true, _) => times.push(("MPI", mpi::run(&mut tally)?)),
            (false, true) => {}
            (false, false) => times.push(("MPI (SKIPPED)", Duration::ZERO)),
        }
        Ok(())
    });
    let exit = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(advice) => {
            eprintln!("xtask: {advice}");
            ExitCode::FAILURE
        }
    };
    println!("\n=== summary ===");
    for (heading, time) in times {
        println!("{heading:>17} {:>7.1} s", time.as_secs_f64());
    }
    println!("{tally}");
    Ok(exit)
}

/// Runs a check under its heading, with features, and gives the time it took.
fn run_check(
    check: &Check,
    features: &[&str],
    run: impl FnOnce(Command) -> Result<(), String>,
) -> Result<Duration, String> {
    let (name, rest) = check.arguments.split_at(1);
    let mut command = cargo(name.iter().chain(features).chain(rest).copied());
    command.envs(check.variable);
    println!("\n=== {}: {} ===", check.heading, text(&command));
    let begin = Instant::now();
    run(command).map_err(|failure| format!("{failure}; {}", check.advice))?;
    let time = begin.elapsed();
    println!("=== {}: {:.1} s ===", check.heading, time.as_secs_f64());
    Ok(time)
}

/// Runs tests, shows what they print as they print it, and counts them.
pub(crate) fn count(mut command: Command, tally: &mut Tally) -> Result<(), String> {
    let text = text(&command);
    let lost = |error: std::io::Error| format!("`{text}` could not be run: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(lost)?;
    if let Some(output) = child.stdout.take() {
        let mut shown = std::io::stdout().lock();
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(lost)?;
            let line = String::from_utf8_lossy(&line);
            tally.read(&line);
            writeln!(shown, "{line}").map_err(lost)?;
        }
    }
    let status = child.wait().map_err(lost)?;
    match (status.success(), tally.failed) {
        (true, _) => Ok(()),
        (false, 0) => Err(format!(
            "`{text}` failed ({status}) though no test did: a test program was not built, or broke off"
        )),
        (false, failed) => Err(format!("{failed} tests failed")),
    }
}
