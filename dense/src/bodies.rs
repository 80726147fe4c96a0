//! The bodies of all tasks of this crate, each built once and remembered for the whole process.
//!
//! An [`Operation`] with an element type names a body; the table is one flat array, so finding a
//! body costs a few integer operations. The arguments of a body are its operands in order (numbers
//! apart, which are parameters in order), then the result.

use sparsefuse_kernels::{
    ArgKind, BinaryOp, DType, Element, Inst, Kernel, KernelBuilder, RandomKind, ReduceOp, UnaryOp,
    Value, ValueId, random,
};
use sparsefuse_runtime::Body;
use std::sync::{Arc, OnceLock};

/// What a task computes, up to the element type of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// An operation on one value.
    Unary(UnaryOp, Origin),
    /// Conversion to another type.
    Cast(DType, Origin),
    /// An operation on two values.
    Binary(BinaryOp, Origin, Origin),
    /// The quotient of two scalars, or 0 where the divisor is 0.
    Ratio,
    /// A choice by a condition between two values.
    Select(Origin, Origin, Origin),
    /// Writes one value to every element of an array, or to a single element.
    Fill(Origin, Target),
    /// A reduction of an array.
    Reduce(ReduceOp),
    /// The reduction of something computed from each element of an array.
    ReduceOf(Term),
    /// A reduction along each row of a matrix.
    RowReduce(ReduceOp),
    /// A matrix times a vector.
    MatVec,
    /// Numbers at equal distances, in double precision until each is rounded: of a start, a step,
    /// the last index, and the number there, which the steps might miss by their rounding.
    Linspace,
    /// The indices themselves: the same from 0 in steps of 1.
    Indices,
    /// 1 where row and column agree, of the number of columns.
    Eye,
    /// Random numbers, of a seed.
    Random(Distribution),
}

/// Where the values of an operand come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An element per row.
    Array,
    /// A store of rank 0.
    Scalar,
    /// A parameter of the task.
    Number,
}

/// The kind of store that a [`Operation::Fill`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Array,
    Scalar,
}

/// What is summed, or maximised, by [`Operation::ReduceOf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// The sum of `a * b`.
    Product,
    /// The sum of `conj(a) * b`.
    ConjugateProduct,
    /// The sum of `|a|`.
    Absolute,
    /// The sum of `|a|^2`.
    Square,
    /// The maximum of `|a|`.
    Largest,
}

/// The distributions of random arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    Uniform,
    Normal,
}

const N_ORIGINS: usize = 3;
const UNARY: usize = 0;
const CAST: usize = UNARY + UnaryOp::ALL.len() * N_ORIGINS;
const BINARY: usize = CAST + DType::ALL.len() * N_ORIGINS;
const SELECT: usize = BINARY + BinaryOp::ALL.len() * N_ORIGINS * N_ORIGINS;
const FILL: usize = SELECT + N_ORIGINS * N_ORIGINS * N_ORIGINS;
const REDUCE: usize = FILL + N_ORIGINS * 2;
const REDUCE_OF: usize = REDUCE + ReduceOp::ALL.len();
const ROW_REDUCE: usize = REDUCE_OF + 5;
const MAT_VEC: usize = ROW_REDUCE + ReduceOp::ALL.len();
const LINSPACE: usize = MAT_VEC + 1;
const INDICES: usize = LINSPACE + 1;
const EYE: usize = INDICES + 1;
const RANDOM: usize = EYE + 1;
const RATIO: usize = RANDOM + 2;
const N_OPERATIONS: usize = RATIO + 1;

static BODIES: [OnceLock<Arc<Body>>; N_OPERATIONS * DType::ALL.len()] =
    [const { OnceLock::new() }; N_OPERATIONS * DType::ALL.len()];

/// The body of an operation on elements of this type; for [`Operation::Select`], of the values.
pub(crate) fn body(operation: Operation, dtype: DType) -> &'static Arc<Body> {
    let place = operation.number() * DType::ALL.len() + dtype as usize;
    BODIES[place].get_or_init(|| Body::new(operation.name(), operation.kernel(dtype)))
}

