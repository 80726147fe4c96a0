//! Classes: tasks that hand new stores to each other run alike.
//!
//! Task by task the solver gives each task the partition that moves the fewest bytes for it alone.
//! A chain of tasks can so be cut at several places, one row apart, say, where each sees a grid
//! through another slice; then what one hands to the next has to be kept, and its rows travel.
//!
//! Tasks that are connected by stores which the window makes, rows by rows, are a class
//! (union-find). One of its members decides for all: one that cannot run elsewhere, since it writes
//! where a store is, else the one that reads the most. The window is solved anew with these hints,
//! and the solution that moves less is taken. Legate's constraint solver has such classes within a
//! task; here they reach over a window.

use super::fuse::Solved;
use super::solve::{self, Launch, Slot};
use crate::analysis::window::Arg;
use crate::geometry::partition::{CutsTable, Partition};
use crate::tasks::argument::{Access, Privilege};

/// For each task, the partition that its class wants; `None` if all classes run alike already.
pub(super) fn hints(tasks: &[Solved<'_>], slots: &[Slot]) -> Option<Vec<Option<Partition>>> {
    let classes = classes(tasks, slots);
    // For each class, by its representative: whether a member cannot run elsewhere, and the bytes
    // of the one that reads the most, with its partition.
    let mut chosen: Vec<Option<((bool, usize), Partition)>> = vec![None; tasks.len()];
    let mut differs = false;
    for (number, task) in tasks.iter().enumerate() {
        let Launch::On(partition @ Partition::Tile(_)) = task.launch else {
            continue;
        };
        let weight = (is_bound(task, slots), bytes_read(task, slots));
        let of_class = &mut chosen[classes[number]];
        differs |= of_class.is_some_and(|(_, known)| known != partition);
        if of_class.is_none_or(|(known, _)| known < weight) {
            *of_class = Some((weight, partition));
        }
    }
    differs.then(|| {
        let wanted = |&class: &usize| chosen[class].map(|(_, partition)| partition);
        classes.iter().map(wanted).collect()
    })
}

/// The class of each task, by the number of one of its tasks.
fn classes(tasks: &[Solved<'_>], slots: &[Slot]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..tasks.len()).collect();
    let mut makers: Vec<Option<usize>> = vec![None; slots.len()];
    for (number, task) in tasks.iter().enumerate() {
        for (is_written, arg) in new_rows(task, slots) {
            match makers[arg.slot as usize] {
                None if is_written => makers[arg.slot as usize] = Some(number),
                None => {}
                Some(maker) => {
                    let (a, b) = (find(&mut parents, maker), find(&mut parents, number));
                    parents[a.max(b)] = a.min(b);
                }
            }
        }
    }
    (0..tasks.len())
        .map(|number| find(&mut parents, number))
        .collect()
}

fn find(parents: &mut [usize], mut task: usize) -> usize {
    while parents[task] != task {
        parents[task] = parents[parents[task]];
        task = parents[task];
    }
    task
}

/// The arguments of a task that are rows of stores which the window makes, as they are, and whether
/// they are written.
fn new_rows<'t>(task: &'t Solved<'_>, slots: &'t [Slot]) -> impl Iterator<Item = (bool, &'t Arg)> {
    let args = task.body.args().iter().zip(task.args);
    args.filter(|(declared, arg)| {
        let slot = &slots[arg.slot as usize];
        let is_new = slot.partition.is_none() && slot.shape.rank() > 0;
        is_new && declared.access == Access::Rows && arg.view.is_none() && !task.body.is_host()
    })
    .map(|(declared, arg)| (declared.privilege == Privilege::Write, arg))
}

/// Whether a task can run nowhere else: it has a structure, writes where a store is, or is a host
/// task.
fn is_bound(task: &Solved<'_>, slots: &[Slot]) -> bool {
    let mut args = task.body.args().iter().zip(task.args);
    task.body.is_host()
        || args.any(|(declared, arg)| {
            let is_made_before = slots[arg.slot as usize].partition.is_some();
            declared.access == Access::Ranges
                || declared.privilege == Privilege::Write && (is_made_before || arg.view.is_some())
        })
}

fn bytes_read(task: &Solved<'_>, slots: &[Slot]) -> usize {
    let read = solve::rows_read(task.body, task.args);
    read.map(|arg| solve::shape(arg, slots).len() * slots[arg.slot as usize].dtype.size())
        .sum()
}

/// What a solution costs: the bytes that travel, and those of new stores that cannot be handed over
/// within a fused task, since they are written and read in different places. `slots` are the stores
/// as they are before the window.
pub(super) fn cost(tasks: &[Solved<'_>], slots: &[Slot], cuts: &mut CutsTable) -> usize {
    let mut slots = slots.to_vec();
    let is_new: Vec<bool> = slots.iter().map(|slot| slot.partition.is_none()).collect();
    let mut cost = 0_usize;
    for task in tasks {
        let launch = task.launch.partition();
        for arg in solve::rows_read(task.body, task.args) {
            let slot = &slots[arg.slot as usize];
            cost = cost.saturating_add(solve::moved(arg, &slots, launch, cuts));
            let is_kept = is_new[arg.slot as usize]
                && slot.partition.is_some_and(|made| made != launch)
                && arg.view.is_none();
            if is_kept {
                cost = cost.saturating_add(2 * slot.shape.len() * slot.dtype.size());
            }
        }
        super::settle(task, launch, &mut slots);
    }
    cost
}
