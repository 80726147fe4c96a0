//! Reductions that look for a row: the first one whose element is the extremum.
//!
//! The elements of a block are folded, and the row is looked for only where the result is better than
//! what there was.
#![expect(unsafe_code, reason = "reads blocks through pointers, with SIMD")]

use super::lanes::{Fold, LaneElement, Reduction, fold_block, join_lanes};
use super::tiled::search_tiles_loop;
use crate::abi::Lanes;
use crate::isa::per_isa;
use crate::ops::OrderedOps;
use crate::reduce::{LANES, Partial};

/// A reduction that looks for a row: the one whose element a fold of the elements gives.
pub(super) trait Search: Fold<T: OrderedOps> {
    /// Whether `a` wins over `b` wherever they come from, neither being NaN.
    fn wins(a: Self::T, b: Self::T) -> bool;

    /// Whether `a` of row `i` wins over `b` of row `j`, as in [`crate::reduce`]; `u64::MAX` is no
    /// row.
    #[inline(always)]
    fn is_better(a: Self::T, i: u64, b: Self::T, j: u64) -> bool {
        if i == u64::MAX || j == u64::MAX {
            return i < j;
        }
        match (a.is_nan(), b.is_nan()) {
            (true, false) => true,
            (false, true) => false,
            (true, true) => i < j,
            (false, false) => Self::wins(a, b) || (!Self::wins(b, a) && i < j),
        }
    }
}

/// The functions of a search.
pub(super) fn search<S: Search>() -> Reduction {
    Reduction::of_functions(
        start_search::<S>,
        search_loop::<S>(),
        finish_search::<S>,
        search_tiles_loop::<S>(),
    )
}

fn start_search<S: Search>(lanes: &mut Lanes, identity: Partial) {
    lanes.of()[0] = S::T::from_lane_bits(identity.bits);
    lanes.rows[0] = identity.index;
}

/// The order of elements with their rows is total, so it leaves no trace in which lane the best of
/// some rows is kept: it is the first.
fn finish_search<S: Search>(lanes: &mut Lanes) -> Partial {
    Partial {
        bits: lanes.of::<S::T>()[0].to_lane_bits(),
        index: lanes.rows[0],
    }
}

per_isa!(fn search_loop<S: Search>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) = search_rows, up to avx2);

/// Folds the elements, and looks for the row only where the result is better than what there was.
#[inline(always)]
unsafe fn search_rows<S: Search>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) {
    let values = values.cast::<S::T>();
    if n == 0 {
        return;
    }
    let (best, row) = (lanes.of::<S::T>()[0], lanes.rows[0]);
    let scratch = lanes.of::<S::T>();
    // SAFETY: forwarded: the caller promises `n` elements, of which there is one.
    unsafe {
        *scratch = [values.read_unaligned(); LANES];
        fold_block::<S>(scratch, 0, n, values);
    }
    let found = join_lanes::<S>(*scratch);
    lanes.of()[0] = best;
    if S::is_better(found, first, best, row) {
        // SAFETY: as above.
        let place = unsafe { place_of::<S>(found, n, values) };
        // SAFETY: a place is below `n`.
        lanes.of()[0] = unsafe { values.add(place).read_unaligned() };
        lanes.rows[0] = first + place as u64;
    }
}

/// The place of an element among `n`, the first of equals; of a NaN the first NaN's.
///
/// # Safety
/// `values` must be readable as `n` elements, at least one.
#[inline(always)]
pub(super) unsafe fn place_of<S: Search>(found: S::T, n: usize, values: *const S::T) -> usize {
    // SAFETY: forwarded.
    unsafe {
        match found.is_nan() {
            true => place_where(|x: S::T| x.is_nan(), n, values),
            false => place_where(|x| x == found, n, values),
        }
    }
}

/// The first of `n` elements that is one that is looked for; the last if there is none.
///
/// # Safety
/// `values` must be readable as `n` elements, at least one.
#[inline(always)]
unsafe fn place_where<T: Copy>(is_it: impl Fn(T) -> bool, n: usize, values: *const T) -> usize {
    let mut i = 0;
    while i + LANES < n {
        // SAFETY: the elements `i..i + LANES` are among the `n`.
        let chunk = unsafe { values.add(i).cast::<[T; LANES]>().read_unaligned() };
        let mut any = false;
        for x in chunk {
            any |= is_it(x);
        }
        if any {
            break;
        }
        i += LANES;
    }
    // SAFETY: `i` is below `n`.
    while i + 1 < n && !is_it(unsafe { values.add(i).read_unaligned() }) {
        i += 1;
    }
    i
}
