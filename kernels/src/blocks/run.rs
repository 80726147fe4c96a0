//! One run of a loop: uniform values, the division of the rows among threads, tiles, blocks.
//!
//! Buffers are kept per thread ([`Scratch`]), so a run allocates nothing once they have grown.
#![expect(
    unsafe_code,
    reason = "follows the pointers of a launch, block by block"
)]

use super::compile::{LoopProgram, SlotId, Step};
use super::lanes::Lanes;
use super::loops::CHUNK;
use super::steps::Address;
use super::strided::simplify;
use super::uniform::{Splat, misbound, splat, uniform};
use super::{Part, Settings};
use crate::element::Value;
use crate::isa::Isa;
use crate::launch::{Extent, Launch, Layout, Operand};
use crate::workers::Workers;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// The granularity at which rows are divided where tiles do not matter: whole cache lines of every
/// element type.
const UNIT: usize = 64;

/// The operations that a row counts as, at least.
const LEAST_PER_ROW: usize = 16;

/// Runs a loop.
///
/// # Safety
/// As [`super::Program::run`].
pub(super) unsafe fn run_loop(
    program: &LoopProgram,
    launch: &Launch<'_>,
    part: Part<'_>,
    settings: &Settings,
    workers: &Workers,
) {
    let mut shared = SHARED.take();
    // SAFETY: the caller's promises.
    unsafe { shared.prepare(program, launch) };
    let extent = launch.domains[program.domain as usize];
    if extent.len > 0 && !program.steps.is_empty() {
        let rows = Rows::new(program, launch, extent, part);
        let run = Run {
            program,
            launch,
            extent,
            arrays: &shared.arrays,
            splats: &shared.splats,
            isa: settings.isa,
            block_len: block_len(program, launch.tile_len, &rows, settings),
        };
        let n_parts = if run.work(&rows) < settings.parallel_threshold {
            1
        } else {
            workers.count().min(rows.n_units)
        };
        let run = &run;
        let rows = &rows;
        workers.run(n_parts, |i| {
            SCRATCH.with_borrow_mut(|scratch| {
                let mut worker = Worker::new(run, scratch);
                // SAFETY: the caller's promises; parts have no row in common.
                rows.of_part(i, n_parts, |range| unsafe { worker.run(range) });
            });
        });
    }
    SHARED.set(shared);
}

thread_local! {
    static SHARED: Cell<Shared> = const { Cell::new(Shared::EMPTY) };
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch::EMPTY) };
}

/// What the threads of a run share; made by the caller.
#[derive(Debug)]
struct Shared {
    /// The uniform values, by number.
    values: Vec<Value>,
    /// A chunk of copies of each of those that steps read.
    splats: Vec<Splat>,
    /// The `Array` operands, by argument; others have a null pointer.
    arrays: Vec<Array>,
}

/// An array operand with its layout simplified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) data: *mut u8,
    pub(super) layout: Layout,
    pub(super) is_contiguous: bool,
}

impl Default for Shared {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Shared {
    const EMPTY: Self = Self {
        values: Vec::new(),
        splats: Vec::new(),
        arrays: Vec::new(),
    };

    /// # Safety
    /// As [`run_loop`].
    unsafe fn prepare(&mut self, program: &LoopProgram, launch: &Launch<'_>) {
        self.values.clear();
        self.splats.clear();
        for &(inst, dtype) in &program.uniforms {
            // SAFETY: the caller's promises about scalars and parameters.
            let value = unsafe { uniform(inst, dtype, &self.values, launch) };
            self.values.push(value);
        }
        let values = &self.values;
        let splats = program.splats.iter();
        self.splats
            .extend(splats.map(|&number| splat(values[number as usize])));
        self.arrays.clear();
        self.arrays.extend(launch.operands.iter().map(Array::new));
    }
}

impl Array {
    fn new(operand: &Operand) -> Self {
        let (data, layout) = match operand {
            Operand::Array { data, layout } if layout.rank == 1 => (*data, *layout),
            Operand::Array { data, layout } => (*data, simplify(layout)),
            Operand::Scalar { .. }
            | Operand::Reduction { .. }
            | Operand::Gather { .. }
            | Operand::Entries { .. }
            | Operand::Structure(_)
            | Operand::DenseRows { .. } => (std::ptr::null_mut(), Layout::contiguous(0)),
        };
        let is_contiguous = layout.rank == 0 || (layout.rank == 1 && layout.strides[0] == 1);
        Self {
            data,
            layout,
            is_contiguous,
        }
    }
}

/// The rows of a run, in units that one thread owns as a whole.
#[derive(Debug)]
struct Rows<'a> {
    /// Rows of a unit.
    unit: u64,
    /// The place of the extent's first row within unit 0.
    offset: u64,
    /// Rows of the extent.
    len: u64,
    /// Which units; all of them where this is `None`.
    ranges: Option<&'a [Range<u64>]>,
    n_units: usize,
}

