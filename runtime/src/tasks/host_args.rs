//! What the functions of host tasks get: stores as slices, the threads of the rank, and messages
//! between ranks.

use super::block::{BlockMut, BlockRef, BlockRows};
use super::body::Body;
use super::calling;
use crate::comm::exchange::{Exchange, Messages, requests};
use crate::comm::{self, conversation::Conversation, reduce};
use crate::error::{Error, ErrorKind};
use crate::memory::bytes;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::memory::room::Room;
use sparsefuse_kernels::{DType, Element, Workers};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the function of a host task gets: its stores on this rank, and the messages between ranks.
///
/// Where the task is cut, or something that it reads as ranks hold it, the ranks may send to each
/// other. A function that fails
/// returns, whatever others wait for: they get its failure. The task fails on all ranks then.
#[derive(Debug)]
pub struct HostArgs<'a> {
    pub(crate) args: Vec<HostArg<'a>>,
    /// The cuts of each argument, none where every rank has all rows; an empty list where that is
    /// so of all of them.
    pub(crate) cuts: Vec<Option<Arc<[usize]>>>,
    /// The rows of the launch on this rank.
    pub(crate) rows: Range<usize>,
    /// The threads that the function has.
    pub(crate) threads: usize,
    /// Whether its task has said how many threads it needs.
    pub(crate) is_declared: bool,
    /// Elements below which work stays on the calling thread.
    pub(crate) parallel_threshold: usize,
    pub(crate) workers: &'a Workers,
    pub(crate) body: &'a Body,
    pub(crate) pool: &'a Arc<Pool>,
    /// Bytes of the memory that the function has taken for what it finds.
    pub(crate) found: &'a AtomicUsize,
    /// None where every rank does the same.
    pub(crate) conversation: Option<&'a Conversation<'a>>,
}

