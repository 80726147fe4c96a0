//! Execution: a schedule replayed on the stores of a window.
//!
//! `Running::run` reads from top to bottom what happens to a fused task on one rank: fetch what
//! other ranks hold ([`exchanging`]), look up the pieces of structures ([`structures`]), allocate,
//! compute (interior rows while ghosts travel, then the others), reduce, free. What is reduced over
//! the ranks is waited for by the first task that uses it. A host task has no kernel, but a
//! function that is called ([`host`]). A failure poisons what depends on it ([`failures`]); the
//! rank goes on with the schedule, so that no other rank waits for it.

pub(crate) mod ahead;
mod beside;
pub(crate) mod compute;
mod crew;
mod device;
pub(crate) mod engine;
mod exchanging;
mod failures;
mod frame;
pub(crate) mod host;
mod order;
mod outputs;
pub(crate) mod planned;
mod reductions;
mod structures;

use self::compute::Ghosts;
use self::failures::Failure;
use self::frame::Frame;
use crate::analysis::schedule::{FusedTask, Schedule};
use crate::analysis::window::Window;
use crate::comm::Comm;
use crate::config::Config;
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::images::packed::PackedEntries;
use crate::images::piece::Piece;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::observe::counters::Counters;
use crate::observe::plan::PlannedTask;
use crate::observe::profile::{Profile, Run, TaskKind, Travel};
use crate::stores::store::Contents;
use crate::tasks::body::Body;
use crate::tasks::host::HostTask;
use sparsefuse_kernels::workers::Workers;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// What is done with a task whose inputs are there. Everything before and after is the same whether
/// tasks run ([`compute::Runs`]) or are planned, on a rank whose neighbours are not there
/// ([`planned::Plans`]).
pub(crate) trait Machine: fmt::Debug + Sync {
    /// The ghosts that arrive while the task runs.
    fn take_ghosts(
        &self,
        running: &Running<'_, '_>,
        inputs: &Inputs,
        failures: &mut Vec<Failure>,
    ) -> Vec<Ghosts>;

    /// The kernel, if the task can run, and the messages meanwhile.
    fn compute(
        &self,
        running: &mut Running<'_, '_>,
        can_run: bool,
        inputs: &Inputs,
        ghosts: Vec<Ghosts>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), Error>;

    /// What the task reduces, of which `ran` is the part that has run.
    fn reduce(&self, running: &mut Running<'_, '_>, ran: &FusedTask) -> Result<(), Error>;

    /// The function of a host task, if this rank is ready to call it.
    fn call(
        &self,
        running: &mut Running<'_, '_>,
        ready: Result<(), Error>,
        task: (&HostTask, &Body),
        inputs: &Inputs,
    ) -> Result<(), Error>;

    /// Whether results are numbers.
    fn computes(&self) -> bool;
}

/// What execution needs of the runtime.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The number of the runtime.
    pub(crate) runtime: u64,
    pub(crate) config: &'a Config,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) comm: &'a dyn Comm,
    pub(crate) cuts: &'a CutsTable,
    pub(crate) workers: &'a Workers,
    pub(crate) profile: Option<&'a mut Profile>,
    pub(crate) counters: &'a mut Counters,
    pub(crate) machine: &'static dyn Machine,
    /// What a machine that plans has noted.
    pub(crate) plan: &'a mut Vec<PlannedTask>,
}

