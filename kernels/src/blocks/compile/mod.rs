//! From a kernel to the steps that the block executor runs.
//!
//! For each loop: its body is lowered to ops (`lower.rs`), several of which become one
//! (`bundle.rs`); every value gets a slot (`slots.rs`), and every op becomes a [`Step`] on slots.
//! How long a block may be follows from the registers and arrays of the loop.
//!
//! The invariant: the steps do to the slots what the ops do to the values, in their order; an op
//! whose value is never read has no step.

mod absorb;
pub(crate) mod ahead;
mod bundle;
pub(crate) mod lower;
pub(crate) mod made;
pub(crate) mod slots;

use self::bundle::bundle;
use self::lower::{Joined, Lowered, Op, Terms, lower};
use self::slots::{Plan, Slot, SlotId, Slots};
use crate::blocks::loops::lanes::{ProductLoop, Reduction, sum_of_products};
use crate::blocks::loops::map::MapLoop;
use crate::blocks::loops::packed::PackedLoops;
use crate::blocks::loops::rows::RowReduction;
use crate::blocks::loops::sparse_rows::{RowSumLoop, row_sum};
use crate::blocks::loops::streams::{ProductsLoop, UpdateLoop, products, update};
use crate::blocks::loops::tiled::TileLoop;
use crate::blocks::loops::wide::wide_row_sum;
use crate::element::DType;
use crate::ir::{ArgId, Inst, Kernel, Loop};
use crate::isa::PerIsa;

/// The bytes that the values of a block may take: most of an L1 data cache, most of the time.
const BLOCK_BYTES: usize = 24 << 10;
/// The same where most of a loop are updates and sums of many arrays, whose values stay in
/// registers: a part of the L2 cache, so that each array is read for a while.
const STREAM_BYTES: usize = 128 << 10;
/// From how many terms of updates and sums on that is so.
const MANY_TERMS: usize = 8;
/// The bytes that are read of an array without a break there, also where those of all arrays
/// together leave the L2 cache: the prefetchers of the hardware begin anew with each stretch.
/// GMRES(100) on 128 by 128 points took 680 us an iteration with stretches of 1 KB, 560 us with 4
/// KB.
const STRETCH: usize = 4 << 10;
/// Shorter blocks cost more in calls than they save in misses.
const MIN_BLOCK_LEN: usize = 128;
/// Longer blocks save nothing.
const MAX_BLOCK_LEN: usize = 4096;

/// What happens to a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
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
    RowSum { sums: RowSums, out: SlotId },
    /// What the first entries of rows name.
    Gather {
        structure: ArgId,
        x: ArgId,
        size: usize,
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
        tiles: PerIsa<TileLoop>,
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

/// The sums of the rows of a sparse matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSums {
    pub(crate) run: PerIsa<RowSumLoop>,
    /// Where `x` is a matrix.
    pub(crate) wide: PerIsa<RowSumLoop>,
    /// For packed entries, where their type has such.
    pub(crate) packed: Option<PackedLoops>,
    pub(crate) structure: ArgId,
    pub(crate) entries: ArgId,
    pub(crate) x: ArgId,
    /// Bytes of a sum.
    pub(crate) size: usize,
}

/// A loop, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct LoopProgram {
    pub(crate) domain: u32,
    /// The arguments that the loop uses.
    pub(crate) args: Vec<ArgId>,
    /// The uniform instructions and the types of their values (`Bool` for effects), their operands
    /// renumbered: instruction `i` defines number `i`.
    pub(crate) uniforms: Vec<(Inst, DType)>,
    /// The numbers of the uniform values that steps read.
    pub(crate) splats: Vec<u32>,
    pub(crate) steps: Vec<Step>,
    /// The numbers of the steps that do anything where all arrays are used in place.
    pub(crate) busy: Vec<u32>,
    pub(crate) slots: Vec<Slot>,
    /// The sum of the sizes of the registers.
    pub(crate) register_bytes: usize,
    /// The longest block whose registers and arrays fit the cache.
    pub(crate) longest_block: usize,
    /// Whether most of the loop are updates and sums of many arrays.
    pub(crate) has_many_terms: bool,
    /// The arrays that are stored and whose memory the loop does not read.
    pub(crate) write_only: Vec<ArgId>,
    /// The arrays that are loaded or stored, one for each memory, and the sizes of their elements.
    pub(crate) reached: Vec<(ArgId, usize)>,
    /// The structures of products with what they gather, and the sizes of its elements.
    pub(crate) gathered: Vec<(ArgId, ArgId, usize)>,
    /// What the loop copies to what, if it does nothing else, and the bytes of an element.
    pub(crate) copy: Option<(ArgId, ArgId, usize)>,
    /// The bytes of a row of all arrays.
    pub(crate) array_bytes: usize,
    pub(crate) reductions: Vec<(ArgId, Reduction)>,
    /// The factors of the terms of updates and sums of products.
    pub(crate) terms: Vec<[SlotId; 2]>,
    /// For each term of a sum of products, the place of the reduction among the loop's.
    pub(crate) sums: Vec<usize>,
}

