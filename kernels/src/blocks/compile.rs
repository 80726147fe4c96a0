//! From a kernel to the steps that the block executor runs.
//!
//! For each loop: uniform instructions are set aside, some multiplications are left to their
//! readers (`absorb.rs`), every other becomes a [`Step`] on *slots*.
//! A slot is where the rows of a value lie while a block runs: a register (a buffer for one block),
//! the memory of an argument, or a chunk of copies of a uniform value. Registers are shared by
//! values whose lives do not overlap.
//!
//! Two decisions save copies. A value that is only loaded is read where it lies, unless a store
//! changes that memory while the value lives. A value that is stored is computed right there,
//! unless somebody still needs what lay there before. Both hold for contiguous arrays only, which
//! the launch decides, so each such slot names a register to fall back to.
//!
//! The invariant: for every run, a slot keeps its rows from the step that writes it to the last
//! one that reads it.

use super::absorb::Absorbed;
use super::bundle::bundle;
use super::lanes::{ProductLoop, Reduction, sum_of_products};
use super::loops::MapLoop;
use super::packed::{PackedLoop, packed_sum};
use super::rows::{RowReduction, RowSumLoop, row_sum};
use super::streams::{ProductsLoop, UpdateLoop, products, update};
use super::table::{self, Entry, Product};
use super::wide::wide_row_sum;
use crate::element::DType;
use crate::ir::{
    ArgId, BinaryOp, Inst, Kernel, Loop, UnaryOp, ValueId, uniform_values, value_types,
};
use crate::isa::PerIsa;
use std::collections::BTreeMap;
use std::ops::Range;

/// The bytes that the values of a block may take: most of an L1 data cache, most of the time.
const BLOCK_BYTES: usize = 24 << 10;
/// The same where most of a loop are updates and sums of many arrays, whose values stay in
/// registers: a part of the L2 cache, so that each array is read for a while.
const STREAM_BYTES: usize = 128 << 10;
/// From how many terms of updates and sums on that is so.
const MANY_TERMS: usize = 8;
/// Shorter blocks cost more in calls than they save in misses.
const MIN_BLOCK_LEN: usize = 128;
/// Longer blocks save nothing.
const MAX_BLOCK_LEN: usize = 4096;

/// The number of a slot of a loop.
pub(super) type SlotId = u32;

/// Where the rows of a value lie while a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A buffer for elements of a size; `offset` is the sum of the sizes of those before it.
    Register { size: usize, offset: usize },
    /// The memory of an array, or a register if it is not contiguous.
    Memory {
        arg: ArgId,
        size: usize,
        register: SlotId,
    },
    /// Copies of a uniform value, by its place in [`LoopProgram::splats`].
    Uniform { splat: usize },
}

/// What happens to a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// An element loop.
    Map {
        run: PerIsa<MapLoop>,
        out: SlotId,
        inputs: [SlotId; 3],
    },
    /// Writes the global numbers of the rows.
    Index { out: SlotId },
    /// Fills a slot from an array, if it is not the array itself.
    Load {
        arg: ArgId,
        size: usize,
        out: SlotId,
    },
    /// Writes a slot to an array, unless the slot is that array itself (`is_direct`).
    Store {
        arg: ArgId,
        size: usize,
        value: SlotId,
        is_direct: bool,
    },
    /// A product with a sparse matrix.
    RowSum {
        run: PerIsa<RowSumLoop>,
        /// Where `x` is a matrix.
        wide: PerIsa<RowSumLoop>,
        /// For packed entries, where their type has such.
        packed: Option<PerIsa<PackedLoop>>,
        structure: ArgId,
        entries: ArgId,
        x: ArgId,
        out: SlotId,
    },
    /// A reduction of the rows of a dense matrix.
    RowReduce {
        reduce: RowReduction,
        matrix: ArgId,
        x: Option<ArgId>,
        out: SlotId,
    },
    /// Joins the rows to the lanes of a reduction, given by its place among the loop's.
    Reduce { reduction: usize, value: SlotId },
    /// Joins the products of two slots to the lanes of a sum.
    ReduceProduct {
        run: PerIsa<ProductLoop>,
        reduction: usize,
        factors: [SlotId; 2],
    },
    /// Several updates of one target; `terms` are those of the loop.
    Update {
        run: PerIsa<UpdateLoop>,
        target: SlotId,
        terms: Terms,
        out: SlotId,
    },
    /// Several sums of products.
    ReduceProducts {
        run: PerIsa<ProductsLoop>,
        terms: Terms,
    },
}

