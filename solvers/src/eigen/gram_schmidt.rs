//! Orthonormal bases of Krylov spaces, for eigenvalues: where they start, what the next vector is
//! without those before it, and other directions where there is none.
//!
//! Each vector is orthogonalised against all of the basis as often as it takes, so that the basis
//! is orthonormal to rounding: in the inner product x'y, or x'B y with a mass matrix B.

use super::block::{Products, norms, without};
use super::mass::Inner;
use crate::operator::{LinearOperator, check_same_runtime};
use crate::powers::vector_near_one;
use num_complex::Complex;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use std::slice::from_ref;

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
            vector_near_one(v0)?
        }
        (None, Some(runtime)) => runtime.enter(random),
        (None, None) => random(),
    };
    let norm = norms(from_ref(&start))?[0];
    if !(norm > 0.0 && norm.is_finite()) {
        let expected = "a start vector with a length above 0";
        return Err(Error::argument(op, expected, norm.to_string()));
    }
    Ok(start * T::from_f64(1.0 / norm))
}

/// Takes away what a vector has of an orthonormal basis, by classical Gram-Schmidt: each pass is
/// one reduction, of all inner products and the norm. The first may be against the vectors from
/// `near` on alone, where theory says that there is nothing else but rounding. The last one is
/// against all of them and takes away little, so no more than rounding is left of what it takes
/// (Daniel, Gragg, Kaufman and Stewart, *Reorthogonalization and stable algorithms for updating the
/// Gram-Schmidt QR factorization*, 1976). The norm after a pass follows from that before it by
/// Pythagoras.
pub(super) fn orthogonalise<T: Field>(
    basis: &[Vector<T>],
    near: usize,
    w: Vector<T>,
    mass: Option<&dyn LinearOperator<T>>,
) -> Result<Orthogonal<T>, Error> {
    /// Passes against the whole basis.
    const MOST_PASSES: usize = 4;
    // Of the squared length, what a pass leaves at least if it is the last one. The more a single
    // pass takes away, the more of what the basis lacks is handed to the next vector.
    const LEAST_OF_FIRST: f64 = 0.75;
    const LEAST: f64 = 0.5;
    let mut rest = w;
    let mut all = vec![Complex::ZERO; basis.len()];
    let mut norm_before = 0.0;
    for pass in 0..MOST_PASSES + usize::from(near > 0) {
        let first = if pass == 0 { near } else { 0 };
        let against = &basis[first..];
        let (products, squares) = match mass {
            None => {
                let products = Products::of(against, from_ref(&rest))?;
                let squares = rest.sum_of_squares();
                (products.read()?, squares.get()?.to_f64())
            }
            Some(mass) => {
                let image = mass.apply(&rest)?;
                let products = Products::of(against, from_ref(&image))?;
                let square = rest.dot(&image);
                (products.read()?, square_of_length(&square)?)
            }
        };
        let products = &products[0];
        let left = squares - products.iter().map(|h| h.norm_sqr()).sum::<f64>();
        rest = without(&rest, against, products);
        for (all, product) in all[first..].iter_mut().zip(products) {
            *all += product;
        }
        if pass == 0 {
            norm_before = squares.sqrt();
        }
        let least = if pass == 0 { LEAST_OF_FIRST } else { LEAST };
        if first == 0 && !(left < least * squares) {
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

/// x'B x, which rounding may make negative where a semidefinite B maps x to 0.
pub(super) fn square_of_length<T: Field>(square: &Scalar<T>) -> Result<f64, Error> {
    let (square, _) = square.get()?.parts();
    Ok(if square < 0.0 { 0.0 } else { square })
}

/// A pseudo-random vector orthogonal to a basis, of length 1: another one for each number of
/// directions that there have been.
pub(super) fn new_direction<T: Field>(
    basis: &[Vector<T>],
    directions: &mut u64,
) -> Result<Vector<T>, Error> {
    loop {
        let direction = orthogonalise(basis, 0, random(basis, directions), None)?;
        if direction.norm > 0.0 {
            return Ok(direction.rest * T::from_f64(1.0 / direction.norm));
        }
    }
}

/// The same in the inner product of a mass matrix; `None` where the basis has all vectors that
/// there are.
pub(super) fn new_direction_in<T: Field>(
    inner: Inner<'_, T>,
    basis: &[Vector<T>],
    operator: &dyn LinearOperator<T>,
    directions: &mut u64,
) -> Result<Option<Vector<T>>, Error> {
    const MOST_TRIED: usize = 4;
    // Where nothing is left beside the basis, rounding is.
    let rounding = 1e3 * T::Real::EPSILON.to_f64();
    for _ in 0..MOST_TRIED {
        let random = random(basis, directions);
        let vector = match inner.is_of_images {
            true => operator.apply(&random)?,
            false => random,
        };
        let direction = orthogonalise(basis, 0, vector, Some(inner.mass))?;
        if direction.norm > rounding * direction.norm_before {
            return Ok(Some(direction.rest * T::from_f64(1.0 / direction.norm)));
        }
    }
    Ok(None)
}

fn random<T: Field>(basis: &[Vector<T>], directions: &mut u64) -> Vector<T> {
    *directions += 1;
    let (runtime, n) = (basis[0].runtime(), basis[0].len());
    runtime.enter(|| Vector::random_normal([n], SEED + *directions))
}
