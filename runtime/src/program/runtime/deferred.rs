//! Deferred results: what a host task finds, with a size that only its function knows.
//!
//! [`Runtime::submit_deferred`] issues a task like any other: it has its place in the window, and
//! the program goes on. As far as the window is concerned it writes one store, of one `bool` for
//! each rank, so order, waiting, failures and the agreement of ranks are those of every host task.
//! What the function returns is kept beside it, on each rank its own, until [`Deferred::get`] takes
//! it. The ranks agree on cuts only then, where the program makes a store of it ([`Part`]).

use super::Runtime;
use super::handle::StoreHandle;
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::memory::room::Room;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::host::{HostBody, HostTask};
use crate::tasks::host_args::HostArgs;
use sparsefuse_kernels::{DType, Element};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The result of a host task that may not have run yet: see [`Runtime::submit_deferred`]. If it is
/// dropped, the task runs with its window all the same, and its result is dropped.
#[must_use = "the result is what `get` returns"]
pub struct Deferred<R> {
    done: StoreHandle,
    finish: Box<Finish<R>>,
}

/// What gives the result once the task has ended.
type Finish<R> = dyn FnOnce(&Runtime) -> Result<R, Error> + Send;

/// What a rank has found of the elements of a vector.
#[derive(Debug)]
pub enum Part<T> {
    /// Those of this rank, which come after those of the ranks before it.
    Own(Room<T>),
    /// All of them, as every other rank has.
    All(Room<T>),
}

impl Runtime {
    /// Issues a host task whose function finds how much it returns, and goes on: the task has its
    /// place in the window, as one of [`Runtime::submit_host`]. [`Deferred::get`] waits for the
    /// result.
    ///
    /// The function reads what each rank holds of some stores ([`Access::Held`]), numbered in this
    /// order. What it returns on a rank is the result on that rank. If the function of one rank
    /// fails or panics, the result is that failure on all of them. A plan does not call it: there
    /// the result is what `planned` returns.
    ///
    /// ```
    /// use sparsefuse_runtime::{Part, Runtime, Shape};
    ///
    /// let runtime = Runtime::current();
    /// let x = runtime.store_from_vec(Shape::new(&[4]), vec![3.0, -1.0, 2.0, -5.0])?;
    /// // The negative elements. On several ranks each finds those of its own.
    /// let planned = |runtime: &Runtime| Ok(Part::Own(runtime.room(1)?));
    /// let negative = runtime.submit_deferred("negative", &[&x], planned, |args| {
    ///     let x = args.read::<f64>(0)?;
    ///     let negative = || x.iter().copied().filter(|&x| x < 0.0);
    ///     let mut found = args.room(negative().count())?;
    ///     found.iter_mut().zip(negative()).for_each(|(found, x)| *found = x);
    ///     Ok(match args.cuts(0) {
    ///         Some(_) => Part::Own(found),
    ///         None => Part::All(found),
    ///     })
    /// })?;
    /// let negative = negative.then(|runtime, part| runtime.store_of_part(part));
    /// // Tasks that are issued here are in the same window.
    /// let negative = negative.get()?;
    /// assert_eq!(runtime.read::<f64>(&negative, None)?, [-1.0, -5.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a store belongs to another runtime, or nothing has written it.
    pub fn submit_deferred<R: Send + 'static>(
        &self,
        name: &str,
        reads: &[&StoreHandle],
        planned: impl FnOnce(&Self) -> Result<R, Error> + Send + 'static,
        function: impl FnOnce(&mut HostArgs<'_>) -> Result<R, Error> + Send + 'static,
    ) -> Result<Deferred<R>, Error> {
        let done = self.new_store(Shape::new(&[self.ranks()]), DType::Bool);
        let result = Arc::new(Mutex::new(None));
        let (kept, number) = (Arc::clone(&result), reads.len());
        let task = HostTask::once(move |args| {
            args.write::<bool>(number)?.fill(true);
            let found = function(args)?;
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            Ok(())
        });
        self.submit_one_each(name, reads, &done, task)?;
        let finish = move |runtime: &Self| {
            let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
            match result.take() {
                Some(found) => Ok(found),
                None if runtime.shared.computes => unreachable!("a task that has run has a result"),
                None => planned(runtime),
            }
        };
        Ok(Deferred {
            done,
            finish: Box::new(finish),
        })
    }

