//! Uniform instructions: scalar arithmetic before the rows of a loop.
#![expect(
    unsafe_code,
    reason = "reads and writes scalars through pointers of the launch"
)]

use crate::abi::{CHUNK, Splat};
use crate::element::{DType, Element, Value};
use crate::ir::{ArgId, Inst, RandomKind};
use crate::launch::{Launch, Operand};
use crate::{random, scalar};
use num_complex::Complex;

/// Runs a uniform instruction, whose value is of type `dtype`; an effect gives `false`.
///
/// # Safety
/// The launch must fit the kernel, as [`crate::blocks::Program::run`] says.
pub(crate) unsafe fn uniform(
    inst: Inst,
    dtype: DType,
    values: &[Value],
    launch: &Launch<'_>,
) -> Value {
    let value = |number: u32| values[number as usize];
    match inst {
        Inst::Const(constant) => constant,
        Inst::Param(param) => launch.params[param as usize],
        // SAFETY: the caller promises an element of this type.
        Inst::LoadScalar(arg) => unsafe { read(dtype, scalar_operand(launch, arg)) },
        Inst::StoreScalar(arg, a) => {
            // SAFETY: as above, for writing.
            unsafe { write(value(a), scalar_operand(launch, arg)) };
            false.to_value()
        }
        Inst::Unary(op, a) => scalar::unary(op, value(a)),
        Inst::Binary(op, a, b) => scalar::binary(op, value(a), value(b)),
        Inst::Select(condition, a, b) => value(if value(condition) == true.to_value() {
            a
        } else {
            b
        }),
        Inst::Cast(dtype, a) => scalar::cast(dtype, value(a)),
        Inst::Random { kind, seed, index } => {
            let ([seed, _], [index, _]) = (value(seed).bits(), value(index).bits());
            match kind {
                RandomKind::Bits => random::bits(seed, index).to_value(),
                RandomKind::Uniform => random::uniform(seed, index).to_value(),
                RandomKind::Normal => random::normal(seed, index).to_value(),
            }
        }
        Inst::Index
        | Inst::Load(_)
        | Inst::RowSum { .. }
        | Inst::Gather { .. }
        | Inst::RowReduce { .. }
        | Inst::Store(..)
        | Inst::Reduce(..) => unreachable!("these instructions vary"),
    }
}

pub(crate) fn misbound(arg: ArgId, kind: &str) -> ! {
    panic!("argument {arg} must be bound to an operand of kind {kind}")
}

fn scalar_operand(launch: &Launch<'_>, arg: ArgId) -> *mut u8 {
    match launch.operands[arg as usize] {
        Operand::Scalar { data } => data,
        _ => misbound(arg, "scalar"),
    }
}

/// # Safety
/// `data` must point to an element of type `dtype`.
unsafe fn read(dtype: DType, data: *const u8) -> Value {
    // SAFETY: the caller's promise; a `bool` is read as its byte.
    unsafe {
        match dtype {
            DType::F32 => data.cast::<f32>().read_unaligned().to_value(),
            DType::F64 => data.cast::<f64>().read_unaligned().to_value(),
            DType::ComplexF32 => data.cast::<Complex<f32>>().read_unaligned().to_value(),
            DType::ComplexF64 => data.cast::<Complex<f64>>().read_unaligned().to_value(),
            DType::I32 => data.cast::<i32>().read_unaligned().to_value(),
            DType::I64 => data.cast::<i64>().read_unaligned().to_value(),
            DType::U32 => data.cast::<u32>().read_unaligned().to_value(),
            DType::U64 => data.cast::<u64>().read_unaligned().to_value(),
            DType::Bool => (data.read() != 0).to_value(),
        }
    }
}

/// # Safety
/// `data` must be writable as an element of the value's type.
pub(crate) unsafe fn write(value: Value, data: *mut u8) {
    let [low, high] = value.bits();
    // SAFETY: the caller's promise.
    unsafe {
        match value.dtype().size() {
            1 => data.write(low as u8),
            4 => data.cast::<u32>().write_unaligned(low as u32),
            8 if value.dtype() == DType::ComplexF32 => {
                data.cast::<[u32; 2]>()
                    .write_unaligned([low as u32, high as u32]);
            }
            8 => data.cast::<u64>().write_unaligned(low),
            _ => data.cast::<[u64; 2]>().write_unaligned([low, high]),
        }
    }
}

/// A chunk of copies of a value.
pub(crate) fn splat(value: Value) -> Splat {
    let [low, high] = value.bits();
    let word = match value.dtype().size() {
        1 => low * 0x0101_0101_0101_0101,
        4 => low << 32 | low,
        8 if value.dtype() == DType::ComplexF32 => high << 32 | low,
        8 => low,
        _ => return [[low, high]; CHUNK],
    };
    [[word; 2]; CHUNK]
}
