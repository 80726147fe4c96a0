//! Reductions of arrays that are read in place: whole tiles one after the other, in one call.
//!
//! The steps of a block give each tile to a function that begins it, to one that joins its rows and
//! to one that ends it, which takes about as long as reading 4 KB. Here a tile is begun, joined and
//! ended between two others, while the next one is on its way. Lanes and their order are those of
//! [`crate::reduce`].
//!
//! What the last tiles cannot change is not looked at, and has the identity in place of its result:
//! whether any or all elements are true once one decides, and where an extremum is in a tile
//! without a better one than those before. So partial results differ from those of the steps there,
//! but what is joined of all of them does not.
#![expect(unsafe_code, reason = "reads arrays through pointers, with SIMD")]

use super::folds::{Fold, LaneElement, Search, Sum, fold_block, fold_each, join_lanes, place_of};
use super::map::Input;
use crate::isa::per_isa;
use crate::ops::NumericOps;
use crate::reduce::{LANES, Partial};
use std::hint::black_box;

/// Tiles of one length that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileRun {
    pub(crate) n_tiles: usize,
    /// Rows of a tile, at least one.
    pub(crate) len: usize,
    /// The global number of the first row.
    pub(crate) start: u64,
    /// The result of no rows.
    pub(crate) identity: Partial,
    /// Where the result of the first tile is written, those of the others behind it.
    pub(crate) partials: *mut Partial,
}

/// Reduces tiles.
///
/// # Safety
/// Each input must be readable as an element of the reduction's type for each row, or as one chunk
/// if its step is 0; the partials of all tiles must be writable, and the instruction set of the
/// function available.
pub(crate) type TileLoop = unsafe fn(tiles: &TileRun, inputs: &[Input; 2]);

per_isa!(pub(super) fn fold_tiles_loop<F: Fold>(tiles: &TileRun, inputs: &[Input; 2]) = fold_tiles);
per_isa!(pub(super) fn rare_fold_tiles_loop<F: Fold>(tiles: &TileRun, inputs: &[Input; 2]) = fold_tiles, up to avx2);
per_isa!(pub(super) fn search_tiles_loop<S: Search>(tiles: &TileRun, inputs: &[Input; 2]) = search_tiles, up to avx2);
per_isa!(pub(super) fn product_tiles_loop<T: NumericOps>(tiles: &TileRun, inputs: &[Input; 2]) = sum_product_tiles);

impl TileRun {
    /// Writes the result of a tile.
    ///
    /// # Safety
    /// There must be such a tile.
    #[inline(always)]
    pub(super) unsafe fn write(&self, tile: usize, bits: [u64; 2], index: u64) {
        // SAFETY: `TileLoop` promises the partials of all tiles.
        unsafe { self.partials.add(tile).write(Partial { bits, index }) };
    }

    /// Gives the tiles from this one on the identity.
    fn leave_out(&self, first: usize) {
        for tile in first..self.n_tiles {
            // SAFETY: `TileLoop` promises the partials of all tiles.
            unsafe { self.partials.add(tile).write(self.identity) };
        }
    }
}

/// The lanes, which the compiler takes to be in memory here. Where it knows what they begin as or
/// become, it makes 16 variables of them and joins these one by one; what is read from memory and
/// written there it joins as SIMD.
#[inline(always)]
fn in_memory<T>(lanes: &mut [T; LANES]) -> &mut [T; LANES] {
    black_box(lanes)
}

#[inline(always)]
unsafe fn fold_tiles<F: Fold>(tiles: &TileRun, inputs: &[Input; 2]) {
    let values = inputs[0].data.cast::<F::T>();
    let identity = F::T::from_lane_bits(tiles.identity.bits);
    for tile in 0..tiles.n_tiles {
        let mut lanes = [identity; LANES];
        let lanes = in_memory(&mut lanes);
        // SAFETY: the caller promises the rows of each tile, and its partial.
        let result = unsafe {
            fold_block::<F>(lanes, 0, tiles.len, values.add(tile * tiles.len));
            let result = join_lanes::<F>(*in_memory(lanes));
            tiles.write(tile, result.to_lane_bits(), 0);
            result
        };
        if F::is_final(result) {
            return tiles.leave_out(tile + 1);
        }
    }
}

#[inline(always)]
unsafe fn search_tiles<S: Search>(tiles: &TileRun, inputs: &[Input; 2]) {
    let values = inputs[0].data.cast::<S::T>();
    let (mut best, mut row) = (
        S::T::from_lane_bits(tiles.identity.bits),
        tiles.identity.index,
    );
    for tile in 0..tiles.n_tiles {
        let start = tile * tiles.len;
        let first = tiles.start + start as u64;
        // SAFETY: the caller promises the rows of each tile, of which it has one, and its partial.
        unsafe {
            let values = values.add(start);
            let mut lanes = [values.read_unaligned(); LANES];
            let lanes = in_memory(&mut lanes);
            fold_block::<S>(lanes, 0, tiles.len, values);
            let found = join_lanes::<S>(*in_memory(lanes));
            if S::is_better(found, first, best, row) {
                let place = place_of::<S>(found, tiles.len, values);
                (best, row) = (values.add(place).read_unaligned(), first + place as u64);
                tiles.write(tile, best.to_lane_bits(), row);
            } else {
                tiles.write(tile, tiles.identity.bits, tiles.identity.index);
            }
        }
    }
}

#[inline(always)]
unsafe fn sum_product_tiles<T: NumericOps>(tiles: &TileRun, inputs: &[Input; 2]) {
    let factor = |input: &Input| (input.data.cast::<T>(), usize::from(input.step > 0));
    let (a, b) = (factor(&inputs[0]), factor(&inputs[1]));
    let identity = T::from_bits(tiles.identity.bits);
    for tile in 0..tiles.n_tiles {
        let start = tile * tiles.len;
        // SAFETY: the caller promises each row, which a factor without step has at its beginning.
        let value = |(data, step): (*const T, usize), i: usize| unsafe {
            data.add((start + i) * step).read_unaligned()
        };
        // SAFETY: the caller promises the rows of a chunk, or a chunk that stands for all rows.
        let chunk = |(data, step): (*const T, usize), i: usize| unsafe {
            data.add((start + i) * step)
                .cast::<[T; LANES]>()
                .read_unaligned()
        };
        let mut lanes = [identity; LANES];
        let lanes = in_memory(&mut lanes);
        *lanes = fold_each::<Sum<T>>(
            *lanes,
            (0, tiles.len),
            |i| value(a, i).mul(value(b, i)),
            |i| {
                let (mut products, b) = (chunk(a, i), chunk(b, i));
                for l in 0..LANES {
                    products[l] = products[l].mul(b[l]);
                }
                products
            },
        );
        // SAFETY: there is such a tile.
        unsafe { tiles.write(tile, join_lanes::<Sum<T>>(*in_memory(lanes)).to_bits(), 0) };
    }
}
