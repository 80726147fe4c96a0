//! Native code in the place of steps: the function of the loop's twin takes whole chunks of
//! contiguous arrays, and lines of others; what is left stays with the steps.
#![expect(
    unsafe_code,
    reason = "calls the function of a twin on rows of a launch"
)]

use super::lines::{Lines, NativeRun, offset};
use super::worker::{Run, Worker};
use crate::abi::{CHUNK, Lanes};
use crate::ir::ArgId;
use crate::launch::{Layout, Operand};
use crate::native::{Native, Placed, Twin, Wanted};
use crate::reduce::LANES;
use std::ops::Range;
use std::sync::Arc;

/// The shortest line that is stored past the caches: a short one takes as long for the rows before
/// its first cache line as memory is spared by it.
const LONG: usize = 512;

impl Run<'_> {
    /// The native form of the loop, if it is ready, worth it and can take this run: arrays are
    /// contiguous, or have lines in common. In bands other loops fill the cache, so that blocks
    /// would have no more than memory gives.
    pub(crate) fn native<'a>(&self, twin: &'a Arc<Twin>) -> Option<NativeRun<'a>> {
        let layouts = twin.arrays().iter().filter_map(|&arg| self.uneven(arg));
        let is_lined = layouts.clone().next().is_some();
        let is_wanted = self.is_large || self.is_sliced || is_lined;
        if !(is_wanted || twin.is_for_all_sizes()) {
            return None;
        }
        let lines = Lines::of_all(layouts);
        if is_lined && lines.is_none() {
            twin.pass_by();
            return None;
        }
        let wanted = Wanted {
            rows: self.n_rows() as u64,
            splats: self.splats,
            placed: |number: usize| self.placed(twin.expected()[number], lines),
            is_lined,
            is_large: self.is_large && lines.is_none_or(|lines| lines.len() >= LONG),
        };
        let native = twin.function(self.isa, &wanted)?;
        Some(NativeRun { native, lines })
    }

    /// The layout of an array that is not contiguous, and is not read from a panel.
    fn uneven(&self, arg: ArgId) -> Option<Layout> {
        match self.launch.operands[arg as usize] {
            Operand::Array { layout, .. } if !layout.is_contiguous() => {
                (!self.has_panel(arg)).then_some(layout)
            }
            _ => None,
        }
    }

    fn has_panel(&self, arg: ArgId) -> bool {
        self.panels.as_ref().is_some_and(|panels| panels.has(arg))
    }

    /// Where the arrays lie that the native form expects.
    pub(crate) fn placed_natives(&self) -> impl Iterator<Item = Placed> {
        let native = self.native.as_ref();
        native.into_iter().flat_map(|run| {
            let arrays = run.native.arrays.iter();
            arrays.map(|&array| self.placed(array, run.lines))
        })
    }

    /// Where an array lies.
    fn placed(&self, (arg, size): (ArgId, usize), lines: Option<Lines>) -> Placed {
        let layout = self.uneven(arg).zip(lines);
        Placed {
            data: self.arrays[arg as usize].data,
            panel: self.has_panel(arg).then_some(arg),
            size,
            strides: layout.map(|(layout, _)| layout.strides),
            step: layout.map_or(1, |(layout, lines)| lines.step(&layout)),
        }
    }
}

impl Worker<'_> {
    /// Runs a range of rows in native code, but for those that it leaves to the steps.
    ///
    /// # Safety
    /// As [`crate::blocks::Program::run`], for these rows; [`Run::native`] has given the function.
    pub(crate) unsafe fn run_native(&mut self, run: &NativeRun<'_>, rows: Range<usize>) {
        let mut first = rows.start;
        while first < rows.end {
            let left = rows.end - first;
            // Of a contiguous array, what is no whole chunk is left to the steps.
            let (n, n_lines) = match run.lines {
                None if left < CHUNK => (left, 0),
                None => (left, 1),
                Some(lines) => {
                    let (line, around) = self.aim(&run.native, lines, first);
                    let n = (around.end - first).min(left);
                    let follows = around.start == first && !run.native.reduces();
                    match follows {
                        true => (n, lines.following(line, left / n)),
                        false => (n, 1),
                    }
                }
            };
            // SAFETY: forwarded.
            let done = unsafe { self.run_lines(run, first, n, n_lines) };
            first += done;
            if done < n * n_lines.max(1) {
                let rest = first..(first + CHUNK).min(first + n - done % n);
                // SAFETY: forwarded.
                unsafe { self.run_in_blocks(rest.clone(), &mut |_| ()) };
                first = rest.end;
            }
        }
    }

    /// Sets the addresses of the arrays to those of the line that a row lies in.
    fn aim(&mut self, native: &Native<'_>, lines: Lines, row: usize) -> (usize, Range<usize>) {
        let (line, rows) = lines.around(row);
        let index = lines.index(line);
        let natives = self.natives.iter_mut().zip(self.placed).enumerate();
        for (number, (address, placed)) in natives {
            if let Some(strides) = placed.strides
                && native.reads_address(number)
            {
                let before = rows.start as isize * placed.step;
                let distance = (offset(index, strides) - before) * placed.size as isize;
                *address = placed.data.wrapping_offset(distance);
            }
        }
        (line, rows)
    }

    /// Runs rows of a line, or of several that follow each other, and says how many it has run.
    ///
    /// # Safety
    /// As [`Worker::run_native`]; the addresses are those of the line that row `first` lies in.
    unsafe fn run_lines(
        &mut self,
        run: &NativeRun<'_>,
        first: usize,
        rows: usize,
        lines: usize,
    ) -> usize {
        let turn = (first - self.tile_start) % LANES;
        turn_lanes(self.lanes, run.native.lanes, turn);
        // SAFETY: the arrays lie as the form takes them to and have these rows, as the caller
        // promises; there are splats and lanes for all that the loop reads, the lanes begin with
        // that of the first row, and each array has its step from line to line. The instruction set
        // is that of the run.
        let done = unsafe {
            (run.native.function)(
                self.natives.as_ptr(),
                self.run.splats.as_ptr().cast(),
                self.lanes.as_mut_ptr().cast(),
                self.run.extent.start,
                first as u64,
                rows as u64,
                lines as u64,
                self.line_steps.as_ptr(),
            )
        };
        turn_lanes(self.lanes, run.native.lanes, LANES - turn);
        done as usize
    }
}

/// Lets lane `by` be the first; `sizes` are the bytes of their elements.
fn turn_lanes(lanes: &mut [Lanes], sizes: &[usize], by: usize) {
    if by.is_multiple_of(LANES) {
        return;
    }
    for (lanes, &size) in lanes.iter_mut().zip(sizes) {
        let bytes = LANES * size;
        debug_assert!(bytes <= size_of_val(&lanes.elements), "lanes hold elements");
        let elements = lanes.elements.as_mut_ptr().cast::<u8>();
        // SAFETY: `elements` has 16 bytes for each lane, more than an element takes.
        let elements = unsafe { std::slice::from_raw_parts_mut(elements, bytes) };
        elements.rotate_left(by * size);
    }
}
