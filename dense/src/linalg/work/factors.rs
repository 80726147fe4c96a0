//! QR and singular value decompositions.

use super::conversion::Rows;
use super::no_convergence;
use super::number::Number;
use super::serial;
use faer::{Mat, MatRef};
use sparsefuse_runtime::Error;

/// The rows of `q`, then the columns of `r`.
pub(super) fn qr<W: Number>(a: MatRef<'_, W>) -> Vec<Rows<W>> {
    let (q, mut factors) = serial::qr(a);
    let size = q.ncols();
    for column in 0..size {
        factors.col_as_slice_mut(column)[column + 1..].fill(W::from_real(0.0));
    }
    factors.truncate(size, a.ncols());
    vec![Rows::Of(q), Rows::Columns(factors)]
}

/// The rows of the left singular vectors, the conjugates of those of the right ones, and the
/// singular values, in descending order.
pub(super) fn svd<W: Number>(op: &'static str, a: MatRef<'_, W>) -> Result<Vec<Rows<W>>, Error> {
    let ([u, mut v], s) = serial::svd(a).map_err(|_| no_convergence(op))?;
    for column in 0..v.ncols() {
        for x in v.col_as_slice_mut(column) {
            let number = x.complex();
            *x = W::of_parts((number.re, -number.im));
        }
    }
    let values = Rows::one(s.dim(), |at| s[at]);
    Ok(vec![Rows::Of(u), Rows::Of(v), values])
}

pub(super) fn singular_values<W: Number>(
    op: &'static str,
    a: MatRef<'_, W>,
) -> Result<Mat<W>, Error> {
    let values = serial::singular_values(a).map_err(|_| no_convergence(op))?;
    Ok(Mat::from_fn(values.dim(), 1, |row, _| values[row]))
}
