//! How the rows of a piece are packed: looking for runs of rows with equal offsets.
//!
//! A run is worth its descriptor from eight rows on. Between two such runs, up to four rows are
//! runs of their own (the ends of a grid's lines); all other rows go to windows, which begin at
//! multiples of [`WINDOW`] where the rows before them allow it, unless they are paced runs
//! (`paced.rs`).

use super::rows::PlainRows;
use super::structure::{
    BlockKind, COLUMN_SLACK, Paced, PackedStructure, Pattern, RowBlock, StructurePart,
};
use super::window::{HIGHEST, Width, Window};
use super::{PART, WINDOW, extend, push};
use crate::abi::CHUNK;
use crate::workers::Workers;
use std::collections::TryReserveError;
use std::ops::Range;
use std::sync::OnceLock;

/// The rows from which on a run is worth a descriptor.
const LONG: usize = 8;
/// The most rows between two long runs that are runs of their own.
const GAP: usize = 4;
/// How many of the last blocks are searched for a pattern.
const RECENT: usize = 16;

impl PackedStructure {
    /// Looks at the columns of all rows once, on all threads.
    ///
    /// # Errors
    /// Without memory for what describes the rows.
    ///
    /// # Panics
    /// If the rows are not those of a structure: positions that decrease, or fewer columns.
    pub fn plan(rows: PlainRows<'_>, workers: &Workers) -> Result<Self, TryReserveError> {
        let parts: Vec<OnceLock<Result<StructurePart, _>>> = (0..rows.len().div_ceil(PART))
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
            let mut part = part.into_inner().expect("every part has been planned")?;
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
        Ok(structure)
    }
}

impl StructurePart {
    fn plan(rows: PlainRows<'_>, range: Range<usize>) -> Result<Self, TryReserveError> {
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
                part.add_short(rows, range.start, &short, first_short..run.rows.start)?;
                part.add_run(rows, range.start, &run)?;
                short.clear();
                first_short = row;
            } else if short.len() <= GAP {
                short.push(run);
            }
        }
        part.add_short(rows, range.start, &short, first_short..range.end)?;
        Ok(part)
    }

    /// Adds the rows between two long runs, which `short` are the runs of if they are few.
    fn add_short(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        short: &[Run],
        range: Range<usize>,
    ) -> Result<(), TryReserveError> {
        if range.len() <= GAP && short.iter().all(|run| run.is_regular) {
            short
                .iter()
                .try_for_each(|run| self.add_run(rows, start, run))
        } else if range.is_empty() {
            Ok(())
        } else {
            self.add_others(rows, start, range)
        }
    }

    fn add_run(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        run: &Run,
    ) -> Result<(), TryReserveError> {
        let row = run.rows.start;
        let offset = |&column: &u32| (i64::from(column) - row as i64) as i32;
        let pattern = self.pattern(rows.columns(row).iter().map(offset))?;
        let block = RowBlock {
            first: (row - start) as u32,
            len: run.rows.len() as u32,
            kind: BlockKind::Run(pattern),
        };
        push(&mut self.blocks, block)
    }

    /// The place of these offsets: that of an equal pattern among the last ones, or a new one.
    pub(super) fn pattern(
        &mut self,
        offsets: impl ExactSizeIterator<Item = i32> + Clone,
    ) -> Result<Pattern, TryReserveError> {
        let is_same = |pattern: &Pattern| {
            self.offsets_of(*pattern)
                .iter()
                .copied()
                .eq(offsets.clone())
        };
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
                return Ok(pattern);
            }
        }
        let start = self.offsets.len() as u32;
        let len = offsets.len() as u32;
        extend(&mut self.offsets, offsets)?;
        Ok(Pattern { start, len })
    }

    pub(super) fn add_paced_block(
        &mut self,
        start: usize,
        rows: Range<usize>,
        run: Paced,
    ) -> Result<(), TryReserveError> {
        let block = RowBlock {
            first: (rows.start - start) as u32,
            len: rows.len() as u32,
            kind: BlockKind::Paced(self.paced.len() as u32),
        };
        push(&mut self.blocks, block)?;
        push(&mut self.paced, run)
    }

    pub(super) fn add_windows(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        range: Range<usize>,
    ) -> Result<(), TryReserveError> {
        // The last rows, which fill no chunk, are computed by a call of their own; in a window with
        // others those would be computed twice.
        let chunks_end = rows.len() - rows.len() % CHUNK;
        let mut first = range.start;
        while first < range.end {
            let mut end = ((first - start) / WINDOW + 1) * WINDOW + start;
            if (first + 1..end).contains(&chunks_end) {
                end = chunks_end;
            }
            let end = end.min(range.end);
            self.add_window(rows, start, first..end)?;
            first = end;
        }
        Ok(())
    }

    fn add_window(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        range: Range<usize>,
    ) -> Result<(), TryReserveError> {
        let entries = rows.entries(range.start).start..rows.entries(range.end - 1).end;
        let columns = &rows.crd[entries];
        let (least, most) = columns
            .iter()
            .fold((u32::MAX, 0), |(least, most), &column| {
                (column.min(least), column.max(most))
            });
        let base = least.min(most);
        let width = match most - base {
            _ if !columns.is_empty() && most as usize >= rows.own_len => Width::Ghosts,
            0..=0xff => Width::U8,
            0x100..=0xffff => Width::U16,
            _ => Width::U32,
        };
        let block = RowBlock {
            first: (range.start - start) as u32,
            len: range.len() as u32,
            kind: BlockKind::Window(self.windows.len() as u32),
        };
        push(&mut self.blocks, block)?;
        let first_node = self.nodes.len();
        let n_higher = self.nodes.add(nodes(rows, range.clone()))?;
        let window = Window {
            first_node: first_node as u32,
            n_nodes: (self.nodes.len() - first_node) as u32,
            n_higher: n_higher as u32,
            len: range.len() as u32,
            width,
            base: if width == Width::Ghosts { 0 } else { base },
            columns: self.column_bytes,
        };
        let columns = self.nodes.of(&window).columns();
        push(&mut self.windows, window)?;
        self.column_bytes += (columns * width.bytes()).next_multiple_of(8);
        Ok(())
    }
}

/// The nodes of the rows of a window: first row, height and length of each. More neighbouring rows
/// with equal columns than a node has are cut into nodes of nearly equal heights.
fn nodes(rows: PlainRows<'_>, range: Range<usize>) -> Vec<(u8, u8, u32)> {
    let mut nodes = Vec::new();
    let mut row = range.start;
    while row < range.end {
        let end = rows.end_of_advance(row + 1..range.end, (1, 0));
        let length = rows.entries(row).len() as u32;
        for left in (1..=(end - row).div_ceil(HIGHEST)).rev() {
            let height = (end - row).div_ceil(left);
            nodes.push(((row - range.start) as u8, height as u8, length));
            row += height;
        }
    }
    nodes
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
