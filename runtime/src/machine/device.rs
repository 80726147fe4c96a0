//! The kernel of a task on the device of the rank.
//!
//! A task goes there as a whole, if all its loops have a form and it moves enough bytes, or if the
//! device has some of its operands up to date already, so that what follows a large task stays
//! where that was. Tasks whose ghosts or halos travel, and reductions over several ranks, stay on
//! the host. Where a task runs changes no bit of its results.
#![expect(
    unsafe_code,
    reason = "kernels reach the memory of instances through addresses"
)]

use super::{Inputs, Running};
use crate::analysis::schedule::{Binding, From};
use crate::config::Executor;
use crate::error::{Error, ErrorKind};
use crate::images::piece::Piece;
use crate::memory::instance::Instance;
use crate::memory::mirror::{DeviceMemory, Owned, SlicedValues, Use};
use sparsefuse_kernels::device::{Device, DeviceError, DeviceLoop, NoForm};
use sparsefuse_kernels::{Launch, Operand, Sliced};
use std::cell::RefCell;
use std::sync::Arc;

impl Running<'_, '_> {
    /// Runs the kernel on the device, if there is one and the task goes there.
    pub(super) fn run_on_device(&mut self, inputs: &Inputs) -> Option<Result<(), Error>> {
        let memory = self.context.pool.device()?;
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
        // Held until the kernels are launched: then the device does things in their order.
        let mut held = Vec::new();
        let operands = match self.operands_on_device(inputs, memory, &mut held) {
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
                    if self.is_sliced(binding) {
                        return Operand::Sliced(NO_SLICES);
                    }
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
            let kernel = &self.task.kernel;
            let loops = kernel.loops.iter();
            let texts = loops.clone();
            let texts = texts.flat_map(|it| DeviceLoop::texts(kernel, it, &launch));
            device.prepare(&texts.collect::<Vec<_>>());
            loops
                .map(|it| DeviceLoop::new(kernel, it, &launch, device))
                .collect::<Result<Vec<_>, NoForm>>()
        });
        loops.as_deref().ok()
    }

    /// The operands in memory of the device, up to date.
    fn operands_on_device(
        &self,
        inputs: &Inputs,
        memory: &Arc<DeviceMemory>,
        held: &mut Vec<Arc<SlicedValues>>,
    ) -> Result<Vec<Operand>, DeviceError> {
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
                Binding::Entries {
                    from: From::Slot(slot),
                    piece,
                } if self.is_sliced(binding) => {
                    let sliced = self.sliced(slot, inputs.piece(piece), memory)?;
                    let operand = operand(&sliced);
                    held.push(sliced);
                    Some(operand)
                }
                // Slices need no other structure.
                Binding::Structure { piece } if !self.is_read_plain(piece) => {
                    let nowhere = |_: &Instance| Some(std::ptr::null_mut());
                    inputs
                        .piece(piece)
                        .structure(nowhere)
                        .map(Operand::Structure)
                }
                _ => self.operand(binding, (inputs, &[]), (self.access(number), &place)),
            };
            let missing = || DeviceError::Lost("a store has no memory there".to_owned());
            let operand = operand.ok_or_else(|| failure.take().unwrap_or_else(missing))?;
            operands.push(operand);
        }
        Ok(operands)
    }

    /// Whether a binding is of entries that the device reads in slices: not of those that the task
    /// itself computes.
    fn is_sliced(&self, binding: &Binding) -> bool {
        match binding {
            Binding::Entries {
                from: From::Slot(slot),
                ..
            } => !self.task.writes.contains(slot),
            _ => false,
        }
    }

    /// Whether the device reads the indices of a piece as they are.
    fn is_read_plain(&self, piece: usize) -> bool {
        let mut bindings = self.task.bindings.iter();
        self.task.plain_pieces.contains(&piece)
            || bindings.any(|binding| match *binding {
                Binding::Entries { piece: of, .. } => of == piece && !self.is_sliced(binding),
                _ => false,
            })
    }

    /// The entries of a slot in slices of a piece.
    fn sliced(
        &self,
        slot: u32,
        piece: &Piece,
        memory: &Arc<DeviceMemory>,
    ) -> Result<Arc<SlicedValues>, DeviceError> {
        let Some(slices) = piece.slices(memory)? else {
            let wanted = piece.entries.len() * size_of::<u32>();
            return Err(DeviceError::OutOfMemory { wanted });
        };
        let entries = self.of_slot(slot);
        let first = piece.entries.start - entries.rows.start;
        let dtype = self.schedule.slots[slot as usize].dtype;
        // SAFETY: `check_entries` has found that the instance has all entries of the piece.
        let values = unsafe { entries.sliced((first, dtype), &slices) };
        let missing = || DeviceError::Lost("entries have no memory there".to_owned());
        values.ok_or_else(missing)?
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
            // SAFETY: as in `run_loops` of `compute.rs`, for memory of the device, where
            // `operands_on_device` has found all operands up to date. The task's schedule, and with
            // it layouts and extents, are those for which the loops were made.
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

/// Entries in slices as an operand.
fn operand(sliced: &SlicedValues) -> Operand {
    let place = |memory: &Owned| std::ptr::without_provenance::<u8>(memory.address.0 as usize);
    let slices = &sliced.of;
    Operand::Sliced(Sliced {
        slices: place(&slices.slices).cast::<u64>(),
        rows: place(&slices.rows).cast::<u64>(),
        columns: place(&slices.columns).cast::<u32>(),
        values: place(&sliced.values),
        uniform: place(&sliced.uniform).cast::<u32>(),
    })
}

/// For the printer, which looks at kinds of operands alone.
const NO_SLICES: Sliced = Sliced {
    slices: std::ptr::null(),
    uniform: std::ptr::null(),
    rows: std::ptr::null(),
    columns: std::ptr::null(),
    values: std::ptr::null(),
};

/// Nothing in the memory of a device that has failed can be relied on.
fn lost(memory: &DeviceMemory, cause: DeviceError) -> Error {
    memory.lose(cause.clone());
    ErrorKind::Device(cause).into()
}
