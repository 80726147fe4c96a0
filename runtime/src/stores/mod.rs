//! Stores: what a program computes with, and what a rank holds of it.

pub(crate) mod local;
pub(crate) mod store;
