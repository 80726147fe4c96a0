//! The memory of past windows.
//!
//! A window with a key that was seen before is not analysed again: its schedule is replayed. After
//! each window those are expected that followed it the last times; what is issued as expected was
//! checked then ([`crate::analysis::window`]), and need not be looked up.

use crate::analysis::schedule::Schedule;
use crate::hash::hash;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Schedules that are remembered; beyond this, all are forgotten and learnt again.
const MOST: usize = 4096;
/// The words of their keys, some for each argument of a task; beyond this as well, since programs
/// whose shapes change have a new schedule for each window. A schedule takes about 20 times the
/// bytes of its key, so that all take up to 100 MB.
const MOST_WORDS: usize = 1 << 19;
/// How many windows are expected: the one that has followed last, and others before it. The basis
/// of a method grows by several steps that are alike, and then by others.
const EXPECTED: usize = 3;

/// Schedules by the keys of their windows.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    all: Vec<Trace>,
    /// The words of all keys.
    words: usize,
    /// The numbers of those whose keys have a hash.
    by_hash: BTreeMap<u64, Vec<usize>>,
    /// The number of the last one.
    last: Option<usize>,
}

#[derive(Debug)]
struct Trace {
    key: Arc<[u64]>,
    schedule: Arc<Schedule>,
    /// The numbers of those that followed it, the last one first.
    next: Vec<usize>,
}

impl Traces {
    /// The schedule of the window with this key, which runs now.
    pub(crate) fn find(&mut self, key: &[u64]) -> Option<Arc<Schedule>> {
        let is_it = |number: &usize| *self.all[*number].key == *key;
        let expected = self.next().iter().copied().find(is_it);
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
        if self.all.len() == MOST || self.words + key.len() > MOST_WORDS {
            *self = Self::default();
        }
        self.words += key.len();
        let schedule = Arc::new(schedule);
        let number = self.all.len();
        self.by_hash.entry(hash(key)).or_default().push(number);
        self.all.push(Trace {
            key: key.into(),
            schedule: Arc::clone(&schedule),
            next: Vec::new(),
        });
        self.follow(number);
        schedule
    }

    /// The keys of the windows that are expected next, the likeliest one first.
    pub(crate) fn expected(&self) -> impl Iterator<Item = Arc<[u64]>> {
        let next = self.next().iter();
        next.map(|&number| Arc::clone(&self.all[number].key))
    }

    fn next(&self) -> &[usize] {
        self.last.map_or(&[], |last| &self.all[last].next)
    }

    fn follow(&mut self, number: usize) {
        if let Some(last) = self.last {
            let next = &mut self.all[last].next;
            if next.first() != Some(&number) {
                next.retain(|&other| other != number);
                next.truncate(EXPECTED - 1);
                next.insert(0, number);
            }
        }
        self.last = Some(number);
    }
}
