//! Transposition that writes new rows at once.
//!
//! Every thread makes some of the new rows, and looks at those old rows alone that reach into them.
//! It moves, per entry, a column and a value each way, and 4 bytes more to count. Where the
//! structure seems symmetric, the lengths of the old rows are taken for those of the new ones, and
//! compared with them in the end: then nothing is counted, which is a fourth of the work.
//!
//! Invariant: what leaves this file has been counted, or compared.

use super::turn::Turn;
use crate::local::parallel::{self, Threads};
use crate::local::rows::Rows;
use sparsefuse_kernels::Numeric;
use std::ops::Range;

/// So few new rows are written at once whatever their order: a line of the cache of columns and one
/// of values for each make 512 KiB, half of a core's second cache.
const FEW_COLUMNS: usize = 1 << 12;
/// Targets of a thread, so that threads end at about the same time.
const TARGETS: usize = 4;
/// Groups of rows that are looked at to find how entries lie, and rows of each.
const GROUPS: usize = 64;
const GROUP: usize = 64;
/// Rows that are looked at to find whether the structure is symmetric: more, as a wrong guess costs
/// a transposition, and a structure may be symmetric but for the rows of a boundary.
const MIRRORED: usize = 256;

/// Whether neighbouring rows have entries in neighbouring columns: whether, in groups of rows here
/// and there, there are at least four entries to a line of the cache of columns. Groups of grids
/// have more than fifteen, random ones hardly more than one.
fn is_near<T: Numeric>(rows: Rows<'_, T>) -> bool {
    let (mut n_entries, mut n_lines) = (0, 0);
    let mut lines = Vec::new();
    for group in 0..GROUPS {
        let first = (rows.len() as u128 * group as u128 / GROUPS as u128) as usize;
        let group = rows.range(first..(first + GROUP).min(rows.len())).crd;
        let group = &group[..group.len().min(GROUP * GROUP)];
        lines.clear();
        lines.extend(group.iter().map(|column| column / 16));
        lines.sort_unstable();
        lines.dedup();
        n_entries += group.len();
        n_lines += lines.len();
    }
    4 * n_lines <= n_entries
}

/// Whether a few entries here and there have one at the mirrored place.
fn seems_symmetric<T: Numeric>(rows: Rows<'_, T>) -> bool {
    !rows.is_empty()
        && (0..MIRRORED).all(|number| {
            let row = (rows.len() as u128 * number as u128 / MIRRORED as u128) as usize;
            rows.columns(row).iter().all(|&column| {
                rows.columns(column as usize)
                    .binary_search(&(row as u32))
                    .is_ok()
            })
        })
}

/// A transposition that writes new rows at once.
pub(crate) struct Direct<'a, T> {
    turn: Turn<'a, T>,
    /// Neighbouring rows, and the columns between which their entries lie.
    parts: Vec<(Range<usize>, Range<usize>)>,
    /// Neighbouring columns, of which one thread at a time makes rows.
    targets: Vec<Range<usize>>,
    /// Whether the new rows are taken to be as long as the old ones.
    is_guess: bool,
}

/// How to write new rows at once, if they are then written nearly in order, and every thread looks
/// at few old rows in vain.
pub(super) fn plan<'a, T: Numeric>(threads: &Threads, turn: Turn<'a, T>) -> Option<Direct<'a, T>> {
    if turn.wanted.len() > FEW_COLUMNS && !is_near(turn.rows) {
        return None;
    }
    let n_targets = match threads.count() {
        1 => 1,
        threads => TARGETS * threads,
    };
    let direct = Direct::new(threads, turn, n_targets);
    let n_parts = direct.parts.len();
    let is_cheap = n_targets == 1 || direct.visits() <= n_parts + n_parts / 4 + 2 * n_targets;
    is_cheap.then_some(direct)
}

impl<'a, T: Numeric> Direct<'a, T> {
    /// With about `n_targets` targets.
    pub(super) fn new(threads: &Threads, turn: Turn<'a, T>, n_targets: usize) -> Self {
        let parts = parallel::map(threads, parallel::parts(turn.rows.pos), |part| {
            // One target is reached by all.
            let reach = match n_targets {
                1 => 0..turn.n_cols,
                _ => reach(turn.rows, part.clone()),
            };
            (part, reach)
        });
        let is_whole = turn.n_cols == turn.rows.len() && turn.wanted == (0..turn.n_cols);
        let is_guess = is_whole && seems_symmetric(turn.rows);
        let first = turn.wanted.start;
        let len = turn.wanted.len().div_ceil(n_targets).max(1);
        let targets = parallel::chunks(turn.wanted.len(), len).into_iter();
        let targets = targets.map(|target| first + target.start..first + target.end);
        Self {
            targets: targets.collect(),
            turn,
            parts,
            is_guess,
        }
    }

    /// How often a part has to be looked at.
    fn visits(&self) -> usize {
        let meeting = |target| {
            self.parts
                .iter()
                .filter(move |(_, reach)| meet(reach, target))
        };
        self.targets
            .iter()
            .map(|target| meeting(target).count())
            .sum()
    }

    /// The number of entries of the new rows, which begin at these positions behind the first; of
    /// a guess they are those of the old rows.
    pub(super) fn count(&self, threads: &Threads, pos: &mut [u64]) -> usize {
        match self.is_guess {
            true => self.turn.rows.crd.len(),
            false => self.count_all(threads, pos),
        }
    }

