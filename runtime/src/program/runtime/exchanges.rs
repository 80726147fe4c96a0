//! What ranks exchange outside of windows: eager tasks need it, and files.
//!
//! Every rank calls these at the same places, as it issues the same tasks. In the profile their
//! time is time that the eager task around them waits.

use super::Runtime;
use crate::comm;
use crate::comm::exchange::Messages;
use crate::error::Error;
use crate::memory::bytes;
use crate::observe::lockstep::Call;
use sparsefuse_kernels::{DType, Element};
use std::path::Path;

impl Runtime {
    /// The outcome of this rank if all ranks have succeeded, else the failure of the lowest rank
    /// that has not: so that none goes on alone. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        if self.ranks() == 1 {
            return mine;
        }
        self.agree_on_failure(mine.as_ref().err().cloned())?;
        mine
    }

    /// As [`Runtime::agree`], without what a rank has that did not fail.
    fn agree_on_failure(&self, failure: Option<Error>) -> Result<(), Error> {
        let mut inner = self.inner();
        inner.check(Call::Agree)?;
        inner.waiting(|comm| comm::agree(comm, failure.map_or(Ok(()), Err)))
    }

    /// Fails, on every rank alike, unless all have found the same of a file, by a few numbers: each
    /// may have its own under this path. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If ranks have found something else, or one of them failed.
    pub fn agree_on_file(&self, path: &Path, found: &[u64]) -> Result<(), Error> {
        let all = self.all_gather(found)?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(()),
            Some(rank) => {
                let found = format!("another on rank {rank}");
                Err(Error::file(path, "the same file on every rank", found))
            }
        }
    }

    /// The given elements of every rank, on every rank.
    ///
    /// # Errors
    ///
    /// If another rank failed.
    pub fn all_gather<T: Element>(&self, mine: &[T]) -> Result<Vec<Vec<T>>, Error> {
        let mut inner = self.inner();
        inner.check(Call::AllGather(T::DTYPE))?;
        let mine = bytes::from_elements(mine);
        let parts = inner.waiting(|comm| comm.all_gather(mine))?;
        received(&parts)
    }

    /// The bytes of every rank, on every rank.
    ///
    /// # Errors
    ///
    /// If another rank failed.
    pub fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let mut inner = self.inner();
        inner.check(Call::AllGather(DType::Bool))?;
        inner.waiting(|comm| comm.all_gather(Ok(mine)))
    }
}

impl Runtime {
    fn check_other(&self, rank: usize) -> Result<(), Error> {
        if rank < self.ranks() && rank != self.rank() {
            return Ok(());
        }
        let expected = format!("another one of {} ranks", self.ranks());
        Err(Error::argument("exchange", expected, rank.to_string()))
    }
}

impl Messages for Runtime {
    fn rank(&self) -> usize {
        self.rank()
    }

    fn ranks(&self) -> usize {
        self.ranks()
    }

    fn send_bytes(&self, to: usize, bytes: Result<Vec<u8>, Error>) -> Result<(), Error> {
        self.check_other(to)?;
        (*self.inner().engine.comm).send_bytes(to, bytes)
    }

    fn receive_bytes(&self, from: usize) -> Result<Vec<u8>, Error> {
        self.check_other(from)?;
        self.inner().waiting(|comm| comm.receive_bytes(from))
    }

    fn begin(&self, elements: DType) -> Result<(), Error> {
        self.inner().check(Call::Exchange(elements))
    }

    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        self.agree(mine)
    }

    fn has_others(&self) -> bool {
        self.inner().engine.comm.has_others()
    }
}

/// The elements that ranks have sent, in the order of the ranks.
fn received<T: Element>(parts: &[Vec<u8>]) -> Result<Vec<Vec<T>>, Error> {
    let mut all = Vec::with_capacity(parts.len());
    for (rank, part) in parts.iter().enumerate() {
        all.push(comm::elements(rank, part)?);
    }
    Ok(all)
}