/// Compiles one loop of a verified kernel.
pub(crate) fn compile(kernel: &Kernel, loop_: &Loop) -> LoopProgram {
    let lowered = bundle(lower(kernel, loop_));
    let plan = Plan::new(kernel, &lowered);
    assign(loop_, kernel, lowered, &plan)
}

/// Gives each value its slot and turns the ops into steps.
fn assign(loop_: &Loop, kernel: &Kernel, lowered: Lowered, plan: &Plan) -> LoopProgram {
    let mut args = Vec::new();
    for inst in &loop_.body {
        inst.for_each_arg(|arg| args.push(arg));
    }
    args.sort_unstable();
    args.dedup();
    let mut slots = Slots::new(&lowered);
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
    let longest_block = match has_many_terms {
        true => (STREAM_BYTES / row_bytes).max(STRETCH * arrays.len() / array_bytes.max(1)),
        false => BLOCK_BYTES / row_bytes,
    };
    let write_only = write_only(kernel, &lowered);
    let reached = reached(kernel, &lowered);
    let gathered = gathered(&lowered);
    LoopProgram {
        domain: loop_.domain,
        args,
        uniforms: lowered.uniforms,
        busy: busy(&steps, &slots.slots),
        steps,
        has_many_terms,
        longest_block: longest_block.clamp(MIN_BLOCK_LEN, MAX_BLOCK_LEN),
        register_bytes: slots.register_bytes,
        splats: slots.splats,
        slots: slots.slots,
        write_only,
        reached,
        gathered,
        copy: copy(kernel, loop_),
        array_bytes,
        reductions: lowered.reductions,
        terms,
        sums,
    }
}

/// See [`LoopProgram::busy`].
fn busy(steps: &[Step], slots: &[Slot]) -> Vec<u32> {
    let is_array = |slot: SlotId| matches!(slots[slot as usize], Slot::Memory { .. });
    let is_idle = |step: &Step| match *step {
        Step::Load { out, .. } => is_array(out),
        Step::Store {
            value, is_direct, ..
        } => is_direct && is_array(value),
        _ => false,
    };
    let steps = (0..).zip(steps);
    let busy = steps.filter_map(|(number, step)| (!is_idle(step)).then_some(number));
    busy.collect()
}

/// See [`LoopProgram::copy`].
fn copy(kernel: &Kernel, loop_: &Loop) -> Option<(ArgId, ArgId, usize)> {
    match loop_.body[..] {
        [Inst::Load(from), Inst::Store(to, _)] => {
            Some((from, to, kernel.args[from as usize].dtype.size()))
        }
        _ => None,
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
            Op::Gather(args, _) => reached.extend(args.map(memory)),
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

impl Op {
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
                sums: RowSums {
                    run: row_sum(dtype),
                    wide: wide_row_sum(dtype),
                    packed: PackedLoops::new(dtype),
                    structure,
                    entries,
                    x,
                    size: dtype.size(),
                },
                out,
            },
            Self::Gather([structure, x], size) => Step::Gather {
                structure,
                x,
                size,
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
            Self::ReduceProduct(dtype, reduction, _) => {
                let (run, tiles) = sum_of_products(dtype);
                Step::ReduceProduct {
                    run,
                    tiles,
                    reduction,
                    factors: [reads[0], reads[1]],
                }
            }
        }
    }
}
