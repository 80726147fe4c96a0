//! The values of a packed piece: which rows of a run are a stencil, what the others store.
//!
//! The rows of a run whose values repeat at least [`LONG`] times become a stencil, the others
//! diagonals. A shorter run is a stencil if the part has that stencil already, or few others.

use super::advance::end_of_stretches;
use super::structure::{BlockKind, Pattern, RowBlock, StructurePart, entries};
use super::{GROUP, PART, PackedStructure, PlainRows, Summary, WINDOW, is_packable, split};
use crate::element::{DType, Element};
use crate::workers::Workers;
use std::ops::Range;
use std::sync::{OnceLock, PoisonError};

/// Equal rows from which on a stencil is worth a descriptor.
const LONG: usize = 8;
/// The stencils of a part up to which even a short run may add one.
const FEW: usize = 16;
/// How many of the last stencils are compared with a new one.
const RECENT: usize = 16;
/// The most values of a dictionary.
const DICTIONARY: usize = 256;
/// Room behind the last value, so that eight of any type can be read at its place.
const SLACK: usize = 128;
/// Parts begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// Which form the rows of a piece have, for the values of one moment; see [`super`].
#[derive(Debug)]
pub struct PackedValues {
    pub(crate) parts: Vec<ValuesPart>,
    /// The values that bytes stand for, or none.
    pub(crate) dictionary: Vec<u8>,
    /// Bytes of an element.
    size: usize,
    bytes: usize,
}

/// Up to [`super::PART`] rows.
#[derive(Debug, Default)]
pub(crate) struct ValuesPart {
    pub(crate) segments: Vec<Segment>,
    /// The segment of each row that is a multiple of [`WINDOW`].
    pub(crate) index: Vec<u32>,
    /// The values of all stencils, one stencil after the other.
    pub(crate) stencils: Vec<u8>,
    /// Where the stored values begin, in bytes.
    pub(crate) start: usize,
    n_stored: usize,
}

/// Neighbouring rows of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The first row, counted from the first of the part.
    pub(crate) first: u32,
    pub(crate) len: u32,
    pub(crate) form: Form,
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

/// The bits of an element.
trait Word: Copy + Ord + Send + Sync {
    fn write(self, target: &mut [u8]);
    /// The inverse of [`Word::write`].
    fn read(source: &[u8]) -> Self;
}

impl Word for u32 {
    fn write(self, target: &mut [u8]) {
        target.copy_from_slice(&self.to_ne_bytes());
    }
    fn read(source: &[u8]) -> Self {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(source);
        Self::from_ne_bytes(bytes)
    }
}

impl Word for u64 {
    fn write(self, target: &mut [u8]) {
        target.copy_from_slice(&self.to_ne_bytes());
    }
    fn read(source: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(source);
        Self::from_ne_bytes(bytes)
    }
}

impl Word for [u64; 2] {
    fn write(self, target: &mut [u8]) {
        self[0].write(&mut target[..8]);
        self[1].write(&mut target[8..]);
    }
    fn read(source: &[u8]) -> Self {
        [u64::read(&source[..8]), u64::read(&source[8..])]
    }
}

