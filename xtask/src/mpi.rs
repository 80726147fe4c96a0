//! The check of ranks as processes: tests under `mpiexec`.
//!
//! Test programs that work on the ranks of all processes run on two to four of them (on one, they
//! have run with all other tests); each run counts as one test. `tests/mpi.rs` starts `mpiexec`
//! itself. What that needs (an MPI, libclang) is installed where that is possible without asking:
//! by root, on Debian or Ubuntu. Elsewhere the check is skipped, and says what to install.
//!
//! Where there is an MPI, all tests are built with the feature `mpi`, so that nothing is compiled
//! twice; code without the feature is what the documentation and the check without features see.

use crate::cargo::{cargo, show, succeeds, text};
use crate::tally::Tally;
use crate::test::count;
use serde_json::Value;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Debian's packages: headers and library, `mpiexec`, what reads the headers.
const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// The test programs that run under `mpiexec`, with the words that the names of their tests begin
/// with.
const PROGRAMS: [(&str, &str); 4] = [
    ("differential", ""),
    ("library", "solvers::"),
    ("library", "matrices::"),
    ("examples", ""),
];
/// On how many processes.
const PROCESSES: RangeInclusive<usize> = 2..=4;

/// With this, the library has ranks as processes.
pub(crate) const FEATURES: [&str; 2] = ["--features", "sparsefuse/mpi"];

