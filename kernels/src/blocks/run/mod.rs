//! One run of a loop, or of two at the same time, on all threads.
//!
//! Buffers are kept per thread ([`Scratch`]), so a run allocates nothing once they have grown.
#![expect(
    unsafe_code,
    reason = "follows the pointers of a launch, block by block"
)]

mod banded;
mod bound;
mod buffer;
mod chunks;
mod copies;
mod division;
mod fetch;
mod fill;
mod in_place;
mod length;
mod lines;
mod made;
mod panels;
mod products;
mod reduced;
mod row_sums;
mod steps;
mod stream;
mod strided;
mod tiles;
pub(super) mod uniform;
mod windows;
mod worker;

pub(crate) use self::banded::run_chain;
use self::bound::Shared;
use self::buffer::Buffer;
use self::length::{NEAR, UNIT, is_far};
pub(crate) use self::made::run_made;
use self::panels::Panels;
use self::row_sums::SumsBefore;
use self::worker::{Run, Scratch, Worker};
use super::compile::LoopProgram;
use super::compile::ahead::{Ahead, Reach};
use super::{Part, Settings};
use crate::launch::Launch;
use crate::native::Twin;
use crate::packed::WINDOW;
use crate::workers::Workers;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// Runs a loop.
///
/// # Safety
/// As [`crate::blocks::Program::run`].
pub(crate) unsafe fn run_loop(
    program: &LoopProgram,
    twin: Option<&Arc<Twin>>,
    launch: &Launch<'_>,
    part: Part<'_>,
    settings: &Settings,
    workers: &Workers,
) {
    let machine = (settings, workers);
    // SAFETY: forwarded.
    unsafe { run_reduced(program, twin, (launch, part), machine, &[]) };
}

/// Runs a loop of which some row reductions, given by number, are there.
///
/// # Safety
/// As [`run_loop`]; the results have an element for each row.
unsafe fn run_reduced(
    program: &LoopProgram,
    twin: Option<&Arc<Twin>>,
    (launch, part): (&Launch<'_>, Part<'_>),
    (settings, workers): (&Settings, &Workers),
    known: &[(usize, *mut u8)],
) {
    let mut shared = SHARED.take();
    // SAFETY: the caller's promises.
    unsafe {
        shared[0].prepare(program, launch);
        let machine = (settings, workers);
        reduced::reduce_long_rows(program, (launch, part), machine, known, &mut shared[0]);
    }
    shared[0].stream(program, launch, settings);
    let mut run = Run::new(program, launch, shared[0].data(), settings, part);
    let mut memory = SUMS.take();
    if run.has_work() {
        run.panels = Panels::of(program, launch, run.arrays).filter(|_| !run.is_sliced);
        run.native = twin.and_then(|twin| run.native(twin));
        run.copy = run.copied();
        let n_threads = threads_for(run.work(), settings, workers);
        run.before = SumsBefore::new(
            program,
            (&run.rows, run.extent.start),
            n_threads,
            &mut memory,
        );
        let (phases, n_parts) = match run.before {
            None => (1, run.n_parts(n_threads)),
            Some(_) => (2, n_threads),
        };
        let run = &run;
        workers.run_phases(phases, n_parts, |phase, i| {
            if let Some(before) = run.before.filter(|_| phase == 0) {
                // SAFETY: the caller's promises.
                return unsafe { run.sum_before(&before, i, n_parts) };
            }
            SCRATCH.with_borrow_mut(|scratch| {
                let mut worker = Worker::new(run, &mut scratch[0]);
                let rows = &run.rows;
                // SAFETY: the caller's promises; parts have no row in common.
                rows.of_part(i, n_parts, |range| unsafe { worker.run(range, |_| ()) });
                run.fence();
            });
        });
    }
    SUMS.set(memory);
    SHARED.set(shared);
}

