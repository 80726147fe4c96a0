//! The order in which the tasks of a window run: where a program does several things that have
//! nothing to do with each other, such as solves side by side, their like steps come together.
//!
//! [`groups`] fuses neighbours. [`order`] puts tasks that could fuse next to each other, as long as
//! each still finds what it read and wrote in the order of the program. Groups are built one after
//! the other, each from the first task that is left and all later ones that it admits; tasks that
//! gather or reduce wait until no other will join, since what they gather must be written before
//! the first of them, and before anything is reduced. In other orders, tried too, a group takes
//! only tasks with the pieces of its first one, and begins with a task that has other pieces than
//! the first one, where one can run already: a copy of a whole grid that stands between the sum
//! over its neighbours and the slice that this is written to.
//!
//! A schedule keeps this order only where it makes fewer fused tasks than that of the program. No
//! result depends on it: what a task computes follows from what it reads.

use crate::analysis::fuse::{Group, Open, Solved, groups};
use crate::analysis::solve::Launch;
use crate::tasks::argument::{Access, Privilege};

/// The tasks of a window in the order in which they run, cut into groups. For each group it looks
/// at all tasks that are left; a window that is remembered is not looked at again.
pub(crate) fn reordered<'a>(
    tasks: Vec<Solved<'a>>,
    n_slots: usize,
) -> (Vec<Solved<'a>>, Vec<Group>) {
    let as_issued = groups(&tasks, n_slots, true);
    // Host tasks are groups of their own in any order.
    let is_kernels = |group: &&Group| !tasks[group.tasks.start].body.is_host();
    if as_issued.iter().filter(is_kernels).nth(1).is_none() {
        return (tasks, as_issued);
    }
    let mut best = (tasks, as_issued);
    let launches = best.0.iter().map(|task| task.launch);
    let differ = launches
        .clone()
        .any(|launch| Some(launch) != launches.clone().next());
    let ways: &[Begin] = match differ {
        true => &[Begin::Mixed, Begin::First, Begin::Other],
        false => &[Begin::First],
    };
    for &begin in ways {
        let order = order(&best.0, n_slots, begin);
        let moved: Vec<Solved<'_>> = order.iter().map(|&number| best.0[number].clone()).collect();
        let regrouped = groups(&moved, n_slots, true);
        if regrouped.len() < best.1.len() {
            best = (moved, regrouped);
        }
    }
    best
}

/// With which of the tasks that are left a group begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// The first one, and others of any pieces join it.
    Mixed,
    /// The first one, and those with its pieces join it.
    First,
    /// The first one that has other pieces and depends on none before it; else the first one.
    Other,
}

