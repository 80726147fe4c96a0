//! Rows of sparse matrices as threads of a device read them.
//!
//! Where each thread sums a row, neighbouring threads read entries that lie far from each other if
//! the entries of a row lie side by side. So 32 rows, a *slice*, lie side by side instead: first
//! the first entry of each row, then the second of each, as in the sliced ELLPACK format of
//! Monakov, Lokhmotov and Avetisyan, "Automatically tuning sparse matrix-vector multiplication for
//! GPU architectures" (2010). The order within a row stays, and with it every bit of the sum.
//!
//! A slice has one of three kinds, found from its columns alone:
//!
//! - *pattern*: the columns of all rows are at the same few distances from the row, of which each
//!   row has all or some, as in matrices of stencils and diagonals. The distances are stored once,
//!   and for rows that lack some a mask;
//! - *even*: rows are about equally long, so shorter ones are padded;
//! - *plain*: rows differ so much that a quarter would be padding; they stay as they are.
//!
//! Where all rows of a pattern have the same value at each distance, threads read it from one place
//! ([`uniformity`]); whether that is so depends on the values, and is found again when they change.

use super::THREADS;

/// The rows of a slice: the threads that read memory together.
pub(super) const ROWS: usize = 32;

/// The most distances of a pattern: bits of a mask.
const DISTANCES: usize = 64;

/// What stands in [`Slices::order`] in place of an entry that is none.
const PADDING: u32 = u32::MAX;

/// Bits of the second word of a slice.
const PATTERN: u64 = 1 << 63;
const MASKED: u64 = 1 << 62;

/// The entries of some rows in the order of slices.
#[derive(Debug, Default)]
pub struct Slices {
    /// For each slice two words: where its columns lie, in the lower half of the first, and its
    /// values, in the upper half; how many distances its pattern has, in the lower half of the
    /// second one, and whether it has one, and masks, in the highest bits.
    pub slices: Vec<u64>,
    /// For each row of a pattern the distances that it has, as bits. For others where its first
    /// entry lies in the slice, in the lower half, how many entries it has, from bit 32 on, and in
    /// the highest bit whether the next ones are 32 places apart.
    pub rows: Vec<u64>,
    /// The column of each entry; of a pattern the distances, as signed numbers.
    pub columns: Vec<u32>,
    /// For each place of a value the number of the entry in the rows as they were, or of none. Of a
    /// pattern all places have one: those of rows that lack it that of another row.
    pub order: Vec<u32>,
}

impl Slices {
    /// The slices of rows: `pos` and `crd` are those of [`Structure`](crate::Structure). `None` of
    /// more than 2^32 entries.
    #[must_use]
    pub fn of(pos: &[u64], crd: &[u32]) -> Option<Self> {
        let first = pos.first().copied()?;
        let n_rows = pos.len() - 1;
        let mut slices = Self::default();
        let mut distances = Vec::new();
        for start in (0..n_rows).step_by(ROWS) {
            let rows: Vec<&[u32]> = (start..n_rows.min(start + ROWS))
                .map(|row| &crd[(pos[row] - first) as usize..(pos[row + 1] - first) as usize])
                .collect();
            let entry = (pos[start] - first) as usize;
            let longest = rows.iter().map(|row| row.len()).max()?;
            let most = longest.max(DISTANCES) * ROWS;
            if slices.order.len() + most >= PADDING as usize || entry + most >= PADDING as usize {
                return None;
            }
            let place = slices.columns.len() as u64 | (slices.order.len() as u64) << 32;
            let kind = match pattern(start, &rows, &mut distances) {
                true => slices.push_pattern(start, (&rows, entry as u32), &distances),
                false => slices.push_rows((&rows, entry as u32), longest),
            };
            slices.slices.extend([place, kind]);
        }
        Some(slices)
    }

