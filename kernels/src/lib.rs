//! Kernels: what one piece computes, and the ways to compute it.
//!
//! This crate has never heard of stores, ranks or messages. It holds the kernel IR ([`ir`]) with
//! its text form, verifier and passes, the reference interpreter that is the oracle for everything
//! else, and the block executor that runs kernels fast.

mod abi;
pub mod blocks;
pub mod device;
pub mod element;
#[cfg(test)]
mod generate;
pub mod ir;
pub mod isa;
pub mod launch;
mod math;
pub mod matmul;
pub mod native;
mod numeric;
mod operations;
mod ops;
pub mod packed;
pub mod passes;
pub mod random;
pub mod reduce;
pub mod reference;
pub mod scalar;
pub mod text;
pub mod tiles;
pub mod verify;
pub mod workers;

pub use blocks::{Part, Program, Settings};
pub use element::{DType, Element, Field, Numeric, Real, Value};
pub use ir::{
    Arg, ArgId, ArgKind, BinaryOp, Inst, Kernel, KernelBuilder, Loop, RandomKind, ReduceOp, Symbol,
    Symbols, Term, UnaryOp, ValueId,
};
pub use isa::Isa;
pub use launch::{Extent, Launch, Layout, Operand, Packed, Sliced, Structure};
pub use native::Toolchain;
pub use workers::Workers;
