//! Task spaces: host tasks with names, ordered by the blocks that they use and by these names.
//!
//! The name of a task is a store of one element that the task writes, so everything that holds for
//! stores holds for names: a task that comes after a name reads it, fails if that task has failed,
//! and whoever waits for a name reads it.

use super::runtime::Runtime;
use super::runtime::handle::{StoreHandle, TaskArg};
use crate::error::Error;
use crate::machine::host::panicked;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::host::{HostBody, HostTask};
use crate::tasks::host_args::HostArgs;
use sparsefuse_kernels::DType;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The name of a task in its space: one to three numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskName {
    len: u8,
    numbers: [usize; 3],
}

impl<const N: usize> From<[usize; N]> for TaskName {
    fn from(given: [usize; N]) -> Self {
        const { assert!(0 < N && N <= 3, "names have one to three numbers") };
        let mut numbers = [0; 3];
        numbers[..N].copy_from_slice(&given);
        Self {
            len: N as u8,
            numbers,
        }
    }
}

impl From<usize> for TaskName {
    fn from(number: usize) -> Self {
        [number].into()
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.numbers[..usize::from(self.len)])
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Tasks with names: Rust functions that the threads of a rank run side by side, each as soon as
/// what it depends on has ended.
///
/// A task says which blocks of stores it reads ([`NewTask::reads`]) and which it changes in place
/// ([`NewTask::updates`]), and after which other tasks it comes ([`NewTask::after`]). Of two tasks
/// that use the same elements, one of which changes them, the one that was issued later waits for
/// the earlier one. On one thread tasks run in the order in which they were issued. The results are
/// the same on any number of threads.
///
/// ```
/// use sparsefuse_runtime::{Runtime, Shape, TaskSpace, View};
/// use std::sync::Arc;
///
/// // Sums over growing rectangles: each block needs those above and to the left of it.
/// let runtime = Runtime::current();
/// let grid = runtime.store_from_vec(Shape::new(&[4, 4]), vec![1.0; 16])?;
/// let block = |i: usize, j: usize| {
///     let rows = View::identity(grid.shape()).slice(0, 2 * i..2 * i + 2, 1)?;
///     Ok::<_, sparsefuse_runtime::Error>(Arc::new(rows.slice(1, 2 * j..2 * j + 2, 1)?))
/// };
/// let mut sums = TaskSpace::new(&runtime, "sums");
/// for i in 0..2 {
///     for j in 0..2 {
///         let view = block(i, j)?;
///         let task = sums.task([i, j]).updates((&grid, &view));
///         task.run(move |args| {
///             let mut block = args.block_mut::<f64>(0)?;
///             for row in block.rows_mut() {
///                 row.iter_mut().for_each(|x| *x += (i + j) as f64);
///             }
///             Ok(())
///         })?;
///     }
/// }
/// sums.task([2, 2]).after([[0, 0], [1, 1]]).run(|_| Ok(()))?;
/// sums.wait([2, 2])?;
/// assert_eq!(runtime.read::<f64>(&grid, None)?[10..], [3.0, 3.0, 2.0, 2.0, 3.0, 3.0]);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// The function of a task must not call the runtime, so it issues no tasks of the window. One that
/// has much to do says how many threads it needs ([`NewTask::threads`]), and divides its work among
/// them with [`HostArgs::in_parts`], or spawns functions and waits for them ([`HostArgs::scope`]).
/// One that does so and has not said it runs by itself, as do all tasks of its space with arguments
/// of the same kinds. A task that fails, or panics, mars the blocks that it would have changed:
/// later tasks that use any of their elements, or come after its name, fail with the first cause,
/// all others run.
///
/// On several ranks every rank runs all tasks, on stores that each of them holds whole
/// ([`Access::Block`]).
///
/// The space holds a store of one element for each name. Issuing a task takes about a microsecond,
/// and so does running one.
#[derive(Debug)]
pub struct TaskSpace {
    runtime: Runtime,
    name: Arc<str>,
    done: BTreeMap<TaskName, StoreHandle>,
    /// The bodies of its tasks, one for each list of arguments.
    bodies: Vec<(Vec<Declared>, HostBody)>,
    /// An empty list, for the arguments of the next task.
    spare: Vec<Declared>,
}

/// What a task declares of an argument.
type Declared = (Privilege, Access, DType);

/// A task that is being described: see [`TaskSpace::task`].
#[derive(Debug)]
#[must_use = "a task is issued by `run`"]
pub struct NewTask<'a> {
    space: &'a mut TaskSpace,
    name: Option<TaskName>,
    declared: Vec<Declared>,
    args: Vec<TaskArg<'a>>,
    after: Vec<StoreHandle>,
    unknown: Option<String>,
    threads: Option<usize>,
    scratch: usize,
}

