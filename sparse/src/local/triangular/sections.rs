//! How a sweep is cut for threads: into steps of neighbouring rows, and sections of steps.
//!
//! Rows keep their order, so a thread reads a triangle as one thread alone does. What decides is
//! where the cuts are: a section can run beside the one before it if its first rows need none of
//! the last rows before them, as the lines of a grid do, and the planes. So cuts are where all
//! entries that reach across them reach far. How large sections should be depends on the matrix:
//! all sizes are tried on a model of the threads, and if none is worthwhile there are no sections.
//!
//! Invariant: each row of a step needs rows before it in the step, or rows of steps that the step
//! needs.

use super::Triangle;
use super::groups::in_sweep;
use crate::local::dealing::try_grow;
use crate::local::rows::LocalRows;
use sparsefuse_kernels::workers::Sections;
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// Rows and entries of a step: about a microsecond of work, ten times what it costs to begin one.
const STEP: u64 = 512;

/// Rows and entries of a triangle from which on threads share it: for a quarter of a millisecond of
/// work.
const SHARED: u64 = 1 << 17;

/// What the model adds for a step, and for waiting for a step of another section, in rows and
/// entries.
const BEGIN: u64 = 40;
const WAIT: u64 = 60;

/// How many times as fast as one thread several have to be in the model.
const WORTHWHILE: f64 = 1.25;

/// How a sweep is cut.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Where steps begin, in places of the sweep, and the end.
    cuts: Vec<u32>,
    /// The first group of each step, where rows are grouped.
    first_groups: Vec<u32>,
    pub(super) sections: Sections,
}

impl Plan {
    /// How several threads share the sweep of a triangle with these groups; `None` where one thread
    /// is about as fast, and where a row needs itself or a later one.
    pub(super) fn of<T>(
        own: &LocalRows<T>,
        triangle: Triangle,
        groups: &[u8],
        threads: usize,
    ) -> Result<Option<Self>, Error> {
        let rows = Rows { own, triangle };
        if threads == 1 || rows.cost_before(rows.len()) < SHARED {
            return Ok(None);
        }
        Self::cut(&rows, groups, STEP, |steps, strengths| {
            steps.best_ends(strengths, threads)
        })
    }

    /// In steps of this cost, and sections with the ends that are chosen for these steps and the
    /// strengths of the cuts before them.
    fn cut<T>(
        rows: &Rows<'_, T>,
        groups: &[u8],
        step: u64,
        choose: impl FnOnce(&Steps, &[u8]) -> Option<Vec<u32>>,
    ) -> Result<Option<Self>, Error> {
        let Some(strengths) = rows.strengths()? else {
            return Ok(None);
        };
        let cost_before = |place| rows.cost_before(place);
        let mut cuts = cuts(rows.len(), step, cost_before, &strengths);
        let first_groups = to_groups(&mut cuts, groups);
        let Some(steps) = Steps::new(rows, &cuts)? else {
            return Ok(None);
        };
        let of_cuts: Vec<u8> = cuts.iter().map(|&cut| strengths[cut as usize]).collect();
        let ends = choose(&steps, &of_cuts);
        let sections = ends.and_then(|ends| Sections::new(&ends, &steps.pos, &steps.needs));
        Ok(sections.map(|sections| Self {
            cuts,
            first_groups,
            sections,
        }))
    }

    /// The places of a step.
    pub(super) fn places(&self, step: usize) -> Range<usize> {
        self.cuts[step] as usize..self.cuts[step + 1] as usize
    }

    /// Those of all groups that are in a step.
    pub(super) fn groups_of<'g>(&self, step: usize, groups: &'g [u8]) -> &'g [u8] {
        match self.first_groups.get(step..step + 2) {
            Some(of_step) => &groups[of_step[0] as usize..of_step[1] as usize],
            None => &[],
        }
    }
}

/// The rows of a triangle, by their places in the sweep.
struct Rows<'a, T> {
    own: &'a LocalRows<T>,
    triangle: Triangle,
}

