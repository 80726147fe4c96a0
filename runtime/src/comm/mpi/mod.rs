//! Ranks as processes that `mpiexec` or `srun` has started, with the feature `mpi`; without it a
//! stand-in that says how to get them.
//!
//! From the outside: [`connect`] makes groups of ranks, [`place`] says which process this is.

#[cfg(feature = "mpi")]
mod collective;
#[cfg(feature = "mpi")]
mod job;
#[cfg(feature = "mpi")]
mod rank;
#[cfg(feature = "mpi")]
mod requests;
// Tested without MPI too.
#[cfg(feature = "mpi")]
mod calls;
#[cfg(any(test, feature = "mpi"))]
mod failure;
#[cfg(any(test, feature = "mpi"))]
mod inbox;
#[cfg(any(test, feature = "mpi"))]
mod tag;

#[cfg(not(feature = "mpi"))]
mod disabled;

#[cfg(not(feature = "mpi"))]
pub(crate) use self::disabled::{connect, place};
#[cfg(feature = "mpi")]
pub(crate) use self::{job::place, rank::connect};
