//! Execution: a schedule replayed on the stores of a window.
//!
//! [`run`] reads from top to bottom what happens to a fused task on one rank: fetch what other
//! ranks hold, look up the pieces of sparse matrices, allocate, compute (interior rows while ghosts
//! travel, then the others), reduce, free. A failure poisons what the task would have written; the
//! rank goes on with the schedule, so that no other rank waits for it.
#![expect(
    unsafe_code,
    reason = "kernels reach the memory of instances through raw pointers"
)]

use crate::comm::{self, Comm};
use crate::config::{Config, Executor};
use crate::error::{Error, ErrorKind};
use crate::image::{Inspect, Piece, PieceKey};
use crate::instance::{Instance, Pool};
use crate::partition::{CutsTable, Partition};
use crate::profile::Profile;
use crate::schedule::{Binding, From, FusedTask, Output, Reduction, Schedule};
use crate::store::Contents;
use crate::window::Window;
use sparsefuse_kernels::blocks::{Part, Settings};
use sparsefuse_kernels::reduce::{self, Forest, Partial, Tree};
use sparsefuse_kernels::workers::Workers;
use sparsefuse_kernels::{Launch, Operand, Value};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What execution needs of the runtime.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) config: &'a Config,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) comm: &'a dyn Comm,
    pub(crate) cuts: &'a CutsTable,
    pub(crate) workers: &'a Workers,
    pub(crate) profile: Option<&'a mut Profile>,
    pub(crate) counters: &'a mut Counters,
}

/// What a runtime has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tasks that the program issued.
    pub tasks: u64,
    /// Fused tasks that ran.
    pub fused_tasks: u64,
    /// Windows that were executed.
    pub windows: u64,
    /// Windows whose schedule was remembered.
    pub trace_hits: u64,
    /// Bytes that kernels read and wrote on this rank, counted from their arguments.
    pub bytes: u64,
    /// Messages that this rank sent.
    pub messages: u64,
    /// Bytes that this rank sent.
    pub bytes_sent: u64,
}

/// The instances of a window's stores while its schedule runs; kept between runs for its memory.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    instances: Vec<Option<(Partition, Arc<Instance>)>>,
    poison: BTreeMap<u32, Error>,
    operands: Vec<Operand>,
    partials: Vec<Partial>,
    params: Vec<Value>,
}

// SAFETY: the addresses in `operands` are written and used within one run of one task, under the
// runtime's lock; between runs they mean nothing.
unsafe impl Send for Frame {}

/// Runs a schedule on the stores of a window.
pub(crate) fn run(
    schedule: &Schedule,
    window: &Window,
    frame: &mut Frame,
    context: &mut Context<'_>,
) {
    frame.load(window);
    for task in &schedule.groups {
        if let Err(cause) = run_task(task, window, schedule, frame, context) {
            let cause = cause.poison(&task.name);
            for &slot in &task.writes {
                frame.poison.insert(slot, cause.clone());
            }
        }
        for &slot in &task.frees {
            frame.free(slot, window);
        }
    }
    frame.store(window, schedule, context.cuts, context.comm.rank());
}

impl Frame {
    fn load(&mut self, window: &Window) {
        self.instances.clear();
        self.poison.clear();
        for (slot, store) in window.stores.iter().enumerate() {
            let mut found = None;
            if window.initial[slot].is_some() {
                match &store.state().contents {
                    Contents::Here(partition, instance) => {
                        found = Some((*partition, Arc::clone(instance)));
                    }
                    Contents::Poisoned(_, cause) => {
                        self.poison.insert(slot as u32, cause.clone());
                    }
                    Contents::Unwritten => {}
                }
            }
            self.instances.push(found);
        }
    }

