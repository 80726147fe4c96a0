//! The frame: the instances of a window's stores while its schedule runs.
#![expect(
    unsafe_code,
    reason = "the frame keeps the addresses of a launch between runs"
)]

use super::failures::Failure;
use super::{Context, Inputs};
use crate::analysis::schedule::{FusedTask, Schedule};
use crate::analysis::versions::Versions;
use crate::analysis::window::Window;
use crate::comm::reduce::Pending;
use crate::error::{Error, ErrorKind};
use crate::geometry::partition::{CutsTable, Partition};
use crate::geometry::view::View;
use crate::images::packed::PackedElements;
use crate::images::residency::Residency;
use crate::memory::bytes;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::Reserved;
use crate::shape::Shape;
use crate::stores::store::{Contents, Held, Marred};
use sparsefuse_kernels::Workers;
use sparsefuse_kernels::reduce::{Forest, Partial};
use sparsefuse_kernels::{Operand, Value};
use std::collections::BTreeMap;

/// See the module's text; kept between windows for the memory of its lists.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(super) instances: Vec<Option<(Partition, Held)>>,
    pub(super) poison: BTreeMap<u32, Error>,
    /// Why the rows around this rank's own have not arrived, of slots of which that is so.
    pub(super) lost: BTreeMap<u32, Error>,
    /// The blocks of slots whose tasks have failed, in the order of these tasks: where each one
    /// came (0 for those of earlier windows), its block, its failure.
    marred: BTreeMap<u32, Vec<(usize, Marred)>>,
    pub(super) operands: Vec<Operand>,
    /// Those of the tiles of a task's reductions, one reduction after the other, and more.
    pub(super) partials: Vec<Partial>,
    /// Those of a task that has too many to keep them.
    pub(super) counted: Option<Reserved>,
    /// Whether the device has written the results of the task that runs.
    pub(super) is_reduced: bool,
    /// One for each of these reductions, and more.
    pub(super) forests: Vec<Forest>,
    /// For the reductions of the task that runs: which of these forests, or why there is none.
    pub(super) shares: Vec<Result<usize, Error>>,
    pub(super) params: Vec<Value>,
    pub(super) inputs: Inputs,
    /// How many rows around their own the ranks have read of stores that are cut and shaped like
    /// this, in front and behind.
    rooms: BTreeMap<(Partition, Shape), [usize; 2]>,
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
// engine's lock; between runs they mean nothing.
unsafe impl Send for Frame {}

impl Frame {
    /// Takes what the stores of the window hold, and leaves it to those that the program holds.
    /// There are `slots` slots, those of versions behind the others.
    pub(super) fn load(&mut self, window: &Window, slots: usize) {
        self.poison.clear();
        self.lost.clear();
        self.marred.clear();
        // Empty, unless a window has ended by a panic.
        self.instances.clear();
        self.awaited.clear();
        self.is_reduced = false;
        self.free_partials();
        for (slot, store) in window.stores.iter().enumerate() {
            let contents = match (window.initial[slot], window.held()[slot]) {
                (None, _) => Contents::Unwritten,
                (Some(_), true) => store.contents(),
                (Some(_), false) => store.take(),
            };
            self.instances.push(match contents {
                Contents::Here(partition, held) => Some((partition, held)),
                Contents::Poisoned(_, cause) => {
                    self.poison.insert(slot as u32, cause);
                    None
                }
                Contents::Marred(partition, held, blocks) => {
                    let blocks = blocks.iter().map(|block| (0, block.clone()));
                    self.marred.insert(slot as u32, blocks.collect());
                    Some((partition, held))
                }
                Contents::Unwritten => None,
            });
        }
        self.instances.resize_with(slots, || None);
    }

