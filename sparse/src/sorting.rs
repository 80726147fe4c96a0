//! From triplets in any order to sorted rows, entries at the same place summed in their order.
//!
//! A block of neighbouring rows at a time, its entries are put to their rows within a core's cache,
//! sorted there and summed, and written down; when all rows are counted, they are copied to where
//! they belong. Where neighbouring entries are of neighbouring rows, as those that a loop over the
//! elements of a grid makes, the entries of a block are read where they are. Others are dealt into
//! blocks first. All steps are stable, and how the work is divided does not show. Entries that come
//! in order already are copied.

mod nearby;
mod summation;

use crate::assemble::{self, Positions};
use crate::csr::Csr;
use crate::dealing::{Blocks, ByRow};
use crate::parallel;
use crate::triplets::Triplets;
use nearby::Nearby;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Room, Runtime, Shape};
use std::borrow::Cow;
use std::ops::Range;
use summation::Summation;

/// Entries of a chunk that one thread at a time looks at.
const CHUNK: usize = 1 << 15;

/// The matrix that some triplets are, of which this rank keeps its rows.
pub(crate) fn matrix<T: Numeric>(triplets: Cow<'_, Triplets<T>>) -> Result<Csr<T>, Error> {
    let shape = (triplets.n_rows(), triplets.n_cols());
    assemble::check_shape("csr", shape.0, shape.1)?;
    let runtime = Runtime::current();
    let own = runtime.default_rows(Shape::new(&[shape.0]));
    runtime.agree(assemble::check_memory(&runtime, &own.1))?;
    let mut pos = Positions::room(&runtime, own.1.len())?;
    // Ranks may find different ways, and do nothing together on them.
    let (rows, n_entries) = (own.1.clone(), triplets.len());
    let sorted = if is_in_order(&runtime, &triplets) {
        count_in_order(&runtime, &triplets, rows, &mut pos);
        Ok(None)
    } else if let Some(nearby) = nearby::find(&runtime, &triplets, rows.clone()) {
        Sorted::from_nearby(&runtime, &triplets, &nearby, &mut pos).map(Some)
    } else {
        let blocks = Blocks::to_deal_into(rows.len(), n_entries);
        Sorted::from_dealt(&runtime, &triplets, (rows, blocks), &mut pos).map(Some)
    };
    match runtime.agree(sorted)? {
        None => assemble::filled(&runtime, shape, own.clone(), pos, |_, crd, vals| {
            copy_in_order(&runtime, &triplets, own.1.start, (crd, vals));
        }),
        Some(Sorted { blocks, parts }) => {
            // Nobody needs them any more, if they are ours.
            drop(triplets);
            assemble::filled(&runtime, shape, own, pos, |pos, crd, vals| {
                parts.copy_out(&runtime, blocks, pos, (crd, vals));
            })
        }
    }
}

