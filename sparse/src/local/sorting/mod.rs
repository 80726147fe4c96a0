//! From triplets in any order to sorted rows, entries at the same place summed in their order.
//!
//! A block of neighbouring rows at a time, its entries are put to their rows within a core's cache,
//! sorted there and summed, and written down; when all rows are counted, they are copied to where
//! they belong. Where neighbouring entries are of neighbouring rows, as those that a loop over the
//! elements of a grid makes, the entries of a block are read where they are. Others are dealt into
//! blocks first. All steps are stable, and how the work is divided does not show. Entries that come
//! in order already are copied, and those that come in order within each row put to their places.

mod nearby;
mod placed;
mod summation;

use super::dealing::{Blocks, ByRow};
use super::parallel::{self, Threads};
use super::rows::add_up;
use super::triplets::Triplets;
use nearby::{CHUNK, Nearby};
use placed::Placed;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Isa;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;
use std::ops::{DerefMut, Range};
use summation::Summation;

/// Memory with whatever was there before.
pub(crate) type Buffer<T> = Box<dyn DerefMut<Target = [T]> + Send + Sync>;

/// Memory for columns and values.
pub(crate) type Buffers<T> = (Buffer<u32>, Buffer<T>);

/// The sorted entries of some rows, to be copied to where they belong.
pub(crate) enum SortedRows<T> {
    /// They come in order.
    InOrder,
    /// Those of each row come in order.
    Placed(Placed),
    /// Sorted block by block.
    Blocks(Sorted<T>),
}

impl<T: Numeric> SortedRows<T> {
    /// Sorts and sums the entries of the rows `own`, and finds their positions, the first of which
    /// is there. `buffers` makes memory for so many columns and values.
    pub(crate) fn new(
        (threads, isa): (&Threads, Isa),
        triplets: &Triplets<T>,
        own: Range<usize>,
        pos: &mut [u64],
        buffers: impl FnOnce(usize) -> Result<Buffers<T>, Error>,
    ) -> Result<Self, Error> {
        if is_in_order(threads, triplets) {
            count_in_order(threads, triplets, own, pos);
            return Ok(Self::InOrder);
        }
        let spans = nearby::spans(threads, triplets, &own);
        let larger = nearby::find_larger(threads, triplets.len(), &own, &spans);
        let placed = larger.and_then(|nearby| Placed::find(threads, triplets, nearby, pos));
        if let Some(placed) = placed {
            return Ok(Self::Placed(placed));
        }
        let blocks = Blocks::new(own.len(), triplets.len());
        let nearby = nearby::find(triplets.len(), (own.clone(), blocks), &spans);
        let sorted = if let Some(nearby) = nearby {
            Sorted::from_nearby((threads, isa), triplets, &nearby, pos, buffers)
        } else {
            let blocks = Blocks::to_deal_into(own.len(), triplets.len());
            Sorted::from_dealt((threads, isa), triplets, (own, blocks), pos, buffers)
        };
        sorted.map(Self::Blocks)
    }
}

/// Whether entries come row by row, columns ascending, and none twice: as many files and
/// generators write them.
fn is_in_order<T: Numeric>(threads: &Threads, triplets: &Triplets<T>) -> bool {
    let chunks = parallel::chunks(triplets.len(), CHUNK);
    let ascends = parallel::map(threads, chunks, |chunk| {
        // Each chunk compares its first entry with the last one before it, too.
        let (rows, cols) = (triplets.rows(), triplets.cols());
        let from = chunk.start.saturating_sub(1);
        let (rows, cols) = (&rows[from..chunk.end], &cols[from..chunk.end]);
        (1..rows.len()).all(|k| (rows[k - 1], cols[k - 1]) < (rows[k], cols[k]))
    });
    ascends.into_iter().all(|ascends| ascends)
}

/// The positions of some rows, from 0, of entries that come in order.
fn count_in_order<T: Numeric>(
    threads: &Threads,
    triplets: &Triplets<T>,
    rows: Range<usize>,
    pos: &mut [u64],
) {
    let entries = n_before(triplets, rows.start)..n_before(triplets, rows.end);
    let before = |row: usize| (n_before(triplets, rows.start + row) - entries.start) as u64;
    let parts = parallel::parts_of_work(rows.len(), before);
    let ends = parallel::split(&mut pos[1..], parts.iter().map(Range::len));
    let work = parts.into_iter().zip(ends);
    parallel::each(threads, work, |(part, ends)| {
        let mut k = n_before(triplets, rows.start + part.start);
        for (row, end) in part.zip(ends) {
            let row = (rows.start + row) as u32;
            while k < entries.end && triplets.rows()[k] == row {
                k += 1;
            }
            *end = (k - entries.start) as u64;
        }
    });
}

