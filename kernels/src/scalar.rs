//! Operations on single [`Value`]s: uniform instructions, folding, the reference interpreter.
//!
//! Each function finds the element type and calls [`crate::ops`]; for operands that the verifier
//! would refuse it panics, naming the invariant.

use crate::element::{DType, Element, Numeric, Value};
use crate::ir::{BinaryOp, UnaryOp};
use crate::ops::{BitOps, FloatOps, NumericOps, OrderedOps, RealOps};
use num_complex::Complex;

/// Calls a generic expression with `$T` bound to the type that `$dtype` names.
macro_rules! with_numeric {
    ($dtype:expr, $T:ident => $call:expr, bool => $bool:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $call
            }
            DType::F64 => {
                type $T = f64;
                $call
            }
            DType::ComplexF32 => {
                type $T = Complex<f32>;
                $call
            }
            DType::ComplexF64 => {
                type $T = Complex<f64>;
                $call
            }
            DType::I32 => {
                type $T = i32;
                $call
            }
            DType::I64 => {
                type $T = i64;
                $call
            }
            DType::U32 => {
                type $T = u32;
                $call
            }
            DType::U64 => {
                type $T = u64;
                $call
            }
            DType::Bool => $bool,
        }
    };
}

fn get<T: Element>(value: Value) -> T {
    T::from_bits(value.bits())
}

fn undefined(op: &str, dtype: DType) -> ! {
    panic!("the verifier admits no `{op}` on {dtype}")
}

/// The nearest element of type `dtype` to `x`.
#[must_use]
pub fn from_f64(dtype: DType, x: f64) -> Value {
    with_numeric!(dtype, T => T::from_f64(x).to_value(), bool => (x != 0.0).to_value())
}

/// Whether a value is NaN, or has a part that is.
#[must_use]
pub fn is_nan(a: Value) -> bool {
    match a.dtype() {
        DType::F32 => get::<f32>(a).is_nan(),
        DType::F64 => get::<f64>(a).is_nan(),
        DType::ComplexF32 => get::<Complex<f32>>(a).is_nan(),
        DType::ComplexF64 => get::<Complex<f64>>(a).is_nan(),
        DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool => false,
    }
}

/// `a < b`.
#[must_use]
pub fn less(a: Value, b: Value) -> bool {
    binary(BinaryOp::Lt, a, b) == true.to_value()
}

/// `a * factor + addend`, as [`crate::ops`] fuses it.
#[must_use]
pub fn mul_add(a: Value, factor: Value, addend: Value) -> Value {
    with_numeric!(
        a.dtype(),
        T => NumericOps::mul_add(get::<T>(a), get(factor), get(addend)).to_value(),
        bool => undefined("mul_add", DType::Bool)
    )
}

/// An operation on one value.
#[must_use]
pub fn unary(op: UnaryOp, a: Value) -> Value {
    let dtype = a.dtype();
    match op {
        UnaryOp::Not => (!get::<bool>(a)).to_value(),
        UnaryOp::Neg | UnaryOp::Sign | UnaryOp::Conj | UnaryOp::Abs | UnaryOp::Re | UnaryOp::Im => {
            with_numeric!(
                dtype,
                T => numeric_unary(op, get::<T>(a)),
                bool => undefined(op.name(), dtype)
            )
        }
        UnaryOp::Floor | UnaryOp::Ceil => match dtype {
            DType::F32 => round(op, get::<f32>(a)),
            DType::F64 => round(op, get::<f64>(a)),
            DType::I32 | DType::I64 | DType::U32 | DType::U64 => a,
            DType::ComplexF32 | DType::ComplexF64 | DType::Bool => undefined(op.name(), dtype),
        },
        UnaryOp::Erf => match dtype {
            DType::F32 => RealOps::erf(get::<f32>(a)).to_value(),
            DType::F64 => RealOps::erf(get::<f64>(a)).to_value(),
            _ => undefined(op.name(), dtype),
        },
        UnaryOp::Sqrt
        | UnaryOp::Exp
        | UnaryOp::Log
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tanh => match dtype {
            DType::F32 => float_unary(op, get::<f32>(a)),
            DType::F64 => float_unary(op, get::<f64>(a)),
            DType::ComplexF32 => float_unary(op, get::<Complex<f32>>(a)),
            DType::ComplexF64 => float_unary(op, get::<Complex<f64>>(a)),
            _ => undefined(op.name(), dtype),
        },
    }
}