/// An argument of a host task on this rank.
#[derive(Debug)]
pub(crate) enum HostArg<'a> {
    /// Some elements of an instance.
    Read(DType, &'a Instance, Range<usize>),
    /// An instance for writing, until the function takes it.
    Write(DType, Option<&'a mut Instance>),
    /// Some rows of an instance.
    Block(DType, &'a Instance, BlockRows),
    /// Some rows of an instance, to be changed in place, until the function takes them.
    BlockMut(DType, Option<&'a Instance>, BlockRows),
}

impl<'a> HostArgs<'a> {
    /// The rows of this rank: those of all `Rows` arguments.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// How many threads the rank has for work on its rows; beside other tasks, those that the task
    /// said it needs ([`NewTask::threads`](crate::NewTask::threads)), where it did.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The number of this rank among those that talk to each other; 0 where the task is not cut.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.conversation.map_or(0, Conversation::rank)
    }

    /// How many ranks talk to each other; 1 where the task is not cut.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.conversation.map_or(1, Conversation::ranks)
    }

    /// The cuts of an argument: rank `r` has its rows from cut `r` to cut `r + 1`. `None` where
    /// every rank has all rows, or there is no such argument.
    #[must_use]
    pub fn cuts(&self, number: usize) -> Option<&[usize]> {
        self.cuts.get(number)?.as_deref()
    }

    /// The threads that the function has, for work that it divides among them in its own way. What
    /// runs on them must not call the runtime.
    #[must_use]
    pub fn workers(&self) -> &Workers {
        self.note_division();
        self.workers
    }

    /// Divides elements among the threads of the rank, evenly and in groups of `unit`, and calls
    /// `work` with the number of the first group of each part, and the part; on the calling thread
    /// alone where there are few elements. The failure is that of the first part that fails.
    ///
    /// # Errors
    ///
    /// What `work` returns.
    ///
    /// # Panics
    ///
    /// If a part panics.
    pub fn in_parts<T: Send>(
        &self,
        elements: &mut [T],
        unit: usize,
        work: impl Fn(usize, &mut [T]) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let parts = self.workers.count();
        if parts == 1 || elements.is_empty() || elements.len() < self.parallel_threshold {
            return work(0, elements);
        }
        let unit = unit.max(1);
        let units = elements.len().div_ceil(unit).div_ceil(parts);
        let chunks = elements.chunks_mut(units * unit).enumerate();
        let parts = chunks.map(|(part, chunk)| (part * units, chunk)).collect();
        self.run_parts(parts, &work)
    }

    /// As [`HostArgs::in_parts`], with parts that end at these elements, ascending, the last of
    /// which is the end of all; `work` gets the number of each part.
    ///
    /// # Errors
    ///
    /// What `work` returns, or if the ends are others.
    ///
    /// # Panics
    ///
    /// If a part panics.
    pub fn in_parts_to<T: Send>(
        &self,
        elements: &mut [T],
        ends: &[usize],
        work: impl Fn(usize, &mut [T]) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        self.run_parts(parts_to(elements, ends)?, &work)
    }

    /// Calls `work` with each part and its number, on the threads of the rank.
    fn run_parts<T: Send>(
        &self,
        parts: Vec<(usize, &mut [T])>,
        work: WorkOnPart<'_, T>,
    ) -> Result<(), Error> {
        // Each part is taken once, by the thread that works on it.
        let jobs = parts.into_iter().map(|part| Mutex::new((part, Ok(()))));
        let jobs: Vec<_> = jobs.collect();
        if jobs.len() > 1 {
            self.note_division();
        }
        let runtimes = calling::calling();
        self.workers.run(jobs.len(), |job| {
            let mut job = jobs[job].lock().unwrap_or_else(PoisonError::into_inner);
            let ((number, part), outcome) = &mut *job;
            *outcome = calling::within(&runtimes, || work(*number, part));
        });
        let mut outcomes = jobs.into_iter().map(Mutex::into_inner);
        outcomes.try_for_each(|job| job.unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Remembers that functions of this kind divide their work, unless they say so themselves.
    pub(crate) fn note_division(&self) {
        if !self.is_declared {
            self.body.note_division();
        }
    }

    /// The rows of an argument that is read, of `row_len` elements, that this rank has by other
    /// cuts: see [`HostArgs::recut`].
    ///
    /// # Errors
    ///
    /// As [`HostArgs::read`] and [`HostArgs::recut`].
    pub fn read_between<T: Element>(
        &self,
        number: usize,
        row_len: usize,
        wanted: Option<&[usize]>,
    ) -> Result<Cow<'a, [T]>, Error> {
        self.recut(self.read(number)?, row_len, self.cuts(number), wanted)
    }

    /// Rows of `row_len` elements that this rank has by some cuts, of which `held` are those that
    /// it has by others; without cuts, every rank has all rows. Where they are here on all ranks,
    /// that is a part of `held`, else they come from the ranks that have them; so every rank must
    /// ask.
    ///
    /// # Errors
    ///
    /// As [`Exchange::run`], or if the cuts end at another number of rows.
    pub fn recut<'h, T: Element>(
        &self,
        held: &'h [T],
        row_len: usize,
        cuts: Option<&[usize]>,
        wanted: Option<&[usize]>,
    ) -> Result<Cow<'h, [T]>, Error> {
        for cuts in [cuts, wanted].into_iter().flatten() {
            requests::check_cuts(cuts, self.ranks())?;
        }
        let wanted_of = |rank: usize, rows: usize| match wanted {
            Some(cuts) => cuts[rank]..cuts[rank + 1],
            None => 0..rows,
        };
        let cuts = match cuts {
            cuts if cuts == wanted => return Ok(Cow::Borrowed(held)),
            None => {
                let rows = wanted_of(self.rank(), 0);
                let own = held.get(rows.start * row_len..rows.end * row_len);
                return own
                    .map(Cow::Borrowed)
                    .ok_or_else(|| differ(wanted, held.len()));
            }
            Some(cuts) => cuts,
        };
        let rows = cuts[cuts.len() - 1];
        if wanted.is_some_and(|wanted| wanted.last() != Some(&rows)) {
            return Err(differ(wanted, rows * row_len));
        }
        let exchange = Exchange::to_ranges(self.rank(), cuts, |rank| wanted_of(rank, rows))?;
        Ok(Cow::Owned(exchange.run_rows(self, row_len, held)?))
    }

    /// The elements of an argument that is read, row-major: this rank's rows, or all.
    ///
    /// # Errors
    ///
    /// If there is no such argument, or its elements have another type.
    pub fn read<T: Element>(&self, number: usize) -> Result<&'a [T], Error> {
        match self.args.get(number) {
            Some(HostArg::Read(dtype, instance, elements)) => {
                check_type::<T>(*dtype)?;
                let held = bytes::elements::<T>(instance);
                Ok(&held[elements.clone()])
            }
            other => Err(no_such("one that is read", number, other)),
        }
    }

    /// The elements of this rank's rows of an argument that is written, row-major: whatever was in
    /// that memory before. Each is to be taken once.
    ///
    /// # Errors
    ///
    /// If there is no such argument, its elements have another type, or it was taken before.
    pub fn write<T: Element>(&mut self, number: usize) -> Result<&'a mut [T], Error> {
        match self.args.get_mut(number) {
            Some(HostArg::Write(dtype, instance @ Some(_))) => {
                check_type::<T>(*dtype)?;
                let instance = instance.take();
                Ok(instance.map_or(&mut [], bytes::elements_to_fill))
            }
            other => {
                let expected = "one that is written and not taken yet";
                Err(no_such(expected, number, other.as_deref()))
            }
        }
    }

    /// Memory of the rank's pool for elements that the function finds, which are whatever was there
    /// before: see [`Runtime::submit_deferred`](crate::Runtime::submit_deferred).
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub fn room<T: Element>(&self, len: usize) -> Result<Room<T>, Error> {
        let room = Room::new(self.pool, len)?;
        // Relaxed: it is read when the function has ended.
        let bytes = len * size_of::<T>();
        self.found.fetch_add(bytes, Ordering::Relaxed);
        Ok(room)
    }

    /// A block that is read.
    ///
    /// # Errors
    ///
    /// If there is no such argument, or its elements have another type.
    pub fn block<T: Element>(&self, number: usize) -> Result<BlockRef<'a, T>, Error> {
        match self.args.get(number) {
            Some(HostArg::Block(dtype, instance, rows)) => {
                check_type::<T>(*dtype)?;
                Ok(BlockRef::new(instance, *rows))
            }
            other => Err(no_such("a block that is read", number, other)),
        }
    }

    /// A block that is changed in place, with what it holds. Each is to be taken once; one that is
    /// left alone stays as it is.
    ///
    /// # Errors
    ///
    /// If there is no such argument, its elements have another type, or it was taken before.
    pub fn block_mut<T: Element>(&mut self, number: usize) -> Result<BlockMut<'a, T>, Error> {
        if let Some(HostArg::BlockMut(dtype, instance, rows)) = self.args.get_mut(number) {
            check_type::<T>(*dtype)?;
            if let Some(instance) = instance.take() {
                return Ok(BlockMut::new(instance, *rows));
            }
        }
        let expected = "a block that is written and not taken yet";
        Err(no_such(expected, number, self.args.get(number)))
    }

    /// Sends elements to another rank, without waiting for them to arrive.
    ///
    /// # Errors
    ///
    /// If the task is not cut, there is no such rank, or memory for the message runs out.
    pub fn send<T: Element>(&self, to: usize, elements: &[T]) -> Result<(), Error> {
        let conversation = self.conversation_with(to)?;
        conversation.send(to, bytes::from_elements(elements)?);
        Ok(())
    }

    /// Waits for the next elements of another rank.
    ///
    /// # Errors
    ///
    /// If the task is not cut, there is no such rank, it has failed or ended, or it has sent
    /// something else.
    pub fn receive<T: Element>(&self, from: usize) -> Result<Vec<T>, Error> {
        let sent = self.conversation_with(from)?.receive(from)?;
        comm::elements(from, &sent)
    }

    /// Sends `mine[r]` to each rank `r`, and returns what each rank sent here: for ranks that do
    /// not know what the others want, as an [`Exchange`] does.
    ///
    /// # Errors
    ///
    /// As [`HostArgs::send`] and [`HostArgs::receive`], or if the lists are not one for each rank.
    pub fn all_to_all<T: Element>(&self, mine: &[Vec<T>]) -> Result<Vec<Vec<T>>, Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        if mine.len() != ranks {
            let expected = format!("a list for each of {ranks} ranks");
            let found = mine.len().to_string();
            return Err(Error::argument("all_to_all", expected, found));
        }
        for to in (0..ranks).filter(|&other| other != rank) {
            self.send(to, &mine[to])?;
        }
        let sent = |from| match from == rank {
            true => Ok(mine[rank].clone()),
            false => self.receive(from),
        };
        (0..ranks).map(sent).collect()
    }

    /// Makes one of what all ranks have, in the order of the ranks: `join` makes one of what some
    /// neighbouring ranks have and what those behind them have. The first rank returns the outcome,
    /// the others nothing. What goes to another rank is carried by `send` and `receive`.
    ///
    /// It goes along a binomial tree, in which a rank sends one and receives logarithmically many;
    /// `join` is associative, so that the number of ranks makes no difference.
    ///
    /// # Errors
    ///
    /// What `send`, `receive` and `join` return.
    pub fn reduce_to_first<S>(
        &self,
        mine: S,
        send: impl Fn(usize, &S) -> Result<(), Error>,
        receive: impl Fn(usize) -> Result<S, Error>,
        join: impl Fn(S, S) -> Result<S, Error>,
    ) -> Result<Option<S>, Error> {
        let rank = self.rank();
        let mut children = reduce::children(rank, self.ranks());
        let joined = children.try_fold(mine, |mine, child| join(mine, receive(child)?))?;
        if rank == 0 {
            return Ok(Some(joined));
        }
        send(reduce::parent(rank), &joined)?;
        Ok(None)
    }

    /// The elements that the first rank has, on every rank: along the tree of
    /// [`HostArgs::reduce_to_first`].
    ///
    /// # Errors
    ///
    /// As [`HostArgs::send`] and [`HostArgs::receive`], or if the first rank has none.
    pub fn broadcast<T: Element>(&self, of_first: Option<Vec<T>>) -> Result<Vec<T>, Error> {
        let rank = self.rank();
        let elements = match of_first.filter(|_| rank == 0) {
            Some(elements) => elements,
            None if rank == 0 => {
                let expected = "elements of the first rank";
                return Err(Error::argument("broadcast", expected, "none"));
            }
            None => self.receive(reduce::parent(rank))?,
        };
        let children = reduce::children(rank, self.ranks()).rev();
        for child in children {
            self.send(child, &elements)?;
        }
        Ok(elements)
    }

    /// What `join` makes of the elements of all ranks, on every rank: of those of some neighbouring
    /// ranks, and those of the ranks behind them, which it adds to the former. Two messages along
    /// each edge of the tree of [`HostArgs::reduce_to_first`], so `join` is associative.
    ///
    /// # Errors
    ///
    /// As [`HostArgs::send`] and [`HostArgs::receive`].
    pub fn all_reduce<T: Element>(
        &self,
        mine: Vec<T>,
        join: impl Fn(&mut Vec<T>, Vec<T>),
    ) -> Result<Vec<T>, Error> {
        let joined = self.reduce_to_first(
            mine,
            |to, elements| self.send(to, elements),
            |from| self.receive(from),
            |mut first, behind| {
                join(&mut first, behind);
                Ok(first)
            },
        )?;
        self.broadcast(joined)
    }

    /// Lets every rank change the same elements, one after the other: `change` gets what the rank
    /// before this one has made of them, or on the first rank, for which it is told `true`, what
    /// they are here. In the end all ranks have those of the last. A rank that is alone is the
    /// first.
    ///
    /// # Errors
    ///
    /// As `change`, [`HostArgs::send`] and [`HostArgs::receive`], or if another rank has another
    /// number of elements.
    pub fn in_turn<T: Element>(
        &self,
        elements: &mut [T],
        change: impl FnOnce(&mut [T], bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let receive = |elements: &mut [T], from: usize| {
            let sent = self.receive::<T>(from)?;
            if sent.len() != elements.len() {
                let expected = format!("{} elements of rank {from}", elements.len());
                return Err(Error::argument("in_turn", expected, sent.len().to_string()));
            }
            elements.copy_from_slice(&sent);
            Ok(())
        };
        let (rank, last) = (self.rank(), self.ranks() - 1);
        if rank > 0 {
            receive(elements, rank - 1)?;
        }
        change(elements, rank == 0)?;
        if rank < last {
            self.send(rank + 1, elements)?;
            return receive(elements, last);
        }
        (0..last).try_for_each(|to| self.send(to, elements))
    }

    /// Refuses a function that has left an output alone: what is there may not even be elements of
    /// its type.
    pub(crate) fn check_written(&self) -> Result<(), Error> {
        let is_left = |arg: &HostArg<'_>| matches!(arg, HostArg::Write(_, Some(_)));
        let Some(number) = self.args.iter().position(is_left) else {
            return Ok(());
        };
        let expected = "a function that takes all arguments that it writes";
        let found = format!("one that has left argument {number}");
        Err(Error::argument("host task", expected, found))
    }

    fn conversation_with(&self, rank: usize) -> Result<&'a Conversation<'a>, Error> {
        let Some(conversation) = self.conversation else {
            let expected = "a host task that is cut, whose ranks talk to each other";
            return Err(Error::argument("host task", expected, "one that is not"));
        };
        if rank < conversation.ranks() && rank != conversation.rank() {
            return Ok(conversation);
        }
        let expected = format!("another one of {} ranks", conversation.ranks());
        Err(Error::argument("host task", expected, rank.to_string()))
    }
}

