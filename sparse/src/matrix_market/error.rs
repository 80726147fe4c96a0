//! Errors of reading and writing: which file, which line, what was expected, what was found.

use super::kinds::{FieldKind, Symmetry};
use sparsefuse_runtime::{Error, ErrorKind};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a file could not be read.
///
/// `Debug` shows the sentence too, for a `main` that returns it.
#[derive(Clone, thiserror::Error)]
#[error("{}: {kind}", self.place())]
pub struct ReadError {
    file: String,
    line: Option<u64>,
    kind: ReadErrorKind,
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ReadError {
    /// An error that no line is at fault for.
    pub(crate) fn new(file: &str, kind: ReadErrorKind) -> Self {
        Located { line: None, kind }.in_file(file)
    }

    /// The file's name, and the line if one is at fault.
    fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }

    /// The file's name, as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line at fault, from 1; none if the file could not be opened.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The facts, to match on.
    #[must_use]
    pub fn kind(&self) -> &ReadErrorKind {
        &self.kind
    }
}

/// For functions that return the library's [`Error`] and go on with `?`.
impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        ErrorKind::Format {
            place: error.place(),
            message: error.kind.to_string(),
        }
        .into()
    }
}

/// The facts of a [`ReadError`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The operating system refused.
    #[error("cannot read: {0}")]
    Io(#[source] Arc<io::Error>),
    /// The gzip stream is truncated or corrupt.
    #[error("cannot decompress, the gzip stream is broken: {0}")]
    Gzip(#[source] Arc<io::Error>),
    /// The text is not what the format demands at this place.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What the format demands.
        expected: &'static str,
        /// The text found, shortened, in backquotes; or what stood in its place.
        found: Cow<'static, str>,
    },
    /// The line does not fit into memory set aside for one.
    #[error("expected a line of at most {limit} bytes, found a longer one")]
    LongLine {
        /// The length up to which every line is accepted.
        limit: usize,
    },
    /// A complex file is read into a real element type.
    #[error("field is {found}, expected real, integer or pattern")]
    Field {
        /// The field of the file.
        found: FieldKind,
    },
    /// A matrix of a symmetric kind is not square.
    #[error("expected a square matrix because it is {symmetry}, found {n_rows} x {n_cols}")]
    NotSquare {
        /// The symmetry of the file.
        symmetry: Symmetry,
        /// The number of rows of the file.
        n_rows: u64,
        /// The number of columns of the file.
        n_cols: u64,
    },
    /// A size in the header is beyond what can be held.
    #[error("expected at most {limit} {what}, found {found}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The largest number possible.
        limit: u64,
        /// The number in the file.
        found: u64,
    },
    /// A row or column index is 0 or beyond the size of the matrix.
    #[error("expected a {axis} index in 1..={limit}, found {found}")]
    Index {
        /// `row` or `column`.
        axis: &'static str,
        /// The index in the file.
        found: u64,
        /// The size of the matrix along that axis.
        limit: usize,
    },
    /// An entry of a matrix of a symmetric kind stands above the diagonal.
    #[error(
        "expected an entry of the lower triangle because the matrix is {symmetry}, \
         found ({row}, {col})"
    )]
    UpperTriangle {
        /// The symmetry of the file.
        symmetry: Symmetry,
        /// The row of the entry, from 1.
        row: u64,
        /// The column of the entry, from 1.
        col: u64,
    },
    /// A skew-symmetric matrix has a diagonal entry that is not zero.
    #[error(
        "expected no diagonal entry because the matrix is skew-symmetric, found ({row}, {row})"
    )]
    SkewDiagonal {
        /// The row of the entry, from 1.
        row: u64,
    },
    /// A Hermitian matrix has a diagonal entry that is not real.
    #[error(
        "expected a real diagonal because the matrix is hermitian, found ({row}, {row}) with the \
         imaginary part {imaginary}"
    )]
    HermitianDiagonal {
        /// The row of the entry, from 1.
        row: u64,
        /// Its imaginary part.
        imaginary: f64,
    },
    /// A value is written as infinity or as not a number.
    #[error("value is not a finite number: expected a number, found {found}")]
    NotFinite {
        /// The text found, in backquotes.
        found: Cow<'static, str>,
    },
    /// A value is so large that it would become infinite.
    #[error("expected a value in the range of {dtype}, found {found}")]
    Overflow {
        /// The name of the element type.
        dtype: &'static str,
        /// The text found, in backquotes.
        found: Cow<'static, str>,
    },
    /// The file ends before all entries announced were read.
    #[error("expected {expected} entries, found {found} before the end of the file")]
    TooFew {
        /// The number of entries announced.
        expected: usize,
        /// The number of entries present.
        found: usize,
    },
    /// The file goes on after all entries announced were read.
    #[error("expected {expected} entries, found more")]
    TooMany {
        /// The number of entries announced.
        expected: usize,
    },
    /// A vector was expected, and the file holds a matrix.
    #[error("expected a vector, which has one column, found {n_rows} x {n_cols}")]
    NotVector {
        /// The number of rows of the file.
        n_rows: usize,
        /// The number of columns of the file.
        n_cols: usize,
    },
    /// One of several ranks cannot read what the others can.
    #[error("cannot read on rank {rank}: {message}")]
    Rank {
        /// The first rank that cannot.
        rank: usize,
        /// Why it cannot.
        message: String,
    },
    /// Ranks that open the same path find different files.
    #[error("expected the same file on every rank, found another on rank {rank}")]
    Differs {
        /// The first rank that finds another file than rank 0.
        rank: usize,
    },
    /// The file was read, but its matrix could not be made.
    #[error("{0}")]
    Assembly(#[source] Error),
}

