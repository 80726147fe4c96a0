//! Products of several rows of a dense matrix with a vector at a time.
//!
//! One row after the other is a single stream from memory, for which a core has too few cache lines
//! on their way; several rows are as many streams, and read the vector once. Each row has lanes and
//! a tree of its own, so its bits are those of a row alone.
#![expect(
    unsafe_code,
    reason = "reads the matrix through pointers of the launch"
)]

use super::folds::{Fold, LaneElement, join_lanes};
use super::row_fold::{DenseRows, Element, RowFold};
use crate::isa::one_chunk_at_a_time;
use crate::reduce::LANES;
use std::hint::black_box;

/// Whether rows can be reduced together: each tile begins with lane 0, and there is a whole chunk.
#[inline(always)]
pub(super) fn have_whole_chunks(rows: &DenseRows) -> bool {
    rows.first.is_multiple_of(LANES)
        && rows.tile_len.is_multiple_of(LANES)
        && rows.end >= rows.first + LANES
}

/// Joins the products of a chunk of elements of a row with those of `x` to the lanes of the row.
///
/// # Safety
/// Both must be readable as a chunk.
#[inline(always)]
unsafe fn add<R: RowFold>(
    lanes: &mut [Element<R>; LANES],
    data: *const Element<R>,
    x: *const Element<R>,
) {
    // SAFETY: the caller promises the chunks.
    let (data, x) = unsafe {
        (
            data.cast::<[Element<R>; LANES]>().read_unaligned(),
            x.cast::<[Element<R>; LANES]>().read_unaligned(),
        )
    };
    for l in 0..LANES {
        lanes[l] = R::F::join(lanes[l], R::scale(data[l], x[l]));
    }
}

/// Defines functions that reduce the products with `x` of this many rows, and for each a function
/// for the columns `first..first + n`, which are one tile. The lanes of each row are a variable of
/// their own, since an array of them would not stay in registers.
macro_rules! together {
    ($($(#[$doc:meta])* $name:ident $of_tile:ident $n:literal: $($lanes:ident $row:literal)*;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The rows, the first of which begins at `data`, have the columns to reduce, and `x` an
        /// element for each; [`have_whole_chunks`] holds.
        #[inline(always)]
        pub(super) unsafe fn $name<R: RowFold>(
            rows: &DenseRows,
            data: *const Element<R>,
        ) -> [Element<R>; $n] {
            let (first, end) = (rows.first, rows.end);
            if end - first <= rows.tile_len {
                // SAFETY: forwarded.
                return unsafe { $of_tile::<R>(rows, data, first, end - first) };
            }
            // As for a row alone: a subtree that ends with tile `t` swallows as many earlier ones
            // as `t` has trailing one bits.
            let identity = Element::<R>::from_lane_bits(rows.identity);
            let mut trees = [[identity; $n]; usize::BITS as usize];
            let mut n_trees = 0;
            let (mut tile, mut first) = (0_usize, first);
            while first < end {
                let n = rows.tile_len.min(end - first);
                // SAFETY: forwarded.
                let mut values = unsafe { $of_tile::<R>(rows, data, first, n) };
                for _ in 0..tile.trailing_ones() {
                    n_trees -= 1;
                    for row in 0..$n {
                        values[row] = R::F::join(trees[n_trees][row], values[row]);
                    }
                }
                trees[n_trees] = values;
                n_trees += 1;
                (tile, first) = (tile + 1, first + n);
            }
            let mut values = trees[n_trees - 1];
            for left in trees[..n_trees - 1].iter().rev() {
                for row in 0..$n {
                    values[row] = R::F::join(left[row], values[row]);
                }
            }
            values
        }

        #[inline(always)]
        unsafe fn $of_tile<R: RowFold>(
            rows: &DenseRows,
            data: *const Element<R>,
            first: usize,
            n: usize,
        ) -> [Element<R>; $n] {
            let identity = Element::<R>::from_lane_bits(rows.identity);
            $(let mut $lanes = [identity; LANES];)*
            let x = rows.x.cast::<Element<R>>();
            let at = |row: usize, column: usize| {
                data.wrapping_byte_offset(row as isize * rows.row_bytes).wrapping_add(column)
            };
            let whole = first + n - n % LANES;
            let mut column = first;
            while column < whole {
                one_chunk_at_a_time();
                // SAFETY: the caller promises these columns of the rows and of `x`.
                unsafe {
                    $(add::<R>(&mut $lanes, at($row, column), x.add(column));)*
                }
                column += LANES;
            }
            let mut lanes = [$($lanes,)*];
            // Else the compiler arranges the lanes for the joins below, and no longer for the loop.
            black_box(&mut lanes);
            for column in whole..first + n {
                // SAFETY: as above.
                unsafe {
                    let x = x.add(column).read_unaligned();
                    for row in 0..$n {
                        let lane = &mut lanes[row][column - whole];
                        let element = at(row, column).read_unaligned();
                        *lane = R::F::join(*lane, R::scale(element, x));
                    }
                }
            }
            [$(join_lanes::<R::F>(lanes[$row]),)*]
        }
    )*};
}

together! {
    /// Two rows: of 8-byte elements, their lanes are half of the 16 registers of AVX2.
    reduce_two two_in_tile 2: l0 0 l1 1;
    /// Four rows: their lanes are a quarter of the 32 registers of AVX-512.
    reduce_four four_in_tile 4: l0 0 l1 1 l2 2 l3 3;
}
