//! The factors of a product of two sparse matrices, on one rank.

use super::rows::Rows;
use sparsefuse_kernels::Numeric;

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

    /// The columns of the products that make a row, in the order in which they are summed.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = u32> + use<'a, T> {
        let right = self.right;
        let rows = self.left.columns(row).iter();
        rows.flat_map(move |&k| right.columns(k as usize).iter().copied())
    }
}
