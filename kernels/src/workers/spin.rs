//! Whether a thread that waits looks for a while before it sleeps.
//!
//! It does where every thread of every [`Workers`](super::Workers) of the process can have a core
//! of its own. This decides about time only, so its counter is no part of the protocol.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The threads of all `Workers` with more than one.
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

/// What `look` gives, once or for a while.
#[cfg(not(loom))]
pub(super) fn until<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    use std::hint::spin_loop;
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    /// Longer than the program takes between two kernels, shorter than waking a thread twice.
    const LONGEST: Duration = Duration::from_micros(50);
    /// Looks, a microsecond or two, before the thread offers its core to others: the thread that
    /// it waits for may be kept from running by this one, where other programs have the other cores.
    const LOOKS: usize = 64;
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

    let first = look();
    if first.is_some() || THREADS.load(Ordering::Relaxed) > *CORES {
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
pub(super) fn until<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    look()
}
