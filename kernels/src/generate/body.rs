//! Random bodies of loops.

use super::choices::Choices;
use super::{Binding, Case, GATHERED};
use crate::element::DType;
use crate::ir::{
    Arg, ArgId, ArgKind, BinaryOp, Inst, Loop, RandomKind, ReduceOp, UnaryOp, ValueId,
};
use crate::reduce::Partial;

/// How a body has reached a memory so far.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Not,
    Through { view: Binding, writes: bool },
    ReadThroughSeveral,
}

pub(super) struct BodyBuilder<'a> {
    case: &'a mut Case,
    choices: &'a mut Choices,
    domain: usize,
    body: Vec<Inst>,
    /// The values so far, their types, and whether they are uniform.
    values: Vec<(ValueId, DType, bool)>,
    uses: Vec<Use>,
}

impl<'a> BodyBuilder<'a> {
    pub(super) fn new(case: &'a mut Case, choices: &'a mut Choices) -> Self {
        Self {
            domain: choices.below(case.domains.len()),
            uses: vec![Use::Not; case.data.buffers.len()],
            body: Vec::new(),
            values: Vec::new(),
            case,
            choices,
        }
    }

    pub(super) fn build(mut self) -> Loop {
        // Some loops are scalar arithmetic alone.
        let only_uniform = self.choices.one_in(4);
        for _ in 0..2 + self.choices.below(14) {
            // A choice that finds nothing to work on adds nothing.
            let _ = if only_uniform {
                match self.choices.below(4) {
                    0 => self.leaf(),
                    1 | 2 => self.operation(),
                    _ => self.store(ArgKind::Scalar),
                }
            } else {
                match self.choices.below(14) {
                    12 => self.updates(),
                    13 => self.products(),
                    0..=1 => self.leaf(),
                    2..=3 => self.load(),
                    4..=7 => self.operation(),
                    8 => self.store(ArgKind::Scalar),
                    9..=10 => self.store(ArgKind::Array),
                    _ => self.reduce(),
                }
            };
        }
        Loop {
            domain: self.domain as u32,
            body: self.body,
        }
    }

    fn define(&mut self, inst: Inst, dtype: DType, is_uniform: bool) -> Option<()> {
        self.values
            .push((self.body.len() as ValueId, dtype, is_uniform));
        self.body.push(inst);
        Some(())
    }

    fn leaf(&mut self) -> Option<()> {
        match self.choices.below(3) {
            0 => {
                let dtype = self.choices.dtype();
                let value = self.choices.value(dtype);
                self.define(Inst::Const(value), dtype, true)
            }
            1 => {
                let param = self.choices.pick(self.case.params.len())?;
                let dtype = self.case.params[param].dtype();
                self.define(Inst::Param(param as u32), dtype, true)
            }
            _ => {
                let (arg, dtype) = self.readable(ArgKind::Scalar)?;
                self.define(Inst::LoadScalar(arg), dtype, true)
            }
        }
    }

    fn load(&mut self) -> Option<()> {
        match self.choices.below(8) {
            0 => self.define(Inst::Index, DType::I64, false),
            1 => {
                let (structure, _) = self.readable(ArgKind::Structure)?;
                let (entries, dtype) = self.readable(ArgKind::Entries)?;
                let (x, of) = self.readable(ArgKind::Gather)?;
                let inst = Inst::RowSum {
                    structure,
                    entries,
                    x,
                };
                (of == dtype && dtype != DType::Bool).then_some(())?;
                self.define(inst, dtype, false)
            }
            2 => self.row_reduce(),
            3 => {
                let (structure, _) = self.readable(ArgKind::Structure)?;
                let (x, dtype) = self.readable(ArgKind::Gather)?;
                self.define(Inst::Gather { structure, x }, dtype, false)
            }
            _ => {
                let (arg, dtype) = self.readable(ArgKind::Array)?;
                self.define(Inst::Load(arg), dtype, false)
            }
        }
    }

    fn row_reduce(&mut self) -> Option<()> {
        let (rows, dtype) = self.readable(ArgKind::DenseRows)?;
        let op = ReduceOp::ALL[self.choices.below(ReduceOp::ALL.len())];
        let yields_element = !matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        (yields_element && op.output(dtype) == Some(dtype)).then_some(())?;
        let is_short = matches!(
            self.case.bindings[rows as usize],
            Binding::DenseRows { columns, .. } if columns <= GATHERED
        );
        let x = if is_short && dtype != DType::Bool {
            self.readable(ArgKind::Gather)
                .filter(|&(_, of)| of == dtype)
                .map(|(x, _)| x)
        } else {
            None
        };
        self.define(Inst::RowReduce { op, rows, x }, dtype, false)
    }

