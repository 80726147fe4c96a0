//! The frame: the instances of a window's stores while its schedule runs.
#![expect(
    unsafe_code,
    reason = "the frame keeps the addresses of a launch between runs"
)]

use super::Inputs;
use crate::analysis::schedule::{FusedTask, Schedule};
use crate::analysis::window::Window;
use crate::comm::reduce::Pending;
use crate::error::{Error, ErrorKind};
use crate::geometry::partition::{CutsTable, Partition};
use crate::images::packed::Evicted;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::stores::store::Contents;
use sparsefuse_kernels::Workers;
use sparsefuse_kernels::reduce::{Forest, Partial};
use sparsefuse_kernels::{Operand, Value};
use std::collections::BTreeMap;

/// See the module's text; kept between windows for the memory of its lists.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(super) instances: Vec<Option<(Partition, Counted<Instance>)>>,
    pub(super) poison: BTreeMap<u32, Error>,
    /// What was evicted, and is not an instance of the frame: slot, partition, and for what.
    evicted: Vec<(u32, Partition, Evicted)>,
    pub(super) operands: Vec<Operand>,
    /// Those of the tiles of a task's reductions, one reduction after the other, and more.
    pub(super) partials: Vec<Partial>,
    /// One for each of these reductions, and more.
    pub(super) forests: Vec<Forest>,
    /// For the reductions of the task that runs: which of these forests, or why there is none.
    pub(super) shares: Vec<Result<usize, Error>>,
    pub(super) params: Vec<Value>,
    pub(super) inputs: Inputs,
    /// Reductions over the ranks that have not been waited for yet, in their order.
    pub(super) awaited: Vec<Awaited>,
}

/// A reduction over the ranks that has been started.
#[derive(Debug)]
pub(super) struct Awaited {
    /// The task, by its number in the schedule.
    pub(super) task: usize,
    /// Why this rank has nothing to give to some of its reductions, by their numbers.
    pub(super) causes: Vec<(usize, Error)>,
    pub(super) pending: Box<dyn Pending>,
}

// SAFETY: the addresses in `operands` are written and used within one run of one task, under the
// runtime's lock; between runs they mean nothing.
unsafe impl Send for Frame {}

impl Frame {
    /// Takes what the stores of the window hold, and leaves it to those that the program holds.
    pub(super) fn load(&mut self, window: &Window) {
        self.poison.clear();
        self.evicted.clear();
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
                Contents::Evicted(partition, evicted) => {
                    self.evicted.push((slot as u32, partition, evicted));
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
        self.evicted.clear();
        self.instances.clear();
    }

    /// A task has failed: so has what it writes.
    pub(super) fn fail(&mut self, task: &FusedTask, cause: &Error) {
        let cause = cause.clone().poison(&task.name);
        for &slot in &task.writes {
            self.poison.insert(slot, cause.clone());
        }
    }

    pub(super) fn instance(&self, slot: u32) -> Result<&Counted<Instance>, Error> {
        match (&self.instances[slot as usize], self.poison.get(&slot)) {
            (_, Some(cause)) => Err(cause.clone()),
            (Some((_, instance)), None) => Ok(instance),
            (None, None) => Err(ErrorKind::Unwritten { op: "execute" }.into()),
        }
    }

    /// How a slot is spread over the ranks, if it has contents.
    pub(super) fn partition(&self, slot: u32) -> Option<Partition> {
        let mut evicted = self.evicted.iter();
        let here = self.instances[slot as usize].as_ref();
        let here = here.map(|(partition, _)| *partition);
        here.or_else(|| {
            evicted
                .find(|(of, ..)| *of == slot)
                .map(|evicted| evicted.1)
        })
    }

    /// What a slot was evicted for.
    pub(super) fn evicted(&self, slot: u32) -> Option<&Evicted> {
        let mut all = self.evicted.iter();
        all.find(|(of, ..)| *of == slot)
            .map(|(.., evicted)| evicted)
    }

    /// The instance of a slot, materialised if it was evicted.
    pub(super) fn plain(
        &mut self,
        slot: u32,
        window: &Window,
        workers: &Workers,
    ) -> Result<&Counted<Instance>, Error> {
        let place = self.evicted.iter().position(|(of, ..)| *of == slot);
        if let Some(place) = place {
            let (_, partition, evicted) = &self.evicted[place];
            let (partition, instance) = (*partition, evicted.materialise(workers)?);
            if window.held()[slot as usize] {
                let contents = Contents::Here(partition, instance.clone());
                window.stores[slot as usize].replace(contents);
            }
            self.instances[slot as usize] = Some((partition, instance));
            self.evicted.swap_remove(place);
        }
        self.instance(slot)
    }

    /// Gives the instance of a slot up for a packed form of it.
    pub(super) fn evict(&mut self, slot: u32, for_it: Evicted, window: &Window) {
        let Some((partition, _)) = self.instances[slot as usize].take() else {
            return;
        };
        if window.held()[slot as usize] {
            let contents = Contents::Evicted(partition, for_it.clone());
            window.stores[slot as usize].replace(contents);
        }
        self.evicted.push((slot, partition, for_it));
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.instances[slot as usize] = None;
        self.evicted.retain(|(of, ..)| *of != slot);
    }
}
