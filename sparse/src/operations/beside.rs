//! What lies beside the rows and the columns of a matrix: elements of vectors, rows of dense
//! matrices, read in place where this rank has them and else fetched from the ranks that do.

use crate::exchange::ghosts::Ghosts;
use crate::exchange::own_rows::OwnRows;
use crate::formats::csr::Csr;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Local, Runtime, try_collect};
use std::borrow::Cow;

/// The rows of a dense array, of `width` elements each, at this rank's rows of a matrix. Every rank
/// takes part.
pub(crate) fn rows_of<'x, T: Numeric>(
    runtime: &Runtime,
    own: &OwnRows<T>,
    x: &'x Local<T>,
    width: usize,
) -> Result<Cow<'x, [T]>, Error> {
    if x.partition() == own.partition {
        return Ok(Cow::Borrowed(x));
    }
    if x.is_replicated() {
        let elements = own.rows.start * width..own.rows.end * width;
        return Ok(Cow::Borrowed(&x[elements]));
    }
    let needed = try_collect(own.rows.clone().map(|row| row as u32));
    let ghosts = Ghosts::new(runtime, x.partition(), runtime.agree(needed)?)?;
    fetch(&ghosts, runtime, x, width).map(Cow::Owned)
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
    let fetched = fetch(&ghosts, a.runtime(), x, width)?;
    let numbers = a.runtime().agree(ghosts.numbers(crd))?;
    Ok((Cow::Owned(fetched), Cow::Owned(numbers)))
}

/// The rows of a dense array at some indices, of which each rank has some.
fn fetch<T: Numeric>(
    ghosts: &Ghosts,
    runtime: &Runtime,
    x: &Local<T>,
    width: usize,
) -> Result<Vec<T>, Error> {
    if width == 1 {
        return ghosts.fetch(x);
    }
    let pos = (0..x.rows().len() + 1).map(|row| (row * width) as u64);
    let fetched = ghosts.fetch_entries(&runtime.agree(try_collect(pos))?, x)?;
    if runtime.is_planned() {
        // In a plan there are no ranks that send.
        return Ok(vec![T::ZERO; ghosts.indices().len() * width]);
    }
    Ok(fetched)
}
