//! From triplets in any order to sorted rows, entries at the same place summed in their order.
//!
//! Entries are dealt into blocks of neighbouring rows first, so few entries to a block that it fits
//! a core's cache, where it is sorted by row and column. Each entry is moved three times: into its
//! block, within the cache, and to its row; the first and last time it is read and written in order,
//! up to the blocks that are written side by side. Both steps are stable, and how the work is
//! divided does not show. Entries that come in order already are copied.

use crate::assemble;
use crate::csr::Csr;
use crate::parallel;
use crate::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape};
use std::borrow::Cow;
use std::ops::Range;
use std::slice::IterMut;

/// Entries of a block, about: 16 bytes each before and after sorting make 1 MiB.
const BLOCK: usize = 1 << 15;
/// The most blocks: a line of the cache for each is written at a time.
const MOST_BLOCKS: usize = 1 << 10;
/// Up to so many entries of a row are sorted by insertion.
const SHORT: usize = 32;

/// The matrix that some triplets are, of which this rank keeps its rows.
pub(crate) fn matrix<T: Numeric>(triplets: Cow<'_, Triplets<T>>) -> Result<Csr<T>, Error> {
    let shape = (triplets.n_rows(), triplets.n_cols());
    assemble::check_shape("csr", shape.0, shape.1)?;
    let runtime = Runtime::current();
    let own = runtime.default_rows(Shape::new(&[shape.0]));
    runtime.agree(assemble::check_memory(&runtime, &own.1))?;
    if is_in_order(&runtime, &triplets) {
        return in_order(&runtime, &triplets, own);
    }
    let mut blocks = Blocks::deal(&runtime, &triplets, own.1.clone());
    // Nobody needs them any more, if they are ours.
    drop(triplets);
    let pos = blocks.sort(&runtime);
    assemble::filled(&runtime, shape, own, pos, |pos, crd, vals| {
        blocks.copy_out(&runtime, pos, crd, vals);
    })
}

/// Whether entries come row by row, columns ascending, and none twice: as many files and
/// generators write them.
fn is_in_order<T: Numeric>(runtime: &Runtime, triplets: &Triplets<T>) -> bool {
    let chunks = parallel::chunks(triplets.len(), BLOCK);
    let ascends = parallel::map(runtime, chunks, |chunk| {
        // Each chunk compares its first entry with the last one before it, too.
        let (rows, cols) = (triplets.rows(), triplets.cols());
        let from = chunk.start.saturating_sub(1);
        let (rows, cols) = (&rows[from..chunk.end], &cols[from..chunk.end]);
        (1..rows.len()).all(|k| (rows[k - 1], cols[k - 1]) < (rows[k], cols[k]))
    });
    ascends.into_iter().all(|ascends| ascends)
}

/// The matrix of entries that come in order: they are copied.
fn in_order<T: Numeric>(
    runtime: &Runtime,
    triplets: &Triplets<T>,
    own: (Partition, Range<usize>),
) -> Result<Csr<T>, Error> {
    let rows = own.1.clone();
    let before = |row: usize| {
        triplets
            .rows()
            .partition_point(|&other| (other as usize) < row)
    };
    let entries = before(rows.start)..before(rows.end);
    let mut pos = vec![0u64; rows.len() + 1];
    let chunks = parallel::chunks(rows.len(), BLOCK);
    let ends = parallel::split(&mut pos[1..], chunks.iter().map(Range::len));
    let work = chunks.into_iter().zip(ends).collect();
    parallel::each(runtime, work, |(chunk, ends)| {
        let mut k = before(rows.start + chunk.start);
        for (row, end) in chunk.zip(ends) {
            let row = (rows.start + row) as u32;
            while k < entries.end && triplets.rows()[k] == row {
                k += 1;
            }
            *end = (k - entries.start) as u64;
        }
    });
    let shape = (triplets.n_rows(), triplets.n_cols());
    assemble::filled(runtime, shape, own, pos, |_, crd, vals| {
        let chunks = parallel::chunks(entries.len(), BLOCK);
        let crds = parallel::split(crd, chunks.iter().map(Range::len));
        let vals = parallel::split(vals, chunks.iter().map(Range::len));
        let work = chunks.into_iter().zip(crds).zip(vals).collect();
        parallel::each(runtime, work, |((chunk, crd), vals)| {
            let from = entries.start + chunk.start..entries.start + chunk.end;
            crd.copy_from_slice(&triplets.cols()[from.clone()]);
            vals.copy_from_slice(&triplets.vals()[from]);
        });
    })
}

