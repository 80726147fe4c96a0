//! What has arrived and has not been asked for yet, sorted by receiver and sender.
//!
//! In: messages with their tags, in the order in which MPI delivers them, which for two processes
//! is that in which they were sent. Out: for each pair of ranks its messages in the same order;
//! that a sender has left comes after all that it has sent. Messages of groups that this process
//! has not made yet are kept; those of groups that have ended here are dropped.

use super::failure::decode;
use super::tag::{Kind, NO_GROUP, Tag};
use crate::comm::Message;
use crate::error::Error;
use crate::memory::reserve::reserve;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Two ranks: one of this process that receives, one of any process that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) group: u32,
    /// The rank within this process.
    pub(super) to: u32,
    /// The sending process, and the rank within it.
    pub(super) from: (usize, u32),
}

/// The messages from one rank to another.
#[derive(Debug, Default)]
struct Queue {
    arrived: VecDeque<Message>,
    /// The pieces so far of a message that is not complete.
    pieces: Vec<Vec<u8>>,
    /// Whether nothing more will come.
    has_left: bool,
    /// How many reductions of the group a sender that has left took part in, if it said so.
    reductions: Option<u64>,
}

/// What has arrived.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    queues: BTreeMap<Pair, Queue>,
    /// Groups that have ranks here, and how many.
    living: BTreeMap<u32, usize>,
    /// Groups made so far; their numbers begin at 1.
    groups: u32,
    /// Processes that have left the job.
    gone: BTreeSet<usize>,
}

/// What there is to take.
#[derive(Debug)]
pub(super) enum Taken {
    /// The next message.
    Message(Message),
    /// Nothing yet.
    Nothing,
    /// Nothing more: the sender has left.
    Left,
}

impl Inbox {
    /// The number that [`Inbox::open`] will give.
    pub(super) fn next_group(&self) -> u32 {
        self.groups + 1
    }

    /// A new group with `local` ranks in this process.
    pub(super) fn open(&mut self, local: usize) -> u32 {
        self.groups += 1;
        self.living.insert(self.groups, local);
        self.groups
    }

    /// One rank of this process has left the group; after the last one, no rank asks for what
    /// arrives.
    pub(super) fn leave(&mut self, group: u32) {
        let Some(local) = self.living.get_mut(&group) else {
            return;
        };
        *local -= 1;
        if *local == 0 {
            self.living.remove(&group);
            self.queues.retain(|pair, _| pair.group != group);
        }
    }

    /// Sorts a message of a process.
    pub(super) fn put(&mut self, process: usize, tag: Tag, bytes: Vec<u8>) {
        if tag.group == NO_GROUP {
            self.gone.insert(process);
            return;
        }
        let is_early = tag.group > self.groups;
        if !is_early && !self.living.contains_key(&tag.group) {
            return;
        }
        let queue = self.queue(Pair {
            group: tag.group,
            to: tag.to,
            from: (process, tag.from),
        });
        match tag.kind {
            Kind::Data if queue.pieces.is_empty() => {
                queue.arrived.push_back(Message::Data(bytes));
            }
            Kind::Data => {
                queue.pieces.push(bytes);
                let whole = joined(std::mem::take(&mut queue.pieces));
                let message = whole.map_or_else(Message::Failed, Message::Data);
                queue.arrived.push_back(message);
            }
            Kind::Piece => queue.pieces.push(bytes),
            Kind::Failed => queue.arrived.push_back(Message::Failed(decode(&bytes))),
            Kind::Left => {
                queue.has_left = true;
                let count = bytes.first_chunk().map(|&count| u64::from_le_bytes(count));
                queue.reductions = count.or(queue.reductions);
            }
        }
    }

    /// Sorts a message between two ranks of this process.
    pub(super) fn put_local(&mut self, pair: Pair, message: Message) {
        if self.living.contains_key(&pair.group) {
            self.queue(pair).arrived.push_back(message);
        }
    }

    /// A rank of this process has left, as another one of it will see.
    pub(super) fn put_left(&mut self, pair: Pair) {
        if self.living.contains_key(&pair.group) {
            self.queue(pair).has_left = true;
        }
    }

    fn queue(&mut self, pair: Pair) -> &mut Queue {
        self.queues.entry(pair).or_default()
    }

    /// The next message from one rank to another.
    pub(super) fn take(&mut self, pair: Pair) -> Taken {
        let has_gone = self.gone.contains(&pair.from.0);
        let queue = self.queue(pair);
        match queue.arrived.pop_front() {
            Some(message) => Taken::Message(message),
            None if queue.has_left || has_gone => Taken::Left,
            None => Taken::Nothing,
        }
    }

    /// Whether the only rank that a process has in a group has left, or the process.
    pub(super) fn has_left(&self, group: u32, process: usize) -> bool {
        let queue = self.queue_of(group, process);
        self.gone.contains(&process) || queue.is_some_and(|queue| queue.has_left)
    }

