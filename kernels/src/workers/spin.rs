//! Whether a thread that waits looks for a while before it sleeps.
//!
//! It does where every thread of every [`Workers`](super::Workers) of the process can have a core
//! of its own. This decides about time only, so its counter is no part of the protocol.

use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::{hint::spin_loop, sync::LazyLock};

/// The threads of all `Workers`, the calling ones included.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads that are counted as long as this lives.
#[derive(Debug)]
pub(super) struct Counted(usize);

impl Counted {
    pub(super) fn new(threads: usize) -> Self {
        THREADS.fetch_add(threads, Ordering::Relaxed);
        Self(threads)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        THREADS.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Looks, a microsecond or two, before a thread offers its core to others: the thread that it waits
/// for may be kept from running by this one, where other programs have the other cores.
#[cfg(not(loom))]
const LOOKS: usize = 64;

#[cfg(not(loom))]
fn is_worthwhile() -> bool {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    THREADS.load(Ordering::Relaxed) <= *CORES
}

/// Looks whether `is_done` for the time that a thread needs that is about to notice something.
#[cfg(not(loom))]
pub(super) fn briefly(is_done: impl Fn() -> bool) {
    let mut looks = if is_worthwhile() { LOOKS } else { 0 };
    while looks > 0 && !is_done() {
        spin_loop();
        looks -= 1;
    }
}

/// What `look` gives when it gives something, looking again and again for about as long as
/// a program takes between two kernels; `None` after that, or where the threads of all
/// [`Workers`](super::Workers) of the process are more than there are cores, after a single look.
#[cfg(not(loom))]
pub fn until<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    use std::time::{Duration, Instant};

    /// Longer than the program takes between two kernels. On a virtual machine of 16 cores a thread
    /// comes 20 to 50 microseconds after it was woken, and one thread needs 40 to wake 15.
    const LONGEST: Duration = Duration::from_micros(200);

    let first = look();
    if first.is_some() || !is_worthwhile() {
        return first;
    }
    let start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            spin_loop();
            let found = look();
            if found.is_some() {
                return found;
            }
        }
        if start.elapsed() > LONGEST {
            return None;
        }
        std::thread::yield_now();
    }
}

/// Under loom, which has no time, a look is enough.
#[cfg(loom)]
pub(super) fn briefly(is_done: impl Fn() -> bool) {
    is_done();
}

/// As above.
#[cfg(loom)]
pub fn until<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    look()
}