    /// Writes what the window has made back to its stores.
    fn store(&mut self, window: &Window, schedule: &Schedule, cuts: &CutsTable, rank: usize) {
        for (slot, store) in window.stores.iter().enumerate() {
            if let Some(cause) = self.poison.get(&(slot as u32)) {
                let partition = schedule.slots[slot]
                    .partition
                    .unwrap_or(Partition::Replicated);
                store.state().contents = Contents::Poisoned(partition, cause.clone());
            } else if let Some((partition, instance)) = self.instances[slot].take() {
                debug_assert!(
                    instance.rows.start == cuts.rows(partition, store.shape(), rank).start,
                    "an instance begins where its partition says"
                );
                store.state().contents = Contents::Here(partition, instance);
            }
        }
        self.instances.clear();
    }

    fn free(&mut self, slot: u32, window: &Window) {
        self.instances[slot as usize] = None;
        if window.initial[slot as usize].is_some() {
            window.stores[slot as usize].state().contents = Contents::Unwritten;
        }
    }

    fn instance(&self, slot: u32) -> Result<&Arc<Instance>, Error> {
        match (&self.instances[slot as usize], self.poison.get(&slot)) {
            (_, Some(cause)) => Err(cause.clone()),
            (Some((_, instance)), None) => Ok(instance),
            (None, None) => Err(ErrorKind::Unwritten { op: "execute" }.into()),
        }
    }

    /// Takes the instance of a dying store, if nobody else uses its memory.
    fn take(&mut self, slot: u32, window: &Window) -> Option<Instance> {
        let (partition, instance) = self.instances[slot as usize].take()?;
        if window.initial[slot as usize].is_some() {
            window.stores[slot as usize].state().contents = Contents::Unwritten;
        }
        let keep = |shared| self.instances[slot as usize] = Some((partition, shared));
        Arc::try_unwrap(instance).map_err(keep).ok()
    }
}

/// The ghosts of one `x` of one product.
struct Ghosts {
    slot: u32,
    piece: usize,
    buffer: Option<Instance>,
}

fn run_task(
    task: &FusedTask,
    window: &Window,
    schedule: &Schedule,
    frame: &mut Frame,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    context.counters.fused_tasks += u64::from(task.program.is_some());
    let begin = context.profile.is_some().then(std::time::Instant::now);
    let mut outcome = task
        .reads
        .iter()
        .try_for_each(|&slot| frame.instance(slot).map(drop));

    let mut fetched = Vec::with_capacity(task.fetches.len());
    for fetch in &task.fetches {
        let source = frame.instance(fetch.slot).map(|instance| &**instance);
        let instance = fetch.run(context.comm, context.pool, source);
        context.counters.messages += fetch.messages() as u64;
        context.counters.bytes_sent += fetch.bytes_sent() as u64;
        fetched.push(instance.map_err(|cause| outcome = Err(cause)).ok());
    }
    let mut pieces = Vec::with_capacity(task.pieces.len());
    for number in 0..task.pieces.len() {
        pieces.push(piece(task, number, window, schedule, frame, context)?);
    }
    if outcome.is_ok() {
        outcome = allocate(task, window, schedule, frame, context);
    }
    let mut ghosts = send_ghosts(task, schedule, &pieces, frame, context, &mut outcome);
    if let Some(program) = &task.program {
        if outcome.is_ok() {
            bind(task, schedule, frame, &fetched, &pieces, &ghosts, window);
        }
        outcome = compute(
            task,
            program,
            &mut ghosts,
            &pieces,
            schedule,
            frame,
            context,
            outcome,
        );
        outcome = finish_reductions(task, frame, context, outcome);
    }
    count(task, &pieces, begin, context);
    outcome
}

