//! Parts: which outer rows of each loop of a chain a thread runs.
//!
//! A thread runs rows of all loops, in the order of the chain, beside other threads. So a row of it
//! must have no byte in common with a row of an earlier loop that another thread runs: where two
//! threads meet, each later loop leaves out some rows more on either side. When all threads have
//! ended, these are run, for each meeting of two threads by one of them, loop after loop.

use super::reach::Wait;
use std::ops::Range;

/// The rows of one loop.
#[derive(Debug)]
pub(crate) struct Parts {
    rows: i64,
    /// For each meeting of two threads, where the part of the first one ends and that of the second
    /// one begins.
    cuts: Vec<[i64; 2]>,
}

impl Parts {
    /// The parts of a loop of this number of rows that waits for loops with these parts, cut as
    /// near as possible to the nominal places. `None` if there are not rows enough, so that what is
    /// left at one meeting of threads depends on what is left at the next.
    pub(super) fn new<'a>(
        rows: i64,
        threads: usize,
        nominal: impl Fn(usize) -> i64,
        waits: impl Iterator<Item = (&'a Self, &'a Wait)> + Clone,
    ) -> Option<Self> {
        let cut = |number: usize| {
            let nominal = nominal(number);
            let ends = waits
                .clone()
                .map(|(of, wait)| wait.allowed(of.cuts[number - 1][0]));
            let end = ends.fold(nominal, i64::min);
            let begins = waits
                .clone()
                .map(|(of, wait)| wait.first_behind(of.cuts[number - 1][1]));
            [end, begins.fold(nominal, i64::max)]
        };
        let cuts = (1..threads).map(cut).collect();
        let parts = Self { rows, cuts };
        let is_apart = |thread: usize| {
            let Range { start, end } = parts.own(thread);
            let is_between = 0 < thread && thread + 1 < threads;
            start <= end
                && (!is_between
                    || waits.clone().all(|(of, wait)| {
                        let own = of.own(thread);
                        wait.first_behind(own.start) <= end && start <= wait.allowed(own.end)
                    }))
        };
        (0..threads).all(is_apart).then_some(parts)
    }

    /// What a thread runs beside the others.
    pub(crate) fn own(&self, thread: usize) -> Range<i64> {
        let begin = thread.checked_sub(1).map_or(0, |cut| self.cuts[cut][1]);
        let end = self.cuts.get(thread).map_or(self.rows, |cut| cut[0]);
        begin..end
    }

    /// What is left between a thread and the next one.
    pub(crate) fn left(&self, thread: usize) -> Range<i64> {
        self.cuts.get(thread).map_or(0..0, |cut| cut[0]..cut[1])
    }
}
