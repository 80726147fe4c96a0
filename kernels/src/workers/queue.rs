//! The parts of one thread in one phase, of which it takes one after the other, and others take
//! what it has not begun when they are through with their own.
//!
//! Invariant: in each phase, each part is taken once.

use super::sync::{AtomicU64, Ordering};

/// How many parts have been taken, and above that the number of the phase in which they have; on
/// cache lines of its own, two since processors fetch pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Queue(AtomicU64);

/// The bits of the number of parts. Above them are those of the number of a phase that fit. A queue
/// is used in all phases that are numbered, up to one in which something has panicked, so that it
/// need not tell a phase from one that was long ago.
const PARTS: u32 = 40;

impl Queue {
    pub(super) fn new() -> Self {
        // No phase has this number for a while.
        Self(AtomicU64::new(u64::MAX << PARTS))
    }

    /// Takes one of `len` parts in the phase with this number, by its number among them; none where
    /// all have been taken.
    pub(super) fn take(&self, phase: u64, len: usize) -> Option<usize> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let is_new = word >> PARTS != phase << PARTS >> PARTS;
            let taken = if is_new {
                0
            } else {
                word & !(u64::MAX << PARTS)
            };
            if taken >= len as u64 {
                return None;
            }
            // Relaxed: phases follow each other by `Shared::arrive`, and parts of one phase know
            // nothing of each other.
            let [set, fetch] = [Ordering::Relaxed; 2];
            let next = phase << PARTS | (taken + 1);
            match self.0.compare_exchange_weak(word, next, set, fetch) {
                Ok(_) => return Some(taken as usize),
                Err(found) => word = found,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Queue;

    #[test]
    fn each_part_is_taken_once_in_each_phase() {
        let queue = Queue::new();
        for phase in (0..3).chain([(1 << 24) - 1, 1 << 24, u64::MAX]) {
            let taken: Vec<_> = std::iter::from_fn(|| queue.take(phase, 3)).collect();
            assert_eq!(taken, [0, 1, 2], "phase {phase}");
        }
        assert_eq!(queue.take(7, 0), None);
    }
}
