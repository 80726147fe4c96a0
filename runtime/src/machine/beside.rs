//! Host tasks side by side: on one rank, a run of host tasks of a schedule runs as the graph that
//! it is ([`Graph`]), each task on one of the rank's threads as soon as those that it waits for
//! have ended.
//!
//! Of the tasks that could begin, the first in the order of the schedule begins; so one thread
//! alone goes through them in that order, as [`super::run`] does, and memory is given back about as
//! early: a store ends with the last task that uses it.
//!
//! A task whose function divides its work among the threads ([`crate::HostArgs::in_parts`], known
//! of its body from the first time on) runs by itself, and so does one that has no other beside it.
//! One that has a variant for one thread ([`crate::HostTask::serial`]) runs side by side with
//! others where they are enough for all threads.
//!
//! A task that says how many threads it needs ([`crate::HostTask::threads`]) has this many: the
//! thread that takes it leads a team ([`Workers::team`]), which others join until its function has
//! ended. It begins when they are free, and no later task begins before it; the same holds for the
//! bytes that a function takes for itself. So tasks that wait for threads or memory begin in the
//! order of the schedule, and those that run give back what they wait for.
//!
//! Blocks of a store are written in place by several tasks at the same time. So a store that the
//! program still reads is copied before any of them begins, and a task that fails mars its block
//! and no other.
//!
//! The protocol. All that tasks change together (the frame, counters, who waits for whom) is the
//! [`Board`], under one lock; a thread holds it while it begins or ends a task, and lets go of it
//! while the function runs, which has its arguments to itself: it reads instances by handles of its
//! own, and writes new ones, which it gives back, or blocks that no task uses meanwhile. A thread
//! that finds nothing to begin sleeps; [`Crew`] says who wakes it. Where the last tasks were short,
//! a thread takes several together, which counts as one to the crew: at most its share of those
//! that are ready, so that others find as many.
//!
//! [`HostArgs::in_parts`]: crate::HostArgs::in_parts

use super::crew::{Crew, Wake};
use super::host::{HostCall, Taken};
use super::order::Order;
use super::{Context, Frame, Running};
use crate::analysis::graph::Graph;
use crate::analysis::schedule::{FusedTask, Schedule};
use crate::analysis::window::Window;
use crate::error::{Error, ErrorKind};
use crate::images::residency::Residency;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::{Pool, Reserved};
use crate::observe::counters::Counters;
use crate::observe::profile::{Profile, Run, TaskKind, Travel};
use crate::tasks::body::Body;
use sparsefuse_kernels::Workers;
use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most tasks that a thread takes together.
const MOST_AT_ONCE: usize = 8;
/// A task that takes less than this is short: getting the lock may take as long.
const QUICK: Duration = Duration::from_micros(2);

/// The graph that begins with this task, if its tasks may run side by side.
pub(super) fn graph<'s>(
    schedule: &'s Schedule,
    first: usize,
    context: &Context<'_>,
) -> Option<&'s Graph> {
    let graphs = &schedule.graphs;
    let place = graphs.binary_search_by_key(&first, |graph| graph.tasks.start);
    let graph = &graphs[place.ok()?];
    (context.workers.count() > 1 && context.machine.computes()).then_some(graph)
}

/// Runs the tasks of a graph.
pub(super) fn run(
    graph: &Graph,
    (schedule, window): (&Schedule, &Window),
    frame: &mut Frame,
    context: &mut Context<'_>,
) {
    let first = graph.tasks.start;
    let plan = (schedule, window);
    let mut order = Order::new(graph);
    let refused = own(graph, window, frame, context);
    let workers = context.workers;
    // In the order of the schedule memory is given back early; side by side, all of it may be
    // needed at the same time, and a task that has begun cannot be taken back.
    let made = schedule.made_bytes(graph.tasks.clone());
    let made = made.saturating_add(window.most_scratch());
    let is_tight = !refused.is_empty() || !context.pool.has_room(made);
    let is_alone = |number: usize, at_once| {
        is_tight || wants_all_threads((first + number, at_once), plan, workers)
    };
    while let Some(alone) = order.alone(is_alone) {
        if let Some(number) = alone {
            let mut running = Running {
                number: first + number,
                task: &schedule.fused[first + number],
                window,
                schedule,
                frame,
                context,
                travel: Travel::default(),
                found: 0,
                awaits_halos: false,
            };
            running.run_host();
            order.begin(number);
            order.end(number, |slot| frame.free(slot));
            continue;
        }
        let at_once = order.ready.len();
        let board = Board {
            order,
            frame,
            counters: context.counters,
            profile: context.profile.as_deref_mut(),
            crew: Crew::default(),
            teams: Vec::new(),
            is_quick: false,
        };
        let shared = Shared {
            first,
            at_once,
            schedule,
            window,
            refused: &refused,
            runtime: context.runtime,
            config: context.config,
            workers: context.workers,
            pool: context.pool,
            alone: Workers::alone(),
        };
        order = shared.run(board);
    }
}

