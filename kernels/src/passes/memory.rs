//! Which arguments may share memory, as dense numbers that index vectors.

use crate::ir::{Arg, ArgId};

/// The memories of a kernel's arguments, numbered from 0 without gaps.
pub(super) struct Memories {
    of: Vec<usize>,
    count: usize,
}

impl Memories {
    pub(super) fn new(args: &[Arg]) -> Self {
        let mut distinct: Vec<u32> = args.iter().map(|arg| arg.memory).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let rank = |arg: &Arg| distinct.partition_point(|&memory| memory < arg.memory);
        Self {
            of: args.iter().map(rank).collect(),
            count: distinct.len(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The memory of an argument.
    pub(super) fn of(&self, arg: ArgId) -> usize {
        self.of[arg as usize]
    }
}
