//! Schedules: what one rank does for a window.
//!
//! [`analyse`] is the whole way from a window to its schedule: solve, group, compose and optimise
//! each group, place its data. A schedule names stores by slot and parameters by number, so it can
//! be replayed for every window with the same key.

use crate::comm::forests;
use crate::compose::{self, Composed, PieceSpec, Source};
use crate::exchange::{self, Fetch};
pub(crate) use crate::fuse::Solved;
use crate::fuse::{self, Group};
use crate::partition::{CutsTable, Partition};
use crate::reorder;
use crate::reuse;
use crate::shape::Shape;
use crate::solve::{self, Launch, Slot};
use crate::task::{Access, Privilege};
use crate::trace;
use crate::view::{Region, View};
use crate::window::Window;
use sparsefuse_kernels::blocks::Program;
use sparsefuse_kernels::{
    ArgKind, DType, Extent, Inst, Isa, Kernel, Layout, Loop, ReduceOp, Toolchain,
};
use std::ops::Range;
use std::sync::Arc;

/// What one rank does for a window, and why.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The fused tasks, in order.
    pub(crate) groups: Vec<FusedTask>,
    /// The stores of the window as the analysis saw them.
    pub(crate) slots: Vec<Slot>,
    /// Slots that the window has written and the program holds: what it leaves behind.
    pub(crate) results: Vec<u32>,
    /// One line per task for `explain`.
    pub(crate) tasks: Vec<TaskNote>,
    /// One hash per task of the window, as they were issued: what it does, up to the names of its
    /// stores.
    pub(crate) steps: Vec<u64>,
    /// For each place before, between and after these tasks, the bytes that a rank holds there and
    /// needs later; counted as `passing`.
    pub(crate) alive: Vec<usize>,
    /// Bytes of what a rank makes within the window and drops again, results that no task stores
    /// apart. Every rank counts alike, as if stores were cut into equal parts.
    pub(crate) passing: usize,
}

impl Schedule {
    /// Lets kernels that are bound by arithmetic become native code.
    pub(crate) fn with_native(mut self, isa: Isa, toolchain: &Arc<Toolchain>) -> Self {
        for task in &mut self.groups {
            let program = task.program.take();
            task.program = program.map(|program| program.with_native(&task.kernel, isa, toolchain));
        }
        self
    }
}

/// A task of the window, for `explain`.
#[derive(Debug)]
pub(crate) struct TaskNote {
    /// Its number in the window, from which the order of the schedule may differ.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) launch: Launch,
    pub(crate) args: Vec<(Privilege, Access, u32, Option<Shape>)>,
}

/// One fused task on this rank: exchange, compute, reduce, free.
#[derive(Debug)]
pub(crate) struct FusedTask {
    pub(crate) name: String,
    pub(crate) group: Group,
    pub(crate) kernel: Kernel,
    /// `None` if the passes found nothing to do.
    pub(crate) program: Option<Program>,
    /// Slots that must have contents before: what is read, and what is written in place.
    pub(crate) reads: Vec<u32>,
    /// Slots that are poisoned if this fails.
    pub(crate) writes: Vec<u32>,
    pub(crate) fetches: Vec<Fetch>,
    pub(crate) pieces: Vec<PieceSpec>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) params: Vec<u32>,
    pub(crate) extents: Vec<Extent>,
    /// Rows of a tile of the summation order.
    pub(crate) tile_len: usize,
    pub(crate) reductions: Vec<Reduction>,
    /// Slots that nobody needs afterwards.
    pub(crate) frees: Vec<u32>,
    /// Bytes that the kernel reads and writes, entries of sparse matrices apart.
    pub(crate) bytes: usize,
    /// Columns and values of sparse matrices that the task uses for products alone, so that their
    /// packed form is enough.
    pub(crate) only_multiplied: Vec<u32>,
    /// Bytes of one entry of each sparse product.
    pub(crate) entry_bytes: Vec<(usize, usize)>,
    /// How many of the kernel's loops come before ghosts are sent: they write elements that other
    /// ranks gather in the loops after them.
    pub(crate) leading: usize,
}

