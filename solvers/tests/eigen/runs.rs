//! The same eigenvalues on threads and ranks, with and without fusion: the same bits.

use super::{hermitian, random_block};
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Config, Error, run_ranks};
use sparsefuse_solvers::Jacobi;
use sparsefuse_solvers::eigen::{
    Eigen, EigshOptions, LobpcgOptions, Which, eigsh, eigsh_near, lobpcg,
};
use sparsefuse_sparse::{Csr, gallery};

/// Settings under which a small vector is cut among ranks and threads.
fn small(threads: usize, fusion: bool) -> Config {
    Config {
        threads,
        fusion,
        tile_len: 16,
        cut_threshold: 40,
        parallel_threshold: 0,
        ..Config::default()
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
        [eigen.converged, eigen.iterations, eigen.products],
    )
}

#[track_caller]
fn check<T: Field>(make: impl Fn() -> Csr<T> + Sync, method: impl Fn(&Csr<T>) -> Found<T> + Sync) {
    let run = |_: &_| {
        let eigen = method(&make()).unwrap();
        assert!(eigen.converged(), "{}", eigen.reason);
        bits(&eigen)
    };
    let expected = run_ranks(1, &small(1, true), run).unwrap().remove(0);
    for (ranks, threads, fusion) in [
        (1, 3, true),
        (1, 1, false),
        (2, 1, true),
        (3, 2, true),
        (4, 1, true),
        (3, 1, false),
    ] {
        for found in run_ranks(ranks, &small(threads, fusion), run).unwrap() {
            assert!(
                found == expected,
                "{ranks} ranks, {threads} threads, fusion {fusion}"
            );
        }
    }
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
fn lobpcg_blocks() {
    check(|| gallery::poisson2d::<f64>(13).unwrap(), blocks);
    check(|| gallery::poisson2d::<Complex<f32>>(13).unwrap(), blocks);
}
