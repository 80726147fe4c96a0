//! Command lines and environments that the program refuses, with a sentence that says why.

use std::fs;
use std::process::Command;

/// Runs a command line that is refused: status 2, nothing printed, one line of complaint that
/// contains `expected`.
fn check_refused_with(environment: &[(&str, &str)], line: &str, expected: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
        .args(line.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
    assert!(output.stdout.is_empty(), "{line}");
    assert_eq!(complaint.matches('\n').count(), 1, "{line}: {complaint}");
    assert!(complaint.starts_with("sparsefuse: "), "{line}: {complaint}");
    assert!(complaint.contains(expected), "{line}: {complaint}");
}

#[test]
fn refuses_what_makes_no_sense() {
    for (line, expected) in [
        ("solve", "were not provided: <SOURCE>"),
        ("solv poisson2d:4", "a similar subcommand exists: 'solve'"),
        (
            "solve poisson2d:4 --jsn",
            "a similar argument exists: '--json'",
        ),
        ("solve poisson2d:4 extra", "unexpected argument 'extra'"),
        (
            "solve no/such.mtx",
            "no/such.mtx: cannot read: No such file",
        ),
        (
            "solve tests",
            "expected a Matrix Market file or a .npz file of SciPy, found a folder",
        ),
        ("solve Cargo.toml", "Cargo.toml:1: expected `%%MatrixMarket"),
        (
            "solve tests/data/general.mtx",
            "expected a square matrix (or --solver lsqr, lsmr or auto), found 3 x 4",
        ),
        (
            "solve tests/data/array.mtx",
            "expected a square matrix (or --solver lsqr, lsmr or auto), found 2 x 3",
        ),
        (
            "solve tests/data/general.mtx --solver auto --pc ilu",
            "--pc: expected none for a matrix of 3 x 4, which is not square, found ls",
        ),
        (
            "solve poisson2d:8 --solver lsqr --pc amg",
            "--pc: expected one with an adjoint, which lsqr needs, such as jacobi or ilu, found amg",
        ),
        (
            "eigs poisson1d:1",
            "expected a matrix of two rows or more, found 1",
        ),
        (
            "solve poisson2d:8 --plot a.png/",
            "expected a name that ends in .png, found a.png/",
        ),
        (
            "solve banded:4294967295,4294967295",
            "banded:4294967295,4294967295: expected a matrix that fits",
        ),
        (
            "info banded:4294967295,4294967295",
            "banded:4294967295,4294967295: expected a matrix that fits",
        ),
        (
            "solve poisson2d:0",
            "expected from 1 to 4294967295 rows, found 0",
        ),
        (
            "solve poisson2d:abc",
            "expected poisson2d:N with whole numbers, found `abc`",
        ),
        (
            "solve poisson2d:99999999999",
            "found 9999999999800000000001",
        ),
        ("solve poisson2:4", "did you mean poisson2d?"),
        (
            "solve banded:10,4",
            "expected an odd number of diagonals, found 4",
        ),
        (
            "solve random:4,18446744073709551615,0",
            "expected at most as many entries a row",
        ),
        (
            "solve poisson2d:4 --solver bigstab",
            "a similar value exists: 'bicgstab'",
        ),
        (
            "solve poisson2d:4 --pc jacoby",
            "there is no preconditioner `jacoby`; did you mean `jacobi`?",
        ),
        (
            "solve poisson2d:4 --restart 30",
            "--restart: expected --solver gmres, fgmres, lgmres, gcrotmk or auto, which restart, found cg",
        ),
        (
            "solve poisson2d:4 --solver gmres --restart 0",
            "expected a whole number above 0, found 0",
        ),
        (
            "solve poisson2d:4 --solver gmres --restart state.ck",
            "expected a whole number above 0 (a checkpoint is named by --resume), found state.ck",
        ),
        (
            "solve poisson2d:4 --solver gmres --resume state.ck",
            "--resume: expected --solver cg, cgs or bicgstab, which have checkpoints, found gmres",
        ),
        (
            "solve poisson2d:4 --solver pipelined-cg --checkpoint state.ck",
            "--checkpoint: expected --solver cg, cgs or bicgstab, which have checkpoints",
        ),
        (
            "solve random:9,2,1 --pc gmg",
            "--pc: expected --grid NxM with it, since the file does not say which grid the matrix has, \
             found gmg",
        ),
        (
            "solve random:9,2,1 --pc gmg --grid 3x4",
            "--grid: expected a grid of as many points as the matrix has rows, 9, found 3x4",
        ),
        (
            "solve poisson2d:4 --pc gmg --grid 0x4",
            "expected one to three lengths, as in 30x40, found 0x4",
        ),
        (
            "solve poisson2d:4 --pc gmg --grid 2x8",
            "--grid: expected 4x4, the grid that poisson2d:4 makes, found 2x8",
        ),
        (
            "solve poisson2d:4 --pc ssor --grid 4x4",
            "--grid: expected --pc gmg or auto with it, found --pc ssor",
        ),
        (
            "solve random:9,2,1 --solver auto --pc auto --grid 2x5",
            "--grid: expected a grid of as many points as the matrix has rows, 9, found 2x5",
        ),
        (
            "solve tests/data/array.mtx --out tests/data/../data/array.mtx",
            "--out: expected another file than that of the matrix, found tests/data/../data",
        ),
        (
            "solve poisson2d:4 --profile no.png --plot no.png",
            "--plot: expected another file than that of --profile, found no.png",
        ),
        (
            "solve poisson2d:4 --out tests/../a.json --profile ./a.json",
            "--profile: expected another file than that of --out, found ./a.json",
        ),
        (
            "solve poisson2d:4 --resume s.ck --out ./s.ck",
            "--out: expected another file than that of --resume, found ./s.ck",
        ),
        (
            "info tests/data/array.mtx --spy tests/data/array.mtx",
            "expected a name that ends in .png, found tests/data/array.mtx",
        ),
        (
            "solve poisson2d:4 --plot residuals.jpg",
            "expected a name that ends in .png, found residuals.jpg",
        ),
        (
            "solve poisson2d:4 --solver auto --checkpoint state.ck",
            "--solver: expected a method and a preconditioner by name with checkpoints",
        ),
        (
            "plan poisson2d:4 --ranks 2 --solver auto",
            "invalid value 'auto' for '--solver <SOLVER>' [possible values: cg, ",
        ),
        (
            "plan poisson2d:4 --ranks 2 --solver gmres",
            "invalid value 'gmres' for '--solver <SOLVER>' [possible values: cg, ",
        ),
        (
            "solve poisson2d:4 --dtype f16",
            "[possible values: f32, f64]",
        ),
        (
            "solve poisson2d:4 --rhs two",
            "expected ones, random:SEED or an existing file",
        ),
        (
            "solve poisson2d:4 --rhs random:-1",
            "expected random:SEED with a whole number from 0 to",
        ),
        (
            "solve poisson2d:4 --rhs tests",
            "tests: expected a Matrix Market file, found a folder",
        ),
        (
            "solve poisson2d:4 --rhs tests/data/rhs.mtx",
            "columns of 16 elements, as the matrix has 16 rows, found 12 x 1",
        ),
        (
            "solve poisson2d:4 --rhs tests/data/general.mtx",
            "found 3 x 4",
        ),
        (
            "solve poisson2d:4 --threads 0",
            "expected a whole number from 1 to 1024, found 0",
        ),
        (
            "solve poisson2d:4 --ranks 0",
            "expected a whole number from 1 to 1024, found 0",
        ),
        ("solve poisson2d:4 --ranks 1000 --threads 2", "found 2000"),
        (
            "solve poisson2d:4 --rtol -1",
            "expected a number that is 0 or more, found -1",
        ),
        (
            "solve poisson2d:4 --rtol NaN",
            "expected a number that is 0 or more, found NaN",
        ),
        (
            "solve poisson2d:4 --atol inf",
            "expected a number that is 0 or more, found inf",
        ),
        (
            "solve poisson2d:4 --max-iter -1",
            "expected a whole number that is 0 or more",
        ),
        (
            "solve poisson2d:4 --out no/such/x.mtx",
            "no/such/x.mtx: cannot write",
        ),
        (
            "solve poisson2d:4 --out tests",
            "expected a file to write, found a folder",
        ),
        (
            "solve poisson2d:4 --profile no/such/p.json",
            "no/such/p.json: cannot write",
        ),
        (
            "info poisson2d:4 --spy no/such/p.png",
            "no/such/p.png: cannot write",
        ),
    ] {
        check_refused_with(&[], line, expected);
    }
}

#[test]
fn refuses_what_memory_cannot_hold() {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = available.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse().ok());
    // The smallest of these needs 34 GB.
    if kibibytes.is_none_or(|available: u64| available > 30_000_000) {
        println!("this machine does not tell its memory, or has much of it: nothing to refuse");
        return;
    }
    for line in [
        "solve tests/data/announces_too_much.mtx",
        "info tests/data/announces_too_much.mtx",
        "solve tests/data/announces_many_columns.mtx --solver lsmr",
        "solve poisson2d:60000",
        "info poisson3d:1500 --spy /dev/null",
    ] {
        check_refused_with(&[], line, "expected a matrix that fits");
    }
    let expected = "expected a basis of 40000 vectors (--ncv, or two for each of --k) that fits";
    check_refused_with(&[], "eigs poisson2d:512 --k 2 --ncv 40000", expected);
    let most = usize::MAX;
    let line = format!("eigs poisson2d:8 --k {most}");
    check_refused_with(&[], &line, "expected k from 1 to 63");
}

#[test]
fn refuses_an_environment_that_makes_no_sense() {
    for (name, value, expected) in [
        (
            "SPARSEFUSE_THREADS",
            "many",
            "SPARSEFUSE_THREADS: expected a number from 1 to 1024, found many",
        ),
        (
            "SPARSEFUSE_FUSION",
            "2",
            "SPARSEFUSE_FUSION: expected 0 or 1, found 2",
        ),
        (
            "SPARSEFUSE_TILE",
            "0",
            "SPARSEFUSE_TILE: expected a number from 1 to 1073741824, found 0",
        ),
        (
            "SPARSEFUSE_MEMORY",
            "1000",
            "bytes of memory, found 1000 left",
        ),
    ] {
        check_refused_with(&[(name, value)], "solve poisson2d:20", expected);
    }
}
