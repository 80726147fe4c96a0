//! The program under `mpiexec`: the same hashes on any number of processes, one report, and faults
//! of one process that end the job soon, with one complaint.
//!
//! Needs the feature `mpi`, and an MPI with `mpiexec`. Other test programs run under `mpiexec`
//! themselves: see `xtask/src/mpi.rs`.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use serde_json::Value;
use sparsefuse::dense::{Array, Vector};
use sparsefuse::runtime::{Config, ErrorKind, Processes, Runtime};
use sparsefuse::solvers::ode::{IvpOptions, Jacobian, Scheme, solve_ivp};
use sparsefuse::solvers::preconditioners::{spcholesky, splu};
use sparsefuse::sparse::Csr;
use sparsefuse_testing::own_folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The time in which a job with a fault has ended, also on a machine with other work.
const SOON: Duration = Duration::from_secs(60);

const PROGRAM: &str = env!("CARGO_BIN_EXE_sparsefuse");

/// A job that has ended.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    time: Duration,
}

impl Ended {
    /// What the program itself has said on standard error.
    fn complaints(&self) -> Vec<&str> {
        let lines = self.stderr.lines();
        lines
            .filter(|line| line.starts_with("sparsefuse: "))
            .collect()
    }

    /// The job has failed soon, and the program has complained once, with this text.
    #[track_caller]
    fn check_complaint(&self, expected: &str) {
        let Self { code, stderr, .. } = self;
        assert_ne!(*code, Some(0), "{stderr}");
        assert!(self.time < SOON, "{:?}: {stderr}", self.time);
        let complaints = self.complaints();
        assert_eq!(complaints.len(), 1, "{stderr}");
        assert!(complaints[0].contains(expected), "{stderr}");
        assert_eq!(self.stdout, "", "{stderr}");
    }
}

/// A call of `mpiexec` that runs a line of shell on each of `count` processes.
fn job(count: usize, line: &str) -> Command {
    let mut command = Command::new("mpiexec");
    command
        .args(["-n", &count.to_string(), "sh", "-c", line])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SPARSEFUSE_TILE", "64")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Open MPI, of versions 4 and 5: root may, more processes than cores may, and they yield.
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ] {
        command.env(name, value);
    }
    command
}

/// Starts a job; the receiver gets what became of it.
fn start(mut command: Command) -> Receiver<Ended> {
    let begin = Instant::now();
    let child = command.spawn().unwrap();
    let (tell, ended) = channel();
    let wait = move || {
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        // The receiver is gone if the job took too long.
        let _ = tell.send(Ended {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            time: begin.elapsed(),
        });
    };
    std::thread::Builder::new().spawn(wait).unwrap();
    ended
}

fn run(count: usize, line: &str) -> Ended {
    start(job(count, line)).recv_timeout(4 * SOON).unwrap()
}

/// A line of shell that sets variables on one rank alone (of Open MPI or MPICH).
fn on_rank(rank: usize, only_there: &str, everywhere: &str) -> String {
    format!("[ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = {rank} ] && {only_there}; {everywhere}")
}

fn scratch(name: &str) -> PathBuf {
    own_folder(Path::new(env!("CARGO_TARGET_TMPDIR"))).join(name)
}

#[test]
fn equal_hashes_on_processes_and_ranks() {
    let solve = |source: &str| format!("exec {PROGRAM} solve {source} --json");
    for source in [
        "poisson2d:48",
        "random:3000,4,1 --solver bicgstab --pc jacobi",
        "random:2000,4,1 --solver gmres --pc ilu",
        "diffusion2d:40 --pc gmg",
        "diffusion2d:40 --pc amg",
    ] {
        let mut hash = None;
        for (count, ranks) in [(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2), (3, 3)] {
            let line = format!("{} --ranks {ranks}", solve(source));
            let ended = run(count, &line);
            assert_eq!(ended.code, Some(0), "{count}, {line}: {}", ended.stderr);
            // One object, of one process.
            let report: Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(report["ranks"], count * ranks, "{line}");
            let hash = hash.get_or_insert_with(|| report["solution_hash"].clone());
            assert_eq!(report["solution_hash"], *hash, "{count}, {line}");
        }
        let plain = Command::new(PROGRAM)
            .args(solve(source).split_whitespace().skip(2))
            .env("SPARSEFUSE_TILE", "64")
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&plain.stdout).unwrap();
        assert_eq!(Some(report["solution_hash"].clone()), hash, "{source}");
    }
}

