//! What a group of ranks, one of each process, does without messages of its own: reductions that
//! MPI carries, and exchanges whose requests are made once.
//!
//! They travel on a communicator of the group's own, so the inbox never sees them. While it waits
//! for one, a rank looks into the inbox all the same: a rank that has left will not take part.

use super::calls::Communicator;
use super::inbox::Inbox;
use super::job::{Awaited, Job};
use super::requests::{AllReduce, Channels};
use super::tag::{Kind, Tag};
use crate::comm::exchange::{Exchange, Item, Places};
use crate::comm::ghosts::Links;
use crate::comm::reduce::Pending;
use crate::comm::{Comm, Message};
use crate::error::Error;
use crate::memory::pool::Memory;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The communicator of a group.
#[derive(Debug)]
pub(super) struct Collective {
    pub(super) job: &'static Job,
    pub(super) group: u32,
    pub(super) communicator: Communicator,
    /// How many reductions have begun here.
    pub(super) begun: AtomicU64,
}

/// A reduction on its way.
#[derive(Debug)]
pub(super) struct Reducing {
    job: &'static Job,
    group: u32,
    travelling: AllReduce,
    /// How many have begun before.
    number: u64,
    /// Why this rank has nothing to give.
    failure: Option<Error>,
}

impl Collective {
    /// Begins to join the words of all ranks, `len` of each. A word before them says who has none.
    pub(super) fn start_reduce(
        &self,
        rank: usize,
        words: Result<Vec<u64>, Error>,
        len: usize,
    ) -> Result<Reducing, Error> {
        let mut message = Vec::with_capacity(1 + len);
        let failure = match words {
            Ok(words) => {
                message.push(0);
                message.extend(words);
                None
            }
            Err(cause) => {
                message.push(1 + rank as u64);
                message.resize(1 + len, 0);
                Some(cause)
            }
        };
        let travelling = self.communicator.start_all_reduce(message)?;
        Ok(Reducing {
            job: self.job,
            group: self.group,
            travelling,
            // Relaxed: one thread at a time has the rank.
            number: self.begun.fetch_add(1, Ordering::Relaxed),
            failure,
        })
    }

    /// How many reductions have begun here.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The connections of an exchange of such elements.
    pub(super) fn link(
        &self,
        exchange: &Exchange,
        item: Item,
        ghosts: Arc<Memory>,
    ) -> Result<Persistent, Error> {
        let sends = exchange.sends().iter();
        let sends: Vec<_> = sends.map(|(to, places)| (*to, places.len())).collect();
        Ok(Persistent {
            job: self.job,
            group: self.group,
            item,
            channels: self
                .communicator
                .channels(&sends, &spans(exchange), item.size, ghosts)?,
            failures: Vec::new(),
            broken: None,
        })
    }
}

impl Pending for Reducing {
    /// The lowest rank that has failed tells the others.
    fn finish(self: Box<Self>, comm: &dyn Comm) -> Result<Vec<u64>, Error> {
        let Self {
            job,
            group,
            mut travelling,
            number,
            failure,
        } = *self;
        let others = || (0..comm.size()).filter(|&other| other != comm.rank());
        // One that took part before it left is not waited for: it still carries messages on.
        let awaited = |inbox: &Inbox, other| {
            Ok(match inbox.reductions_of(group, other) {
                Some(count) if number < count => Awaited::No,
                Some(_) => Awaited::Surely,
                None => Awaited::Perhaps,
            })
        };
        job.wait(group, others, awaited, || travelling.is_done())?;
        let mut words = travelling.into_words();
        let failed = words[0].checked_sub(1).map(|rank| rank as usize);
        match (failed, failure) {
            (None, _) => {
                words.remove(0);
                Ok(words)
            }
            (Some(rank), Some(cause)) if rank == comm.rank() => {
                for other in others() {
                    comm.send(other, Message::Failed(cause.clone()));
                }
                Err(cause)
            }
            (Some(rank), _) => comm.receive(rank).data().and(Err(crate::comm::left(rank))),
        }
    }
}

/// The connections of an exchange that runs again and again.
#[derive(Debug)]
pub(super) struct Persistent {
    job: &'static Job,
    group: u32,
    item: Item,
    channels: Channels,
    /// The ranks that could send nothing in the last exchange.
    failures: Vec<usize>,
    /// Why an exchange never ended: there are no more.
    broken: Option<Error>,
}

impl Links for Persistent {
    fn start(
        &mut self,
        comm: &dyn Comm,
        exchange: &Exchange,
        x: Result<&[u8], Error>,
    ) -> Result<(), Error> {
        if let Some(cause) = &self.broken {
            return Err(cause.clone());
        }
        self.channels.start_receives()?;
        let has_failed = x.is_err();
        let x = x.and_then(|x| exchange.check_source(self.item, x));
        match &x {
            Ok(x) => {
                let buffers = self.channels.buffers().iter_mut();
                for (buffer, (_, places)) in buffers.zip(exchange.sends()) {
                    places.take(self.item, x, buffer);
                }
                self.channels.start_sends()
            }
            Err(cause) => {
                // An empty message in place of the expected one says that a failure follows.
                self.channels.send_nothing()?;
                for &to in self.channels.receivers() {
                    comm.send(to, Message::Failed(cause.clone()));
                }
                // The caller knows why there is nothing to send.
                if has_failed { Ok(()) } else { x.map(drop) }
            }
        }
    }

    fn finish(&mut self, comm: &dyn Comm, _exchange: &Exchange) -> Result<(), Error> {
        if let Some(cause) = &self.broken {
            return Err(cause.clone());
        }
        let others = [self.channels.senders(), self.channels.receivers()].concat();
        let Self {
            job,
            group,
            item: _,
            channels,
            failures,
            broken,
        } = self;
        failures.clear();
        let channels = RefCell::new(channels);
        let waited = job.wait(
            *group,
            || others.iter().copied(),
            |_, other| {
                Ok(match channels.borrow().awaits(other)? {
                    true => Awaited::Perhaps,
                    false => Awaited::No,
                })
            },
            || channels.borrow_mut().are_done(failures),
        );
        if let Err(cause) = waited {
            *broken = Some(cause.clone());
            // Those that exchange with this rank would wait for it as long as it is there.
            for &other in &others {
                let tag = Tag {
                    group: *group,
                    from: 0,
                    to: 0,
                    kind: Kind::Left,
                };
                if job.send(other, tag, Vec::new()).is_err() {
                    break;
                }
            }
            return Err(cause);
        }
        let mut outcome = Ok(());
        for &from in &*failures {
            let failure = comm.receive(from).data().and(Err(crate::comm::left(from)));
            outcome = outcome.and(failure);
        }
        outcome
    }
}

/// The ranks that send ghosts, and where those are: what was asked for ascends, so the ghosts of a
/// rank lie side by side.
fn spans(exchange: &Exchange) -> Vec<(usize, Range<usize>)> {
    let spans = exchange
        .receives()
        .iter()
        .map(|(from, places)| match places {
            Places::Run(run) => (*from, run.clone()),
            Places::Listed(_) | Places::Runs(_) | Places::Box { .. } => {
                unreachable!("what is asked for arrives side by side")
            }
        });
    spans.collect()
}