    /// Lets stores be the last of their versions, if the task that makes these has run, and forgets
    /// the others.
    pub(super) fn replace(&mut self, versions: &Versions, has_run: bool) {
        for (version, of) in versions.last().filter(|_| has_run) {
            self.instances[of as usize] = self.instances[version as usize].take();
        }
        for &(version, _) in &versions.of {
            self.free(version);
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
            } else if let Some((partition, held)) = self.instances[slot as usize].take() {
                let first = cuts.rows(partition, store.shape(), rank).start;
                debug_assert!(
                    held.plain().is_none_or(|plain| plain.rows.start == first),
                    "an instance begins where its partition says"
                );
                let marred = self.marred.remove(&slot).unwrap_or_default();
                let marred = marred.into_iter().map(|(_, block)| block);
                store.replace(Contents::new(partition, held, marred.collect()));
            }
        }
        self.instances.clear();
        for &(slot, around) in &schedule.around {
            window.stores[slot as usize].set_around(around);
        }
    }

    /// A task has failed: so has what it writes.
    pub(super) fn fail(&mut self, task: &FusedTask, cause: &Error) {
        let cause = cause.clone().poison(&task.name);
        for &slot in &task.writes {
            let of_slot = task.blocks().filter(|block| block.slot == slot);
            let mut written = of_slot.filter(|block| block.is_written).peekable();
            if written.peek().is_none() {
                self.poison.insert(slot, cause.clone());
            }
            for block in written {
                let marred = self.marred.entry(slot).or_default();
                let number = 1 + task.group.tasks.start;
                let place = marred.partition_point(|(other, _)| *other <= number);
                let mut known = marred[..place].iter().map(|(_, known)| &known.view);
                if !known.any(|known| *known == block.view) {
                    let (view, cause) = (block.view, cause.clone());
                    marred.insert(place, (number, Marred { view, cause }));
                }
            }
        }
    }

    /// Makes sure that what a host task reads is there: of a store of which it uses blocks, these.
    ///
    /// Fails with the first argument of which that is not so.
    pub(super) fn find(
        &mut self,
        task: &FusedTask,
        window: &Window,
        workers: &Workers,
    ) -> Result<(), Failure> {
        let host = task.host.as_ref();
        let blocks = host.map_or(&[][..], |host| &host.blocks);
        for (binding, block) in task.bindings.iter().zip(blocks) {
            let slot = task.slot_of_host(binding);
            if task.reads.binary_search(&slot).is_err() {
                continue;
            }
            let plain = self.materialise(slot, window, workers);
            plain.map_err(|cause| Failure::of(slot, cause))?;
            let found = match block {
                Some(block) => self.block(slot, &block.view),
                None => self.instance(slot),
            };
            found.map_err(|cause| Failure::of(slot, cause))?;
        }
        Ok(())
    }

    /// The plain form of a slot, of which a block is used.
    pub(super) fn block(&self, slot: u32, view: &View) -> Result<&Counted<Instance>, Error> {
        let held = self.held(slot)?;
        let mut marred = self.marred.get(&slot).into_iter().flatten();
        match marred.find(|(_, block)| block.view.may_meet(view)) {
            Some((_, block)) => Err(block.cause.clone()),
            None => Ok(held),
        }
    }

    /// Fills the memory of a store of single bytes that this window has made with zeros.
    pub(super) fn fill_with_zeros(&mut self, slot: u32) {
        if let Some((_, Residency::Plain(instance))) = &mut self.instances[slot as usize]
            && let Some(instance) = Counted::get_mut(instance)
        {
            bytes::of_instance_mut(instance, 1).fill(0);
        }
    }

    /// The plain form of a slot.
    pub(super) fn instance(&self, slot: u32) -> Result<&Counted<Instance>, Error> {
        let held = self.held(slot)?;
        match self.marred.get(&slot).and_then(|marred| marred.first()) {
            Some((_, block)) => Err(block.cause.clone()),
            None => Ok(held),
        }
    }

    /// The plain form of a slot, of which blocks may be marred.
    pub(super) fn held(&self, slot: u32) -> Result<&Counted<Instance>, Error> {
        if let Some(cause) = self.poison.get(&slot) {
            return Err(cause.clone());
        }
        let held = self.instances[slot as usize].as_ref();
        let plain = held.and_then(|(_, held)| held.plain());
        plain.ok_or_else(|| ErrorKind::Unwritten { op: "execute" }.into())
    }

    /// How a slot is spread over the ranks, if it has contents.
    pub(super) fn partition(&self, slot: u32) -> Option<Partition> {
        let held = self.instances[slot as usize].as_ref();
        held.map(|(partition, _)| *partition)
    }

    /// The packed form of a slot, if it has one.
    pub(super) fn packed(&self, slot: u32) -> Option<&PackedElements> {
        self.instances[slot as usize].as_ref()?.1.packed()
    }

    /// Whether a slot has a packed form alone.
    #[inline]
    pub(super) fn is_evicted(&self, slot: u32) -> bool {
        let held = self.instances[slot as usize].as_ref();
        held.is_some_and(|(_, held)| held.plain().is_none())
    }

    /// The plain form of a slot, materialised if it was evicted.
    pub(super) fn plain(
        &mut self,
        slot: u32,
        window: &Window,
        workers: &Workers,
    ) -> Result<&Counted<Instance>, Error> {
        self.materialise(slot, window, workers)?;
        self.instance(slot)
    }

    /// Makes sure that a slot that is held has its plain form.
    pub(super) fn materialise(
        &mut self,
        slot: u32,
        window: &Window,
        workers: &Workers,
    ) -> Result<(), Error> {
        match self.is_evicted(slot) {
            true => self.change(slot, window, |held| held.materialise(workers)),
            false => Ok(()),
        }
    }

    /// Adds a packed form of a slot to its plain one, which it may evict.
    pub(super) fn keep_packed(
        &mut self,
        slot: u32,
        packed: PackedElements,
        evicts: bool,
        window: &Window,
    ) {
        let kept = self.change(slot, window, |held| {
            held.pack(packed);
            if evicts {
                held.evict();
            }
            Ok(())
        });
        kept.expect("packed forms are kept without fail");
    }

    /// Changes how a slot resides here, and in its store if the program holds that.
    fn change(
        &mut self,
        slot: u32,
        window: &Window,
        change: impl FnOnce(&mut Held) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some((partition, held)) = &mut self.instances[slot as usize] else {
            return Ok(());
        };
        change(held)?;
        if window.held()[slot as usize] {
            let contents = Contents::Here(*partition, held.clone());
            window.stores[slot as usize].replace(contents);
        }
        Ok(())
    }

    /// The room for rows around their own that stores like this one need.
    pub(super) fn room(&self, partition: Partition, shape: Shape) -> [usize; 2] {
        match self.rooms.is_empty() {
            true => [0; 2],
            false => self
                .rooms
                .get(&(partition, shape))
                .copied()
                .unwrap_or_default(),
        }
    }

    /// Remembers that stores like this one need at least this much room; how much they need by now.
    pub(super) fn expect_room(
        &mut self,
        partition: Partition,
        shape: Shape,
        room: [usize; 2],
    ) -> [usize; 2] {
        let known = self.rooms.entry((partition, shape)).or_default();
        *known = [0, 1].map(|side| known[side].max(room[side]));
        *known
    }

    /// Gives a slot, and its store if the program holds that, the same elements in other memory.
    pub(super) fn move_to(&mut self, slot: u32, window: &Window, instance: Counted<Instance>) {
        let moved = self.change(slot, window, |held| {
            if let Some(plain) = held.plain_mut() {
                *plain = instance;
            }
            Ok(())
        });
        moved.expect("elements are moved without fail");
    }

    /// Makes room for the partial results of a task, which a plan only counts.
    pub(super) fn make_partials(
        &mut self,
        task: &FusedTask,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let wanted = task.n_partials();
        let Some(more) = wanted
            .checked_sub(self.partials.len())
            .filter(|&more| more > 0)
        else {
            return Ok(());
        };
        let bytes = task.partial_bytes();
        let counted = (bytes > 0).then(|| context.pool.reserve(bytes));
        self.counted = counted.transpose()?;
        if !context.machine.computes() {
            return Ok(());
        }
        let reserved = self.partials.try_reserve_exact(more);
        reserved.map_err(|_| ErrorKind::Refused { wanted: bytes })?;
        let unwritten = Partial {
            bits: [0; 2],
            index: 0,
        };
        self.partials.resize(wanted, unwritten);
        Ok(())
    }

    /// Gives back the room for partial results that is counted.
    pub(super) fn free_partials(&mut self) {
        if self.counted.take().is_some() {
            self.partials = Vec::new();
        }
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.instances[slot as usize] = None;
    }
}
