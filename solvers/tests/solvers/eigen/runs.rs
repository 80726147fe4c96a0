//! The same eigenvalues on threads and ranks, with and without fusion: the same bits.

use super::mass::bar;
use super::{hermitian, random_block};
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Config, Error, Runtime, run_ranks};
use sparsefuse_solvers::Jacobi;
use sparsefuse_solvers::eigen::{
    Eigen, EigshOptions, LobpcgOptions, Which, eigsh, eigsh_near, lobpcg,
};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::{everywhere_with, small};

/// Settings under which a small vector is cut among ranks and threads.
fn base() -> Config {
    Config {
        tile_len: 16,
        cut_threshold: 40,
        ..small()
    }
}

type Found<T> = Result<Eigen<T>, Error>;

/// All that a method leaves, as bits.
fn bits<T: Field>(eigen: &Eigen<T>) -> (Vec<u64>, Vec<[u64; 2]>, [usize; 3]) {
    let numbers = eigen.values.iter().chain(&eigen.residuals);
    let elements = eigen.vectors.iter().flat_map(|x| x.to_vec().unwrap());
    (
        numbers.map(|number| number.to_bits()).collect(),
        elements.map(|x| x.to_bits()).collect(),
        [eigen.n_converged, eigen.iterations, eigen.products],
    )
}

#[track_caller]
fn check<T: Field>(make: impl Fn() -> Csr<T> + Sync, method: impl Fn(&Csr<T>) -> Found<T> + Sync) {
    everywhere_with(&base(), || {
        let eigen = method(&make())?;
        assert!(eigen.converged(), "{}", eigen.reason);
        Ok(bits(&eigen))
    });
}

fn ends<T: Field>(a: &Csr<T>) -> Found<T> {
    let options = EigshOptions {
        which: Which::BothEnds,
        ncv: Some(12),
        tol: 1e-5,
        ..EigshOptions::default()
    };
    eigsh(a, 4, &options)
}

fn blocks<T: Field>(a: &Csr<T>) -> Found<T> {
    let jacobi = Jacobi::new(a)?;
    let options = LobpcgOptions {
        preconditioner: Some(&jacobi),
        tol: 1e-4,
        ..LobpcgOptions::default()
    };
    lobpcg(a, &random_block(a.n_rows(), 3), &options)
}

#[test]
fn lanczos() {
    check(|| gallery::poisson2d::<f64>(13).unwrap(), ends);
    check(|| gallery::poisson2d::<f32>(13).unwrap(), ends);
    check(|| hermitian::<Complex<f64>>(130, 6, 5).0, ends);
    // Breakdowns and new directions.
    let identity = |_: &Csr<f64>| eigsh(&Csr::identity(100)?, 2, &EigshOptions::default());
    check(|| gallery::poisson1d::<f64>(2).unwrap(), identity);
}

#[test]
fn shift_and_invert() {
    let near = |a: &Csr<f64>| eigsh_near(a, 1.9, 4, &EigshOptions::default());
    check(|| gallery::poisson2d::<f64>(13).unwrap(), near);
    let near = |a: &Csr<Complex<f64>>| eigsh_near(a, 0.3, 3, &EigshOptions::default());
    check(|| hermitian::<Complex<f64>>(130, 6, 5).0, near);
}

#[test]
fn mass_matrices() {
    let near = |a: &Csr<f64>| {
        let (_, mass, _) = bar::<f64>(a.n_rows());
        let options = EigshOptions {
            mass: Some(&mass),
            ..EigshOptions::default()
        };
        eigsh_near(a, 30.0, 3, &options)
    };
    check(|| bar::<f64>(130).0, near);
}

#[test]
fn lobpcg_blocks() {
    check(|| gallery::poisson2d::<f64>(13).unwrap(), blocks);
    check(|| gallery::poisson2d::<Complex<f32>>(13).unwrap(), blocks);
    let many = |a: &Csr<f64>| {
        let options = LobpcgOptions {
            tol: 0.02,
            ..LobpcgOptions::default()
        };
        lobpcg(a, &random_block(a.n_rows(), 17), &options)
    };
    check(|| gallery::poisson2d::<f64>(13).unwrap(), many);
}

/// Reductions and fused tasks of a run on several ranks, all tasks of a step in one window.
fn counted(run: impl Fn(&Csr<f64>) -> Found<f64> + Sync) -> (u64, u64) {
    let config = Config {
        window: 1024,
        ..base()
    };
    let count = |runtime: &Runtime| {
        let a = gallery::poisson2d::<f64>(24).unwrap();
        runtime.flush();
        let before = runtime.counters();
        let eigen = run(&a).unwrap();
        assert!(!eigen.converged());
        let after = runtime.counters();
        (
            after.reductions - before.reductions,
            after.fused_tasks - before.fused_tasks,
        )
    };
    run_ranks(3, &config, count).unwrap().remove(0)
}

/// A step of Lanczos's method: the product with the first pass's inner products; their multiples
/// taken away, with the second pass's; these are taken away where the next product begins.
#[test]
fn a_lanczos_step_is_two_reductions() {
    let with = |ncv| {
        counted(|a| {
            let options = EigshOptions {
                ncv: Some(ncv),
                max_iter: Some(0),
                ..EigshOptions::default()
            };
            eigsh(a, 2, &options)
        })
    };
    let (short, long) = (with(12), with(22));
    assert_eq!((long.0 - short.0, long.1 - short.1), (20, 20));
}

/// An iteration of LOBPCG: lengths of residuals, one pass for W, the Gram matrices; those of X and
/// P follow from the last iteration.
#[test]
fn an_iteration_of_lobpcg_is_three_reductions() {
    let with = |iterations| {
        counted(|a| {
            let options = LobpcgOptions {
                max_iter: Some(iterations),
                ..LobpcgOptions::default()
            };
            lobpcg(a, &random_block(a.n_rows(), 4), &options)
        })
    };
    let (few, more) = (with(3), with(8));
    assert_eq!((more.0 - few.0, more.1 - few.1), (15, 15));
}

/// With as many vectors as make their sums products of matrices.
#[test]
fn many_vectors_on_threads_and_ranks() {
    check(
        || gallery::poisson1d::<f64>(90).unwrap(),
        |a| {
            let options = EigshOptions {
                tol: 1e-5,
                ..EigshOptions::default()
            };
            eigsh(a, 20, &options)
        },
    );
    check(
        || hermitian::<Complex<f64>>(120, 5, 3).0,
        |a| {
            let options = LobpcgOptions {
                largest: true,
                tol: 1e-3,
                ..LobpcgOptions::default()
            };
            lobpcg(a, &random_block(a.n_rows(), 17), &options)
        },
    );
}
