//! The bodies of the tasks that programs submit themselves, each built once for the whole process.

use sparsefuse::kernels::{
    ArgKind, BinaryOp, DType, Inst, KernelBuilder, RandomKind, ReduceOp, UnaryOp, ValueId,
};
use sparsefuse::runtime::{Access, Body, BodyArg, Privilege};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the values of an operand come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    Array,
    Scalar,
    Number,
}

/// What a task computes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Unary(UnaryOp),
    Cast(DType),
    Binary(BinaryOp),
    Select,
    /// Writes its operand; to a single element if there is no array.
    Copy {
        to_array: bool,
    },
    Index,
    Random,
    Reduce(ReduceOp),
    Several,
    RowReduce(ReduceOp),
    MatVec,
}

/// The body of an operation on operands of the given types and origins; the result comes last.
pub(crate) fn body(operation: &Operation, operands: &[(DType, Origin)]) -> Arc<Body> {
    type Key = (Operation, Vec<(DType, Origin)>);
    static BODIES: Mutex<BTreeMap<Key, Arc<Body>>> = Mutex::new(BTreeMap::new());
    let mut bodies = BODIES.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (operation.clone(), operands.to_vec());
    Arc::clone(
        bodies
            .entry(key)
            .or_insert_with(|| build(operation, operands)),
    )
}

fn build(operation: &Operation, operands: &[(DType, Origin)]) -> Arc<Body> {
    let mut builder = KernelBuilder::new();
    let b = &mut builder;
    let is_array = operands.iter().any(|operand| operand.1 == Origin::Array);
    let dtype = operands.last().map_or(DType::U64, |operand| operand.0);
    let name = match operation {
        Operation::Unary(op) => {
            let x = operand(b, operands[0]);
            let y = b.unary(*op, x);
            result(b, is_array, op.output(dtype), y);
            op.name()
        }
        Operation::Cast(to) => {
            let x = operand(b, operands[0]);
            let y = b.push(Inst::Cast(*to, x));
            result(b, is_array, Some(*to), y);
            "cast"
        }
        Operation::Binary(op) => {
            let (x, y) = (operand(b, operands[0]), operand(b, operands[1]));
            let z = b.binary(*op, x, y);
            result(b, is_array, op.output(dtype), z);
            op.name()
        }
        Operation::Select => {
            let [c, x, y] = [0, 1, 2].map(|i| operand(b, operands[i]));
            let z = b.push(Inst::Select(c, x, y));
            result(b, is_array, Some(dtype), z);
            "select"
        }
        Operation::Copy { to_array } => {
            let x = operand(b, operands[0]);
            result(b, *to_array, Some(dtype), x);
            "copy"
        }
        Operation::Index => {
            let factor = operand(b, operands[0]);
            let index = b.push(Inst::Index);
            let index = b.push(Inst::Cast(dtype, index));
            let x = b.binary(BinaryOp::Mul, index, factor);
            result(b, true, Some(dtype), x);
            "index"
        }
        Operation::Random => {
            let seed = operand(b, operands[0]);
            let index = b.push(Inst::Index);
            let x = b.push(Inst::Random {
                kind: RandomKind::Bits,
                seed,
                index,
            });
            result(b, true, Some(DType::U64), x);
            "random"
        }
        Operation::Reduce(op) => {
            let x = operand(b, operands[0]);
            reduction(b, *op, dtype, x);
            op.name()
        }
        Operation::Several => {
            let (x, y) = (operand(b, operands[0]), operand(b, operands[1]));
            let product = b.binary(BinaryOp::Mul, x, y);
            result(b, true, Some(dtype), product);
            reduction(b, ReduceOp::Sum, dtype, product);
            reduction(b, ReduceOp::Sum, dtype, x);
            reduction(b, ReduceOp::Max, dtype, x);
            return Body::with_args("several", builder.finish(), several_args());
        }
        Operation::RowReduce(op) => {
            let matrix = b.arg(dtype, ArgKind::DenseRows);
            let y = b.push(Inst::RowReduce {
                op: *op,
                rows: matrix,
                x: None,
            });
            result(b, true, op.output(dtype), y);
            "row_reduce"
        }
        Operation::MatVec => {
            let matrix = b.arg(dtype, ArgKind::DenseRows);
            let x = Some(b.arg(dtype, ArgKind::Gather));
            let y = b.push(Inst::RowReduce {
                op: ReduceOp::Sum,
                rows: matrix,
                x,
            });
            result(b, true, Some(dtype), y);
            "matvec"
        }
    };
    Body::new(name, builder.finish())
}

/// Two arrays and their product, two sums that are the elements of one store, and a maximum.
fn several_args() -> Vec<BodyArg> {
    let args = [
        (Privilege::Read, Access::Rows, 0),
        (Privilege::Read, Access::Rows, 1),
        (Privilege::Write, Access::Rows, 2),
        (Privilege::Reduce(ReduceOp::Sum), Access::Elements(2), 3),
        (Privilege::Reduce(ReduceOp::Max), Access::Whole, 5),
    ];
    let arg = |(privilege, access, number)| BodyArg {
        privilege,
        access,
        kernel_arg: Some(number),
    };
    args.map(arg).to_vec()
}

fn operand(b: &mut KernelBuilder, (dtype, origin): (DType, Origin)) -> ValueId {
    match origin {
        Origin::Array => {
            let arg = b.arg(dtype, ArgKind::Array);
            b.load(arg)
        }
        Origin::Scalar => {
            let arg = b.arg(dtype, ArgKind::Scalar);
            b.load_scalar(arg)
        }
        Origin::Number => b.param(dtype),
    }
}

fn result(b: &mut KernelBuilder, is_array: bool, dtype: Option<DType>, value: ValueId) {
    let dtype = dtype.expect("the reference has admitted the operation");
    if is_array {
        let arg = b.arg(dtype, ArgKind::Array);
        b.store(arg, value);
    } else {
        let arg = b.arg(dtype, ArgKind::Scalar);
        b.store_scalar(arg, value);
    }
}

fn reduction(b: &mut KernelBuilder, op: ReduceOp, dtype: DType, value: ValueId) {
    let output = op
        .output(dtype)
        .expect("the reference has admitted the reduction");
    let arg = b.arg(output, ArgKind::Reduction);
    b.reduce(op, arg, value);
}
