//! Matrix Market files: `.mtx`, plain or compressed with gzip.
//!
//! The reader accepts what real tools write: comments, blank lines, tabs and carriage returns
//! anywhere, any case in the header, Fortran's `D` exponents, SciPy's `unsigned-integer`. It
//! refuses everything else with the file, the line, what was expected and what was found. Memory
//! grows with the entries really present, never with the numbers that a header announces alone:
//! room is made beforehand only for as many entries as a file of its length can have.
//!
//! Three rules are stricter than those of some readers, which would return a wrong matrix instead:
//! values must be finite; the diagonal of a Hermitian file must be real; and a file of a symmetric
//! kind stores no entry above the diagonal (a reader that mirrors such entries doubles a matrix
//! whose two triangles are both stored).

// A file is read in one pass that never holds it whole: `source` delivers blocks of whole lines,
// `header` takes the first of them, `body` parses each block on the threads of the rank while
// the next one is read, `plain` reads lines without anything unusual and `number` all others,
// `gathered` has the entries of all blocks, and `expand` makes the stored half of a symmetric
// matrix whole. On several ranks `deal` gives each its own blocks, and `ranks`
// sends what they hold where it belongs.

mod body;
mod deal;
mod entries;
mod error;
mod expand;
pub(crate) mod files;
mod gathered;
mod header;
mod kinds;
mod number;
mod pieces;
mod plain;
mod ranks;
pub(crate) mod replace;
mod source;
#[cfg(test)]
mod tests;
mod write;

pub use error::{ReadError, ReadErrorKind, WriteError, WriteErrorKind};
pub use header::Header;
pub use kinds::{FieldKind, Format, Symmetry};
pub(crate) use write::Text;
pub use write::{write_dense, write_dense_to, write_sparse, write_sparse_to};

use crate::local::triplets::Triplets;
use entries::Entries;
use error::Located;
pub(crate) use gathered::InOrder;
use gathered::{Found, Gathered};
use source::{Blocks, Cuts};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Runtime;
use std::path::Path;

/// The matrix of a file, with both triangles of symmetric kinds filled in.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<T> {
    /// From a `coordinate` file: the entries in the order of the file. Below the diagonal of a
    /// symmetric kind each entry is followed by its mirror image.
    Sparse(Triplets<T>),
    /// From an `array` file.
    Dense {
        /// The number of rows.
        n_rows: usize,
        /// The number of columns.
        n_cols: usize,
        /// All elements, row by row.
        vals: Vec<T>,
    },
}

/// Reads the header of a file, plain or gzip, and nothing behind it.
///
/// # Errors
/// If the file cannot be read, or has no valid header.
pub fn read_header(path: impl AsRef<Path>) -> Result<Header, ReadError> {
    let path = path.as_ref();
    Blocks::open(path, Cuts::DEFAULT)
        .and_then(|mut blocks| header::read(&mut blocks))
        .map(|(header, _rest)| header)
        .map_err(|error| error.in_file(&path.to_string_lossy()))
}

/// Reads a file; gzip is recognised by its first two bytes, whatever the name.
///
/// Real, integer and pattern files can be read into any `T` (a pattern's entries are 1), complex
/// files only into complex ones. Text is rounded once, to the nearest element. The file is parsed
/// on as many threads as a rank of the current runtime has.
///
/// # Errors
/// If the file cannot be read, is malformed, or is complex where `T` is real.
pub fn read<T: Field>(path: impl AsRef<Path>) -> Result<(Header, Content<T>), ReadError> {
    let path = path.as_ref();
    Blocks::open(path, Cuts::of_current())
        .and_then(read_blocks)
        .map_err(|error| error.in_file(&path.to_string_lossy()))
}

/// Reads the entries of this rank's rows, in the order of the file; of an `array` file all elements
/// of these rows. Every rank must ask, and all get the same error.
pub(crate) fn read_own_rows<T: Field>(
    runtime: &Runtime,
    path: &Path,
) -> Result<(Header, Triplets<T>), ReadError> {
    // Small blocks, so that the rounds of a file of medium size keep all ranks busy.
    let cuts = Cuts {
        block_len: 1 << 20,
        threads: runtime.config().threads,
        ..Cuts::DEFAULT
    };
    ranks::read(runtime, path, cuts)
}

