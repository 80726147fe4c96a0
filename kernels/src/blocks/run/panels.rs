//! Arrays that lie across the rows of a loop, such as a transposed matrix beside another one.
//!
//! The elements of a line of such an array lie far apart, and beside each of them those of the
//! next lines. Read line by line, each line of the cache is fetched again for every element that
//! it holds; where the elements lie a power of two apart, from memory. So some lines at a time are
//! copied to a panel, in small squares, from which the steps of the loop, or its native form, read
//! them side by side. The sum of a transposed matrix of 2048 by 2048 numbers and another one: 8 ms,
//! line by line 32 ms.

use super::bound::Array;
use super::lines::{CACHE_LINE, LEAST, Lines, WIDEST, is_apart};
use super::strided::simplify;
use crate::abi::CHUNK;
use crate::blocks::compile::LoopProgram;
use crate::blocks::compile::slots::Slot;
use crate::ir::ArgId;
use crate::launch::{Launch, Layout, Operand};
use std::ops::Range;

/// The arrays of a loop that have panels, at most.
const MOST: usize = 4;
/// The smallest arrays: others stay in the L1 cache while their lines are read.
const SMALL: usize = 32 << 10;
/// The bytes of a panel, at most: some of them fit in an L2 cache or nearly so.
const BYTES: usize = 2 << 20;

/// The arrays of a run that have panels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panels {
    pub(crate) lines: Lines,
    /// The lines of a panel.
    n_lines: usize,
    pub(crate) arrays: [Option<Across>; MOST],
}

/// An array that lies across the rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Across {
    pub(crate) arg: ArgId,
    pub(crate) size: usize,
    pub(crate) data: *mut u8,
    pub(crate) layout: Layout,
    /// Where its panel begins among those of a thread, in bytes.
    pub(crate) offset: usize,
}

impl Across {
    /// An array, if its elements along the last dimension lie in different lines of the cache, and
    /// those along the one before it in the same.
    fn new(arg: ArgId, size: usize, (data, layout): (*mut u8, Layout)) -> Option<Self> {
        let layout = simplify(&layout);
        let next = (layout.rank as usize).checked_sub(2)?;
        let is_across = Lines::along_last(layout).are_across(&layout, size);
        let is_long = layout.dims[next + 1] >= LEAST[0] && layout.dims[next] >= LEAST[1];
        let is_large = layout.len() * size > SMALL;
        let fits = layout.dims[next + 1] <= BYTES / CACHE_LINE;
        (is_across && is_long && is_large && fits).then_some(Self {
            arg,
            size,
            data,
            layout,
            offset: 0,
        })
    }
}

impl Panels {
    /// The panels of a run. What the loop writes has none: rows are copied before they are run.
    pub(crate) fn of(program: &LoopProgram, launch: &Launch<'_>, bound: &[Array]) -> Option<Self> {
        let mut arrays = [None; MOST];
        let mut n_arrays = 0;
        let mut first: Option<Across> = None;
        for slot in &program.slots {
            let Slot::Memory { arg, size, .. } = *slot else {
                continue;
            };
            if bound[arg as usize].is_contiguous || n_arrays == MOST {
                continue;
            }
            let Operand::Array { data, layout } = launch.operands[arg as usize] else {
                continue;
            };
            let is_new = arrays[..n_arrays]
                .iter()
                .flatten()
                .all(|it: &Across| it.arg != arg);
            let Some(across) = Across::new(arg, size, (data, layout)).filter(|_| is_new) else {
                continue;
            };
            let kind = |it: &Across| (it.layout.rank, it.layout.dims);
            let is_alike = first.is_none_or(|first| kind(&first) == kind(&across));
            if is_alike && is_apart(program, launch, (data, &layout, size)) {
                first.get_or_insert(across);
                arrays[n_arrays] = Some(across);
                n_arrays += 1;
            }
        }
        let lines = Lines::along_last(first?.layout);
        let widest = arrays.iter().flatten().map(|it| it.size).max()?;
        let fitting = BYTES / (CACHE_LINE * lines.len());
        let side = CACHE_LINE * fitting.clamp(1, WIDEST);
        let mut panels = Self {
            lines,
            n_lines: (side / widest).min(CACHE_LINE),
            arrays,
        };
        let (mut offset, rows) = (0, panels.n_lines * lines.len() + CHUNK);
        for array in panels.arrays.iter_mut().flatten() {
            array.offset = offset;
            offset += (rows * array.size).next_multiple_of(CACHE_LINE);
        }
        Some(panels)
    }

    /// Whether an array has a panel.
    pub(crate) fn has(&self, arg: ArgId) -> bool {
        self.arrays.iter().flatten().any(|it| it.arg == arg)
    }

    /// The bytes of the panels of a thread: behind each, what the last chunk of its rows reads.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.n_lines * self.lines.len() + CHUNK;
        let ends = self.arrays.iter().flatten();
        ends.map(|it| it.offset + rows * it.size).max().unwrap_or(0)
    }

    /// The line of a row, with which panels begin, and the rows that they hold: up to a line whose
    /// number is a multiple of theirs, and none of another part.
    pub(crate) fn from(&self, row: usize, end_of_part: usize) -> (usize, Range<usize>) {
        let len = self.lines.len();
        let (line, _) = self.lines.around(row);
        let n = self.n_lines - self.lines.place_beside(line) % self.n_lines;
        let n = self.lines.following(line, n);
        let end = (line + n).min(end_of_part.div_ceil(len));
        (line, line * len..end * len)
    }
}
