//! Building a kernel, instruction by instruction.

use super::{Arg, ArgId, ArgKind, BinaryOp, Inst, Kernel, Loop, ReduceOp, UnaryOp, ValueId};
use crate::element::{DType, Value};

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
