//! The memory of past windows.
//!
//! A window with a key that was seen before is not analysed again: its schedule is replayed.

use crate::schedule::Schedule;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Schedules that are remembered; beyond this, all are forgotten and learnt again.
const MOST: usize = 4096;

/// Schedules by the keys of their windows.
#[derive(Debug)]
pub(crate) struct Traces {
    /// By hash; keys with the same hash in a list.
    by_hash: BTreeMap<u64, Vec<Trace>>,
    count: usize,
}

#[derive(Debug)]
struct Trace {
    key: Box<[u64]>,
    schedule: Arc<Schedule>,
}

impl Traces {
    pub(crate) fn new() -> Self {
        Self {
            by_hash: BTreeMap::new(),
            count: 0,
        }
    }

    pub(crate) fn find(&self, key: &[u64]) -> Option<Arc<Schedule>> {
        let list = self.by_hash.get(&hash(key))?;
        let trace = list.iter().find(|trace| *trace.key == *key)?;
        Some(Arc::clone(&trace.schedule))
    }

    pub(crate) fn remember(&mut self, key: Box<[u64]>, schedule: Arc<Schedule>) -> Arc<Schedule> {
        if self.count == MOST {
            self.by_hash.clear();
            self.count = 0;
        }
        self.count += 1;
        let trace = Trace {
            schedule: Arc::clone(&schedule),
            key,
        };
        self.by_hash
            .entry(hash(&trace.key))
            .or_default()
            .push(trace);
        schedule
    }
}

/// A fast hash of words, in four lanes that do not wait for each other; equality of keys is checked
/// apart.
pub(crate) fn hash(words: &[u64]) -> u64 {
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut lanes = [words.len() as u64; 4];
    let (chunks, rest) = words.as_chunks::<4>();
    for chunk in chunks {
        for (lane, &word) in lanes.iter_mut().zip(chunk) {
            *lane = mix(*lane, word);
        }
    }
    lanes
        .iter()
        .chain(rest)
        .fold(0, |hash, &word| mix(hash, word))
}
