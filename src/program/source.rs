//! Where a matrix comes from: a file, of Matrix Market or of SciPy, or a generator.
//!
//! A source is parsed when the arguments are, so nonsense is refused before any work. Every rank
//! makes its own rows; of a file every rank reads a part.

use super::failure::Failure;
use super::header::{FileFormat, Header, is_archive};
use super::memory;
use super::nearest;
use sparsefuse::Error;
use sparsefuse::kernels::Field;
use sparsefuse::sparse::matrix_market::Format;
use sparsefuse::sparse::{Csr, NpzFormat, gallery};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::ops::Add;
use std::path::{Path, PathBuf};

/// A source as it was given, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    File(PathBuf),
    Made(Generator),
}

/// A matrix of the gallery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Generator {
    Poisson1d(usize),
    Poisson2d(usize),
    Poisson3d(usize),
    Banded {
        n: usize,
        diagonals: usize,
    },
    BandedVarying {
        n: usize,
        diagonals: usize,
    },
    Diffusion2d(usize),
    Diffusion3d(usize),
    Random {
        n: usize,
        per_row: usize,
        seed: u64,
    },
    Rmat {
        scale: usize,
        per_row: usize,
        seed: u64,
    },
}

/// The generators as `--help` has them.
const USAGES: [&str; 9] = [
    "poisson1d:N",
    "poisson2d:N",
    "poisson3d:N",
    "banded:N,DIAGONALS",
    "banded_varying:N,DIAGONALS",
    "diffusion2d:N",
    "diffusion3d:N",
    "random:N,PER_ROW,SEED",
    "rmat:SCALE[,PER_ROW[,SEED]]",
];

/// The most rows: indices have 32 bits.
const MOST_ROWS: u64 = u32::MAX as u64;

impl Source {
    /// The source that a word of the command line means. A file has any name that the system
    /// allows.
    pub(super) fn parse(word: &OsStr) -> Result<Self, String> {
        let path = Path::new(word);
        let kind = match word.to_str() {
            Some(text) if !path.exists() => Self::kind_of_missing(text)?,
            _ => Kind::File(path.to_owned()),
        };
        Ok(Self {
            text: word.to_string_lossy().into_owned(),
            kind,
        })
    }

    /// What a word means that names no file which exists.
    fn kind_of_missing(text: &str) -> Result<Kind, String> {
        match (text.split_once(':'), usage(text)) {
            (Some((name, numbers)), _) => Generator::parse(name, numbers).map(Kind::Made),
            (None, Some(usage)) => Err(format!("expected numbers after the name, as in {usage}")),
            (None, None) if text.is_empty() => Err("expected a file or a generator".to_owned()),
            (None, None) => Ok(Kind::File(PathBuf::from(text))),
        }
    }

    /// The header of the file, if the source is one.
    pub(super) fn header(&self) -> Result<Option<Header>, Failure> {
        match &self.kind {
            Kind::File(path) => Header::read(path).map(Some),
            Kind::Made(_) => Ok(None),
        }
    }

    /// Refuses a matrix that is not square, unless that may be, or of which one of `shares` equal
    /// parts does not fit into memory beside the vectors of a solver, as far as the header tells.
    pub(super) fn check_solvable(
        &self,
        header: Option<&Header>,
        may_be_rectangular: bool,
        element: usize,
        shares: usize,
    ) -> Result<(), Failure> {
        if !may_be_rectangular {
            self.check_is_square(header, "a square matrix (or --solver lsqr, lsmr or auto)")?;
        }
        self.check_share(header, element, shares)
    }

    /// The same, for a command that takes square matrices alone.
    pub(super) fn check_square(
        &self,
        header: Option<&Header>,
        element: usize,
        shares: usize,
    ) -> Result<(), Failure> {
        self.check_is_square(header, "a square matrix")?;
        self.check_share(header, element, shares)
    }

    fn check_is_square(&self, header: Option<&Header>, expected: &str) -> Result<(), Failure> {
        match header {
            Some(Header { n_rows, n_cols, .. }) if n_rows != n_cols => {
                let found = format!("{n_rows} x {n_cols}");
                Err(Failure::input(&self.text, expected, found))
            }
            _ => Ok(()),
        }
    }