    /// Issues a task that writes one element on each rank; apart from [`Runtime::submit_deferred`],
    /// which is compiled for every function.
    fn submit_one_each(
        &self,
        name: &str,
        reads: &[&StoreHandle],
        done: &StoreHandle,
        task: HostTask,
    ) -> Result<(), Error> {
        let read = |store: &&StoreHandle| (Privilege::Read, Access::Held, store.dtype());
        let mut declared: Vec<_> = reads.iter().map(read).collect();
        declared.push((Privilege::Write, Access::Rows, DType::Bool));
        let mut args = reads.to_vec();
        args.push(done);
        let launch = match self.ranks() {
            1 => None,
            ranks => Some(self.partition_at(&(0..=ranks).collect::<Vec<_>>())?),
        };
        let task = HostTask { launch, ..task };
        self.submit_host(&HostBody::new(name, &declared), &args, task)
    }

    /// A vector of what the ranks have found, cut as it was found. Every rank must call it.
    ///
    /// # Errors
    ///
    /// If some ranks have found all and others their own, or not the same number of all.
    pub fn store_of_part<T: Element>(&self, part: Part<T>) -> Result<StoreHandle, Error> {
        let (is_all, room) = match part {
            Part::Own(room) => (false, room),
            Part::All(room) => (true, room),
        };
        if self.ranks() == 1 {
            let shape = Shape::new(&[room.len()]);
            return self.store_of_room(shape, Partition::Replicated, 0..room.len(), room);
        }
        let found = self.all_gather(&[u64::from(is_all), room.len() as u64])?;
        let cuts = match is_all {
            true => vec![0, room.len()],
            false => {
                let ends = found.iter().scan(0, |end, of| {
                    *end += of[1] as usize;
                    Some(*end)
                });
                std::iter::once(0).chain(ends).collect()
            }
        };
        let fits = |of: &Vec<u64>| of[0] == found[0][0] && (of[0] == 0 || of[1] == found[0][1]);
        if let Some(rank) = found.iter().position(|of| !fits(of)) {
            let text =
                |of: &[u64]| format!("{} of {} elements", ["own", "all"][of[0] as usize], of[1]);
            let expected = format!("parts as that of rank 0, {}", text(&found[0]));
            let found = format!("{} on rank {rank}", text(&found[rank]));
            return Err(Error::argument("store_of_part", expected, found));
        }
        let shape = Shape::new(&[cuts[cuts.len() - 1]]);
        if is_all {
            return self.store_of_room(shape, Partition::Replicated, 0..room.len(), room);
        }
        let rows = cuts[self.rank()]..cuts[self.rank() + 1];
        self.store_of_room(shape, self.partition_at(&cuts)?, rows, room)
    }
}

impl<R: 'static> Deferred<R> {
    /// Waits for the task: executes the window up to it, or waits for the one under way that has
    /// it. Every rank must ask.
    ///
    /// # Errors
    ///
    /// That of the task, or of what it reads, on every rank.
    pub fn get(self) -> Result<R, Error> {
        let runtime = self.done.runtime();
        runtime.wait_for_task(&self.done)?;
        (self.finish)(runtime)
    }

    /// The same with something that the program does with the result when it is asked for: it may
    /// call the runtime, which the function of the task must not.
    pub fn then<S>(
        self,
        next: impl FnOnce(&Runtime, R) -> Result<S, Error> + Send + 'static,
    ) -> Deferred<S> {
        let Self { done, finish } = self;
        Deferred {
            done,
            finish: Box::new(move |runtime| next(runtime, finish(runtime)?)),
        }
    }

    /// The runtime that the task belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.done.runtime()
    }
}

impl<R> fmt::Debug for Deferred<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deferred")
    }
}
