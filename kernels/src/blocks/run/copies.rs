//! Loops that copy an array to another one: line by line, without a way through registers. A line
//! may be a column, whose elements lie far apart, as at the boundary of a grid. Where lines next to
//! each other are such columns, of a transposed matrix, they are copied in small squares, so that
//! what comes into the cache with an element is used while it is there.
#![expect(unsafe_code, reason = "copies elements through pointers of the launch")]

use super::lines::{CACHE_LINE, CopyRun, Lines, WIDEST, offset};
use super::strided::copy_run;
use super::worker::{Run, Worker};
use crate::launch::{Layout, Operand};
use std::ops::Range;

/// The lines and elements of a square: a line of the cache has as many elements of eight bytes.
const SIDE: usize = 8;
/// The ways of the L2 cache, and the bytes of one: what lies so far apart shares a place.
const WAYS: usize = 8;
const WAY: usize = 64 << 10;

/// Lines that are copied in squares: how many, and their elements.
type Sides = [usize; 2];
/// The first element of an array of lines, and the distances from line to line and from element to
/// element, in elements.
type Crossed<T> = (*mut T, [isize; 2]);

impl CopyRun {
    /// Whether the elements of a line lie so far apart in one of the arrays that the L2 cache does
    /// not hold them until those of the next line are copied, which are beside them. It is the case
    /// of more than 128 elements where they lie 4 KB apart, and of 8 where 64 KB. Otherwise copies
    /// are no faster in squares, by way of panels neither (1000 by 1000 numbers: 1.1 to 1.4 ms, 0.9
    /// to 2.3): they do nothing meanwhile that would wait for elements.
    pub(crate) fn is_across(&self) -> bool {
        let Some(next) = self.lines.next() else {
            return false;
        };
        let is_across = |layout: &Layout| {
            let (step, between) = (self.lines.step(layout), layout.strides[next]);
            let bytes = step.unsigned_abs() * self.size;
            let apart = 1
                << bytes
                    .trailing_zeros()
                    .clamp(CACHE_LINE.ilog2(), WAY.ilog2());
            let is_lost = bytes >= CACHE_LINE && self.lines.len() > WAYS * (WAY / apart);
            is_lost && between.unsigned_abs() < step.unsigned_abs()
        };
        is_across(&self.from.1) != is_across(&self.to.1)
    }
}

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
        if is_plain(from) && is_plain(to) {
            return None;
        }
        let is_streamed = self.arrays[to as usize].is_streamed;
        let (from, to) = (array(from)?, array(to)?);
        let lines = Lines::of_all([from.1, to.1].into_iter())?;
        let copy = CopyRun {
            size,
            from,
            to,
            lines,
        };
        (!is_streamed || copy.is_across()).then_some(copy)
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
        let across = lines.next().filter(|_| copy.is_across());
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
            let n_lines = lines.following(line, (rows.end - first) / lines.len());
            if let Some(next) = across.filter(|_| first == around.start && n_lines > 1) {
                let crossed = |array: (*mut u8, Layout)| {
                    let (data, step) = place(array);
                    (data, [array.1.strides[next], step])
                };
                // SAFETY: as below, for several whole lines.
                unsafe { copy_across(size, [n_lines, lines.len()], crossed(from), crossed(to)) };
                first += n_lines * lines.len();
                continue;
            }
            let (from, step) = place(from);
            // SAFETY: the caller promises these rows of both arrays, which lie in one line; where
            // they share memory, each row meets only itself.
            unsafe { copy_run(size, end - first, (from.cast_const(), step), place(to)) };
            first = end;
        }
    }
}

/// Copies lines in squares.
///
/// # Safety
/// The elements, of `size` bytes (1, 4, 8 or 16), must be readable and writable; where both arrays
/// share memory, each element meets only itself.
pub(crate) unsafe fn copy_across(size: usize, sides: Sides, from: Crossed<u8>, to: Crossed<u8>) {
    // SAFETY: forwarded, for elements of this size.
    unsafe {
        match size {
            1 => copy_squares::<u8>(sides, from, to),
            4 => copy_squares::<u32>(sides, from, to),
            8 => copy_squares::<u64>(sides, from, to),
            _ => copy_squares::<[u64; 2]>(sides, from, to),
        }
    }
}

/// # Safety
/// As [`copy_across`].
unsafe fn copy_squares<T: Copy>([n_lines, len]: Sides, from: Crossed<u8>, to: Crossed<u8>) {
    let at = |(data, steps): Crossed<u8>, line: usize, element: usize| {
        let elements = line as isize * steps[0] + element as isize * steps[1];
        data.wrapping_offset(elements * size_of::<T>() as isize)
            .cast::<T>()
    };
    let wide = (WIDEST * CACHE_LINE / size_of::<T>()).max(SIDE);
    for first in (0..n_lines).step_by(wide) {
        let end = n_lines.min(first + wide);
        for element in (0..len).step_by(SIDE) {
            for line in (first..end).step_by(SIDE) {
                let sides = [SIDE.min(end - line), SIDE.min(len - element)];
                let from = (at(from, line, element), from.1);
                let to = (at(to, line, element), to.1);
                // SAFETY: the caller's promise, of which this is a part.
                unsafe {
                    match sides {
                        [SIDE, SIDE] => copy_square([SIDE, SIDE], from, to),
                        _ => copy_square(sides, from, to),
                    }
                }
            }
        }
    }
}

/// # Safety
/// As [`copy_across`].
#[inline(always)]
unsafe fn copy_square<T: Copy>([n_lines, len]: Sides, from: Crossed<T>, to: Crossed<T>) {
    for line in 0..n_lines as isize {
        for element in 0..len as isize {
            let place = |steps: [isize; 2]| line * steps[0] + element * steps[1];
            // SAFETY: an element of both arrays, which the caller promises.
            unsafe {
                let x = from.0.offset(place(from.1)).read_unaligned();
                to.0.offset(place(to.1)).write_unaligned(x);
            }
        }
    }
}
