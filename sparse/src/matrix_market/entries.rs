//! Entries as they are parsed.

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

    #[inline]
    pub(super) fn push(&mut self, row: u32, col: u32, val: T) {
        self.rows.push(row);
        self.cols.push(col);
        self.vals.push(val);
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.cols.append(&mut other.cols);
        self.vals.append(&mut other.vals);
        self.n_stored += other.n_stored;
    }
}
