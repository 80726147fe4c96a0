//! In-place reuse: outputs that take over the memory of dying inputs.
//!
//! In `x = x + a p` the old `x` is read row by row in the loop that writes the new one, and is not
//! needed afterwards; then both are the same memory, and a solver needs no second vector. The
//! kernel learns of it through equal `memory` numbers, so that a row is not overwritten while a
//! later instruction of its block still reads it. An output may also take over what only earlier
//! loops read: `v = A p` that of the old `v`, which has gone into `p` (see
//! `kernels/src/blocks/compile/ahead.rs`). What is made and dies within a task is memory for the
//! outputs of later loops ([`share`]).

use crate::analysis::compose::Source;
use crate::analysis::schedule::{Output, Reuse};
use crate::analysis::solve::Slot;
use sparsefuse_kernels::{ArgKind, Inst, Kernel, Loop};

/// How many small arrays are one large one.
const SMALL: usize = 128;

/// Finds for each output an input that `fits` and whose last use is where the output is written, or
/// in an earlier loop.
pub(crate) fn take_over(
    outputs: &mut [Output],
    kernel: &mut Kernel,
    args: &[Source],
    n_slots: usize,
    fits: impl Fn(u32, &Output) -> bool,
) {
    let uses = uses(kernel, args, n_slots);
    // The inputs by the loop of their last use, where that reads them row by row only: slot,
    // argument, and the last instruction that does.
    let mut free: Vec<Vec<(u32, u32, usize)>> = vec![Vec::new(); kernel.loops.len()];
    for (slot, slot_use) in uses.iter().enumerate() {
        if let Some(
            slot_use @ Use {
                is_written: false, ..
            },
        ) = slot_use
            && let Some(arg) = slot_use.last_reader
        {
            free[slot_use.last].push((slot as u32, arg, slot_use.last_inst));
        }
    }
    for output in outputs {
        let Some(slot_use) = &uses[output.slot as usize] else {
            continue;
        };
        if !slot_use.is_only_written {
            continue;
        }
        // A row of the input must have been loaded before the output's row is stored over it: by an
        // earlier instruction of the loop, or by an earlier loop.
        let found = (0..=slot_use.first).rev().find_map(|number| {
            let is_free = |&(input, _, loaded): &(u32, u32, usize)| {
                (number < slot_use.first || loaded < slot_use.first_inst) && fits(input, output)
            };
            let place = free[number].iter().position(is_free)?;
            Some(free[number].swap_remove(place))
        });
        if let Some((input, arg, _)) = found {
            output.reuse = Some(Reuse::Input(input));
            let memory = kernel.args[arg as usize].memory;
            set_memory(kernel, args, output.slot, memory);
        }
    }
}

/// Lets outputs have the memory of inputs and of other outputs that die in the task, and are used
/// for the last time some loops before: the sweeps of a stencil need two arrays then, however many
/// they are. There is a loop between them where the later one gathers, since two such loops may run
/// at the same time. What is small beside the largest of them has memory of its own: a row that
/// goes to one boundary and then to another would let the rows of loops that follow each other wait
/// for it.
///
/// The outputs are in the order in which loops write them. Loops must run one after the other, each
/// with all its rows; so where the interior runs before the rows that need a halo of an input, and
/// the task is not alone, inputs keep their memory.
pub(crate) fn share(
    outputs: &mut [Output],
    kernel: &mut Kernel,
    (slots, args): (&[Slot], &[Source]),
    is_alone: bool,
    dies: impl Fn(u32) -> bool,
) {
    let uses = uses(kernel, args, slots.len());
    let is_array = |slot: u32| {
        let kinds = args.iter().filter(|source| source.slot == slot);
        let mut kinds = kinds.map(|source| source.kind);
        kinds.all(|kind| matches!(kind, ArgKind::Array | ArgKind::DenseRows | ArgKind::Gather))
    };
    let len = |slot: u32| slots[slot as usize].shape.len();
    let largest = outputs.iter().map(|output| len(output.slot)).max();
    let is_small = |slot: u32| largest.is_some_and(|largest| len(slot) <= largest / SMALL);
    let dtype = |slot: u32| slots[slot as usize].dtype;
    let is_like = |from: u32, to: u32| {
        dtype(from).size() == dtype(to).size() && dtype(from).alignment() >= dtype(to).alignment()
    };
    // Memory that dies, and the last loop that uses it.
    let mut free = match is_alone {
        true => dying_inputs(outputs, &uses, slots, &dies),
        false => Vec::new(),
    };
    free.retain(|(input, _)| is_array(input.slot()));
    for number in 0..outputs.len() {
        let slot = outputs[number].slot;
        let Some(slot_use) = uses[slot as usize].as_ref().filter(|_| is_array(slot)) else {
            continue;
        };
        let gathers = gathers(&kernel.loops[slot_use.first]);
        let first = slot_use.first.saturating_sub(usize::from(gathers));
        let to = &outputs[number];
        let fits = |&(from, last): &(Reuse, usize)| {
            let is_same_place = match from {
                Reuse::Input(input) => {
                    let slot = &slots[input as usize];
                    slot.partition == Some(to.partition)
                        && slot.shape == slots[to.slot as usize].shape
                }
                Reuse::Output(of) => outputs.iter().any(|from| {
                    let place = (from.slot, from.partition, &from.rows, from.len);
                    slots[of as usize].shape == slots[to.slot as usize].shape
                        && place == (of, to.partition, &to.rows, to.len)
                }),
            };
            last < first && is_same_place && is_like(from.slot(), slot)
        };
        if to.reuse.is_none()
            && !is_small(slot)
            && let Some(place) = free.iter().position(fits)
        {
            let (from, _) = free.swap_remove(place);
            outputs[number].reuse = Some(from);
            let memory = args.iter().position(|source| source.slot == from.slot());
            let memory = memory.map(|arg| kernel.args[arg].memory);
            set_memory(kernel, args, slot, memory.unwrap_or(from.slot()));
        }
        if dies(slot) {
            free.push((Reuse::Output(slot), slot_use.last));
        }
    }
}