fn numeric_unary<T: NumericOps>(op: UnaryOp, a: T) -> Value {
    match op {
        UnaryOp::Neg => a.neg().to_value(),
        UnaryOp::Sign => a.sign().to_value(),
        UnaryOp::Conj => a.conj().to_value(),
        UnaryOp::Abs => a.abs().to_value(),
        UnaryOp::Re => a.re().to_value(),
        UnaryOp::Im => a.im().to_value(),
        _ => undefined(op.name(), T::DTYPE),
    }
}

fn round<T: OrderedOps>(op: UnaryOp, a: T) -> Value {
    match op {
        UnaryOp::Floor => a.floor().to_value(),
        _ => a.ceil().to_value(),
    }
}

fn float_unary<T: FloatOps>(op: UnaryOp, a: T) -> Value {
    match op {
        UnaryOp::Sqrt => a.sqrt().to_value(),
        UnaryOp::Exp => a.exp().to_value(),
        UnaryOp::Log => a.log().to_value(),
        UnaryOp::Sin => a.sin().to_value(),
        UnaryOp::Cos => a.cos().to_value(),
        UnaryOp::Tanh => a.tanh().to_value(),
        _ => undefined(op.name(), T::DTYPE),
    }
}

/// An operation on two values of the same type.
///
/// # Panics
///
/// Panics if the types differ, or the operation is not defined on them.
#[must_use]
pub fn binary(op: BinaryOp, a: Value, b: Value) -> Value {
    let dtype = a.dtype();
    assert_eq!(
        dtype,
        b.dtype(),
        "the verifier admits operands of one type only"
    );
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow => {
            with_numeric!(
                dtype,
                T => numeric_binary(op, get::<T>(a), get(b)),
                bool => undefined(op.name(), dtype)
            )
        }
        BinaryOp::Rem | BinaryOp::Min | BinaryOp::Max => match dtype {
            DType::F32 => ordered_binary(op, get::<f32>(a), get(b)),
            DType::F64 => ordered_binary(op, get::<f64>(a), get(b)),
            DType::I32 => ordered_binary(op, get::<i32>(a), get(b)),
            DType::I64 => ordered_binary(op, get::<i64>(a), get(b)),
            DType::U32 => ordered_binary(op, get::<u32>(a), get(b)),
            DType::U64 => ordered_binary(op, get::<u64>(a), get(b)),
            DType::ComplexF32 | DType::ComplexF64 | DType::Bool => undefined(op.name(), dtype),
        },
        BinaryOp::Eq | BinaryOp::Ne => {
            let equal = with_numeric!(
                dtype,
                T => get::<T>(a) == get::<T>(b),
                bool => get::<bool>(a) == get::<bool>(b)
            );
            (equal == (op == BinaryOp::Eq)).to_value()
        }
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => match dtype {
            DType::F32 => compare(op, get::<f32>(a), get(b)),
            DType::F64 => compare(op, get::<f64>(a), get(b)),
            DType::I32 => compare(op, get::<i32>(a), get(b)),
            DType::I64 => compare(op, get::<i64>(a), get(b)),
            DType::U32 => compare(op, get::<u32>(a), get(b)),
            DType::U64 => compare(op, get::<u64>(a), get(b)),
            DType::Bool => compare(op, get::<bool>(a), get(b)),
            DType::ComplexF32 | DType::ComplexF64 => undefined(op.name(), dtype),
        },
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => match dtype {
            DType::Bool => logic(op, get::<bool>(a), get(b)),
            DType::I32 => logic(op, get::<i32>(a), get(b)),
            DType::I64 => logic(op, get::<i64>(a), get(b)),
            DType::U32 => logic(op, get::<u32>(a), get(b)),
            DType::U64 => logic(op, get::<u64>(a), get(b)),
            _ => undefined(op.name(), dtype),
        },
    }
}

fn numeric_binary<T: NumericOps>(op: BinaryOp, a: T, b: T) -> Value {
    match op {
        BinaryOp::Add => a.add(b).to_value(),
        BinaryOp::Sub => a.sub(b).to_value(),
        BinaryOp::Mul => a.mul(b).to_value(),
        BinaryOp::Div => a.div(b).to_value(),
        BinaryOp::Pow => a.pow(b).to_value(),
        _ => undefined(op.name(), T::DTYPE),
    }
}