/// The piece of a sparse matrix that a product needs: the one kept with its `crd`, or a new one.
fn piece(
    task: &FusedTask,
    number: usize,
    window: &Window,
    schedule: &Schedule,
    frame: &Frame,
    context: &Context<'_>,
) -> Result<Arc<Piece>, Error> {
    let spec = task.pieces[number];
    let (pos, crd) = (frame.instance(spec.pos)?, frame.instance(spec.crd)?);
    let key = PieceKey {
        pos: pos.data() as usize,
        launch: task.group.launch,
        x_partition: spec.x_partition,
        x_len: schedule.slots[spec.x as usize].shape.rows(),
    };
    let store = &window.stores[spec.crd as usize];
    if let Some(piece) = store.state().pieces.iter().find(|piece| piece.key == key) {
        return Ok(Arc::clone(piece));
    }
    let n_rows = schedule.slots[spec.pos as usize].shape.rows() - 1;
    let rows = context.cuts.rows(
        task.group.launch,
        crate::shape::Shape::new(&[n_rows]),
        context.comm.rank(),
    );
    let (comm, cuts, pool) = (context.comm, context.cuts, context.pool);
    let piece = Arc::new(Piece::build(&Inspect {
        key,
        rows,
        pos,
        crd,
        comm,
        cuts,
        pool,
    })?);
    store.state().pieces.push(Arc::clone(&piece));
    Ok(piece)
}

/// Gives every output of a task memory: that of a dying input, or some of the pool's.
fn allocate(
    task: &FusedTask,
    window: &Window,
    schedule: &Schedule,
    frame: &mut Frame,
    context: &Context<'_>,
) -> Result<(), Error> {
    for output in &task.outputs {
        let size = schedule.slots[output.slot as usize].dtype.size();
        let Output {
            slot,
            partition,
            rows,
            len,
            reuse,
        } = output;
        // The input is read through the output's memory from here on: same place, same rows.
        let reused = reuse
            .and_then(|input| frame.take(input, window))
            .map(Instance::into_memory);
        let memory = match reused {
            Some(memory) => memory,
            None => context.pool.allocate(len * size)?,
        };
        let instance = Arc::new(Instance::new(memory, rows.clone(), *len, size));
        if let Some(input) = reuse
            && frame.instances[*input as usize].is_none()
        {
            frame.instances[*input as usize] = Some((*partition, Arc::clone(&instance)));
        }
        frame.instances[*slot as usize] = Some((*partition, instance));
    }
    for &slot in &task.writes {
        make_unique(slot, window, schedule, frame, context)?;
    }
    Ok(())
}

/// Copies an instance that is about to be written in place while somebody still reads it.
fn make_unique(
    slot: u32,
    window: &Window,
    schedule: &Schedule,
    frame: &mut Frame,
    context: &Context<'_>,
) -> Result<(), Error> {
    if window.initial[slot as usize].is_none() {
        return Ok(());
    }
    let Some((partition, instance)) = frame.instances[slot as usize].take() else {
        return Ok(());
    };
    window.stores[slot as usize].state().contents = Contents::Unwritten;
    let unique = match Arc::try_unwrap(instance) {
        Ok(instance) => instance,
        Err(shared) => {
            let size = schedule.slots[slot as usize].dtype.size();
            let memory = context.pool.allocate(shared.len() * size)?;
            // SAFETY: both hold `len` elements of `size` bytes, and the new memory is nobody
            // else's.
            unsafe {
                let bytes = shared.len() * size;
                std::ptr::copy_nonoverlapping(shared.data(), memory.data(), bytes);
            }
            Instance::new(memory, shared.rows.clone(), shared.len(), size)
        }
    };
    frame.instances[slot as usize] = Some((partition, Arc::new(unique)));
    Ok(())
}

/// Sends this rank's elements that others need as ghosts, and makes room for its own ghosts.
fn send_ghosts(
    task: &FusedTask,
    schedule: &Schedule,
    pieces: &[Arc<Piece>],
    frame: &Frame,
    context: &mut Context<'_>,
    outcome: &mut Result<(), Error>,
) -> Vec<Ghosts> {
    let mut ghosts = Vec::new();
    for binding in &task.bindings {
        let Binding::Columns { slot, piece } = *binding else {
            continue;
        };
        let size = schedule.slots[slot as usize].dtype.size();
        let part = &pieces[piece];
        let x = outcome
            .clone()
            .and_then(|()| frame.instance(slot).map(|instance| &**instance));
        part.send_ghosts(context.comm, &x, size);
        context.counters.messages += part.messages() as u64;
        context.counters.bytes_sent += part.bytes_sent(size) as u64;
        let mut buffer = None;
        if part.ghosts > 0 {
            match context.pool.allocate(part.ghosts * size) {
                Ok(memory) => {
                    buffer = Some(Instance::new(memory, 0..part.ghosts, part.ghosts, size));
                }
                Err(cause) => *outcome = Err(cause),
            }
        }
        ghosts.push(Ghosts {
            slot,
            piece,
            buffer,
        });
    }
    ghosts
}

