//! Dead code: values that nobody reads, stores to temporaries that nobody loads afterwards, and
//! loops with nothing left in them.

use super::memory::Memories;
use super::retain;
use crate::ir::{Inst, Kernel};

pub(super) fn dce(kernel: &mut Kernel, memories: &Memories) {
    // For each memory, whether an instruction further down reads it.
    let mut is_read = vec![false; memories.count()];
    for loop_ in kernel.loops.iter_mut().rev() {
        let body = &mut loop_.body;
        let mut is_live = vec![false; body.len()];
        for i in (0..body.len()).rev() {
            is_live[i] |= match body[i] {
                Inst::Store(arg, _) | Inst::StoreScalar(arg, _) | Inst::Reduce(_, arg, _) => {
                    !kernel.args[arg as usize].temporary || is_read[memories.of(arg)]
                }
                _ => false,
            };
            if is_live[i] {
                body[i].for_each_operand(|value| is_live[value as usize] = true);
                if !body[i].is_effect() {
                    body[i].for_each_arg(|arg| is_read[memories.of(arg)] = true);
                }
            }
        }
        retain(body, &is_live);
    }
    kernel.loops.retain(|loop_| !loop_.body.is_empty());
}