fn ordered_binary<T: OrderedOps>(op: BinaryOp, a: T, b: T) -> Value {
    match op {
        BinaryOp::Rem => a.rem(b).to_value(),
        BinaryOp::Min => OrderedOps::min(a, b).to_value(),
        _ => OrderedOps::max(a, b).to_value(),
    }
}

fn compare<T: PartialOrd>(op: BinaryOp, a: T, b: T) -> Value {
    match op {
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        _ => a >= b,
    }
    .to_value()
}

fn logic<T: BitOps>(op: BinaryOp, a: T, b: T) -> Value {
    match op {
        BinaryOp::And => a.and(b).to_value(),
        BinaryOp::Or => a.or(b).to_value(),
        _ => a.xor(b).to_value(),
    }
}

/// Conversion to another type, as [`crate::ir::Inst::Cast`] says.
#[must_use]
pub fn cast(dtype: DType, a: Value) -> Value {
    if dtype == a.dtype() {
        return a;
    }
    match a.dtype() {
        DType::F32 => cast_real(dtype, get::<f32>(a)),
        DType::F64 => cast_real(dtype, get::<f64>(a)),
        DType::I32 => cast_real(dtype, get::<i32>(a)),
        DType::I64 => cast_real(dtype, get::<i64>(a)),
        DType::U32 => cast_real(dtype, get::<u32>(a)),
        DType::U64 => cast_real(dtype, get::<u64>(a)),
        DType::Bool => cast_real(dtype, u32::from(get::<bool>(a))),
        DType::ComplexF32 => cast_complex(dtype, get::<Complex<f32>>(a)),
        DType::ComplexF64 => cast_complex(dtype, get::<Complex<f64>>(a)),
    }
}

/// A conversion between element types, as Rust's `as`.
pub(crate) trait CastTo<U> {
    fn cast_to(self) -> U;
}

macro_rules! cast_to {
    ($($from:ident => $($to:ident)*;)*) => {$($(
        impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast_to(self) -> $to {
                self as $to
            }
        }
    )*)*};
}

cast_to! {
    f32 => f32 f64 i32 i64 u32 u64;
    f64 => f32 f64 i32 i64 u32 u64;
    i32 => f32 f64 i32 i64 u32 u64;
    i64 => f32 f64 i32 i64 u32 u64;
    u32 => f32 f64 i32 i64 u32 u64;
    u64 => f32 f64 i32 i64 u32 u64;
}

fn cast_real<T>(dtype: DType, a: T) -> Value
where
    T: Numeric + CastTo<f32> + CastTo<f64> + CastTo<i32> + CastTo<i64> + CastTo<u32> + CastTo<u64>,
{
    match dtype {
        DType::F32 => CastTo::<f32>::cast_to(a).to_value(),
        DType::F64 => CastTo::<f64>::cast_to(a).to_value(),
        DType::ComplexF32 => Complex::new(CastTo::<f32>::cast_to(a), 0.0).to_value(),
        DType::ComplexF64 => Complex::new(CastTo::<f64>::cast_to(a), 0.0).to_value(),
        DType::I32 => CastTo::<i32>::cast_to(a).to_value(),
        DType::I64 => CastTo::<i64>::cast_to(a).to_value(),
        DType::U32 => CastTo::<u32>::cast_to(a).to_value(),
        DType::U64 => CastTo::<u64>::cast_to(a).to_value(),
        DType::Bool => (a != T::ZERO).to_value(),
    }
}

fn cast_complex<T: NumericOps + CastComplex>(dtype: DType, a: T) -> Value {
    match dtype {
        DType::ComplexF32 => {
            let (re, im) = a.wide();
            Complex::new(re as f32, im as f32).to_value()
        }
        DType::ComplexF64 => {
            let (re, im) = a.wide();
            Complex::new(re, im).to_value()
        }
        DType::Bool => (a != T::ZERO).to_value(),
        real => cast(real, a.re().to_value()),
    }
}

trait CastComplex {
    fn wide(self) -> (f64, f64);
}

impl CastComplex for Complex<f32> {
    fn wide(self) -> (f64, f64) {
        (f64::from(self.re), f64::from(self.im))
    }
}

impl CastComplex for Complex<f64> {
    fn wide(self) -> (f64, f64) {
        (self.re, self.im)
    }
}
