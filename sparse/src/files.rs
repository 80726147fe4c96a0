//! A matrix from and to a Matrix Market file.
//!
//! Every rank reads the whole file and keeps its rows; the first rank writes for all.

use crate::csr::Csr;
use crate::matrix_market::{self, Content, ReadError, ReadErrorKind, WriteError, WriteErrorKind};
use ndarray::ArrayView2;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use std::io;
use std::ops::Add;
use std::path::Path;

impl<T: Field + Add<Output = T>> Csr<T> {
    /// The matrix of a Matrix Market file, plain or gzip, as [`matrix_market::read`] reads it:
    /// symmetric kinds are made whole, entries at the same place are summed, and of an `array`
    /// file the elements that are not 0 are kept.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is malformed, or is complex where `T` is real, or memory runs
    /// out.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let (_, content) = matrix_market::read(path)?;
        assemble(&content).map_err(|cause| {
            ReadError::new(&path.to_string_lossy(), ReadErrorKind::Assembly(cause))
        })
    }
}

fn assemble<T: Field + Add<Output = T>>(content: &Content<T>) -> Result<Csr<T>, Error> {
    match content {
        Content::Sparse(triplets) => Csr::from_triplets(triplets),
        Content::Dense {
            n_rows,
            n_cols,
            vals,
        } => {
            let view = ArrayView2::from_shape((*n_rows, *n_cols), vals)
                .expect("a dense file is read to as many values as elements");
            Csr::from_ndarray(view)
        }
    }
}

impl<T: Field> Csr<T> {
    /// Writes all stored entries, zeros among them, as [`matrix_market::write_sparse`] does, with
    /// the digits that read back to the same bits. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, a value is not finite, or the file cannot be
    /// written. An error of the first rank, which writes, is an error on every rank.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let path = path.as_ref();
        let refuse = |kind| WriteError::new(&path.to_string_lossy(), kind);
        let failed = |cause| refuse(WriteErrorKind::Values(cause));
        let runtime = self.runtime();
        let triplets = self.to_triplets().map_err(failed)?;
        let written = if runtime.rank() == 0 {
            let entry = |k: usize| {
                let (row, col) = (triplets.rows()[k], triplets.cols()[k]);
                (row as usize, col as usize, triplets.vals()[k])
            };
            let entries = (0..triplets.len()).map(entry);
            matrix_market::write_sparse(path, self.n_rows(), self.n_cols(), entries, "")
        } else {
            Ok(())
        };
        let is_written = runtime.all_gather(&[written.is_ok()]).map_err(failed)?;
        written?;
        if is_written[0][0] {
            return Ok(());
        }
        Err(refuse(io::Error::other("the first rank failed").into()))
    }
}
