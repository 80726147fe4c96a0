//! The ranks of a plan: this one, and others that are not there.
//!
//! Nothing is sent or received. What this rank says where all ranks say something is taken for what
//! the others say too; so a rank can be planned alone, as long as nothing is computed from it.

use super::{Comm, Message, left};
use crate::error::Error;

/// One rank of many, planned alone.
#[derive(Debug)]
pub(crate) struct Absent {
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Comm for Absent {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn has_others(&self) -> bool {
        false
    }

    fn send(&self, _to: usize, _message: Message) {
        // There is no rank to receive it.
    }

    fn receive(&self, from: usize) -> Message {
        Message::Failed(left(from))
    }

    fn all_gather(&self, mine: Result<Vec<u8>, Error>) -> Result<Vec<Vec<u8>>, Error> {
        mine.map(|bytes| vec![bytes; self.size])
    }
}
