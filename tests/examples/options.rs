//! Options: what is refused and how, and what is written.

use crate::stencil27::{ABOUT, program};
use sparsefuse_frame::{Failure, Report, execute};
use std::fs;
use std::path::Path;

fn run(arguments: &[&str]) -> Result<Report, Failure> {
    execute(&ABOUT, arguments, program)
}

#[track_caller]
fn refused(arguments: &[&str], expected: &str) {
    let message = run(arguments).unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn bad_options_are_refused_with_what_was_expected() {
    refused(&["--size", "2"], "expected a whole number from 3 to");
    refused(&["--size", "0"], "found 0");
    refused(&["--size", "-5"], "found -5");
    refused(&["--size", "1e9"], "found 1e9");
    refused(&["--size", "2000000"], "of memory that are available");
    refused(&["--steps", "0"], "expected a whole number from 1 to");
    refused(&["--threads", "0"], "expected a whole number from 1 to");
    refused(&["--ranks", "x"], "expected a whole number from 1 to");
    refused(&["--sise", "4"], "--size");
    refused(&["--size"], "a value is required");
    refused(&["--out", "/no/such/folder/u.npy"], "cannot write");
    refused(&["--plot", "/no/such/folder/u.png"], "cannot write");
}

#[test]
fn help_has_the_equations_and_an_example() {
    let text = run(&["--help"]).unwrap_err().to_string();
    assert!(text.contains("mod 101") && text.contains("cargo run --release --example stencil27"));
}

#[test]
fn files_and_json_have_the_result() {
    // Under `mpiexec` all processes name the same files, and other runs of this test others.
    #[cfg(unix)]
    let run_of_tests = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let run_of_tests = std::process::id();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let files = ["npy", "png"].map(|end| folder.join(format!("stencil27-{run_of_tests}.{end}")));
    let [out, plot] = files.each_ref().map(|file| file.to_str().unwrap());
    let arguments = ["--size", "8", "--steps", "3", "--out", out, "--plot", plot];
    let report = run(&arguments).unwrap();
    // The first process writes them.
    if !report.values().is_empty() {
        check_files(&report, out, plot);
        files.iter().for_each(|file| fs::remove_file(file).unwrap());
    }
    let json = report.to_json();
    assert_eq!(json["tasks_per_step"], 30.0);
    for key in ["us_per_step", "fused_tasks_per_step", "peak_memory_bytes"] {
        assert!(json[key].as_f64().unwrap() > 0.0, "{json}");
    }
    assert_eq!(json["result_hash"].as_str(), Some(report.hash()));
}

fn check_files(report: &Report, out: &str, plot: &str) {
    let bytes = fs::read(out).unwrap();
    let header = String::from_utf8_lossy(&bytes[10..128]);
    assert!(
        header.contains("'<f8'") && header.contains("(8,8,8,)"),
        "{header}"
    );
    let elements = bytes[128..].as_chunks::<8>().0;
    let elements: Vec<f64> = elements
        .iter()
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect();
    assert_eq!(elements, report.values());
    assert!(fs::read(plot).unwrap().starts_with(b"\x89PNG"));
}
