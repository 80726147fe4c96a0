//! The end of a task's reductions: partial results of tiles, joined here and over the ranks.
#![expect(unsafe_code, reason = "a result is written to the memory of its store")]

use super::{Frame, Running};
use crate::comm;
use crate::error::Error;
use crate::instance::Instance;
use crate::schedule::{FusedTask, Reduction};
use sparsefuse_kernels::reduce::{self, Forest, Partial, Tree};
use sparsefuse_kernels::{DType, Value};

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
        let mine = &self.frame.forests;
        let n_reductions = self.task.reductions.len();
        let message = outcome.map(|()| {
            mine[..n_reductions]
                .iter()
                .flat_map(to_bytes)
                .collect::<Vec<u8>>()
        });
        let others = (self.context.comm.size() - 1) as u64;
        self.context.counters.messages += others;
        self.context.counters.bytes_sent += message
            .as_ref()
            .map_or(0, |bytes| bytes.len() as u64 * others);
        let gathered = comm::all_gather(self.context.comm, message)?;
        Ok(join(self.task, &gathered))
    }
}

/// Joins the forests of all ranks, rank by rank.
fn join(task: &FusedTask, gathered: &[Vec<u8>]) -> Vec<Forest> {
    let mut joined = vec![Forest::default(); task.reductions.len()];
    for bytes in gathered {
        let mut words = bytes.chunks_exact(8).map(|word| {
            u64::from_le_bytes(
                word.try_into()
                    .expect("chunks of eight bytes are eight bytes"),
            )
        });
        for (reduction, forest) in task.reductions.iter().zip(&mut joined) {
            let next = from_words(&mut words);
            forest.join(reduction.op, reduction.dtype, &next);
        }
    }
    joined
}

/// A forest as bytes: the number of trees, then five words for each.
fn to_bytes(forest: &Forest) -> Vec<u8> {
    let mut words = vec![forest.trees().len() as u64];
    for tree in forest.trees() {
        let Partial { bits, index } = tree.value;
        words.extend([u64::from(tree.level), tree.node, bits[0], bits[1], index]);
    }
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn from_words(words: &mut impl Iterator<Item = u64>) -> Forest {
    let mut next = || words.next().expect("a rank sends whole forests");
    let count = next();
    let trees = (0..count).map(|_| {
        let (level, node) = (next() as u32, next());
        let (low, high, index) = (next(), next(), next());
        Tree {
            level,
            node,
            value: Partial {
                bits: [low, high],
                index,
            },
        }
    });
    Forest::from_trees(trees.collect())
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