/// Runs this check alone.
pub(crate) fn run_alone() -> Result<ExitCode, String> {
    if is_ready() {
        let mut tally = Tally::default();
        let mut own_tests = cargo(["test", "--workspace", "--test", "mpi"]);
        own_tests.args(FEATURES);
        count(own_tests, &mut tally)?;
        run(&mut tally)?;
        println!("{tally}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there is an MPI, now if not before; says what to install if it cannot be installed.
pub(crate) fn is_ready() -> bool {
    if is_installed() {
        return true;
    }
    let Err(reason) = install() else {
        return true;
    };
    println!(
        "=== MPI: SKIPPED, {reason}; on Debian or Ubuntu run: sudo apt-get install {}; \
         elsewhere install Open MPI or MPICH with headers, and libclang ===",
        PACKAGES.join(" ")
    );
    false
}

/// Runs the check, but for `tests/mpi.rs`; the time it took.
pub(crate) fn run(tally: &mut Tally) -> Result<Duration, String> {
    println!("\n=== MPI ===");
    let begin = Instant::now();
    for program in &programs()? {
        for processes in PROCESSES {
            let before = tally.passed + tally.failed;
            under_mpiexec(program, processes, tally)?;
            if tally.passed + tally.failed == before {
                return Err("a program has run no test under mpiexec: its filter is wrong".into());
            }
        }
    }
    let time = begin.elapsed();
    println!("=== MPI: {:.1} s ===", time.as_secs_f64());
    if tally.failed > 0 {
        return Err(format!("{} tests failed under mpiexec", tally.failed));
    }
    Ok(time)
}

/// Whether a program that needs MPI can be built and run.
fn is_installed() -> bool {
    succeeds(call("mpiexec", &["--version"])) && can_link() && has_libclang()
}

/// Whether `mpicc` finds headers and library: Debian has packages with the one and not the others.
fn can_link() -> bool {
    let program = std::env::temp_dir().join(format!("sparsefuse-mpi-{}", std::process::id()));
    let mut compile = call("mpicc", &["-x", "c", "-", "-o"]);
    compile.arg(&program).stdin(Stdio::piped());
    compile.stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = compile.spawn() else {
        return false;
    };
    let text = b"#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n";
    let is_passed = child.stdin.take().map(|mut stdin| stdin.write_all(text));
    let is_linked = child.wait().is_ok_and(|status| status.success());
    // Where it was not linked, there is none.
    let _ = std::fs::remove_file(program);
    is_passed.is_some_and(|passed| passed.is_ok()) && is_linked
}

/// Whether there is a libclang where its crate looks for it.
fn has_libclang() -> bool {
    let mut folders = vec![
        PathBuf::from("/usr/lib"),
        PathBuf::from("/usr/lib64"),
        PathBuf::from("/usr/local/lib"),
        PathBuf::from(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH)),
    ];
    folders.extend(std::env::var_os("LIBCLANG_PATH").map(PathBuf::from));
    let versions = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten();
    let is_llvm = |name: &str| name.starts_with("llvm");
    let versions = versions.filter(|entry| entry.file_name().to_str().is_some_and(is_llvm));
    folders.extend(versions.map(|entry| entry.path().join("lib")));
    let files = folders
        .iter()
        .flat_map(std::fs::read_dir)
        .flatten()
        .flatten();
    let is_it = |name: &str| {
        let is_library = name.contains(".so") || name.ends_with(".dylib");
        name.starts_with("libclang") && !name.starts_with("libclang-cpp") && is_library
    };
    let mut names = files.map(|entry| entry.file_name());
    names.any(|name| name.to_str().is_some_and(is_it))
}

/// Installs what is needed, if this is root on Debian or Ubuntu; else why not.
fn install() -> Result<(), String> {
    let user = call("id", &["-u"]).output();
    let is_root = user.is_ok_and(|user| user.stdout.trim_ascii() == b"0");
    if !is_root || !succeeds(call("apt-get", &["--version"])) {
        return Err("there is no MPI here".to_owned());
    }
    show(call("apt-get", &["update", "-q"]))?;
    let mut install = call(
        "apt-get",
        &["install", "-q", "-y", "--no-install-recommends"],
    );
    install
        .args(PACKAGES)
        .env("DEBIAN_FRONTEND", "noninteractive");
    show(install)
}

fn call(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Some tests of a program.
struct Program {
    name: &'static str,
    /// What the names of the tests begin with.
    tests: &'static str,
    path: PathBuf,
}

/// Builds the test programs, and says where they are.
fn programs() -> Result<Vec<Program>, String> {
    let mut build = cargo(["test", "--workspace", "--no-run"]);
    build.args(FEATURES);
    build.args(PROGRAMS.iter().flat_map(|(name, _)| ["--test", name]));
    build.args(["--message-format", "json-render-diagnostics"]);
    let text = text(&build);
    let lost = |error: std::io::Error| format!("`{text}` could not be run: {error}");
    let output = build.stderr(Stdio::inherit()).output().map_err(lost)?;
    if !output.status.success() {
        return Err(format!("`{text}` failed ({})", output.status));
    }
    let artifacts = output.stdout.split(|&byte| byte == b'\n');
    let artifacts: Vec<Value> = artifacts
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let find = |(name, tests): (&'static str, &'static str)| {
        let mut of_name = artifacts
            .iter()
            .filter(|artifact| artifact["target"]["name"] == name);
        let path = of_name.find_map(|artifact| artifact["executable"].as_str());
        let path = path.ok_or_else(|| format!("`{text}` has not built {name}"))?;
        let path = PathBuf::from(path);
        Ok(Program { name, tests, path })
    };
    PROGRAMS.into_iter().map(find).collect()
}

/// Runs some tests of a program on some processes, one after the other, and shows what it prints if
/// it fails.
fn under_mpiexec(program: &Program, processes: usize, tally: &mut Tally) -> Result<(), String> {
    let Program { name, tests, path } = program;
    print!("{name} {tests} on {processes} processes ... ");
    // Nothing depends on when this is seen.
    let _ = std::io::stdout().flush();
    let begin = Instant::now();
    let mut command = call("mpiexec", &["-n", &processes.to_string()]);
    command.arg(path).args([tests, "--test-threads=1"]);
    // Root may, more processes than cores may, and they yield: Open MPI, of versions 4 and 5.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ]);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = command.current_dir(root).output();
    let output = output.map_err(|error| format!("mpiexec could not be started: {error}"))?;
    if output.status.success() {
        tally.passed += 1;
        println!("ok ({:.1} s)", begin.elapsed().as_secs_f64());
    } else {
        tally.failed += 1;
        println!("FAILED ({})", output.status);
        println!("{}", String::from_utf8_lossy(&output.stdout));
        println!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
