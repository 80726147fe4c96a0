//! Products with the conjugate transpose of some rows, `y += A^H x`, without making it.
//!
//! Each row brings its entries, times its element of `x`, to the elements of `y` that its columns
//! name, one fused multiply-add each; and rows are gone through in ascending order. So each element
//! of `y` is summed in the order in which a row of the transpose has its entries, and has the bits
//! of a product with that.
//!
//! A [`Pass`] says how rows are gone through, found once. Neighbouring rows with equal offsets
//! (column minus row) are a run; where their values are equal too, a pass reads neither columns nor
//! values of it, but goes diagonal by diagonal through blocks of rows, the last diagonal first,
//! which is the same order. Threads have neighbouring columns each, about as many entries; of rows
//! outside of runs the pass knows where the entries of each thread begin.
//!
//! Moves, per entry outside of runs, 4 bytes of columns and an element; in runs an element, or
//! nothing where values are equal; 16 bytes for each row outside of runs and each thread; `x` once
//! for each thread, and `y` as often as the caches do not hold what neighbouring rows name.

use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::{Computation, prefetch_all};
use sparsefuse_runtime::{Error, reserve};
use std::ops::Range;

/// Runs of fewer rows are gone through entry by entry.
const SHORTEST: usize = 32;
/// Rows of a run that are gone through diagonal by diagonal: few enough that they and what they
/// name stay in the L1 cache.
const BLOCK: usize = 512;
/// The same of a run whose values are put side by side.
const SHORT_BLOCK: usize = 128;

/// How some rows are gone through; see the module's text.
#[derive(Debug)]
pub(crate) struct Pass<T> {
    segments: Vec<Segment<T>>,
    /// The columns at which those of the threads begin, and the end of those of the last one.
    cuts: Vec<usize>,
    /// For each of the cuts and each row outside of runs, its first entry at or behind the cut.
    starts: Vec<Vec<u64>>,
    /// Columns and values of the entries that a pass reads, where these are few: then it does not
    /// need those of the matrix.
    own: Option<(Vec<u32>, Vec<T>)>,
}

/// Neighbouring rows that are gone through alike.
#[derive(Debug)]
struct Segment<T> {
    rows: Range<usize>,
    /// No column of these rows, and of those before them, is as large.
    reach: usize,
    kind: Kind<T>,
}

#[derive(Debug)]
enum Kind<T> {
    /// Equal offsets, and equal values, which are conjugated.
    Stencil(Vec<(isize, T)>),
    /// Equal offsets: the first row's entries begin here.
    Run(Vec<isize>, usize),
    /// Others: the number of the first of them among all.
    Rows(usize),
}

impl<T: Numeric> Pass<T> {
    /// How to go through rows of a matrix of `n_cols` columns for its columns between the first
    /// and the last cut.
    ///
    /// # Errors
    ///
    /// If the system refuses the memory.
    pub(crate) fn new(rows: Rows<'_, T>, cuts: Vec<usize>) -> Result<Self, Error> {
        let mut segments = segments(rows);
        let is_read = |segment: &Segment<T>| !matches!(segment.kind, Kind::Stencil(_));
        let of = |segment: &Segment<T>| {
            let last = rows.entries(segment.rows.end - 1);
            rows.entries(segment.rows.start).start..last.end
        };
        let read = segments.iter().filter(|segment| is_read(segment));
        let n_read: usize = read.map(|segment| of(segment).len()).sum();
        let mut own = None;
        // Where the entries of a segment begin among those that are read.
        let mut begins = Vec::with_capacity(segments.len());
        if n_read <= rows.crd.len() / 8 {
            let (mut crd, mut vals) = (reserve(n_read)?, reserve(n_read)?);
            for segment in &segments {
                begins.push(crd.len());
                if is_read(segment) {
                    crd.extend_from_slice(&rows.crd[of(segment)]);
                    vals.extend_from_slice(&rows.vals[of(segment)]);
                }
            }
            own = Some((crd, vals));
        } else {
            begins.extend(segments.iter().map(|segment| of(segment).start));
        }
        let outside = segments.iter().filter_map(|segment| match segment.kind {
            Kind::Rows(_) => Some(segment.rows.len()),
            Kind::Stencil(_) | Kind::Run(..) => None,
        });
        let outside = outside.sum();
        let starts: Result<Vec<Vec<u64>>, Error> = cuts.iter().map(|_| reserve(outside)).collect();
        let mut starts = starts?;
        for (segment, begin) in segments.iter_mut().zip(begins) {
            match &mut segment.kind {
                Kind::Stencil(_) => {}
                Kind::Run(_, first) => *first = begin,
                Kind::Rows(first) => {
                    *first = starts.first().map_or(0, Vec::len);
                    let offset = rows.entries(segment.rows.start).start;
                    for row in segment.rows.clone() {
                        let entries = rows.entries(row);
                        let columns = &rows.crd[entries.clone()];
                        for (starts, &cut) in starts.iter_mut().zip(&cuts) {
                            let place = columns.partition_point(|&col| (col as usize) < cut);
                            starts.push((entries.start + place - offset + begin) as u64);
                        }
                    }
                }
            }
        }
        Ok(Self {
            segments,
            cuts,
            starts,
            own,
        })
    }

