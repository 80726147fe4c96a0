//! Files that the program reads and writes: matrices, solutions, profiles, pictures.
//!
//! Command lines that name files go in; the contents of what is written come out, or the complaint
//! where nothing is. The invariant: a file that is there after a success is whole and can be read
//! by others.

use super::{check, json, run, scratch, text, written};
use serde_json::Value;
use sparsefuse::sparse::gallery;
use std::fs;
use std::process::Command;

#[test]
fn a_file_of_scipy_is_the_same_matrix() {
    let file = &json("info sparse/tests/npz/bsr.npz")["file"];
    assert_eq!(
        (&file["format"], &file["stored"]),
        (&Value::from("bsr"), &Value::from(16))
    );
    let path = scratch("poisson.npz");
    let a = gallery::poisson2d::<f64>(12).unwrap();
    a.save_npz(&path).unwrap();
    let of_file = json(&format!("solve {} --solver cg --ranks 3", path.display()));
    let made = json("solve poisson2d:12 --solver cg");
    assert_eq!(of_file["solution_hash"], made["solution_hash"]);
    check(&format!("eigs {} --k 1", path.display()), 0, &["converged"]);
}

#[test]
fn a_compressed_file_is_the_same_matrix() {
    let plain = json("solve tests/data/spd.mtx");
    let compressed = json("solve tests/data/spd.mtx.gz");
    assert_eq!(plain["solution_hash"], compressed["solution_hash"]);
}

#[test]
fn a_hermitian_file_with_an_imaginary_diagonal_is_refused_with_its_line() {
    let head = "%%MatrixMarket matrix coordinate complex hermitian\n";
    let path = written(
        "cha.mtx",
        &format!("{head}2 2 3\n1 1 4 0\n2 1 1 1\n2 2 3 0.5\n"),
    );
    for command in ["info", "solve", "eigs --k 1"] {
        let output = run(&format!("{command} {}", path.display()));
        let expected = format!(
            "sparsefuse: {}:5: expected a real diagonal because the matrix is hermitian, found \
             (2, 2) with the imaginary part 0.5\n",
            path.display()
        );
        assert_eq!(text(&output.stderr), expected, "{command}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;

    let name = |end: &[u8]| {
        let bytes = [&b"\xff\xfe"[..], end].concat();
        scratch("").join(std::ffi::OsStr::from_bytes(&bytes))
    };
    let (matrix, out) = (name(b".mtx"), name(b".x.mtx"));
    fs::copy("tests/data/spd.mtx", &matrix).unwrap();
    let mut solve = Command::new(env!("CARGO_BIN_EXE_sparsefuse"));
    solve.arg("solve").arg(&matrix).arg("--out").arg(&out);
    let output = solve.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut info = Command::new(env!("CARGO_BIN_EXE_sparsefuse"));
    let output = info.arg("info").arg(&out).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_solution_is_written() {
    let path = scratch("x.mtx");
    let line = format!(
        "solve poisson2d:70 --ranks 3 --rtol 1e-10 --out {}",
        path.display()
    );
    check(&line, 0, &["converged"]);
    let written = fs::read_to_string(&path).unwrap();
    let numbers: Vec<f64> = written
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    assert!(written.starts_with("%%MatrixMarket matrix array real general\n"));
    assert_eq!(numbers.len(), 4900);
    assert!(numbers.iter().all(|x| (x - 1.0).abs() < 1e-6));
}

#[test]
fn a_solve_that_overflows_ends_with_the_initial_guess() {
    let out = scratch("not_finite.mtx");
    let matrix = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1e-300\n";
    let matrix = written("overflows.mtx", matrix);
    let rhs = written(
        "overflows_b.mtx",
        "%%MatrixMarket matrix array real general\n2 1\n1\n1e10\n",
    );
    let line = format!(
        "solve {} --rhs {} --pc jacobi --solver richardson --out {}",
        matrix.display(),
        rhs.display(),
        out.display()
    );
    let output = run(&line);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(text(&output.stdout).contains("result    not converged"));
    assert!(text(&output.stdout).contains("infinite or not a number"));
    let solution = fs::read_to_string(&out).unwrap();
    assert!(solution.ends_with("2 1\n0\n0\n"), "{solution}");
    fs::remove_file(out).unwrap();
}

#[test]
fn profiles_of_all_ranks_are_written() {
    let path = scratch("profile.json");
    let line = format!(
        "solve poisson2d:70 --rtol 1e-2 --ranks 2 --profile {}",
        path.display()
    );
    check(
        &line,
        0,
        &[
            "Tasks of rank 0",
            "Tasks of 2 ranks",
            "assemble (eager)",
            "imbalance",
            "spmv",
        ],
    );
    let trace: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for rank in [0, 1] {
        let events = trace["traceEvents"].as_array().unwrap();
        let of_rank = |event: &&Value| event["pid"] == rank && event["ph"] == "X";
        assert!(events.iter().filter(of_rank).count() > 10);
        let kernels = trace["kernels"].as_array().unwrap();
        assert!(kernels.iter().any(|kernel| kernel["rank"] == rank));
    }
}

#[test]
fn residuals_are_printed_and_drawn() {
    let path = scratch("residuals.png");
    let line = format!("solve poisson2d:16 --monitor --plot {}", path.display());
    let output = run(&line);
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stdout);
    let residuals: Vec<(usize, f64)> = printed
        .lines()
        .map_while(|line| {
            let (number, residual) = line.trim().split_once("  ")?;
            Some((number.parse().ok()?, residual.parse().ok()?))
        })
        .collect();
    assert!(residuals.len() > 10);
    assert!(
        residuals
            .iter()
            .enumerate()
            .all(|(i, &(number, _))| i == number)
    );
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    // The curve is blue.
    let blue = |pixel: &&[u8]| pixel[2] > 150 && pixel[0] < 60;
    assert!(pixels.chunks(3).filter(blue).count() > 500);
    let output = run("solve poisson2d:16 --monitor --json");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    assert!(text(&output.stderr).starts_with("     0  "));
}

#[test]
fn spy_plots_are_pictures() {
    let path = scratch("spy.png");
    for source in [
        "poisson2d:32",
        "tests/data/general.mtx",
        "tests/data/no_rows.mtx",
        "poisson1d:5000",
    ] {
        check(
            &format!("info {source} --spy {}", path.display()),
            0,
            &["spy plot"],
        );
        let file = std::io::BufReader::new(fs::File::open(&path).unwrap());
        let reader = png::Decoder::new(file).read_info().unwrap();
        let (width, height) = reader.info().size();
        assert!(width.max(height) <= 1024, "{source}");
    }
}

/// A reader of a named pipe gets what is written there, and the program ends.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_written_to_in_one_piece() {
    let pipe = scratch("pipe");
    let _ = fs::remove_file(&pipe);
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("the system's tools are there").success());
    let mut reader = Command::new("timeout");
    reader
        .arg("60")
        .arg("cat")
        .arg(&pipe)
        .stdout(std::process::Stdio::piped());
    let reader = reader.spawn().expect("the system's tools are there");
    run(&format!("solve poisson2d:4 --out {}", pipe.display()));
    let read = reader.wait_with_output().expect("the reader ends");
    let read = text(&read.stdout);
    assert!(read.starts_with("%%MatrixMarket matrix array"), "{read}");
    assert_eq!(
        read.lines().filter(|line| !line.starts_with('%')).count(),
        17
    );
}