/// Copies the entries from a row on, which come in order.
pub(crate) fn copy_in_order<T: Numeric>(
    threads: &Threads,
    triplets: &Triplets<T>,
    first_row: usize,
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let first = n_before(triplets, first_row);
    let chunks = parallel::chunks(crd.len(), CHUNK);
    let crds = parallel::split(crd, chunks.iter().map(Range::len));
    let vals = parallel::split(vals, chunks.iter().map(Range::len));
    let work = chunks.into_iter().zip(crds).zip(vals);
    parallel::each(threads, work, |((chunk, crd), vals)| {
        let from = first + chunk.start..first + chunk.end;
        crd.copy_from_slice(&triplets.cols()[from.clone()]);
        vals.copy_from_slice(&triplets.vals()[from]);
    });
}

/// The number of entries before a row, of entries that come in order.
fn n_before<T: Numeric>(triplets: &Triplets<T>, row: usize) -> usize {
    triplets
        .rows()
        .partition_point(|&other| (other as usize) < row)
}

/// The sorted entries of some rows, by blocks.
pub(crate) struct Sorted<T> {
    blocks: Blocks,
    parts: Parts<T>,
}

impl<T: Numeric> Sorted<T> {
    /// Copies the entries to their rows, which have these positions.
    pub(crate) fn copy_out(&self, threads: &Threads, pos: &[u64], to: (&mut [u32], &mut [T])) {
        self.parts.copy_out(threads, self.blocks, pos, to);
    }

    /// From entries that are read where they are.
    fn from_nearby(
        (threads, isa): (&Threads, Isa),
        triplets: &Triplets<T>,
        nearby: &Nearby,
        pos: &mut [u64],
        buffers: impl FnOnce(usize) -> Result<Buffers<T>, Error>,
    ) -> Result<Self, Error> {
        let Nearby { own, blocks, among } = nearby;
        let lens = among
            .iter()
            .map(|ranges| ranges.iter().map(Range::len).sum());
        let mut parts = Parts::new(lens.collect(), buffers)?;
        let work = parts.work(*blocks, pos).into_iter().zip(among);
        let summed = parallel::map_with(threads, work, ByRow::new, |by_row, (to, ranges)| {
            let first = own.start + to.first;
            put_nearby(by_row, triplets, ranges, first..first + to.counts.len())?;
            to.sum(isa, by_row);
            Ok(())
        });
        summed.into_iter().collect::<Result<(), Error>>()?;
        add_up(pos);
        let blocks = *blocks;
        Ok(Self { blocks, parts })
    }

    /// From entries that are dealt into blocks.
    fn from_dealt(
        (threads, isa): (&Threads, Isa),
        triplets: &Triplets<T>,
        (own, blocks): (Range<usize>, Blocks),
        pos: &mut [u64],
        buffers: impl FnOnce(usize) -> Result<Buffers<T>, Error>,
    ) -> Result<Self, Error> {
        let share = triplets.len().div_ceil(threads.count()).max(1);
        let chunks = parallel::chunks(triplets.len(), share);
        let number = |row: u32| {
            let number = (row as usize).wrapping_sub(own.start);
            (number < own.len()).then_some(number)
        };
        let counts = blocks.count(threads, &chunks, |chunk| {
            triplets.rows()[chunk].iter().filter_map(|&row| number(row))
        });
        let mut parts = Parts::new(counts.lens(), buffers)?;
        let entries = |chunk: Range<usize>| {
            let places = triplets.rows()[chunk.clone()]
                .iter()
                .zip(&triplets.cols()[chunk.clone()]);
            let entries = places.zip(&triplets.vals()[chunk]);
            entries.filter_map(|((&row, &col), &value)| Some((number(row)?, col, value)))
        };
        let mut rows = try_collect(repeat_n(0u16, parts.crd.len()))?;
        let to = (&mut rows[..], &mut parts.crd[..], &mut parts.vals[..]);
        counts.deal(threads, &chunks, entries, to);
        let mut rows = &rows[..];
        let mut work = Vec::with_capacity(blocks.len());
        for to in parts.work(blocks, pos) {
            work.push((rows.split_off(..to.crd.len()).unwrap_or_default(), to));
        }
        let summed = parallel::map_with(threads, work, ByRow::new, |by_row, (rows, to)| {
            let entries = rows.iter().zip(&*to.crd).zip(&*to.vals);
            by_row.put(
                to.counts.len(),
                rows.iter().copied(),
                entries.map(|((&row, &col), &value)| (row, col, value)),
            )?;
            to.sum(isa, by_row);
            Ok(())
        });
        summed.into_iter().collect::<Result<(), Error>>()?;
        add_up(pos);
        Ok(Self { blocks, parts })
    }
}

