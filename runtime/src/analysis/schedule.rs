//! Schedules: what one rank does for a window.
//!
//! A schedule names stores by slot and parameters by number, so it can be replayed for every window
//! with the same key.

use super::compose::PieceSpec;
use super::fuse::Group;
use super::graph::{Graph, Uses};
use super::moving::Offset;
use super::regions::Regions;
use super::solve::{Launch, Slot};
use super::versions::Versions;
use crate::comm::exchange::Sent;
use crate::comm::exchange::around::{Around, SIDES};
use crate::comm::exchange::fetch::Fetch;
use crate::comm::exchange::together::{self, Part};
use crate::geometry::partition::Partition;
use crate::geometry::partition::needs::{Needs, NeedsId};
use crate::geometry::view::View;
use crate::memory::pool;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::block::BlockRows;
use sparsefuse_kernels::blocks::Program;
use sparsefuse_kernels::device::{DeviceLoop, NoForm};
use sparsefuse_kernels::reduce::Partial;
use sparsefuse_kernels::{DType, Extent, Isa, Kernel, Layout, ReduceOp, Toolchain};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What one rank does for a window, and why.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The fused tasks, in order.
    pub(crate) fused: Vec<FusedTask>,
    /// The runs of host tasks that may run side by side, in their order; none on several ranks.
    pub(crate) graphs: Vec<Graph>,
    /// The stores of the window as the analysis saw them, and behind them versions of some.
    pub(crate) slots: Vec<Slot>,
    /// Slots that the window has written and the program holds: what it leaves behind.
    pub(crate) results: Vec<u32>,
    /// What all ranks have around their rows afterwards, of slots of which that changes.
    pub(crate) around: Vec<(u32, Option<NeedsId>)>,
    /// The tasks of the window in the order of the schedule, for `explain`; and by their numbers
    /// the machine finds the functions of host tasks.
    pub(crate) tasks: Vec<TaskNote>,
    /// One hash per task of the window, as they were issued: what it does, up to the names of its
    /// stores.
    pub(crate) steps: Vec<u64>,
    /// For each place before, between and after these tasks, the bytes that a rank holds there and
    /// needs later; counted as `passing`.
    pub(crate) alive: Vec<usize>,
    /// How long the next window is to be, if the program goes on as it did when this one was new.
    pub(crate) after: OnceLock<After>,
    /// Bytes of what a rank makes within the window, in tasks whose loops run in parts, and drops
    /// again, results that no task stores apart. Every rank counts alike, as if stores were cut
    /// into equal parts.
    pub(crate) passing: usize,
    /// Elements that a rank's tasks write, counted alike.
    pub(crate) elements: usize,
    /// Where the slots lay of which the key does not tell it: see [`moving`](super::moving).
    pub(crate) places: Vec<(u32, Offset)>,
}

impl Schedule {
    /// Whether there is so much to do, counted roughly: bytes, and instructions on elements. What a
    /// host task does is not known, so it is enough.
    pub(crate) fn has_work(&self, least: usize) -> bool {
        let mut work = 0_usize;
        for task in &self.fused {
            if task.host.is_some() {
                return true;
            }
            work = work.saturating_add(task.bytes);
            for loop_ in &task.kernel.loops {
                let rows = task.extents[loop_.domain as usize].len as usize;
                work = work.saturating_add(rows.saturating_mul(loop_.body.len()));
            }
            if work >= least {
                return true;
            }
        }
        work >= least
    }

    /// The bytes of memory that some of its tasks ask for on this rank, if none is given back
    /// meanwhile.
    pub(crate) fn made_bytes(&self, tasks: Range<usize>) -> usize {
        let outputs = self.fused[tasks.clone()]
            .iter()
            .flat_map(|task| &task.outputs);
        let bytes = outputs.map(|output| {
            let size = self.slots[output.slot as usize].dtype.size();
            pool::taken(output.len, size)
        });
        let bytes = bytes.fold(0, usize::saturating_add);
        let partials = self.fused[tasks].iter().map(FusedTask::partial_bytes);
        bytes.saturating_add(partials.max().unwrap_or(0))
    }