    /// Adds a slice whose rows have some of these distances each; its second word.
    fn push_pattern(
        &mut self,
        start: usize,
        (rows, entry): (&[&[u32]], u32),
        distances: &[i64],
    ) -> u64 {
        let base = self.order.len();
        self.columns
            .extend(distances.iter().map(|&distance| distance as i32 as u32));
        self.order.resize(base + distances.len() * ROWS, PADDING);
        let whole = u64::MAX >> (DISTANCES - distances.len().max(1));
        let (mut entry, mut is_masked) = (entry, rows.len() < ROWS);
        for (lane, row) in rows.iter().enumerate() {
            let mut mask = 0;
            for &column in *row {
                let distance = i64::from(column) - (start + lane) as i64;
                let k = distances.partition_point(|&known| known < distance);
                mask |= 1 << k;
                self.order[base + k * ROWS + lane] = entry;
                entry += 1;
            }
            self.rows.push(mask);
            is_masked |= mask != whole;
        }
        for places in self.order[base..].chunks_mut(ROWS) {
            let some = places.iter().find(|&&entry| entry != PADDING).copied();
            let some = some.expect("a row has each distance");
            for place in places.iter_mut().filter(|place| **place == PADDING) {
                *place = some;
            }
        }
        let masked = if is_masked { MASKED } else { 0 };
        PATTERN | masked | distances.len() as u64
    }

    /// Adds a slice of any rows; its second word.
    fn push_rows(&mut self, (rows, entry): (&[&[u32]], u32), longest: usize) -> u64 {
        let n_entries: usize = rows.iter().map(|row| row.len()).sum();
        let padded = longest * ROWS;
        if padded * 3 > n_entries * 4 {
            let mut place = 0;
            for row in rows {
                self.rows.push(place | (row.len() as u64) << 32);
                self.columns.extend_from_slice(row);
                place += row.len() as u64;
            }
            self.order.extend(entry..entry + n_entries as u32);
            return 0;
        }
        let (columns, values) = (self.columns.len(), self.order.len());
        self.columns.resize(columns + padded, 0);
        self.order.resize(values + padded, PADDING);
        let mut entry = entry;
        for (lane, row) in rows.iter().enumerate() {
            self.rows
                .push(lane as u64 | (row.len() as u64) << 32 | 1 << 63);
            for (k, &column) in row.iter().enumerate() {
                self.columns[columns + k * ROWS + lane] = column;
                self.order[values + k * ROWS + lane] = entry;
                entry += 1;
            }
        }
        0
    }
}

/// Whether the columns of some rows, from row `start` on, are at a few distances from them, in
/// ascending order, and most rows have most of these; then `distances` are these.
fn pattern(start: usize, rows: &[&[u32]], distances: &mut Vec<i64>) -> bool {
    distances.clear();
    let mut n_entries = 0;
    for (row, columns) in (start..).zip(rows) {
        n_entries += columns.len();
        if !columns.is_sorted_by(|a, b| a < b) {
            return false;
        }
        let mut next = 0;
        for &column in *columns {
            let distance = i64::from(column) - row as i64;
            // Neighbouring rows mostly have the same ones.
            if distances.get(next) != Some(&distance) {
                next = distances.partition_point(|&known| known < distance);
                if distances.get(next) != Some(&distance) {
                    if distances.len() == DISTANCES || i32::try_from(distance).is_err() {
                        return false;
                    }
                    distances.insert(next, distance);
                }
            }
            next += 1;
        }
    }
    distances.len() * rows.len() * 2 <= n_entries * 3
}

/// The kernel that brings entries of `type_` into the order of slices. Arguments: the entries, the
/// order, where they go, how many places there are.
pub(super) fn reordering(type_: &str) -> String {
    format!(
        "#define WORDS 4\nKERNEL\nPHASE\n    \
         const u64 place = BLOCK * THREADS + THREAD;\n    \
         if (place < ARG(3)) {{\n        \
         const u32 entry = ((const u32 *)ARG(1))[place];\n        \
         (({type_} *)ARG(2))[place] = entry == {PADDING}u ? ({type_})ZERO_{type_} : ((const {type_} *)ARG(0))[entry];\n    \
         }}\nEND_PHASE\nEND_KERNEL\n"
    )
}

/// The kernel that finds the slices of which all rows have the same values, as words: 1 if so.
/// Arguments: the slices, the values in their order, the words, how many slices there are. A value
/// has `words` words of 32 bits.
pub(super) fn uniformity(words: usize) -> String {
    format!(
        "#define WORDS 4\nKERNEL\nPHASE\n    \
         const u64 slice = BLOCK * THREADS + THREAD;\n    \
         if (slice < ARG(3)) {{\n        \
         const u64 *const s = (const u64 *)ARG(0);\n        \
         const u64 place = s[2 * slice] >> 32, kind = s[2 * slice + 1];\n        \
         const u32 *const v = (const u32 *)ARG(1) + place * {words};\n        \
         u32 same = (u32)(kind >> 63);\n        \
         for (u32 k = 0; same && k < (u32)kind; k++)\n            \
         for (u32 w = {words}; w < {ROWS} * {words}; w++)\n                \
         same &= v[k * {ROWS} * {words} + w] == v[k * {ROWS} * {words} + w % {words}];\n        \
         ((u32 *)ARG(2))[slice] = same;\n    \
         }}\nEND_PHASE\nEND_KERNEL\n"
    )
}

