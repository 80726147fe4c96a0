//! Dense arrays: one operation a line, one task each.

#![forbid(unsafe_code)]

mod array;
mod scalar;

mod construct;
mod interop;

mod methods;
mod operators;

mod matrix;
mod reductions;

mod slices;
mod views;

mod bodies;
mod operand;

pub use array::{Array, Vector};
pub use operand::{ArrayOperand, Handle, Operand, ScalarOperand, Source};
pub use scalar::Scalar;
pub use slices::{Slice, Slices, step};
pub use sparsefuse_kernels::{Element, Field, Numeric, Real};
pub use sparsefuse_runtime::{Error, ErrorKind};
