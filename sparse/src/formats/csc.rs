//! Compressed sparse columns: the rows of the transpose.
//!
//! The stores are those of the transpose as a [`Csr`], so columns are spread over the ranks as its
//! rows are. What goes by columns is done on these; what goes by rows, on the same matrix in row
//! format, which is made when it is first asked for.

use crate::formats::csr::Csr;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Runtime};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A sparse matrix in compressed column format; cheap to clone.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::Csc;
///
/// // [ 2 -1 ]
/// // [ 0  3 ]
/// let a = Csc::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, -1.0, 3.0])?;
/// let x = Vector::from_vec(vec![1.0, 10.0]);
/// assert_eq!((&a * &x).to_vec()?, [-8.0, 30.0]);
/// assert_eq!(a.transpose().matvec(&x).to_vec()?, [2.0, 29.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone)]
pub struct Csc<T> {
    /// The transpose: its rows are the columns.
    columns: Csr<T>,
    /// The matrix in row format, once it was asked for. Clones share it.
    rows: Arc<OnceLock<Csr<T>>>,
}

impl<T: Numeric> Csc<T> {
    /// A matrix from the three arrays of its format: column `j` has the rows and values
    /// `pos[j]..pos[j + 1]`. Rows of a column may come in any order; entries at the same place are
    /// summed. On several ranks every rank gives the whole.
    ///
    /// # Errors
    ///
    /// As [`Csr::new`], of the transpose.
    pub fn new(
        n_rows: usize,
        n_cols: usize,
        pos: Vec<u64>,
        rows: Vec<u32>,
        vals: Vec<T>,
    ) -> Result<Self, Error> {
        if let Some(row) = rows.iter().find(|&&row| row as usize >= n_rows) {
            let expected = format!("rows below {n_rows}");
            return Err(Error::argument("csc", expected, row.to_string()));
        }
        let transpose = Csr::new(n_cols, n_rows, pos, rows, vals);
        transpose
            .map(Self::of_transpose)
            .map_err(|error| error.of_operation("csc"))
    }

    /// The matrix whose transpose this is; nothing is copied.
    #[must_use]
    pub fn of_transpose(transpose: Csr<T>) -> Self {
        Self {
            columns: transpose,
            rows: Arc::default(),
        }
    }

    /// The number of rows and of columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.columns.n_cols(), self.columns.n_rows())
    }

    /// The runtime that the matrix belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.columns.runtime()
    }

    /// The number of stored entries, of all ranks.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.columns.nnz()
    }

    /// The values of the stored entries, column by column.
    #[must_use]
    pub fn values(&self) -> &Vector<T> {
        self.columns.values()
    }

    /// The same structure with values that are a whole store, one for each entry.
    pub(crate) fn with_own_values(&self, vals: Vector<T>) -> Self {
        Self::of_transpose(self.columns.with_own_values(vals))
    }

    /// The transpose in row format: the same stores, read the other way.
    #[must_use]
    pub fn transpose(&self) -> &Csr<T> {
        &self.columns
    }

    /// The conjugate transpose in row format: of a real matrix the same stores, of a complex one
    /// with other values, by one task.
    ///
    /// # Errors
    ///
    /// If nothing has written the values.
    pub fn adjoint(&self) -> Result<Csr<T>, Error> {
        match T::DTYPE.is_complex() {
            true => self.columns.try_conj(),
            false => Ok(self.columns.clone()),
        }
    }

    /// The matrix in row format, made when it is first asked for and kept with this one and its
    /// clones: as much memory again. The first call executes the window, and every rank must make
    /// it.
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        if let Some(rows) = self.rows.get() {
            return Ok(rows.clone());
        }
        let rows = self.columns.transpose()?;
        Ok(self.rows.get_or_init(|| rows).clone())
    }
}

impl<T: Numeric> Csr<T> {
    /// The matrix in column format. Linear in rows, columns and entries; executes the window.
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn to_csc(&self) -> Result<Csc<T>, Error> {
        let matrix = Csc::of_transpose(self.transpose()?);
        // The row format is there already.
        matrix.rows.get_or_init(|| self.clone());
        Ok(matrix)
    }
}

impl<T: Numeric> fmt::Debug for Csc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_cols) = self.shape();
        write!(f, "Csc({n_rows} by {n_cols}, {} entries)", self.nnz())
    }
}
