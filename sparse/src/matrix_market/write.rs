//! Writing: the shortest decimal text that reads back to the same bits, all entries, no symmetry.
//! A file appears under its name only when it is complete (`replace.rs`).

use super::error::{WriteError, WriteErrorKind};
use super::replace::replace_file;
use flate2::Compression;
use flate2::write::GzEncoder;
use sparsefuse_dense::decimal::{Notation, Shortest, put_whole};
use sparsefuse_kernels::{DType, Element, Field};
use std::io::{self, Write};
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
    let path = path.as_ref();
    replace_text(path, |file| {
        let mut writer = Parts::new(path, file);
        put_sparse(&mut writer, n_rows, n_cols, entries.into_iter(), comment)
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
    let mut writer = Parts::plain(writer);
    put_sparse(&mut writer, n_rows, n_cols, entries.into_iter(), comment)
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
    let path = path.as_ref();
    replace_text(path, |file| {
        let mut writer = Parts::new(path, file);
        put_dense(&mut writer, n_rows, n_cols, vals, comment)
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
    let mut writer = Parts::plain(writer);
    put_dense(&mut writer, n_rows, n_cols, vals, comment)
        .map_err(|kind| WriteError::new(WRITER, kind))
}

/// What stands for the file's name where there is only a writer.
const WRITER: &str = "matrix market";

fn put_sparse<T: Field, W: Write + ?Sized>(
    writer: &mut Parts<'_, W>,
    n_rows: usize,
    n_cols: usize,
    entries: impl ExactSizeIterator<Item = (usize, usize, T)>,
    comment: &str,
) -> Result<(), WriteErrorKind> {
    writer.text.head::<T>("coordinate", comment);
    writer.text.sizes(&[n_rows, n_cols, entries.len()]);
    for (row, col, val) in entries {
        if row >= n_rows || col >= n_cols {
            return Err(WriteErrorKind::Outside {
                row,
                col,
                n_rows,
                n_cols,
            });
        }
        writer.text.entry(row, col, val)?;
        writer.end_line()?;
    }
    writer.write()
}

fn put_dense<T: Field, W: Write + ?Sized>(
    writer: &mut Parts<'_, W>,
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
    writer.text.head::<T>("array", comment);
    writer.text.sizes(&[n_rows, n_cols]);
    for col in 0..n_cols {
        for row in 0..n_rows {
            writer.text.element(row, col, vals[row * n_cols + col])?;
            writer.end_line()?;
        }
    }
    writer.write()
}

/// A writer of text, which it gets in parts of a megabyte.
struct Parts<'a, W: ?Sized> {
    writer: &'a mut W,
    is_gzip: bool,
    text: Text,
}

impl<'a, W: Write + ?Sized> Parts<'a, W> {
    fn new(path: &Path, writer: &'a mut W) -> Self {
        Self {
            is_gzip: is_gzip(path),
            ..Self::plain(writer)
        }
    }

    fn plain(writer: &'a mut W) -> Self {
        Self {
            writer,
            is_gzip: false,
            text: Text::default(),
        }
    }

    #[inline]
    fn end_line(&mut self) -> Result<(), WriteErrorKind> {
        const PART: usize = 1 << 20;
        if self.text.0.len() >= PART {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), WriteErrorKind> {
        if self.is_gzip {
            self.writer.write_all(&compressed(&self.text.0)?)?;
        } else {
            self.writer.write_all(&self.text.0)?;
        }
        self.text.0.clear();
        Ok(())
    }
}

/// A part of the text of a file, in memory.
#[derive(Debug, Default)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl Text {
    /// What stands before the entries of a sparse matrix.
    pub(crate) fn head_of_sparse<T: Field>((n_rows, n_cols): (usize, usize), nnz: usize) -> Self {
        let mut text = Self::default();
        text.head::<T>("coordinate", "");
        text.sizes(&[n_rows, n_cols, nnz]);
        text
    }

    /// What stands before the elements of a vector.
    pub(crate) fn head_of_vector<T: Field>(len: usize, comment: &str) -> Self {
        let mut text = Self::default();
        text.head::<T>("array", comment);
        text.sizes(&[len, 1]);
        text
    }

    fn head<T: Field>(&mut self, format: &str, comment: &str) {
        let field = if T::IS_COMPLEX { "complex" } else { "real" };
        let banner = format!("%%MatrixMarket matrix {format} {field} general\n");
        self.0.extend_from_slice(banner.as_bytes());
        for line in comment.lines() {
            self.0.extend_from_slice(format!("% {line}\n").as_bytes());
        }
    }

    fn sizes(&mut self, sizes: &[usize]) {
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        self.0.extend_from_slice(sizes.join(" ").as_bytes());
        self.0.push(b'\n');
    }

    /// Adds the line of an entry of a sparse matrix.
    #[inline]
    pub(crate) fn entry<T: Field>(
        &mut self,
        row: usize,
        col: usize,
        val: T,
    ) -> Result<(), WriteErrorKind> {
        put_whole(&mut self.0, row as u64 + 1);
        self.0.push(b' ');
        put_whole(&mut self.0, col as u64 + 1);
        self.0.push(b' ');
        self.element(row, col, val)
    }

    /// Adds the end of a line, or the line of an element of a dense matrix: a value, or the two
    /// parts of a complex one.
    #[inline]
    pub(crate) fn element<T: Field>(
        &mut self,
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
        self.real(dtype, re);
        if T::IS_COMPLEX {
            self.0.push(b' ');
            self.real(dtype, im);
        }
        self.0.push(b'\n');
        Ok(())
    }

    /// Adds as many digits as tell a number from its neighbours of type `dtype`, with an exponent
    /// where zeros would make the text longer.
    #[inline]
    fn real(&mut self, dtype: DType, value: f64) {
        let is_short = value == 0.0 || (1e-3..1e7).contains(&value.abs());
        let notation = if is_short {
            Notation::Plain
        } else {
            Notation::Scientific
        };
        let number = match dtype {
            DType::F32 => Shortest::of_single(value as f32),
            _ => Shortest::of_double(value),
        };
        number.put(&mut self.0, notation);
    }
}

/// Text compressed: a gzip file of its own, which may stand behind others.
pub(super) fn compressed(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

/// Whether the text of a file is compressed, by the file's name.
pub(super) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Lets `put` write a file, which takes the place of the one at `path` only if all went well.
pub(super) fn replace_text(
    path: &Path,
    put: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), WriteErrorKind>,
) -> Result<(), WriteError> {
    let written = replace_file(path, |file| put(file));
    written.map_err(|kind| WriteError::new(&path.to_string_lossy(), kind))
}
