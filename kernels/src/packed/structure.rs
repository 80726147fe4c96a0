//! The structure of a packed piece: runs of rows with equal offsets, paced runs, windows of other
//! rows (`window.rs`); reading them, and the columns of windows in memory that others provide.
//!
//! Which rows are packed how is planned in `plan.rs` and `paced.rs`.

use super::rows::{PlainRows, entries};
use super::window::{Nodes, NodesOf, Window};
use super::{PART, split};
use crate::workers::Workers;
use std::sync::{Mutex, PoisonError};

/// Columns that may be read behind the last one; they mean nothing.
pub(crate) const COLUMN_SLACK: usize = 72;

/// Where the rows of a piece have their entries; see [`super`].
#[derive(Debug)]
pub struct PackedStructure {
    pub(super) parts: Vec<StructurePart>,
    pub(super) column_bytes: usize,
}

/// Up to [`PART`] rows.
#[derive(Debug, Default)]
pub(super) struct StructurePart {
    pub(super) n_rows: usize,
    pub(super) blocks: Vec<RowBlock>,
    /// The offsets of all patterns, one pattern after the other.
    pub(super) offsets: Vec<i32>,
    /// The nodes of the windows, one window after the other.
    pub(super) nodes: Nodes,
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
    /// The bytes that [`Self::fill_columns`] fills.
    #[must_use]
    pub fn column_bytes(&self) -> usize {
        self.column_bytes
    }

    /// The offsets of all patterns of a part.
    #[inline]
    pub(crate) fn offsets(&self, part: usize) -> &[i32] {
        &self.parts[part].offsets
    }

    /// A paced run of a part.
    #[inline]
    pub(crate) fn paced(&self, part: usize, number: u32) -> &Paced {
        &self.parts[part].paced[number as usize]
    }

    /// A window of a part, and its nodes.
    #[inline]
    pub(crate) fn window(&self, part: usize, number: u32) -> (&Window, NodesOf<'_>) {
        let part = &self.parts[part];
        let window = &part.windows[number as usize];
        (window, part.nodes.of(window))
    }

    /// The bytes of everything but the columns.
    pub(super) fn descriptor_bytes(&self) -> usize {
        let of_part = |part: &StructurePart| {
            size_of_val(&*part.offsets)
                + part.nodes.bytes()
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
        let put = |target: &mut [u32], row: usize, column: u32, offsets: &[i32]| {
            let target = &mut target[entries(pos, row).start - base..];
            for (target, &offset) in target.iter_mut().zip(offsets) {
                *target = column.wrapping_add_signed(offset);
            }
        };
        for block in &self.blocks {
            let first = start + block.first as usize;
            match block.kind {
                BlockKind::Run(pattern) => {
                    let offsets = self.offsets_of(pattern);
                    for row in first..first + block.len as usize {
                        put(target, row, row as u32, offsets);
                    }
                }
                BlockKind::Paced(number) => {
                    let run = self.paced[number as usize];
                    for distance in 0..block.len as usize {
                        let (pattern, column) = run.row(distance);
                        put(
                            target,
                            first + distance,
                            column as u32,
                            self.offsets_of(pattern),
                        );
                    }
                }
                BlockKind::Window(number) => {
                    let window = self.windows[number as usize];
                    let columns = &columns[window.columns..];
                    let start_of = |row: usize| entries(pos, first + row).start - base;
                    window.unpack(self.nodes.of(&window), columns, start_of, target);
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
            let target = &mut target[window.columns - self.column_start..];
            let first = start + block.first as usize;
            let start_of = |row: usize| rows.entries(first + row).start;
            window.fill(self.nodes.of(&window), rows.crd, start_of, target);
        }
    }

    /// The number of entries of a window.
    pub(super) fn window_entries(&self, number: u32) -> usize {
        self.nodes.of(&self.windows[number as usize]).entries()
    }
}
