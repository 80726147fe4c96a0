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

/// Where the system refuses memory, be it for a small list of another library, the program complains
/// and does not abort.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_the_system_refuses_is_an_error() {
    let limited = |kilobytes: usize, line: &str| {
        let limited = format!("ulimit -v {kilobytes} && exec \"$0\" {line}");
        Command::new("sh")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_sparsefuse")])
            .env("SPARSEFUSE_THREADS", "2")
            .output()
            .unwrap()
    };
    // Below, the program cannot even be loaded.
    let starts = |kilobytes: &usize| limited(*kilobytes, "--version").status.success();
    let least = (10_000..1_000_000).step_by(5_000).find(starts).unwrap();
    for line in [
        "solve poisson2d:300",
        "solve poisson2d:200 --pc amg",
        "solve poisson2d:150 --pc ilu:3",
    ] {
        let mut refused = 0;
        for kilobytes in (least..least + 120_000).step_by(10_000) {
            let output = limited(kilobytes, line);
            let complaint = text(&output.stderr);
            match output.status.code() {
                Some(0) => {}
                Some(2) => refused += 1,
                status => panic!("{line}, {kilobytes} kB: {status:?}, {complaint}"),
            }
            assert!(!complaint.contains("panicked"), "{line}: {complaint}");
        }
        assert!(refused > 0, "{line}");
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