/// A range of [`LoopProgram::terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) first: usize,
    pub(super) end: usize,
}

/// A loop, ready to run.
#[derive(Clone, Debug)]
pub(super) struct LoopProgram {
    pub(super) domain: u32,
    /// The uniform instructions and the types of their values (`Bool` for effects), their operands
    /// renumbered: instruction `i` defines number `i`.
    pub(super) uniforms: Vec<(Inst, DType)>,
    /// The numbers of the uniform values that steps read.
    pub(super) splats: Vec<u32>,
    pub(super) steps: Vec<Step>,
    pub(super) slots: Vec<Slot>,
    /// The sum of the sizes of the registers.
    pub(super) register_bytes: usize,
    /// The longest block whose registers and arrays fit the cache.
    pub(super) longest_block: usize,
    /// Whether most of the loop are updates and sums of many arrays.
    pub(super) has_many_terms: bool,
    /// The arrays that are stored and whose memory the loop does not read.
    pub(super) write_only: Vec<ArgId>,
    /// The arrays that are loaded or stored, one for each memory, and the sizes of their elements.
    pub(super) reached: Vec<(ArgId, usize)>,
    /// The structures of products with what they gather, and the sizes of its elements.
    pub(super) gathered: Vec<(ArgId, ArgId, usize)>,
    /// The bytes of a row of all arrays.
    pub(super) array_bytes: usize,
    pub(super) reductions: Vec<(ArgId, Reduction)>,
    /// The factors of the terms of updates and sums of products.
    pub(super) terms: Vec<[SlotId; 2]>,
    /// For each term of a sum of products, the place of the reduction among the loop's.
    pub(super) sums: Vec<usize>,
}

/// Compiles one loop of a verified kernel.
pub(super) fn compile(kernel: &Kernel, loop_: &Loop) -> LoopProgram {
    let lowered = bundle(lower(kernel, loop_));
    let plan = Plan::new(kernel, &lowered);
    assign(loop_.domain, kernel, lowered, &plan)
}

/// An operand of a lowered instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operand {
    None,
    /// A number of [`Lowered::uniforms`].
    Uniform(u32),
    /// A number of [`Lowered::values`].
    Value(usize),
}

/// A varying instruction, one step each.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Map(PerIsa<MapLoop>, [Operand; 3]),
    /// A sum or a difference that absorbs a product: the loop for it alone, the factors and the
    /// target.
    AddProduct(PerIsa<MapLoop>, Joined, [Operand; 3]),
    Index,
    Load(ArgId, usize),
    RowSum(DType, [ArgId; 3]),
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
pub(super) struct Joined {
    pub(super) dtype: DType,
    /// Whether they are added, else subtracted.
    pub(super) is_sum: bool,
}

/// A varying value: where it is defined and last read, as positions in [`Lowered::ops`].
#[derive(Clone, Copy, Debug)]
pub(super) struct VaryingValue {
    size: usize,
    pub(super) defined: usize,
    pub(super) last_read: usize,
}

/// A loop's body in terms of steps, before slots are assigned.
#[derive(Debug, Default)]
pub(super) struct Lowered {
    uniforms: Vec<(Inst, DType)>,
    pub(super) ops: Vec<Op>,
    /// The value that each op defines.
    pub(super) outs: Vec<Option<usize>>,
    pub(super) values: Vec<VaryingValue>,
    reductions: Vec<(ArgId, Reduction)>,
    /// For each value that is a conjugate, of what.
    pub(super) conjugates: BTreeMap<usize, Operand>,
    /// The factors of the terms of bundles, and for sums the reductions.
    pub(super) terms: Vec<([Operand; 2], usize)>,
}

