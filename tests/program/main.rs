//! The program as its users meet it: command lines, exit statuses, what is printed and written.
//!
//! Each test runs the program that was built and looks at its status, its output and its files;
//! here is what it prints. Files that it reads and writes, right-hand sides, equal bits and what
//! runs out have modules of their own.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod bits;
mod checkpoint;
mod eigs;
mod files;
mod limits;
mod plan;
mod refusals;
mod right_hand_sides;
mod same_bits;

use self::same_bits::check_same_bits;
use serde_json::Value;
use sparsefuse_testing::own_folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs the program in the folder of the checkout, with small tiles so that pieces are many.
fn run_with(environment: &[(&str, &str)], line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
        .args(line.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SPARSEFUSE_TILE", "64")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn run(line: &str) -> Output {
    run_with(&[], line)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The object that the program prints.
fn json(line: &str) -> Value {
    json_with(&[], line)
}

fn json_with(environment: &[(&str, &str)], line: &str) -> Value {
    let output = run_with(environment, &format!("{line} --json"));
    assert_eq!(text(&output.stderr), "", "{line}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command line that ends with a status and prints all of `expected`.
fn check(line: &str, status: i32, expected: &[&str]) {
    check_with(&[], line, status, expected);
}

fn check_with(environment: &[(&str, &str)], line: &str, status: i32, expected: &[&str]) {
    let output = run_with(environment, line);
    let (report, complaint) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{line}: {complaint}");
    assert_eq!(complaint, "", "{line}");
    for expected in expected {
        assert!(report.contains(expected), "{line}: {expected} in\n{report}");
    }
}

/// A path for a file that a test writes.
fn scratch(name: &str) -> PathBuf {
    own_folder(Path::new(env!("CARGO_TARGET_TMPDIR"))).join(name)
}

/// A file that a test reads.
fn written(name: &str, text: &str) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn reports_how_a_solve_went() {
    check(
        "solve poisson2d:12 --threads 2",
        0,
        &[
            "matrix    poisson2d:12\n          144 x 144, 672 entries\n",
            "method    cg, no preconditioner, f64\n",
            "machine   1 rank, 2 threads\n",
            "result    converged after ",
            "issued, ",
        ],
    );
    check(
        "solve tests/data/complex.mtx --dtype f32 --rtol 1e-5 --pc jacobi --ranks 2 --threads 1",
        0,
        &[
            "cg, jacobi preconditioner, cf32 (complex)",
            "2 ranks, 1 thread each",
        ],
    );
    check(
        "solve tests/data/no_rows.mtx",
        0,
        &["0 x 0, 0 entries", "converged after 0 iterations"],
    );
    check(
        "solve banded:100,18446744073709551615",
        0,
        &["100 x 100, 10,000 entries"],
    );
    check(
        "solve poisson2d:12 --max-iter 0",
        1,
        &[
            "not converged: iteration limit after 0 iterations",
            "residual  1.000e0",
        ],
    );
    check(
        "solve poisson2d:12 --max-iter 1",
        1,
        &[
            "not converged: iteration limit after 1 iteration\n",
            "try --pc auto, a larger --max-iter",
        ],
    );
    check(
        "solve poisson2d:12 --pc sor --max-iter 9",
        1,
        &["sor is not symmetric, as cg needs; try --pc ssor"],
    );
    check(
        "solve poisson2d:12 --solver richardson",
        1,
        &[
            "not converged: diverged after 9 iterations",
            "try --pc auto, --solver bicgstab",
        ],
    );
    check(
        "solve poisson2d:12 --solver richardson --dtol 10",
        1,
        &["not converged: diverged after "],
    );
    check(
        "solve tests/data/indefinite.mtx",
        1,
        &[
            "not converged: indefinite matrix",
            "neither positive nor negative definite, as cg needs; try --solver minres if it is",
        ],
    );
    for (solver, expected) in [
        (
            "minres",
            "the matrix is singular, and no x makes |b - A x| smaller",
        ),
        ("gmres", "the matrix is singular; --solver lsqr finds"),
        ("lsqr", "|b - A x| is minimal to within --rtol"),
    ] {
        let line = format!("solve tests/data/singular.mtx --rhs random:1 --solver {solver}");
        check(&line, 1, &["not converged", expected]);
    }
    check(
        "solve poisson2d:12 --dtype f32 --rtol 1e-12",
        1,
        &[
            "not converged: stagnation",
            "try a larger --rtol, or --dtype f64",
        ],
    );
}

#[test]
fn helps() {
    for (line, expected) in [
        ("--help", "Exit status:"),
        ("--help", "SPARSEFUSE_MEMORY"),
        ("solve --help", "peak_memory_bytes"),
        ("solve --help", "random:N,PER_ROW,SEED"),
        ("info --help", "csr_bytes_per_nonzero"),
        ("--version", env!("CARGO_PKG_VERSION")),
    ] {
        check(line, 0, &[expected]);
    }
    assert_eq!(run("").status.code(), Some(2));
}

#[test]
fn every_field_is_explained() {
    for command in ["solve", "info"] {
        let help = text(&run(&format!("{command} --help")).stdout);
        let object = json(&format!("{command} tests/data/spd.mtx"));
        for field in object.as_object().unwrap().keys() {
            assert!(
                help.contains(field.as_str()),
                "{field} in the help of {command}"
            );
        }
    }
}

#[test]
fn json_of_a_solve() {
    let object = json("solve tests/data/unsymmetric.mtx --solver bicgstab --ranks 2 --threads 1");
    for (field, expected) in [
        ("solver", Value::from("bicgstab")),
        ("pc", Value::from("none")),
        ("dtype", Value::from("f64")),
        ("reason", Value::from("converged")),
        ("converged", Value::from(true)),
        ("rows", Value::from(12)),
        ("cols", Value::from(12)),
        ("nnz", Value::from(36)),
        ("ranks", Value::from(2)),
        ("threads", Value::from(1)),
    ] {
        assert_eq!(object[field], expected, "{field}");
    }
    let number = |field: &str| object[field].as_f64().unwrap();
    assert!(number("true_residual") <= 1e-8);
    assert!(number("tasks_per_iteration") > number("fused_tasks_per_iteration"));
    for field in [
        "setup_s",
        "solve_s",
        "us_per_iteration",
        "bytes_per_iteration",
    ] {
        assert!(number(field) > 0.0, "{field}");
    }
    assert!(object["peak_memory_bytes"].as_u64().unwrap() > 12 * 8);
    if cfg!(target_os = "linux") {
        assert!(object["process_memory_bytes"].as_u64() > object["peak_memory_bytes"].as_u64());
    }
    assert_eq!(object["solution_hash"].as_str().unwrap().len(), 16);
}

#[test]
fn json_of_solves_without_a_solution() {
    // Every number of the system is finite, but the solution is not: the initial guess is left.
    let matrix = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1e-300\n";
    let matrix = written("overflows_json.mtx", matrix);
    let rhs = "%%MatrixMarket matrix array real general\n2 1\n1\n1e10\n";
    let rhs = written("overflows_json_b.mtx", rhs);
    let object = json(&format!(
        "solve {} --rhs {} --pc jacobi --solver richardson",
        matrix.display(),
        rhs.display()
    ));
    assert_eq!(object["converged"], false);
    assert_eq!(object["true_residual"], 1.0);
    assert_eq!(object["reason"], "infinite or not a number");
    let object = json("solve poisson2d:4 --max-iter 0");
    assert_eq!(object["us_per_iteration"], 0.0);
    assert_eq!(object["tasks_per_iteration"], 0.0);
}

#[test]
fn auto_says_what_it_chose_and_why() {
    let chosen = |line: &str| {
        let object = json(line);
        assert_eq!(object["converged"], true, "{line}");
        let word = |field: &str| object[field].as_str().unwrap().to_owned();
        (word("solver"), word("pc"), word("chosen_because"))
    };
    let (solver, pc, why) = chosen("solve poisson2d:128 --solver auto --pc auto");
    assert_eq!((&*solver, &*pc), ("cg", "gmg"));
    assert_eq!(
        why,
        "symmetric, positive diagonal: on a grid, so by multigrid"
    );
    let (solver, pc, _) = chosen("solve random:200,4,1 --solver auto --pc auto");
    assert_eq!((&*solver, &*pc), ("gmres", "lu"));
    let (solver, pc, _) = chosen("solve poisson2d:128 --solver auto --pc jacobi");
    assert_eq!((&*solver, &*pc), ("cg", "jacobi"));
    check_same_bits("solve random:20000,3,1 --solver auto --pc auto");
    let (solver, ..) = {
        let line = "solve tests/data/general.mtx --solver auto --pc auto";
        let object = json(line);
        (object["solver"].as_str().unwrap().to_owned(), object)
    };
    assert_eq!(solver, "lsmr", "for matrices that are not square");
    for pc in ["schwarz:1,blocks=4", "amg:post=0", "sor"] {
        let object = json(&format!("solve diffusion2d:40 --solver auto --pc {pc}"));
        assert_eq!(object["solver"], "gmres", "{pc} is not symmetric");
    }
    let line = "solve tests/data/indefinite.mtx --solver minres --pc auto";
    assert_eq!(json(line)["reason"], "converged");
    let output = run("solve poisson2d:30 --solver auto --pc auto");
    assert!(text(&output.stdout).contains("chosen    symmetric, positive diagonal: small"));
}

#[test]
fn explains_an_iteration_and_not_the_last_check() {
    let output = run("solve poisson2d:12 --explain");
    let report = text(&output.stdout);
    let explained = report.split_once("One iteration").unwrap().1;
    for expected in ["spmv", "dot", "row_sum", "group 1"] {
        assert!(explained.contains(expected), "{expected} in {explained}");
    }
    // With JSON it goes where it does not disturb.
    let output = run("solve poisson2d:12 --explain --json");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    assert!(text(&output.stderr).contains("row_sum"));
}

#[test]
fn info_of_matrices() {
    for (line, facts) in [
        (
            "info tests/data/spd.mtx.gz",
            r#"{"rows": 12, "nnz": 50, "symmetry": "symmetric", "pattern_symmetric": true,
                "bandwidth": 4, "row_min": 3, "row_max": 5, "diagonal_positive": true,
                "dominant_rows": 1.0, "csr_bytes": 704, "dtype": "f64",
                "file": {"format": "coordinate", "field": "real", "symmetry": "symmetric", "stored": 31}}"#,
        ),
        (
            "info tests/data/general.mtx",
            r#"{"rows": 3, "cols": 4, "symmetry": "none", "pattern_symmetric": false}"#,
        ),
        (
            "info tests/data/hermitian.mtx",
            r#"{"symmetry": "hermitian", "dtype": "cf64"}"#,
        ),
        (
            "info tests/data/skew_symmetric.mtx",
            r#"{"symmetry": "skew-symmetric", "diagonal_missing": 3, "diagonal_positive": false}"#,
        ),
        (
            "info tests/data/no_rows.mtx",
            r#"{"rows": 0, "row_mean": null, "dominant_rows": null, "csr_bytes_per_nonzero": null}"#,
        ),
        (
            "info poisson3d:3",
            r#"{"rows": 27, "nnz": 135, "bandwidth": 9, "file": null}"#,
        ),
    ] {
        let found = json(line);
        let expected: Value = serde_json::from_str(facts).unwrap();
        for (field, expected) in expected.as_object().unwrap() {
            assert_eq!(&found[field], expected, "{line}: {field}");
        }
    }
    check(
        "info tests/data/unsymmetric.mtx",
        0,
        &[
            "12 x 12, 36 entries, f64",
            "file       coordinate, real, general, 36 stored",
            "rows       3 to 3 entries, 3.00 on average",
            "values     not symmetric",
        ],
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
        .args(["solve", "poisson2d:30", "--explain"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn unknown_settings_are_named_once() {
    let environment = [("SPARSEFUSE_THREAD", "1"), ("SPARSEFUSE_QUUX", "")];
    for line in [
        "solve poisson2d:5",
        "solve poisson2d:5 --ranks 3 --threads 1",
    ] {
        let output = run_with(&environment, line);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(
            text(&output.stderr),
            "sparsefuse: there is no setting `SPARSEFUSE_QUUX`; `sparsefuse --help` lists them\n\
             sparsefuse: there is no setting `SPARSEFUSE_THREAD`; did you mean \
             `SPARSEFUSE_THREADS`?\n"
        );
    }
}

#[test]
fn setup_has_the_time_of_all_that_auto_tried() {
    let line = "solve poisson2d:104 --solver cg --pc auto --max-iter 1";
    let output = run(&format!("{line} --json"));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tried = object["tried"].as_array().unwrap();
    let seconds = |value: &Value| value["seconds"].as_f64().unwrap();
    assert!(tried.len() > 1, "{object}");
    let all: f64 = tried.iter().map(seconds).sum();
    assert!(object["setup_s"].as_f64().unwrap() >= all, "{object}");
    // No candidate does a step, so no second one is tried.
    let output = run(&line.replace("--max-iter 1", "--max-iter 0 --json"));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["tried"], Value::Array(vec![]));
}
