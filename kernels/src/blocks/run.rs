//! One run of a loop: uniform values, the division of the rows among threads, tiles, blocks.
//!
//! Buffers are kept per thread ([`Scratch`]), so a run allocates nothing once they have grown.
#![expect(
    unsafe_code,
    reason = "follows the pointers of a launch, block by block"
)]

use super::ahead::{Ahead, Reach};
use super::compile::{LoopProgram, Step};
use super::fetch::Fetched;
use super::lanes::Lanes;
use super::loops::CHUNK;
use super::slots::SlotId;
use super::steps::Address;
use super::stream;
use super::streams::Term;
use super::strided::simplify;
use super::uniform::{Splat, misbound, splat, uniform};
use super::{Part, Settings};
use crate::element::Value;
use crate::ir::ArgId;
use crate::isa::Isa;
use crate::launch::{Extent, Launch, Layout, Operand, Structure};
use crate::native::{Native, Twin};
use crate::packed::WINDOW;
use crate::workers::Workers;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// The granularity of short blocks: whole cache lines of every element type. Longer blocks, and
/// the rows of a thread where tiles do not matter, are whole windows of packed matrices.
const UNIT: usize = 64;

/// The longest block of arrays that come from memory. While the first steps of a block wait for
/// memory, the others do not use it; with short blocks, the prefetchers of the hardware have read
/// the next block by then, and the stores of the last one are still on their way. The sum of
/// `a x + b z - c`, from 10 million rows: 6.3 ms, with blocks of 512 rows 9 ms.
const SHORT: usize = 256;

/// The shortest block of products whose arrays come from beyond the L2 cache. The prefetchers of
/// the hardware begin anew with each array of a block, so its stretches should be long; what a
/// block takes then lies in the L2 cache. An iteration with a V cycle on 1024 by 1024 points:
/// 7.8 ms, with blocks that fit the L1 cache 9.7 ms.
const LONG: usize = 2048;

/// The bytes of a loop's arrays up to which they are taken to lie in the L2 cache.
const NEAR: usize = 1 << 20;

/// The entries of a sparse matrix that take as long as what else happens to a row.
const ROW_WEIGHT: u64 = 4;

/// The operations that a row counts as, at least.
const LEAST_PER_ROW: usize = 16;

/// Runs a loop.
///
/// # Safety
/// As [`super::Program::run`].
pub(super) unsafe fn run_loop(
    program: &LoopProgram,
    twin: Option<&Arc<Twin>>,
    launch: &Launch<'_>,
    part: Part<'_>,
    settings: &Settings,
    workers: &Workers,
) {
    let mut shared = SHARED.take();
    // SAFETY: the caller's promises.
    unsafe { shared[0].prepare(program, launch) };
    shared[0].stream(program, launch, settings);
    let mut run = Run::new(program, launch, &shared[0], settings, part);
    if run.has_work() {
        run.native = twin.and_then(|twin| run.native(twin));
        let n_parts = run.n_parts(run.work(), settings, workers);
        let run = &run;
        workers.run(n_parts, |i| {
            SCRATCH.with_borrow_mut(|scratch| {
                let mut worker = Worker::new(run, &mut scratch[0]);
                let rows = &run.rows;
                // SAFETY: the caller's promises; parts have no row in common.
                rows.of_part(i, n_parts, |range| unsafe { worker.run(range, |_| ()) });
                run.fence();
            });
        });
    }
    SHARED.set(shared);
}

