//! The computation of a task: its arguments bound to memory, its ghosts exchanged, its kernel run.
#![expect(
    unsafe_code,
    reason = "kernels reach the memory of instances through raw pointers"
)]

use super::failures::Failure;
use super::host::panicked;
use super::{Context, Inputs, Machine, Running};
use crate::analysis::schedule::{Binding, From, FusedTask};
use crate::comm::exchange::Item;
use crate::comm::ghosts::GhostExchange;
use crate::config::{Config, Executor};
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::images::piece::Piece;
use crate::memory::bytes;
use crate::memory::instance::Instance;
use crate::memory::mirror::Use;
use crate::memory::reserve::zeros;
use crate::tasks::body::Body;
use crate::tasks::host::HostTask;
use sparsefuse_kernels::blocks::{Part, Program, Settings};
use sparsefuse_kernels::{Launch, Operand};
use std::borrow::Cow;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The ghosts of one `x`, by one piece.
pub(crate) struct Ghosts {
    slot: u32,
    piece: usize,
    link: GhostExchange,
}

/// The machine that runs tasks.
#[derive(Debug)]
pub(crate) struct Runs;

impl Machine for Runs {
    fn take_ghosts(
        &self,
        running: &Running<'_, '_>,
        inputs: &Inputs,
        failures: &mut Vec<Failure>,
    ) -> Vec<Ghosts> {
        match running.task.program {
            Some(_) => running.take_ghosts(inputs, failures),
            None => Vec::new(),
        }
    }

    fn compute(
        &self,
        running: &mut Running<'_, '_>,
        can_run: bool,
        inputs: &Inputs,
        ghosts: Vec<Ghosts>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), Error> {
        // A part of a task that has a kernel takes part in its messages.
        match running.schedule.fused[running.number].program {
            Some(_) => running.compute(can_run, inputs, ghosts, failures),
            None => Ok(()),
        }
    }

    fn reduce(&self, running: &mut Running<'_, '_>, ran: &FusedTask) -> Result<(), Error> {
        match running.task.program {
            Some(_) => running.reduce(ran),
            None => Ok(()),
        }
    }

    fn call(
        &self,
        running: &mut Running<'_, '_>,
        ready: Result<(), Error>,
        task: (&HostTask, &Body),
        inputs: &Inputs,
    ) -> Result<(), Error> {
        running.talk_and_call(ready, task, inputs)
    }

    fn computes(&self) -> bool {
        true
    }
}

/// What a defect of the runtime would be.
const NO_ROOM: &str = "an instance has room for what is read in front of its elements";

impl Running<'_, '_> {
    /// Runs the kernel, if there is anything to run, as (a part of) the task whose ghosts are
    /// given. The loops that write what others need as ghosts come first, on rows at the boundary;
    /// while ghosts travel, all loops on rows of the interior; then the others at the boundary.
    ///
    /// Where ghosts do not arrive the kernel runs on with those of earlier times; what depends on
    /// them is poisoned.
    pub(super) fn compute(
        &mut self,
        runs: bool,
        inputs: &Inputs,
        mut ghosts: Vec<Ghosts>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), Error> {
        let mut program = self.task.program.as_ref().filter(|_| runs);
        let mut has_room = Ok(());
        if program.is_some() {
            if self.context.pool.device().is_some()
                && ghosts.is_empty()
                && !self.awaits_halos
                && let Some(outcome) = self.run_on_device(inputs)
            {
                return outcome;
            }
            // Made already, unless a device was to have its own.
            has_room = self.frame.make_partials(self.task, self.context);
            match has_room {
                Ok(()) => self.bind(inputs, &ghosts),
                Err(_) => program = None,
            }
        }
        let (leading, all) = (self.task.leading, program.map_or(0, Program::loops));
        let task = self.task;
        let of_halos = task
            .halves
            .as_ref()
            .filter(|_| self.awaits_halos && self.context.config.executor == Executor::Blocks);
        let (halves, apart) = match of_halos {
            Some(halves) => {
                let parts = (&halves.interior, &halves.boundary);
                (Some(parts), halves.loops.clone())
            }
            None => {
                let piece = program.and_then(|program| self.halves(program, inputs));
                (
                    piece.map(|piece| (&piece.interior, &piece.boundary)),
                    0..all,
                )
            }
        };
        let (first, front) = (apart.start.min(all), apart.end.min(all));
        let (interior, boundary) = match halves {
            Some((interior, boundary)) => (Part::Tiles(interior), Part::Tiles(boundary)),
            None => (Part::Tiles(&[]), Part::All),
        };
        // What could not be copied from a device that has failed is no input.
        let device = self.context.pool.device();
        let mut outcome = device
            .and_then(|device| device.lost())
            .map_or(has_room, Err);
        if leading > 0 {
            outcome = outcome.and_then(|()| self.run_loops(program, (0..leading, boundary)));
        }
        self.send_ghosts((&mut ghosts, inputs), (program, &outcome), failures);
        let sent = self.now();
        if halves.is_some() {
            outcome = outcome.and_then(|()| self.run_loops(program, (0..first, Part::All)));
            outcome = outcome.and_then(|()| self.run_loops(program, (first..front, interior)));
        }
        let computed = self.now();
        let travels = !ghosts.is_empty() || self.awaits_halos;
        if self.awaits_halos {
            self.receive(&mut [], failures);
        }
        self.receive_ghosts(&mut ghosts, inputs, failures);
        if let (Some(sent), Some(computed), true) = (sent, computed, travels) {
            self.travel.overlapped += computed - sent;
            self.travel.waited += computed.elapsed();
        }
        let first = first.max(leading);
        outcome = outcome.and_then(|()| self.run_loops(program, (first..front, boundary)));
        if front < all {
            outcome = outcome.and_then(|()| self.run_loops(program, (front..all, Part::All)));
        }
        for Ghosts { piece, link, .. } in ghosts {
            inputs.piece(piece).put_back(link);
        }
        outcome
    }