/// Reads the bytes of a file, plain or gzip; `name` stands for the file in errors.
///
/// ```
/// use sparsefuse_sparse::matrix_market::{Content, parse};
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4.0\n2 1 -1.0\n";
/// let (header, content) = parse::<f64>(text.as_bytes(), "a.mtx")?;
/// assert_eq!(header.n_stored, 2);
/// let Content::Sparse(triplets) = content else { panic!() };
/// let entries: Vec<_> = triplets.iter().collect();
/// assert_eq!(entries, [(0, 0, 4.0), (1, 0, -1.0), (0, 1, -1.0)]);
///
/// let error = parse::<f64>(&text.as_bytes()[..60], "a.mtx").unwrap_err();
/// assert_eq!(error.to_string(), "a.mtx:3: expected 2 entries, found 1 before the end of the file");
/// # Ok::<(), sparsefuse_sparse::matrix_market::ReadError>(())
/// ```
///
/// # Errors
/// As [`read`], but for those of the file system.
pub fn parse<T: Field>(bytes: &[u8], name: &str) -> Result<(Header, Content<T>), ReadError> {
    parse_in(Cuts::of_current(), bytes).map_err(|error| error.in_file(name))
}

fn parse_in<T: Field>(cuts: Cuts, bytes: &[u8]) -> Result<(Header, Content<T>), Located> {
    read_blocks(Blocks::new(bytes, cuts)?)
}

fn read_blocks<T: Field>(mut blocks: Blocks<'_>) -> Result<(Header, Content<T>), Located> {
    let (header, rest) = header::read(&mut blocks)?;
    header::check_element::<T>(&header)?;
    let gathered = Gathered::new(&header, blocks.most_lines());
    let gathered = body::read(&header, rest, &mut blocks, gathered)?;
    let content = content(&header, gathered.into_entries())?;
    Ok((header, content))
}

/// What a file has for a matrix by rows.
pub(crate) enum Whole<T> {
    /// The matrix.
    Matrix(Box<InOrder<T>>),
    /// What it is to be made of.
    Content(Content<T>),
}

/// Reads a file as [`read`] does, for one rank that makes a matrix by rows of it.
pub(crate) fn read_whole<T: Field>(
    runtime: &Runtime,
    path: &Path,
) -> Result<(Header, Whole<T>), ReadError> {
    read_whole_in(runtime, Blocks::open(path, Cuts::of_current()))
        .map_err(|error| error.in_file(&path.to_string_lossy()))
}

fn read_whole_in<T: Field>(
    runtime: &Runtime,
    blocks: Result<Blocks<'_>, Located>,
) -> Result<(Header, Whole<T>), Located> {
    let mut blocks = blocks?;
    let (header, rest) = header::read(&mut blocks)?;
    header::check_element::<T>(&header)?;
    let gathered = Gathered::by_rows(runtime, &header, blocks.most_lines());
    let gathered = body::read(&header, rest, &mut blocks, gathered)?;
    let whole = match gathered.into_found() {
        Found::Matrix(matrix) => Whole::Matrix(matrix),
        Found::Entries(entries) => Whole::Content(content(&header, entries)?),
    };
    Ok((header, whole))
}

/// What the entries of a file are.
fn content<T: Field>(header: &Header, entries: Entries<T>) -> Result<Content<T>, Located> {
    Ok(match header.format {
        Format::Coordinate => Content::Sparse(Triplets::from_checked_parts(
            header.n_rows,
            header.n_cols,
            entries.rows,
            entries.cols,
            entries.vals,
        )),
        Format::Array => Content::Dense {
            n_rows: header.n_rows,
            n_cols: header.n_cols,
            vals: expand::to_row_major(header, entries.vals).map_err(|refused| Located {
                line: None,
                kind: ReadErrorKind::Assembly(refused),
            })?,
        },
    })
}
