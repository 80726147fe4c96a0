//! Host tasks side by side: on one rank, neighbouring host tasks of a schedule run as soon as those
//! that they read from have ended, each on one of the rank's threads.
//!
//! Each writes stores that are new, so a task waits for those that write what it reads and for
//! nothing else. Of the tasks that could begin, the first in the order of the schedule begins; so one
//! thread alone goes through them in that order, as [`super::run`] does, and memory is given back
//! about as early: a store ends with the last task that uses it.
//!
//! A task whose function divides its work among the threads ([`crate::HostArgs::in_parts`], known of
//! its body from the first time on) runs by itself, and so does one that has no other beside it. One
//! that has a variant for one thread ([`crate::HostTask::serial`]) runs side by side with others where
//! they are enough for all threads.
//!
//! The protocol. All that tasks change together (the frame, counters, who waits for whom) is the
//! [`Board`], under one lock; a thread holds it while it begins or ends a task, and lets go of it
//! while the function runs, which has its arguments to itself: it reads instances by handles of its
//! own, and writes new ones, which it gives back. Whenever a task has ended, all who wait are woken
//! and look again.

use super::host::{HostCall, Taken};
use super::{Context, Frame, Running};
use crate::analysis::schedule::{FusedTask, Schedule};
use crate::analysis::window::Window;
use crate::error::{Error, ErrorKind};
use crate::images::residency::Residency;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::observe::counters::Counters;
use crate::observe::profile::{Profile, Run, TaskKind, Travel};
use sparsefuse_kernels::Workers;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The host tasks from this one on that may run side by side; fewer than two if there are none.
pub(super) fn section(schedule: &Schedule, first: usize, context: &Context<'_>) -> Range<usize> {
    if context.comm.size() > 1 || context.workers.count() == 1 || !context.machine.computes() {
        return first..first;
    }
    let is_alone = |task: &&FusedTask| {
        let is_cut = task.host.as_ref().is_none_or(|host| host.is_cut);
        !is_cut && task.fetches.is_empty()
    };
    let tasks = schedule.groups[first..].iter().take_while(is_alone);
    first..first + tasks.count()
}

/// Runs the tasks of a section.
pub(super) fn run(
    section: Range<usize>,
    (schedule, window): (&Schedule, &Window),
    frame: &mut Frame,
    context: &mut Context<'_>,
) {
    let mut order = Order::new(&schedule.groups[section.clone()]);
    loop {
        let mut ready = order.ready.iter().copied();
        let (Some(next), second) = (ready.next(), ready.next()) else {
            return;
        };
        let wants_all = wants_all_threads(
            (section.start + next, order.ready.len()),
            (schedule, window),
            context.workers,
        );
        if second.is_none() || wants_all {
            let mut running = Running {
                number: section.start + next,
                task: &schedule.groups[section.start + next],
                window,
                schedule,
                frame,
                context,
                travel: Travel::default(),
                awaits_halos: false,
            };
            running.run_host();
            order.begin(next);
            for slot in order.end(next) {
                frame.free(slot);
            }
            continue;
        }
        let at_once = order.ready.len();
        let board = Board {
            order,
            frame,
            pool: context.pool,
            counters: context.counters,
            profile: context.profile.as_deref_mut(),
        };
        let place = Place {
            first: section.start,
            at_once,
            schedule,
            window,
            runtime: context.runtime,
            config: context.config,
            workers: context.workers,
        };
        order = place.run(board);
    }
}

/// Whether a task, of this many that could run at once, divides its work among all threads: as its
/// function has done before, unless there is a variant that does not, and tasks for all threads.
fn wants_all_threads(
    (number, at_once): (usize, usize),
    (schedule, window): (&Schedule, &Window),
    workers: &Workers,
) -> bool {
    match has_serial(number, (schedule, window)) {
        true => at_once < workers.count(),
        false => body_of(number, schedule, window).divides(),
    }
}

/// Whether the function of a task has a variant for one thread.
fn has_serial(number: usize, (schedule, window): (&Schedule, &Window)) -> bool {
    let task = schedule.tasks[schedule.groups[number].group.tasks.start].number;
    window.host(task).is_some_and(|host| host.serial.is_some())
}

fn body_of<'w>(
    number: usize,
    schedule: &Schedule,
    window: &'w Window,
) -> &'w Arc<crate::tasks::body::Body> {
    let task = &schedule.groups[number];
    let number = schedule.tasks[task.group.tasks.start].number;
    window.body(&window.tasks[number])
}

