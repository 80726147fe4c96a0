//! From the body of a loop to ops on values: one for each varying instruction.
//!
//! A loop of a verified kernel goes in, [`Lowered`] comes out: uniform instructions are set aside,
//! some operations are left to their readers (`absorb.rs`), a uniform value that is stored or
//! reduced is copied to every row, and every other instruction becomes an [`Op`].
//!
//! The invariant: ops stand in the order of their instructions, each operand is defined before it
//! is read, and every value knows the last op that reads it.

use super::absorb::Absorbed;
use crate::blocks::loops::count::count;
use crate::blocks::loops::lanes::Reduction;
use crate::blocks::loops::map::MapLoop;
use crate::blocks::loops::rows::RowReduction;
use crate::blocks::loops::table::{self, Entry, Product};
use crate::element::DType;
use crate::ir::{
    ArgId, BinaryOp, Inst, Kernel, Loop, ReduceOp, UnaryOp, ValueId, uniform_values, value_types,
};
use crate::isa::PerIsa;
use std::collections::BTreeMap;
use std::ops::Range;

/// An operand of a lowered instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operand {
    None,
    /// A number of [`Lowered::uniforms`].
    Uniform(u32),
    /// A number of [`Lowered::values`].
    Value(usize),
}

/// A range of [`Lowered::terms`], and of the terms of the loop that is made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// A varying instruction, one step each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Map(PerIsa<MapLoop>, [Operand; 3]),
    /// A sum or a difference that absorbs a product: the loop for it alone, the factors and the
    /// target.
    AddProduct(PerIsa<MapLoop>, Joined, [Operand; 3]),
    Index,
    Load(ArgId, usize),
    RowSum(DType, [ArgId; 3]),
    /// The structure, `x` and the size of its elements.
    Gather([ArgId; 2], usize),
    RowReduce(RowReduction, ArgId, Option<ArgId>),
    Store(ArgId, usize, Operand),
    Reduce(usize, Operand),
    ReduceProduct(DType, usize, [Operand; 2]),
    /// Several [`Op::AddProduct`]s of one target.
    Update(Joined, Operand, Terms),
    /// Several [`Op::ReduceProduct`]s; whether their first factors are conjugated.
    ReduceProducts(DType, bool, Terms),
}

/// What an update does with its products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) dtype: DType,
    /// Whether they are added, else subtracted.
    pub(crate) is_sum: bool,
}

/// A varying value: where it is defined and last read, as positions in [`Lowered::ops`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct VaryingValue {
    pub(crate) size: usize,
    pub(crate) defined: usize,
    pub(crate) last_read: usize,
}

/// A loop's body in terms of steps, before slots are assigned.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    pub(crate) uniforms: Vec<(Inst, DType)>,
    pub(crate) ops: Vec<Op>,
    /// The value that each op defines.
    pub(crate) outs: Vec<Option<usize>>,
    pub(crate) values: Vec<VaryingValue>,
    pub(crate) reductions: Vec<(ArgId, Reduction)>,
    /// For each value that is a conjugate, of what.
    pub(crate) conjugates: BTreeMap<usize, Operand>,
    /// For each value that is a mask as numbers, the mask.
    masks: BTreeMap<usize, Operand>,
    /// The factors of the terms of bundles, and for sums the reductions.
    pub(crate) terms: Vec<([Operand; 2], usize)>,
}

/// Lowers the body of a loop.
pub(crate) fn lower(kernel: &Kernel, loop_: &Loop) -> Lowered {
    let types = value_types(kernel, &loop_.body);
    let uniform = uniform_values(&loop_.body);
    let absorbed = Absorbed::new(&loop_.body, &types, &uniform);
    let len = loop_.body.len();
    let mut lowered = Lowered {
        ops: Vec::with_capacity(len),
        outs: Vec::with_capacity(len),
        values: Vec::with_capacity(len),
        ..Lowered::default()
    };
    let mut operands: Vec<Operand> = Vec::with_capacity(len);
    let dtype = |value: ValueId| types[value as usize].expect("the verifier admits typed operands");
    for (i, &inst) in loop_.body.iter().enumerate() {
        let operand = if uniform[i] {
            lowered.uniform(inst, types[i], &operands)
        } else if absorbed.is_absorbed(i) {
            Operand::None
        } else if let Some(absorbed) = absorbed.by(i, &loop_.body) {
            lowered.with_absorbed(inst, absorbed, &dtype, &operands)
        } else {
            lowered.varying(kernel, inst, &dtype, &operands)
        };
        operands.push(operand);
    }
    lowered
}

impl Lowered {
    /// The varying values that an op reads.
    pub(crate) fn reads(&self, op: &Op) -> impl Iterator<Item = usize> {
        op.values(&self.terms)
    }

