//! Who carries messages between ranks: the runtime for eager work, and within a host task what its
//! function is given.
//!
//! Algorithms on the rows of a rank ([`Chain`](super::chain::Chain), [`Ghosts`](super::ghosts::Ghosts))
//! exchange the same in both.

use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, HostArgs, Runtime};

/// See the module's text.
pub trait Messages {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// Sends elements to another rank, without waiting for them to arrive.
    ///
    /// # Errors
    ///
    /// If memory for the message runs out.
    fn send<T: Element>(&self, to: usize, elements: &[T]) -> Result<(), Error>;

    /// Waits for the next elements of another rank.
    ///
    /// # Errors
    ///
    /// If that has left or failed.
    fn receive<T: Element>(&self, from: usize) -> Result<Vec<T>, Error>;

    /// Sends `mine[r]` to each rank `r`, and returns what each rank sent here. A rank that could not
    /// make what it has to send gives its failure, and all fail.
    ///
    /// # Errors
    ///
    /// If a rank has left or failed.
    fn all_to_all<T: Element>(
        &self,
        mine: Result<Vec<Vec<T>>, Error>,
    ) -> Result<Vec<Vec<T>>, Error>;

    /// The outcome of this rank, or the failure of another one, where that has to be known before
    /// the next message: in eager work. A host task hears of a failure where it waits.
    ///
    /// # Errors
    ///
    /// If a rank has failed.
    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error>;
}

impl Messages for Runtime {
    fn rank(&self) -> usize {
        self.rank()
    }

    fn send<T: Element>(&self, to: usize, elements: &[T]) -> Result<(), Error> {
        self.pass(self.rank(), to, elements).map(drop)
    }

    fn receive<T: Element>(&self, from: usize) -> Result<Vec<T>, Error> {
        self.pass(from, self.rank(), &[])
    }

    fn all_to_all<T: Element>(
        &self,
        mine: Result<Vec<Vec<T>>, Error>,
    ) -> Result<Vec<Vec<T>>, Error> {
        self.all_to_all(mine)
    }

    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        self.agree(mine)
    }
}

impl Messages for HostArgs<'_> {
    fn rank(&self) -> usize {
        self.rank()
    }

    fn send<T: Element>(&self, to: usize, elements: &[T]) -> Result<(), Error> {
        self.send(to, elements)
    }

    fn receive<T: Element>(&self, from: usize) -> Result<Vec<T>, Error> {
        self.receive(from)
    }

    fn all_to_all<T: Element>(
        &self,
        mine: Result<Vec<Vec<T>>, Error>,
    ) -> Result<Vec<Vec<T>>, Error> {
        self.all_to_all(&mine?)
    }

    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        mine
    }
}
