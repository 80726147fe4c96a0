//! Products with a sparse matrix that are computed before the loop begins.
//!
//! A loop that also reduces is divided among threads by whole tiles. Of a matrix with few rows and
//! many entries there are too few tiles for an even division: of three tiles one thread gets two.
//! Then the row sums, which take most of the time, are divided by windows of rows instead, into
//! memory of their own, from which the loop takes them.
#![expect(unsafe_code, reason = "writes to memory that threads share")]

use super::buffer::Buffer;
use super::division::Rows;
use super::worker::Run;
use crate::blocks::compile::{RowSums, Step};

/// The row sums of a loop, computed before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumsBefore<'a> {
    rows: Rows<'a>,
    /// Where the sums are: those of each product, one after the other.
    data: *mut u8,
}

impl<'a> SumsBefore<'a> {
    /// `None` where the loop does as well: `n_threads` have about equal shares of its tiles.
    pub(crate) fn new(run: &Run<'a>, n_threads: usize, memory: &mut Buffer) -> Option<Self> {
        if run.program.reductions.is_empty() || !run.rows.is_uneven(n_threads) {
            return None;
        }
        let n_rows = run.rows.len as usize;
        let bytes = products(run).map(|sums| n_rows * sums.size).sum();
        Some(Self {
            rows: run.rows.in_windows(run.extent.start),
            data: memory.of(bytes),
        })
    }

    /// Computes the sums of thread `i` of `n`.
    ///
    /// # Safety
    /// As [`super::run_loop`]; what the matrices multiply has been written.
    pub(crate) unsafe fn compute(&self, run: &Run<'_>, i: usize, n: usize) {
        self.rows.of_part(i, n, |rows| {
            for (number, sums) in products(run).enumerate() {
                let out = self.sums(run, number).wrapping_add(rows.start * sums.size);
                // SAFETY: the caller's promises; the memory has room for all rows, and no other
                // thread writes these.
                unsafe { run.sum_rows(sums, rows.start, rows.len(), out) };
            }
        });
    }

    /// The sums of the product with this number among those of the loop.
    pub(crate) fn sums(&self, run: &Run<'_>, number: usize) -> *mut u8 {
        let before = products(run).take(number);
        let bytes: usize = before.map(|sums| run.rows.len as usize * sums.size).sum();
        self.data.wrapping_add(bytes)
    }
}

/// The products of a loop.
fn products<'a>(run: &Run<'a>) -> impl Iterator<Item = &'a RowSums> {
    run.program.steps.iter().filter_map(|step| match step {
        Step::RowSum { sums, .. } => Some(sums),
        _ => None,
    })
}