    /// Notes for each value where it is defined, and where it is read for the last time.
    pub(crate) fn count_lives(&mut self) {
        for (at, (op, out)) in self.ops.iter().zip(&self.outs).enumerate() {
            if let Some(value) = *out {
                self.values[value].defined = at;
                self.values[value].last_read = at;
            }
            for value in op.values(&self.terms) {
                self.values[value].last_read = at;
            }
        }
    }

    fn uniform(&mut self, inst: Inst, dtype: Option<DType>, operands: &[Operand]) -> Operand {
        let inst = inst.map_operands(|value| match operands[value as usize] {
            Operand::Uniform(number) => number,
            Operand::None | Operand::Value(_) => {
                unreachable!("a uniform instruction has uniform operands")
            }
        });
        self.uniforms.push((inst, dtype.unwrap_or(DType::Bool)));
        Operand::Uniform(self.uniforms.len() as u32 - 1)
    }

    fn varying(
        &mut self,
        kernel: &Kernel,
        inst: Inst,
        dtype: &impl Fn(ValueId) -> DType,
        operands: &[Operand],
    ) -> Operand {
        let of = |value: ValueId| operands[value as usize];
        let size = |arg: ArgId| kernel.args[arg as usize].dtype.size();
        match inst {
            Inst::Const(_) | Inst::Param(_) | Inst::LoadScalar(_) | Inst::StoreScalar(..) => {
                unreachable!("the verifier admits these as uniform instructions only")
            }
            Inst::Index => self.define(Op::Index, 8),
            Inst::Load(arg) => self.define(Op::Load(arg, size(arg)), size(arg)),
            Inst::Unary(op, a) => {
                let out = self.map(table::unary(op, dtype(a)), [of(a)]);
                if let (UnaryOp::Conj, Operand::Value(value)) = (op, out) {
                    self.conjugates.insert(value, of(a));
                }
                out
            }
            Inst::Binary(op @ (BinaryOp::Gt | BinaryOp::Ge), a, b) => {
                self.map(table::binary(op, dtype(a)), [of(b), of(a)])
            }
            Inst::Binary(op, a, b) => self.map(table::binary(op, dtype(a)), [of(a), of(b)]),
            Inst::Select(condition, a, b) => {
                self.map(table::select(dtype(a)), [of(condition), of(a), of(b)])
            }
            Inst::Cast(to, a) => {
                let entries = table::cast(dtype(a), to).into_iter();
                let out = entries.fold(of(a), |value, entry| self.map(entry, [value]));
                if let (DType::Bool, Operand::Value(value)) = (dtype(a), out) {
                    self.masks.insert(value, of(a));
                }
                out
            }
            Inst::Random { kind, seed, index } => {
                self.map(table::random(kind), [of(seed), of(index)])
            }
            Inst::RowSum {
                structure,
                entries,
                x,
            } => {
                let dtype = kernel.args[entries as usize].dtype;
                self.define(Op::RowSum(dtype, [structure, entries, x]), size(entries))
            }
            Inst::Gather { structure, x } => {
                self.define(Op::Gather([structure, x], size(x)), size(x))
            }
            Inst::RowReduce { op, rows, x } => {
                let dtype = kernel.args[rows as usize].dtype;
                let reduce = RowReduction::new(op, dtype, x.is_some());
                self.define(Op::RowReduce(reduce, rows, x), dtype.size())
            }
            Inst::Store(arg, a) => {
                let value = self.vary(of(a), dtype(a));
                self.effect(Op::Store(arg, size(arg), value))
            }
            Inst::Reduce(op, arg, a) => {
                let value = self.vary(of(a), dtype(a));
                let (reduction, value) = match self.counted(op, dtype(a), value) {
                    Some(counted) => counted,
                    None => (Reduction::new(op, dtype(a)), value),
                };
                self.reductions.push((arg, reduction));
                self.effect(Op::Reduce(self.reductions.len() - 1, value))
            }
        }
    }

    /// How the true elements of a mask are counted, and the mask, where the sum of a value is that.
    fn counted(&self, op: ReduceOp, dtype: DType, value: Operand) -> Option<(Reduction, Operand)> {
        let Operand::Value(number) = value else {
            return None;
        };
        let mask = *self.masks.get(&number).filter(|_| op == ReduceOp::Sum)?;
        Some((count(dtype)?, mask))
    }

