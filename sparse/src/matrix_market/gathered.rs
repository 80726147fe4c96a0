//! Where the entries of a file are gathered: at their place in the matrix, as long as they come in
//! its order, or else side by side.
//!
//! Many programs write row by row, columns ascending. What a matrix keeps of such entries is their
//! columns, their values and where rows begin, so each is copied once, from the chunk that it was
//! parsed into to where it stays: 12 bytes of an entry that is a `f64`. The first entry out of
//! order ends that; the rows of those before it follow from where rows begin.

use super::entries::Entries;
use super::header::Header;
use super::kinds::{Format, Symmetry};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Room, Runtime};

/// Entries in the order of the file.
#[derive(Debug)]
pub(super) struct Gathered<T> {
    in_order: Option<InOrder<T>>,
    /// All entries, but for those in order; the number of lines is that of both.
    entries: Entries<T>,
}

/// What [`Gathered`] holds in the end.
#[derive(Debug)]
pub(super) enum Found<T> {
    /// The matrix, of one entry a line.
    Matrix(Box<InOrder<T>>),
    /// Entries in the order of the file.
    Entries(Entries<T>),
}

impl<T: Field> Gathered<T> {
    /// None yet, with room for those that a file of at most `most_lines` lines can have.
    pub(super) fn new(header: &Header, most_lines: u64) -> Self {
        Self {
            in_order: None,
            entries: Entries::for_file(header, most_lines),
        }
    }

    /// As [`Gathered::new`], in memory of the runtime while they come in order.
    pub(super) fn by_rows(runtime: &Runtime, header: &Header, most_lines: u64) -> Self {
        match InOrder::new(runtime, header, most_lines) {
            Some(in_order) => Self {
                in_order: Some(in_order),
                entries: Entries::new(),
            },
            None => Self::new(header, most_lines),
        }
    }

    /// How many lines they came from.
    pub(super) fn n_stored(&self) -> usize {
        self.entries.n_stored
    }

    /// The values of an array.
    pub(super) fn vals(&self) -> &[T] {
        &self.entries.vals
    }

    /// Appends those of a chunk.
    pub(super) fn append(&mut self, chunk: Entries<T>) -> Result<(), Error> {
        if let Some(in_order) = &mut self.in_order {
            if in_order.append(&chunk) {
                self.entries.n_stored += chunk.n_stored;
                return Ok(());
            }
            in_order.give_back(&mut self.entries)?;
            self.in_order = None;
        }
        self.entries.append(chunk)
    }

    pub(super) fn into_found(self) -> Found<T> {
        match self.in_order {
            Some(in_order) => Found::Matrix(Box::new(in_order.ended())),
            None => Found::Entries(self.entries),
        }
    }

    /// Those of a file whose entries were not to be at their place.
    pub(super) fn into_entries(self) -> Entries<T> {
        self.entries
    }
}

/// The entries of a matrix row by row, columns ascending, in memory of the runtime.
#[derive(Debug)]
pub(crate) struct InOrder<T> {
    /// Where rows begin, and where the last one ends.
    pub(crate) pos: Room<u64>,
    pub(crate) crd: Room<u32>,
    pub(crate) vals: Room<T>,
    /// How many entries there are.
    len: usize,
    /// The number of rows whose begin is known: those up to that of the last entry.
    n_begun: usize,
}

impl<T: Field> InOrder<T> {
    /// Room for the entries of a file, unless their places in the file are not those in the matrix,
    /// or there cannot be as many as the header says, or there is no memory for them.
    fn new(runtime: &Runtime, header: &Header, most_lines: u64) -> Option<Self> {
        let is_by_rows =
            header.format == Format::Coordinate && header.symmetry == Symmetry::General;
        let most = usize::try_from(most_lines).unwrap_or(usize::MAX);
        // Positions are written up to the row of the last entry, whatever the number of entries.
        let most_rows = most.saturating_mul(4).saturating_add(1 << 16);
        if !is_by_rows || header.n_stored > most || header.n_rows > most_rows {
            return None;
        }
        Some(Self {
            pos: runtime.room(header.n_rows + 1).ok()?,
            crd: runtime.room(header.n_stored).ok()?,
            vals: runtime.room(header.n_stored).ok()?,
            len: 0,
            n_begun: 0,
        })
    }

    /// Appends the entries of a chunk, if they come in order behind those that are here.
    fn append(&mut self, chunk: &Entries<T>) -> bool {
        let (Some(&first), Some(&column)) = (chunk.rows.first(), chunk.cols.first()) else {
            return true;
        };
        let from = self.len;
        let to = from + chunk.rows.len();
        let is_behind = match from.checked_sub(1) {
            Some(last) => {
                let row = self.n_begun - 1;
                (row, self.crd[last]) < (first as usize, column)
            }
            None => true,
        };
        if !is_behind || to > self.crd.len() || !chunk.ascends() {
            return false;
        }
        self.crd[from..to].copy_from_slice(&chunk.cols);
        self.vals[from..to].copy_from_slice(&chunk.vals);
        let (pos, mut begun) = (&mut self.pos[..], self.n_begun);
        for (k, &row) in (from as u64..).zip(&chunk.rows) {
            while begun <= row as usize {
                pos[begun] = k;
                begun += 1;
            }
        }
        (self.len, self.n_begun) = (to, begun);
        true
    }

    /// Appends the entries to others.
    fn give_back(&self, entries: &mut Entries<T>) -> Result<(), Error> {
        let n_stored = entries.n_stored;
        *entries = Entries::with_room(self.crd.len())?;
        entries.n_stored = n_stored;
        for row in 0..self.n_begun {
            let next = self.pos[..self.n_begun].get(row + 1);
            let end = next.map_or(self.len, |&next| next as usize);
            let more = end - self.pos[row] as usize;
            // Lossless: rows have 32 bits.
            entries.rows.extend(std::iter::repeat_n(row as u32, more));
        }
        entries.cols.extend_from_slice(&self.crd[..self.len]);
        entries.vals.extend_from_slice(&self.vals[..self.len]);
        Ok(())
    }

    /// With the positions behind the row of the last entry.
    fn ended(mut self) -> Self {
        debug_assert_eq!(self.len, self.crd.len(), "there are as many as announced");
        let begun = self.n_begun;
        self.pos[begun..].fill(self.len as u64);
        self
    }
}
