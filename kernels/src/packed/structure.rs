//! The structure of a packed piece: runs of rows with equal offsets, windows of other rows.
//!
//! A run is worth its descriptor from eight rows on. Between two such runs, up to four rows are
//! runs of their own (the ends of a grid's lines); all other rows go to windows, which begin at
//! multiples of [`WINDOW`] where the rows before them allow it, unless they are paced runs
//! (`paced.rs`).

use super::advance::end_of_advance;
use super::paced::Paced;
use super::{GROUP, PART, WINDOW, split};
use crate::workers::Workers;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The rows from which on a run is worth a descriptor.
const LONG: usize = 8;
/// The most rows between two long runs that are runs of their own.
const GAP: usize = 4;
/// Columns that may be read behind the last one; they mean nothing.
pub(crate) const COLUMN_SLACK: usize = 72;
/// How many of the last blocks are searched for a pattern.
const RECENT: usize = 16;

/// A piece in plain form, as [`crate::launch::Structure`] describes it: local columns, of which
/// those from `own_len` on are ghosts.
#[derive(Clone, Copy, Debug)]
pub struct PlainRows<'a> {
    /// One position more than there are rows, never decreasing.
    pub pos: &'a [u64],
    /// The columns of the entries from position `pos[0]` on.
    pub crd: &'a [u32],
    /// The number of columns that are not ghosts.
    pub own_len: usize,
}

impl<'a> PlainRows<'a> {
    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pos.len() - 1
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of a row, counted from the first of the piece.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        entries(self.pos, row)
    }

    pub(super) fn columns(&self, row: usize) -> &'a [u32] {
        &self.crd[self.entries(row)]
    }

    fn has_ghosts(&self, row: usize) -> bool {
        let is_ghost = |&column: &u32| column as usize >= self.own_len;
        self.columns(row).iter().any(is_ghost)
    }

    /// The end of the rows, of these, whose columns are those of the row `period` rows before,
    /// advanced by `by`.
    pub(super) fn end_of_advance(&self, rows: Range<usize>, pace: (usize, u32)) -> usize {
        end_of_advance(self.pos, self.crd, rows, pace)
    }

    /// Calls `visit` with the number and the rows of each part, on all threads.
    pub(super) fn for_each_part(
        &self,
        workers: &Workers,
        visit: impl Fn(usize, Range<usize>) + Sync,
    ) {
        workers.run(self.len().div_ceil(PART), |part| {
            visit(part, part * PART..((part + 1) * PART).min(self.len()));
        });
    }
}

/// The entries of a row, counted from the first of the piece.
pub(super) fn entries(pos: &[u64], row: usize) -> Range<usize> {
    (pos[row] - pos[0]) as usize..(pos[row + 1] - pos[0]) as usize
}

/// Where the rows of a piece have their entries; see [`super`].
#[derive(Debug)]
pub struct PackedStructure {
    pub(super) parts: Vec<StructurePart>,
    column_bytes: usize,
}

/// Up to [`PART`] rows.
#[derive(Debug, Default)]
pub(super) struct StructurePart {
    pub(super) n_rows: usize,
    pub(super) blocks: Vec<RowBlock>,
    /// The offsets of all patterns, one pattern after the other.
    offsets: Vec<i32>,
    /// The windows' rows from long to short, as distances from the window's first one.
    order: Vec<u8>,
    /// The lengths of these rows.
    lengths: Vec<u32>,
    pub(super) windows: Vec<Window>,
    pub(super) paced: Vec<Paced>,
    /// Bytes of the columns of all windows.
    column_bytes: usize,
    /// Where these begin among those of all parts.
    column_start: usize,
}

/// Neighbouring rows that are packed alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowBlock {
    /// The first row, counted from the first of the part.
    pub(super) first: u32,
    pub(super) len: u32,
    pub(super) kind: BlockKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Rows with equal offsets.
    Run(Pattern),
    /// Rows whose columns advance by another pace: the number of their run.
    Paced(u32),
    /// Other rows: the number of their window.
    Window(u32),
}

/// The offsets of the rows of a run: their place among the part's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// Rows without a common pattern; their columns lie side by side in groups of eight rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The first of its rows in [`StructurePart::order`] and `lengths`.
    pub(crate) rows: u32,
    pub(crate) len: u32,
    pub(crate) width: Width,
    /// The column that distances are counted from.
    pub(crate) base: u32,
    /// Where its columns begin.
    pub(crate) columns: usize,
}

/// How the columns of a window are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    U8,
    U16,
    U32,
    /// Four bytes, some of them ghosts.
    Ghosts,
}