fn receive_ghosts(
    ghosts: &[Ghosts],
    pieces: &[Arc<Piece>],
    schedule: &Schedule,
    comm: &dyn Comm,
) -> Result<(), Error> {
    let mut outcome = Ok(());
    for part in ghosts {
        let size = schedule.slots[part.slot as usize].dtype.size();
        let received = pieces[part.piece].receive_ghosts(comm, part.buffer.as_ref(), size);
        outcome = outcome.and(received);
    }
    outcome
}

/// Fills the frame's operands and parameters for the task's kernel.
fn bind(
    task: &FusedTask,
    schedule: &Schedule,
    frame: &mut Frame,
    fetched: &[Option<Instance>],
    pieces: &[Arc<Piece>],
    ghosts: &[Ghosts],
    window: &Window,
) {
    let Frame {
        instances,
        operands,
        partials,
        params,
        ..
    } = frame;
    params.clear();
    params.extend(
        task.params
            .iter()
            .map(|&param| window.params[param as usize]),
    );
    let tiles: usize = task
        .reductions
        .iter()
        .map(|reduction| reduction.tiles(task))
        .sum();
    partials.clear();
    partials.resize(
        tiles,
        Partial {
            bits: [0; 2],
            index: 0,
        },
    );

    let of_slot = |slot: u32| -> &Instance {
        let instance = instances[slot as usize].as_ref();
        &instance
            .expect("a task that reads all its stores has their instances")
            .1
    };
    let locate = |from: From| -> (&Instance, usize) {
        match from {
            From::Slot(slot) => (of_slot(slot), schedule.slots[slot as usize].dtype.size()),
            From::Fetched(number) => {
                let slot = task.fetches[number].slot;
                let instance = fetched[number]
                    .as_ref()
                    .expect("a failed fetch fails its task");
                (instance, schedule.slots[slot as usize].dtype.size())
            }
        }
    };
    // Addresses of empty pieces may lie outside their memory; nothing is read through them.
    let address = |from: From, offset: isize| {
        let (instance, size) = locate(from);
        instance.data().wrapping_offset(offset * size as isize)
    };
    operands.clear();
    operands.extend(task.bindings.iter().map(|binding| match *binding {
        Binding::Array {
            from,
            offset,
            layout,
        } => Operand::Array {
            data: address(from, offset),
            layout,
        },
        Binding::DenseRows {
            from,
            offset,
            columns,
            row_stride,
            column_stride,
        } => {
            let data = address(from, offset).cast_const();
            Operand::DenseRows {
                data,
                columns,
                row_stride,
                column_stride,
            }
        }
        Binding::Scalar { slot } => Operand::Scalar {
            data: of_slot(slot).data(),
        },
        Binding::Reduction { number } => {
            let earlier = &task.reductions[..number];
            let first: usize = earlier.iter().map(|reduction| reduction.tiles(task)).sum();
            Operand::Reduction {
                partials: partials[first..].as_mut_ptr(),
            }
        }
        Binding::Whole { from, len } => {
            let own = address(from, 0).cast_const();
            Operand::Gather {
                own,
                own_len: len,
                ghosts: std::ptr::null(),
            }
        }
        Binding::Columns { slot, piece } => {
            let of_x = |ghosts: &&Ghosts| (ghosts.slot, ghosts.piece) == (slot, piece);
            let buffer = ghosts
                .iter()
                .find(of_x)
                .and_then(|ghosts| ghosts.buffer.as_ref());
            Operand::Gather {
                own: of_slot(slot).data().cast_const(),
                own_len: pieces[piece].own_len,
                ghosts: buffer.map_or(std::ptr::null(), |buffer| buffer.data().cast_const()),
            }
        }
        Binding::Entries { from, piece } => {
            let skip = pieces[piece].entries.start as isize - locate(from).0.rows.start as isize;
            Operand::Entries {
                data: address(from, skip).cast_const(),
            }
        }
        Binding::Structure { piece } => Operand::Structure(pieces[piece].structure()),
    }));
}