fn lower(kernel: &Kernel, loop_: &Loop) -> Lowered {
    let types = value_types(kernel, &loop_.body);
    let uniform = uniform_values(&loop_.body);
    let absorbed = Absorbed::new(&loop_.body, &types, &uniform);
    let mut lowered = Lowered::default();
    let mut operands: Vec<Operand> = Vec::with_capacity(loop_.body.len());
    let dtype = |value: ValueId| types[value as usize].expect("the verifier admits typed operands");
    for (i, &inst) in loop_.body.iter().enumerate() {
        let operand = if uniform[i] {
            lowered.uniform(inst, types[i], &operands)
        } else if absorbed.is_absorbed(i) {
            Operand::None
        } else if let Some(product) = absorbed.by(i, &loop_.body) {
            lowered.with_product(inst, product, &dtype, &operands)
        } else {
            lowered.varying(kernel, inst, &dtype, &operands)
        };
        operands.push(operand);
    }
    lowered
}

impl Lowered {
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
            Inst::Cast(to, a) => table::cast(dtype(a), to)
                .into_iter()
                .fold(of(a), |value, entry| self.map(entry, [value])),
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
            Inst::RowReduce { op, matrix, x } => {
                let dtype = kernel.args[matrix as usize].dtype;
                let reduce = RowReduction::new(op, dtype, x.is_some());
                self.define(Op::RowReduce(reduce, matrix, x), dtype.size())
            }
            Inst::Store(arg, a) => {
                let value = self.vary(of(a), dtype(a));
                self.effect(Op::Store(arg, size(arg), value))
            }
            Inst::Reduce(op, arg, a) => {
                let value = self.vary(of(a), dtype(a));
                self.reductions.push((arg, Reduction::new(op, dtype(a))));
                self.effect(Op::Reduce(self.reductions.len() - 1, value))
            }
        }
    }

    /// An instruction that carries out the multiplication of two factors among its operands.
    fn with_product(
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
            _ => unreachable!("only sums and differences absorb products"),
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

/// Which values need no register of their own where arrays are contiguous.
#[derive(Debug)]
struct Plan {
    /// For each value: the array that it is read from or computed in.
    in_place: Vec<Option<ArgId>>,
    /// For each value: the store that it is computed for.
    direct_store: Vec<Option<usize>>,
}

impl Plan {
    fn new(kernel: &Kernel, lowered: &Lowered) -> Self {
        let mut plan = Self {
            in_place: vec![None; lowered.values.len()],
            direct_store: vec![None; lowered.values.len()],
        };
        let memory = |arg: ArgId| kernel.args[arg as usize].memory;
        let accesses = Accesses::new(lowered, memory);
        for &store in &accesses.stores {
            let (at, arg, value) = store;
            if plan.direct_store[value].is_none() && accesses.allows_direct(&plan, lowered, store) {
                plan.direct_store[value] = Some(at);
                plan.in_place[value] = Some(arg);
            }
        }
        for &(at, arg, value) in &accesses.loads {
            let is_overwritten = accesses.stores.iter().any(|&(store, to, stored)| {
                let is_direct = plan.direct_store[stored] == Some(store);
                memory(to) == memory(arg)
                    && !is_direct
                    && at < store
                    && store < lowered.values[value].last_read
            });
            if !is_overwritten {
                plan.in_place[value] = Some(arg);
            }
        }
        plan
    }

    fn is_direct(&self, at: usize, stored: Operand) -> bool {
        match stored {
            Operand::Value(value) => self.direct_store[value] == Some(at),
            Operand::None | Operand::Uniform(_) => false,
        }
    }
}

/// The loads and stores of a loop: position, argument, value.
#[derive(Debug)]
struct Accesses<M> {
    loads: Vec<(usize, ArgId, usize)>,
    stores: Vec<(usize, ArgId, usize)>,
    memory: M,
}

impl<M: Fn(ArgId) -> u32> Accesses<M> {
    fn new(lowered: &Lowered, memory: M) -> Self {
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        for (at, op) in lowered.ops.iter().enumerate() {
            match (*op, lowered.outs[at]) {
                (Op::Load(arg, _), Some(value)) => loads.push((at, arg, value)),
                (Op::Store(arg, _, Operand::Value(value)), _) => stores.push((at, arg, value)),
                _ => {}
            }
        }
        Self {
            loads,
            stores,
            memory,
        }
    }

    /// Whether `value` may be computed in the memory of `arg`, where the store at `at` puts it:
    /// that memory must hold nothing that is still read when the value is defined, and must not be
    /// loaded or stored before the value has been stored and read for the last time.
    fn allows_direct(&self, plan: &Plan, lowered: &Lowered, store: (usize, ArgId, usize)) -> bool {
        let (at, arg, value) = store;
        let memory = (self.memory)(arg);
        let same = |other: ArgId| (self.memory)(other) == memory;
        let VaryingValue {
            defined, last_read, ..
        } = lowered.values[value];
        let is_computed = !matches!(lowered.ops[defined], Op::Load(..));
        let loads_agree = self.loads.iter().all(|&(load, from, loaded)| {
            let is_between = defined < load && load < at;
            let is_needed = load < defined && lowered.values[loaded].last_read > defined;
            !same(from) || !(is_between || is_needed)
        });
        let stores_agree = self.stores.iter().all(|&(other, to, stored)| {
            let is_between = other != at && defined < other && other <= last_read;
            let is_needed = plan.direct_store[stored] == Some(other)
                && lowered.values[stored].defined < defined
                && lowered.values[stored].last_read > defined;
            !same(to) || !(is_between || is_needed)
        });
        is_computed && loads_agree && stores_agree
    }
}

/// Gives each value its slot and turns the ops into steps.
fn assign(domain: u32, kernel: &Kernel, lowered: Lowered, plan: &Plan) -> LoopProgram {
    let mut slots = Slots::default();
    let mut steps = Vec::with_capacity(lowered.ops.len());
    let mut terms = vec![[0; 2]; lowered.terms.len()];
    let sums = lowered.terms.iter().map(|&(_, reduction)| reduction);
    let sums = sums.collect();
    for (at, &op) in lowered.ops.iter().enumerate() {
        let is_dead = lowered.outs[at].is_some_and(|value| lowered.values[value].last_read == at);
        if is_dead {
            continue;
        }
        let reads = op.reads().map(|operand| slots.of(operand));
        for number in op.terms() {
            terms[number] = lowered.terms[number].0.map(|operand| slots.of(operand));
        }
        slots.release(&lowered, at);
        let out = lowered.outs[at].map(|value| slots.place(&lowered, plan, value));
        steps.push(op.step(reads, out.unwrap_or_default(), at, plan));
    }
    let mut arrays: Vec<ArgId> = lowered.ops.iter().filter_map(Op::array).collect();
    arrays.sort_unstable();
    arrays.dedup();
    let array_bytes: usize = arrays
        .iter()
        .map(|&arg| kernel.args[arg as usize].dtype.size())
        .sum();
    let row_bytes = (slots.register_bytes + array_bytes).max(1);
    let has_many_terms = terms.len() >= MANY_TERMS;
    let block_bytes = if has_many_terms {
        STREAM_BYTES
    } else {
        BLOCK_BYTES
    };
    let write_only = write_only(kernel, &lowered);
    let reached = reached(kernel, &lowered);
    let gathered = gathered(&lowered);
    LoopProgram {
        domain,
        uniforms: lowered.uniforms,
        steps,
        has_many_terms,
        longest_block: (block_bytes / row_bytes).clamp(MIN_BLOCK_LEN, MAX_BLOCK_LEN),
        register_bytes: slots.register_bytes,
        splats: slots.splats,
        slots: slots.slots,
        write_only,
        reached,
        gathered,
        array_bytes,
        reductions: lowered.reductions,
        terms,
        sums,
    }
}

/// The arrays of which one store is all that the loop does to their memory.
fn write_only(kernel: &Kernel, lowered: &Lowered) -> Vec<ArgId> {
    let memory = |arg: ArgId| kernel.args[arg as usize].memory;
    let mut reached: Vec<u32> = Vec::new();
    let mut stored = Vec::new();
    for op in &lowered.ops {
        match *op {
            Op::Load(arg, _) => reached.push(memory(arg)),
            Op::Store(arg, ..) => {
                reached.push(memory(arg));
                stored.push(arg);
            }
            Op::RowSum(_, args) => reached.extend(args.map(memory)),
            Op::RowReduce(_, matrix, x) => {
                reached.push(memory(matrix));
                reached.extend(x.map(memory));
            }
            Op::Map(..)
            | Op::AddProduct(..)
            | Op::Index
            | Op::Reduce(..)
            | Op::ReduceProduct(..)
            | Op::Update(..)
            | Op::ReduceProducts(..) => {}
        }
    }
    let times = |of: u32| reached.iter().filter(|&&other| other == of).count();
    stored.retain(|&arg| times(memory(arg)) == 1);
    stored
}

/// The arrays that are loaded or stored, one for each memory, and the sizes of their elements.
fn reached(kernel: &Kernel, lowered: &Lowered) -> Vec<(ArgId, usize)> {
    let memory = |arg: ArgId| kernel.args[arg as usize].memory;
    let mut reached: Vec<(ArgId, usize)> = Vec::new();
    for op in &lowered.ops {
        if let Op::Load(arg, size) | Op::Store(arg, size, _) = *op
            && reached
                .iter()
                .all(|&(other, _)| memory(other) != memory(arg))
        {
            reached.push((arg, size));
        }
    }
    reached
}

/// The structures of products with what they gather, and the sizes of its elements.
fn gathered(lowered: &Lowered) -> Vec<(ArgId, ArgId, usize)> {
    let ops = lowered.ops.iter();
    let products = ops.filter_map(|op| match *op {
        Op::RowSum(dtype, [structure, _, x]) => Some((structure, x, dtype.size())),
        _ => None,
    });
    let mut gathered: Vec<_> = products.collect();
    gathered.sort_unstable();
    gathered.dedup();
    gathered
}

impl Lowered {
    /// The varying values that an op reads.
    pub(super) fn reads(&self, op: &Op) -> impl Iterator<Item = usize> {
        let factors = op.terms().flat_map(|number| self.terms[number].0);
        let operands = op.reads().into_iter().chain(factors);
        operands.filter_map(|operand| match operand {
            Operand::Value(value) => Some(value),
            Operand::None | Operand::Uniform(_) => None,
        })
    }
}

impl Op {
    /// The numbers of an op's terms.
    fn terms(&self) -> Range<usize> {
        match *self {
            Self::Update(_, _, Terms { first, end })
            | Self::ReduceProducts(_, _, Terms { first, end }) => first..end,
            Self::Map(..)
            | Self::AddProduct(..)
            | Self::Index
            | Self::Load(..)
            | Self::RowSum(..)
            | Self::RowReduce(..)
            | Self::Store(..)
            | Self::Reduce(..)
            | Self::ReduceProduct(..) => 0..0,
        }
    }

    /// The operands but those of terms.
    fn reads(&self) -> [Operand; 3] {
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
            | Self::RowReduce(..)
            | Self::ReduceProducts(..) => [Operand::None; 3],
        }
    }

    /// The array that a load or a store reaches.
    fn array(&self) -> Option<ArgId> {
        match *self {
            Self::Load(arg, _) | Self::Store(arg, ..) => Some(arg),
            Self::Map(..)
            | Self::AddProduct(..)
            | Self::Index
            | Self::RowSum(..)
            | Self::RowReduce(..)
            | Self::Reduce(..)
            | Self::ReduceProduct(..)
            | Self::Update(..)
            | Self::ReduceProducts(..) => None,
        }
    }

    fn step(self, reads: [SlotId; 3], out: SlotId, at: usize, plan: &Plan) -> Step {
        match self {
            Self::Map(run, _) | Self::AddProduct(run, ..) => Step::Map {
                run,
                out,
                inputs: reads,
            },
            Self::Update(Joined { dtype, is_sum }, _, terms) => Step::Update {
                run: update(dtype, is_sum),
                target: reads[0],
                terms,
                out,
            },
            Self::ReduceProducts(dtype, is_conjugated, terms) => Step::ReduceProducts {
                run: products(dtype, is_conjugated),
                terms,
            },
            Self::Index => Step::Index { out },
            Self::Load(arg, size) => Step::Load { arg, size, out },
            Self::RowSum(dtype, [structure, entries, x]) => Step::RowSum {
                run: row_sum(dtype),
                wide: wide_row_sum(dtype),
                packed: packed_sum(dtype),
                structure,
                entries,
                x,
                out,
            },
            Self::RowReduce(reduce, matrix, x) => Step::RowReduce {
                reduce,
                matrix,
                x,
                out,
            },
            Self::Store(arg, size, value) => Step::Store {
                arg,
                size,
                value: reads[0],
                is_direct: plan.is_direct(at, value),
            },
            Self::Reduce(reduction, _) => Step::Reduce {
                reduction,
                value: reads[0],
            },
            Self::ReduceProduct(dtype, reduction, _) => Step::ReduceProduct {
                run: sum_of_products(dtype),
                reduction,
                factors: [reads[0], reads[1]],
            },
        }
    }
}

