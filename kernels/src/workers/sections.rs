//! Work in steps that need earlier ones, and the sections of it that threads hold.
//!
//! The steps have an order in which they may run one after the other. They are cut into sections of
//! neighbouring steps. A thread holds the first section that no other thread holds and runs its
//! next steps; where one needs steps of other sections that have not ended, it looks for a moment,
//! then lets the section go, and where that takes long leaves the run to other threads. `README.md`
//! describes the protocol.
//!
//! Invariant: a step needs earlier ones only, and all that it needs have ended when it begins.

use super::Workers;
use super::clock::Clock;
use super::spin;
use super::sync::{AtomicBool, AtomicUsize, Ordering};
use std::cell::Cell;
use std::ops::Range;

/// The most sections from which a step needs steps one by one; it waits for the ends of all
/// sections up to the last one of the others.
const MOST_NEEDS: usize = 8;

/// Steps and the sections that they are cut into, for [`Workers::run_sections`].
///
/// ```
/// use sparsefuse_kernels::workers::{Sections, Workers};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// // Steps 0, 1 and 2, 3: step 2 needs step 0, and step 3 needs step 1.
/// let sections = Sections::new(&[2, 4], &[0, 0, 0, 1, 2], &[0, 1]).ok_or("a step that comes too late")?;
/// let done = [const { AtomicUsize::new(0) }; 4];
/// Workers::new(2)?.run_sections(&sections, |step| {
///     let before = if step < 2 { 1 } else { done[step - 2].load(Ordering::Relaxed) };
///     done[step].store(before + 1, Ordering::Relaxed);
/// });
/// assert_eq!(done.map(AtomicUsize::into_inner), [2, 2, 3, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The end of each section, in steps.
    ends: Vec<u32>,
    /// For each step, how many sections have to be done before it, counted from the first.
    floors: Vec<u32>,
    /// What each step needs besides, up to these ends.
    need_ends: Vec<u32>,
    needs: Vec<Need>,
}

/// The first steps of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    section: u32,
    steps: u32,
}

impl Sections {
    /// Sections that end before these steps, ascending; step `s` needs `needs[pos[s]..pos[s + 1]]`.
    /// `None` if a step needs itself or a later one, or these are not sections and needs of all
    /// steps. Takes time and memory in proportion to `needs` and the steps.
    #[must_use]
    pub fn new(ends: &[u32], pos: &[u32], needs: &[u32]) -> Option<Self> {
        let steps = pos.len().checked_sub(1)?;
        let are_all = ends.last().map_or(0, |&end| end as usize) == steps
            && ends.is_sorted()
            && pos.is_sorted()
            && pos[steps] as usize == needs.len();
        if !are_all {
            return None;
        }
        let mut made = Self {
            ends: ends.to_vec(),
            floors: Vec::with_capacity(steps),
            need_ends: Vec::with_capacity(steps),
            needs: Vec::new(),
        };
        let mut section_of = vec![0; steps];
        for section in 0..ends.len() {
            section_of[made.steps_of(section)].fill(section as u32);
        }
        // What a section has waited for, its later steps need not.
        let mut have = vec![(u32::MAX, 0); ends.len()];
        let mut new = Vec::new();
        for section in 0..ends.len() {
            let mut floor = 0;
            for step in made.steps_of(section) {
                new.clear();
                for &need in &needs[pos[step] as usize..pos[step + 1] as usize] {
                    if need as usize >= step {
                        return None;
                    }
                    let of = section_of[need as usize] as usize;
                    let steps = need + 1 - made.steps_of(of).start as u32;
                    let (by, before) = have[of];
                    if of == section || (by == section as u32 && before >= steps) {
                        continue;
                    }
                    have[of] = (section as u32, steps);
                    new.push(of as u32);
                }
                new.sort_unstable_by(|a, b| b.cmp(a));
                new.dedup();
                floor = floor.max(new.get(MOST_NEEDS).map_or(0, |last| last + 1));
                made.floors.push(floor);
                let single = new.iter().take(MOST_NEEDS);
                made.needs.extend(single.map(|&section| Need {
                    section,
                    steps: have[section as usize].1,
                }));
                made.need_ends.push(made.needs.len() as u32);
            }
        }
        Some(made)
    }

    /// How many steps there are.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.floors.len()
    }

    /// How many sections there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    fn steps_of(&self, section: usize) -> Range<usize> {
        let start = section.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[section] as usize
    }

    fn needs_of(&self, step: usize) -> &[Need] {
        let start = step
            .checked_sub(1)
            .map_or(0, |before| self.need_ends[before]);
        &self.needs[start as usize..self.need_ends[step] as usize]
    }
}

impl Workers {
    /// Calls `work` with each step, in each section in order, and with no step before those that it
    /// needs have ended; it sees what they did. All steps run on the caller, one after the other,
    /// where there is one thread or one section, or the threads are busy.
    ///
    /// A step costs a tenth of a microsecond more than the call, a section 129 bytes. A thread that
    /// would wait for long leaves the steps to the others, the caller too, which then waits for
    /// these.
    ///
    /// # Panics
    /// When a step panics, after the steps that had begun have ended.
    pub fn run_sections(&self, sections: &Sections, work: impl Fn(usize) + Sync) {
        let threads = self.count().min(sections.count());
        if threads <= 1 {
            (0..sections.steps()).for_each(work);
            return;
        }
        let progress = Progress {
            sections,
            ended: (0..sections.count()).map(|_| Clock::new()).collect(),
            held: (0..sections.count())
                .map(|_| AtomicBool::new(false))
                .collect(),
            active: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        };
        self.run(threads, |_| progress.run(&work));
    }
}