/// The values of all entries as words.
#[derive(Clone, Copy, Debug)]
pub enum Words<'a> {
    /// Elements of 4 bytes.
    Four(&'a [u32]),
    /// Elements of 8 bytes.
    Eight(&'a [u64]),
    /// Elements of 16 bytes.
    Sixteen(&'a [[u64; 2]]),
}

impl<'a> Words<'a> {
    /// The bits of elements; `None` where no product kernel reads the packed form of them.
    #[expect(unsafe_code, reason = "the elements are looked at as words")]
    #[must_use]
    pub fn of_slice<T: Element>(values: &'a [T]) -> Option<Self> {
        // SAFETY: these are the elements of a slice.
        unsafe { Self::of(T::DTYPE, values.as_ptr().cast(), values.len()) }
    }

    /// The bits of `len` elements; `None` where no product kernel reads the packed form of them.
    ///
    /// # Safety
    /// `data` holds `len` elements of the type, which nobody writes while the words live.
    #[expect(
        unsafe_code,
        reason = "the type of the elements is known at run time only"
    )]
    #[must_use]
    pub unsafe fn of(dtype: DType, data: *const u8, len: usize) -> Option<Self> {
        if len == 0 {
            return is_packable(dtype).then_some(Self::empty(dtype));
        }
        let is_aligned = data
            .addr()
            .is_multiple_of(dtype.size().min(align_of::<u64>()));
        if !is_packable(dtype) || !is_aligned {
            return None;
        }
        // SAFETY: the caller promises the elements, whose types have these sizes and no padding;
        // the alignment has just been checked.
        unsafe {
            Some(match dtype.size() {
                4 => Self::Four(std::slice::from_raw_parts(data.cast(), len)),
                8 => Self::Eight(std::slice::from_raw_parts(data.cast(), len)),
                _ => Self::Sixteen(std::slice::from_raw_parts(data.cast(), len)),
            })
        }
    }
}

impl Words<'_> {
    const fn empty(dtype: DType) -> Self {
        match dtype.size() {
            4 => Self::Four(&[]),
            8 => Self::Eight(&[]),
            _ => Self::Sixteen(&[]),
        }
    }
}

impl PackedValues {
    /// Looks at the values of all entries once, on all threads. `rows` are those of the
    /// structure.
    #[must_use]
    pub fn plan(
        structure: &PackedStructure,
        rows: PlainRows<'_>,
        values: Words<'_>,
        workers: &Workers,
    ) -> Self {
        match values {
            Words::Four(values) => plan(structure, rows, values, workers),
            Words::Eight(values) => plan(structure, rows, values, workers),
            Words::Sixteen(values) => plan(structure, rows, values, workers),
        }
    }

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
                    Form::Window { number, .. } => (2, of.window_entries(number)),
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

fn plan<W: Word>(
    structure: &PackedStructure,
    rows: PlainRows<'_>,
    values: &[W],
    workers: &Workers,
) -> PackedValues {
    let plans: Vec<OnceLock<PartPlan<W>>> =
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
        dictionary = dictionary.zip(plan.distinct).and_then(|(a, b)| merge(a, b));
        parts.push(plan.part);
    }
    let size = size_of::<W>();
    let n_stored: usize = parts.iter().map(|part| part.n_stored).sum();
    let dictionary = dictionary.filter(|words| words.len() * size * 8 <= n_stored);
    let unit = if dictionary.is_some() { 1 } else { size };
    let mut bytes = 0;
    for part in &mut parts {
        part.start = bytes;
        bytes = (bytes + part.n_stored * unit).next_multiple_of(ALIGNMENT);
    }
    bytes += if bytes > 0 { SLACK } else { 0 };
    PackedValues {
        parts,
        dictionary: to_bytes(&dictionary.unwrap_or_default()),
        size,
        bytes,
    }
}

