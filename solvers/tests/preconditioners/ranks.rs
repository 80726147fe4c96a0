//! The same bits on any number of threads and ranks.

use super::{
    Maker, config, definite, estimating, general, other_values, pseudo_random, random_matrix,
};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, run_ranks};

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
    let on = |ranks, threads| -> Vec<Vec<T>> {
        let program = |_: &_| applied(N, is_hermitian, make).unwrap();
        run_ranks(ranks, &config(threads), program).unwrap()
    };
    let expected = on(1, 1).remove(0);
    for (ranks, threads) in [(1, 2), (1, 4), (2, 1), (3, 1), (4, 2)] {
        for found in on(ranks, threads) {
            assert!(found == expected, "{}, {ranks} ranks", make.0);
        }
    }
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