/// How far the threads of a run are.
struct Progress<'a> {
    sections: &'a Sections,
    /// One of each section, which ticks when a step has ended; the thread that holds the section
    /// lets it.
    ended: Box<[Clock]>,
    /// Whether a thread holds each section.
    held: Box<[AtomicBool]>,
    /// How many threads have begun and not left.
    active: AtomicUsize,
    /// Whether a step has panicked; those after it end without having been run.
    has_failed: AtomicBool,
}

impl Progress<'_> {
    /// The part of one thread: sections until all have ended, or others go on without it.
    fn run(&self, work: &impl Fn(usize)) {
        // Relaxed: others see it by `held`, as far as they have to.
        self.active.fetch_add(1, Ordering::Relaxed);
        // Sections, from the first, that this thread has seen ended.
        let mut done = 0;
        loop {
            let goes_on = match self.hold_first(&mut done) {
                None => done == self.sections.count(),
                Some(held) => match held.run(&mut done, work) {
                    None => true,
                    Some((section, steps)) => {
                        drop(held);
                        let has_ticked = || self.ended[section].has_ticked(steps);
                        spin::until(|| has_ticked().then_some(())).is_some()
                    }
                },
            };
            if done == self.sections.count() || (!goes_on && self.leave()) {
                return;
            }
        }
    }

    /// Leaves, unless there is no other thread that has not left.
    fn leave(&self) -> bool {
        // AcqRel: a thread that may not leave sees what those that have left no longer hold.
        let [set, fetch] = [Ordering::AcqRel, Ordering::Acquire];
        let others = |active: usize| (active > 1).then(|| active - 1);
        self.active.fetch_update(set, fetch, others).is_ok()
    }

    /// Holds the first section that has steps left and that no other thread holds.
    fn hold_first(&self, done: &mut usize) -> Option<Held<'_>> {
        while *done < self.sections.count() && self.has_ended(*done) {
            *done += 1;
        }
        let mut left = (*done..self.sections.count()).filter(|&section| !self.has_ended(section));
        left.find_map(|section| {
            let is_held = &self.held[section];
            // Acquire: the ticks of the threads that held it before are seen, or that the one that
            // holds it is active. Release: that this one is.
            let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
            let is_free = !is_held.load(Ordering::Acquire)
                && is_held.compare_exchange(false, true, yes, no).is_ok();
            is_free.then(|| Held {
                progress: self,
                section,
                is_running: Cell::new(false),
            })
        })
    }

    fn has_ended(&self, section: usize) -> bool {
        let steps = self.sections.steps_of(section).len();
        self.ended[section].has_ticked(steps)
    }

    /// The section and the number of its steps that a step still waits for, the first of all.
    fn awaited(&self, step: usize, done: &mut usize) -> Option<(usize, usize)> {
        while *done < self.sections.floors[step] as usize {
            if !self.has_ended(*done) {
                return Some((*done, self.sections.steps_of(*done).len()));
            }
            *done += 1;
        }
        let needs = self.sections.needs_of(step).iter();
        let mut needs = needs.map(|need| (need.section as usize, need.steps as usize));
        needs.find(|&(section, steps)| !self.ended[section].has_ticked(steps))
    }
}

/// A section that a thread holds. Where a step panics, the steps that are left end when this is
/// dropped, so that no thread waits for them.
struct Held<'a> {
    progress: &'a Progress<'a>,
    section: usize,
    /// Whether a step runs.
    is_running: Cell<bool>,
}

impl Held<'_> {
    /// Runs steps that wait for nothing. What the next one waits for, if there is one.
    fn run(&self, done: &mut usize, work: &impl Fn(usize)) -> Option<(usize, usize)> {
        let Progress {
            sections,
            ended,
            has_failed,
            ..
        } = self.progress;
        let own = &ended[self.section];
        let steps = sections.steps_of(self.section);
        for step in steps.start + own.ticks()..steps.end {
            while let Some((section, steps)) = self.progress.awaited(step, done) {
                spin::briefly(|| ended[section].has_ticked(steps));
                if !ended[section].has_ticked(steps) {
                    return Some((section, steps));
                }
            }
            // Relaxed: it is set before the tick of a step that has not been run.
            if !has_failed.load(Ordering::Relaxed) {
                self.is_running.set(true);
                work(step);
                self.is_running.set(false);
            }
            own.tick();
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let progress = self.progress;
        if self.is_running.get() {
            // Relaxed: the ticks order it.
            progress.has_failed.store(true, Ordering::Relaxed);
            let own = &progress.ended[self.section];
            for _ in own.ticks()..progress.sections.steps_of(self.section).len() {
                own.tick();
            }
        }
        // Release: the next thread that holds it sees the ticks.
        progress.held[self.section].store(false, Ordering::Release);
    }
}
