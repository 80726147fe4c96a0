//! On which processor a new thread begins.
//!
//! Linux chooses one by what has run there lately, and often it is that of the thread that makes
//! the new one, though another is idle: then both share it until the system looks again, which
//! takes as long as a short program. So a new thread moves to another processor, once, and may go
//! anywhere again.

/// The processor that the calling thread is on, if that is known.
pub(super) fn here() -> Option<usize> {
    #[cfg(all(target_os = "linux", not(miri), not(loom)))]
    return Some(rustix::thread::sched_getcpu());
    #[cfg(not(all(target_os = "linux", not(miri), not(loom))))]
    None
}

/// Moves the calling thread, which is the `number`th new one, counted from 1, to another processor
/// than this: the `number`th behind it of those that the program may use. Does nothing where it may
/// use no other one.
pub(super) fn leave(processor: Option<usize>, number: usize) {
    #[cfg(all(target_os = "linux", not(miri), not(loom)))]
    if let Some(processor) = processor {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else {
            return;
        };
        let behind = (processor + 1..CpuSet::MAX_CPU).chain(0..processor);
        let others: Vec<usize> = behind.filter(|&other| allowed.is_set(other)).collect();
        let Some(chosen) = others.get((number - 1) % others.len().max(1)) else {
            return;
        };
        let mut one = CpuSet::new();
        one.set(*chosen);
        if sched_setaffinity(None, &one).is_ok() {
            // The thread was allowed to run on these a moment ago.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri), not(loom))))]
    let _ = (processor, number);
}

#[cfg(all(test, target_os = "linux", not(miri), not(loom)))]
mod tests {
    use super::{here, leave};
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_that_has_moved_may_go_anywhere_again() {
        let before = sched_getaffinity(None).unwrap();
        for number in 1..5 {
            leave(here(), number);
            assert!(sched_getaffinity(None).unwrap() == before);
        }
        leave(Some(1000), 1);
        assert!(sched_getaffinity(None).unwrap() == before);
    }
}