impl Width {
    const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::Ghosts => 4,
        }
    }

    fn read(self, bytes: &[u8]) -> u32 {
        match *bytes {
            [byte] => u32::from(byte),
            [a, b] => u32::from(u16::from_ne_bytes([a, b])),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
            _ => unreachable!("columns are stored in 1, 2 or 4 bytes"),
        }
    }

    fn write(self, distance: u32, target: &mut [u8]) {
        match self {
            Self::U8 => target.copy_from_slice(&(distance as u8).to_ne_bytes()),
            Self::U16 => target.copy_from_slice(&(distance as u16).to_ne_bytes()),
            Self::U32 | Self::Ghosts => target.copy_from_slice(&distance.to_ne_bytes()),
        }
    }
}

impl PackedStructure {
    /// Looks at the columns of all rows once, on all threads.
    ///
    /// # Panics
    /// If the rows are not those of a structure: positions that decrease, or fewer columns.
    #[must_use]
    pub fn plan(rows: PlainRows<'_>, workers: &Workers) -> Self {
        let parts: Vec<OnceLock<StructurePart>> = (0..rows.len().div_ceil(PART))
            .map(|_| OnceLock::new())
            .collect();
        rows.for_each_part(workers, |number, range| {
            let _ = parts[number].set(StructurePart::plan(rows, range));
        });
        let mut structure = Self {
            parts: Vec::with_capacity(parts.len()),
            column_bytes: 0,
        };
        for part in parts {
            let mut part = part.into_inner().expect("every part has been planned");
            part.column_start = structure.column_bytes;
            structure.column_bytes += part.column_bytes;
            for window in &mut part.windows {
                window.columns += part.column_start;
            }
            structure.parts.push(part);
        }
        if structure.column_bytes > 0 {
            structure.column_bytes += COLUMN_SLACK * size_of::<u32>();
        }
        structure
    }

    /// The bytes that [`Self::fill_columns`] fills.
    #[must_use]
    pub fn column_bytes(&self) -> usize {
        self.column_bytes
    }

    /// The offsets of a pattern of a part.
    #[inline]
    pub(crate) fn offsets(&self, part: usize, pattern: Pattern) -> &[i32] {
        self.parts[part].offsets_of(pattern)
    }

    /// A paced run of a part.
    #[inline]
    pub(crate) fn paced(&self, part: usize, number: u32) -> &Paced {
        &self.parts[part].paced[number as usize]
    }

    /// A window of a part, the order of its rows and their lengths.
    #[inline]
    pub(crate) fn window(&self, part: usize, number: u32) -> (&Window, &[u8], &[u32]) {
        let part = &self.parts[part];
        let window = &part.windows[number as usize];
        let rows = window.rows as usize..(window.rows + window.len) as usize;
        (window, &part.order[rows.clone()], &part.lengths[rows])
    }

    /// The bytes of everything but the columns.
    pub(super) fn descriptor_bytes(&self) -> usize {
        let of_part = |part: &StructurePart| {
            size_of_val(&*part.offsets)
                + part.order.len()
                + size_of_val(&*part.lengths)
                + size_of_val(&*part.windows)
                + size_of_val(&*part.paced)
        };
        self.parts.iter().map(of_part).sum()
    }

    /// Writes the columns of all windows, on all threads.
    ///
    /// # Panics
    /// If `target` has not [`Self::column_bytes`] bytes, or `rows` are not those of the plan.
    pub fn fill_columns(&self, rows: PlainRows<'_>, target: &mut [u8], workers: &Workers) {
        assert_eq!(target.len(), self.column_bytes, "room for all columns");
        let targets = split(target, self.parts.iter().map(|part| part.column_bytes));
        rows.for_each_part(workers, |number, range| {
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.parts[number].fill_columns(rows, range.start, &mut target);
        });
    }

    /// The columns of all entries, as they were before they were packed, on all threads.
    ///
    /// # Panics
    /// If `pos` are not the positions of the plan, `columns` not what [`Self::fill_columns`] has
    /// filled, or `target` has not room for all columns.
    pub fn unpack(&self, pos: &[u64], columns: &[u8], target: &mut [u32], workers: &Workers) {
        let targets = self.split_entries(pos, 1, target);
        workers.run(self.parts.len(), |number| {
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.parts[number].unpack(pos, number * PART, columns, &mut target);
        });
    }

    /// The entries of each part, of which each takes `unit` elements of `target`.
    pub(super) fn split_entries<'t, T>(
        &self,
        pos: &[u64],
        unit: usize,
        target: &'t mut [T],
    ) -> Vec<Mutex<&'t mut [T]>> {
        let mut first = 0;
        let entries = self.parts.iter().map(|part| {
            let end = first + part.n_rows;
            let entries = pos[end] - pos[first];
            first = end;
            entries as usize * unit
        });
        split(target, entries)
    }
}

