//! Rings: temporary arrays of a chain of which a thread keeps the rows that are in use.
//!
//! What a loop of a chain writes and a later one reads lies in the cache of the core at that time.
//! If it is an array in memory, though, it is written there at some time, and its cache lines are
//! fetched from there first: a chain of thirty loops moves some dozens of arrays that nothing else
//! will ever read. Such an array has a window in place of them: memory of a thread that holds the
//! rows from the first one on that will be reached again. From time to time these rows move to the
//! front of it.
//!
//! It is known of a memory that only loops of the chain reach it, in arrays that are temporary. So
//! when a thread runs its rows, it finds in the window whatever the memory would have held, since
//! it has written that before; and the memory is touched only where two threads meet. What is left
//! there, and run when all have ended, finds the rows that it reaches in the memory: each thread
//! puts those there that it has written.

use super::parts::Parts;
use super::reach::Reach;
use crate::ir::ArgId;
use std::ops::Range;

/// A memory of which threads keep the rows that are in use.
#[derive(Debug)]
pub(crate) struct Ring {
    /// All arguments that are this memory.
    pub(crate) args: Vec<ArgId>,
    /// The one from whose address on others count: one that a loop reaches, so that a plan which
    /// fits a launch knows where the others lie.
    pub(crate) origin: ArgId,
    touches: Vec<Touch>,
    /// The bytes that are in use at a time, at most.
    window: i64,
    /// The bytes from row to row.
    step: i64,
}

/// What a loop reaches.
#[derive(Clone, Copy, Debug)]
struct Touch {
    /// The number of the loop in the chain.
    link: usize,
    reach: Reach,
    is_written: bool,
}

/// What a thread has run of the loops of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress<'a> {
    /// What it runs of each.
    pub(crate) own: &'a [Range<i64>],
    /// The first row of each that it has not run.
    pub(crate) next: &'a [i64],
}

/// The bytes of a memory that what is left between threads reaches: those below the first number
/// belong to the meeting with the thread before, those from the second one on to that with the
/// next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seams(i64, i64);

impl Ring {
    /// The ring of a memory that loops of a chain reach so; `None` where their rows do not follow
    /// each other, all at the same distance, or more than there are would be in use at a time.
    pub(super) fn of(
        args: &[ArgId],
        (arg, origin): (ArgId, i64),
        (lags, band): (&[i64], i64),
        reaches: &[(usize, Reach, bool)],
    ) -> Option<Self> {
        let touches = reaches.iter().map(|&(link, reach, is_written)| Touch {
            link,
            reach: reach.behind(origin),
            is_written,
        });
        let touches: Vec<_> = touches.collect();
        let steps = touches.iter().map(|touch| touch.reach.step());
        let step = steps.max().filter(|&step| step > 0)?;
        let follows = |touch: &Touch| touch.reach.follows(step);
        if !touches.iter().all(follows) {
            return None;
        }
        // Where the rows would lie that each loop reaches when the first one is at its row 0.
        let at = |touch: &Touch| touch.reach.row(0).start - lags[touch.link] * step;
        let ends = |touch: &Touch| at(touch) + touch.reach.row(0).end - touch.reach.row(0).start;
        let low = touches.iter().map(at).min()?;
        let high = touches.iter().map(ends).max()?;
        let window = high - low + (band - 1) * step;
        // One number may stand for memory in two places, which no window holds both of.
        let bytes = touches.iter().map(|touch| touch.reach.bytes()).max()?;
        (window <= 4 * bytes).then(|| Self {
            args: args.to_vec(),
            origin: arg,
            touches,
            window,
            step,
        })
    }

    /// The bytes from row to row.
    pub(crate) fn step(&self) -> i64 {
        self.step
    }

    /// The bytes of a window with room for some rows besides those in use.
    pub(crate) fn capacity(&self, more: i64) -> i64 {
        self.window + more * self.step
    }

    /// The first byte that the thread will reach; `None` if it will reach none.
    pub(crate) fn begin(&self, progress: Progress<'_>) -> Option<i64> {
        let starts = self.touches.iter().filter_map(|touch| {
            let next = progress.next[touch.link];
            (next < progress.own[touch.link].end).then(|| touch.reach.row(next).start)
        });
        starts.min()
    }

    /// Behind the last byte that the thread has reached; `None` if it has reached none.
    pub(crate) fn end(&self, progress: Progress<'_>) -> Option<i64> {
        let ends = self.touches.iter().filter_map(|touch| {
            let next = progress.next[touch.link];
            (next > progress.own[touch.link].start).then(|| touch.reach.row(next - 1).end)
        });
        ends.max()
    }

    /// What is left on both sides of a thread's rows, where loops have these parts.
    pub(crate) fn seams(&self, parts: &[&Parts], thread: usize) -> Seams {
        let left = |thread: usize| {
            let touches = self.touches.iter().map(move |touch| {
                let rows = parts[touch.link].left(thread);
                (touch, rows)
            });
            touches.filter(|(_, rows)| !rows.is_empty())
        };
        let ends = (thread > 0)
            .then(|| left(thread - 1).map(|(touch, rows)| touch.reach.row(rows.end - 1).end));
        let starts = left(thread).map(|(touch, rows)| touch.reach.row(rows.start).start);
        Seams(
            ends.into_iter().flatten().max().unwrap_or(i64::MIN),
            starts.min().unwrap_or(i64::MAX),
        )
    }

    /// The bytes of rows that the thread has written and that what is left reaches, of those that
    /// begin in a range.
    pub(crate) fn for_seams(
        &self,
        begins: Range<i64>,
        Seams(below, from): Seams,
        progress: Progress<'_>,
    ) -> impl Iterator<Item = Range<i64>> {
        let written = self.touches.iter().filter(|touch| touch.is_written);
        let rows = written.flat_map(move |touch| {
            let own = progress.own[touch.link].start..progress.next[touch.link];
            let first = touch.reach.first_from(begins.start).max(own.start);
            let end = touch.reach.first_from(begins.end).min(own.end);
            (first..end).map(|row| touch.reach.row(row))
        });
        rows.filter(move |row| row.start < below || row.end > from)
    }
}
