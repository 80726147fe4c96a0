//! A run of a loop as its threads see it, and what each of them holds.
#![expect(unsafe_code, reason = "threads share the pointers of a launch")]

use super::bound::{Address, Array};
use super::buffer::Buffer;
use super::division::Rows;
use super::fetch::Fetched;
use super::length::{UNIT, block_len, is_far, is_large};
use super::lines::{CopyRun, Lined, Lines, NativeRun};
use super::panels::Panels;
use super::row_sums::SumsBefore;
use super::stream;
use super::strided::simplify;
use super::uniform::misbound;
use crate::abi::{CHUNK, Lanes, Splat};
use crate::blocks::compile::ahead::Reach;
use crate::blocks::compile::slots::Slot;
use crate::blocks::compile::{LoopProgram, Step};
use crate::blocks::loops::streams::Term;
use crate::blocks::{Part, Settings};
use crate::ir::ArgId;
use crate::isa::{Isa, asks_for_streams};
use crate::launch::{Extent, Launch, Layout, Operand};
use crate::native::Placed;
use crate::packed::WINDOW;
use std::ops::Range;

/// The operations that a row counts as, at least.
const LEAST_PER_ROW: usize = 16;
/// The operations of a part, as [`Run::work`] counts, of which a thread has several: some fifty
/// microseconds.
const LONG_PART: usize = 1 << 20;
/// The parts of a thread, at most.
const MOST_PARTS: usize = 4;

/// The rows of a part, at least, that has neighbours on both sides.
fn between(reach: Reach) -> usize {
    reach.below + reach.above + 2 * WINDOW
}

/// One run of a loop, as all its threads see it.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) program: &'a LoopProgram,
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) extent: Extent,
    pub(crate) arrays: &'a [Array],
    pub(crate) splats: &'a [Splat],
    pub(crate) isa: Isa,
    pub(crate) block_len: usize,
    /// Whether the arrays are larger than the caches.
    pub(crate) is_large: bool,
    /// Whether they come from memory, together with those of a loop at the same time.
    pub(crate) is_far: bool,
    /// How many rows further on a loop that runs ahead goes on next, where it reads arrays of this
    /// one from beyond the L2 cache.
    pub(crate) rows_ahead: Option<usize>,
    pub(crate) rows: Rows<'a>,
    /// Whether the rows are run as slices that may begin and end anywhere.
    pub(crate) is_sliced: bool,
    /// The lines of arrays that are contiguous along the innermost dimension alone.
    pub(crate) lines: Option<Lines>,
    /// The arrays that lie across the rows, if any.
    pub(crate) panels: Option<Panels>,
    /// The native form of the loop, if it takes this run.
    pub(crate) native: Option<NativeRun<'a>>,
    /// The copy that the loop is, if it goes line by line.
    pub(crate) copy: Option<CopyRun>,
    /// The row sums that are computed before the loop.
    pub(crate) before: Option<SumsBefore<'a>>,
}

// SAFETY: threads only read the run; they write through its pointers to rows and partials of their
// own parts.
unsafe impl Sync for Run<'_> {}

impl<'a> Run<'a> {
    pub(crate) fn new(
        program: &'a LoopProgram,
        launch: &'a Launch<'a>,
        (arrays, splats): (&'a [Array], &'a [Splat]),
        settings: &Settings,
        part: Part<'a>,
    ) -> Self {
        let extent = launch.domains[program.domain as usize];
        let rows = Rows::new(program, launch, extent, part);
        let is_large = is_large(program, launch, settings);
        Self {
            program,
            launch,
            extent,
            arrays,
            splats,
            isa: settings.isa,
            block_len: block_len(program, extent.tiles, (&rows, is_large), settings),
            rows,
            lines: Lines::of(program, launch, arrays),
            is_large,
            is_far: is_far(&[program], launch, settings),
            rows_ahead: None,
            is_sliced: false,
            panels: None,
            native: None,
            copy: None,
            before: None,
        }
    }