impl Operation {
    /// A number below [`N_OPERATIONS`] that no other operation has.
    fn number(self) -> usize {
        let pair = |a: Origin, b: Origin| a as usize * N_ORIGINS + b as usize;
        match self {
            Self::Unary(op, a) => UNARY + op as usize * N_ORIGINS + a as usize,
            Self::Cast(to, a) => CAST + to as usize * N_ORIGINS + a as usize,
            Self::Binary(op, a, b) => BINARY + op as usize * N_ORIGINS * N_ORIGINS + pair(a, b),
            Self::Select(condition, a, b) => {
                SELECT + condition as usize * N_ORIGINS * N_ORIGINS + pair(a, b)
            }
            Self::Fill(a, target) => FILL + a as usize * 2 + target as usize,
            Self::Reduce(op) => REDUCE + op as usize,
            Self::ReduceOf(term) => REDUCE_OF + term as usize,
            Self::RowReduce(op) => ROW_REDUCE + op as usize,
            Self::MatVec => MAT_VEC,
            Self::Linspace => LINSPACE,
            Self::Indices => INDICES,
            Self::Eye => EYE,
            Self::Random(distribution) => RANDOM + distribution as usize,
            Self::Ratio => RATIO,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unary(op, _) => op.name(),
            Self::Cast(..) => "cast",
            Self::Binary(op, ..) => op.name(),
            Self::Ratio => "ratio",
            Self::Select(..) => "select",
            Self::Fill(Origin::Array, _) => "copy",
            Self::Fill(..) => "fill",
            Self::Reduce(op) => op.name(),
            Self::ReduceOf(Term::Product) => "dot_unconjugated",
            Self::ReduceOf(Term::ConjugateProduct) => "dot",
            Self::ReduceOf(Term::Absolute) => "norm1",
            Self::ReduceOf(Term::Square) => "sum_of_squares",
            Self::ReduceOf(Term::Largest) => "norm_inf",
            Self::RowReduce(ReduceOp::Sum) => "row_sum",
            Self::RowReduce(_) => "row_reduce",
            Self::MatVec => "matvec",
            Self::Indices => "arange",
            Self::Linspace => "linspace",
            Self::Eye => "eye",
            Self::Random(Distribution::Uniform) => "random_uniform",
            Self::Random(Distribution::Normal) => "random_normal",
        }
    }

    fn kernel(self, dtype: DType) -> Kernel {
        let mut build = KernelBuilder::new();
        let b = &mut build;
        match self {
            Self::Unary(op, a) => {
                let x = operand(b, a, dtype);
                let y = b.unary(op, x);
                result(b, a == Origin::Array, op.output(dtype), y);
            }
            Self::Cast(to, a) => {
                let x = operand(b, a, dtype);
                let y = b.push(Inst::Cast(to, x));
                result(b, a == Origin::Array, Some(to), y);
            }
            Self::Binary(op, left, right) => {
                let x = operand(b, left, dtype);
                let y = operand(b, right, dtype);
                let z = b.binary(op, x, y);
                let is_array = [left, right].contains(&Origin::Array);
                result(b, is_array, op.output(dtype), z);
            }
            Self::Ratio => {
                let x = operand(b, Origin::Scalar, dtype);
                let y = operand(b, Origin::Scalar, dtype);
                let zero = b.constant(Value::from_bits(dtype, [0; 2]));
                let is_zero = b.binary(BinaryOp::Eq, y, zero);
                let quotient = b.binary(BinaryOp::Div, x, y);
                let z = b.push(Inst::Select(is_zero, zero, quotient));
                result(b, false, Some(dtype), z);
            }
            Self::Select(condition, left, right) => {
                let c = operand(b, condition, DType::Bool);
                let x = operand(b, left, dtype);
                let y = operand(b, right, dtype);
                let z = b.push(Inst::Select(c, x, y));
                let is_array = [condition, left, right].contains(&Origin::Array);
                result(b, is_array, Some(dtype), z);
            }
            Self::Fill(a, target) => {
                let x = operand(b, a, dtype);
                result(b, target == Target::Array, Some(dtype), x);
            }
            Self::Reduce(op) => {
                let x = operand(b, Origin::Array, dtype);
                reduction(b, op, dtype, x);
            }
            Self::ReduceOf(term) => term.build(b, dtype),
            Self::RowReduce(op) => {
                let matrix = b.arg(dtype, ArgKind::DenseRows);
                let y = b.push(Inst::RowReduce {
                    op,
                    rows: matrix,
                    x: None,
                });
                result(b, true, op.output(dtype), y);
            }
            Self::MatVec => {
                let rows = b.arg(dtype, ArgKind::DenseRows);
                let x = Some(b.arg(dtype, ArgKind::Gather));
                let op = ReduceOp::Sum;
                let y = b.push(Inst::RowReduce { op, rows, x });
                result(b, true, Some(dtype), y);
            }
            Self::Linspace => {
                let [start, step] = [(); 2].map(|()| b.param(DType::F64));
                let last = b.param(DType::I64);
                let end = b.param(DType::F64);
                let index = b.push(Inst::Index);
                let is_last = b.binary(BinaryOp::Eq, index, last);
                let index = b.push(Inst::Cast(DType::F64, index));
                let way = b.binary(BinaryOp::Mul, step, index);
                let x = b.binary(BinaryOp::Add, start, way);
                let x = b.push(Inst::Select(is_last, end, x));
                let x = match dtype {
                    DType::F64 => x,
                    _ => b.push(Inst::Cast(dtype, x)),
                };
                result(b, true, Some(dtype), x);
            }
            Self::Indices => {
                let index = b.push(Inst::Index);
                let x = b.push(Inst::Cast(dtype, index));
                result(b, true, Some(dtype), x);
            }
            Self::Eye => {
                let columns = b.param(DType::I64);
                let index = b.push(Inst::Index);
                let row = b.binary(BinaryOp::Div, index, columns);
                let column = b.binary(BinaryOp::Rem, index, columns);
                let is_diagonal = b.binary(BinaryOp::Eq, row, column);
                let x = b.push(Inst::Cast(dtype, is_diagonal));
                result(b, true, Some(dtype), x);
            }
            Self::Random(distribution) => distribution.build(b, dtype),
        }
        build.finish()
    }
}

