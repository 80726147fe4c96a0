//! The runtime: stores, tasks, partitions, fusion, schedules.
//!
//! A program issues tasks on whole stores; the runtime solves how they are cut, fuses neighbours,
//! removes temporaries, remembers what it has analysed, and runs the result on threads and ranks.
//! Programs of arrays issue tasks by their operations, and need of this crate a [`Runtime`] with
//! settings of their own ([`Config`]), ranks ([`run_ranks`], [`Processes`]), counters and profiles
//! ([`Runtime::explain`], [`Runtime::profile`]) and [`Error`]; tasks of one's own are described by
//! [`Body`] and [`HostBody`].
//!
//! It knows structures (ranges, the indices within them, entries beside these), but no sparse
//! matrix and no format such as CSR: that the indices are columns is for the crates above it to
//! say. A host task may find the size of its result ([`Runtime::submit_deferred`]); work that calls
//! the runtime is an eager task, which runs where it is issued ([`Runtime::eager_task`]).

// The folders are the way of the data, and each knows only those below it in this list: `program`,
// `machine`, `observe`, `analysis`, `tasks`, `stores`, `images`, `comm`, `memory`, `geometry`.

mod hash;
mod shape;

mod error;

mod config;

mod geometry;

mod memory;

mod comm;

mod images;

mod stores;

mod tasks;

mod analysis;

mod observe;

mod machine;

mod program;

pub use analysis::fuse::Refusal;
pub use comm::exchange::{Exchange, Messages, Sent};
pub use config::{Config, DeviceKind, Executor};
pub use error::{Error, ErrorKind};
pub use geometry::partition::Partition;
pub use geometry::view::View;
pub use memory::bytes::{as_bytes, as_bytes_mut};
pub use memory::reserve::{reserve, try_collect, try_concat};
pub use memory::room::Room;
pub use observe::counters::Counters;
pub use observe::plan::{Arrival, PlannedTask};
pub use observe::profile::{KernelProfile, Profile, TaskKind};
pub use program::planned_rank::plan_rank;
pub use program::processes::Processes;
pub use program::ranks::run_ranks;
pub use program::runtime::Runtime;
pub use program::runtime::deferred::{Deferred, Part};
pub use program::runtime::handle::{StoreHandle, TaskArg};
pub use program::runtime::region::Region;
pub use program::runtime::rounds::{Rounds, State};
pub use program::space::{NewTask, TaskName, TaskSpace};
pub use shape::{MAX_RANK, Shape};
pub use stores::local::Local;
pub use stores::store::Store;
pub use tasks::argument::{Access, BodyArg, Privilege};
pub use tasks::block::{BlockMut, BlockRef};
pub use tasks::body::Body;
pub use tasks::host::{HostBody, HostFunction, HostTask};
pub use tasks::host_args::HostArgs;
pub use tasks::scope::Scope;
