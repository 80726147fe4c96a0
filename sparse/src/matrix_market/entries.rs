//! Entries as they are parsed.

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
