//! The end of a task's reductions: partial results of tiles, joined here and over the ranks.
#![expect(unsafe_code, reason = "a result is written to the memory of its store")]

use super::frame::{Awaited, Frame};
use super::{Context, Running};
use crate::analysis::schedule::{FusedTask, Reduction, Schedule};
use crate::analysis::window::Window;
use crate::comm::forests::{self, Share, Subject};
use crate::comm::{self, Comm, Message};
use crate::error::Error;
use crate::memory::instance::Instance;
use sparsefuse_kernels::reduce::{self, Forest, Partial};
use sparsefuse_kernels::{DType, Value, Workers};
use std::borrow::Borrow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

impl FusedTask {
    /// Whether a slot is the result of a reduction.
    fn reduces_into(&self, slot: u32) -> bool {
        let mut reductions = self.reductions.iter();
        reductions.any(|reduction| reduction.slot == slot)
    }

    /// What its message to other ranks is about.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Subject> + Clone {
        self.reductions.iter().map(|reduction| Subject {
            op: reduction.op,
            dtype: reduction.dtype,
            most_trees: reduction.most_trees,
        })
    }
}

/// Waits for the started reductions with a result for which `is_wanted` holds, and writes them.
///
/// Every rank waits at the same places, since they all have the same schedule.
pub(super) fn finish(
    (schedule, window): (&Schedule, &Window),
    frame: &mut Frame,
    context: &mut Context<'_>,
    is_wanted: impl Fn(&u32) -> bool,
) {
    let mut number = 0;
    while let Some(Awaited { task, .. }) = frame.awaited.get(number) {
        let task = &schedule.fused[*task];
        let mut results = task.reductions.iter().map(|reduction| reduction.slot);
        if !results.any(|slot| is_wanted(&slot)) {
            number += 1;
            continue;
        }
        let Awaited {
            causes, pending, ..
        } = frame.awaited.remove(number);
        let begin = context.profile.is_some().then(Instant::now);
        let joined = pending.finish(context.comm).and_then(|words| {
            match forests::are_about(&words, task.subjects()) {
                true => Ok(words),
                false => Err(comm::apart(context.comm.rank())),
            }
        });
        let is_agreed = joined
            .as_ref()
            .is_ok_and(|words| !forests::is_marked(words));
        let shares = match joined {
            Ok(words) => shares(context.comm, forests::from_words(&words), causes),
            Err(cause) => vec![Err(cause); task.reductions.len()],
        };
        let outcome = write_results(task, frame, shares);
        if let (Some(profile), Some(begin)) = (context.profile.as_deref_mut(), begin) {
            let region = schedule.regions(&task.group, &window.regions);
            profile.wait((&region, &task.name), begin.elapsed());
        }
        if let Err(cause) = outcome {
            frame.fail(task, &cause);
        }
        if !is_agreed {
            // What else was fused with them may have failed on some ranks alone.
            for &slot in task.writes.iter().filter(|slot| !task.reduces_into(**slot)) {
                window.stores[slot as usize].set_agreed(false);
            }
        }
    }
}

/// The forests of all ranks, or why a rank has none: it tells the others, reduction by reduction,
/// as all of them know from what was joined.
fn shares(
    comm: &dyn Comm,
    joined: Vec<Share<Forest>>,
    mut causes: Vec<(usize, Error)>,
) -> Vec<Result<Forest, Error>> {
    let mut all = Vec::with_capacity(joined.len());
    for (number, share) in joined.into_iter().enumerate() {
        all.push(share.map_err(|rank| {
            if rank != comm.rank() {
                let told = comm.receive(rank).data().err();
                return told.unwrap_or_else(|| comm::left(rank));
            }
            let mine = causes.iter().position(|(of, _)| *of == number);
            let (_, cause) = causes.swap_remove(mine.expect("a rank knows why it has nothing"));
            for other in (0..comm.size()).filter(|&other| other != rank) {
                comm.send(other, Message::Failed(cause.clone()));
            }
            cause
        }));
    }
    all
}

