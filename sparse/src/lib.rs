//! Sparse matrices: the formats, their products, and the files they are read from.

pub mod matrix_market;
mod triplets;

pub use triplets::{Triplets, TripletsError, TripletsErrorKind};
