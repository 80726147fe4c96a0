//! Where the entries of blocks of rows are, in triplets whose neighbours are of neighbouring rows.

use crate::local::dealing::Blocks;
use crate::local::parallel::{self, Threads};
use crate::local::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use std::ops::Range;

/// Entries of a chunk that one thread at a time looks at.
pub(super) const CHUNK: usize = 1 << 15;

/// Neighbouring entries that are looked at together: few beside the entries of a block, of which so
/// many may be read in vain at both ends.
const GROUP: usize = 1 << 10;

/// For each block of some rows, the entries among which are all of its own.
pub(super) struct Nearby {
    pub(super) own: Range<usize>,
    pub(super) blocks: Blocks,
    pub(super) among: Vec<Vec<Range<usize>>>,
}

/// Finds the entries of blocks of some rows, unless half as much again had to be read. `spans` are
/// those of the groups.
pub(super) fn find(
    n_entries: usize,
    (own, blocks): (Range<usize>, Blocks),
    spans: &[Range<usize>],
) -> Option<Nearby> {
    let visits: usize = spans.iter().map(|span| blocks.of_rows(span).len()).sum();
    let is_cheap = visits <= spans.len() + spans.len() / 2 + 2 * blocks.len();
    is_cheap.then(|| Nearby::new(n_entries, (own, blocks), spans))
}

/// As [`find`], with the smallest blocks with which that is cheap, which may be larger than the
/// cache of a core; as many as there are threads, at least.
pub(super) fn find_larger(
    threads: &Threads,
    n_entries: usize,
    own: &Range<usize>,
    spans: &[Range<usize>],
) -> Option<Nearby> {
    let smallest = Blocks::new(own.len(), n_entries);
    let mut n_blocks = smallest.len().max(1);
    loop {
        let blocks = Blocks::about(own.len(), n_blocks);
        let found = find(n_entries, (own.clone(), blocks), spans);
        if found.is_some() || n_blocks <= threads.count() {
            return found;
        }
        n_blocks = (n_blocks / 2).max(threads.count());
    }
}

impl Nearby {
    /// From the number of entries and the spans of their groups.
    pub(super) fn new(
        n_entries: usize,
        (own, blocks): (Range<usize>, Blocks),
        spans: &[Range<usize>],
    ) -> Self {
        let mut among = vec![Vec::<Range<usize>>::new(); blocks.len()];
        for (number, span) in spans.iter().enumerate() {
            let begin = number * GROUP;
            let end = n_entries.min(begin + GROUP);
            for ranges in &mut among[blocks.of_rows(span)] {
                match ranges.last_mut() {
                    Some(last) if last.end == begin => last.end = end,
                    _ => ranges.push(begin..end),
                }
            }
        }
        Self { own, blocks, among }
    }
}

/// For each group of entries, the rows from the first to the last that they may be of, of those
/// that this rank has and counted from the first of these.
pub(super) fn spans<T: Numeric>(
    threads: &Threads,
    triplets: &Triplets<T>,
    own: &Range<usize>,
) -> Vec<Range<usize>> {
    let chunks = parallel::chunks(triplets.len(), CHUNK);
    let spans = parallel::map(threads, chunks, |chunk| {
        let groups = triplets.rows()[chunk].chunks(GROUP);
        groups.map(|rows| span(rows, own)).collect::<Vec<_>>()
    });
    spans.concat()
}

/// From the first to the last of this rank's rows that some entries may be of, counted from its
/// first one.
fn span(rows: &[u32], own: &Range<usize>) -> Range<usize> {
    let first = rows.iter().fold(u32::MAX, |first, &row| first.min(row)) as usize;
    let last = rows.iter().fold(0, |last, &row| last.max(row)) as usize;
    let (start, end) = (first.max(own.start), (last + 1).min(own.end));
    start - own.start..end.max(start) - own.start
}
