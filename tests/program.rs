//! The program as its users meet it: command lines, exit statuses, what is printed and written.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use serde_json::Value;
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
    let output = run(&format!("{line} --json"));
    assert_eq!(text(&output.stderr), "", "{line}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A path for a file that a test writes.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

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

/// Runs a command line that ends with a status and prints all of `expected`.
fn check(line: &str, status: i32, expected: &[&str]) {
    let output = run(line);
    let (report, complaint) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{line}: {complaint}");
    assert_eq!(complaint, "", "{line}");
    for expected in expected {
        assert!(report.contains(expected), "{line}: {expected} in\n{report}");
    }
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
            "not positive definite, as cg needs; try --solver minres if it is symmetric",
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
    assert_eq!(object["solution_hash"].as_str().unwrap().len(), 16);
}

#[test]
fn json_has_null_for_what_is_no_number() {
    // Every number of the system is finite, but the solution is not.
    let matrix = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1e-300\n";
    let matrix = written("overflows.mtx", matrix);
    let rhs = "%%MatrixMarket matrix array real general\n2 1\n1\n1e10\n";
    let rhs = written("overflows_b.mtx", rhs);
    let object = json(&format!(
        "solve {} --rhs {} --pc jacobi --solver richardson",
        matrix.display(),
        rhs.display()
    ));
    assert_eq!(object["converged"], false);
    assert_eq!(object["true_residual"], Value::Null);
    let object = json("solve poisson2d:4 --max-iter 0");
    assert_eq!(object["us_per_iteration"], 0.0);
    assert_eq!(object["tasks_per_iteration"], 0.0);
}

/// Solves on threads, on ranks and without fusion, and compares the bits of the solutions.
fn check_same_bits(line: &str) {
    let expected = json(&format!("{line} --threads 1"));
    for way in [
        "--threads 2",
        "--threads 4",
        "--threads 1 --ranks 2",
        "--threads 2 --ranks 3",
        "--threads 1 --ranks 5",
        "--threads 1 --ranks 8",
        "--threads 1 --no-fusion",
        "--threads 1 --no-fusion --ranks 3",
    ] {
        let found = json(&format!("{line} {way}"));
        for field in ["solution_hash", "iterations", "reason", "true_residual"] {
            assert_eq!(found[field], expected[field], "{line} {way}: {field}");
        }
    }
}

#[test]
fn the_bits_are_the_same_on_threads_and_ranks() {
    for line in [
        "solve poisson2d:40",
        "solve poisson2d:70 --rtol 1e-4",
        "solve poisson2d:70 --dtype f32 --pc jacobi --rtol 1e-3 --rhs random:3",
        "solve random:5000,6,7 --solver bicgstab --rhs random:3",
        "solve random:5000,6,7 --solver cgs --pc jacobi",
        "solve tests/data/spd.mtx --rhs tests/data/rhs.mtx",
        "solve tests/data/unsymmetric.mtx --solver cgs --rhs tests/data/rhs_sparse.mtx",
        "solve tests/data/complex.mtx --pc jacobi",
        "solve poisson2d:40 --solver single-reduction-cg --rhs random:3",
        "solve poisson2d:40 --solver pipelined-cg --pc jacobi",
        "solve poisson2d:40 --solver minres",
        "solve random:5000,6,7 --solver gmres --restart 5 --pc jacobi",
        "solve tests/data/complex.mtx --solver fgmres --pc jacobi",
        "solve random:5000,6,7 --solver bicg --dtype f32 --rtol 1e-5",
        "solve random:5000,6,7 --solver tfqmr",
        "solve tests/data/unsymmetric.mtx --solver lsqr",
        "solve tests/data/complex.mtx --solver lsmr",
        "solve random:5000,6,7 --solver richardson --pc jacobi",
    ] {
        check_same_bits(line);
    }
    // There was something to cut.
    let output = run("solve poisson2d:70 --ranks 3 --explain --max-iter 3 --rtol 0");
    assert!(text(&output.stdout).contains("tile0[0, "));
}

/// The first rows of this graph have most of its entries.
#[test]
fn rows_are_spread_by_their_entries_where_that_pays() {
    let line = "solve rmat:13,8 --solver bicgstab --max-iter 4 --threads 1";
    let alone = json(line);
    assert_eq!(
        (&alone["imbalance"], &alone["imbalance_of_equal_rows"]),
        (&1.0.into(), &1.0.into())
    );
    let spread = json(&format!("{line} --ranks 3"));
    assert_eq!(spread["solution_hash"], alone["solution_hash"]);
    let number = |field: &str| spread[field].as_f64().unwrap();
    let (after, before) = (number("imbalance"), number("imbalance_of_equal_rows"));
    assert!(before > 1.3 && 1.1 * after <= before, "{before} to {after}");
    let output = run(&format!("{line} --ranks 3"));
    assert!(text(&output.stdout).contains("balance   rows redistributed by entries"));
    // Nothing is said where there is nothing to gain.
    let even = run("solve poisson2d:128 --ranks 4 --threads 1 --max-iter 1");
    assert!(!text(&even.stdout).contains("balance"));
}

#[test]
fn the_bits_are_the_same_for_real_matrices() {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1);
    let mut folders = above.map(|folder| folder.join("shared/matrices"));
    let Some(folder) = folders.find(|folder| folder.join("manifest.csv").is_file()) else {
        println!("no folder shared/matrices beside the checkout: nothing to compare");
        return;
    };
    for (name, arguments) in [
        ("pyamg_airfoil.mtx", ""),
        ("bcsstk16.mtx", "--pc jacobi --rtol 1e-2"),
        ("mhd1280b.mtx", "--pc jacobi --max-iter 30"),
        ("young1c.mtx", "--solver bicgstab --max-iter 30"),
        // Rows that are spread by their entries.
        ("bcspwr10.mtx", "--solver minres --pc amg --max-iter 20"),
        ("bcspwr10.mtx", "--solver auto --pc polynomial --max-iter 5"),
    ] {
        check_same_bits(&format!("solve {}/{name} {arguments}", folder.display()));
    }
}

