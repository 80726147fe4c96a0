//! The solvers alone: methods at the ends of their range, preconditioners, multigrid, eigenvalues.
//!
//! One program of tests, since each has its own copy of the methods for every type of matrix and of
//! number; `cargo test -p sparsefuse-solvers --test solvers multigrid` runs the tests of one
//! module.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod composed;
mod eigen;
mod eigs;
mod exponential;
mod krylov;
mod many_ranks;
mod multigrid;
mod ode;
mod preconditioners;
mod singular;
