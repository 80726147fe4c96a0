//! Messages between ranks.
//!
//! [`Comm`] is all that the runtime asks of them: messages between two ranks arrive in the order
//! in which they were sent. Since every rank runs the same schedule, no message needs a tag.
//!
//! A rank whose computation failed sends [`Message::Failed`] in place of data, so that no other
//! rank waits forever.

mod absent;
pub(crate) mod conversation;
pub(crate) mod exchange;
pub(crate) mod forests;
pub(crate) mod halo;
pub(crate) mod reduce;
mod single;
mod threads;

pub(crate) mod mpi;

pub(crate) use self::absent::Absent;
pub(crate) use self::single::Single;
pub(crate) use self::threads::connect;

use self::halo::{Links, Messages, Neighbours};
use self::reduce::{Later, Pending};
use crate::error::{Error, ErrorKind};
use crate::memory::bytes;
use crate::memory::pool::Memory;
use crate::memory::reserve::try_collect;
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

/// The ranks of a program.
pub(crate) trait Comm: Send + fmt::Debug {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Whether the other ranks are not there, and nothing is computed: see [`Absent`].
    fn is_planned(&self) -> bool {
        false
    }

    /// The number of ranks on this machine, which share its last cache.
    fn on_machine(&self) -> usize {
        1
    }

    /// Sends a message to another rank, without waiting for it to arrive.
    fn send(&self, to: usize, message: Message);

    /// Waits for the next message of another rank; a rank that left is a failed message.
    fn receive(&self, from: usize) -> Message;

    /// Begins to join the forests of all ranks (see [`forests`]), `words` being those of this one or
    /// why there are none, `len` on every rank. Every rank begins and finishes the same reductions
    /// in the same order.
    fn start_reduce(&self, words: Result<Vec<u64>, Error>, len: usize) -> Box<dyn Pending> {
        let _ = len;
        Box::new(Later(words))
    }

    /// Connects this rank with its neighbours for an exchange of elements of `size` bytes, which
    /// puts what it receives into `ghosts`.
    fn link(
        &self,
        neighbours: &Neighbours,
        size: usize,
        ghosts: &Arc<Memory>,
    ) -> Result<Box<dyn Links>, Error> {
        let _ = neighbours;
        let ghosts = Arc::clone(ghosts);
        Ok(Box::new(Messages { size, ghosts }))
    }
}

/// Waits for the next data of another rank.
pub(crate) fn receive_data(comm: &dyn Comm, from: usize) -> Result<Vec<u8>, Error> {
    match comm.receive(from) {
        Message::Data(bytes) => Ok(bytes),
        Message::Failed(cause) => Err(cause),
    }
}

/// The data of every rank, on every rank, in the order of the ranks.
///
/// A failure of one rank is the result of all of them: that of the lowest failed rank.
pub(crate) fn all_gather(
    comm: &dyn Comm,
    mine: Result<Vec<u8>, Error>,
) -> Result<Vec<Vec<u8>>, Error> {
    if comm.is_planned() {
        return mine.map(|bytes| vec![bytes; comm.size()]);
    }
    // A copy for each other rank, all of them before one is sent.
    let mut copies = mine.and_then(|bytes| {
        let copy = |_| try_collect(bytes.iter().copied());
        let others = (1..comm.size()).map(copy).collect::<Result<Vec<_>, _>>()?;
        Ok((bytes, others))
    });
    for to in (0..comm.size()).filter(|&to| to != comm.rank()) {
        let message = match &mut copies {
            Ok((_, others)) => Message::Data(others.pop().expect("one for each other rank")),
            Err(cause) => Message::Failed(cause.clone()),
        };
        comm.send(to, message);
    }
    let mut mine = Some(match copies {
        Ok((bytes, _)) => Message::Data(bytes),
        Err(cause) => Message::Failed(cause),
    });
    let message = |from| match mine.take_if(|_| from == comm.rank()) {
        Some(mine) => mine,
        None => comm.receive(from),
    };
    let gathered: Vec<_> = (0..comm.size()).map(message).collect();
    gathered
        .into_iter()
        .map(|message| match message {
            Message::Data(bytes) => Ok(bytes),
            Message::Failed(cause) => Err(cause),
        })
        .collect()
}

/// The outcome of this rank if all ranks have succeeded, else the failure of the lowest rank that
/// has not.
pub(crate) fn agree<R>(comm: &dyn Comm, mine: Result<R, Error>) -> Result<R, Error> {
    if !comm.is_planned() {
        let message = mine.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
        all_gather(comm, message)?;
    }
    mine
}

/// Sends `mine[r]` to each rank `r` and returns what each rank sent here; in a plan, nothing.
pub(crate) fn all_to_all(
    comm: &dyn Comm,
    mine: Result<Vec<Vec<u8>>, Error>,
) -> Result<Vec<Vec<u8>>, Error> {
    if comm.is_planned() {
        return mine.map(|_| vec![Vec::new(); comm.size()]);
    }
    let (mut parts, failure) = match mine {
        Ok(parts) => (parts, None),
        Err(cause) => (vec![Vec::new(); comm.size()], Some(cause)),
    };
    let others: Vec<usize> = (0..comm.size())
        .filter(|&rank| rank != comm.rank())
        .collect();
    for &to in &others {
        comm.send(
            to,
            match &failure {
                Some(cause) => Message::Failed(cause.clone()),
                None => Message::Data(std::mem::take(&mut parts[to])),
            },
        );
    }
    let mut result = match failure {
        Some(cause) => Err(cause),
        None => Ok(()),
    };
    for &from in &others {
        match receive_data(comm, from) {
            Ok(bytes) => parts[from] = bytes,
            Err(cause) => result = result.and(Err(cause)),
        }
    }
    result.map(|()| parts)
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
    }
    .into()
}

/// The failure of a rank that is no longer there.
pub(crate) fn left(rank: usize) -> Error {
    ErrorKind::Rank {
        rank,
        message: "expected a message, but the rank has ended".to_owned(),
    }
    .into()
}