impl FusedTask {
    /// Gives fetches and pieces the numbers that they have in another fused task, with whose ghosts
    /// this one goes on. Whether they are all there.
    pub(crate) fn exchange_as(&mut self, whole: &Self, slots: &[Slot]) -> bool {
        let pieces: Option<Vec<usize>> = self
            .pieces
            .iter()
            .map(|piece| {
                whole
                    .pieces
                    .iter()
                    .position(|known| known.is_same(piece, slots))
            })
            .collect();
        let fetches: Option<Vec<usize>> = self
            .fetches
            .iter()
            .map(|fetch| whole.fetches.iter().position(|known| known.is_same(fetch)))
            .collect();
        let (Some(pieces), Some(fetches)) = (pieces, fetches) else {
            return false;
        };
        for binding in &mut self.bindings {
            match binding {
                Binding::Array { from, .. }
                | Binding::DenseRows { from, .. }
                | Binding::Whole { from, .. } => from.renumber(&fetches),
                Binding::Entries { from, piece } => {
                    from.renumber(&fetches);
                    *piece = pieces[*piece];
                }
                Binding::Columns { piece, .. } | Binding::Structure { piece } => {
                    *piece = pieces[*piece];
                }
                Binding::Scalar { .. } | Binding::Reduction { .. } => {}
            }
        }
        self.pieces.clone_from(&whole.pieces);
        self.fetches.clone_from(&whole.fetches);
        self.entry_bytes.clone_from(&whole.entry_bytes);
        let mut gathered = self.gathered();
        gathered.all(|this| whole.gathered().any(|known| known == this))
    }

    /// The slot whose elements an argument reads.
    pub(crate) fn slot(&self, from: From) -> u32 {
        match from {
            From::Slot(slot) => slot,
            From::Fetched(number) => self.fetches[number].slot,
        }
    }

    /// The vectors that the products gather, and for which piece.
    pub(crate) fn gathered(&self) -> impl Iterator<Item = (u32, usize)> {
        self.bindings.iter().filter_map(|binding| match *binding {
            Binding::Columns { slot, piece } => Some((slot, piece)),
            _ => None,
        })
    }

    /// Bytes of one entry of a sparse product.
    pub(crate) fn entry_size(&self, piece: usize) -> usize {
        let mut sizes = self.entry_bytes.iter();
        sizes
            .find(|&&(of, _)| of == piece)
            .map_or(0, |&(_, size)| size)
    }
}

/// A store that gets an instance before the kernel runs.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) slot: u32,
    pub(crate) partition: Partition,
    pub(crate) rows: Range<usize>,
    pub(crate) len: usize,
    /// A dying input whose memory it takes over.
    pub(crate) reuse: Option<u32>,
}

/// Where the data of a kernel's argument is.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Array {
        from: From,
        offset: isize,
        layout: Layout,
    },
    DenseRows {
        from: From,
        offset: isize,
        columns: usize,
        row_stride: isize,
        column_stride: isize,
    },
    Scalar {
        slot: u32,
    },
    Reduction {
        number: usize,
    },
    Whole {
        from: From,
        len: usize,
    },
    Columns {
        slot: u32,
        piece: usize,
    },
    Entries {
        from: From,
        piece: usize,
    },
    Structure {
        piece: usize,
    },
}

/// The instance that an argument's data is in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Slot(u32),
    Fetched(usize),
}

impl From {
    fn renumber(&mut self, fetches: &[usize]) {
        match self {
            Self::Slot(_) => {}
            Self::Fetched(number) => *number = fetches[*number],
        }
    }
}

