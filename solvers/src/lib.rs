//! Krylov solvers, written as they stand in the textbook: one operation a line.
//!
//! Nothing here names a task, a rank or a kernel; the runtime fuses the lines.

mod checkpoint;
mod operator;
mod solution;
mod stopping;

mod bicgstab;
mod cg;
mod cgs;

pub mod preconditioners;

pub use bicgstab::{bicgstab, bicgstab_with};
pub use cg::{cg, cg_with};
pub use cgs::{cgs, cgs_with};
pub use checkpoint::Checkpoint;
pub use operator::{LinearOperator, MatrixFree};
pub use preconditioners::{Jacobi, Preconditioner};
pub use solution::{Breakdown, Monitor, Options, Solution, StopReason};
pub use sparsefuse_runtime::Error;