/// Runs two loops at the same time, the first ahead of the second by its reach.
///
/// With several threads, each first runs the rows of the first loop that others will read: those
/// within reach of the ends of its part.
///
/// # Safety
/// As [`super::Program::run`]; and [`super::ahead::Ahead`] admits it.
pub(super) unsafe fn run_ahead(
    (programs, ahead, reach): ([&LoopProgram; 2], &Ahead, Reach),
    launch: &Launch<'_>,
    part: Part<'_>,
    settings: &Settings,
    workers: &Workers,
) {
    let mut shared = SHARED.take();
    for (shared, program) in shared.iter_mut().zip(programs) {
        // SAFETY: the caller's promises.
        unsafe { shared.prepare(program, launch) };
    }
    shared[1].stream(programs[1], launch, settings);
    for arg in ahead.met_by_second() {
        let array = &mut shared[1].arrays[arg as usize];
        (array.is_streamed, array.is_near) = (false, true);
    }
    let mut first = Run::new(programs[0], launch, &shared[0], settings, part);
    let mut second = Run::new(programs[1], launch, &shared[1], settings, part);
    first.block_len = second.block_len;
    let is_far = is_far(&programs, launch, settings);
    (first.is_far, second.is_far) = (is_far, is_far);
    let is_near = second.rows.len as usize * programs[1].array_bytes <= NEAR;
    second.rows_ahead = (!is_near).then_some(second.block_len + reach.above);
    if second.has_work() {
        let wanted = second.n_parts(first.work() + second.work(), settings, workers);
        let n_parts = if second.can_be_cut(wanted, reach) {
            wanted
        } else {
            1
        };
        let (first, second) = (&first, &second);
        let seams = |i: usize| {
            let Range { start, end } = second.rows.range(i, n_parts);
            let above = if i == 0 {
                0
            } else {
                reach.above.next_multiple_of(WINDOW)
            };
            let below = if i + 1 == n_parts {
                0
            } else {
                reach.below.next_multiple_of(WINDOW)
            };
            (start, start + above, end - below, end)
        };
        workers.run_phases(2, n_parts, |phase, i| {
            let (start, head, tail, end) = seams(i);
            SCRATCH.with_borrow_mut(|scratch| {
                let [ahead, behind] = scratch;
                let mut ahead = Worker::new(first, ahead);
                if phase == 0 {
                    // SAFETY: the caller's promises; parts have no row in common.
                    unsafe {
                        ahead.run(start..head, |_| ());
                        ahead.run(tail..end, |_| ());
                    }
                    return;
                }
                let mut behind = Worker::new(second, behind);
                let mut done = head;
                let advance = |row: usize| {
                    let goal = (row + reach.above).next_multiple_of(UNIT).min(tail);
                    if done < goal {
                        // SAFETY: the caller's promises; the rows up to `done` have been run, and
                        // no other thread runs those of `head..tail`.
                        unsafe { ahead.run(done..goal, |_| ()) };
                        done = goal;
                    }
                };
                // SAFETY: as above; before each block, all rows that it reads have been run: by
                // `advance`, as seams, or by other threads as their seams.
                unsafe { behind.run(start..end, advance) };
                second.fence();
            });
        });
    }
    SHARED.set(shared);
}

thread_local! {
    static SHARED: Cell<[Shared; 2]> = const { Cell::new([Shared::EMPTY; 2]) };
    static SCRATCH: RefCell<[Scratch; 2]> = const { RefCell::new([Scratch::EMPTY; 2]) };
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

/// An array operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) data: *mut u8,
    pub(super) is_contiguous: bool,
    /// Whether blocks are stored past the caches.
    pub(super) is_streamed: bool,
    /// Whether a loop that runs ahead has reached the same rows before.
    pub(super) is_near: bool,
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

    /// Decides which arrays are stored past the caches.
    fn stream(&mut self, program: &LoopProgram, launch: &Launch<'_>, settings: &Settings) {
        if is_large(program, launch, settings) {
            for &arg in &program.write_only {
                let array = &mut self.arrays[arg as usize];
                array.is_streamed = array.is_contiguous;
            }
        }
    }
}

impl Array {
    fn new(operand: &Operand) -> Self {
        let (data, is_contiguous) = match operand {
            Operand::Array { data, layout } => (*data, layout.is_contiguous()),
            Operand::Scalar { .. }
            | Operand::Reduction { .. }
            | Operand::Gather { .. }
            | Operand::Entries { .. }
            | Operand::Packed(_)
            | Operand::Structure(_)
            | Operand::DenseRows { .. } => (std::ptr::null_mut(), false),
        };
        Self {
            data,
            is_contiguous,
            is_streamed: false,
            is_near: false,
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
    /// The sparse matrix that is multiplied, if there is one.
    matrix: Option<(Structure, usize)>,
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
            // Rows that are reduced may be few and long.
            Part::All if program.reductions.is_empty() && program.reduces_rows() => {
                (all(CHUNK as u64), None)
            }
            Part::All if program.reductions.is_empty() => (all(WINDOW as u64), None),
            Part::All => (all(tile), None),
        };
        Self {
            unit,
            offset,
            len,
            ranges,
            n_units: n_units as usize,
            matrix: program.steps.iter().find_map(|step| match *step {
                Step::RowSum { structure, x, .. } => {
                    match (
                        launch.operands[structure as usize],
                        launch.operands[x as usize],
                    ) {
                        (Operand::Structure(structure), Operand::Gather { width, .. }) => {
                            Some((structure, width))
                        }
                        _ => None,
                    }
                }
                _ => None,
            }),
        }
    }

    /// The first row of a unit.
    fn local(&self, unit: u64) -> usize {
        (unit * self.unit).saturating_sub(self.offset).min(self.len) as usize
    }