/// The entries of this rank's rows, by blocks of rows.
struct Blocks<T> {
    /// The number of rows, of which `1 << shift` make a block.
    n_rows: usize,
    shift: u32,
    /// The number of entries of each block.
    lens: Vec<usize>,
    /// Row, counted from the first of the rank, and column in one word; sorted, the column alone.
    places: Vec<u64>,
    vals: Vec<T>,
}

impl<T: Numeric> Blocks<T> {
    /// Deals out the entries of some rows.
    fn deal(runtime: &Runtime, triplets: &Triplets<T>, own: Range<usize>) -> Self {
        let wanted = (triplets.len() / BLOCK).clamp(1, MOST_BLOCKS);
        let shift = own
            .len()
            .div_ceil(wanted)
            .next_power_of_two()
            .trailing_zeros();
        let n_blocks = own.len().div_ceil(1 << shift);
        // Which block an entry belongs to, and its row counted from the first of this rank.
        let block_of = |row: u32| {
            let row = (row as usize).wrapping_sub(own.start);
            (row < own.len()).then_some((row >> shift, row))
        };
        let share = triplets.len().div_ceil(runtime.config().threads).max(1);
        let chunks = parallel::chunks(triplets.len(), share);
        let counts = parallel::map(runtime, chunks.clone(), |chunk| {
            let mut counts = vec![0usize; n_blocks];
            for (block, _) in triplets.rows()[chunk]
                .iter()
                .filter_map(|&row| block_of(row))
            {
                counts[block] += 1;
            }
            counts
        });
        let lens: Vec<usize> = (0..n_blocks)
            .map(|block| counts.iter().map(|counts| counts[block]).sum())
            .collect();
        let total = lens.iter().sum();
        let (mut places, mut vals) = (vec![0u64; total], vec![T::ZERO; total]);
        let places_of = sections(&mut places, &counts, n_blocks);
        let vals_of = sections(&mut vals, &counts, n_blocks);
        let work = chunks.into_iter().zip(places_of).zip(vals_of).collect();
        parallel::each(runtime, work, |((chunk, mut places), mut vals)| {
            for k in chunk {
                let Some((block, row)) = block_of(triplets.rows()[k]) else {
                    continue;
                };
                let place = (row as u64) << 32 | u64::from(triplets.cols()[k]);
                if let (Some(to), Some(value)) = (places[block].next(), vals[block].next()) {
                    (*to, *value) = (place, triplets.vals()[k]);
                }
            }
        });
        Self {
            n_rows: own.len(),
            shift,
            lens,
            places,
            vals,
        }
    }

    /// Sorts each block and sums its duplicates; the positions of the rows.
    fn sort(&mut self, runtime: &Runtime) -> Vec<u64> {
        let mut pos = vec![0u64; self.n_rows + 1];
        let rows = parallel::chunks(self.n_rows, 1 << self.shift);
        let counts = parallel::split(&mut pos[1..], rows.iter().map(Range::len));
        let places = parallel::split(&mut self.places, self.lens.iter().copied());
        let vals = parallel::split(&mut self.vals, self.lens.iter().copied());
        let work = rows.into_iter().zip(counts).zip(places).zip(vals).collect();
        parallel::each(runtime, work, |(((rows, counts), places), vals)| {
            sort_block(rows.start, counts, places, vals);
        });
        assemble::add_up(&mut pos);
        pos
    }

