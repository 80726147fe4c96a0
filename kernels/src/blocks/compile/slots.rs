//! Slots: where the rows of each value of a loop lie while a block runs.
//!
//! The ops of a loop go in; out comes a slot for each value: a register (a buffer for one block),
//! the memory of an argument, or a chunk of copies of a uniform value. Registers are shared by
//! values whose lives do not overlap.
//!
//! Two decisions save copies. A value that is only loaded is read where it lies, unless a store
//! changes that memory while the value lives. A value that is stored is computed right there,
//! unless a later step needs what lay there before. Both hold for contiguous arrays only, which
//! the launch decides, so each such slot names a register to fall back to.
//!
//! The invariant: for every run, a slot keeps its rows from the step that writes it to the last
//! one that reads it.

use super::lower::{Lowered, Op, Operand, VaryingValue};
use crate::ir::{ArgId, Kernel};

/// The number of a slot of a loop.
pub(crate) type SlotId = u32;

/// Where the rows of a value lie while a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A buffer for elements of a size; `offset` is the sum of the sizes of those before it.
    Register { size: usize, offset: usize },
    /// The memory of an array, or a register if it is not contiguous.
    Memory {
        arg: ArgId,
        size: usize,
        register: SlotId,
    },
    /// Copies of a uniform value, by its place in [`Slots::splats`].
    Uniform { splat: usize },
}

/// The slots given out so far, and the registers that are free.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) slots: Vec<Slot>,
    pub(crate) register_bytes: usize,
    /// Free registers and their sizes.
    free: Vec<(usize, SlotId)>,
    /// The slot of each value that has one.
    of_value: Vec<Option<SlotId>>,
    of_uniform: Vec<Option<SlotId>>,
    /// The numbers of the uniform values that have a slot.
    pub(crate) splats: Vec<u32>,
}

/// Which values need no register of their own where arrays are contiguous.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each value: the array that it is read from or computed in.
    in_place: Vec<Option<ArgId>>,
    /// For each value: the store that it is computed for.
    direct_store: Vec<Option<usize>>,
}

impl Plan {
    pub(crate) fn new(kernel: &Kernel, lowered: &Lowered) -> Self {
        let mut plan = Self {
            in_place: vec![None; lowered.values.len()],
            direct_store: vec![None; lowered.values.len()],
        };
        let memory = |arg: ArgId| kernel.args[arg as usize].memory;
        let accesses = Accesses::new(lowered, memory);
        for &store in &accesses.stores {
            let (at, arg, value) = store;
            if plan.direct_store[value].is_none() && accesses.allows_direct(&plan, lowered, store) {
                plan.direct_store[value] = Some(at);
                plan.in_place[value] = Some(arg);
            }
        }
        for &(at, arg, value) in &accesses.loads {
            let is_overwritten = accesses.stores.iter().any(|&(store, to, stored)| {
                let is_direct = plan.direct_store[stored] == Some(store);
                memory(to) == memory(arg)
                    && !is_direct
                    && at < store
                    && store < lowered.values[value].last_read
            });
            if !is_overwritten {
                plan.in_place[value] = Some(arg);
            }
        }
        plan
    }

    pub(crate) fn is_direct(&self, at: usize, stored: Operand) -> bool {
        match stored {
            Operand::Value(value) => self.direct_store[value] == Some(at),
            Operand::None | Operand::Uniform(_) => false,
        }
    }
}

impl Slots {
    pub(crate) fn new(lowered: &Lowered) -> Self {
        Self {
            of_value: vec![None; lowered.values.len()],
            of_uniform: vec![None; lowered.uniforms.len()],
            ..Self::default()
        }
    }

    /// The slot of an operand; any slot for an operand that is not there, which no loop reads.
    pub(crate) fn of(&mut self, operand: Operand) -> SlotId {
        match operand {
            Operand::None => 0,
            Operand::Value(value) => self.of_value[value].expect("a value is read while it lives"),
            Operand::Uniform(number) => {
                if let Some(slot) = self.of_uniform[number as usize] {
                    return slot;
                }
                let splat = self.splats.len();
                self.splats.push(number);
                let slot = self.add(Slot::Uniform { splat });
                self.of_uniform[number as usize] = Some(slot);
                slot
            }
        }
    }

