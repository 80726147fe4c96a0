//! Execution: a schedule replayed on the stores of a window.
//!
//! [`run`] reads from top to bottom what happens to a fused task on one rank: fetch what other
//! ranks hold, look up the pieces of sparse matrices, allocate, compute (interior rows while ghosts
//! travel, then the others), reduce, free. What is reduced over the ranks is waited for by the first
//! task that uses it. A host task has no kernel, but a function that is called ([`host`]). A failure poisons what depends on it ([`failures`]); the rank goes on with
//! the schedule, so that no other rank waits for it.

mod compute;
mod failures;
mod frame;
pub(crate) mod host;
mod outputs;
mod planned;
mod reductions;

pub(crate) use self::frame::Frame;

use self::failures::Failure;
use crate::analysis::schedule::{Binding, From, FusedTask, Schedule};
use crate::analysis::window::Window;
use crate::comm::Comm;
use crate::config::{Config, Executor};
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::images::pack::Pack;
use crate::images::packed::{Evicted, PackedColumns, PackedEntries};
use crate::images::piece::{Inspect, Piece, PieceKey};
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::observe::counters::Counters;
use crate::observe::plan::PlannedTask;
use crate::observe::profile::{Profile, Run, TaskKind, Travel};
use crate::shape::Shape;
use crate::stores::store::Contents;
use crate::tasks::body::Access;
use sparsefuse_kernels::workers::Workers;
use std::sync::Arc;
use std::time::Instant;

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
    /// What is planned, where nothing is run.
    pub(crate) plan: Option<&'a mut Vec<PlannedTask>>,
}

