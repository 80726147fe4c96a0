//! Entries dealt into blocks of neighbouring rows, and from there to their rows.
//!
//! Entries in no order would each be written to a cache line that was evicted long ago.
//! So they go to one of a few hundred blocks first, which are written side by side and each in
//! order, and then, block by block, to their rows, which lie in a core's cache by then. Both steps
//! are stable: the entries of a row keep their order, and how the work is divided does not show.

use super::parallel::{self, Threads};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, ErrorKind};
use std::ops::Range;
use std::slice::IterMut;

/// Entries of a block, about: 14 bytes each before and after they are put to their rows make less
/// than a core's cache.
const BLOCK: usize = 1 << 15;
/// The most blocks that are dealt into, as long as their rows can be counted: for each a line of
/// the cache of three arrays is written at a time. With 512, which no longer fit a core's first
/// cache, dealing random entries takes twice as long; with 128, skewed blocks outgrow the second.
const MOST_BLOCKS: usize = 1 << 8;
/// The most rows of a block: they are numbered by 16 bits.
const MOST_ROWS: usize = 1 << 16;

/// Rows, cut into blocks of equally many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    n_rows: usize,
    /// `1 << shift` rows make a block.
    shift: u32,
}

impl Blocks {
    /// Blocks of so few entries that they fit a core's cache.
    pub(crate) fn new(n_rows: usize, n_entries: usize) -> Self {
        Self::about(n_rows, (n_entries / BLOCK).max(1))
    }

    /// As many blocks as entries may be dealt into at a time.
    pub(crate) fn to_deal_into(n_rows: usize, n_entries: usize) -> Self {
        Self::about(n_rows, (n_entries / BLOCK).clamp(1, MOST_BLOCKS))
    }

    /// About `n_blocks` blocks, or more if they had too many rows.
    pub(crate) fn about(n_rows: usize, n_blocks: usize) -> Self {
        let len = n_rows.div_ceil(n_blocks).next_power_of_two();
        let shift = len.min(MOST_ROWS).trailing_zeros();
        Self { n_rows, shift }
    }

    /// The number of blocks.
    pub(crate) fn len(self) -> usize {
        self.n_rows.div_ceil(1 << self.shift)
    }

    /// The blocks that some rows are in.
    pub(crate) fn of_rows(self, rows: &Range<usize>) -> Range<usize> {
        match rows.is_empty() {
            true => 0..0,
            false => rows.start >> self.shift..((rows.end - 1) >> self.shift) + 1,
        }
    }

    /// The rows of each block.
    pub(crate) fn rows(self) -> Vec<Range<usize>> {
        parallel::chunks(self.n_rows, 1 << self.shift)
    }

    /// The block of a row, and the number of the row there.
    #[inline(always)]
    fn place(self, row: usize) -> (usize, u16) {
        (row >> self.shift, (row & ((1 << self.shift) - 1)) as u16)
    }

    /// The number of entries of each block in each chunk, from the rows of the entries.
    pub(crate) fn count<I: Iterator<Item = usize>>(
        self,
        threads: &Threads,
        chunks: &[Range<usize>],
        rows: impl Fn(Range<usize>) -> I + Sync + Send,
    ) -> Counts {
        let by_chunk = parallel::map(threads, chunks.iter().cloned(), |chunk| {
            let mut counts = vec![0usize; self.len()];
            rows(chunk).for_each(|row| counts[row >> self.shift] += 1);
            counts
        });
        Counts {
            blocks: self,
            by_chunk,
        }
    }
}

/// How many entries the chunks have for each block.
pub(crate) struct Counts {
    pub(crate) blocks: Blocks,
    by_chunk: Vec<Vec<usize>>,
}

impl Counts {
    /// The number of entries of each block.
    pub(crate) fn lens(&self) -> Vec<usize> {
        let len = |block: usize| self.by_chunk.iter().map(|counts| counts[block]).sum();
        (0..self.blocks.len()).map(len).collect()
    }

