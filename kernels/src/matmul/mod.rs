//! The product of two dense matrices.
//!
//! Each element of the result is a chain of fused multiply-adds from zero, in ascending order of
//! the inner index. Blocks neither change the order nor the rounding, so the bits are the same for
//! every instruction set, and however the rows of the result are divided.
//!
//! The loops are those of K. Goto and R. van de Geijn, *Anatomy of High-Performance Matrix
//! Multiplication* (2008): a block of `b` is packed into panels of as many columns as a
//! micro-kernel takes, then blocks of `a` into panels of its rows, and the micro-kernel ([`micro`])
//! multiplies two panels into a tile of the result that stays in registers. A block of `a` fits the
//! L2 cache, a panel of `b` the L1 cache. For each flop little memory is moved: `b` is read once,
//! `a` once for each [`COLUMNS`] columns, the result twice for each [`DEPTH`] of the inner index.

mod micro;

use crate::element::Numeric;
use crate::isa::Isa;
use micro::Tile;

/// Inner indices of a block.
const DEPTH: usize = 192;
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

    /// With rows and columns exchanged.
    fn transposed(self) -> Self {
        let ([rows, columns], [down, right]) = (self.shape, self.strides);
        Self {
            shape: [columns, rows],
            strides: [right, down],
            ..self
        }
    }

    /// `n_rows` rows by `n_columns` columns from `row` and `column` on, in panels of `height` rows,
    /// column by column; rows that the last panel has not are zero.
    fn pack(
        self,
        [row, column]: [usize; 2],
        [n_rows, n_columns]: [usize; 2],
        height: usize,
        panels: &mut [T],
    ) {
        let [down, right] = self.strides;
        for (number, panel) in panels.chunks_exact_mut(height * n_columns).enumerate() {
            let first_row = number * height;
            let n = height.min(n_rows - first_row);
            let corner =
                self.first as isize + (row + first_row) as isize * down + column as isize * right;
            let at =
                |i: usize, k: usize| (corner + i as isize * down + k as isize * right) as usize;
            for (k, made) in panel.chunks_exact_mut(height).enumerate() {
                made[n..].fill(T::ZERO);
                if down == 1 {
                    made[..n].copy_from_slice(&self.elements[at(0, k)..][..n]);
                    continue;
                }
                for (i, made) in made[..n].iter_mut().enumerate() {
                    *made = self.elements[at(i, k)];
                }
            }
        }
    }
}

/// How many elements [`product`] needs for blocks, for a product of this shape: rows, columns, and
/// the length of the inner dimension.
#[must_use]
pub fn workspace<T: Numeric>(isa: Isa, [rows, columns, depth]: [usize; 3]) -> usize {
    let tile = micro::tile::<T>(isa);
    let rows = rows.min(ROWS).next_multiple_of(tile.rows);
    let columns = columns.min(COLUMNS).next_multiple_of(tile.columns);
    (rows + columns + tile.rows) * depth.min(DEPTH)
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
    let ([n_rows, depth], [b_rows, n_columns]) = (a.shape, b.shape);
    assert!(depth == b_rows, "as many columns as rows");
    assert!(
        made.len() == n_rows * n_columns,
        "an element for each row and column"
    );
    let tile = micro::tile::<T>(isa);
    let is_small = n_rows.max(n_columns).max(depth) <= SMALL;
    if let (true, Some(a), Some(b)) = (is_small, a.in_order(), b.in_order()) {
        tile.product(a, b, made, [n_rows, n_columns, depth]);
        return;
    }
    made.fill(T::ZERO);
    if made.is_empty() {
        return;
    }
    for column in (0..n_columns).step_by(COLUMNS) {
        let columns = COLUMNS.min(n_columns - column);
        for inner in (0..depth).step_by(DEPTH) {
            let depth = DEPTH.min(depth - inner);
            let of_b = columns.next_multiple_of(tile.columns) * depth;
            let (of_b, rest) = workspace.split_at_mut(of_b);
            b.transposed()
                .pack([column, inner], [columns, depth], tile.columns, of_b);
            for row in (0..n_rows).step_by(ROWS) {
                let rows = ROWS.min(n_rows - row);
                let of_a = &mut rest[..rows.next_multiple_of(tile.rows) * depth];
                a.pack([row, inner], [rows, depth], tile.rows, of_a);
                let made = &mut made[row * n_columns + column..];
                block(&tile, depth, of_a, of_b, (made, n_columns), [rows, columns]);
            }
        }
    }
}

/// Adds the product of packed blocks to a block of the result, whose rows lie `stride` apart.
fn block<T: Numeric>(
    tile: &Tile<T>,
    depth: usize,
    a: &[T],
    b: &[T],
    (made, stride): (&mut [T], usize),
    [n_rows, n_columns]: [usize; 2],
) {
    for (number, b) in b.chunks_exact(tile.columns * depth).enumerate() {
        let column = number * tile.columns;
        let columns = tile.columns.min(n_columns - column);
        for (number, a) in a.chunks_exact(tile.rows * depth).enumerate() {
            let row = number * tile.rows;
            let rows = tile.rows.min(n_rows - row);
            let made = &mut made[row * stride + column..];
            if rows == tile.rows && columns == tile.columns {
                tile.add(a, b, made, stride);
                continue;
            }
            // A tile at the edge is made elsewhere.
            let mut whole = [T::ZERO; micro::MOST];
            let whole = &mut whole[..tile.rows * tile.columns];
            for row in 0..rows {
                let part = &made[row * stride..][..columns];
                whole[row * tile.columns..][..columns].copy_from_slice(part);
            }
            tile.add(a, b, whole, tile.columns);
            for row in 0..rows {
                let part = &whole[row * tile.columns..][..columns];
                made[row * stride..][..columns].copy_from_slice(part);
            }
        }
    }
}

#[cfg(test)]
mod tests;