    /// The unit with which part `i` of `n` begins: parts have equally many units, unless a sparse
    /// matrix has its entries in few of them.
    fn cut(&self, i: usize, n: usize) -> u64 {
        let even = (self.n_units * i / n) as u64;
        let Some((matrix, width)) = self
            .matrix
            .filter(|_| 0 < i && i < n && self.ranges.is_none())
        else {
            return even;
        };
        let weight = |unit: u64| {
            let row = (self.local(unit) / width).min(matrix.rows);
            // SAFETY: `Program::run` asks for `rows + 1` positions.
            let entries = unsafe { *matrix.pos.add(row) - *matrix.pos };
            entries + ROW_WEIGHT * row as u64
        };
        let total = weight(self.n_units as u64);
        let target = total / n as u64 * i as u64;
        if weight(even).abs_diff(target) <= total / (16 * n as u64) {
            return even;
        }
        let (mut low, mut high) = (0, self.n_units as u64);
        while low < high {
            let middle = low.midpoint(high);
            if weight(middle) < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// At least the number of rows.
    fn count(&self) -> usize {
        (self.n_units * self.unit as usize).min(self.len as usize)
    }

    /// The rows of part `i` of `n` of all rows.
    fn range(&self, i: usize, n: usize) -> Range<usize> {
        let mut range = 0..0;
        self.of_part(i, n, |rows| range = rows);
        range
    }

    /// Visits the rows of part `i` of `n`, as ranges of local rows.
    fn of_part(&self, i: usize, n: usize, mut visit: impl FnMut(Range<usize>)) {
        let (first, end) = match n {
            1 => (0, self.n_units as u64),
            _ => (self.cut(i, n), self.cut(i + 1, n)),
        };
        let local = |unit: u64| self.local(unit);
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

impl LoopProgram {
    /// Whether a step reduces the rows of a dense matrix, and none multiplies a sparse one.
    fn reduces_rows(&self) -> bool {
        let mut steps = self.steps.iter();
        let is_dense = |step: &Step| matches!(step, Step::RowReduce { .. });
        steps.any(is_dense)
            && !self
                .steps
                .iter()
                .any(|step| matches!(step, Step::RowSum { .. }))
    }
}

/// Whether the arrays of a loop come from memory and go there.
fn is_large(program: &LoopProgram, launch: &Launch<'_>, settings: &Settings) -> bool {
    let rows = launch.domains[program.domain as usize].len as usize;
    rows * program.array_bytes > settings.stream_threshold
}

/// Whether the arrays of loops that run at the same time are more than the last cache keeps from
/// one task to the next, half of what goes past it.
fn is_far(programs: &[&LoopProgram], launch: &Launch<'_>, settings: &Settings) -> bool {
    let bytes = programs.iter().map(|program| {
        let gathered: usize = program.gathered.iter().map(|&(.., size)| size).sum();
        launch.domains[program.domain as usize].len as usize * (program.array_bytes + gathered)
    });
    bytes.sum::<usize>() > settings.stream_threshold / 2
}

/// The length of the blocks: as set, or the longest that fits the cache, evened out over the rows
/// that are run without a break. Short ones where element loops alone read from memory.
fn block_len(
    program: &LoopProgram,
    tile_len: usize,
    (rows, is_large): (&Rows<'_>, bool),
    settings: &Settings,
) -> usize {
    if settings.block_len > 0 {
        return settings.block_len;
    }
    let longest = match rows.matrix {
        None if is_large && !program.has_many_terms => program.longest_block.min(SHORT),
        Some(_) if rows.len as usize * program.array_bytes > NEAR && !program.has_many_terms => {
            program.longest_block.max(LONG)
        }
        None | Some(_) => program.longest_block,
    };
    let run = match program.reductions.is_empty() {
        true => rows.count(),
        false => tile_len.min(rows.count()),
    };
    if run <= longest {
        return run.next_multiple_of(UNIT);
    }
    let n_blocks = run.div_ceil(longest);
    run.div_ceil(n_blocks).next_multiple_of(WINDOW)
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
    /// Whether the arrays are larger than the caches.
    pub(super) is_large: bool,
    /// Whether they come from memory, together with those of a loop at the same time.
    is_far: bool,
    /// How many rows further on a loop that runs ahead goes on next, where it reads arrays of this
    /// one from beyond the L2 cache.
    pub(super) rows_ahead: Option<usize>,
    rows: Rows<'a>,
    /// The native form of the loop, if it takes this run.
    native: Option<Native<'a>>,
}

// SAFETY: threads only read the run; they write through its pointers to rows and partials of their
// own parts.
unsafe impl Sync for Run<'_> {}

impl<'a> Run<'a> {
    fn new(
        program: &'a LoopProgram,
        launch: &'a Launch<'a>,
        shared: &'a Shared,
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
            arrays: &shared.arrays,
            splats: &shared.splats,
            isa: settings.isa,
            block_len: block_len(program, launch.tile_len, (&rows, is_large), settings),
            rows,
            is_large,
            is_far: is_far(&[program], launch, settings),
            rows_ahead: None,
            native: None,
        }
    }

    /// At least the number of rows of the run.
    pub(super) fn n_rows(&self) -> usize {
        self.rows.count()
    }

    /// Ends the stores past the caches, before others read what they have written.
    fn fence(&self) {
        if self.arrays.iter().any(|array| array.is_streamed) {
            stream::fence();
        }
    }

    fn has_work(&self) -> bool {
        self.extent.len > 0 && !self.program.steps.is_empty()
    }

    /// Into how many parts the rows are divided.
    fn n_parts(&self, work: usize, settings: &Settings, workers: &Workers) -> usize {
        if work < settings.parallel_threshold {
            1
        } else {
            workers.count().min(self.rows.n_units)
        }
    }

    /// Whether the rows can be divided into `n` parts so that only neighbours read each other's
    /// rows, and each part consists of whole windows of packed matrices.
    fn can_be_cut(&self, n: usize, reach: Reach) -> bool {
        let is_even = self.rows.offset == 0 && self.rows.unit.is_multiple_of(WINDOW as u64);
        let needed = reach.below + reach.above + 2 * WINDOW;
        n == 1 || (is_even && (0..n).all(|i| self.rows.range(i, n).len() >= needed))
    }

    /// The way through an array that is not contiguous, in as few dimensions as possible.
    pub(super) fn layout(&self, arg: ArgId) -> Layout {
        match &self.launch.operands[arg as usize] {
            Operand::Array { layout, .. } => simplify(layout),
            _ => misbound(arg, "array"),
        }
    }

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
    fn work(&self) -> usize {
        let mut per_row = 0;
        let mut entries = 0;
        for step in &self.program.steps {
            per_row += 1;
            match *step {
                Step::Update { terms, .. } | Step::ReduceProducts { terms, .. } => {
                    per_row += terms.end - terms.first - 1;
                }
                Step::RowSum { structure, x, .. } => {
                    if let (Operand::Structure(structure), Operand::Gather { width, .. }) = (
                        &self.launch.operands[structure as usize],
                        &self.launch.operands[x as usize],
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

/// The buffers of one thread.
#[derive(Debug)]
struct Scratch {
    registers: Vec<Line>,
    addresses: Vec<Address>,
    fetched: Vec<Fetched>,
    natives: Vec<*mut u8>,
    lanes: Vec<Lanes>,
    terms: Vec<Term>,
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
        fetched: Vec::new(),
        natives: Vec::new(),
        lanes: Vec::new(),
        terms: Vec::new(),
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
    /// The addresses of the arrays that the loop's native form expects.
    pub(super) natives: &'a [*mut u8],
    /// What each block asks for, for the next one.
    pub(super) fetched: &'a [Fetched],
    pub(super) lanes: &'a mut [Lanes],
    /// The factors of a step with several terms.
    pub(super) terms: &'a mut Vec<Term>,
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
        let natives = run.native.iter().flat_map(|native| native.arrays);
        scratch.natives.clear();
        scratch
            .natives
            .extend(natives.map(|&arg| run.arrays[arg as usize].data));
        scratch.fetched.clear();
        if run.is_far && !program.has_many_terms {
            let fetched = Fetched::of_loop(program, run.launch, run.arrays);
            scratch.fetched.extend(fetched);
        }
        scratch.lanes.resize(program.reductions.len(), Lanes::EMPTY);
        let (whole, ragged) = scratch.addresses.split_at(program.slots.len());
        Self {
            run,
            whole,
            ragged,
            natives: &scratch.natives,
            fetched: &scratch.fetched,
            lanes: &mut scratch.lanes,
            terms: &mut scratch.terms,
            dense: &mut scratch.dense,
        }
    }

    /// Runs a range of local rows, whole tiles if the loop reduces; calls `before_rows` with the
    /// end of each block before it is run.
    ///
    /// # Safety
    /// As [`run_loop`]; the rows must be there, and no other thread may run them.
    unsafe fn run(&mut self, rows: Range<usize>, mut before_rows: impl FnMut(usize)) {
        let reductions = &self.run.program.reductions;
        if reductions.is_empty() {
            // SAFETY: forwarded.
            return unsafe { self.run_blocks(rows, &mut before_rows) };
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
                self.run_blocks(first..end, &mut before_rows);
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

    unsafe fn run_blocks(&mut self, rows: Range<usize>, before_rows: &mut impl FnMut(usize)) {
        let mut first = rows.start;
        if let Some(native) = &self.run.native {
            before_rows(rows.end);
            // SAFETY: forwarded.
            first = unsafe { self.run_chunks(native, rows.clone()) };
        }
        while first < rows.end {
            let n = self.run.block_len.min(rows.end - first);
            before_rows(first + n);
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