/// Runs a schedule on the stores of a window.
pub(crate) fn run(
    schedule: &Schedule,
    window: &Window,
    frame: &mut Frame,
    context: &mut Context<'_>,
) {
    frame.load(window);
    for (number, task) in schedule.groups.iter().enumerate() {
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
        };
        match task.host {
            None => running.run(),
            Some(_) => running.run_host(),
        }
        // At the end of the window at the latest, when all reductions have been waited for.
        let is_reduced = task.reductions.iter().any(|reduction| reduction.is_partial);
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
struct Running<'a, 'c> {
    /// The number of the task in the schedule.
    number: usize,
    task: &'a FusedTask,
    window: &'a Window,
    schedule: &'a Schedule,
    frame: &'a mut Frame,
    context: &'a mut Context<'c>,
    /// The time of messages, if there is a profile.
    travel: Travel,
}

/// What a task reads besides the instances of its stores; kept between tasks, empty, for the memory
/// of its lists.
#[derive(Debug, Default)]
struct Inputs {
    /// What other ranks have sent, by the task's number of the fetch.
    fetched: Vec<Option<Instance>>,
    /// The pieces of its sparse products that could be had.
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
        self.fetch(&mut inputs, &mut failures);
        self.find_pieces(&mut inputs, &mut failures);
        let is_planned = self.context.plan.is_some();
        let ghosts = match self.task.program {
            Some(_) if !is_planned => self.take_halos(&inputs, &mut failures),
            Some(_) | None => Vec::new(),
        };
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
        let outcome = match whole.program {
            _ if is_planned && runs => running.note(&inputs),
            Some(_) if !is_planned => running.compute(runs, &inputs, ghosts, &mut failures),
            Some(_) | None => Ok(()),
        };
        self.travel = running.travel;
        if let Err(cause) = outcome {
            self.frame.fail(whole, &cause);
        } else if failures.len() > known {
            self.poison_dependents(&failures);
        }
        if whole.program.is_some() && !is_planned {
            let reduced = self.reduce(part.as_ref().unwrap_or(whole));
            if let Err(cause) = reduced {
                self.frame.fail(whole, &cause);
            }
        }
        self.count(self.task.bytes + self.matrix_bytes(&inputs), begin);
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
        }
    }

    /// Makes sure that what the task reads is there, be it packed where that is enough.
    fn materialise(&mut self, failures: &mut Vec<Failure>) {
        for &slot in &self.task.reads {
            let is_enough =
                self.frame.evicted(slot).is_some() && self.task.only_multiplied.contains(&slot);
            if is_enough {
                continue;
            }
            let plain = self.frame.plain(slot, self.window, self.context.workers);
            failures.extend(plain.err().map(|cause| Failure::of(slot, cause)));
        }
    }

    /// What the task needs of other ranks' parts.
    fn fetch(&mut self, inputs: &mut Inputs, failures: &mut Vec<Failure>) {
        for fetch in &self.task.fetches {
            let source = self.frame.instance(fetch.slot).map(|instance| &**instance);
            let Context { comm, pool, .. } = *self.context;
            let instance = match self.context.plan {
                Some(_) => fetch.make_room(pool),
                None => fetch.run(comm, pool, source),
            };
            self.context.counters.messages += fetch.messages() as u64;
            self.context.counters.bytes_sent += fetch.bytes_sent() as u64;
            let fetched = instance.map_err(|cause| failures.push(Failure::of(fetch.slot, cause)));
            inputs.fetched.push(fetched.ok());
        }
    }

    /// The pieces of the task's sparse products. One that could not be had is had on no rank.
    fn find_pieces(&mut self, inputs: &mut Inputs, failures: &mut Vec<Failure>) {
        for number in 0..self.task.pieces.len() {
            let piece = self.piece(number).map_err(|cause| {
                let crd = self.task.pieces[number].crd;
                failures.push(Failure::of_product(crd, Access::Entries, cause));
            });
            inputs.pieces.push(piece.ok());
        }
    }

    /// All that is needed before the kernel runs, on this rank alone. If something is missing, the
    /// outputs have no memory either: a part of the task places them anew.
    fn prepare(&mut self, inputs: &mut Inputs) -> Result<(), Failure> {
        inputs.packed.clear();
        let found = self.find_packed(inputs);
        let prepared = found
            .and_then(|()| self.allocate())
            .and_then(|()| self.check_entries(inputs));
        if prepared.is_err() {
            for output in &self.task.outputs {
                self.frame.instances[output.slot as usize] = None;
            }
        }
        prepared
    }

    /// Every product has a value for each entry of its piece on this rank. That a store of values
    /// is as long as that of the columns does not say so: a rank may hold more of its columns than
    /// its part.
    fn check_entries(&self, inputs: &Inputs) -> Result<(), Failure> {
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            let needed = &inputs.piece(piece).entries;
            if inputs.packed_at(number).is_some() || needed.is_empty() {
                continue;
            }
            let values = self.locate(from, inputs);
            let held = values.rows.start..values.rows.start + values.len();
            if held.start > needed.start || held.end < needed.end {
                let expected = format!("values of the entries {needed:?}");
                let cause = Error::argument("spmv", expected, format!("{held:?}"));
                let slot = self.task.slot(from);
                return Err(Failure::of_product(slot, Access::Entries, cause));
            }
        }
        Ok(())
    }

    /// The piece that a product needs: the one kept with its `crd`, or a new one. All ranks keep
    /// the same ones, so all of them build one or none does; who lacks the columns takes part.
    fn piece(&mut self, number: usize) -> Result<Arc<Piece>, Error> {
        let spec = self.task.pieces[number];
        let pos = self.frame.instance(spec.pos).cloned();
        let launch = self.task.group.launch;
        let key = PieceKey {
            pos: pos.as_ref().map_or(0, |pos| pos.data() as usize),
            launch,
            x_partition: spec.x_partition,
            x_len: self.schedule.slots[spec.x as usize].shape.rows(),
        };
        let store = &self.window.stores[spec.crd as usize];
        if let Some(piece) = store.piece(&key) {
            return Ok(piece);
        }
        let crd = self
            .frame
            .plain(spec.crd, self.window, self.context.workers)
            .cloned();
        let n_rows = self.schedule.slots[spec.pos as usize].shape.rows() - 1;
        let Context {
            comm, cuts, pool, ..
        } = *self.context;
        let rows = cuts.rows(launch, Shape::new(&[n_rows]), comm.rank());
        let piece = Piece::build(&Inspect {
            key,
            rows,
            pos: &pos,
            crd: &crd,
            comm,
            cuts,
            pool,
        })?;
        let piece = Arc::new(piece);
        store.keep_piece(Arc::clone(&piece));
        Ok(piece)
    }

    /// The packed forms of the entries that have such; the others get what they need of the plain
    /// ones.
    fn find_packed(&mut self, inputs: &mut Inputs) -> Result<(), Failure> {
        let blame = |slot| move |cause| Failure::of_product(slot, Access::Entries, cause);
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            let packed = match from {
                // Products with matrices read the plain form.
                _ if self.task.pieces[piece].width != 1 => None,
                // Values that the task itself computes are not there yet.
                From::Slot(slot) if !self.task.writes.contains(&slot) => {
                    let packed = self.packed_entries(slot, (piece, inputs.piece(piece)));
                    packed.map_err(blame(slot))?
                }
                From::Slot(_) | From::Fetched(_) => None,
            };
            if let Some(packed) = packed {
                inputs.packed.push((number, packed));
            }
        }
        // Only now, since another matrix of the same structure may have given columns up, and another
        // product of this task the values.
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            if inputs.packed_at(number).is_none() {
                let columns = inputs
                    .piece(piece)
                    .materialise_columns(self.context.workers);
                columns.map_err(blame(self.task.pieces[piece].crd))?;
                if let From::Slot(slot) = from
                    && self.frame.evicted(slot).is_some()
                {
                    let plain = self.frame.plain(slot, self.window, self.context.workers);
                    plain.map_err(blame(slot))?;
                }
            }
        }
        Ok(())
    }

    fn packed_entries(
        &mut self,
        slot: u32,
        (number, piece): (usize, &Piece),
    ) -> Result<Option<Arc<PackedEntries>>, Error> {
        let Config {
            executor,
            pack_after,
            ..
        } = *self.context.config;
        match self.frame.evicted(slot) {
            Some(Evicted::Values(entries)) if piece.has_packed(&entries.columns) => {
                return Ok(Some(Arc::clone(entries)));
            }
            Some(_) | None => {}
        }
        let entries = self.frame.plain(slot, self.window, self.context.workers)?;
        if executor == Executor::Reference {
            return Ok(None);
        }
        let pack = Pack {
            piece,
            entries,
            dtype: self.schedule.slots[slot as usize].dtype,
            pool: self.context.pool,
            workers: self.context.workers,
            after: pack_after,
        };
        // On several ranks the plain arrays stay: whether there is memory to materialise them may
        // differ from rank to rank.
        let is_alone = self.context.comm.size() == 1;
        let is_whole = is_alone && entries.len() == piece.entries.len();
        let store = &self.window.stores[slot as usize];
        let packed = store.with_packing(|packing| pack.entries(packing));
        Ok(packed.map(|(packed, is_new)| {
            if is_new {
                let columns = piece.evict_columns();
                if is_alone {
                    let crd = self.task.pieces[number].crd;
                    self.evict_columns(crd, columns, &packed.columns);
                }
                if is_whole && self.task.only_multiplied.contains(&slot) {
                    let for_it = Evicted::Values(Arc::clone(&packed));
                    self.frame.evict(slot, for_it, self.window);
                }
            }
            packed
        }))
    }

    /// Gives the columns of a matrix up, if they are the local ones of the piece.
    fn evict_columns(
        &mut self,
        slot: u32,
        local: Option<Counted<Instance>>,
        packed: &Arc<PackedColumns>,
    ) {
        let is_same = match (self.frame.instance(slot), local) {
            (Ok(columns), Some(local)) => {
                columns.ptr_eq(&local) && columns.len() == packed.entries().len()
            }
            (Ok(_) | Err(_), _) => false,
        };
        if is_same && self.task.only_multiplied.contains(&slot) {
            let for_it = Evicted::Columns(Arc::clone(packed));
            self.frame.evict(slot, for_it, self.window);
        }
    }

    /// The time now, if there is a profile.
    fn now(&self) -> Option<Instant> {
        self.context.profile.is_some().then(Instant::now)
    }

    /// The bytes that the task reads of sparse matrices.
    fn matrix_bytes(&self, inputs: &Inputs) -> usize {
        let mut bytes = 0;
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { piece, .. } = *binding else {
                continue;
            };
            let packed = inputs.packed_at(number);
            let plain = || {
                let size = self.task.entry_size(piece);
                let piece = inputs.pieces[piece].as_ref();
                piece.map_or(0, |piece| piece.bytes() + piece.entries.len() * size)
            };
            bytes += packed.map_or_else(plain, |packed| packed.summary.bytes);
        }
        bytes
    }

    fn count(&mut self, bytes: usize, begin: Option<Instant>) {
        let bytes = bytes as u64;
        self.context.counters.bytes += bytes;
        if let (Some(profile), Some(begin)) = (self.context.profile.as_deref_mut(), begin) {
            let travel = self.travel;
            let kind = match self.task.host {
                None => TaskKind::Fused,
                Some(_) => TaskKind::Host,
            };
            profile.record((&self.task.name, kind), begin, Run { bytes, travel });
        }
    }
}