#[test]
fn one_process_prints_and_writes() {
    let (out, profile) = (scratch("mpi_out.mtx"), scratch("mpi_profile.json"));
    let files = format!("--out {} --profile {}", out.display(), profile.display());
    let ended = run(3, &format!("exec {PROGRAM} solve poisson2d:32 {files}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.matches("converged after").count(), 1);
    assert!(ended.stdout.contains("3 ranks"), "{}", ended.stdout);
    let solution = fs::read_to_string(&out).unwrap();
    assert_eq!(solution.matches("%%MatrixMarket").count(), 1);
    let profile: Value = serde_json::from_str(&fs::read_to_string(&profile).unwrap()).unwrap();
    let events = profile["traceEvents"].as_array().unwrap();
    for rank in 0..3 {
        assert!(events.iter().any(|event| event["pid"] == rank), "{rank}");
    }

    let ended = run(2, &format!("exec {PROGRAM} info poisson2d:8"));
    assert_eq!(ended.stdout.matches("64 x 64").count(), 1);
    let ended = run(2, &format!("exec {PROGRAM} --version"));
    assert_eq!(ended.stdout.lines().count(), 1);
}

#[test]
fn what_all_processes_refuse_is_said_once() {
    for (arguments, expected) in [
        ("solve no_such.mtx", "sparsefuse: no_such.mtx: cannot read"),
        ("solve poisson2d:0", "sparsefuse: invalid value"),
        (
            "solve poisson2d:9 --rhs no_such",
            "sparsefuse: invalid value",
        ),
        ("info tests", "sparsefuse: rank 0: tests: expected"),
    ] {
        let ended = run(3, &format!("exec {PROGRAM} {arguments}"));
        ended.check_complaint(expected);
        assert_eq!(ended.code, Some(2), "{arguments}");
    }
    let limited = format!("exec {PROGRAM} solve poisson2d:32 --max-iter 1");
    let ended = run(2, &limited);
    assert_eq!((ended.code, ended.complaints().len()), (Some(1), 0));
}

#[test]
fn a_file_that_one_process_cannot_read() {
    let line = format!("exec {PROGRAM} solve tests/data/spd.mtx");
    let ended = run(3, &on_rank(2, "cd /", &line));
    ended.check_complaint("sparsefuse: rank 2: tests/data/spd.mtx: cannot read");
}

#[test]
fn processes_that_were_started_differently() {
    let solve = format!("exec {PROGRAM} solve poisson2d:32");
    for (there, expected) in [
        (
            format!("{solve} --pc jacobi"),
            "expected the same arguments on all processes",
        ),
        (
            format!("exec {PROGRAM} info poisson2d:32"),
            "expected the same arguments on all processes",
        ),
        (format!("{solve} --bad"), "rank 1: unexpected argument"),
        (
            "export SPARSEFUSE_FUSION=0".to_owned(),
            "settings: expected those of process 0 on all processes",
        ),
    ] {
        run(2, &on_rank(1, &there, &solve)).check_complaint(expected);
    }
}

#[test]
fn memory_that_one_rank_does_not_have() {
    // In the matrix, in the vectors, in the solve.
    let line = format!("exec {PROGRAM} solve poisson2d:100");
    for bytes in [100_000, 300_000, 400_000, 500_000, 600_000] {
        let limit = format!("export SPARSEFUSE_MEMORY={bytes}");
        let ended = run(2, &on_rank(1, &limit, &line));
        if ended.code == Some(0) {
            assert!(bytes >= 500_000, "{bytes} bytes are enough");
            continue;
        }
        ended.check_complaint("rank 1: ");
        ended.check_complaint(&format!("under the limit of {bytes}"));
    }
}

/// Where the system refuses memory, on one rank or on all, the job ends soon with an error message:
/// no rank waits, and no process is left behind.
///
/// The limit is set from outside once the ranks have met: Open MPI without the memory to begin may
/// wait for ever. Every iteration of the method takes another 16 megabytes on each rank, so a limit
/// that is set late is met too.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_the_system_refuses() {
    const LIMITS: &str = "--restart 60 --max-iter 60 --rtol 0 --atol 0";
    let files = [0, 1].map(|rank| scratch(&format!("mpi_limited{rank}.pid")));
    let write = |file: &Path| format!("{{ echo $$ > {0}.new; mv {0}.new {0}; }}", file.display());
    let line = format!(
        "{}; {}",
        on_rank(0, &write(&files[0]), "true"),
        on_rank(
            1,
            &write(&files[1]),
            &format!("exec {PROGRAM} solve poisson2d:2000 --threads 2 --solver gmres {LIMITS}")
        )
    );
    for more in [1_000, 20_000, 100_000] {
        for limited in [1, 2] {
            for file in &files {
                let _ = fs::remove_file(file);
            }
            let ended = start(job(2, &line));
            let begin = Instant::now();
            // All of them first: the first limited one may end the job before another has begun.
            let processes = files.each_ref().map(|file| {
                loop {
                    assert!(begin.elapsed() < SOON && ended.try_recv().is_err());
                    match fs::read_to_string(file) {
                        Ok(process) if has_met_the_others(process.trim()) => break process,
                        _ => std::thread::park_timeout(Duration::from_millis(1)),
                    }
                }
            });
            for process in &processes[files.len() - limited..] {
                limit_memory(process.trim(), more);
            }
            let ended = ended.recv_timeout(4 * SOON).unwrap();
            let Ended { code, stderr, .. } = &ended;
            assert_ne!(*code, Some(0), "it has too few iterations: {stderr}");
            assert!(ended.time < SOON, "{:?}: {stderr}", ended.time);
            assert!(!stderr.contains("panicked"), "{stderr}");
            assert!(!stderr.contains("signal"), "{stderr}");
            assert!(stderr.contains("memory"), "{more} kB more: {stderr}");
            assert_eq!(ended.stdout, "", "{stderr}");
        }
    }
}

/// Whether a process of the program has started its second thread, which is after all have met.
#[cfg(target_os = "linux")]
fn has_met_the_others(process: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    // One that has ended meanwhile has no name.
    threads.into_iter().flatten().flatten().any(|thread| {
        let name = fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name.trim() == "sparsefuse-1")
    })
}

