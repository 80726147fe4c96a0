//! Triplets: the entries of a matrix as anyone may write them down, before assembly.
//!
//! What goes in is checked once: the three arrays have one length and every index lies inside the
//! matrix, so assembly may rely on both. Order and duplicates are free; duplicates are summed at
//! assembly.

use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, ErrorKind};
use std::fmt;

/// The entries of a matrix in any order; entries at the same place are summed at assembly.
///
/// ```
/// use sparsefuse_sparse::Triplets;
/// let mut triplets = Triplets::new(2, 2)?;
/// triplets.push(0, 0, 4.0)?;
/// triplets.push(1, 0, -1.0)?;
/// assert_eq!(triplets.iter().collect::<Vec<_>>(), [(0, 0, 4.0), (1, 0, -1.0)]);
/// assert!(triplets.push(2, 0, 1.0).is_err());
/// # Ok::<(), sparsefuse_sparse::TripletsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Triplets<T> {
    n_rows: usize,
    n_cols: usize,
    rows: Vec<u32>,
    cols: Vec<u32>,
    vals: Vec<T>,
}

/// Why entries were refused.
///
/// `Debug` shows the sentence too, for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct TripletsError {
    op: &'static str,
    kind: TripletsErrorKind,
}

impl fmt::Debug for TripletsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The facts of a [`TripletsError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TripletsErrorKind {
    /// The matrix has more rows or columns than 32-bit indices can name.
    TooLarge {
        /// The number of rows asked for.
        n_rows: usize,
        /// The number of columns asked for.
        n_cols: usize,
    },
    /// An entry lies outside the matrix.
    Outside {
        /// The row of the entry, from 0.
        row: usize,
        /// The column of the entry, from 0.
        col: usize,
        /// The number of rows of the matrix.
        n_rows: usize,
        /// The number of columns of the matrix.
        n_cols: usize,
    },
    /// The three arrays differ in length.
    Lengths {
        /// The number of row indices.
        n_row_indices: usize,
        /// The number of column indices.
        n_col_indices: usize,
        /// The number of values.
        n_vals: usize,
    },
}

impl<T: Copy> Triplets<T> {
    /// The largest number of rows, and of columns.
    pub const MAX_LEN: usize = u32::MAX as usize;

    /// A matrix without entries.
    ///
    /// # Errors
    /// If a dimension is larger than [`Triplets::MAX_LEN`].
    pub fn new(n_rows: usize, n_cols: usize) -> Result<Self, TripletsError> {
        Self::from_parts(n_rows, n_cols, Vec::new(), Vec::new(), Vec::new())
    }

    /// A matrix with the entries `(rows[k], cols[k], vals[k])`, indices from 0.
    ///
    /// # Errors
    /// If a dimension is larger than [`Triplets::MAX_LEN`], the arrays differ in length, or an
    /// entry lies outside the matrix.
    pub fn from_parts(
        n_rows: usize,
        n_cols: usize,
        rows: Vec<u32>,
        cols: Vec<u32>,
        vals: Vec<T>,
    ) -> Result<Self, TripletsError> {
        check_parts(n_rows, n_cols, &rows, &cols, vals.len()).map_err(|kind| TripletsError {
            op: "triplets",
            kind,
        })?;
        Ok(Self::from_checked_parts(n_rows, n_cols, rows, cols, vals))
    }

    /// [`Triplets::from_parts`] for a caller that has made its checks.
    pub(crate) fn from_checked_parts(
        n_rows: usize,
        n_cols: usize,
        rows: Vec<u32>,
        cols: Vec<u32>,
        vals: Vec<T>,
    ) -> Self {
        debug_assert_eq!(
            check_parts(n_rows, n_cols, &rows, &cols, vals.len()),
            Ok(()),
            "the caller has checked the parts"
        );
        Self {
            n_rows,
            n_cols,
            rows,
            cols,
            vals,
        }
    }

    /// Adds an entry, indices from 0.
    ///
    /// # Errors
    /// If the entry lies outside the matrix.
    pub fn push(&mut self, row: usize, col: usize, val: T) -> Result<(), TripletsError> {
        if row >= self.n_rows || col >= self.n_cols {
            return Err(TripletsError {
                op: "triplets: push",
                kind: TripletsErrorKind::Outside {
                    row,
                    col,
                    n_rows: self.n_rows,
                    n_cols: self.n_cols,
                },
            });
        }
        // Lossless: both are below a dimension, and dimensions fit in 32 bits.
        self.rows.push(row as u32);
        self.cols.push(col as u32);
        self.vals.push(val);
        Ok(())
    }

    /// Adds all entries of other triplets of the same matrix. Fails if the system refuses the
    /// memory.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), Error> {
        debug_assert_eq!(
            (self.n_rows, self.n_cols),
            (other.n_rows, other.n_cols),
            "both have entries of one matrix"
        );
        let wanted = other.len() * (2 * size_of::<u32>() + size_of::<T>());
        let places = self.rows.try_reserve(other.len());
        places
            .and_then(|()| self.cols.try_reserve(other.len()))
            .and_then(|()| self.vals.try_reserve(other.len()))
            .map_err(|_| ErrorKind::Refused { wanted })?;
        self.rows.append(&mut other.rows);
        self.cols.append(&mut other.cols);
        self.vals.append(&mut other.vals);
        Ok(())
    }

    /// The entries whose values are not 0.
    pub(crate) fn without_zeros(self) -> Self
    where
        T: Numeric,
    {
        let kept = || (0..self.len()).filter(|&k| self.vals[k] != T::ZERO);
        Self {
            rows: kept().map(|k| self.rows[k]).collect(),
            cols: kept().map(|k| self.cols[k]).collect(),
            vals: kept().map(|k| self.vals[k]).collect(),
            ..self
        }
    }

    /// The number of rows of the matrix.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns of the matrix.
    #[must_use]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The number of entries, duplicates counted each.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vals.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vals.is_empty()
    }

    /// The row of each entry, from 0.
    #[must_use]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The column of each entry, from 0.
    #[must_use]
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// The value of each entry.
    #[must_use]
    pub fn vals(&self) -> &[T] {
        &self.vals
    }

    /// The entries `(row, col, val)` in the order they were given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32, T)> + '_ {
        (0..self.len()).map(|k| (self.rows[k], self.cols[k], self.vals[k]))
    }

    /// The arrays of rows, columns and values.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        (self.rows, self.cols, self.vals)
    }
}

fn check_parts(
    n_rows: usize,
    n_cols: usize,
    rows: &[u32],
    cols: &[u32],
    n_vals: usize,
) -> Result<(), TripletsErrorKind> {
    let max_len = Triplets::<f64>::MAX_LEN;
    if n_rows > max_len || n_cols > max_len {
        return Err(TripletsErrorKind::TooLarge { n_rows, n_cols });
    }
    if rows.len() != cols.len() || cols.len() != n_vals {
        return Err(TripletsErrorKind::Lengths {
            n_row_indices: rows.len(),
            n_col_indices: cols.len(),
            n_vals,
        });
    }
    let outside = |(&row, &col): (&u32, &u32)| row as usize >= n_rows || col as usize >= n_cols;
    match rows.iter().zip(cols).position(outside) {
        None => Ok(()),
        Some(k) => Err(TripletsErrorKind::Outside {
            row: rows[k] as usize,
            col: cols[k] as usize,
            n_rows,
            n_cols,
        }),
    }
}

impl TripletsError {
    /// The facts, to match on.
    #[must_use]
    pub fn kind(&self) -> &TripletsErrorKind {
        &self.kind
    }
}

impl fmt::Display for TripletsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.op, self.kind)
    }
}

impl fmt::Display for TripletsErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { n_rows, n_cols } => write!(
                f,
                "expected at most {} rows and columns, found {n_rows} x {n_cols}",
                u32::MAX
            ),
            Self::Outside {
                row,
                col,
                n_rows,
                n_cols,
            } => write!(
                f,
                "expected an entry of the {n_rows} x {n_cols} matrix, found ({row}, {col})"
            ),
            Self::Lengths {
                n_row_indices,
                n_col_indices,
                n_vals,
            } => write!(
                f,
                "expected three arrays of one length, found {n_row_indices} rows, \
                 {n_col_indices} columns and {n_vals} values"
            ),
        }
    }
}

impl std::error::Error for TripletsError {}

/// For functions that return the library's [`Error`] and go on with `?`.
///
/// ```
/// use sparsefuse_sparse::{Csr, Error, Triplets};
///
/// fn diagonal(values: &[f64]) -> Result<Csr<f64>, Error> {
///     let mut triplets = Triplets::new(values.len(), values.len())?;
///     for (row, &value) in values.iter().enumerate() {
///         triplets.push(row, row, value)?;
///     }
///     Csr::from_triplets(&triplets)
/// }
/// # assert_eq!(diagonal(&[2.0, 3.0])?.nnz(), 2);
/// # Ok::<(), Error>(())
/// ```
impl From<TripletsError> for Error {
    fn from(error: TripletsError) -> Self {
        let op = error.op;
        match error.kind {
            TripletsErrorKind::TooLarge { n_rows, n_cols } => Self::argument(
                op,
                format!("at most {} rows and columns", u32::MAX),
                format!("{n_rows} x {n_cols}"),
            ),
            TripletsErrorKind::Outside {
                row,
                col,
                n_rows,
                n_cols,
            } => Self::argument(
                op,
                format!("an entry of the {n_rows} x {n_cols} matrix"),
                format!("({row}, {col})"),
            ),
            TripletsErrorKind::Lengths {
                n_row_indices,
                n_col_indices,
                n_vals,
            } => Self::argument(
                op,
                "three arrays of one length",
                format!("{n_row_indices} rows, {n_col_indices} columns and {n_vals} values"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: fmt::Debug>(result: Result<T, TripletsError>, message: &str) {
        assert_eq!(result.unwrap_err().to_string(), message);
    }

    #[test]
    fn refuses_what_lies_outside() {
        let mut triplets = Triplets::new(2, 3).unwrap();
        triplets.push(1, 2, 5.0f32).unwrap();
        check(
            triplets.push(1, 3, 1.0),
            "triplets: push: expected an entry of the 2 x 3 matrix, found (1, 3)",
        );
        check(
            Triplets::from_parts(2, 2, vec![0, 2], vec![0, 0], vec![1.0, 2.0]),
            "triplets: expected an entry of the 2 x 2 matrix, found (2, 0)",
        );
        check(
            Triplets::from_parts(2, 2, vec![0], vec![], vec![1.0, 2.0]),
            "triplets: expected three arrays of one length, found 1 rows, 0 columns and 2 values",
        );
        check(
            Triplets::<f64>::new(1 << 32, 1),
            "triplets: expected at most 4294967295 rows and columns, found 4294967296 x 1",
        );
        assert_eq!(triplets.len(), 1);
        assert_eq!(triplets.into_parts(), (vec![1], vec![2], vec![5.0]));
    }
}
