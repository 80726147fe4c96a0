//! Exchanges that are made by asking: a rank alone knows which items it needs, or has for others.
//!
//! Each rank sorts its items by their owners and tells those the places of the items, counted from
//! the owner's first one, in one message to each rank. [`gather`]: what a rank is asked for it
//! sends. [`scatter`]: what a rank announces it sends, and what is announced to it arrives, in the
//! order of the ranks. A list that does not fit what this rank owns is an error, and never an
//! access out of bounds.

use super::{Exchange, Messages, Places};
use crate::comm::apart;
use crate::error::Error;
use crate::memory::reserve::{reserve, try_collect, zeros};

/// The exchange that brings the items of these indices, which ascend strictly, where rank `r` owns
/// those between the cuts `r` and `r + 1`; or why there are no indices. Every rank takes part; one
/// that is asked for what it does not own fails alone, so the ranks have to agree afterwards.
pub(crate) fn gather(
    messages: &(impl Messages + ?Sized),
    cuts: &[usize],
    needed: Result<&[u32], Error>,
) -> Result<Exchange, Error> {
    let checked = needed.and_then(|needed| {
        check_ascending(needed)?;
        Ok(needed)
    });
    let (items, lists) = sorted(messages, Some(cuts), checked)?;
    items.asked(cuts, lists)
}

/// The exchange of items where every rank holds all: none is sent.
pub(crate) fn pick(needed: &[u32]) -> Result<Exchange, Error> {
    check_ascending(needed)?;
    let own = Places::of_list(try_collect(needed.iter().copied())?);
    let own = (own, Places::Run(0..needed.len()));
    Ok(Exchange::new(Vec::new(), Some(own), Vec::new()))
}

/// The exchange that brings each item of this rank to the owner of its index, where rank `r` owns
/// those between the cuts `r` and `r + 1`, or to every rank without cuts; and the indices of the
/// items that arrive here: those of the first rank first, of each in its order. As [`gather`]
/// otherwise.
pub(crate) fn scatter(
    messages: &(impl Messages + ?Sized),
    cuts: Option<&[usize]>,
    indices: Result<&[u32], Error>,
) -> Result<(Exchange, Vec<u32>), Error> {
    let (items, lists) = sorted(messages, cuts, indices)?;
    items.announced(cuts, lists)
}

/// The items of this rank by their owners, and the lists that other ranks have sent.
fn sorted(
    messages: &(impl Messages + ?Sized),
    cuts: Option<&[usize]>,
    indices: Result<&[u32], Error>,
) -> Result<(ByOwner, Vec<Vec<u8>>), Error> {
    let place = (messages.rank(), messages.ranks());
    let sorted = indices.and_then(|indices| ByOwner::new(place, cuts, indices));
    let (items, lists) = match sorted {
        Ok((items, lists)) => (Ok(items), Ok(lists)),
        Err(cause) => (Err(cause.clone()), Err(cause)),
    };
    let lists = swap(messages, lists)?;
    Ok((items?, lists))
}

/// Sends each other rank its list, or why there are none, and gives what those have sent here; in a
/// plan nothing.
fn swap(
    messages: &(impl Messages + ?Sized),
    mut lists: Result<Vec<Vec<u8>>, Error>,
) -> Result<Vec<Vec<u8>>, Error> {
    let others = || (0..messages.ranks()).filter(|&other| other != messages.rank());
    for to in others() {
        let list = lists.as_mut().map(|lists| std::mem::take(&mut lists[to]));
        messages.send_bytes(to, list.map_err(|cause| cause.clone()))?;
    }
    // All lists are received, whatever is in them.
    for from in others().filter(|_| messages.has_others()) {
        match (messages.receive_bytes(from), &mut lists) {
            (Ok(list), Ok(lists)) => lists[from] = list,
            (Ok(_), Err(_)) => {}
            (Err(cause), _) => lists = lists.and(Err(cause)),
        }
    }
    lists
}

/// Items of this rank by the ranks that own their indices.
pub(super) struct ByOwner {
    rank: usize,
    n_items: usize,
    /// Which of the items each rank owns.
    items: Vec<Places>,
    /// Where those are that this rank owns itself.
    own: Vec<u32>,
}