    /// The regions in which the tasks of a group were issued.
    pub(crate) fn regions<'w>(&self, group: &Group, regions: &'w Regions) -> Cow<'w, str> {
        let tasks = self.tasks.get(group.tasks.clone()).unwrap_or_default();
        regions.of(tasks.iter().map(|task| task.number))
    }

    /// Whether it is right wherever these slots lie: kernels reach them by an offset to their first
    /// element, and no other way.
    pub(crate) fn is_movable(&self, mut slots: impl Iterator<Item = u32>) -> bool {
        slots.all(|slot| self.fused.iter().all(|task| task.is_movable(slot)))
    }

    /// Lets kernels that are bound by arithmetic become native code.
    pub(crate) fn with_native(mut self, isa: Isa, toolchain: &Arc<Toolchain>) -> Self {
        for task in &mut self.fused {
            let program = task.program.take();
            task.program = program.map(|program| program.with_native(&task.kernel, isa, toolchain));
        }
        self
    }
}

/// What `length` decided behind a full window that was new: what it knew of the program, and the
/// tasks of the next window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    pub(super) capacity: usize,
    pub(super) period: Option<usize>,
    pub(super) fitting: usize,
    pub(super) tasks: usize,
}

/// A task of the window: where it was issued, and what `explain` says of it.
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
    /// `None` if the passes found nothing to do, or it is a host task.
    pub(crate) program: Option<Program>,
    /// Of a host task; its kernel is empty then, and its bindings are those of the arguments that
    /// its body declares.
    pub(crate) host: Option<HostPlace>,
    /// Slots that must have contents before: what is read, and what is written in place.
    pub(crate) reads: Vec<u32>,
    /// Slots that are poisoned if this fails.
    pub(crate) writes: Vec<u32>,
    pub(crate) fetches: Vec<Fetch>,
    /// What the ranks need of stores that are read beyond their rows, in their instances.
    pub(crate) needs: Vec<(u32, Needs)>,
    /// For each of these stores, the needs whose rows have arrived by then: with this task's halos,
    /// those of an earlier one, or in an earlier window.
    pub(crate) around: Vec<(u32, NeedsId)>,
    /// The halos that travel before this task, for it and for later ones.
    pub(crate) halos: Vec<Around>,
    /// What can be run before the halos are there.
    pub(crate) halves: Option<Halves>,
    pub(crate) pieces: Vec<PieceSpec>,
    pub(crate) outputs: Vec<Output>,
    /// Slots of which a rank would write rows that others hold, so that the task fails.
    pub(crate) misplaced: Vec<u32>,
    /// Outputs that stores become when the task has run.
    pub(crate) versions: Versions,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) params: Vec<u32>,
    pub(crate) extents: Vec<Extent>,
    pub(crate) reductions: Vec<Reduction>,
    /// Slots that are not needed afterwards.
    pub(crate) frees: Vec<u32>,
    /// Bytes that the kernel reads and writes, structures and their entries apart.
    pub(crate) bytes: usize,
    /// Indices and entries that the task uses to gather alone, so that their packed form is enough.
    pub(crate) only_gathered: Vec<u32>,
    /// The pieces whose indices are read in plain form.
    pub(crate) plain_pieces: Vec<usize>,
    /// How many of the kernel's loops come before ghosts are sent: they write elements that other
    /// ranks gather in the loops after them.
    pub(crate) leading: usize,
    /// For each argument of the kernel, whether it is stored to.
    pub(crate) stored: Vec<bool>,
    /// The loops as kernels of the rank's device, or why they stay on the host; made when the task
    /// is first about to run there.
    pub(crate) on_device: OnceLock<Result<Vec<DeviceLoop>, NoForm>>,
}

