//! The runtime: where tasks are issued, and where values are asked for.
//!
//! A [`Runtime`] is one rank's: its window, its memory of past windows, its threads, its messages.
//! Issuing a task ([`Runtime::submit`]) appends to the window and returns; the window is executed
//! when a value is needed, when it is full, or on [`Runtime::flush`].

pub(crate) mod deferred;
mod eager;
mod elsewhere;
mod entering;
mod exchanges;
mod executing;
pub(crate) mod handle;
mod host;
mod looking;
pub(crate) mod region;
pub(crate) mod rounds;
mod stores;
mod values;

use self::executing::UnderWay;
use self::handle::{StoreHandle, TaskArg};
use super::settings;
use crate::analysis::length::Length;
use crate::analysis::regions::Regions;
use crate::analysis::schedule::Schedule;
use crate::analysis::traces::Traces;
use crate::analysis::window::Window;
use crate::comm::{self, Comm};
use crate::config::Config;
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::machine::Machine;
use crate::machine::compute::Runs;
use crate::machine::engine::Engine;
use crate::memory::mirror::DeviceMemory;
use crate::memory::pool::Pool;
use crate::observe::counters::Counters;
use crate::observe::lockstep::{Call, Lockstep};
use crate::program::device;
use crate::shape::Shape;
use crate::stores::store::{Contents, Store};
use crate::tasks::body::Body;
use crate::tasks::calling;
use crate::tasks::check;
use sparsefuse_kernels::workers::Workers;
use sparsefuse_kernels::{DType, Value};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// One rank's runtime; a handle that is cheap to clone.
///
/// Tasks that wait in the window when the last handle is dropped do not run: nothing can ask for
/// their results any more. Stores, arrays and task spaces hold a handle each. A program that wants
/// the side effects of host tasks calls [`Runtime::flush`] before it ends; what [`Runtime::start`]
/// has begun runs to its end.
#[derive(Clone)]
pub struct Runtime {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    /// A number that no other runtime of this process has.
    number: u64,
    config: Arc<Config>,
    pub(super) pool: Arc<Pool>,
    rank: usize,
    ranks: usize,
    /// Whether results are numbers.
    computes: bool,
    issuing: Mutex<Issuing>,
    /// Locked behind `issuing`, or by the machine's thread.
    engine: Arc<Mutex<Engine>>,
    /// See [`Runtime::companion`].
    companion: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// Everything that issuing and analysing tasks changes.
#[derive(Debug)]
pub(super) struct Issuing {
    pub(super) window: Window,
    pub(super) length: Length,
    pub(super) traces: Traces,
    pub(super) cuts: Arc<CutsTable>,
    pub(super) lockstep: Lockstep,
    /// Of what was issued; the engine counts what has run.
    pub(super) counters: Counters,
    /// The schedule of the last window, for `explain`.
    pub(super) last: Option<Arc<Schedule>>,
    /// The eager tasks that have run since, and how often.
    pub(super) eager: Vec<(&'static str, u64)>,
    /// The regions of the last window's tasks.
    pub(super) last_regions: Regions,
    /// What runs while the program goes on.
    under_way: UnderWay,
    /// How often the program has asked for a value, or for a structure of indices, or had a window
    /// executed.
    asked: u64,
}

/// Everything that issuing and executing tasks changes, while nothing runs.
pub(super) struct Inner<'a> {
    pub(super) issuing: MutexGuard<'a, Issuing>,
    pub(super) engine: MutexGuard<'a, Engine>,
}

impl Runtime {
    /// A runtime of a single rank, also where a launcher has started several processes: for one
    /// that spans them see [`Runtime::of_processes`].
    ///
    /// # Errors
    ///
    /// If a setting is out of range, or the system refuses the threads.
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::with_comm(config, Box::new(comm::Single), &Runs)
    }

    /// A runtime of one rank of each process that `mpiexec` or `srun` has started together; a
    /// single rank without a launcher. Every process must make it, and in the same order as its
    /// other runtimes of this kind.
    ///
    /// # Errors
    ///
    /// As [`Runtime::new`], or if MPI fails, or a launcher has started several processes of a
    /// program that was built without the feature `mpi`.
    pub fn of_processes(config: Config) -> Result<Self, Error> {
        comm::mpi::place()?;
        let comm = comm::mpi::connect(1)?.and_then(|mut comms| comms.pop());
        let comm = comm.unwrap_or_else(|| Box::new(comm::Single));
        settings::check_alike(&*comm, &config, 1)?;
        Self::with_comm(config, comm, &Runs)
    }

