//! Exchanges: the one way in which a rank comes to hold what other ranks hold.
//!
//! An [`Exchange`] says which items of its memory a rank sends to whom, and where what arrives
//! goes. It is made once, from what each rank holds and what it needs ([`Exchange::to_ranges`],
//! [`fetch`]) or, where a rank alone knows what it needs, by asking the owners ([`requests`]); it
//! is run as often as may be, on elements of any type. The page `README.md` beside this file has
//! the messages.
//!
//! It keeps no memory and no handle, so it is a plain value: what is sent and where things go can
//! be tested without ranks.

pub(crate) mod around;
pub(crate) mod fetch;
mod messages;
mod places;
pub(crate) mod requests;
#[cfg(test)]
mod tests;
pub(crate) mod together;

pub use self::messages::Messages;
pub(crate) use self::places::{Item, Places};

use super::apart;
use crate::error::Error;
use crate::geometry::region::Region;
use crate::memory::bytes;
use crate::memory::reserve::zeros;
use crate::shape::Shape;
use sparsefuse_kernels::{DType, Element};
use std::iter::Sum;
use std::ops::Range;

/// Who sends which items to whom, and where they go; see `runtime/src/comm/exchange/README.md`.
///
/// Every rank has its own, made by all ranks together. Between two ranks messages arrive in order,
/// so all ranks run the same exchanges in the same order.
///
/// ```
/// use sparsefuse_runtime::{Config, Exchange, run_ranks};
///
/// // Five elements, of which rank 0 holds the first two; each rank wants the one after its own.
/// let found = run_ranks(2, &Config::default(), |runtime| {
///     let own = if runtime.rank() == 0 { vec![0.5, 1.5] } else { vec![2.5, 3.5, 4.5] };
///     let needed = if runtime.rank() == 0 { vec![2] } else { vec![] };
///     let exchange = Exchange::gather(runtime, Some(&[0, 2, 5]), &needed)?;
///     exchange.run(runtime, &own)
/// })?;
/// assert_eq!(found, [Ok(vec![2.5]), Ok(vec![])]);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// What other ranks get, by rank.
    sends: Vec<Part>,
    /// What this rank has itself: where it is, and where it goes.
    own: Option<(Places, Places)>,
    /// Where what other ranks send goes, by rank.
    receives: Vec<Part>,
    /// How many items there are here at least, and exactly, if that is known.
    source: (usize, Option<usize>),
    /// How many items there are afterwards.
    target_len: usize,
}

/// Another rank, and the places of what it gets, or sends.
pub(crate) type Part = (usize, Places);

/// Messages and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Sum for Sent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, sent| Self {
            messages: sum.messages + sent.messages,
            bytes: sum.bytes + sent.bytes,
        })
    }
}

impl Exchange {
    fn new(mut sends: Vec<Part>, own: Option<(Places, Places)>, mut receives: Vec<Part>) -> Self {
        sends.retain(|(_, places)| places.len() > 0);
        receives.retain(|(_, places)| places.len() > 0);
        Self::of_parts(sends, own, receives)
    }

    /// The same, with a message to each of these ranks, and from each, also where it is empty.
    fn of_parts(sends: Vec<Part>, own: Option<(Places, Places)>, receives: Vec<Part>) -> Self {
        let own = own.filter(|(from, _)| from.len() > 0);
        let end = |parts: &[Part], own: Option<&Places>| {
            let own = own.map_or(0, Places::end);
            parts
                .iter()
                .fold(own, |end, (_, places)| end.max(places.end()))
        };
        Self {
            source: (end(&sends, own.as_ref().map(|own| &own.0)), None),
            target_len: end(&receives, own.as_ref().map(|own| &own.1)),
            sends,
            own,
            receives,
        }
    }

    /// The exchange that gives every rank the box that it needs, from those that the ranks hold, in
    /// memory that holds the box `into`.
    pub(crate) fn of_boxes(
        (rank, ranks): (usize, usize),
        held: impl Fn(usize) -> Region,
        needed: impl Fn(usize) -> Region,
        into: Region,
    ) -> Self {
        let others: Vec<usize> = (0..ranks).filter(|&other| other != rank).collect();
        Self::of_boxes_between(rank, [&others, &others], held, needed, into)
    }

