//! Krylov methods, preconditioners, multigrid, eigenvalues and singular values, and exponentials of
//! matrices times vectors, as they stand in the textbook: one
//! operation a line.
//!
//! Methods name no task and no kernel; the runtime fuses their lines. What works on the rows of a
//! rank knows that there are ranks: multigrid, preconditioners that go through rows in order or
//! gather a matrix, and the choice of how many right-hand sides are solved side by side.

mod local;

mod checkpoint;
mod composed;
#[cfg(all(shared_instances, debug_assertions))]
mod instances;
mod matrix_free;
mod nullspace;
mod operator;
mod powers;
mod recycled;
mod solution;
mod turns;
mod with_nullspace;

mod krylov;

mod exponential;
mod matrix_exponential;
mod norm_estimate;

pub mod eigen;
pub mod multigrid;
pub mod ode;
pub mod preconditioners;

pub use checkpoint::Checkpoint;
pub use composed::Operator;
pub use exponential::{expm_multiply, expm_multiply_at};
#[cfg(all(shared_instances, debug_assertions))]
pub use instances::instances;
pub use krylov::{
    KrylovSolver, Method, bicg, bicg_with, bicgstab, bicgstab_with, cg, cg_with, cgs, cgs_with,
    fgmres, fgmres_with, gcrotmk, gcrotmk_with, gmres, gmres_with, lgmres, lgmres_with, lsmr,
    lsmr_with, lsqr, lsqr_with, minres, minres_with, pipelined_cg, pipelined_cg_with, qmr,
    qmr_with, richardson, richardson_with, single_reduction_cg, single_reduction_cg_with, tfqmr,
    tfqmr_with,
};
pub use matrix_exponential::expm;
pub use matrix_free::{MatrixFree, MatrixFreeWithAdjoint};
pub use norm_estimate::norm1_estimate;
pub use nullspace::Nullspace;
pub use operator::LinearOperator;
pub use preconditioners::{Jacobi, Preconditioner};
pub use recycled::Recycled;
pub use solution::{Breakdown, Input, Monitor, Options, Side, Solution, StopReason};
pub use sparsefuse_runtime::Error;
pub use with_nullspace::WithNullspace;
