//! The factors of a product of two sparse matrices, on one rank.

use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::prefetch_all;
use std::ops::Range;

/// How many entries of the left factor ahead rows of the right one are asked for: rows anywhere would
/// be waited for one after the other, since where a row ends cannot be predicted.
const AHEAD: usize = 8;

/// What a rank multiplies: its rows of the left factor, whose columns are numbers of the rows of
/// the right one.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a, T> {
    pub(crate) left: Rows<'a, T>,
    pub(crate) right: Rows<'a, T>,
    /// The number of columns of the right factor.
    pub(crate) n_cols: usize,
}

impl<'a, T: Numeric> Factors<'a, T> {
    /// The number of products that make a row.
    pub(crate) fn products(&self, row: usize) -> usize {
        let columns = self.left.columns(row).iter();
        columns.map(|&k| self.right.entries(k as usize).len()).sum()
    }

    /// Asks for what comes a while after an entry of the left factor: rows of the right one, and where
    /// those after them are.
    #[inline(always)]
    pub(crate) fn fetch(&self, entry: usize) {
        if let Some(entries) = self.fetch_columns(entry) {
            prefetch_all(&self.right.vals[entries]);
        }
    }

    /// As [`Factors::fetch`], without values; says which entries they are.
    #[inline(always)]
    pub(crate) fn fetch_columns(&self, entry: usize) -> Option<Range<usize>> {
        let Rows { pos, crd, .. } = self.right;
        if let Some(&row) = self.left.crd.get(entry + 2 * AHEAD) {
            prefetch_all(&pos[row as usize..row as usize + 1]);
        }
        let row = *self.left.crd.get(entry + AHEAD)?;
        let entries = self.right.entries(row as usize);
        prefetch_all(&crd[entries.clone()]);
        Some(entries)
    }

    /// The columns of the products that make a row, in the order in which they are summed.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = u32> + use<'a, T> {
        let right = self.right;
        let rows = self.left.columns(row).iter();
        rows.flat_map(move |&k| right.columns(k as usize).iter().copied())
    }
}
