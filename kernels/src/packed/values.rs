//! The values of a packed piece: the form of its rows, and what is stored of them.
//!
//! Which rows get which form is planned in `forms.rs`.

use super::rows::entries;
use super::strips::Strip;
use super::structure::{Pattern, StructurePart};
use super::words::{Word, Words};
use super::{GROUP, PART, PackedStructure, PlainRows, Summary, split};
use crate::workers::Workers;
use std::ops::Range;
use std::sync::PoisonError;

/// Which form the rows of a piece have, for the values of one moment; see [`super`].
#[derive(Debug)]
pub struct PackedValues {
    pub(crate) parts: Vec<ValuesPart>,
    /// The values that bytes stand for, or none.
    pub(crate) dictionary: Vec<u8>,
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) bytes: usize,
}

/// Up to [`super::PART`] rows.
#[derive(Debug, Default)]
pub(crate) struct ValuesPart {
    pub(crate) segments: Vec<Segment>,
    /// The segment of each row that is a multiple of [`super::WINDOW`].
    pub(crate) index: Vec<u32>,
    /// The values of all stencils, one stencil after the other.
    pub(crate) stencils: Vec<u8>,
    /// Where the stored values begin, in bytes.
    pub(crate) start: usize,
    pub(super) n_stored: usize,
}

/// Neighbouring rows of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The first row, counted from the first of the part.
    pub(crate) first: u32,
    pub(crate) len: u32,
    pub(crate) form: Form,
}

impl Segment {
    /// The row behind the last one.
    #[inline(always)]
    pub(crate) fn end(&self) -> usize {
        (self.first + self.len) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Rows with equal offsets and values.
    Stencil {
        pattern: Pattern,
        /// The first of the values among the part's.
        values: u32,
    },
    /// Rows with equal offsets, in groups that begin at multiples of eight rows.
    Diagonals {
        pattern: Pattern,
        /// The first of the values among the part's stored ones.
        values: usize,
    },
    /// Rows of a paced run with equal values in each period.
    PacedStencil {
        /// The number of the run among the part's.
        number: u32,
        /// The first of the values among the part's, of each row of a period.
        values: [u32; 2],
    },
    /// Rows of a paced run, whose values are stored row by row.
    Paced {
        number: u32,
        /// The first of the values among the part's stored ones.
        values: usize,
    },
    /// The number of the window among the part's.
    Window {
        number: u32,
        /// The first of the values among the part's stored ones.
        values: usize,
    },
}

impl PackedValues {
    /// The bytes that [`Self::fill`] fills.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the values that are not part of a stencil, on all threads.
    ///
    /// # Panics
    /// If `target` has not [`Self::bytes`] bytes, or rows and values are not those of the plan.
    pub fn fill(
        &self,
        structure: &PackedStructure,
        rows: PlainRows<'_>,
        values: Words<'_>,
        target: &mut [u8],
        workers: &Workers,
    ) {
        match values {
            Words::Four(values) => self.fill_words(structure, rows, values, target, workers),
            Words::Eight(values) => self.fill_words(structure, rows, values, target, workers),
            Words::Sixteen(values) => self.fill_words(structure, rows, values, target, workers),
        }
    }

    fn fill_words<W: Word>(
        &self,
        structure: &PackedStructure,
        rows: PlainRows<'_>,
        values: &[W],
        target: &mut [u8],
        workers: &Workers,
    ) {
        assert_eq!(target.len(), self.bytes, "room for all values");
        let ends = self.parts.iter().skip(1).map(|part| part.start);
        let ends = ends.chain([self.bytes]);
        let targets = split(
            target,
            self.parts
                .iter()
                .zip(ends)
                .map(|(part, end)| end - part.start),
        );
        let words = W::places(&self.dictionary).iter();
        let dictionary: Vec<W> = words.copied().map(W::of_bytes).collect();
        rows.for_each_part(workers, |number, range| {
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let (part, of) = (&self.parts[number], &structure.parts[number]);
            let start_of = |row: usize| rows.entries(range.start + row).start;
            let mut at = 0;
            let unit = if dictionary.is_empty() {
                let target = W::places_mut(&mut target);
                part.for_each_strip(of, start_of, |strip| {
                    strip.interleave(values, &mut target[at..], W::to_bytes);
                    at += strip.len();
                });
                self.size
            } else {
                let code = |value: W| {
                    let code = dictionary.binary_search(&value);
                    code.expect("the dictionary has all values") as u8
                };
                part.for_each_strip(of, start_of, |strip| {
                    strip.interleave(values, &mut target[at..], code);
                    at += strip.len();
                });
                1
            };
            // What is read behind the last value is the number of a value, too.
            target[at * unit..].fill(0);
        });
    }

    /// The values of all entries, as they were before they were packed, on all threads.
    ///
    /// # Panics
    /// If `pos` are not the positions of the plan, `data` not what [`Self::fill`] has filled, or
    /// `target` has not room for all values.
    pub fn unpack(
        &self,
        structure: &PackedStructure,
        pos: &[u64],
        data: &[u8],
        target: &mut [u8],
        workers: &Workers,
    ) {
        match self.size {
            4 => self.unpack_words::<u32>(structure, pos, data, target, workers),
            8 => self.unpack_words::<u64>(structure, pos, data, target, workers),
            _ => self.unpack_words::<[u64; 2]>(structure, pos, data, target, workers),
        }
    }

