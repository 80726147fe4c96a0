//! `sparsefuse eigs` as its users meet it: eigenvalues, reports, complaints.

use super::{check_with, json_with, run_with, scratch, text};
use num_complex::Complex;
use serde_json::Value;
use sparsefuse::sparse::read_columns;
use std::process::Output;

/// Tiles that are smaller still, so that few rows are several pieces.
const SMALL: [(&str, &str); 2] = [("SPARSEFUSE_TILE", "16"), ("SPARSEFUSE_CUT", "1")];

fn run(line: &str) -> Output {
    run_with(&SMALL, line)
}

fn json(line: &str) -> Value {
    json_with(&SMALL, line)
}

fn check(line: &str, status: i32, expected: &[&str]) {
    check_with(&SMALL, line, status, expected);
}

/// 2 - 2 cos(j pi / 31), j from 1 to 30.
#[test]
fn eigenvalues() {
    let exact = |j: f64| 2.0 - 2.0 * (j * std::f64::consts::PI / 31.0).cos();
    for (line, expected, which) in [
        (
            "--k 2 --which largest",
            vec![exact(29.0), exact(30.0)],
            "largest",
        ),
        (
            "--k 2 --which smallest",
            vec![exact(1.0), exact(2.0)],
            "smallest",
        ),
        (
            "--k 2 --which ends --ncv 12",
            vec![exact(1.0), exact(30.0)],
            "ends",
        ),
        ("--k 1", vec![exact(30.0)], "magnitude"),
        (
            "--k 2 --sigma 2.01",
            vec![exact(15.0), exact(16.0)],
            "nearest",
        ),
    ] {
        let object = json(&format!("eigs poisson1d:30 {line}"));
        assert_eq!(object["which"], which);
        assert_eq!(object["converged"], true);
        assert_eq!(object["converged_values"], expected.len());
        let values = object["values"].as_array().unwrap();
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!((value.as_f64().unwrap() - expected).abs() < 1e-13, "{line}");
        }
        let on_ranks = json(&format!("eigs poisson1d:30 {line} --ranks 3 --threads 1"));
        assert_eq!(on_ranks["values"], object["values"], "{line}");
        assert_eq!(on_ranks["residuals"], object["residuals"], "{line}");
    }
}

/// Blocks of two rows, each a rotation that also stretches, with eigenvalues c ± s i.
#[test]
fn complex_eigenvalues() {
    let path = scratch("eigs-rotations.mtx");
    let pairs: Vec<(f64, f64)> = (1..=20)
        .map(|j| (f64::from(j), f64::from(30 - j)))
        .collect();
    let mut file = "%%MatrixMarket matrix coordinate real general\n40 40 80\n".to_owned();
    for (block, (c, s)) in pairs.iter().enumerate() {
        let (i, j) = (2 * block + 1, 2 * block + 2);
        file += &format!("{i} {i} {c}\n{i} {j} {s}\n{j} {i} -{s}\n{j} {j} {c}\n");
    }
    std::fs::write(&path, file).unwrap();
    for (line, expected, which) in [
        (
            "--k 2 --which largest",
            [(20.0, 10.0), (20.0, -10.0)],
            "largest",
        ),
        (
            "--k 2 --which smallest",
            [(1.0, 29.0), (1.0, -29.0)],
            "smallest",
        ),
        (
            "--k 2 --which imaginary",
            [(1.0, 29.0), (1.0, -29.0)],
            "imaginary",
        ),
        ("--k 2", [(1.0, 29.0), (1.0, -29.0)], "magnitude"),
        (
            "--k 2 --sigma 7.1+23.2i",
            [(7.0, 23.0), (6.0, 24.0)],
            "nearest",
        ),
    ] {
        let out = path.with_extension("vectors.mtx");
        let line = format!("eigs {} {line} --out {}", path.display(), out.display());
        let object = json(&line);
        assert_eq!(
            (&object["which"], &object["hermitian"]),
            (&which.into(), &false.into())
        );
        assert_eq!(object["converged"], true, "{line}");
        let values = object["values"].as_array().unwrap();
        let vectors = read_columns::<Complex<f64>>(&out).unwrap();
        assert_eq!((values.len(), vectors.len()), (2, 2), "{line}");
        for ((value, (re, im)), x) in values.iter().zip(expected).zip(&vectors) {
            let value = Complex::new(value[0].as_f64().unwrap(), value[1].as_f64().unwrap());
            assert!(
                (value - Complex::new(re, im)).norm() < 1e-11,
                "{line}: {value}"
            );
            let x = x.to_vec().unwrap();
            for (block, &(c, s)) in pairs.iter().enumerate() {
                let (one, two) = (x[2 * block], x[2 * block + 1]);
                assert!((one * c + two * s - value * one).norm() < 1e-11, "{line}");
                assert!((two * c - one * s - value * two).norm() < 1e-11, "{line}");
            }
        }
        let on_ranks = json(&format!("{line} --ranks 3 --threads 1"));
        assert_eq!(on_ranks["values"], object["values"], "{line}");
        check(
            &line,
            0,
            &[
                "40 x 40, 80 entries, f64, not Hermitian",
                "converged",
                "i  residual ",
            ],
        );
    }
}

