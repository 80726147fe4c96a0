//! The half of a symmetric matrix that a file leaves out.

use super::entries::Entries;
use super::header::Header;
use super::kinds::Symmetry;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

/// The element opposite to `val` across the diagonal.
#[inline]
pub(super) fn mirror<T: Field>(symmetry: Symmetry, val: T) -> T {
    let (re, im) = val.parts();
    match symmetry {
        Symmetry::General | Symmetry::Symmetric => val,
        Symmetry::SkewSymmetric => T::from_parts(-re, -im),
        Symmetry::Hermitian => T::from_parts(re, -im),
    }
}

/// All elements row by row, from those that an array file stores column by column.
pub(super) fn to_row_major<T: Field>(header: &Header, stored: Vec<T>) -> Result<Vec<T>, Error> {
    let (n_rows, n_cols) = (header.n_rows, header.n_cols);
    if header.symmetry == Symmetry::General && (n_rows <= 1 || n_cols <= 1) {
        return Ok(stored);
    }
    let mut vals = try_collect(repeat_n(T::ZERO, n_rows * n_cols))?;
    let mut stored = stored.into_iter();
    for col in 0..n_cols {
        for (row, val) in (first_row(header, col)..n_rows).zip(&mut stored) {
            vals[row * n_cols + col] = val;
            if header.symmetry != Symmetry::General && row != col {
                vals[col * n_cols + row] = mirror(header.symmetry, val);
            }
        }
    }
    Ok(vals)
}

/// Elements of an array file, of which the first is number `first`, as entries with their places,
/// mirrored ones behind their originals.
pub(super) fn with_places<T: Field>(header: &Header, stored: Vec<T>, first: usize) -> Entries<T> {
    let mut entries = Entries::new();
    let (mut col, mut skip) = (0, first);
    for val in stored {
        while skip >= header.n_rows - first_row(header, col) {
            skip -= header.n_rows - first_row(header, col);
            col += 1;
        }
        let row = first_row(header, col) + skip;
        skip += 1;
        // Lossless: dimensions fit in 32 bits.
        entries.push(row as u32, col as u32, val);
        if header.symmetry != Symmetry::General && row != col {
            entries.push(col as u32, row as u32, mirror(header.symmetry, val));
        }
    }
    entries
}

/// The first row of a column that an array file stores.
fn first_row(header: &Header, col: usize) -> usize {
    match header.symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => col,
        Symmetry::SkewSymmetric => col + 1,
    }
}
