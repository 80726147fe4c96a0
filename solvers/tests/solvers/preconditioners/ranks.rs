//! The same bits on any number of threads and ranks.

use super::{
    Maker, config, definite, estimating, general, other_values, pseudo_random, random_matrix,
};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_testing::everywhere_with;

/// What the preconditioner makes of a vector, and after each of two updates.
fn applied<T: Field>(n: usize, is_hermitian: bool, make: Maker<T>) -> Result<Vec<T>, Error> {
    let a = random_matrix::<T>(n, is_hermitian, 11);
    let r = Vector::from_vec(pseudo_random::<T>(n, 12));
    let mut m = make.1(&a)?;
    let mut applied = m.apply(&r)?.to_vec()?;
    m.update(&a.scale(T::from_f64(1.5)))?;
    applied.extend(m.apply(&r)?.to_vec()?);
    m.update(&other_values(&a, 13))?;
    applied.extend(m.apply(&r)?.to_vec()?);
    Ok(applied)
}

#[track_caller]
fn check<T: Field>(is_hermitian: bool, make: Maker<T>) {
    const N: usize = 150;
    everywhere_with(&config(), || applied(N, is_hermitian, make));
}

#[test]
fn bits_do_not_depend_on_ranks() {
    for make in general::<f64>() {
        check(false, make);
    }
    for make in general::<Complex<f32>>() {
        check(false, make);
    }
    for make in definite::<f64>().into_iter().chain(estimating()) {
        check(true, make);
    }
}
