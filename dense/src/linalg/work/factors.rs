//! QR and singular value decompositions.

use super::no_convergence;
use super::number::Number;
use faer::{Mat, MatRef};
use sparsefuse_runtime::Error;

/// The rows of `q`, then the columns of `r`.
pub(super) fn qr<W: Number>(a: MatRef<'_, W>) -> Mat<W> {
    let factors = a.qr();
    let (q, r) = (factors.compute_thin_Q(), factors.thin_R());
    Mat::from_fn(a.nrows() + a.ncols(), r.nrows(), |row, column| {
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
    let factors = a.thin_svd().map_err(|_| no_convergence(op))?;
    let (u, v, s) = (factors.U(), factors.V(), factors.S());
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
    let values = a.singular_values().map_err(|_| no_convergence(op))?;
    Ok(Mat::from_fn(values.len(), 1, |row, _| {
        W::from_real(values[row])
    }))
}