    pub(crate) fn with_comm(
        config: Config,
        comm: Box<dyn Comm>,
        machine: &'static dyn Machine,
    ) -> Result<Self, Error> {
        let workers = workers(&config)?;
        let device = match machine.computes() {
            true => device::open(&config)?,
            false => None,
        };
        Ok(Self::assemble(config, (workers, device), comm, machine))
    }

    pub(super) fn assemble(
        config: Config,
        (workers, device): (Workers, Option<Arc<DeviceMemory>>),
        comm: Box<dyn Comm>,
        machine: &'static dyn Machine,
    ) -> Self {
        let (rank, ranks) = (comm.rank(), comm.size());
        let checks = config.check_ranks && ranks > 1 && machine.computes();
        // Kernels on a device are given places that stay.
        let may_move = ranks == 1 && device.is_none();
        let cuts = CutsTable::new(ranks, config.tile_len, config.cut_threshold);
        let issuing = Issuing {
            window: Window::new(may_move),
            length: Length::new(config.window, config.max_window),
            traces: Traces::default(),
            cuts: Arc::new(cuts),
            lockstep: Lockstep::new(checks),
            counters: Counters::default(),
            last: None,
            eager: Vec::new(),
            last_regions: Regions::default(),
            under_way: UnderWay::default(),
            asked: 0,
        };
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only uniqueness matters.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let pool = Pool::with_device(config.memory_limit, device);
        let config = Arc::new(config);
        let own = (number, Arc::clone(&config));
        let engine = Engine::new(own, Arc::clone(&pool), (comm, workers), machine);
        Self {
            shared: Arc::new(Shared {
                number,
                config,
                pool,
                rank,
                ranks,
                computes: machine.computes(),
                issuing: Mutex::new(issuing),
                engine: Arc::new(Mutex::new(engine)),
                companion: OnceLock::new(),
            }),
        }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The number of this rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.shared.ranks
    }

