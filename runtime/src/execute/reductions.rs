//! The end of a task's reductions: partial results of tiles, joined here and over the ranks.
#![expect(unsafe_code, reason = "a result is written to the memory of its store")]

use super::{Context, Frame, Running};
use crate::comm::forests::{self, Subject};
use crate::comm::reduce::Pending;
use crate::error::Error;
use crate::instance::Instance;
use crate::schedule::{FusedTask, Reduction, Schedule};
use sparsefuse_kernels::reduce::{self, Forest};
use sparsefuse_kernels::{DType, Value};
use std::time::Instant;

impl Reduction {
    /// The tiles of this rank's rows.
    pub(super) fn tiles(&self, task: &FusedTask) -> usize {
        let extent = task.extents[self.domain as usize];
        (extent.len as usize).div_ceil(task.tile_len)
    }
}

impl FusedTask {
    /// What its message to other ranks is about.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Subject> + Clone {
        self.reductions.iter().map(|reduction| Subject {
            op: reduction.op,
            dtype: reduction.dtype,
            most_trees: reduction.most_trees,
        })
    }
}

/// A reduction over the ranks that has been started.
#[derive(Debug)]
pub(super) struct Awaited {
    /// The task, by its number in the schedule.
    task: usize,
    pending: Box<dyn Pending>,
}

/// Waits for the started reductions with a result for which `is_wanted` holds, and writes them.
///
/// Every rank waits at the same places, since they all have the same schedule.
pub(super) fn finish(
    schedule: &Schedule,
    frame: &mut Frame,
    context: &mut Context<'_>,
    is_wanted: impl Fn(&u32) -> bool,
) {
    let mut number = 0;
    while let Some(Awaited { task, .. }) = frame.awaited.get(number) {
        let task = &schedule.groups[*task];
        let mut results = task.reductions.iter().map(|reduction| reduction.slot);
        if !results.any(|slot| is_wanted(&slot)) {
            number += 1;
            continue;
        }
        let Awaited { pending, .. } = frame.awaited.remove(number);
        let begin = context.profile.is_some().then(Instant::now);
        let outcome = pending
            .finish(context.comm)
            .and_then(|joined| write_results(task, frame, &forests::from_words(&joined)));
        if let (Some(profile), Some(begin)) = (context.profile.as_deref_mut(), begin) {
            profile.wait(&task.name, begin.elapsed());
        }
        if let Err(cause) = outcome {
            frame.fail(task, &cause);
        }
    }
}

impl Running<'_, '_> {
    /// Joins the partial results of the tiles. Where each rank has its own rows, what it has is
    /// sent on its way to the others, all reductions of a task in one message; else the results are
    /// written.
    pub(super) fn reduce(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        let reductions = &self.task.reductions;
        if reductions.is_empty() {
            return outcome;
        }
        let is_partial = reductions.iter().any(|reduction| reduction.is_partial);
        let planted = outcome.map(|()| self.plant());
        if is_partial {
            self.start(planted.clone());
            return planted;
        }
        planted?;
        let forests = std::mem::take(&mut self.frame.forests);
        let outcome = write_results(self.task, self.frame, &forests);
        self.frame.forests = forests;
        outcome
    }

    /// Makes the frame's forests those of this rank's tiles, one for each reduction.
    fn plant(&mut self) {
        let Frame {
            partials, forests, ..
        } = &mut *self.frame;
        let n_reductions = self.task.reductions.len();
        if forests.len() < n_reductions {
            forests.resize_with(n_reductions, Forest::default);
        }
        let mut rest = &mut partials[..];
        for (reduction, forest) in self.task.reductions.iter().zip(forests) {
            let (tiles, later) = rest.split_at_mut(reduction.tiles(self.task));
            let extent = self.task.extents[reduction.domain as usize];
            let first = extent.start / self.task.tile_len as u64;
            forest.set_tiles(reduction.op, reduction.dtype, first, tiles);
            rest = later;
        }
    }

    /// Sends the frame's forests on their way, unless something failed.
    fn start(&mut self, outcome: Result<(), Error>) {
        let subjects = self.task.subjects();
        let len = forests::len(subjects.clone());
        let words = outcome.map(|()| forests::to_words(subjects.zip(&self.frame.forests)));
        self.context.counters.reductions += 1;
        let pending = self.context.comm.start_reduce(words, len);
        self.frame.awaited.push(Awaited {
            task: self.number,
            pending,
        });
    }
}

/// Writes the results of a task's reductions, whose forests cover all tiles.
fn write_results(task: &FusedTask, frame: &Frame, forests: &[Forest]) -> Result<(), Error> {
    for (reduction, forest) in task.reductions.iter().zip(forests) {
        let partial = forest.finish(reduction.op, reduction.dtype);
        let value = reduce::result(reduction.op, reduction.dtype, partial);
        write_scalar(frame.instance(reduction.slot)?, value);
    }
    Ok(())
}

/// Writes the single element of a store of rank 0.
fn write_scalar(instance: &Instance, value: Value) {
    assert_eq!(instance.len(), 1, "a store of rank 0 has one element");
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
    // SAFETY: the instance holds one element of this type, and the schedule that made it is the
    // only one that knows it.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), instance.data(), value.dtype().size());
    }
}
