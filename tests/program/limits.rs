//! Memory that runs out, wherever that happens, and disks that are full.
//!
//! A command line and a limit go in; status 2 and a complaint come out. The invariant: the program
//! neither panics nor aborts, and leaves no half of a file.

use super::{json, run, run_with, text, written};
#[cfg(unix)]
use {super::scratch, std::fs, std::process::Command};

#[test]
fn memory_that_runs_out_anywhere_is_an_error() {
    let needed = json("solve poisson2d:20")["peak_memory_bytes"]
        .as_u64()
        .unwrap();
    for part in 1..8 {
        let limit = (needed * part / 8).to_string();
        let environment = [("SPARSEFUSE_MEMORY", limit.as_str())];
        for line in [
            "solve poisson2d:20",
            "solve poisson2d:20 --solver bicgstab --pc jacobi",
        ] {
            let output = run_with(&environment, line);
            let complaint = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
            assert!(complaint.contains("bytes of memory"), "{line}: {complaint}");
        }
    }
}

/// Commands, and whether the last message may always be another library's: those, and what kernels
/// work in, cannot be asked for errors. Any command may meet a limit at which the system's own
/// library prints the last message, since it keeps lists that come from nowhere else.
#[cfg(target_os = "linux")]
const COMMANDS: [(&str, bool); 20] = [
    ("solve poisson2d:300 --max-iter 3", false),
    ("solve poisson2d:200 --pc amg", false),
    ("solve poisson2d:300 --pc gmg", false),
    ("solve poisson2d:300 --max-iter 3 --pc sor:colors", false),
    ("solve poisson2d:300 --max-iter 3 --pc chebyshev", false),
    ("solve poisson2d:300 --max-iter 3 --pc ilut", false),
    ("solve poisson2d:150 --pc ilu:3", false),
    ("solve poisson2d:300 --max-iter 3 --pc ic", false),
    ("solve poisson2d:300 --max-iter 3 --pc bjacobi:4", false),
    (
        "solve poisson2d:300 --max-iter 3 --pc schwarz:1,blocks=4",
        false,
    ),
    ("solve poisson2d:300 --max-iter 3 --pc amg --ranks 2", false),
    (
        "solve poisson2d:300 --max-iter 3 --pc sor:colors --ranks 2",
        false,
    ),
    (
        "solve poisson2d:300 --max-iter 3 --pc schwarz:1,blocks=4 --ranks 2",
        false,
    ),
    (
        "solve poisson2d:300 --max-iter 3 --solver bicg --ranks 2",
        false,
    ),
    ("solve rmat:15 --max-iter 3 --solver lsqr", false),
    ("solve FILE --max-iter 3 --solver bicgstab", false),
    ("info FILE", false),
    ("info poisson2d:300 --spy SPY", false),
    ("eigs poisson2d:100 --k 4", true),
    ("solve poisson2d:150 --max-iter 3 --pc lu", true),
];

/// Where the system refuses memory, be it for a small list of another library, the program ends
/// with status 2 and one line that says what was asked for. How each command ends is printed.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_the_system_refuses_is_an_error() {
    let (file, spy) = (scratch("limits.mtx"), scratch("limits.png"));
    let lines = (1..=60_000).map(|k| format!("{k} {} {k}.5\n", 1 + (k * 7) % 60_000));
    let head = "%%MatrixMarket matrix coordinate real general\n60000 60000 60000\n";
    fs::write(&file, head.to_owned() + &lines.collect::<String>()).unwrap();
    let limited = |kilobytes: usize, line: &str| {
        let line = line.replace("FILE", &file.to_string_lossy());
        let line = line.replace("SPY", &spy.to_string_lossy());
        let limited = format!("ulimit -v {kilobytes} && exec \"$0\" {line}");
        Command::new("sh")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_sparsefuse")])
            .env("SPARSEFUSE_THREADS", "2")
            .env_remove("RUST_BACKTRACE")
            .output()
            .unwrap()
    };
    // Below, the program cannot even be loaded.
    let starts = |kilobytes: &usize| limited(*kilobytes, "--version").status.success();
    let least = (10_000..1_000_000).step_by(5_000).find(starts).unwrap();
    for (line, is_of_others) in COMMANDS {
        let (mut refused, mut by_others) = (0, 0);
        for more in [1_000, 4_000, 8_000, 14_000, 20_000, 28_000, 60_000, 120_000] {
            let output = limited(least + more, line);
            let complaint = text(&output.stderr);
            let what = format!("{line}, {} kB: {} {complaint}", least + more, output.status);
            println!("{}", what.trim_end());
            match output.status.code() {
                Some(0 | 1) => continue,
                Some(2) => refused += 1,
                _ => panic!("{what}"),
            }
            let is_own = complaint.starts_with("sparsefuse: ") && complaint.lines().count() == 1;
            let is_of_memory = complaint.contains("memory") || complaint.contains("threads");
            assert!(
                is_own && is_of_memory || complaint.contains("memory"),
                "{what}"
            );
            by_others += usize::from(!is_own);
        }
        assert!(refused > 0, "{line}");
        assert!(
            is_of_others || 2 * by_others <= refused,
            "{line}: {by_others} of {refused}"
        );
    }
}

#[test]
fn an_array_file_counts_all_its_elements() {
    let head = "%%MatrixMarket matrix array real general\n";
    let path = written("huge.mtx", &format!("{head}1000000000 1000000000\n1\n"));
    for command in ["info", "solve"] {
        let output = run(&format!("{command} {}", path.display()));
        let complaint = text(&output.stderr);
        assert!(
            complaint.contains("found one that needs about 8.0 EB\n"),
            "{complaint}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

/// The limit of the size of a file stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_half_of_a_profile() {
    let profile = scratch("full.json");
    let _ = fs::remove_file(&profile);
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} solve poisson2d:30 --profile {}",
        env!("CARGO_BIN_EXE_sparsefuse"),
        profile.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("full.json: cannot write: "));
    assert!(!profile.exists());
}

/// What cannot be printed is a failure, be it a report or help.
#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_output_is_an_error() {
    for line in [
        "--help",
        "--version",
        "solve --help",
        "solve poisson2d:8",
        "solve poisson2d:8 --json",
        "info poisson2d:8",
        "plan poisson2d:8 --ranks 2",
        "eigs poisson2d:8",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
            .args(line.split_whitespace())
            .stdout(fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let complaint = text(&output.stderr);
        let expected = "sparsefuse: standard output: cannot write: No space left";
        assert!(complaint.starts_with(expected), "{line}: {complaint}");
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
}
