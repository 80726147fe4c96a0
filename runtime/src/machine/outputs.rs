//! The memory of a task's outputs.
#![expect(
    unsafe_code,
    reason = "an instance that is still read elsewhere is copied byte by byte"
)]

use super::failures::Failure;
use super::{Context, Frame, Running};
use crate::analysis::schedule::{Output, Reuse};
use crate::analysis::window::Window;
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::images::residency::Residency;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;

impl Running<'_, '_> {
    /// Gives every output memory: that of a dying input, or some of the pool's; and makes sure
    /// that what is written in place is not read elsewhere.
    pub(super) fn allocate(&mut self) -> Result<(), Failure> {
        let versions = &self.task.versions;
        let replaced: Vec<u32> = versions.last().map(|(_, of)| of).collect();
        for &slot in &replaced {
            // The store itself gets back a version, or the reason why there is none.
            self.window.stores[slot as usize].take();
        }
        for output in &self.task.outputs {
            let made = self.make(output);
            let instance = made.map_err(|cause| Failure::of(versions.root(output.slot), cause))?;
            self.frame.instances[output.slot as usize] =
                Some((output.partition, Residency::Plain(instance)));
        }
        // Also of what an earlier task of the window has made: it may be packed, or kept as ranges.
        let task = self.task;
        let is_output = |slot: u32| task.outputs.iter().any(|output| output.slot == slot);
        let written = task.writes.iter();
        let mut in_place = written.filter(|&&slot| !is_output(slot) && !replaced.contains(&slot));
        in_place.try_for_each(|&slot| {
            let unique = self.frame.make_unique(slot, self.window, self.context);
            unique.map_err(|cause| Failure::of(slot, cause))
        })
    }

    fn make(&mut self, output: &Output) -> Result<Counted<Instance>, Error> {
        let size = self.size(output.slot);
        let shape = self.schedule.slots[output.slot as usize].shape;
        let reused = match output.reuse {
            Some(Reuse::Input(input)) => self.take_over(input, output),
            Some(Reuse::Output(first)) => self.frame.instance(first).ok().cloned(),
            None => None,
        };
        if let Some(instance) = reused {
            return Ok(instance);
        }
        let room = match output.room {
            [0, 0] => self.frame.room(output.partition, shape),
            rows => (self.frame).expect_room(output.partition, shape, rows),
        };
        let instance = match room {
            [0, 0] => {
                let memory = self.context.pool.allocate(output.len, size)?;
                Instance::new(memory, output.rows.clone(), output.len, size)
            }
            // Stores that are cut and shaped like this one were read beyond the rank's rows.
            room => {
                let (pool, row) = (self.context.pool, (shape.row_len(), size));
                Instance::with_room(pool, output.rows.clone(), room, row)?
            }
        };
        Ok(Counted::new(instance))
    }

    /// Memory for the partial results of the tiles. If there is none, the reduction with the most
    /// of them is to blame. A device has its own.
    pub(super) fn make_partials(&mut self) -> Result<(), Failure> {
        let reductions = self.task.reductions.iter();
        let Some(largest) = reductions.max_by_key(|reduction| reduction.n_tiles) else {
            return Ok(());
        };
        if self.context.pool.device().is_some() {
            return Ok(());
        }
        let made = self.frame.make_partials(self.task, self.context);
        made.map_err(|cause| Failure::written(largest.slot, cause))
    }

    /// Makes sure that there is room for rows around those of a slot: once, since stores that are
    /// made later have it from the beginning.
    pub(super) fn make_room(&mut self, slot: u32, room: [usize; 2]) -> Result<(), Error> {
        let shape = self.schedule.slots[slot as usize].shape;
        let (size, row_len) = (self.size(slot), shape.row_len());
        if self.frame.instance(slot)?.has_room(room, row_len * size) {
            return Ok(());
        }
        let partition = self.frame.partition(slot).unwrap_or(Partition::Replicated);
        let own = self
            .context
            .cuts
            .rows(partition, shape, self.context.comm.rank());
        let room = self.frame.expect_room(partition, shape, room);
        let old = self.frame.instance(slot)?;
        assert!(
            old.rows.start == own.start && own.len() * row_len <= old.len(),
            "an instance holds the rows of its partition"
        );
        // Positions of rows have the begin of the next rank's first one behind them, and keep it.
        let rows = match old.rows.len() * row_len == old.len() {
            true => old.rows.clone(),
            false => own,
        };
        let bytes = rows.len() * row_len * size;
        let new = Instance::with_room(self.context.pool, rows, room, (row_len, size))?;
        new.is_moved_from(old);
        // SAFETY: both hold as many elements of `size` bytes, by the lines above, and the new
        // memory has no other user.
        unsafe { std::ptr::copy_nonoverlapping(old.to_read(), new.data(), bytes) };
        self.frame.move_to(slot, self.window, Counted::new(new));
        Ok(())
    }

    fn size(&self, slot: u32) -> usize {
        self.schedule.slots[slot as usize].dtype.size()
    }

    /// The memory of a dying input as the instance of an output, if it is not read elsewhere. From
    /// here on the input is read there too: same place, same rows.
    fn take_over(&mut self, input: u32, output: &Output) -> Option<Counted<Instance>> {
        let size = self.size(output.slot);
        let (_, held) = self.frame.instances[input as usize].as_mut()?;
        let instance = held.plain_mut()?;
        let is_same_place = instance.rows == output.rows && instance.len() == output.len;
        let row_bytes = output.len / output.rows.len().max(1) * size;
        if !is_same_place || !instance.has_room(output.room, row_bytes) {
            return None;
        }
        instance.get_mut()?.will_be_written();
        Some(instance.clone())
    }
}

impl Frame {
    /// Copies an instance that is about to be written in place while it is still read elsewhere,
    /// with its halos, which the same task may read.
    pub(super) fn make_unique(
        &mut self,
        slot: u32,
        window: &Window,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let Some((partition, held)) = &mut self.instances[slot as usize] else {
            return Ok(());
        };
        held.forget_packed();
        let Some(instance) = held.plain_mut() else {
            return Ok(());
        };
        // The store itself gets back what is written here, or the reason why nothing was.
        window.stores[slot as usize].take();
        if instance.get_mut().is_none() {
            *instance = Counted::new(instance.duplicate(context.pool)?);
        }
        if let Some(instance) = instance.get_mut() {
            instance.will_be_written();
            if context.comm.size() > 1 {
                let shape = window.stores[slot as usize].shape();
                let own = context.cuts.rows(*partition, shape, context.comm.rank());
                instance.cut_to(&own, shape.row_len());
            }
        }
        Ok(())
    }
}