impl ByOwner {
    /// The items, and the lists for other ranks: the places of their items.
    pub(super) fn new(
        (rank, ranks): (usize, usize),
        cuts: Option<&[usize]>,
        indices: &[u32],
    ) -> Result<(Self, Vec<Vec<u8>>), Error> {
        let n_items = indices.len();
        let len = cuts.map_or(usize::MAX, |cuts| cuts[ranks]);
        if let Some(index) = indices.iter().find(|&&index| index as usize >= len) {
            let expected = format!("indices below {len}");
            return Err(Error::argument("exchange", expected, index.to_string()));
        }
        if n_items > u32::MAX as usize {
            let expected = format!("at most {} items of a rank", u32::MAX);
            return Err(Error::argument("exchange", expected, n_items.to_string()));
        }
        let mut items = Vec::with_capacity(ranks);
        match cuts {
            None => items.resize(ranks, Places::Run(0..n_items)),
            Some(cuts) => {
                let owner = |index: u32| cuts[1..].partition_point(|&end| end <= index as usize);
                let mut counts = vec![0; ranks];
                indices.iter().for_each(|&index| counts[owner(index)] += 1);
                let lists = counts.iter().map(|&count| reserve(count));
                let mut lists = lists.collect::<Result<Vec<Vec<u32>>, Error>>()?;
                for (number, &index) in (0..).zip(indices) {
                    lists[owner(index)].push(number);
                }
                items.extend(lists.into_iter().map(Places::of_list));
            }
        }
        let mut lists = Vec::with_capacity(ranks);
        let mut own = Vec::new();
        for (owner, items) in items.iter().enumerate() {
            let first = cuts.map_or(0, |cuts| cuts[owner] as u32);
            let mut places = reserve(items.len())?;
            items.for_each_run(|at, _, len| {
                places.extend(indices[at..at + len].iter().map(|index| index - first));
            });
            lists.push(to_bytes(if owner == rank { &[] } else { &places })?);
            if owner == rank {
                own = places;
            }
        }
        let by_owner = Self {
            rank,
            n_items,
            items,
            own,
        };
        Ok((by_owner, lists))
    }

    /// The exchange that brings the items, from what each other rank has asked for.
    pub(super) fn asked(self, cuts: &[usize], lists: Vec<Vec<u8>>) -> Result<Exchange, Error> {
        let own_len = cuts[self.rank + 1] - cuts[self.rank];
        let mut sends = Vec::new();
        for (other, list) in lists.into_iter().enumerate() {
            let places = from_bytes(other, &list, own_len)?;
            if check_ascending(&places).is_err() {
                return Err(apart(other));
            }
            sends.push((other, Places::of_list(places)));
        }
        let mut items = self.items;
        let here = std::mem::replace(&mut items[self.rank], Places::Run(0..0));
        let own = Some((Places::of_list(self.own), here));
        let mut exchange = Exchange::new(sends, own, items.into_iter().enumerate().collect());
        exchange.source.1 = Some(own_len);
        Ok(exchange)
    }

    /// The exchange that takes the items to their owners, and the indices of what arrives, from
    /// what each other rank has announced.
    pub(super) fn announced(
        mut self,
        cuts: Option<&[usize]>,
        lists: Vec<Vec<u8>>,
    ) -> Result<(Exchange, Vec<u32>), Error> {
        let (first, own_len) = match cuts {
            None => (0, usize::MAX),
            Some(cuts) => (cuts[self.rank], cuts[self.rank + 1] - cuts[self.rank]),
        };
        let arriving = lists.iter().map(|list| list.len() / size_of::<u32>());
        let mut indices = reserve(arriving.sum::<usize>() + self.own.len())?;
        let (mut receives, mut own) = (Vec::new(), None);
        for (other, list) in lists.into_iter().enumerate() {
            let places = match other == self.rank {
                true => std::mem::take(&mut self.own),
                false => from_bytes(other, &list, own_len)?,
            };
            let run = Places::Run(indices.len()..indices.len() + places.len());
            indices.extend(places.iter().map(|&place| (place as usize + first) as u32));
            if other == self.rank {
                let here = std::mem::replace(&mut self.items[other], Places::Run(0..0));
                own = Some((here, run));
            } else {
                receives.push((other, run));
            }
        }
        let sends = self.items.into_iter().enumerate().collect();
        let mut exchange = Exchange::new(sends, own, receives);
        exchange.source.1 = Some(self.n_items);
        Ok((exchange, indices))
    }
}

/// Refuses cuts that do not say what each of the ranks owns.
pub(crate) fn check_cuts(cuts: &[usize], ranks: usize) -> Result<(), Error> {
    if cuts.len() == ranks + 1 && cuts[0] == 0 && cuts.is_sorted() {
        return Ok(());
    }
    let expected = format!("{} cuts that ascend from 0", ranks + 1);
    Err(Error::argument("exchange", expected, format!("{cuts:?}")))
}

fn check_ascending(indices: &[u32]) -> Result<(), Error> {
    let Some(pair) = indices.windows(2).find(|pair| pair[0] >= pair[1]) else {
        return Ok(());
    };
    let found = format!("{} after {}", pair[1], pair[0]);
    let expected = "indices that ascend strictly";
    Err(Error::argument("exchange", expected, found))
}

fn to_bytes(places: &[u32]) -> Result<Vec<u8>, Error> {
    let mut bytes = zeros(size_of_val(places))?;
    let (words, _) = bytes.as_chunks_mut();
    for (word, place) in words.iter_mut().zip(places) {
        *word = place.to_le_bytes();
    }
    Ok(bytes)
}

/// The places below `len` that a rank has sent.
fn from_bytes(from: usize, bytes: &[u8], len: usize) -> Result<Vec<u32>, Error> {
    let (words, rest) = bytes.as_chunks();
    let places = || words.iter().map(|&word| u32::from_le_bytes(word));
    if !rest.is_empty() || places().any(|place| place as usize >= len) {
        return Err(apart(from));
    }
    try_collect(places())
}
