//! The library as programs use it: solvers, arrays and ranks together.
//!
//! One program of tests, since each has its own copy of the methods for every type of matrix and of
//! number, which is most of what there is to compile. `cargo test --test library nullspace`
//! runs the tests of one module. Under `mpiexec` those of `matrices` and `solvers` run on the ranks
//! of all processes.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod arrays_on_ranks;
mod eager;
mod fusion;
mod krylov;
mod krylov_counts;
mod least_squares;
mod lockstep;
mod matrices;
mod native;
mod nullspace;
mod rayon_pools;
mod solvers;
mod versions;
