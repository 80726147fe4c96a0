//! Where a thread waits until it is called, and how a call is taken back.
//!
//! Invariant: of each call, either the thread becomes present or the caller gives it up, never
//! both.

use super::clock::{Clock, Time};
use super::spin;
use super::sync::{AtomicBool, AtomicUsize, Ordering};

/// See the header.
#[derive(Debug)]
pub(super) struct Seat {
    /// Ticks with each call.
    calls: Clock,
    /// `ABSENT`, `PRESENT`, or `CALLED` plus the number of a phase.
    state: AtomicUsize,
    /// Whether the thread slept when it was called; written and read by callers only.
    was_asleep: AtomicBool,
}

/// The thread takes part in no run.
const ABSENT: usize = 0;
/// The thread takes part in the run of the last call.
const PRESENT: usize = 1;
/// The thread was called for a phase and those after it, and has not come.
const CALLED: usize = 2;

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            calls: Clock::new(),
            state: AtomicUsize::new(ABSENT),
            was_asleep: AtomicBool::new(false),
        }
    }

    /// Calls the thread to a new run, or from a phase on if it was given up before; what was
    /// written before is for it to read.
    pub(super) fn call(&self, phase: usize) {
        if phase == 0 || self.state.load(Ordering::Relaxed) == ABSENT {
            self.state.store(CALLED + phase, Ordering::Release);
            let was_asleep = self.calls.tick();
            self.was_asleep.store(was_asleep, Ordering::Relaxed);
        }
    }

    /// Whether the caller runs the parts of the thread in this phase: gives up a thread that has
    /// not come, at once if it slept, else after a while. The answer is the same until the next
    /// call.
    pub(super) fn is_given_up(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        if state >= CALLED && !self.was_asleep.load(Ordering::Relaxed) {
            spin::briefly(|| self.state.load(Ordering::Relaxed) == PRESENT);
            state = self.state.load(Ordering::Relaxed);
        }
        state == ABSENT || (state >= CALLED && self.change(state, ABSENT, Ordering::Relaxed))
    }

    /// Waits until the thread is called after `seen` and present; gives the time of that and the
    /// phase with which it begins. What was written before the call is then for it to read.
    pub(super) fn wait(&self, mut seen: Time) -> (Time, usize) {
        loop {
            seen = self.calls.wait_beyond(seen);
            let state = self.state.load(Ordering::Relaxed);
            if state >= CALLED && self.change(state, PRESENT, Ordering::Acquire) {
                return (seen, state - CALLED);
            }
        }
    }

    fn change(&self, from: usize, to: usize, success: Ordering) -> bool {
        self.state
            .compare_exchange(from, to, success, Ordering::Relaxed)
            .is_ok()
    }
}
