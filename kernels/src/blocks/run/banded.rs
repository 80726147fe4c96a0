//! One run of a chain of loops that follow each other over their rows: see [`crate::blocks::bands`].
#![expect(unsafe_code, reason = "follows the pointers of a launch, band by band")]

use super::bound::{Array, Uniforms, bind};
use super::buffer::Buffer;
use super::length::UNIT;
use super::worker::{Run, Scratch, Worker};
use crate::blocks::bands::{Chain, Link};
use crate::blocks::compile::LoopProgram;
use crate::blocks::{Part, Settings};
use crate::launch::Launch;
use crate::native::Twin;
use crate::workers::Workers;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// Runs the loops of a chain, given with their twins.
///
/// # Safety
/// As [`crate::blocks::Program::run`]; and the chain was made for this launch.
pub(crate) unsafe fn run_chain(
    chain: &Chain,
    (programs, twins): (&[LoopProgram], &[Option<Arc<Twin>>]),
    launch: &Launch<'_>,
    settings: &Settings,
    workers: &Workers,
) {
    // What a loop stores is read soon, so nothing goes past the caches.
    let settings = Settings {
        stream_threshold: usize::MAX,
        ..*settings
    };
    let mut arrays = Vec::new();
    let mut uniforms: Vec<Uniforms> = Vec::with_capacity(programs.len());
    for program in programs {
        bind(&mut arrays, program, launch);
        let mut values = Uniforms::EMPTY;
        // SAFETY: the caller's promises; no loop of a chain writes a scalar, nor reads one before its
        // rows that an earlier one writes.
        unsafe { values.compute(program, launch) };
        uniforms.push(values);
    }
    let runs = programs.iter().zip(twins).zip(&uniforms);
    let runs: Vec<Run<'_>> = runs
        .map(|((program, twin), uniforms)| {
            let data: (&[Array], _) = (&arrays, uniforms.splats.as_slice());
            let mut run = Run::new(program, launch, data, &settings, Part::All);
            run.is_sliced = true;
            run.native = twin.as_ref().and_then(|twin| run.native(twin));
            run.copy = run.copied();
            run
        })
        .collect();
    let (runs, threads) = (&runs, chain.threads);
    let phases = if threads > 1 { 2 } else { 1 };
    workers.run_phases(phases, threads, |phase, thread| {
        SCRATCH.with_borrow_mut(|(registers, scratch)| {
            let mut workers = workers_of(runs, registers, scratch);
            // SAFETY: the caller's promises; of rows that have bytes in common those of the earlier
            // loop come first, and no other thread runs one of them in this phase, as `Parts` has
            // it.
            unsafe {
                match phase {
                    0 => run_own(chain, &mut workers, thread),
                    _ => run_left(chain, &mut workers, thread),
                }
            }
        });
    });
}

/// A worker for each loop. They run one after the other and keep nothing from block to block, so the
/// registers are the same for all.
fn workers_of<'a>(
    runs: &'a [Run<'a>],
    registers: &mut Buffer,
    scratch: &'a mut Vec<Scratch>,
) -> Vec<Worker<'a>> {
    let bytes = runs.iter().map(Run::register_bytes).max();
    let registers = registers.of(bytes.unwrap_or(0));
    if scratch.len() < runs.len() {
        scratch.resize_with(runs.len(), || Scratch::EMPTY);
    }
    let workers = runs.iter().zip(scratch);
    workers
        .map(|(run, scratch)| Worker::with_registers(run, scratch, registers))
        .collect()
}

/// Runs what a thread runs beside the others, band by band.
///
/// # Safety
/// As [`run_chain`].
unsafe fn run_own(chain: &Chain, workers: &mut [Worker<'_>], thread: usize) {
    let own = |link: &Link| link.parts.own(thread);
    let with_rows = || chain.links.iter().filter(|link| !own(link).is_empty());
    let begin = with_rows().map(|link| own(link).start + link.lag).min();
    let end = with_rows().map(|link| own(link).end + link.lag).max();
    let (Some(mut front), Some(end)) = (begin, end) else {
        return;
    };
    while front < end {
        let next = front + chain.band;
        for (link, worker) in chain.links.iter().zip(&mut *workers) {
            let Range { start, end } = own(link);
            let at = |front: i64| (front - link.lag).clamp(start, end.max(start));
            // SAFETY: forwarded.
            unsafe { run_rows(link, worker, at(front)..at(next)) };
        }
        front = next;
    }
}

/// Runs what is left between a thread and the next one, loop after loop.
///
/// # Safety
/// As [`run_chain`].
unsafe fn run_left(chain: &Chain, workers: &mut [Worker<'_>], thread: usize) {
    for (link, worker) in chain.links.iter().zip(workers) {
        // SAFETY: forwarded.
        unsafe { run_rows(link, worker, link.parts.left(thread)) };
    }
}

/// Runs outer rows of a loop.
///
/// # Safety
/// As [`Worker::run`].
unsafe fn run_rows(link: &Link, worker: &mut Worker<'_>, rows: Range<i64>) {
    if !rows.is_empty() {
        let rows = rows.start as usize * link.row_len..rows.end as usize * link.row_len;
        // SAFETY: forwarded.
        unsafe { worker.run(rows, |_| ()) };
    }
}

impl Run<'_> {
    /// The bytes of the registers of a thread.
    fn register_bytes(&self) -> usize {
        self.block_len.next_multiple_of(UNIT) * self.program.register_bytes
    }
}

thread_local! {
    static SCRATCH: RefCell<(Buffer, Vec<Scratch>)> =
        const { RefCell::new((Buffer::EMPTY, Vec::new())) };
}
