//! Sparse matrices: the formats, their products, and the files they are read from.
//!
//! A matrix is a collection of stores ([`Csr`]: `pos`, `crd`, `vals`); an operation issues tasks
//! on them that state constraints and nothing about ranks. Operations that make a structure are
//! tasks that run at once ([`at_once()`]).

mod at_once;
mod csr;
mod operators;
mod product;

mod ghosts;
pub mod parallel;
mod rows;

mod extract;
mod inspect;
mod kron;
mod multiply;
mod norms;
mod scale;
mod sum;
mod transpose;

mod coo;
mod csc;

mod chain;
mod layout;
mod triangular;

mod assemble;
mod balance;
mod convert;
mod dealing;
mod distribute;
pub mod gallery;
#[cfg(feature = "interop")]
mod interop;
mod sorting;
mod triplets;

mod files;
pub mod matrix_market;
mod stale;

pub use assemble::LocalRows;
pub use at_once::at_once;
pub use chain::{Chain, Sweep};
pub use coo::Coo;
pub use csc::Csc;
pub use csr::Csr;
pub use files::{read_columns, read_vector, write_vector};
pub use ghosts::Ghosts;
pub use inspect::{Asymmetry, rounding_of_entries};
pub use layout::RowLayout;
pub use multiply::Multiplication;
pub use rows::{OwnRows, Rows};
pub use sparsefuse_runtime::Error;
#[doc(hidden)]
pub use stale::remove_stale;
pub use triangular::{Diagonal, Triangle, TriangularSolve};
pub use triplets::{Triplets, TripletsError, TripletsErrorKind};
