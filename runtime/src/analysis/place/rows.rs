//! Which rows a rank computes of each task of a group, and how the stores are cut that these make.

use super::Planner;
use crate::analysis::fuse::{Group, Solved};
use crate::analysis::overlap::{Member, Overlap, Planned};
use crate::analysis::solve::{Launch, Slot};
use crate::geometry::partition::{Partition, Pieces};
use crate::shape::Shape;
use crate::tasks::argument::Privilege;
use sparsefuse_kernels::{Extent, Inst, Kernel, Loop};
use std::collections::BTreeMap;
use std::ops::Range;

impl Planner<'_> {
    /// The rows that are computed of each task.
    pub(super) fn planned(&mut self) -> Planned {
        let tasks = &self.tasks[self.group.tasks.clone()];
        let mut members = Vec::with_capacity(tasks.len());
        for task in tasks.iter().filter(|_| self.group.overlaps) {
            let launch = task.launch.partition();
            let (slots, made, group) = (self.slots, self.made, self.group);
            let place = |slot: u32| {
                let shape = slots[slot as usize].shape;
                (shape, partition((slots, made, group), slot))
            };
            let overlap = Overlap::of((task.body, task.args), launch, place, self.cuts);
            members.extend(overlap.map(|overlap| Member {
                body: task.body,
                args: task.args,
                launch,
                overlap,
            }));
        }
        if self.group.overlaps && members.len() == tasks.len() {
            let slots = self.slots;
            let is_new = |slot: u32| slots[slot as usize].partition.is_none();
            return Planned::of(&members, is_new, self.cuts);
        }
        let launches = tasks.iter().map(|task| match task.launch {
            Launch::Any => self.group.launch,
            Launch::On(launch) => launch,
        });
        Planned {
            pieces: launches.map(Pieces::of).collect(),
            around: BTreeMap::new(),
        }
    }

    /// The rows of a domain that this rank computes.
    pub(super) fn rows(&self, shape: Shape, pieces: Pieces) -> Range<usize> {
        match shape.rank() {
            0 => 0..shape.rows(),
            _ => self.cuts.rows_of(pieces, shape, self.rank),
        }
    }
}

/// How what some tasks write as a whole is cut.
pub(in crate::analysis) fn made(tasks: &[Solved<'_>]) -> BTreeMap<u32, Partition> {
    let mut made = BTreeMap::new();
    for task in tasks {
        for (declared, arg) in task.body.args().iter().zip(task.args) {
            if declared.privilege == Privilege::Write && arg.view.is_none() {
                made.insert(arg.slot, task.launch.partition());
            }
        }
    }
    made
}

/// The partition of a store while a group runs that makes some.
pub(super) fn partition(
    (slots, made, group): (&[Slot], &BTreeMap<u32, Partition>, &Group),
    slot: u32,
) -> Partition {
    let Slot {
        shape, partition, ..
    } = slots[slot as usize];
    let written = || match made.get(&slot) {
        _ if shape.rank() == 0 => Partition::Replicated,
        Some(&launch) => launch,
        None => group.launch,
    };
    partition.unwrap_or_else(written)
}

/// Leaves out loops of which this rank has no rows, so that those around them are neighbours; not
/// all, since a rank takes part in the exchanges of a task that others run.
pub(super) fn leave_out_empty(kernel: &mut Kernel, extents: &[Extent]) {
    let is_effective = |loop_: &Loop| {
        let is_of_rows = |inst: &Inst| !inst.is_effect() || matches!(inst, Inst::Store(..));
        extents[loop_.domain as usize].len > 0 || !loop_.body.iter().all(is_of_rows)
    };
    if kernel.loops.iter().any(is_effective) {
        kernel.loops.retain(is_effective);
    }
}
