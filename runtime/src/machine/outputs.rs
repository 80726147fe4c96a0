//! The memory of a task's outputs.
#![expect(
    unsafe_code,
    reason = "an instance that is still read elsewhere is copied byte by byte"
)]

use super::Running;
use super::failures::Failure;
use crate::analysis::schedule::Output;
use crate::error::Error;
use crate::images::residency::Residency;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::stores::store::Contents;

impl Running<'_, '_> {
    /// Gives every output memory: that of a dying input, or some of the pool's; and makes sure
    /// that what is written in place is not read elsewhere.
    pub(super) fn allocate(&mut self) -> Result<(), Failure> {
        for output in &self.task.outputs {
            let made = self.make(output);
            let instance = made.map_err(|cause| Failure::of(output.slot, cause))?;
            self.frame.instances[output.slot as usize] =
                Some((output.partition, Residency::Plain(instance)));
        }
        let written = self.task.writes.iter();
        let mut in_place = written.filter(|&&slot| self.window.initial[slot as usize].is_some());
        in_place.try_for_each(|&slot| {
            let unique = self.make_unique(slot);
            unique.map_err(|cause| Failure::of(slot, cause))
        })
    }

    fn make(&mut self, output: &Output) -> Result<Counted<Instance>, Error> {
        let reused = output.reuse.and_then(|input| self.take_over(input, output));
        if let Some(instance) = reused {
            return Ok(instance);
        }
        let size = self.size(output.slot);
        let memory = self.context.pool.allocate(output.len, size)?;
        let instance = Instance::new(memory, output.rows.clone(), output.len, size);
        Ok(Counted::new(instance))
    }

    fn size(&self, slot: u32) -> usize {
        self.schedule.slots[slot as usize].dtype.size()
    }

    /// The memory of a dying input as the instance of an output, if it is not read elsewhere. From
    /// here on the input is read there too: same place, same rows.
    fn take_over(&mut self, input: u32, output: &Output) -> Option<Counted<Instance>> {
        let (_, held) = self.frame.instances[input as usize].as_mut()?;
        let instance = held.plain_mut()?;
        let is_same_place = instance.rows == output.rows && instance.len() == output.len;
        if !is_same_place {
            return None;
        }
        instance.get_mut()?;
        Some(instance.clone())
    }

    /// Copies an instance that is about to be written in place while it is still read elsewhere.
    fn make_unique(&mut self, slot: u32) -> Result<(), Error> {
        let size = self.size(slot);
        let Some((_, held)) = &mut self.frame.instances[slot as usize] else {
            return Ok(());
        };
        held.forget_packed();
        let Some(instance) = held.plain_mut() else {
            return Ok(());
        };
        // The store itself gets back what is written here, or the reason why nothing was.
        self.window.stores[slot as usize].replace(Contents::Unwritten);
        if instance.get_mut().is_none() {
            let bytes = instance.len() * size;
            let memory = self.context.pool.allocate(instance.len(), size)?;
            // SAFETY: both hold `len` elements of `size` bytes (`Instance::new`, and the line
            // above), and the new memory has no other user.
            unsafe { std::ptr::copy_nonoverlapping(instance.data(), memory.data(), bytes) };
            let (rows, len) = (instance.rows.clone(), instance.len());
            *instance = Counted::new(Instance::new(memory, rows, len, size));
        }
        Ok(())
    }
}
