//! Products with a sparse matrix that are computed before the loop begins.
//!
//! A loop that also reduces is divided among threads by whole tiles. Of a matrix with few rows and
//! many entries there are too few tiles for an even division: of three tiles one thread gets two.
//! Then the row sums, which take most of the time, are divided by windows of rows instead, into
//! memory of their own, from which the loop takes them.
use super::buffer::Buffer;
use super::division::Rows;
use crate::blocks::compile::{LoopProgram, RowSums, Step};
use std::ops::Range;

/// The row sums of a loop, computed before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumsBefore<'a> {
    rows: Rows<'a>,
    /// Where the sums are: those of each product, one after the other.
    data: *mut u8,
}

impl<'a> SumsBefore<'a> {
    /// Of a loop over these rows, whose extent begins with row `start`. `None` where the loop does
    /// as well: `n_threads` have about equal shares of its tiles.
    pub(crate) fn new(
        program: &LoopProgram,
        (rows, start): (&Rows<'a>, u64),
        n_threads: usize,
        memory: &mut Buffer,
    ) -> Option<Self> {
        if program.reductions.is_empty() || !rows.is_uneven(n_threads) {
            return None;
        }
        let n_rows = rows.len as usize;
        let bytes = products(program).map(|sums| n_rows * sums.size).sum();
        Some(Self {
            rows: rows.in_windows(start),
            data: memory.of(bytes),
        })
    }

    /// What thread `i` of `n` has to compute: for each product of the loop its rows, and where
    /// their sums belong. No other thread has the same.
    pub(crate) fn of_thread(
        &self,
        program: &LoopProgram,
        (i, n): (usize, usize),
        mut compute: impl FnMut(&RowSums, Range<usize>, *mut u8),
    ) {
        self.rows.of_part(i, n, |rows| {
            for (number, sums) in products(program).enumerate() {
                let out = self.sums(program, number);
                let out = out.wrapping_add(rows.start * sums.size);
                compute(sums, rows.clone(), out);
            }
        });
    }

    /// The sums of the product with this number among those of the loop.
    pub(crate) fn sums(&self, program: &LoopProgram, number: usize) -> *mut u8 {
        let before = products(program).take(number);
        let bytes: usize = before.map(|sums| self.rows.len as usize * sums.size).sum();
        self.data.wrapping_add(bytes)
    }
}

/// The products of a loop.
fn products(program: &LoopProgram) -> impl Iterator<Item = &RowSums> {
    program.steps.iter().filter_map(|step| match step {
        Step::RowSum { sums, .. } => Some(sums),
        _ => None,
    })
}