impl<T> Rows<'_, T> {
    fn len(&self) -> usize {
        self.own.pos.len() - 1
    }

    /// The places that the row at a place needs.
    fn needs(&self, place: usize) -> impl Iterator<Item = usize> {
        let n_rows = self.len();
        let row = in_sweep(self.triangle, n_rows, place);
        let entries = self.own.pos[row] as usize..self.own.pos[row + 1] as usize;
        let columns = self.own.crd[entries].iter();
        // A column that is no row is no place before this one either.
        columns.map(move |&column| match self.triangle {
            Triangle::Lower => column as usize,
            Triangle::Upper => (n_rows - 1).wrapping_sub(column as usize),
        })
    }

    /// The rows before a place and their entries.
    fn cost_before(&self, place: usize) -> u64 {
        let pos = &self.own.pos;
        let entries = match self.triangle {
            Triangle::Lower => pos[place],
            Triangle::Upper => pos[self.len()] - pos[self.len() - place],
        };
        entries + place as u64
    }

    /// For each place, the logarithm of the length of the shortest entry that reaches across a cut
    /// before it: of one from a row at or behind the cut to a row before it. `None` where a row
    /// needs itself or a later one.
    fn strengths(&self) -> Result<Option<Vec<u8>>, Error> {
        const LONGEST: usize = 32;
        let mut strengths = try_collect(repeat_n(LONGEST as u8, self.len() + 1))?;
        // The first place that entries of each logarithm reach, from this place on.
        let mut reached = [usize::MAX; LONGEST];
        for place in (0..self.len()).rev() {
            for need in self.needs(place) {
                if need >= place {
                    return Ok(None);
                }
                let reached = &mut reached[(place - need).ilog2() as usize];
                *reached = need.min(*reached);
            }
            let shortest = reached.iter().position(|&first| first < place);
            strengths[place] = shortest.unwrap_or(LONGEST) as u8;
        }
        Ok(Some(strengths))
    }
}

