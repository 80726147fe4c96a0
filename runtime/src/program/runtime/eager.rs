//! Eager tasks: work that makes stores of sizes that it finds, by calling the runtime.
//!
//! A task of the window writes stores whose shapes are known when it is issued, or keeps what it
//! finds until the program asks for it ([`super::deferred`]). How many entries a structure made of
//! two others has is known when it has been made, and the work on it is several exchanges and
//! tasks. So [`Runtime::eager_task`] runs it where it is issued, after all tasks issued before, on
//! every rank. The work takes what this rank holds of the stores, exchanges what it lacks, and
//! makes stores; it may issue tasks of all kinds.
//!
//! The runtime knows the task by its name: ranks that part are told by it, [`Counters`] count it,
//! and the profile has its time and its bytes, those of the tasks within it apart, so that the sums
//! are those of the whole. What the work returns, also a failure, is returned as it is.
//!
//! [`Counters`]: crate::Counters

use super::handle::StoreHandle;
use super::{Inner, Issuing, Runtime, region};
use crate::comm::Comm;
use crate::error::Error;
use crate::observe::lockstep::Call;
use crate::observe::profile::Begun;
use crate::stores::store::Store;
use std::time::Instant;

impl Runtime {
    /// Executes the window, then runs `work`, which reads the given stores, as a task of this name.
    /// Every rank must issue it.
    ///
    /// Reading what another task should have written fails with that task's failure, as everywhere:
    /// that is for `work` to find.
    ///
    /// # Errors
    ///
    /// Those of `work`; if a store is another runtime's; or if ranks have run different programs,
    /// where that is checked.
    pub fn eager_task<R>(
        &self,
        name: &'static str,
        reads: &[&StoreHandle],
        work: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        let begun = self.begin_eager(name, reads)?;
        let outcome = work();
        if let Some(begun) = begun {
            self.end_eager(name, begun);
        }
        outcome
    }

    /// Says that the eager task that is running has read or written so many bytes besides the
    /// stores that it reads and makes, such as those of factors that it keeps.
    pub fn count_moved(&self, bytes: usize) {
        if self.config().profile
            && let Some(profile) = &mut self.inner().engine.profile
        {
            profile.move_eager(bytes as u64);
        }
    }

    fn begin_eager(
        &self,
        name: &'static str,
        reads: &[&StoreHandle],
    ) -> Result<Option<Begun>, Error> {
        self.check_own(name, reads.iter().copied())?;
        let mut inner = self.inner();
        let stores: Vec<&Store> = reads.iter().map(|store| &***store).collect();
        let call = Call::Eager(name, &stores);
        let Inner { issuing, engine } = &mut inner;
        if issuing.window.is_empty() {
            issuing.check(engine, call)?;
        } else {
            self.execute(issuing, engine, call)?;
        }
        issuing.counters.eager += 1;
        issuing.note_eager(name);
        if engine.profile.is_none() {
            return Ok(None);
        }
        let read = reads
            .iter()
            .map(|store| issuing.bytes_of(store, self.rank()));
        let read = read.sum();
        Ok(engine
            .profile
            .as_mut()
            .map(|profile| profile.begin_eager(read)))
    }

    fn end_eager(&self, name: &'static str, begun: Begun) {
        if let Some(profile) = &mut self.inner().engine.profile {
            let region = region::current(self.shared.number);
            profile.end_eager((region.as_deref().unwrap_or_default(), name), begun);
        }
    }
}

impl Issuing {
    /// Remembers the name of a task for `explain`.
    fn note_eager(&mut self, name: &'static str) {
        match self.eager.iter_mut().find(|(other, _)| *other == name) {
            Some((_, times)) => *times += 1,
            None => self.eager.push((name, 1)),
        }
    }

    /// The bytes that a rank holds of a store.
    fn bytes_of(&self, store: &Store, rank: usize) -> u64 {
        let shape = store.shape();
        let rows = store
            .partition()
            .map(|partition| self.cuts.rows(partition, shape, rank));
        let elements = rows.map_or(0, |rows| rows.len() * shape.row_len());
        (elements * store.dtype().size()) as u64
    }
}

impl Inner<'_> {
    /// What an exchange gives; the eager task that is running waits for it.
    pub(super) fn waiting<R>(&mut self, exchange: impl FnOnce(&dyn Comm) -> R) -> R {
        let begin = self.engine.profile.is_some().then(Instant::now);
        let exchanged = exchange(&*self.engine.comm);
        if let (Some(profile), Some(begin)) = (&mut self.engine.profile, begin) {
            profile.wait_eager(begin.elapsed());
        }
        exchanged
    }
}
