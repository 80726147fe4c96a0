//! The step of a host task: its arguments fetched, its outputs allocated, its function called.
//!
//! A function that fails, or panics, poisons what its task writes, as everything does. Where the
//! task is cut, the ranks agree on that: one that cannot begin says so in the place of all that its
//! function would have sent ([`Conversation`]).

use super::failures::Failure;
use super::{Inputs, Running};
use crate::analysis::schedule::{Binding, From, FusedTask};
use crate::comm::conversation::Conversation;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::geometry::partition::Partition;
use crate::images::residency::Residency;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::tasks::argument::Privilege;
use crate::tasks::body::Body;
use crate::tasks::calling;
use crate::tasks::host::HostTask;
use crate::tasks::host_args::{HostArg, HostArgs};
use sparsefuse_kernels::Workers;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// An output while the function writes it.
pub(super) type Taken = (u32, Partition, Counted<Instance>);

impl Running<'_, '_> {
    /// Every rank goes through all steps that talk to others, also when its own have failed.
    pub(super) fn run_host(&mut self) {
        self.context.counters.host_tasks += 1;
        let begin = self.now();
        let (window, schedule) = (self.window, self.schedule);
        let number = schedule.tasks[self.task.group.tasks.start].number;
        let body = window.body(&window.tasks[number]);
        let host = window.host(number);
        let host = host.expect("a host task is pushed with its function");
        let mut failures = Vec::new();
        let mut inputs = std::mem::take(&mut self.frame.inputs);
        let found = self.find();
        failures.extend(found.err());
        self.exchange(&mut inputs, &mut failures);
        if failures.is_empty() {
            failures.extend(self.allocate().err());
        }
        let ready = failures.pop().map_or(Ok(()), |failure| Err(failure.cause));
        let scratch = ready.and_then(|()| self.context.pool.reserve(host.scratch));
        let (ready, _scratch) = match scratch {
            Ok(scratch) => (Ok(()), Some(scratch)),
            Err(cause) => (Err(cause), None),
        };
        let machine = self.context.machine;
        let outcome = machine.call(self, ready, (host, body), &inputs);
        if let Err(cause) = outcome {
            self.frame.fail(self.task, &cause);
            for output in &self.task.outputs {
                self.frame.instances[output.slot as usize] = None;
            }
        }
        let made = self.task.bytes + self.found;
        self.count(made.saturating_add(host.bytes), begin);
        inputs.clear();
        self.frame.inputs = inputs;
    }

    /// Makes sure that what the task reads is there.
    fn find(&mut self) -> Result<(), Failure> {
        let is_cut = |slot| matches!(self.frame.partition(slot), Some(Partition::Tile(_)));
        let ranks = self.context.comm.size();
        if let Some(block) = self
            .task
            .blocks()
            .find(|block| ranks > 1 && is_cut(block.slot))
        {
            let expected = "blocks of a store that every rank holds whole";
            let cause = Error::argument("block", expected, "one whose rows are cut");
            return Err(Failure::of(block.slot, cause));
        }
        self.frame
            .find(self.task, self.window, self.context.workers)
    }

    /// Calls the function, if this rank is ready, and agrees with the others on how it ends where
    /// each has its own rows.
    pub(super) fn talk_and_call(
        &mut self,
        ready: Result<(), Error>,
        task: (&HostTask, &Body),
        inputs: &Inputs,
    ) -> Result<(), Error> {
        if !self.task.is_cut_host() {
            return ready.and_then(|()| self.call(task, inputs, None));
        }
        let conversation = Conversation::new(self.context.comm);
        let mine = ready.and_then(|()| self.call(task, inputs, Some(&conversation)));
        let outcome = conversation.end(mine);
        self.travel.waited += conversation.waited();
        outcome
    }

    /// Calls the function with what this rank has of the arguments.
    fn call(
        &mut self,
        (host, body): (&HostTask, &Body),
        inputs: &Inputs,
        conversation: Option<&Conversation<'_>>,
    ) -> Result<(), Error> {
        let mut taken = self.take_outputs();
        let host_place = self.task.host.as_ref();
        let host_place = host_place.expect("the step of a host task says where it runs");
        // A rank that is alone has all rows.
        let is_alone = self.context.comm.size() == 1;
        let partitions = match is_alone {
            true => &[][..],
            false => &host_place.partitions[..],
        };
        let cuts = partitions.iter().map(|&of| match of {
            Partition::Tile(id) => Some(Arc::clone(self.context.cuts.get(id))),
            Partition::Replicated => None,
        });
        let call = HostCall {
            runtime: self.context.runtime,
            config: self.context.config,
            workers: self.context.workers,
            pool: self.context.pool,
            task: self.task,
            host,
            body,
            conversation,
            is_beside: false,
            found: AtomicUsize::new(0),
        };
        let outcome = call.run(&mut taken, cuts.collect(), |from| self.locate(from, inputs));
        self.found += call.found.into_inner();
        for (slot, partition, instance) in taken {
            self.frame.instances[slot as usize] = Some((partition, Residency::Plain(instance)));
        }
        outcome
    }

