//! The profile: time, bytes and calls of every fused task, and of every host task and eager task
//! by its name.
//!
//! The time of an eager task is its own: what it issues and waits for is listed by itself, be it
//! fused tasks or other eager tasks. So no second is counted twice, and the sum is that of all.
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
    /// By kind, in the order of [`TaskKind`], and name.
    tasks: [BTreeMap<String, KernelProfile>; 3],
    /// The number of the task, start and length in microseconds.
    events: Vec<(u32, f64, f64)>,
    /// Of the innermost eager task that is running.
    within: Within,
}

/// What kind of task was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskKind {
    /// Tasks with kernels, fused.
    #[default]
    Fused,
    /// A function as a task of the window ([`crate::HostTask`]).
    Host,
    /// A function that ran when it was issued ([`crate::Runtime::eager_task`]).
    Eager,
}

impl TaskKind {
    /// Its name, as reports have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fused => "fused",
            Self::Host => "host",
            Self::Eager => "eager",
        }
    }
}

/// The sums of one fused task, or of the other tasks of one kind and name, on one rank.
#[derive(Clone, Debug, Default)]
pub struct KernelProfile {
    number: u32,
    /// What kind of task it is.
    pub kind: TaskKind,
    /// How often it ran.
    pub calls: u64,
    /// Seconds in all; without those of tasks within it.
    pub seconds: f64,
    /// Bytes read and written in all, counted from its arguments; of a host task also what it says
    /// besides; of an eager task, those of the stores that it reads and makes and what it says
    /// besides.
    pub bytes: u64,
    /// Of the seconds, those in which it waited for other ranks.
    pub waited: f64,
    /// Of the seconds, those in which it computed while ghosts were on their way.
    pub overlapped: f64,
}

/// What one run of a task of a window has taken.
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

/// What has happened since an eager task began.
#[derive(Clone, Copy, Debug, Default)]
struct Within {
    /// In the tasks within it.
    others: Duration,
    waited: Duration,
    bytes: u64,
}

/// An eager task that is running.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    begin: Instant,
    /// What had happened in the task around it.
    around: Within,
}

impl Profile {
    pub(crate) fn new() -> Self {
        Self {
            begin: Instant::now(),
            tasks: Default::default(),
            events: Vec::new(),
            within: Within::default(),
        }
    }

    /// Records one run of a task of a window that began at `begin` and ends now.
    pub(crate) fn record(&mut self, task: (&str, TaskKind), begin: Instant, run: Run) {
        let lasted = begin.elapsed();
        self.within.others += lasted;
        let task = self.task(task);
        task.add(lasted, run);
        let number = task.number;
        self.push_event(number, begin, lasted);
    }

    /// Records the wait for what a fused task reduces.
    pub(crate) fn wait(&mut self, name: &str, waited: Duration) {
        if let Some(task) = self.tasks[TaskKind::Fused as usize].get_mut(name) {
            task.seconds += waited.as_secs_f64();
            task.waited += waited.as_secs_f64();
            self.within.others += waited;
        }
    }

    /// An eager task begins that reads `bytes` of stores.
    pub(crate) fn begin_eager(&mut self, bytes: u64) -> Begun {
        let within = Within {
            bytes,
            ..Within::default()
        };
        Begun {
            begin: Instant::now(),
            around: std::mem::replace(&mut self.within, within),
        }
    }

    /// Adds to the bytes that the running eager task reads and writes.
    pub(crate) fn move_eager(&mut self, bytes: u64) {
        self.within.bytes += bytes;
    }

    /// The eager task that is running has waited for other ranks.
    pub(crate) fn wait_eager(&mut self, waited: Duration) {
        self.within.waited += waited;
    }

    /// Records an eager task, which ends now.
    pub(crate) fn end_eager(&mut self, name: &str, begun: Begun) {
        let lasted = begun.begin.elapsed();
        let within = std::mem::replace(&mut self.within, begun.around);
        self.within.others += lasted;
        let travel = Travel {
            waited: within.waited,
            ..Travel::default()
        };
        let bytes = within.bytes;
        let task = self.task((name, TaskKind::Eager));
        task.add(lasted.saturating_sub(within.others), Run { bytes, travel });
        let number = task.number;
        self.push_event(number, begun.begin, lasted);
    }

    /// The sums of a task, which may not have run before.
    fn task(&mut self, (name, kind): (&str, TaskKind)) -> &mut KernelProfile {
        let number = self.n_tasks() as u32;
        let tasks = &mut self.tasks[kind as usize];
        if !tasks.contains_key(name) {
            let fresh = KernelProfile {
                number,
                kind,
                ..KernelProfile::default()
            };
            tasks.insert(name.to_owned(), fresh);
        }
        let task = tasks.get_mut(name);
        task.expect("a task that was not there has been put there")
    }

    fn n_tasks(&self) -> usize {
        self.tasks.iter().map(BTreeMap::len).sum()
    }

    fn push_event(&mut self, number: u32, begin: Instant, lasted: Duration) {
        if self.events.len() < MOST_EVENTS {
            let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
            let start = micros(begin - self.begin);
            self.events.push((number, start, micros(lasted)));
        }
    }

    /// The tasks by name: the fused ones, then host tasks, then eager ones.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, &KernelProfile)> {
        let all = self.tasks.iter().flatten();
        all.map(|(name, task)| (name.as_str(), task))
    }

    /// The tasks, those that took longest first, and their share of the time.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<_> = self.kernels().collect();
        rows.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        let total: f64 = rows.iter().map(|(_, kernel)| kernel.seconds).sum();
        let mut text = format!(
            "{:>10} {:>12} {:>12} {:>8} {:>6}  task\n",
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
            let _ = write!(
                text,
                "{calls:>10} {seconds:>12.6} {per_call:>12.3} {rate:>8.2} {share:>5.1}%  {name}"
            );
            let _ = match kernel.kind {
                TaskKind::Fused => writeln!(text),
                kind => writeln!(text, " ({})", kind.name()),
            };
        }
        text
    }

    /// The sums as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let kernels = self.kernels().map(|(name, kernel)| {
            json!({
                "name": name,
                "kind": kernel.kind.name(),
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
        let mut tasks = vec![("", ""); self.n_tasks()];
        for (name, kernel) in self.kernels() {
            tasks[kernel.number as usize] = (name, kernel.kind.name());
        }
        let event = |&(number, start, length): &(u32, f64, f64)| {
            let (name, kind) = tasks[number as usize];
            json!({
                "name": name,
                "cat": kind,
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

impl KernelProfile {
    fn add(&mut self, lasted: Duration, run: Run) {
        self.calls += 1;
        self.seconds += lasted.as_secs_f64();
        self.bytes += run.bytes;
        self.waited += run.travel.waited.as_secs_f64();
        self.overlapped += run.travel.overlapped.as_secs_f64();
    }
}
