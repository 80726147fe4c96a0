//! Native code for loops that take long in blocks: printed as C, compiled by the system's C
//! compiler in the background, swapped in when ready.
//!
//! A loop that is worth it ([`worth`]) gets a [`Twin`] beside its steps. While it runs in blocks,
//! the twin counts the work; when that passes [`Toolchain::patience`], the loop goes to the one
//! compiler thread of the process ([`compile`]). From the moment that the library is loaded, runs
//! call it for all whole chunks of contiguous arrays, and for the lines of others, and leave the
//! rest to the steps. No run waits for the compiler; where it fails, the loop stays in blocks, with
//! the reason in [`Program::native_notes`](crate::Program::native_notes).
//!
//! The bits are those of the blocks: `math.c` and `complex.c` have the operations of [`crate::ops`]
//! and of the elementary functions, the options keep the compiler from fusing or reordering them,
//! and the lanes of reductions are the same memory.
//!
//! Libraries are kept in a directory that only the user can write ([`cache`]), under the hash of
//! their source and options.
//!
//! # Who does what when
//!
//! | state of a form | kept as | left by |
//! |---|---|---|
//! | in blocks | not enqueued, no outcome | a run that finds the work of the loop and its equals at or above the patience |
//! | being compiled | enqueued, no outcome | the compiler thread, which sets the outcome |
//! | native, or failed | the outcome | nobody |
//!
//! What is spent is only a count, so it is relaxed; exactly one run sets `is_enqueued`, and that
//! one sends the form to the queue. Equal loops count together ([`together`]), for their first
//! forms. `premise` and `outcome` are `OnceLock`s, whose release and acquire carry them to the
//! runs: `premise` from that one run, the loaded library from the compiler thread.

#[cfg(unix)]
pub(crate) mod cache;
#[cfg_attr(not(unix), path = "no_compiler.rs")]
mod compile;
#[cfg(unix)]
mod exit;
mod load;
pub(crate) mod operators;
mod prelude;
mod premise;
mod print;
#[cfg(unix)]
pub(crate) mod raw;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod together;
mod worth;

use crate::ir::{ArgId, ArgKind, Kernel, Loop};
use crate::isa::Isa;
use load::Loaded;
pub(crate) use load::LoopFunction;
#[cfg(unix)]
pub(crate) use prelude::mathematics;
pub(crate) use premise::{Placed, Wanted};
use premise::{Premise, Way};
use print::Printed;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use worth::Worth;

/// The C compiler and the directory of its libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Compilers as commands, each a name or path and its first arguments; the first that there is
    /// serves.
    pub compilers: Vec<Vec<String>>,
    /// Where libraries are kept. It is made, for the user alone, when the first loop is compiled.
    pub directory: PathBuf,
    /// The bytes that libraries may take there; the oldest go first.
    pub most_bytes: u64,
    /// The work, in cycles as estimated, that a loop does in blocks before it is compiled.
    pub patience: u64,
    /// The time after which a compilation is ended.
    pub limit: Duration,
}

impl Toolchain {
    /// The compilers `cc`, `gcc` and `clang`, with a cache in `directory`.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self {
            compilers: ["cc", "gcc", "clang"]
                .map(|name| vec![name.to_owned()])
                .to_vec(),
            directory,
            most_bytes: 64 << 20,
            patience: 10_000_000,
            limit: Duration::from_secs(30),
        }
    }
}

/// Why a loop has no C form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no C for `{operation}`{}", of(self.dtype))]
pub(crate) struct Refusal {
    operation: &'static str,
    dtype: Option<crate::DType>,
}

fn of(dtype: Option<crate::DType>) -> String {
    dtype.map_or(String::new(), |dtype| format!(" of {dtype}"))
}

impl Refusal {
    pub(crate) fn new(operation: &'static str, dtype: Option<crate::DType>) -> Self {
        Self { operation, dtype }
    }

    /// The operation, and on what.
    pub(crate) fn what(&self) -> String {
        format!("`{}`{}", self.operation, of(self.dtype))
    }
}

/// Why a loop that has a C form stays in blocks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("no C compiler is found")]
    NoCompiler,
    #[error("the C compiler failed: {0}")]
    Compiler(String),
    #[error("the C compiler took longer than {} s", .0.as_secs_f32())]
    Slow(Duration),
    #[error("the cache {} is not usable: {reason}", directory.display())]
    Cache { directory: PathBuf, reason: String },
    #[error("the library does not load: {0}")]
    Load(String),
}

