//! A run of an example on one rank: its options, its steps, its result.

use crate::hash::Hash;
use crate::options::Options;
use crate::progress;
use crate::report::{Check, Field};
use indicatif::ProgressBar;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Counters, Error, Runtime};
use std::cell::RefCell;
use std::time::Instant;

/// A run of an example on one rank.
#[derive(Debug)]
pub struct Run<'a> {
    /// What `--size` says.
    pub size: usize,
    /// The runtime of this rank.
    pub runtime: &'a Runtime,
    options: &'a Options,
    bar: ProgressBar,
    record: RefCell<Record>,
}

/// What a rank has measured and found.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The time of each step, where each ends with a flush.
    pub(crate) seconds: Vec<f64>,
    /// The time of all steps.
    pub(crate) total: f64,
    /// Tasks and fused tasks of all steps.
    pub(crate) tasks: u64,
    pub(crate) fused_tasks: u64,
    /// Messages that this rank has sent in all steps, those of reductions apart, and their bytes.
    pub(crate) messages: u64,
    pub(crate) bytes_sent: u64,
    /// The most bytes that stores of this rank have held until the end of the steps.
    pub(crate) peak: u64,
    pub(crate) checks: Vec<Check>,
    /// On rank 0.
    pub(crate) hash: Hash,
    /// The first result, on rank 0.
    pub(crate) field: Option<Field>,
    /// What is asked for of the last step, and of the time of all.
    pub(crate) explained: String,
}

impl<'a> Run<'a> {
    pub(crate) fn new(runtime: &'a Runtime, name: &str, options: &'a Options) -> Self {
        let bar = match runtime.rank() {
            0 => progress::bar(name, options.steps),
            _ => ProgressBar::hidden(),
        };
        Self {
            size: options.size,
            runtime,
            options,
            bar,
            record: RefCell::default(),
        }
    }

    /// What `--steps` says.
    #[must_use]
    pub fn n_steps(&self) -> usize {
        self.options.steps
    }

    /// What an option of this example says; empty if it has no such option.
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        let mut choices = self.options.choices.iter();
        let found = choices.find(|choice| choice.0 == name);
        found.map_or("", |choice| choice.1.as_str())
    }

    /// The steps, which are timed and counted. What one has issued is executed before the next one
    /// begins.
    pub fn steps(&self) -> Steps<'_> {
        self.steps_that(true)
    }

    /// As [`Run::steps`], without a flush between them: the runtime may fuse steps with each other.
    pub fn fused_steps(&self) -> Steps<'_> {
        self.steps_that(false)
    }

    fn steps_that(&self, flush: bool) -> Steps<'_> {
        self.runtime.flush();
        let begin = Instant::now();
        Steps {
            run: self,
            flush,
            done: 0,
            begin,
            last: begin,
            counters: self.runtime.counters(),
        }
    }

    /// Takes a result: part of the hash, and if it is the first one, what `--out` writes and
    /// `--plot` draws.
    ///
    /// # Errors
    ///
    /// If its computation failed.
    pub fn result<T: Element + PartialOrd, const D: usize>(
        &self,
        name: &'static str,
        array: &Array<T, D>,
    ) -> Result<(), Error> {
        let gathered = array.gather(0)?;
        let mut record = self.record.borrow_mut();
        if let Some(elements) = gathered {
            record.hash.add(&elements);
            if record.field.is_none() {
                record.field = Some(Field::new(name, array.shape().to_vec(), &elements));
            }
        }
        Ok(())
    }

    /// Something that must hold of the result: `what` is `found`, which is to be `at_most` this.
    pub fn check(&self, what: &str, found: f64, at_most: f64) {
        let what = what.to_owned();
        let mut record = self.record.borrow_mut();
        record.checks.push(Check {
            what,
            found,
            at_most: Some(at_most),
        });
    }

    /// A number that helps to judge the result.
    pub fn show(&self, what: &str, found: f64) {
        let what = what.to_owned();
        let mut record = self.record.borrow_mut();
        record.checks.push(Check {
            what,
            found,
            at_most: None,
        });
    }

    pub(crate) fn into_record(self) -> Record {
        self.record.into_inner()
    }
}

/// The number in the middle, 0 of none: what an example measures of its steps.
#[must_use]
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The numbers of the steps from 0; see [`Run::steps`].
#[derive(Debug)]
pub struct Steps<'a> {
    run: &'a Run<'a>,
    flush: bool,
    done: usize,
    begin: Instant,
    last: Instant,
    counters: Counters,
}

impl Iterator for Steps<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.done > 0 {
            self.end_step();
        }
        if self.done == self.run.options.steps {
            self.end();
            return None;
        }
        self.done += 1;
        Some(self.done - 1)
    }
}

impl Steps<'_> {
    fn end_step(&mut self) {
        self.run.bar.inc(1);
        if !self.flush {
            return;
        }
        self.run.runtime.flush();
        let now = Instant::now();
        let mut record = self.run.record.borrow_mut();
        record.seconds.push((now - self.last).as_secs_f64());
        self.last = now;
    }

    fn end(&self) {
        let runtime = self.run.runtime;
        runtime.flush();
        let counters = runtime.counters();
        let mut record = self.run.record.borrow_mut();
        record.total = self.begin.elapsed().as_secs_f64();
        record.tasks = counters.tasks - self.counters.tasks;
        record.fused_tasks = counters.fused_tasks - self.counters.fused_tasks;
        record.messages = counters.messages - self.counters.messages;
        record.bytes_sent = counters.bytes_sent - self.counters.bytes_sent;
        record.peak = runtime.peak_memory() as u64;
        if self.run.options.explain {
            record.explained = runtime.explain();
        }
        if self.run.options.profile
            && let Some(profile) = runtime.profile()
        {
            record.explained.push_str(&profile.table());
        }
        self.run.bar.finish_and_clear();
    }
}
