//! The threads of one rank.
//!
//! [`Workers::run`] splits work into parts. Each thread has neighbouring ones, the same in each
//! run, so that a part finds in its caches what it left there; a thread that is through with its
//! own takes those that others have not begun. Thread 0 is the caller; the others wait until they
//! are called. A caller does not wait for threads that still sleep, but runs their parts too.
//! `README.md` beside this file describes the protocol.
#![expect(
    unsafe_code,
    reason = "threads call a closure on the caller's stack, through a pointer"
)]

mod clock;
mod place;
mod queue;
mod seat;
mod sections;
mod spin;
mod sync;
#[cfg(test)]
mod tests;

pub use sections::Sections;
pub use spin::until as look_for;

use clock::Clock;
use queue::Queue;
use seat::Seat;
use std::any::Any;
use std::fmt;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{PoisonError, mpsc};
use sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Builder, JoinHandle, Mutex, Ordering, UnsafeCell,
};

/// The threads of one rank: the calling thread and `count() - 1` others.
#[derive(Debug)]
pub struct Workers {
    shared: Arc<Shared>,
    /// Threads 1, 2, …
    threads: Vec<JoinHandle<()>>,
    _counted: spin::Counted,
}

impl Workers {
    /// `count` threads, at least one.
    ///
    /// # Errors
    /// When the operating system refuses to start a thread.
    pub fn new(count: usize) -> io::Result<Self> {
        let others = count.max(1) - 1;
        let mut workers = Self {
            shared: Arc::new(Shared::new(others)),
            threads: Vec::with_capacity(others),
            _counted: spin::Counted::new(others + 1),
        };
        let caller = place::here();
        for thread in 1..=others {
            let shared = Arc::clone(&workers.shared);
            let builder = Builder::new().name(format!("sparsefuse-{thread}"));
            let (tell, has_left) = mpsc::channel();
            let handle = builder.spawn(move || {
                place::leave(caller, thread);
                // The caller does not wait where there is no other processor.
                let _ = tell.send(());
                shared.serve(thread);
            })?;
            workers.threads.push(handle);
            if caller.is_some() {
                // The thread does not run on this processor before this one sleeps.
                let _ = has_left.recv();
            }
        }
        Ok(workers)
    }

    /// The calling thread alone.
    #[must_use]
    pub fn alone() -> Self {
        Self {
            shared: Arc::new(Shared::new(0)),
            threads: Vec::new(),
            _counted: spin::Counted::new(0),
        }
    }

    /// A team of `count` threads, at least one, that are not started: the caller's, and others that
    /// join it ([`Workers::join`]) until it is dismissed. Those that have not joined, or come late,
    /// are not waited for.
    #[must_use]
    pub fn team(count: usize) -> Self {
        let shared = Shared::new(count.max(1) - 1);
        // Nothing else has the places of a team, so each is taken once.
        shared
            .free_seats
            .store(shared.seats.len(), Ordering::Relaxed);
        Self {
            shared: Arc::new(shared),
            threads: Vec::new(),
            _counted: spin::Counted::new(0),
        }
    }

    /// Works in a team as one of its threads, until it is dismissed; returns immediately where it
    /// has been, or has all of its threads.
    pub fn join(&self) {
        if let Some(thread) = self.shared.take_seat() {
            self.shared.serve(thread);
        }
    }

    /// Lets the threads go that have joined a team, and those that will. What is run afterwards
    /// runs on the caller's thread. Of other workers than a team, and while one of its threads runs
    /// something, this does nothing.
    pub fn dismiss(&self) {
        if !self.threads.is_empty() || !self.shared.claim() {
            return;
        }
        // The claim is never given back, so this happens once, and no run follows.
        // SAFETY: no run goes on, and the threads of the last one have arrived for the last time.
        self.shared.job.with_mut(|job| unsafe { *job = None });
        self.shared.seats.iter().for_each(|seat| seat.call(0));
    }

