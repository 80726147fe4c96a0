//! The runtime: stores, tasks, partitions, fusion, schedules.
//!
//! A program issues tasks on whole stores; the runtime solves how they are cut, fuses neighbours,
//! removes temporaries, remembers what it has analysed, and runs the result on threads and ranks.
//! It never names a matrix. The way of a task: [`task`] → [`window`] → (remembered in [`trace`],
//! or [`solve`] → [`fuse`] → [`compose`] → [`schedule`]) → [`execute`]. What finds the sizes of its
//! outputs runs at once, as a task by name: [`Runtime::task_at_once`].

pub mod config;
mod local;
mod room;
mod runtime;

pub mod shape;
pub mod view;

pub mod packed;
mod partition;
pub mod store;

pub mod task;

mod length;
mod window;

mod lockstep;

mod compose;
pub mod fuse;
mod reorder;
mod reuse;
mod schedule;
mod solve;
mod trace;

mod block;
mod bytes;
mod counted;
mod exchange;
mod execute;
mod image;
mod instance;

mod comm;
mod plan;
mod processes;
mod ranks;

pub mod error;
mod explain;
pub mod profile;

pub use config::{Config, Executor};
pub use counted::{Counted, Recycled};
pub use error::{Error, ErrorKind};
pub use execute::Counters;
pub use fuse::Refusal;
pub use local::Local;
pub use partition::Partition;
pub use plan::{Arrival, PlannedTask, Sent, plan_rank};
pub use processes::Processes;
pub use profile::Profile;
pub use ranks::run_ranks;
pub use room::{Room, reserve};
pub use runtime::Runtime;
pub use shape::{MAX_RANK, Shape};
pub use store::Store;
pub use task::{Access, Body, BodyArg, Privilege, TaskArg};
pub use view::View;