/// A slice is read by the threads of a part of a block.
const _: () = assert!((THREADS as usize).is_multiple_of(ROWS));

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns and entries of a row, as kernels find them.
    fn row_of(slices: &Slices, row: usize) -> (Vec<u32>, Vec<u32>) {
        let (slice, lane) = (row / ROWS, row % ROWS);
        let [place, kind] = [slices.slices[2 * slice], slices.slices[2 * slice + 1]];
        let (columns, values) = (place as u32 as usize, (place >> 32) as usize);
        let word = slices.rows[row];
        if kind & PATTERN != 0 {
            let mask = if kind & MASKED != 0 { word } else { u64::MAX };
            let n = kind as u32 as usize;
            let has = |k: &usize| mask >> k & 1 == 1;
            let column = |k| (row as u32).wrapping_add(slices.columns[columns + k]);
            let entry = |k| slices.order[values + k * ROWS + lane];
            let own = (0..n).filter(has);
            return (own.clone().map(column).collect(), own.map(entry).collect());
        }
        let step = if word >> 63 == 1 { ROWS } else { 1 };
        let len = (word >> 32 & 0x7fff_ffff) as usize;
        let places = (0..len).map(|k| word as u32 as usize + k * step);
        (
            places
                .clone()
                .map(|at| slices.columns[columns + at])
                .collect(),
            places.map(|at| slices.order[values + at]).collect(),
        )
    }

    fn check(rows: &[Vec<u32>]) -> Slices {
        let mut pos = vec![5u64];
        for row in rows {
            pos.push(pos[pos.len() - 1] + row.len() as u64);
        }
        let slices = Slices::of(&pos, &rows.concat()).unwrap();
        assert_eq!(slices.rows.len(), rows.len());
        let mut entry = 0;
        for (number, row) in rows.iter().enumerate() {
            let (columns, entries) = row_of(&slices, number);
            assert_eq!(columns, *row);
            let end = entry + row.len() as u32;
            assert_eq!(entries, (entry..end).collect::<Vec<_>>());
            entry = end;
        }
        slices
    }

    #[test]
    fn slices_have_the_entries_of_the_rows_in_their_order() {
        for (n, of_row) in [(1, 3), (32, 4), (33, 5), (200, 7), (64, 0)] {
            for far in [0, 100] {
                let row = |row: usize| {
                    let len = match far > 0 && row % 50 == 7 {
                        true => far,
                        false => of_row - row % 2 * (of_row / 4),
                    };
                    (0..len)
                        .map(|k| (row * row * 7 + k * k + k) as u32)
                        .collect()
                };
                let rows: Vec<Vec<u32>> = (0..n).map(row).collect();
                check(&rows);
            }
        }
        assert!(Slices::of(&[0], &[]).unwrap().rows.is_empty());
    }

    #[test]
    fn stencils_are_patterns() {
        let n = 100i64;
        let point = |i: i64, j: i64| {
            let near = [(i - 1, j), (i, j - 1), (i, j), (i, j + 1), (i + 1, j)];
            let inside = near
                .into_iter()
                .filter(|&(i, j)| i.min(j) >= 0 && i.max(j) < n);
            inside.map(|(i, j)| (i * n + j) as u32).collect()
        };
        let rows: Vec<Vec<u32>> = (0..n * n).map(|row| point(row / n, row % n)).collect();
        let slices = check(&rows);
        let kinds = slices.slices.iter().skip(1).step_by(2);
        let (patterns, others): (Vec<u64>, Vec<u64>) =
            kinds.partition(|kind| **kind & PATTERN != 0);
        assert!(others.is_empty(), "{} of {}", others.len(), patterns.len());
        assert!(patterns.iter().any(|kind| kind & MASKED == 0));
        // Rows whose columns do not ascend are in their order, too.
        let mut turned = rows;
        turned[77].swap(0, 2);
        check(&turned);
    }
}
