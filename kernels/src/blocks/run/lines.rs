//! Lines: arrays whose elements lie side by side along the innermost dimension alone.
//!
//! A slice of a grid is one: its rows are contiguous, and there is a gap between them. Such arrays are
//! read and written where they are, as contiguous ones, if blocks end where lines do: for each line
//! their addresses are set anew, so that a row of the loop is found by its number as always. Without
//! this each slice that a stencil reads would be copied first.
//!
//! The rest of a line that is no whole chunk is read there too, and what is behind it, which is not
//! used: where the loop writes nothing near it, and a later line of the array shows that memory goes
//! on. It is written by way of registers.

use super::bound::{Address, Array};
use crate::abi::CHUNK;
use crate::blocks::compile::slots::Slot;
use crate::blocks::compile::{LoopProgram, Step};
use crate::launch::{Launch, Layout, Operand};
use std::ops::Range;

/// The shortest line for which this is worth while.
const SHORTEST: usize = 4 * CHUNK;

/// The lines of a run: those of its arrays that have the same dimensions as this layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines(Layout);

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

impl Lines {
    /// The lines of the arrays of a loop; `None` if it has no such arrays.
    pub(crate) fn of(program: &LoopProgram, launch: &Launch<'_>, arrays: &[Array]) -> Option<Self> {
        let mut slots = program.slots.iter();
        slots.find_map(|slot| {
            let layout = strided(slot, launch, arrays)?.1;
            let lines = Self(layout);
            (lines.len() >= SHORTEST && lines.has(&layout)).then_some(lines)
        })
    }

    /// Rows of a line.
    pub(crate) fn len(&self) -> usize {
        self.0.dims[self.last()]
    }

    fn last(&self) -> usize {
        self.0.rank as usize - 1
    }

    fn has(&self, layout: &Layout) -> bool {
        let is_alike = (layout.rank, layout.dims) == (self.0.rank, self.0.dims);
        is_alike && layout.rank > 1 && layout.strides[self.last()] == 1
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
        let outer = 0..self.last();
        let ascends = outer.clone().all(|d| layout.strides[d] >= 0);
        let steps = outer.map(|d| (layout.dims[d] as isize - 1) * layout.strides[d]);
        let last: isize = steps.sum();
        let read = span((data, layout, size));
        let is_apart = |step: &Step| match *step {
            Step::Store { arg, size, .. } => match launch.operands[arg as usize] {
                Operand::Array { data, layout } => {
                    let written = span((data, &layout, size));
                    written.end <= read.start || read.end <= written.start
                }
                _ => true,
            },
            _ => true,
        };
        (ascends && program.steps.iter().all(is_apart)).then_some(last)
    }

    /// Sets the addresses of slots to those of a line: in blocks of whole chunks, and for the rest of
    /// the line, where `ragged` are those that copy it.
    pub(crate) fn aim(
        &self,
        line: usize,
        lined: &[Lined],
        (whole, rest): (&mut [Address], &mut [Address]),
        ragged: &[Address],
    ) {
        let mut index = [0; 4];
        let mut outer = line;
        for d in (0..self.last()).rev() {
            index[d] = (outer % self.0.dims[d]) as isize;
            outer /= self.0.dims[d];
        }
        let first = (line * self.len()) as isize;
        for of in lined {
            let steps = index.iter().zip(&of.strides);
            let offset: isize = steps.map(|(index, stride)| index * stride).sum();
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
