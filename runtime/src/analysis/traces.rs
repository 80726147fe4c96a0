//! The memory of past windows.
//!
//! A window with a key that was seen before is not analysed again: its schedule is replayed. After
//! each window the one is expected that followed it the last time; what is issued as expected was
//! checked then ([`crate::analysis::window`]), and need not be looked up.

use crate::analysis::schedule::Schedule;
use crate::hash::hash;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Schedules that are remembered; beyond this, all are forgotten and learnt again.
const MOST: usize = 4096;

/// Schedules by the keys of their windows.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    all: Vec<Trace>,
    /// The numbers of those whose keys have a hash.
    by_hash: BTreeMap<u64, Vec<usize>>,
    /// The number of the last one.
    last: Option<usize>,
}

#[derive(Debug)]
struct Trace {
    key: Arc<[u64]>,
    schedule: Arc<Schedule>,
    /// The number of the one that followed it the last time.
    next: Option<usize>,
}

impl Traces {
    /// The schedule of the window with this key, which runs now.
    pub(crate) fn find(&mut self, key: &[u64]) -> Option<Arc<Schedule>> {
        let is_it = |number: &usize| *self.all[*number].key == *key;
        let expected = self.next().filter(is_it);
        let look_up = || {
            let list = self.by_hash.get(&hash(key))?;
            list.iter().copied().find(is_it)
        };
        let number = expected.or_else(look_up)?;
        self.follow(number);
        Some(Arc::clone(&self.all[number].schedule))
    }

    /// Remembers the schedule of a new window, which runs now.
    pub(crate) fn remember(&mut self, key: &[u64], schedule: Schedule) -> Arc<Schedule> {
        if self.all.len() == MOST {
            *self = Self::default();
        }
        let schedule = Arc::new(schedule);
        let number = self.all.len();
        self.by_hash.entry(hash(key)).or_default().push(number);
        self.all.push(Trace {
            key: key.into(),
            schedule: Arc::clone(&schedule),
            next: None,
        });
        self.follow(number);
        schedule
    }

    /// The key of the window that is expected next.
    pub(crate) fn expected(&self) -> Option<Arc<[u64]>> {
        let next = self.next()?;
        Some(Arc::clone(&self.all[next].key))
    }

    fn next(&self) -> Option<usize> {
        self.all[self.last?].next
    }

    fn follow(&mut self, number: usize) {
        if let Some(last) = self.last {
            self.all[last].next = Some(number);
        }
        self.last = Some(number);
    }
}