#[test]
fn every_preconditioner_solves_with_the_same_bits() {
    for pc in [
        "bjacobi:8",
        "ssor:1.2",
        "ssor:colors",
        "chebyshev",
        "polynomial:3",
        "ic",
        "schwarz:1,blocks=3",
        "cholesky",
        "gmg",
        "gmg:cycle=w,smoother=chebyshev,pre=2,post=2",
        "gmg:smoother=gs,restriction=injection",
        "amg",
        "amg:theta=0.1,smoother=chebyshev",
    ] {
        check_same_bits(&format!("solve diffusion2d:21 --pc {pc}"));
    }
    for pc in ["sor", "ilu", "ilu:1", "ilut:1e-3,10", "lu"] {
        check_same_bits(&format!("solve random:300,4,1 --solver gmres --pc {pc}"));
    }
    check_same_bits("solve poisson2d:20 --solver richardson --pc gmg");
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
    let output = run("solve poisson2d:30 --solver auto --pc auto");
    assert!(text(&output.stdout).contains("chosen    symmetric, positive diagonal: small"));
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
fn a_compressed_file_is_the_same_matrix() {
    let plain = json("solve tests/data/spd.mtx");
    let compressed = json("solve tests/data/spd.mtx.gz");
    assert_eq!(plain["solution_hash"], compressed["solution_hash"]);
}

#[test]
fn a_complex_right_hand_side_makes_the_system_complex() {
    let path = scratch("complex_rhs.mtx");
    fs::write(
        &path,
        "%%MatrixMarket matrix array complex general\n12 1\n".to_owned() + &"1 2\n".repeat(12),
    )
    .unwrap();
    let object = json(&format!(
        "solve tests/data/spd.mtx --rhs {}",
        path.display()
    ));
    assert_eq!(object["dtype"], "cf64");
    assert_eq!(object["converged"], true);
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
            "assemble (at once)",
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

/// A file that a test reads.
fn written(name: &str, text: &str) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, text).unwrap();
    path
}

