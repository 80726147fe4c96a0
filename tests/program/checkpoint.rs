//! Checkpoints of the program: a solve that is cut short, or killed, ends with the bits of one that
//! was not, on any number of ranks and threads; files that do not belong to it are refused.

use super::{json_with, scratch};
use serde_json::Value;
use sparsefuse::prelude::*;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn program(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsefuse"));
    command
        .args(line.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SPARSEFUSE_TILE", "64")
        .env("SPARSEFUSE_CUT", "1");
    command
}

fn run(line: &str) -> Output {
    program(line).output().unwrap()
}

fn json(line: &str) -> Value {
    json_with(&[("SPARSEFUSE_CUT", "1")], line)
}

/// Cuts a solve short with each of some settings, and goes on with each of the others: the end must
/// be that of a solve that was never cut.
fn check_resumes(name: &str, solve: &str) {
    let whole = json(solve);
    let iterations = whole["iterations"].as_u64().unwrap();
    assert!(
        iterations >= 9,
        "{solve}: {iterations} iterations are too few"
    );
    let settings = [
        "--ranks 1",
        "--ranks 3 --no-fusion",
        "--ranks 2 --threads 2",
    ];
    for (number, before) in settings.iter().enumerate() {
        let file = scratch(&format!("resumes_{name}_{number}.ck"));
        let file = file.display();
        let cut = format!("{solve} {before} --max-iter 8 --checkpoint {file} --every 3");
        assert_eq!(json(&cut)["converged"], false, "{cut}");
        for after in settings {
            let line = format!("{solve} {after} --resume {file}");
            let resumed = json(&line);
            assert_eq!(resumed["resumed_at"], 8, "{line}");
            for field in ["iterations", "solution_hash", "true_residual", "reason"] {
                assert_eq!(resumed[field], whole[field], "{line}: {field}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let a = gallery::poisson2d::<f64>(16).unwrap();
    let b = Vector::ones([256]);
    let save = |file: &Path| {
        let checkpoint = Checkpoint { file, every: 2 };
        let options = Options {
            checkpoint: Some(checkpoint),
            ..Options::default()
        };
        cg_with(&a, &b, options).map(drop)
    };
    let (socket, file, link) = (
        scratch("socket.ck"),
        scratch("linked.ck"),
        scratch("link.ck"),
    );
    for path in [&socket, &link] {
        let _ = fs::remove_file(path);
    }
    let _listener = UnixListener::bind(&socket).unwrap();
    let refused = save(&socket).unwrap_err().to_string();
    assert!(refused.contains("found no regular file"), "{refused}");
    assert!(socket.exists() && !socket.is_file());

    fs::write(&file, "").unwrap();
    symlink(&file, &link).unwrap();
    save(&link).unwrap();
    assert!(link.is_symlink() && fs::metadata(&file).unwrap().len() > 4096);
}

#[test]
fn every_method_goes_on_with_the_same_bits() {
    check_resumes("cg", "solve diffusion2d:24");
    check_resumes(
        "cg_jacobi",
        "solve diffusion2d:24 --pc jacobi --rhs random:3",
    );
    check_resumes(
        "cg_single",
        "solve poisson2d:24 --rhs random:4 --dtype f32 --rtol 1e-5",
    );
    check_resumes("cgs", "solve poisson2d:20 --solver cgs --rhs random:5");
    check_resumes(
        "bicgstab",
        "solve poisson2d:20 --solver bicgstab --pc jacobi --rhs random:6",
    );
}

#[test]
fn a_restarted_solve_writes_checkpoints_too() {
    let file = scratch("twice.ck");
    let file = file.display();
    let solve = "solve poisson2d:24 --rhs random:1";
    json(&format!(
        "{solve} --max-iter 5 --checkpoint {file} --every 4"
    ));
    json(&format!(
        "{solve} --max-iter 11 --resume {file} --checkpoint {file} --every 5 --ranks 2"
    ));
    let resumed = json(&format!("{solve} --resume {file}"));
    assert_eq!(resumed["resumed_at"], 11);
    assert_eq!(resumed["solution_hash"], json(solve)["solution_hash"]);
    // What is enough is left as it is.
    let enough = json(&format!("{solve} --resume {file} --max-iter 9"));
    assert_eq!(enough["iterations"], 11);
    assert_eq!(enough["reason"], "iteration limit");
}

#[test]
fn a_killed_job_ends_as_if_it_had_not_been() {
    let file = scratch("killed.ck");
    let solve = "solve diffusion2d:96 --rhs random:2 --rtol 1e-12";
    let whole = json(solve);
    let line = format!(
        "{solve} --ranks 2 --checkpoint {} --every 1",
        file.display()
    );
    // With a checkpoint for each of several hundred iterations a job is still at work when the
    // first is there; on a machine with other work the signal may come too late all the same.
    let is_killed_in_time = || {
        let _ = fs::remove_file(&file);
        let mut job = program(&line).stdout(Stdio::null()).spawn().unwrap();
        loop {
            let ended = job.try_wait().unwrap();
            if file.exists() {
                break;
            }
            assert!(ended.is_none(), "no checkpoint is written: {ended:?}");
            std::thread::park_timeout(Duration::from_millis(1));
        }
        job.kill().unwrap();
        !job.wait().unwrap().success()
    };
    assert!((0..20).any(|_| is_killed_in_time()), "no job was killed");
    let resumed = json(&format!("{solve} --ranks 3 --resume {}", file.display()));
    assert!(resumed["resumed_at"].as_u64().unwrap() > 0);
    for field in ["iterations", "solution_hash", "true_residual"] {
        assert_eq!(resumed[field], whole[field], "{field}");
    }
}

/// Runs a command line that is refused: status 2, and one line of complaint that contains
/// `expected`.
fn check_refused(line: &str, expected: &str) {
    for ranks in ["", "--ranks 2"] {
        let line = format!("{line} {ranks}");
        let output = run(&line);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert_eq!(complaint.matches('\n').count(), 1, "{line}: {complaint}");
        assert!(complaint.contains(expected), "{line}: {complaint}");
    }
}

#[test]
fn files_that_do_not_belong_to_the_solve_are_refused() {
    let path = scratch("refused.ck");
    let file = path.display();
    let solve = "solve poisson2d:20 --rhs random:1";
    json(&format!(
        "{solve} --max-iter 4 --checkpoint {file} --every 3"
    ));
    for (other, expected) in [
        (
            "solve poisson2d:20 --rhs random:1 --solver cgs",
            "a checkpoint of cgs, found one of cg",
        ),
        (
            "solve poisson2d:20 --rhs random:1 --dtype f32",
            "of elements f32, found elements f64",
        ),
        (
            "solve poisson2d:21 --rhs random:1",
            "of 441 rows, found 400 rows",
        ),
        (
            "solve poisson2d:20 --rhs random:2",
            "of this right-hand side, found one of another",
        ),
        (
            "solve diffusion2d:20 --rhs random:1",
            "of this matrix, found one of another",
        ),
        (
            "solve poisson2d:20 --rhs random:1 --pc jacobi",
            "of a solve with a preconditioner, found one of a solve without a preconditioner",
        ),
    ] {
        check_refused(&format!("{other} --resume {file}"), expected);
    }
    check_refused(
        &format!("{solve} --resume Cargo.toml"),
        "found a file that begins with \"# The",
    );
    check_refused(
        &format!("{solve} --resume no/such.ck"),
        "no/such.ck: expected a checkpoint, found",
    );
    check_refused(&format!("{solve} --every 3"), "--checkpoint <FILE>");
    check_refused(
        &format!("{solve} --checkpoint {file} --every 0"),
        "above 0, found 0",
    );
    check_refused(
        &format!("{solve} --checkpoint no/such.ck"),
        "no/such.ck: cannot write",
    );

    let whole = fs::read(&path).unwrap();
    let damaged = scratch("damaged.ck");
    let resume = format!("{solve} --resume {}", damaged.display());
    fs::write(&damaged, &whole[..whole.len() - 1]).unwrap();
    let sizes = format!(
        "expected {} bytes, found {}: ",
        whole.len(),
        whole.len() - 1
    );
    check_refused(&resume, &sizes);
    fs::write(&damaged, &whole[..100]).unwrap();
    check_refused(&resume, "the file is cut short or damaged");
    let mut flipped = whole.clone();
    flipped[whole.len() - 3] ^= 4;
    fs::write(&damaged, &flipped).unwrap();
    check_refused(
        &resume,
        "expected vectors with the sums that its header states",
    );
    let mut flipped = whole;
    flipped[64] ^= 1;
    fs::write(&damaged, &flipped).unwrap();
    check_refused(&resume, "expected a header with the hash that it states");
}

#[test]
fn no_other_files_are_left() {
    let folder = scratch("alone");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let file = folder.join("state");
    json(&format!(
        "solve poisson2d:20 --ranks 2 --checkpoint {} --every 2",
        file.display()
    ));
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["state"]);
}
