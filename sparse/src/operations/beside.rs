//! What lies beside the rows and the columns of a matrix: elements of vectors, rows of dense
//! matrices, read in place where this rank has them and else fetched from the ranks that do.

use crate::exchange::ghosts::rows_at;
use crate::exchange::own_rows::OwnRows;
use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Local, Runtime};
use std::borrow::Cow;

/// The rows of a dense array, of `width` elements each, at this rank's rows of a matrix. Every rank
/// takes part.
pub(crate) fn rows_of<'x, T: Numeric>(
    runtime: &Runtime,
    own: &OwnRows<T>,
    x: &'x Local<T>,
    width: usize,
) -> Result<Cow<'x, [T]>, Error> {
    rows_at(runtime, (own.partition, &own.rows), x, width)
}

/// Rows of a dense array, one after the other, and for each entry of a matrix the number of one.
pub(crate) type Numbered<'x, T> = (Cow<'x, [T]>, Cow<'x, [u32]>);

/// The rows of a dense array, of `width` elements each, at the columns in which this rank's rows of
/// a matrix have entries, and for each entry the number of its row among them. Every rank takes
/// part.
pub(crate) fn rows_at_columns<'x, T: Numeric>(
    a: &Csr<T>,
    own: &'x OwnRows<T>,
    x: &'x Local<T>,
    width: usize,
) -> Result<Numbered<'x, T>, Error> {
    let crd = own.as_rows().crd;
    if x.is_replicated() {
        return Ok((Cow::Borrowed(x), Cow::Borrowed(crd)));
    }
    let ghosts = a.ghosts_of_columns(x.partition())?;
    let fetched = ghosts.exchange().run_rows(a.runtime(), width, x)?;
    let numbers = a.runtime().agree(ghosts.numbers(crd))?;
    Ok((Cow::Owned(fetched), Cow::Owned(numbers)))
}
