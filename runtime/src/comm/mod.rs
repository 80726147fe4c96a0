//! Messages between ranks.
//!
//! [`Comm`] is all that the runtime asks of them: messages between two ranks arrive in the order
//! in which they were sent. Since every rank runs the same schedule, no message needs a tag.
//!
//! A rank whose computation failed sends [`Message::Failed`] in place of data, so that no other
//! rank waits forever.

mod absent;
mod agreement;
pub(crate) mod conversation;
pub(crate) mod exchange;
pub(crate) mod forests;
pub(crate) mod ghosts;
pub(crate) mod reduce;
mod single;
mod threads;

pub(crate) mod mpi;

pub(crate) use self::absent::Absent;
pub(crate) use self::agreement::agree;
pub(crate) use self::single::Single;
pub(crate) use self::threads::connect;

use self::exchange::{Exchange, Item};
use self::ghosts::{Links, Mailed};
use self::reduce::{Later, Pending};
use crate::error::{Error, ErrorKind};
use crate::memory::bytes;
use crate::memory::pool::Memory;
use sparsefuse_kernels::{DType, Element};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

thread_local! {
    /// The rank whose program this thread runs.
    static RANK: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The rank whose program this thread runs, if it is known; also of a thread that is about to end.
#[cfg(feature = "mpi")]
pub(crate) fn rank_of_thread() -> Option<usize> {
    RANK.try_with(Cell::get).ok().flatten()
}

/// Says whose program this thread runs from now on, and gives whose it has run before.
pub(crate) fn set_rank_of_thread(rank: Option<usize>) -> Option<usize> {
    RANK.try_with(|of_thread| of_thread.replace(rank))
        .ok()
        .flatten()
}

/// What one rank sends to another.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// Bytes whose length both sides know.
    Data(Vec<u8>),
    /// The sender could not compute what it should have sent.
    Failed(Error),
}

impl Message {
    pub(crate) fn data(self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Data(bytes) => Ok(bytes),
            Self::Failed(cause) => Err(cause),
        }
    }
}

/// The ranks of a program.
pub(crate) trait Comm: Send + fmt::Debug {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// The number of ranks on this machine, which share its last cache.
    fn on_machine(&self) -> usize {
        1
    }

    /// Whether the other ranks are there: not in a plan, which receives nothing.
    fn has_others(&self) -> bool {
        true
    }

    /// Sends a message to another rank, without waiting for it to arrive.
    fn send(&self, to: usize, message: Message);

    /// Sends the failure of rank `of`, of which this one may only have heard: where a message tells
    /// whose it is, that is the one.
    fn send_failure(&self, to: usize, of: usize, cause: Error) {
        let _ = of;
        self.send(to, Message::Failed(cause));
    }

    /// Waits for the next message of another rank; a rank that left is a failed message.
    fn receive(&self, from: usize) -> Message;

    /// Leaves: who waits for this rank is told, and what it asks for from now on fails, also where
    /// something of it outlives its program. Ranks under MPI leave when that is dropped.
    fn leave(&mut self) {}

    /// The data of every rank, on every rank, in the order of the ranks (see [`agreement`]).
    ///
    /// A failure of one rank is the result of all of them: that of the lowest failed rank.
    fn all_gather(&self, mine: Result<Vec<u8>, Error>) -> Result<Vec<Vec<u8>>, Error> {
        agreement::all_gather(self, mine)
    }

    /// Begins to join the forests of all ranks (see [`forests`]), `words` being those of this one
    /// or why there are none, `len` on every rank. Every rank begins and finishes the same
    /// reductions in the same order.
    fn start_reduce(&self, words: Result<Vec<u64>, Error>, len: usize) -> Box<dyn Pending> {
        let _ = len;
        Box::new(Later(words))
    }

    /// Connects this rank with its neighbours for an exchange that puts what it receives into
    /// `ghosts`.
    fn link(
        &self,
        exchange: &Exchange,
        item: Item,
        ghosts: &Arc<Memory>,
    ) -> Result<Box<dyn Links>, Error> {
        let _ = exchange;
        let ghosts = Arc::clone(ghosts);
        Ok(Box::new(Mailed { item, ghosts }))
    }
}

/// The elements that a rank has sent as these bytes.
pub(crate) fn elements<T: Element>(from: usize, sent: &[u8]) -> Result<Vec<T>, Error> {
    // Only two bytes are a bool; those of another type may be any.
    let is_bool = T::DTYPE != DType::Bool || sent.iter().all(|&byte| byte <= 1);
    if !sent.len().is_multiple_of(size_of::<T>()) || !is_bool {
        return Err(apart(from));
    }
    bytes::to_elements(sent)
}

/// The failure of ranks whose messages do not fit: they run different programs.
pub(crate) fn apart(rank: usize) -> Error {
    ErrorKind::Rank {
        rank,
        message: "expected what this rank asks for, found a message about something else; with \
                  `check_ranks` on, the error says where the programs of the ranks differ"
            .to_owned(),
        fact: None,
    }
    .into()
}

/// The failure of a rank that is no longer there.
pub(crate) fn left(rank: usize) -> Error {
    ErrorKind::Rank {
        rank,
        message: "expected a message, but the rank has ended".to_owned(),
        fact: None,
    }
    .into()
}