/// Whether a task, of this many that could run at once, divides its work among all threads: as its
/// function has done before, unless there is a variant that does not, and tasks for all threads.
fn wants_all_threads(
    (number, at_once): (usize, usize),
    (schedule, window): (&Schedule, &Window),
    workers: &Workers,
) -> bool {
    if threads_of(number, (schedule, window)).is_some() {
        return false;
    }
    match has_serial(number, (schedule, window)) {
        true => at_once < workers.count(),
        false => body_of(number, schedule, window).divides(),
    }
}

/// How many threads a task said that it needs.
fn threads_of(number: usize, (schedule, window): (&Schedule, &Window)) -> Option<usize> {
    let task = schedule.tasks[schedule.fused[number].group.tasks.start].number;
    window.host(task).and_then(|host| host.threads)
}

/// Whether the function of a task has a variant for one thread.
fn has_serial(number: usize, (schedule, window): (&Schedule, &Window)) -> bool {
    let task = schedule.tasks[schedule.fused[number].group.tasks.start].number;
    window.host(task).is_some_and(|host| host.serial.is_some())
}

/// Makes sure that stores of which tasks write blocks are read by no one else, before any of these
/// tasks begins; those of which there is no memory for a copy.
fn own(
    graph: &Graph,
    window: &Window,
    frame: &mut Frame,
    context: &Context<'_>,
) -> BTreeMap<u32, Error> {
    let mut refused = BTreeMap::new();
    for &slot in &graph.in_place {
        window.stores[slot as usize].forget_derived();
        let plain = frame.materialise(slot, window, context.workers);
        let owned = plain.and_then(|()| frame.make_unique(slot, window, context));
        refused.extend(owned.err().map(|cause| (slot, cause)));
    }
    refused
}

fn body_of<'w>(number: usize, schedule: &Schedule, window: &'w Window) -> &'w Arc<Body> {
    let task = &schedule.fused[number];
    let number = schedule.tasks[task.group.tasks.start].number;
    window.body(&window.tasks[number])
}

/// What tasks that run side by side change.
struct Board<'g, 'a> {
    order: Order<'g>,
    frame: &'a mut Frame,
    counters: &'a mut Counters,
    profile: Option<&'a mut Profile>,
    crew: Crew,
    /// Teams that threads may join, each as often as it has places left.
    teams: Vec<Arc<Workers>>,
    /// Whether the tasks that have ended last were short.
    is_quick: bool,
}

impl Board<'_, '_> {
    /// How many tasks a thread takes together: one, but where tasks are short its share of those
    /// that are ready, so that it asks for the lock less often. With a profile each task is timed
    /// by itself.
    fn share(&self, threads: usize) -> usize {
        match self.is_quick && self.profile.is_none() {
            true => (self.order.ready.len() / threads).clamp(1, MOST_AT_ONCE),
            false => 1,
        }
    }
}

/// What they share.
struct Shared<'a> {
    first: usize,
    /// How many tasks could run at once when it began.
    at_once: usize,
    schedule: &'a Schedule,
    window: &'a Window,
    /// Slots that cannot be written in place, and why.
    refused: &'a BTreeMap<u32, Error>,
    runtime: u64,
    config: &'a crate::config::Config,
    workers: &'a Workers,
    pool: &'a Arc<Pool>,
    /// For what a task needs before it begins, while the others may be at work.
    alone: Workers,
}

