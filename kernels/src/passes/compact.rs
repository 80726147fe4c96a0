//! Compaction: arguments and parameters that no instruction names go away, the others close ranks.

use crate::ir::{ArgId, Inst, Kernel};

/// Returns the old numbers of the arguments and of the parameters that are left.
pub(super) fn compact(kernel: &mut Kernel) -> (Vec<ArgId>, Vec<u32>) {
    let mut is_arg_used = vec![false; kernel.args.len()];
    let mut is_param_used = vec![false; kernel.params.len()];
    for inst in kernel.loops.iter().flat_map(|loop_| &loop_.body) {
        inst.for_each_arg(|arg| is_arg_used[arg as usize] = true);
        if let Inst::Param(param) = *inst {
            is_param_used[param as usize] = true;
        }
    }
    let (args, arg_number) = ranks(&is_arg_used);
    let (params, param_number) = ranks(&is_param_used);
    for inst in kernel.loops.iter_mut().flat_map(|loop_| &mut loop_.body) {
        *inst = match *inst {
            Inst::Param(param) => Inst::Param(param_number[param as usize]),
            other => other.map_args(|arg| arg_number[arg as usize]),
        };
    }
    kernel.args = args
        .iter()
        .map(|&old| kernel.args[old as usize].clone())
        .collect();
    kernel.params = params
        .iter()
        .map(|&old| kernel.params[old as usize])
        .collect();
    (args, params)
}

/// The numbers that are used, and for each number how many used ones lie before it.
fn ranks(is_used: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let mut used = Vec::new();
    let mut rank = Vec::with_capacity(is_used.len());
    for (number, &is_used) in is_used.iter().enumerate() {
        rank.push(used.len() as u32);
        if is_used {
            used.push(number as u32);
        }
    }
    (used, rank)
}