impl Messages for HostArgs<'_> {
    fn rank(&self) -> usize {
        self.rank()
    }

    fn ranks(&self) -> usize {
        self.ranks()
    }

    /// A function that fails says so when it returns.
    fn send_bytes(&self, to: usize, bytes: Result<Vec<u8>, Error>) -> Result<(), Error> {
        self.conversation_with(to)?.send(to, bytes?);
        Ok(())
    }

    fn receive_bytes(&self, from: usize) -> Result<Vec<u8>, Error> {
        self.conversation_with(from)?.receive(from)
    }

    fn agree<R>(&self, mine: Result<R, Error>) -> Result<R, Error> {
        mine
    }
}

/// What is done with each part of elements, and its number.
type WorkOnPart<'a, T> = &'a (dyn Fn(usize, &mut [T]) -> Result<(), Error> + Sync);

/// The parts of `elements` that end at `ends`, with their numbers.
fn parts_to<'a, T>(
    mut elements: &'a mut [T],
    ends: &[usize],
) -> Result<Vec<(usize, &'a mut [T])>, Error> {
    let is_all = ends
        .last()
        .map_or(elements.is_empty(), |end| *end == elements.len());
    if !is_all || !ends.is_sorted() {
        let expected = format!("ascending ends, the last of which is {}", elements.len());
        return Err(Error::argument(
            "in_parts_to",
            expected,
            format!("{ends:?}"),
        ));
    }
    let (mut parts, mut begin) = (Vec::with_capacity(ends.len()), 0);
    for (number, &end) in ends.iter().enumerate() {
        let (part, rest) = elements.split_at_mut(end - begin);
        parts.push((number, part));
        (elements, begin) = (rest, end);
    }
    Ok(parts)
}

fn differ(cuts: Option<&[usize]>, len: usize) -> Error {
    let found = format!("{cuts:?} for {len} elements");
    Error::argument("host task", "cuts of the argument's rows", found)
}

fn check_type<T: Element>(found: DType) -> Result<(), Error> {
    if found == T::DTYPE {
        return Ok(());
    }
    let (op, expected) = ("host task", T::DTYPE.to_string());
    Err(ErrorKind::DType {
        op,
        expected,
        found,
    }
    .into())
}

/// The failure to take an argument as what it is not; none is one beyond the last.
fn no_such(expected: &str, number: usize, found: Option<&HostArg<'_>>) -> Error {
    let found = match found {
        Some(HostArg::Read(..)) => "one that is read",
        Some(HostArg::Write(_, Some(_))) => "one that is written",
        Some(HostArg::Block(..)) => "a block that is read",
        Some(HostArg::BlockMut(_, Some(_), _)) => "a block that is written",
        Some(HostArg::Write(_, None) | HostArg::BlockMut(_, None, _)) => "one that is taken",
        None => "none",
    };
    Error::argument(
        "host task",
        format!("argument {number} to be {expected}"),
        found,
    )
}