    /// The piece that says which rows concern this rank alone, if these can be run apart: one loop
    /// needs ghosts, and at most one comes before it.
    fn halves<'i>(&self, program: &Program, inputs: &'i Inputs) -> Option<&'i Piece> {
        let (piece, others) = inputs.pieces.split_first()?;
        let piece = piece.as_ref()?;
        // Images by one structure, of vectors that are spread alike.
        let is_piece = |other: &Option<Arc<Piece>>| {
            let other = other.as_ref();
            other.is_some_and(|other| Arc::ptr_eq(other, piece))
        };
        let is_one = others.iter().all(is_piece);
        let leading = self.task.leading;
        let is_split = is_one
            && leading <= 1
            && program.loops() == leading + 1
            && program.is_divisible()
            && !piece.boundary.is_empty()
            // The tiles of a piece are those of vectors.
            && self.task.pieces.iter().all(|piece| piece.width == 1)
            && self.context.config.executor == Executor::Blocks;
        is_split.then_some(&**piece)
    }

    /// Runs some of the kernel's loops, on all rows or some.
    fn run_loops(
        &self,
        program: Option<&Program>,
        (loops, part): (Range<usize>, Part<'_>),
    ) -> Result<(), Error> {
        let Some(program) = program else {
            return Ok(());
        };
        let Config {
            isa,
            block_len,
            parallel_threshold,
            stream_threshold,
            band_threshold,
            tile_len,
            ..
        } = *self.context.config;
        let settings = Settings {
            isa,
            block_len,
            parallel_threshold,
            stream_threshold: stream_threshold / self.context.comm.on_machine(),
            band_threshold,
        };
        let launch = Launch {
            domains: &self.task.extents,
            operands: &self.frame.operands,
            params: &self.frame.params,
            tile_len,
        };
        let workers = self.context.workers;
        let run = || match self.context.config.executor {
            // SAFETY: `bind` has bound every argument of the kernel to an instance that holds the
            // rows, entries or columns its layout and piece name: `analysis::place` placed them
            // by the same partitions that the instances have, `tasks::check` has compared views and
            // shapes with the stores, `Piece::build` has checked indices and ranges, and
            // `check_entries` the entries. Where a store has moved, the offsets are those of the
            // views of this window: steps, shapes and distances are equal where keys are. Outputs
            // are new, taken over as `Program::compile` was told through equal `memory` numbers, or
            // made unique by `make_unique`. The frame keeps all of them alive.
            Executor::Blocks => unsafe {
                program.run_loops(&launch, (loops.clone(), part), &settings, workers);
            },
            // SAFETY: as above.
            Executor::Reference => unsafe {
                sparsefuse_kernels::reference::run_loops(&self.task.kernel, loops.clone(), &launch);
            },
        };
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panicked(&self.task.name, &*panic))
    }

    /// Sends this rank's elements that others need as ghosts; those of tasks that do not run
    /// here fail on the other ranks too, since what they write is one store.
    fn send_ghosts(
        &mut self,
        (ghosts, inputs): (&mut [Ghosts], &Inputs),
        (program, outcome): (Option<&Program>, &Result<(), Error>),
        failures: &mut Vec<Failure>,
    ) {
        for Ghosts { slot, piece, link } in ghosts {
            let runs = program.is_some() && self.task.gathered().any(|of| of == (*slot, *piece));
            let x = match (failures.first(), outcome) {
                (_, Err(cause)) => Err(cause.clone()),
                (Some(failure), Ok(())) if !runs => Err(failure.cause.clone()),
                _ => Ok(self.of_slot(*slot)),
            };
            let exchange = &inputs.piece(*piece).exchange;
            let size = self.schedule.slots[*slot as usize].dtype.size();
            let x = x.and_then(|x| match x.len() {
                // Rows without elements are sent as if they had one; it is not read.
                0 => zeros(x.rows.len() * link.item().size).map(Cow::Owned),
                _ => Ok(Cow::Borrowed(bytes::of_instance(x, size))),
            });
            let x = x.as_deref().map_err(Clone::clone);
            if let Err(cause) = link.start(self.context.comm, exchange, x) {
                failures.push(Failure::gathered(*slot, cause));
            }
            let sent = exchange.sent(link.item().size);
            self.context.counters.add_sent(sent);
        }
    }

    /// The ghosts of all that is gathered, before anything is sent: new ones need the consent of
    /// all ranks, and messages keep their order.
    pub(super) fn take_ghosts(&self, inputs: &Inputs, failures: &mut Vec<Failure>) -> Vec<Ghosts> {
        let Context { comm, pool, .. } = *self.context;
        let mut all = Vec::new();
        for (slot, piece) in self.task.gathered() {
            let Some(part) = &inputs.pieces[piece] else {
                continue;
            };
            if part.key.x_partition == Partition::Replicated {
                continue;
            }
            match part.take_ghosts(comm, pool, self.ghost(slot, piece)) {
                Ok(link) => all.push(Ghosts { slot, piece, link }),
                Err(cause) => failures.push(Failure::gathered(slot, cause)),
            }
        }
        all
    }

    /// An element, or a row, of an `x`.
    pub(super) fn ghost(&self, slot: u32, piece: usize) -> Item {
        let dtype = self.schedule.slots[slot as usize].dtype;
        Item::new(dtype, self.task.pieces[piece].width)
    }

    fn receive_ghosts(&self, ghosts: &mut [Ghosts], inputs: &Inputs, failures: &mut Vec<Failure>) {
        for Ghosts { slot, piece, link } in ghosts {
            let exchange = &inputs.piece(*piece).exchange;
            if let Err(cause) = link.finish(self.context.comm, exchange) {
                failures.push(Failure::gathered(*slot, cause));
            }
        }
    }

    /// Fills the frame's operands and parameters for the task's kernel.
    fn bind(&mut self, inputs: &Inputs, ghosts: &[Ghosts]) {
        let frame = &mut *self.frame;
        frame.params.clear();
        let params = self
            .task
            .params
            .iter()
            .map(|&param| self.window.params[param as usize]);
        frame.params.extend(params);
        let mut operands = std::mem::take(&mut frame.operands);
        operands.clear();
        let mut taken = 0;
        for (number, binding) in self.task.bindings.iter().enumerate() {
            operands.push(match inputs.packed_at(number) {
                Some(packed) => Operand::Packed(packed.operand()),
                None => {
                    let place = |instance: &Instance, access| Some(on_host(instance, access));
                    let access = self.access(number);
                    let operand = self.operand(binding, (inputs, ghosts), (access, &place));
                    match (operand, binding) {
                        (Some(operand), _) => operand,
                        (None, Binding::Reduction { number }) => {
                            let first = taken;
                            taken += self.task.reductions[*number].n_tiles;
                            Operand::Reduction {
                                partials: self.frame.partials[first..].as_mut_ptr(),
                            }
                        }
                        (None, _) => unreachable!("memory of the host is there"),
                    }
                }
            });
        }
        self.frame.operands = operands;
    }

    /// How the kernel uses an argument.
    #[inline]
    pub(super) fn access(&self, number: usize) -> Use {
        match self.task.stored.get(number) {
            Some(false) => Use::Read,
            _ => Use::Write,
        }
    }

    /// What a binding is in memory, where `place` says where an instance's first element lies;
    /// `None` where it does not lie there, and of reductions.
    #[inline(always)]
    pub(super) fn operand(
        &self,
        binding: &Binding,
        (inputs, ghosts): (&Inputs, &[Ghosts]),
        (access, place): (Use, &impl Fn(&Instance, Use) -> Option<*mut u8>),
    ) -> Option<Operand> {
        // The address of an element of an instance. Addresses of empty pieces may lie outside their
        // memory; nothing is read through them.
        let address = |from: From, offset: isize| {
            let slot = self.task.slot(from);
            let size = self.schedule.slots[slot as usize].dtype.size() as isize;
            let first = place(self.locate(from, inputs), access)?;
            let offset = offset + self.window.moved_by(slot);
            Some(first.wrapping_offset(offset * size))
        };
        Some(match *binding {
            Binding::Array {
                from,
                offset,
                layout,
            } => {
                debug_assert!(self.has_room(from, offset, inputs), "{NO_ROOM}");
                Operand::Array {
                    data: address(from, offset)?,
                    layout,
                }
            }
            Binding::DenseRows {
                from,
                offset,
                layout,
                columns,
                column_stride,
            } => {
                debug_assert!(
                    columns == 0 || self.has_room(from, offset, inputs),
                    "{NO_ROOM}"
                );
                Operand::DenseRows {
                    data: address(from, offset)?.cast_const(),
                    layout,
                    columns,
                    column_stride,
                }
            }
            Binding::Scalar { slot } => Operand::Scalar {
                data: place(self.of_slot(slot), access)?,
            },
            Binding::Reduction { .. } => return None,
            Binding::Whole { from, len } => Operand::Gather {
                own: address(from, 0)?.cast_const(),
                own_len: len,
                ghosts: std::ptr::null(),
                width: 1,
            },
            Binding::Gathered { slot, piece } => {
                let of_x = |ghosts: &&Ghosts| (ghosts.slot, ghosts.piece) == (slot, piece);
                let link = ghosts.iter().find(of_x).map(|ghosts| &ghosts.link);
                Operand::Gather {
                    own: place(self.of_slot(slot), access)?.cast_const(),
                    own_len: inputs.piece(piece).own_len,
                    ghosts: link.map_or(std::ptr::null(), GhostExchange::ghosts),
                    width: self.task.pieces[piece].width,
                }
            }
            Binding::Entries { from, piece } => {
                let first = inputs.piece(piece).entries.start as isize;
                let skip = first - self.locate(from, inputs).rows.start as isize;
                Operand::Entries {
                    data: address(from, skip)?.cast_const(),
                }
            }
            Binding::Structure { piece } => {
                let structure = inputs.piece(piece);
                let structure = structure.structure(|instance| place(instance, Use::Read));
                Operand::Structure(structure?)
            }
        })
    }

    /// Whether an instance has memory in front of its elements where a loop reads there.
    fn has_room(&self, from: From, offset: isize, inputs: &Inputs) -> bool {
        let slot = self.task.slot(from);
        let size = self.schedule.slots[slot as usize].dtype.size() as isize;
        let offset = offset + self.window.moved_by(slot);
        let mut extents = self.task.extents.iter();
        self.locate(from, inputs).begins_before(offset * size)
            || extents.any(|extent| extent.len == 0)
    }

    pub(super) fn of_slot(&self, slot: u32) -> &Instance {
        let held = self.frame.instances[slot as usize].as_ref();
        held.and_then(|(_, held)| held.plain())
            .expect("a task that reads all its stores has their instances")
    }

    pub(super) fn locate<'i>(&'i self, from: From, inputs: &'i Inputs) -> &'i Instance {
        match from {
            From::Slot(slot) => self.of_slot(slot),
            From::Fetched(number) => {
                let fetched = inputs.fetched[number].as_ref();
                fetched.expect("a failed fetch fails its task")
            }
        }
    }
}

/// Where the first element of an instance lies in memory of the host.
#[inline(always)]
fn on_host(instance: &Instance, access: Use) -> *mut u8 {
    match access {
        Use::Read => instance.to_read().cast_mut(),
        Use::Write => instance.data(),
    }
}
