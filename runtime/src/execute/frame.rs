//! The frame: the instances of a window's stores while its schedule runs.
#![expect(
    unsafe_code,
    reason = "the frame keeps the addresses of a launch between runs"
)]

use super::Inputs;
use super::reductions::Awaited;
use crate::counted::Counted;
use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::packed::GivenUp;
use crate::partition::{CutsTable, Partition};
use crate::schedule::{FusedTask, Schedule};
use crate::store::Contents;
use crate::window::Window;
use sparsefuse_kernels::Workers;
use sparsefuse_kernels::reduce::{Forest, Partial};
use sparsefuse_kernels::{Operand, Value};
use std::collections::BTreeMap;

/// See the module's text; kept between windows for the memory of its lists.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(super) instances: Vec<Option<(Partition, Counted<Instance>)>>,
    pub(super) poison: BTreeMap<u32, Error>,
    /// What was given up, and is not an instance of the frame: slot, partition, and for what.
    given_up: Vec<(u32, Partition, GivenUp)>,
    pub(super) operands: Vec<Operand>,
    /// Those of the tiles of a task's reductions, one reduction after the other, and more.
    pub(super) partials: Vec<Partial>,
    /// One for each of these reductions, and more.
    pub(super) forests: Vec<Forest>,
    /// For the reductions of the task that runs: which of these forests, or why there is none.
    pub(super) shares: Vec<Result<usize, Error>>,
    pub(super) params: Vec<Value>,
    pub(super) inputs: Inputs,
    /// Reductions over the ranks that nobody has waited for yet, in their order.
    pub(super) awaited: Vec<Awaited>,
}

// SAFETY: the addresses in `operands` are written and used within one run of one task, under the
// runtime's lock; between runs they mean nothing.
unsafe impl Send for Frame {}

impl Frame {
    /// Takes what the stores of the window hold, and leaves it to those that the program holds.
    pub(super) fn load(&mut self, window: &Window) {
        self.poison.clear();
        self.given_up.clear();
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
                Contents::GivenUp(partition, given_up) => {
                    self.given_up.push((slot as u32, partition, given_up));
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
        self.given_up.clear();
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
        let mut given_up = self.given_up.iter();
        let here = self.instances[slot as usize].as_ref();
        let here = here.map(|(partition, _)| *partition);
        here.or_else(|| {
            given_up
                .find(|(of, ..)| *of == slot)
                .map(|given_up| given_up.1)
        })
    }

    /// What a slot was given up for.
    pub(super) fn given_up(&self, slot: u32) -> Option<&GivenUp> {
        let mut all = self.given_up.iter();
        all.find(|(of, ..)| *of == slot)
            .map(|(.., given_up)| given_up)
    }

    /// The instance of a slot, brought back if it was given up.
    pub(super) fn plain(
        &mut self,
        slot: u32,
        window: &Window,
        workers: &Workers,
    ) -> Result<&Counted<Instance>, Error> {
        let place = self.given_up.iter().position(|(of, ..)| *of == slot);
        if let Some(place) = place {
            let (_, partition, given_up) = &self.given_up[place];
            let (partition, instance) = (*partition, given_up.bring_back(workers)?);
            if window.held()[slot as usize] {
                let contents = Contents::Here(partition, instance.clone());
                window.stores[slot as usize].replace(contents);
            }
            self.instances[slot as usize] = Some((partition, instance));
            self.given_up.swap_remove(place);
        }
        self.instance(slot)
    }

    /// Gives the instance of a slot up for a packed form of it.
    pub(super) fn give_up(&mut self, slot: u32, for_it: GivenUp, window: &Window) {
        let Some((partition, _)) = self.instances[slot as usize].take() else {
            return;
        };
        if window.held()[slot as usize] {
            let contents = Contents::GivenUp(partition, for_it.clone());
            window.stores[slot as usize].replace(contents);
        }
        self.given_up.push((slot, partition, for_it));
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.instances[slot as usize] = None;
        self.given_up.retain(|(of, ..)| *of != slot);
    }
}