impl FusedTask {
    /// See [`Schedule::is_movable`].
    fn is_movable(&self, slot: u32) -> bool {
        let mut bindings = self.bindings.iter();
        let by_offset = bindings.all(|binding| match *binding {
            Binding::Array { from, .. } | Binding::DenseRows { from, .. } => {
                matches!(from, From::Slot(_)) || self.slot(from) != slot
            }
            Binding::Whole { from, .. } | Binding::Entries { from, .. } => self.slot(from) != slot,
            Binding::Scalar { slot: of } | Binding::Gathered { slot: of, .. } => of != slot,
            Binding::Reduction { .. } | Binding::Structure { .. } => true,
        });
        let is_used = || self.reads.contains(&slot) || self.writes.contains(&slot);
        let has_version = self.versions.of.iter().any(|&(_, of)| of == slot);
        by_offset && !(self.host.is_some() && is_used()) && !has_version
    }

    /// The partial results of its reductions on this rank.
    pub(crate) fn n_partials(&self) -> usize {
        let tiles = self.reductions.iter().map(|reduction| reduction.n_tiles);
        tiles.fold(0, usize::saturating_add)
    }

    /// The bytes that they count as memory in use: all, unless they are so few that the machine
    /// keeps them from one task to the next.
    pub(crate) fn partial_bytes(&self) -> usize {
        const KEPT: usize = 1 << 20;
        let bytes = self.n_partials().saturating_mul(size_of::<Partial>());
        if bytes > KEPT { bytes } else { 0 }
    }

    /// The slot of an argument of a host task.
    pub(crate) fn slot_of_host(&self, binding: &Binding) -> u32 {
        match binding {
            Binding::Array { from, .. } | Binding::Whole { from, .. } => self.slot(*from),
            _ => unreachable!("arguments of host tasks are rows or whole stores"),
        }
    }

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
        let is_brought = |(slot, needs): &(u32, Needs)| {
            let mut known = whole.needs.iter();
            known.any(|(of, known)| of == slot && known.include(needs))
        };
        if !self.needs.iter().all(is_brought) {
            return false;
        }
        for binding in &mut self.bindings {
            match binding {
                Binding::Array { from, .. }
                | Binding::DenseRows { from, .. }
                | Binding::Whole { from, .. } => from.renumber(&fetches),
                Binding::Entries { from, piece } => {
                    from.renumber(&fetches);
                    *piece = pieces[*piece];
                }
                Binding::Gathered { piece, .. } | Binding::Structure { piece } => {
                    *piece = pieces[*piece];
                }
                Binding::Scalar { .. } | Binding::Reduction { .. } => {}
            }
        }
        self.pieces.clone_from(&whole.pieces);
        self.fetches.clone_from(&whole.fetches);
        self.halos.clone_from(&whole.halos);
        self.around.clone_from(&whole.around);
        let mut gathered = self.gathered();
        gathered.all(|this| whole.gathered().any(|known| known == this))
    }

    /// The exchanges before the task, which share their messages: the sides of the halos one after
    /// the other, then the fetches.
    pub(crate) fn exchanges(&self) -> Vec<Part<'_>> {
        let sides = self.halos.iter().flat_map(|halo| {
            SIDES.map(|side| Part {
                exchange: halo.side(side),
                item: halo.item,
            })
        });
        let fetches = self.fetches.iter().map(|fetch| Part {
            exchange: &fetch.exchange,
            item: fetch.item,
        });
        sides.chain(fetches).collect()
    }

    /// What this rank sends before the task, halos included.
    pub(crate) fn fetched(&self) -> Sent {
        together::sent(&self.exchanges())
    }

    /// Whether it is a host task of which each rank does or knows something of its own: the ranks
    /// talk to each other, and agree on how it ends.
    pub(crate) fn is_cut_host(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.is_cut)
    }

    /// The slot whose elements an argument reads.
    pub(crate) fn slot(&self, from: From) -> u32 {
        match from {
            From::Slot(slot) => slot,
            From::Fetched(number) => self.fetches[number].slot,
        }
    }

    /// What a host task that no exchange belongs to does with its stores; nothing of others.
    pub(crate) fn host_uses(&self) -> Option<Uses<'_>> {
        let is_cut = self.host.as_ref().is_none_or(|host| host.is_cut);
        if is_cut || !self.fetches.is_empty() {
            return None;
        }
        let blocks = self.blocks();
        let blocks = blocks.map(|block| (block.slot, &block.view, block.is_written));
        let args = self.host.iter().flat_map(|host| &host.blocks);
        let wholes = args
            .zip(&self.bindings)
            .filter(|(block, _)| block.is_none());
        let wholes = wholes.filter_map(|(_, binding)| match *binding {
            Binding::Array { from, .. } | Binding::Whole { from, .. } => Some(self.slot(from)),
            _ => None,
        });
        Some(Uses {
            wholes: wholes.collect(),
            reads: &self.reads,
            writes: &self.writes,
            frees: &self.frees,
            blocks: blocks.collect(),
        })
    }

    /// The blocks that a host task uses.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> + Clone {
        let host = self.host.iter();
        host.flat_map(|host| host.blocks.iter().flatten())
    }

    /// The slots that are gathered from, and by which piece.
    pub(crate) fn gathered(&self) -> impl Iterator<Item = (u32, usize)> {
        self.bindings.iter().filter_map(|binding| match *binding {
            Binding::Gathered { slot, piece } => Some((slot, piece)),
            _ => None,
        })
    }
}

