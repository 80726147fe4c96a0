//! Lines: arrays whose elements lie side by side along the innermost dimension alone.
//!
//! A slice of a grid is one: its rows are contiguous, and there is a gap between them. Such arrays
//! are read and written where they are, as contiguous ones, if blocks end where lines do: for each
//! line their addresses are set anew, so that a row of the loop is found by its number as always.
//! Without this each slice that a stencil reads would be copied first.
//!
//! The rest of a line that is no whole chunk is read there too, and what is behind it, which is not
//! used: where the loop writes nothing near it, and a later line of the array shows that memory
//! goes on. It is written by way of registers.

use super::bound::{Address, Array};
use crate::abi::CHUNK;
use crate::blocks::compile::slots::Slot;
use crate::blocks::compile::{LoopProgram, Step};
use crate::launch::{Launch, Layout, Operand};
use crate::native::{Native, Placed};
use std::ops::Range;

/// The bytes of a line of the cache.
pub(crate) const CACHE_LINE: usize = 64;
/// How many lines of the cache side by side are copied together: with four, memory is read in
/// longer stretches, and a page is found once for all of them. The transpose of a matrix of 4000 by
/// 4000 numbers, in a loop of its own by way of panels: 30 ms; with two 43, with one 48, line by
/// line 116.
pub(crate) const WIDEST: usize = 4;
/// The shortest lines that are copied to panels, and the fewest of them beside each other.
pub(crate) const LEAST: [usize; 2] = [32, 4];
/// The shortest line for which this is worth while.
const SHORTEST: usize = 4 * CHUNK;
/// The same for native code, which has one call for a line.
const SHORTEST_NATIVE: usize = 4;

/// The lines of a run: those of its arrays that have the same dimensions as this layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    layout: Layout,
    /// The dimensions outside of a line, which is all others.
    n_outer: usize,
}

/// The native form of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NativeRun<'a> {
    pub(crate) native: Native<'a>,
    /// The lines of the arrays that are not contiguous.
    pub(crate) lines: Option<Lines>,
}

/// A run that copies lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyRun {
    /// The bytes of an element.
    pub(crate) size: usize,
    pub(crate) from: (*mut u8, Layout),
    pub(crate) to: (*mut u8, Layout),
    pub(crate) lines: Lines,
}

/// A slot whose memory is read line by line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lined {
    slot: usize,
    data: *mut u8,
    size: usize,
    strides: [isize; 4],
    /// The distance of the last line from the first, in elements, if the elements behind any other
    /// line may be read.
    last: Option<isize>,
}

impl Lined {
    /// The same slot, read to the end of each line and no further.
    pub(crate) fn exact(self) -> Self {
        Self { last: None, ..self }
    }
}

impl Lines {
    /// The lines of the arrays of a loop; `None` if it has no such arrays.
    pub(crate) fn of(program: &LoopProgram, launch: &Launch<'_>, arrays: &[Array]) -> Option<Self> {
        let mut slots = program.slots.iter();
        slots.find_map(|slot| {
            let layout = strided(slot, launch, arrays)?.1;
            let n_outer = (layout.rank as usize).checked_sub(1)?;
            let lines = Self { layout, n_outer };
            (lines.len() >= SHORTEST && lines.has(&layout)).then_some(lines)
        })
    }

    /// Lines for native code, as long as the layouts of all arrays that are not contiguous allow;
    /// `None` if these have not all the same dimensions.
    pub(crate) fn of_all(layouts: impl Iterator<Item = Layout> + Clone) -> Option<Self> {
        let mut layout = layouts.clone().next()?;
        let is_alike = |it: Layout| (it.rank, it.dims) == (layout.rank, layout.dims);
        if layout.is_empty() || !layouts.clone().all(is_alike) {
            return None;
        }
        while layout.rank > 1 && layout.dims[layout.rank as usize - 1] == 1 {
            layout.rank -= 1;
        }
        let mut n_outer = (layout.rank as usize).checked_sub(1)?;
        let rank = layout.rank as usize;
        // The stride of a dimension of one index says nothing, so that of a row is what counts.
        let goes_on = |it: Layout, d: usize| {
            let rows: usize = layout.dims[d..rank].iter().product();
            layout.dims[d - 1] == 1 || it.strides[d - 1] == it.strides[rank - 1] * rows as isize
        };
        while n_outer > 0 && layouts.clone().all(|it| goes_on(it, n_outer)) {
            n_outer -= 1;
        }
        let lines = Self { layout, n_outer };
        (lines.len() >= SHORTEST_NATIVE).then_some(lines)
    }