    /// Deals the entries of the chunks into blocks: columns and values to the places of their
    /// blocks, in their order, and to `rows` the number within its block of the row of each.
    pub(crate) fn deal<T: Numeric, I: Iterator<Item = (usize, u32, T)>>(
        &self,
        threads: &Threads,
        chunks: &[Range<usize>],
        entries: impl Fn(Range<usize>) -> I + Sync + Send,
        (rows, crd, vals): (&mut [u16], &mut [u32], &mut [T]),
    ) {
        let sections = self
            .sections(rows)
            .into_iter()
            .zip(self.sections(crd))
            .zip(self.sections(vals));
        let work = chunks.iter().cloned().zip(sections);
        parallel::each(threads, work, |(chunk, ((rows, crds), vals))| {
            let mut sections: Vec<_> = rows.into_iter().zip(crds).zip(vals).collect();
            entries(chunk).for_each(|(row, column, value)| {
                let (block, row) = self.blocks.place(row);
                let ((rows, crd), vals) = &mut sections[block];
                let next = (rows.next(), crd.next(), vals.next());
                if let (Some(to_row), Some(to_column), Some(to_value)) = next {
                    (*to_row, *to_column, *to_value) = (row, column, value);
                }
            });
        });
    }

    /// Where each chunk puts its entries of each block: blocks one after the other, within a block
    /// the chunks, so that entries of a block keep their order.
    fn sections<'a, E>(&self, all: &'a mut [E]) -> Vec<Vec<IterMut<'a, E>>> {
        let by_block = (0..self.blocks.len())
            .flat_map(|block| self.by_chunk.iter().map(move |counts| counts[block]));
        let mut sections: Vec<Vec<_>> = self
            .by_chunk
            .iter()
            .map(|_| Vec::with_capacity(self.blocks.len()))
            .collect();
        let n_chunks = self.by_chunk.len();
        for (number, section) in parallel::split(all, by_block).into_iter().enumerate() {
            sections[number % n_chunks].push(section.iter_mut());
        }
        sections
    }
}

/// Entries behind those of a block for which there is memory too.
pub(crate) const SPARE: usize = 16;

/// Makes sure that a vector can have this many elements.
pub(crate) fn try_grow<E>(vector: &mut Vec<E>, len: usize) -> Result<(), Error> {
    let wanted = len * size_of::<E>();
    let reserved = vector.try_reserve(len.saturating_sub(vector.len()));
    reserved.map_err(|_| ErrorKind::Refused { wanted }.into())
}

/// Entries put to their rows, in memory that serves one block after the other.
#[derive(Debug)]
pub(crate) struct ByRow<T> {
    /// The end of each row.
    pub(crate) ends: Vec<usize>,
    pub(crate) crd: Vec<u32>,
    pub(crate) vals: Vec<T>,
}

impl<T: Numeric> ByRow<T> {
    /// No rows.
    pub(crate) fn new() -> Self {
        Self {
            ends: Vec::new(),
            crd: Vec::new(),
            vals: Vec::new(),
        }
    }

    /// Scatters entries, which come in any order, to their rows.
    pub(crate) fn put(
        &mut self,
        n_rows: usize,
        rows: impl Iterator<Item = u16>,
        entries: impl Iterator<Item = (u16, u32, T)>,
    ) -> Result<(), Error> {
        // The places of next entries, from where rows begin to where they end.
        let next = &mut self.ends;
        next.clear();
        try_grow(next, n_rows)?;
        next.resize(n_rows, 0);
        rows.for_each(|row| next[usize::from(row)] += 1);
        let mut begin = 0;
        for place in next.iter_mut() {
            begin += std::mem::replace(place, begin);
        }
        // What was there before is written over: every place is that of an entry.
        try_grow(&mut self.crd, begin + SPARE)?;
        try_grow(&mut self.vals, begin + SPARE)?;
        self.crd.resize(begin, 0);
        self.vals.resize(begin, T::ZERO);
        let (crd, vals) = (&mut self.crd[..begin], &mut self.vals[..begin]);
        entries.for_each(|(row, column, value)| {
            let to = &mut next[usize::from(row)];
            (crd[*to], vals[*to]) = (column, value);
            *to += 1;
        });
        Ok(())
    }
}
