//! The processes of a job, as a program that runs on all of them sees them.
//!
//! What a process does before its ranks begin and after they have ended (reading arguments and
//! files, printing) can fail on one of them alone; [`Processes::all_gather`] is how the others
//! come to know. It uses messages of its own, so it works whatever became of the ranks.

use super::ranks;
use super::runtime::Runtime;
use super::settings::check_alike;
use crate::comm::{self, Comm};
use crate::config::Config;
use crate::error::Error;

/// The processes that `mpiexec` or `srun` has started together; this one alone without a launcher
/// or without the feature `mpi`.
#[derive(Debug)]
pub struct Processes {
    comm: Box<dyn Comm>,
}

impl Processes {
    /// Joins the other processes; each must do so.
    ///
    /// ```
    /// use sparsefuse_runtime::{Config, Processes};
    ///
    /// let processes = Processes::join()?;
    /// // Two ranks in each process.
    /// let ranks = processes.run_ranks(2, &Config::default(), |runtime| runtime.ranks())?;
    /// assert_eq!(ranks, vec![2 * processes.count(); 2]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If MPI fails, or a launcher has started several processes of a program that was built
    /// without the feature `mpi`.
    pub fn join() -> Result<Self, Error> {
        comm::mpi::place()?;
        let comm = comm::mpi::connect(1)?.and_then(|mut comms| comms.pop());
        Ok(Self {
            comm: comm.unwrap_or_else(|| Box::new(comm::Single)),
        })
    }

    /// The number of this process.
    #[must_use]
    pub fn number(&self) -> usize {
        self.comm.rank()
    }

    /// How many processes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.comm.size()
    }

    /// Runs `program` on `ranks` ranks of each process, as [`crate::run_ranks`] does on those of
    /// one; returns what those of this process returned. Rank `r` of process `p` has the number
    /// `p * ranks + r`. Every process must ask, with the same number of ranks.
    ///
    /// # Errors
    ///
    /// If the settings are out of range, or a rank panics where there is but one process (a panic
    /// on one of several ends them all).
    pub fn run_ranks<R: Send>(
        &self,
        ranks: usize,
        config: &Config,
        program: impl Fn(&Runtime) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        check_alike(&*self.comm, config, ranks)?;
        match comm::mpi::connect(ranks::check_number(ranks)?)? {
            Some(comms) => ranks::run_on(comms, config, program),
            None => ranks::run_ranks(ranks, config, program),
        }
    }

    /// The bytes of every process, on every process, in order. Every process must ask.
    ///
    /// # Errors
    ///
    /// If another process has left.
    pub fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        self.comm.all_gather(Ok(mine))
    }
}
