//! What can be done with matrices: products, sums, parts, norms, triangular solves.
//!
//! Which of them panic and have a twin `try_`, and which return a `Result`, the crate's rules say.

mod adjoint;
mod beside;
mod by_rows;
mod mixed;
mod operators;
pub(crate) mod product;
mod residual;

mod bandwidth;
mod compare;
mod extract;
mod extremes;
mod kron;
mod left;
mod matrix_power;
pub(crate) mod multiply;
mod norms;
mod of_formats;
mod place;
mod reductions;
mod reshape;
mod scale;
mod slices;
mod stack;
mod sum;

pub(crate) mod inspect;
mod masked;
pub(crate) mod matmul;
mod sddmm;
pub(crate) mod triangular;

mod balance;

use sparsefuse_dense::expect;
