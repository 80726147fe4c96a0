//! Several exchanges in one message: a rank sends each other rank one, with what all of them bring
//! it.
//!
//! The message holds the items of the first exchange, then those of the next one, and so on. A rank
//! that has nothing to send for one of them says why in place of the message, and then sends what
//! each exchange brings in a message of its own: so the failure of one store is none of the others.

use super::{Exchange, Item, Places, Sent};
use crate::comm::{Comm, Message, apart};
use crate::error::Error;
use crate::memory::reserve::zeros;

/// One of several exchanges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'e> {
    pub(crate) exchange: &'e Exchange,
    pub(crate) item: Item,
}

/// What a message has for one of the exchanges, by its number.
type OfPart<'e> = (usize, Item, &'e Places);

impl<'e> Part<'e> {
    fn sends(self) -> &'e [super::Part] {
        self.exchange.sends()
    }

    fn receives(self) -> &'e [super::Part] {
        self.exchange.receives()
    }
}

/// Messages to, or from, each rank, ascending.
fn messages<'e>(
    parts: &[Part<'e>],
    of: impl Fn(Part<'e>) -> &'e [super::Part],
) -> Vec<(usize, Vec<OfPart<'e>>)> {
    let mut messages: Vec<(usize, Vec<OfPart<'_>>)> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for (rank, places) in of(*part) {
            let place = messages.partition_point(|(known, _)| known < rank);
            if messages.get(place).is_none_or(|(known, _)| known != rank) {
                messages.insert(place, (*rank, Vec::new()));
            }
            messages[place].1.push((number, part.item, places));
        }
    }
    messages
}

/// What this rank sends.
pub(crate) fn sent(parts: &[Part<'_>]) -> Sent {
    let bytes = parts.iter().map(|part| part.exchange.sent(part.item.size));
    Sent {
        messages: messages(parts, Part::sends).len() as u64,
        bytes: bytes.map(|sent| sent.bytes).sum(),
    }
}

/// Sends what other ranks get of the sources of the exchanges, or why there is none.
pub(crate) fn post(comm: &dyn Comm, parts: &[Part<'_>], sources: &[Result<&[u8], Error>]) {
    for (rank, of_rank) in messages(parts, Part::sends) {
        let message = pack(&of_rank, sources).map_or_else(Message::Failed, Message::Data);
        let has_failed = matches!(message, Message::Failed(_));
        comm.send(rank, message);
        if has_failed && of_rank.len() > 1 {
            for part in of_rank {
                let message = pack(&[part], sources);
                comm.send(rank, message.map_or_else(Message::Failed, Message::Data));
            }
        }
    }
}

/// The bytes of a message.
fn pack(of_rank: &[OfPart<'_>], sources: &[Result<&[u8], Error>]) -> Result<Vec<u8>, Error> {
    let len = |(_, item, places): &OfPart<'_>| places.len() * item.size;
    let mut bytes = zeros(of_rank.iter().map(len).sum())?;
    let mut rest = &mut bytes[..];
    for part @ (number, item, places) in of_rank {
        let (run, behind) = rest.split_at_mut(len(part));
        places.take(*item, sources[*number].clone()?, run);
        rest = behind;
    }
    Ok(bytes)
}

/// Waits for what other ranks send. `put` gets the number of an exchange, where the items go, and
/// these, or why they are not there.
pub(crate) fn wait(
    comm: &dyn Comm,
    parts: &[Part<'_>],
    mut put: impl FnMut(usize, &Places, Result<&[u8], Error>),
) {
    for (rank, of_rank) in messages(parts, Part::receives) {
        let all: usize = of_rank
            .iter()
            .map(|(_, item, places)| places.len() * item.size)
            .sum();
        match (comm.receive(rank), &of_rank[..]) {
            (Message::Data(bytes), _) if bytes.len() == all => {
                let mut rest = &bytes[..];
                for (number, item, places) in of_rank {
                    let (run, behind) = rest.split_at(places.len() * item.size);
                    let is_valid = item.is_made_of(run, places.len());
                    put(
                        number,
                        places,
                        is_valid.then_some(run).ok_or_else(|| apart(rank)),
                    );
                    rest = behind;
                }
            }
            (Message::Data(_), _) => {
                for (number, _, places) in of_rank {
                    put(number, places, Err(apart(rank)));
                }
            }
            (Message::Failed(cause), [(number, _, places)]) => put(*number, places, Err(cause)),
            (Message::Failed(_), _) => {
                for (number, item, places) in of_rank {
                    let arrived = comm.receive(rank).data();
                    let arrived = arrived.and_then(|bytes| {
                        let is_valid = item.is_made_of(&bytes, places.len());
                        is_valid.then_some(bytes).ok_or_else(|| apart(rank))
                    });
                    put(number, places, arrived.as_deref().map_err(Clone::clone));
                }
            }
        }
    }
}
