//! The kernel IR: what one piece computes, in local indices.
//!
//! A [`Kernel`] is a sequence of loops over rows; a loop has a straight-line body of [`Inst`]s in
//! SSA form: instruction `i` defines value `i` of its loop, and reads only values before it.
//! Loops talk to each other, and to the outside, only through the kernel's arguments.
//!
//! A value is *uniform* when it does not depend on the row (constants, parameters, scalars and
//! arithmetic on them) and *varying* otherwise. Uniform instructions run once, in the order of the
//! body, before the rows of their loop; so a loop whose body is all uniform is scalar arithmetic.
//!
//! Invariants, checked by [`crate::verify`]: operands are defined before use and have the types
//! the operation takes; argument numbers exist and are used as their [`ArgKind`] says; each
//! `StoreScalar` writes a uniform value (`Store` and `Reduce` take either: a uniform value is the
//! same for every row); a kernel reduces into an argument at most once, and does not reach its
//! memory in any other way.
//!
//! The rows of a loop are independent, which only the launch can promise: an element that a row
//! writes is read or written by no other row of that loop and by no uniform instruction of it, and
//! one that a uniform instruction writes by no row.

mod builder;
mod symbol;

pub use self::builder::KernelBuilder;
pub use self::symbol::{Symbol, Symbols, Term};
pub use crate::operations::{BinaryOp, UnaryOp};

use crate::element::{DType, Value};

/// The number of a value: the position of its instruction in the loop's body.
pub type ValueId = u32;
/// The number of an argument of a kernel.
pub type ArgId = u32;

/// A body of loops over the arguments of one piece.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Kernel {
    /// The arguments, in the order in which a launch binds them.
    pub args: Vec<Arg>,
    /// The types of the plain numbers that a launch passes by value.
    pub params: Vec<DType>,
    /// The loops, run in sequence.
    pub loops: Vec<Loop>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arg {
    /// The element type.
    pub dtype: DType,
    /// How the kernel may use the argument.
    pub kind: ArgKind,
    /// Arguments with the same number may share memory (views of one store); others never do.
    pub memory: u32,
    /// Whether nobody reads the argument after the kernel: stores to it may be dropped.
    pub temporary: bool,
}

/// How the body of a loop reaches an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArgKind {
    /// One element per row: `load`, `store`.
    Array,
    /// One element in all: `load_scalar`, `store_scalar`.
    Scalar,
    /// One element in all, the target of `reduce`.
    Reduction,
    /// Any element by index: the `x` of a product or of a gather.
    Gather,
    /// The entries of a sparse matrix, in the order of its structure.
    Entries,
    /// The structure (`pos`, `crd`) of a sparse matrix.
    Structure,
    /// The rows of a dense matrix, one per row of the loop.
    DenseRows,
}

/// A loop over the rows of a domain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Loop {
    /// Which of the launch's domains the loop runs over; loops with equal numbers have equal rows.
    pub domain: u32,
    /// The instructions, in order.
    pub body: Vec<Inst>,
}

/// One instruction of a loop's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inst {
    /// A constant.
    Const(Value),
    /// The parameter with this number.
    Param(u32),
    /// The element of a `Scalar` argument.
    LoadScalar(ArgId),
    /// The global index of the row, counted from 0 over all pieces, as `i64`.
    Index,
    /// The element of an `Array` argument at this row.
    Load(ArgId),
    /// An operation on one value.
    Unary(UnaryOp, ValueId),
    /// An operation on two values of the same type.
    Binary(BinaryOp, ValueId, ValueId),
    /// `select(condition, a, b)`: `a` where the condition (bool) holds, else `b`.
    Select(ValueId, ValueId, ValueId),
    /// Conversion to another type, as Rust's `as`; to bool: not equal to 0; complex to real: the
    /// real part.
    Cast(DType, ValueId),
    /// A counter-based random number (see [`crate::random`]): `seed` is a u64, `index` an i64.
    Random {
        /// Which distribution.
        kind: RandomKind,
        /// Which stream of numbers.
        seed: ValueId,
        /// Which number of the stream.
        index: ValueId,
    },
    /// The sum over the row of a sparse matrix of `entries[k] * x[crd[k]]`: in the order of
    /// storage, one fused multiply-add each, from zero. Where `x` is a matrix
    /// ([`crate::Operand::Gather`]), so is the domain: its rows are elements `(i, j)`, with
    /// `x[crd[k], j]` over row `i`.
    RowSum {
        /// A `Structure` argument.
        structure: ArgId,
        /// An `Entries` argument.
        entries: ArgId,
        /// A `Gather` argument.
        x: ArgId,
    },
    /// The element of `x` that the first entry of the row of a structure names, 0 where the row has
    /// none. Where `x` is a matrix, so is the domain, as that of [`Inst::RowSum`]. Of any type.
    Gather {
        /// A `Structure` argument.
        structure: ArgId,
        /// A `Gather` argument.
        x: ArgId,
    },
    /// The reduction over the row of a dense matrix of `rows[row, k]`, or of
    /// `rows[row, k] * x[k]`, in the order of [`crate::reduce`] with `k` as the index.
    RowReduce {
        /// Sum, Prod, Min, Max, Any or All.
        op: ReduceOp,
        /// A `DenseRows` argument.
        rows: ArgId,
        /// A `Gather` argument.
        x: Option<ArgId>,
    },
    /// Writes a value to an `Array` argument at this row.
    Store(ArgId, ValueId),
    /// Writes a uniform value to a `Scalar` argument.
    StoreScalar(ArgId, ValueId),
    /// Reduces a value over the rows into a `Reduction` argument, in the order of
    /// [`crate::reduce`].
    Reduce(ReduceOp, ArgId, ValueId),
}