    fn check_share(
        &self,
        header: Option<&Header>,
        element: usize,
        shares: usize,
    ) -> Result<(), Failure> {
        let (rows, nnz) = self.least_size(header);
        // The vectors of least squares are as long as there are columns.
        let columns = header.map_or(0, |header| header.n_cols as u128);
        let more_columns = columns.saturating_sub(rows);
        let bytes = memory::of_system(rows, nnz, element)
            + memory::of_vectors(more_columns, element)
            + self.of_reading(header, nnz, element);
        memory::check(&self.text, bytes / shares as u128)
    }

    /// Refuses a matrix that does not fit into memory, as far as the header tells.
    pub(super) fn check_memory(
        &self,
        header: Option<&Header>,
        element: usize,
    ) -> Result<(), Failure> {
        let (rows, nnz) = self.least_size(header);
        let bytes = memory::of_matrix(rows, nnz, element) + self.of_reading(header, nnz, element);
        memory::check(&self.text, bytes)
    }

    /// The generator, which a plan needs; refuses files, and matrices of which one rank's part does
    /// not fit into memory.
    pub(super) fn generator(&self, ranks: usize, element: usize) -> Result<Generator, Failure> {
        let Kind::Made(generator) = self.kind else {
            let expected = "a generator, of which each rank makes its own rows";
            return Err(Failure::input(&self.text, expected, "a file"));
        };
        let (rows, nnz) = (generator.rows(), generator.most_entries());
        // The rank with the most rows has a tile more than others, which is little.
        let of_rank = memory::of_system(rows, nnz, element) / ranks as u128;
        memory::check(&self.text, of_rank)?;
        Ok(generator)
    }

    /// Rows, and entries as far as they are known.
    fn least_size(&self, header: Option<&Header>) -> (u128, u128) {
        match (&self.kind, header) {
            (Kind::Made(generator), _) => (generator.rows(), generator.most_entries()),
            (Kind::File(path), Some(header)) => {
                (header.n_rows as u128, least_entries(path, header))
            }
            (Kind::File(_), None) => (0, 0),
        }
    }

    /// Bytes beside the matrix while it is made. An array file has all its elements, of which only
    /// those that are not 0 remain.
    fn of_reading(&self, header: Option<&Header>, nnz: u128, element: usize) -> u128 {
        match header {
            Some(header) if header.format == FileFormat::Text(Format::Array) => {
                header.n_rows as u128 * header.n_cols as u128 * element as u128
            }
            Some(header) => memory::of_triplets(header.n_rows as u128, nnz, element),
            None => 0,
        }
    }

    /// The number of rows.
    pub(super) fn n_rows(&self, header: Option<&Header>) -> usize {
        match &self.kind {
            Kind::Made(generator) => generator.rows() as usize,
            Kind::File(_) => header.map_or(0, |header| header.n_rows),
        }
    }

    /// The sides of the grid that a generated matrix stems from, if it stems from one.
    pub(super) fn grid(&self) -> Option<Vec<usize>> {
        match self.kind {
            Kind::File(_) => None,
            Kind::Made(generator) => generator.grid(),
        }
    }

    /// The file that the matrix is read from, if it is read from one.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.kind {
            Kind::File(path) => Some(path),
            Kind::Made(_) => None,
        }
    }

    /// The matrix on the current runtime; every rank must ask.
    pub(super) fn assemble<T: Field + Add<Output = T>>(&self) -> Result<Csr<T>, Failure> {
        Ok(match &self.kind {
            Kind::Made(generator) => generator.make()?,
            Kind::File(path) if is_archive(path) => Csr::load_npz(path)?,
            Kind::File(path) => Csr::read(path)?,
        })
    }
}

