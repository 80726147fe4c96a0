//! Dense arrays: one operation a line, one task each.

#![forbid(unsafe_code)]

mod array;
mod scalar;

mod bodies;
mod operand;

mod operators;
mod reductions;

pub use array::{Array, Vector};
pub use operand::{ArrayOperand, Handle, Operand, ScalarOperand, Source};
pub use scalar::Scalar;
pub use sparsefuse_kernels::{Element, Field, Numeric, Real};
pub use sparsefuse_runtime::{Error, ErrorKind};
