//! Writing: the shortest decimal text that reads back to the same bits, all entries, no symmetry.
//! A file appears under its name only when it is complete (`replace.rs`).

use super::error::{WriteError, WriteErrorKind};
use super::replace::replace_file;
use flate2::Compression;
use flate2::write::GzEncoder;
use sparsefuse_kernels::{DType, Element, Field};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a sparse matrix to a file, compressed if its name ends in `.gz`; an existing file is
/// replaced at once, when the new one is complete.
///
/// `entries` are `(row, col, val)` from 0 in any order; `comment` becomes comment lines, none if
/// it is empty.
///
/// ```
/// # use sparsefuse_sparse::matrix_market::{read_header, write_sparse};
/// # let path = std::env::temp_dir().join(format!("write_sparse_{}.mtx.gz", std::process::id()));
/// let entries = [(0, 0, 1.0), (1, 0, 0.1)];
/// write_sparse(&path, 2, 1, entries, "made by hand")?;
/// assert_eq!(read_header(&path).unwrap().n_stored, 2);
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), sparsefuse_sparse::matrix_market::WriteError>(())
/// ```
///
/// # Errors
/// If the file cannot be written, an entry lies outside the matrix, or a value is not finite.
pub fn write_sparse<T: Field>(
    path: impl AsRef<Path>,
    n_rows: usize,
    n_cols: usize,
    entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: ExactSizeIterator>,
    comment: &str,
) -> Result<(), WriteError> {
    replace_text(path.as_ref(), |file| {
        put_sparse(file, n_rows, n_cols, entries.into_iter(), comment)
    })
}

/// Writes a sparse matrix as [`write_sparse`] does, but to any writer and never compressed.
///
/// # Errors
/// As [`write_sparse`].
pub fn write_sparse_to<T: Field>(
    writer: &mut impl Write,
    n_rows: usize,
    n_cols: usize,
    entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: ExactSizeIterator>,
    comment: &str,
) -> Result<(), WriteError> {
    put_sparse(writer, n_rows, n_cols, entries.into_iter(), comment)
        .map_err(|kind| WriteError::new(WRITER, kind))
}

/// Writes a dense matrix, given row by row, to a file, in the way of [`write_sparse`].
///
/// # Errors
/// If the file cannot be written, there are not `n_rows * n_cols` values, or one is not finite.
pub fn write_dense<T: Field>(
    path: impl AsRef<Path>,
    n_rows: usize,
    n_cols: usize,
    vals: &[T],
    comment: &str,
) -> Result<(), WriteError> {
    replace_text(path.as_ref(), |file| {
        put_dense(file, n_rows, n_cols, vals, comment)
    })
}

/// Writes a dense matrix as [`write_dense`] does, but to any writer and never compressed.
///
/// # Errors
/// As [`write_dense`].
pub fn write_dense_to<T: Field>(
    writer: &mut impl Write,
    n_rows: usize,
    n_cols: usize,
    vals: &[T],
    comment: &str,
) -> Result<(), WriteError> {
    put_dense(writer, n_rows, n_cols, vals, comment).map_err(|kind| WriteError::new(WRITER, kind))
}

/// What stands for the file's name where there is only a writer.
const WRITER: &str = "matrix market";

fn put_sparse<T: Field>(
    mut writer: impl Write,
    n_rows: usize,
    n_cols: usize,
    entries: impl ExactSizeIterator<Item = (usize, usize, T)>,
    comment: &str,
) -> Result<(), WriteErrorKind> {
    put_head::<T>(&mut writer, "coordinate", comment)?;
    writeln!(writer, "{n_rows} {n_cols} {}", entries.len())?;
    for (row, col, val) in entries {
        if row >= n_rows || col >= n_cols {
            return Err(WriteErrorKind::Outside {
                row,
                col,
                n_rows,
                n_cols,
            });
        }
        put_entry(&mut writer, row, col, val)?;
    }
    Ok(())
}

fn put_dense<T: Field>(
    mut writer: impl Write,
    n_rows: usize,
    n_cols: usize,
    vals: &[T],
    comment: &str,
) -> Result<(), WriteErrorKind> {
    if n_rows.checked_mul(n_cols) != Some(vals.len()) {
        return Err(WriteErrorKind::Length {
            n_rows,
            n_cols,
            found: vals.len(),
        });
    }
    put_head::<T>(&mut writer, "array", comment)?;
    writeln!(writer, "{n_rows} {n_cols}")?;
    for col in 0..n_cols {
        for row in 0..n_rows {
            put_val(&mut writer, row, col, vals[row * n_cols + col])?;
        }
    }
    Ok(())
}

