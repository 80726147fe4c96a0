//! Work of one rank on its threads: loops over items that have nothing to do with each other.
//!
//! The caller says how work is divided, and does so by the data alone; the threads only take turns
//! at the items. So results are the same on any number of threads.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows and entries of a part: enough that taking turns costs nothing, and few enough that what a
/// part writes stays in a core's cache.
const PART: u64 = 1 << 15;

thread_local! {
    /// Whether this thread is one of [`Threads`]. A program may have rayon threads of its own.
    static IS_FOR_ROWS: Cell<bool> = const { Cell::new(false) };
}

/// The threads of a rank for work on structures. A handle that is cheap to clone.
///
/// The threads sleep while there is nothing to do for them, and end when the last handle is
/// dropped. The one that asks waits meanwhile: so no work waits for a thread that has not come yet,
/// and as many threads work as were asked for.
#[derive(Clone)]
pub struct Threads {
    /// `None` for one thread, the one that asks.
    pool: Option<Arc<ThreadPool>>,
}

impl Threads {
    /// This many threads. Where the system refuses them, the one that asks does all the work.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let pool = (threads > 1).then(|| {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            builder
                .thread_name(|number| format!("sparsefuse-rows-{number}"))
                .start_handler(|_| IS_FOR_ROWS.set(true))
                .build()
        });
        let pool = pool.and_then(Result::ok).map(Arc::new);
        Self { pool }
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pool
            .as_ref()
            .map_or(1, |pool| pool.current_num_threads())
    }

    /// Whether the caller is one of the threads of a rank, and not the rank itself.
    pub(crate) fn are_at_work_here() -> bool {
        IS_FOR_ROWS.get()
    }

    /// Calls `work` with each of `0..count`. Not generic: the machinery of rayon is long, and is
    /// compiled once and not for every loop.
    fn each_number(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        match &self.pool {
            Some(pool) if count > 1 => apart(|| {
                pool.install(|| (0..count).into_par_iter().with_max_len(1).for_each(work));
            }),
            _ => (0..count).for_each(work),
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threads({})", self.count())
    }
}

/// What `wait` returns, which waits for threads of a rank. A rayon thread of the program would run
/// other jobs of the program meanwhile, on top of this one and as if they were part of it (another
/// runtime may be the current one there); so another thread waits in its place.
fn apart<R: Send>(wait: impl FnOnce() -> R + Send) -> R {
    if Threads::are_at_work_here() || rayon::current_thread_index().is_none() {
        return wait();
    }
    // Called once, here or there; a thread that the system refuses has not called it.
    let wait = Mutex::new(Some(wait));
    let call = || {
        let wait = wait.lock().unwrap_or_else(PoisonError::into_inner).take();
        wait.map(|wait| wait())
    };
    let result =
        std::thread::scope(
            |scope| match std::thread::Builder::new().spawn_scoped(scope, call) {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => call(),
            },
        );
    result.expect("it is called once")
}

/// What `work` makes of each item, in their order. It is compiled for every `work`, so it has plain
/// loops: chains of iterators are a dozen functions each time.
#[must_use]
pub fn map<I: Send, R: Send>(
    threads: &Threads,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync + Send,
) -> Vec<R> {
    // A thread takes an item out of its place, and puts there what it has made of it.
    let mut places = Vec::new();
    for item in items {
        places.push(Mutex::new((Some(item), None)));
    }
    threads.each_number(places.len(), &|number| {
        // Nothing panics while it is locked.
        let place = || {
            places[number]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let item = place().0.take();
        let made = item.map(&work);
        place().1 = made;
    });
    let mut all = Vec::with_capacity(places.len());
    for place in places {
        let place = place.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (_, Some(made)) = place {
            all.push(made);
        }
    }
    all
}

/// What two functions return: both at the same time if there is more than one thread.
pub(crate) fn join<A: Send, B: Send>(
    threads: &Threads,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    match &threads.pool {
        Some(pool) => apart(|| pool.join(first, second)),
        None => {
            let first = first();
            (first, second())
        }
    }
}

/// As [`map`], with something that `work` may use again for other items, and that does not show.
#[must_use]
pub fn map_with<I: Send, S: Send, R: Send>(
    threads: &Threads,
    items: impl IntoIterator<Item = I>,
    make: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> R + Sync + Send,
) -> Vec<R> {
    // A panic while it is locked leaves it whole: it is only pushed and popped.
    let spare = Mutex::new(Vec::new());
    let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    map(threads, items, |item| {
        let again = spare().pop();
        let mut again = again.unwrap_or_else(&make);
        let made = work(&mut again, item);
        spare().push(again);
        made
    })
}

/// Calls `work` with each item.
pub fn each<I: Send>(
    threads: &Threads,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) + Sync + Send,
) {
    let _nothing: Vec<()> = map(threads, items, work);
}

/// As [`each`], with something that `work` may use again for other items, and that does not show.
pub fn each_with<I: Send, S: Send>(
    threads: &Threads,
    items: impl IntoIterator<Item = I>,
    make: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) + Sync + Send,
) {
    let _nothing: Vec<()> = map_with(threads, items, make, work);
}