/// A task that has begun: its own handles of what it reads, in the order of its bindings, and what
/// it writes.
struct Begun {
    number: usize,
    read: Vec<Counted<Instance>>,
    taken: Vec<Taken>,
    /// Bytes of the memory that the function has taken for what it finds.
    found: usize,
    /// The threads of a task that said how many it needs.
    team: Option<Arc<Workers>>,
    /// What its function takes for itself.
    scratch: Option<Reserved>,
    since: Option<Instant>,
}

/// A team, which is dismissed when this ends.
struct Dismissed<'a>(&'a Workers);

impl Drop for Dismissed<'_> {
    fn drop(&mut self) {
        self.0.dismiss();
    }
}

/// What a thread does next.
enum Next {
    Call,
    /// Joins a team.
    Join(Arc<Workers>),
    Wait,
    Leave,
}

impl Shared<'_> {
    /// Runs tasks until at most one is ready that could run, and none runs.
    fn run<'g>(&self, board: Board<'g, '_>) -> Order<'g> {
        let board = Mutex::new(board);
        let changed = Condvar::new();
        self.workers.run(self.workers.count(), |_| {
            let (mut begun, mut outcomes) = (Vec::new(), Vec::new());
            let mut guard = lock(&board);
            loop {
                match self.next(&mut guard, &mut begun) {
                    Next::Call => {
                        let is_left = !guard.order.ready.is_empty();
                        // One that needs several is taken alone.
                        let team: Option<Arc<Workers>> = begun[0].team.clone();
                        let threads = team.as_ref().map_or(1, |team| team.count());
                        wake(&changed, guard.crew.take(threads, is_left));
                        drop(guard);
                        let since = Instant::now();
                        outcomes.extend(begun.iter_mut().map(|begun| self.call(begun)));
                        let is_quick = since.elapsed() < QUICK * begun.len() as u32;
                        guard = lock(&board);
                        guard.is_quick = is_quick;
                        for (begun, outcome) in begun.drain(..).zip(outcomes.drain(..)) {
                            self.end(&mut guard, begun, outcome);
                        }
                        if let Some(team) = team {
                            guard.teams.retain(|other| !Arc::ptr_eq(&team, other));
                        }
                        wake(&changed, guard.crew.give_back(threads));
                    }
                    Next::Join(team) => {
                        drop(guard);
                        team.join();
                        guard = lock(&board);
                    }
                    Next::Wait => {
                        guard.crew.sleep();
                        let woken = changed.wait(guard);
                        guard = woken.unwrap_or_else(PoisonError::into_inner);
                        guard.crew.wake();
                    }
                    Next::Leave => {
                        wake(&changed, Wake::All);
                        return;
                    }
                }
            }
        });
        let board = board.into_inner();
        board.unwrap_or_else(PoisonError::into_inner).order
    }

    /// Begins the first tasks that can begin, as many as a thread takes together.
    fn next(&self, board: &mut Board<'_, '_>, begun: &mut Vec<Begun>) -> Next {
        let share = board.share(self.workers.count());
        if let Some(team) = board.teams.pop() {
            return Next::Join(team);
        }
        loop {
            let ready = &board.order.ready;
            let runs = board.crew.runs() || !begun.is_empty();
            let (at_once, plan) = (self.at_once, (self.schedule, self.window));
            let of_schedule = |number: u32| self.first + number as usize;
            let able = ready.iter().copied().find(|&number| {
                !wants_all_threads((of_schedule(number), at_once), plan, self.workers)
            });
            let is_last = !runs && ready.len() == 1;
            // One with a variant for one thread is able only where all are to take that.
            let is_alone = |&number: &u32| is_last && !has_serial(of_schedule(number), plan);
            let Some(number) = able.filter(|number| !is_alone(number)) else {
                return match (begun.is_empty(), runs) {
                    (false, _) => Next::Call,
                    (true, true) => Next::Wait,
                    (true, false) => Next::Leave,
                };
            };
            let number = number as usize;
            let threads = threads_of(self.first + number, plan);
            let threads = threads.map(|threads| threads.clamp(1, self.workers.count()));
            let needed = threads.unwrap_or(1);
            if needed > 1 && !begun.is_empty() {
                return Next::Call;
            }
            if board.crew.threads() + needed > self.workers.count() {
                board.crew.want_room();
                return Next::Wait;
            }
            match self.begin(board, number) {
                Ok(mut one) => {
                    board.order.begin(number);
                    one.team = threads.map(|threads| Arc::new(Workers::team(threads)));
                    let places = one.team.iter().flat_map(|team| repeat_n(team, needed - 1));
                    board.teams.extend(places.cloned());
                    begun.push(one);
                    if begun.len() == share || needed > 1 {
                        return Next::Call;
                    }
                }
                // Those that run give memory back.
                Err(cause) if runs && is_memory(&cause) => {
                    if !begun.is_empty() {
                        return Next::Call;
                    }
                    board.crew.want_room();
                    return Next::Wait;
                }
                Err(cause) => {
                    board.order.begin(number);
                    self.end(board, self.nothing(number), Err(cause));
                }
            }
        }
    }

    fn task(&self, number: usize) -> &FusedTask {
        &self.schedule.fused[self.first + number]
    }

    /// A task that could not begin.
    fn nothing(&self, number: usize) -> Begun {
        Begun {
            number,
            read: Vec::new(),
            taken: Vec::new(),
            found: 0,
            team: None,
            scratch: None,
            since: None,
        }
    }

    /// Takes what a task reads, and makes what it writes.
    fn begin(&self, board: &mut Board<'_, '_>, number: usize) -> Result<Begun, Error> {
        let task = self.task(number);
        let mut begun = self.nothing(number);
        begun.since = board.profile.is_some().then(Instant::now);
        let found = board.frame.find(task, self.window, &self.alone);
        found.map_err(|failure| failure.cause)?;
        let mut written = task.blocks().filter(|block| block.is_written);
        if let Some(cause) = written.find_map(|block| self.refused.get(&block.slot)) {
            return Err(cause.clone());
        }
        let host = self
            .window
            .host(self.schedule.tasks[task.group.tasks.start].number);
        if let Some(host) = host.filter(|host| host.scratch > 0) {
            begun.scratch = Some(self.pool.reserve(host.scratch)?);
        }
        for binding in &task.bindings {
            let slot = task.slot_of_host(binding);
            let is_new = task.outputs.iter().any(|output| output.slot == slot);
            if !is_new {
                begun.read.push(board.frame.held(slot)?.clone());
            }
        }
        for output in &task.outputs {
            let size = self.schedule.slots[output.slot as usize].dtype.size();
            let memory = self.pool.allocate(output.len, size)?;
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
            workers: begun.team.as_deref().unwrap_or(self.workers),
            pool: self.pool,
            task,
            host: host.expect("a host task is pushed with its function"),
            body,
            conversation: None,
            is_beside: true,
            found: AtomicUsize::new(0),
        };
        let _ends = begun.team.as_deref().map(Dismissed);
        let mut read = begun.read.iter();
        let outcome = call.run(&mut begun.taken, Vec::new(), |_| {
            read.next().expect("a task has begun with all it reads")
        });
        begun.found = call.found.into_inner();
        outcome
    }

    /// Leaves what a task has made, or why it has not.
    fn end(&self, board: &mut Board<'_, '_>, begun: Begun, outcome: Result<(), Error>) {
        let task = self.task(begun.number);
        let number = self.schedule.tasks[task.group.tasks.start].number;
        let host_bytes = self.window.host(number).map_or(0, |host| host.bytes);
        let bytes = (task.bytes + begun.found).saturating_add(host_bytes) as u64;
        board.counters.host_tasks += 1;
        board.counters.bytes = board.counters.bytes.saturating_add(bytes);
        if let (Some(profile), Some(since)) = (board.profile.as_deref_mut(), begun.since) {
            let travel = Travel::default();
            let region = self.schedule.regions(&task.group, &self.window.regions);
            let named = (&*region, &*task.name, TaskKind::Host);
            profile.record(named, since, Run { bytes, travel });
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
        drop(begun.scratch);
        board.order.end(begun.number, |slot| board.frame.free(slot));
    }
}

fn wake(changed: &Condvar, who: Wake) {
    match who {
        Wake::None => {}
        Wake::One => changed.notify_one(),
        Wake::All => changed.notify_all(),
    }
}

fn lock<T>(board: &Mutex<T>) -> MutexGuard<'_, T> {
    // Functions run outside of the lock, and their panics are caught.
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an error says that memory was refused.
fn is_memory(cause: &Error) -> bool {
    matches!(
        cause.kind(),
        ErrorKind::OutOfMemory { .. } | ErrorKind::Refused { .. }
    )
}
