//! The elements of the blocks of a matrix, row by row.
//!
//! A matrix by blocks stores all elements of some blocks of equal size. Two orders of them occur:
//! block after block, each row by row, as other libraries hold them; and row after row of the
//! matrix, by ascending columns, as a matrix in row format holds them and products read them.

use super::parallel::{self, Threads};
use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// The block columns of some neighbouring block rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a> {
    /// Rows and columns of a block.
    pub(crate) size: (usize, usize),
    /// The first of the block rows.
    pub(crate) first: usize,
    /// Positions of the block rows, from 0, and block columns, ascending within each.
    pub(crate) pos: &'a [u64],
    pub(crate) crd: &'a [u32],
}

impl<'a> Blocks<'a> {
    /// The numbers of the blocks that a row of the matrix goes through.
    fn of_row(&self, row: usize) -> Range<usize> {
        let number = row / self.size.0 - self.first;
        self.pos[number] as usize..self.pos[number + 1] as usize
    }

    /// The number of elements in the rows before one of those that the blocks make.
    fn elements_before(&self, row: usize) -> usize {
        let (height, width) = self.size;
        let number = row / height - self.first;
        let whole = self.pos[number] as usize * height;
        let begun = row % height;
        let of_begun = match begun {
            0 => 0,
            _ => begun * (self.pos[number + 1] - self.pos[number]) as usize,
        };
        (whole + of_begun) * width
    }

    /// The number of elements in some rows of the matrix.
    pub(crate) fn elements_in(&self, rows: Range<usize>) -> usize {
        match rows.is_empty() {
            true => 0,
            false => self.elements_before(rows.end) - self.elements_before(rows.start),
        }
    }

    /// Finds the positions of some rows, from 0, behind the 0 that is there.
    pub(crate) fn count(&self, rows: Range<usize>, pos: &mut [u64]) {
        for (number, row) in rows.enumerate() {
            let len = self.of_row(row).len() * self.size.1;
            pos[number + 1] = pos[number] + len as u64;
        }
    }

    /// The columns of some rows.
    pub(crate) fn fill_columns(&self, threads: &Threads, rows: Range<usize>, crd: &mut [u32]) {
        let width = self.size.1;
        self.each_row(threads, rows, crd, |row, crd| {
            let columns = &self.crd[self.of_row(row)];
            for (crd, &column) in crd.chunks_exact_mut(width).zip(columns) {
                for (within, place) in crd.iter_mut().enumerate() {
                    *place = column * width as u32 + within as u32;
                }
            }
        });
    }

    /// The values of some rows, from those of all these blocks, block after block.
    pub(crate) fn fill_from_blocks<T: Numeric>(
        &self,
        threads: &Threads,
        rows: Range<usize>,
        blocks: &[T],
        vals: &mut [T],
    ) {
        let (height, width) = self.size;
        self.each_row(threads, rows, vals, |row, vals| {
            for (vals, number) in vals.chunks_exact_mut(width).zip(self.of_row(row)) {
                let start = (number * height + row % height) * width;
                vals.copy_from_slice(&blocks[start..start + width]);
            }
        });
    }

    /// The values of these blocks, block after block, from those of all their rows.
    pub(crate) fn to_blocks<T: Numeric>(self, vals: &[T]) -> Result<Vec<T>, Error> {
        let (height, width) = self.size;
        let mut blocks = try_collect(repeat_n(T::ZERO, vals.len()))?;
        let mut vals = vals.chunks_exact(width);
        let first = self.first * height;
        for row in first..first + (self.pos.len() - 1) * height {
            for (number, vals) in self.of_row(row).zip(vals.by_ref()) {
                let start = (number * height + row % height) * width;
                blocks[start..start + width].copy_from_slice(vals);
            }
        }
        Ok(blocks)
    }

