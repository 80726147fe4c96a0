//! Which form the rows of a packed piece get for some values: stencils, diagonals, windows.
//!
//! The rows of a run whose values repeat at least [`LONG`] times become a stencil, the others
//! diagonals. A shorter run is a stencil if the part has that stencil already, or few others.

use super::advance::end_of_stretches;
use super::rows::PlainRows;
use super::structure::{BlockKind, PackedStructure, Pattern, RowBlock, StructurePart};
use super::values::{Form, PackedValues, Segment, ValuesPart};
use super::words::{Word, Words};
use super::{WINDOW, extend, push};
use crate::workers::Workers;
use std::collections::TryReserveError;
use std::ops::Range;
use std::sync::OnceLock;

/// Equal rows from which on a stencil is worth a descriptor.
const LONG: usize = 8;
/// The stencils of a part up to which even a short run may add one.
const FEW: usize = 16;
/// How many of the last stencils are compared with a new one.
const RECENT: usize = 16;
/// The most values of a dictionary.
const DICTIONARY: usize = 256;
/// The bytes of values up to which they are stored as they are: they stay in the L2 cache, and a
/// dictionary costs a load for each of them.
const NEAR: usize = 640 << 10;
/// Room behind the last value, so that eight of any type can be read at its place.
const SLACK: usize = 128;
/// Parts begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

impl PackedValues {
    /// Looks at the values of all entries once, on all threads. `rows` are those of the
    /// structure.
    ///
    /// # Errors
    /// Without memory for what describes the rows.
    pub fn plan(
        structure: &PackedStructure,
        rows: PlainRows<'_>,
        values: Words<'_>,
        workers: &Workers,
    ) -> Result<Self, TryReserveError> {
        match values {
            Words::Four(values) => plan(structure, rows, values, workers),
            Words::Eight(values) => plan(structure, rows, values, workers),
            Words::Sixteen(values) => plan(structure, rows, values, workers),
        }
    }
}

fn plan<W: Word>(
    structure: &PackedStructure,
    rows: PlainRows<'_>,
    values: &[W],
    workers: &Workers,
) -> Result<PackedValues, TryReserveError> {
    let plans: Vec<OnceLock<Result<PartPlan<W>, _>>> =
        structure.parts.iter().map(|_| OnceLock::new()).collect();
    rows.for_each_part(workers, |number, range| {
        let of = &structure.parts[number];
        let _ = plans[number].set(PartPlan::new(of, rows, range, values));
    });
    let plans = plans
        .into_iter()
        .map(|plan| plan.into_inner().expect("every part has a plan"));
    let mut dictionary = Some(Vec::new());
    let mut parts = Vec::with_capacity(structure.parts.len());
    for plan in plans {
        let plan = plan?;
        dictionary = dictionary.zip(plan.distinct).and_then(|(a, b)| merge(a, b));
        parts.push(plan.part);
    }
    let size = size_of::<W>();
    let n_stored: usize = parts.iter().map(|part| part.n_stored).sum();
    let is_near = n_stored * size <= NEAR;
    let dictionary = dictionary.filter(|words| !is_near && words.len() * size * 8 <= n_stored);
    let unit = if dictionary.is_some() { 1 } else { size };
    let mut bytes = 0;
    for part in &mut parts {
        part.start = bytes;
        bytes = (bytes + part.n_stored * unit).next_multiple_of(ALIGNMENT);
    }
    bytes += if bytes > 0 { SLACK } else { 0 };
    Ok(PackedValues {
        parts,
        dictionary: to_bytes(&dictionary.unwrap_or_default())?,
        size,
        bytes,
    })
}

fn to_bytes<W: Word>(words: &[W]) -> Result<Vec<u8>, TryReserveError> {
    let mut bytes = Vec::new();
    bytes.try_reserve(size_of_val(words))?;
    bytes.resize(size_of_val(words), 0);
    for (target, word) in W::places_mut(&mut bytes).iter_mut().zip(words) {
        *target = word.to_bytes();
    }
    Ok(bytes)
}

/// The values of two dictionaries, if they are not too many.
fn merge<W: Word>(mut a: Vec<W>, b: Vec<W>) -> Option<Vec<W>> {
    a.extend(b);
    a.sort_unstable();
    a.dedup();
    (a.len() <= DICTIONARY).then_some(a)
}

struct PartPlan<W> {
    part: ValuesPart,
    /// The values that are stored, ascending, unless they are too many.
    distinct: Option<Vec<W>>,
}

/// A part whose segments are being found.
struct Planner<'a, W> {
    of: &'a StructurePart,
    rows: PlainRows<'a>,
    /// The first row of the part.
    start: usize,
    values: &'a [W],
    part: ValuesPart,
    /// The stencils found so far: pattern and values.
    stencils: Vec<(Pattern, u32)>,
    stencil_words: Vec<W>,
}

impl<W: Word> PartPlan<W> {
    fn new(
        of: &StructurePart,
        rows: PlainRows<'_>,
        range: Range<usize>,
        values: &[W],
    ) -> Result<Self, TryReserveError> {
        let mut planner = Planner {
            of,
            rows,
            start: range.start,
            values,
            part: ValuesPart::default(),
            stencils: Vec::new(),
            stencil_words: Vec::new(),
        };
        for block in &of.blocks {
            match block.kind {
                BlockKind::Run(pattern) => planner.add_run(block, pattern)?,
                BlockKind::Paced(number) => planner.add_paced(block, number)?,
                BlockKind::Window(number) => planner.add_window(block, number)?,
            }
        }
        let distinct = planner.distinct();
        let mut part = planner.part;
        part.stencils = to_bytes(&planner.stencil_words)?;
        extend(&mut part.index, index(&part.segments, of.n_rows))?;
        Ok(Self { part, distinct })
    }
}

