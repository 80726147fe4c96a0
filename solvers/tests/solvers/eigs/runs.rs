//! The same eigenvalues on threads and ranks, with and without fusion: the same bits.

use super::some;
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Config, Error};
use sparsefuse_solvers::eigen::{ComplexEigen, EigsOptions, eigs, eigs_near};
use sparsefuse_sparse::Csr;
use sparsefuse_testing::{everywhere_with, small};

/// Settings under which a small vector is cut among ranks and threads.
fn base() -> Config {
    Config {
        tile_len: 16,
        cut_threshold: 40,
        ..small()
    }
}

fn check_bits<T: Field>(method: impl Fn() -> Result<ComplexEigen<T>, Error> + Sync) {
    everywhere_with(&base(), || {
        let eigen = method()?;
        assert!(eigen.converged(), "{}", eigen.reason);
        let numbers = eigen.values.iter().flat_map(|value| [value.re, value.im]);
        let numbers = numbers.chain(eigen.residuals.iter().copied());
        let elements = eigen.vectors.iter().flat_map(|x| x.to_vec().unwrap());
        Ok((
            numbers.map(f64::to_bits).collect::<Vec<_>>(),
            elements.map(|x| x.to_bits()).collect::<Vec<_>>(),
            [eigen.n_converged, eigen.iterations, eigen.products],
        ))
    });
}

#[test]
fn the_same_bits_on_threads_and_ranks() {
    let with = |ncv| EigsOptions {
        ncv: Some(ncv),
        tol: 1e-5,
        ..EigsOptions::default()
    };
    check_bits(|| eigs(&some::<f64>(150, 5, 7), 4, &with(14)));
    let with = |ncv| EigsOptions {
        ncv: Some(ncv),
        tol: 1e-4,
        ..EigsOptions::default()
    };
    check_bits(|| eigs(&some::<Complex<f32>>(130, 5, 7), 3, &with(12)));
    check_bits(|| eigs(&Csr::<f64>::identity(100)?, 2, &EigsOptions::default()));
}

#[test]
fn the_same_bits_near_a_number() {
    check_bits(|| eigs_near(&some::<f64>(150, 5, 7), 0.4, 3, &EigsOptions::default()));
    let sigma = Complex::new(0.4, 0.6);
    check_bits(|| eigs_near(&some::<f64>(150, 5, 7), sigma, 3, &EigsOptions::default()));
}