    /// Fills the new rows, and tells where they end behind the first position.
    pub(super) fn fill(
        &self,
        threads: &Threads,
        pos: &mut [u64],
        (crd, vals): (&mut [u32], &mut [T]),
        map: impl Fn(T) -> T + Copy + Sync + Send,
    ) {
        let to = (&mut *crd, &mut *vals);
        let is_filled = self.is_filled(threads, self.is_guess, pos, to, map);
        if !is_filled {
            self.count_all(threads, pos);
            self.is_filled(threads, false, pos, (crd, vals), map);
        }
    }

    /// The beginnings of the new rows, behind a 0; the number of entries.
    fn count_all(&self, threads: &Threads, pos: &mut [u64]) -> usize {
        let counts = parallel::split(&mut pos[1..], self.targets.iter().map(Range::len));
        let work = self.targets.iter().zip(counts);
        parallel::each(threads, work, |(target, counts)| {
            counts.fill(0);
            self.count_target(target, counts);
        });
        let mut begin = 0;
        for place in &mut pos[1..] {
            begin += std::mem::replace(place, begin);
        }
        begin as usize
    }

    /// Counts the entries of some columns.
    fn count_target(&self, target: &Range<usize>, counts: &mut [u64]) {
        for (part, reach) in &self.parts {
            let columns = self.turn.rows.range(part.clone()).crd;
            if is_within(reach, target) {
                for &column in columns {
                    counts[column as usize - target.start] += 1;
                }
            } else if meet(reach, target) {
                for column in columns
                    .iter()
                    .filter(|&&column| target.contains(&(column as usize)))
                {
                    counts[*column as usize - target.start] += 1;
                }
            }
        }
    }

    /// Fills the new rows, which begin at these positions behind the first, and end there
    /// afterwards; or, as a guess, begin and end as the old ones. False, if they do not.
    fn is_filled(
        &self,
        threads: &Threads,
        is_guess: bool,
        pos: &mut [u64],
        (crd, vals): (&mut [u32], &mut [T]),
        map: impl Fn(T) -> T + Copy + Sync + Send,
    ) -> bool {
        let rows = self.turn.rows;
        let old = |column: usize| rows.pos[column] - rows.pos[0];
        let begins = self.targets.iter().map(|target| match is_guess {
            true => old(target.start) as usize,
            false => pos[1 + target.start - self.turn.wanted.start] as usize,
        });
        let begins: Vec<_> = begins.chain([crd.len()]).collect();
        let lens = || begins.windows(2).map(|ends| ends[1] - ends[0]);
        let (crds, vals) = (parallel::split(crd, lens()), parallel::split(vals, lens()));
        let next = parallel::split(&mut pos[1..], self.targets.iter().map(Range::len));
        let work = self.targets.iter().zip(&begins).zip(next);
        let work = work.zip(crds).zip(vals);
        let filled = parallel::map(threads, work, |((((target, &begin), next), crd), vals)| {
            if is_guess {
                let columns = next.iter_mut().zip(target.clone());
                columns.for_each(|(next, column)| *next = old(column));
            }
            let mut parts = self.parts.iter().filter(|(_, reach)| meet(reach, target));
            let is_room = parts.all(|(part, _)| {
                let (first_row, part) = (part.start as u32, rows.range(part.clone()));
                let next = (target.start, begin, &mut *next);
                deal(part, first_row, next, (&mut *crd, &mut *vals), map)
            });
            let mut ends = next.iter().zip(target.clone());
            is_room && (!is_guess || ends.all(|(&end, column)| end == old(column + 1)))
        });
        filled.into_iter().all(|is_filled| is_filled)
    }
}

/// Appends the entries of some rows, numbered from `first_row`, to the new rows that some columns
/// become: from `first_column` as many as `next` has places of next entries, counted from `begin`
/// on. False, if they would not fit.
#[inline(always)]
fn deal<T: Numeric>(
    rows: Rows<'_, T>,
    first_row: u32,
    (first_column, begin, next): (usize, usize, &mut [u64]),
    (crd, vals): (&mut [u32], &mut [T]),
    map: impl Fn(T) -> T,
) -> bool {
    // One length, so one check of a place.
    let vals = &mut vals[..crd.len()];
    let mut ends = rows.pos[1..].iter().map(|end| (end - rows.pos[0]) as usize);
    let (mut row, mut end) = (first_row, ends.next().unwrap_or(usize::MAX));
    for (k, (&column, &value)) in rows.crd.iter().zip(rows.vals).enumerate() {
        while k == end {
            row += 1;
            end = ends.next().unwrap_or(usize::MAX);
        }
        // Columns before the first wrap around to beyond them.
        if let Some(next) = next.get_mut((column as usize).wrapping_sub(first_column)) {
            let to = (*next as usize).wrapping_sub(begin);
            if to >= crd.len() {
                return false;
            }
            crd[to] = row;
            vals[to] = map(value);
            *next += 1;
        }
    }
    true
}

/// The columns from the first to the last in which some rows have entries.
fn reach<T: Numeric>(rows: Rows<'_, T>, part: Range<usize>) -> Range<usize> {
    part.fold(0..0, |reach, row| match rows.columns(row) {
        [] => reach,
        columns => {
            let (first, last) = (columns[0] as usize, columns[columns.len() - 1] as usize);
            if reach.is_empty() {
                first..last + 1
            } else {
                reach.start.min(first)..reach.end.max(last + 1)
            }
        }
    })
}

fn is_within(reach: &Range<usize>, target: &Range<usize>) -> bool {
    target.start <= reach.start && reach.end <= target.end
}

fn meet(reach: &Range<usize>, target: &Range<usize>) -> bool {
    reach.start < target.end && target.start < reach.end
}