/// Runs the kernel: rows that need no ghosts while these travel, then the others.
#[expect(
    clippy::too_many_arguments,
    reason = "one call, all of them parts of one task"
)]
fn compute(
    task: &FusedTask,
    program: &sparsefuse_kernels::blocks::Program,
    ghosts: &mut [Ghosts],
    pieces: &[Arc<Piece>],
    schedule: &Schedule,
    frame: &Frame,
    context: &Context<'_>,
    outcome: Result<(), Error>,
) -> Result<(), Error> {
    let Config {
        isa,
        block_len,
        parallel_threshold,
        ..
    } = *context.config;
    let settings = Settings {
        isa,
        block_len,
        parallel_threshold,
    };
    let launch = Launch {
        domains: &task.extents,
        operands: &frame.operands,
        params: &frame.params,
        tile_len: context.config.tile_len,
    };
    let run = |part: Part<'_>| {
        let run = || match context.config.executor {
            // SAFETY: `bind` has bound every argument of the kernel to an instance that holds the
            // rows, entries or columns its layout and piece name: `schedule` placed them by the
            // same partitions that the instances have, and `Piece::build` has checked columns and
            // positions. Outputs are new, reused in place as `Program::compile` was told through
            // equal `memory` numbers, or made unique by `make_unique`. The frame keeps all of
            // them alive.
            Executor::Blocks => unsafe { program.run(&launch, part, &settings, context.workers) },
            // SAFETY: as above.
            Executor::Reference => unsafe {
                sparsefuse_kernels::reference::run(&task.kernel, &launch);
            },
        };
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panicked(&task.name, &*panic))
    };
    let overlapped = match pieces {
        [piece]
            if task.kernel.loops.len() == 1
                && !piece.boundary.is_empty()
                && context.config.executor == Executor::Blocks =>
        {
            Some(piece)
        }
        _ => None,
    };
    match overlapped {
        Some(piece) => {
            let interior = outcome.and_then(|()| run(Part::Tiles(&piece.interior)));
            let received = receive_ghosts(ghosts, pieces, schedule, context.comm);
            interior.and(received)?;
            run(Part::Tiles(&piece.boundary))
        }
        None => {
            let received = receive_ghosts(ghosts, pieces, schedule, context.comm);
            outcome.and(received)?;
            run(Part::All)
        }
    }
}

fn panicked(task: &str, panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let message = text.unwrap_or("no message").to_owned();
    ErrorKind::Panic {
        task: task.to_owned(),
        message,
    }
    .into()
}

impl Reduction {
    /// The tiles of this rank's rows.
    fn tiles(&self, task: &FusedTask) -> usize {
        let extent = task.extents[self.domain as usize];
        (extent.len as usize).div_ceil(task.tile_len)
    }
}

/// Joins the partial results of the tiles, over all ranks where each has its own rows, and writes
/// the results; all reductions of a task travel in one message.
fn finish_reductions(
    task: &FusedTask,
    frame: &Frame,
    context: &mut Context<'_>,
    outcome: Result<(), Error>,
) -> Result<(), Error> {
    if task.reductions.is_empty() {
        return outcome;
    }
    let mut first = 0;
    let mut forests = Vec::with_capacity(task.reductions.len());
    for reduction in &task.reductions {
        let tiles = reduction.tiles(task);
        let start = task.extents[reduction.domain as usize].start / task.tile_len as u64;
        if outcome.is_ok() {
            let partials = &frame.partials[first..first + tiles];
            forests.push(Forest::of_tiles(
                reduction.op,
                reduction.dtype,
                start,
                partials,
            ));
        }
        first += tiles;
    }
    if task.reductions.iter().any(|reduction| reduction.is_partial) {
        let mine = outcome
            .clone()
            .map(|()| forests.iter().flat_map(to_bytes).collect());
        let others = (context.comm.size() - 1) as u64;
        context.counters.messages += others;
        context.counters.bytes_sent += mine
            .as_ref()
            .map_or(0, |bytes: &Vec<u8>| bytes.len() as u64 * others);
        let gathered = comm::all_gather(context.comm, mine)?;
        forests = join(task, &gathered);
    }
    outcome?;
    for (reduction, forest) in task.reductions.iter().zip(&forests) {
        let partial = forest.finish(reduction.op, reduction.dtype);
        let value = reduce::result(reduction.op, reduction.dtype, partial);
        write_scalar(frame.instance(reduction.slot)?, value);
    }
    Ok(())
}

