//! The end of a task's reductions: partial results of tiles, joined here and over the ranks.
#![expect(unsafe_code, reason = "a result is written to the memory of its store")]

use super::{Frame, Running};
use crate::comm::forests::{self, Subject};
use crate::error::Error;
use crate::instance::Instance;
use crate::schedule::{FusedTask, Reduction};
use sparsefuse_kernels::reduce::{self, Forest};
use sparsefuse_kernels::{DType, Value};
use std::time::Duration;

impl Reduction {
    /// The tiles of this rank's rows.
    pub(super) fn tiles(&self, task: &FusedTask) -> usize {
        let extent = task.extents[self.domain as usize];
        (extent.len as usize).div_ceil(task.tile_len)
    }
}

impl Running<'_, '_> {
    /// Joins the partial results of the tiles, over all ranks where each has its own rows, and
    /// writes the results; all reductions of a task travel in one message.
    pub(super) fn finish_reductions(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        if self.task.reductions.is_empty() {
            return outcome;
        }
        let outcome = outcome.map(|()| self.plant());
        let reductions = &self.task.reductions;
        let is_partial = reductions.iter().any(|reduction| reduction.is_partial);
        let joined = if is_partial {
            Some(self.join_ranks(outcome)?)
        } else {
            outcome?;
            None
        };
        let forests = joined.as_ref().unwrap_or(&self.frame.forests);
        for (reduction, forest) in reductions.iter().zip(forests) {
            let partial = forest.finish(reduction.op, reduction.dtype);
            let value = reduce::result(reduction.op, reduction.dtype, partial);
            write_scalar(self.frame.instance(reduction.slot)?, value);
        }
        Ok(())
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

    /// The forests of all ranks, joined: this one's are in the frame, unless something failed.
    fn join_ranks(&mut self, outcome: Result<(), Error>) -> Result<Vec<Forest>, Error> {
        let reductions = self.task.reductions.iter();
        let subjects = reductions.map(|reduction| Subject {
            op: reduction.op,
            dtype: reduction.dtype,
            most_trees: reduction.most_trees,
        });
        let len = forests::len(subjects.clone());
        let words = outcome.map(|()| forests::to_words(subjects.zip(&self.frame.forests)));
        self.context.counters.reductions += 1;
        let comm = self.context.comm;
        let begin = self.now();
        let joined = comm.start_reduce(words, len).finish(comm);
        self.travel.waited += begin.map_or(Duration::ZERO, |begin| begin.elapsed());
        Ok(forests::from_words(&joined?))
    }
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