/// Operations of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReduceOp {
    /// The sum (numeric types).
    Sum,
    /// The product (numeric types).
    Prod,
    /// The smallest, NaN if any is NaN (real types).
    Min,
    /// The largest, NaN if any is NaN (real types).
    Max,
    /// The index (i64) of the smallest, of the first among equals; a NaN counts as smallest.
    ArgMin,
    /// The index (i64) of the largest, of the first among equals; a NaN counts as largest.
    ArgMax,
    /// Whether any is true (bool).
    Any,
    /// Whether all are true (bool).
    All,
}

/// Distributions of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RandomKind {
    /// `u64`, all values equally likely.
    Bits,
    /// `f64`, uniform in [0, 1), a multiple of 2^-53.
    Uniform,
    /// `f64`, standard normal.
    Normal,
}

impl ArgKind {
    /// All kinds of arguments.
    pub const ALL: [Self; 7] = [
        Self::Array,
        Self::Scalar,
        Self::Reduction,
        Self::Gather,
        Self::Entries,
        Self::Structure,
        Self::DenseRows,
    ];

    /// The name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Scalar => "scalar",
            Self::Reduction => "reduction",
            Self::Gather => "gather",
            Self::Entries => "entries",
            Self::Structure => "structure",
            Self::DenseRows => "dense_rows",
        }
    }
}

impl ReduceOp {
    /// All reductions.
    pub const ALL: [Self; 8] = [
        Self::Sum,
        Self::Prod,
        Self::Min,
        Self::Max,
        Self::ArgMin,
        Self::ArgMax,
        Self::Any,
        Self::All,
    ];

    /// The name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Min => "min",
            Self::Max => "max",
            Self::ArgMin => "argmin",
            Self::ArgMax => "argmax",
            Self::Any => "any",
            Self::All => "all",
        }
    }

    /// The type of the result for elements of this type; `None` where the reduction is not
    /// defined.
    #[must_use]
    pub const fn output(self, operand: DType) -> Option<DType> {
        let is_bool = matches!(operand, DType::Bool);
        match self {
            Self::Sum | Self::Prod => {
                if is_bool {
                    None
                } else {
                    Some(operand)
                }
            }
            Self::Min | Self::Max => {
                if is_bool || operand.is_complex() {
                    None
                } else {
                    Some(operand)
                }
            }
            Self::ArgMin | Self::ArgMax => {
                if is_bool || operand.is_complex() {
                    None
                } else {
                    Some(DType::I64)
                }
            }
            Self::Any | Self::All => {
                if is_bool {
                    Some(DType::Bool)
                } else {
                    None
                }
            }
        }
    }
}

impl RandomKind {
    /// All distributions.
    pub const ALL: [Self; 3] = [Self::Bits, Self::Uniform, Self::Normal];

    /// The name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::Uniform => "uniform",
            Self::Normal => "normal",
        }
    }

    /// The type of the numbers.
    #[must_use]
    pub const fn output(self) -> DType {
        match self {
            Self::Bits => DType::U64,
            Self::Uniform | Self::Normal => DType::F64,
        }
    }
}

impl Inst {
    /// Calls `visit` with each value that the instruction reads.
    pub fn for_each_operand(&self, mut visit: impl FnMut(ValueId)) {
        let _ = self.map_operands(|value| {
            visit(value);
            value
        });
    }

    /// The same instruction with every operand renamed by `rename`.
    #[must_use]
    pub fn map_operands(self, mut rename: impl FnMut(ValueId) -> ValueId) -> Self {
        match self {
            Self::Const(_)
            | Self::Param(_)
            | Self::LoadScalar(_)
            | Self::Index
            | Self::Load(_)
            | Self::RowSum { .. }
            | Self::Gather { .. }
            | Self::RowReduce { .. } => self,
            Self::Unary(op, a) => Self::Unary(op, rename(a)),
            Self::Cast(dtype, a) => Self::Cast(dtype, rename(a)),
            Self::Store(arg, a) => Self::Store(arg, rename(a)),
            Self::StoreScalar(arg, a) => Self::StoreScalar(arg, rename(a)),
            Self::Reduce(op, arg, a) => Self::Reduce(op, arg, rename(a)),
            Self::Binary(op, a, b) => Self::Binary(op, rename(a), rename(b)),
            Self::Random { kind, seed, index } => Self::Random {
                kind,
                seed: rename(seed),
                index: rename(index),
            },
            Self::Select(c, a, b) => Self::Select(rename(c), rename(a), rename(b)),
        }
    }