    /// Rows of a line.
    pub(crate) fn len(&self) -> usize {
        let inner = self.n_outer..self.layout.rank as usize;
        self.layout.dims[inner].iter().product()
    }

    /// Lines along the last dimension of a layout of at least two.
    pub(crate) fn along_last(layout: Layout) -> Self {
        Self {
            layout,
            n_outer: layout.rank as usize - 1,
        }
    }

    /// The index of a line along the dimension next to it.
    pub(crate) fn place_beside(&self, line: usize) -> usize {
        self.next().map_or(0, |next| line % self.layout.dims[next])
    }

    /// The distances from element to element of a line and from line to line, in elements, of an
    /// array with these dimensions.
    pub(crate) fn steps(&self, layout: &Layout) -> (isize, isize) {
        let between = self.next().map_or(0, |next| layout.strides[next]);
        (self.step(layout), between)
    }

    /// Whether the elements of lines of an array lie in different lines of the cache each, and
    /// beside them, or in the same place, those of the next lines.
    pub(crate) fn are_across(&self, layout: &Layout, size: usize) -> bool {
        let (step, between) = self.steps(layout);
        let bytes = |elements: isize| elements.unsigned_abs() * size;
        bytes(step) >= CACHE_LINE && bytes(between) < CACHE_LINE
    }

    /// The distance of a line from the first one, in elements, of an array with these dimensions.
    pub(crate) fn start(&self, line: usize, layout: &Layout) -> isize {
        offset(self.index(line), layout.strides)
    }

    /// The dimension next to a line.
    pub(crate) fn next(&self) -> Option<usize> {
        self.n_outer.checked_sub(1)
    }

    /// How many whole lines, from one on, lie one after the other along the dimension next to a
    /// line, of `n` lines at most.
    pub(crate) fn following(&self, line: usize, n: usize) -> usize {
        match self.next() {
            Some(next) => n.min(self.layout.dims[next] - line % self.layout.dims[next]),
            None => n.min(1),
        }
    }

    /// The bytes from line to line of an array along the dimension next to a line.
    pub(crate) fn line_step(&self, placed: &Placed) -> i64 {
        let elements = match (placed.strides, self.next()) {
            (Some(strides), Some(next)) => strides[next],
            (Some(_), None) => 0,
            (None, _) => self.len() as isize * placed.step,
        };
        elements as i64 * placed.size as i64
    }

    /// The distance from row to row of a line of an array with these dimensions.
    pub(crate) fn step(&self, layout: &Layout) -> isize {
        layout.strides[self.layout.rank as usize - 1]
    }

    fn has(&self, layout: &Layout) -> bool {
        let is_alike = (layout.rank, layout.dims) == (self.layout.rank, self.layout.dims);
        is_alike && layout.rank > 1 && self.step(layout) == 1
    }

    /// The indices of a line along the dimensions outside of it.
    pub(crate) fn index(&self, line: usize) -> [isize; 4] {
        let mut index = [0; 4];
        let mut outer = line;
        for d in (0..self.n_outer).rev() {
            index[d] = (outer % self.layout.dims[d]) as isize;
            outer /= self.layout.dims[d];
        }
        index
    }

    /// The rows of the line that a row lies in.
    pub(crate) fn around(&self, row: usize) -> (usize, Range<usize>) {
        let line = row / self.len();
        (line, line * self.len()..(line + 1) * self.len())
    }

    /// The slots of the loop that are read line by line.
    pub(crate) fn slots(
        self,
        program: &LoopProgram,
        launch: &Launch<'_>,
        arrays: &[Array],
    ) -> impl Iterator<Item = Lined> {
        let slots = program.slots.iter().enumerate();
        slots.filter_map(move |(number, slot)| {
            let (data, layout, size) = strided(slot, launch, arrays)?;
            self.has(&layout).then_some(Lined {
                slot: number,
                data,
                size,
                strides: layout.strides,
                last: self.last_line((program, launch), (data, &layout, size)),
            })
        })
    }