/// A reduction of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub(crate) op: ReduceOp,
    /// The type of the elements that are reduced.
    pub(crate) dtype: DType,
    pub(crate) slot: u32,
    pub(crate) domain: u32,
    /// Whether each rank reduces its own rows only.
    pub(crate) is_partial: bool,
    /// The most trees that the forest of any range of tiles has.
    pub(crate) most_trees: usize,
}

/// From a window to the schedule of one rank.
pub(crate) fn analyse(
    window: &Window,
    cuts: &mut CutsTable,
    rank: usize,
    fusion: bool,
) -> Schedule {
    let mut slots = slots(window);
    let tasks = solve_all(window, &mut slots, cuts);
    let (tasks, groups) = match fusion {
        true => reorder::reordered(tasks, slots.len()),
        false => {
            let groups = fuse::groups(&tasks, slots.len(), false);
            (tasks, groups)
        }
    };
    let last_use = last_uses(&tasks, slots.len());

    for (slot, &partition) in slots.iter_mut().zip(&window.initial) {
        slot.partition = partition;
    }
    let mut fused = Vec::with_capacity(groups.len());
    for group in groups {
        let mut planner = Planner {
            group: &group,
            tasks: &tasks,
            slots: &slots,
            last_use: &last_use,
            cuts,
            rank,
        };
        let task = planner.plan_group();
        for number in group.tasks.clone() {
            settle(&tasks[number], group.launch, &mut slots);
        }
        fused.push(task);
    }
    let mut results: Vec<u32> = fused.iter().flat_map(|task| task.writes.clone()).collect();
    results.retain(|&slot| slots[slot as usize].is_held);
    results.sort_unstable();
    results.dedup();
    let passing = fused.iter().flat_map(|task| &task.outputs);
    let passing = passing.filter(|output| !slots[output.slot as usize].is_held);
    let passing = passing.map(|output| bytes(&slots[output.slot as usize], cuts.ranks()));
    Schedule {
        passing: passing.sum(),
        alive: alive(window, &slots, cuts.ranks()),
        groups: fused,
        slots,
        results,
        tasks: tasks.iter().map(note).collect(),
        steps: steps(window),
    }
}

/// The bytes of one of equal parts of a store.
fn bytes(slot: &Slot, ranks: usize) -> usize {
    slot.shape.len() * slot.dtype.size() / ranks
}

/// See [`Schedule::alive`].
fn alive(window: &Window, slots: &[Slot], ranks: usize) -> Vec<usize> {
    let n_tasks = window.tasks.len();
    let mut spans: Vec<Option<Range<usize>>> = vec![None; slots.len()];
    for (number, task) in window.tasks.iter().enumerate() {
        for arg in &window.args[task.args.start as usize..task.args.end as usize] {
            let slot = arg.slot as usize;
            let made = match window.initial[slot] {
                Some(_) => 0,
                None => number + 1,
            };
            let span = spans[slot].get_or_insert(made..0);
            span.end = if slots[slot].is_held {
                n_tasks + 1
            } else {
                number + 1
            };
        }
    }
    let mut changes = vec![0_isize; n_tasks + 2];
    for (slot, span) in slots.iter().zip(spans) {
        let span = span.unwrap_or_default();
        if span.start < span.end {
            changes[span.start] += bytes(slot, ranks) as isize;
            changes[span.end] -= bytes(slot, ranks) as isize;
        }
    }
    let sums = changes[..=n_tasks].iter().scan(0, |sum, change| {
        *sum += change;
        Some(*sum as usize)
    });
    sums.collect()
}

/// See [`Schedule::steps`].
fn steps(window: &Window) -> Vec<u64> {
    let mut words = Vec::new();
    let tasks = window.tasks.iter().map(|task| {
        words.clear();
        words.push(window.body(task).id());
        for arg in &window.args[task.args.start as usize..task.args.end as usize] {
            let shape = window.stores[arg.slot as usize].shape();
            words.push(shape.rank() as u64);
            words.extend(shape.dims().iter().map(|&dim| dim as u64));
            if let Some(view) = &arg.view {
                view.push_words(&mut words);
            }
        }
        trace::hash(&words)
    });
    tasks.collect()
}

