//! The elements of some diagonals of a matrix, row by row.
//!
//! What a matrix by diagonals stores is every element of its diagonals that lies inside of the
//! matrix. Here they are numbered in the order of the rows, and within a row by ascending columns,
//! which is that of a matrix in row format: so both share one array of values.

use super::parallel::{self, Threads};
use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Elements that one thread goes through at a time.
const PART: usize = 1 << 15;

/// Some diagonals of a matrix. The elements of the diagonal `offset` are `a[i, i + offset]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Diagonals<'a> {
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    /// Ascending strictly, each that of a diagonal with an element.
    pub(crate) offsets: &'a [isize],
}

impl<'a> Diagonals<'a> {
    /// The rows in which a diagonal has an element.
    pub(crate) fn rows_of(&self, offset: isize) -> Range<usize> {
        let start = offset.min(0).unsigned_abs();
        let columns = self.n_cols.saturating_sub(offset.max(0) as usize);
        start..self.n_rows.min(start.saturating_add(columns)).max(start)
    }

    /// The number of elements in the rows before one.
    pub(crate) fn elements_before(&self, row: usize) -> usize {
        let before = |&offset: &isize| {
            let rows = self.rows_of(offset);
            row.clamp(rows.start, rows.end) - rows.start
        };
        self.offsets.iter().map(before).sum()
    }

    /// The number of elements in some rows.
    pub(crate) fn elements_in(&self, rows: &Range<usize>) -> usize {
        self.elements_before(rows.end) - self.elements_before(rows.start)
    }

    /// The number of elements in all rows.
    pub(crate) fn len(&self) -> usize {
        self.elements_before(self.n_rows)
    }

    /// The numbers of the diagonals that have an element in a row: their columns ascend.
    pub(crate) fn of_row(&self, row: usize) -> Range<usize> {
        let below = |end: isize| self.offsets.partition_point(|&offset| offset < end);
        below(-(row as isize))..below(self.n_cols as isize - row as isize)
    }

    /// The column of a diagonal's element in a row that has one.
    fn column(&self, row: usize, diagonal: usize) -> u32 {
        (row as isize + self.offsets[diagonal]) as u32
    }

    /// Finds the positions of some rows, from 0, behind the 0 that is there.
    pub(crate) fn count(&self, rows: Range<usize>, pos: &mut [u64]) {
        for (number, row) in rows.enumerate() {
            pos[number + 1] = pos[number] + self.of_row(row).len() as u64;
        }
    }

    /// The columns of the elements of some rows.
    pub(crate) fn fill_columns(&self, threads: &Threads, rows: Range<usize>, crd: &mut [u32]) {
        self.fill(threads, rows, crd, |row, diagonal| {
            self.column(row, diagonal)
        });
    }

    /// What each element of some rows has, by the number of its row and of its diagonal.
    pub(crate) fn fill<E: Send>(
        &self,
        threads: &Threads,
        rows: Range<usize>,
        elements: &mut [E],
        element: impl Fn(usize, usize) -> E + Sync + Send,
    ) {
        self.each_part(threads, rows, elements, |part, elements| {
            let mut elements = elements.iter_mut();
            for row in part {
                for (diagonal, place) in self.of_row(row).zip(elements.by_ref()) {
                    *place = element(row, diagonal);
                }
            }
        });
    }

