//! Which element loops carry out an instruction of the IR on elements of a type.
//!
//! Types whose bits behave alike share a loop: `i32` with `u32` where arithmetic wraps, all types
//! of one size where elements are only moved, `bool` is a byte. A conversion may take two loops in
//! sequence (a complex number is first reduced to its real part, say), which
//! [`crate::scalar::cast`] does in the same two steps.

use super::loops as op;
use super::loops::{Map, MapLoop, map_loop, rare_map_loop};
use crate::element::DType;
use crate::ir::{BinaryOp, RandomKind, UnaryOp};
use crate::isa::PerIsa;
use num_complex::Complex;

/// An element loop, and the size of its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) run: PerIsa<MapLoop>,
    pub(super) out_size: usize,
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

macro_rules! real {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op: F32 => f32, F64 => f64,;)
    };
}

macro_rules! floats {
    ($name:expr, $dtype:expr, $op:ident) => {
        by_type!($name, $dtype, $op:
            F32 => f32, F64 => f64,; ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,)
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

macro_rules! any {
    ($dtype:expr, $op:ident) => {
        by_all_types!($dtype, $op:
            F32 => f32, F64 => f64,;
            ComplexF32 => Complex<f32>, ComplexF64 => Complex<f64>,
            I32 | U32 => u32, I64 | U64 => u64, Bool => u8,)
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
pub(super) fn copy(dtype: DType) -> Entry {
    by_size!(dtype, Copied)
}

/// The loop of [`crate::Inst::Select`].
pub(super) fn select(dtype: DType) -> Entry {
    by_size!(dtype, Select)
}

/// The loop of an operation on one value.
pub(super) fn unary(unary: UnaryOp, dtype: DType) -> Entry {
    let name = unary.name();
    match unary {
        UnaryOp::Not => rare::<op::Not>(),
        UnaryOp::Neg => wrapping!(name, dtype, Neg),
        UnaryOp::Abs => numeric!(name, dtype, Abs),
        UnaryOp::Sqrt => floats!(name, dtype, Sqrt),
        UnaryOp::Exp => floats!(name, dtype, Exp),
        UnaryOp::Log => floats!(name, dtype, Log),
        UnaryOp::Sin if dtype.is_complex() => complex!(name, dtype, Sin),
        UnaryOp::Sin => real!(name, dtype, SinReal),
        UnaryOp::Cos if dtype.is_complex() => complex!(name, dtype, Cos),
        UnaryOp::Cos => real!(name, dtype, CosReal),
        UnaryOp::Tanh => floats!(name, dtype, Tanh),
        UnaryOp::Erf => real!(name, dtype, Erf),
        UnaryOp::Floor if dtype.is_integer() => copy(dtype),
        UnaryOp::Floor => real!(name, dtype, Floor),
        UnaryOp::Ceil if dtype.is_integer() => copy(dtype),
        UnaryOp::Ceil => real!(name, dtype, Ceil),
        UnaryOp::Sign => numeric!(name, dtype, Sign),
        UnaryOp::Conj if !dtype.is_complex() => copy(dtype),
        UnaryOp::Conj => complex!(name, dtype, Conj),
        UnaryOp::Re if !dtype.is_complex() => copy(dtype),
        UnaryOp::Re => complex!(name, dtype, Re),
        UnaryOp::Im => wrapping!(name, dtype, Im),
    }
}

/// The loop of an operation on two values; `Gt` and `Ge` are `Lt` and `Le` with the operands
/// exchanged, which is the caller's business.
pub(super) fn binary(binary: BinaryOp, dtype: DType) -> Entry {
    let name = binary.name();
    match binary {
        BinaryOp::Add => wrapping!(name, dtype, Add),
        BinaryOp::Sub => wrapping!(name, dtype, Sub),
        BinaryOp::Mul => wrapping!(name, dtype, Mul),
        BinaryOp::Div => numeric!(name, dtype, Div),
        BinaryOp::Rem => ordered!(name, dtype, Rem),
        BinaryOp::Pow => numeric!(name, dtype, Pow),
        BinaryOp::Min => ordered!(name, dtype, Min),
        BinaryOp::Max => ordered!(name, dtype, Max),
        BinaryOp::Eq => any!(dtype, Eq),
        BinaryOp::Ne => any!(dtype, Ne),
        BinaryOp::Lt | BinaryOp::Gt => comparable!(name, dtype, Lt),
        BinaryOp::Le | BinaryOp::Ge => comparable!(name, dtype, Le),
        BinaryOp::And => bits!(name, dtype, And),
        BinaryOp::Or => bits!(name, dtype, Or),
        BinaryOp::Xor => bits!(name, dtype, Xor),
    }
}

/// The loops that multiply and then, rounding again, add or subtract.
#[derive(Clone, Copy, Debug)]
pub(super) enum Product {
    /// `a * b + c`.
    Plus,
    /// `a * b - c`.
    Minus,
    /// `c - a * b`.
    Subtracted,
}

/// The loop of a multiplication with an addition or subtraction.
pub(super) fn product(product: Product, dtype: DType) -> Entry {
    match product {
        Product::Plus => products!("product plus", dtype, MulAdd),
        Product::Minus => products!("product minus", dtype, MulSub),
        Product::Subtracted => products!("minus product", dtype, SubMul),
    }
}

/// The loop of a random distribution.
pub(super) fn random(kind: RandomKind) -> Entry {
    match kind {
        RandomKind::Bits => entry::<op::RandomBits>(),
        RandomKind::Uniform => entry::<op::RandomUniform>(),
        RandomKind::Normal => entry::<op::RandomNormal>(),
    }
}

/// The loops of a conversion, one after the other; none between types with equal bits.
pub(super) fn cast(from: DType, to: DType) -> Vec<Entry> {
    use DType::{Bool, ComplexF32, ComplexF64, F32, F64};
    if from == to {
        return Vec::new();
    }
    match (from, to) {
        (_, Bool) => vec![any!(from, IsNonzero)],
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
        (F32, integer) => vec![by_target!(integer, Cast, f32)],
        (F64, integer) => vec![by_target!(integer, Cast, f64)],
        (integer, float) if float.is_real_float() => vec![cast_integer(integer, float)],
        (integer, other) => resize(integer, other),
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