    fn take_outputs(&mut self) -> Vec<Taken> {
        let outputs = self.task.outputs.iter();
        let taken = outputs.filter_map(|output| {
            let (partition, held) = self.frame.instances[output.slot as usize].take()?;
            // New memory has no packed form.
            Some((output.slot, partition, held.plain()?.clone()))
        });
        taken.collect()
    }
}

/// A call of the function of a host task.
pub(super) struct HostCall<'a> {
    /// The number of the runtime.
    pub(super) runtime: u64,
    pub(super) config: &'a Config,
    pub(super) workers: &'a Workers,
    pub(super) pool: &'a Arc<Pool>,
    pub(super) task: &'a FusedTask,
    pub(super) host: &'a HostTask,
    pub(super) body: &'a Body,
    pub(super) conversation: Option<&'a Conversation<'a>>,
    /// Whether other tasks run at the same time, so that it has one thread or those that it said.
    pub(super) is_beside: bool,
    /// Bytes of the memory that the function has taken for what it finds.
    pub(super) found: AtomicUsize,
}

impl HostCall<'_> {
    /// Calls the function with what it writes, the cuts of its arguments (none where no argument is
    /// cut), and what it reads, each found once, in the order of the arguments.
    pub(super) fn run<'i>(
        &self,
        taken: &mut [Taken],
        cuts: Vec<Option<Arc<[usize]>>>,
        mut located: impl FnMut(From) -> &'i Instance,
    ) -> Result<(), Error> {
        let host_place = self.task.host.as_ref();
        let host_place = host_place.expect("the step of a host task says where it runs");
        let mut outputs = taken.iter_mut();
        let mut args = Vec::with_capacity(self.task.bindings.len());
        let mut elements = 0;
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let dtype = self.body.dtype(number);
            if let Some(block) = &host_place.blocks[number] {
                let instance = located(From::Slot(block.slot));
                args.push(match block.is_written {
                    false => HostArg::Block(dtype, instance, block.rows),
                    true => HostArg::BlockMut(dtype, Some(instance), block.rows),
                });
                continue;
            }
            if self.body.args()[number].privilege != Privilege::Read {
                let instance = outputs.next().map(|(.., instance)| instance);
                let instance = instance.and_then(Counted::get_mut);
                let instance = instance.expect("new memory has one owner");
                elements += instance.len();
                args.push(HostArg::Write(dtype, Some(instance)));
                continue;
            }
            let (from, start, len) = match binding {
                Binding::Array {
                    from,
                    offset,
                    layout,
                } => (*from, *offset, layout.len()),
                Binding::Whole { from, len } => (*from, 0, *len),
                _ => unreachable!("arguments of host tasks are rows or whole stores"),
            };
            // The rows of an empty piece may lie anywhere.
            let start = if len == 0 { 0 } else { start as usize };
            args.push(HostArg::Read(dtype, located(from), start..start + len));
        }
        let mut args = HostArgs {
            args,
            cuts,
            rows: host_place.rows.clone(),
            threads: self
                .host
                .threads
                .filter(|_| self.is_beside)
                .unwrap_or(self.config.threads),
            is_declared: self.host.threads.is_some(),
            parallel_threshold: self.config.parallel_threshold,
            workers: self.workers,
            pool: self.pool,
            found: &self.found,
            body: self.body,
            conversation: self.conversation,
        };
        let threads = match self.is_beside {
            true => self.host.threads.unwrap_or(1),
            false => self.workers.count(),
        };
        let function = self.host.variant(elements, threads, self.config);
        let call = || calling::within(&[self.runtime], || function(&mut args));
        let outcome = catch_unwind(AssertUnwindSafe(call));
        let outcome = outcome.unwrap_or_else(|panic| Err(panicked(&self.task.name, &*panic)));
        outcome.and_then(|()| args.check_written())
    }
}

/// The failure of a task whose function or kernel panicked.
pub(crate) fn panicked(task: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    ErrorKind::Panic {
        task: task.to_owned(),
        message: text.unwrap_or("no message").to_owned(),
    }
    .into()
}
