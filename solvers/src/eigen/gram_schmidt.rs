//! Orthonormal bases of Krylov spaces, for eigenvalues: where they start, what the next vector is without
//! those before it, and other directions where there is none.
//!
//! Each vector is orthogonalised against all of the basis as often as it takes, so that the basis is
//! orthonormal to rounding.

use super::block::{Products, norms, without};
use crate::operator::{LinearOperator, check_same_runtime};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// The seed of start vectors and new directions.
pub(super) const SEED: u64 = 0xe16e_5eed;

/// A vector made orthogonal to a basis.
pub(super) struct Orthogonal<T> {
    /// What is left.
    pub(super) rest: Vector<T>,
    /// Its norm; 0 where nothing is left but rounding.
    pub(super) norm: f64,
    /// The norm before.
    pub(super) norm_before: f64,
    /// What was taken away.
    pub(super) products: Vec<Complex<f64>>,
}

/// The vector that a space starts with, of length 1: a pseudo-random one, unless it is given.
pub(super) fn start<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    v0: Option<&Vector<T>>,
) -> Result<Vector<T>, Error> {
    let n = a.shape().0;
    let random = || Vector::random_normal([n], SEED);
    let start = match (v0, a.runtime()) {
        (Some(v0), runtime) => {
            let expected = "a matrix of the runtime of v0";
            check_same_runtime(op, expected, v0.runtime(), runtime)?;
            v0.clone()
        }
        (None, Some(runtime)) => runtime.enter(random),
        (None, None) => random(),
    };
    let norm = norms(std::slice::from_ref(&start))?[0];
    if !(norm > 0.0 && norm.is_finite()) {
        let expected = "a start vector with a length above 0";
        return Err(Error::argument(op, expected, norm.to_string()));
    }
    Ok(start * T::from_f64(1.0 / norm))
}

/// Takes away what a vector has of an orthonormal basis, by classical Gram-Schmidt: each pass is one
/// reduction, of all inner products and the norm, and there are two, unless the second takes away
/// much again. The norm after a pass follows from that before it by Pythagoras.
pub(super) fn orthogonalise<T: Field>(
    basis: &[Vector<T>],
    w: Vector<T>,
) -> Result<Orthogonal<T>, Error> {
    const MOST_PASSES: usize = 4;
    let mut rest = w;
    let mut all = vec![Complex::ZERO; basis.len()];
    let mut norm_before = 0.0;
    for pass in 0..MOST_PASSES {
        let products = Products::of(basis, std::slice::from_ref(&rest));
        let squares = rest.sum_of_squares();
        let products = products.read()?.remove(0);
        let squares = squares.get()?.to_f64();
        let left = squares - products.iter().map(|h| h.norm_sqr()).sum::<f64>();
        rest = without(&rest, basis, &products);
        for (all, product) in all.iter_mut().zip(&products) {
            *all += product;
        }
        if pass == 0 {
            norm_before = squares.sqrt();
        } else if !(left < 0.5 * squares) {
            return Ok(Orthogonal {
                rest,
                norm: left.sqrt(),
                norm_before,
                products: all,
            });
        }
    }
    Ok(Orthogonal {
        rest,
        norm: 0.0,
        norm_before,
        products: all,
    })
}

/// A pseudo-random vector orthogonal to a basis, of length 1: another one for each number of directions
/// that there have been.
pub(super) fn new_direction<T: Field>(
    basis: &[Vector<T>],
    directions: &mut u64,
) -> Result<Vector<T>, Error> {
    loop {
        *directions += 1;
        let (runtime, n) = (basis[0].runtime(), basis[0].len());
        let random = runtime.enter(|| Vector::random_normal([n], SEED + *directions));
        let direction = orthogonalise(basis, random)?;
        if direction.norm > 0.0 {
            return Ok(direction.rest * T::from_f64(1.0 / direction.norm));
        }
    }
}