    /// Copies the sorted entries to their rows.
    fn copy_out(&self, runtime: &Runtime, pos: &[u64], crd: &mut [u32], vals: &mut [T]) {
        let rows = parallel::chunks(self.n_rows, 1 << self.shift);
        let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
        let crds = parallel::split(crd, rows.iter().map(len));
        let vals = parallel::split(vals, rows.iter().map(len));
        let begins = self.lens.iter().scan(0, |end, len| {
            *end += len;
            Some(*end - len)
        });
        let work = begins.zip(crds).zip(vals).collect();
        parallel::each(runtime, work, |((begin, crd), vals)| {
            let sorted = begin..begin + crd.len();
            for (column, place) in crd.iter_mut().zip(&self.places[sorted.clone()]) {
                *column = *place as u32;
            }
            vals.copy_from_slice(&self.vals[sorted]);
        });
    }
}

/// Where each chunk puts its entries of each block: blocks one after the other, within a block the
/// chunks, so that entries of a block keep their order.
fn sections<'a, E>(
    all: &'a mut [E],
    counts: &[Vec<usize>],
    n_blocks: usize,
) -> Vec<Vec<IterMut<'a, E>>> {
    let by_block = (0..n_blocks).flat_map(|block| counts.iter().map(move |counts| counts[block]));
    let mut sections: Vec<Vec<_>> = counts
        .iter()
        .map(|_| Vec::with_capacity(n_blocks))
        .collect();
    for (number, section) in parallel::split(all, by_block).into_iter().enumerate() {
        sections[number % counts.len()].push(section.iter_mut());
    }
    sections
}

/// Sorts the entries of some rows by row and column, sums duplicates in their order, and counts
/// what is left of each row. The sorted columns and values stand at the beginning.
fn sort_block<T: Numeric>(first: usize, counts: &mut [u64], places: &mut [u64], vals: &mut [T]) {
    let row_of = |place: u64| (place >> 32) as usize - first;
    let mut next = vec![0usize; counts.len() + 1];
    for &place in &*places {
        next[row_of(place) + 1] += 1;
    }
    for row in 0..counts.len() {
        next[row + 1] += next[row];
    }
    let mut columns = vec![0u32; places.len()];
    let mut sorted = vec![T::ZERO; places.len()];
    for (&place, &value) in places.iter().zip(&*vals) {
        let to = &mut next[row_of(place)];
        (columns[*to], sorted[*to]) = (place as u32, value);
        *to += 1;
    }
    // Each row now begins where the one before it ends.
    let (mut begin, mut len) = (0, 0);
    for (count, &end) in counts.iter_mut().zip(&next) {
        let (columns, sorted) = (&mut columns[begin..end], &mut sorted[begin..end]);
        sort_row(columns, sorted);
        let row = len;
        for (&column, &value) in columns.iter().zip(&*sorted) {
            if len > row && places[len - 1] == u64::from(column) {
                vals[len - 1] = vals[len - 1].plus(value);
            } else {
                (places[len], vals[len]) = (u64::from(column), value);
                len += 1;
            }
        }
        *count = (len - row) as u64;
        begin = end;
    }
}

/// Sorts a row by column; entries of one column stay in their order.
fn sort_row<T: Numeric>(columns: &mut [u32], vals: &mut [T]) {
    if columns.is_sorted() {
        return;
    }
    if columns.len() > SHORT {
        let mut entries: Vec<_> = columns.iter().copied().zip(vals.iter().copied()).collect();
        entries.sort_by_key(|&(column, _)| column);
        for (k, entry) in entries.into_iter().enumerate() {
            (columns[k], vals[k]) = entry;
        }
        return;
    }
    for end in 1..columns.len() {
        let (column, value) = (columns[end], vals[end]);
        let mut to = end;
        while to > 0 && columns[to - 1] > column {
            (columns[to], vals[to]) = (columns[to - 1], vals[to - 1]);
            to -= 1;
        }
        (columns[to], vals[to]) = (column, value);
    }
}
