//! The structure of a packed piece: runs of rows with equal offsets, paced runs, windows of other
//! rows; reading them, and the columns of windows in memory that others provide.
//!
//! Which rows are packed how is planned in `plan.rs` and `paced.rs`.

use super::rows::{PlainRows, entries};
use super::{GROUP, PART, split};
use crate::workers::Workers;
use std::sync::{Mutex, PoisonError};

/// Columns that may be read behind the last one; they mean nothing.
pub(crate) const COLUMN_SLACK: usize = 72;

/// Where the rows of a piece have their entries; see [`super`].
#[derive(Debug)]
pub struct PackedStructure {
    pub(super) parts: Vec<StructurePart>,
    pub(super) column_bytes: usize,
    /// Whether most rows are in windows.
    pub(super) is_mostly_windows: bool,
}

/// Up to [`PART`] rows.
#[derive(Debug, Default)]
pub(super) struct StructurePart {
    pub(super) n_rows: usize,
    pub(super) blocks: Vec<RowBlock>,
    /// The offsets of all patterns, one pattern after the other.
    pub(super) offsets: Vec<i32>,
    /// The windows' rows from long to short, as distances from the window's first one.
    pub(super) order: Vec<u8>,
    /// The lengths of these rows.
    pub(super) lengths: Vec<u32>,
    pub(super) windows: Vec<Window>,
    pub(super) paced: Vec<Paced>,
    /// Bytes of the columns of all windows.
    pub(super) column_bytes: usize,
    /// Where these begin among those of all parts.
    pub(super) column_start: usize,
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
    pub(super) const fn bytes(self) -> usize {
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

/// How the columns of a run advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// By two each row.
    Double,
    /// By one every second row.
    Half,
}

impl Pace {
    /// After how many rows the offsets are the same again.
    pub(crate) const fn period(self) -> usize {
        match self {
            Self::Double => 1,
            Self::Half => 2,
        }
    }

    /// By how much the columns have advanced then.
    pub(crate) const fn advance(self) -> usize {
        match self {
            Self::Double => 2,
            Self::Half => 1,
        }
    }
}

/// Neighbouring rows of one pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paced {
    pub(crate) pace: Pace,
    /// The column that the offsets of the first rows are counted from.
    pub(crate) base: u32,
    /// The offsets of the first row, and of the second one where the period is two rows.
    pub(crate) patterns: [Pattern; 2],
}

impl Paced {
    /// The offsets of the row with this distance from the first, and the column they are counted
    /// from.
    #[inline(always)]
    pub(crate) fn row(&self, distance: usize) -> (Pattern, usize) {
        let period = self.pace.period();
        let column = self.base as usize + distance / period * self.pace.advance();
        (self.patterns[distance % period], column)
    }

    /// The entries of the rows before the one with this distance from the first.
    #[inline(always)]
    pub(crate) fn entries_before(&self, distance: usize) -> usize {
        let lens = self.patterns.map(|pattern| pattern.len as usize);
        match self.pace {
            Pace::Double => distance * lens[0],
            Pace::Half => distance / 2 * (lens[0] + lens[1]) + distance % 2 * lens[0],
        }
    }
}

impl PackedStructure {
    /// Whether most rows are in windows.
    pub(crate) fn is_mostly_windows(&self) -> bool {
        self.is_mostly_windows
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

    pub(super) fn offsets_of(&self, pattern: Pattern) -> &[i32] {
        &self.offsets[pattern.start as usize..(pattern.start + pattern.len) as usize]
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
