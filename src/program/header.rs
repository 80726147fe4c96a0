//! What a file says of its matrix before it is read: a Matrix Market file, or an archive of SciPy.

use super::failure::Failure;
use sparsefuse::sparse::matrix_market::{self, FieldKind, Format, Symmetry};
use sparsefuse::sparse::{NpzFormat, NpzHeader, read_npz_header};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// What a file says of its matrix.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// How the matrix is stored.
    pub(super) format: FileFormat,
    /// What its values are.
    pub(super) field: FieldKind,
    /// Which half of it is stored.
    pub(super) symmetry: Symmetry,
    /// The number of rows.
    pub(super) n_rows: usize,
    /// The number of columns.
    pub(super) n_cols: usize,
    /// The number of entries in the file.
    pub(super) n_stored: usize,
}

/// How a file stores a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileFormat {
    /// As Matrix Market files do.
    Text(Format),
    /// As archives of SciPy do.
    Archive(NpzFormat),
}

impl FileFormat {
    /// The name of the format in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text(Format::Coordinate) => "coordinate",
            Self::Text(Format::Array) => "array",
            Self::Archive(format) => format.name(),
        }
    }
}

impl Header {
    /// The header of a Matrix Market file or an archive; refuses what is no file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        check_file(path, "a Matrix Market file or a .npz file of SciPy")?;
        match is_archive(path) {
            true => Ok(read_npz_header(path)?.into()),
            false => Ok(matrix_market::read_header(path)?.into()),
        }
    }

    /// The header of a Matrix Market file; refuses what is no file.
    pub(super) fn read_text(path: &Path) -> Result<Self, Failure> {
        check_file(path, "a Matrix Market file")?;
        Ok(matrix_market::read_header(path)?.into())
    }

    /// Whether the values are complex.
    pub(super) fn is_complex(&self) -> bool {
        self.field == FieldKind::Complex
    }
}

fn check_file(path: &Path, expected: &str) -> Result<(), Failure> {
    let subject = path.to_string_lossy();
    let metadata = fs::metadata(path).map_err(|error| Failure::system(path, "read", error))?;
    if metadata.is_dir() {
        return Err(Failure::input(subject, expected, "a folder"));
    }
    if !metadata.is_file() {
        let expected = format!("{expected}, which is read twice");
        return Err(Failure::input(subject, expected, "a pipe or a device"));
    }
    Ok(())
}

/// Whether a file begins as archives do, whatever its name.
pub(super) fn is_archive(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start.starts_with(b"PK")
}

impl From<matrix_market::Header> for Header {
    fn from(header: matrix_market::Header) -> Self {
        let matrix_market::Header {
            format,
            field,
            symmetry,
            n_rows,
            n_cols,
            n_stored,
        } = header;
        Self {
            format: FileFormat::Text(format),
            field,
            symmetry,
            n_rows,
            n_cols,
            n_stored,
        }
    }
}

impl From<NpzHeader> for Header {
    fn from(header: NpzHeader) -> Self {
        let NpzHeader {
            format,
            field,
            n_rows,
            n_cols,
            n_stored,
        } = header;
        Self {
            format: FileFormat::Archive(format),
            field,
            symmetry: Symmetry::General,
            n_rows,
            n_cols,
            n_stored,
        }
    }
}
