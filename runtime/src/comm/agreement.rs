//! What every rank tells all others: whether it has failed, and small facts.
//!
//! In the step of distance `d` (1, 8, 64, and so on, below the number of ranks) rank `r` sends what
//! it has heard so far to the ranks `r - d`, `r - 2 d`, up to `r - 7 d`, and hears from `r + d` to
//! `r + 7 d`, all modulo the number of ranks. Then it has heard of eight times as many ranks,
//! itself the first of them. So a rank sends and receives logarithmically many messages, in one
//! step where there are up to eight ranks, and no byte comes to it twice (Bruck, Ho, Kipnis, Upfal
//! and Weathersby, 1997).
//!
//! A rank that has failed, or has heard of a failure, takes part all the same. In place of data it
//! sends the number of the lowest rank that it knows to have failed, and, after that, the failure.
//! So between any two ranks there are as many messages as both expect, whichever rank fails.
//! Between two ranks there is one way, which may lead through a third one: where that has left, all
//! ranks fail, but those behind it may name it in place of a lower rank that has failed.
//!
//! A rank whose data are on their way must not fail any more, since some would not hear of it. So
//! it copies them for all receivers before it sends them to the first, and where there is no memory
//! for a copy of a later step, the process ends.

use super::{Comm, Message, apart};
use crate::error::Error;
use crate::memory::reserve::reserve;

/// The first byte of a message that says that all have succeeded, and no more.
const SUCCESS: u8 = 0xa1;
/// The first byte of one with the data of some ranks: their lengths, then their bytes.
const DATA: u8 = 0xa2;
/// The first byte of one with the number of a rank, whose failure is the next message.
const FAILURE: u8 = 0xa3;
/// Bytes of a length, or of the number of a rank.
const WORD: usize = size_of::<u64>();

/// How many times as many ranks one has heard of after a step. Steps wait for each other, which
/// costs more than a few messages, most where ranks share a core.
const RADIX: usize = 8;

/// The failure of the lowest rank that is known to have failed, and its number.
pub(super) type Failure = (usize, Error);

/// The outcome of this rank if all ranks have succeeded, else the failure of the lowest rank that
/// has not.
pub(crate) fn agree<R>(comm: &dyn Comm, mine: Result<R, Error>) -> Result<R, Error> {
    if !comm.has_others() {
        return mine;
    }
    let (mine, mut failure) = match mine {
        Ok(mine) => (Some(mine), None),
        Err(cause) => (None, Some((comm.rank(), cause))),
    };
    let (rank, size) = (comm.rank(), comm.size());
    for distance in distances(size) {
        for away in hops(distance, size) {
            let to = (rank + size - away) % size;
            send(comm, to, failure.as_ref(), || Message::Data(vec![SUCCESS]));
        }
        for away in hops(distance, size) {
            let from = (rank + away) % size;
            match receive(comm, from) {
                Ok(bytes) if bytes == [SUCCESS] => {}
                Ok(_) => lower(&mut failure, (from, apart(from))),
                Err(heard) => lower(&mut failure, heard),
            }
        }
    }
    match (failure, mine) {
        (None, Some(mine)) => Ok(mine),
        (Some((_, cause)), _) => Err(cause),
        (None, None) => unreachable!("a rank that has failed knows of a failure"),
    }
}