/// The entries that a file announces, if it is long enough to have them: else it is not read to
/// its end, so nothing can be said.
fn least_entries(path: &Path, header: &Header) -> u128 {
    /// More than gzip ever gains.
    const MOST_GAIN: u64 = 1100;
    let len = fs::metadata(path).map_or(0, |metadata| metadata.len());
    let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
    let text = if is_gzip {
        len.saturating_mul(MOST_GAIN)
    } else {
        len
    };
    let shortest_line = match header.format {
        FileFormat::Text(Format::Coordinate) => "1 1\n".len(),
        // Zeros are not kept, some by which an archive fills up diagonals among them.
        FileFormat::Text(Format::Array) | FileFormat::Archive(NpzFormat::Dia) => return 0,
        // The file has been looked at for them.
        FileFormat::Archive(_) => return header.n_stored as u128,
    };
    let n_stored = header.n_stored as u128;
    if n_stored * shortest_line as u128 <= u128::from(text) {
        n_stored
    } else {
        0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Generator {
    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let Some(usage) = usage(name) else {
            return Err(unknown(name));
        };
        let generator = match name {
            "poisson1d" => numbers(usage, text).map(|[n]| Self::Poisson1d(n as usize)),
            "poisson2d" => numbers(usage, text).map(|[n]| Self::Poisson2d(n as usize)),
            "poisson3d" => numbers(usage, text).map(|[n]| Self::Poisson3d(n as usize)),
            "banded" => numbers(usage, text).map(|[n, diagonals]| Self::Banded {
                n: n as usize,
                diagonals: diagonals as usize,
            }),
            "banded_varying" => numbers(usage, text).map(|[n, diagonals]| Self::BandedVarying {
                n: n as usize,
                diagonals: diagonals as usize,
            }),
            "diffusion2d" => numbers(usage, text).map(|[n]| Self::Diffusion2d(n as usize)),
            "diffusion3d" => numbers(usage, text).map(|[n]| Self::Diffusion3d(n as usize)),
            "random" => numbers(usage, text).map(|[n, per_row, seed]| Self::Random {
                n: n as usize,
                per_row: per_row as usize,
                seed,
            }),
            _ => {
                let [scale, per_row, seed] = numbers_or(usage, text, [16, 1])?;
                Ok(Self::Rmat {
                    scale: scale as usize,
                    per_row: per_row as usize,
                    seed,
                })
            }
        }?;
        generator.check()?;
        Ok(generator)
    }

    fn check(self) -> Result<(), String> {
        let rows = self.rows();
        if rows == 0 || rows > u128::from(MOST_ROWS) {
            return Err(format!("expected from 1 to {MOST_ROWS} rows, found {rows}"));
        }
        match self {
            Self::Banded { diagonals, .. } | Self::BandedVarying { diagonals, .. }
                if diagonals.is_multiple_of(2) =>
            {
                Err(format!(
                    "expected an odd number of diagonals, found {diagonals}"
                ))
            }
            Self::Random { n, per_row, .. } if per_row > n => Err(format!(
                "expected at most as many entries a row as columns ({n}), found {per_row}"
            )),
            _ => Ok(()),
        }
    }

    /// The sides of the grid, if there is one.
    fn grid(self) -> Option<Vec<usize>> {
        match self {
            Self::Poisson1d(n) => Some(vec![n]),
            Self::Poisson2d(n) | Self::Diffusion2d(n) => Some(vec![n, n]),
            Self::Poisson3d(n) | Self::Diffusion3d(n) => Some(vec![n, n, n]),
            Self::Banded { .. }
            | Self::BandedVarying { .. }
            | Self::Random { .. }
            | Self::Rmat { .. } => None,
        }
    }

    /// The number of rows, which may be beyond what can be had.
    fn rows(self) -> u128 {
        let power = |n: usize, exponent| (n as u128).saturating_pow(exponent);
        match self {
            Self::Poisson1d(n) => power(n, 1),
            Self::Poisson2d(n) | Self::Diffusion2d(n) => power(n, 2),
            Self::Poisson3d(n) | Self::Diffusion3d(n) => power(n, 3),
            Self::Banded { n, .. } | Self::BandedVarying { n, .. } | Self::Random { n, .. } => {
                power(n, 1)
            }
            Self::Rmat { scale, .. } => power(2, u32::try_from(scale).unwrap_or(u32::MAX)),
        }
    }

    /// The entries that the generator reserves memory for.
    fn most_entries(self) -> u128 {
        let per_row = match self {
            Self::Poisson1d(_) => 3,
            Self::Poisson2d(_) | Self::Diffusion2d(_) => 5,
            Self::Poisson3d(_) | Self::Diffusion3d(_) => 7,
            Self::Banded { n, diagonals } | Self::BandedVarying { n, diagonals } => {
                diagonals.min(n) as u128
            }
            Self::Random { per_row, .. } => per_row as u128 + 1,
            // Drawn and sorted before they are summed, 16 bytes each.
            Self::Rmat { per_row, .. } => 4 * per_row as u128,
        };
        self.rows().saturating_mul(per_row)
    }

    pub(super) fn make<T: Field + Add<Output = T>>(self) -> Result<Csr<T>, Error> {
        match self {
            Self::Poisson1d(n) => gallery::poisson1d(n),
            Self::Poisson2d(n) => gallery::poisson2d(n),
            Self::Poisson3d(n) => gallery::poisson3d(n),
            Self::Banded { n, diagonals } => gallery::banded(n, diagonals),
            Self::BandedVarying { n, diagonals } => gallery::banded_varying(n, diagonals),
            Self::Diffusion2d(n) => gallery::diffusion2d(n),
            Self::Diffusion3d(n) => gallery::diffusion3d(n),
            Self::Random { n, per_row, seed } => gallery::random(n, per_row, seed),
            Self::Rmat {
                scale,
                per_row,
                seed,
            } => gallery::rmat(scale, per_row, seed),
        }
    }
}

/// The numbers behind the name of a generator.
fn numbers<const N: usize>(usage: &str, text: &str) -> Result<[u64; N], String> {
    let numbers: Option<Vec<u64>> = text.split(',').map(|word| word.parse().ok()).collect();
    let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| format!("expected {usage} with whole numbers, found `{text}`"))
}