    /// Gives back the registers of the values that are read at `at` for the last time. The value
    /// defined there may get one of them: element loops read a chunk before they write it.
    pub(crate) fn release(&mut self, lowered: &Lowered, at: usize) {
        for value in lowered.reads(&lowered.ops[at]) {
            let VaryingValue {
                size, last_read, ..
            } = lowered.values[value];
            if last_read != at {
                continue;
            }
            if let Some(slot) = self.of_value[value].take() {
                let register = match self.slots[slot as usize] {
                    Slot::Memory { register, .. } => register,
                    Slot::Register { .. } | Slot::Uniform { .. } => slot,
                };
                self.free.push((size, register));
            }
        }
    }

    pub(crate) fn place(&mut self, lowered: &Lowered, plan: &Plan, value: usize) -> SlotId {
        let size = lowered.values[value].size;
        let register = self.register(size);
        let slot = match plan.in_place[value] {
            None => register,
            Some(arg) => self.add(Slot::Memory {
                arg,
                size,
                register,
            }),
        };
        self.of_value[value] = Some(slot);
        slot
    }

    fn register(&mut self, size: usize) -> SlotId {
        let free = self.free.iter().rposition(|&(of, _)| of == size);
        if let Some(free) = free {
            return self.free.swap_remove(free).1;
        }
        let offset = self.register_bytes;
        self.register_bytes += size;
        self.add(Slot::Register { size, offset })
    }

    fn add(&mut self, slot: Slot) -> SlotId {
        self.slots.push(slot);
        self.slots.len() as SlotId - 1
    }
}

/// The loads and stores of a loop: position, argument, value.
#[derive(Debug)]
struct Accesses<M> {
    loads: Vec<(usize, ArgId, usize)>,
    stores: Vec<(usize, ArgId, usize)>,
    memory: M,
}

impl<M: Fn(ArgId) -> u32> Accesses<M> {
    fn new(lowered: &Lowered, memory: M) -> Self {
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        for (at, op) in lowered.ops.iter().enumerate() {
            match (*op, lowered.outs[at]) {
                (Op::Load(arg, _), Some(value)) => loads.push((at, arg, value)),
                (Op::Store(arg, _, Operand::Value(value)), _) => stores.push((at, arg, value)),
                _ => {}
            }
        }
        Self {
            loads,
            stores,
            memory,
        }
    }

    /// Whether `value` may be computed in the memory of `arg`, where the store at `at` puts it:
    /// that memory must hold nothing that is still read when the value is defined, and must not be
    /// loaded or stored before the value has been stored and read for the last time.
    fn allows_direct(&self, plan: &Plan, lowered: &Lowered, store: (usize, ArgId, usize)) -> bool {
        let (at, arg, value) = store;
        let memory = (self.memory)(arg);
        let same = |other: ArgId| (self.memory)(other) == memory;
        let VaryingValue {
            defined, last_read, ..
        } = lowered.values[value];
        let is_computed = !matches!(lowered.ops[defined], Op::Load(..));
        let loads_agree = self.loads.iter().all(|&(load, from, loaded)| {
            let is_between = defined < load && load < at;
            let is_needed = load < defined && lowered.values[loaded].last_read > defined;
            !same(from) || !(is_between || is_needed)
        });
        let stores_agree = self.stores.iter().all(|&(other, to, stored)| {
            let is_between = other != at && defined < other && other <= last_read;
            let is_needed = plan.direct_store[stored] == Some(other)
                && lowered.values[stored].defined < defined
                && lowered.values[stored].last_read > defined;
            !same(to) || !(is_between || is_needed)
        });
        is_computed && loads_agree && stores_agree
    }
}