/// Neighbouring rows that have about as many entries as others together: the rows whose positions
/// these are.
#[must_use]
pub fn parts(pos: &[u64]) -> Vec<Range<usize>> {
    parts_of(pos, PART)
}

/// As [`parts`], with about this many rows and entries each.
#[must_use]
pub fn parts_of(pos: &[u64], wanted_load: u64) -> Vec<Range<usize>> {
    parts_by(pos.len() - 1, wanted_load, |row| pos[row] - pos[0])
}

/// As [`parts`], of this many rows, by the work that those before a row are.
pub(crate) fn parts_of_work(n_rows: usize, before: impl Fn(usize) -> u64) -> Vec<Range<usize>> {
    parts_by(n_rows, PART, before)
}

fn parts_by(n_rows: usize, wanted_load: u64, before: impl Fn(usize) -> u64) -> Vec<Range<usize>> {
    // Rows count as entries do, so that many empty ones are shared out too.
    let load = |row: usize| before(row) + row as u64;
    let n_parts = load(n_rows) / wanted_load.max(1) + 1;
    let mut parts = Vec::with_capacity(n_rows.min(n_parts as usize));
    let mut start = 0;
    while start < n_rows {
        let wanted = load(start) + wanted_load;
        let rest = start + 1..n_rows;
        let end = start + 1 + partition_point(rest, |row| load(row) < wanted);
        parts.push(start..end);
        start = end;
    }
    parts
}

/// How many of the first numbers of a range a monotonous condition holds for.
fn partition_point(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low - range.start
}

/// Ranges of equal length that make up `0..len`, the last one perhaps shorter.
#[must_use]
pub fn chunks(len: usize, chunk: usize) -> Vec<Range<usize>> {
    (0..len)
        .step_by(chunk)
        .map(|start| start..(start + chunk).min(len))
        .collect()
}

/// A slice cut after the given numbers of elements, which add up to its length.
#[must_use]
pub fn split<T>(mut whole: &mut [T], lens: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let mut parts = Vec::new();
    for len in lens {
        let (part, rest) = whole.split_at_mut(len);
        parts.push(part);
        whole = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_rows_in_order() {
        for n_rows in [0usize, 1, 5, 100_000] {
            for most in [0, 1, 9, 100_000u64] {
                let mut pos = vec![7u64];
                for row in 0..n_rows as u64 {
                    pos.push(pos[row as usize] + (row * 7919) % (most + 1));
                }
                let parts = parts(&pos);
                let starts: Vec<_> = parts.iter().map(|part| part.start).collect();
                let ends: Vec<_> = parts.iter().map(|part| part.end).collect();
                assert_eq!(starts.first().copied().unwrap_or(0), 0);
                assert_eq!(ends.last().copied().unwrap_or(0), n_rows);
                assert_eq!(
                    starts.get(1..).unwrap_or(&[]),
                    &ends[..ends.len().max(1) - 1]
                );
                assert!(parts.iter().all(|part| !part.is_empty()));
            }
        }
    }

    #[test]
    fn items_keep_their_order_on_any_number_of_threads() {
        for count in [1, 2, 5] {
            let threads = Threads::new(count);
            assert_eq!(threads.count(), count);
            for len in [0, 1, 1000] {
                let made = map(&threads, 0..len, |item| 3 * item);
                assert!(made.into_iter().eq((0..len).map(|item| 3 * item)));
            }
            let within = || map(&threads, 0..9, |item| item).len();
            assert_eq!(join(&threads, within, within), (9, 9));
        }
    }

    #[test]
    fn a_panic_is_that_of_the_caller() {
        let threads = Threads::new(2);
        let panics = || each(&threads, 0..100, |item| assert!(item < 50, "item {item}"));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        assert!(outcome.is_err());
        assert_eq!(map(&threads, 0..3, |item| item), [0, 1, 2]);
    }

    #[test]
    fn a_program_may_have_rayon_threads_of_its_own() {
        let theirs = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        theirs.install(|| {
            assert!(!Threads::are_at_work_here());
            let of_rank = Threads::new(2);
            let made = map(&of_rank, 0..9, |item| (item, Threads::are_at_work_here()));
            assert!(made.into_iter().eq((0..9).map(|item| (item, true))));
        });
    }

    #[test]
    fn no_other_job_of_the_program_runs_where_a_rank_waits() {
        thread_local! {
            static IS_BUSY: Cell<bool> = const { Cell::new(false) };
        }
        let theirs = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let of_rank = Threads::new(2);
        let job = |item: usize| {
            assert!(
                !IS_BUSY.replace(true),
                "one job ends before the next begins"
            );
            let moment = |_| std::thread::yield_now();
            each(&of_rank, 0..100, moment);
            let within = || each(&of_rank, 0..10, moment);
            join(&of_rank, within, within);
            IS_BUSY.set(false);
            item
        };
        let sum: usize = theirs.install(|| (0..20).into_par_iter().map(job).sum());
        assert_eq!(sum, 190);
        let panics = || theirs.install(|| each(&of_rank, 0..9, |item| assert!(item < 5)));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    }
}
