//! A fused task that is planned and not run: what it would move, compute and send.
//!
//! Everything is done that does not need the other ranks or the numbers: pieces are built and
//! entries packed, memory is taken and freed. So what a plan counts is what a run does.

use super::compute::Ghosts;
use super::failures::Failure;
use super::{Inputs, Machine, Running};
use crate::analysis::schedule::{Binding, FusedTask};
use crate::comm::exchange::Sent;
use crate::comm::{forests, reduce};
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::observe::plan::{Arrival, PlannedTask};
use crate::tasks::body::Body;
use crate::tasks::host::HostTask;
use sparsefuse_kernels::ir::uniform_values;
use sparsefuse_kernels::{DType, Inst};

/// The machine that plans tasks, on a rank whose neighbours are not there.
#[derive(Debug)]
pub(crate) struct Plans;

impl Machine for Plans {
    fn take_ghosts(
        &self,
        _running: &Running<'_, '_>,
        _inputs: &Inputs,
        _failures: &mut Vec<Failure>,
    ) -> Vec<Ghosts> {
        Vec::new()
    }

    fn compute(
        &self,
        running: &mut Running<'_, '_>,
        can_run: bool,
        inputs: &Inputs,
        _ghosts: Vec<Ghosts>,
        _failures: &mut Vec<Failure>,
    ) -> Result<(), Error> {
        match can_run {
            true => running.note(inputs),
            false => Ok(()),
        }
    }

    fn reduce(&self, _running: &mut Running<'_, '_>, _ran: &FusedTask) -> Result<(), Error> {
        Ok(())
    }

    fn call(
        &self,
        running: &mut Running<'_, '_>,
        ready: Result<(), Error>,
        (host, _): (&HostTask, &Body),
        _inputs: &Inputs,
    ) -> Result<(), Error> {
        ready.map(|()| running.note_host(host))
    }

    fn computes(&self) -> bool {
        false
    }
}

impl Running<'_, '_> {
    /// Makes truth values of what the memory of outputs holds, which nothing else writes.
    fn clear_truths(&mut self) {
        for output in &self.task.outputs {
            if self.schedule.slots[output.slot as usize].dtype == DType::Bool {
                self.frame.fill_with_zeros(output.slot);
            }
        }
    }

    /// Plans the task, with memory for its outputs and ghosts, and notes it.
    pub(super) fn note(&mut self, inputs: &Inputs) -> Result<(), Error> {
        self.clear_truths();
        let ghosts = self.arrivals(inputs)?;
        let reductions = self.reductions();
        self.context.counters.reductions += u64::from(reductions.messages > 0);
        let task = PlannedTask {
            name: self.task.name.clone(),
            flops: self.flops(inputs),
            bytes: (self.task.bytes + self.structure_bytes(inputs)) as u64,
            structure_bytes: self.structure_bytes(inputs) as u64,
            ghosts,
            fetches: self.task.fetched(),
            reductions,
        };
        self.context.plan.push(task);
        Ok(())
    }

    /// Notes a host task.
    fn note_host(&mut self, host: &HostTask) {
        self.clear_truths();
        let task = PlannedTask {
            name: self.task.name.clone(),
            flops: 0,
            bytes: self.task.bytes.saturating_add(host.bytes) as u64,
            structure_bytes: 0,
            ghosts: Vec::new(),
            fetches: self.task.fetched(),
            reductions: Sent::default(),
        };
        self.context.plan.push(task);
    }

    /// The ghosts that the task waits for.
    fn arrivals(&mut self, inputs: &Inputs) -> Result<Vec<Arrival>, Error> {
        let mut arrivals = Vec::new();
        for binding in &self.task.bindings {
            let Binding::Gathered { slot, piece } = *binding else {
                continue;
            };
            let part = inputs.piece(piece);
            if part.key.x_partition == Partition::Replicated {
                continue;
            }
            let ghost = self.ghost(slot, piece);
            let exchange = part.take_ghosts(self.context.comm, self.context.pool, ghost)?;
            part.put_back(exchange);
            let receives = part.exchange.receives().iter();
            arrivals.extend(receives.map(|(from, places)| Arrival {
                from: *from,
                elements: places.len() as u64,
                bytes: (places.len() * ghost.size) as u64,
            }));
        }
        Ok(arrivals)
    }

    /// What this rank sends for the reductions of the task, which travel together.
    fn reductions(&self) -> Sent {
        let reductions = &self.task.reductions;
        if !reductions.iter().any(|reduction| reduction.is_partial()) {
            return Sent::default();
        }
        let comm = self.context.comm;
        let messages = reduce::messages(comm.rank(), comm.size()) as u64;
        let bytes = forests::len(self.task.subjects()) * size_of::<u64>();
        Sent {
            messages,
            bytes: messages * bytes as u64,
        }
    }

    /// The operations on elements; of a structure, two for each entry.
    fn flops(&self, inputs: &Inputs) -> u64 {
        let kernel = &self.task.kernel;
        let mut flops = 0;
        for kernel_loop in &kernel.loops {
            let rows = self.task.extents[kernel_loop.domain as usize].len;
            let uniform = uniform_values(&kernel_loop.body);
            for (inst, _) in kernel_loop
                .body
                .iter()
                .zip(uniform)
                .filter(|(_, uniform)| !uniform)
            {
                flops += match *inst {
                    Inst::RowSum { structure, .. } => {
                        match self.task.bindings[structure as usize] {
                            Binding::Structure { piece } => {
                                2 * (inputs.piece(piece).entries.len()
                                    * self.task.pieces[piece].width)
                                    as u64
                            }
                            _ => unreachable!("a structure is bound to a piece"),
                        }
                    }
                    Inst::RowReduce { rows: of, .. } => match self.task.bindings[of as usize] {
                        Binding::DenseRows { columns, .. } => 2 * rows * columns as u64,
                        _ => unreachable!("dense rows are bound to such"),
                    },
                    Inst::Unary(..)
                    | Inst::Binary(..)
                    | Inst::Select(..)
                    | Inst::Cast(..)
                    | Inst::Random { .. }
                    | Inst::Reduce(..) => rows,
                    Inst::Const(_)
                    | Inst::Param(_)
                    | Inst::LoadScalar(_)
                    | Inst::Index
                    | Inst::Load(_)
                    | Inst::Gather { .. }
                    | Inst::Store(..)
                    | Inst::StoreScalar(..) => 0,
                };
            }
        }
        flops
    }
}
