//! Transposition by way of blocks of new rows.

use super::turn::Turn;
use crate::local::dealing::{Blocks, ByRow, Counts};
use crate::local::parallel::{self, Threads};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// A transposition that deals entries into blocks of new rows, and from there to these rows.
pub(crate) struct Dealt<'a, T> {
    turn: Turn<'a, T>,
    blocks: Blocks,
    /// Neighbouring old rows.
    chunks: Vec<Range<usize>>,
    counts: Counts,
    /// The number of entries of each block.
    lens: Vec<usize>,
    /// Room for the number within its block of the new row of each entry.
    numbers: Vec<u16>,
}

impl<'a, T: Numeric> Dealt<'a, T> {
    /// Counts the entries of the blocks.
    pub(super) fn new(threads: &Threads, turn: Turn<'a, T>) -> Result<Self, Error> {
        let (rows, wanted) = (turn.rows, &turn.wanted);
        let blocks = Blocks::to_deal_into(wanted.len(), rows.crd.len());
        let share = (rows.len() + rows.crd.len()).div_ceil(threads.count());
        let chunks = parallel::parts_of(rows.pos, share as u64);
        let counts = blocks.count(threads, &chunks, |chunk| {
            let columns = rows.range(chunk).crd.iter();
            columns.filter_map(|&column| number(wanted, column))
        });
        let lens = counts.lens();
        Ok(Self {
            turn,
            blocks,
            chunks,
            counts,
            numbers: try_collect(repeat_n(0, lens.iter().sum()))?,
            lens,
        })
    }

    /// The number of all entries.
    pub(super) fn count(&self) -> usize {
        self.lens.iter().sum()
    }

    /// Fills the new rows, and tells where they end behind the first position.
    pub(super) fn fill(
        &mut self,
        threads: &Threads,
        pos: &mut [u64],
        (crd, vals): (&mut [u32], &mut [T]),
        map: impl Fn(T) -> T + Copy + Sync + Send,
    ) -> Result<(), Error> {
        let (rows, wanted) = (self.turn.rows, &self.turn.wanted);
        let entries = |chunk: Range<usize>| {
            chunk.flat_map(move |row| {
                let entries = rows.row(row);
                entries.filter_map(move |(column, value)| {
                    Some((number(wanted, column)?, row as u32, map(value)))
                })
            })
        };
        let to = (&mut self.numbers[..], &mut *crd, &mut *vals);
        self.counts.deal(threads, &self.chunks, entries, to);
        let lens = || self.lens.iter().copied();
        let ends = self.blocks.rows().into_iter().map(|rows| rows.len());
        let ends = parallel::split(&mut pos[1..], ends);
        let begins = lens().scan(0, |end, len| {
            *end += len;
            Some(*end - len)
        });
        let entries = parallel::split(crd, lens())
            .into_iter()
            .zip(parallel::split(vals, lens()));
        let numbers = &self.numbers;
        let work = begins.zip(ends).zip(entries);
        let put = parallel::map_with(threads, work, ByRow::new, |by_row, ((begin, ends), to)| {
            let rows = &numbers[begin..begin + to.0.len()];
            put_to_rows(by_row, (begin, ends), rows, to)
        });
        put.into_iter().collect()
    }
}

/// The number of a column among those wanted.
#[inline(always)]
fn number(wanted: &Range<usize>, column: u32) -> Option<usize> {
    let number = (column as usize).wrapping_sub(wanted.start);
    (number < wanted.len()).then_some(number)
}

/// Puts the entries of a block, which begins here, to their rows within it, and tells where these
/// end.
fn put_to_rows<T: Numeric>(
    by_row: &mut ByRow<T>,
    (begin, ends): (usize, &mut [u64]),
    rows: &[u16],
    (crd, vals): (&mut [u32], &mut [T]),
) -> Result<(), Error> {
    let entries = rows.iter().zip(&*crd).zip(&*vals);
    by_row.put(
        ends.len(),
        rows.iter().copied(),
        entries.map(|((&row, &column), &value)| (row, column, value)),
    )?;
    crd.copy_from_slice(&by_row.crd);
    vals.copy_from_slice(&by_row.vals);
    for (to, end) in ends.iter_mut().zip(&by_row.ends) {
        *to = (begin + end) as u64;
    }
    Ok(())
}