    /// The values of some rows of a matrix, all of whose entries lie in the blocks; 0 where nothing
    /// is stored.
    pub(crate) fn fill_from_rows<T: Numeric>(
        &self,
        threads: &Threads,
        (numbers, rows): (Range<usize>, Rows<'_, T>),
        vals: &mut [T],
    ) {
        let (width, first) = (self.size.1, numbers.start);
        self.each_row(threads, numbers, vals, |row, vals| {
            let mut entries = rows.row(row - first).peekable();
            let columns = &self.crd[self.of_row(row)];
            for (vals, &column) in vals.chunks_exact_mut(width).zip(columns) {
                for (within, value) in vals.iter_mut().enumerate() {
                    let column = column * width as u32 + within as u32;
                    let entry = entries.next_if(|entry| entry.0 == column);
                    *value = entry.map_or(T::ZERO, |entry| entry.1);
                }
            }
        });
    }

    /// Calls `work` with each of some rows and what its elements have.
    fn each_row<E: Send>(
        &self,
        threads: &Threads,
        rows: Range<usize>,
        elements: &mut [E],
        work: impl Fn(usize, &mut [E]) + Sync + Send,
    ) {
        let first = rows.start;
        let before = |number: usize| self.elements_in(first..first + number) as u64;
        let parts = parallel::parts_of_work(rows.len(), before).into_iter();
        let parts: Vec<_> = parts
            .map(|part| first + part.start..first + part.end)
            .collect();
        let lens = parts.iter().map(|part| self.elements_in(part.clone()));
        let elements = parallel::split(elements, lens);
        parallel::each(
            threads,
            parts.iter().cloned().zip(elements),
            |(part, mut rest)| {
                for row in part {
                    let (of_row, others) = rest.split_at_mut(self.of_row(row).len() * self.size.1);
                    work(row, of_row);
                    rest = others;
                }
            },
        );
    }
}

/// Positions, from 0, and block columns of the blocks in which some rows have entries: rows with
/// these positions and columns, which are those of whole block rows.
pub(crate) fn find(
    threads: &Threads,
    (pos, crd): (&[u64], &[u32]),
    (height, width): (usize, usize),
) -> (Vec<u64>, Vec<u32>) {
    let n_block_rows = (pos.len() - 1) / height;
    let before = |block_row: usize| pos[block_row * height] - pos[0];
    let parts = parallel::parts_of_work(n_block_rows, before);
    let found = parallel::map(threads, parts, |part| {
        let (mut lens, mut columns) = (Vec::new(), Vec::new());
        let mut of_row: Vec<u32> = Vec::new();
        for block_row in part {
            let first = block_row * height;
            of_row.clear();
            for row in first..first + height {
                let entries = (pos[row] - pos[0]) as usize..(pos[row + 1] - pos[0]) as usize;
                for &column in &crd[entries] {
                    // Neighbours mostly are of one block; what is left is sorted once.
                    let block = column / width as u32;
                    if of_row.last() != Some(&block) {
                        of_row.push(block);
                    }
                }
            }
            of_row.sort_unstable();
            of_row.dedup();
            lens.push(of_row.len() as u64);
            columns.extend_from_slice(&of_row);
        }
        (lens, columns)
    });
    let mut block_pos = vec![0];
    let mut block_crd = Vec::with_capacity(found.iter().map(|part| part.1.len()).sum());
    for (lens, columns) in found {
        for len in lens {
            block_pos.push(block_pos[block_pos.len() - 1] + len);
        }
        block_crd.extend(columns);
    }
    (block_pos, block_crd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::rows::LocalRows;
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn both_orders_hold_the_same_elements(
            (height, width) in (1usize..5, 1usize..5),
            (n_block_rows, n_block_cols) in (0usize..5, 0u32..5),
            draw in 0u32..1 << 25,
            (start, end) in (0usize..20, 0usize..20),
        ) {
            let n_rows = n_block_rows * height;
            let size = (height, width);
            let is_there = |block_row: usize, block_col: u32| {
                draw >> (block_row * 5 + block_col as usize) & 1 == 1
            };
            let (mut pos, mut crd) = (vec![0], Vec::new());
            for block_row in 0..n_block_rows {
                crd.extend((0..n_block_cols).filter(|&col| is_there(block_row, col)));
                pos.push(crd.len() as u64);
            }
            let all = Blocks { size, first: 0, pos: &pos, crd: &crd };
            let blocks: Vec<f64> = (0..crd.len() * height * width).map(|k| k as f64 + 1.0).collect();

            // The whole matrix in row format, from its definition.
            let mut whole = LocalRows::with_capacity(n_rows, 0);
            for row in 0..n_rows {
                for (number, &block_col) in crd.iter().enumerate() {
                    let is_of_row = pos[row / height] as usize <= number
                        && number < pos[row / height + 1] as usize;
                    for within in (0..width).filter(|_| is_of_row) {
                        let value = blocks[(number * height + row % height) * width + within];
                        whole.push(block_col * width as u32 + within as u32, value);
                    }
                }
                whole.end_row();
            }
            let start = start.min(n_rows);
            let rows = start..end.clamp(start, n_rows);
            // The block rows that these rows meet, as a rank has them.
            let met = rows.start / height..rows.end.div_ceil(height);
            let met_pos: Vec<u64> = pos[met.start..=met.end].iter()
                .map(|position| position - pos[met.start])
                .collect();
            let met_crd = &crd[pos[met.start] as usize..pos[met.end] as usize];
            let own = Blocks { size, first: met.start, pos: &met_pos, crd: met_crd };
            let expected = whole.as_rows().range(rows.clone());
            let mut counted = vec![0; rows.len() + 1];
            own.count(rows.clone(), &mut counted);
            let first = expected.pos[0];
            let positions: Vec<u64> = expected.pos.iter().map(|position| position - first).collect();
            prop_assert_eq!(counted, positions);
            for threads in [1, 3].map(Threads::new) {
                let len = own.elements_in(rows.clone());
                let (mut columns, mut vals, mut again) = (vec![0; len], vec![0.0; len], vec![0.0; len]);
                own.fill_columns(&threads, rows.clone(), &mut columns);
                all.fill_from_blocks(&threads, rows.clone(), &blocks, &mut vals);
                own.fill_from_rows(&threads, (rows.clone(), expected), &mut again);
                prop_assert_eq!(columns, expected.crd);
                prop_assert_eq!(&vals, expected.vals);
                prop_assert_eq!(&again, expected.vals);
                let found = find(&threads, (&whole.pos, &whole.crd), size);
                prop_assert_eq!(found, (pos.clone(), crd.clone()));
            }
            prop_assert_eq!(all.to_blocks(&whole.vals).unwrap(), blocks);
        }
    }
}