/// Limits the memory of a process to what it has and `more` kilobytes, unless it has ended.
#[cfg(target_os = "linux")]
fn limit_memory(process: &str, more: usize) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let Some(kilobytes) = size.map(|size| size.trim().trim_end_matches(" kB")) else {
        return;
    };
    let bytes = 1024 * (kilobytes.parse::<usize>().unwrap() + more);
    let limit = [format!("--pid={process}"), format!("--as={bytes}")];
    let limited = Command::new("prlimit").args(limit).output().unwrap().status;
    assert!(limited.success() || !Path::new(&format!("/proc/{process}/task")).exists());
}

#[test]
fn a_rank_that_is_killed() {
    let file = scratch("mpi_killed.pid");
    let _ = fs::remove_file(&file);
    let write = format!("{{ echo $$ > {0}.new; mv {0}.new {0}; }}", file.display());
    let line = format!("exec {PROGRAM} solve poisson2d:256 --rtol 0 --atol 0 --max-iter 100000000");
    let ended = start(job(3, &on_rank(1, &write, &line)));
    let begin = Instant::now();
    let moment = Duration::from_millis(50);
    while !file.exists() {
        assert!(begin.elapsed() < SOON && ended.recv_timeout(moment).is_err());
    }
    // The solve has no other end than the signal.
    assert!(ended.recv_timeout(Duration::from_secs(2)).is_err());
    let process = fs::read_to_string(&file).unwrap();
    let killed = Command::new("kill").args(["-9", process.trim()]).status();
    assert!(killed.unwrap().success());
    let ended = ended.recv_timeout(SOON).unwrap();
    assert_ne!(ended.code, Some(0));
    // It is the launcher that says so: Open MPI's as an error, MPICH's beside the output.
    let said = format!("{}{}", ended.stderr, ended.stdout);
    assert!(said.contains("signal 9"), "{said}");
    assert!(ended.complaints().is_empty() && !ended.stdout.contains("solution"));
}

/// Runs a test of this file, which then knows the others, on each of `count` processes.
fn run_test(count: usize, name: &str) -> Ended {
    let this = std::env::current_exe().unwrap();
    let ended = run(count, &format!("exec {} --exact {name}", this.display()));
    assert!(ended.time < SOON, "{:?}", ended.time);
    ended
}

#[test]
fn a_rank_that_panics() {
    let processes = Processes::join().unwrap();
    if processes.count() == 1 {
        let ended = run_test(3, "a_rank_that_panics");
        assert_ne!(ended.code, Some(0));
        let complaints = ended.complaints();
        assert_eq!(complaints.len(), 1, "{}", ended.stderr);
        let complaint = complaints[0];
        assert!(
            complaint.contains("sparsefuse: rank 3 panicked at tests/mpi.rs"),
            "{complaint}"
        );
        assert!(complaint.ends_with("four is too many"), "{complaint}");
        return;
    }
    // The others wait for rank 3 for ever.
    let waited = processes.run_ranks(2, &Config::default(), |runtime| {
        assert!(runtime.rank() != 3, "{} is too many", "four");
        runtime.all_gather(&[1.0])
    });
    unreachable!("{waited:?}");
}

