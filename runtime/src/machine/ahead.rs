//! Running ahead: windows that the machine runs on a thread of its own, while the program goes on.
//!
//! The program's side analyses a window, gives it away with its schedule ([`Ahead::hand_over`]) and
//! begins the next one. The machine's thread runs what it has been given in that order, and gives
//! the windows back; the program's side drops their stores ([`Ahead::take_back`]), so that what a
//! store is held by is counted on one side alone. The caller that needs a result waits until the
//! window that makes it has ended ([`Ahead::wait`]).
//!
//! The protocol. A window is *waiting* (in the queue), *running* (the thread has it and the
//! engine's lock), *ended* (in the list of the ended ones), then back on the program's side. All
//! four changes happen under one lock, and each is followed by a call of `notify_all`; those who
//! wait look again under the lock, so that no call is lost. The program's side hands over, waits
//! and takes back under its own lock, so it knows how many windows it has given away and not got
//! back; where that is none, no other thread has the engine, and it runs a window itself.

use super::engine::Engine;
use crate::analysis::schedule::Schedule;
use crate::analysis::window::Window;
use crate::geometry::partition::CutsTable;
use crate::tasks::calling;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A window to run, and what was decided about it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) window: Window,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) cuts: Arc<CutsTable>,
}

/// The machine's thread and its queue; see the module's text.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The number of the runtime.
    runtime: u64,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// See [`Ahead::waiting`].
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Job>,
    ended: Vec<Window>,
    /// How many windows have ended since the beginning.
    n_ended: u64,
    /// What the thread has panicked with: a defect, which belongs to whoever waits.
    panic: Option<Box<dyn Any + Send>>,
    /// Whether there will be no more windows.
    is_over: bool,
}

impl Ahead {
    /// The thread that runs windows on the engine of the runtime with this number; `None` if the
    /// system refuses one.
    pub(crate) fn new(runtime: u64, engine: Arc<Mutex<Engine>>) -> Option<Self> {
        let queue = Arc::new(Queue::default());
        let own = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("sparsefuse machine".to_owned());
        let thread = thread.spawn(move || own.work(&engine)).ok()?;
        Some(Self {
            runtime,
            queue,
            thread: Some(thread),
        })
    }

    /// Gives a window away, to be run behind those given away before.
    pub(crate) fn hand_over(&self, job: Job) {
        self.queue.state().waiting.push_back(job);
        self.queue.changed.notify_all();
    }

    /// Waits until so many windows have ended since the beginning.
    ///
    /// # Panics
    ///
    /// If running one of them has panicked.
    pub(crate) fn wait(&self, n_ended: u64) {
        let mut state = self.queue.ended(n_ended);
        if let Some(panic) = state.panic.take() {
            drop(state);
            resume_unwind(panic);
        }
    }

    /// Where a thread waits that lets others issue and read meanwhile.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting(Arc::clone(&self.queue))
    }

    /// Moves the windows that have ended to a list.
    pub(crate) fn take_back(&self, windows: &mut Vec<Window>) {
        windows.append(&mut self.queue.state().ended);
    }
}

impl Waiting {
    /// Waits until this number of windows has ended since the beginning. A panic of one is told by
    /// [`Ahead::wait`].
    pub(crate) fn wait(&self, n_ended: u64) {
        drop(self.0.ended(n_ended));
    }
}

impl Drop for Ahead {
    /// What was given away runs to its end.
    fn drop(&mut self) {
        self.queue.state().is_over = true;
        self.queue.changed.notify_all();
        let Some(thread) = self.thread.take() else {
            return;
        };
        // A host task may hold the last handle of the runtime. It runs on the machine's thread, or
        // on one that this waits for: neither waits for the end of the other.
        let is_own = thread.thread().id() == std::thread::current().id();
        if !is_own && !calling::calls(self.runtime) {
            // A panic of the thread has no one left to go to.
            let _ = thread.join();
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one assignment or call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state when so many windows have ended.
    fn ended(&self, n_ended: u64) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while state.n_ended < n_ended {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// The work of the machine's thread.
    fn work(&self, engine: &Mutex<Engine>) {
        while let Some(job) = self.next() {
            let run = || {
                let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
                engine.run(&job.schedule, &job.window, &job.cuts);
            };
            let panic = catch_unwind(AssertUnwindSafe(run)).err();
            let mut state = self.state();
            state.panic = state.panic.take().or(panic);
            state.ended.push(job.window);
            state.n_ended += 1;
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The next window, when there is one; `None` when there will be no more.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            if state.is_over {
                return None;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
