//! Where the items of a message lie in memory.
//!
//! An item is an element, or a row of them; what it is, [`Item`] says, and only when bytes are
//! copied. Places are in the order in which their items travel.

use crate::geometry::region::Region;
use sparsefuse_kernels::DType;
use std::ops::Range;

/// What is exchanged at each place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its bytes.
    pub(crate) size: usize,
    /// Whether each of them has to be 0 or 1.
    pub(super) is_bool: bool,
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// Side by side.
    Run(Range<usize>),
    /// Each item by its number.
    Listed(Vec<u32>),
    /// Several runs, one after the other.
    Runs(Vec<Range<usize>>),
    /// A box of a box that the memory holds, both row-major.
    Box { held: Region, part: Region },
}

impl Item {
    /// This many elements side by side.
    pub(crate) fn new(dtype: DType, width: usize) -> Self {
        Self {
            size: dtype.size() * width,
            is_bool: dtype == DType::Bool,
        }
    }

    /// Whether these bytes are this many items.
    pub(super) fn is_made_of(self, bytes: &[u8], len: usize) -> bool {
        let is_valid = !self.is_bool || bytes.iter().all(|&byte| byte <= 1);
        is_valid && Some(bytes.len()) == len.checked_mul(self.size)
    }
}

impl Places {
    /// Listed places, or the run that they are.
    pub(super) fn of_list(list: Vec<u32>) -> Self {
        match list.first() {
            Some(&first)
                if list
                    .windows(2)
                    .all(|pair| pair[0].checked_add(1) == Some(pair[1])) =>
            {
                Self::Run(first as usize..first as usize + list.len())
            }
            Some(_) | None => Self::Listed(list),
        }
    }

    /// A part of a box that the memory holds, or the run that it is.
    pub(super) fn of_box(held: Region, part: Region) -> Self {
        let is_whole = |d: usize| (held.lo[d], held.hi[d]) == (part.lo[d], part.hi[d]);
        if !(1..part.lo.len()).all(is_whole) {
            return Self::Box { held, part };
        }
        let row_len: usize = (1..part.lo.len())
            .map(|d| part.hi[d] - part.lo[d])
            .product();
        let row = |row: usize| (row - held.lo[0]) * row_len;
        Self::Run(row(part.lo[0])..row(part.hi[0]))
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Run(run) => run.len(),
            Self::Listed(list) => list.len(),
            Self::Runs(runs) => runs.iter().map(ExactSizeIterator::len).sum(),
            Self::Box { part, .. } => part.len(),
        }
    }

    /// How many items a memory has at least that has these.
    pub(super) fn end(&self) -> usize {
        match self {
            Self::Run(run) => run.end,
            Self::Listed(list) => list.iter().max().map_or(0, |&last| last as usize + 1),
            Self::Runs(runs) => runs.iter().map(|run| run.end).max().unwrap_or(0),
            Self::Box { held, .. } => held.len(),
        }
    }

    /// Calls `visit(place in memory, place in the message, items)` for runs of items.
    pub(crate) fn for_each_run(&self, mut visit: impl FnMut(usize, usize, usize)) {
        match self {
            Self::Run(run) => visit(run.start, 0, run.len()),
            Self::Listed(list) => {
                let places = list.iter().enumerate();
                places.for_each(|(number, &place)| visit(place as usize, number, 1));
            }
            Self::Runs(runs) => {
                let mut before = 0;
                for run in runs {
                    visit(run.start, before, run.len());
                    before += run.len();
                }
            }
            Self::Box { held, part } => held.for_each_run(part, visit),
        }
    }

    /// The places of what belongs to these items, of which each has a run of its own.
    pub(super) fn of_runs(&self, run: impl Fn(usize) -> Range<usize>) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        self.for_each_run(|place, _, len| {
            for run in (place..place + len).map(&run) {
                match runs.last_mut() {
                    _ if run.is_empty() => {}
                    Some(last) if last.end == run.start => last.end = run.end,
                    _ => runs.push(run),
                }
            }
        });
        match <[_; 1]>::try_from(runs) {
            Ok([run]) => Self::Run(run),
            Err(runs) => Self::Runs(runs),
        }
    }

    /// Copies the items from memory to a message. The caller has compared the lengths.
    pub(crate) fn take(&self, item: Item, from: &[u8], to: &mut [u8]) {
        match (self, item.size) {
            (Self::Listed(list), 4) => take_listed::<4>(list, from, to),
            (Self::Listed(list), 8) => take_listed::<8>(list, from, to),
            (Self::Listed(list), 16) => take_listed::<16>(list, from, to),
            (_, size) => self.for_each_run(|place, number, len| {
                let run = &from[place * size..(place + len) * size];
                to[number * size..(number + len) * size].copy_from_slice(run);
            }),
        }
    }

    /// Copies the items of a message to memory. The caller has compared the lengths.
    pub(crate) fn put(&self, item: Item, from: &[u8], to: &mut [u8]) {
        let size = item.size;
        self.for_each_run(|place, number, len| {
            let run = &from[number * size..(number + len) * size];
            to[place * size..(place + len) * size].copy_from_slice(run);
        });
    }
}

/// Without a copy of a length that only the run knows.
fn take_listed<const SIZE: usize>(list: &[u32], from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<SIZE>();
    let (to, _) = to.as_chunks_mut::<SIZE>();
    for (to, &place) in to.iter_mut().zip(list) {
        *to = from[place as usize];
    }
}
