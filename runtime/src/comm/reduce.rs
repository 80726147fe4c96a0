//! Reductions over all ranks: forests, as words, that are joined in the order of the ranks.
//!
//! What is joined is associative to the bit, so it may travel along any tree that keeps the order.
//! [`along_tree`] is the one for ranks that have only messages: a rank sends and receives
//! logarithmically many, and all have the result in as many steps.

use super::agreement::{self, Failure};
use super::{Comm, Message, apart, forests};
use crate::error::Error;
use std::fmt;

/// A reduction that has begun.
pub(crate) trait Pending: Send + fmt::Debug {
    /// Waits for the joined words of all ranks; or the failure of the lowest rank that has failed.
    fn finish(self: Box<Self>, comm: &dyn Comm) -> Result<Vec<u64>, Error>;
}

/// A reduction of which nothing is on its way before its result is wanted: the words of this rank,
/// as many as on every rank, or why there are none.
#[derive(Debug)]
pub(super) struct Later(pub(super) Result<Vec<u64>, Error>);

impl Pending for Later {
    fn finish(self: Box<Self>, comm: &dyn Comm) -> Result<Vec<u64>, Error> {
        along_tree(comm, self.0)
    }
}

/// The distances of a rank to its children in the tree, those beyond the last rank included:
/// the powers of two below the lowest bit of its number.
fn steps(rank: usize, size: usize) -> impl DoubleEndedIterator<Item = usize> {
    let n_steps = match rank {
        0 => usize::BITS - (size - 1).leading_zeros(),
        _ => rank.trailing_zeros(),
    };
    (0..n_steps).map(|step| 1 << step)
}

/// The children of a rank in the binomial tree whose root is the first rank, ascending: each has
/// the ranks up to the next one below it.
pub(crate) fn children(rank: usize, size: usize) -> impl DoubleEndedIterator<Item = usize> {
    let children = steps(rank, size).map(move |step| rank + step);
    children.filter(move |&child| child < size)
}

/// The parent of a rank that is not the first.
pub(crate) fn parent(rank: usize) -> usize {
    rank & (rank - 1)
}

/// The messages that a rank sends in a reduction: one to each child, and one to its parent.
pub(crate) fn messages(rank: usize, size: usize) -> usize {
    children(rank, size).count() + usize::from(rank != 0)
}

/// Joins along the binomial tree whose root is the first rank, and sends the result back along it.
///
/// A rank takes part also when it has failed, or has heard of a failure; it says whose that is, as
/// where ranks agree ([`agreement`]).
fn along_tree(comm: &dyn Comm, words: Result<Vec<u64>, Error>) -> Result<Vec<u64>, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut joined = words.map_err(|cause| (rank, cause));
    for child in children(rank, size) {
        let later = agreement::receive(comm, child);
        joined = match (joined, later) {
            (Ok(earlier), Ok(bytes)) => {
                let mut later = to_words(&bytes);
                match forests::join(&earlier, &mut later) {
                    true => Ok(later),
                    false => Err((child, apart(child))),
                }
            }
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        };
    }
    if rank != 0 {
        send(comm, parent(rank), &joined);
        joined = agreement::receive(comm, parent(rank)).map(|bytes| to_words(&bytes));
    }
    for child in children(rank, size).rev() {
        send(comm, child, &joined);
    }
    joined.map_err(|(_, cause)| cause)
}

fn send(comm: &dyn Comm, to: usize, joined: &Result<Vec<u64>, Failure>) {
    let (words, failure) = match joined {
        Ok(words) => (&words[..], None),
        Err(failure) => (&[][..], Some(failure)),
    };
    agreement::send(comm, to, failure, || {
        Message::Data(words.iter().flat_map(|word| word.to_ne_bytes()).collect())
    });
}

fn to_words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().copied().map(u64::from_ne_bytes).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::comm;
    use crate::comm::forests::{from_words, tests::of_range};
    use std::cell::Cell;

    /// A rank that counts what it sends: the number of a rank and its failure count as one.
    #[derive(Debug)]
    pub(in crate::comm) struct Counting<C> {
        pub(in crate::comm) rank: C,
        pub(in crate::comm) sent: Cell<usize>,
    }

    impl<C: Comm> Comm for Counting<C> {
        fn rank(&self) -> usize {
            self.rank.rank()
        }

        fn size(&self) -> usize {
            self.rank.size()
        }

        fn send(&self, to: usize, message: Message) {
            self.sent.set(self.sent.get() + 1);
            self.rank.send(to, message);
        }

        fn send_failure(&self, to: usize, of: usize, cause: Error) {
            self.rank.send_failure(to, of, cause);
        }

        fn receive(&self, from: usize) -> Message {
            self.rank.receive(from)
        }
    }

    #[test]
    fn ranks_join_in_their_order_and_all_have_the_result() {
        for size in 1..=9 {
            let tiles = 3 * size;
            let outcomes = on_ranks(size, |rank| Ok(of_range(3 * rank, 3 * rank + 3, tiles)));
            for outcome in outcomes {
                let expected = from_words(&of_range(0, tiles, tiles));
                assert_eq!(from_words(&outcome.unwrap()), expected);
            }
        }
    }

    #[test]
    fn the_failure_of_the_lowest_rank_is_that_of_all() {
        for failed in 0..7 {
            let outcomes = on_ranks(7, |rank| match rank < failed {
                true => Ok(of_range(rank, rank + 1, 7)),
                false => Err(Error::argument("test", "none", rank.to_string())),
            });
            for outcome in outcomes {
                let text = outcome.unwrap_err().to_string();
                assert!(text.ends_with(&format!("found {failed}")), "{text}");
            }
        }
    }

    #[test]
    fn a_rank_has_as_many_neighbours_in_the_tree_as_it_is_deep() {
        for size in 1..200 {
            let depth = usize::BITS - (size - 1usize).leading_zeros();
            let all = (0..size).map(|rank| messages(rank, size));
            assert_eq!(all.clone().sum::<usize>(), 2 * (size - 1));
            assert!(all.max().unwrap() <= depth as usize);
        }
    }

    fn on_ranks(
        size: usize,
        words: impl Fn(usize) -> Result<Vec<u64>, Error> + Sync,
    ) -> Vec<Result<Vec<u64>, Error>> {
        std::thread::scope(|scope| {
            let ranks: Vec<_> = comm::connect(size)
                .into_iter()
                .map(|rank| {
                    let words = words(rank.rank());
                    scope.spawn(move || {
                        let sent = Cell::new(0);
                        let rank = Counting { rank, sent };
                        let outcome = rank.start_reduce(words, 0).finish(&rank);
                        assert_eq!(rank.sent.get(), messages(rank.rank(), size));
                        outcome
                    })
                })
                .collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }
}
