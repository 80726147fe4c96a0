//! Loops that copy an array to another one, which are the boundaries of grids: line by line,
//! without a way through registers. A line may be a column, whose elements lie far apart.
#![expect(unsafe_code, reason = "copies elements through pointers of the launch")]

use super::lines::{CopyRun, Lines, offset};
use super::strided::copy_run;
use super::worker::{Run, Worker};
use crate::launch::{Layout, Operand};
use std::ops::Range;

impl Run<'_> {
    /// The copy that the loop is, if its arrays have lines in common. Blocks do as well where both
    /// are contiguous, and store past the caches what is large.
    pub(crate) fn copied(&self) -> Option<CopyRun> {
        let (from, to, size) = self.program.copy?;
        let array = |arg: u32| match self.launch.operands[arg as usize] {
            Operand::Array { data, layout } => Some((data, layout)),
            _ => None,
        };
        let is_plain = |arg: u32| self.arrays[arg as usize].is_contiguous;
        if self.arrays[to as usize].is_streamed || is_plain(from) && is_plain(to) {
            return None;
        }
        let (from, to) = (array(from)?, array(to)?);
        Some(CopyRun {
            size,
            from,
            to,
            lines: Lines::of_all([from.1, to.1].into_iter())?,
        })
    }
}

impl Worker<'_> {
    /// Copies a range of rows.
    ///
    /// # Safety
    /// As [`crate::blocks::Program::run`], for these rows; [`Run::copied`] has given the copy.
    pub(crate) unsafe fn run_copy(&self, copy: &CopyRun, rows: Range<usize>) {
        let CopyRun {
            size,
            from,
            to,
            lines,
        } = *copy;
        let mut first = rows.start;
        while first < rows.end {
            let (line, around) = lines.around(first);
            let index = lines.index(line);
            let end = around.end.min(rows.end);
            let place = |(data, layout): (*mut u8, Layout)| {
                let step = lines.step(&layout);
                let elements =
                    offset(index, layout.strides) + (first - around.start) as isize * step;
                (data.wrapping_offset(elements * size as isize), step)
            };
            let (from, step) = place(from);
            // SAFETY: the caller promises these rows of both arrays, which lie in one line; where
            // they share memory, each row meets only itself.
            unsafe { copy_run(size, end - first, (from.cast_const(), step), place(to)) };
            first = end;
        }
    }
}