/// The data of every rank, in the order of the ranks, or the failure of the lowest rank that has
/// failed.
pub(super) fn all_gather<C: Comm + ?Sized>(
    comm: &C,
    mine: Result<Vec<u8>, Error>,
) -> Result<Vec<Vec<u8>>, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    // Of this rank, the next one, and so on.
    let mut parts = Vec::with_capacity(size);
    let mut failure = None;
    match mine {
        Ok(mine) => parts.push(mine),
        Err(cause) => failure = Some((rank, cause)),
    }
    for distance in distances(size) {
        // In the last step, those that the receiver has not heard of yet.
        let n_new = |away: usize| distance.min(size - away);
        let is_first = distance == 1;
        let mut copies = Vec::new().into_iter();
        if failure.is_none() {
            let copy = |away| packed(&parts[..n_new(away)], is_first);
            match hops(distance, size)
                .map(copy)
                .collect::<Result<Vec<_>, _>>()
            {
                Ok(made) => copies = made.into_iter(),
                Err(cause) => failure = Some((rank, cause)),
            }
        }
        for away in hops(distance, size) {
            let copy = copies.next().unwrap_or_default();
            let to = (rank + size - away) % size;
            send(comm, to, failure.as_ref(), || Message::Data(copy));
        }
        for away in hops(distance, size) {
            let from = (rank + away) % size;
            let arrived = receive(comm, from)
                .and_then(|bytes| unpacked(&bytes, n_new(away)).ok_or_else(|| (from, apart(from))));
            match arrived {
                Ok(arrived) => parts.extend(arrived),
                Err(heard) => lower(&mut failure, heard),
            }
        }
    }
    match failure {
        Some((_, cause)) => Err(cause),
        None => {
            parts.rotate_right(rank);
            Ok(parts)
        }
    }
}

/// The distances of the steps.
fn distances(size: usize) -> impl Iterator<Item = usize> {
    let distances = std::iter::successors(Some(1), |distance| Some(RADIX * distance));
    distances.take_while(move |&distance| distance < size)
}

/// How far away those are that a rank sends to in a step, and behind it those it hears from.
fn hops(distance: usize, size: usize) -> impl Iterator<Item = usize> {
    let hops = (1..RADIX).map(move |hop| hop * distance);
    hops.take_while(move |&away| away < size)
}

/// Keeps the failure of the lower rank.
fn lower(failure: &mut Option<Failure>, heard: Failure) {
    if failure.as_ref().is_none_or(|known| heard.0 < known.0) {
        *failure = Some(heard);
    }
}

/// Sends the failure, or the message that there is without one.
pub(super) fn send<C: Comm + ?Sized>(
    comm: &C,
    to: usize,
    failure: Option<&Failure>,
    message: impl FnOnce() -> Message,
) {
    let Some((rank, cause)) = failure else {
        comm.send(to, message());
        return;
    };
    let mut bytes = vec![FAILURE];
    bytes.extend((*rank as u64).to_ne_bytes());
    comm.send(to, Message::Data(bytes));
    comm.send_failure(to, *rank, cause.clone());
}

/// What a rank sends, or the failure that it has heard of; its own, where it is not there.
pub(super) fn receive<C: Comm + ?Sized>(comm: &C, from: usize) -> Result<Vec<u8>, Failure> {
    let bytes = comm.receive(from).data().map_err(|cause| (from, cause))?;
    let Some((&FAILURE, number)) = bytes.split_first() else {
        return Ok(bytes);
    };
    let Ok(number) = <[u8; WORD]>::try_from(number) else {
        return Ok(bytes);
    };
    let cause = comm.receive(from).data().err();
    Err((
        u64::from_ne_bytes(number) as usize,
        cause.unwrap_or_else(|| apart(from)),
    ))
}

/// The data of some ranks as a message. Without memory the process ends, unless this may fail.
fn packed(parts: &[Vec<u8>], may_fail: bool) -> Result<Vec<u8>, Error> {
    let n_bytes: usize = parts.iter().map(Vec::len).sum();
    let len = 1 + WORD * parts.len() + n_bytes;
    let mut message = match may_fail {
        true => reserve(len)?,
        false => Vec::with_capacity(len),
    };
    message.push(DATA);
    for part in parts {
        message.extend((part.len() as u64).to_ne_bytes());
    }
    parts.iter().for_each(|part| message.extend(part));
    Ok(message)
}

