//! Loops that are equal up to the numbers of their arguments, whose work counts together: fifty
//! sweeps of a stencil are as many loops, in each window of a program anew, and all of them are
//! worth native code as soon as one is.

use super::Toolchain;
use crate::ir::{ArgId, Inst, Kernel, Loop};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The loops of the process that have twins, with the addresses of their toolchains: what they have
/// spent in blocks.
static SPENT: Mutex<BTreeMap<(usize, Kernel), Weak<AtomicU64>>> = Mutex::new(BTreeMap::new());

/// What a loop and its equals have spent in blocks, as long as one of them is there.
pub(super) fn spent(kernel: &Kernel, loop_: &Loop, toolchain: &Arc<Toolchain>) -> Arc<AtomicU64> {
    // A toolchain is there as long as twins hold it.
    let key = (Arc::as_ptr(toolchain).addr(), alone(kernel, loop_));
    let mut known = SPENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(spent) = known.get(&key).and_then(Weak::upgrade) {
        return spent;
    }
    known.retain(|_, spent| spent.strong_count() > 0);
    let spent = Arc::default();
    known.insert(key, Arc::downgrade(&spent));
    spent
}

/// A kernel of a loop alone, whose arguments, parameters and memories are numbered as they appear.
fn alone(kernel: &Kernel, loop_: &Loop) -> Kernel {
    let (mut args, mut params, mut memories) = (Vec::new(), Vec::new(), Vec::new());
    let body = loop_.body.iter().map(|inst| match *inst {
        Inst::Param(param) => Inst::Param(number(&mut params, param)),
        other => other.map_args(|arg| number(&mut args, arg)),
    });
    let body = body.collect();
    let mut of_loop = |&arg: &ArgId| {
        let mut arg = kernel.args[arg as usize].clone();
        arg.memory = number(&mut memories, arg.memory);
        arg
    };
    Kernel {
        args: args.iter().map(&mut of_loop).collect(),
        params: params
            .iter()
            .map(|&param| kernel.params[param as usize])
            .collect(),
        loops: vec![Loop { domain: 0, body }],
    }
}

/// The place of something among those that have appeared.
fn number(known: &mut Vec<u32>, it: u32) -> u32 {
    let place = known.iter().position(|&known| known == it);
    place.unwrap_or_else(|| {
        known.push(it);
        known.len() - 1
    }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    #[test]
    fn loops_are_equal_up_to_the_numbers_of_their_arguments() {
        let kernel = parse(
            "kernel(a0: array f64 @7, a1: array f64 @3, a2: array f64 @7, a3: array f64 @3; p0: f64, p1: f64) {
               loop d0 { %0 = load a0 %1 = param p1 %2 = mul %0 %1 store a1 %2 }
               loop d1 { %0 = load a3 %1 = param p0 %2 = mul %0 %1 store a2 %2 }
               loop d1 { %0 = load a0 %1 = param p0 %2 = mul %0 %1 store a2 %2 }
               loop d1 { %0 = load a0 %1 = param p0 %2 = add %0 %1 store a1 %2 }
             }",
        )
        .unwrap();
        let alone: Vec<_> = kernel.loops.iter().map(|it| alone(&kernel, it)).collect();
        assert_eq!(alone[0], alone[1]);
        // It stores to the memory that it loads.
        assert_ne!(alone[1], alone[2]);
        assert_ne!(alone[0], alone[3]);
        let toolchain = Arc::new(Toolchain::new(std::env::temp_dir()));
        let of = |number: usize| spent(&kernel, &kernel.loops[number], &toolchain);
        let first = of(0);
        assert!(Arc::ptr_eq(&first, &of(1)) && !Arc::ptr_eq(&first, &of(3)));
    }
}
