//! Tasks within a host task: functions that its function spawns, on the threads that it has, and
//! waits for.
//!
//! They are local to the call: no window, no other rank and no later task sees them, so they need
//! no names and no blocks, and may borrow what the function holds.
//!
//! The functions wait in a list under one lock. The threads that the task has take the last one
//! that was spawned, run it outside of the lock, and sleep where the list is empty while others
//! run, since those may spawn more. The last one to end wakes all, who find the list empty and
//! nothing running, and leave. A function that panics has ended too.

use super::calling;
use super::host_args::HostArgs;
use crate::error::Error;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a function may spawn more functions in: see [`HostArgs::scope`].
pub struct Scope<'s, 'e> {
    spawned: &'s Spawned<'e>,
    /// Which one of its parent's functions this is of, from the outermost on.
    path: Vec<u32>,
    /// How many it has spawned.
    children: Cell<u32>,
}

type Function<'e> = Box<dyn FnOnce(&Scope<'_, 'e>) -> Result<(), Error> + Send + 'e>;

/// What the threads of a scope share.
#[derive(Default)]
struct Spawned<'e> {
    list: Mutex<List<'e>>,
    changed: Condvar,
}

#[derive(Default)]
struct List<'e> {
    waiting: Vec<(Vec<u32>, Function<'e>)>,
    running: usize,
    sleeping: usize,
    /// The failure that comes first in the order of paths.
    failure: Option<(Vec<u32>, Error)>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'e> Scope<'_, 'e> {
    /// Lets one of the task's threads call a function, which may spawn more, at any time before the
    /// scope ends.
    pub fn spawn(&self, function: impl FnOnce(&Scope<'_, 'e>) -> Result<(), Error> + Send + 'e) {
        let mut path = self.path.clone();
        path.push(self.children.replace(self.children.get() + 1));
        let mut list = self.spawned.lock();
        list.waiting.push((path, Box::new(function)));
        if list.sleeping > 0 {
            self.spawned.changed.notify_one();
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({:?})", self.path)
    }
}

impl HostArgs<'_> {
    /// Calls a function that may spawn others ([`Scope::spawn`]), and waits until all have ended.
    /// They run on the threads that the task has: those that it said it needs
    /// ([`NewTask::threads`](crate::NewTask::threads)), or all of the rank where it runs by itself.
    /// They are ordered by nothing else, so a second step is a second scope. A scope within one of
    /// them runs on its thread alone.
    ///
    /// ```
    /// use sparsefuse_runtime::{Runtime, Shape, TaskSpace};
    ///
    /// let runtime = Runtime::current();
    /// let grid = runtime.store_from_vec(Shape::new(&[2, 3]), vec![1.0; 6])?;
    /// let mut space = TaskSpace::new(&runtime, "rows");
    /// space.unnamed_task().updates(&grid).run(|args| {
    ///     let mut block = args.block_mut::<f64>(0)?;
    ///     args.scope(|scope| {
    ///         for (number, row) in block.rows_mut().enumerate() {
    ///             scope.spawn(move |_| {
    ///                 row.fill(number as f64);
    ///                 Ok(())
    ///             });
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// assert_eq!(runtime.read::<f64>(&grid, None)?, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That of `function`, which comes first, or of the first function that fails, in the order of
    /// the calls of `spawn`: all of them run, on any number of threads.
    ///
    /// # Panics
    ///
    /// If one of them panics, when all have ended.
    pub fn scope<'e>(
        &self,
        function: impl FnOnce(&Scope<'_, 'e>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let spawned = Spawned::default();
        let outermost = Scope {
            spawned: &spawned,
            path: Vec::new(),
            children: Cell::new(0),
        };
        let outcome = function(&outermost);
        if outermost.children.get() > 1 {
            self.note_division();
        }
        let runtimes = calling::calling();
        self.workers.run(self.workers.count(), |_| {
            calling::within(&runtimes, || spawned.work());
        });
        let list = spawned.list.into_inner();
        let list = list.unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = list.panic {
            resume_unwind(panic);
        }
        outcome.and(list.failure.map_or(Ok(()), |(_, cause)| Err(cause)))
    }
}

impl<'e> Spawned<'e> {
    /// Calls functions until none waits or runs.
    fn work(&self) {
        let mut list = self.lock();
        loop {
            let Some((path, function)) = list.waiting.pop() else {
                if list.running == 0 {
                    return;
                }
                list.sleeping += 1;
                let woken = self.changed.wait(list);
                list = woken.unwrap_or_else(PoisonError::into_inner);
                list.sleeping -= 1;
                continue;
            };
            list.running += 1;
            drop(list);
            let scope = Scope {
                spawned: self,
                path,
                children: Cell::new(0),
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| function(&scope)));
            list = self.lock();
            list.running -= 1;
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(cause)) => list.fail(scope.path, cause),
                Err(panic) => {
                    list.panic.get_or_insert(panic);
                }
            }
            if list.running == 0 && list.waiting.is_empty() {
                self.changed.notify_all();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, List<'e>> {
        // Functions run outside of the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List<'_> {
    fn fail(&mut self, path: Vec<u32>, cause: Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| path < *first) {
            self.failure = Some((path, cause));
        }
    }
}
