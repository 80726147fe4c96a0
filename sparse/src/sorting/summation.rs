//! Rows sorted by column, entries at the same place summed in their order.
//!
//! Rows of a few entries, as most matrices have, are sorted in vector registers: the code is
//! compiled for the instruction set of the machine.

use crate::dealing::ByRow;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Computation;

/// Up to so many entries of a row are sorted by comparing each with each, all at once.
const SHORT: usize = 8;

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
        // Behind every row there are as many entries as a short row may have.
        crd.resize(crd.len() + SHORT, 0);
        vals.resize(vals.len() + SHORT, T::ZERO);
        let (mut begin, mut len) = (0, 0);
        for (count, &end) in self.counts.iter_mut().zip(&*ends) {
            let mut sorted = ([0; SHORT], [T::ZERO; SHORT]);
            let (columns, values) = match short_row(crd, vals, begin) {
                Some((columns, values)) if end - begin <= SHORT => {
                    let places = places_by_column(columns, end - begin);
                    for k in 0..SHORT {
                        let place = places[k] as usize % SHORT;
                        (sorted.0[place], sorted.1[place]) = (columns[k], values[k]);
                    }
                    (&sorted.0[..end - begin], &sorted.1[..end - begin])
                }
                _ => {
                    sort_long(&mut crd[begin..end], &mut vals[begin..end]);
                    (&crd[begin..end], &vals[begin..end])
                }
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

/// The entries of a short row that begins here, and what is behind it.
#[inline(always)]
fn short_row<'a, T>(
    crd: &'a [u32],
    vals: &'a [T],
    begin: usize,
) -> Option<(&'a [u32; SHORT], &'a [T; SHORT])> {
    Some((crd[begin..].first_chunk()?, vals[begin..].first_chunk()?))
}

/// The places of the entries of a short row when they are sorted: for each, how many come before
/// it, by column and then by their order. Those behind the row come last. No branches, since
/// nobody could foresee them.
#[inline(always)]
fn places_by_column(columns: &[u32; SHORT], len: usize) -> [u64; SHORT] {
    let mut keys = [0; SHORT];
    for k in 0..SHORT {
        let is_behind = u64::from(k >= len) << 40;
        keys[k] = is_behind + u64::from(columns[k]) * SHORT as u64 + k as u64;
    }
    let mut places = [0; SHORT];
    for before in keys {
        for k in 0..SHORT {
            places[k] += u64::from(before < keys[k]);
        }
    }
    places
}

/// Sorts a row by column; entries of one column stay in their order.
fn sort_long<T: Numeric>(columns: &mut [u32], vals: &mut [T]) {
    if columns.is_sorted() {
        return;
    }
    let mut entries: Vec<_> = columns.iter().copied().zip(vals.iter().copied()).collect();
    entries.sort_by_key(|&(column, _)| column);
    for (k, entry) in entries.into_iter().enumerate() {
        (columns[k], vals[k]) = entry;
    }
}