/// Runs a schedule on the stores of a window.
fn run(schedule: &Schedule, window: &Window, frame: &mut Frame, context: &mut Context<'_>) {
    frame.load(window, schedule.slots.len());
    let mut next = 0;
    while let Some(task) = schedule.fused.get(next) {
        if task.host.is_some()
            && let Some(graph) = beside::graph(schedule, next, context)
        {
            next = graph.tasks.end;
            beside::run(graph, (schedule, window), frame, context);
            continue;
        }
        let number = next;
        next += 1;
        // On every rank, also where the task is going to fail: what all ranks derive is the same.
        for &slot in &task.writes {
            window.stores[slot as usize].forget_derived();
        }
        let uses = |slot: &u32| task.reads.contains(slot) || task.writes.contains(slot);
        let place = (schedule, window);
        reductions::finish(place, frame, context, uses);
        let mut running = Running {
            number,
            task,
            window,
            schedule,
            frame,
            context,
            travel: Travel::default(),
            found: 0,
            awaits_halos: false,
        };
        match task.host {
            None => running.run(),
            Some(_) => running.run_host(),
        }
        // At the end of the window at the latest, when all reductions have been waited for.
        let is_reduced = task
            .reductions
            .iter()
            .any(|reduction| reduction.is_partial());
        let is_agreed = is_reduced || task.is_cut_host();
        for &slot in &task.writes {
            window.stores[slot as usize].set_agreed(is_agreed);
        }
        reductions::finish(place, frame, context, |slot| task.frees.contains(slot));
        for &slot in &task.frees {
            frame.free(slot);
        }
    }
    reductions::finish((schedule, window), frame, context, |_| true);
    frame.store(window, schedule, context.cuts, context.comm.rank());
}

/// Poisons whatever a window would have written, in place of running it.
pub(crate) fn poison(window: &Window, cause: &Error) {
    for task in &window.tasks {
        let args = &window.args[task.args.start as usize..task.args.end as usize];
        for (declared, arg) in window.body(task).args().iter().zip(args) {
            if declared.is_written() {
                let partition = window.initial[arg.slot as usize].unwrap_or(Partition::Replicated);
                let store = &window.stores[arg.slot as usize];
                store.replace(Contents::Poisoned(partition, cause.clone()));
            }
        }
    }
}

/// One fused task that is being run.
pub(crate) struct Running<'a, 'c> {
    /// The number of the task in the schedule.
    number: usize,
    task: &'a FusedTask,
    window: &'a Window,
    schedule: &'a Schedule,
    frame: &'a mut Frame,
    context: &'a mut Context<'c>,
    /// The time of messages, if there is a profile.
    travel: Travel,
    /// Bytes of the memory that the function of a host task has taken for what it finds.
    found: usize,
    /// Whether halos are on their way: they are waited for when the interior rows have been run.
    awaits_halos: bool,
}

/// What a task reads besides the instances of its stores; kept between tasks, empty, for the memory
/// of its lists.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// What other ranks have sent, by the task's number of the fetch.
    fetched: Vec<Option<Instance>>,
    /// The pieces of its structures that could be had.
    pieces: Vec<Option<Arc<Piece>>>,
    /// The packed form of a piece's entries, by the number of the binding.
    packed: Vec<(usize, Arc<PackedEntries>)>,
}

impl Inputs {
    /// The packed form of the entries of a binding.
    fn packed_at(&self, binding: usize) -> Option<&PackedEntries> {
        let mut all = self.packed.iter();
        let found = all.find(|(of, _)| *of == binding);
        found.map(|(_, packed)| &**packed)
    }

    /// A piece that the task can run with.
    fn piece(&self, number: usize) -> &Arc<Piece> {
        let piece = self.pieces[number].as_ref();
        piece.expect("tasks whose pieces are missing do not run")
    }

    /// Lets go of everything but the memory of the lists.
    fn clear(&mut self) {
        self.fetched.clear();
        self.pieces.clear();
        self.packed.clear();
    }
}