impl<'a> Rows<'a> {
    fn new(program: &LoopProgram, launch: &Launch<'_>, extent: Extent, part: Part<'a>) -> Self {
        let tile = launch.tile_len as u64;
        let Extent { start, len } = extent;
        let all = |unit: u64| {
            let offset = start % unit;
            (unit, offset, (offset + len).div_ceil(unit))
        };
        let ((unit, offset, n_units), ranges) = match part {
            Part::Tiles(ranges) => {
                let n_tiles = ranges.iter().map(|range| range.end - range.start).sum();
                ((tile, start % tile, n_tiles), Some(ranges))
            }
            Part::All if program.reductions.is_empty() => (all(UNIT as u64), None),
            Part::All => (all(tile), None),
        };
        Self {
            unit,
            offset,
            len,
            ranges,
            n_units: n_units as usize,
        }
    }

    /// At least the number of rows.
    fn count(&self) -> usize {
        (self.n_units * self.unit as usize).min(self.len as usize)
    }

    /// Visits the rows of part `i` of `n`, as ranges of local rows.
    fn of_part(&self, i: usize, n: usize, mut visit: impl FnMut(Range<usize>)) {
        let (first, end) = match n {
            1 => (0, self.n_units as u64),
            _ => (
                (self.n_units * i / n) as u64,
                (self.n_units * (i + 1) / n) as u64,
            ),
        };
        let local =
            |unit: u64| (unit * self.unit).saturating_sub(self.offset).min(self.len) as usize;
        let Some(ranges) = self.ranges else {
            return visit(local(first)..local(end));
        };
        let mut before = 0;
        for range in ranges {
            let skip = |units: u64| {
                range.start + units.clamp(before, before + range.end - range.start) - before
            };
            visit(local(skip(first))..local(skip(end)));
            before += range.end - range.start;
        }
    }
}

/// The length of the blocks: as set, or the longest that fits the cache, evened out over the rows
/// that are run without a break.
fn block_len(
    program: &LoopProgram,
    tile_len: usize,
    rows: &Rows<'_>,
    settings: &Settings,
) -> usize {
    if settings.block_len > 0 {
        return settings.block_len;
    }
    let longest = program.longest_block;
    let run = match program.reductions.is_empty() {
        true => rows.count(),
        false => tile_len.min(rows.count()),
    };
    if run <= longest {
        return run.next_multiple_of(UNIT);
    }
    let n_blocks = run.div_ceil(longest);
    run.div_ceil(n_blocks).next_multiple_of(UNIT)
}

/// One run of a loop, as all its threads see it.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) program: &'a LoopProgram,
    pub(super) launch: &'a Launch<'a>,
    pub(super) extent: Extent,
    pub(super) arrays: &'a [Array],
    pub(super) splats: &'a [Splat],
    pub(super) isa: Isa,
    pub(super) block_len: usize,
}

// SAFETY: threads only read the run; they write through its pointers to rows and partials of their
// own parts.
unsafe impl Sync for Run<'_> {}

