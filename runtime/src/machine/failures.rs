//! What a failure leaves of a fused task: the tasks that depend on it fail, all others run.
//!
//! Fusion decides no result, and so no failure either. What fails before the kernel runs (an input
//! that has failed, memory, a structure that is none) is blamed on the tasks of the group that
//! use it, and on those that use what these would have written. The others are composed to one
//! fused task, which runs in place of the whole; if there is no memory for that either, its tasks
//! are blamed in turn.
//!
//! A rank may fail alone. It takes part in every exchange of the whole fused task all the same, in
//! the same order, and sends a failure in place of what it does not have; so the others, which know
//! of nothing, find what they wait for. What they get of it is blamed in the same way.

use super::{Inputs, Running};
use crate::analysis::fuse::Group;
use crate::analysis::fuse::Solved;
use crate::analysis::place;
use crate::analysis::schedule::{Binding, From, FusedTask, TaskNote};
use crate::analysis::solve::Slot;
use crate::error::Error;
use crate::tasks::argument::{Access, BodyArg};
use std::collections::BTreeMap;

/// Something that tasks of a group use, and that could not be had.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) slot: u32,
    pub(super) way: Way,
    pub(super) cause: Error,
}

/// Which of the tasks that use a slot a failure is of: those that reach it in this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Any,
    /// As part of a structure, or as its entries.
    Within,
    /// By the indices of a structure.
    Gathered,
    /// As what they write.
    Written,
}

impl Way {
    fn is_that_of(self, declared: &BodyArg) -> bool {
        match self {
            Self::Any => true,
            Self::Within => matches!(declared.access, Access::Within { .. }),
            Self::Gathered => matches!(declared.access, Access::At { .. }),
            Self::Written => declared.is_written(),
        }
    }
}

/// What depends on some failures, and what does not.
struct Blame {
    /// The tasks that have nothing to do with it, by their numbers in the schedule.
    spared: Vec<usize>,
    /// The slots that the other tasks write, and why they do not.
    failed: BTreeMap<u32, Error>,
}

impl Failure {
    pub(super) fn of(slot: u32, cause: Error) -> Self {
        Self {
            slot,
            way: Way::Any,
            cause,
        }
    }

    /// Of tasks for which the slot is part of a structure, or its entries.
    pub(super) fn within(slot: u32, cause: Error) -> Self {
        Self {
            slot,
            way: Way::Within,
            cause,
        }
    }

    /// Of tasks that write the slot.
    pub(super) fn written(slot: u32, cause: Error) -> Self {
        Self {
            slot,
            way: Way::Written,
            cause,
        }
    }

    /// Of tasks that gather from the slot.
    pub(super) fn gathered(slot: u32, cause: Error) -> Self {
        Self {
            slot,
            way: Way::Gathered,
            cause,
        }
    }
}

impl Running<'_, '_> {
    /// Poisons what depends on the failures, and prepares all else: a fused task that can run. None
    /// if nothing is left.
    pub(super) fn spare(
        &mut self,
        inputs: &mut Inputs,
        failures: &mut Vec<Failure>,
    ) -> Option<FusedTask> {
        let mut left = usize::MAX;
        loop {
            let spared = self.poison_dependents(failures);
            if spared.is_empty() {
                return None;
            }
            // Each failure is one of a task that was left.
            let is_less = spared.len() < left;
            left = spared.len();
            let Some(part) = self.plan(&spared).filter(|_| is_less) else {
                let first = &failures[0];
                self.frame.fail(self.task, &first.cause);
                return None;
            };
            match self.instead(&part).prepare(inputs) {
                Ok(()) => return Some(part),
                Err(failure) => failures.push(failure),
            }
        }
    }

    /// Poisons what tasks would have written that depend on the failures; the other tasks.
    pub(super) fn poison_dependents(&mut self, failures: &[Failure]) -> Vec<usize> {
        let Blame { spared, failed } = self.blame(failures);
        self.frame.poison.extend(failed);
        spared
    }

    fn blame(&self, failures: &[Failure]) -> Blame {
        let mut blame = Blame {
            spared: Vec::new(),
            failed: BTreeMap::new(),
        };
        for number in self.task.group.tasks.clone() {
            let task = &self.window.tasks[self.schedule.tasks[number].number];
            let body = self.window.body(task);
            let args = || body.args().iter().zip(self.window.args_of(task));
            let cause = args().find_map(|(declared, arg)| {
                let is_of = |failure: &&Failure| {
                    failure.slot == arg.slot && failure.way.is_that_of(declared)
                };
                let failure = failures.iter().find(is_of);
                let earlier = blame.failed.get(&arg.slot);
                earlier.or(failure.map(|failure| &failure.cause)).cloned()
            });
            let Some(cause) = cause else {
                blame.spared.push(number);
                continue;
            };
            let cause = cause.poison(body.name());
            for (_, arg) in args().filter(|(declared, _)| declared.is_written()) {
                blame.failed.insert(arg.slot, cause.clone());
            }
        }
        blame
    }

    /// Some tasks of this group as one fused task with its fetches and pieces; none if it would
    /// need other ones.
    fn plan(&self, numbers: &[usize]) -> Option<FusedTask> {
        let Group {
            launch, overlaps, ..
        } = self.task.group;
        let solved = |&number: &usize| {
            let TaskNote { number, launch, .. } = self.schedule.tasks[number];
            let task = &self.window.tasks[number];
            Solved {
                number,
                body: self.window.body(task),
                args: self.window.args_of(task),
                params: task.params.clone(),
                launch,
                local: Vec::new(),
                overlap: None,
            }
        };
        let tasks: Vec<_> = numbers.iter().map(solved).collect();
        let slots: Vec<Slot> = (0..)
            .zip(&self.schedule.slots)
            .map(|(number, slot)| Slot {
                partition: self.frame.partition(number),
                ..slot.clone()
            })
            .collect();
        // What is remembered of the cuts is for windows; this is for a failure.
        let mut cuts = self.context.cuts.clone();
        let place = (&mut cuts, self.context.comm.rank());
        let mut part =
            place::plan_some(&tasks, (launch, overlaps), &slots, &self.task.frees, place);
        // These are the places of the views of this window. Bindings of a schedule are those of the
        // window for which it was made, and get the difference when they are bound.
        for binding in &mut part.bindings {
            if let Binding::Array { from, offset, .. } | Binding::DenseRows { from, offset, .. } =
                binding
                && let From::Slot(slot) = *from
            {
                *offset -= self.window.moved_by(slot);
            }
        }
        part.exchange_as(self.task, &slots).then_some(part)
    }
}