/// The data of this many ranks from a message, if it is one.
fn unpacked(message: &[u8], n_parts: usize) -> Option<Vec<Vec<u8>>> {
    let (&DATA, message) = message.split_first()? else {
        return None;
    };
    let (lens, mut rest) = message.split_at_checked(WORD * n_parts)?;
    let (lens, _) = lens.as_chunks::<WORD>();
    let mut parts = Vec::with_capacity(n_parts);
    for &len in lens {
        let len = usize::try_from(u64::from_ne_bytes(len)).ok()?;
        parts.push(rest.split_off(..len)?.to_vec());
    }
    rest.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{self, forests::tests::of_range, reduce::tests::Counting};
    use crate::error::ErrorKind;
    use std::cell::Cell;

    const SIZES: [usize; 10] = [1, 2, 3, 5, 7, 8, 9, 13, 32, 70];

    /// What each of some ranks returns, and how many messages it has sent. Then all ranks hear of
    /// each other once more, so that no message is left behind.
    fn on_ranks<R: Send>(size: usize, of_rank: impl Fn(&dyn Comm) -> R + Sync) -> Vec<(R, usize)> {
        let of_rank = &of_rank;
        std::thread::scope(|scope| {
            let ranks = comm::connect(size).into_iter().map(|rank| {
                scope.spawn(move || {
                    let sent = Cell::new(0);
                    let rank = Counting { rank, sent };
                    let outcome = (of_rank(&rank), rank.sent.get());
                    let numbers = all_gather(&rank, Ok(vec![rank.rank() as u8])).unwrap();
                    assert!(numbers.into_iter().flatten().eq(0..size as u8));
                    outcome
                })
            });
            let ranks: Vec<_> = ranks.collect();
            let joined = ranks.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|rank| rank.expect("no rank panics")).collect()
        })
    }

    fn refused(rank: usize) -> Error {
        Error::argument("test", "success", rank.to_string())
    }

    /// Another length on each rank, which is also nothing.
    fn data(rank: usize) -> Vec<u8> {
        vec![rank as u8; rank * rank % 5 * 100]
    }

    #[test]
    fn every_rank_hears_of_all_by_logarithmically_many_messages() {
        for size in SIZES {
            let messages = match size {
                0..=8 => size - 1,
                9 => 8,
                13 => 8,
                32 => 10,
                _ => 15,
            };
            let expected: Vec<_> = (0..size).map(data).collect();
            let gathered = on_ranks(size, |comm| comm.all_gather(Ok(data(comm.rank()))));
            for (gathered, sent) in gathered {
                assert_eq!(gathered.unwrap(), expected);
                assert_eq!(sent, messages);
            }
            for (rank, (agreed, sent)) in on_ranks(size, |comm| agree(comm, Ok(comm.rank())))
                .into_iter()
                .enumerate()
            {
                assert_eq!(agreed.unwrap(), rank);
                assert_eq!(sent, messages);
            }
        }
    }

    #[test]
    fn the_failure_of_the_lowest_rank_is_that_of_all() {
        for size in SIZES {
            // One, two neighbours, two that are far apart, all.
            let last = size - 1;
            for failing in [
                vec![0],
                vec![last],
                vec![last / 2, last],
                (0..size).collect(),
            ] {
                let mine = |rank| match failing.contains(&rank) {
                    true => Err(refused(rank)),
                    false => Ok(()),
                };
                let expected = refused(failing[0]);
                for (agreed, _) in on_ranks(size, |comm| agree(comm, mine(comm.rank()))) {
                    assert_eq!(agreed, Err(expected.clone()));
                }
                let of_rank = |comm: &dyn Comm| {
                    let mine = mine(comm.rank()).map(|()| data(comm.rank()));
                    comm.all_gather(mine)
                };
                for (gathered, _) in on_ranks(size, of_rank) {
                    assert_eq!(gathered, Err(expected.clone()));
                }
            }
        }
    }

    /// A rank of a process with some of them: what fails in another process arrives as the failure
    /// of a rank, as it does under MPI.
    #[derive(Debug)]
    struct InProcess<C> {
        rank: C,
        local: usize,
    }

    impl<C: Comm> Comm for InProcess<C> {
        fn rank(&self) -> usize {
            self.rank.rank()
        }

        fn size(&self) -> usize {
            self.rank.size()
        }

        fn send(&self, to: usize, message: Message) {
            self.rank.send(to, message);
        }

        fn send_failure(&self, to: usize, of: usize, cause: Error) {
            let is_here = to / self.local == self.rank() / self.local;
            let told = match is_here || cause.other_rank().is_some() {
                true => cause,
                false => failure_of(of),
            };
            self.rank.send_failure(to, of, told);
        }

        fn receive(&self, from: usize) -> Message {
            self.rank.receive(from)
        }
    }

    fn failure_of(rank: usize) -> Error {
        ErrorKind::Rank {
            rank,
            message: "refused".to_owned(),
            fact: None,
        }
        .into()
    }

    #[test]
    fn all_processes_name_the_rank_that_has_failed() {
        for (size, local) in [(4, 2), (6, 3), (12, 2), (24, 3), (70, 7)] {
            for failing in [0, 1, local, size - 1] {
                std::thread::scope(|scope| {
                    for rank in comm::connect(size) {
                        scope.spawn(move || {
                            let rank = InProcess { rank, local };
                            for found in failures(&rank, failing) {
                                match rank.rank() / local == failing / local {
                                    true if found == refused(failing) => {}
                                    _ => assert_eq!(found, failure_of(failing), "{rank:?}"),
                                }
                            }
                        });
                    }
                });
            }
        }
    }

    /// What a rank hears in place of what all have, where one has failed.
    fn failures(rank: &dyn Comm, failing: usize) -> [Error; 3] {
        let mine = || match rank.rank() == failing {
            true => Err(refused(failing)),
            false => Ok(Vec::new()),
        };
        let words = mine().map(|_| of_range(rank.rank(), rank.rank() + 1, rank.size()));
        [
            agree(rank, mine()).map(drop).unwrap_err(),
            rank.all_gather(mine()).unwrap_err(),
            rank.start_reduce(words, 0).finish(rank).unwrap_err(),
        ]
    }

    #[test]
    fn all_hear_of_a_rank_that_has_left() {
        for size in SIZES.into_iter().skip(1) {
            for gone in [0, size / 2, size - 1] {
                std::thread::scope(|scope| {
                    let mut ranks = comm::connect(size);
                    drop(ranks.remove(gone));
                    for rank in ranks {
                        scope.spawn(move || {
                            for _ in 0..3 {
                                assert_eq!(agree(&rank, Ok(())), Err(comm::left(gone)));
                                let gathered = rank.all_gather(Ok(data(rank.rank())));
                                assert_eq!(gathered, Err(comm::left(gone)));
                            }
                        });
                    }
                });
            }
        }
    }

    #[test]
    fn messages_about_something_else_are_errors() {
        let outcomes = on_ranks(2, |comm| match comm.rank() {
            0 => agree(comm, Ok(())).map(|()| Vec::new()),
            _ => comm.all_gather(Ok(Vec::new())),
        });
        for (rank, (outcome, _)) in outcomes.into_iter().enumerate() {
            assert_eq!(outcome, Err(apart(1 - rank)));
        }
        let parts = [vec![1, 2], Vec::new(), vec![3]];
        let whole = packed(&parts, true).unwrap();
        assert_eq!(packed(&parts, false).unwrap(), whole);
        assert_eq!(unpacked(&whole, 3), Some(parts.to_vec()));
        for len in 0..whole.len() {
            assert_eq!(unpacked(&whole[..len], 3), None);
        }
        assert_eq!(unpacked(&[&whole[..], &[0]].concat(), 3), None);
    }
}
