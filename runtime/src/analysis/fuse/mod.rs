//! Fusion: which neighbouring tasks become one.
//!
//! [`groups`] takes the longest fusible prefix, again and again. Each of the six rules is one
//! function that answers yes, or no with a [`Refusal`]. A partition is compared by how a task
//! reaches a store (`Rows` through which view, or an image or the whole of it), and by whether each
//! rank has there what its rows need, as the solver has found out; no rule looks at pieces, so the
//! cost does not grow with rows or ranks.
//!
//! On several ranks a group may exchange ghosts once, when it is under way: a task may gather
//! what the group has written before it first gathered anything (`p = r + beta p; q = A p`). The
//! rows that other ranks need are computed and sent first. Not after a reduction, which travels
//! while the next group gathers.

use crate::analysis::overlap::Overlap;
use crate::analysis::solve::Launch;
use crate::analysis::window::Arg;
use crate::geometry::partition::Partition;
use crate::geometry::view::View;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::body::Body;
use sparsefuse_kernels::ArgKind;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Why a task does not join the group before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Rule 1: the group runs over other pieces, and both reduce, or one of them follows a
    /// structure.
    LaunchDomain,
    /// Rule 2: the group wrote this store through another partition than the task reads or writes
    /// it through.
    TrueDependence {
        /// The store's number in the window.
        slot: u32,
    },
    /// Rule 3: the group read this store through another partition than the task writes it through.
    AntiDependence {
        /// The store's number in the window.
        slot: u32,
    },
    /// Rule 4: the store is reduced into and also read or written.
    Reduction {
        /// The store's number in the window.
        slot: u32,
    },
    /// Rule 6: the group computes rows of neighbours, and the task would need too many of them, or
    /// cannot be computed for them.
    Overlap,
    /// Rule 5: a host task is a group of its own.
    HostTask,
    /// Fusion is switched off.
    SwitchedOff,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LaunchDomain => f.write_str("launch domain: the next task has other pieces"),
            Self::TrueDependence { slot } => {
                write!(
                    f,
                    "true dependence: s{slot} was written through another partition"
                )
            }
            Self::AntiDependence { slot } => {
                write!(
                    f,
                    "anti-dependence: s{slot} was read through another partition"
                )
            }
            Self::Reduction { slot } => {
                write!(
                    f,
                    "reduction: s{slot} is complete only when the group has ended"
                )
            }
            Self::Overlap => f.write_str("overlap: the group computes rows of neighbours"),
            Self::HostTask => f.write_str("host task: it is a group of its own"),
            Self::SwitchedOff => f.write_str("fusion is switched off"),
        }
    }
}

/// Neighbouring tasks that run as one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// The tasks, by their numbers in the window.
    pub(crate) tasks: Range<usize>,
    /// The pieces that the first of them with rows runs over; others may have pieces of their own.
    pub(crate) launch: Partition,
    /// Whether ranks compute rows of their neighbours, too
    /// ([the overlap](mod@crate::analysis::overlap)).
    pub(crate) overlaps: bool,
    /// Why the next task did not join; `None` at the end of the window.
    pub(crate) end: Option<Refusal>,
}

/// A task with its launch solved.
#[derive(Clone, Debug)]
pub(crate) struct Solved<'a> {
    /// Its number in the window.
    pub(crate) number: usize,
    pub(crate) body: &'a Body,
    pub(crate) args: &'a [Arg],
    /// The window's numbers of its parameters.
    pub(crate) params: Range<u32>,
    pub(crate) launch: Launch,
    /// For each argument, whether what a rank's rows of the launch reach are rows that it holds;
    /// nothing where there is one rank.
    pub(crate) local: Vec<bool>,
    /// How it can be computed for rows of neighbours; none where there is one rank.
    pub(crate) overlap: Option<Overlap>,
}