    /// How many reductions that rank took part in before it left, if it has and said so.
    pub(super) fn reductions_of(&self, group: u32, process: usize) -> Option<u64> {
        self.queue_of(group, process)?.reductions
    }

    fn queue_of(&self, group: u32, process: usize) -> Option<&Queue> {
        self.queues.get(&Pair {
            group,
            to: 0,
            from: (process, 0),
        })
    }

    /// How many processes have left the job.
    pub(super) fn gone(&self) -> usize {
        self.gone.len()
    }
}

/// A message from its pieces, each of which is dropped when it has been copied.
fn joined(pieces: Vec<Vec<u8>>) -> Result<Vec<u8>, Error> {
    let mut whole = reserve(pieces.iter().map(Vec::len).sum())?;
    for piece in pieces {
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Pair = Pair {
        group: 1,
        to: 0,
        from: (3, 1),
    };

    fn tag(kind: Kind) -> Tag {
        Tag {
            group: PAIR.group,
            from: PAIR.from.1,
            to: PAIR.to,
            kind,
        }
    }

    fn data(taken: Taken) -> Vec<u8> {
        match taken {
            Taken::Message(Message::Data(bytes)) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pieces_become_one_message() {
        let mut inbox = Inbox::default();
        inbox.open(1);
        inbox.put(3, tag(Kind::Piece), vec![1, 2]);
        inbox.put(3, tag(Kind::Piece), vec![3]);
        assert!(matches!(inbox.take(PAIR), Taken::Nothing));
        inbox.put(3, tag(Kind::Data), vec![4]);
        inbox.put(3, tag(Kind::Data), vec![]);
        assert_eq!(data(inbox.take(PAIR)), [1, 2, 3, 4]);
        assert!(data(inbox.take(PAIR)).is_empty());
        assert!(matches!(inbox.take(PAIR), Taken::Nothing));
    }

    #[test]
    fn messages_wait_for_their_group_and_end_with_it() {
        let mut inbox = Inbox::default();
        inbox.put(3, tag(Kind::Data), vec![1]);
        assert_eq!(inbox.open(2), PAIR.group);
        assert_eq!(data(inbox.take(PAIR)), [1]);
        inbox.put(3, tag(Kind::Data), vec![2]);
        inbox.leave(PAIR.group);
        assert_eq!(data(inbox.take(PAIR)), [2]);
        inbox.leave(PAIR.group);
        inbox.put(3, tag(Kind::Data), vec![3]);
        assert!(matches!(inbox.take(PAIR), Taken::Nothing));
    }

    #[test]
    fn ranks_of_one_process_reach_each_other() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.next_group(), inbox.open(2));
        let (here, there) = (PAIR, Pair { to: 1, ..PAIR });
        inbox.put_local(here, Message::Data(vec![1]));
        inbox.put_local(there, Message::Data(vec![2]));
        inbox.put_left(there);
        assert_eq!(data(inbox.take(there)), [2]);
        assert!(matches!(inbox.take(there), Taken::Left));
        assert_eq!(data(inbox.take(here)), [1]);
        assert!(matches!(inbox.take(here), Taken::Nothing));
    }

    #[test]
    fn who_has_left_is_heard_to_the_end() {
        let mut inbox = Inbox::default();
        inbox.open(1);
        inbox.put(3, tag(Kind::Data), vec![1]);
        inbox.put(3, tag(Kind::Left), vec![]);
        assert_eq!(data(inbox.take(PAIR)), [1]);
        assert!(matches!(inbox.take(PAIR), Taken::Left));

        let of_process = Tag {
            group: NO_GROUP,
            from: 0,
            to: 0,
            kind: Kind::Left,
        };
        let other = Pair {
            from: (4, 0),
            ..PAIR
        };
        assert!(matches!(inbox.take(other), Taken::Nothing));
        assert!(!inbox.has_left(1, 4));
        assert_eq!(inbox.reductions_of(1, 3), None);
        inbox.put(4, of_process, vec![]);
        assert!(inbox.has_left(1, 4));
        assert!(matches!(inbox.take(other), Taken::Left));
        assert_eq!(inbox.gone(), 1);
    }

    #[test]
    fn who_leaves_says_what_it_took_part_in() {
        let mut inbox = Inbox::default();
        inbox.open(1);
        let tag = Tag {
            from: 0,
            ..tag(Kind::Left)
        };
        inbox.put(3, tag, 7u64.to_le_bytes().to_vec());
        inbox.put(3, tag, vec![]);
        assert_eq!(inbox.reductions_of(1, 3), Some(7));
        assert!(inbox.has_left(1, 3) && !inbox.has_left(1, 2));
    }
}