impl Run<'_> {
    /// Whether there may be blocks that end within a chunk.
    fn has_ragged_blocks(&self) -> bool {
        let cuts = [
            self.extent.start as usize,
            self.extent.len as usize,
            self.launch.tile_len,
            self.block_len,
        ];
        cuts.iter().any(|cut| cut % CHUNK != 0)
    }

    /// An estimate of the work: element operations. Rows count by their number where they have few,
    /// so that short loops over the same rows decide alike whether they are divided: else the data
    /// would move from core to core between them, which costs more than the loops.
    fn work(&self, rows: &Rows<'_>) -> usize {
        let mut per_row = 0;
        let mut entries = 0;
        for step in &self.program.steps {
            per_row += 1;
            match *step {
                Step::RowSum { structure, .. } => {
                    if let Operand::Structure(structure) = self.launch.operands[structure as usize]
                    {
                        // SAFETY: `Program::run` asks for `rows + 1` positions.
                        entries += unsafe { *structure.pos.add(structure.rows) - *structure.pos };
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
                | Step::Index { .. }
                | Step::Load { .. }
                | Step::Store { .. }
                | Step::Reduce { .. } => {}
            }
        }
        let operations = rows.count() * per_row + entries as usize;
        operations.max(rows.count() * LEAST_PER_ROW)
    }
}

/// The buffers of one thread.
#[derive(Debug)]
struct Scratch {
    registers: Vec<Line>,
    addresses: Vec<Address>,
    lanes: Vec<Lanes>,
    /// A row and the `x` of a dense matrix that do not lie side by side.
    dense: Vec<Line>,
}

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line(#[expect(dead_code, reason = "used through pointers")] [u8; 64]);

impl Scratch {
    const EMPTY: Self = Self {
        registers: Vec::new(),
        addresses: Vec::new(),
        lanes: Vec::new(),
        dense: Vec::new(),
    };
}

/// At least `bytes` bytes of a buffer, which grows where it must.
pub(super) fn buffer(lines: &mut Vec<Line>, bytes: usize) -> *mut u8 {
    let n = bytes.div_ceil(size_of::<Line>());
    if lines.len() < n {
        lines.resize(n, Line([0; 64]));
    }
    lines.as_mut_ptr().cast()
}

/// One thread of a run.
pub(super) struct Worker<'a> {
    pub(super) run: &'a Run<'a>,
    /// The address of each slot in blocks of whole chunks; then in shorter ones, which must not
    /// read or write an array beyond its last row and so use registers instead.
    pub(super) whole: &'a [Address],
    pub(super) ragged: &'a [Address],
    pub(super) lanes: &'a mut [Lanes],
    pub(super) dense: &'a mut Vec<Line>,
}

impl<'a> Worker<'a> {
    fn new(run: &'a Run<'a>, scratch: &'a mut Scratch) -> Self {
        let program = run.program;
        let capacity = run.block_len.next_multiple_of(UNIT);
        let registers = buffer(&mut scratch.registers, capacity * program.register_bytes);
        scratch.addresses.clear();
        let tables: &[bool] = match run.has_ragged_blocks() {
            true => &[true, false],
            false => &[true],
        };
        for &in_place in tables {
            let addresses = (0..program.slots.len() as SlotId)
                .map(|slot| run.address(slot, in_place, registers, capacity));
            scratch.addresses.extend(addresses);
        }
        scratch.lanes.resize(program.reductions.len(), Lanes::EMPTY);
        let (whole, ragged) = scratch.addresses.split_at(program.slots.len());
        Self {
            run,
            whole,
            ragged,
            lanes: &mut scratch.lanes,
            dense: &mut scratch.dense,
        }
    }

    /// Runs a range of local rows; whole tiles if the loop reduces.
    ///
    /// # Safety
    /// As [`run_loop`]; the rows must be there, and no other thread may run them.
    unsafe fn run(&mut self, rows: Range<usize>) {
        let reductions = &self.run.program.reductions;
        if reductions.is_empty() {
            // SAFETY: forwarded.
            return unsafe { self.run_blocks(rows) };
        }
        let tile_len = self.run.launch.tile_len;
        let offset = (self.run.extent.start % tile_len as u64) as usize;
        let mut first = rows.start;
        while first < rows.end {
            let tile = (first + offset) / tile_len;
            let end = ((tile + 1) * tile_len - offset).min(rows.end);
            for (lanes, (_, reduction)) in self.lanes.iter_mut().zip(reductions) {
                reduction.start(lanes);
            }
            // SAFETY: forwarded; each tile that the extent touches has a partial.
            unsafe {
                self.run_blocks(first..end);
                self.finish_tile(tile);
            }
            first = end;
        }
    }

    unsafe fn finish_tile(&mut self, tile: usize) {
        for (lanes, &(arg, reduction)) in self.lanes.iter_mut().zip(&self.run.program.reductions) {
            let Operand::Reduction { partials } = self.run.launch.operands[arg as usize] else {
                misbound(arg, "reduction")
            };
            // SAFETY: the caller's promise.
            unsafe { partials.add(tile).write(reduction.finish(lanes)) };
        }
    }

    unsafe fn run_blocks(&mut self, rows: Range<usize>) {
        let mut first = rows.start;
        while first < rows.end {
            let n = self.run.block_len.min(rows.end - first);
            let whole = n - n % CHUNK;
            // SAFETY: forwarded.
            unsafe {
                if whole > 0 {
                    self.run_steps(self.whole, first, whole);
                }
                if whole < n {
                    self.run_steps(self.ragged, first + whole, n - whole);
                }
            }
            first += n;
        }
    }
}
