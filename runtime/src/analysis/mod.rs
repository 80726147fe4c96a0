//! From the tasks of a window to a schedule, and the memory of both.
//!
//! Pure: it takes tasks, shapes, partitions and counts of handles, and gives a schedule; it runs,
//! sends and allocates no array. [`analyse`] is the whole way: solve, reorder, fuse, compose and
//! optimise each group, place its data. A window that was there before is not analysed again
//! ([`traces`]).

pub(crate) mod length;
pub(crate) mod moving;
pub(crate) mod window;

pub(crate) mod round;

mod classes;
mod halos;
pub(crate) mod overlap;
pub(crate) mod solve;

pub(crate) mod fuse;
pub(crate) mod regions;
pub(crate) mod reorder;

pub(crate) mod compose;
pub(crate) mod place;
pub(crate) mod reuse;
pub(crate) mod versions;

pub(crate) mod graph;
pub(crate) mod schedule;
pub(crate) mod traces;

use self::fuse::Solved;
use self::overlap::Overlap;
use self::place::Planner;
use self::schedule::{FusedTask, Schedule, TaskNote};
use self::solve::{Launch, Slot};
use self::window::{Arg, Window};
use crate::geometry::partition::{CutsTable, Partition};
use crate::hash::hash;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::body::Body;
use std::ops::Range;
use std::sync::OnceLock;

