//! Sparse matrices: the formats, their products, and the files they are read from.
//!
//! A matrix is a collection of stores ([`Csr`]: `pos`, `crd`, `vals`); an operation issues tasks
//! on them that state constraints and nothing about ranks. Operations that make a structure are
//! eager tasks ([`eager()`]).
//!
//! # Rules
//!
//! - What arrays have too, operators, products, sums along an axis, norms, panics with the message
//!   of an [`Error`]; the `try_` method of the same name returns it. Names are those of arrays:
//!   [`Csr::matvec`], [`Csr::matmul`], [`Csr::sum_axis`], [`Csr::abs`].
//! - Norms of a sparse matrix are those of an operator: [`Csr::norm1`] is the largest sum of a
//!   column, as of SciPy's `norm(a, 1)`. `norm1` and `norm_inf` of an array take all its elements;
//!   a dense matrix has the norms of an operator by `matrix_norm`.
//! - `*` with a sparse operand is the product of matrices, as of SciPy's `csr_matrix`;
//!   [`Csr::multiply`] multiplies element by element. `*` between dense arrays goes element by
//!   element.
//! - What makes another structure, solves, or reads a file is eager: it runs where it is issued.
//!   Methods that do so return a `Result`; operators (`&a * &b`, `&a + &b`) and methods that arrays
//!   have too panic. Sums and extremes along columns, `norm1` and `trace` execute what has been
//!   issued as well.
//!
//! What is public and hidden from these pages is for the solvers of this project: it is not part of
//! the stable interface.

// The folders are the way of the data, and each knows only those before it: `local`, algorithms on
// the rows of one rank; `exchange`, what comes from other ranks; `assembly`, from rows to stores;
// `formats`, handles of stores; `operations`; where matrices come from, `gallery`, `matrix_market`
// and `npz`; and `graph`, which sees a matrix as the edges between its rows.

mod local;

mod exchange;

mod assembly;

mod formats;

mod operations;

pub mod gallery;
pub mod graph;
pub mod matrix_market;
mod npz;

#[cfg(all(shared_instances, debug_assertions))]
mod instances;

#[doc(hidden)]
pub use exchange::chain::Chain;
#[doc(hidden)]
pub use exchange::ghosts::{Ghosts, distinct};
#[doc(hidden)]
pub use exchange::layout::RowLayout;
#[doc(hidden)]
pub use exchange::own_rows::OwnRows;
pub use formats::bsr::Bsr;
pub use formats::coo::Coo;
pub use formats::csc::Csc;
pub use formats::csr::Csr;
pub use formats::dia::Dia;
#[doc(hidden)]
pub use formats::eager::eager;
pub use formats::inspected::{Asymmetry, NotFinite};
#[cfg(all(shared_instances, debug_assertions))]
pub use instances::instances;
pub use local::entries::TripletsIter;
#[doc(hidden)]
pub use local::parallel::{self, Threads};
pub use local::rows::{LocalRows, Rows};
#[doc(hidden)]
pub use local::triangular::Sweep;
pub use local::triangular::{Diagonal, Triangle};
pub use local::triplets::{Triplets, TripletsError, TripletsErrorKind};
pub use matrix_market::files::{read_columns, read_vector, write_vector};
#[doc(hidden)]
pub use matrix_market::replace::{file_beside, remove_stale, replace_file};
pub use npz::{NpzFormat, NpzHeader, read_npz_header};
#[doc(hidden)]
pub use operations::inspect::rounding_of_entries;
pub use operations::matmul::Multiplication;
pub use operations::multiply::ElementFactor;
pub use operations::product::RightFactor;
pub use operations::triangular::TriangularSolve;
#[doc(hidden)]
pub use operations::triangular::{TriangularSweep, by_columns};
pub use sparsefuse_runtime::Error;