    /// The number of threads, the caller's included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shared.seats.len() + 1
    }

    /// Calls `work(i)` for each `i` in `0..parts` and returns when all are done; a single part
    /// costs nothing more than the call. Where there are not more parts than threads the caller
    /// runs part 0, else any.
    ///
    /// While one thread is in here, the calls of others, and those of parts, run all of their parts
    /// on their own thread.
    ///
    /// # Panics
    /// When a part panics, after all parts that had begun have ended.
    pub fn run(&self, parts: usize, work: impl Fn(usize) + Sync) {
        self.run_phases(1, parts, |_, part| work(part));
    }

    /// Calls `work(phase, part)` for each phase and part, as [`Workers::run`] does for parts; a
    /// phase begins when all parts of the phase before have ended, and sees what they did.
    ///
    /// Between phases a thread waits for the others, which costs less than a second run. A thread
    /// that comes late joins with the next phase, so what later phases need is kept by part, not by
    /// thread.
    ///
    /// # Panics
    /// When a part panics, after all parts that had begun have ended.
    pub fn run_phases(&self, phases: usize, parts: usize, work: impl Fn(usize, usize) + Sync) {
        self.run_any(phases, parts, &work);
    }

    /// As [`Workers::run_phases`], compiled once for all closures.
    fn run_any(&self, phases: usize, parts: usize, work: Work<'_>) {
        let threads = self.count().min(parts);
        if threads <= 1 || phases == 0 || !self.shared.claim() {
            for phase in 0..phases {
                (0..parts).for_each(|part| work(phase, part));
            }
            return;
        }
        // SAFETY: `work` outlives the call, and this thread has claimed the others.
        unsafe { self.shared.call(Job::new(&work, phases, parts, threads)) };
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // SAFETY: nobody runs, since this is the only owner; so no thread reads the job.
        self.shared.job.with_mut(|job| unsafe { *job = None });
        for seat in &self.shared.seats[..self.threads.len()] {
            seat.call(0);
        }
        for thread in self.threads.drain(..) {
            // A thread ends without a panic: it catches those of parts.
            let _ = thread.join();
        }
    }
}

/// A closure, and who calls it with what.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// A [`Work`], without its lifetime.
    work: *const (),
    phases: usize,
    parts: usize,
    /// The threads that take part.
    threads: usize,
    /// The number of the first phase among all in which threads take parts from queues.
    first: u64,
}

