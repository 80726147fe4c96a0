//! A number that grows by ticks, and threads that wait for the next one.
//!
//! One thread at a time may tick. Why no wake-up is lost: `README.md`.

use super::spin;
use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
use std::sync::PoisonError;

/// The bit of the word that says that somebody sleeps; the time is above it.
const SLEEPING: usize = 1;

/// See the header. Clocks lie on cache lines of their own, two since processors fetch pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Clock {
    word: AtomicUsize,
    lock: Mutex<()>,
    bell: Condvar,
}

/// A time of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(usize);

/// The time of a new clock.
pub(super) const START: Time = Time(0);

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicUsize::new(START.0),
            lock: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// The time, for a thread without which the clock cannot tick.
    pub(super) fn time(&self) -> Time {
        // Relaxed: the thread has seen the last tick, and there is no next one.
        Time(self.word.load(Ordering::Relaxed) & !SLEEPING)
    }

    /// Moves the time on, wakes all that sleep until then, and says whether there were any.
    pub(super) fn tick(&self) -> bool {
        let Time(now) = self.time();
        // AcqRel: who sees the tick sees what was done before it.
        let before = self.word.swap(now.wrapping_add(2), Ordering::AcqRel);
        let is_awaited = before & SLEEPING != 0;
        if is_awaited {
            // Who sleeps has set the bit under the lock and holds it until it can be woken.
            drop(self.locked());
            self.bell.notify_all();
        }
        is_awaited
    }

    /// Waits until the time is no longer `time`, and gives the new one.
    pub(super) fn wait_beyond(&self, time: Time) -> Time {
        if let Some(new) = spin::until(|| self.beyond(time)) {
            return new;
        }
        let mut guard = self.locked();
        // Where the exchange fails, somebody sleeps already, or the clock has ticked. AcqRel: a
        // tick that is seen here is seen with what was done before it.
        let _ = self.word.compare_exchange(
            time.0,
            time.0 | SLEEPING,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        loop {
            if let Some(new) = self.beyond(time) {
                return new;
            }
            guard = self
                .bell
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How often the clock has ticked, for a thread without which it cannot tick.
    pub(super) fn ticks(&self) -> usize {
        self.time().0 / 2
    }

    /// Whether the clock has ticked this often.
    pub(super) fn has_ticked(&self, ticks: usize) -> bool {
        // Acquire: what was done before the tick is seen.
        self.word.load(Ordering::Acquire) / 2 >= ticks
    }

    /// The time, if it is no longer `time`.
    fn beyond(&self, time: Time) -> Option<Time> {
        // Acquire: what was done before the tick is seen.
        let now = Time(self.word.load(Ordering::Acquire) & !SLEEPING);
        (now != time).then_some(now)
    }

    fn locked(&self) -> MutexGuard<'_, ()> {
        // The lock guards no data that a panic could leave half done.
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