/// The native forms of one loop.
#[derive(Debug)]
pub(crate) struct Twin {
    toolchain: Arc<Toolchain>,
    isa: Isa,
    /// What is printed when runs have spent enough in blocks, which few do.
    source: Source,
    /// The C function and the arrays that it expects, or why there is none.
    printed: OnceLock<Result<Printed, Refusal>>,
    worth: Worth,
    /// The form for runs that are as the one was for which it was compiled, in which uniform values
    /// are equal and how far views of a store lie apart; and the form for all others. Programs
    /// repeat constants, and what depends on equal ones is computed once.
    forms: [Form; 2],
    /// What the loop and those equal to it have spent in blocks.
    together: OnceLock<Arc<AtomicU64>>,
    /// Whether a run could not be taken.
    is_passed_by: AtomicBool,
    /// What a form for the first run would take as known.
    #[cfg(test)]
    first_run: OnceLock<Premise>,
}

/// A loop, and what printing it takes besides.
#[derive(Debug)]
struct Source {
    /// A kernel of this loop alone.
    kernel: Kernel,
    splats: Vec<u32>,
    /// The arrays of the loop.
    arrays: Vec<ArgId>,
    /// Those that it stores and does not read.
    write_only: Vec<ArgId>,
}

impl Native<'_> {
    /// Whether it reduces, so that a line begins with a lane of its own.
    pub(crate) fn reduces(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// Whether the function reads the address of an array, which others may lie behind.
    pub(crate) fn reads_address(&self, array: usize) -> bool {
        self.ways[array].base == array
    }
}

impl Source {
    fn new(kernel: &Kernel, loop_: &Loop, (splats, write_only): (&[u32], &[ArgId])) -> Self {
        let mut arrays = Vec::new();
        let mut is_new: Vec<bool> = (kernel.args.iter())
            .map(|arg| arg.kind == ArgKind::Array)
            .collect();
        for inst in &loop_.body {
            inst.for_each_arg(|arg| {
                if std::mem::take(&mut is_new[arg as usize]) {
                    arrays.push(arg);
                }
            });
        }
        Self {
            arrays,
            kernel: Kernel {
                loops: vec![loop_.clone()],
                args: kernel.args.clone(),
                params: kernel.params.clone(),
            },
            splats: splats.to_vec(),
            write_only: write_only.to_vec(),
        }
    }
}

/// A native form of a loop.
#[derive(Debug, Default)]
struct Form {
    /// The work of the runs that it would have taken.
    spent: AtomicU64,
    is_enqueued: AtomicBool,
    /// Set before `outcome`.
    premise: OnceLock<Premise>,
    outcome: OnceLock<Result<Loaded, Failure>>,
}

/// A loop's function, ready to be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Native<'a> {
    pub(crate) function: LoopFunction,
    /// The arrays that it expects, in order, and the bytes of their elements.
    pub(crate) arrays: &'a [(ArgId, usize)],
    ways: &'a [Way],
    /// The bytes of the elements of its reductions.
    pub(crate) lanes: &'a [usize],
    /// Whether it stores past the caches.
    pub(crate) is_streamed: bool,
}

impl Twin {
    /// The twin of a loop that is worth it: of its uniform values, those with the numbers `splats`
    /// are passed by runs; `write_only` are the arrays that blocks of large ones store past the
    /// caches.
    pub(crate) fn new(
        kernel: &Kernel,
        loop_: &Loop,
        (splats, write_only): (&[u32], &[ArgId]),
        isa: Isa,
        toolchain: &Arc<Toolchain>,
    ) -> Option<Arc<Self>> {
        let worth = worth::worth(kernel, loop_, isa)?;
        let source = Source::new(kernel, loop_, (splats, write_only));
        Some(Arc::new(Self::of(source, worth, (isa, toolchain))))
    }

    fn of(source: Source, worth: Worth, (isa, toolchain): (Isa, &Arc<Toolchain>)) -> Self {
        Self {
            source,
            printed: OnceLock::new(),
            worth,
            toolchain: Arc::clone(toolchain),
            isa,
            forms: Default::default(),
            together: OnceLock::new(),
            is_passed_by: AtomicBool::new(false),
            #[cfg(test)]
            first_run: OnceLock::new(),
        }
    }

    fn printed(&self) -> Result<&Printed, &Refusal> {
        self.printed.get_or_init(|| self.print(&[])).as_ref()
    }

    fn print(&self, streamed: &[ArgId]) -> Result<Printed, Refusal> {
        let Source { kernel, splats, .. } = &self.source;
        let known = (splats.as_slice(), streamed);
        print::print(kernel, &kernel.loops[0], known, self.isa, compile::FUNCTION)
    }

    /// Whether native code takes runs whose arrays fit the caches, too.
    pub(crate) fn is_for_all_sizes(&self) -> bool {
        matches!(self.worth, Worth::Arithmetic(_))
    }

    /// The arrays of the loop.
    pub(crate) fn arrays(&self) -> &[ArgId] {
        &self.source.arrays
    }

    /// The arrays that the C function expects, in order, and the bytes of their elements.
    pub(crate) fn expected(&self) -> &[(ArgId, usize)] {
        self.printed().map_or(&[], |printed| &printed.arrays)
    }

    /// A run that native code cannot take has stayed in blocks.
    pub(crate) fn pass_by(&self) {
        self.is_passed_by.store(true, Ordering::Relaxed);
    }

