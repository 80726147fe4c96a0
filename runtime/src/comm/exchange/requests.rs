//! Exchanges that are made by asking: a rank alone knows which items it needs, or has for others.
//!
//! Each rank tells the owners the places of the items, counted from the owner's first one, in one
//! message to each rank. [`gather`]: what a rank is asked for it sends, so that the items that it
//! needs arrive in the order of their indices. [`scatter`]: what a rank announces it sends, and what
//! is announced to it arrives, in the order of the ranks. A list that does not fit what this rank
//! owns is an error, and never an access out of bounds.

use super::{Exchange, Part, Places};
use crate::comm::{Comm, apart};
use crate::error::Error;
use crate::memory::reserve::{reserve, try_collect, zeros};
use std::ops::Range;

/// Lists of places for each rank, on their way as bytes.
type Lists = Vec<Vec<u8>>;

/// The exchange that brings the items of these indices, which ascend strictly, where rank `r` owns
/// those between the cuts `r` and `r + 1`; or why there are no indices. Every rank takes part; one
/// that is asked for what it does not own fails alone, so the ranks have to agree afterwards.
pub(crate) fn gather(
    comm: &dyn Comm,
    cuts: &[usize],
    needed: Result<&[u32], Error>,
) -> Result<Exchange, Error> {
    let rank = comm.rank();
    let asking = needed.and_then(|needed| Asking::new(rank, cuts, needed));
    let (asking, requests) = match asking {
        Ok((asking, requests)) => (Ok(asking), Ok(requests)),
        Err(cause) => (Err(cause.clone()), Err(cause)),
    };
    let asked = comm.all_to_all(requests)?;
    asking?.answered(cuts, &asked)
}

/// The exchange of items where every rank holds all: none is sent.
pub(crate) fn pick(needed: &[u32]) -> Result<Exchange, Error> {
    check(needed, usize::MAX)?;
    let own = Places::of_list(try_collect(needed.iter().copied())?);
    let own = (own, Places::Run(0..needed.len()));
    Ok(Exchange::new(Vec::new(), Some(own), Vec::new()))
}

/// The exchange that brings each item of this rank to the owner of its index, where rank `r` owns
/// those between the cuts `r` and `r + 1`, or to every rank without cuts; and the indices of the
/// items that arrive here: those of the first rank first, of each in its order. As [`gather`]
/// otherwise.
pub(crate) fn scatter(
    comm: &dyn Comm,
    cuts: Option<&[usize]>,
    indices: Result<&[u32], Error>,
) -> Result<(Exchange, Vec<u32>), Error> {
    let giving = indices.and_then(|indices| Giving::new((comm.rank(), comm.size()), cuts, indices));
    let (giving, announced) = match giving {
        Ok((giving, announced)) => (Ok(giving), Ok(announced)),
        Err(cause) => (Err(cause.clone()), Err(cause)),
    };
    let announced = comm.all_to_all(announced)?;
    giving?.answered(cuts, announced)
}

/// Refuses cuts that do not say what each of the ranks owns.
pub(crate) fn check_cuts(cuts: &[usize], ranks: usize) -> Result<(), Error> {
    if cuts.len() == ranks + 1 && cuts.is_sorted() {
        return Ok(());
    }
    let expected = format!("{} cuts that ascend", ranks + 1);
    Err(Error::argument("exchange", expected, format!("{cuts:?}")))
}

/// What a rank that gathers has asked for.
pub(super) struct Asking {
    rank: usize,
    /// Which of the items come from each rank.
    spans: Vec<Range<usize>>,
    /// Where those that this rank has itself are.
    own: Places,
}

impl Asking {
    /// What is asked of each rank; of this one nothing.
    pub(super) fn new(rank: usize, cuts: &[usize], needed: &[u32]) -> Result<(Self, Lists), Error> {
        check(needed, cuts[cuts.len() - 1])?;
        let number = |cut: usize| needed.partition_point(|&index| (index as usize) < cut);
        let spans: Vec<_> = cuts
            .windows(2)
            .map(|pair| number(pair[0])..number(pair[1]))
            .collect();
        let place = |owner: usize| move |&index: &u32| index - cuts[owner] as u32;
        let own = try_collect(needed[spans[rank].clone()].iter().map(place(rank)))?;
        let mut requests = Vec::with_capacity(spans.len());
        for (owner, span) in spans.iter().enumerate() {
            let span = if owner == rank { 0..0 } else { span.clone() };
            requests.push(to_bytes(needed[span].iter().map(place(owner)))?);
        }
        let own = Places::of_list(own);
        Ok((Self { rank, spans, own }, requests))
    }

    /// The exchange, from what each rank has asked of this one.
    pub(super) fn answered(self, cuts: &[usize], asked: &Lists) -> Result<Exchange, Error> {
        let Self { rank, spans, own } = self;
        let own_len = cuts[rank + 1] - cuts[rank];
        let mut sends = Vec::new();
        for (other, list) in asked
            .iter()
            .enumerate()
            .filter(|(other, list)| *other != rank && !list.is_empty())
        {
            let list = from_bytes(list, own_len).ok_or_else(|| apart(other))??;
            // What a rank needs ascends.
            if list.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(apart(other));
            }
            let places = Places::of_list(list);
            sends.push(Part {
                rank: other,
                places,
            });
        }
        let used = spans
            .iter()
            .enumerate()
            .filter(|(_, span)| !span.is_empty());
        let received = used.clone().filter(|(owner, _)| *owner != rank);
        let receives = received.map(|(owner, span)| Part {
            rank: owner,
            places: Places::Run(span.clone()),
        });
        let receives = receives.collect();
        let own = (!spans[rank].is_empty()).then(|| (own, Places::Run(spans[rank].clone())));
        let mut exchange = Exchange::new(sends, own, receives);
        exchange.source.1 = Some(own_len);
        Ok(exchange)
    }
}