/// Who waits for whom; tasks are numbered from the first of the section on.
struct Order {
    /// Tasks that have all that they read, and have not begun.
    ready: BTreeSet<usize>,
    /// How many tasks each one still waits for, and who waits for it.
    waits_for: Vec<usize>,
    followers: Vec<Vec<usize>>,
    /// The slots that each task uses, and of those that end in the section how many tasks use them.
    uses: Vec<Vec<u32>>,
    users: BTreeMap<u32, usize>,
}

impl Order {
    fn new(tasks: &[FusedTask]) -> Self {
        let mut order = Self {
            ready: BTreeSet::new(),
            waits_for: vec![0; tasks.len()],
            followers: vec![Vec::new(); tasks.len()],
            uses: Vec::with_capacity(tasks.len()),
            users: BTreeMap::new(),
        };
        let frees = tasks.iter().flat_map(|task| &task.frees);
        order.users.extend(frees.map(|&slot| (slot, 0)));
        let mut writers = BTreeMap::new();
        for (number, task) in tasks.iter().enumerate() {
            let mut before: Vec<usize> = task
                .reads
                .iter()
                .filter_map(|slot| writers.get(slot).copied())
                .collect();
            before.sort_unstable();
            before.dedup();
            for &writer in &before {
                order.followers[writer].push(number);
            }
            order.waits_for[number] = before.len();
            if before.is_empty() {
                order.ready.insert(number);
            }
            let mut uses = [&task.reads[..], &task.writes, &task.frees].concat();
            uses.sort_unstable();
            uses.dedup();
            for slot in &uses {
                if let Some(users) = order.users.get_mut(slot) {
                    *users += 1;
                }
            }
            order.uses.push(uses);
            writers.extend(task.writes.iter().map(|&slot| (slot, number)));
        }
        order
    }

    fn begin(&mut self, number: usize) {
        self.ready.remove(&number);
    }

    /// Makes those ready that waited for this task alone; the slots that nobody uses any more.
    fn end(&mut self, number: usize) -> Vec<u32> {
        for &follower in &self.followers[number] {
            self.waits_for[follower] -= 1;
            if self.waits_for[follower] == 0 {
                self.ready.insert(follower);
            }
        }
        let users = &mut self.users;
        let is_last = |slot: &u32| {
            let users = users.get_mut(slot);
            users.is_some_and(|users| {
                *users -= 1;
                *users == 0
            })
        };
        self.uses[number].iter().copied().filter(is_last).collect()
    }
}

/// What tasks that run side by side change.
struct Board<'a> {
    order: Order,
    frame: &'a mut Frame,
    pool: &'a Arc<Pool>,
    counters: &'a mut Counters,
    profile: Option<&'a mut Profile>,
}

/// What they share.
struct Place<'a> {
    first: usize,
    /// How many tasks could run at once when it began.
    at_once: usize,
    schedule: &'a Schedule,
    window: &'a Window,
    runtime: u64,
    config: &'a crate::config::Config,
    workers: &'a Workers,
}

/// A task that has begun: its own handles of what it reads, in the order of its bindings, and what it
/// writes.
struct Begun {
    number: usize,
    read: Vec<Counted<Instance>>,
    taken: Vec<Taken>,
    since: Option<Instant>,
}

/// What a thread does next.
enum Next {
    Call(Begun),
    Wait,
    Leave,
}