/// Runs two loops at the same time, the first ahead of the second by its reach.
///
/// With several threads, each first runs the rows of the first loop that others will read: those
/// within reach of the ends of its part, or all of them where the reach is too far.
///
/// # Safety
/// As [`crate::blocks::Program::run`]; and [`crate::blocks::compile::ahead::Ahead`] admits it.
pub(crate) unsafe fn run_ahead(
    (programs, ahead, reach): ([&LoopProgram; 2], &Ahead, Reach),
    launch: &Launch<'_>,
    part: Part<'_>,
    settings: &Settings,
    workers: &Workers,
) {
    let mut shared = SHARED.take();
    for (shared, program) in shared.iter_mut().zip(programs) {
        // SAFETY: the caller's promises.
        unsafe { shared.prepare(program, launch) };
    }
    shared[1].stream(programs[1], launch, settings);
    for arg in ahead.met_by_second() {
        let array = &mut shared[1].arrays[arg as usize];
        (array.is_streamed, array.is_near) = (false, true);
    }
    let mut memory = SUMS.take();
    let mut first = Run::new(programs[0], launch, shared[0].data(), settings, part);
    let mut second = Run::new(programs[1], launch, shared[1].data(), settings, part);
    first.block_len = second.block_len;
    let is_far = is_far(&programs, launch, settings);
    (first.is_far, second.is_far) = (is_far, is_far);
    let is_near = second.rows.len as usize * programs[1].array_bytes <= NEAR;
    second.rows_ahead = (!is_near).then_some(second.block_len + reach.above);
    if second.has_work() {
        // Not their sum, so that these two decide as other loops over the same rows do.
        let work = first.work().max(second.work());
        let n_threads = threads_for(work, settings, workers);
        if n_threads > 1 && !second.has_whole_windows() {
            // A window at a seam would read what another thread has not made yet.
            SUMS.set(memory);
            SHARED.set(shared);
            for program in programs {
                // SAFETY: forwarded.
                unsafe { run_reduced(program, None, (launch, part), (settings, workers), &[]) };
            }
            return;
        }
        second.before = SumsBefore::new(
            programs[1],
            (&second.rows, second.extent.start),
            n_threads,
            &mut memory,
        );
        let n_parts = match second.before {
            None => second.n_parts_apart(n_threads, reach),
            Some(_) => n_threads,
        };
        let is_ahead = second.before.is_none() && second.can_be_cut(n_parts, reach);
        let (first, second) = (&first, &second);
        let seams = |i: usize| {
            let Range { start, end } = second.rows.range(i, n_parts);
            if !is_ahead {
                return (start, end, end, end);
            }
            let above = if i == 0 {
                0
            } else {
                reach.above.next_multiple_of(WINDOW)
            };
            let below = if i + 1 == n_parts {
                0
            } else {
                reach.below.next_multiple_of(WINDOW)
            };
            (start, start + above, end - below, end)
        };
        let n_phases = if second.before.is_some() { 3 } else { 2 };
        workers.run_phases(n_phases, n_parts, |phase, i| {
            let (start, head, tail, end) = seams(i);
            if phase == 0 && start == head && tail == end {
                return;
            }
            if let Some(before) = second.before.filter(|_| phase == 1) {
                // SAFETY: the caller's promises; the first loop has run.
                return unsafe { second.sum_before(&before, i, n_parts) };
            }
            SCRATCH.with_borrow_mut(|scratch| {
                let [ahead, behind] = scratch;
                let mut ahead = Worker::new(first, ahead);
                if phase == 0 {
                    // SAFETY: the caller's promises; parts have no row in common.
                    unsafe {
                        ahead.run(start..head, |_| ());
                        ahead.run(tail..end, |_| ());
                    }
                    return;
                }
                let mut behind = Worker::new(second, behind);
                let mut done = head;
                let advance = |row: usize| {
                    let goal = (row + reach.above).next_multiple_of(UNIT).min(tail);
                    if done < goal {
                        // SAFETY: the caller's promises; the rows up to `done` have been run, and
                        // no other thread runs those of `head..tail`.
                        unsafe { ahead.run(done..goal, |_| ()) };
                        done = goal;
                    }
                };
                // SAFETY: as above; before each block, all rows that it reads have been run: by
                // `advance`, as seams, or by other threads as their seams.
                unsafe { behind.run(start..end, advance) };
                second.fence();
            });
        });
    }
    SUMS.set(memory);
    SHARED.set(shared);
}

/// How many threads run a loop with this much work.
fn threads_for(work: usize, settings: &Settings, workers: &Workers) -> usize {
    match work < settings.parallel_threshold {
        true => 1,
        false => workers.count(),
    }
}

thread_local! {
    static SUMS: Cell<Buffer> = const { Cell::new(Buffer::EMPTY) };
    static SHARED: Cell<[Shared; 2]> = const { Cell::new([Shared::EMPTY; 2]) };
    static SCRATCH: RefCell<[Scratch; 2]> = const { RefCell::new([Scratch::EMPTY; 2]) };
}