/// What a rank that scatters has announced.
pub(super) struct Giving {
    rank: usize,
    n_items: usize,
    /// Which of the items go to each rank.
    places: Vec<Places>,
}

impl Giving {
    /// What is announced to each rank, also to this one.
    pub(super) fn new(
        (rank, ranks): (usize, usize),
        cuts: Option<&[usize]>,
        indices: &[u32],
    ) -> Result<(Self, Lists), Error> {
        let n_items = indices.len();
        let Some(cuts) = cuts else {
            let announced = (0..ranks).map(|_| to_bytes(indices.iter().copied()));
            let places = vec![Places::Run(0..n_items); ranks];
            let giving = Self {
                rank,
                n_items,
                places,
            };
            return Ok((giving, announced.collect::<Result<_, _>>()?));
        };
        let refuse = |expected: String, found: String| Error::argument("scatter", expected, found);
        let len = cuts[cuts.len() - 1];
        if let Some(index) = indices.iter().find(|&&index| index as usize >= len) {
            return Err(refuse(format!("indices below {len}"), index.to_string()));
        }
        if u32::try_from(n_items).is_err() {
            let expected = format!("at most {} items of a rank", u32::MAX);
            return Err(refuse(expected, n_items.to_string()));
        }
        let owner = |index: u32| cuts[1..].partition_point(|&end| end <= index as usize);
        let mut counts = vec![0; ranks];
        indices.iter().for_each(|&index| counts[owner(index)] += 1);
        let lists = counts.iter().map(|&count| reserve(count));
        let mut lists = lists.collect::<Result<Vec<Vec<u32>>, Error>>()?;
        for (number, &index) in (0..).zip(indices) {
            lists[owner(index)].push(number);
        }
        let mut announced = Vec::with_capacity(ranks);
        for (list, &first) in lists.iter().zip(cuts) {
            let place = |&number: &u32| indices[number as usize] - first as u32;
            announced.push(to_bytes(list.iter().map(place))?);
        }
        let places = lists.into_iter().map(Places::of_list).collect();
        Ok((
            Self {
                rank,
                n_items,
                places,
            },
            announced,
        ))
    }

    /// The exchange, and the indices of what arrives, from what each rank has announced to this one.
    pub(super) fn answered(
        self,
        cuts: Option<&[usize]>,
        announced: Lists,
    ) -> Result<(Exchange, Vec<u32>), Error> {
        let (first, own_len) = match cuts {
            None => (0, usize::MAX),
            Some(cuts) => (cuts[self.rank], cuts[self.rank + 1] - cuts[self.rank]),
        };
        let n_arriving = announced.iter().map(|list| list.len() / 4).sum();
        let mut indices = reserve(n_arriving)?;
        let (mut receives, mut own) = (Vec::new(), None);
        for (other, list) in announced.into_iter().enumerate() {
            let list = from_bytes(&list, own_len).ok_or_else(|| apart(other))??;
            let run = Places::Run(indices.len()..indices.len() + list.len());
            indices.extend(list.iter().map(|place| place + first as u32));
            if other == self.rank {
                own = Some((self.places[other].clone(), run));
            } else if !list.is_empty() {
                receives.push(Part {
                    rank: other,
                    places: run,
                });
            }
        }
        let places = self.places.into_iter().enumerate();
        let sent = places.filter(|(other, places)| *other != self.rank && places.len() > 0);
        let sends = sent.map(|(rank, places)| Part { rank, places }).collect();
        let mut exchange = Exchange::new(sends, own, receives);
        exchange.source.1 = Some(self.n_items);
        Ok((exchange, indices))
    }
}

/// Refuses indices that do not ascend strictly, or are not below `len`.
fn check(needed: &[u32], len: usize) -> Result<(), Error> {
    let refuse = |expected: String, found: String| Err(Error::argument("ghosts", expected, found));
    if let Some(pair) = needed.windows(2).find(|pair| pair[0] >= pair[1]) {
        let found = format!("{} after {}", pair[1], pair[0]);
        return refuse("indices that ascend strictly".to_owned(), found);
    }
    match needed.last() {
        Some(&last) if last as usize >= len => {
            refuse(format!("indices below {len}"), last.to_string())
        }
        Some(_) | None => Ok(()),
    }
}

fn to_bytes(places: impl ExactSizeIterator<Item = u32>) -> Result<Vec<u8>, Error> {
    let mut bytes = zeros(places.len() * size_of::<u32>())?;
    let (words, _) = bytes.as_chunks_mut();
    for (word, place) in words.iter_mut().zip(places) {
        *word = place.to_le_bytes();
    }
    Ok(bytes)
}

/// The places that a rank has sent; `None` if they are no list of places below `len`.
fn from_bytes(bytes: &[u8], len: usize) -> Option<Result<Vec<u32>, Error>> {
    let (words, rest) = bytes.as_chunks();
    let places = || words.iter().map(|&word| u32::from_le_bytes(word));
    let is_list = rest.is_empty() && places().all(|place| (place as usize) < len);
    is_list.then(|| try_collect(places()))
}