fn slots(window: &Window) -> Vec<Slot> {
    let stores = window.stores.iter().zip(&window.initial).zip(window.held());
    stores
        .map(|((store, &partition), &is_held)| Slot {
            shape: store.shape(),
            dtype: store.dtype(),
            is_held,
            partition,
        })
        .collect()
}

fn solve_all<'a>(window: &'a Window, slots: &mut [Slot], cuts: &mut CutsTable) -> Vec<Solved<'a>> {
    let mut solved = Vec::with_capacity(window.tasks.len());
    for (number, task) in window.tasks.iter().enumerate() {
        let args = window.args_of(task);
        let body = window.body(task);
        let launch = solve::solve(body, args, slots, cuts);
        let task = Solved {
            number,
            body,
            args,
            params: task.params.clone(),
            launch,
        };
        let partition = match launch {
            Launch::Any => Partition::Replicated,
            Launch::On(partition) => partition,
        };
        settle(&task, partition, slots);
        solved.push(task);
    }
    solved
}

/// What a task has written has the partition of its launch; single elements are replicated, and
/// a store of which a slice was written stays as it was.
fn settle(task: &Solved<'_>, launch: Partition, slots: &mut [Slot]) {
    for (declared, arg) in task.body.args().iter().zip(task.args) {
        if declared.privilege == Privilege::Read || arg.view.is_some() {
            continue;
        }
        let slot = &mut slots[arg.slot as usize];
        let is_single = slot.shape.rank() == 0;
        slot.partition = Some(if is_single {
            Partition::Replicated
        } else {
            launch
        });
    }
}

/// For each slot, the last task that uses it.
fn last_uses(tasks: &[Solved<'_>], n_slots: usize) -> Vec<usize> {
    let mut last = vec![0; n_slots];
    for (number, task) in tasks.iter().enumerate() {
        for arg in task.args {
            last[arg.slot as usize] = number;
        }
    }
    last
}

fn note(task: &Solved<'_>) -> TaskNote {
    let args = task.body.args().iter().zip(task.args);
    TaskNote {
        number: task.number,
        name: task.body.name().to_owned(),
        launch: task.launch,
        args: args
            .map(|(declared, arg)| {
                let view = arg.view.as_ref().map(|view| view.shape());
                (declared.privilege, declared.access, arg.slot, view)
            })
            .collect(),
    }
}

/// Places the data of one group.
struct Planner<'a> {
    group: &'a Group,
    tasks: &'a [Solved<'a>],
    /// The stores as they are before the group.
    slots: &'a [Slot],
    last_use: &'a [usize],
    cuts: &'a CutsTable,
    rank: usize,
}