    /// What a crate above this one has once in each runtime, such as threads of its own: `make`
    /// makes it when it is first asked for, and it ends with the runtime. `None` where the runtime
    /// has something of another type.
    ///
    /// ```
    /// use sparsefuse_runtime::{Config, Runtime};
    ///
    /// let runtime = Runtime::new(Config::default())?;
    /// assert_eq!(runtime.companion(|| vec![1, 2]), Some(&vec![1, 2]));
    /// assert_eq!(runtime.companion(Vec::<i32>::new), Some(&vec![1, 2]));
    /// assert_eq!(runtime.companion(String::new), None);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn companion<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        let companion = self.shared.companion.get_or_init(|| Box::new(make()));
        companion.downcast_ref()
    }

    /// Whether two handles mean the same runtime.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// What issuing changes; windows may be running.
    pub(super) fn issuing(&self) -> MutexGuard<'_, Issuing> {
        // A panic in here is a defect; what it leaves is checked again wherever it is used.
        let issuing = match self.shared.issuing.try_lock() {
            Ok(issuing) => issuing,
            Err(TryLockError::Poisoned(issuing)) => issuing.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.check_outside();
                let issuing = self.shared.issuing.lock();
                issuing.unwrap_or_else(PoisonError::into_inner)
            }
        };
        if issuing.under_way.are_any() {
            self.check_outside();
        }
        issuing
    }

    /// What issuing and executing changes, when nothing runs.
    pub(super) fn inner(&self) -> Inner<'_> {
        let mut issuing = self.issuing();
        issuing.asked += 1;
        issuing.settle();
        let engine = self.engine();
        Inner { issuing, engine }
    }

    /// The engine, which nobody else has for long, as nothing runs.
    fn engine(&self) -> MutexGuard<'_, Engine> {
        let engine = self.shared.engine.lock();
        engine.unwrap_or_else(PoisonError::into_inner)
    }

    /// # Panics
    ///
    /// If a host task of this runtime runs on this very thread, which would wait for itself. The
    /// panic is the failure of that task.
    fn check_outside(&self) {
        assert!(
            !calling::calls(self.shared.number),
            "expected a host task that leaves its runtime alone, found one that calls it"
        );
    }

    /// A store that a task is going to write.
    #[must_use]
    pub fn new_store(&self, shape: Shape, dtype: DType) -> StoreHandle {
        self.store(shape, dtype, Contents::Unwritten)
    }

    pub(super) fn store(&self, shape: Shape, dtype: DType, contents: Contents) -> StoreHandle {
        StoreHandle::new(
            self.clone(),
            Store::new(self.shared.number, shape, dtype, contents),
        )
    }

    /// Whether the caller's handle of a store is the only one, that of the window apart.
    #[must_use]
    pub fn is_unique(&self, store: &StoreHandle) -> bool {
        if store.runtime_number() != self.shared.number {
            return false;
        }
        let issuing = self.issuing();
        let of_window = usize::from(issuing.window.has(store.store()));
        store.store().count() == 1 + of_window + store.handles_under_way()
    }

    /// Issues a task: appends it to the window, which is executed before if it is full.
    ///
    /// `args` are the stores that the body declares, in its order, and `params` the values of its
    /// kernel's parameters. Arrays have one shape, which is what the task runs over; scalars and
    /// reductions are stores of shape `()`. The task does not run here: reading a store that it
    /// writes ([`Runtime::read`], [`Runtime::read_scalar`]) runs it, fused with its neighbours.
    /// Every rank issues the same tasks.
    ///
    /// ```
    /// use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Element, KernelBuilder};
    /// use sparsefuse_runtime::{Body, Runtime, Shape, TaskArg};
    ///
    /// // y = 2 x + 1: the 2 is a parameter, which each task sets, the 1 a constant of the kernel.
    /// let mut build = KernelBuilder::new();
    /// let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    /// let (factor, one) = (build.param(DType::F64), build.constant(1.0.to_value()));
    /// let element = build.load(x);
    /// let product = build.binary(BinaryOp::Mul, factor, element);
    /// let sum = build.binary(BinaryOp::Add, product, one);
    /// build.store(y, sum);
    /// let body = Body::new("twice_plus_one", build.finish());
    ///
    /// let runtime = Runtime::current();
    /// let shape = Shape::new(&[3]);
    /// let x = runtime.store_from_vec(shape, vec![1.0, 2.0, 3.0])?;
    /// let y = runtime.new_store(shape, DType::F64);
    /// runtime.submit(&body, &[(&x).into(), (&y).into()], &[2.0.to_value()])?;
    /// assert_eq!(runtime.read::<f64>(&y, None)?, [3.0, 5.0, 7.0]);
    ///
    /// // Stores that do not fit are refused.
    /// let short = runtime.new_store(Shape::new(&[2]), DType::F64);
    /// let args = [TaskArg::from(&x), (&short).into()];
    /// let refused = runtime.submit(&body, &args, &[2.0.to_value()]);
    /// let message = "submit: expected a shape of (3), found (2)";
    /// assert_eq!(refused.unwrap_err().to_string(), message);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// An array may be seen through a [`View`](crate::View) ([`TaskArg::view`]), whose shape then
    /// counts; what is written may be a slice with ascending steps. An argument of the kind
    /// [`ArgKind::Reduction`](sparsefuse_kernels::ArgKind) with
    /// [`KernelBuilder::reduce`](sparsefuse_kernels::KernelBuilder::reduce) gives a sum or a
    /// maximum, with the same bits on any number of threads and ranks. [`Body`] has an example.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit the body in number, type or shape, share elements of which one
    /// is written, belong to another runtime, or a store is read that nothing has written. A task
    /// that fails when it runs makes the stores that it would write fail where they are read.
    pub fn submit(
        &self,
        body: &Arc<Body>,
        args: &[TaskArg<'_>],
        params: &[Value],
    ) -> Result<(), Error> {
        let seen = args.iter().map(TaskArg::seen);
        check::check_counts(body, seen.clone(), params)?;
        self.check_own("submit", args.iter().map(|arg| arg.store))?;
        let mut issuing = self.issuing();
        let elsewhere = self.written_elsewhere(&issuing, (body, args));
        if !elsewhere.is_empty() {
            drop(issuing);
            return self.submit_and_copy(body, (args, params), &elsewhere);
        }
        self.make_room(&mut issuing);
        issuing.window.push(body, seen, params)?;
        issuing.note_issued(region::current(self.shared.number));
        Ok(())
    }

    /// Refuses stores of another runtime: two never mix, since each has its own cuts and window.
    pub(super) fn check_own<'a>(
        &self,
        op: &'static str,
        mut stores: impl Iterator<Item = &'a StoreHandle>,
    ) -> Result<(), Error> {
        match stores.all(|store| store.runtime_number() == self.shared.number) {
            true => Ok(()),
            false => Err(Error::argument(
                op,
                "stores of one runtime",
                "stores of two",
            )),
        }
    }

    /// How a new store of this shape is cut, and the rows of this rank.
    #[must_use]
    pub fn default_rows(&self, shape: Shape) -> (Partition, Range<usize>) {
        let mut issuing = self.issuing();
        let partition = issuing.cuts_mut().default_partition(shape);
        (partition, issuing.cuts.rows(partition, shape, self.rank()))
    }

    /// The partition with the given cuts: one more than ranks, from 0, never decreasing. The
    /// runtime keeps each list, of 8 bytes for each rank, until it ends.
    ///
    /// # Errors
    ///
    /// If the list is not of this form.
    pub fn partition_at(&self, cuts: &[usize]) -> Result<Partition, Error> {
        let is_list = cuts.len() == self.ranks() + 1
            && cuts[0] == 0
            && cuts.windows(2).all(|pair| pair[0] <= pair[1]);
        if !is_list {
            let expected = format!("{} ascending cuts from 0", self.ranks() + 1);
            return Err(Error::argument(
                "partition_at",
                expected,
                format!("{cuts:?}"),
            ));
        }
        Ok(Partition::Tile(self.issuing().cuts_mut().intern(cuts)))
    }

    /// The cuts of a partition; `None` if it is replicated, or one of another runtime.
    #[must_use]
    pub fn cuts(&self, partition: Partition) -> Option<Arc<[usize]>> {
        match partition {
            Partition::Replicated => None,
            Partition::Tile(id) => self.issuing().cuts.known(id).cloned(),
        }
    }
}

