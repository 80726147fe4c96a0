//! Solutions have the same bits on any threads and ranks, with fusion and without.
//!
//! A command line goes in ([`check_same_bits`]); hash, iterations, reason and residual of each way
//! to run it come out, and are those of one thread. The invariant: no way differs in a single bit.

use super::{json, run, text};
use sparsefuse_testing::matrices;

/// Solves on threads, on ranks and without fusion, and compares the bits of the solutions.
pub(super) fn check_same_bits(line: &str) {
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
        "solve random:5000,6,7 --solver qmr --pc jacobi",
        "solve poisson2d:40 --solver lgmres --restart 7",
        "solve poisson2d:40 --solver gcrotmk --restart 5 --pc jacobi",
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
    let Some(folder) = matrices() else {
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
