//! Folding: operations on constants become constants, and operations that give back an operand
//! become that operand.
//!
//! Only what keeps the bits for every input: `x * 1` is `x`, but `x + 0` is not (for -0), nor is
//! `x * 0` (for NaN), nor `z * 1` for complex `z`. (A signalling NaN, which no operation yields,
//! stays signalling where the operation would have made it quiet.)

use crate::element::{DType, Element, Value};
use crate::ir::{self, BinaryOp, Inst, Kernel, UnaryOp, ValueId};
use crate::operations::{Neutral, Number};
use crate::scalar;

pub(super) fn fold(kernel: &mut Kernel) {
    for l in 0..kernel.loops.len() {
        let mut body = std::mem::take(&mut kernel.loops[l].body);
        let types = ir::value_types(kernel, &body);
        fold_body(&types, &mut body);
        kernel.loops[l].body = body;
    }
}

/// What an instruction computes more simply.
enum Simpler {
    /// The value of another instruction.
    Same(ValueId),
    Constant(Value),
}

fn fold_body(types: &[Option<DType>], body: &mut [Inst]) {
    let mut same: Vec<ValueId> = Vec::with_capacity(body.len());
    for i in 0..body.len() {
        body[i] = body[i].map_operands(|value| same[value as usize]);
        same.push(i as ValueId);
        match simplify(types, body, body[i]) {
            Some(Simpler::Same(value)) => same[i] = value,
            Some(Simpler::Constant(value)) => body[i] = Inst::Const(value),
            None => {}
        }
    }
}

fn simplify(types: &[Option<DType>], body: &[Inst], inst: Inst) -> Option<Simpler> {
    let constant = |value: ValueId| match body[value as usize] {
        Inst::Const(constant) => Some(constant),
        _ => None,
    };
    match inst {
        Inst::Unary(op, a) => match constant(a) {
            Some(x) => Some(Simpler::Constant(scalar::unary(op, x))),
            None => simplify_unary(op, a, types[a as usize]?, body[a as usize]),
        },
        Inst::Binary(op, a, b) => match (constant(a), constant(b)) {
            (Some(x), Some(y)) => Some(Simpler::Constant(scalar::binary(op, x, y))),
            (None, Some(y)) if is_right_neutral(op, y) => Some(Simpler::Same(a)),
            (Some(x), None) if is_left_neutral(op, x) => Some(Simpler::Same(b)),
            _ => None,
        },
        Inst::Select(condition, a, b) => match constant(condition) {
            Some(holds) if holds == true.to_value() => Some(Simpler::Same(a)),
            Some(_) => Some(Simpler::Same(b)),
            None => (a == b).then_some(Simpler::Same(a)),
        },
        Inst::Cast(dtype, a) if types[a as usize] == Some(dtype) => Some(Simpler::Same(a)),
        Inst::Cast(dtype, a) => Some(Simpler::Constant(scalar::cast(dtype, constant(a)?))),
        Inst::Const(_)
        | Inst::Param(_)
        | Inst::LoadScalar(_)
        | Inst::Index
        | Inst::Load(_)
        | Inst::Random { .. }
        | Inst::RowSum { .. }
        | Inst::Gather { .. }
        | Inst::RowReduce { .. }
        | Inst::Store(..)
        | Inst::StoreScalar(..)
        | Inst::Reduce(..) => None,
    }
}

/// Operations that undo themselves, and those that are the identity on some types.
fn simplify_unary(op: UnaryOp, a: ValueId, dtype: DType, definition: Inst) -> Option<Simpler> {
    match definition {
        Inst::Unary(inner, x) if inner == op && op.undoes_itself() => Some(Simpler::Same(x)),
        _ => op.is_identity_on(dtype).then_some(Simpler::Same(a)),
    }
}

/// Whether `x op constant` is `x` for every `x`.
fn is_right_neutral(op: BinaryOp, constant: Value) -> bool {
    match op.neutral() {
        Neutral::Right(number) | Neutral::Both(number) => is_number(number, constant),
        Neutral::Nothing => false,
    }
}

/// Whether `constant op x` is `x` for every `x`.
fn is_left_neutral(op: BinaryOp, constant: Value) -> bool {
    match op.neutral() {
        Neutral::Both(number) => is_number(number, constant),
        Neutral::Nothing | Neutral::Right(_) => false,
    }
}

fn is_number(number: Number, constant: Value) -> bool {
    let dtype = constant.dtype();
    let zero = || scalar::from_f64(dtype, 0.0);
    match number {
        Number::Zero => constant == zero(),
        Number::MinusZero => constant == scalar::unary(UnaryOp::Neg, zero()),
        Number::One => constant == scalar::from_f64(dtype, 1.0) && !dtype.is_complex(),
        Number::True => constant == true.to_value(),
    }
}
