//! Common subexpressions: of equal instructions of a body the first serves all.
//!
//! Loads are equal while no store to their memory lies between.

use super::memory::Memories;
use crate::ir::{Inst, Kernel, ValueId};

pub(super) fn cse(kernel: &mut Kernel, memories: &Memories) {
    let mut last_stores = vec![0; memories.count()];
    for loop_ in &mut kernel.loops {
        last_stores.fill(0);
        cse_body(memories, &mut last_stores, &mut loop_.body);
    }
}

/// `last_stores` holds, for each memory, 1 + the position of the last store to it, or 0.
fn cse_body(memories: &Memories, last_stores: &mut [usize], body: &mut [Inst]) {
    let mut known = Known::new(body.len());
    let mut same: Vec<ValueId> = Vec::with_capacity(body.len());
    for i in 0..body.len() {
        body[i] = body[i].map_operands(|value| same[value as usize]);
        let mut last_store = 0;
        if body[i].is_effect() {
            body[i].for_each_arg(|arg| last_stores[memories.of(arg)] = i + 1);
            same.push(i as ValueId);
        } else {
            body[i].for_each_arg(|arg| last_store = last_store.max(last_stores[memories.of(arg)]));
            same.push(known.first_like(i, body, last_store));
        }
    }
}

/// The instructions of a body so far that are the first of their kind: a hash table. What is found
/// does not depend on its order.
struct Known {
    /// For each bucket 1 + the position of the last instruction in it, or 0.
    buckets: Vec<u32>,
    /// For each position the same of the one before it in its bucket, and its last store.
    chained: Vec<(u32, usize)>,
}

impl Known {
    fn new(len: usize) -> Self {
        Self {
            buckets: vec![0; len.next_power_of_two()],
            chained: vec![(0, 0); len],
        }
    }

    /// The first instruction that equals the one at `at` and has the same last store: itself if
    /// there is none.
    fn first_like(&mut self, at: usize, body: &[Inst], last_store: usize) -> ValueId {
        let bucket = word(&body[at]) as usize & (self.buckets.len() - 1);
        let mut link = self.buckets[bucket];
        while let Some(before) = (link as usize).checked_sub(1) {
            let (next, store) = self.chained[before];
            if store == last_store && body[before] == body[at] {
                return before as ValueId;
            }
            link = next;
        }
        self.chained[at] = (self.buckets[bucket], last_store);
        self.buckets[bucket] = at as u32 + 1;
        at as ValueId
    }
}

/// A number that equal instructions share, and others seldom.
fn word(inst: &Inst) -> u32 {
    let mut word = match *inst {
        Inst::Const(value) => (value.bits()[0] ^ value.bits()[0] >> 32) as u32,
        Inst::Param(param) => param,
        Inst::Load(_) => 1 << 16,
        Inst::Binary(op, ..) => (2 + op as u32) << 16,
        _ => 0,
    };
    let mut add = |number: u32| word = (word ^ number).wrapping_mul(0x9e37_79b1);
    inst.for_each_operand(&mut add);
    inst.for_each_arg(&mut add);
    word ^ (word >> 16)
}
