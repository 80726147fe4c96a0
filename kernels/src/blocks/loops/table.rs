//! Which element loops carry out an instruction of the IR on elements of a type.
//!
//! Types whose bits behave alike share a loop: `i32` with `u32` where arithmetic wraps, all types
//! of one size where elements are only moved, `bool` is a byte. A conversion may take two loops in
//! sequence (a complex number is first reduced to its real part, say), which
//! [`crate::scalar::cast`] does in the same two steps.

use super::map as op;
use super::map::{Map, MapLoop, map_loop, rare_map_loop};
use super::whole;
use crate::element::DType;
use crate::ir::{BinaryOp, RandomKind, UnaryOp};
use crate::isa::PerIsa;
use crate::{binary_operations, unary_operations};
use num_complex::Complex;

/// An element loop, and the size of its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) run: PerIsa<MapLoop>,
    pub(crate) out_size: usize,
}

fn entry<M: Map>() -> Entry {
    Entry {
        run: map_loop::<M>(),
        out_size: size_of::<M::Out>(),
    }
}

/// A loop that has no twin for AVX-512: of complex functions, and of integers and `bool`.
fn rare<M: Map>() -> Entry {
    Entry {
        run: rare_map_loop::<M>(),
        out_size: size_of::<M::Out>(),
    }
}

fn undefined(what: &str, dtype: DType) -> ! {
    panic!("the verifier admits no `{what}` on {dtype}")
}

/// One loop for each of the types in a list, those behind the semicolon [`rare`]; `name` is for the
/// message where there is none.
macro_rules! by_type {
    ($name:expr, $dtype:expr, $op:ident:
        $($($D:ident)|+ => $T:ty,)*; $($($R:ident)|+ => $U:ty,)*) => {
        match $dtype {
            $($(DType::$D)|+ => entry::<op::$op<$T>>(),)*
            $($(DType::$R)|+ => rare::<op::$op<$U>>(),)*
            other => undefined($name, other),
        }
    };
}

/// As `by_type`, for a list of all types.
macro_rules! by_all_types {
    ($dtype:expr, $op:ident: $($($D:ident)|+ => $T:ty,)*; $($($R:ident)|+ => $U:ty,)*) => {
        match $dtype {
            $($(DType::$D)|+ => entry::<op::$op<$T>>(),)*
            $($(DType::$R)|+ => rare::<op::$op<$U>>(),)*
        }
    };
}

macro_rules! reals {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op: F32 => f32, F64 => f64,;)
    };
}

/// The same for long functions: native code is what serves them with AVX-512.
macro_rules! rare_reals {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:; F32 => f32, F64 => f64,)
    };
}

macro_rules! floats {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64,; ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,)
    };
}

/// Those of [`op::Exp`], [`op::Sin`] and [`op::Cos`].
macro_rules! blocks {
    ($name:expr, $dtype:expr, $op:ident) => {
        floats!($name, $dtype, $op)
    };
}

macro_rules! products {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64, ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,;)
    };
}

macro_rules! complex {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:; ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,)
    };
}

macro_rules! numeric {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64,;
            ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,
            I32 => i32, I64 => i64, U32 => u32, U64 => u64,)
    };
}

/// Divisions: those of whole numbers are in [`whole`], those of the types that `others` takes are
/// elementwise.
macro_rules! divisions {
    ($others:ident, $name:expr, $dtype:expr, $op:ident) => {
        match $dtype {
            DType::I32 => rare::<whole::$op<i32>>(),
            DType::I64 => rare::<whole::$op<i64>>(),
            DType::U32 => rare::<whole::$op<u32>>(),
            DType::U64 => rare::<whole::$op<u64>>(),
            float => $others!($name, float, $op),
        }
    };
}

macro_rules! quotients {
    ($name:expr, $dtype:expr, $op:ident) => {
        divisions!(floats, $name, $dtype, $op)
    };
}

macro_rules! remainders {
    ($name:expr, $dtype:expr, $op:ident) => {
        divisions!(reals, $name, $dtype, $op)
    };
}

