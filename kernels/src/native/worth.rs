//! Whether a loop is worth native code: whether arithmetic bounds it.
//!
//! Decided by counting alone, in quarters of a cycle for each row: what the steps of the block
//! executor cost, against what memory costs. A loop whose rows move more bytes than that is bound
//! by memory, and its native form would not be faster.

use crate::ir::{ArgKind, BinaryOp, Inst, Kernel, Loop, UnaryOp, uniform_values};
use crate::isa::Isa;
use std::collections::BTreeSet;

/// The work of a row in blocks, in quarters of a cycle, if the loop is worth native code.
pub(super) fn work_of_row(kernel: &Kernel, loop_: &Loop, isa: Isa) -> Option<u64> {
    // Elsewhere fused multiply-adds are calls, in native code as in blocks.
    if isa == Isa::Baseline && !cfg!(target_arch = "aarch64") {
        return None;
    }
    let uniform = uniform_values(&loop_.body);
    let varying = loop_.body.iter().zip(uniform);
    let varying = varying.filter_map(|(inst, uniform)| (!uniform).then_some(inst));
    let mut work = 0;
    let mut arrays = BTreeSet::new();
    for inst in varying {
        work += cost(inst);
        inst.for_each_arg(|arg| {
            if kernel.args[arg as usize].kind == ArgKind::Array {
                arrays.insert(arg);
            }
        });
    }
    // A byte from memory costs about a quarter of a cycle.
    let bytes: usize = arrays
        .iter()
        .map(|&arg| kernel.args[arg as usize].dtype.size())
        .sum();
    (work > bytes as u64).then_some(work)
}

/// What a step costs a row, in quarters of a cycle of AVX-512; from the table of [`crate::math`].
fn cost(inst: &Inst) -> u64 {
    match *inst {
        Inst::Load(_) | Inst::Store(..) => 0,
        Inst::Unary(op, _) => match op {
            UnaryOp::Sqrt => 8,
            UnaryOp::Exp => 10,
            UnaryOp::Log | UnaryOp::Sin | UnaryOp::Cos => 14,
            UnaryOp::Tanh | UnaryOp::Erf => 24,
            UnaryOp::Neg
            | UnaryOp::Abs
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Sign
            | UnaryOp::Not
            | UnaryOp::Conj
            | UnaryOp::Re
            | UnaryOp::Im => 1,
        },
        Inst::Binary(op, ..) => match op {
            BinaryOp::Div | BinaryOp::Rem => 8,
            BinaryOp::Pow => 60,
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => 1,
        },
        Inst::Random { .. } => 40,
        Inst::Const(_)
        | Inst::Param(_)
        | Inst::LoadScalar(_)
        | Inst::Index
        | Inst::Select(..)
        | Inst::Cast(..)
        | Inst::RowSum { .. }
        | Inst::RowReduce { .. }
        | Inst::StoreScalar(..)
        | Inst::Reduce(..) => 1,
    }
}