    /// The function for a run, if it is ready; else counts the work and has the loop compiled when
    /// that is enough.
    pub(crate) fn function<F: Fn(usize) -> Placed>(
        self: &Arc<Self>,
        isa: Isa,
        run: &Wanted<'_, F>,
    ) -> Option<Native<'_>> {
        if isa != self.isa || matches!(self.printed.get(), Some(Err(_))) {
            return None;
        }
        #[cfg(test)]
        let _ = (self.first_run).set(self.premise(self.printed().ok()?, run, false));
        let fits = |form: &&Form| form.premise.get().is_none_or(|premise| premise.holds(run));
        let Some(number) = self.forms.iter().position(|form| fits(&form)) else {
            self.pass_by();
            return None;
        };
        let form = &self.forms[number];
        if let Some(outcome) = form.outcome.get() {
            let loaded = outcome.as_ref().ok()?;
            let (printed, premise) = (self.printed().ok()?, form.premise.get()?);
            return Some(Native {
                function: loaded.function(),
                arrays: &printed.arrays,
                ways: &premise.ways,
                lanes: &printed.lanes,
                is_streamed: !premise.streamed.is_empty(),
            });
        }
        let work = run.rows.saturating_mul(self.worth.work()) / 4;
        let before = form.spent.fetch_add(work, Ordering::Relaxed);
        let mut spent = before.saturating_add(work);
        if number == 0 {
            let together = self.together().fetch_add(work, Ordering::Relaxed);
            // A loop that runs once needs no code, however long its equals take.
            if before > 0 {
                spent = spent.max(together.saturating_add(work));
            }
        }
        if spent >= self.toolchain.patience && !form.is_enqueued.swap(true, Ordering::Relaxed) {
            // Only this run has found it so, so nobody else sets it.
            let premise = self.premise(self.printed().ok()?, run, number > 0);
            let _ = form.premise.set(premise);
            compile::enqueue(Arc::clone(self), number);
        }
        None
    }

    /// What the loop and its equals have spent in blocks.
    fn together(&self) -> &AtomicU64 {
        self.together.get_or_init(|| {
            let kernel = &self.source.kernel;
            together::spent(kernel, &kernel.loops[0], &self.toolchain)
        })
    }

    /// What a form for a run takes as known.
    fn premise<F: Fn(usize) -> Placed>(
        &self,
        printed: &Printed,
        run: &Wanted<'_, F>,
        is_general: bool,
    ) -> Premise {
        let args = &self.source.kernel.args;
        let arrays = printed.arrays.iter();
        let memories: Vec<_> = arrays.map(|&(arg, _)| args[arg as usize].memory).collect();
        let mut premise = Premise::of(run, &memories, is_general);
        let may_stream = match run.is_lined {
            // Lines may begin within a cache line; the lanes of reductions begin with the first
            // row.
            true => printed.lanes.is_empty(),
            false => matches!(self.worth, Worth::Memory(_)),
        };
        // A general form is for runs of any size.
        if run.is_large && may_stream && !is_general {
            let arrays = printed.arrays.iter().zip(&premise.ways);
            let is_streamed = |arg: &ArgId| self.source.write_only.contains(arg);
            let streamed = arrays.filter(|((arg, _), way)| is_streamed(arg) && way.step == 1);
            premise.streamed = streamed.map(|((arg, _), _)| *arg).collect();
        }
        premise
    }

    /// How the loop runs at present, in words; nothing as long as no run was one for native code.
    pub(crate) fn note(&self) -> Option<String> {
        let is_wanted = |form: &Form| form.spent.load(Ordering::Relaxed) > 0;
        let is_quiet = !self.is_for_all_sizes() && !self.forms.iter().any(is_wanted);
        (!is_quiet).then(|| self.state())
    }

    fn state(&self) -> String {
        if let Err(refusal) = self.printed() {
            return format!("in blocks: {refusal}");
        }
        if self.is_passed_by.load(Ordering::Relaxed) {
            return "in blocks: runs differ in where their arrays lie, or an array has other \
                    dimensions than the loop"
                .to_owned();
        }
        let [special, general] = &self.forms;
        let is_general = general.spent.load(Ordering::Relaxed) > 0;
        let form = if is_general { general } else { special };
        match form.outcome.get() {
            Some(Ok(_)) => format!("native for {}", self.isa),
            Some(Err(failure)) => format!("in blocks: {failure}"),
            None if !form.is_enqueued.load(Ordering::Relaxed) => {
                "in blocks, native when it has run for longer".to_owned()
            }
            None => "in blocks while it is being compiled".to_owned(),
        }
    }

    /// The C text of a form that has been enqueued.
    fn text(&self, form: usize) -> String {
        let mut text = String::new();
        let Some(premise) = self.forms[form].premise.get() else {
            return text;
        };
        premise.define(&mut text);
        text.extend(self.print(&premise.streamed).map(|printed| printed.text));
        text
    }
}