    /// At least the number of rows of the run.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.count()
    }

    /// Ends the stores past the caches, before others read what they have written.
    pub(crate) fn fence(&self) {
        let is_native = self.native.is_some_and(|native| native.native.is_streamed);
        let mut stored = self.program.write_only.iter();
        if is_native || stored.any(|&arg| self.arrays[arg as usize].is_streamed) {
            stream::fence();
        }
    }

    pub(crate) fn has_work(&self) -> bool {
        self.extent.len > 0 && !self.program.steps.is_empty()
    }

    /// Into how many parts `n_threads` threads divide the rows: one for each, or several where
    /// these take long, so that a thread that is held up leaves some to others.
    pub(crate) fn n_parts(&self, n_threads: usize) -> usize {
        (n_threads * self.parts_of_thread(n_threads)).min(self.rows.n_units)
    }

    /// Into how many parts a thread's share is divided; one alone has nothing to leave.
    pub(crate) fn parts_of_thread(&self, n_threads: usize) -> usize {
        match n_threads {
            1 => 1,
            _ => (self.work() / n_threads / LONG_PART).clamp(1, MOST_PARTS),
        }
    }

    /// Whether parts of the rows consist of whole windows of packed matrices.
    pub(crate) fn has_whole_windows(&self) -> bool {
        self.rows.offset == 0 && self.rows.unit.is_multiple_of(WINDOW as u64)
    }

    /// Whether the rows can be divided into `n` parts so that only neighbours read each other's
    /// rows.
    pub(crate) fn can_be_cut(&self, n: usize, reach: Reach) -> bool {
        n == 1 || (0..n).all(|i| self.rows.range(i, n).len() >= between(reach))
    }

    /// Into how many parts `n_threads` threads divide the rows where only neighbours read each
    /// other's: as many as without that, but not so short that what lies between them counts.
    pub(crate) fn n_parts_apart(&self, n_threads: usize, reach: Reach) -> usize {
        let most = self.rows.count() / n_threads / (16 * between(reach));
        let several = self.parts_of_thread(n_threads).min(most.max(1));
        (n_threads * several).min(self.rows.n_units)
    }

    /// The way through an array that is not contiguous, in as few dimensions as possible.
    pub(crate) fn layout(&self, arg: ArgId) -> Layout {
        match &self.launch.operands[arg as usize] {
            Operand::Array { layout, .. } | Operand::DenseRows { layout, .. } => simplify(layout),
            _ => misbound(arg, "array"),
        }
    }

    /// Whether addresses change from line to line, or from panel to panel.
    pub(crate) fn has_lines(&self) -> bool {
        self.lines.is_some() || self.panels.is_some()
    }

    /// Whether there may be blocks that end within a chunk.
    fn has_ragged_blocks(&self) -> bool {
        let cuts = [
            self.extent.start as usize,
            self.extent.len as usize,
            self.block_len,
        ];
        let has_ragged_units = !self.rows.are_multiples_of(CHUNK);
        let has_lines =
            self.has_lines() || self.native.is_some_and(|native| native.lines.is_some());
        self.is_sliced || has_lines || has_ragged_units || cuts.iter().any(|cut| cut % CHUNK != 0)
    }

    /// An estimate of the work: element operations. Rows count by their number where they have few,
    /// so that short loops over the same rows decide alike whether they are divided: else the data
    /// would move from core to core between them, which costs more than the loops.
    pub(crate) fn work(&self) -> usize {
        let mut per_row = 0;
        let mut entries = 0;
        for step in &self.program.steps {
            per_row += 1;
            match *step {
                Step::Update { terms, .. } | Step::ReduceProducts { terms, .. } => {
                    per_row += terms.end - terms.first - 1;
                }
                Step::RowSum { ref sums, .. } => {
                    if let (Operand::Structure(structure), Operand::Gather { width, .. }) = (
                        &self.launch.operands[sums.structure as usize],
                        &self.launch.operands[sums.x as usize],
                    ) {
                        entries += structure.entries * width;
                    }
                }
                Step::RowReduce { matrix, .. } => {
                    if let Operand::DenseRows { columns, .. } =
                        self.launch.operands[matrix as usize]
                    {
                        per_row += columns;
                    }
                }
                Step::Map { .. }
                | Step::Gather { .. }
                | Step::Index { .. }
                | Step::Load { .. }
                | Step::Store { .. }
                | Step::Reduce { .. }
                | Step::ReduceProduct { .. } => {}
            }
        }
        let n_rows = self.rows.count();
        (n_rows * per_row + entries).max(n_rows * LEAST_PER_ROW)
    }
}