/// The threads of a rank with these settings, if the settings are in range.
fn workers(config: &Config) -> Result<Workers, Error> {
    for (name, value) in [
        ("threads", config.threads),
        ("tile_len", config.tile_len),
        ("window", config.window),
    ] {
        if value == 0 {
            return Err(Error::argument(name, "a number above 0", "0"));
        }
    }
    for (name, value, most) in [
        ("threads", config.threads, Config::MOST_THREADS),
        ("tile_len", config.tile_len, Config::LONGEST_TILE),
        ("block_len", config.block_len, Config::LONGEST_TILE),
    ] {
        if value > most {
            let expected = format!("at most {most}");
            return Err(Error::argument(name, expected, value.to_string()));
        }
    }
    if config.window > config.max_window {
        let expected = format!("at most max_window, {}", config.max_window);
        return Err(Error::argument(
            "window",
            expected,
            config.window.to_string(),
        ));
    }
    if !config.isa.is_available() {
        let found = config.isa.name();
        return Err(Error::argument(
            "isa",
            "an instruction set of this machine",
            found,
        ));
    }
    Workers::new(config.threads).map_err(|error| {
        Error::argument(
            "threads",
            "as many threads as the system grants",
            error.to_string(),
        )
    })
}

impl Issuing {
    /// The lists of cuts; a copy of them while a window that runs has them.
    pub(super) fn cuts_mut(&mut self) -> &mut CutsTable {
        Arc::make_mut(&mut self.cuts)
    }

    /// Fails, on every rank alike, unless all ranks make this call now, if that is checked.
    pub(super) fn check(&mut self, engine: &Engine, call: Call<'_>) -> Result<(), Error> {
        let issued = self.counters.tasks + self.counters.eager;
        self.lockstep
            .check(&*engine.comm, call, &self.window, issued)
    }
}

impl Inner<'_> {
    /// As [`Issuing::check`].
    pub(super) fn check(&mut self, call: Call<'_>) -> Result<(), Error> {
        self.issuing.check(&self.engine, call)
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Runtime(rank {} of {})",
            self.shared.rank, self.shared.ranks
        )
    }
}