/// The fused task of some tasks of a group, in their order, as `slots` are before them. Slots in
/// `frees` die with them; all others are needed afterwards.
pub(crate) fn plan_some(
    tasks: &[Solved<'_>],
    launch: Partition,
    slots: &[Slot],
    frees: &[u32],
    (cuts, rank): (&CutsTable, usize),
) -> FusedTask {
    let group = Group {
        tasks: 0..tasks.len(),
        launch,
        end: None,
    };
    let mut last_use = vec![usize::MAX; slots.len()];
    for &slot in frees {
        last_use[slot as usize] = 0;
    }
    let mut planner = Planner {
        group: &group,
        tasks,
        slots,
        last_use: &last_use,
        cuts,
        rank,
    };
    planner.plan_group()
}

impl Planner<'_> {
    /// The whole way from the tasks of the group to one.
    fn plan_group(&mut self) -> FusedTask {
        let is_temporary = |slot| self.is_temporary(slot);
        let composed = compose::compose(self.group, self.tasks, self.slots, is_temporary);
        self.plan(composed.optimize())
    }

    /// A store is temporary if the group makes all of it, no later task reads it, and the program
    /// no longer holds it.
    fn is_temporary(&self, slot: u32) -> bool {
        self.slots[slot as usize].partition.is_none() && self.dies(slot)
    }

    /// Whether nobody needs the store after this group.
    fn dies(&self, slot: u32) -> bool {
        !self.slots[slot as usize].is_held && self.last_use[slot as usize] < self.group.tasks.end
    }

    fn plan(&mut self, composed: Composed) -> FusedTask {
        let (mut reads, mut writes, mut frees) = self.uses();
        let mut fetches = Vec::new();
        let mut reductions = Vec::new();
        let mut bindings = Vec::with_capacity(composed.args.len());
        for (arg, source) in composed.args.iter().enumerate() {
            let binding = match source.kind {
                ArgKind::Reduction => {
                    reductions.push(self.reduction(&composed, arg as u32, source));
                    Binding::Reduction {
                        number: reductions.len() - 1,
                    }
                }
                _ => self.bind(source, &composed.pieces, &mut fetches),
            };
            bindings.push(binding);
        }
        let mut kernel = composed.kernel;
        let mut outputs = self.outputs(&kernel, &composed.args);
        reuse::take_over(
            &mut outputs,
            &mut kernel,
            &composed.args,
            self.slots.len(),
            |slot, to| self.fits(slot, to),
        );
        let has_work = kernel
            .loops
            .iter()
            .any(|kernel_loop| !kernel_loop.body.is_empty());
        let extents = composed
            .domains
            .iter()
            .map(|&shape| self.extent(shape))
            .collect();
        let (bytes, entry_bytes) = self.traffic(&kernel, &composed.args, &bindings);
        for list in [&mut reads, &mut writes, &mut frees] {
            list.sort_unstable();
            list.dedup();
        }
        let only_multiplied = only_multiplied(&composed.pieces, &bindings, &fetches, &writes);
        let leading = leading(&kernel, &composed.args, &composed.pieces);
        FusedTask {
            name: self.name(),
            group: self.group.clone(),
            program: has_work.then(|| Program::compile(&kernel)),
            kernel,
            reads,
            writes,
            fetches,
            pieces: composed.pieces,
            outputs,
            bindings,
            params: composed.params,
            extents,
            tile_len: self.cuts.tile_len(),
            reductions,
            frees,
            bytes,
            only_multiplied,
            entry_bytes,
            leading,
        }
    }

    /// What the group finds there, what it writes, and what dies with it.
    fn uses(&self) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let (mut reads, mut writes, mut frees) = (Vec::new(), Vec::new(), Vec::new());
        for task in &self.tasks[self.group.tasks.clone()] {
            for (declared, arg) in task.body.args().iter().zip(task.args) {
                // What is there already is needed even if it is only written: that is done in place.
                if self.slots[arg.slot as usize].partition.is_some() {
                    reads.push(arg.slot);
                }
                if declared.privilege != Privilege::Read {
                    writes.push(arg.slot);
                }
                if self.dies(arg.slot) {
                    frees.push(arg.slot);
                }
            }
        }
        (reads, writes, frees)
    }

    /// Whether the memory of a dying input has the size and place of an output.
    fn fits(&self, input: u32, output: &Output) -> bool {
        let (from, to) = (
            &self.slots[input as usize],
            &self.slots[output.slot as usize],
        );
        self.dies(input)
            && from.partition == Some(output.partition)
            && from.shape == to.shape
            && from.dtype.size() == to.dtype.size()
            // Memory that was a vector of the program is aligned for its own elements only.
            && from.dtype.alignment() >= to.dtype.alignment()
    }

    /// The names of the tasks, repetitions counted.
    fn name(&self) -> String {
        let mut runs: Vec<(&str, usize)> = Vec::new();
        for task in &self.tasks[self.group.tasks.clone()] {
            match runs.last_mut() {
                Some((name, count)) if *name == task.body.name() => *count += 1,
                _ => runs.push((task.body.name(), 1)),
            }
        }
        let texts: Vec<String> = runs
            .into_iter()
            .map(|(name, count)| {
                if count == 1 {
                    name.to_owned()
                } else {
                    format!("{name}*{count}")
                }
            })
            .collect();
        texts.join("+")
    }

    fn extent(&self, shape: Shape) -> Extent {
        let rows = self.rows(shape);
        let row_len = shape.row_len();
        Extent {
            start: (rows.start * row_len) as u64,
            len: (rows.len() * row_len) as u64,
        }
    }

    /// The rows of a domain that this rank computes.
    fn rows(&self, shape: Shape) -> Range<usize> {
        let launch = if shape.rank() == 0 {
            Partition::Replicated
        } else {
            self.group.launch
        };
        solve::launch_rows(launch, shape, self.rank, self.cuts)
    }

    /// The partition of a store while the group runs.
    fn partition(&self, slot: u32) -> Partition {
        let slot = &self.slots[slot as usize];
        let written = if slot.shape.rank() == 0 {
            Partition::Replicated
        } else {
            self.group.launch
        };
        slot.partition.unwrap_or(written)
    }

    fn held(&self, slot: u32) -> Region {
        let shape = self.slots[slot as usize].shape;
        Region::of_rows(
            shape,
            &self.cuts.rows(self.partition(slot), shape, self.rank),
        )
    }

    fn reduction(&self, composed: &Composed, arg: u32, source: &Source) -> Reduction {
        for kernel_loop in &composed.kernel.loops {
            let types = sparsefuse_kernels::ir::value_types(&composed.kernel, &kernel_loop.body);
            for inst in &kernel_loop.body {
                let Inst::Reduce(op, target, value) = *inst else {
                    continue;
                };
                if target == arg {
                    let rows = composed.domains[kernel_loop.domain as usize];
                    return Reduction {
                        op,
                        dtype: types[value as usize].expect("a verified kernel is well-typed"),
                        slot: source.slot,
                        domain: kernel_loop.domain,
                        is_partial: self.group.launch != Partition::Replicated,
                        most_trees: forests::most_trees(rows.len().div_ceil(self.cuts.tile_len())),
                    };
                }
            }
        }
        unreachable!("an argument that is kept is used")
    }

    fn bind(&mut self, source: &Source, pieces: &[PieceSpec], fetches: &mut Vec<Fetch>) -> Binding {
        let slot = source.slot;
        let piece = source.piece.unwrap_or_default();
        match source.kind {
            ArgKind::Scalar | ArgKind::Reduction => Binding::Scalar { slot },
            ArgKind::Structure => Binding::Structure { piece },
            ArgKind::Array => {
                let view = self.view(source);
                let rows = self.rows(view.shape());
                let place = (slot, source.view.is_none());
                let (from, held) = self.locate(place, fetches, |planner, rank| {
                    view.region(&planner.rows_of(view.shape(), rank))
                });
                let (offset, strides) = view.placement(&held, rows.start);
                let mut dims = view.shape().padded_dims();
                dims[0] = rows.len();
                let rank = view.shape().rank().max(1) as u8;
                Binding::Array {
                    from,
                    offset,
                    layout: Layout {
                        rank,
                        dims,
                        strides,
                    },
                }
            }
            ArgKind::DenseRows => {
                let view = self.view(source);
                let rows = self.rows(view.shape());
                let place = (slot, source.view.is_none());
                let (from, held) = self.locate(place, fetches, |planner, rank| {
                    view.region(&planner.rows_of(view.shape(), rank))
                });
                let (offset, strides) = view.placement(&held, rows.start);
                let (row_stride, column_stride) = (strides[0], strides[1]);
                let columns = view.shape().dims()[1];
                Binding::DenseRows {
                    from,
                    offset,
                    columns,
                    row_stride,
                    column_stride,
                }
            }
            ArgKind::Gather if source.access == Access::Columns => Binding::Columns { slot, piece },
            ArgKind::Gather => {
                let shape = self.slots[slot as usize].shape;
                let whole = Region::of_rows(shape, &(0..shape.rows()));
                let (from, _) = self.locate((slot, false), fetches, |_, _| whole);
                Binding::Whole {
                    from,
                    len: shape.len(),
                }
            }
            ArgKind::Entries => {
                // Entries lie where the columns of the matrix lie.
                let crd = pieces[piece].crd;
                let crd_partition = self.partition(crd);
                let shape = self.slots[slot as usize].shape;
                let from = if self.partition(slot) == crd_partition {
                    From::Slot(slot)
                } else {
                    let (from, _) = self.locate((slot, false), fetches, |planner, rank| {
                        Region::of_rows(shape, &planner.cuts.rows(crd_partition, shape, rank))
                    });
                    from
                };
                Binding::Entries { from, piece }
            }
        }
    }

    fn view(&self, source: &Source) -> View {
        let shape = self.slots[source.slot as usize].shape;
        source
            .view
            .as_deref()
            .copied()
            .unwrap_or_else(|| View::identity(shape))
    }

    fn rows_of(&self, shape: Shape, rank: usize) -> Range<usize> {
        solve::launch_rows(self.group.launch, shape, rank, self.cuts)
    }

    /// Where the data that each rank needs of a store is: in its instance, if that is so on every
    /// rank, else in what a fetch brings. The box is the one that the memory holds. Where the rows
    /// of the launch need the same rows of the store (`is_as_launched`), and it is cut alike, no
    /// rank needs to be looked at.
    fn locate(
        &self,
        (slot, is_as_launched): (u32, bool),
        fetches: &mut Vec<Fetch>,
        needs: impl Fn(&Self, usize) -> Region,
    ) -> (From, Region) {
        let partition = self.partition(slot);
        let shape = self.slots[slot as usize].shape;
        let is_local = partition == Partition::Replicated
            || is_as_launched && partition == self.group.launch
            || (0..self.cuts.ranks()).all(|rank| {
                let held = Region::of_rows(shape, &self.cuts.rows(partition, shape, rank));
                held.contains(&needs(self, rank))
            });
        if is_local {
            return (From::Slot(slot), self.held(slot));
        }
        let size = self.slots[slot as usize].dtype.size();
        let fetch = exchange::plan(
            (slot, shape, size),
            partition,
            self.rank,
            self.cuts,
            |rank| needs(self, rank),
        );
        let region = fetch.region;
        let known = fetches.iter().position(|known| known.is_same(&fetch));
        let number = known.unwrap_or(fetches.len());
        if known.is_none() {
            fetches.push(fetch);
        }
        (From::Fetched(number), region)
    }

    /// The stores that the kernel makes: those without an instance yet.
    fn outputs(&self, kernel: &Kernel, args: &[Source]) -> Vec<Output> {
        let mut outputs: Vec<Output> = Vec::new();
        for inst in kernel
            .loops
            .iter()
            .flat_map(|kernel_loop| &kernel_loop.body)
        {
            let (Inst::Store(arg, _) | Inst::StoreScalar(arg, _) | Inst::Reduce(_, arg, _)) = *inst
            else {
                continue;
            };
            let slot = args[arg as usize].slot;
            let is_new = self.slots[slot as usize].partition.is_none();
            if !is_new || outputs.iter().any(|output| output.slot == slot) {
                continue;
            }
            let shape = self.slots[slot as usize].shape;
            let rows = self.rows(shape);
            let len = rows.len() * shape.row_len();
            let partition = self.partition(slot);
            outputs.push(Output {
                slot,
                partition,
                rows,
                len,
                reuse: None,
            });
        }
        outputs
    }

    /// The bytes that a kernel must move on this rank, ghosts apart: each argument once for reading
    /// and once for writing; for the entries of sparse matrices, the size of an entry and the piece.
    fn traffic(
        &self,
        kernel: &Kernel,
        args: &[Source],
        bindings: &[Binding],
    ) -> (usize, Vec<(usize, usize)>) {
        let mut bytes = 0;
        let mut entries = Vec::new();
        for (number, (source, binding)) in args.iter().zip(bindings).enumerate() {
            let slot = &self.slots[source.slot as usize];
            let size = slot.dtype.size();
            match binding {
                Binding::Array { layout, .. } => {
                    let arg = number as u32;
                    let insts = || {
                        kernel
                            .loops
                            .iter()
                            .flat_map(|kernel_loop| &kernel_loop.body)
                    };
                    let loads =
                        insts().any(|inst| matches!(*inst, Inst::Load(used) if used == arg));
                    let stores =
                        insts().any(|inst| matches!(*inst, Inst::Store(used, _) if used == arg));
                    bytes += (usize::from(loads) + usize::from(stores)) * layout.len() * size;
                }
                Binding::DenseRows { columns, .. } => {
                    bytes += self.rows(self.view(source).shape()).len() * columns * size;
                }
                Binding::Whole { len, .. } => bytes += len * size,
                Binding::Columns { slot, .. } => bytes += self.held(*slot).len() * size,
                Binding::Entries { piece, .. } => entries.push((*piece, size)),
                Binding::Scalar { .. } | Binding::Reduction { .. } | Binding::Structure { .. } => {}
            }
        }
        (bytes, entries)
    }
}

