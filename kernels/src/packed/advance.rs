//! Rows that go on as those before them: how long the columns advance evenly.
//!
//! Whoever looks for runs of rows asks this first, since most rows of most matrices go on: several
//! rows are compared at a time, entry by entry and without a branch, which is a quarter of a
//! nanosecond an entry.

use std::ops::Range;

/// The rows that are compared at a time, once one has been found to go on.
const STRETCH: usize = 32;

/// The end of the rows, of `rows`, that have the columns of the row `period` rows before them
/// advanced by `by`: where the first begins that does not. `pos` has one position more than there
/// are rows, `crd` the columns from position `pos[0]` on; there are `period` rows before `rows`.
#[inline]
pub(crate) fn end_of_advance(
    pos: &[u64],
    crd: &[u32],
    rows: Range<usize>,
    (period, by): (usize, u32),
) -> usize {
    // Most rows that do not advance are seen to by their length or first column.
    let may_advance = |row: usize| {
        let (this, before) = (pos[row], pos[row - period]);
        let len = pos[row + 1] - this;
        let column = |entry: u64| crd.get((entry - pos[0]) as usize).copied();
        len == pos[row + 1 - period] - before
            && (len == 0 || column(this) == column(before).map(|column| column.wrapping_add(by)))
    };
    if rows.is_empty() || !may_advance(rows.start) {
        return rows.start;
    }
    end_of_advancing(pos, crd, rows, (period, by))
}

/// The same, without a look at the first row's length and first column beforehand.
#[inline(never)]
fn end_of_advancing(
    pos: &[u64],
    crd: &[u32],
    rows: Range<usize>,
    (period, by): (usize, u32),
) -> usize {
    let all_advance = |rows: Range<usize>| {
        let step = pos[rows.start] - pos[rows.start - period];
        let ends = &pos[rows.start + 1..=rows.end];
        let before = &pos[rows.start + 1 - period..=rows.end - period];
        let ends = ends.iter().zip(before);
        let differs = ends.fold(0, |differs, (end, before)| {
            differs | ((end - before) ^ step)
        });
        if differs != 0 {
            return false;
        }
        let entries = (pos[rows.start] - pos[0]) as usize..(pos[rows.end] - pos[0]) as usize;
        let before = &crd[entries.start - step as usize..entries.end - step as usize];
        let columns = crd[entries].iter().zip(before);
        columns.fold(0, |differs, (column, before)| {
            differs | (column ^ before.wrapping_add(by))
        }) == 0
    };
    end_of_stretches(rows, all_advance)
}

/// The end of the rows for which something holds, which is found out for several at a time: whole
/// stretches, then where within the next one it is, by halves.
pub(super) fn end_of_stretches(rows: Range<usize>, hold: impl Fn(Range<usize>) -> bool) -> usize {
    let mut row = rows.start;
    if row < rows.end && !hold(row..row + 1) {
        return row;
    }
    while row + STRETCH <= rows.end && hold(row..row + STRETCH) {
        row += STRETCH;
    }
    let mut stretch = STRETCH;
    while stretch > 1 {
        stretch /= 2;
        if row + stretch <= rows.end && hold(row..row + stretch) {
            row += stretch;
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn rows_advance_as_far_as_they_do_one_by_one() {
        // Tridiagonal rows, restrictions, interpolations, each for a while, with disturbances.
        for seed in 0..40 {
            let (mut pos, mut crd) = (vec![5], Vec::new());
            let kind = seed % 3;
            for row in 0..300_u32 {
                let columns: &[u32] = match (kind, row % 2) {
                    (0, _) => &[row, row + 1, row + 2],
                    (1, _) => &[2 * row, 2 * row + 1],
                    (_, 0) => &[row / 2, row / 2 + 1],
                    _ => &[row / 2 + 1],
                };
                crd.extend_from_slice(columns);
                if random::uniform(seed, u64::from(row)) < 0.02 {
                    crd.push(5000);
                }
                pos.push(5 + crd.len() as u64);
            }
            let columns = |row: usize| &crd[(pos[row] - 5) as usize..(pos[row + 1] - 5) as usize];
            for pace in [(1, 1), (1, 2), (2, 1)] {
                let advances = |row: usize| {
                    let before = columns(row - pace.0).iter().map(|column| column + pace.1);
                    before.eq(columns(row).iter().copied())
                };
                for start in pace.0..pos.len() - 1 {
                    let expected = (start..300).find(|&row| !advances(row)).unwrap_or(300);
                    assert_eq!(end_of_advance(&pos, &crd, start..300, pace), expected);
                }
            }
        }
    }
}