/// Whether entries come row by row, columns ascending, and none twice: as many files and
/// generators write them.
fn is_in_order<T: Numeric>(runtime: &Runtime, triplets: &Triplets<T>) -> bool {
    let chunks = parallel::chunks(triplets.len(), CHUNK);
    let ascends = parallel::map(runtime, chunks, |chunk| {
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
    runtime: &Runtime,
    triplets: &Triplets<T>,
    rows: Range<usize>,
    pos: &mut [u64],
) {
    let entries = n_before(triplets, rows.start)..n_before(triplets, rows.end);
    let chunks = parallel::chunks(rows.len(), CHUNK);
    let ends = parallel::split(&mut pos[1..], chunks.iter().map(Range::len));
    let work = chunks.into_iter().zip(ends);
    parallel::each(runtime, work, |(chunk, ends)| {
        let mut k = n_before(triplets, rows.start + chunk.start);
        for (row, end) in chunk.zip(ends) {
            let row = (rows.start + row) as u32;
            while k < entries.end && triplets.rows()[k] == row {
                k += 1;
            }
            *end = (k - entries.start) as u64;
        }
    });
}

/// Copies the entries from a row on, which come in order.
fn copy_in_order<T: Numeric>(
    runtime: &Runtime,
    triplets: &Triplets<T>,
    first_row: usize,
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let first = n_before(triplets, first_row);
    let chunks = parallel::chunks(crd.len(), CHUNK);
    let crds = parallel::split(crd, chunks.iter().map(Range::len));
    let vals = parallel::split(vals, chunks.iter().map(Range::len));
    let work = chunks.into_iter().zip(crds).zip(vals);
    parallel::each(runtime, work, |((chunk, crd), vals)| {
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

/// The sorted entries of this rank's rows, by blocks.
struct Sorted<T> {
    blocks: Blocks,
    parts: Parts<T>,
}

impl<T: Numeric> Sorted<T> {
    /// From entries that are read where they are.
    fn from_nearby(
        runtime: &Runtime,
        triplets: &Triplets<T>,
        nearby: &Nearby,
        pos: &mut [u64],
    ) -> Result<Self, Error> {
        let Nearby { own, blocks, among } = nearby;
        let lens = among
            .iter()
            .map(|ranges| ranges.iter().map(Range::len).sum());
        let mut parts = Parts::new(runtime, lens.collect())?;
        let work = parts.work(*blocks, pos).into_iter().zip(among);
        parallel::each_with(runtime, work, ByRow::new, |by_row, (to, ranges)| {
            let first = own.start + to.first;
            put_nearby(by_row, triplets, ranges, first..first + to.counts.len());
            to.sum(runtime, by_row);
        });
        assemble::add_up(pos);
        let blocks = *blocks;
        Ok(Self { blocks, parts })
    }

    /// From entries that are dealt into blocks.
    fn from_dealt(
        runtime: &Runtime,
        triplets: &Triplets<T>,
        (own, blocks): (Range<usize>, Blocks),
        pos: &mut [u64],
    ) -> Result<Self, Error> {
        let share = triplets.len().div_ceil(runtime.config().threads).max(1);
        let chunks = parallel::chunks(triplets.len(), share);
        let number = |row: u32| {
            let number = (row as usize).wrapping_sub(own.start);
            (number < own.len()).then_some(number)
        };
        let counts = blocks.count(runtime, &chunks, |chunk| {
            triplets.rows()[chunk].iter().filter_map(|&row| number(row))
        });
        let mut parts = Parts::new(runtime, counts.lens())?;
        let entries = |chunk: Range<usize>| {
            let places = triplets.rows()[chunk.clone()]
                .iter()
                .zip(&triplets.cols()[chunk.clone()]);
            let entries = places.zip(&triplets.vals()[chunk]);
            entries.filter_map(|((&row, &col), &value)| Some((number(row)?, col, value)))
        };
        let to = (&mut *parts.crd, &mut *parts.vals);
        let rows = counts.deal(runtime, &chunks, entries, to);
        let mut rows = &rows[..];
        let mut work = Vec::with_capacity(blocks.len());
        for to in parts.work(blocks, pos) {
            work.push((rows.split_off(..to.crd.len()).unwrap_or_default(), to));
        }
        parallel::each_with(runtime, work, ByRow::new, |by_row, (rows, to)| {
            let entries = rows.iter().zip(&*to.crd).zip(&*to.vals);
            by_row.put(
                to.counts.len(),
                rows.iter().copied(),
                entries.map(|((&row, &col), &value)| (row, col, value)),
            );
            to.sum(runtime, by_row);
        });
        assemble::add_up(pos);
        Ok(Self { blocks, parts })
    }
}

/// Puts the entries of a block's rows to them, which are among those in some ranges.
fn put_nearby<T: Numeric>(
    by_row: &mut ByRow<T>,
    triplets: &Triplets<T>,
    ranges: &[Range<usize>],
    rows_of_block: Range<usize>,
) {
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
    );
}

/// Room for the entries of blocks.
struct Parts<T> {
    /// The most entries of each block.
    lens: Vec<usize>,
    crd: Room<u32>,
    vals: Room<T>,
}

impl<T: Numeric> Parts<T> {
    fn new(runtime: &Runtime, lens: Vec<usize>) -> Result<Self, Error> {
        let total = lens.iter().sum();
        let (crd, vals) = (runtime.room(total)?, runtime.room(total)?);
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
        runtime: &Runtime,
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
        parallel::each(runtime, work, |((begin, crd), vals)| {
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
    fn sum(self, runtime: &Runtime, by_row: &mut ByRow<T>) {
        runtime.config().isa.run(Summation {
            by_row,
            counts: self.counts,
            crd: self.crd,
            vals: self.vals,
        });
    }
}

#[cfg(test)]
mod tests;