/// How many loops write what is sent as ghosts, or come before such a loop.
fn leading(kernel: &Kernel, args: &[Source], pieces: &[PieceSpec]) -> usize {
    let travels = |source: &&Source| {
        let piece = source.piece.map(|piece| pieces[piece]);
        source.access == Access::Columns
            && piece.is_some_and(|piece| piece.x_partition != Partition::Replicated)
    };
    let sent: Vec<u32> = args.iter().filter(travels).map(|of| of.slot).collect();
    let writes = |loop_: &Loop| {
        let mut insts = loop_.body.iter();
        insts.any(
            |inst| matches!(*inst, Inst::Store(arg, _) if sent.contains(&args[arg as usize].slot)),
        )
    };
    kernel
        .loops
        .iter()
        .rposition(writes)
        .map_or(0, |last| last + 1)
}

/// The slots of columns and values that nothing but products with their packed form reads.
fn only_multiplied(
    pieces: &[PieceSpec],
    bindings: &[Binding],
    fetches: &[Fetch],
    writes: &[u32],
) -> Vec<u32> {
    let mut slots: Vec<u32> = pieces.iter().map(|piece| piece.crd).collect();
    let mut others: Vec<u32> = writes.to_vec();
    others.extend(fetches.iter().map(|fetch| fetch.slot));
    // Products with matrices read the plain form.
    let is_wide = |piece: usize| pieces[piece].width != 1;
    let wide = pieces.iter().filter(|piece| piece.width != 1);
    others.extend(wide.map(|piece| piece.crd));
    for binding in bindings {
        match *binding {
            Binding::Entries {
                from: From::Slot(slot),
                piece,
            } if is_wide(piece) => others.push(slot),
            Binding::Entries {
                from: From::Slot(slot),
                ..
            } => slots.push(slot),
            Binding::Array {
                from: From::Slot(slot),
                ..
            }
            | Binding::DenseRows {
                from: From::Slot(slot),
                ..
            }
            | Binding::Whole {
                from: From::Slot(slot),
                ..
            }
            | Binding::Scalar { slot }
            | Binding::Columns { slot, .. } => others.push(slot),
            Binding::Array { .. }
            | Binding::DenseRows { .. }
            | Binding::Whole { .. }
            | Binding::Entries { .. }
            | Binding::Reduction { .. }
            | Binding::Structure { .. } => {}
        }
    }
    slots.retain(|slot| !others.contains(slot));
    slots
}
