//! Rows sorted by column, entries at the same place summed in their order.
//!
//! Rows of a few entries, as most matrices have, are sorted in vector registers: the code is
//! compiled for the instruction set of the machine.

use crate::local::dealing::{ByRow, SPARE};
use crate::local::rows::sort_by_column;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Computation;

/// Up to this many entries of a row are sorted by comparing each with each, all at once: those of
/// most rows in one register of the widest instruction set, of others in two.
const SHORT: usize = 8;
/// As [`SHORT`], for rows that are twice as long.
const MEDIUM: usize = SPARE;

/// Entries that are put to their rows, and where they go when they are sorted and summed.
pub(super) struct Summation<'a, T> {
    pub(super) by_row: &'a mut ByRow<T>,
    /// The number of entries of each row.
    pub(super) counts: &'a mut [u64],
    /// Room for all entries, of which those at the beginning are used.
    pub(super) crd: &'a mut [u32],
    pub(super) vals: &'a mut [T],
}

impl<T: Numeric> Computation for Summation<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let ByRow { ends, crd, vals } = self.by_row;
        // Behind every row there are as many entries as are looked at together.
        crd.resize(crd.len() + MEDIUM, 0);
        vals.resize(vals.len() + MEDIUM, T::ZERO);
        let mut sorted = ([0; MEDIUM], [T::ZERO; MEDIUM]);
        let (mut begin, mut len) = (0, 0);
        for (count, &end) in self.counts.iter_mut().zip(&*ends) {
            let n = end - begin;
            let (columns, values) = if n <= MEDIUM {
                let from = (&crd[begin..], &vals[begin..]);
                match n <= SHORT {
                    true => sort_short::<SHORT, T>(from, n, &mut sorted),
                    false => sort_short::<MEDIUM, T>(from, n, &mut sorted),
                }
                (&sorted.0[..n], &sorted.1[..n])
            } else {
                sort_long(&mut crd[begin..end], &mut vals[begin..end]);
                (&crd[begin..end], &vals[begin..end])
            };
            let row = len;
            let (mut last, mut sum) = (u64::MAX, T::ZERO);
            for (&column, &value) in columns.iter().zip(values) {
                let is_next = last != u64::from(column);
                sum = if is_next { value } else { sum.plus(value) };
                last = u64::from(column);
                len += usize::from(is_next);
                (self.crd[len - 1], self.vals[len - 1]) = (column, sum);
            }
            *count = (len - row) as u64;
            begin = end;
        }
    }
}

/// Sorts a row of at most N entries, behind which there are others: each goes to the place that is
/// the number of those before it, by column and then by their order. Those behind the row come
/// last. There are no branches, since no processor could predict them.
#[inline(always)]
fn sort_short<const N: usize, T: Numeric>(
    (columns, values): (&[u32], &[T]),
    len: usize,
    sorted: &mut ([u32; MEDIUM], [T; MEDIUM]),
) {
    let mut keys = [0; N];
    for (k, (key, &column)) in keys.iter_mut().zip(&columns[..N]).enumerate() {
        let is_behind = u64::from(k >= len) << 40;
        *key = is_behind + u64::from(column) * N as u64 + k as u64;
    }
    let mut places = [0u64; N];
    for before in keys {
        for (place, &key) in places.iter_mut().zip(&keys) {
            *place += u64::from(before < key);
        }
    }
    for ((&place, &column), &value) in places.iter().zip(&columns[..N]).zip(&values[..N]) {
        let place = place as usize % N;
        (sorted.0[place], sorted.1[place]) = (column, value);
    }
}

/// Sorts a row by column; entries of one column stay in their order.
fn sort_long<T: Numeric>(columns: &mut [u32], vals: &mut [T]) {
    if columns.is_sorted() {
        return;
    }
    let mut entries: Vec<_> = columns.iter().copied().zip(vals.iter().copied()).collect();
    sort_by_column(&mut entries);
    for (k, entry) in entries.into_iter().enumerate() {
        (columns[k], vals[k]) = entry;
    }
}