    fn unpack_words<W: Word>(
        &self,
        structure: &PackedStructure,
        pos: &[u64],
        data: &[u8],
        target: &mut [u8],
        workers: &Workers,
    ) {
        let targets = structure.split_entries(pos, self.size, target);
        let dictionary = W::places(&self.dictionary);
        workers.run(self.parts.len(), |number| {
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let target = W::places_mut(&mut target);
            let (part, of) = (&self.parts[number], &structure.parts[number]);
            let start = number * PART;
            let base = entries(pos, start).start;
            let start_of = |row: usize| entries(pos, start + row).start - base;
            let stencils = W::places(&part.stencils);
            part.for_each_stencil_row(of, |row, values| {
                let values = &stencils[values];
                target[start_of(row)..][..values.len()].copy_from_slice(values);
            });
            let stored = &data[part.start.min(data.len())..];
            let mut at = 0;
            if dictionary.is_empty() {
                let stored = W::places(stored);
                part.for_each_strip(of, start_of, |strip| {
                    strip.separate(&stored[at..], target, |bytes| bytes);
                    at += strip.len();
                });
            } else {
                part.for_each_strip(of, start_of, |strip| {
                    strip.separate(&stored[at..], target, |code| dictionary[usize::from(code)]);
                    at += strip.len();
                });
            }
        });
    }

    /// How many rows have which form, and the bytes that a product reads of the matrix.
    #[must_use]
    pub fn summary(&self, structure: &PackedStructure) -> Summary {
        let mut summary = Summary {
            dictionary: self.dictionary.len() / self.size,
            bytes: structure.column_bytes() + structure.descriptor_bytes() + self.bytes,
            ..Summary::default()
        };
        for (part, of) in self.parts.iter().zip(&structure.parts) {
            summary.bytes += size_of_val(&*part.segments) + part.stencils.len();
            for segment in &part.segments {
                let len = segment.len as usize;
                let (form, entries) = match segment.form {
                    Form::Stencil { pattern, .. } => (0, pattern.len as usize * len),
                    Form::Diagonals { pattern, .. } => (1, pattern.len as usize * len),
                    Form::Window { number, .. } => {
                        let nodes = of.nodes.of(&of.windows[number as usize]);
                        summary.in_nodes += nodes.rows_of_several();
                        (2, nodes.entries())
                    }
                    Form::PacedStencil { number, .. } | Form::Paced { number, .. } => {
                        (3, of.paced[number as usize].entries_before(len))
                    }
                };
                summary.rows[form] += len;
                summary.entries[form] += entries;
            }
        }
        summary
    }
}

impl ValuesPart {
    /// Visits the rows that are stencils: the row within the part, and which of the part's values
    /// are its own.
    fn for_each_stencil_row(&self, of: &StructurePart, mut visit: impl FnMut(usize, Range<usize>)) {
        let places = |pattern: Pattern, values: u32| {
            let first = values as usize;
            first..first + pattern.len as usize
        };
        for segment in &self.segments {
            let (first, len) = (segment.first as usize, segment.len as usize);
            match segment.form {
                Form::Stencil { pattern, values } => {
                    (first..first + len).for_each(|row| visit(row, places(pattern, values)));
                }
                Form::PacedStencil { number, values } => {
                    let run = of.paced[number as usize];
                    for distance in 0..len {
                        let values = values[distance % run.pace.period()];
                        visit(first + distance, places(run.row(distance).0, values));
                    }
                }
                Form::Diagonals { .. } | Form::Paced { .. } | Form::Window { .. } => {}
            }
        }
    }

    /// Visits the stored entries in their order, strip by strip. `start_of` says where the entries
    /// of a row of the part begin.
    fn for_each_strip(
        &self,
        of: &StructurePart,
        start_of: impl Fn(usize) -> usize,
        mut visit: impl FnMut(&Strip),
    ) {
        for segment in &self.segments {
            let (first, len) = (segment.first as usize, segment.len as usize);
            match segment.form {
                Form::Stencil { .. } | Form::PacedStencil { .. } => {}
                Form::Paced { number, .. } => {
                    let run = of.paced[number as usize];
                    for distance in 0..len {
                        let entries = run.row(distance).0.len as usize;
                        let start = start_of(first + distance);
                        visit(&Strip::new(entries, [start].into_iter()));
                    }
                }
                Form::Diagonals { pattern, .. } => {
                    for rows in groups(first..first + len) {
                        visit(&Strip::new(pattern.len as usize, rows.map(&start_of)));
                    }
                }
                Form::Window { number, .. } => {
                    let nodes = of.nodes.of(&of.windows[number as usize]);
                    nodes.for_each_strip(|row| start_of(first + row), &mut visit);
                }
            }
        }
    }
}

/// Rows in groups that begin at multiples of [`GROUP`].
pub(super) fn groups(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let numbers = rows.start / GROUP..rows.end.div_ceil(GROUP);
    numbers.map(move |group| (group * GROUP).max(rows.start)..((group + 1) * GROUP).min(rows.end))
}