impl StructurePart {
    fn unpack(&self, pos: &[u64], start: usize, columns: &[u8], target: &mut [u32]) {
        let base = entries(pos, start).start;
        for block in &self.blocks {
            let first = start + block.first as usize;
            match block.kind {
                BlockKind::Run(pattern) => {
                    for row in first..first + block.len as usize {
                        let offsets = self.offsets_of(pattern).iter();
                        let columns =
                            offsets.map(|&offset| (row as i64 + i64::from(offset)) as u32);
                        let at = entries(pos, row).start - base;
                        for (target, column) in target[at..].iter_mut().zip(columns) {
                            *target = column;
                        }
                    }
                }
                BlockKind::Paced(number) => {
                    let run = self.paced[number as usize];
                    for distance in 0..block.len as usize {
                        let (pattern, column) = run.row(distance);
                        let offsets = self.offsets_of(pattern).iter();
                        let columns = offsets.map(|&offset| column as u32 + offset.cast_unsigned());
                        let at = entries(pos, first + distance).start - base;
                        for (target, column) in target[at..].iter_mut().zip(columns) {
                            *target = column;
                        }
                    }
                }
                BlockKind::Window(number) => {
                    let window = self.windows[number as usize];
                    let size = window.width.bytes();
                    let mut stored = columns[window.columns..].chunks_exact(size);
                    self.for_each_entry(window, |row, k| {
                        let distance = stored.next().map_or(0, |bytes| window.width.read(bytes));
                        let at = entries(pos, first + row).start - base + k;
                        target[at] = window.base + distance;
                    });
                }
            }
        }
    }

    fn plan(rows: PlainRows<'_>, range: Range<usize>) -> Self {
        let mut part = Self {
            n_rows: range.len(),
            ..Self::default()
        };
        let mut row = range.start;
        // Short runs since the last long one: how many rows, and the first of the runs.
        let mut short = Vec::with_capacity(GAP + 1);
        let mut first_short = row;
        while row < range.end {
            let run = Run::new(rows, row..range.end);
            row = run.rows.end;
            if run.rows.len() >= LONG && run.is_regular {
                part.add_short(rows, range.start, &short, first_short..run.rows.start);
                part.add_run(rows, range.start, &run);
                short.clear();
                first_short = row;
            } else if short.len() <= GAP {
                short.push(run);
            }
        }
        part.add_short(rows, range.start, &short, first_short..range.end);
        part
    }

    /// Adds the rows between two long runs, which `short` are the runs of if they are few.
    fn add_short(&mut self, rows: PlainRows<'_>, start: usize, short: &[Run], range: Range<usize>) {
        if range.len() <= GAP && short.iter().all(|run| run.is_regular) {
            short.iter().for_each(|run| self.add_run(rows, start, run));
        } else if !range.is_empty() {
            self.add_others(rows, start, range);
        }
    }

    fn add_run(&mut self, rows: PlainRows<'_>, start: usize, run: &Run) {
        let row = run.rows.start;
        let offset = |&column: &u32| (i64::from(column) - row as i64) as i32;
        let offsets: Vec<i32> = rows.columns(row).iter().map(offset).collect();
        let pattern = self.pattern(&offsets);
        self.blocks.push(RowBlock {
            first: (row - start) as u32,
            len: run.rows.len() as u32,
            kind: BlockKind::Run(pattern),
        });
    }

    /// The place of these offsets: that of an equal pattern among the last ones, or a new one.
    pub(super) fn pattern(&mut self, offsets: &[i32]) -> Pattern {
        let is_same = |pattern: &Pattern| self.offsets_of(*pattern) == offsets;
        for block in self.blocks.iter().rev().take(RECENT) {
            let found = match block.kind {
                BlockKind::Run(pattern) => Some(pattern).filter(is_same),
                BlockKind::Paced(number) => {
                    let patterns = self.paced[number as usize].patterns;
                    patterns.into_iter().find(is_same)
                }
                BlockKind::Window(_) => None,
            };
            if let Some(pattern) = found {
                return pattern;
            }
        }
        let start = self.offsets.len() as u32;
        self.offsets.extend_from_slice(offsets);
        Pattern {
            start,
            len: offsets.len() as u32,
        }
    }

    pub(super) fn offsets_of(&self, pattern: Pattern) -> &[i32] {
        &self.offsets[pattern.start as usize..(pattern.start + pattern.len) as usize]
    }

    pub(super) fn add_paced_block(&mut self, start: usize, rows: Range<usize>, run: Paced) {
        self.blocks.push(RowBlock {
            first: (rows.start - start) as u32,
            len: rows.len() as u32,
            kind: BlockKind::Paced(self.paced.len() as u32),
        });
        self.paced.push(run);
    }

    pub(super) fn add_windows(&mut self, rows: PlainRows<'_>, start: usize, range: Range<usize>) {
        let mut first = range.start;
        while first < range.end {
            let end = ((first - start) / WINDOW + 1) * WINDOW + start;
            let end = end.min(range.end);
            self.add_window(rows, start, first..end);
            first = end;
        }
    }