    /// The same where only `takers` need something that this rank holds, and only `givers` hold
    /// something that it needs.
    pub(crate) fn of_boxes_between(
        rank: usize,
        [takers, givers]: [&[usize]; 2],
        held: impl Fn(usize) -> Region,
        needed: impl Fn(usize) -> Region,
        into: Region,
    ) -> Self {
        let (here, wanted) = (held(rank), needed(rank));
        let place = |within: Region, part: Region| Places::of_box(within, within.intersect(&part));
        let arrives = |from: Region| place(into, wanted.intersect(&from));
        let sends = takers
            .iter()
            .map(|&other| (other, place(here, needed(other))));
        let receives = givers.iter().map(|&other| (other, arrives(held(other))));
        let own = (place(here, wanted), arrives(here));
        Self::new(sends.collect(), Some(own), receives.collect())
    }

    /// The exchange that gives every rank the items of a range, where rank `r` holds those between
    /// the cuts `r` and `r + 1`: to cut something anew, or to have all of it everywhere. No
    /// message is sent to make it, since every rank knows what all of them want.
    ///
    /// ```
    /// use sparsefuse_runtime::Exchange;
    ///
    /// // Rank 1 of two has held items 4 and 5, and is to hold those from 2 on.
    /// let wanted = [0..2, 2..6];
    /// let exchange = Exchange::to_ranges(1, &[0, 4, 6], |rank| wanted[rank].clone())?;
    /// assert_eq!(exchange.len(), 4);
    /// assert_eq!(exchange.sent(8).messages, 0);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the cuts do not ascend from 0, there are none for this rank, or a rank wants what lies
    /// beyond the last one.
    pub fn to_ranges(
        rank: usize,
        held: &[usize],
        wanted: impl Fn(usize) -> Range<usize>,
    ) -> Result<Self, Error> {
        let ranks = held.len().saturating_sub(1);
        requests::check_cuts(held, ranks.max(rank + 1))?;
        let len = held[ranks];
        let is_within = |range: &Range<usize>| range.start <= range.end && range.end <= len;
        let wanted: Vec<_> = (0..ranks).map(wanted).collect();
        if let Some(range) = wanted.iter().find(|range| !is_within(range)) {
            let expected = format!("ranges of 0..{len}");
            return Err(Error::argument("exchange", expected, format!("{range:?}")));
        }
        let region = |range: &Range<usize>| Region::of_rows(Shape::new(&[len]), range);
        let holds = |rank: usize| region(&(held[rank]..held[rank + 1]));
        let into = region(&wanted[rank]);
        let mut exchange = Self::of_boxes((rank, ranks), holds, |rank| region(&wanted[rank]), into);
        exchange.source.1 = Some(held[rank + 1] - held[rank]);
        Ok(exchange)
    }

    /// The exchange that brings the items with these indices, which ascend strictly, where rank `r`
    /// holds those between the cuts `r` and `r + 1`; without cuts every rank holds all, and none is
    /// sent. Each rank gives its own indices, and every rank must ask.
    ///
    /// # Errors
    ///
    /// If the cuts are not one more than there are ranks, ascending, or on any rank the indices do
    /// not ascend, lie beyond the last cut, or memory runs out.
    pub fn gather(
        messages: &impl Messages,
        cuts: Option<&[usize]>,
        needed: &[u32],
    ) -> Result<Self, Error> {
        let Some(cuts) = cuts else {
            return messages.agree(requests::pick(needed));
        };
        messages.begin(DType::U32)?;
        let needed = requests::check_cuts(cuts, messages.ranks()).map(|()| needed);
        messages.agree(requests::gather(messages, cuts, needed))
    }