impl TaskSpace {
    /// A space without tasks. Its name is what profiles and errors show; it is kept as long as the
    /// process lives, so spaces of a kind share one.
    #[must_use]
    pub fn new(runtime: &Runtime, name: &str) -> Self {
        Self {
            runtime: runtime.clone(),
            name: name.into(),
            done: BTreeMap::new(),
            bodies: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Describes a task with a name, up to [`NewTask::run`]. A name that is given again means the
    /// later task from then on.
    pub fn task<'a>(&'a mut self, name: impl Into<TaskName>) -> NewTask<'a> {
        self.new_task(Some(name.into()))
    }

    /// Describes a task without a name, up to [`NewTask::run`]: one that is ordered by its blocks
    /// alone, of which it must change at least one. It costs less than one with a name. Who reads
    /// the blocks that it changes waits for it, and gets its failure; [`TaskSpace::wait_all`] does
    /// not.
    ///
    /// ```
    /// use sparsefuse_runtime::{Runtime, Shape, TaskSpace};
    ///
    /// let runtime = Runtime::current();
    /// let sum = runtime.store_from_vec(Shape::new(&[1]), vec![0.0])?;
    /// let mut space = TaskSpace::new(&runtime, "sum");
    /// for i in 1..=4 {
    ///     space.unnamed_task().updates(&sum).run(move |args| {
    ///         args.block_mut::<f64>(0)?.row_mut(0)[0] += f64::from(i);
    ///         Ok(())
    ///     })?;
    /// }
    /// assert_eq!(runtime.read::<f64>(&sum, None)?, [10.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    pub fn unnamed_task(&mut self) -> NewTask<'_> {
        self.new_task(None)
    }

    fn new_task(&mut self, name: Option<TaskName>) -> NewTask<'_> {
        NewTask {
            declared: std::mem::take(&mut self.spare),
            space: self,
            name,
            // As many as most tasks have, the name included.
            args: Vec::with_capacity(4),
            after: Vec::new(),
            unknown: None,
            threads: None,
            scratch: 0,
        }
    }

    /// How many names have tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Waits until a task has ended. Every rank must ask.
    ///
    /// # Errors
    ///
    /// That of the task, or if there is no such task.
    pub fn wait(&self, name: impl Into<TaskName>) -> Result<(), Error> {
        let name = name.into();
        let Some(done) = self.done.get(&name) else {
            return Err(Error::argument("wait", self.expected(), name.to_string()));
        };
        self.runtime.read_scalar::<bool>(done).map(|_| ())
    }

    /// Waits until all tasks with names have ended. Every rank must ask.
    ///
    /// # Errors
    ///
    /// That of the first task by name that has failed.
    pub fn wait_all(&self) -> Result<(), Error> {
        self.done.keys().try_for_each(|&name| self.wait(name))
    }

    /// Forgets the names; the tasks run all the same.
    pub fn forget(&mut self) {
        self.done.clear();
    }

    /// The place of the body of tasks with these arguments.
    fn body(&mut self, declared: &[Declared]) -> usize {
        let known = self.bodies.iter().position(|(known, _)| known == declared);
        known.unwrap_or_else(|| {
            let body = HostBody::new(&self.name, declared);
            self.bodies.push((declared.to_vec(), body));
            self.bodies.len() - 1
        })
    }

    fn expected(&self) -> String {
        format!("the name of a task that `{}` has been given", self.name)
    }
}