    /// See [`Lined::last`].
    fn last_line(
        self,
        (program, launch): (&LoopProgram, &Launch<'_>),
        (data, layout, size): (*mut u8, &Layout, usize),
    ) -> Option<isize> {
        let outer = 0..self.n_outer;
        let ascends = outer.clone().all(|d| layout.strides[d] >= 0);
        let steps = outer.map(|d| (layout.dims[d] as isize - 1) * layout.strides[d]);
        let last: isize = steps.sum();
        (ascends && is_apart(program, launch, (data, layout, size))).then_some(last)
    }

    /// Sets the addresses of slots to those of a line: in blocks of whole chunks, and for the rest
    /// of the line, where `ragged` are those that copy it.
    pub(crate) fn aim(
        &self,
        line: usize,
        lined: &[Lined],
        (whole, rest): (&mut [Address], &mut [Address]),
        ragged: &[Address],
    ) {
        let index = self.index(line);
        let first = (line * self.len()) as isize;
        for of in lined {
            let offset = offset(index, of.strides);
            let address = Address {
                data: of.data.wrapping_offset((offset - first) * of.size as isize),
                row_bytes: of.size,
                step: CHUNK * of.size,
            };
            whole[of.slot] = address;
            rest[of.slot] = match of.last {
                Some(last) if last - offset >= CHUNK as isize => address,
                _ => ragged[of.slot],
            };
        }
    }
}

/// The distance of a line from the first one, in elements.
#[inline]
pub(crate) fn offset(index: [isize; 4], strides: [isize; 4]) -> isize {
    let steps = index.iter().zip(&strides);
    steps.map(|(index, stride)| index * stride).sum()
}

/// Whether a loop writes nothing between the first byte of an array and the last one.
pub(crate) fn is_apart(
    program: &LoopProgram,
    launch: &Launch<'_>,
    array: (*mut u8, &Layout, usize),
) -> bool {
    let read = span(array);
    program.steps.iter().all(|step| match *step {
        Step::Store { arg, size, .. } => match launch.operands[arg as usize] {
            Operand::Array { data, layout } => {
                let written = span((data, &layout, size));
                written.end <= read.start || read.end <= written.start
            }
            _ => true,
        },
        _ => true,
    })
}

/// The addresses between the first byte of an array and the last one.
fn span((data, layout, size): (*mut u8, &Layout, usize)) -> Range<usize> {
    let (mut low, mut high) = (0, 0);
    for d in 0..layout.rank as usize {
        let step = (layout.dims[d] as isize - 1) * layout.strides[d] * size as isize;
        low += step.min(0);
        high += step.max(0);
    }
    let at = |offset: isize| data.wrapping_offset(offset).addr();
    at(low)..at(high + size as isize)
}

/// An array of a slot that is not contiguous: its first element, its layout, and the size of an
/// element.
fn strided(slot: &Slot, launch: &Launch<'_>, arrays: &[Array]) -> Option<(*mut u8, Layout, usize)> {
    let Slot::Memory { arg, size, .. } = *slot else {
        return None;
    };
    if arrays[arg as usize].is_contiguous {
        return None;
    }
    match launch.operands[arg as usize] {
        Operand::Array { data, layout } if !layout.is_empty() => Some((data, layout, size)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of an array with gaps of `gap` elements behind its rows of each dimension; a dimension
    /// of one index has this stride, which no element depends on.
    fn layout(dims: &[usize], gap: usize, stride_of_one: isize) -> Layout {
        let mut layout = Layout {
            rank: dims.len() as u8,
            dims: [1; 4],
            strides: [0; 4],
        };
        layout.dims[..dims.len()].copy_from_slice(dims);
        let mut stride = 1;
        for (d, &n) in dims.iter().enumerate().rev() {
            layout.strides[d] = if n == 1 { stride_of_one } else { stride };
            stride *= (n + if n == 1 { 0 } else { gap }) as isize;
        }
        layout
    }

    fn check(layouts: [Layout; 2]) {
        let Some(lines) = Lines::of_all(layouts.into_iter()) else {
            return;
        };
        for layout in layouts {
            for row in 0..layout.len() {
                let (line, around) = lines.around(row);
                let step = lines.step(&layout) * (row - around.start) as isize;
                let found = offset(lines.index(line), layout.strides) + step;
                assert_eq!(found, layout.offset(row), "row {row} of {layouts:?}");
            }
        }
    }

    /// The stride of a dimension of one index between others had been taken for that of a row.
    #[test]
    fn rows_of_lines_lie_where_their_layouts_say() {
        let lens = [1, 2, 5];
        for number in 0..3usize.pow(4) {
            let dims = [27, 9, 3, 1].map(|unit| lens[number / unit % 3]);
            for rank in 1..=4 {
                for [first, second] in [[0, 0], [0, 1], [1, 0], [2, 3]] {
                    for stride_of_one in [0, 1, 5, -7] {
                        let other = layout(&dims[..rank], second, 2);
                        check([layout(&dims[..rank], first, stride_of_one), other]);
                    }
                }
            }
        }
    }
}
