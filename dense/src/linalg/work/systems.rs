//! Linear systems, inverses and determinants, by an LU or a Cholesky factorisation.

use super::number::{Number, exponent, times_power};
use super::serial::{self, Lu};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{Mat, MatMut, MatRef, Par};
use num_complex::Complex;
use sparsefuse_runtime::Error;
use std::f64::consts::LN_2;

pub(super) fn solve<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    let (Lu { factors, places }, exponents) = far_lu(a);
    check_pivots(op, factors.as_ref())?;
    let mut x = Mat::from_fn(a.nrows(), b.ncols(), |row, column| b[(places[row], column)]);
    solve_unit_lower_triangular_in_place(factors.as_ref(), x.as_mut(), Par::Seq);
    let x = solved(factors.as_ref(), x, solve_upper_triangular_in_place);
    Ok(match exponents {
        None => x,
        Some(exponents) => times_powers(x.as_ref(), |row, _| -exponents[row]),
    })
}

/// The exponents of powers of two that the columns of a matrix are divided by, where the numbers of
/// some are far from 1: faer multiplies by inverses of pivots, which are infinite for subnormal
/// ones. Partial pivoting does not see it.
fn far_columns<W: Number>(a: MatRef<'_, W>) -> Option<Vec<i32>> {
    let largest = |column: usize| {
        let numbers = (0..a.nrows()).map(|row| a[(row, column)].complex());
        let numbers = numbers.filter(|number| *number != Complex::ZERO);
        numbers.map(exponent).max().unwrap_or(0)
    };
    let exponents: Vec<i32> = (0..a.ncols()).map(largest).collect();
    let is_far = |exponent: &i32| exponent.abs() > FAR;
    exponents.iter().any(is_far).then_some(exponents)
}

/// The exponent from which on products of two numbers may be out of range.
const FAR: i32 = 500;

fn divided<W: Number>(a: MatRef<'_, W>, exponents: &[i32]) -> Mat<W> {
    times_powers(a, |_, column| -exponents[column])
}

fn times_powers<W: Number>(a: MatRef<'_, W>, power: impl Fn(usize, usize) -> i32) -> Mat<W> {
    Mat::from_fn(a.nrows(), a.ncols(), |row, column| {
        let number = times_power(a[(row, column)].complex(), power(row, column));
        W::of_parts((number.re, number.im))
    })
}

/// The solution of a triangular system. Rows whose pivots have no inverse are multiplied by a power
/// of two.
fn solved<W: Number>(
    a: MatRef<'_, W>,
    b: Mat<W>,
    in_place: impl FnOnce(MatRef<'_, W>, MatMut<'_, W>, Par),
) -> Mat<W> {
    let mut x = b;
    if have_inverses(a) {
        in_place(a, x.as_mut(), Par::Seq);
        return x;
    }
    let power = |row: usize| -exponent(a[(row, row)].complex());
    let near = times_powers(a.subrows(0, a.ncols()), |row, _| power(row));
    let mut x = times_powers(x.as_ref(), |row, _| power(row));
    in_place(near.as_ref(), x.as_mut(), Par::Seq);
    x
}

/// Whether the inverses of all pivots are surely finite.
fn have_inverses<W: Number>(a: MatRef<'_, W>) -> bool {
    (0..a.ncols()).all(|row| exponent(a[(row, row)].complex()) > -1000)
}

pub(super) fn solve_lower<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    solve_triangular(op, a, b, solve_lower_triangular_in_place)
}

pub(super) fn solve_upper<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    solve_triangular(op, a, b, solve_upper_triangular_in_place)
}

fn solve_triangular<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
    in_place: impl FnOnce(MatRef<'_, W>, MatMut<'_, W>, Par),
) -> Result<Mat<W>, Error> {
    check_pivots(op, a)?;
    Ok(solved(a, b.to_owned(), in_place))
}

/// Of the factor `a`.
pub(super) fn solve_cholesky<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    let mut x = solve_lower(op, a, b)?;
    if have_inverses(a) {
        solve_upper_triangular_in_place(a.adjoint(), x.as_mut(), Par::Seq);
        return Ok(x);
    }
    let upper = a.adjoint().to_owned();
    Ok(solved(upper.as_ref(), x, solve_upper_triangular_in_place))
}

/// The rows of `u`, and below its diagonal those of `l`; then the places of these rows in `a`.
pub(super) fn lu<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Mat<W>, Error> {
    let n = a.nrows();
    let (Lu { factors, places }, exponents) = far_lu(a);
    let factors = match exponents {
        None => factors,
        // Those of U; L is what it is.
        Some(of) => times_powers(factors.as_ref(), |row, column| match row <= column {
            true => of[column],
            false => 0,
        }),
    };
    check_pivots(op, factors.as_ref())?;
    Ok(Mat::from_fn(n + 1, n, |row, column| match row == n {
        true => W::from_real(places[column] as f64),
        false => factors[(row, column)],
    }))
}