/// Cuts a window into groups; without fusion, each task is its own.
pub(crate) fn groups(tasks: &[Solved<'_>], n_slots: usize, fusion: bool) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut open = Open::new(n_slots);
    for (number, task) in tasks.iter().enumerate() {
        let verdict = if fusion || open.start == number {
            open.admits(task)
        } else {
            Err(Refusal::SwitchedOff)
        };
        if let Err(refusal) = verdict {
            groups.push(open.close(number, Some(refusal)));
        }
        open.add(task);
    }
    if !tasks.is_empty() {
        groups.push(open.close(tasks.len(), None));
    }
    groups
}

/// The group that tasks are being added to.
#[derive(Debug)]
pub(crate) struct Open {
    start: usize,
    launch: Launch,
    /// What the group consists of.
    kind: Kind,
    /// How the group uses each store.
    uses: Vec<Use>,
    /// Whether tasks of the group have different pieces.
    is_mixed: bool,
    /// Whether a task of the group follows a structure, so that all have its pieces.
    has_structures: bool,
    /// What the group so far has gathered.
    gathers: Gathers,
    overlap: Overlapped,
    /// The pieces over which the group reduces, if it does.
    reduces: Option<Launch>,
    /// The slots with an entry in `uses`.
    used: Vec<u32>,
}

/// The rows of neighbours that a group needs.
#[derive(Debug)]
struct Overlapped {
    /// Whether ranks compute rows of their neighbours.
    is_needed: bool,
    /// Whether each task could be computed for them.
    is_possible: bool,
    /// The rows around those of a rank that the group needs, and those that it may need.
    rows: usize,
    most: usize,
}

impl Overlapped {
    const NONE: Self = Self {
        is_needed: false,
        is_possible: true,
        rows: 0,
        most: usize::MAX,
    };
}

/// What a group consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Empty,
    Kernels,
    HostTask,
}

/// How a group uses one store.
#[derive(Clone, Debug, Default)]
struct Use {
    read: Vec<Through>,
    written: Option<Through>,
    /// Whether that was before the group first gathered anything.
    is_early: bool,
    is_reduced: bool,
    /// The rows around those of a rank that had to be there for what is written now.
    rows: usize,
}

/// What a group gathers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gathers {
    Nothing,
    /// Stores that the group has written.
    Written,
    /// Stores that were there before.
    Found,
}

/// The partition through which a task reaches a store, as far as the rules compare it.
#[derive(Clone, Debug, PartialEq)]
struct Through {
    access: Access,
    view: Option<Arc<View>>,
    /// The pieces of the task, where these decide which rows it reaches.
    launch: Launch,
    is_local: bool,
    /// Whether these are the ranges or the indices of a structure.
    is_of_structure: bool,
}

impl Through {
    /// Whether elements of other rows are reached, by the indices of a structure.
    fn is_gathered(&self) -> bool {
        matches!(self.access, Access::At { .. })
    }

    /// Whether each rank reaches rows that it holds, by either: then they depend on each other
    /// within a rank, as on one that is alone.
    fn are_local(&self, other: &Self) -> bool {
        self.is_local && other.is_local
    }
}

impl Open {
    pub(crate) fn new(n_slots: usize) -> Self {
        let uses = vec![Use::default(); n_slots];
        Self {
            start: 0,
            launch: Launch::Any,
            kind: Kind::Empty,
            uses,
            used: Vec::new(),
            is_mixed: false,
            has_structures: false,
            gathers: Gathers::Nothing,
            overlap: Overlapped::NONE,
            reduces: None,
        }
    }

    pub(crate) fn admits(&self, task: &Solved<'_>) -> Result<(), Refusal> {
        host_task(self, task)?;
        same_launch_domain(self, task)?;
        true_dependence(self, task)?;
        anti_dependence(self, task)?;
        reduction(self, task)?;
        overlap(self, task)
    }

    pub(crate) fn add(&mut self, task: &Solved<'_>) {
        self.kind = match task.body.is_host() {
            true => Kind::HostTask,
            false => Kind::Kernels,
        };
        if self.launch == Launch::Any {
            self.launch = task.launch;
        }
        self.is_mixed |= task.launch != Launch::Any && task.launch != self.launch;
        self.has_structures |= has_structures(task.body);
        self.add_overlap(task);
        // What a task gathers before what it writes, whatever the order of its arguments.
        for (declared, arg) in task.body.args().iter().zip(task.args) {
            if matches!(declared.access, Access::At { .. }) {
                let is_written = self.uses[arg.slot as usize].written.is_some();
                self.gathers = match self.gathers {
                    Gathers::Nothing | Gathers::Found if !is_written => Gathers::Found,
                    Gathers::Nothing | Gathers::Found | Gathers::Written => Gathers::Written,
                };
            }
        }
        for (privilege, slot, through) in uses(task) {
            self.used.push(slot);
            let entry = &mut self.uses[slot as usize];
            match privilege {
                Privilege::Read => {
                    if !entry.read.contains(&through) {
                        entry.read.push(through);
                    }
                }
                Privilege::Write => {
                    entry.written = Some(through);
                    entry.is_early = self.gathers == Gathers::Nothing;
                }
                Privilege::Reduce(_) => {
                    entry.is_reduced = true;
                    self.reduces = Some(task.launch);
                }
            }
        }
    }

