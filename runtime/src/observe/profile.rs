//! The profile: time, bytes and calls of every fused task, and of every host task and eager task
//! by its name; those of each region of the program apart ([`crate::Runtime::region`]).
//!
//! The time of an eager task is its own: what it issues and waits for is listed by itself, be it
//! fused tasks or other eager tasks. So no second is counted twice, and the sum is that of all.
//!
//! As a text table in the manner of PETSc's `-log_view`, as JSON, and as a trace file that Chrome's
//! `about:tracing` and Perfetto open.

use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Events that the trace file keeps; the sums go on beyond it.
const MOST_EVENTS: usize = 1 << 20;

/// The bytes from which on the name of a fused task is shortened in the table.
const LONG: usize = 60;

/// What was recorded; see the module's text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    begin: Instant,
    /// By region, kind, in the order of [`TaskKind`], and name.
    tasks: BTreeMap<String, [BTreeMap<String, KernelProfile>; 3]>,
    n_tasks: u32,
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
#[non_exhaustive]
pub struct KernelProfile {
    number: u32,
    /// The region of the program, or several with `+` between them; nothing outside of all.
    pub region: String,
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
            tasks: BTreeMap::new(),
            n_tasks: 0,
            events: Vec::new(),
            within: Within::default(),
        }
    }

    /// Records one run of a task of a window, of this region, name and kind, that began at `begin`
    /// and ends now.
    pub(crate) fn record(&mut self, task: (&str, &str, TaskKind), begin: Instant, run: Run) {
        let lasted = begin.elapsed();
        self.within.others += lasted;
        let task = self.task(task);
        task.add(lasted, run);
        let number = task.number;
        self.push_event(number, begin, lasted);
    }

    /// Records the wait for what a fused task reduces.
    pub(crate) fn wait(&mut self, (region, name): (&str, &str), waited: Duration) {
        let kinds = self.tasks.get_mut(region);
        if let Some(task) = kinds.and_then(|kinds| kinds[TaskKind::Fused as usize].get_mut(name)) {
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
    pub(crate) fn end_eager(&mut self, (region, name): (&str, &str), begun: Begun) {
        let lasted = begun.begin.elapsed();
        let within = std::mem::replace(&mut self.within, begun.around);
        self.within.others += lasted;
        let travel = Travel {
            waited: within.waited,
            ..Travel::default()
        };
        let bytes = within.bytes;
        let task = self.task((region, name, TaskKind::Eager));
        task.add(lasted.saturating_sub(within.others), Run { bytes, travel });
        let number = task.number;
        self.push_event(number, begun.begin, lasted);
    }

    /// The sums of a task, which may not have run before.
    fn task(&mut self, (region, name, kind): (&str, &str, TaskKind)) -> &mut KernelProfile {
        if !self.tasks.contains_key(region) {
            self.tasks.insert(region.to_owned(), Default::default());
        }
        let kinds = self.tasks.get_mut(region);
        let tasks =
            &mut kinds.expect("a region that was not there has been put there")[kind as usize];
        if !tasks.contains_key(name) {
            let fresh = KernelProfile {
                number: self.n_tasks,
                region: region.to_owned(),
                kind,
                ..KernelProfile::default()
            };
            self.n_tasks += 1;
            tasks.insert(name.to_owned(), fresh);
        }
        let task = tasks.get_mut(name);
        task.expect("a task that was not there has been put there")
    }

    fn push_event(&mut self, number: u32, begin: Instant, lasted: Duration) {
        if self.events.len() < MOST_EVENTS {
            let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
            let start = micros(begin - self.begin);
            self.events.push((number, start, micros(lasted)));
        }
    }

    /// The tasks by name: of each region the fused ones, then host tasks, then eager ones.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, &KernelProfile)> {
        let all = self.tasks.values().flatten().flatten();
        all.map(|(name, task)| (name.as_str(), task))
    }

    /// The regions of the program, by name, and the seconds of their tasks. What was issued in none
    /// is named by nothing.
    pub fn regions(&self) -> impl Iterator<Item = (&str, f64)> {
        self.tasks.iter().map(|(region, kinds)| {
            let seconds = kinds.iter().flatten().map(|(_, task)| task.seconds);
            (region.as_str(), seconds.sum())
        })
    }

    /// The tasks, those that took longest first, and their share of the time; then the regions of
    /// the program, if it has named any. Names of tasks that fuse many operations are shortened.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<_> = self.kernels().collect();
        rows.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        let total: f64 = rows.iter().map(|(_, kernel)| kernel.seconds).sum();
        let share = |seconds: f64| 100.0 * seconds / total.max(1e-12);
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
            let share = share(seconds);
            let _ = write!(
                text,
                "{calls:>10} {seconds:>12.6} {per_call:>12.3} {rate:>8.2} {share:>5.1}%  "
            );
            if !kernel.region.is_empty() {
                let _ = write!(text, "{}: ", kernel.region);
            }
            text.push_str(&short(name));
            let _ = match kernel.kind {
                TaskKind::Fused => writeln!(text),
                kind => writeln!(text, " ({})", kind.name()),
            };
        }
        if self.tasks.keys().all(String::is_empty) {
            return text;
        }
        let mut regions: Vec<_> = self.regions().collect();
        regions.sort_by(|a, b| b.1.total_cmp(&a.1));
        let _ = writeln!(text, "{:>23} {:>28}  region", "seconds", "share");
        for (region, seconds) in regions {
            let share = share(seconds);
            let region = if region.is_empty() { "(none)" } else { region };
            let _ = writeln!(text, "{seconds:>23.6} {share:>27.1}%  {region}");
        }
        text
    }

    /// The sums as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let kernels = self.kernels().map(|(name, kernel)| {
            json!({
                "name": name,
                "region": kernel.region,
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
        let mut tasks = vec![(String::new(), ""); self.n_tasks as usize];
        for (name, kernel) in self.kernels() {
            let name = match kernel.region.as_str() {
                "" => name.to_owned(),
                region => format!("{region}: {name}"),
            };
            tasks[kernel.number as usize] = (name, kernel.kind.name());
        }
        let event = |&(number, start, length): &(u32, f64, f64)| {
            let (name, kind) = &tasks[number as usize];
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

/// The name of a fused task, cut behind some of its operations if it has many.
fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= LONG {
        return Cow::Borrowed(name);
    }
    let times = |part: &str| {
        part.rsplit_once('*')
            .and_then(|(_, times)| times.parse().ok())
    };
    let operations: u64 = name.split('+').map(|part| times(part).unwrap_or(1)).sum();
    let ends = name.match_indices('+').map(|(end, _)| end);
    match ends.take_while(|end| *end <= LONG).last() {
        Some(end) => Cow::Owned(format!("{}+... ({operations} operations)", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

impl KernelProfile {
    fn add(&mut self, lasted: Duration, run: Run) {
        self.calls += 1;
        self.seconds += lasted.as_secs_f64();
        self.bytes = self.bytes.saturating_add(run.bytes);
        self.waited += run.travel.waited.as_secs_f64();
        self.overlapped += run.travel.overlapped.as_secs_f64();
    }
}
