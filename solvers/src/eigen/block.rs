//! Several vectors at once: inner products of pairs, sums of multiples, true residuals.
//!
//! All inner products that are read together are issued before the first is read. Those of few
//! vectors fuse into one task with one reduction, which reads each vector once; those of many with
//! many are a product of matrices.

use super::hermitian::Hermitian;
use crate::krylov::scalars::{element, number, read_all};
use crate::operator::LinearOperator;
use crate::turns::{alone, root};
use num_complex::Complex;
use sparsefuse_dense::{Deferred, Scalars, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Inner products that have been issued: x'y of each of some x, for each of some y.
pub(super) enum Products<T> {
    Few(Vec<Scalars<T>>),
    Many(Deferred<Vec<Vec<T>>>),
}

/// Vectors on either side from which on inner products are a product of matrices.
const MANY_PRODUCTS: usize = 6;

impl<T: Field> Products<T> {
    /// Of every x with every y.
    pub(super) fn of(xs: &[Vector<T>], ys: &[Vector<T>]) -> Result<Self, Error> {
        let xs: Vec<&Vector<T>> = xs.iter().collect();
        if xs.len().min(ys.len()) >= MANY_PRODUCTS {
            let ys: Vec<&Vector<T>> = ys.iter().collect();
            return Vector::try_inner_products(&xs, &ys).map(Self::Many);
        }
        let column = |y: &Vector<T>| y.try_dots(&xs);
        let columns: Result<_, Error> = ys.iter().map(column).collect();
        columns.map(Self::Few)
    }

    /// Of every x with the ys up to its own place, where x'y of all pairs is Hermitian.
    pub(super) fn of_hermitian(xs: &[Vector<T>], ys: &[Vector<T>]) -> Result<Self, Error> {
        let xs: Vec<&Vector<T>> = xs.iter().collect();
        if ys.len() >= MANY_PRODUCTS {
            let ys: Vec<&Vector<T>> = ys.iter().collect();
            return Vector::try_hermitian_products(&xs, &ys).map(Self::Many);
        }
        let column = |(i, y): (usize, &Vector<T>)| y.try_dots(&xs[..=i]);
        let columns: Result<_, Error> = ys.iter().enumerate().map(column).collect();
        columns.map(Self::Few)
    }

    /// For each y its products with the xs.
    pub(super) fn read(self) -> Result<Vec<Vec<Complex<f64>>>, Error> {
        match self {
            Self::Few(columns) => columns.iter().map(read_all).collect(),
            Self::Many(columns) => {
                let numbers = |column: Vec<T>| column.into_iter().map(number).collect();
                Ok(columns.get()?.into_iter().map(numbers).collect())
            }
        }
    }

    /// The matrix of [`Products::of_hermitian`].
    pub(super) fn read_hermitian(self) -> Result<Hermitian, Error> {
        let columns = self.read()?;
        let mut matrix = Hermitian::zeros(columns.len());
        for (i, column) in columns.iter().enumerate() {
            for (row, &product) in column.iter().enumerate() {
                matrix.set(row, i, product);
            }
        }
        Ok(matrix)
    }
}

/// The sum of some vectors, each times its coefficient. There is at least one.
pub(super) fn sum_of_multiples<T: Field>(
    vectors: &[Vector<T>],
    coefficients: &[Complex<f64>],
) -> Vector<T> {
    let first = &vectors[0] * element::<T>(coefficients[0]);
    first.plus_multiples(&terms(&vectors[1..], &coefficients[1..]))
}

/// Sums from which on they are one product of matrices. Fewer are fused with what is before and
/// behind them, and stay where the vectors are, as on a device.
const MANY: usize = 16;

/// As many sums as there are lists of coefficients.
pub(super) fn sums_of_multiples<T: Field>(
    vectors: &[Vector<T>],
    coefficients: &[Vec<Complex<f64>>],
) -> Result<Vec<Vector<T>>, Error> {
    if coefficients.len() < MANY {
        let sum = |coefficients: &Vec<_>| sum_of_multiples(vectors, coefficients);
        return Ok(coefficients.iter().map(sum).collect());
    }
    let vectors: Vec<&Vector<T>> = vectors.iter().collect();
    Vector::try_combinations(&vectors, &elements(coefficients))
}

/// Each of some `xs` without the multiples of some vectors.
pub(super) fn all_without<T: Field>(
    xs: &[Vector<T>],
    vectors: &[Vector<T>],
    coefficients: &[Vec<Complex<f64>>],
) -> Result<Vec<Vector<T>>, Error> {
    if xs.len() < MANY || vectors.is_empty() {
        let pairs = xs.iter().zip(coefficients);
        return Ok(pairs.map(|(x, list)| without(x, vectors, list)).collect());
    }
    let [xs, vectors] = [xs, vectors].map(|of| of.iter().collect::<Vec<_>>());
    Vector::try_minus_combinations(&xs, &vectors, &elements(coefficients))
}

fn elements<T: Field>(coefficients: &[Vec<Complex<f64>>]) -> Vec<Vec<T>> {
    let list = |list: &Vec<_>| list.iter().map(|&c| element::<T>(c)).collect();
    coefficients.iter().map(list).collect()
}

/// `x` without the multiples of some vectors.
pub(super) fn without<T: Field>(
    x: &Vector<T>,
    vectors: &[Vector<T>],
    coefficients: &[Complex<f64>],
) -> Vector<T> {
    x.minus_multiples(&terms(vectors, coefficients))
}

fn terms<'a, T: Field>(
    vectors: &'a [Vector<T>],
    coefficients: &[Complex<f64>],
) -> Vec<(T, &'a Vector<T>)> {
    let terms = vectors.iter().zip(coefficients);
    terms
        .map(|(vector, &c)| (element::<T>(c), vector))
        .collect()
}

/// The images of some vectors.
pub(super) fn images<T>(
    a: &dyn LinearOperator<T>,
    vectors: &[Vector<T>],
) -> Result<Vec<Vector<T>>, Error> {
    vectors.iter().map(|x| a.apply(x)).collect()
}

/// A x - lambda B x of each pair, from the images.
pub(super) fn residuals<T: Field>(
    values: &[f64],
    a_images: &[Vector<T>],
    b_images: &[Vector<T>],
) -> Vec<Vector<T>> {
    let images = a_images.iter().zip(b_images);
    let pairs = values.iter().zip(images);
    pairs
        .map(|(&value, (ax, bx))| ax - bx * T::from_f64(value))
        .collect()
}

/// The lengths of some vectors.
pub(super) fn norms<T: Field>(vectors: &[Vector<T>]) -> Result<Vec<f64>, Error> {
    let squares: Vec<_> = vectors.iter().map(Vector::sum_of_squares).collect();
    squares.iter().map(|of| alone(root(of))).collect()
}

/// Whether a tolerance is one.
pub(super) fn check_tolerance(op: &'static str, tol: f64) -> Result<(), Error> {
    if tol >= 0.0 {
        return Ok(());
    }
    Err(Error::argument(op, "tol to be 0 or more", tol.to_string()))
}