    /// The values of some rows of a matrix, all of whose entries lie on the diagonals; 0 where
    /// nothing is stored.
    pub(crate) fn fill_from_rows<T: Numeric>(
        &self,
        threads: &Threads,
        (numbers, rows): (Range<usize>, Rows<'_, T>),
        vals: &mut [T],
    ) {
        let first = numbers.start;
        self.each_part(threads, numbers, vals, |part, vals| {
            let mut vals = vals.iter_mut();
            for row in part {
                let mut entries = rows.row(row - first).peekable();
                for (diagonal, value) in self.of_row(row).zip(vals.by_ref()) {
                    let column = self.column(row, diagonal);
                    let entry = entries.next_if(|entry| entry.0 == column);
                    *value = entry.map_or(T::ZERO, |entry| entry.1);
                }
            }
        });
    }

    /// Calls `work` with parts of the rows and of what their elements have.
    fn each_part<E: Send>(
        &self,
        threads: &Threads,
        rows: Range<usize>,
        elements: &mut [E],
        work: impl Fn(Range<usize>, &mut [E]) + Sync + Send,
    ) {
        let first = rows.start;
        // Rows have about as many elements as each other.
        let of_row = (self.elements_in(&rows) / rows.len().max(1)).max(1);
        let parts = parallel::chunks(rows.len(), PART.div_ceil(of_row)).into_iter();
        let parts: Vec<_> = parts
            .map(|part| first + part.start..first + part.end)
            .collect();
        let lens = parts.iter().map(|part| self.elements_in(part));
        let elements = parallel::split(elements, lens);
        let work_items = parts.iter().cloned().zip(elements);
        parallel::each(threads, work_items, |(part, elements)| work(part, elements));
    }
}

/// The offsets of the diagonals on which some rows of a matrix have entries, ascending; `numbers`
/// are those of the rows.
pub(crate) fn offsets<T: Numeric>(
    threads: &Threads,
    (numbers, rows): (Range<usize>, Rows<'_, T>),
    n_cols: usize,
) -> Vec<isize> {
    // One bit for each diagonal that these rows meet, the lowest of which begins in the last row.
    let last = numbers.end;
    let bits = numbers.len() + n_cols;
    let words: Vec<AtomicU64> = (0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    parallel::each(threads, parallel::parts(rows.pos), |part| {
        for row in part {
            let distance = last - (numbers.start + row);
            for &column in rows.columns(row) {
                let bit = column as usize + distance;
                let (word, mask) = (&words[bit / 64], 1 << (bit % 64));
                // Most have been seen before; bits are only ever set, so no order matters.
                if word.load(Ordering::Relaxed) & mask == 0 {
                    word.fetch_or(mask, Ordering::Relaxed);
                }
            }
        }
    });
    let mut offsets = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let mut rest = word.load(Ordering::Relaxed);
        while rest != 0 {
            let bit = number * 64 + rest.trailing_zeros() as usize;
            offsets.push(bit as isize - last as isize);
            rest &= rest - 1;
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::rows::LocalRows;
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    /// The places on the diagonals, row by row, by looking at each.
    fn places(diagonals: Diagonals<'_>, rows: Range<usize>) -> Vec<(usize, usize)> {
        let columns = |row| (0..diagonals.n_cols).map(move |column| (row, column));
        let is_on = |&(row, column): &(usize, usize)| {
            diagonals
                .offsets
                .contains(&(column as isize - row as isize))
        };
        rows.flat_map(columns).filter(is_on).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn elements_are_numbered_row_by_row(
            (n_rows, n_cols) in (0usize..12, 0usize..12),
            draw in 0u64..1 << 24,
            (start, end) in (0usize..12, 0usize..12),
        ) {
            let range = 1 - n_rows as isize..n_cols as isize;
            let range = if n_rows * n_cols == 0 { 0..0 } else { range };
            let offsets: Vec<isize> = range.enumerate()
                .filter(|(number, _)| draw >> number & 1 == 1)
                .map(|(_, offset)| offset)
                .collect();
            let diagonals = Diagonals { n_rows, n_cols, offsets: &offsets };
            prop_assert_eq!(diagonals.len(), places(diagonals, 0..n_rows).len());
            let start = start.min(n_rows);
            let rows = start..end.clamp(start, n_rows);
            let expected = places(diagonals, rows.clone());
            let mut pos = vec![0; rows.len() + 1];
            diagonals.count(rows.clone(), &mut pos);
            prop_assert_eq!(diagonals.elements_in(&rows), expected.len());
            prop_assert_eq!(pos[rows.len()] as usize, expected.len());
            for threads in [1, 3].map(Threads::new) {
                let mut crd = vec![0; expected.len()];
                diagonals.fill_columns(&threads, rows.clone(), &mut crd);
                let row_of = |k| pos.partition_point(|&position| position <= k as u64) - 1;
                let found: Vec<_> = crd.iter().enumerate()
                    .map(|(k, &column)| (rows.start + row_of(k), column as usize))
                    .collect();
                prop_assert_eq!(&found, &expected);

                // Every second element as a matrix, and back.
                let mut some = LocalRows::with_capacity(rows.len(), 0);
                for row in rows.clone() {
                    for &(_, column) in expected.iter().filter(|place| place.0 == row) {
                        if column % 2 == 0 {
                            some.push(column as u32, (row * 100 + column + 1) as f64);
                        }
                    }
                    some.end_row();
                }
                let mut vals = vec![-1.0; expected.len()];
                diagonals.fill_from_rows(&threads, (rows.clone(), some.as_rows()), &mut vals);
                let wanted: Vec<f64> = expected.iter().map(|&(row, column)| match column % 2 {
                    0 => (row * 100 + column + 1) as f64,
                    _ => 0.0,
                }).collect();
                prop_assert_eq!(vals, wanted);
                let mut on: Vec<isize> = expected.iter()
                    .filter(|place| place.1 % 2 == 0)
                    .map(|&(row, column)| column as isize - row as isize)
                    .collect();
                on.sort_unstable();
                on.dedup();
                prop_assert_eq!(super::offsets(&threads, (rows.clone(), some.as_rows()), n_cols), on);
            }
        }
    }
}