/// From a window to the schedule of one rank.
pub(crate) fn analyse(
    window: &Window,
    cuts: &mut CutsTable,
    rank: usize,
    fusion: bool,
) -> Schedule {
    let mut slots = slots(window);
    let tasks = solve_all(window, &slots, cuts);
    let (tasks, groups) = match fusion {
        true => reorder::reordered(tasks, slots.len()),
        false => {
            let groups = fuse::groups(&tasks, slots.len(), false);
            (tasks, groups)
        }
    };
    let last_use = last_uses(&tasks, slots.len());

    let mut fused = Vec::with_capacity(groups.len());
    for group in groups {
        let mut planner = Planner {
            group: &group,
            tasks: &tasks,
            slots: &slots,
            last_use: &last_use,
            made: &place::made(&tasks[group.tasks.clone()]),
            cuts,
            rank,
        };
        let task = planner.plan_versions();
        for number in group.tasks.clone() {
            settle(&tasks[number], tasks[number].launch.partition(), &mut slots);
        }
        slots.extend_from_slice(&task.versions.slots);
        fused.push(task);
    }
    let around = halos::place(&mut fused, (&slots, &window.around), (cuts, rank));
    let mut results: Vec<u32> = fused.iter().flat_map(|task| task.writes.clone()).collect();
    results.retain(|&slot| slots[slot as usize].is_held);
    results.sort_unstable();
    results.dedup();
    // Where loops do not run in parts, the results of later ones have the memory of earlier ones,
    // see `reuse::share`, so a longer window has no more of them at a time.
    let in_parts = |task: &&FusedTask| cuts.ranks() > 1 && !task.pieces.is_empty();
    let passing = fused.iter().filter(in_parts);
    let passing = passing.flat_map(|task| &task.outputs);
    let passing = passing.filter(|output| !slots[output.slot as usize].is_held);
    let passing = passing.map(|output| bytes(&slots[output.slot as usize], cuts.ranks()));
    let graphs = match cuts.ranks() {
        1 => graph::graphs(&fused.iter().map(FusedTask::host_uses).collect::<Vec<_>>()),
        _ => Vec::new(),
    };
    Schedule {
        graphs,
        around,
        passing: passing.sum(),
        elements: elements(window, &slots, cuts.ranks()),
        places: Vec::new(),
        after: OnceLock::new(),
        alive: alive(window, &slots, cuts.ranks()),
        fused,
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

/// See [`Schedule::elements`].
fn elements(window: &Window, slots: &[Slot], ranks: usize) -> usize {
    let written = window.tasks.iter().flat_map(|task| {
        let args = &window.args[task.args.start as usize..task.args.end as usize];
        let declared = window.body(task).args();
        args.iter()
            .zip(declared)
            .filter(|(_, declared)| declared.is_written())
    });
    let elements = written.map(|(arg, _)| slots[arg.slot as usize].shape.len() / ranks);
    elements.fold(0, usize::saturating_add)
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
    let mut seen: Vec<Option<usize>> = vec![None; window.stores.len()];
    let tasks = window.tasks.iter().enumerate().map(|(number, task)| {
        words.clear();
        words.push(window.body(task).id());
        let fixed = window.host(number).and_then(|host| host.launch);
        words.extend(fixed.map(Partition::word));
        for arg in &window.args[task.args.start as usize..task.args.end as usize] {
            let shape = window.stores[arg.slot as usize].shape();
            words.push(shape.rank() as u64);
            words.extend(shape.dims().iter().map(|&dim| dim as u64));
            if let Some(view) = &arg.view {
                view.push_words_from(view.offset(), &mut words);
                // How far it lies from the view before it, which may be one of an earlier window:
                // a program that goes on from row to row repeats itself.
                let first = view.first();
                let last = seen[arg.slot as usize];
                let last = last.unwrap_or_else(|| window.places.origin(arg.slot, first));
                words.push(first.wrapping_sub(last) as u64);
                seen[arg.slot as usize] = Some(first);
            }
        }
        hash(&words)
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

/// The launches of all tasks: each by itself and, where that cuts tasks differently that hand
/// stores to each other, all of them together, whichever moves less.
fn solve_all<'a>(window: &'a Window, slots: &[Slot], cuts: &mut CutsTable) -> Vec<Solved<'a>> {
    let alone = solve_each(window, slots, cuts, |_| None);
    let hints = match cuts.ranks() {
        1 => None,
        _ => classes::hints(&alone, slots),
    };
    let Some(hints) = hints else {
        return alone;
    };
    let together = solve_each(window, slots, cuts, |number| hints[number]);
    let costs = [&alone, &together].map(|tasks| classes::cost(tasks, slots, cuts));
    if costs[1] < costs[0] { together } else { alone }
}

/// The launches of the tasks, one after the other, with a partition that each takes if it can.
fn solve_each<'a>(
    window: &'a Window,
    slots: &[Slot],
    cuts: &mut CutsTable,
    hint: impl Fn(usize) -> Option<Partition>,
) -> Vec<Solved<'a>> {
    let mut slots = slots.to_vec();
    let mut solved = Vec::with_capacity(window.tasks.len());
    for (number, task) in window.tasks.iter().enumerate() {
        let args = window.args_of(task);
        let body = window.body(task);
        let fixed = window.host(number).and_then(|host| host.launch);
        let launch = match fixed {
            Some(partition) => Launch::On(partition),
            None => solve::solve(body, args, &slots, cuts, hint(number)),
        };
        let task = Solved {
            number,
            body,
            args,
            params: task.params.clone(),
            launch,
            local: solve::local(body, args, &slots, launch.partition(), cuts),
            overlap: overlap(body, args, &slots, launch, cuts),
        };
        settle(&task, launch.partition(), &mut slots);
        solved.push(task);
    }
    solved
}

/// How a task can be computed for rows of neighbours.
fn overlap(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    launch: Launch,
    cuts: &mut CutsTable,
) -> Option<Overlap> {
    let Launch::On(launch) = launch else {
        return None;
    };
    let place = |slot: u32| {
        let Slot {
            shape, partition, ..
        } = slots[slot as usize];
        let replicated = (shape.rank() == 0).then_some(Partition::Replicated);
        (shape, partition.or(replicated).unwrap_or(launch))
    };
    match cuts.ranks() {
        1 => None,
        _ => Overlap::of((body, args), launch, place, cuts),
    }
}

/// What a task has written has the partition of its launch; single elements and results of
/// reductions are replicated, and a store of which a slice or a block was written stays as it was.
fn settle(task: &Solved<'_>, launch: Partition, slots: &mut [Slot]) {
    for (declared, arg) in task.body.args().iter().zip(task.args) {
        let is_in_place = arg.view.is_some() || declared.access == Access::Block;
        if declared.privilege == Privilege::Read || is_in_place {
            continue;
        }
        let slot = &mut slots[arg.slot as usize];
        let is_reduced = matches!(declared.privilege, Privilege::Reduce(_));
        slot.partition = Some(if is_reduced || slot.shape.rank() == 0 {
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
