//! The profile: time, bytes and calls of every fused task.
//!
//! As a text table in the manner of PETSc's `-log_view`, as JSON, and as a trace file that Chrome's
//! `about:tracing` and Perfetto open.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Events that the trace file keeps; the sums go on beyond it.
const MOST_EVENTS: usize = 1 << 20;

/// What was recorded; see the module's text.
#[derive(Clone, Debug)]
pub struct Profile {
    begin: Instant,
    kernels: BTreeMap<String, KernelProfile>,
    /// The number of the kernel, start and length in microseconds.
    events: Vec<(u32, f64, f64)>,
}

/// The sums of one fused task on one rank.
#[derive(Clone, Debug)]
pub struct KernelProfile {
    number: u32,
    /// How often it ran.
    pub calls: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Bytes read and written in all, counted from its arguments.
    pub bytes: u64,
    /// Of the seconds, those in which it waited for other ranks.
    pub waited: f64,
    /// Of the seconds, those in which it computed while ghosts were on their way.
    pub overlapped: f64,
}

/// What one run of a fused task has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) bytes: u64,
    pub(crate) travel: Travel,
}

/// How one run of a fused task has spent the time of messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Travel {
    pub(crate) waited: Duration,
    pub(crate) overlapped: Duration,
}

impl Profile {
    pub(crate) fn new() -> Self {
        Self {
            begin: Instant::now(),
            kernels: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Records one run of a fused task that began at `begin` and ends now.
    pub(crate) fn record(&mut self, name: &str, begin: Instant, run: Run) {
        let seconds = begin.elapsed().as_secs_f64();
        if !self.kernels.contains_key(name) {
            let number = self.kernels.len() as u32;
            let fresh = KernelProfile {
                number,
                calls: 0,
                seconds: 0.0,
                bytes: 0,
                waited: 0.0,
                overlapped: 0.0,
            };
            self.kernels.insert(name.to_owned(), fresh);
        }
        let Some(kernel) = self.kernels.get_mut(name) else {
            return;
        };
        kernel.calls += 1;
        kernel.seconds += seconds;
        kernel.bytes += run.bytes;
        kernel.waited += run.travel.waited.as_secs_f64();
        kernel.overlapped += run.travel.overlapped.as_secs_f64();
        if self.events.len() < MOST_EVENTS {
            let start = (begin - self.begin).as_secs_f64() * 1e6;
            self.events.push((kernel.number, start, seconds * 1e6));
        }
    }

    /// Records that somebody has waited for what a fused task reduces.
    pub(crate) fn wait(&mut self, name: &str, waited: Duration) {
        if let Some(kernel) = self.kernels.get_mut(name) {
            kernel.seconds += waited.as_secs_f64();
            kernel.waited += waited.as_secs_f64();
        }
    }

    /// The fused tasks by name.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, &KernelProfile)> {
        self.kernels
            .iter()
            .map(|(name, kernel)| (name.as_str(), kernel))
    }

    /// The fused tasks, those that took longest first, and their share of the time.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<_> = self.kernels().collect();
        rows.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        let total: f64 = rows.iter().map(|(_, kernel)| kernel.seconds).sum();
        let mut text = format!(
            "{:>10} {:>12} {:>12} {:>8} {:>6}  fused task\n",
            "calls", "seconds", "us/call", "GB/s", "share"
        );
        for (name, kernel) in rows {
            let KernelProfile {
                calls,
                seconds,
                bytes,
                ..
            } = *kernel;
            let per_call = seconds / calls as f64 * 1e6;
            let rate = bytes as f64 / seconds.max(1e-12) / 1e9;
            let share = 100.0 * seconds / total.max(1e-12);
            let _ = writeln!(
                text,
                "{calls:>10} {seconds:>12.6} {per_call:>12.3} {rate:>8.2} {share:>5.1}%  {name}"
            );
        }
        text
    }

    /// The sums as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let kernels = self.kernels().map(|(name, kernel)| {
            json!({
                "name": name,
                "calls": kernel.calls,
                "seconds": kernel.seconds,
                "bytes": kernel.bytes,
                "waited": kernel.waited,
                "overlapped": kernel.overlapped,
            })
        });
        json!({ "kernels": kernels.collect::<Vec<_>>() })
    }

    /// The events in Chrome's trace format; `rank` becomes the process.
    #[must_use]
    pub fn chrome_events(&self, rank: usize) -> Vec<Value> {
        let mut names = vec![""; self.kernels.len()];
        for (name, kernel) in self.kernels() {
            names[kernel.number as usize] = name;
        }
        let event = |&(number, start, length): &(u32, f64, f64)| {
            json!({
                "name": names[number as usize],
                "ph": "X",
                "ts": start,
                "dur": length,
                "pid": rank,
                "tid": 0,
            })
        };
        self.events.iter().map(event).collect()
    }
}
