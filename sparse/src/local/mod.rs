//! Algorithms on the rows of one rank.
//!
//! They take rows and threads and give back rows: they know no runtime, no stores and no other
//! ranks, so each is tested alone. What is exchanged between ranks before and after them is for
//! [`crate::exchange`] and the operations.

pub(crate) mod rows;
pub(crate) mod triplets;

pub(crate) mod entries;

pub mod parallel;

pub(crate) mod factors;

pub(crate) mod accumulator;
pub(crate) mod adjoint;
pub(crate) mod dealing;
pub(crate) mod gustavson;
pub(crate) mod masked;
pub(crate) mod residual;
pub(crate) mod sampled;

pub(crate) mod blocks;
pub(crate) mod diagonals;

pub(crate) mod column_sums;
pub(crate) mod merge;
pub(crate) mod sorting;
pub(crate) mod transpose;
pub(crate) mod triangular;

pub(crate) mod graph;