impl Place<'_> {
    /// Runs tasks until at most one is ready that could run, and none runs.
    fn run(&self, board: Board<'_>) -> Order {
        let board = Mutex::new((board, 0_usize));
        let changed = Condvar::new();
        self.workers.run(self.workers.count(), |_| {
            let mut guard = lock(&board);
            loop {
                match self.next(&mut guard) {
                    Next::Call(mut begun) => {
                        drop(guard);
                        let outcome = self.call(&mut begun);
                        guard = lock(&board);
                        guard.1 -= 1;
                        self.end(&mut guard.0, begun, outcome);
                        changed.notify_all();
                    }
                    Next::Wait => {
                        let woken = changed.wait(guard);
                        guard = woken.unwrap_or_else(PoisonError::into_inner);
                    }
                    Next::Leave => return,
                }
            }
        });
        let board = board.into_inner();
        board.unwrap_or_else(PoisonError::into_inner).0.order
    }

    /// Begins the first task that can begin; `running` counts those that have begun.
    fn next(&self, (board, running): &mut (Board<'_>, usize)) -> Next {
        loop {
            let ready = &board.order.ready;
            let (at_once, plan) = (self.at_once, (self.schedule, self.window));
            let able = ready.iter().copied().find(|&number| {
                !wants_all_threads((self.first + number, at_once), plan, self.workers)
            });
            let is_last = *running == 0 && ready.len() == 1;
            // One with a variant for one thread is able only where all are to take that.
            let is_alone = |&number: &usize| is_last && !has_serial(self.first + number, plan);
            let Some(number) = able.filter(|number| !is_alone(number)) else {
                return if *running > 0 {
                    Next::Wait
                } else {
                    Next::Leave
                };
            };
            match self.begin(board, number) {
                Ok(begun) => {
                    board.order.begin(number);
                    *running += 1;
                    return Next::Call(begun);
                }
                // Those that run give memory back.
                Err(cause) if *running > 0 && is_memory(&cause) => return Next::Wait,
                Err(cause) => {
                    board.order.begin(number);
                    self.end(board, self.nothing(number), Err(cause));
                }
            }
        }
    }

    fn task(&self, number: usize) -> &FusedTask {
        &self.schedule.groups[self.first + number]
    }

    /// A task that could not begin.
    fn nothing(&self, number: usize) -> Begun {
        Begun {
            number,
            read: Vec::new(),
            taken: Vec::new(),
            since: None,
        }
    }

    /// Takes what a task reads, and makes what it writes.
    fn begin(&self, board: &mut Board<'_>, number: usize) -> Result<Begun, Error> {
        let task = self.task(number);
        let mut begun = self.nothing(number);
        begun.since = board.profile.is_some().then(Instant::now);
        let mut failure = None;
        for &slot in &task.reads {
            // With one thread: the others may be at work.
            let plain = board.frame.plain(slot, self.window, &Workers::alone());
            failure = plain.err().or(failure);
        }
        if let Some(cause) = failure {
            return Err(cause);
        }
        for binding in &task.bindings {
            let slot = task.slot_of_host(binding);
            if !task.writes.contains(&slot) {
                begun.read.push(board.frame.instance(slot)?.clone());
            }
        }
        for output in &task.outputs {
            let size = self.schedule.slots[output.slot as usize].dtype.size();
            let memory = board.pool.allocate(output.len, size)?;
            let instance = Instance::new(memory, output.rows.clone(), output.len, size);
            let taken = (output.slot, output.partition, Counted::new(instance));
            begun.taken.push(taken);
        }
        Ok(begun)
    }

    /// Calls the function.
    fn call(&self, begun: &mut Begun) -> Result<(), Error> {
        let task = self.task(begun.number);
        let body = body_of(self.first + begun.number, self.schedule, self.window);
        let number = self.schedule.tasks[task.group.tasks.start].number;
        let host = self.window.host(number);
        let call = HostCall {
            runtime: self.runtime,
            config: self.config,
            workers: self.workers,
            task,
            host: host.expect("a host task is pushed with its function"),
            body,
            conversation: None,
            is_beside: true,
        };
        let mut read = begun.read.iter();
        let cuts = vec![None; task.bindings.len()];
        call.run(&mut begun.taken, cuts, |_| {
            read.next().expect("a task has begun with all it reads")
        })
    }

    /// Leaves what a task has made, or why it has not.
    fn end(&self, board: &mut Board<'_>, begun: Begun, outcome: Result<(), Error>) {
        let task = self.task(begun.number);
        let number = self.schedule.tasks[task.group.tasks.start].number;
        let host_bytes = self.window.host(number).map_or(0, |host| host.bytes);
        let bytes = (task.bytes + host_bytes) as u64;
        board.counters.host_tasks += 1;
        board.counters.bytes += bytes;
        if let (Some(profile), Some(since)) = (board.profile.as_deref_mut(), begun.since) {
            let travel = Travel::default();
            profile.record((&task.name, TaskKind::Host), since, Run { bytes, travel });
        }
        match outcome {
            Ok(()) => {
                for (slot, partition, instance) in begun.taken {
                    let held = Some((partition, Residency::Plain(instance)));
                    board.frame.instances[slot as usize] = held;
                }
            }
            Err(cause) => board.frame.fail(task, &cause),
        }
        for slot in board.order.end(begun.number) {
            board.frame.free(slot);
        }
    }
}

fn lock<T>(board: &Mutex<T>) -> MutexGuard<'_, T> {
    // Functions run outside of the lock, and their panics are caught.
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an error says that memory was refused.
fn is_memory(cause: &Error) -> bool {
    matches!(cause.kind(), ErrorKind::OutOfMemory { .. })
}
