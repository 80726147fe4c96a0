//! Threads of a rank for work on files, which is done while no task is under way.
//!
//! The caller says how work is divided, and does so by the data alone; so results are the same on
//! any number of threads.

use sparsefuse_kernels::Workers;
use sparsefuse_runtime::Runtime;
use std::sync::{Mutex, PoisonError};

/// As many threads as the rank has, if there are as many bytes that it is worth to start them.
pub(crate) fn crew(runtime: &Runtime, bytes: u64) -> Workers {
    /// Below this one thread is done before others have begun.
    const FEW: u64 = 1 << 20;
    let threads = runtime.config().threads;
    let started = (bytes >= FEW && threads > 1).then(|| Workers::new(threads).ok());
    started.flatten().unwrap_or_else(Workers::alone)
}

/// What `work` makes of each item, in their order.
pub(crate) fn map<I: Send, R: Send>(
    workers: &Workers,
    items: Vec<I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    // A thread takes an item out of its place, and puts there what it has made of it.
    let places = items.into_iter().map(|item| Mutex::new((Some(item), None)));
    let places: Vec<_> = places.collect();
    workers.run(places.len(), |number| {
        let mut place = places[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        place.1 = place.0.take().map(&work);
    });
    let made = places.into_iter().map(Mutex::into_inner);
    let made = made.map(|place| place.unwrap_or_else(PoisonError::into_inner).1);
    made.flatten().collect()
}
