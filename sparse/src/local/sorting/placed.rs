//! Entries whose columns ascend within each row as they come, put straight to where they belong.
//!
//! So come the entries of files by columns, and those of symmetric ones, each with its mirror image
//! behind it. A first pass counts the entries of rows and compares each column with the last one of
//! its row; a second one writes every entry once. There is nothing to sort or to sum. Of an entry
//! that is a `f64` the first pass reads 8 bytes, the second one reads 16 and writes 12.

use super::nearby::Nearby;
use crate::local::parallel::{self, Threads};
use crate::local::rows::add_up;
use crate::local::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// Entries that are put to their rows in the order in which they come.
pub(crate) struct Placed(Nearby);

impl Placed {
    /// Finds the positions of the rows, the first of which is there; none if the entries of some
    /// row do not ascend, and then the positions are anything.
    pub(super) fn find<T: Numeric>(
        threads: &Threads,
        triplets: &Triplets<T>,
        nearby: Nearby,
        pos: &mut [u64],
    ) -> Option<Self> {
        let blocks = nearby.blocks.rows();
        let counts = parallel::split(&mut pos[1..], blocks.iter().map(Range::len));
        let work = blocks.iter().zip(counts).zip(&nearby.among);
        let ascend = parallel::map(threads, work, |((rows, counts), ranges)| {
            count(triplets, nearby.own.start + rows.start, ranges, counts)
        });
        let placed = ascend.into_iter().all(|ascends| ascends);
        placed.then(|| {
            add_up(pos);
            Self(nearby)
        })
    }

    /// Writes the entries to their places in the rows, which have these positions.
    pub(crate) fn place<T: Numeric>(
        &self,
        threads: &Threads,
        triplets: &Triplets<T>,
        pos: &[u64],
        (crd, vals): (&mut [u32], &mut [T]),
    ) -> Result<(), Error> {
        let Nearby { own, blocks, among } = &self.0;
        let blocks = blocks.rows();
        let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
        let crds = parallel::split(crd, blocks.iter().map(len));
        let vals = parallel::split(vals, blocks.iter().map(len));
        let work = blocks.iter().zip(among).zip(crds).zip(vals);
        let placed = parallel::map(threads, work, |(((rows, ranges), crd), vals)| {
            let begins = pos[rows.clone()].iter();
            let mut next = try_collect(begins.map(|&begin| (begin - pos[rows.start]) as usize))?;
            let first = own.start + rows.start;
            for range in ranges {
                let places = triplets.rows()[range.clone()].iter();
                let places = places.zip(&triplets.cols()[range.clone()]);
                for ((&row, &col), &val) in places.zip(&triplets.vals()[range.clone()]) {
                    if let Some(next) = next.get_mut((row as usize).wrapping_sub(first)) {
                        (crd[*next], vals[*next]) = (col, val);
                        *next += 1;
                    }
                }
            }
            Ok(())
        });
        placed.into_iter().collect()
    }
}

/// Counts the entries of rows from `first` on among those of some ranges, as long as the columns of
/// each row ascend; false where they do not, or there is no memory for the last ones.
fn count<T: Numeric>(
    triplets: &Triplets<T>,
    first: usize,
    ranges: &[Range<usize>],
    counts: &mut [u64],
) -> bool {
    counts.fill(0);
    let Ok(mut last) = try_collect(repeat_n(0u32, counts.len())) else {
        return false;
    };
    for range in ranges {
        let rows = &triplets.rows()[range.clone()];
        for (&row, &col) in rows.iter().zip(&triplets.cols()[range.clone()]) {
            let number = (row as usize).wrapping_sub(first);
            let (Some(count), Some(last)) = (counts.get_mut(number), last.get_mut(number)) else {
                continue;
            };
            if *count > 0 && *last >= col {
                return false;
            }
            *count += 1;
            *last = col;
        }
    }
    true
}
