//! What an archive says of its matrix: the format, the shape, and what kind of values it has.

use super::numbers::{self, DATA, Kind, Numbers};
use crate::assembly::MAX_COLUMNS;
use crate::matrix_market::FieldKind;
use sparsefuse_dense::npz::{Archive, Member};
use sparsefuse_runtime::{Error, Runtime};
use std::fmt;
use std::path::Path;

/// The format that a matrix has in an archive of SciPy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NpzFormat {
    /// Compressed sparse rows.
    Csr,
    /// Compressed sparse columns.
    Csc,
    /// Coordinates.
    Coo,
    /// Diagonals.
    Dia,
    /// Compressed rows of dense blocks.
    Bsr,
}

impl NpzFormat {
    const ALL: [Self; 5] = [Self::Csr, Self::Csc, Self::Coo, Self::Dia, Self::Bsr];

    /// SciPy's name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Coo => "coo",
            Self::Dia => "dia",
            Self::Bsr => "bsr",
        }
    }
}

impl fmt::Display for NpzFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What an archive says of its matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpzHeader {
    /// The format of the matrix in the file.
    pub format: NpzFormat,
    /// What its values are; `bool` counts as whole numbers.
    pub field: FieldKind,
    /// The number of rows.
    pub n_rows: usize,
    /// The number of columns.
    pub n_cols: usize,
    /// The number of values in the file, of dia files also those outside the matrix.
    pub n_stored: usize,
}

/// Reads what an archive says of its matrix, and none of its entries.
///
/// ```
/// use sparsefuse_sparse::{NpzFormat, gallery, read_npz_header};
///
/// let path = std::env::temp_dir().join(format!("header_{}.npz", std::process::id()));
/// gallery::poisson1d::<f64>(10)?.save_npz(&path)?;
/// let header = read_npz_header(&path)?;
/// assert_eq!((header.format, header.n_rows, header.n_stored), (NpzFormat::Csr, 10, 28));
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read, or is no archive with a sparse matrix.
pub fn read_npz_header(path: impl AsRef<Path>) -> Result<NpzHeader, Error> {
    read(&Archive::open(path.as_ref())?)
}

pub(super) fn read(archive: &Archive) -> Result<NpzHeader, Error> {
    let format = format(archive.member("format")?)?;
    let shape = archive.member("shape")?;
    if shape.n_elements() != 2 {
        let expected = "the numbers of rows and columns";
        return Err(shape.error(expected, format!("{} dimensions", shape.n_elements())));
    }
    let shape = numbers::indices(shape, 0..2, 0..MAX_COLUMNS as i64 + 1, |len| len)?;
    let data = archive.member(DATA)?;
    let field = match Numbers::of(data.descr()).map(|numbers| numbers.kind) {
        Some(Kind::Bool | Kind::Signed | Kind::Unsigned) => FieldKind::Integer,
        Some(Kind::Real) => FieldKind::Real,
        Some(Kind::Complex) => FieldKind::Complex,
        None => return Err(data.error("numbers", format!("'{}'", data.descr()))),
    };
    Ok(NpzHeader {
        format,
        field,
        n_rows: shape[0] as usize,
        n_cols: shape[1] as usize,
        n_stored: data.n_elements(),
    })
}

/// The format of a name in bytes, or in the UTF-32 of old files.
fn format(member: Member<'_>) -> Result<NpzFormat, Error> {
    let place = member.place().to_owned();
    let mut name = String::new();
    if member.n_elements() == 1 {
        let n = member.n_elements();
        // Zeros are what UTF-32 has more, of whichever order.
        member.read(0..n, |bytes| {
            let characters = bytes.iter().filter(|&&byte| byte != 0);
            name.extend(characters.map(|&byte| char::from(byte)));
            Ok(())
        })?;
    }
    let format = NpzFormat::ALL
        .into_iter()
        .find(|format| format.name() == name);
    format.ok_or_else(|| {
        let shown: String = name.chars().take(20).flat_map(char::escape_debug).collect();
        Error::file(&place, "csr, csc, coo, dia or bsr", format!("`{shown}`"))
    })
}

/// What every rank has found, if all have found the same.
pub(super) fn agree_on(
    runtime: &Runtime,
    path: &Path,
    header: Result<NpzHeader, Error>,
) -> Result<NpzHeader, Error> {
    let header = runtime.agree(header)?;
    let NpzHeader {
        format,
        n_rows,
        n_cols,
        n_stored,
        ..
    } = header;
    let mine = [format as u64, n_rows as u64, n_cols as u64, n_stored as u64];
    runtime.agree_on_file(path, &mine)?;
    Ok(header)
}
