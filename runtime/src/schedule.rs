//! Schedules: what one rank does for a window.
//!
//! [`analyse`] is the whole way from a window to its schedule: solve, group, compose and optimise
//! each group, place its data. A schedule names stores by slot and parameters by number, so it can
//! be replayed for every window with the same key.
//!
//! `group.rs` makes the fused task of each group, `bind.rs` says where the data of its arguments
//! is.

mod bind;
mod group;

pub(crate) use self::group::plan_some;
pub(crate) use crate::fuse::Solved;

use self::group::Planner;
use crate::compose::PieceSpec;
use crate::exchange::Fetch;
use crate::fuse::{self, Group};
use crate::partition::{CutsTable, Partition};
use crate::reorder;
use crate::shape::Shape;
use crate::solve::{self, Launch, Slot};
use crate::task::{Access, Privilege};
use crate::trace;
use crate::window::Window;
use sparsefuse_kernels::blocks::Program;
use sparsefuse_kernels::{DType, Extent, Isa, Kernel, Layout, ReduceOp, Toolchain};
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
