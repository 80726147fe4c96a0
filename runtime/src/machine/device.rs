//! The kernel of a task on the device of the rank.
//!
//! A task goes there as a whole, if all its loops have a form and it moves enough bytes, or if the device
//! has some of its operands up to date already, so that what follows a large task stays where that was.
//! Tasks whose ghosts or halos travel, and reductions over several ranks, stay on the host. Where a task
//! runs changes no bit of its results.
#![expect(
    unsafe_code,
    reason = "kernels reach the memory of instances through addresses"
)]

use super::{Inputs, Running};
use crate::analysis::schedule::Binding;
use crate::config::Executor;
use crate::error::{Error, ErrorKind};
use crate::memory::instance::Instance;
use crate::memory::mirror::{DeviceMemory, Use};
use sparsefuse_kernels::device::{Device, DeviceError, DeviceLoop, NoForm};
use sparsefuse_kernels::{Launch, Operand};
use std::cell::RefCell;
use std::sync::Arc;

impl Running<'_, '_> {
    /// Runs the kernel on the device, if there is one and the task goes there.
    pub(super) fn run_on_device(&mut self, inputs: &Inputs) -> Option<Result<(), Error>> {
        let pool = Arc::clone(self.context.pool);
        let memory = pool.device()?;
        if let Some(cause) = memory.lost() {
            return Some(Err(cause));
        }
        if !self.goes_to_device(inputs) {
            return None;
        }
        self.frame.params.clear();
        let params = self.task.params.iter();
        let params = params.map(|&param| self.window.params[param as usize]);
        self.frame.params.extend(params);
        let loops = self.device_loops(inputs, memory.device())?;
        let operands = match self.operands_on_device(inputs) {
            Ok(operands) => operands,
            // On the host there may be room.
            Err(DeviceError::OutOfMemory { .. }) => return None,
            Err(cause) => return Some(Err(lost(memory, cause))),
        };
        let outcome = self.run_device_loops(loops, &operands, memory);
        match outcome {
            Err(DeviceError::OutOfMemory { .. }) => None,
            Ok(()) => {
                self.frame.is_reduced = !self.task.reductions.is_empty();
                self.context.counters.device_tasks += 1;
                Some(Ok(()))
            }
            Err(cause) => Some(Err(lost(memory, cause))),
        }
    }

    /// Whether the task is one for the device.
    fn goes_to_device(&self, inputs: &Inputs) -> bool {
        let config = self.context.config;
        let is_over_ranks = self.context.comm.size() > 1
            && (self.task.reductions.iter()).any(|reduction| reduction.is_partial());
        if is_over_ranks || config.executor == Executor::Reference {
            return false;
        }
        let bytes = self.task.bytes + self.structure_bytes(inputs);
        bytes >= config.device_threshold
            || self.task.bindings.iter().any(|binding| match *binding {
                Binding::Array { from, .. }
                | Binding::Whole { from, .. }
                | Binding::DenseRows { from, .. }
                | Binding::Entries { from, .. } => self.locate(from, inputs).is_on_device(),
                Binding::Scalar { slot } | Binding::Gathered { slot, .. } => {
                    self.of_slot(slot).is_on_device()
                }
                Binding::Reduction { .. } | Binding::Structure { .. } => false,
            })
    }

    /// The loops of the task as kernels of the device, if they all have such a form.
    fn device_loops(&self, inputs: &Inputs, device: &dyn Device) -> Option<&[DeviceLoop]> {
        let loops = self.task.on_device.get_or_init(|| {
            // Layouts alone count here.
            let nowhere = |_: &Instance, _| Some(std::ptr::null_mut());
            let operands: Vec<Operand> = (self.task.bindings.iter())
                .map(|binding| {
                    let operand = self.operand(binding, (inputs, &[]), (Use::Read, &nowhere));
                    let partials = std::ptr::null_mut();
                    operand.unwrap_or(Operand::Reduction { partials })
                })
                .collect();
            let launch = Launch {
                domains: &self.task.extents,
                operands: &operands,
                params: &self.frame.params,
                tile_len: self.context.config.tile_len,
            };
            let loops = self.task.kernel.loops.iter();
            loops
                .map(|kernel_loop| DeviceLoop::new(&self.task.kernel, kernel_loop, &launch, device))
                .collect::<Result<Vec<_>, NoForm>>()
        });
        loops.as_deref().ok()
    }

    /// The operands in memory of the device, up to date.
    fn operands_on_device(&self, inputs: &Inputs) -> Result<Vec<Operand>, DeviceError> {
        let failure = RefCell::new(None);
        let place = |instance: &Instance, access| match instance.on_device(access)? {
            Ok(address) => Some(std::ptr::without_provenance_mut(address as usize)),
            Err(cause) => {
                failure.borrow_mut().get_or_insert(cause);
                None
            }
        };
        let mut operands = Vec::with_capacity(self.task.bindings.len());
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let operand = match *binding {
                Binding::Reduction { number } => {
                    let reduction = &self.task.reductions[number];
                    let size = self.schedule.slots[reduction.slot as usize].dtype.size();
                    let first = place(self.of_slot(reduction.slot), Use::Write);
                    first.map(|first: *mut u8| Operand::Reduction {
                        partials: first.wrapping_add(reduction.element * size).cast(),
                    })
                }
                _ => self.operand(binding, (inputs, &[]), (self.access(number), &place)),
            };
            let missing = || DeviceError::Lost("a store has no memory there".to_owned());
            let operand = operand.ok_or_else(|| failure.take().unwrap_or_else(missing))?;
            operands.push(operand);
        }
        Ok(operands)
    }

    /// Runs the loops; fails for lack of memory before any has begun.
    fn run_device_loops(
        &self,
        loops: &[DeviceLoop],
        operands: &[Operand],
        memory: &DeviceMemory,
    ) -> Result<(), DeviceError> {
        let launch = Launch {
            domains: &self.task.extents,
            operands,
            params: &self.frame.params,
            tile_len: self.context.config.tile_len,
        };
        let device = memory.device();
        let needed = loops.iter().map(|it| it.scratch_bytes(&launch));
        // Sizes that repeat, so that what one task gives back serves the next.
        let bytes = needed.max().unwrap_or(0).next_power_of_two();
        let scratch = memory.allocate(bytes)?;
        let outcome = loops.iter().try_for_each(|device_loop| {
            // SAFETY: as in `run_loops` of `compute.rs`, for memory of the device, where `operands_on_device` has
            // found all operands up to date. The task's schedule, and with it layouts and extents, are
            // those for which the loops were made.
            unsafe { device_loop.run(&launch, scratch, device) }
        });
        memory.give_back(scratch, bytes);
        outcome?;
        match self.context.profile.is_some() {
            // So that the time is that of the kernels.
            true => device.finish(),
            false => Ok(()),
        }
    }
}

/// Nothing in the memory of a device that has failed can be relied on.
fn lost(memory: &DeviceMemory, cause: DeviceError) -> Error {
    memory.lose(cause.clone());
    ErrorKind::Device(cause).into()
}