impl<'c> Running<'_, 'c> {
    /// Every rank goes through all steps that talk to others, also when its own have failed.
    fn run(&mut self) {
        self.context.counters.fused_tasks += u64::from(self.task.program.is_some());
        let begin = self.now();
        let mut failures = Vec::new();
        let mut inputs = std::mem::take(&mut self.frame.inputs);
        self.materialise(&mut failures);
        self.exchange(&mut inputs, &mut failures);
        self.find_pieces(&mut inputs, &mut failures);
        self.check_tiles(&mut failures);
        self.check_targets(&mut failures);
        let machine = self.context.machine;
        let ghosts = machine.take_ghosts(self, &inputs, &mut failures);
        if failures.is_empty() {
            failures.extend(self.prepare(&mut inputs).err());
        }
        let part = match failures.is_empty() {
            true => None,
            false => self.spare(&mut inputs, &mut failures),
        };
        let runs = part.is_some() || failures.is_empty();
        let (whole, known) = (self.task, failures.len());
        let mut running = self.instead(part.as_ref().unwrap_or(whole));
        let outcome = machine.compute(&mut running, runs, &inputs, ghosts, &mut failures);
        self.travel = running.travel;
        let has_run = runs && part.is_none() && outcome.is_ok();
        self.frame.replace(&whole.versions, has_run);
        if let Err(cause) = outcome {
            self.frame.fail(whole, &cause);
        } else if failures.len() > known {
            self.poison_dependents(&failures);
        }
        let reduced = machine.reduce(self, part.as_ref().unwrap_or(whole));
        self.frame.free_partials();
        if let Err(cause) = reduced {
            self.frame.fail(whole, &cause);
        }
        self.count(self.task.bytes + self.structure_bytes(&inputs), begin);
        inputs.clear();
        self.frame.inputs = inputs;
    }

    /// Another task in the place of this one.
    fn instead<'t>(&'t mut self, task: &'t FusedTask) -> Running<'t, 'c> {
        Running {
            number: self.number,
            task,
            window: self.window,
            schedule: self.schedule,
            frame: self.frame,
            context: self.context,
            travel: Travel::default(),
            found: 0,
            awaits_halos: self.awaits_halos,
        }
    }

    /// A task that reduces runs where pieces begin at tiles, unless a structure, or a store that it
    /// writes in place, is cut otherwise.
    fn check_tiles(&self, failures: &mut Vec<Failure>) {
        for reduction in &self.task.reductions {
            let Partition::Tile(launch) = reduction.launch else {
                continue;
            };
            let tiles = self.task.extents[reduction.domain as usize].tiles;
            if self.context.cuts.begins_at(launch, tiles) {
                continue;
            }
            let grain = tiles.grain();
            let cuts = self.context.cuts.get(launch).iter();
            let cut = cuts.copied().find(|cut| cut % grain != 0);
            let expected = format!("rows to reduce that are cut at multiples of {grain}");
            let found = format!("a cut at row {}", cut.unwrap_or_default());
            let cause = Error::argument("reduce", expected, found);
            failures.push(Failure::of(reduction.slot, cause));
        }
    }

    /// What a task writes is cut as it runs; tasks that only write, and read nothing of it, are
    /// made so when they are issued.
    fn check_targets(&self, failures: &mut Vec<Failure>) {
        for &slot in &self.task.misplaced {
            let expected = "a store to update that is cut as the rows of the task: those of its \
                            structure, else of the first store that it writes in place";
            let found = "one that is cut in another way on these ranks";
            let cause = Error::argument("submit", expected, found);
            failures.push(Failure::written(slot, cause));
        }
    }

    /// All that is needed before the kernel runs, on this rank alone. If something is missing, the
    /// outputs have no memory either: a part of the task places them anew.
    fn prepare(&mut self, inputs: &mut Inputs) -> Result<(), Failure> {
        inputs.packed.clear();
        let prepared = match self.task.pieces.is_empty() {
            true => self.allocate(),
            false => self
                .find_packed(inputs)
                .and_then(|()| self.allocate())
                .and_then(|()| self.check_entries(inputs)),
        };
        let prepared = prepared.and_then(|()| self.make_partials());
        if prepared.is_err() {
            for output in &self.task.outputs {
                self.frame.instances[output.slot as usize] = None;
            }
        }
        prepared
    }

    /// The time now, if there is a profile.
    fn now(&self) -> Option<Instant> {
        self.context.profile.is_some().then(Instant::now)
    }

    fn count(&mut self, bytes: usize, begin: Option<Instant>) {
        let bytes = bytes as u64;
        let counters = &mut self.context.counters;
        // Of host tasks the program says how many.
        counters.bytes = counters.bytes.saturating_add(bytes);
        if let (Some(profile), Some(begin)) = (self.context.profile.as_deref_mut(), begin) {
            let travel = self.travel;
            let kind = match self.task.host {
                None => TaskKind::Fused,
                Some(_) => TaskKind::Host,
            };
            let region = self
                .schedule
                .regions(&self.task.group, &self.window.regions);
            let task = (&*region, &*self.task.name, kind);
            profile.record(task, begin, Run { bytes, travel });
        }
    }
}
