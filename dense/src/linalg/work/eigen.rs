//! Eigenvalues and eigenvectors.
//!
//! A matrix that is not Hermitian is balanced first, as LAPACK does: a similarity by powers of two
//! makes its rows as long as its columns, so that small eigenvalues keep their digits beside large
//! elements. (R. James, J. Langou, B. R. Lowery, "On matrix balancing and eigenvector computation",
//! 2014.)

use super::conversion::Rows;
use super::inverse_iteration;
use super::no_convergence;
use super::number::{Number, times_power};
use super::serial;
use faer::{Mat, MatRef};
use num_complex::Complex;
use sparsefuse_runtime::Error;

/// By how much the sum of the lengths of a row and its column must shrink for a scaling.
const WORTHWHILE: f64 = 0.95;

/// By how much of a matrix's norm the sum of its eigenvalues may differ from its trace.
const SURELY_ROUNDING: f64 = 1e-6;

/// Largest exponent of a scaling, so that products of two are in range.
const LARGEST: i32 = 500;

/// Of a Hermitian matrix: the rows of the eigenvectors, and the eigenvalues, in ascending order.
pub(super) fn eigh<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Vec<Rows<W>>, Error> {
    let n = a.nrows();
    let mut vectors = Mat::zeros(n, n);
    let values = serial::eigh(a, Some(&mut vectors)).map_err(|_| no_convergence(op))?;
    Ok(vec![Rows::Of(vectors), Rows::one(n, |at| values[at])])
}

pub(super) fn eigvalsh<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Mat<W>, Error> {
    let values = serial::eigh(a, None).map_err(|_| no_convergence(op))?;
    Ok(Mat::from_fn(a.nrows(), 1, |row, _| values[row]))
}

/// The rows of the eigenvectors, of length 1, and the eigenvalues.
pub(super) fn eig<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
) -> Result<Vec<Rows<Complex<f64>>>, Error> {
    let n = a.nrows();
    let (balanced, exponents) = balanced(a);
    let mut vectors = Mat::zeros(n, n);
    let values = values_of(op, balanced.as_ref(), Some(&mut vectors))?;
    inverse_iteration::mend(balanced.as_ref(), &values, &mut vectors);
    for column in 0..n {
        let mut vector = vectors.col_mut(column);
        for (row, &exponent) in exponents.iter().enumerate() {
            vector[row] = times_power(vector[row], exponent);
        }
        let length = vector.norm_l2();
        for row in 0..n {
            vector[row] /= length;
        }
    }
    Ok(vec![Rows::Of(vectors), Rows::one(n, |at| values[at])])
}

pub(super) fn eigvals<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
) -> Result<Mat<Complex<f64>>, Error> {
    let (balanced, _) = balanced(a);
    let values = values_of(op, balanced.as_ref(), None)?;
    Ok(Mat::from_fn(a.nrows(), 1, |row, _| values[row]))
}

/// The eigenvalues, and the eigenvectors if there is a matrix for them. faer does not say where its
/// iteration ended without them; their sum does, which is that of the diagonal.
fn values_of<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    vectors: Option<&mut Mat<Complex<f64>>>,
) -> Result<Vec<Complex<f64>>, Error> {
    let values = W::eig(a, vectors).map_err(|_| no_convergence(op))?;
    let trace: Complex<f64> = (0..a.nrows()).map(|row| a[(row, row)].complex()).sum();
    let differs = (values.iter().sum::<Complex<f64>>() - trace).norm();
    match differs > SURELY_ROUNDING * a.norm_l2() {
        true => Err(no_convergence(op)),
        false => Ok(values),
    }
}

/// `D^-1 a D`, and the exponents of the powers of two on the diagonal of `D`.
fn balanced<W: Number>(a: MatRef<'_, W>) -> (Mat<W>, Vec<i32>) {
    let n = a.nrows();
    let mut balanced = a.to_owned();
    let mut exponents = vec![0; n];
    let mut is_done = false;
    while !is_done {
        is_done = true;
        for k in 0..n {
            let column = balanced.col(k).norm_l2();
            let row = balanced.row(k).norm_l2();
            let Some(exponent) = scaling(row, column) else {
                continue;
            };
            if (exponents[k] + exponent).abs() > LARGEST {
                continue;
            }
            is_done = false;
            exponents[k] += exponent;
            let times = |x: &mut W, power: i32| {
                let Complex { re, im } = times_power(x.complex(), power);
                *x = W::of_parts((re, im));
            };
            for other in (0..n).filter(|&other| other != k) {
                times(&mut balanced[(k, other)], -exponent);
                times(&mut balanced[(other, k)], exponent);
            }
        }
    }
    (balanced, exponents)
}

/// The exponent of the power of two that a column of this length is multiplied by and its row is
/// divided by, so that they become about as long; none where that gains little.
fn scaling(row: f64, column: f64) -> Option<i32> {
    if row == 0.0 || column == 0.0 {
        return None;
    }
    let exponent = ((row.log2() - column.log2()) / 2.0).round() as i32;
    let scaled = row * 2f64.powi(-exponent) + column * 2f64.powi(exponent);
    (exponent != 0 && scaled < WORTHWHILE * (row + column)).then_some(exponent)
}
