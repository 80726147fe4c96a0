//! Groups of ranks, some of each process of the job, and what a rank does to reach the others.

use super::collective::Collective;
use super::failure;
use super::inbox::Pair;
use super::job::{Job, MOST_RANKS, complain, job, lock};
use super::tag::{self, Kind, MOST_LOCAL, Tag};
use crate::comm::exchange::{Exchange, Item};
use crate::comm::ghosts::{Links, Mailed};
use crate::comm::reduce::{Later, Pending};
use crate::comm::{Comm, Message, left};
use crate::error::Error;
use crate::memory::pool::Memory;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Groups with a communicator of their own: the first ones. MPI has a limit, which is beyond what
/// programs make, but not tests.
const MOST_COMMUNICATORS: u32 = 256;
/// The status of a job whose messages cannot be sent.
const FAILED: i32 = 1;

/// A new group of ranks, `local` of each process: those of this process. `None` without a
/// launcher. Every process must ask, with the same number.
pub(crate) fn connect(local: usize) -> Result<Option<Vec<Box<dyn Comm>>>, Error> {
    let Some(job) = job()? else {
        return Ok(None);
    };
    if local > MOST_LOCAL {
        return Err(Error::argument(
            "ranks",
            format!("at most {MOST_LOCAL} in each process"),
            local.to_string(),
        ));
    }
    let mut inbox = lock(&job.inbox);
    tag::check_group(inbox.next_group(), job.most_tag)?;
    let group = inbox.open(local);
    drop(inbox);
    MOST_RANKS.fetch_max(local, Ordering::Relaxed);
    let mut ranks: Vec<Box<dyn Comm>> = Vec::with_capacity(local);
    for number in 0..local {
        let mut rank = Rank {
            job,
            group,
            number,
            local,
            collective: None,
        };
        if local == 1 && group <= MOST_COMMUNICATORS {
            // MPI waits for all processes to make the communicator, also for one that has ended.
            // Who waits for a message is told of it.
            rank.all_gather(Ok(Vec::new()))?;
            rank.collective = Some(Collective {
                job,
                group,
                communicator: job.world.duplicate()?,
                begun: AtomicU64::new(0),
            });
        }
        ranks.push(Box::new(rank));
    }
    Ok(Some(ranks))
}

/// One of the ranks of a group that are in this process.
#[derive(Debug)]
struct Rank {
    job: &'static Job,
    group: u32,
    /// The number within this process.
    number: usize,
    /// Ranks of each process.
    local: usize,
    /// What ranks that are processes do without messages of their own.
    collective: Option<Collective>,
}

impl Rank {
    /// The process of a rank, and its number within it.
    fn place(&self, rank: usize) -> (usize, u32) {
        (rank / self.local, (rank % self.local) as u32)
    }

    /// Ends the job, since MPI refuses to send: a rank that waits for it would wait forever.
    fn give_up(&self, error: &Error) -> ! {
        complain(&format!("rank {}: {error}", self.rank()));
        self.job.world.abort(FAILED)
    }

    /// Sends a message; a failure is that of rank `of`.
    fn send_of(&self, to: usize, of: usize, message: Message) {
        let (process, to) = self.place(to);
        if process == self.job.process {
            lock(&self.job.inbox).put_local(self.pair_to(to), message);
            return;
        }
        let (kind, bytes) = match message {
            Message::Data(bytes) => (Kind::Data, bytes),
            Message::Failed(failure) => (Kind::Failed, failure::encode(&failure, of)),
        };
        if let Err(error) = self.job.send(process, self.tag(to, kind), bytes) {
            self.give_up(&error);
        }
    }

    /// The way of messages from here to a rank of this process.
    fn pair_to(&self, to: u32) -> Pair {
        Pair {
            group: self.group,
            to,
            from: (self.job.process, self.number as u32),
        }
    }

    fn tag(&self, to: u32, kind: Kind) -> Tag {
        Tag {
            group: self.group,
            from: self.number as u32,
            to,
            kind,
        }
    }
}

impl Comm for Rank {
    fn rank(&self) -> usize {
        self.job.process * self.local + self.number
    }

    fn size(&self) -> usize {
        self.job.processes * self.local
    }

    fn on_machine(&self) -> usize {
        self.job.on_machine * self.local
    }

    fn send(&self, to: usize, message: Message) {
        self.send_of(to, self.rank(), message);
    }

    fn send_failure(&self, to: usize, of: usize, cause: Error) {
        self.send_of(to, of, Message::Failed(cause));
    }

    fn receive(&self, from: usize) -> Message {
        let pair = Pair {
            group: self.group,
            to: self.number as u32,
            from: self.place(from),
        };
        match self.job.receive(pair) {
            Ok(Some(message)) => message,
            Ok(None) => Message::Failed(left(from)),
            Err(error) => Message::Failed(error),
        }
    }

    fn start_reduce(&self, words: Result<Vec<u64>, Error>, len: usize) -> Box<dyn Pending> {
        let Some(collective) = &self.collective else {
            return Box::new(Later(words));
        };
        match collective.start_reduce(self.rank(), words, len) {
            Ok(reducing) => Box::new(reducing),
            Err(error) => self.give_up(&error),
        }
    }

    fn link(
        &self,
        exchange: &Exchange,
        item: Item,
        ghosts: &Arc<Memory>,
    ) -> Result<Box<dyn Links>, Error> {
        let ghosts = Arc::clone(ghosts);
        match &self.collective {
            Some(collective) => Ok(Box::new(collective.link(exchange, item, ghosts)?)),
            None => Ok(Box::new(Mailed { item, ghosts })),
        }
    }
}

impl Drop for Rank {
    /// Tells the others of the group, in case they wait for a message, or for a reduction.
    fn drop(&mut self) {
        let reductions = self.collective.as_ref().map_or(0, Collective::begun);
        for other in (0..self.size()).filter(|&other| other != self.rank()) {
            let (process, to) = self.place(other);
            if process == self.job.process {
                lock(&self.job.inbox).put_left(self.pair_to(to));
            } else if self
                .job
                .send(
                    process,
                    self.tag(to, Kind::Left),
                    reductions.to_le_bytes().to_vec(),
                )
                .is_err()
            {
                // The others are told by the error of their own calls.
                break;
            }
        }
        lock(&self.job.inbox).leave(self.group);
    }
}
