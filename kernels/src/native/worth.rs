//! Whether a loop is worth native code.
//!
//! Decided by counting alone, in quarters of a cycle for each row: what the steps of the block
//! executor cost, against what memory costs. A loop with more arithmetic than that is worth it
//! whatever its length. A loop whose rows move more bytes is bound by memory where its arrays come
//! from there; but while the steps after the first work in the cache, memory does less than it
//! could. So a loop of several steps is worth it too, for arrays beyond the caches only.

use crate::element::DType;
use crate::ir::{ArgKind, BinaryOp, Inst, Kernel, Loop, UnaryOp, uniform_values, value_types};
use crate::isa::Isa;
use std::collections::BTreeMap;

/// Operations and stores from which on blocks do not keep up with memory.
const MANY_STEPS: usize = 4;

/// What bounds a loop that is worth native code, with the work of a row in blocks, in quarters of a
/// cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// Arithmetic, wherever the arrays are.
    Arithmetic(u64),
    /// Memory, so only where the arrays are there.
    Memory(u64),
}

impl Worth {
    /// The work of a row in blocks, in quarters of a cycle.
    pub(super) fn work(self) -> u64 {
        match self {
            Self::Arithmetic(work) | Self::Memory(work) => work,
        }
    }
}

/// Whether a loop is worth native code.
pub(super) fn worth(kernel: &Kernel, loop_: &Loop, isa: Isa) -> Option<Worth> {
    // Elsewhere fused multiply-adds are calls, in native code as in blocks.
    if isa == Isa::Baseline && !cfg!(target_arch = "aarch64") {
        return None;
    }
    let uniform = uniform_values(&loop_.body);
    let types = value_types(kernel, &loop_.body);
    let varying = loop_.body.iter().zip(uniform);
    let varying = varying.filter_map(|(inst, uniform)| (!uniform).then_some(inst));
    let (mut work, mut n_steps) = (0, 0);
    // Arguments that share memory are views of one array, which comes from memory once, and goes
    // there once.
    let mut arrays = BTreeMap::new();
    for inst in varying {
        let mut is_complex = false;
        inst.for_each_operand(|value| {
            is_complex |= types[value as usize].is_some_and(DType::is_complex);
        });
        work += match *inst {
            // Blocks count a mask without making numbers of it.
            Inst::Cast(_, a) if types[a as usize] == Some(DType::Bool) => 0,
            _ if is_complex => complex_cost(inst),
            _ => cost(inst),
        };
        n_steps += usize::from(!matches!(inst, Inst::Load(_)));
        inst.for_each_arg(|arg| {
            let arg = &kernel.args[arg as usize];
            if arg.kind == ArgKind::Array {
                arrays.insert((arg.memory, inst.is_effect()), arg.dtype.size());
            }
        });
    }
    // A byte from memory costs about a quarter of a cycle.
    let bytes = arrays.values().sum::<usize>() as u64;
    match work > bytes {
        true => Some(Worth::Arithmetic(work)),
        false if n_steps >= MANY_STEPS => Some(Worth::Memory(bytes)),
        false => None,
    }
}

/// What a step costs a row, in quarters of a cycle of AVX-512.
fn cost(inst: &Inst) -> u64 {
    match *inst {
        Inst::Load(_) | Inst::Store(..) => 0,
        Inst::Unary(op, _) => op.cost(),
        Inst::Binary(op, ..) => op.cost(),
        Inst::Random { .. } => 40,
        Inst::Const(_)
        | Inst::Param(_)
        | Inst::LoadScalar(_)
        | Inst::Index
        | Inst::Select(..)
        | Inst::Cast(..)
        | Inst::RowSum { .. }
        | Inst::Gather { .. }
        | Inst::RowReduce { .. }
        | Inst::StoreScalar(..)
        | Inst::Reduce(..) => 1,
    }
}

/// The same for complex numbers, which have two parts. Blocks divide them one by one.
fn complex_cost(inst: &Inst) -> u64 {
    match *inst {
        Inst::Binary(BinaryOp::Div, ..) => 100,
        Inst::Unary(UnaryOp::Abs | UnaryOp::Sign, _) => 2 * BinaryOp::Hypot.cost(),
        _ => 2 * cost(inst),
    }
}