impl Run<'_> {
    /// Adds where the rows of each slot lie: in arrays if `in_place`, else in registers for
    /// `capacity` rows. Returns whether all arrays that can be used in place are.
    fn add_addresses(
        &self,
        in_place: bool,
        (registers, capacity): (*mut u8, usize),
        addresses: &mut Vec<Address>,
    ) -> bool {
        let mut are_all = in_place;
        let slots = self.program.slots.as_slice();
        let register = |size: usize, offset: usize| Address {
            data: registers.wrapping_add(offset * capacity),
            row_bytes: 0,
            step: CHUNK * size,
        };
        addresses.extend(slots.iter().map(|slot| match *slot {
            Slot::Register { size, offset } => register(size, offset),
            Slot::Memory {
                arg,
                size,
                register: own,
            } => {
                let array = &self.arrays[arg as usize];
                if in_place && array.is_contiguous && !array.is_streamed {
                    return Address {
                        data: array.data,
                        row_bytes: size,
                        step: CHUNK * size,
                    };
                }
                are_all = false;
                match slots[own as usize] {
                    Slot::Register { size, offset } => register(size, offset),
                    Slot::Memory { .. } | Slot::Uniform { .. } => {
                        unreachable!("the slot of an array in short blocks is a register")
                    }
                }
            }
            Slot::Uniform { splat } => Address {
                data: self.splats[splat].as_ptr().cast_mut().cast(),
                row_bytes: 0,
                step: 0,
            },
        }));
        are_all
    }
}

/// The buffers of one thread.
#[derive(Debug)]
pub(crate) struct Scratch {
    registers: Buffer,
    addresses: Vec<Address>,
    line: Vec<Address>,
    lined: Vec<Lined>,
    fetched: Vec<Fetched>,
    natives: Vec<*mut u8>,
    line_steps: Vec<i64>,
    placed: Vec<Placed>,
    panels: Buffer,
    lanes: Vec<Lanes>,
    terms: Vec<Term>,
    /// A row and the `x` of a dense matrix that do not lie side by side.
    dense: Buffer,
}

impl Scratch {
    pub(crate) const EMPTY: Self = Self {
        registers: Buffer::EMPTY,
        addresses: Vec::new(),
        line: Vec::new(),
        lined: Vec::new(),
        fetched: Vec::new(),
        natives: Vec::new(),
        line_steps: Vec::new(),
        placed: Vec::new(),
        panels: Buffer::EMPTY,
        lanes: Vec::new(),
        terms: Vec::new(),
        dense: Buffer::EMPTY,
    };
}

