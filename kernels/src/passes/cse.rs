//! Common subexpressions: of equal instructions of a body the first serves all.
//!
//! Loads are equal while no store to their memory lies between.

use super::memory::Memories;
use crate::ir::{Inst, Kernel, ValueId};
use std::collections::BTreeMap;

pub(super) fn cse(kernel: &mut Kernel) {
    let memories = Memories::new(&kernel.args);
    let mut last_stores = vec![0; memories.count()];
    for loop_ in &mut kernel.loops {
        last_stores.fill(0);
        cse_body(&memories, &mut last_stores, &mut loop_.body);
    }
}

/// `last_stores` holds, for each memory, 1 + the position of the last store to it, or 0.
fn cse_body(memories: &Memories, last_stores: &mut [usize], body: &mut [Inst]) {
    let mut known: BTreeMap<(Inst, usize), ValueId> = BTreeMap::new();
    let mut same: Vec<ValueId> = Vec::with_capacity(body.len());
    for i in 0..body.len() {
        body[i] = body[i].map_operands(|value| same[value as usize]);
        if body[i].is_effect() {
            body[i].for_each_arg(|arg| last_stores[memories.of(arg)] = i + 1);
            same.push(i as ValueId);
        } else {
            let mut last_store = 0;
            body[i].for_each_arg(|arg| last_store = last_store.max(last_stores[memories.of(arg)]));
            let first = known.entry((body[i], last_store)).or_insert(i as ValueId);
            same.push(*first);
        }
    }
}