/// Pieces of the text of a file, in memory.
#[derive(Debug, Default)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl Text {
    /// What stands before the entries of a sparse matrix.
    pub(crate) fn head_of_sparse<T: Field>(
        (n_rows, n_cols): (usize, usize),
        nnz: usize,
    ) -> Result<Self, WriteErrorKind> {
        let mut text = Self::default();
        put_head::<T>(&mut text.0, "coordinate", "")?;
        writeln!(text.0, "{n_rows} {n_cols} {nnz}")?;
        Ok(text)
    }

    /// What stands before the elements of a vector.
    pub(crate) fn head_of_vector<T: Field>(
        len: usize,
        comment: &str,
    ) -> Result<Self, WriteErrorKind> {
        let mut text = Self::default();
        put_head::<T>(&mut text.0, "array", comment)?;
        writeln!(text.0, "{len} 1")?;
        Ok(text)
    }

    /// Adds the line of an entry of a sparse matrix.
    pub(crate) fn entry<T: Field>(
        &mut self,
        row: usize,
        col: usize,
        val: T,
    ) -> Result<(), WriteErrorKind> {
        put_entry(&mut self.0, row, col, val)
    }

    /// Adds the line of an element of a vector.
    pub(crate) fn element<T: Field>(&mut self, row: usize, val: T) -> Result<(), WriteErrorKind> {
        put_val(&mut self.0, row, 0, val)
    }
}

fn put_head<T: Field>(mut writer: impl Write, format: &str, comment: &str) -> io::Result<()> {
    let field = if T::IS_COMPLEX { "complex" } else { "real" };
    writeln!(writer, "%%MatrixMarket matrix {format} {field} general")?;
    for line in comment.lines() {
        writeln!(writer, "% {line}")?;
    }
    Ok(())
}

fn put_entry<T: Field>(
    mut writer: impl Write,
    row: usize,
    col: usize,
    val: T,
) -> Result<(), WriteErrorKind> {
    write!(writer, "{} {} ", row + 1, col + 1)?;
    put_val(&mut writer, row, col, val)
}

/// Writes the end of a line: a value, or the two parts of a complex one.
fn put_val<T: Field>(
    mut writer: impl Write,
    row: usize,
    col: usize,
    val: T,
) -> Result<(), WriteErrorKind> {
    let (re, im) = val.parts();
    if !re.is_finite() || !im.is_finite() {
        return Err(WriteErrorKind::NotFinite {
            found: val.to_string(),
            row,
            col,
        });
    }
    let dtype = <T::Real as Element>::DTYPE;
    put_real(&mut writer, dtype, re)?;
    if T::IS_COMPLEX {
        writer.write_all(b" ")?;
        put_real(&mut writer, dtype, im)?;
    }
    writer.write_all(b"\n")?;
    Ok(())
}

/// Writes as many digits as tell a number from its neighbours of type `dtype`, with an exponent
/// where zeros would make the text longer.
fn put_real(mut writer: impl Write, dtype: DType, value: f64) -> io::Result<()> {
    let is_short = value == 0.0 || (1e-3..1e7).contains(&value.abs());
    match (dtype, is_short) {
        (DType::F32, true) => write!(writer, "{}", value as f32),
        (DType::F32, false) => write!(writer, "{:e}", value as f32),
        (_, true) => write!(writer, "{value}"),
        (_, false) => write!(writer, "{value:e}"),
    }
}

/// Lets `put` write a file, which takes the place of the one at `path` only if all went well;
/// compressed if its name ends in `.gz`.
pub(crate) fn replace_text(
    path: &Path,
    put: impl FnOnce(&mut dyn Write) -> Result<(), WriteErrorKind>,
) -> Result<(), WriteError> {
    let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
    let written = replace_file(path, |file| fill(file, is_gzip, put));
    written.map_err(|kind| WriteError::new(&path.to_string_lossy(), kind))
}

/// Lets `put` write all of a file.
fn fill(
    file: &mut File,
    is_gzip: bool,
    put: impl FnOnce(&mut dyn Write) -> Result<(), WriteErrorKind>,
) -> Result<(), WriteErrorKind> {
    let mut writer = BufWriter::with_capacity(256 << 10, file);
    if is_gzip {
        let mut text = BufWriter::new(GzEncoder::new(&mut writer, Compression::default()));
        put(&mut text)?;
        let encoder = text.into_inner().map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?;
    } else {
        put(&mut writer)?;
    }
    Ok(writer.flush()?)
}
