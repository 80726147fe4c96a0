//! The product of two dense matrices.
//!
//! Each element of the result is a chain of fused multiply-adds from zero, in ascending order of
//! the inner index. Blocks neither change the order nor the rounding, so the bits are the same for
//! every instruction set, and however the rows of the result are divided. Of more than [`CHAIN`]
//! inner indices each [`CHAIN`] have a chain, and the chains are added up in their order: one of
//! ten million `f32` would be wrong by percents.
//!
//! The loops are those of K. Goto and R. van de Geijn, *Anatomy of High-Performance Matrix
//! Multiplication* (2008): a block of `b` is packed into panels of as many columns as a
//! micro-kernel takes, then blocks of `a` into panels of its rows, and the micro-kernel ([`micro`])
//! multiplies two panels into a tile of the result that stays in registers. A block of `a` fits the
//! L2 cache, a panel of `b` the L1 cache. For each flop little memory is moved: `b` is read once,
//! `a` once for each [`COLUMNS`] columns, the result twice for each [`DEPTH`] of the inner index.
//! Results of few rows or columns have tiles of other shapes, and panels that are used at most
//! twice are read where they are if they lie close together ([`pack`]).

mod micro;
mod pack;

use crate::element::Numeric;
use crate::isa::Isa;
use micro::Tile;
use pack::Panels;
use std::ops::Range;

/// Inner indices of a block.
const DEPTH: usize = 192;
/// Inner indices of a chain: whole blocks.
const CHAIN: usize = 64 * DEPTH;
/// Rows of the result whose chains are summed together, at most: room for these is beside it.
const SLAB: usize = 8 * ROWS;
/// Rows of a block of `a`, at most.
const ROWS: usize = 192;
/// Columns of a block of `b`, at most.
const COLUMNS: usize = 1536;
/// Rows, columns and inner indices up to which packing costs more than it gains: with 8 of each a
/// product takes 0.4 of the time without, with 16 0.6, with 24 and more as long.
const SMALL: usize = 16;

/// A matrix in memory, whose rows and columns may be any number of elements apart.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// What it lies in.
    pub elements: &'a [T],
    /// Where its first element lies there.
    pub first: usize,
    /// How far a row and a column lie from the next one.
    pub strides: [isize; 2],
    /// Rows and columns.
    pub shape: [usize; 2],
}

impl<'a, T: Numeric> Matrix<'a, T> {
    /// The matrix with these elements, row by row.
    #[must_use]
    pub fn of_rows(elements: &'a [T], shape: [usize; 2]) -> Self {
        Self {
            elements,
            first: 0,
            strides: [shape[1] as isize, 1],
            shape,
        }
    }

    /// Some of the rows.
    #[must_use]
    pub fn rows(self, first: usize, n: usize) -> Self {
        let first = self
            .first
            .wrapping_add_signed(first as isize * self.strides[0]);
        let shape = [n, self.shape[1]];
        Self {
            first,
            shape,
            ..self
        }
    }

    /// The elements, where they lie row by row.
    fn in_order(self) -> Option<&'a [T]> {
        let [n_rows, n_columns] = self.shape;
        let is_in_order = self.strides == [n_columns as isize, 1];
        is_in_order.then(|| &self.elements[self.first..][..n_rows * n_columns])
    }

    /// Where an element lies.
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> usize {
        let [down, right] = self.strides;
        let offset = row as isize * down + column as isize * right;
        self.first.wrapping_add_signed(offset)
    }

    /// With rows and columns exchanged.
    fn transposed(self) -> Self {
        let ([rows, columns], [down, right]) = (self.shape, self.strides);
        Self {
            shape: [columns, rows],
            strides: [right, down],
            ..self
        }
    }
}

/// How many elements [`product`] needs for blocks, for a product of this shape: rows, columns, and
/// the length of the inner dimension.
#[must_use]
pub fn workspace<T: Numeric>(isa: Isa, [rows, columns, depth]: [usize; 3]) -> usize {
    let tile = micro::tile::<T>(isa, [rows, columns]);
    let of_chains = if depth > CHAIN {
        rows.min(SLAB) * columns
    } else {
        0
    };
    let rows = rows.min(ROWS).next_multiple_of(tile.rows);
    let columns = columns.min(COLUMNS).next_multiple_of(tile.columns);
    of_chains + (rows + columns + tile.rows) * depth.min(DEPTH)
}

/// Writes the product of two matrices to `made`, row by row. `workspace` has as many elements as
/// [`workspace`] says, whatever they are.
///
/// # Panics
///
/// If the shapes do not fit, the matrices reach beyond their elements, or the workspace is too
/// small.
pub fn product<T: Numeric>(
    isa: Isa,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    made: &mut [T],
    workspace: &mut [T],
) {
    let ([n_rows, depth], [_, n_columns]) = (a.shape, b.shape);
    check(a, b, made);
    let is_small = n_rows.max(n_columns).max(depth) <= SMALL;
    if let (true, Some(a), Some(b)) = (is_small, a.in_order(), b.in_order()) {
        let tile = micro::tile::<T>(isa, [n_rows, n_columns]);
        tile.product(a, b, made, [n_rows, n_columns, depth]);
        return;
    }
    in_blocks(isa, (a, b), made, workspace, n_columns);
}