impl Running<'_, '_> {
    /// Joins the partial results of the tiles; `ran` is what was run of the task, if anything was.
    /// Where each rank has its own rows, what it has is sent on its way to the others, all
    /// reductions of a task in one message; else the results are written.
    pub(super) fn reduce(&mut self, ran: &FusedTask) -> Result<(), Error> {
        if self.task.reductions.is_empty() || std::mem::take(&mut self.frame.is_reduced) {
            return Ok(());
        }
        let mut shares = std::mem::take(&mut self.frame.shares);
        self.build_forests(ran, &mut shares);
        if self
            .task
            .reductions
            .iter()
            .any(|reduction| reduction.is_partial())
        {
            self.start(shares);
            return Ok(());
        }
        let forests = std::mem::take(&mut self.frame.forests);
        let of = |share: Result<usize, Error>| share.map(|number| &forests[number]);
        let outcome = write_results(self.task, self.frame, shares.drain(..).map(of));
        (self.frame.forests, self.frame.shares) = (forests, shares);
        outcome
    }

    /// Makes the frame's forests those of this rank's tiles, and adds to `shares` which of them is
    /// that of each reduction of the task, or why there is none.
    fn build_forests(&mut self, ran: &FusedTask, shares: &mut Vec<Result<usize, Error>>) {
        let Frame {
            partials,
            forests,
            poison,
            ..
        } = &mut *self.frame;
        let n_reductions = ran.reductions.len();
        if forests.len() < n_reductions {
            forests.resize_with(n_reductions, Forest::default);
        }
        let workers = self.context.workers;
        let n_tiles: usize = ran.reductions.iter().map(|it| it.n_tiles).sum();
        let are_joined = workers.count() > 1 && n_tiles >= MANY_TILES;
        if are_joined {
            join_blocks(ran, partials, workers);
        }
        for ((reduction, tiles), forest) in tiles_of(ran, partials).zip(forests) {
            let (op, dtype) = (reduction.op, reduction.dtype);
            match first_leaf(ran, reduction).filter(|_| are_joined) {
                Some(first) => forest.set_blocks(op, dtype, first, tiles),
                None => {
                    let extent = ran.extents[reduction.domain as usize];
                    (extent.tiles).build_forest((op, dtype), reduction.first_row, tiles, forest);
                }
            }
        }
        shares.extend(
            self.task
                .reductions
                .iter()
                .enumerate()
                .map(|(place, reduction)| {
                    if let Some(cause) = poison.get(&reduction.slot) {
                        return Err(cause.clone());
                    }
                    let place_of = |known: &Reduction| (known.slot, known.element);
                    let is_own = |known: &Reduction| place_of(known) == place_of(reduction);
                    // Where nothing has failed, the task itself was run.
                    let number = match ran.reductions.get(place).is_some_and(is_own) {
                        true => Some(place),
                        false => ran.reductions.iter().position(is_own),
                    };
                    Ok(number.expect("what has not failed was run"))
                }),
        );
    }

    /// Sends this rank's forests on their way, or that there are none.
    fn start(&mut self, shares: Vec<Result<usize, Error>>) {
        let rank = self.context.comm.rank();
        let len = forests::len(self.task.subjects());
        let written = &self.task.writes;
        let has_failed = written
            .iter()
            .any(|slot| self.frame.poison.contains_key(slot));
        let words = match shares.iter().find_map(|share| share.as_ref().err()) {
            Some(cause) if shares.iter().all(Result::is_err) => Err(cause.clone()),
            _ => {
                let forests = &self.frame.forests;
                let shares = shares.iter().map(|share| match share {
                    Ok(number) => Ok(&forests[*number]),
                    Err(_) => Err(rank),
                });
                Ok(forests::to_words(
                    self.task.subjects().zip(shares),
                    has_failed,
                ))
            }
        };
        let causes = (0..).zip(shares);
        let causes = causes.filter_map(|(number, share)| Some((number, share.err()?)));
        let causes = causes.collect();
        self.context.counters.reductions += 1;
        let pending = self.context.comm.start_reduce(words, len);
        self.frame.awaited.push(Awaited {
            task: self.number,
            causes,
            pending,
        });
    }
}

