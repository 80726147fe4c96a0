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

use crate::element::{DType, Value};

/// The number of a value: the position of its instruction in the loop's body.
pub type ValueId = u32;
/// The number of an argument of a kernel.
pub type ArgId = u32;

/// A body of loops over the arguments of one piece.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Kernel {
    /// The arguments, in the order in which a launch binds them.
    pub args: Vec<Arg>,
    /// The types of the plain numbers that a launch passes by value.
    pub params: Vec<DType>,
    /// The loops, run in sequence.
    pub loops: Vec<Loop>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Any element by index: the `x` of a product.
    Gather,
    /// The entries of a sparse matrix, in the order of its structure.
    Entries,
    /// The structure (`pos`, `crd`) of a sparse matrix.
    Structure,
    /// The rows of a dense matrix, one per row of the loop.
    DenseRows,
}

/// A loop over the rows of a domain.
#[derive(Clone, Debug, PartialEq, Default)]
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
    /// The sum over the row of a sparse matrix of `entries[k] * x[crd[k]]`: in the order of storage,
    /// one fused multiply-add each, from zero. Where `x` is a matrix ([`crate::Operand::Gather`]),
    /// so is the domain: its rows are elements `(i, j)`, with `x[crd[k], j]` over row `i`.
    RowSum {
        /// A `Structure` argument.
        structure: ArgId,
        /// An `Entries` argument.
        entries: ArgId,
        /// A `Gather` argument.
        x: ArgId,
    },
    /// The reduction over the row of a dense matrix of `matrix[row, k]`, or of
    /// `matrix[row, k] * x[k]`, in the order of [`crate::reduce`] with `k` as the index.
    RowReduce {
        /// Sum, Prod, Min, Max, Any or All.
        op: ReduceOp,
        /// A `DenseRows` argument.
        matrix: ArgId,
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

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnaryOp {
    /// `-x`, wrapping for integers (unsigned too).
    Neg,
    /// The absolute value; real for complex numbers (hypot); wrapping for integers.
    Abs,
    /// The square root (floats and complex).
    Sqrt,
    /// e^x (floats and complex).
    Exp,
    /// The natural logarithm (floats and complex).
    Log,
    /// Sine (floats and complex).
    Sin,
    /// Cosine (floats and complex).
    Cos,
    /// Hyperbolic tangent (floats and complex).
    Tanh,
    /// The error function (floats).
    Erf,
    /// The largest whole number not above x (floats; integers unchanged).
    Floor,
    /// The smallest whole number not below x (floats; integers unchanged).
    Ceil,
    /// -1, 0 or 1; NaN stays NaN; for complex numbers x/|x|, or 0.
    Sign,
    /// Logical not (bool).
    Not,
    /// The complex conjugate (identity on real types).
    Conj,
    /// The real part (a real type).
    Re,
    /// The imaginary part (a real type; 0 for real numbers).
    Im,
}

/// Operations on two values of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    /// Sum, wrapping for integers.
    Add,
    /// Difference, wrapping for integers.
    Sub,
    /// Product, wrapping for integers.
    Mul,
    /// Quotient; integers truncate towards 0, and x / 0 is 0.
    Div,
    /// Remainder with the sign of the divisor, as NumPy's `mod` (reals); integers: x mod 0 is 0.
    Rem,
    /// a to the power b; integers wrap, and a negative exponent gives 0 (1 for a = 1, ±1 for -1).
    Pow,
    /// The smaller; NaN if either is NaN (reals): `if a <= b || a is NaN {a} else {b}`.
    Min,
    /// The larger; NaN if either is NaN (reals): `if a >= b || a is NaN {a} else {b}`.
    Max,
    /// a == b, to bool.
    Eq,
    /// a != b, to bool.
    Ne,
    /// a < b, to bool (not complex).
    Lt,
    /// a <= b, to bool (not complex).
    Le,
    /// a > b, to bool (not complex).
    Gt,
    /// a >= b, to bool (not complex).
    Ge,
    /// Logical and (bool), bitwise (integers).
    And,
    /// Logical or (bool), bitwise (integers).
    Or,
    /// Logical exclusive or (bool), bitwise (integers).
    Xor,
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

impl UnaryOp {
    /// All unary operations.
    pub const ALL: [Self; 16] = [
        Self::Neg,
        Self::Abs,
        Self::Sqrt,
        Self::Exp,
        Self::Log,
        Self::Sin,
        Self::Cos,
        Self::Tanh,
        Self::Erf,
        Self::Floor,
        Self::Ceil,
        Self::Sign,
        Self::Not,
        Self::Conj,
        Self::Re,
        Self::Im,
    ];

    /// The name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Neg => "neg",
            Self::Abs => "abs",
            Self::Sqrt => "sqrt",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tanh => "tanh",
            Self::Erf => "erf",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Sign => "sign",
            Self::Not => "not",
            Self::Conj => "conj",
            Self::Re => "re",
            Self::Im => "im",
        }
    }

    /// The type of the result for an operand of this type; `None` where the operation is not
    /// defined.
    #[must_use]
    pub const fn output(self, operand: DType) -> Option<DType> {
        let complex = operand.is_complex();
        let real = operand.is_real_float();
        match self {
            Self::Not => match operand {
                DType::Bool => Some(DType::Bool),
                _ => None,
            },
            Self::Neg | Self::Sign | Self::Conj => match operand {
                DType::Bool => None,
                _ => Some(operand),
            },
            Self::Abs | Self::Re | Self::Im => match operand {
                DType::Bool => None,
                _ => Some(operand.real()),
            },
            Self::Sqrt | Self::Exp | Self::Log | Self::Sin | Self::Cos | Self::Tanh => {
                if real || complex { Some(operand) } else { None }
            }
            Self::Erf => {
                if real {
                    Some(operand)
                } else {
                    None
                }
            }
            Self::Floor | Self::Ceil => {
                if real || operand.is_integer() {
                    Some(operand)
                } else {
                    None
                }
            }
        }
    }
}