    /// The exchange that brings items to the ranks that own their indices, where rank `r` owns
    /// those between the cuts `r` and `r + 1`; without cuts every rank owns all, and gets every
    /// item. Each rank gives the indices of its items, in any order and as often as may be, and
    /// gets those of the items that arrive: the items of the first rank first, of each in its
    /// order. Every rank must ask.
    ///
    /// ```
    /// use sparsefuse_runtime::{Exchange, Runtime};
    ///
    /// let runtime = Runtime::current();
    /// let (exchange, arrived) = Exchange::scatter(&runtime, Some(&[0, 5]), &[4, 1, 4])?;
    /// assert_eq!(arrived, [4, 1, 4]);
    /// let values = exchange.run(&runtime, &[0.5, 1.5, 2.5])?;
    /// assert_eq!(exchange.reversed().run(&runtime, &values)?, [0.5, 1.5, 2.5]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the cuts are not one more than there are ranks, ascending, or on any rank an index lies
    /// beyond the last cut, or memory runs out.
    pub fn scatter(
        messages: &impl Messages,
        cuts: Option<&[usize]>,
        indices: &[u32],
    ) -> Result<(Self, Vec<u32>), Error> {
        messages.begin(DType::U32)?;
        let ranks = messages.ranks();
        let checked = cuts.map_or(Ok(()), |cuts| requests::check_cuts(cuts, ranks));
        messages.agree(requests::scatter(messages, cuts, checked.map(|()| indices)))
    }

    /// The exchange of what belongs to the items, of which each has a run of its own: `here` is
    /// that of an item of this rank, `arrived` that of one that has arrived. So the entries of rows
    /// follow their rows. A rank that only sends does not look at `arrived`, and one that only
    /// receives not at `here`. The same ranks send to one another, also where all runs are empty:
    /// a rank that has failed before it knows the runs can take as many messages.
    ///
    /// ```
    /// use sparsefuse_runtime::Exchange;
    ///
    /// let rows = Exchange::to_ranges(0, &[0, 2], |_| 1..2)?;
    /// let pos = [0, 3, 5]; // the second row has the entries 3 and 4
    /// let entries = rows.of_runs(|row| pos[row]..pos[row + 1], |_| 0..2);
    /// assert_eq!(entries.len(), 2);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    #[must_use]
    pub fn of_runs(
        &self,
        here: impl Fn(usize) -> Range<usize>,
        arrived: impl Fn(usize) -> Range<usize>,
    ) -> Self {
        fn each(parts: &[Part], run: impl Fn(usize) -> Range<usize>) -> Vec<Part> {
            let of = |(rank, places): &Part| (*rank, places.of_runs(&run));
            parts.iter().map(of).collect()
        }
        let own = self.own.as_ref();
        let own = own.map(|(from, to)| (from.of_runs(&here), to.of_runs(&arrived)));
        Self::of_parts(each(&self.sends, here), own, each(&self.receives, arrived))
    }

    /// The exchange in which each rank gets all items before its own from the rank before it, and
    /// gives those and its own to the next one, where rank `r` has made those between the cuts `r`
    /// and `r + 1`.
    ///
    /// ```
    /// use sparsefuse_runtime::Exchange;
    ///
    /// let relay = Exchange::relay(1, &[0, 4, 6, 9])?;
    /// assert_eq!(relay.len(), 4); // from rank 0
    /// assert_eq!(relay.sent(8).bytes, 6 * 8); // to rank 2
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the cuts do not ascend from 0, or there are none for this rank.
    pub fn relay(rank: usize, cuts: &[usize]) -> Result<Self, Error> {
        let ranks = cuts.len().saturating_sub(1);
        requests::check_cuts(cuts, ranks.max(rank + 1))?;
        let (before, all) = (Places::Run(0..cuts[rank]), Places::Run(0..cuts[rank + 1]));
        let next = (rank + 1 < ranks).then(|| (rank + 1, all));
        let last = rank.checked_sub(1).map(|last| (last, before));
        let (sends, receives) = (Vec::from_iter(next), Vec::from_iter(last));
        Ok(Self::new(sends, None, receives))
    }

