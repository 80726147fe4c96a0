//! C types of elements, and operations as C.

use super::Refusal;
use crate::element::DType;
use crate::ir::{BinaryOp, ReduceOp, UnaryOp};
use crate::operations::{BinaryForm, Types, UnaryForm};

/// The C type of a variable.
pub(crate) fn value_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "_Bool",
        other => memory_type(other),
    }
}

/// The C type of an element in memory.
pub(crate) fn memory_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::Bool => "u8",
        DType::ComplexF32 => "complex_f32",
        DType::ComplexF64 => "complex_f64",
    }
}

/// An operation on two operands.
pub(crate) fn binary(op: BinaryOp, dtype: DType, a: &str, b: &str) -> Result<String, Refusal> {
    let call = || format!("{}_{}({a}, {b})", op.name(), memory_type(dtype));
    let is_float = dtype.is_real_float();
    match op.form() {
        BinaryForm::Sign(_) | BinaryForm::FloatSign(_) if dtype.is_complex() => Ok(call()),
        BinaryForm::Sign(sign) => Ok(format!("{a} {sign} {b}")),
        BinaryForm::FloatSign(sign) if is_float => Ok(format!("{a} {sign} {b}")),
        BinaryForm::Call => Ok(call()),
        BinaryForm::FloatCall if is_float => Ok(call()),
        BinaryForm::FloatSign(_) | BinaryForm::FloatCall | BinaryForm::Missing => {
            Err(Refusal::new(op.name(), Some(dtype)))
        }
    }
}

/// An operation on one operand. That of an angle holds up to a bound, which the caller looks after.
pub(crate) fn unary(op: UnaryOp, dtype: DType, operand: &str) -> Result<String, Refusal> {
    let call = || format!("{}_{}({operand})", op.name(), memory_type(dtype));
    if op.is_identity_on(dtype) {
        return Ok(operand.to_owned());
    }
    if dtype.is_complex() {
        return match op.types() == Types::Numeric {
            true => Ok(call()),
            false => Err(Refusal::new(op.name(), Some(dtype))),
        };
    }
    Ok(match op.form() {
        UnaryForm::Prefix(sign) => format!("{sign}{operand}"),
        UnaryForm::Operand => operand.to_owned(),
        UnaryForm::Zero => "0".to_owned(),
        UnaryForm::Angle | UnaryForm::Call => call(),
    })
}

/// The conversion of an operand from one type to another.
pub(crate) fn cast((from, to): (DType, DType), operand: &str) -> String {
    if from == to {
        return operand.to_owned();
    }
    if !from.is_complex() && !to.is_complex() {
        return real_cast((from, to), operand);
    }
    let type_ = value_type(to);
    let part = |name: &str| match from.is_complex() {
        true => format!("{operand}.{name}"),
        false => operand.to_owned(),
    };
    if to == DType::Bool {
        let from = memory_type(from);
        return format!("ne_{from}({operand}, MAKE({from}, 0, 0))");
    }
    let re = real_cast((from.real(), to.real()), &part("re"));
    match (from.is_complex(), to.is_complex()) {
        (_, false) => re,
        (false, true) => format!("MAKE({type_}, {re}, 0)"),
        (true, true) => {
            let im = real_cast((from.real(), to.real()), &part("im"));
            format!("MAKE({type_}, {re}, {im})")
        }
    }
}

fn real_cast((from, to): (DType, DType), operand: &str) -> String {
    let type_ = value_type(to);
    match to {
        _ if from == to => operand.to_owned(),
        DType::Bool => format!("{operand} != 0"),
        // A conversion would need vectors of as many numbers as of bytes.
        _ if from == DType::Bool => format!("({operand} ? ({type_})1 : ({type_})0)"),
        _ if from.is_real_float() && to.is_integer() => format!("{type_}_of({operand})"),
        _ => format!("({type_}){operand}"),
    }
}

/// The operation that joins the elements of a reduction.
pub(crate) fn folded_by(op: ReduceOp, dtype: DType) -> Result<BinaryOp, Refusal> {
    Ok(match op {
        ReduceOp::Sum => BinaryOp::Add,
        ReduceOp::Prod => BinaryOp::Mul,
        ReduceOp::Min => BinaryOp::Min,
        ReduceOp::Max => BinaryOp::Max,
        ReduceOp::Any => BinaryOp::Or,
        ReduceOp::All => BinaryOp::And,
        ReduceOp::ArgMin | ReduceOp::ArgMax => {
            return Err(Refusal::new(op.name(), Some(dtype)));
        }
    })
}