    /// Whether it reads columns and values of the matrix.
    pub(crate) fn reads_entries(&self) -> bool {
        self.own.is_none()
    }

    /// The bytes that it keeps.
    pub(crate) fn bytes(&self) -> usize {
        let own = self.own.as_ref().map_or(0, |(crd, _)| crd.len());
        let starts: usize = self.starts.iter().map(Vec::len).sum();
        own * (4 + size_of::<T>()) + starts * 8
    }

    /// The product for the columns of a thread, to which `y` belongs: it is added to that, or
    /// written where `y` is new. Columns and values are those of the matrix, if the pass reads
    /// them.
    pub(crate) fn part<'a>(
        &'a self,
        thread: usize,
        entries: (&'a [u32], &'a [T]),
        x: &'a [T],
        (y, is_new): (&'a mut [T], bool),
    ) -> Part<'a, T> {
        let own = self.own.as_ref();
        let (crd, vals) = own.map_or(entries, |(crd, vals)| (crd, vals));
        Part {
            pass: self,
            thread,
            crd,
            vals,
            x,
            y,
            is_new,
        }
    }
}

/// The rows as segments, which do not know yet where their entries are.
fn segments<T: Numeric>(rows: Rows<'_, T>) -> Vec<Segment<T>> {
    let mut segments: Vec<Segment<T>> = Vec::new();
    let (mut begin, mut reach) = (0, 0);
    while begin < rows.len() {
        let mut end = begin + 1;
        let mut is_stencil = true;
        while end < rows.len() && repeats(rows, end) {
            let bits = |row: usize| rows.values(row).iter().map(|value| value.to_bits());
            is_stencil &= bits(end).eq(bits(end - 1));
            end += 1;
        }
        let last = rows.columns(end - 1).last();
        reach = reach.max(last.map_or(0, |&col| col as usize + 1));
        let columns = rows.columns(begin).iter();
        let mut offsets = columns.map(|&col| col as isize - begin as isize);
        let is_run = end - begin >= SHORTEST;
        let kind = match is_run {
            true if is_stencil => {
                let values = rows.values(begin).iter();
                Kind::Stencil(offsets.zip(values.map(|value| value.conjugate())).collect())
            }
            true => Kind::Run(offsets.by_ref().collect(), 0),
            false => Kind::Rows(0),
        };
        match segments.last_mut() {
            Some(Segment {
                rows,
                reach: before,
                kind: Kind::Rows(_),
            }) if !is_run => (rows.end, *before) = (end, reach),
            _ => segments.push(Segment {
                rows: begin..end,
                reach,
                kind,
            }),
        }
        begin = end;
    }
    segments
}

/// Whether a row has the offsets of the row before it.
fn repeats<T: Numeric>(rows: Rows<'_, T>, row: usize) -> bool {
    let (before, columns) = (rows.columns(row - 1), rows.columns(row));
    let mut pairs = before.iter().zip(columns);
    before.len() == columns.len() && pairs.all(|(&before, &col)| col == before + 1)
}

/// The product of some rows for the columns of one thread.
pub(crate) struct Part<'a, T> {
    pass: &'a Pass<T>,
    thread: usize,
    crd: &'a [u32],
    vals: &'a [T],
    x: &'a [T],
    y: &'a mut [T],
    is_new: bool,
}

impl<T: Numeric> Computation for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Part {
            pass,
            thread,
            crd,
            vals,
            x,
            y,
            is_new,
        } = self;
        let cols = pass.cuts[thread]..pass.cuts[thread + 1];
        // Elements of `y` that are none yet become 0 shortly before they are needed.
        let mut begun = if is_new { 0 } else { y.len() };
        let (starts, ends) = (&pass.starts[thread], &pass.starts[thread + 1]);
        for segment in &pass.segments {
            let rows = segment.rows.clone();
            let reach = segment.reach.clamp(cols.start, cols.end) - cols.start;
            if reach > begun {
                y[begun..reach].fill(T::ZERO);
                begun = reach;
            }
            match &segment.kind {
                Kind::Stencil(terms) => stencil(rows, terms, &cols, x, y),
                Kind::Run(offsets, first) => {
                    let vals = &vals[*first..][..rows.len() * offsets.len()];
                    run(rows, offsets, vals, &cols, x, y);
                }
                Kind::Rows(first) => {
                    let places = starts[*first..].iter().zip(&ends[*first..]);
                    for (&x, (&start, &end)) in x[rows].iter().zip(places) {
                        let entries = start as usize..end as usize;
                        let columns = crd[entries.clone()].iter();
                        for (&col, &value) in columns.zip(&vals[entries]) {
                            let y = &mut y[col as usize - cols.start];
                            *y = value.conjugate().times_plus(x, *y);
                        }
                    }
                }
            }
        }
        y[begun..].fill(T::ZERO);
    }
}