    /// The way back: what has arrived goes where it came from.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let own = self.own.clone().map(|(from, to)| (to, from));
        let back = Self::new(self.receives.clone(), own, self.sends.clone());
        Self {
            target_len: self.source.1.unwrap_or(back.target_len),
            source: (back.source.0, Some(self.target_len)),
            ..back
        }
    }

    /// How many items there are afterwards.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an exchange is no collection")]
    pub fn len(&self) -> usize {
        self.target_len
    }

    /// What other ranks get, by rank.
    pub(crate) fn sends(&self) -> &[Part] {
        &self.sends
    }

    /// Where what other ranks send goes, by rank.
    pub(crate) fn receives(&self) -> &[Part] {
        &self.receives
    }

    /// What this rank sends, in items of `size` bytes: what counters, `explain` and plans say.
    #[must_use]
    pub fn sent(&self, size: usize) -> Sent {
        let items = self.sends.iter().map(|(_, places)| places.len());
        Sent {
            messages: self.sends.len() as u64,
            bytes: (items.sum::<usize>() * size) as u64,
        }
    }

    /// The elements that arrive, and those of this rank among them, where they go; `own` are those
    /// that this rank holds. Every rank takes part; in eager work a failure of one is the failure
    /// of all.
    ///
    /// # Errors
    ///
    /// If this rank holds another number of elements, memory runs out, another rank failed, or it
    /// sent something else.
    pub fn run<E: Element>(&self, messages: &impl Messages, own: &[E]) -> Result<Vec<E>, Error> {
        self.run_rows(messages, 1, own)
    }

    /// As [`Exchange::run`], where each item is a row of `width` elements.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn run_rows<E: Element>(
        &self,
        messages: &impl Messages,
        width: usize,
        own: &[E],
    ) -> Result<Vec<E>, Error> {
        messages.begin(E::DTYPE)?;
        let item = Item::new(E::DTYPE, width);
        let source = self
            .check_own(own.len(), width)
            .map(|()| bytes::as_bytes(own));
        let arrived = bytes::filled(self.target_len.saturating_mul(width), |target| {
            self.carry(messages, item, source, target)
        });
        messages.agree(arrived)
    }

    /// The first half of [`Exchange::run`], of a rank alone: sends what others get of `own`, or why
    /// there is nothing. For ranks that follow one another, each of which receives before it can
    /// send.
    ///
    /// # Errors
    ///
    /// Why there is nothing to send, also if this rank holds another number of elements; or if
    /// there are no such ranks.
    pub fn send<E: Element>(
        &self,
        messages: &impl Messages,
        own: Result<&[E], Error>,
    ) -> Result<(), Error> {
        let source =
            own.and_then(|own| self.check_own(own.len(), 1).map(|()| bytes::as_bytes(own)));
        self.post(messages, Item::new(E::DTYPE, 1), source)
    }

    /// The second half: waits for what others send. What this rank has itself is left as zeros.
    ///
    /// # Errors
    ///
    /// If memory runs out, another rank failed, or it sent something else.
    pub fn receive<E: Element>(&self, messages: &impl Messages) -> Result<Vec<E>, Error> {
        let item = Item::new(E::DTYPE, 1);
        bytes::filled(self.target_len, |target| self.wait(messages, item, target))
    }

    /// Waits for what others send, and drops it: for a rank that has failed, so that what comes
    /// next is another message.
    pub fn drop_received<E: Element>(&self, messages: &impl Messages, cause: &Error) {
        let nowhere = Err(cause.clone());
        // That others have failed too changes nothing.
        let _ = self.wait(messages, Item::new(E::DTYPE, 1), nowhere);
    }

    fn check_own(&self, len: usize, width: usize) -> Result<(), Error> {
        match self.source.1 {
            Some(n_items) if n_items.checked_mul(width) != Some(len) => {
                let expected = format!("{n_items} items of {width} elements");
                Err(Error::argument("exchange", expected, len.to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Runs the exchange: sends from `source`, copies what this rank has itself, and waits until
    /// all is in `target`; or why one of them is not there. A rank that fails tells those that wait
    /// for it, and takes what others send all the same.
    pub(crate) fn carry(
        &self,
        messages: &(impl Messages + ?Sized),
        item: Item,
        source: Result<&[u8], Error>,
        mut target: Result<&mut [u8], Error>,
    ) -> Result<(), Error> {
        // A rank without memory for what arrives tells those that wait for it, too.
        let source = match &target {
            Ok(_) => source,
            Err(cause) => source.and(Err(cause.clone())),
        };
        let posted = self.post(messages, item, source.clone());
        let kept = match (source, &mut target) {
            (Ok(source), Ok(target)) if posted.is_ok() => self.keep(item, source, target),
            (Ok(_) | Err(_), _) => Ok(()),
        };
        let arrived = self.wait(messages, item, target);
        posted.and(kept).and(arrived)
    }

    /// Sends what other ranks get, or why there is nothing.
    pub(crate) fn post(
        &self,
        messages: &(impl Messages + ?Sized),
        item: Item,
        source: Result<&[u8], Error>,
    ) -> Result<(), Error> {
        let source = source.and_then(|source| self.check_source(item, source));
        let mut outcome = source.as_ref().map_err(Clone::clone).map(drop);
        for (rank, places) in &self.sends {
            let bytes = source.clone().and_then(|source| {
                let mut bytes = zeros(places.len() * item.size)?;
                places.take(item, source, &mut bytes);
                Ok(bytes)
            });
            // A rank that gets no message hears of the failure, and so does this one.
            outcome = outcome.and(bytes.as_ref().map_err(Clone::clone).map(drop));
            messages.send_bytes(*rank, bytes)?;
        }
        outcome
    }

    /// The memory that is sent from, if it has all that is sent.
    pub(crate) fn check_source<'s>(&self, item: Item, source: &'s [u8]) -> Result<&'s [u8], Error> {
        check_len(source, item, self.source.0).map(|()| source)
    }

    /// Copies what this rank has itself.
    pub(crate) fn keep(&self, item: Item, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        check_len(target, item, self.target_len)?;
        let of = |run: &Range<usize>| run.start * item.size..run.end * item.size;
        match &self.own {
            None => {}
            Some((from, Places::Run(to))) => from.take(item, source, &mut target[of(to)]),
            Some((Places::Run(from), to)) => to.put(item, &source[of(from)], target),
            Some((from, to)) => {
                let mut kept = zeros(from.len() * item.size)?;
                from.take(item, source, &mut kept);
                to.put(item, &kept, target);
            }
        }
        Ok(())
    }

    /// Waits until everything that other ranks send is where it belongs; all of it is received,
    /// whatever is in it.
    pub(crate) fn wait(
        &self,
        messages: &(impl Messages + ?Sized),
        item: Item,
        target: Result<&mut [u8], Error>,
    ) -> Result<(), Error> {
        let mut target = target.and_then(|target| {
            check_len(target, item, self.target_len)?;
            Ok(target)
        });
        let mut outcome = Ok(());
        let receives = self.receives.iter().filter(|_| messages.has_others());
        for (rank, places) in receives {
            let arrived = messages.receive_bytes(*rank);
            let arrived = arrived.and_then(|bytes| match item.is_made_of(&bytes, places.len()) {
                true => Ok(bytes),
                false => Err(apart(*rank)),
            });
            match (arrived, &mut target) {
                (Ok(bytes), Ok(target)) => places.put(item, &bytes, target),
                (Ok(_), Err(_)) => {}
                (Err(cause), _) => outcome = outcome.and(Err(cause)),
            }
        }
        target.map(drop).and(outcome)
    }
}

/// Refuses memory of fewer items.
fn check_len(memory: &[u8], item: Item, n_items: usize) -> Result<(), Error> {
    match n_items.checked_mul(item.size) {
        Some(needed) if needed <= memory.len() => Ok(()),
        Some(_) | None => {
            let expected = format!("memory of {n_items} items of {} bytes", item.size);
            let found = format!("{} bytes", memory.len());
            Err(Error::argument("exchange", expected, found))
        }
    }
}
