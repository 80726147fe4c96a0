//! The finished rows of U in a factorisation whose fill is not known before.
//!
//! Which rows of earlier ranks a row needs shows only while it is eliminated; so a rank gets all
//! of them from the one before, appends its own, and hands all on to the next.

use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange};
use sparsefuse_sparse::{LocalRows, RowLayout};

/// All finished rows from row 0 on, with something of each entry: its value or its level.
#[derive(Debug)]
pub(super) struct UpperRows<E> {
    rows: LocalRows<E>,
    relay: Exchange,
}

impl<E: Element> UpperRows<E> {
    /// The rows of all ranks before this one. Every rank that receives must hand on; where the
    /// first has no memory, all fail.
    pub(super) fn receive(layout: &RowLayout) -> Result<Self, Error> {
        let (runtime, rank) = (layout.runtime(), layout.runtime().rank());
        let is_first = layout.is_replicated() || rank == 0;
        let n_rows = if is_first { layout.rows().len() } else { 0 };
        let mut rows = runtime.agree(LocalRows::try_with_capacity(n_rows, 0))?;
        let relay = match runtime.cuts(layout.partition()) {
            None => Exchange::default(),
            Some(cuts) => Exchange::relay(rank, &cuts)?,
        };
        if !is_first {
            rows = LocalRows::receive(runtime, &relay).inspect_err(|cause| {
                // The next rank waits, and gets the same cause.
                LocalRows::<E>::send_failure(runtime, &relay, cause);
            })?;
        }
        Ok(Self { rows, relay })
    }

    /// Gives all rows to the next rank.
    pub(super) fn forward(&self, layout: &RowLayout) -> Result<(), Error> {
        let rows = self.rows.as_rows();
        rows.send(layout.runtime(), &self.relay, |row| rows.entries(row))
    }

    /// The entries of a finished row.
    pub(super) fn row(&self, row: usize) -> (&[u32], &[E]) {
        let entries = self.rows.pos[row] as usize..self.rows.pos[row + 1] as usize;
        (&self.rows.crd[entries.clone()], &self.rows.vals[entries])
    }

    pub(super) fn push(&mut self, column: u32, entry: E) {
        self.rows.push(column, entry);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.end_row();
    }

    /// Ends rows without more entries until there are `rows`.
    pub(super) fn end_rows(&mut self, rows: usize) {
        while self.rows.pos.len() <= rows {
            self.end_row();
        }
    }

    /// As [`LocalRows::try_reserve`].
    pub(super) fn try_reserve(&mut self, entries: usize) -> Result<(), Error> {
        self.rows.try_reserve(entries)
    }
}