    /// An instruction that carries out one among its operands, which has two operands of its own.
    fn with_absorbed(
        &mut self,
        inst: Inst,
        (product, factors): (ValueId, [ValueId; 2]),
        dtype: &impl Fn(ValueId) -> DType,
        operands: &[Operand],
    ) -> Operand {
        let of = |value: ValueId| operands[value as usize];
        let [a, b] = factors.map(of);
        let dtype = dtype(product);
        let (way, other) = match inst {
            Inst::Binary(BinaryOp::Min, _, high) => {
                return self.map(table::clamp(dtype), [a, b, of(high)]);
            }
            Inst::Binary(BinaryOp::Add, other, last) if last == product => (Product::Plus, other),
            Inst::Binary(BinaryOp::Add, _, other) => (Product::Plus, other),
            Inst::Binary(BinaryOp::Sub, other, last) if last == product => {
                (Product::Subtracted, other)
            }
            Inst::Binary(BinaryOp::Sub, _, other) => (Product::Minus, other),
            Inst::Reduce(op, arg, _) => {
                self.reductions.push((arg, Reduction::new(op, dtype)));
                let reduction = self.reductions.len() - 1;
                return self.effect(Op::ReduceProduct(dtype, reduction, [a, b]));
            }
            _ => unreachable!("only sums, differences and minima absorb operations"),
        };
        let entry = table::product(way, dtype);
        let operands = [a, b, of(other)];
        let is_sum = match way {
            Product::Plus => true,
            Product::Subtracted => false,
            Product::Minus => return self.map(entry, operands),
        };
        let joined = Joined { dtype, is_sum };
        self.define(Op::AddProduct(entry.run, joined, operands), entry.out_size)
    }

    /// The operand itself if it varies, else its copy in every row.
    fn vary(&mut self, operand: Operand, dtype: DType) -> Operand {
        match operand {
            Operand::Uniform(_) => self.map(table::copy(dtype), [operand]),
            Operand::None | Operand::Value(_) => operand,
        }
    }

    fn map<const N: usize>(&mut self, entry: Entry, operands: [Operand; N]) -> Operand {
        let mut inputs = [Operand::None; 3];
        inputs[..N].copy_from_slice(&operands);
        self.define(Op::Map(entry.run, inputs), entry.out_size)
    }

    fn define(&mut self, op: Op, size: usize) -> Operand {
        let number = self.values.len();
        self.effect(op);
        let defined = self.ops.len() - 1;
        self.outs[defined] = Some(number);
        self.values.push(VaryingValue {
            size,
            defined,
            last_read: defined,
        });
        Operand::Value(number)
    }

    fn effect(&mut self, op: Op) -> Operand {
        let position = self.ops.len();
        for read in op.reads() {
            if let Operand::Value(value) = read {
                self.values[value].last_read = position;
            }
        }
        self.ops.push(op);
        self.outs.push(None);
        Operand::None
    }
}

impl Op {
    /// The numbers of an op's terms.
    pub(crate) fn terms(&self) -> Range<usize> {
        match *self {
            Self::Update(_, _, Terms { first, end })
            | Self::ReduceProducts(_, _, Terms { first, end }) => first..end,
            Self::Map(..)
            | Self::AddProduct(..)
            | Self::Index
            | Self::Load(..)
            | Self::RowSum(..)
            | Self::Gather(..)
            | Self::RowReduce(..)
            | Self::Store(..)
            | Self::Reduce(..)
            | Self::ReduceProduct(..) => 0..0,
        }
    }

    /// The varying values that it reads, its terms being among these.
    fn values(&self, terms: &[([Operand; 2], usize)]) -> impl Iterator<Item = usize> {
        let factors = terms[self.terms()].iter().flat_map(|&(factors, _)| factors);
        let operands = self.reads().into_iter().chain(factors);
        operands.filter_map(|operand| match operand {
            Operand::Value(value) => Some(value),
            Operand::None | Operand::Uniform(_) => None,
        })
    }

    /// The operands but those of terms.
    pub(crate) fn reads(&self) -> [Operand; 3] {
        match *self {
            Self::Map(_, inputs) | Self::AddProduct(_, _, inputs) => inputs,
            Self::Update(_, target, _) => [target, Operand::None, Operand::None],
            Self::Store(_, _, value) | Self::Reduce(_, value) => {
                [value, Operand::None, Operand::None]
            }
            Self::ReduceProduct(_, _, [a, b]) => [a, b, Operand::None],
            Self::Index
            | Self::Load(..)
            | Self::RowSum(..)
            | Self::Gather(..)
            | Self::RowReduce(..)
            | Self::ReduceProducts(..) => [Operand::None; 3],
        }
    }

    /// The array that a load or a store reaches.
    pub(crate) fn array(&self) -> Option<ArgId> {
        match *self {
            Self::Load(arg, _) | Self::Store(arg, ..) => Some(arg),
            Self::Map(..)
            | Self::AddProduct(..)
            | Self::Index
            | Self::RowSum(..)
            | Self::Gather(..)
            | Self::RowReduce(..)
            | Self::Reduce(..)
            | Self::ReduceProduct(..)
            | Self::Update(..)
            | Self::ReduceProducts(..) => None,
        }
    }
}