/// One thread of a run.
pub(crate) struct Worker<'a> {
    pub(crate) run: &'a Run<'a>,
    /// The address of each slot in blocks of whole chunks; then in shorter ones, which must not
    /// read or write an array beyond its last row and so use registers instead.
    pub(crate) whole: &'a [Address],
    /// Whether the first of them are those of the arrays, of all that can be used in place.
    pub(crate) is_in_place: bool,
    pub(crate) ragged: &'a [Address],
    /// The addresses of the arrays that the loop's native form expects, where it goes line by line
    /// those of the line; and where these arrays lie.
    pub(crate) natives: &'a mut [*mut u8],
    /// The bytes from line to line of each of them.
    pub(crate) line_steps: &'a [i64],
    pub(crate) placed: &'a [Placed],
    /// What each block asks for, for the next one.
    pub(crate) fetched: &'a [Fetched],
    pub(crate) lanes: &'a mut [Lanes],
    /// The addresses of each slot in blocks of whole chunks of the line that is being run, and then
    /// in the rest of the line; and the slots for which these are set anew for each line.
    pub(crate) line: &'a mut Vec<Address>,
    pub(crate) lined: &'a [Lined],
    /// The factors of a step with several terms.
    pub(crate) terms: &'a mut Vec<Term>,
    pub(crate) dense: &'a mut Buffer,
    /// The panels, and the rows that they hold.
    pub(crate) panels: *mut u8,
    pub(crate) paneled: Range<usize>,
    /// Where the rows end that the thread has been given.
    pub(crate) end_of_part: usize,
    /// The first row of the tile that is being reduced.
    pub(crate) tile_start: usize,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(run: &'a Run<'a>, scratch: &'a mut Scratch) -> Self {
        let capacity = run.block_len.next_multiple_of(UNIT);
        let registers = scratch.registers.of(capacity * run.program.register_bytes);
        Self::with_registers(run, scratch, registers)
    }

    /// With registers that others may use between blocks.
    pub(crate) fn with_registers(
        run: &'a Run<'a>,
        scratch: &'a mut Scratch,
        registers: *mut u8,
    ) -> Self {
        let program = run.program;
        let capacity = run.block_len.next_multiple_of(UNIT);
        scratch.addresses.clear();
        let tables: &[bool] = match run.has_ragged_blocks() {
            true => &[true, false],
            false => &[true],
        };
        let mut is_in_place = false;
        for &in_place in tables {
            let registers = (registers, capacity);
            is_in_place |= run.add_addresses(in_place, registers, &mut scratch.addresses);
        }
        scratch.natives.clear();
        scratch.placed.clear();
        scratch.placed.extend(run.placed_natives());
        let data = scratch.placed.iter().map(|placed| placed.data);
        scratch.natives.extend(data);
        scratch.line_steps.clear();
        if let Some(lines) = run.native.and_then(|native| native.lines) {
            let steps = scratch.placed.iter().map(|placed| lines.line_step(placed));
            scratch.line_steps.extend(steps);
        }
        scratch.fetched.clear();
        if run.is_far && !program.has_many_terms && asks_for_streams() {
            let fetched = Fetched::of_loop(program, run.launch, run.arrays);
            scratch.fetched.extend(fetched);
        }
        scratch.lanes.resize(program.reductions.len(), Lanes::EMPTY);
        let (whole, ragged) = scratch.addresses.split_at(program.slots.len());
        scratch.line.clear();
        scratch.lined.clear();
        if run.has_lines() {
            scratch.line.extend_from_slice(whole);
            scratch.line.extend_from_slice(ragged);
        }
        if let Some(lines) = run.lines {
            let slots = lines.slots(program, run.launch, run.arrays);
            // Beside this loop others write, behind a line too.
            let slots = slots.map(|slot| if run.is_sliced { slot.exact() } else { slot });
            scratch.lined.extend(slots);
        }
        Self {
            run,
            whole,
            is_in_place,
            ragged,
            natives: &mut scratch.natives,
            line_steps: &scratch.line_steps,
            placed: &scratch.placed,
            fetched: &scratch.fetched,
            lanes: &mut scratch.lanes,
            line: &mut scratch.line,
            lined: &scratch.lined,
            terms: &mut scratch.terms,
            dense: &mut scratch.dense,
            panels: match &run.panels {
                Some(panels) => scratch.panels.of(panels.bytes()),
                None => std::ptr::null_mut(),
            },
            paneled: 0..0,
            end_of_part: 0,
            tile_start: 0,
        }
    }
}