/// A closure of any type that is called with a phase and a part.
type Work<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl Job {
    fn new(work: &Work<'_>, phases: usize, parts: usize, threads: usize) -> Self {
        Self {
            work: (&raw const *work).cast(),
            phases,
            parts,
            threads,
            first: 0,
        }
    }

    /// Calls the closure.
    ///
    /// # Safety
    /// The reference that the job was made of, and with it the closure, lives until this returns.
    unsafe fn call(&self, phase: usize, part: usize) {
        // SAFETY: `new` has made the pointer of such a reference; the caller's promise.
        let work = unsafe { &*self.work.cast::<Work<'_>>() };
        work(phase, part);
    }

    /// Whether threads have several parts, which they take from queues.
    fn has_queues(&self) -> bool {
        self.parts > self.threads
    }

    /// The parts of a thread.
    fn parts_of(&self, thread: usize) -> Range<usize> {
        let begin = |thread: usize| self.parts * thread / self.threads;
        begin(thread)..begin(thread + 1)
    }
}

/// What the threads share.
struct Shared {
    /// Whether a run goes on.
    is_busy: AtomicBool,
    /// What to do; nothing when the threads shall end.
    job: UnsafeCell<Option<Job>>,
    /// Those of threads 1, 2, …
    seats: Box<[Seat]>,
    /// Which parts of each thread, the caller's first, have been taken.
    queues: Box<[Queue]>,
    /// How many phases with queues there have been; that of the caller that has set `is_busy`.
    n_phases: AtomicU64,
    /// How many seats of a team no thread has taken; none where the threads were started.
    free_seats: AtomicUsize,
    /// The threads that have not arrived at the end of the phase.
    pending: AtomicUsize,
    /// Ticks when all have.
    phases: Clock,
    has_panicked: AtomicBool,
    /// What the first part that panicked did so with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the job's pointer is to a closure that is `Sync`; README.md shows that it lives while it
// is used, and that nobody writes the job while another thread reads it.
unsafe impl Sync for Shared {}
// SAFETY: as above; all other fields are `Send`.
unsafe impl Send for Shared {}

impl fmt::Debug for Shared {
    /// Without the job, which may be written at this moment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("is_busy", &self.is_busy)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn new(others: usize) -> Self {
        Self {
            is_busy: AtomicBool::new(false),
            job: UnsafeCell::new(None),
            seats: (0..others).map(|_| Seat::new()).collect(),
            queues: (0..=others).map(|_| Queue::new()).collect(),
            n_phases: AtomicU64::new(0),
            free_seats: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            phases: Clock::new(),
            has_panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
        }
    }

    /// The number of a thread of a team that no other thread is.
    fn take_seat(&self) -> Option<usize> {
        // Relaxed: the number is all that it says.
        let [set, fetch] = [Ordering::Relaxed; 2];
        let one_less = |free: usize| free.checked_sub(1);
        self.free_seats.fetch_update(set, fetch, one_less).ok()
    }

    /// Claims the threads for a run, unless one goes on.
    fn claim(&self) -> bool {
        self.is_busy
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Runs a job on this thread and those that it needs.
    ///
    /// # Safety
    /// The closure lives until this returns, and this thread has [claimed](Self::claim) the others.
    unsafe fn call(&self, mut job: Job) {
        let seats = &self.seats[..job.threads - 1];
        if job.has_queues() {
            // Relaxed: callers follow each other by `is_busy`.
            job.first = self
                .n_phases
                .fetch_add(job.phases as u64, Ordering::Relaxed);
        }
        // SAFETY: the threads of the last run have arrived for the last time.
        self.job.with_mut(|shared| unsafe { *shared = Some(job) });
        self.pending.store(job.threads, Ordering::Relaxed);
        for phase in 0..job.phases {
            seats.iter().for_each(|seat| seat.call(phase));
            let time = self.phases.time();
            // SAFETY: the caller's promise.
            unsafe { self.run_parts(&job, phase, 0) };
            let mut arrivals = 1;
            for (i, seat) in seats.iter().enumerate() {
                if seat.is_given_up() {
                    // SAFETY: the caller's promise.
                    unsafe { self.run_parts(&job, phase, i + 1) };
                    arrivals += 1;
                }
            }
            if !self.arrive(&job, arrivals) {
                self.phases.wait_beyond(time);
            }
        }
        let mut panic = None;
        if self.has_panicked.load(Ordering::Relaxed) {
            self.has_panicked.store(false, Ordering::Relaxed);
            panic = self.panic().take();
        }
        self.is_busy.store(false, Ordering::Release);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// The life of a thread other than the caller's.
    fn serve(&self, thread: usize) {
        let seat = &self.seats[thread - 1];
        let mut seen = clock::START;
        loop {
            let first_phase;
            (seen, first_phase) = seat.wait(seen);
            // SAFETY: the thread is present, and nobody writes the job until it has arrived for
            // the last time.
            let Some(job) = self.job.with(|job| unsafe { *job }) else {
                return;
            };
            for phase in first_phase..job.phases {
                let time = self.phases.time();
                // SAFETY: the caller waits for this thread to arrive.
                unsafe { self.run_parts(&job, phase, thread) };
                if !self.arrive(&job, 1) && phase + 1 < job.phases {
                    self.phases.wait_beyond(time);
                }
            }
        }
    }

    /// Counts threads that have ended a phase; ends it and says so if they are the last.
    fn arrive(&self, job: &Job, arrivals: usize) -> bool {
        let is_last = self.pending.fetch_sub(arrivals, Ordering::AcqRel) == arrivals;
        if is_last {
            self.pending.store(job.threads, Ordering::Relaxed);
            self.phases.tick();
        }
        is_last
    }

    /// Runs the parts of a thread, then those of others that they have not begun.
    ///
    /// # Safety
    /// The closure lives until this returns.
    unsafe fn run_parts(&self, job: &Job, phase: usize, thread: usize) {
        let call = |part| {
            let goes_on = !self.has_panicked.load(Ordering::Relaxed);
            if goes_on {
                // SAFETY: the caller's promise.
                unsafe { job.call(phase, part) };
            }
            goes_on
        };
        let run = || {
            if !job.has_queues() {
                job.parts_of(thread).all(call);
                return;
            }
            let number = job.first + phase as u64;
            for owner in (thread..job.threads).chain(0..thread) {
                let parts = job.parts_of(owner);
                while let Some(part) = self.queues[owner].take(number, parts.len()) {
                    if !call(parts.start + part) {
                        return;
                    }
                }
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            self.panic().get_or_insert(panic);
            self.has_panicked.store(true, Ordering::Relaxed);
        }
    }

    fn panic(&self) -> sync::MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        // Nothing panics while this is locked.
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
