//! Messages within a host task: what its function sends and receives as it likes.
//!
//! Only the function knows what it sends, so each rank ends its messages to another one with a
//! status: that its function has ended, or its failure. A rank that fails sends its status and
//! nothing more; a rank that waits for it gets that failure. At the end every rank receives the
//! statuses of all others and drops the messages that its function has not received. So all ranks
//! agree on how the task has ended, none waits forever, and the next message is that of the next
//! step.

use crate::comm::{self, Comm, Message};
use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The last byte of a message that is not the status.
const GOES_ON: u8 = 0;
/// The only byte of the status of a rank that has succeeded.
const HAS_ENDED: u8 = 1;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    comm: &'a dyn Comm,
    /// The statuses that have come, by rank.
    statuses: RefCell<Vec<Option<Result<(), Error>>>>,
    waited: Cell<Duration>,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(comm: &'a dyn Comm) -> Self {
        Self {
            comm,
            statuses: RefCell::new(vec![None; comm.size()]),
            waited: Cell::new(Duration::ZERO),
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.comm.rank()
    }

    pub(crate) fn ranks(&self) -> usize {
        self.comm.size()
    }

    /// How long this rank has waited for others.
    pub(crate) fn waited(&self) -> Duration {
        self.waited.get()
    }

    /// Sends bytes to another rank, without waiting for them to arrive.
    pub(crate) fn send(&self, to: usize, mut bytes: Vec<u8>) {
        bytes.push(GOES_ON);
        self.comm.send(to, Message::Data(bytes));
    }

    /// Waits for the next bytes of another rank.
    pub(crate) fn receive(&self, from: usize) -> Result<Vec<u8>, Error> {
        if let Some(bytes) = self.next(from) {
            return Ok(bytes);
        }
        let status = self.statuses.borrow()[from].clone();
        Err(match status {
            Some(Err(cause)) => cause,
            Some(Ok(())) | None => comm::apart(from),
        })
    }

    /// The next message of another rank; none after its status.
    fn next(&self, from: usize) -> Option<Vec<u8>> {
        if self.statuses.borrow()[from].is_some() {
            return None;
        }
        let begin = Instant::now();
        let message = self.comm.receive(from);
        self.waited.set(self.waited.get() + begin.elapsed());
        let status = match message {
            Message::Data(mut bytes) => match (bytes.pop(), bytes.is_empty()) {
                (Some(GOES_ON), _) => return Some(bytes),
                (Some(HAS_ENDED), true) => Ok(()),
                (Some(_) | None, _) => Err(comm::apart(from)),
            },
            Message::Failed(cause) => Err(cause),
        };
        self.statuses.borrow_mut()[from] = Some(status);
        None
    }

    /// Says how the function of this rank has ended, and hears how those of the others have: all
    /// have succeeded, or the failure of the lowest rank that has not.
    pub(crate) fn end(&self, mine: Result<(), Error>) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        for to in (0..ranks).filter(|&to| to != rank) {
            let status = match &mine {
                Ok(()) => Message::Data(vec![HAS_ENDED]),
                Err(cause) => Message::Failed(cause.clone()),
            };
            self.comm.send(to, status);
        }
        for from in (0..ranks).filter(|&from| from != rank) {
            while self.next(from).is_some() {}
        }
        let mut statuses = self.statuses.borrow_mut();
        statuses[rank] = Some(mine);
        statuses.drain(..).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// What each of three ranks makes of a conversation.
    fn outcomes(
        function: impl Fn(&Conversation<'_>) -> Result<(), Error> + Sync,
    ) -> Vec<Result<(), Error>> {
        thread::scope(|scope| {
            let ranks = comm::connect(3).into_iter().map(|comm| {
                let function = &function;
                scope.spawn(move || {
                    let outcome = {
                        let talk = Conversation::new(&comm);
                        talk.end(function(&talk))
                    };
                    // What is said afterwards is what is heard next.
                    let all = comm.all_gather(Ok(vec![comm.rank() as u8]));
                    assert_eq!(all, Ok(vec![vec![0], vec![1], vec![2]]));
                    outcome
                })
            });
            let ranks: Vec<_> = ranks.collect();
            let joined = ranks.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|outcome| outcome.expect("no rank panics"))
                .collect()
        })
    }

    fn refused() -> Error {
        Error::argument("test", "success", "a failure")
    }

    #[test]
    fn a_chain_of_messages_ends_well() {
        let ended = outcomes(|talk| {
            if talk.rank() > 0 {
                assert_eq!(talk.receive(talk.rank() - 1)?, [7]);
            }
            if talk.rank() < 2 {
                talk.send(talk.rank() + 1, vec![7]);
            }
            Ok(())
        });
        assert_eq!(ended, [Ok(()), Ok(()), Ok(())]);
    }

    #[test]
    fn a_failure_ends_the_waiting_of_others_and_drops_what_was_sent() {
        for failing in 0..3 {
            let ended = outcomes(|talk| {
                let others = (0..3).filter(|&other| other != talk.rank());
                others.clone().for_each(|to| talk.send(to, Vec::new()));
                if talk.rank() == failing {
                    return Err(refused());
                }
                for from in others {
                    talk.receive(from)?;
                }
                talk.receive(failing).map(|_| ())
            });
            assert!(ended.iter().all(Result::is_err), "{failing}: {ended:?}");
        }
    }

    #[test]
    fn who_waits_for_a_rank_that_has_ended_fails() {
        let ended = outcomes(|talk| match talk.rank() {
            0 => talk.receive(1).map(|_| ()),
            _ => Ok(()),
        });
        assert_eq!(ended, vec![Err(comm::apart(1)); 3]);
    }
}