/// The inputs that die with the task, are not written by it and have not been taken over, with the
/// last loops that use them.
fn dying_inputs(
    outputs: &[Output],
    uses: &[Option<Use>],
    slots: &[Slot],
    dies: impl Fn(u32) -> bool,
) -> Vec<(Reuse, usize)> {
    let inputs = (0..).zip(uses).filter_map(|(slot, slot_use)| {
        let slot_use = slot_use.as_ref().filter(|it| !it.is_written)?;
        let input = Reuse::Input(slot);
        let is_free = dies(slot) && !outputs.iter().any(|output| output.reuse == Some(input));
        let is_there = slots[slot as usize].partition.is_some();
        (is_there && is_free).then_some((input, slot_use.last))
    });
    inputs.collect()
}

/// Whether a loop gathers, so that it may run at the same time as the one before.
fn gathers(loop_: &Loop) -> bool {
    let mut insts = loop_.body.iter();
    insts.any(|inst| matches!(inst, Inst::Gather { .. } | Inst::RowSum { .. }))
}

/// Says which memory the arguments of a store are in.
fn set_memory(kernel: &mut Kernel, args: &[Source], slot: u32, memory: u32) {
    for (arg, source) in kernel.args.iter_mut().zip(args) {
        if source.slot == slot {
            arg.memory = memory;
        }
    }
}

/// How the loops of a kernel use one store.
#[derive(Clone, Debug)]
struct Use {
    /// The first and the last loop that use it.
    first: usize,
    last: usize,
    /// The first and the last instruction within these.
    first_inst: usize,
    last_inst: usize,
    is_written: bool,
    /// Whether one store of the whole, row by row, is all that the first loop does to it.
    is_only_written: bool,
    /// The argument, if loading the whole, row by row, is all that the last loop does to it.
    last_reader: Option<u32>,
}

/// The uses of each slot; none where the kernel does without it.
fn uses(kernel: &Kernel, args: &[Source], n_slots: usize) -> Vec<Option<Use>> {
    let mut uses: Vec<Option<Use>> = vec![None; n_slots];
    let is_whole = |arg: u32| {
        let source = &args[arg as usize];
        source.kind == ArgKind::Array && source.view.is_none()
    };
    for (number, kernel_loop) in kernel.loops.iter().enumerate() {
        for (place, inst) in kernel_loop.body.iter().enumerate() {
            let is_writer = matches!(*inst, Inst::Store(arg, _) if is_whole(arg));
            let reader = match *inst {
                Inst::Load(arg) if is_whole(arg) => Some(arg),
                _ => None,
            };
            inst.for_each_arg(|arg| {
                let known = &mut uses[args[arg as usize].slot as usize];
                let Some(known) = known else {
                    *known = Some(Use {
                        first: number,
                        last: number,
                        first_inst: place,
                        last_inst: place,
                        is_written: inst.is_effect(),
                        is_only_written: is_writer,
                        last_reader: reader,
                    });
                    return;
                };
                if known.first == number {
                    known.is_only_written = false;
                }
                known.is_written |= inst.is_effect();
                known.last_reader =
                    reader.filter(|_| known.last < number || known.last_reader == reader);
                (known.last, known.last_inst) = (number, place);
            });
        }
    }
    uses
}