/// Powers, of reals those of [`op::Power`].
macro_rules! powers {
    ($name:expr, $dtype:expr, $op:ident) => {
        match $dtype {
            DType::F32 => entry::<op::Power<f32>>(),
            DType::F64 => entry::<op::Power<f64>>(),
            other => by_type!($name, other, $op:;
                ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,
                I32 => i32, I64 => i64, U32 => u32, U64 => u64,),
        }
    };
}

/// Absolute values, of complex numbers those of [`op::Modulus`].
macro_rules! magnitudes {
    ($name:expr, $dtype:expr, $op:ident) => {
        match $dtype {
            DType::ComplexF32 => entry::<op::Modulus<f32>>(),
            DType::ComplexF64 => entry::<op::Modulus<f64>>(),
            real => by_type!($name, real, $op: F32 => f32, F64 => f64,; I32 => i32, I64 => i64,),
        }
    };
}

macro_rules! wrapping {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64, ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,;
            I32 | U32 => u32, I64 | U64 => u64,)
    };
}

macro_rules! ordered {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64,; I32 => i32, I64 => i64, U32 => u32, U64 => u64,)
    };
}

macro_rules! comparable {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64,; I32 => i32, I64 => i64, U32 => u32, U64 => u64, Bool => u8,)
    };
}

/// The operation with its operands exchanged.
macro_rules! exchanged {
    ($name:expr, $dtype:expr, Gt) => {
        comparable!($name, $dtype, Lt)
    };
    ($name:expr, $dtype:expr, Ge) => {
        comparable!($name, $dtype, Le)
    };
}

macro_rules! any {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_all_types!($dtype, $op:
            F32 => f32, F64 => f64,;
            ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,
            I32 | U32 => u32, I64 | U64 => u64, Bool => u8,)
    };
}

macro_rules! logical {
    ($name:expr, $dtype:expr, $op:ident) => {
        match $dtype {
            DType::Bool => rare::<op::$op>(),
            other => undefined($name, other),
        }
    };
}

macro_rules! bits {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:; I32 | U32 => u32, I64 | U64 => u64, Bool => u8,)
    };
}

/// A conversion to each of the real types.
macro_rules! by_target {
    ($to:expr, $op:ident $(, $from:ty)?) => {
        match $to {
            DType::F32 => rare::<op::$op<$($from,)? f32>>(),
            DType::F64 => rare::<op::$op<$($from,)? f64>>(),
            DType::I32 => rare::<op::$op<$($from,)? i32>>(),
            DType::I64 => rare::<op::$op<$($from,)? i64>>(),
            DType::U32 => rare::<op::$op<$($from,)? u32>>(),
            DType::U64 => rare::<op::$op<$($from,)? u64>>(),
            other => undefined("cast", other),
        }
    };
}

macro_rules! by_size {
    ($dtype:expr, $op:ident) => {
        by_all_types!($dtype, $op:
            F32 | I32 | U32 => u32, F64 | ComplexF32 | I64 | U64 => u64, ComplexF64 => [u64; 2],;
            Bool => u8,)
    };
}

/// The loop that copies elements.
pub(crate) fn copy(dtype: DType) -> Entry {
    by_size!(dtype, Copied)
}

/// The loop of [`crate::Inst::Select`].
pub(crate) fn select(dtype: DType) -> Entry {
    by_size!(dtype, Select)
}

macro_rules! define_unary {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $same_on:ident | $undone:literal | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        /// The loop of an operation on one value.
        pub(crate) fn unary(unary: UnaryOp, dtype: DType) -> Entry {
            if unary.is_identity_on(dtype) {
                return copy(dtype);
            }
            let name = unary.name();
            match unary {$($(
                UnaryOp::$op => $loops!(name, dtype, $op),
            )*)*}
        }
    };
}

macro_rules! define_binary {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $neutral:ident $(($number:ident))? | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        /// The loop of an operation on two values; `Gt` and `Ge` are `Lt` and `Le` with the
        /// operands exchanged, which is the caller's business.
        pub(crate) fn binary(binary: BinaryOp, dtype: DType) -> Entry {
            let name = binary.name();
            match binary {$($(
                BinaryOp::$op => $loops!(name, dtype, $op),
            )*)*}
        }
    };
}

