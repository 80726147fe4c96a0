//! When halos travel: before which fused task of a window, and which of them need not.
//!
//! Goes in: the fused tasks of a window, each with what it reads beyond the ranks' own rows, and
//! what is around these from earlier windows. Comes out: the exchanges before each task, and what
//! is around the rows afterwards.
//!
//! What tasks read of a store before it is written again travels once, for all of them, at any time
//! between the task that has written it and the first that reads it. So the exchanges of several
//! stores come together: going through the window, as late as may be, but then all that can travel
//! already (as few points as possible that lie in all the intervals). What is around the rows of a
//! store stays valid until the store is written, so it is not brought a second time.

use super::schedule::FusedTask;
use super::solve::Slot;
use crate::comm::exchange::around::Around;
use crate::geometry::partition::CutsTable;
use crate::geometry::partition::needs::{Needs, NeedsId};

/// What tasks read of a store between two writes of it.
#[derive(Debug)]
struct Wanted {
    slot: u32,
    needs: Needs,
    /// The first task before which it can travel.
    from: usize,
    /// The tasks that read it, at least one.
    readers: Vec<usize>,
    /// Whether no task writes the store afterwards.
    is_last: bool,
}

/// Places the exchanges of halos; see the module's text. `before` says what is around the rows of
/// each slot at the begin; what is around them at the end is returned, for slots of which that
/// changes.
pub(super) fn place(
    tasks: &mut [FusedTask],
    (slots, before): (&[Slot], &[Option<NeedsId>]),
    (cuts, rank): (&mut CutsTable, usize),
) -> Vec<(u32, Option<NeedsId>)> {
    if cuts.ranks() == 1 {
        return Vec::new();
    }
    let mut after = before.to_vec();
    let mut late = Vec::new();
    for wanted in all_wanted(tasks, &mut after, cuts) {
        let there = before[wanted.slot as usize].filter(|_| wanted.from == 0);
        let there = there.filter(|&there| cuts.covers(there, &wanted.needs));
        let number = there.unwrap_or_else(|| cuts.number_of(&wanted.needs));
        if wanted.is_last {
            after[wanted.slot as usize] = Some(number);
        }
        for &reader in &wanted.readers {
            tasks[reader].around.push((wanted.slot, number));
        }
        if there.is_none() {
            late.push(wanted);
        }
    }
    late.sort_by_key(|wanted| (wanted.readers[0], wanted.slot));
    let mut point = None;
    for wanted in late {
        let at = point.filter(|&at| wanted.from <= at);
        let at = at.unwrap_or(wanted.readers[0]);
        point = Some(at);
        let Slot { shape, dtype, .. } = slots[wanted.slot as usize];
        let what = (wanted.slot, shape, dtype);
        let halo = Around::new(what, &wanted.needs, rank, cuts);
        tasks[at].halos.push(halo);
    }
    for task in tasks {
        if task.halos.is_empty() {
            task.halves = None;
        }
    }
    let changes = (0..).zip(after).zip(before);
    let changes = changes.filter(|((_, after), before)| after != *before);
    changes.map(|(change, _)| change).collect()
}

/// What is read between any two writes of a store. In `after` nothing is left around the rows of
/// stores that are written.
fn all_wanted(
    tasks: &[FusedTask],
    after: &mut [Option<NeedsId>],
    cuts: &mut CutsTable,
) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    // For each slot the first task that can have what is there, and what is read of that.
    let mut states: Vec<(usize, Option<usize>)> = vec![(0, None); after.len()];
    for (number, task) in tasks.iter().enumerate() {
        for (slot, needs) in &task.needs {
            let (from, known) = &mut states[*slot as usize];
            if let Some(wanted) = known.map(|known| &mut all[known]) {
                if let Some(joined) = cuts.joined(&wanted.needs, needs) {
                    wanted.needs = joined;
                    wanted.readers.push(number);
                    continue;
                }
                // What is there now is replaced.
                wanted.is_last = false;
                *from = number;
            }
            *known = Some(all.len());
            all.push(Wanted {
                slot: *slot,
                needs: needs.clone(),
                from: *from,
                readers: vec![number],
                is_last: true,
            });
        }
        for &slot in &task.writes {
            let (_, known) = std::mem::replace(&mut states[slot as usize], (number + 1, None));
            if let Some(known) = known {
                all[known].is_last = false;
            }
            after[slot as usize] = None;
        }
    }
    all
}