impl<W: Word> Planner<'_, W> {
    fn row(&self, row: usize) -> &[W] {
        &self.values[self.rows.entries(self.start + row)]
    }

    /// The end of the rows, of these of one run, that are equal to the row `period` rows before.
    fn end_of_equal(&self, rows: Range<usize>, period: usize) -> usize {
        let place = |row: usize| self.rows.entries(self.start + row).start;
        end_of_stretches(rows, |rows| {
            let entries = place(rows.start)..self.rows.entries(self.start + rows.end - 1).end;
            let step = entries.start - place(rows.start - period);
            self.values[entries.clone()] == self.values[entries.start - step..entries.end - step]
        })
    }

    /// Cuts a run where its rows begin or cease to be equal for long.
    fn add_run(&mut self, block: &RowBlock, pattern: Pattern) -> Result<(), TryReserveError> {
        let (first, end) = (block.first as usize, (block.first + block.len) as usize);
        let (mut diagonals, mut equal) = (first, first);
        while equal < end {
            let row = self.end_of_equal(equal + 1..end, 1);
            let is_whole = equal == first && row == end;
            let is_long = row - equal >= LONG;
            let stencil = match is_long || is_whole {
                true => self.stencil(pattern, equal, is_long)?,
                false => None,
            };
            if let Some(values) = stencil {
                self.add_diagonals(pattern, diagonals..equal)?;
                self.add(equal..row, Form::Stencil { pattern, values })?;
                diagonals = row;
            }
            equal = row;
        }
        self.add_diagonals(pattern, diagonals..end)
    }

    /// Adds rows of one form.
    fn add(&mut self, rows: Range<usize>, form: Form) -> Result<(), TryReserveError> {
        let segment = Segment {
            first: rows.start as u32,
            len: rows.len() as u32,
            form,
        };
        push(&mut self.part.segments, segment)
    }

    /// The values of the stencil that a row is: among the last ones, or new where that is worth it.
    fn stencil(
        &mut self,
        pattern: Pattern,
        row: usize,
        is_worth_it: bool,
    ) -> Result<Option<u32>, TryReserveError> {
        let n = pattern.len as usize;
        let words = |start: u32| &self.stencil_words[start as usize..start as usize + n];
        let mut recent = self.stencils.iter().rev().take(RECENT);
        let found = recent.find(|&&(of, start)| of == pattern && words(start) == self.row(row));
        if let Some(&(_, start)) = found {
            return Ok(Some(start));
        }
        if !is_worth_it && self.stencils.len() >= FEW {
            return Ok(None);
        }
        let start = self.stencil_words.len() as u32;
        let entries = self.rows.entries(self.start + row);
        extend(
            &mut self.stencil_words,
            self.values[entries].iter().copied(),
        )?;
        push(&mut self.stencils, (pattern, start))?;
        Ok(Some(start))
    }

    fn add_diagonals(
        &mut self,
        pattern: Pattern,
        rows: Range<usize>,
    ) -> Result<(), TryReserveError> {
        if rows.is_empty() {
            return Ok(());
        }
        let values = self.part.n_stored;
        self.part.n_stored += rows.len() * pattern.len as usize;
        self.add(rows, Form::Diagonals { pattern, values })
    }

    fn add_paced(&mut self, block: &RowBlock, number: u32) -> Result<(), TryReserveError> {
        let (first, end) = (block.first as usize, (block.first + block.len) as usize);
        let run = self.of.paced[number as usize];
        let period = run.pace.period();
        let second = end.min(first + period);
        let form = if self.end_of_equal(second..end, period) == end {
            let mut values = [0; 2];
            for (row, values) in (first..second).zip(&mut values) {
                let stencil = self.stencil(run.patterns[row - first], row, true)?;
                *values = stencil.expect("a stencil that is worth it is had");
            }
            Form::PacedStencil { number, values }
        } else {
            let values = self.part.n_stored;
            self.part.n_stored += run.entries_before(end - first);
            Form::Paced { number, values }
        };
        self.add(first..end, form)
    }

    fn add_window(&mut self, block: &RowBlock, number: u32) -> Result<(), TryReserveError> {
        let (first, end) = (block.first as usize, (block.first + block.len) as usize);
        let values = self.part.n_stored;
        self.part.n_stored += self.of.window_entries(number);
        self.add(first..end, Form::Window { number, values })
    }

    /// The values that are stored, ascending, unless they are too many.
    fn distinct(&self) -> Option<Vec<W>> {
        let mut distinct: Vec<W> = Vec::new();
        for segment in &self.part.segments {
            match segment.form {
                Form::Stencil { .. } | Form::PacedStencil { .. } => continue,
                Form::Diagonals { .. } | Form::Paced { .. } | Form::Window { .. } => {}
            }
            let first = self.start + segment.first as usize;
            let last = first + segment.len as usize - 1;
            let entries = self.rows.entries(first).start..self.rows.entries(last).end;
            let mut before = None;
            for &value in &self.values[entries] {
                if before == Some(value) {
                    continue;
                }
                before = Some(value);
                if let Err(place) = distinct.binary_search(&value) {
                    if distinct.len() == DICTIONARY {
                        return None;
                    }
                    distinct.insert(place, value);
                }
            }
        }
        Some(distinct)
    }
}

/// The segment of each row that is a multiple of [`WINDOW`].
fn index(segments: &[Segment], n_rows: usize) -> impl ExactSizeIterator<Item = u32> {
    let mut number = 0;
    let segment_of = move |row: usize| {
        while (segments[number].first + segments[number].len) as usize <= row {
            number += 1;
        }
        number as u32
    };
    (0..n_rows).step_by(WINDOW).map(segment_of)
}
