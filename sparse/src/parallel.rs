//! Work of one rank on its threads: loops over items that have nothing to do with each other.
//!
//! How work is divided is for the caller to say and follows from the data alone; the threads only
//! take turns at the items. So results are the same on any number of threads.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sparsefuse_runtime::Runtime;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows and entries of a part: enough that taking turns costs nothing, and few enough that what a
/// part writes stays in a core's cache.
const PART: u64 = 1 << 15;

/// What `work` makes of each item, in their order, on the threads of a rank.
#[must_use]
pub fn map<I: Send, R: Send>(
    runtime: &Runtime,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync + Send,
) -> Vec<R> {
    map_on(runtime.config().threads, items, work)
}

/// As [`map`], on this many threads. It is compiled for every `work`, so it has plain loops: chains of
/// iterators are a dozen functions each time.
pub(crate) fn map_on<I: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync + Send,
) -> Vec<R> {
    // Whoever works on an item takes it out of its place, and puts there what it has made.
    let mut places = Vec::new();
    for item in items {
        places.push(Mutex::new((Some(item), None)));
    }
    each_number(threads, places.len(), &|number| {
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
    threads: usize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    match pool(threads) {
        Some(pool) => pool.join(first, second),
        None => {
            let first = first();
            (first, second())
        }
    }
}

/// As [`map`], with something that `work` may use again for other items, and that does not show.
#[must_use]
pub fn map_with<I: Send, S: Send, R: Send>(
    runtime: &Runtime,
    items: impl IntoIterator<Item = I>,
    make: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> R + Sync + Send,
) -> Vec<R> {
    // A panic while it is locked leaves it whole: it is only pushed and popped.
    let spare = Mutex::new(Vec::new());
    let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    map(runtime, items, |item| {
        let again = spare().pop();
        let mut again = again.unwrap_or_else(&make);
        let made = work(&mut again, item);
        spare().push(again);
        made
    })
}

/// Calls `work` with each item, on the threads of a rank.
pub fn each<I: Send>(
    runtime: &Runtime,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) + Sync + Send,
) {
    let _nothing: Vec<()> = map(runtime, items, work);
}

/// As [`each`], with something that `work` may use again for other items, and that does not show.
pub fn each_with<I: Send, S: Send>(
    runtime: &Runtime,
    items: impl IntoIterator<Item = I>,
    make: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) + Sync + Send,
) {
    let _nothing: Vec<()> = map_with(runtime, items, make, work);
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
    let n_rows = pos.len() - 1;
    // Rows count as entries do, so that many empty ones are shared out too.
    let load = |row: usize| pos[row] - pos[0] + row as u64;
    let mut parts = Vec::with_capacity((load(n_rows) / wanted_load.max(1)) as usize + 1);
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

/// Calls `work` with each of `0..count`, on this many threads. Not generic: the machinery of rayon is
/// long, and is compiled once and not for every loop.
fn each_number(threads: usize, count: usize, work: &(dyn Fn(usize) + Sync)) {
    match pool(threads) {
        Some(pool) if count > 1 => {
            pool.install(|| (0..count).into_par_iter().with_max_len(1).for_each(work));
        }
        _ => (0..count).for_each(work),
    }
}

/// One thread pool for each thread count; `None` for one thread. Ranks of one process share them.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    if threads <= 1 {
        return None;
    }
    // A panic while they are locked leaves them whole: they are only inserted.
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Some(Arc::clone(pool));
    }
    // Where the system has no more threads, the caller does the work.
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    let pool = Arc::new(pool);
    pools.insert(threads, Arc::clone(&pool));
    Some(pool)
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
}
