//! Who carries the messages of an exchange.
//!
//! The ranks of a runtime do, for its windows; the runtime does for eager work, and what the
//! function of a host task is given does within that. They differ in when a rank hears of another's
//! failure, and in nothing else.

use crate::comm::{self, Comm, Message};
use crate::error::Error;
use sparsefuse_kernels::DType;

/// Messages between two ranks, which arrive in the order in which they were sent: for
/// [`Exchange`](crate::Exchange). [`Runtime`](crate::Runtime) carries them for eager work,
/// [`HostArgs`](crate::HostArgs) within a host task.
pub trait Messages {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Sends bytes to another rank, or why there are none, without waiting for them to arrive.
    ///
    /// # Errors
    ///
    /// If there is no such rank.
    fn send_bytes(&self, to: usize, bytes: Result<Vec<u8>, Error>) -> Result<(), Error>;

    /// Waits for the next bytes of another rank.
    ///
    /// # Errors
    ///
    /// If that has left or failed, or there is no such rank.
    fn receive_bytes(&self, from: usize) -> Result<Vec<u8>, Error>;

    /// Begins an exchange of such elements in which all ranks take part.
    ///
    /// # Errors
    ///
    /// If ranks have run different programs, where that is checked.
    fn begin(&self, elements: DType) -> Result<(), Error> {
        let _ = elements;
        Ok(())
    }

    /// The outcome of this rank, or the failure of another one, where that has to be known before
    /// the next message. A host task hears of a failure where it waits, and at its end.
    ///
    /// # Errors
    ///
    /// If a rank has failed.
    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error>;

    /// Whether the other ranks are there: not in a plan, which receives nothing.
    fn has_others(&self) -> bool {
        true
    }
}

impl Messages for dyn Comm + '_ {
    fn rank(&self) -> usize {
        Comm::rank(self)
    }

    fn ranks(&self) -> usize {
        self.size()
    }

    fn send_bytes(&self, to: usize, bytes: Result<Vec<u8>, Error>) -> Result<(), Error> {
        self.send(to, bytes.map_or_else(Message::Failed, Message::Data));
        Ok(())
    }

    fn receive_bytes(&self, from: usize) -> Result<Vec<u8>, Error> {
        self.receive(from).data()
    }

    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        comm::agree(self, mine)
    }

    fn has_others(&self) -> bool {
        Comm::has_others(self)
    }
}
