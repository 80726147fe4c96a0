//! A fused task that is planned and not run: what it would move, compute and send.
//!
//! Everything is done that does not need the other ranks or the numbers: pieces are built and
//! entries packed, memory is taken and freed. So what a plan counts is what a run does.

use super::{Inputs, Running};
use crate::analysis::schedule::Binding;
use crate::comm::{forests, reduce};
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::observe::plan::{Arrival, PlannedTask, Sent};
use sparsefuse_kernels::Inst;
use sparsefuse_kernels::ir::uniform_values;

impl Running<'_, '_> {
    /// Plans the task, with memory for its outputs and ghosts, and notes it.
    pub(super) fn note(&mut self, inputs: &Inputs) -> Result<(), Error> {
        let ghosts = self.arrivals(inputs)?;
        let reductions = self.reductions();
        self.context.counters.reductions += u64::from(reductions.messages > 0);
        let task = PlannedTask {
            name: self.task.name.clone(),
            flops: self.flops(inputs),
            bytes: (self.task.bytes + self.structure_bytes(inputs)) as u64,
            structure_bytes: self.structure_bytes(inputs) as u64,
            ghosts,
            fetches: Sent {
                messages: self
                    .task
                    .fetches
                    .iter()
                    .map(|fetch| fetch.messages() as u64)
                    .sum(),
                bytes: self
                    .task
                    .fetches
                    .iter()
                    .map(|fetch| fetch.bytes_sent() as u64)
                    .sum(),
            },
            reductions,
        };
        let plan = self.context.plan.as_deref_mut();
        plan.expect("a task is planned where there is a plan")
            .push(task);
        Ok(())
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
            let size = self.halo_size(slot, piece);
            let halo = part.take_halo(self.context.comm, self.context.pool, size)?;
            part.put_back(halo);
            let receives = part.neighbours.receives.iter();
            arrivals.extend(receives.map(|(from, ghosts)| Arrival {
                from: *from,
                elements: ghosts.len() as u64,
                bytes: (ghosts.len() * size) as u64,
            }));
        }
        Ok(arrivals)
    }

    /// What this rank sends for the reductions of the task, which travel together.
    fn reductions(&self) -> Sent {
        let reductions = &self.task.reductions;
        if !reductions.iter().any(|reduction| reduction.is_partial) {
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
                    | Inst::Store(..)
                    | Inst::StoreScalar(..) => 0,
                };
            }
        }
        flops
    }
}
