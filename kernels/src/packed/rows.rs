//! The rows of a piece in plain form.

use super::PART;
use super::advance::end_of_advance;
use crate::workers::Workers;
use std::ops::Range;

/// How many rows [`PlainRows::go_on`] looks at, at least and up to twice as many.
const SAMPLES: usize = 512;

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

    /// The end of the rows, of these, whose columns are those of the row `period` rows before,
    /// advanced by `by`.
    pub(super) fn end_of_advance(&self, rows: Range<usize>, pace: (usize, u32)) -> usize {
        end_of_advance(self.pos, self.crd, rows, pace)
    }

    /// Whether most rows go on as those before them do, by a look at some of them: as many entries,
    /// the first one column further. Such rows are found and packed faster than others.
    #[must_use]
    pub fn go_on(&self) -> bool {
        // Rows of a grid: an even step would meet the same end of each line.
        let step = (self.len() / SAMPLES).max(1) | 1;
        let first = |row: usize| {
            let column = self.columns(row).first();
            column.map(|&column| column.wrapping_sub(row as u32))
        };
        let goes_on = |&row: &usize| {
            let (this, before) = (self.entries(row), self.entries(row - 1));
            this.len() == before.len() && first(row) == first(row - 1)
        };
        let rows = (1..self.len()).step_by(step);
        rows.clone().filter(goes_on).count() * 2 >= rows.len()
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