/// As [`product`], of rows of a symmetric product from that with the number `first` on: writes each
/// up to the diagonal, and elements behind that have to be written again.
///
/// # Panics
///
/// As [`product`].
pub fn to_diagonal<T: Numeric>(
    isa: Isa,
    (a, first): (Matrix<'_, T>, usize),
    b: Matrix<'_, T>,
    made: &mut [T],
    workspace: &mut [T],
) {
    check(a, b, made);
    in_blocks(isa, (a, b), made, workspace, first);
}

fn check<T>(a: Matrix<'_, T>, b: Matrix<'_, T>, made: &[T]) {
    assert!(a.shape[1] == b.shape[0], "as many columns as rows");
    assert!(
        made.len() == a.shape[0] * b.shape[1],
        "an element for each row and column"
    );
}

/// The product in blocks: of the first row the element `last_of_first` and those before it, of each
/// row one more than of the row before, as far as there are columns.
fn in_blocks<T: Numeric>(
    isa: Isa,
    (a, b): (Matrix<'_, T>, Matrix<'_, T>),
    made: &mut [T],
    workspace: &mut [T],
    last_of_first: usize,
) {
    made.fill(T::ZERO);
    if made.is_empty() {
        return;
    }
    let depth = a.shape[1];
    if depth <= CHAIN {
        return add_chains(isa, (a, b), 0..depth, (made, workspace), last_of_first);
    }
    let n_columns = b.shape[1];
    for (number, made) in made.chunks_mut(SLAB * n_columns).enumerate() {
        let first_row = number * SLAB;
        let a = a.rows(first_row, made.len() / n_columns);
        let (chains, workspace) = workspace.split_at_mut(made.len());
        for first in (0..depth).step_by(CHAIN) {
            let inner = first..depth.min(first + CHAIN);
            chains.fill(T::ZERO);
            let last_of_first = last_of_first + first_row;
            add_chains(isa, (a, b), inner, (chains, workspace), last_of_first);
            for (sum, chain) in made.iter_mut().zip(&*chains) {
                *sum = sum.plus(*chain);
            }
        }
    }
}

/// Goes on with the chains of all elements over some inner indices.
fn add_chains<T: Numeric>(
    isa: Isa,
    (a, b): (Matrix<'_, T>, Matrix<'_, T>),
    inner: Range<usize>,
    (made, workspace): (&mut [T], &mut [T]),
    last_of_first: usize,
) {
    let (n_rows, stride) = (a.shape[0], b.shape[1]);
    let tile = micro::tile::<T>(isa, [n_rows, stride]);
    let n_columns = stride.min(last_of_first + n_rows);
    for column in (0..n_columns).step_by(COLUMNS) {
        let columns = COLUMNS.min(n_columns - column);
        for first in inner.clone().step_by(DEPTH) {
            let (inner, depth) = (first, DEPTH.min(inner.end - first));
            let of_b = columns.next_multiple_of(tile.columns) * depth;
            let (of_b, rest) = workspace.split_at_mut(of_b);
            let (corner, shape) = ([column, inner], [columns, depth]);
            let uses = n_rows.div_ceil(tile.rows);
            let of_b = Panels::of(b.transposed(), corner, shape, (tile.of_b, uses), of_b);
            for row in (0..n_rows).step_by(ROWS) {
                let rows = ROWS.min(n_rows - row);
                let of_a = &mut rest[..rows.next_multiple_of(tile.rows) * depth];
                let (corner, shape) = ([row, inner], [rows, depth]);
                let uses = n_columns.div_ceil(tile.columns);
                let of_a = Panels::of(a, corner, shape, (tile.of_a, uses), of_a);
                let made = Block {
                    made: &mut made[row * stride + column..],
                    stride,
                    shape: [rows, columns],
                    last_of_first: (last_of_first + row).saturating_sub(column),
                };
                made.add(&tile, &of_a, &of_b, depth);
            }
        }
    }
}

/// A block of the result, whose rows lie `stride` apart.
struct Block<'a, T> {
    made: &'a mut [T],
    stride: usize,
    shape: [usize; 2],
    /// The last element of its first row that is wanted; of each row one more is.
    last_of_first: usize,
}

impl<T: Numeric> Block<'_, T> {
    /// Adds the product of a block of `a` and one of `b`.
    fn add(self, tile: &Tile<T>, a: &Panels<'_, T>, b: &Panels<'_, T>, depth: usize) {
        let Self {
            made,
            stride,
            shape: [n_rows, n_columns],
            last_of_first,
        } = self;
        for (number, column) in (0..n_columns).step_by(tile.columns).enumerate() {
            let (b, columns) = (b.panel(number), tile.columns.min(n_columns - column));
            // Tiles of which not even the last row reaches this far.
            let unwanted = column.saturating_sub(last_of_first) / tile.rows;
            let rows = (0..n_rows).step_by(tile.rows).enumerate();
            for (number, row) in rows.skip(unwanted) {
                let (a, rows) = (a.panel(number), tile.rows.min(n_rows - row));
                let made = &mut made[row * stride + column..];
                if rows == tile.rows && columns == tile.columns {
                    tile.add(a, b, (made, stride), depth);
                    continue;
                }
                // A tile at the edge is made elsewhere.
                let mut whole = [T::ZERO; micro::MOST];
                let whole = &mut whole[..tile.rows * tile.columns];
                for row in 0..rows {
                    let part = &made[row * stride..][..columns];
                    whole[row * tile.columns..][..columns].copy_from_slice(part);
                }
                tile.add(a, b, (&mut *whole, tile.columns), depth);
                for row in 0..rows {
                    let part = &whole[row * tile.columns..][..columns];
                    made[row * stride..][..columns].copy_from_slice(part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