/// The three numbers of a generator of which the last two may be left out.
fn numbers_or(usage: &str, text: &str, defaults: [u64; 2]) -> Result<[u64; 3], String> {
    let given = text.split(',').count();
    let left_out = defaults.iter().skip(given.saturating_sub(1));
    let whole = left_out.fold(text.to_owned(), |text, number| format!("{text},{number}"));
    numbers(usage, &whole)
}

/// How the generator of this name is called.
fn usage(name: &str) -> Option<&'static str> {
    let is_meant = |usage: &&str| {
        let known = usage.split_once(':');
        known.is_some_and(|(known, _)| known == name)
    };
    USAGES.into_iter().find(is_meant)
}

fn unknown(name: &str) -> String {
    let known = USAGES.iter().filter_map(|usage| usage.split_once(':'));
    let tip = match nearest::nearest(name, known.map(|(known, _)| known)) {
        Some(known) => format!("; did you mean {known}?"),
        None => String::new(),
    };
    let usages = USAGES.join(", ");
    format!("expected an existing file or one of {usages}, found `{name}:`{tip}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Generator, &str>) {
        let found = Source::parse(OsStr::new(text)).map(|source| source.kind);
        match expected {
            Ok(generator) => assert_eq!(found, Ok(Kind::Made(generator)), "{text}"),
            Err(part) => {
                let message = found.unwrap_err();
                assert!(message.contains(part), "{text}: {message}");
            }
        }
    }

    #[test]
    fn words_mean_generators_or_what_is_wrong_with_them() {
        check("poisson2d:7", Ok(Generator::Poisson2d(7)));
        let (n, diagonals) = (9, 3);
        check("banded:9,3", Ok(Generator::Banded { n, diagonals }));
        let (per_row, seed) = (2, u64::MAX);
        let random = Generator::Random { n, per_row, seed };
        check("random:9,2,18446744073709551615", Ok(random));
        check("poisson2d:0", Err("from 1 to 4294967295 rows, found 0"));
        check("poisson3d:2000", Err("found 8000000000"));
        check(
            "poisson2d:-1",
            Err("expected poisson2d:N with whole numbers, found `-1`"),
        );
        check("banded:9", Err("expected banded:N,DIAGONALS"));
        check("banded:9,4", Err("an odd number of diagonals, found 4"));
        check(
            "random:9,10,1",
            Err("at most as many entries a row as columns (9), found 10"),
        );
        check(
            "rmat:5",
            Ok(Generator::Rmat {
                scale: 5,
                per_row: 16,
                seed: 1,
            }),
        );
        check(
            "rmat:5,8,3",
            Ok(Generator::Rmat {
                scale: 5,
                per_row: 8,
                seed: 3,
            }),
        );
        check("rmat:64", Err("rows, found 18446744073709551616"));
        check("rmat:1,2,3,4", Err("expected rmat:SCALE"));
        check("banded_varying:9,4", Err("an odd number of diagonals"));
        check("diffusion3d:4", Ok(Generator::Diffusion3d(4)));
        check("poison2d:9", Err("did you mean poisson2d?"));
        check("", Err("expected a file or a generator"));
    }
}