/// Puts the entries of a block's rows to them, which are among those in some ranges.
fn put_nearby<T: Numeric>(
    by_row: &mut ByRow<T>,
    triplets: &Triplets<T>,
    ranges: &[Range<usize>],
    rows_of_block: Range<usize>,
) -> Result<(), Error> {
    let (rows, cols, vals) = (triplets.rows(), triplets.cols(), triplets.vals());
    let number = |row: u32| {
        let number = (row as usize).wrapping_sub(rows_of_block.start);
        (number < rows_of_block.len()).then_some(number as u16)
    };
    let all_rows = ranges.iter().flat_map(|range| &rows[range.clone()]);
    let entries = ranges.iter().flat_map(|range| {
        let places = rows[range.clone()].iter().zip(&cols[range.clone()]);
        places.zip(&vals[range.clone()])
    });
    by_row.put(
        rows_of_block.len(),
        all_rows.filter_map(|&row| number(row)),
        entries.filter_map(|((&row, &col), &value)| Some((number(row)?, col, value))),
    )
}

/// Room for the entries of blocks.
struct Parts<T> {
    /// The most entries of each block.
    lens: Vec<usize>,
    crd: Buffer<u32>,
    vals: Buffer<T>,
}

impl<T: Numeric> Parts<T> {
    fn new(
        lens: Vec<usize>,
        buffers: impl FnOnce(usize) -> Result<Buffers<T>, Error>,
    ) -> Result<Self, Error> {
        let (crd, vals) = buffers(lens.iter().sum())?;
        Ok(Self { lens, crd, vals })
    }

    /// What is to be made of each block.
    fn work<'a>(&'a mut self, blocks: Blocks, pos: &'a mut [u64]) -> Vec<Part<'a, T>> {
        let rows = blocks.rows();
        let counts = parallel::split(&mut pos[1..], rows.iter().map(Range::len));
        let crds = parallel::split(&mut self.crd, self.lens.iter().copied());
        let vals = parallel::split(&mut self.vals, self.lens.iter().copied());
        let parts = rows.into_iter().zip(counts).zip(crds).zip(vals);
        let parts = parts.map(|(((rows, counts), crd), vals)| Part {
            first: rows.start,
            counts,
            crd,
            vals,
        });
        parts.collect()
    }

    /// Copies the sorted entries to their rows.
    fn copy_out(
        &self,
        threads: &Threads,
        blocks: Blocks,
        pos: &[u64],
        (crd, vals): (&mut [u32], &mut [T]),
    ) {
        let rows = blocks.rows();
        let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
        let crds = parallel::split(crd, rows.iter().map(len));
        let vals = parallel::split(vals, rows.iter().map(len));
        let begins = self.lens.iter().scan(0, |end, len| {
            *end += len;
            Some(*end - len)
        });
        let work = begins.zip(crds).zip(vals);
        parallel::each(threads, work, |((begin, crd), vals)| {
            let sorted = begin..begin + crd.len();
            crd.copy_from_slice(&self.crd[sorted.clone()]);
            vals.copy_from_slice(&self.vals[sorted]);
        });
    }
}

/// Room for the entries of a block, of which those at the beginning are used.
struct Part<'a, T> {
    /// Its first row.
    first: usize,
    /// The number of entries of each row.
    counts: &'a mut [u64],
    crd: &'a mut [u32],
    vals: &'a mut [T],
}

impl<T: Numeric> Part<'_, T> {
    /// Fills the block: entries of a row by column, those at the same place summed in their order.
    fn sum(self, isa: Isa, by_row: &mut ByRow<T>) {
        isa.run(Summation {
            by_row,
            counts: self.counts,
            crd: self.crd,
            vals: self.vals,
        });
    }
}

#[cfg(test)]
mod tests;
