//! The current runtime of a thread: the one that it has entered last, else one for the whole
//! process.

use super::{Runtime, workers};
use crate::comm;
use crate::config::{Config, DeviceKind};
use crate::machine::compute::Runs;
use crate::program::device;
use crate::program::settings;
use sparsefuse_kernels::workers::Workers;
use std::cell::RefCell;
use std::sync::OnceLock;

/// The runtime of threads that have entered none.
static DEFAULT: OnceLock<Runtime> = OnceLock::new();

thread_local! {
    /// The runtimes that this thread has entered, the current one last.
    static ENTERED: RefCell<Vec<Runtime>> = const { RefCell::new(Vec::new()) };
}

impl Runtime {
    /// The runtime that new stores of this thread belong to: the one entered last, else one for
    /// the whole process with the settings of the environment, which is one of the ranks of all
    /// processes that a launcher has started together ([`Runtime::of_processes`]).
    #[must_use]
    pub fn current() -> Self {
        let entered = Self::entered();
        entered.unwrap_or_else(|| DEFAULT.get_or_init(Self::from_env_or_default).clone())
    }

    /// The runtime that this thread has entered last; none of a thread whose values have ended.
    fn entered() -> Option<Self> {
        let last = ENTERED.try_with(|entered| entered.borrow().last().cloned());
        last.ok().flatten()
    }

    /// Whether this is the current runtime. Unlike a look at [`Runtime::current`] it does not make
    /// the one for the whole process, with its threads, for a thread that has entered another.
    fn is_current(&self) -> bool {
        ENTERED.with_borrow(|entered| match entered.last() {
            Some(current) => self.is(current),
            None => DEFAULT.get().is_some_and(|default| self.is(default)),
        })
    }

    /// Settings of the environment that make no sense are reported and not used; the others are.
    /// The first rank names those that do not exist. Without its ranks a process that could have
    /// them does not go on: it would compute something else.
    fn from_env_or_default() -> Self {
        let connected = comm::mpi::place().and_then(|_| comm::mpi::connect(1));
        let comm = connected.unwrap_or_else(|error| panic!("{error}"));
        let comm = comm.and_then(|mut comms| comms.pop());
        let comm = comm.unwrap_or_else(|| Box::new(comm::Single));
        let unknown = Config::unknown_variables();
        for name in unknown.iter().filter(|_| comm.rank() == 0) {
            eprintln!("sparsefuse: there is no setting `{name}`");
        }
        let (mut config, refused) = Config::of_env();
        for error in refused {
            eprintln!("sparsefuse: {error}; without this setting");
        }
        let workers = workers(&config).unwrap_or_else(|error| {
            eprintln!("sparsefuse: {error}; on one thread");
            config.threads = 1;
            Workers::alone()
        });
        let device = device::open(&config).unwrap_or_else(|error| {
            eprintln!("sparsefuse: {error}; without a device");
            config.device = DeviceKind::Host;
            None
        });
        let alike = settings::check_alike(&*comm, &config, 1);
        alike.unwrap_or_else(|error| panic!("{error}"));
        Self::assemble(config, (workers, device), comm, &Runs)
    }

    /// Runs `program` with this runtime as the current one of the thread. What the program has
    /// issued has been executed when this returns, unless the runtime was the current one before.
    pub fn enter<R>(&self, program: impl FnOnce() -> R) -> R {
        let is_current = self.is_current();
        let entered = self.make_current();
        let result = program();
        if !is_current {
            self.flush();
        }
        drop(entered);
        result
    }

    /// Makes this runtime the current one until what is returned is dropped.
    fn make_current(&self) -> Entered {
        ENTERED.with_borrow_mut(|entered| entered.push(self.clone()));
        Entered(comm::set_rank_of_thread(Some(self.rank())))
    }
}

/// Makes the runtime that was current before the current one again, with its rank, when dropped.
struct Entered(Option<usize>);

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.with_borrow_mut(Vec::pop);
        comm::set_rank_of_thread(self.0);
    }
}