    fn add_window(&mut self, rows: PlainRows<'_>, start: usize, range: Range<usize>) {
        let mut order: Vec<u8> = (0..range.len()).map(|row| row as u8).collect();
        order.sort_by_key(|&row| usize::MAX - rows.entries(range.start + row as usize).len());
        let columns = || range.clone().flat_map(|row| rows.columns(row));
        let base = columns().min().copied().unwrap_or(0);
        let reach = columns().max().copied().unwrap_or(0) - base;
        let width = match reach {
            _ if range.clone().any(|row| rows.has_ghosts(row)) => Width::Ghosts,
            0..=0xff => Width::U8,
            0x100..=0xffff => Width::U16,
            _ => Width::U32,
        };
        self.blocks.push(RowBlock {
            first: (range.start - start) as u32,
            len: range.len() as u32,
            kind: BlockKind::Window(self.windows.len() as u32),
        });
        self.windows.push(Window {
            rows: self.order.len() as u32,
            len: range.len() as u32,
            width,
            base: if width == Width::Ghosts { 0 } else { base },
            columns: self.column_bytes,
        });
        let length = |&row: &u8| rows.entries(range.start + row as usize).len() as u32;
        self.lengths.extend(order.iter().map(length));
        self.order.extend(order);
        let entries = rows.entries(range.end - 1).end - rows.entries(range.start).start;
        self.column_bytes += (entries * width.bytes()).next_multiple_of(8);
    }

    fn fill_columns(&self, rows: PlainRows<'_>, start: usize, target: &mut [u8]) {
        for block in &self.blocks {
            let BlockKind::Window(number) = block.kind else {
                continue;
            };
            let window = self.windows[number as usize];
            let mut at = window.columns - self.column_start;
            let size = window.width.bytes();
            let first = start + block.first as usize;
            self.for_each_entry(window, |row, k| {
                let entry = rows.entries(first + row).start + k;
                window
                    .width
                    .write(rows.crd[entry] - window.base, &mut target[at..at + size]);
                at += size;
            });
        }
    }

    /// The number of entries of a window.
    pub(super) fn window_entries(&self, number: u32) -> usize {
        let window = self.windows[number as usize];
        let lengths = &self.lengths[window.rows as usize..(window.rows + window.len) as usize];
        lengths.iter().map(|&length| length as usize).sum()
    }

    /// Visits the entries of a window in the order in which they are stored: the row within the
    /// window, and the number of the entry within the row. For each group, those that all of its
    /// rows have, side by side; then the rest of each row.
    pub(super) fn for_each_entry(&self, window: Window, mut visit: impl FnMut(usize, usize)) {
        let range = window.rows as usize..(window.rows + window.len) as usize;
        let groups = self.order[range.clone()].chunks(GROUP);
        for (rows, lengths) in groups.zip(self.lengths[range].chunks(GROUP)) {
            let common = common_length(lengths);
            for k in 0..common {
                rows.iter().for_each(|&row| visit(row as usize, k as usize));
            }
            for (&row, &length) in rows.iter().zip(lengths) {
                (common..length).for_each(|k| visit(row as usize, k as usize));
            }
        }
    }
}

/// The entries that lie side by side in a group of rows, the longest first: none in the last group
/// of a window, if it has fewer rows.
#[inline(always)]
pub(crate) fn common_length(lengths: &[u32]) -> u32 {
    if lengths.len() == GROUP {
        lengths[GROUP - 1]
    } else {
        0
    }
}

/// Neighbouring rows with equal offsets.
#[derive(Debug)]
struct Run {
    rows: Range<usize>,
    /// Whether the rows need no ghosts and their offsets fit 32 bits.
    is_regular: bool,
}

impl Run {
    /// The run that begins with the first of these rows.
    fn new(rows: PlainRows<'_>, range: Range<usize>) -> Self {
        let row = range.start;
        let is_regular = is_regular(rows, row);
        let mut end = row + 1;
        if is_regular && end < range.end {
            // Columns advance by one each row, as far as there are own ones.
            end = rows.end_of_advance(end..range.end, (1, 1));
            if end > row + 1 {
                let last = rows.columns(row).iter().max();
                let most = last.map_or(usize::MAX, |&column| rows.own_len - column as usize);
                end = end.min(row.saturating_add(most));
            }
        }
        Self {
            rows: row..end,
            is_regular,
        }
    }
}

fn is_regular(rows: PlainRows<'_>, row: usize) -> bool {
    let columns = rows.columns(row);
    let fits = |&column: &u32| {
        (column as usize) < rows.own_len && i32::try_from(i64::from(column) - row as i64).is_ok()
    };
    columns.iter().all(fits)
}