    fn operation(&mut self) -> Option<()> {
        let (a, dtype, is_uniform) = self.value(|_| true)?;
        match self.choices.below(8) {
            0..=1 => {
                let op = UnaryOp::ALL[self.choices.below(UnaryOp::ALL.len())];
                self.define(Inst::Unary(op, a), op.output(dtype)?, is_uniform)
            }
            2 => {
                let to = self.choices.dtype();
                self.define(Inst::Cast(to, a), to, is_uniform)
            }
            3 => {
                let (b, _, b_is_uniform) = self.value(|of| of == dtype)?;
                let (condition, _, c_is_uniform) = self.value(|of| of == DType::Bool)?;
                let all = is_uniform && b_is_uniform && c_is_uniform;
                self.define(Inst::Select(condition, a, b), dtype, all)
            }
            4 => {
                let (seed, _, s_is_uniform) = self.value(|of| of == DType::U64)?;
                let (index, _, i_is_uniform) = self.value(|of| of == DType::I64)?;
                let kind = RandomKind::ALL[self.choices.below(3)];
                let inst = Inst::Random { kind, seed, index };
                self.define(inst, kind.output(), s_is_uniform && i_is_uniform)
            }
            _ => {
                let (b, _, b_is_uniform) = self.value(|of| of == dtype)?;
                let op = BinaryOp::ALL[self.choices.below(BinaryOp::ALL.len())];
                let inst = Inst::Binary(op, a, b);
                self.define(inst, op.output(dtype)?, is_uniform && b_is_uniform)
            }
        }
    }

    /// Multiples added to a value, or subtracted, one after the other.
    fn updates(&mut self) -> Option<()> {
        let is_float = |dtype: DType| !dtype.is_integer() && dtype != DType::Bool;
        let (mut sum, dtype, mut is_uniform) = self.value(is_float)?;
        let op = [BinaryOp::Add, BinaryOp::Sub][self.choices.below(2)];
        for _ in 0..2 + self.choices.below(8) {
            let _ = self.load();
            let (a, _, a_is_uniform) = self.value(|of| of == dtype)?;
            let (b, _, b_is_uniform) = self.value(|of| of == dtype)?;
            let is_product_uniform = a_is_uniform && b_is_uniform;
            self.define(Inst::Binary(BinaryOp::Mul, a, b), dtype, is_product_uniform)?;
            let product = self.body.len() as ValueId - 1;
            // Sometimes another loop form, or a value that is read again.
            let op = if self.choices.one_in(8) {
                BinaryOp::Add
            } else {
                op
            };
            is_uniform &= is_product_uniform;
            self.define(Inst::Binary(op, sum, product), dtype, is_uniform)?;
            sum = self.body.len() as ValueId - 1;
        }
        Some(())
    }

    /// Sums of products, some with a common factor, which may be conjugated.
    fn products(&mut self) -> Option<()> {
        let is_float = |dtype: DType| !dtype.is_integer() && dtype != DType::Bool;
        let (mut common, dtype, _) = self.value(is_float)?;
        for _ in 0..2 + self.choices.below(12) {
            let _ = self.load();
            let (mut a, _, is_uniform) = self.value(|of| of == dtype)?;
            if dtype.is_complex() && self.choices.one_in(2) {
                self.define(Inst::Unary(UnaryOp::Conj, a), dtype, is_uniform)?;
                a = self.body.len() as ValueId - 1;
            }
            if self.choices.one_in(6) {
                common = self.value(|of| of == dtype)?.0;
            }
            let of = |value: ValueId| self.values.iter().find(|&&(other, ..)| other == value);
            let is_uniform = is_uniform && of(common).is_some_and(|&(.., is_uniform)| is_uniform);
            self.define(Inst::Binary(BinaryOp::Mul, a, common), dtype, is_uniform)?;
            self.reduce_value(ReduceOp::Sum, self.body.len() as ValueId - 1, dtype)?;
        }
        Some(())
    }

