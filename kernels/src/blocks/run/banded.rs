//! One run of a chain of loops that follow each other over their rows: see
//! [`crate::blocks::bands`].
#![expect(unsafe_code, reason = "follows the pointers of a launch, band by band")]

use super::bound::{Array, Uniforms, bind};
use super::buffer::Buffer;
use super::length::UNIT;
use super::windows::Windows;
use super::worker::{Run, Scratch, Worker};
use crate::blocks::bands::{Chain, Link, Progress};
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
        // SAFETY: the caller's promises; no loop of a chain writes a scalar, nor reads one before
        // its rows that an earlier one writes.
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
        KEPT.with_borrow_mut(|kept| {
            // SAFETY: the caller's promises; of rows that have bytes in common those of the earlier
            // loop come first, and no other thread runs one of them in this phase, as `Parts` has
            // it.
            unsafe {
                match phase {
                    0 => run_own(chain, runs, kept, thread),
                    _ => run_left(chain, runs, kept, thread),
                }
            }
        });
    });
}

/// What a thread keeps from run to run: registers, the buffers of each loop, and what it holds of
/// memories that pass through the cache.
#[derive(Debug)]
struct Kept {
    registers: Buffer,
    scratch: Vec<Scratch>,
    windows: Windows,
}

/// A worker for each loop. They run one after the other and keep nothing from block to block, so
/// the registers are the same for all.
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
unsafe fn run_own(chain: &Chain, runs: &[Run<'_>], kept: &mut Kept, thread: usize) {
    let Kept {
        registers,
        scratch,
        windows,
    } = kept;
    let Some(&Run { launch, arrays, .. }) = runs.first() else {
        return;
    };
    let own: Vec<_> = chain.links.iter().map(|it| it.parts.own(thread)).collect();
    let lags = || chain.links.iter().map(|link| link.lag);
    let with_rows = || own.iter().zip(lags()).filter(|(own, _)| !own.is_empty());
    let begin = with_rows().map(|(own, lag)| own.start + lag).min();
    let end = with_rows().map(|(own, lag)| own.end + lag).max();
    let (Some(mut front), Some(end)) = (begin, end) else {
        return;
    };
    // The row that each loop goes on with when the first one does with row `front`.
    let at = |front: i64, next: &mut Vec<i64>| {
        next.clear();
        let rows = own.iter().zip(lags());
        next.extend(rows.map(|(own, lag)| (front - lag).clamp(own.start, own.end)));
    };
    let (mut next, mut goal) = (Vec::new(), Vec::new());
    at(front, &mut next);
    at(front + chain.band, &mut goal);
    let own = &own[..];
    windows.open(chain, launch, Progress { own, next: &next }, thread);
    while front < end {
        windows.aim(chain, launch, arrays);
        let launch = windows.launch(launch);
        let aimed: Vec<_> = match chain.rings.is_empty() {
            true => Vec::new(),
            false => runs
                .iter()
                .map(|run| run.on(&launch, windows.arrays()))
                .collect(),
        };
        let runs = if chain.rings.is_empty() { runs } else { &aimed };
        let mut workers = workers_of(runs, registers, scratch);
        while front < end && windows.have_room(chain, Progress { own, next: &goal }) {
            for (number, (link, worker)) in chain.links.iter().zip(&mut workers).enumerate() {
                // SAFETY: forwarded; what a window takes the place of lies in it, and it has room.
                unsafe { run_rows(link, worker, next[number]..goal[number]) };
            }
            front += chain.band;
            std::mem::swap(&mut next, &mut goal);
            at(front + chain.band, &mut goal);
        }
        if front < end {
            // SAFETY: forwarded; this is what the thread has run.
            unsafe { windows.slide(chain, Progress { own, next: &next }) };
            assert!(
                windows.have_room(chain, Progress { own, next: &goal }),
                "a window has room for what is in use"
            );
        }
    }
    // SAFETY: as above.
    unsafe { windows.close(chain, Progress { own, next: &next }) };
}

/// Runs what is left between a thread and the next one, loop after loop.
///
/// # Safety
/// As [`run_chain`].
unsafe fn run_left(chain: &Chain, runs: &[Run<'_>], kept: &mut Kept, thread: usize) {
    let workers = workers_of(runs, &mut kept.registers, &mut kept.scratch);
    for (link, mut worker) in chain.links.iter().zip(workers) {
        // SAFETY: forwarded.
        unsafe { run_rows(link, &mut worker, link.parts.left(thread)) };
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

impl<'a> Run<'a> {
    /// The same run of arrays that lie elsewhere, at the same distances from each other where they
    /// are views of one memory.
    fn on<'b>(&self, launch: &'b Launch<'b>, arrays: &'b [Array]) -> Run<'b>
    where
        'a: 'b,
    {
        let mut run = Run {
            launch,
            arrays,
            ..*self
        };
        run.copy = run.copied();
        run
    }

    /// The bytes of the registers of a thread.
    fn register_bytes(&self) -> usize {
        self.block_len.next_multiple_of(UNIT) * self.program.register_bytes
    }
}

thread_local! {
    static KEPT: RefCell<Kept> = const {
        RefCell::new(Kept {
            registers: Buffer::EMPTY,
            scratch: Vec::new(),
            windows: Windows::EMPTY,
        })
    };
}
