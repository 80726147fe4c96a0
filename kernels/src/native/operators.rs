//! C types of elements, and binary operations as C.

use super::Refusal;
use crate::element::DType;
use crate::ir::BinaryOp;
use crate::operations::BinaryForm;

/// The C type of a variable.
pub(super) fn value_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "_Bool",
        other => memory_type(other),
    }
}

/// The C type of an element in memory.
pub(super) fn memory_type(dtype: DType) -> &'static str {
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
pub(super) fn binary(op: BinaryOp, dtype: DType, a: &str, b: &str) -> Result<String, Refusal> {
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
