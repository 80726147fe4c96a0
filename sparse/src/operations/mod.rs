//! What can be done with matrices: products, sums, parts, norms, triangular solves.
//!
//! Which of them panic and have a twin `try_`, and which return a `Result`, the crate's rules say.

mod adjoint;
mod beside;
mod by_rows;
mod operators;
pub(crate) mod product;
mod residual;

mod extract;
mod extremes;
mod kron;
mod left;
mod norms;
mod reshape;
mod scale;
mod stack;
mod sum;

pub(crate) mod inspect;
mod masked;
pub(crate) mod matmul;
mod sddmm;
pub(crate) mod triangular;

mod balance;

use sparsefuse_dense::expect;
