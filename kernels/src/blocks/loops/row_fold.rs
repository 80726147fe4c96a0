//! What the loops over rows of a dense matrix are generic over: the rows, and what is reduced.

use super::folds::Fold;
use crate::ops::NumericOps;
use std::marker::PhantomData;

/// The rows of a dense matrix that one call reduces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DenseRows {
    /// The number of rows.
    pub(crate) n: usize,
    /// Element 0 of the first row. The elements of a row are neighbours, or those of a column are.
    pub(crate) data: *const u8,
    /// Bytes from row to row, and from column to column.
    pub(crate) row_bytes: isize,
    pub(crate) column_bytes: isize,
    /// The columns to reduce. The first is the first of a tile, and of a subtree of the tree over
    /// tiles: what is made of them is the value of that subtree.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// An element for each column from column 0 on, or null where the rows are reduced as they are.
    pub(crate) x: *const u8,
    pub(crate) tile_len: usize,
    /// The bits of the reduction of nothing.
    pub(crate) identity: [u64; 2],
    /// [`super::rows::panel_bytes`] where the elements of a column are neighbours.
    pub(crate) panel: *mut u8,
}

/// A reduction of a row, and what happens to its elements before.
pub(super) trait RowFold {
    type F: Fold;
    const WITH_X: bool;
    fn scale(element: Element<Self>, x: Element<Self>) -> Element<Self>;
}

pub(super) type Element<R> = <<R as RowFold>::F as Fold>::T;

/// The elements as they are.
pub(super) struct Plain<F>(PhantomData<F>);
impl<F: Fold> RowFold for Plain<F> {
    type F = F;
    const WITH_X: bool = false;
    #[inline(always)]
    fn scale(element: F::T, _: F::T) -> F::T {
        element
    }
}

/// The elements times those of `x`.
pub(super) struct Scaled<F>(PhantomData<F>);
impl<F: Fold<T: NumericOps>> RowFold for Scaled<F> {
    type F = F;
    const WITH_X: bool = true;
    #[inline(always)]
    fn scale(element: F::T, x: F::T) -> F::T {
        element.mul(x)
    }
}
