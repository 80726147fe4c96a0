//! Neighbouring rows that have nearly all of their columns in common.

use super::Triangle;
use crate::local::rows::LocalRows;
use sparsefuse_runtime::{Error, reserve};

/// The most rows of a group.
pub(super) const LARGEST: u8 = 4;

/// Entries of a row, on the average, from which on groups pay; of shorter rows the processor works
/// on several at a time by itself.
const LONG: usize = 24;

/// The row at a place of a sweep.
#[inline(always)]
pub(super) fn in_sweep(triangle: Triangle, n_rows: usize, place: usize) -> usize {
    match triangle {
        Triangle::Lower => place,
        Triangle::Upper => n_rows - 1 - place,
    }
}

/// The lengths of groups of rows, in the order of a sweep, of which each has the columns of the one
/// before and that row itself, as the unknowns of one node of a finite element mesh have. Empty
/// where groups have less than two rows on average, or rows are short.
pub(super) fn groups<T>(own: &LocalRows<T>, triangle: Triangle) -> Result<Vec<u8>, Error> {
    let n_rows = own.pos.len() - 1;
    let columns = |row: usize| &own.crd[own.pos[row] as usize..own.pos[row + 1] as usize];
    let continues = |place: usize| {
        let before = in_sweep(triangle, n_rows, place - 1);
        let (first, row) = (columns(before), columns(in_sweep(triangle, n_rows, place)));
        row.len() == first.len() + 1
            && row[first.len()] as usize == before
            && row[..first.len()] == *first
    };
    if own.crd.len() < LONG * n_rows {
        return Ok(Vec::new());
    }
    let mut groups = reserve(n_rows / 2)?;
    for place in 0..n_rows {
        let length: u8 = groups.last().map_or(LARGEST, |&length| length);
        if length < LARGEST && continues(place) {
            groups.pop();
            groups.push(length + 1);
        } else if groups.len() < n_rows / 2 {
            groups.push(1);
        } else {
            return Ok(Vec::new());
        }
    }
    Ok(groups)
}