fn to_bytes<W: Word>(words: &[W]) -> Vec<u8> {
    let size = size_of::<W>();
    let mut bytes = vec![0; size_of_val(words)];
    for (target, word) in bytes.chunks_exact_mut(size).zip(words) {
        word.write(target);
    }
    bytes
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
    fn new(of: &StructurePart, rows: PlainRows<'_>, range: Range<usize>, values: &[W]) -> Self {
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
                BlockKind::Run(pattern) => planner.add_run(block, pattern),
                BlockKind::Paced(number) => planner.add_paced(block, number),
                BlockKind::Window(number) => planner.add_window(block, number),
            }
        }
        let distinct = planner.distinct();
        let mut part = planner.part;
        part.stencils = to_bytes(&planner.stencil_words);
        part.index = index(&part.segments, of.n_rows);
        Self { part, distinct }
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
    fn add_run(&mut self, block: &RowBlock, pattern: Pattern) {
        let (first, end) = (block.first as usize, (block.first + block.len) as usize);
        let (mut diagonals, mut equal) = (first, first);
        while equal < end {
            let row = self.end_of_equal(equal + 1..end, 1);
            let is_whole = equal == first && row == end;
            let is_long = row - equal >= LONG;
            let stencil = (is_long || is_whole).then(|| self.stencil(pattern, equal, is_long));
            if let Some(values) = stencil.flatten() {
                self.add_diagonals(pattern, diagonals..equal);
                self.part.segments.push(Segment {
                    first: equal as u32,
                    len: (row - equal) as u32,
                    form: Form::Stencil { pattern, values },
                });
                diagonals = row;
            }
            equal = row;
        }
        self.add_diagonals(pattern, diagonals..end);
    }

    /// The values of the stencil that a row is: among the last ones, or new where that is worth it.
    fn stencil(&mut self, pattern: Pattern, row: usize, is_worth_it: bool) -> Option<u32> {
        let n = pattern.len as usize;
        let words = |start: u32| &self.stencil_words[start as usize..start as usize + n];
        let mut recent = self.stencils.iter().rev().take(RECENT);
        let found = recent.find(|&&(of, start)| of == pattern && words(start) == self.row(row));
        if let Some(&(_, start)) = found {
            return Some(start);
        }
        if !is_worth_it && self.stencils.len() >= FEW {
            return None;
        }
        let start = self.stencil_words.len() as u32;
        let entries = self.rows.entries(self.start + row);
        self.stencil_words.extend_from_slice(&self.values[entries]);
        self.stencils.push((pattern, start));
        Some(start)
    }

    fn add_diagonals(&mut self, pattern: Pattern, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        let values = self.part.n_stored;
        self.part.n_stored += rows.len() * pattern.len as usize;
        self.part.segments.push(Segment {
            first: rows.start as u32,
            len: rows.len() as u32,
            form: Form::Diagonals { pattern, values },
        });
    }

    fn add_paced(&mut self, block: &RowBlock, number: u32) {
        let (first, end) = (block.first as usize, (block.first + block.len) as usize);
        let run = self.of.paced[number as usize];
        let period = run.pace.period();
        let second = end.min(first + period);
        let form = if self.end_of_equal(second..end, period) == end {
            let mut values = [0; 2];
            for (row, values) in (first..second).zip(&mut values) {
                let stencil = self.stencil(run.patterns[row - first], row, true);
                *values = stencil.expect("a stencil that is worth it is had");
            }
            Form::PacedStencil { number, values }
        } else {
            let values = self.part.n_stored;
            self.part.n_stored += run.entries_before(end - first);
            Form::Paced { number, values }
        };
        self.part.segments.push(Segment {
            first: block.first,
            len: block.len,
            form,
        });
    }

    fn add_window(&mut self, block: &RowBlock, number: u32) {
        let values = self.part.n_stored;
        self.part.n_stored += self.of.window_entries(number);
        self.part.segments.push(Segment {
            first: block.first,
            len: block.len,
            form: Form::Window { number, values },
        });
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
fn index(segments: &[Segment], n_rows: usize) -> Vec<u32> {
    let mut number = 0;
    let segment_of = |row: usize| {
        while (segments[number].first + segments[number].len) as usize <= row {
            number += 1;
        }
        number as u32
    };
    (0..n_rows).step_by(WINDOW).map(segment_of).collect()
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
                    let window = of.windows[number as usize];
                    of.for_each_entry(window, |row, k| visit(first + row, k));
                }
            }
        }
    }
}

/// Rows in groups that begin at multiples of [`GROUP`].
fn groups(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let numbers = rows.start / GROUP..rows.end.div_ceil(GROUP);
    numbers.map(move |group| (group * GROUP).max(rows.start)..((group + 1) * GROUP).min(rows.end))
}
