//! Entries as they are parsed.

use super::header::Header;
use super::kinds::{Format, Symmetry};
use sparsefuse_runtime::{Error, ErrorKind, reserve};

/// Entries in the order of the file, mirrored ones behind their originals; for an array values
/// only.
#[derive(Debug)]
pub(super) struct Entries<T> {
    pub(super) rows: Vec<u32>,
    pub(super) cols: Vec<u32>,
    pub(super) vals: Vec<T>,
    /// How many lines they came from.
    pub(super) n_stored: usize,
}

impl<T> Entries<T> {
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::new(),
            cols: Vec::new(),
            vals: Vec::new(),
            n_stored: 0,
        }
    }

    /// None yet, with room for those of this many lines, which may each have a mirror image.
    pub(super) fn for_lines(
        n_lines: usize,
        has_places: bool,
        is_mirrored: bool,
    ) -> Result<Self, Error> {
        let len = n_lines << u32::from(is_mirrored);
        let n_places = if has_places { len } else { 0 };
        Ok(Self {
            rows: reserve(n_places)?,
            cols: reserve(n_places)?,
            vals: reserve(len)?,
            n_stored: 0,
        })
    }

    /// None yet, with room for this many.
    pub(super) fn with_room(len: usize) -> Result<Self, Error> {
        Self::for_lines(len, true, false)
    }

    /// None yet, with room for all that the header announces, as far as a file can have them that
    /// has `most_lines` at most. Where the system refuses it, room is made as they come.
    pub(super) fn for_file(header: &Header, most_lines: u64) -> Self {
        let most = usize::try_from(most_lines).unwrap_or(usize::MAX);
        let n_lines = header.n_stored.min(most);
        let is_coordinate = header.format == Format::Coordinate;
        let is_mirrored = is_coordinate && header.symmetry != Symmetry::General;
        Self::for_lines(n_lines, is_coordinate, is_mirrored).unwrap_or_else(|_| Self::new())
    }

    /// Whether they come row by row, columns ascending, and none twice.
    pub(super) fn ascends(&self) -> bool {
        let (rows, cols) = (&self.rows[..], &self.cols[..]);
        let key = |k: usize| u64::from(rows[k]) << 32 | u64::from(cols[k]);
        rows.len() == cols.len() && (1..rows.len()).all(|k| key(k - 1) < key(k))
    }

    #[inline]
    pub(super) fn push(&mut self, row: u32, col: u32, val: T) {
        self.rows.push(row);
        self.cols.push(col);
        self.vals.push(val);
    }

    pub(super) fn append(&mut self, mut other: Self) -> Result<(), Error> {
        let wanted = other.vals.len() * size_of::<T>();
        let places = self.rows.try_reserve(other.rows.len());
        places
            .and_then(|()| self.cols.try_reserve(other.cols.len()))
            .and_then(|()| self.vals.try_reserve(other.vals.len()))
            .map_err(|_| ErrorKind::Refused { wanted })?;
        self.rows.append(&mut other.rows);
        self.cols.append(&mut other.cols);
        self.vals.append(&mut other.vals);
        self.n_stored += other.n_stored;
        Ok(())
    }
}
