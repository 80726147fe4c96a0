//! Where a thread waits until it is called, and how a call is taken back.
//!
//! Invariant: of each call, either the thread becomes present or the caller gives it up, never both.

use super::clock::{Clock, Time};
use super::sync::{AtomicUsize, Ordering};

/// See the header.
#[derive(Debug)]
pub(super) struct Seat {
    /// Ticks with each call.
    calls: Clock,
    /// One of the three below.
    state: AtomicUsize,
}

/// The thread takes part in no run.
const ABSENT: usize = 0;
/// The thread was called and has not come.
const CALLED: usize = 1;
/// The thread takes part in the run of the last call.
const PRESENT: usize = 2;

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            calls: Clock::new(),
            state: AtomicUsize::new(ABSENT),
        }
    }

    /// Calls the thread; what was written before is for it to read.
    pub(super) fn call(&self) {
        self.state.store(CALLED, Ordering::Release);
        self.calls.tick();
    }

    /// Whether the caller runs the parts of the thread in this run: gives up a thread that has not
    /// come. The answer is the same until the next call.
    pub(super) fn is_given_up(&self) -> bool {
        let exchange =
            self.state
                .compare_exchange(CALLED, ABSENT, Ordering::Relaxed, Ordering::Relaxed);
        matches!(exchange, Ok(_) | Err(ABSENT))
    }

    /// Waits until the thread is called after `seen` and present, and gives the time of that; what
    /// was written before the call is then for it to read.
    pub(super) fn wait(&self, mut seen: Time) -> Time {
        loop {
            seen = self.calls.wait_beyond(seen);
            let exchange =
                self.state
                    .compare_exchange(CALLED, PRESENT, Ordering::Acquire, Ordering::Relaxed);
            if exchange.is_ok() {
                return seen;
            }
        }
    }
}
