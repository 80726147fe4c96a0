//! Native code in the place of steps: whole chunks of contiguous arrays go to the function of the
//! loop's twin, what is left stays with the steps.
#![expect(
    unsafe_code,
    reason = "calls the function of a twin on rows of a launch"
)]

use super::worker::{Run, Worker};
use crate::abi::CHUNK;
use crate::native::{Native, Twin};
use std::ops::Range;
use std::sync::Arc;

impl Run<'_> {
    /// The native form of the loop, if it is ready, worth it and can take this run: all arrays are
    /// contiguous. Where there are lanes, every chunk begins with lane 0, since tiles begin with it.
    pub(crate) fn native<'a>(&self, twin: &'a Arc<Twin>) -> Option<Native<'a>> {
        if !(self.is_large || twin.is_for_all_sizes()) {
            return None;
        }
        let mut arrays = twin.arrays().iter();
        let is_contiguous = arrays.all(|&arg| self.arrays[arg as usize].is_contiguous);
        if !is_contiguous {
            twin.pass_by();
            return None;
        }
        twin.function(self.isa, self.n_rows() as u64, self.splats)
    }
}

impl Worker<'_> {
    /// Runs all whole chunks of a range in native code, but for those that it leaves to the steps,
    /// and returns the first row that is left.
    ///
    /// # Safety
    /// As [`crate::blocks::Program::run`], for these rows; [`Run::native`] has given the function.
    pub(crate) unsafe fn run_chunks(&mut self, native: &Native<'_>, rows: Range<usize>) -> usize {
        let end = rows.end - rows.len() % CHUNK;
        let mut first = rows.start;
        while first < end {
            let chunks = ((end - first) / CHUNK) as u64;
            // SAFETY: the arrays are contiguous and have these rows, as the caller promises; there
            // are splats and lanes for all that the loop reads, and where there are lanes, rows
            // begin with lane 0. The instruction set is that of the run.
            let done = unsafe {
                (native.function)(
                    self.natives.as_ptr(),
                    self.run.splats.as_ptr().cast(),
                    self.lanes.as_mut_ptr().cast(),
                    self.run.extent.start,
                    first as u64,
                    chunks,
                )
            };
            first += done as usize * CHUNK;
            if done < chunks {
                // SAFETY: forwarded.
                unsafe { self.run_steps(self.whole, first, CHUNK) };
                first += CHUNK;
            }
        }
        first
    }
}