impl<'a> NewTask<'a> {
    /// Comes after tasks of this space that have been issued.
    pub fn after<N: Into<TaskName>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        for name in names {
            let name = name.into();
            match self.space.done.get(&name) {
                Some(done) => self.after.push(done.clone()),
                None => {
                    let unknown = self.unknown.take();
                    self.unknown = unknown.or_else(|| Some(name.to_string()));
                }
            }
        }
        self
    }

    /// Comes after tasks of another space that have been issued.
    pub fn after_in<N: Into<TaskName>>(
        mut self,
        space: &TaskSpace,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        for name in names {
            let name = name.into();
            match space.done.get(&name) {
                Some(done) => self.after.push(done.clone()),
                None => {
                    let unknown = self.unknown.take();
                    self.unknown = unknown.or_else(|| Some(format!("{}{name}", space.name)));
                }
            }
        }
        self
    }

    /// Reads a block: a store, or what a view of one sees. The function gets it with
    /// [`HostArgs::block`]; blocks are numbered in the order of these calls.
    pub fn reads(self, block: impl Into<TaskArg<'a>>) -> Self {
        self.uses(Privilege::Read, block.into())
    }

    /// Reads a block and changes it in place. The function gets it with [`HostArgs::block_mut`];
    /// blocks are numbered in the order of these calls.
    pub fn updates(self, block: impl Into<TaskArg<'a>>) -> Self {
        self.uses(Privilege::Write, block.into())
    }

    /// Needs this many threads: the task begins when they are free, and its function has them for
    /// [`HostArgs::in_parts`] and [`HostArgs::scope`]. Where no other task can run beside it, it
    /// has all threads of the rank. Tasks behind it do not begin before it, unless it still waits
    /// for other tasks.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Takes this many bytes of memory for itself while it runs, such as vectors that its function
    /// allocates. They count towards [`Config::memory_limit`](crate::Config::memory_limit): the
    /// task begins when they are free, and fails if they are not when no other task runs. Memory of
    /// [`HostArgs::room`] counts by itself.
    pub fn scratch(mut self, bytes: usize) -> Self {
        self.scratch = bytes;
        self
    }

    /// Refuses what the rank can never give.
    fn check_resources(&self) -> Result<(), Error> {
        let config = self.space.runtime.config();
        if let Some(threads) = self.threads.filter(|&n| n == 0 || n > config.threads) {
            let expected = format!("1 to {} threads, those of the rank", config.threads);
            return Err(Error::argument("threads", expected, threads.to_string()));
        }
        if self.scratch > config.memory_limit {
            let expected = format!("at most the limit of {} bytes", config.memory_limit);
            let found = self.scratch.to_string();
            return Err(Error::argument("scratch", expected, found));
        }
        Ok(())
    }

    fn uses(mut self, privilege: Privilege, block: TaskArg<'a>) -> Self {
        self.declared
            .push((privilege, Access::Block, block.store.dtype()));
        self.args.push(block);
        self
    }

    /// Issues the task, which runs this function once.
    ///
    /// # Errors
    ///
    /// As [`Runtime::submit_host`], if it comes after a name that no task has, if it has no name
    /// and changes no block, or if it needs more threads or bytes than the rank may have.
    pub fn run(
        self,
        function: impl FnOnce(&mut HostArgs<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.check_resources()?;
        let Self {
            space,
            name,
            mut declared,
            args,
            after,
            unknown,
            threads,
            scratch,
        } = self;
        if let Some(unknown) = unknown {
            return Err(Error::argument("after", space.expected(), unknown));
        }
        let is_written = |of: &Declared| of.0 == Privilege::Write;
        if name.is_none() && !declared.iter().any(is_written) {
            let expected = "a task that has a name or changes a block";
            return Err(Error::argument("run", expected, "one that has neither"));
        }
        let done = name.map(|_| space.runtime.new_store(Shape::SCALAR, DType::Bool));
        let n_blocks = args.len();
        let mut all = args;
        if let Some(done) = &done {
            declared.push((Privilege::Write, Access::Rows, DType::Bool));
            all.push(done.into());
        }
        for name in &after {
            declared.push((Privilege::Read, Access::Whole, DType::Bool));
            all.push(name.into());
        }
        let of_space = Arc::clone(&space.name);
        let task = HostTask::once(move |args| {
            if name.is_some() {
                args.write::<bool>(n_blocks)?.fill(true);
            }
            // The function sees its blocks alone.
            args.args.truncate(n_blocks);
            let whole = || match name {
                Some(name) => format!("{of_space}{name}"),
                None => of_space.to_string(),
            };
            match catch_unwind(AssertUnwindSafe(|| function(args))) {
                Ok(outcome) => outcome.map_err(|cause| cause.poison(&whole())),
                Err(panic) => Err(panicked(&whole(), &*panic).poison(&whole())),
            }
        });
        let task = HostTask {
            threads,
            scratch,
            ..task
        };
        let body = space.body(&declared);
        let body = &space.bodies[body].1;
        space.runtime.submit_host_args(body, &all, task)?;
        drop(all);
        declared.clear();
        space.spare = declared;
        if let (Some(name), Some(done)) = (name, done) {
            space.done.insert(name, done);
        }
        Ok(())
    }
}
