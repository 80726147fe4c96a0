//! Least squares of matrices much longer than wide, made short: their R has the same solutions,
//! beside what the reflections make of the right-hand sides.

use super::submit;
use super::work::{Method, Work};
use crate::array::Array;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape};

/// A matrix and right-hand sides.
type Short<T> = (Array<T, 2>, Array<T, 2>);

/// R of a matrix and the first rows of `q^H b`, where the matrix has many more rows than columns.
pub(super) fn shortened<T: Field>(
    op: &'static str,
    a: &Array<T, 2>,
    b: &Array<T, 2>,
) -> Result<Option<Short<T>>, Error> {
    /// Rows for each column from which on this pays.
    const TALL: usize = 8;
    let ([n_rows, n], columns) = (a.shape(), b.shape()[1]);
    let size = n + columns;
    if n == 0 || columns == 0 || columns > 4 * n || n_rows / TALL < size {
        return Ok(None);
    }
    let work = Work::<T, T>::new(op, Method::Triangle);
    let made = submit(work, a, Some(b), Shape::new(&[size, size]))?;
    let r = Array::<T, 2>::wrap(made, None).try_slice((..n, ..))?;
    Ok(Some((r.try_slice((.., ..n))?, r.try_slice((.., n..))?)))
}
