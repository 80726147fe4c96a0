//! Forwarding: a load of what the same row has just stored becomes the stored value, and a store
//! that the same row overwrites before anybody can read it goes away.

use super::memory::Memories;
use super::retain;
use crate::ir::{ArgId, Inst, Kernel, ValueId};

pub(super) fn forward(kernel: &mut Kernel, memories: &Memories) {
    let mut last_stores = vec![None; memories.count()];
    for loop_ in &mut kernel.loops {
        last_stores.fill(None);
        forward_body(memories, &mut last_stores, &mut loop_.body);
    }
}

/// The last store to a memory.
#[derive(Clone, Copy)]
struct LastStore {
    arg: ArgId,
    value: ValueId,
    /// The position of the instruction.
    at: usize,
    /// Whether another argument may have read what it stored.
    is_read: bool,
}

fn forward_body(memories: &Memories, last: &mut [Option<LastStore>], body: &mut Vec<Inst>) {
    let mut is_kept = vec![true; body.len()];
    let mut same: Vec<ValueId> = Vec::with_capacity(body.len());
    for at in 0..body.len() {
        body[at] = body[at].map_operands(|value| same[value as usize]);
        same.push(at as ValueId);
        match body[at] {
            Inst::Store(arg, value) | Inst::StoreScalar(arg, value) => {
                let next = LastStore {
                    arg,
                    value,
                    at,
                    is_read: false,
                };
                match last[memories.of(arg)].replace(next) {
                    Some(old) if old.arg == arg && !old.is_read => is_kept[old.at] = false,
                    _ => {}
                }
            }
            Inst::Load(arg) | Inst::LoadScalar(arg) => match &mut last[memories.of(arg)] {
                Some(store) if store.arg == arg => {
                    same[at] = store.value;
                    is_kept[at] = false;
                }
                Some(store) => store.is_read = true,
                None => {}
            },
            inst => inst.for_each_arg(|arg| {
                if let Some(store) = &mut last[memories.of(arg)] {
                    store.is_read = true;
                }
            }),
        }
    }
    retain(body, &is_kept);
}