impl Term {
    fn build(self, b: &mut KernelBuilder, dtype: DType) {
        let x = operand(b, Origin::Array, dtype);
        let real = dtype.real();
        match self {
            Self::Product | Self::ConjugateProduct => {
                let y = operand(b, Origin::Array, dtype);
                let x = match self {
                    Self::ConjugateProduct if dtype.is_complex() => b.unary(UnaryOp::Conj, x),
                    _ => x,
                };
                let product = b.binary(BinaryOp::Mul, x, y);
                reduction(b, ReduceOp::Sum, dtype, product);
            }
            Self::Absolute => {
                let x = to_norm(b, real, x);
                let size = b.unary(UnaryOp::Abs, x);
                reduction(b, ReduceOp::Sum, norm_dtype(real), size);
            }
            Self::Largest => {
                let x = to_norm(b, real, x);
                let size = b.unary(UnaryOp::Abs, x);
                reduction(b, ReduceOp::Max, norm_dtype(real), size);
            }
            Self::Square if dtype.is_complex() => {
                let (re, im) = (b.unary(UnaryOp::Re, x), b.unary(UnaryOp::Im, x));
                let re = b.binary(BinaryOp::Mul, re, re);
                let im = b.binary(BinaryOp::Mul, im, im);
                let square = b.binary(BinaryOp::Add, re, im);
                reduction(b, ReduceOp::Sum, real, square);
            }
            Self::Square => {
                let x = to_norm(b, real, x);
                let square = b.binary(BinaryOp::Mul, x, x);
                reduction(b, ReduceOp::Sum, norm_dtype(real), square);
            }
        }
    }
}

/// The type of norms of elements whose absolute values have this type: `Numeric::Real`.
fn norm_dtype(real: DType) -> DType {
    if real.is_real_float() {
        real
    } else {
        DType::F64
    }
}

/// An element as the type that norms are computed in; complex numbers stay complex.
fn to_norm(b: &mut KernelBuilder, real: DType, x: ValueId) -> ValueId {
    if real.is_real_float() {
        x
    } else {
        b.push(Inst::Cast(DType::F64, x))
    }
}

impl Distribution {
    /// Element `i` of a real array is number `i` of the stream; a complex one takes two.
    fn build(self, b: &mut KernelBuilder, dtype: DType) {
        let seed = b.param(DType::U64);
        let index = b.push(Inst::Index);
        let x = if dtype.is_complex() {
            let two = b.constant(2i64.to_value());
            let one = b.constant(1i64.to_value());
            let even = b.binary(BinaryOp::Mul, index, two);
            let odd = b.binary(BinaryOp::Add, even, one);
            let re = self.draw(b, dtype, seed, even);
            let im = self.draw(b, dtype, seed, odd);
            let i = num_complex::Complex::<f64>::i().to_value();
            let i = b.constant(i);
            let i = b.push(Inst::Cast(dtype, i));
            let im = b.binary(BinaryOp::Mul, im, i);
            b.binary(BinaryOp::Add, re, im)
        } else {
            self.draw(b, dtype, seed, index)
        };
        result(b, true, Some(dtype), x);
    }

    fn draw(self, b: &mut KernelBuilder, dtype: DType, seed: ValueId, index: ValueId) -> ValueId {
        let kind = match self {
            Self::Uniform => RandomKind::Uniform,
            Self::Normal => RandomKind::Normal,
        };
        let mut x = b.push(Inst::Random { kind, seed, index });
        if self == Self::Uniform && dtype.real() == DType::F32 {
            let most = b.constant(random::LARGEST_UNIFORM_F32.to_value());
            x = b.binary(BinaryOp::Min, x, most);
        }
        if dtype == kind.output() {
            x
        } else {
            b.push(Inst::Cast(dtype, x))
        }
    }
}

fn operand(b: &mut KernelBuilder, origin: Origin, dtype: DType) -> ValueId {
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
    let dtype = dtype.expect("the bounds of the methods admit only types that have the operation");
    if is_array {
        let arg = b.arg(dtype, ArgKind::Array);
        b.store(arg, value);
    } else {
        let arg = b.arg(dtype, ArgKind::Scalar);
        b.store_scalar(arg, value);
    }
}

fn reduction(b: &mut KernelBuilder, op: ReduceOp, dtype: DType, value: ValueId) {
    let output = op.output(dtype);
    let output =
        output.expect("the bounds of the methods admit only types that have the reduction");
    let arg = b.arg(output, ArgKind::Reduction);
    b.reduce(op, arg, value);
}