/// With 4 I as the mass matrix, a quarter of what they are without one.
#[test]
fn mass_matrices() {
    let path = scratch("eigs-mass.mtx");
    let mut file = "%%MatrixMarket matrix coordinate real symmetric\n30 30 30\n".to_owned();
    (1..=30).for_each(|i| file += &format!("{i} {i} 4\n"));
    std::fs::write(&path, file).unwrap();
    let mass = path.display();
    let plain = json("eigs poisson1d:30 --k 3 --sigma 0.5");
    let line = format!("eigs poisson1d:30 --k 3 --mass {mass} --sigma 0.125");
    let object = json(&line);
    assert_eq!(
        (&object["converged"], &plain["mass"]),
        (&true.into(), &Value::Null)
    );
    assert!(object["mass"].as_str().unwrap().ends_with("eigs-mass.mtx"));
    let values = |object: &Value| -> Vec<f64> {
        let values = object["values"].as_array().unwrap();
        values.iter().map(|value| value.as_f64().unwrap()).collect()
    };
    for (with, without) in values(&object).iter().zip(values(&plain)) {
        assert!((4.0 * with - without).abs() < 1e-12, "{with} {without}");
    }
    check(&line, 0, &["mass", "eigs-mass.mtx", "converged"]);
    for (line, expected) in [
        (
            format!("eigs tests/data/unsymmetric.mtx --mass {mass}"),
            "expected a symmetric (Hermitian) matrix, with --mass, found one that differs",
        ),
        (
            "eigs poisson1d:25 --mass tests/data/unsymmetric.mtx".to_owned(),
            "expected a symmetric (Hermitian) matrix, for --mass, found one that differs",
        ),
        (
            format!("eigs poisson1d:25 --mass {mass}"),
            "expected a mass matrix of shape (25, 25), found one of shape (30, 30)",
        ),
    ] {
        let output = run(&line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert!(complaint.contains(expected), "{line}: {complaint}");
    }
}

#[test]
fn reports() {
    check(
        "eigs poisson2d:20 --k 3 --sigma 0",
        0,
        &["400 x 400", "nearest to 0", "converged", "4.467669"],
    );
    check(
        "eigs poisson2d:40 --which smallest --max-iter 1",
        1,
        &[
            "not converged: iteration limit; 0 of 6 have",
            "try --sigma 0",
        ],
    );
    // An eigenvalue up to rounding.
    check(
        "eigs poisson1d:30 --k 3 --sigma 0.091721487199912",
        0,
        &["converged", "4.09401", "9.17214", "1.62084"],
    );
}

#[test]
fn every_field_is_explained() {
    let help = text(&run("eigs --help").stdout);
    for field in json("eigs poisson1d:9 --k 2").as_object().unwrap().keys() {
        assert!(help.contains(field.as_str()), "{field}");
    }
}

#[test]
fn small_matrices_have_as_many_as_they_can() {
    for (rows, found) in [(2, 1), (5, 4), (7, 6), (9, 6)] {
        let object = json(&format!("eigs poisson1d:{rows}"));
        assert_eq!(object["values"].as_array().unwrap().len(), found, "{rows}");
    }
}

#[test]
fn eigenvectors_are_the_columns_of_a_file() {
    let n = 40;
    let mut files = Vec::new();
    for (name, more) in [
        ("one.mtx", ""),
        ("three.mtx", "--ranks 3"),
        ("packed.mtx.gz", ""),
    ] {
        let path = scratch(&format!("eigs-{name}"));
        let out = path.display();
        let line = format!("eigs poisson1d:{n} --k 3 --which largest {more} --out {out}");
        let values = json(&line)["values"].clone();
        let vectors = read_columns::<f64>(&path).unwrap();
        let vectors: Vec<_> = vectors.iter().map(|x| x.to_vec().unwrap()).collect();
        for (k, value) in values.as_array().unwrap().iter().enumerate() {
            let value = value.as_f64().unwrap();
            let at = |i: usize| vectors[k][i];
            let mut norm: f64 = 0.0;
            for i in 0..n {
                let before = if i > 0 { at(i - 1) } else { 0.0 };
                let after = if i + 1 < n { at(i + 1) } else { 0.0 };
                let residual = 2.0 * at(i) - before - after - value * at(i);
                assert!(residual.abs() < 1e-12, "{name}: {residual:e}");
                norm += at(i) * at(i);
            }
            assert!((norm - 1.0).abs() < 1e-13, "{name}: {norm}");
        }
        files.push(vectors);
    }
    assert_eq!(files[0], files[1]);
    assert_eq!(files[0], files[2]);
}

#[test]
fn refuses_what_makes_no_sense() {
    for (line, expected) in [
        ("eigs poisson1d:5 --k 5", "eigsh: expected k from 1 to 4"),
        ("eigs poisson1d:1", "eigsh: expected "),
        (
            "eigs poisson1d:5 --k 0",
            "expected a whole number above 0, found 0",
        ),
        (
            "eigs poisson1d:5 --k 2 --sigma nan",
            "expected a number, found nan",
        ),
        (
            "eigs poisson1d:5 --k 2 --sigma 2",
            "eigsh: expected a sigma that is not an eigenvalue, found 2",
        ),
        (
            "eigs poisson1d:5 --k 2 --which largest --sigma 1",
            "cannot be used with",
        ),
        (
            "solve tests/data/unsymmetric.mtx --solver cg",
            "cg: expected a symmetric matrix, found ",
        ),
        (
            "eigs tests/data/unsymmetric.mtx --k 2 --which ends",
            "expected a symmetric (Hermitian) matrix, for --which ends, found one that differs",
        ),
        (
            "eigs poisson1d:5 --k 2 --which imaginary",
            "expected a matrix that is not Hermitian, for --which imaginary, found a Hermitian one",
        ),
        (
            "eigs poisson1d:5 --k 2 --sigma 1+2i",
            "expected a matrix that is not Hermitian, for a complex --sigma, found",
        ),
        (
            "eigs tests/data/unsymmetric.mtx --k 13",
            "eigs: expected k from 1 to 12, the number of rows, found 13",
        ),
    ] {
        let output = run(line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert_eq!(text(&output.stdout), "", "{line}");
        assert_eq!(complaint.matches('\n').count(), 1, "{line}: {complaint}");
        assert!(complaint.contains(expected), "{line}: {complaint}");
    }
}