    pub(crate) fn close(&mut self, end: usize, refusal: Option<Refusal>) -> Group {
        for slot in self.used.drain(..) {
            self.uses[slot as usize] = Use::default();
        }
        let launch = match self.launch {
            Launch::Any => Partition::Replicated,
            Launch::On(partition) => partition,
        };
        let group = Group {
            tasks: self.start..end,
            launch,
            overlaps: self.overlap.is_needed,
            end: refusal,
        };
        self.start = end;
        self.launch = Launch::Any;
        self.kind = Kind::Empty;
        self.is_mixed = false;
        self.has_structures = false;
        self.gathers = Gathers::Nothing;
        self.overlap = Overlapped::NONE;
        self.reduces = None;
        group
    }

    /// The rows around those of a rank that a task needs of what was there before the group.
    fn rows_for(&self, task: &Solved<'_>) -> Option<usize> {
        let overlap = task.overlap.as_ref()?;
        let args = task.args.iter().zip(&overlap.widths);
        let rows =
            args.filter_map(|(arg, &width)| Some(self.uses[arg.slot as usize].rows + width?));
        Some(rows.max().unwrap_or(0))
    }

    /// Whether the group may compute rows of neighbours, so that the task finds them.
    fn may_overlap(&self, task: &Solved<'_>) -> bool {
        let most = task.overlap.as_ref().map_or(0, |overlap| overlap.most);
        let rows = self.rows_for(task).map(|rows| rows.max(self.overlap.rows));
        self.overlap.is_possible && rows.is_some_and(|rows| rows <= most.min(self.overlap.most))
    }

    fn add_overlap(&mut self, task: &Solved<'_>) {
        let (Some(rows), Some(overlap)) = (self.rows_for(task), &task.overlap) else {
            self.overlap.is_possible = false;
            return;
        };
        let needs_others = uses(task).any(|(_, slot, through)| {
            let written = self.uses[slot as usize].written.as_ref();
            written.is_some_and(|written| *written != through && !written.are_local(&through))
        });
        self.overlap.is_needed |= needs_others;
        self.overlap.rows = self.overlap.rows.max(rows);
        self.overlap.most = self.overlap.most.min(overlap.most);
        for (privilege, slot, _) in uses(task) {
            if privilege != Privilege::Read {
                let known = &mut self.uses[slot as usize].rows;
                *known = (*known).max(rows);
            }
        }
    }

    /// With one piece every partition is the whole store.
    fn has_one_piece(&self, task: &Solved<'_>) -> bool {
        let one = |launch| matches!(launch, Launch::Any | Launch::On(Partition::Replicated));
        !self.is_mixed && one(self.launch) && one(task.launch)
    }
}

fn uses(task: &Solved<'_>) -> impl Iterator<Item = (Privilege, u32, Through)> {
    let args = task.body.args().iter().zip(task.args).enumerate();
    args.map(|(number, (declared, arg))| {
        let through = Through {
            access: declared.access,
            view: arg.view.clone(),
            launch: match task.body.kind(number) {
                ArgKind::Array | ArgKind::DenseRows => task.launch,
                ArgKind::Scalar
                | ArgKind::Reduction
                | ArgKind::Gather
                | ArgKind::Entries
                | ArgKind::Structure => Launch::Any,
            },
            is_local: task.local.get(number).is_some_and(|&is_local| is_local),
            is_of_structure: match declared.access {
                Access::Ranges => true,
                Access::Within { .. } => task.body.kind(number) == ArgKind::Structure,
                _ => false,
            },
        };
        (declared.privilege, arg.slot, through)
    })
}

/// Rule 1: all tasks of a group have the same launch domain, or each has its own and none follows a
/// structure, and those that reduce have one; scalar arithmetic fits any. A rank that has no rows
/// of a task runs nothing for it.
fn same_launch_domain(open: &Open, task: &Solved<'_>) -> Result<(), Refusal> {
    // What is reduced over the ranks travels together.
    if open.reduces.is_some_and(|of| of != task.launch) {
        let mut args = task.body.args().iter();
        if args.any(|arg| matches!(arg.privilege, Privilege::Reduce(_))) {
            return Err(Refusal::LaunchDomain);
        }
    }
    match (open.launch, task.launch) {
        (Launch::Any, _) | (_, Launch::Any) => Ok(()),
        (a, b) if a == b && !open.is_mixed => Ok(()),
        _ if open.has_structures || has_structures(task.body) => Err(Refusal::LaunchDomain),
        _ => Ok(()),
    }
}