    /// The same instruction with every argument renamed by `rename`.
    #[must_use]
    pub fn map_args(self, mut rename: impl FnMut(ArgId) -> ArgId) -> Self {
        match self {
            Self::LoadScalar(arg) => Self::LoadScalar(rename(arg)),
            Self::Load(arg) => Self::Load(rename(arg)),
            Self::Store(arg, a) => Self::Store(rename(arg), a),
            Self::StoreScalar(arg, a) => Self::StoreScalar(rename(arg), a),
            Self::Reduce(op, arg, a) => Self::Reduce(op, rename(arg), a),
            Self::RowSum {
                structure,
                entries,
                x,
            } => Self::RowSum {
                structure: rename(structure),
                entries: rename(entries),
                x: rename(x),
            },
            Self::Gather { structure, x } => Self::Gather {
                structure: rename(structure),
                x: rename(x),
            },
            Self::RowReduce { op, rows, x } => Self::RowReduce {
                op,
                rows: rename(rows),
                x: x.map(rename),
            },
            Self::Const(_)
            | Self::Param(_)
            | Self::Index
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Select(..)
            | Self::Cast(..)
            | Self::Random { .. } => self,
        }
    }

    /// Calls `visit` with each argument that the instruction reads or writes.
    pub fn for_each_arg(&self, mut visit: impl FnMut(ArgId)) {
        let _ = self.map_args(|arg| {
            visit(arg);
            arg
        });
    }

    /// Whether the instruction computes each element from the same element of others.
    #[must_use]
    pub const fn is_elementwise(&self) -> bool {
        match self {
            Self::Const(_)
            | Self::Param(_)
            | Self::LoadScalar(_)
            | Self::Load(_)
            | Self::Store(..)
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Select(..)
            | Self::Cast(..) => true,
            Self::StoreScalar(..)
            | Self::Reduce(..)
            | Self::Index
            | Self::Random { .. }
            | Self::RowSum { .. }
            | Self::Gather { .. }
            | Self::RowReduce { .. } => false,
        }
    }

    /// Whether the instruction writes memory, rather than only defining a value.
    #[must_use]
    pub const fn is_effect(&self) -> bool {
        matches!(
            self,
            Self::Store(..) | Self::StoreScalar(..) | Self::Reduce(..)
        )
    }
}

/// The type of each value of a loop's body; `None` for instructions that define no value or are
/// ill-typed (which [`crate::verify`] reports).
#[must_use]
pub fn value_types(kernel: &Kernel, body: &[Inst]) -> Vec<Option<DType>> {
    let mut types: Vec<Option<DType>> = Vec::with_capacity(body.len());
    for inst in body {
        let of = |value: ValueId| types.get(value as usize).copied().flatten();
        let arg = |arg: ArgId| kernel.args.get(arg as usize).map(|arg| arg.dtype);
        types.push(match *inst {
            Inst::Const(value) => Some(value.dtype()),
            Inst::Param(param) => kernel.params.get(param as usize).copied(),
            Inst::LoadScalar(a) | Inst::Load(a) => arg(a),
            Inst::Index => Some(DType::I64),
            Inst::Unary(op, a) => of(a).and_then(|dtype| op.output(dtype)),
            Inst::Binary(op, a, _) => of(a).and_then(|dtype| op.output(dtype)),
            Inst::Select(_, a, _) => of(a),
            Inst::Cast(dtype, _) => Some(dtype),
            Inst::Random { kind, .. } => Some(kind.output()),
            Inst::RowSum { entries, .. } => arg(entries),
            Inst::Gather { x, .. } => arg(x),
            Inst::RowReduce { op, rows, .. } => arg(rows).and_then(|dtype| op.output(dtype)),
            Inst::Store(..) | Inst::StoreScalar(..) | Inst::Reduce(..) => None,
        });
    }
    types
}

/// For each instruction of a body, whether it is uniform (see the module's text).
#[must_use]
pub fn uniform_values(body: &[Inst]) -> Vec<bool> {
    let mut uniform: Vec<bool> = Vec::with_capacity(body.len());
    for inst in body {
        let varies_by_itself = matches!(
            inst,
            Inst::Index
                | Inst::Load(_)
                | Inst::RowSum { .. }
                | Inst::Gather { .. }
                | Inst::RowReduce { .. }
                | Inst::Store(..)
                | Inst::Reduce(..)
        );
        let mut all = !varies_by_itself;
        inst.for_each_operand(|value| all &= uniform[value as usize]);
        uniform.push(all);
    }
    uniform
}

/// For each instruction, whether one of these effects needs it.
pub(crate) fn needed(body: &[Inst], effect: &dyn Fn(&Inst) -> bool) -> Vec<bool> {
    let mut needed = vec![false; body.len()];
    for (i, inst) in body.iter().enumerate().rev() {
        needed[i] |= effect(inst);
        if needed[i] {
            inst.for_each_operand(|value| needed[value as usize] = true);
        }
    }
    needed
}
