//! The half of a symmetric matrix that a file leaves out.

use super::header::{Header, Symmetry};
use sparsefuse_kernels::Field;

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
pub(super) fn to_row_major<T: Field>(header: &Header, stored: Vec<T>) -> Vec<T> {
    let (n_rows, n_cols) = (header.n_rows, header.n_cols);
    if header.symmetry == Symmetry::General && (n_rows <= 1 || n_cols <= 1) {
        return stored;
    }
    let mut vals = vec![T::ZERO; n_rows * n_cols];
    let mut stored = stored.into_iter();
    for col in 0..n_cols {
        let first_row = match header.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => col,
            Symmetry::SkewSymmetric => col + 1,
        };
        for (row, val) in (first_row..n_rows).zip(&mut stored) {
            vals[row * n_cols + col] = val;
            if header.symmetry != Symmetry::General && row != col {
                vals[col * n_cols + row] = mirror(header.symmetry, val);
            }
        }
    }
    vals
}