impl BinaryOp {
    /// All binary operations.
    pub const ALL: [Self; 17] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Rem,
        Self::Pow,
        Self::Min,
        Self::Max,
        Self::Eq,
        Self::Ne,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::And,
        Self::Or,
        Self::Xor,
    ];

    /// The name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Div => "div",
            Self::Rem => "rem",
            Self::Pow => "pow",
            Self::Min => "min",
            Self::Max => "max",
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }

    /// The type of the result for two operands of this type; `None` where the operation is not
    /// defined.
    #[must_use]
    pub const fn output(self, operand: DType) -> Option<DType> {
        let numeric = !matches!(operand, DType::Bool);
        let ordered = !operand.is_complex();
        let defined = match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Pow => numeric,
            Self::Rem | Self::Min | Self::Max => numeric && ordered,
            Self::Eq | Self::Ne => return Some(DType::Bool),
            Self::Lt | Self::Le | Self::Gt | Self::Ge => {
                return if ordered { Some(DType::Bool) } else { None };
            }
            Self::And | Self::Or | Self::Xor => {
                operand.is_integer() || matches!(operand, DType::Bool)
            }
        };
        if defined { Some(operand) } else { None }
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
        match *self {
            Self::Const(_)
            | Self::Param(_)
            | Self::LoadScalar(_)
            | Self::Index
            | Self::Load(_)
            | Self::RowSum { .. }
            | Self::RowReduce { .. } => {}
            Self::Unary(_, a)
            | Self::Cast(_, a)
            | Self::Store(_, a)
            | Self::StoreScalar(_, a)
            | Self::Reduce(_, _, a) => visit(a),
            Self::Binary(_, a, b) => {
                visit(a);
                visit(b);
            }
            Self::Random { seed, index, .. } => {
                visit(seed);
                visit(index);
            }
            Self::Select(condition, a, b) => {
                visit(condition);
                visit(a);
                visit(b);
            }
        }
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
            Self::RowReduce { op, matrix, x } => Self::RowReduce {
                op,
                matrix: rename(matrix),
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
        match *self {
            Self::LoadScalar(arg)
            | Self::Load(arg)
            | Self::Store(arg, _)
            | Self::StoreScalar(arg, _)
            | Self::Reduce(_, arg, _) => visit(arg),
            Self::RowSum {
                structure,
                entries,
                x,
            } => {
                visit(structure);
                visit(entries);
                visit(x);
            }
            Self::RowReduce { matrix, x, .. } => {
                visit(matrix);
                x.into_iter().for_each(visit);
            }
            Self::Const(_)
            | Self::Param(_)
            | Self::Index
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Select(..)
            | Self::Cast(..)
            | Self::Random { .. } => {}
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
            Inst::RowReduce { op, matrix, .. } => arg(matrix).and_then(|dtype| op.output(dtype)),
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

/// Builds a kernel with one loop, instruction by instruction.
///
/// ```
/// use sparsefuse_kernels::{ArgKind, BinaryOp, DType, KernelBuilder};
///
/// // y = a * x with a scalar argument `a`.
/// let mut build = KernelBuilder::new();
/// let a = build.arg(DType::F64, ArgKind::Scalar);
/// let x = build.arg(DType::F64, ArgKind::Array);
/// let y = build.arg(DType::F64, ArgKind::Array);
/// let (a, x) = (build.load_scalar(a), build.load(x));
/// let product = build.binary(BinaryOp::Mul, a, x);
/// build.store(y, product);
/// let kernel = build.finish();
/// assert_eq!(kernel.loops[0].body.len(), 4);
/// ```
#[derive(Debug, Default)]
pub struct KernelBuilder {
    kernel: Kernel,
    body: Vec<Inst>,
}

impl KernelBuilder {
    /// A kernel without arguments and with an empty loop.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an argument with memory of its own.
    pub fn arg(&mut self, dtype: DType, kind: ArgKind) -> ArgId {
        let id = self.kernel.args.len() as ArgId;
        self.kernel.args.push(Arg {
            dtype,
            kind,
            memory: id,
            temporary: false,
        });
        id
    }

    /// Adds a parameter and the value that reads it.
    pub fn param(&mut self, dtype: DType) -> ValueId {
        self.kernel.params.push(dtype);
        self.push(Inst::Param(self.kernel.params.len() as u32 - 1))
    }

    /// Appends any instruction.
    pub fn push(&mut self, inst: Inst) -> ValueId {
        self.body.push(inst);
        self.body.len() as ValueId - 1
    }

    /// A constant.
    pub fn constant(&mut self, value: Value) -> ValueId {
        self.push(Inst::Const(value))
    }

    /// The element of an `Array` argument.
    pub fn load(&mut self, arg: ArgId) -> ValueId {
        self.push(Inst::Load(arg))
    }

    /// The element of a `Scalar` argument.
    pub fn load_scalar(&mut self, arg: ArgId) -> ValueId {
        self.push(Inst::LoadScalar(arg))
    }

    /// An operation on one value.
    pub fn unary(&mut self, op: UnaryOp, a: ValueId) -> ValueId {
        self.push(Inst::Unary(op, a))
    }

    /// An operation on two values.
    pub fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        self.push(Inst::Binary(op, a, b))
    }

    /// Writes a value to an `Array` argument.
    pub fn store(&mut self, arg: ArgId, value: ValueId) {
        self.push(Inst::Store(arg, value));
    }

    /// Writes a uniform value to a `Scalar` argument.
    pub fn store_scalar(&mut self, arg: ArgId, value: ValueId) {
        self.push(Inst::StoreScalar(arg, value));
    }

    /// Reduces a value into a `Reduction` argument.
    pub fn reduce(&mut self, op: ReduceOp, arg: ArgId, value: ValueId) {
        self.push(Inst::Reduce(op, arg, value));
    }

    /// The kernel, with its one loop over domain 0.
    #[must_use]
    pub fn finish(mut self) -> Kernel {
        self.kernel.loops.push(Loop {
            domain: 0,
            body: self.body,
        });
        self.kernel
    }
}