#[test]
fn a_process_that_ends_early_leaves_none_waiting() {
    let processes = Processes::join().unwrap();
    if processes.count() == 1 {
        let ended = run_test(3, "a_process_that_ends_early_leaves_none_waiting");
        let complaints = ended.complaints();
        assert!(complaints.is_empty(), "{complaints:?}");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        return;
    }
    // The first waits for a message of the second, which has sent one that is never received.
    match processes.number() {
        0 => {
            let refused = processes.all_gather(vec![1]).unwrap_err().to_string();
            assert_eq!(
                refused,
                "rank 1: expected a message, but the rank has ended"
            );
        }
        1 => {}
        _ => assert_eq!(processes.number(), 2),
    }
}

#[test]
fn messages_of_any_length_arrive() {
    let processes = Processes::join().unwrap();
    if processes.count() == 1 {
        let ended = run_test(2, "messages_of_any_length_arrive");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        return;
    }
    // MPI takes small and large ones in different ways.
    for len in [0, 1, 100, 4096, 65_537, 3_000_001] {
        let mine: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let all = processes.all_gather(mine.clone()).unwrap();
        assert!(all == [mine.clone(), mine], "{len} bytes");
    }
}

#[test]
fn a_process_that_ends_before_a_runtime_is_made_leaves_none_waiting() {
    let name = "a_process_that_ends_before_a_runtime_is_made_leaves_none_waiting";
    let processes = Processes::join().unwrap();
    if processes.count() == 1 {
        let ended = run_test(3, name);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        return;
    }
    // The second could not read its settings, say.
    if processes.number() != 1 {
        let refused = Runtime::of_processes(Config::default()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "rank 1: expected a message, but the rank has ended"
        );
    }
}

#[test]
fn a_singular_matrix_is_the_same_error_on_every_rank() {
    let name = "a_singular_matrix_is_the_same_error_on_every_rank";
    let processes = Processes::join().unwrap();
    if processes.count() == 1 {
        let ended = run_test(2, name);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        return;
    }
    let solved = processes.run_ranks(1, &Config::default(), |_| {
        let singular = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0; 4]).unwrap();
        let refused = splu(&singular).unwrap_err();
        assert!(
            matches!(refused.kind(), ErrorKind::Singular { .. }),
            "{refused}"
        );
        let refused = spcholesky(&-Csr::<f64>::identity(2).unwrap()).unwrap_err();
        assert!(
            matches!(refused.kind(), ErrorKind::NotPositiveDefinite { .. }),
            "{refused}"
        );
        // So large that each rank has a part of the result, which rank 0 alone computes.
        let negative = -Array::<f64, 2>::eye(100);
        let refused = negative.cholesky().unwrap().sum().get().unwrap_err();
        assert!(
            matches!(refused.root(), ErrorKind::NotPositiveDefinite { .. }),
            "{refused}"
        );
        let refused = Array::<f64, 2>::zeros([100, 100]).inv().unwrap();
        let refused = refused.sum().get().unwrap_err();
        assert!(
            matches!(refused.root(), ErrorKind::Singular { .. }),
            "{refused}"
        );
        // The first step of y' = 2 y is as long as makes I - c J singular: a shorter one follows.
        let jacobian = 2.0 * Csr::<f64>::identity(1).unwrap();
        let options = IvpOptions {
            scheme: Scheme::Bdf,
            jacobian: Jacobian::Constant(&jacobian),
            first_step: Some(0.5 * 1.185),
            ..IvpOptions::default()
        };
        let begin = Vector::from_vec(vec![1.0]);
        let solution = solve_ivp(|_, y| Ok(y * 2.0), (0.0, 1.0), &begin, options).unwrap();
        solution.y.to_vec().unwrap()
    });
    let end = solved.unwrap().pop().unwrap()[0];
    assert!((end / 2.0_f64.exp() - 1.0).abs() < 0.1, "{end}");
}

#[test]
fn a_panic_of_the_only_process_is_an_error() {
    let name = "a_panic_of_the_only_process_is_an_error";
    // Started by this very test, as the only process of a job.
    let is_alone = std::env::args().any(|arg| arg == "--nocapture");
    if !is_alone {
        let this = std::env::current_exe().unwrap();
        let ended = run(
            1,
            &format!("exec {} --exact {name} --nocapture", this.display()),
        );
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        return;
    }
    let processes = Processes::join().unwrap();
    let told = processes.run_ranks(1, &Config::default(), |_| panic!("too much"));
    let told: Result<Vec<()>, _> = told;
    assert_eq!(told.unwrap_err().to_string(), "rank 0: panicked: too much");
}