/// Partial results of a task from which on threads join them: to fetch those that other cores have
/// written takes one thread longer than to call the others.
const MANY_TILES: usize = 4096;

/// The reductions of a task, each with the partial results of its tiles.
fn tiles_of<'a>(
    ran: &'a FusedTask,
    partials: &'a mut [Partial],
) -> impl Iterator<Item = (&'a Reduction, &'a mut [Partial])> {
    let mut rest = partials;
    ran.reductions.iter().map(move |reduction| {
        let len = reduction.n_tiles.min(rest.len());
        let (tiles, later) = std::mem::take(&mut rest).split_at_mut(len);
        rest = later;
        (reduction, tiles)
    })
}

/// The number of the first tile of a reduction, where its tiles are the leaves of its forest.
fn first_leaf(ran: &FusedTask, reduction: &Reduction) -> Option<u64> {
    let tiles = ran.extents[reduction.domain as usize].tiles;
    tiles.first_leaf(reduction.first_row)
}

/// Joins the blocks of tiles of a task's reductions, those of each part of the rows on the thread
/// that is likely to have written them.
fn join_blocks(ran: &FusedTask, partials: &mut [Partial], workers: &Workers) {
    let n_threads = workers.count();
    let mut shares: Vec<_> = (0..n_threads).map(|_| Mutex::new(Vec::new())).collect();
    for (reduction, tiles) in tiles_of(ran, partials) {
        let Some(first) = first_leaf(ran, reduction) else {
            continue;
        };
        let blocks = reduce::blocks(first, tiles);
        let n_blocks = blocks.len();
        for (number, block) in blocks.enumerate() {
            let share = &mut shares[number * n_threads / n_blocks];
            let share = share.get_mut().unwrap_or_else(PoisonError::into_inner);
            share.push((reduction.op, reduction.dtype, block));
        }
    }
    workers.run(n_threads, |thread| {
        let mut share = shares[thread]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (op, dtype, block) in &mut *share {
            reduce::join_block(*op, *dtype, block);
        }
    });
}

/// Writes the results of a task's reductions, of forests that cover all tiles; those without are
/// poisoned.
fn write_results<F: Borrow<Forest>>(
    task: &FusedTask,
    frame: &mut Frame,
    shares: impl IntoIterator<Item = Result<F, Error>>,
) -> Result<(), Error> {
    for (reduction, share) in task.reductions.iter().zip(shares) {
        match share {
            Ok(forest) => {
                let partial = forest.borrow().finish(reduction.op, reduction.dtype);
                let value = reduce::result(reduction.op, reduction.dtype, partial);
                write_element(frame.instance(reduction.slot)?, reduction.element, value);
            }
            Err(cause) => {
                frame
                    .poison
                    .insert(reduction.slot, cause.poison(&task.name));
            }
        }
    }
    Ok(())
}

/// Writes an element of a store whose elements are results of reductions.
fn write_element(instance: &Instance, element: usize, value: Value) {
    assert!(element < instance.len(), "every rank holds all results");
    let [low, high] = value.bits();
    let mut bytes = [0u8; 16];
    match value.dtype() {
        DType::ComplexF32 => {
            bytes[..4].copy_from_slice(&(low as u32).to_ne_bytes());
            bytes[4..8].copy_from_slice(&(high as u32).to_ne_bytes());
        }
        dtype if dtype.size() == 1 => bytes[0] = low as u8,
        dtype if dtype.size() == 4 => bytes[..4].copy_from_slice(&(low as u32).to_ne_bytes()),
        _ => {
            bytes[..8].copy_from_slice(&low.to_ne_bytes());
            bytes[8..].copy_from_slice(&high.to_ne_bytes());
        }
    }
    let size = value.dtype().size();
    // SAFETY: the instance holds this element, by the line above, and elements of this type; and
    // the schedule that made it is the only one that knows it.
    unsafe {
        let place = instance.data().add(element * size);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, size);
    }
}