impl ReadErrorKind {
    /// This error in a line, counted from 1.
    pub(super) fn at(self, line: u64) -> Located {
        Located {
            line: Some(line),
            kind: self,
        }
    }
}

/// A [`ReadError`] whose file is still to be named.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) line: Option<u64>,
    pub(super) kind: ReadErrorKind,
}

impl Located {
    pub(super) fn in_file(self, file: &str) -> ReadError {
        ReadError {
            file: file.to_owned(),
            line: self.line,
            kind: self.kind,
        }
    }
}

/// Text of the file as an error shows it: in backquotes, printable, and short.
pub(super) fn quote(text: &[u8]) -> Cow<'static, str> {
    const SHOWN: usize = 40;
    if text.is_empty() {
        return "the end of the line".into();
    }
    let shown = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN)]);
    let mut quoted = String::from("`");
    quoted.extend(shown.chars().take(SHOWN).flat_map(char::escape_debug));
    if shown.chars().nth(SHOWN).is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted.into()
}

/// Why a file could not be written.
///
/// `Debug` shows the sentence too, for a `main` that returns it.
#[derive(Clone, thiserror::Error)]
#[error("{file}: {kind}")]
pub struct WriteError {
    file: String,
    kind: WriteErrorKind,
}

impl fmt::Debug for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl WriteError {
    pub(crate) fn new(file: &str, kind: WriteErrorKind) -> Self {
        Self {
            file: file.to_owned(),
            kind,
        }
    }

    /// The file's name, as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The facts, to match on.
    #[must_use]
    pub fn kind(&self) -> &WriteErrorKind {
        &self.kind
    }
}

/// For functions that return the library's [`Error`] and go on with `?`.
impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        ErrorKind::Format {
            place: error.file,
            message: error.kind.to_string(),
        }
        .into()
    }
}

/// The facts of a [`WriteError`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The operating system refused.
    #[error("cannot write: {0}")]
    Io(#[source] Arc<io::Error>),
    /// The format has no text for infinities and for values that are not numbers.
    #[error("expected finite values, found {found} at ({row}, {col})")]
    NotFinite {
        /// The value.
        found: String,
        /// Its row, from 0.
        row: usize,
        /// Its column, from 0.
        col: usize,
    },
    /// An entry lies outside the matrix.
    #[error("expected an entry of the {n_rows} x {n_cols} matrix, found ({row}, {col})")]
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
    /// The number of values is not the number of elements.
    #[error("expected {n_rows} x {n_cols} values, found {found}")]
    Length {
        /// The number of rows of the matrix.
        n_rows: usize,
        /// The number of columns of the matrix.
        n_cols: usize,
        /// The number of values.
        found: usize,
    },
    /// The computation of the values failed.
    #[error("{0}")]
    Values(#[source] Error),
}

impl From<io::Error> for WriteErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}