/// Three right-hand sides for `poisson1d:6`, of which the last is not a number before long.
fn right_hand_sides(name: &str, last: &str) -> PathBuf {
    let columns = ["1\n", "2\n", last].map(|value| value.repeat(6)).concat();
    let head = "%%MatrixMarket matrix array real general\n6 3\n";
    written(name, &format!("{head}{columns}"))
}

#[test]
fn several_right_hand_sides_are_solved() {
    let rhs = right_hand_sides("rhs3.mtx", "-0.5\n");
    let out = scratch("x3.mtx");
    let line = format!("solve poisson1d:6 --rhs {}", rhs.display());
    let with_out = format!("{line} --out {}", out.display());
    check(
        &with_out,
        0,
        &[
            "result    3 of 3 columns converged, 9 iterations in all\n",
            "columns   1: converged after 3 iterations, residual ",
            "\n          3: converged after 3 iterations, residual ",
        ],
    );
    let written_x = fs::read_to_string(&out).unwrap();
    let numbers = written_x.lines().skip(3).map(|line| line.parse().unwrap());
    let numbers: Vec<f64> = numbers.collect();
    assert!(written_x.contains("\n6 3\n"), "{written_x}");
    let of_one = [3.0, 5.0, 6.0, 6.0, 5.0, 3.0];
    for (column, factor) in [1.0, 2.0, -0.5].into_iter().enumerate() {
        for (row, x) in of_one.iter().enumerate() {
            assert!((numbers[6 * column + row] - factor * x).abs() < 1e-6);
        }
    }
    let object = json(&line);
    assert_eq!(object["columns"].as_array().unwrap().len(), 3);
    assert_eq!(object["columns"][1]["reason"], "converged");
    assert_eq!(object["iterations"], 9);
    check_same_bits(&line);

    let report = text(&run(&format!("{line} --monitor")).stdout);
    assert!(report.contains("column 3\n     0  "), "{report}");
    check(
        &format!("{line} --max-iter 1"),
        1,
        &["result    0 of 3 columns converged"],
    );
    for option in [
        "--plot a.png",
        "--checkpoint state.ck",
        "--restart state.ck",
    ] {
        let output = run(&format!("{line} {option}"));
        let name = option.split(' ').next().unwrap();
        let expected = format!(
            "sparsefuse: {name}: expected a right-hand side with one column, found 3 columns in \
             --rhs\n"
        );
        assert_eq!(text(&output.stderr), expected);
        assert_eq!(output.status.code(), Some(2));
    }
}

/// A column file of several sparse columns, on ranks that have cut it.
#[test]
fn sparse_right_hand_sides_are_the_same_on_ranks() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    let entries = "4900 2 4\n1 1 1\n4900 1 2\n2500 2 -3\n2500 2 1\n";
    let rhs = written("rhs_sparse2.mtx", &format!("{head}{entries}"));
    check_same_bits(&format!("solve poisson2d:70 --rhs {}", rhs.display()));
}

#[test]
fn a_solution_that_is_not_finite_is_reported_and_not_written() {
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
    assert!(complaint.ends_with("not written, the solution has elements that are not finite\n"));
    assert!(!out.exists());
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

#[cfg(unix)]
#[test]
fn names_of_files_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let name = |end: &[u8]| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).as_os_str();
        let bytes = [folder.as_bytes(), b"/\xff\xfe", end].concat();
        PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
    };
    let (matrix, out) = (name(b".mtx"), name(b".x.mtx"));
    fs::copy("tests/data/spd.mtx", &matrix).unwrap();
    let mut solve = Command::new(env!("CARGO_BIN_EXE_sparsefuse"));
    solve.arg("solve").arg(&matrix).arg("--out").arg(&out);
    let output = solve.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut info = Command::new(env!("CARGO_BIN_EXE_sparsefuse"));
    assert!(info.arg("info").arg(&out).status().unwrap().success());
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
