//! The right-hand side: A times ones, random numbers, or a file.

use super::failure::Failure;
use super::header::Header;
use sparsefuse::Error;
use sparsefuse::kernels::{Field, random};
use sparsefuse::prelude::Vector;
use sparsefuse::runtime::{Runtime, Shape, try_collect};
use sparsefuse::sparse::{Csr, read_columns};
use std::ffi::OsStr;
use std::ops::Add;
use std::path::{Path, PathBuf};

/// What `--rhs` asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rhs {
    /// b = A 1.
    Ones,
    /// Numbers uniform in [-1, 1) from this seed.
    Random(u64),
    /// The columns of a file.
    File(PathBuf),
}

impl Rhs {
    /// The file that it is read from, if it is read from one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Ones | Self::Random(_) => None,
        }
    }

    pub(super) fn parse(word: &OsStr) -> Result<Self, String> {
        if word == "ones" {
            return Ok(Self::Ones);
        }
        if Path::new(word).exists() {
            return Ok(Self::File(PathBuf::from(word)));
        }
        let text = word.to_string_lossy();
        let refuse = || format!("expected ones, random:SEED or an existing file, found `{text}`");
        let seed = text.strip_prefix("random:").ok_or_else(refuse)?;
        let refuse_seed = |_| {
            let most = u64::MAX;
            format!("expected random:SEED with a whole number from 0 to {most}, found `{text}`")
        };
        seed.parse().map(Self::Random).map_err(refuse_seed)
    }

    /// The header of the file, if it is one.
    pub(super) fn header(&self) -> Result<Option<Header>, Failure> {
        match self {
            Self::File(path) => Header::read_text(path).map(Some),
            Self::Ones | Self::Random(_) => Ok(None),
        }
    }

    /// Whether b makes a real system a complex one.
    pub(super) fn is_complex(&self) -> Result<bool, Failure> {
        Ok(self.header()?.as_ref().is_some_and(Header::is_complex))
    }

    /// How many right-hand sides there are; refuses a file whose columns do not have `n` elements.
    pub(super) fn columns(&self, n: usize) -> Result<usize, Failure> {
        match (self, self.header()?) {
            (Self::File(path), Some(Header { n_rows, n_cols, .. }))
                if n_rows != n || n_cols == 0 =>
            {
                let subject = format!("--rhs {}", path.display());
                let expected = format!("columns of {n} elements, as the matrix has {n} rows");
                let found = format!("{n_rows} x {n_cols}");
                Err(Failure::input(subject, expected, found))
            }
            (_, Some(header)) => Ok(header.n_cols),
            (_, None) => Ok(1),
        }
    }

    /// The columns of b on the runtime of the matrix; every rank must ask.
    pub(super) fn vectors<T: Field + Add<Output = T>>(
        &self,
        a: &Csr<T>,
    ) -> Result<Vec<Vector<T>>, Failure> {
        Ok(match self {
            Self::Ones => vec![a.try_matvec(&Vector::ones([a.n_cols()]))?],
            Self::Random(seed) => vec![from_rows(a.runtime(), a.n_rows(), |row| {
                let part = |index| 2.0 * random::uniform(*seed, index) - 1.0;
                T::from_parts(part(2 * row as u64), part(2 * row as u64 + 1))
            })?],
            Self::File(path) => read_columns(path)?,
        })
    }
}

/// A vector whose elements each rank makes for its own rows.
fn from_rows<T: Field>(
    runtime: &Runtime,
    n: usize,
    element: impl Fn(usize) -> T,
) -> Result<Vector<T>, Error> {
    let shape = Shape::new(&[n]);
    let (partition, rows) = runtime.default_rows(shape);
    let elements = try_collect(rows.clone().map(element));
    let store = elements.and_then(|all| runtime.store_of_rows(shape, partition, rows, all));
    let store = runtime.agree(store)?;
    Vector::from_store(store, None)
}
