//! The factor of Cholesky factorisations: its product is the matrix, in the order that it names.

use num_complex::Complex;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_solvers::preconditioners::{spcholesky, splu};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::{bits, everywhere};

fn factors_of<T: Field>(a: &Csr<T>) -> Result<(), Error> {
    let (l, order) = spcholesky(a)?.cholesky_factor()?;
    let upper = l.upper_triangle(1)?;
    assert_eq!((l.shape(), upper.nnz()), (a.shape(), 0));
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(0..a.n_rows()));
    let permuted = a.select_rows(&order)?.select_columns(&order)?;
    let difference = &l * l.adjoint()? - &permuted;
    let apart = difference.norm_max().get()?.to_f64();
    let size = a.norm_max().get()?.to_f64();
    assert!(
        apart <= 100.0 * T::Real::EPSILON.to_f64() * size,
        "{apart:e}"
    );
    Ok(())
}

/// Of few entries, of many in each row, and of all.
fn of_type<T: Field>() -> Result<(), Error> {
    factors_of(&gallery::poisson1d::<T>(1)?)?;
    factors_of(&gallery::poisson1d::<T>(50)?)?;
    factors_of(&gallery::poisson3d::<T>(7)?)?;
    for (n, density) in [(5, 0.5), (30, 0.1), (60, 0.5), (80, 1.0)] {
        let a = gallery::random_array::<T>((n, n), density, 5)?;
        let a = a.map_values(|x| {
            let (re, _) = x.parts();
            T::from_parts(re - 0.5, 0.5 * re)
        })?;
        factors_of(&(&a * a.adjoint()? + Csr::identity(n)?))?;
    }
    Ok(())
}

#[test]
fn its_product_is_the_matrix() -> Result<(), Error> {
    of_type::<f32>()?;
    of_type::<f64>()?;
    of_type::<Complex<f64>>()?;
    let lu = splu(&gallery::poisson1d::<f64>(5)?)?;
    assert!(lu.cholesky_factor().is_err());
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(8)?;
        let (l, order) = spcholesky(&a)?.cholesky_factor()?;
        let log_det = l.diagonal(0)?.ln().sum() * 2.0;
        let of_dense = a.to_dense()?.slogdet()?.1.get()?;
        let log_det = log_det.get()?;
        assert!((log_det - of_dense).abs() < 1e-12 * of_dense.abs());
        Ok((bits(&l.to_dense()?.to_vec()?), order, log_det.to_bits()))
    });
    Ok(())
}
