//! Krylov solvers, written as they stand in the textbook: one operation a line.
//!
//! Nothing here names a task, a rank or a kernel; the runtime fuses the lines.

mod checkpoint;
mod operator;
mod solution;
mod stopping;

mod krylov;

mod jacobi;

pub use checkpoint::Checkpoint;
pub use jacobi::Jacobi;
pub use krylov::{bicgstab, bicgstab_with, cg, cg_with, cgs, cgs_with};
pub use operator::{LinearOperator, MatrixFree};
pub use solution::{Breakdown, Monitor, Options, Solution, StopReason};
pub use sparsefuse_runtime::Error;