/// The tasks by their numbers, each after those that it depends on.
fn order(tasks: &[Solved<'_>], n_slots: usize, begin: Begin) -> Vec<usize> {
    let mut order = Vec::with_capacity(tasks.len());
    let mut left: Vec<usize> = (0..tasks.len()).collect();
    let mut overtaken = Overtaken::new(n_slots);
    let mut group = Open::new(n_slots);
    while let Some(&first) = left.first() {
        let launch = match begin {
            Begin::Mixed => None,
            Begin::First => Some(tasks[first].launch),
            Begin::Other => Some(other_launch(tasks, &left, &mut overtaken)),
        };
        for only_maps in [true, false] {
            left.retain(|&number| {
                let task = &tasks[number];
                let joins = (!only_maps || is_map(task))
                    && launch.is_none_or(|of| [of, Launch::Any].contains(&task.launch))
                    && overtaken.lets_pass(task)
                    && group.admits(task).is_ok();
                if joins {
                    group.add(task);
                    order.push(number);
                } else {
                    overtaken.add(task);
                }
                !joins
            });
            overtaken.clear();
        }
        group.close(order.len(), None);
    }
    order
}

/// The launch of the first task, of those left, that has other pieces than the first one and can
/// run before it; that of the first one if there is none.
fn other_launch(tasks: &[Solved<'_>], left: &[usize], overtaken: &mut Overtaken) -> Launch {
    let first = tasks[left[0]].launch;
    let is_other = |launch| launch != first && launch != Launch::Any;
    let found = left.iter().map(|&number| &tasks[number]).find(|task| {
        let is_found = is_other(task.launch) && overtaken.lets_pass(task);
        overtaken.add(task);
        is_found
    });
    overtaken.clear();
    found.map_or(first, |task| task.launch)
}

/// Whether a task neither gathers nor reduces.
fn is_map(task: &Solved<'_>) -> bool {
    let mut args = task.body.args().iter();
    args.all(|declared| {
        !matches!(declared.access, Access::At { .. })
            && !matches!(declared.privilege, Privilege::Reduce(_))
    })
}

/// What the tasks that stay behind use.
struct Overtaken {
    uses: Vec<Uses>,
    /// The slots with an entry in `uses`.
    used: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Uses {
    None,
    Read,
    Written,
}

impl Overtaken {
    fn new(n_slots: usize) -> Self {
        Self {
            uses: vec![Uses::None; n_slots],
            used: Vec::new(),
        }
    }

    fn add(&mut self, task: &Solved<'_>) {
        for (slot, use_) in uses(task) {
            let known = &mut self.uses[slot as usize];
            *known = (*known).max(use_);
            self.used.push(slot);
        }
    }

    /// Whether a task depends on none of them, nor one of them on it.
    fn lets_pass(&self, task: &Solved<'_>) -> bool {
        uses(task).all(|(slot, use_)| match self.uses[slot as usize] {
            Uses::None => true,
            Uses::Read => use_ == Uses::Read,
            Uses::Written => false,
        })
    }

    fn clear(&mut self) {
        for slot in self.used.drain(..) {
            self.uses[slot as usize] = Uses::None;
        }
    }
}

fn uses(task: &Solved<'_>) -> impl Iterator<Item = (u32, Uses)> {
    let args = task.body.args().iter().zip(task.args);
    args.map(|(declared, arg)| match declared.privilege {
        Privilege::Read => (arg.slot, Uses::Read),
        Privilege::Write | Privilege::Reduce(_) => (arg.slot, Uses::Written),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::window::Arg;
    use crate::geometry::partition::{CutsId, Partition};
    use crate::tasks::body::Body;
    use sparsefuse_kernels::{ArgKind, DType, KernelBuilder, ReduceOp, UnaryOp};
    use std::sync::Arc;

    /// y = -x, or s = sum(x).
    fn body(sums: bool) -> Arc<Body> {
        let mut build = KernelBuilder::new();
        let x = build.arg(DType::F64, ArgKind::Array);
        let loaded = build.load(x);
        if sums {
            let s = build.arg(DType::F64, ArgKind::Reduction);
            build.reduce(ReduceOp::Sum, s, loaded);
        } else {
            let y = build.arg(DType::F64, ArgKind::Array);
            let negative = build.unary(UnaryOp::Neg, loaded);
            build.store(y, negative);
        }
        Body::new("test", build.finish())
    }

    /// The order of tasks with a body, a slot that is read, one that is written, and the cuts of
    /// their launch.
    fn order_of(tasks: &[(&Arc<Body>, u32, u32, u32)]) -> Vec<usize> {
        let arg = |slot| Arg { slot, view: None };
        let args: Vec<[Arg; 2]> = tasks
            .iter()
            .map(|&(_, from, to, _)| [arg(from), arg(to)])
            .collect();
        let solved = tasks.iter().zip(&args).map(|(task, args)| Solved {
            number: 0,
            body: task.0,
            args,
            params: 0..0,
            launch: Launch::On(Partition::Tile(CutsId(task.3))),
            local: Vec::new(),
            overlap: None,
        });
        let tasks: Vec<Solved<'_>> = solved.collect();
        order(&tasks, 20, Begin::First)
    }

    #[test]
    fn like_steps_of_independent_chains_come_together() {
        let (map, sum) = (body(false), body(true));
        let tasks = [
            (&map, 0, 1, 0),
            (&sum, 1, 2, 0),
            (&map, 1, 3, 1),
            (&map, 10, 11, 0),
            (&sum, 11, 12, 0),
            (&map, 11, 13, 1),
        ];
        assert_eq!(order_of(&tasks), [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn nothing_overtakes_what_it_depends_on() {
        let map = body(false);
        // Reads what the one before writes; writes what it reads; writes what it writes.
        for (from, to) in [(2, 3), (4, 1), (4, 2)] {
            let tasks = [(&map, 10, 11, 0), (&map, 1, 2, 1), (&map, from, to, 0)];
            assert_eq!(order_of(&tasks), [0, 1, 2], "{from} {to}");
        }
        let tasks = [(&map, 10, 11, 0), (&map, 1, 2, 1), (&map, 1, 3, 0)];
        assert_eq!(order_of(&tasks), [0, 2, 1], "both only read");
    }

    #[test]
    fn every_task_runs_once_however_many_it_might_overtake() {
        let map = body(false);
        let tasks: Vec<_> = (0..700).map(|i| (&map, i % 7, 7 + i % 5, i % 2)).collect();
        let mut order = order_of(&tasks);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..700));
    }
}