/// The first of some rows that has a column at or behind `cut`, by its offset.
#[inline(always)]
fn first_at(rows: &Range<usize>, cut: usize, offset: isize) -> usize {
    let first = cut as isize - offset;
    first.clamp(rows.start as isize, rows.end as isize) as usize
}

/// Those of some rows with these offsets, ascending, that may have an entry in some columns: what
/// threads do not need they do not read.
#[inline(always)]
fn within(
    rows: &Range<usize>,
    mut offsets: impl DoubleEndedIterator<Item = isize> + Clone,
    cols: &Range<usize>,
) -> Range<usize> {
    let Some(least) = offsets.clone().next() else {
        return rows.start..rows.start;
    };
    let greatest = offsets.next_back().unwrap_or(least);
    let start = first_at(rows, cols.start, greatest);
    start..first_at(rows, cols.end, least).max(start)
}

/// Rows with equal offsets and values.
#[inline(always)]
fn stencil<T: Numeric>(
    rows: Range<usize>,
    terms: &[(isize, T)],
    cols: &Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let rows = within(&rows, terms.iter().map(|&(offset, _)| offset), cols);
    let mut begin = rows.start;
    while begin < rows.end {
        let block = begin..rows.end.min(begin + BLOCK);
        begin = block.end;
        // The last diagonal first: it has the first rows of each column.
        for &(offset, value) in terms.iter().rev() {
            let rows = first_at(&block, cols.start, offset)..first_at(&block, cols.end, offset);
            if rows.is_empty() {
                continue;
            }
            let first = rows.start.wrapping_add_signed(offset) - cols.start;
            let y = &mut y[first..first + rows.len()];
            for (y, &x) in y.iter_mut().zip(&x[rows]) {
                *y = value.times_plus(x, *y);
            }
        }
    }
}

/// Rows with equal offsets, which have these values.
#[inline(always)]
fn run<T: Numeric>(
    rows: Range<usize>,
    offsets: &[isize],
    vals: &[T],
    cols: &Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let (all, width) = (rows, offsets.len());
    let rows = within(&all, offsets.iter().copied(), cols);
    let vals = &vals[(rows.start - all.start) * width..(rows.end - all.start) * width];
    match width {
        0 => {}
        2 => run_of::<T, 2>(rows, offsets, vals, cols, x, y),
        3 => run_of::<T, 3>(rows, offsets, vals, cols, x, y),
        4 => run_of::<T, 4>(rows, offsets, vals, cols, x, y),
        5 => run_of::<T, 5>(rows, offsets, vals, cols, x, y),
        7 => run_of::<T, 7>(rows, offsets, vals, cols, x, y),
        9 => run_of::<T, 9>(rows, offsets, vals, cols, x, y),
        _ => run_of_any(rows, offsets, vals, cols, x, y),
    }
}

/// Rows of `W` entries, diagonal by diagonal: the values of a block of rows are put side by side
/// first.
#[inline(always)]
fn run_of<T: Numeric, const W: usize>(
    rows: Range<usize>,
    offsets: &[isize],
    vals: &[T],
    cols: &Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let mut diagonals = [[T::ZERO; SHORT_BLOCK]; W];
    let (values, _) = vals.as_chunks::<W>();
    for (number, values) in values.chunks(SHORT_BLOCK).enumerate() {
        let begin = rows.start + number * SHORT_BLOCK;
        let block = begin..begin + values.len();
        // The values of the block after the next one, in as many parts as there are diagonals.
        let ahead = vals
            .get((number + 2) * SHORT_BLOCK * W..)
            .unwrap_or_default();
        let mut ahead = ahead.chunks(SHORT_BLOCK).take(W);
        for (place, values) in values.iter().enumerate() {
            for (diagonal, value) in diagonals.iter_mut().zip(values) {
                diagonal[place] = value.conjugate();
            }
        }
        for (diagonal, &offset) in diagonals.iter().zip(offsets).rev() {
            prefetch_all(ahead.next().unwrap_or_default());
            let rows = first_at(&block, cols.start, offset)..first_at(&block, cols.end, offset);
            if rows.is_empty() {
                continue;
            }
            let first = rows.start.wrapping_add_signed(offset) - cols.start;
            let y = &mut y[first..first + rows.len()];
            let values = &diagonal[rows.start - begin..rows.end - begin];
            for ((y, &x), &value) in y.iter_mut().zip(&x[rows]).zip(values) {
                *y = value.times_plus(x, *y);
            }
        }
    }
}

/// Rows of any length, one after the other.
#[inline(always)]
fn run_of_any<T: Numeric>(
    rows: Range<usize>,
    offsets: &[isize],
    vals: &[T],
    cols: &Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let width = offsets.len();
    for (row, values) in rows.zip(vals.chunks_exact(width)) {
        let first = |cut: usize| offsets.partition_point(|&of| row as isize + of < cut as isize);
        let terms = first(cols.start)..first(cols.end);
        let x = x[row];
        for (&offset, &value) in offsets[terms.clone()].iter().zip(&values[terms]) {
            let y = &mut y[row.wrapping_add_signed(offset) - cols.start];
            *y = value.conjugate().times_plus(x, *y);
        }
    }
}
