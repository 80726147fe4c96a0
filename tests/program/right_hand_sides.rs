//! Files of right-hand sides: with several columns, sparse ones, complex ones.
//!
//! A file of columns goes in; reports, objects and files with a solution for each column come out.
//! The invariant: every column is solved as if it were alone.

use super::same_bits::check_same_bits;
use super::{check, json, run, scratch, text, written};
use std::fs;
use std::path::PathBuf;

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
    for option in ["--plot a.png", "--checkpoint state.ck", "--resume state.ck"] {
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

/// Only the first rank prints, but all solve one column after the other.
#[test]
fn columns_are_watched_on_several_ranks() {
    let rhs = right_hand_sides("rhs_ranks.mtx", "-0.5\n");
    for solver in ["cg", "bicgstab"] {
        let line = format!(
            "solve poisson1d:6 --rhs {} --ranks 2 --monitor --solver {solver} --pc jacobi",
            rhs.display()
        );
        let report = text(&run(&line).stdout);
        assert!(report.contains("column 3\n     0  "), "{report}");
        assert!(report.contains("3 of 3 columns converged"), "{report}");
    }
}
