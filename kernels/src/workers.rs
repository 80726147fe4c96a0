//! The threads of one rank.
//!
//! [`Workers::run`] splits work into parts; part `i` runs on thread `i` modulo the number of
//! threads, so that a part finds in its caches what it left there. Thread 0 is the caller; the
//! others wait in a pool of their own.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// The threads of one rank: the calling thread and `count() - 1` others.
#[derive(Debug)]
pub struct Workers {
    count: usize,
    pool: Option<ThreadPool>,
}

impl Workers {
    /// `count` threads, at least one.
    ///
    /// # Errors
    /// When the operating system refuses to start a thread.
    pub fn new(count: usize) -> Result<Self, ThreadPoolBuildError> {
        let count = count.max(1);
        let pool = match count {
            1 => None,
            _ => Some(
                ThreadPoolBuilder::new()
                    .num_threads(count - 1)
                    .thread_name(|i| format!("sparsefuse-{}", i + 1))
                    .build()?,
            ),
        };
        Ok(Self { count, pool })
    }

    /// The number of threads, the caller's included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Calls `work(i)` for each `i` in `0..parts` and returns when all are done; the caller runs
    /// part 0, and a single part costs nothing more than the call.
    ///
    /// # Panics
    /// When a part panics, after all parts have ended.
    pub fn run(&self, parts: usize, work: impl Fn(usize) + Sync) {
        let Some(pool) = self.pool.as_ref().filter(|_| parts > 1) else {
            (0..parts).for_each(work);
            return;
        };
        let every_count = |first: usize| (first..parts).step_by(self.count);
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, context| every_count(context.index() + 1).for_each(&work));
            every_count(0).for_each(&work);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_part_runs_once() {
        for count in 1..4 {
            let workers = Workers::new(count).unwrap();
            assert_eq!(workers.count(), count);
            for parts in 0..6 {
                let runs: Vec<_> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                workers.run(parts, |i| {
                    runs[i].fetch_add(1, Ordering::SeqCst);
                });
                assert!(runs.iter().all(|n| n.load(Ordering::SeqCst) == 1));
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_threads_live_on() {
        for count in 1..4 {
            let workers = Workers::new(count).unwrap();
            for guilty in 0..3 {
                let run = || workers.run(3, |i| assert!(i != guilty, "part {i}"));
                assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
            }
            workers.run(3, |_| ());
        }
    }
}
