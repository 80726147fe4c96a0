//! The rows of a piece in plain form.

use super::PART;
use super::advance::end_of_advance;
use crate::workers::Workers;
use std::ops::Range;

/// A piece in plain form, as [`crate::launch::Structure`] describes it: local columns, of which
/// those from `own_len` on are ghosts.
#[derive(Clone, Copy, Debug)]
pub struct PlainRows<'a> {
    /// One position more than there are rows, never decreasing.
    pub pos: &'a [u64],
    /// The columns of the entries from position `pos[0]` on.
    pub crd: &'a [u32],
    /// The number of columns that are not ghosts.
    pub own_len: usize,
}

impl<'a> PlainRows<'a> {
    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pos.len() - 1
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of a row, counted from the first of the piece.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        entries(self.pos, row)
    }

    pub(super) fn columns(&self, row: usize) -> &'a [u32] {
        &self.crd[self.entries(row)]
    }

    pub(super) fn has_ghosts(&self, row: usize) -> bool {
        let is_ghost = |&column: &u32| column as usize >= self.own_len;
        self.columns(row).iter().any(is_ghost)
    }

    /// The end of the rows, of these, whose columns are those of the row `period` rows before,
    /// advanced by `by`.
    pub(super) fn end_of_advance(&self, rows: Range<usize>, pace: (usize, u32)) -> usize {
        end_of_advance(self.pos, self.crd, rows, pace)
    }

    /// Calls `visit` with the number and the rows of each part, on all threads.
    pub(super) fn for_each_part(
        &self,
        workers: &Workers,
        visit: impl Fn(usize, Range<usize>) + Sync,
    ) {
        workers.run(self.len().div_ceil(PART), |part| {
            visit(part, part * PART..((part + 1) * PART).min(self.len()));
        });
    }
}

/// The entries of a row, counted from the first of the piece.
pub(super) fn entries(pos: &[u64], row: usize) -> Range<usize> {
    (pos[row] - pos[0]) as usize..(pos[row + 1] - pos[0]) as usize
}