/// Joins the forests of all ranks, rank by rank.
fn join(task: &FusedTask, gathered: &[Vec<u8>]) -> Vec<Forest> {
    let mut joined = vec![Forest::default(); task.reductions.len()];
    for bytes in gathered {
        let mut words = bytes.chunks_exact(8).map(|word| {
            u64::from_le_bytes(
                word.try_into()
                    .expect("chunks of eight bytes are eight bytes"),
            )
        });
        for (reduction, forest) in task.reductions.iter().zip(&mut joined) {
            let next = from_words(&mut words);
            forest.join(reduction.op, reduction.dtype, &next);
        }
    }
    joined
}

/// A forest as bytes: the number of trees, then five words for each.
fn to_bytes(forest: &Forest) -> Vec<u8> {
    let mut words = vec![forest.trees().len() as u64];
    for tree in forest.trees() {
        let Partial { bits, index } = tree.value;
        words.extend([u64::from(tree.level), tree.node, bits[0], bits[1], index]);
    }
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn from_words(words: &mut impl Iterator<Item = u64>) -> Forest {
    let mut next = || words.next().expect("a rank sends whole forests");
    let count = next();
    let trees = (0..count).map(|_| {
        let (level, node) = (next() as u32, next());
        let (low, high, index) = (next(), next(), next());
        Tree {
            level,
            node,
            value: Partial {
                bits: [low, high],
                index,
            },
        }
    });
    Forest::from_trees(trees.collect())
}

/// Writes the single element of a store of rank 0.
pub(crate) fn write_scalar(instance: &Instance, value: Value) {
    assert_eq!(instance.len(), 1, "a store of rank 0 has one element");
    let [low, high] = value.bits();
    let mut bytes = [0u8; 16];
    match value.dtype() {
        sparsefuse_kernels::DType::ComplexF32 => {
            bytes[..4].copy_from_slice(&(low as u32).to_ne_bytes());
            bytes[4..8].copy_from_slice(&(high as u32).to_ne_bytes());
        }
        dtype if dtype.size() == 1 => bytes[0] = low as u8,
        dtype if dtype.size() == 4 => bytes[..4].copy_from_slice(&(low as u32).to_ne_bytes()),
        _ => {
            bytes[..8].copy_from_slice(&low.to_ne_bytes());
            bytes[8..].copy_from_slice(&high.to_ne_bytes());
        }
    }
    // SAFETY: the instance holds one element of this type, and the schedule that made it is the
    // only one that knows it.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), instance.data(), value.dtype().size());
    }
}

fn count(
    task: &FusedTask,
    pieces: &[Arc<Piece>],
    begin: Option<std::time::Instant>,
    context: &mut Context<'_>,
) {
    let structure: usize = pieces.iter().map(|piece| piece.bytes()).sum();
    let entries = task
        .entry_bytes
        .iter()
        .map(|(piece, size)| pieces[*piece].entries.len() * size);
    let bytes = (task.bytes + structure + entries.sum::<usize>()) as u64;
    context.counters.bytes += bytes;
    if let (Some(profile), Some(begin)) = (context.profile.as_deref_mut(), begin) {
        profile.record(&task.name, begin, bytes);
    }
}