/// Cuts `0..len` into parts of about the cost `wanted`, at most twice that where the best place for
/// a cut says so: where it is strongest, and among equals as late as possible.
fn cuts(len: usize, wanted: u64, cost_before: impl Fn(usize) -> u64, strengths: &[u8]) -> Vec<u32> {
    let mut cuts = vec![0];
    let mut start = 0;
    while start < len {
        // The last end with at most this cost, or the next one.
        let last_with = |cost: u64| {
            let (mut low, mut high) = (start + 1, len);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if cost_before(middle) <= cost_before(start) + cost {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            low
        };
        let (one, two) = (last_with(wanted), last_with(2 * wanted));
        // Shorter entries than a quarter of a part are all the same: else parts are short.
        let weak = ((one - start) / 4).max(1).ilog2() as u8;
        let strength = |end: usize| {
            if end == len {
                u8::MAX
            } else {
                strengths[end].max(weak)
            }
        };
        let best = (start + 1..=two).map(strength).max().unwrap_or(weak);
        let is_best = |end: &usize| strength(*end) == best;
        let end = match (start + 1..=one).rev().find(is_best) {
            Some(end) => end,
            // The best one is beyond this part: it ends in the middle.
            None => {
                let end = (one + 1..=two).find(is_best).unwrap_or(two);
                start + (end - start).div_ceil(2)
            }
        };
        cuts.push(end as u32);
        start = end;
    }
    cuts
}

/// Moves cuts to where the groups begin that they are in; and which groups these are.
fn to_groups(cuts: &mut Vec<u32>, groups: &[u8]) -> Vec<u32> {
    if groups.is_empty() {
        return Vec::new();
    }
    let mut first_groups = Vec::with_capacity(cuts.len());
    let (mut group, mut place) = (0, 0);
    for cut in cuts.iter_mut() {
        while group < groups.len() && place + u32::from(groups[group]) <= *cut {
            place += u32::from(groups[group]);
            group += 1;
        }
        *cut = place;
        first_groups.push(group as u32);
    }
    cuts.dedup();
    first_groups.dedup();
    first_groups
}

/// The steps and what they need, as in [`Sections::new`].
struct Steps {
    costs: Vec<u64>,
    pos: Vec<u32>,
    needs: Vec<u32>,
}

impl Steps {
    /// `None` where they need each other more often than can be counted here.
    fn new<T>(rows: &Rows<'_, T>, cuts: &[u32]) -> Result<Option<Self>, Error> {
        let n_steps = cuts.len() - 1;
        let mut step_of = try_collect(repeat_n(0u32, rows.len()))?;
        let mut steps = Self {
            costs: reserve(n_steps)?,
            pos: reserve(n_steps + 1)?,
            needs: Vec::new(),
        };
        steps.pos.push(0);
        // The last step that was found to need each one.
        let mut needed_by = try_collect(repeat_n(u32::MAX, n_steps))?;
        for step in 0..n_steps as u32 {
            let places = cuts[step as usize] as usize..cuts[step as usize + 1] as usize;
            step_of[places.clone()].fill(step);
            let cost = rows.cost_before(places.end) - rows.cost_before(places.start);
            steps.costs.push(cost);
            for need in places.flat_map(|place| rows.needs(place)) {
                let need = step_of[need];
                if need != step && needed_by[need as usize] != step {
                    needed_by[need as usize] = step;
                    let len = steps.needs.len() + 1;
                    try_grow(&mut steps.needs, len)?;
                    steps.needs.push(need);
                }
            }
            let Ok(end) = u32::try_from(steps.needs.len()) else {
                return Ok(None);
            };
            steps.pos.push(end);
        }
        Ok(Some(steps))
    }

    /// The ends of sections with which threads are fastest, the largest of which that are about as
    /// fast; `None` if threads are not worthwhile. `strengths` are those of the cuts before the
    /// steps.
    fn best_ends(&self, strengths: &[u8], threads: usize) -> Option<Vec<u32>> {
        let mut before = vec![0];
        for &cost in &self.costs {
            before.push(before[before.len() - 1] + cost);
        }
        let total = before[self.costs.len()];
        let mut best: Option<(u64, Vec<u32>)> = None;
        let mut wanted = total / 2;
        while wanted >= STEP {
            let mut ends = cuts(self.costs.len(), wanted, |step| before[step], strengths);
            ends.remove(0);
            let time = self.time(&ends, threads);
            if best.as_ref().is_none_or(|&(before, _)| time < before) {
                best = Some((time, ends));
            }
            wanted /= 2;
        }
        best.filter(|&(time, _)| time as f64 * WORTHWHILE < total as f64)
            .map(|(_, ends)| ends)
    }

    /// How long threads need in the model.
    fn time(&self, ends: &[u32], threads: usize) -> u64 {
        let mut free = vec![0u64; threads];
        let mut ended = vec![0u64; self.costs.len()];
        let mut start = 0;
        for &end in ends {
            // The thread that is free first takes the section.
            let first = (1..threads).fold(0, |first, thread| {
                if free[thread] < free[first] {
                    thread
                } else {
                    first
                }
            });
            let mut time = free[first];
            for step in start..end as usize {
                for &need in &self.needs[self.pos[step] as usize..self.pos[step + 1] as usize] {
                    if (need as usize) < start {
                        time = time.max(ended[need as usize] + WAIT);
                    }
                }
                time += self.costs[step] + BEGIN;
                ended[step] = time;
            }
            free[first] = time;
            start = end as usize;
        }
        free.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
impl Plan {
    /// Steps of this cost, and sections of this many steps, whether they are worthwhile or not.
    pub(super) fn forced<T>(
        own: &LocalRows<T>,
        triangle: Triangle,
        groups: &[u8],
        (step, steps): (u64, usize),
    ) -> Self {
        let ends = |of: &Steps, _: &[u8]| {
            let n_steps = of.costs.len();
            let ends = (steps..n_steps).step_by(steps).chain([n_steps]);
            Some(ends.map(|end| end as u32).collect())
        };
        let plan = Self::cut(&Rows { own, triangle }, groups, step, ends);
        plan.ok().flatten().expect("rows that need earlier ones")
    }
}
