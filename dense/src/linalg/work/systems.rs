//! Linear systems, inverses and determinants, by an LU or a Cholesky factorisation.

use super::conversion::Rows;
use super::far::{self, Triangle};
use super::number::{Number, exponent, times_power};
use super::serial::{self, Lu};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{Mat, MatRef, Par};
use num_complex::Complex;
use sparsefuse_runtime::{Error, ErrorKind};

pub(super) fn solve<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    let Lu { factors, places } = factored(a);
    check_pivots(op, factors.as_ref())?;
    let mut x = Mat::from_fn(a.nrows(), b.ncols(), |row, column| b[(places[row], column)]);
    solve_unit_lower_triangular_in_place(factors.as_ref(), x.as_mut(), Par::Seq);
    Ok(solved(factors.as_ref(), Triangle::Upper, x))
}

fn factored<W: Number>(a: MatRef<'_, W>) -> Lu<W> {
    if far::is_large(a) {
        return far::lu(a);
    }
    let Lu { factors, places } = serial::lu(a);
    // Behind a pivot of 0 faer's are not numbers, which are not looked at.
    let is_singular =
        (0..a.nrows().min(a.ncols())).any(|row| factors[(row, row)].complex() == Complex::ZERO);
    match is_singular || far::is_finite(factors.as_ref()) {
        true => Lu { factors, places },
        false => far::lu(a),
    }
}

/// The solution of a triangular system. By faer, unless its quotients by pivots may be out of range
/// where those of the solution are not.
fn solved<W: Number>(a: MatRef<'_, W>, triangle: Triangle, b: Mat<W>) -> Mat<W> {
    if far::has_inverses(a) {
        let mut x = b.clone();
        match triangle {
            Triangle::Lower => solve_lower_triangular_in_place(a, x.as_mut(), Par::Seq),
            Triangle::Upper => solve_upper_triangular_in_place(a, x.as_mut(), Par::Seq),
        }
        if far::is_finite(x.as_ref()) {
            return x;
        }
    }
    let element = |row: usize, column: usize| a[(row, column)].complex();
    far::solve(element, triangle, b.as_ref())
}

pub(super) fn solve_lower<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    solve_triangular(op, a, b, Triangle::Lower)
}

pub(super) fn solve_upper<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    solve_triangular(op, a, b, Triangle::Upper)
}

fn solve_triangular<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
    triangle: Triangle,
) -> Result<Mat<W>, Error> {
    check_pivots(op, a)?;
    Ok(solved(a, triangle, b.to_owned()))
}

/// Of the factor `a`.
pub(super) fn solve_cholesky<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
    b: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    let y = solve_lower(op, a, b)?;
    if far::has_inverses(a) {
        let mut x = y.clone();
        solve_upper_triangular_in_place(a.adjoint(), x.as_mut(), Par::Seq);
        if far::is_finite(x.as_ref()) {
            return Ok(x);
        }
    }
    let adjoint = |row: usize, column: usize| a[(column, row)].complex().conj();
    Ok(far::solve(adjoint, Triangle::Upper, y.as_ref()))
}

/// The rows of `u`, and below its diagonal those of `l`; then the places of these rows in `a`.
pub(super) fn lu<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Vec<Rows<W>>, Error> {
    let Lu { factors, places } = factored(a);
    check_pivots(op, factors.as_ref())?;
    let places = Rows::one(places.len(), |at| W::from_real(places[at] as f64));
    Ok(vec![Rows::Of(factors), places])
}

/// Of what [`lu`] has made.
pub(super) fn solve_lu<W: Number>(lu: MatRef<'_, W>, b: MatRef<'_, W>) -> Mat<W> {
    let n = lu.nrows() - 1;
    let (factors, places) = lu.split_at_row(n);
    // Whole numbers below the order, which a single holds exactly too.
    let place = |row: usize| places[(0, row)].complex().re as usize;
    let mut x = Mat::from_fn(n, b.ncols(), |row, column| b[(place(row), column)]);
    solve_unit_lower_triangular_in_place(factors, x.as_mut(), Par::Seq);
    solved(factors, Triangle::Upper, x)
}

pub(super) fn inverse<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Mat<W>, Error> {
    solve(op, a, Mat::identity(a.nrows(), a.nrows()).as_ref())
}

pub(super) fn determinant<W: Number>(a: MatRef<'_, W>) -> Mat<W> {
    let Lu { factors, places } = factored(a);
    let odd = is_odd(&places);
    // Products of some pivots may be out of range where that of all is not.
    let mut determinant = Complex::from(if odd { -1.0 } else { 1.0 });
    let mut power = 0;
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
    let Lu { factors, places } = factored(a);
    let odd = is_odd(&places);
    let (mut sign, mut log) = (Complex::from(if odd { -1.0 } else { 1.0 }), 0.0);
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
    serial::cholesky(a).map_err(|LltError::NonPositivePivot { index }| {
        let found = format!("one whose first {} rows and columns are not", index + 1);
        ErrorKind::NotPositiveDefinite { op, found }.into()
    })
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
            Err(ErrorKind::Singular { op, found }.into())
        }
    }
}
