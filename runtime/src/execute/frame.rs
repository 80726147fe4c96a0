//! The frame: the instances of a window's stores while its schedule runs.
#![expect(
    unsafe_code,
    reason = "the frame keeps the addresses of a launch between runs"
)]

use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::partition::{CutsTable, Partition};
use crate::schedule::Schedule;
use crate::store::Contents;
use crate::window::Window;
use sparsefuse_kernels::reduce::{Forest, Partial};
use sparsefuse_kernels::{Operand, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the module's text; kept between windows for the memory of its lists.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(super) instances: Vec<Option<(Partition, Arc<Instance>)>>,
    poison: BTreeMap<u32, Error>,
    pub(super) operands: Vec<Operand>,
    /// Those of the tiles of a task's reductions, one reduction after the other, and more.
    pub(super) partials: Vec<Partial>,
    /// One for each of these reductions, and more.
    pub(super) forests: Vec<Forest>,
    pub(super) params: Vec<Value>,
}

// SAFETY: the addresses in `operands` are written and used within one run of one task, under the
// runtime's lock; between runs they mean nothing.
unsafe impl Send for Frame {}

impl Frame {
    /// Takes what the stores of the window hold, and leaves it to those that the program holds.
    pub(super) fn load(&mut self, window: &Window) {
        self.poison.clear();
        for (slot, store) in window.stores.iter().enumerate() {
            let contents = match (window.initial[slot], window.held()[slot]) {
                (None, _) => Contents::Unwritten,
                (Some(_), true) => store.contents(),
                (Some(_), false) => store.replace(Contents::Unwritten),
            };
            self.instances.push(match contents {
                Contents::Here(partition, instance) => Some((partition, instance)),
                Contents::Poisoned(_, cause) => {
                    self.poison.insert(slot as u32, cause);
                    None
                }
                Contents::Unwritten => None,
            });
        }
    }

    /// Writes what the window has made back to its stores.
    pub(super) fn store(
        &mut self,
        window: &Window,
        schedule: &Schedule,
        cuts: &CutsTable,
        rank: usize,
    ) {
        for &slot in &schedule.results {
            let store = &window.stores[slot as usize];
            if let Some(cause) = self.poison.get(&slot) {
                let partition = schedule.slots[slot as usize].partition;
                let partition = partition.unwrap_or(Partition::Replicated);
                store.replace(Contents::Poisoned(partition, cause.clone()));
            } else if let Some((partition, instance)) = self.instances[slot as usize].take() {
                debug_assert!(
                    instance.rows.start == cuts.rows(partition, store.shape(), rank).start,
                    "an instance begins where its partition says"
                );
                store.replace(Contents::Here(partition, instance));
            }
        }
        self.instances.clear();
    }

    /// The task that writes a store has failed.
    pub(super) fn poison(&mut self, slot: u32, cause: Error) {
        self.poison.insert(slot, cause);
    }

    pub(super) fn instance(&self, slot: u32) -> Result<&Arc<Instance>, Error> {
        match (&self.instances[slot as usize], self.poison.get(&slot)) {
            (_, Some(cause)) => Err(cause.clone()),
            (Some((_, instance)), None) => Ok(instance),
            (None, None) => Err(ErrorKind::Unwritten { op: "execute" }.into()),
        }
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.instances[slot as usize] = None;
    }
}