/// The slots given out so far, and the registers that nobody holds.
#[derive(Debug, Default)]
struct Slots {
    slots: Vec<Slot>,
    register_bytes: usize,
    /// Free registers and their sizes.
    free: Vec<(usize, SlotId)>,
    /// The slot of each value that has one.
    of_value: BTreeMap<usize, SlotId>,
    of_uniform: BTreeMap<u32, SlotId>,
    splats: Vec<u32>,
}

impl Slots {
    fn add(&mut self, slot: Slot) -> SlotId {
        self.slots.push(slot);
        self.slots.len() as SlotId - 1
    }

    /// The slot of an operand; any slot for an operand that is not there, which no loop reads.
    fn of(&mut self, operand: Operand) -> SlotId {
        match operand {
            Operand::None => 0,
            Operand::Value(value) => self.of_value[&value],
            Operand::Uniform(number) => {
                if let Some(&slot) = self.of_uniform.get(&number) {
                    return slot;
                }
                let splat = self.splats.len();
                self.splats.push(number);
                let slot = self.add(Slot::Uniform { splat });
                self.of_uniform.insert(number, slot);
                slot
            }
        }
    }

    /// Gives back the registers of the values that are read at `at` for the last time. The value
    /// defined there may get one of them: element loops read a chunk before they write it.
    fn release(&mut self, lowered: &Lowered, at: usize) {
        for value in lowered.reads(&lowered.ops[at]) {
            let VaryingValue {
                size, last_read, ..
            } = lowered.values[value];
            if last_read != at {
                continue;
            }
            if let Some(slot) = self.of_value.remove(&value) {
                let register = match self.slots[slot as usize] {
                    Slot::Memory { register, .. } => register,
                    Slot::Register { .. } | Slot::Uniform { .. } => slot,
                };
                self.free.push((size, register));
            }
        }
    }

    fn place(&mut self, lowered: &Lowered, plan: &Plan, value: usize) -> SlotId {
        let size = lowered.values[value].size;
        let register = self.register(size);
        let slot = match plan.in_place[value] {
            None => register,
            Some(arg) => self.add(Slot::Memory {
                arg,
                size,
                register,
            }),
        };
        self.of_value.insert(value, slot);
        slot
    }

    fn register(&mut self, size: usize) -> SlotId {
        let free = self.free.iter().rposition(|&(of, _)| of == size);
        if let Some(free) = free {
            return self.free.swap_remove(free).1;
        }
        let offset = self.register_bytes;
        self.register_bytes += size;
        self.add(Slot::Register { size, offset })
    }
}