unary_operations!(define_unary);
binary_operations!(define_binary);

/// The loops that multiply and then, rounding again, add or subtract.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Product {
    /// `a * b + c`.
    Plus,
    /// `a * b - c`.
    Minus,
    /// `c - a * b`.
    Subtracted,
}

/// The loop of a multiplication with an addition or subtraction.
pub(crate) fn product(product: Product, dtype: DType) -> Entry {
    match product {
        Product::Plus => products!("product plus", dtype, MulAdd),
        Product::Minus => products!("product minus", dtype, MulSub),
        Product::Subtracted => products!("minus product", dtype, SubMul),
    }
}

/// The loop of `min(max(a, b), c)`.
pub(crate) fn clamp(dtype: DType) -> Entry {
    ordered!("clamp", dtype, Clamp)
}

/// The loop of a random distribution.
pub(crate) fn random(kind: RandomKind) -> Entry {
    match kind {
        RandomKind::Bits => entry::<op::RandomBits>(),
        RandomKind::Uniform => entry::<op::RandomUniform>(),
        RandomKind::Normal => entry::<op::RandomNormal>(),
    }
}

/// The loops of a conversion, one after the other; none between types with equal bits.
pub(crate) fn cast(from: DType, to: DType) -> Vec<Entry> {
    use DType::{Bool, ComplexF32, ComplexF64, F32, F64};
    if from == to {
        return Vec::new();
    }
    match (from, to) {
        (_, Bool) => vec![any!("cast", from, IsNonzero)],
        (ComplexF32, ComplexF64) => vec![rare::<op::CastParts<f32, f64>>()],
        (ComplexF64, ComplexF32) => vec![rare::<op::CastParts<f64, f32>>()],
        (ComplexF32 | ComplexF64, real) => {
            let mut entries = vec![complex!("re", from, Re)];
            entries.extend(cast(from.real(), real));
            entries
        }
        (real, ComplexF32 | ComplexF64) => {
            let mut entries = cast(real, to.real());
            entries.push(match to.real() {
                F32 => rare::<op::ToComplex<f32>>(),
                _ => rare::<op::ToComplex<f64>>(),
            });
            entries
        }
        (F32, F64) => vec![entry::<op::Cast<f32, f64>>()],
        (F64, F32) => vec![entry::<op::Cast<f64, f32>>()],
        (Bool, real) => vec![by_target!(real, Number)],
        (F32, integer) => vec![truncation::<f32>(integer)],
        (F64, integer) => vec![truncation::<f64>(integer)],
        (integer, float) if float.is_real_float() => vec![cast_integer(integer, float)],
        (integer, other) => resize(integer, other),
    }
}

fn truncation<T: whole::Float>(integer: DType) -> Entry {
    match integer {
        DType::I32 => rare::<whole::Truncation<T, i32>>(),
        DType::I64 => rare::<whole::Truncation<T, i64>>(),
        DType::U32 => rare::<whole::Truncation<T, u32>>(),
        DType::U64 => rare::<whole::Truncation<T, u64>>(),
        other => undefined("cast", other),
    }
}

fn cast_integer(integer: DType, float: DType) -> Entry {
    match integer {
        DType::I32 => by_target!(float, Cast, i32),
        DType::I64 => by_target!(float, Cast, i64),
        DType::U32 => by_target!(float, Cast, u32),
        DType::U64 => by_target!(float, Cast, u64),
        other => undefined("cast", other),
    }
}

/// Integer to integer: wider by the sign of the source, narrower by dropping bits.
fn resize(from: DType, to: DType) -> Vec<Entry> {
    match (from.size(), to.size()) {
        (4, 8) if from == DType::I32 => vec![rare::<op::Cast<i32, i64>>()],
        (4, 8) => vec![rare::<op::Cast<u32, u64>>()],
        (8, 4) => vec![rare::<op::Cast<u64, u32>>()],
        _ => Vec::new(),
    }
}
