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
    pub(super) fn load(&mut self, window: &Window) {
        self.instances.clear();
        self.poison.clear();
        for (slot, store) in window.stores.iter().enumerate() {
            let mut found = None;
            if window.initial[slot].is_some() {
                match &store.state().contents {
                    Contents::Here(partition, instance) => {
                        found = Some((*partition, Arc::clone(instance)));
                    }
                    Contents::Poisoned(_, cause) => {
                        self.poison.insert(slot as u32, cause.clone());
                    }
                    Contents::Unwritten => {}
                }
            }
            self.instances.push(found);
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
        for (slot, store) in window.stores.iter().enumerate() {
            if let Some(cause) = self.poison.get(&(slot as u32)) {
                let partition = schedule.slots[slot].partition;
                let partition = partition.unwrap_or(Partition::Replicated);
                store.state().contents = Contents::Poisoned(partition, cause.clone());
            } else if let Some((partition, instance)) = self.instances[slot].take() {
                debug_assert!(
                    instance.rows.start == cuts.rows(partition, store.shape(), rank).start,
                    "an instance begins where its partition says"
                );
                store.state().contents = Contents::Here(partition, instance);
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

    pub(super) fn free(&mut self, slot: u32, window: &Window) {
        self.instances[slot as usize] = None;
        self.forget(slot, window);
    }

    /// Takes an instance away from its store, if nobody else uses its memory; else leaves it in
    /// the frame and gives a reference to it.
    pub(super) fn take(
        &mut self,
        slot: u32,
        window: &Window,
    ) -> Option<(Partition, Result<Instance, Arc<Instance>>)> {
        let (partition, instance) = self.instances[slot as usize].take()?;
        self.forget(slot, window);
        let keep = |shared| {
            self.instances[slot as usize] = Some((partition, Arc::clone(&shared)));
            shared
        };
        Some((partition, Arc::try_unwrap(instance).map_err(keep)))
    }

    fn forget(&self, slot: u32, window: &Window) {
        if window.initial[slot as usize].is_some() {
            window.stores[slot as usize].state().contents = Contents::Unwritten;
        }
    }
}
