//! In-place reuse: outputs that take over the memory of dying inputs.
//!
//! In `x = x + a p` the old `x` is read row by row in the loop that writes the new one, and is not
//! needed afterwards; then both are the same memory, and a solver needs no second vector. The
//! kernel learns of it through equal `memory` numbers, so that a row is not overwritten while a
//! later instruction of its block still reads it. An output may also take over what only earlier
//! loops read: `v = A p` that of the old `v`, which has gone into `p` (see
//! `kernels/src/blocks/compile/ahead.rs`).

use crate::analysis::compose::Source;
use crate::analysis::schedule::Output;
use sparsefuse_kernels::{ArgKind, Inst, Kernel};

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
            output.reuse = Some(input);
            let memory = kernel.args[arg as usize].memory;
            for (arg, source) in kernel.args.iter_mut().zip(args) {
                if source.slot == output.slot {
                    arg.memory = memory;
                }
            }
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