/// Whether the pieces of a task are those of a structure.
fn has_structures(body: &Body) -> bool {
    let mut args = body.args().iter();
    args.any(|arg| {
        matches!(
            arg.access,
            Access::Ranges | Access::Within { .. } | Access::At { .. }
        )
    })
}

/// Rule 2: what was written through a partition is read or written later only through it, or where
/// each rank reaches what it has written itself, or gathered after the one exchange that a group
/// has, or where each rank can compute what it reads of its neighbours' rows. Structures are there
/// before a group begins: their local forms are made, or found, before it runs.
fn true_dependence(open: &Open, task: &Solved<'_>) -> Result<(), Refusal> {
    for (_, slot, through) in uses(task) {
        if through.is_of_structure && open.uses[slot as usize].written.is_some() {
            return Err(Refusal::TrueDependence { slot });
        }
    }
    if open.has_one_piece(task) {
        return Ok(());
    }
    for (_, slot, through) in uses(task) {
        let is_gathered = through.is_gathered();
        let entry = &open.uses[slot as usize];
        let is_admitted = match &entry.written {
            None => !is_gathered || open.gathers != Gathers::Written,
            Some(written) if is_gathered => {
                let is_whole = written.access == Access::Rows && written.view.is_none();
                let may_exchange = match open.gathers {
                    Gathers::Nothing => open.reduces.is_none(),
                    Gathers::Written => true,
                    Gathers::Found => false,
                };
                is_whole && entry.is_early && may_exchange
            }
            Some(written) => {
                let is_own = *written == through || written.are_local(&through);
                let is_rows = through.access == Access::Rows && written.is_local;
                is_own || is_rows && open.may_overlap(task)
            }
        };
        if !is_admitted {
            return Err(Refusal::TrueDependence { slot });
        }
    }
    Ok(())
}

/// Rule 3: what was read through a partition is written later only through it, or where it was read
/// row by row: what a rank needs of other ranks has travelled before the group. A structure is not
/// written: its local form is kept until a later group writes it.
fn anti_dependence(open: &Open, task: &Solved<'_>) -> Result<(), Refusal> {
    for (privilege, slot, _) in uses(task) {
        let mut reads = open.uses[slot as usize].read.iter();
        if privilege != Privilege::Read && reads.any(|read| read.is_of_structure) {
            return Err(Refusal::AntiDependence { slot });
        }
    }
    if open.has_one_piece(task) {
        return Ok(());
    }
    for (privilege, slot, through) in uses(task) {
        let is_write = privilege == Privilege::Write;
        let by_rows = |read: &Through| {
            read.access == Access::Rows && through.access == Access::Rows && through.is_local
        };
        let mut reads = open.uses[slot as usize].read.iter();
        if is_write && reads.any(|read| *read != through && !by_rows(read)) {
            return Err(Refusal::AntiDependence { slot });
        }
    }
    Ok(())
}

/// Rule 4: a store being reduced into is neither read nor written in the group.
fn reduction(open: &Open, task: &Solved<'_>) -> Result<(), Refusal> {
    for (privilege, slot, _) in uses(task) {
        let earlier = &open.uses[slot as usize];
        let is_used = earlier.written.is_some() || !earlier.read.is_empty();
        let reduces = matches!(privilege, Privilege::Reduce(_));
        if earlier.is_reduced || (reduces && is_used) {
            return Err(Refusal::Reduction { slot });
        }
    }
    Ok(())
}

/// Rule 5: what a host task does is not known, so it is fused with nothing.
fn host_task(open: &Open, task: &Solved<'_>) -> Result<(), Refusal> {
    match (open.kind, task.body.is_host()) {
        (Kind::Empty, _) | (Kind::Kernels, false) => Ok(()),
        (Kind::HostTask, _) | (Kind::Kernels, true) => Err(Refusal::HostTask),
    }
}

/// Rule 6: where ranks compute rows of their neighbours, they can do so for all tasks of the group.
fn overlap(open: &Open, task: &Solved<'_>) -> Result<(), Refusal> {
    match open.overlap.is_needed && !open.may_overlap(task) {
        true => Err(Refusal::Overlap),
        false => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