/// Loops that run apart on rows that need no halo.
#[derive(Debug)]
pub(crate) struct Halves {
    /// Their numbers. Those before them need no halo at all.
    pub(crate) loops: Range<usize>,
    /// The tiles whose rows need no halo, and the others.
    pub(crate) interior: Vec<Range<u64>>,
    pub(crate) boundary: Vec<Range<u64>>,
}

/// Where a host task runs.
#[derive(Debug)]
pub(crate) struct HostPlace {
    /// The rows of this rank.
    pub(crate) rows: Range<usize>,
    /// Whether its rows, or what it reads as ranks hold it, are cut.
    pub(crate) is_cut: bool,
    /// How each argument is spread over the ranks.
    pub(crate) partitions: Vec<Partition>,
    /// The arguments that are blocks.
    pub(crate) blocks: Vec<Option<Block>>,
}

/// A block of a store, as a host task gets it.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) slot: u32,
    pub(crate) view: View,
    pub(crate) rows: BlockRows,
    pub(crate) is_written: bool,
}

/// A store that gets an instance before the kernel runs.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) slot: u32,
    pub(crate) partition: Partition,
    pub(crate) rows: Range<usize>,
    pub(crate) len: usize,
    /// The rows in front of these and behind them that the task writes, too, at most.
    pub(crate) room: [usize; 2],
    /// Whose memory it takes over.
    pub(crate) reuse: Option<Reuse>,
}

/// A store whose memory an output takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// An input that dies, if no other store has its memory.
    Input(u32),
    /// An output of the same task, which is not used any more when this one is first written.
    Output(u32),
}

impl Reuse {
    /// The store.
    pub(crate) fn slot(self) -> u32 {
        match self {
            Self::Input(slot) | Self::Output(slot) => slot,
        }
    }
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
        layout: Layout,
        columns: usize,
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
    /// What the indices of a piece name.
    Gathered {
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
    pub(super) fn renumber(&mut self, fetches: &[usize]) {
        match self {
            Self::Slot(_) => {}
            Self::Fetched(number) => *number = fetches[*number],
        }
    }
}

impl Reduction {
    /// Whether each rank reduces its own rows only.
    pub(crate) fn is_partial(&self) -> bool {
        self.launch != Partition::Replicated
    }
}

/// A reduction of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub(crate) op: ReduceOp,
    /// The type of the elements that are reduced.
    pub(crate) dtype: DType,
    pub(crate) slot: u32,
    /// The element of the slot's store that is the result.
    pub(crate) element: usize,
    pub(crate) domain: u32,
    /// How the rows that are reduced are cut.
    pub(crate) launch: Partition,
    /// The first of this rank's rows of the domain.
    pub(crate) first_row: usize,
    /// The tiles of this rank's rows.
    pub(crate) n_tiles: usize,
    /// The most trees that the forest of any range of tiles has.
    pub(crate) most_trees: usize,
}
