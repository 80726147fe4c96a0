//! QR and singular value decompositions.

use super::no_convergence;
use super::number::Number;
use super::serial;
use faer::{Mat, MatRef};
use sparsefuse_runtime::Error;

/// The rows of `q`, then the columns of `r`.
pub(super) fn qr<W: Number>(a: MatRef<'_, W>) -> Mat<W> {
    let (q, r) = serial::qr(a);
    Mat::from_fn(a.nrows() + a.ncols(), q.ncols(), |row, column| {
        match row.checked_sub(a.nrows()) {
            None => q[(row, column)],
            Some(of_r) if of_r < column => W::from_real(0.0),
            Some(of_r) => r[(column, of_r)],
        }
    })
}

/// The rows of the left singular vectors, the conjugates of those of the right ones, and the
/// singular values, in descending order.
pub(super) fn svd<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Mat<W>, Error> {
    let ([u, v], s) = serial::svd(a).map_err(|_| no_convergence(op))?;
    let n_rows = a.nrows() + a.ncols() + 1;
    Ok(Mat::from_fn(n_rows, s.dim(), |row, column| {
        match row.checked_sub(a.nrows()) {
            None => u[(row, column)],
            Some(of_v) if of_v < a.ncols() => {
                let number = v[(of_v, column)].complex();
                W::of_parts((number.re, -number.im))
            }
            Some(_) => s[column],
        }
    }))
}

pub(super) fn singular_values<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    let values = serial::singular_values(a).map_err(|_| no_convergence(op))?;
    Ok(Mat::from_fn(values.dim(), 1, |row, _| values[row]))
}