    fn store(&mut self, kind: ArgKind) -> Option<()> {
        let arg = self.arg(kind)?;
        let dtype = self.case.kernel.args[arg as usize].dtype;
        let is_scalar = kind == ArgKind::Scalar;
        let (value, ..) = self.typed_value(dtype, is_scalar)?;
        let memory = self.case.kernel.args[arg as usize].memory as usize;
        let view = self.case.bindings[arg as usize];
        let is_alone = match self.uses[memory] {
            Use::Not => true,
            Use::Through { view: by, .. } => by == view,
            Use::ReadThroughSeveral => false,
        };
        let repeats = matches!(view, Binding::Array { repeats: true, .. });
        (is_alone && !repeats).then_some(())?;
        self.uses[memory] = Use::Through { view, writes: true };
        self.body.push(if is_scalar {
            Inst::StoreScalar(arg, value)
        } else {
            Inst::Store(arg, value)
        });
        Some(())
    }

    /// Reduces into a new argument.
    fn reduce(&mut self) -> Option<()> {
        let (value, dtype, _) = self.value(|_| true)?;
        let op = ReduceOp::ALL[self.choices.below(ReduceOp::ALL.len())];
        self.reduce_value(op, value, dtype)
    }

    fn reduce_value(&mut self, op: ReduceOp, value: ValueId, dtype: DType) -> Option<()> {
        let output = op.output(dtype)?;
        let extent = self.case.domains[self.domain];
        let tiles = extent.tiles.count(extent.len as usize);
        let untouched = Partial {
            bits: [7, 7],
            index: 7,
        };
        self.case.data.partials.push(vec![untouched; tiles]);
        self.case.data.buffers.push(Vec::new());
        self.uses.push(Use::Not);
        self.case.bindings.push(Binding::Reduction {
            slots: self.case.data.partials.len() - 1,
        });
        self.case.kernel.args.push(Arg {
            dtype: output,
            kind: ArgKind::Reduction,
            memory: self.case.data.buffers.len() as u32 - 1,
            temporary: self.choices.one_in(4),
        });
        let arg = self.case.kernel.args.len() as ArgId - 1;
        self.body.push(Inst::Reduce(op, arg, value));
        Some(())
    }

    fn value(&mut self, fits: impl Fn(DType) -> bool) -> Option<(ValueId, DType, bool)> {
        let fitting: Vec<_> = self
            .values
            .iter()
            .filter(|(_, dtype, _)| fits(*dtype))
            .collect();
        let chosen = self.choices.pick(fitting.len())?;
        Some(*fitting[chosen])
    }

    /// A value of this type, made by a cast where there is none.
    fn typed_value(
        &mut self,
        dtype: DType,
        must_be_uniform: bool,
    ) -> Option<(ValueId, DType, bool)> {
        let fits = |&(_, _, is_uniform): &(ValueId, DType, bool)| is_uniform || !must_be_uniform;
        if let Some(found) = self.value(|of| of == dtype).filter(fits) {
            return Some(found);
        }
        let (a, _, is_uniform) = self.value(|_| true).filter(fits)?;
        self.define(Inst::Cast(dtype, a), dtype, is_uniform)?;
        self.values.last().copied()
    }

    /// An argument of this kind that the loop may read, and its type.
    fn readable(&mut self, kind: ArgKind) -> Option<(ArgId, DType)> {
        let arg = self.arg(kind)?;
        let Arg { memory, dtype, .. } = self.case.kernel.args[arg as usize];
        let view = self.case.bindings[arg as usize];
        let use_ = &mut self.uses[memory as usize];
        match *use_ {
            Use::Not => {
                *use_ = Use::Through {
                    view,
                    writes: false,
                }
            }
            Use::Through { view: by, .. } if by == view => {}
            Use::Through { writes: true, .. } => return None,
            Use::Through { writes: false, .. } => *use_ = Use::ReadThroughSeveral,
            Use::ReadThroughSeveral => {}
        }
        Some((arg, dtype))
    }

    /// An argument of this kind that fits the domain.
    fn arg(&mut self, kind: ArgKind) -> Option<ArgId> {
        let fits = |arg: &ArgId| {
            let of_domain = match self.case.bindings[*arg as usize] {
                Binding::Array { domain, .. } | Binding::Structure { domain, .. } => {
                    domain == self.domain
                }
                _ => true,
            };
            of_domain && self.case.kernel.args[*arg as usize].kind == kind
        };
        let fitting: Vec<ArgId> = (0..self.case.kernel.args.len() as ArgId)
            .filter(fits)
            .collect();
        let chosen = self.choices.pick(fitting.len())?;
        Some(fitting[chosen])
    }
}
