//! The threads of a rank: programs on real threads, and all interleavings of small ones.
//!
//! The second need
//! `RUSTFLAGS="--cfg loom" cargo test -p sparsefuse-kernels --release --lib workers`.

#[cfg(loom)]
mod interleavings;
#[cfg(not(loom))]
mod threads;