/// Of what [`lu`] has made.
pub(super) fn solve_lu<W: Number>(lu: MatRef<'_, W>, b: MatRef<'_, W>) -> Mat<W> {
    let n = lu.nrows() - 1;
    let (factors, places) = lu.split_at_row(n);
    // Whole numbers below the order, which a single holds exactly too.
    let place = |row: usize| places[(0, row)].complex().re as usize;
    let mut x = Mat::from_fn(n, b.ncols(), |row, column| b[(place(row), column)]);
    solve_unit_lower_triangular_in_place(factors, x.as_mut(), Par::Seq);
    solved(factors, x, solve_upper_triangular_in_place)
}

/// L and U of a matrix whose columns are divided by powers of two, if some are far from 1, and
/// their exponents.
fn far_lu<W: Number>(a: MatRef<'_, W>) -> (Lu<W>, Option<Vec<i32>>) {
    let exponents = far_columns(a);
    let lu = match &exponents {
        None => serial::lu(a),
        Some(exponents) => serial::lu(divided(a, exponents).as_ref()),
    };
    (lu, exponents)
}

pub(super) fn inverse<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Mat<W>, Error> {
    solve(op, a, Mat::identity(a.nrows(), a.nrows()).as_ref())
}

pub(super) fn determinant<W: Number>(a: MatRef<'_, W>) -> Mat<W> {
    let (Lu { factors, places }, exponents) = far_lu(a);
    let odd = is_odd(&places);
    // Products of some pivots may be out of range where that of all is not.
    let mut determinant = Complex::from(if odd { -1.0 } else { 1.0 });
    let mut power: i32 = exponents.iter().flatten().sum();
    for pivot in (0..a.nrows()).map(|row| factors[(row, row)].complex()) {
        if pivot == Complex::ZERO {
            // Behind such a pivot faer's are not numbers.
            determinant = Complex::ZERO;
            break;
        }
        let of_pivot = exponent(pivot);
        determinant *= times_power(pivot, -of_pivot);
        let of_product = exponent(determinant);
        determinant = times_power(determinant, -of_product);
        power += of_pivot + of_product;
    }
    let Complex { re, im } = times_power(determinant, power.clamp(-2000, 2000));
    Mat::from_fn(1, 1, |_, _| W::of_parts((re, im)))
}

/// What the determinant is over its absolute value, and the logarithm of that.
pub(super) fn log_determinant<W: Number>(a: MatRef<'_, W>) -> Mat<W> {
    let (Lu { factors, places }, exponents) = far_lu(a);
    let odd = is_odd(&places);
    let mut sign = Complex::from(if odd { -1.0 } else { 1.0 });
    let power: i32 = exponents.iter().flatten().sum();
    let mut log = f64::from(power) * LN_2;
    for pivot in (0..a.nrows()).map(|row| factors[(row, row)].complex()) {
        let size = pivot.norm();
        log += size.ln();
        if size == 0.0 {
            // Behind such a pivot faer's are not numbers.
            sign = Complex::ZERO;
            break;
        }
        sign *= pivot / size;
    }
    let made = [W::of_parts((sign.re, sign.im)), W::from_real(log)];
    Mat::from_fn(1, 2, |_, column| made[column])
}

pub(super) fn cholesky<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Mat<W>, Error> {
    let lower = serial::cholesky(a).map_err(|LltError::NonPositivePivot { index }| {
        let found = format!("one whose first {} rows and columns are not", index + 1);
        Error::argument(op, "a positive definite matrix", found)
    })?;
    Ok(Mat::from_fn(a.nrows(), a.nrows(), |row, column| {
        if row < column {
            W::from_real(0.0)
        } else {
            lower[(row, column)]
        }
    }))
}

/// Whether a permutation is one of an odd number of exchanges.
fn is_odd(places: &[usize]) -> bool {
    let mut is_seen = vec![false; places.len()];
    let mut is_odd = false;
    for first in 0..places.len() {
        let mut at = places[first];
        // A cycle of k places is k - 1 exchanges.
        while !std::mem::replace(&mut is_seen[at], true) && at != first {
            is_odd = !is_odd;
            at = places[at];
        }
    }
    is_odd
}

/// Refuses a matrix with a pivot of 0: it has no inverse.
fn check_pivots<W: Number>(op: &'static str, upper: MatRef<'_, W>) -> Result<(), Error> {
    let is_zero = |row: &usize| upper[(*row, *row)].complex() == Complex::ZERO;
    match (0..upper.nrows()).find(is_zero) {
        None => Ok(()),
        Some(row) => {
            let found = format!("a singular one: pivot {row} is 0");
            Err(Error::argument(op, "a matrix that is not singular", found))
        }
    }
}
