//! Paced runs: rows whose columns advance evenly, but not by one each row.
//!
//! Transfers between a grid and one of half as many points have such rows: those of a restriction
//! lie two columns further each row, those of an interpolation one column further every second row.

use super::rows::PlainRows;
use super::structure::{Pace, Paced, Pattern, StructurePart};
use std::collections::TryReserveError;
use std::ops::Range;

/// The rows from which on a paced run is worth a descriptor.
const LONG: usize = 16;
/// The most rows beside a paced run that are runs of their own.
const GAP: usize = 4;

impl StructurePart {
    /// Adds rows that are in no run: paced ones where there are such, windows of the others.
    pub(super) fn add_others(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        range: Range<usize>,
    ) -> Result<(), TryReserveError> {
        let (mut first, mut row) = (range.start, range.start);
        while row < range.end {
            let Some((pace, end)) = paced(rows, row..range.end) else {
                row += 1;
                continue;
            };
            self.add_beside(rows, start, first..row)?;
            self.add_paced(rows, start, (pace, row..end))?;
            (first, row) = (end, end);
        }
        if first == range.start {
            self.add_windows(rows, start, range)
        } else {
            self.add_beside(rows, start, first..range.end)
        }
    }

    /// Rows beside a paced run: the ends of a grid's lines, or others.
    fn add_beside(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        mut range: Range<usize>,
    ) -> Result<(), TryReserveError> {
        let are_few = range.len() <= GAP;
        if are_few && range.clone().all(|row| is_regular(rows, row)) {
            range.try_for_each(|row| self.add_paced(rows, start, (Pace::Double, row..row + 1)))
        } else {
            self.add_windows(rows, start, range)
        }
    }

    fn add_paced(
        &mut self,
        rows: PlainRows<'_>,
        start: usize,
        (pace, range): (Pace, Range<usize>),
    ) -> Result<(), TryReserveError> {
        let period = range.start..range.end.min(range.start + pace.period());
        let columns = period.clone().flat_map(|row| rows.columns(row));
        let base = columns.min().copied().unwrap_or(0);
        let mut patterns = [Pattern { start: 0, len: 0 }; 2];
        for (row, pattern) in period.zip(&mut patterns) {
            let offset = |&column: &u32| column.wrapping_sub(base).cast_signed();
            *pattern = self.pattern(rows.columns(row).iter().map(offset))?;
        }
        let run = Paced {
            pace,
            base,
            patterns,
        };
        self.add_paced_block(start, range, run)
    }
}

/// The pace of the rows that begin here and where they end, if they are enough.
fn paced(rows: PlainRows<'_>, range: Range<usize>) -> Option<(Pace, usize)> {
    let (double, half) = (
        end_of(rows, &range, Pace::Double),
        end_of(rows, &range, Pace::Half),
    );
    let (pace, end) = match double >= half {
        true => (Pace::Double, double),
        false => (Pace::Half, half),
    };
    (end - range.start >= LONG).then_some((pace, end))
}

/// The end of the rows that begin here and have a pace; the first of them if they are not enough.
fn end_of(rows: PlainRows<'_>, range: &Range<usize>, pace: Pace) -> usize {
    let (period, advance) = (pace.period(), pace.advance());
    let second = range.start + period;
    if range.end < range.start + LONG {
        return range.start;
    }
    // Few rows go on so, which the lengths or first columns of the first ones tell.
    let pace = (period, advance as u32);
    let enough = range.start + LONG;
    if rows.end_of_advance(second..enough, pace) < enough
        || !(range.start..second).all(|row| is_regular(rows, row))
    {
        return range.start;
    }
    let end = rows.end_of_advance(second..range.end, pace);
    // Columns advance as far as there are regular ones.
    let n_columns = rows.own_len.min(i32::MAX as usize + 1);
    let end_of_regular = |row: usize| {
        let last = rows.columns(row).iter().max();
        let last = last.map_or(usize::MAX, |&column| {
            (n_columns - 1 - column as usize) / advance
        });
        row.saturating_add(last.saturating_add(1).saturating_mul(period))
    };
    (range.start..second)
        .map(end_of_regular)
        .fold(end, usize::min)
}

/// Whether all columns of a row are own ones, near enough to each other for 32 bits with a sign.
fn is_regular(rows: PlainRows<'_>, row: usize) -> bool {
    let is_near = |column: u32| (column as usize) < rows.own_len && column <= i32::MAX as u32;
    rows.columns(row).iter().all(|&column| is_near(column))
}
