//! The values of a packed piece: the form of its rows, and what is stored of them.
//!
//! Which rows get which form is planned in `forms.rs`.

use super::rows::entries;
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
        let words = self.dictionary.chunks_exact(self.size).map(W::read);
        let dictionary: Vec<W> = words.collect();
        rows.for_each_part(workers, |number, range| {
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let mut at = 0;
            self.parts[number].for_each_entry(&structure.parts[number], |row, k| {
                let value = values[rows.entries(range.start + row).start + k];
                if dictionary.is_empty() {
                    value.write(&mut target[at..at + self.size]);
                    at += self.size;
                } else {
                    let code = dictionary.binary_search(&value);
                    target[at] = code.expect("the dictionary has all values") as u8;
                    at += 1;
                }
            });
            // What is read behind the last value is the number of a value, too.
            target[at..].fill(0);
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
        let size = self.size;
        let targets = structure.split_entries(pos, size, target);
        workers.run(self.parts.len(), |number| {
            let mut target = targets[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let (part, of) = (&self.parts[number], &structure.parts[number]);
            let start = number * PART;
            let base = entries(pos, start).start;
            let place = |row: usize, k: usize| {
                let at = (entries(pos, start + row).start - base + k) * size;
                at..at + size
            };
            part.for_each_equal(of, |row, k, value| {
                target[place(row, k)].copy_from_slice(&part.stencils[value * size..][..size]);
            });
            let stored = &data[part.start.min(data.len())..];
            let mut n = 0;
            part.for_each_entry(of, |row, k| {
                let bytes = match self.dictionary.is_empty() {
                    true => &stored[n * size..][..size],
                    false => &self.dictionary[usize::from(stored[n]) * size..][..size],
                };
                target[place(row, k)].copy_from_slice(bytes);
                n += 1;
            });
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
    /// Visits the entries of the stencils: the row within the part, the number of the entry within
    /// the row, and that of its value among the part's.
    fn for_each_equal(&self, of: &StructurePart, mut visit: impl FnMut(usize, usize, usize)) {
        for segment in &self.segments {
            let (first, len) = (segment.first as usize, segment.len as usize);
            let mut visit_row = |row: usize, pattern: Pattern, values: u32| {
                (0..pattern.len as usize).for_each(|k| visit(row, k, values as usize + k));
            };
            match segment.form {
                Form::Stencil { pattern, values } => {
                    (first..first + len).for_each(|row| visit_row(row, pattern, values));
                }
                Form::PacedStencil { number, values } => {
                    let run = of.paced[number as usize];
                    for distance in 0..len {
                        let values = values[distance % run.pace.period()];
                        visit_row(first + distance, run.row(distance).0, values);
                    }
                }
                Form::Diagonals { .. } | Form::Paced { .. } | Form::Window { .. } => {}
            }
        }
    }

    /// Visits the stored entries in their order: the row within the part, and the number of the
    /// entry within the row.
    fn for_each_entry(&self, of: &StructurePart, mut visit: impl FnMut(usize, usize)) {
        for segment in &self.segments {
            let (first, len) = (segment.first as usize, segment.len as usize);
            match segment.form {
                Form::Stencil { .. } | Form::PacedStencil { .. } => {}
                Form::Paced { number, .. } => {
                    let run = of.paced[number as usize];
                    for distance in 0..len {
                        let entries = run.row(distance).0.len as usize;
                        (0..entries).for_each(|k| visit(first + distance, k));
                    }
                }
                Form::Diagonals { pattern, .. } => {
                    for rows in groups(first..first + len) {
                        for k in 0..pattern.len as usize {
                            rows.clone().for_each(|row| visit(row, k));
                        }
                    }
                }
                Form::Window { number, .. } => {
                    let nodes = of.nodes.of(&of.windows[number as usize]);
                    nodes.for_each_entry(|row, k| visit(first + row, k));
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
