//! Operations on single [`Value`]s: uniform instructions, folding, the reference interpreter.
//!
//! Each function finds the element type and calls [`crate::ops`]; for operands that the verifier
//! would refuse it panics, naming the invariant.

use crate::element::{DType, Element, Numeric, Value};
use crate::ir::{BinaryOp, UnaryOp};
use crate::ops::{BitOps, FloatOps, LogicOps, NumericOps, OrderedOps, PlaneOps, RealOps};
use crate::{binary_operations, unary_operations};
use num_complex::Complex;

/// Calls a generic expression with `$T` bound to the type that `$dtype` names, one of some
/// [`Types`](crate::operations::Types).
macro_rules! with_type {
    (All $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(Numeric $dtype, $T => $call, else {
            type $T = bool;
            $call
        })
    };
    (Numeric $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else,
            F32 f32, F64 f64, ComplexF32 Complex<f32>, ComplexF64 Complex<f64>,
            I32 i32, I64 i64, U32 u32, U64 u64)
    };
    (Ordered $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else,
            F32 f32, F64 f64, I32 i32, I64 i64, U32 u32, U64 u64)
    };
    (NotComplex $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else,
            F32 f32, F64 f64, I32 i32, I64 i64, U32 u32, U64 u64, Bool bool)
    };
    (Floats $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else,
            F32 f32, F64 f64, ComplexF32 Complex<f32>, ComplexF64 Complex<f64>)
    };
    (Reals $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else, F32 f32, F64 f64)
    };
    (Bits $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else,
            I32 i32, I64 i64, U32 u32, U64 u64, Bool bool)
    };
    (Logical $dtype:expr, $T:ident => $call:expr, else $else:expr) => {
        with_type!(@ $dtype, $T => $call, else $else, Bool bool)
    };
    (@ $dtype:expr, $T:ident => $call:expr, else $else:expr, $($D:ident $type:ty),*) => {
        match $dtype {
            $(DType::$D => {
                type $T = $type;
                $call
            })*
            _ => $else,
        }
    };
}

pub(crate) use with_type;

fn get<T: Element>(value: Value) -> T {
    T::from_bits(value.bits())
}

fn undefined(op: &str, dtype: DType) -> ! {
    panic!("the verifier admits no `{op}` on {dtype}")
}

/// The nearest element of type `dtype` to `x`.
#[must_use]
pub fn from_f64(dtype: DType, x: f64) -> Value {
    with_type!(Numeric dtype, T => T::from_f64(x).to_value(), else (x != 0.0).to_value())
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
    with_type!(
        Numeric a.dtype(),
        T => NumericOps::mul_add(get::<T>(a), get(factor), get(addend)).to_value(),
        else undefined("mul_add", a.dtype())
    )
}

macro_rules! define_unary {
    ($($types:ident: $trait:ident {$(#[$doc:meta] $op:ident $function:ident $row:tt)*})*) => {
        /// An operation on one value.
        ///
        /// # Panics
        ///
        /// Panics if the operation is not defined on the type of the value.
        #[must_use]
        pub fn unary(op: UnaryOp, a: Value) -> Value {
            let dtype = a.dtype();
            match op {$($(
                UnaryOp::$op => with_type!(
                    $types dtype,
                    T => $trait::$function(get::<T>(a)).to_value(),
                    else undefined(op.name(), dtype)
                ),
            )*)*}
        }
    };
}

macro_rules! define_binary {
    ($($types:ident: $trait:ident {$(#[$doc:meta] $op:ident $function:ident $row:tt)*})*) => {
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
            match op {$($(
                BinaryOp::$op => with_type!(
                    $types dtype,
                    T => apply!($trait $function, get::<T>(a), get::<T>(b)).to_value(),
                    else undefined(op.name(), dtype)
                ),
            )*)*}
        }
    };
}

/// Calls a function of two elements; the comparisons take them by reference.
macro_rules! apply {
    (PartialEq $function:ident, $a:expr, $b:expr) => {
        PartialEq::$function(&$a, &$b)
    };
    (PartialOrd $function:ident, $a:expr, $b:expr) => {
        PartialOrd::$function(&$a, &$b)
    };
    ($trait:ident $function:ident, $a:expr, $b:expr) => {
        $trait::$function($a, $b)
    };
}

unary_operations!(define_unary);
binary_operations!(define_binary);

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
