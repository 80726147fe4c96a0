//! What a plan notes of a fused task: see [`crate::plan_rank`].

use crate::comm::exchange::Sent;

/// What a fused task would do on the rank of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedTask {
    /// The names of its tasks.
    pub name: String,
    /// Operations on elements; of a structure, two for each entry.
    pub flops: u64,
    /// Bytes that its kernel reads and writes.
    pub bytes: u64,
    /// Those of them that are read of structures and their entries.
    pub structure_bytes: u64,
    /// What it waits for: ghosts, one message from each neighbour.
    pub ghosts: Vec<Arrival>,
    /// What the rank sends to ranks that need other rows than they hold.
    pub fetches: Sent,
    /// What the rank sends for its reductions over all ranks, along a tree.
    pub reductions: Sent,
}

/// The ghosts that one neighbour sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The rank that sends them.
    pub from: usize,
    /// Their number.
    pub elements: u64,
    /// Their bytes.
    pub bytes: u64,
}
