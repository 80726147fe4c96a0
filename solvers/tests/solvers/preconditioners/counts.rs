//! Iteration counts against those of PETSc 3.18, whose `-pc_type` has the same methods.
//!
//! Its counts come from a program that loads the matrix, takes b of ones and x = 0, and stops at
//! 1e-8 of the norm of b in the unpreconditioned norm: `-ksp_type cg`, and `-ksp_type bcgs
//! -ksp_pc_side right`; `-pc_type icc`, `ilu` with `-pc_factor_levels`, `sor` with
//! `-pc_sor_symmetric` and `-pc_sor_omega`. We allow a difference of 5 percent, or of 1.

use super::{ones, real_matrix};
use sparsefuse_solvers::preconditioners::{
    Chebyshev, ChebyshevOptions, Ic0, Ilu0, Iluk, Sor, SorOptions, SorSweep,
};
use sparsefuse_solvers::{LinearOperator, Options, bicgstab_with, cg_with};
use sparsefuse_sparse::{Csr, gallery};

#[track_caller]
fn check(what: &str, found: usize, expected: usize) {
    let margin = (0.05 * expected as f64).max(1.0);
    let difference = found.abs_diff(expected) as f64;
    assert!(difference <= margin, "{what}: {found}, PETSc {expected}");
}

fn options<'a>(m: &'a dyn LinearOperator<f64>) -> Options<'a, f64> {
    Options {
        preconditioner: Some(m),
        ..Options::default()
    }
}

fn cg_count(a: &Csr<f64>, m: &dyn LinearOperator<f64>) -> usize {
    let solution = cg_with(a, &ones(a.n_rows()), options(m)).unwrap();
    assert!(solution.converged());
    solution.iterations
}

fn bicgstab_count(a: &Csr<f64>, m: &dyn LinearOperator<f64>) -> usize {
    let solution = bicgstab_with(a, &ones(a.n_rows()), options(m)).unwrap();
    assert!(solution.converged());
    solution.iterations
}

/// cg with icc, ilu, ssor.
fn check_definite(name: &str, a: &Csr<f64>, [icc, ilu, ssor]: [usize; 3]) {
    let found = cg_count(a, &Ic0::new(a).unwrap());
    check(&format!("{name} icc"), found, icc);
    let found = cg_count(a, &Ilu0::new(a).unwrap());
    check(&format!("{name} ilu"), found, ilu);
    let made = Sor::new(a, SorOptions::default()).unwrap();
    check(&format!("{name} ssor"), cg_count(a, &made), ssor);
}

/// bicgstab with ilu, ilu with one level, ssor with omega 1.2.
fn check_general(name: &str, a: &Csr<f64>, [ilu, ilu1, ssor]: [usize; 3]) {
    let found = bicgstab_count(a, &Ilu0::new(a).unwrap());
    check(&format!("{name} ilu"), found, ilu);
    let found = bicgstab_count(a, &Iluk::new(a, 1).unwrap());
    check(&format!("{name} ilu(1)"), found, ilu1);
    let made = SorOptions {
        omega: 1.2,
        ..SorOptions::default()
    };
    let made = Sor::new(a, made).unwrap();
    check(&format!("{name} ssor"), bicgstab_count(a, &made), ssor);
}

#[test]
fn on_a_grid() {
    let a = gallery::poisson2d::<f64>(64).unwrap();
    check_definite("poisson2d:64", &a, [52, 52, 60]);
    check_general("poisson2d:64", &a, [41, 29, 39]);
}

#[test]
fn on_real_matrices() {
    for (name, counts) in [
        ("1138_bus", [151, 151, 519]),
        ("bcsstk16", [41, 41, 70]),
        ("pyamg_airfoil", [17, 17, 21]),
        ("pyamg_unit_cube", [4, 4, 5]),
        ("beam_tet_dof2475", [151, 151, 165]),
    ] {
        if let Some(a) = real_matrix(name) {
            check_definite(name, &a, counts);
        }
    }
    for (name, counts) in [("fs_183_1", [6, 4, 6]), ("cage5", [4, 2, 6])] {
        if let Some(a) = real_matrix(name) {
            check_general(name, &a, counts);
        }
    }
}

#[test]
fn colors_and_polynomials_save_iterations() {
    let a = gallery::poisson2d::<f64>(64).unwrap();
    let plain = cg_with(&a, &ones(4096), Options::default()).unwrap();
    let colored = SorOptions {
        order: sparsefuse_solvers::preconditioners::SorOrder::Multicolor,
        sweep: SorSweep::Symmetric,
        ..SorOptions::default()
    };
    let colored = Sor::new(&a, colored).unwrap();
    assert_eq!(colored.colors(), Some(2));
    assert!(cg_count(&a, &colored) < plain.iterations * 7 / 10);
    let degree = |degree| ChebyshevOptions {
        degree,
        ..ChebyshevOptions::default()
    };
    let chebyshev = Chebyshev::new(&a, degree(4)).unwrap();
    let largest = chebyshev.largest_eigenvalue();
    assert!(1.85 < largest && largest < 2.0, "{largest}");
    assert!(cg_count(&a, &chebyshev) < plain.iterations / 2);
}
