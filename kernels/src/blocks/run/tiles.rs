//! The rows of one thread, tile by tile and block by block.
#![expect(unsafe_code, reason = "writes the partial results of tiles")]

use super::bound::Address;
use super::lines::CopyRun;
use super::uniform::misbound;
use super::worker::Worker;
use crate::abi::CHUNK;
use crate::launch::Operand;
use std::ops::Range;

impl Worker<'_> {
    /// Runs a range of local rows, whole tiles if the loop reduces; calls `before_rows` with the
    /// end of each block before it is run.
    ///
    /// # Safety
    /// As [`super::run_loop`]; the rows must be there, and no other thread may run them.
    pub(crate) unsafe fn run(&mut self, rows: Range<usize>, mut before_rows: impl FnMut(usize)) {
        self.end_of_part = rows.end;
        let reductions = &self.run.program.reductions;
        if reductions.is_empty() {
            // SAFETY: forwarded.
            return unsafe { self.run_blocks(rows, &mut before_rows) };
        }
        let tiles = self.run.extent.tiles;
        let mut first = rows.start;
        while first < rows.end {
            // SAFETY: forwarded. The rows of arrays in place are there before any is run.
            let n_reduced = unsafe { self.reduce_whole_tiles(first..rows.end) };
            if n_reduced > 0 {
                first += n_reduced;
                continue;
            }
            let tile = tiles.number(first);
            let end = tiles.start(tile + 1).min(rows.end);
            for (lanes, (_, reduction)) in self.lanes.iter_mut().zip(reductions) {
                reduction.start(lanes);
            }
            self.tile_start = first;
            // SAFETY: forwarded; each tile that the extent touches has a partial.
            unsafe {
                self.run_blocks(first..end, &mut before_rows);
                self.finish_tile(tile);
            }
            first = end;
        }
    }

    unsafe fn finish_tile(&mut self, tile: usize) {
        let start = self.run.extent.start + self.tile_start as u64;
        for (lanes, &(arg, reduction)) in self.lanes.iter_mut().zip(&self.run.program.reductions) {
            let Operand::Reduction { partials } = self.run.launch.operands[arg as usize] else {
                misbound(arg, "reduction")
            };
            // SAFETY: the caller's promise.
            unsafe { partials.add(tile).write(reduction.finish(lanes, start)) };
        }
    }

    unsafe fn run_blocks(&mut self, rows: Range<usize>, before_rows: &mut impl FnMut(usize)) {
        // SAFETY: forwarded.
        unsafe {
            let native = self.run.native;
            let is_better = |copy: &CopyRun| native.is_none() || copy.is_across();
            if let Some(copy) = self.run.copy.filter(is_better) {
                before_rows(rows.end);
                return self.run_copy(&copy, rows);
            }
            let Some(panels) = &self.run.panels else {
                return self.run_at_addresses(rows, before_rows);
            };
            let mut first = rows.start;
            while first < rows.end {
                let end = self.fill_panels(panels, first).end.min(rows.end);
                self.run_at_addresses(first..end, before_rows);
                first = end;
            }
        }
    }

    /// Runs a range of rows, in native code or in blocks, with the addresses as they are.
    unsafe fn run_at_addresses(&mut self, rows: Range<usize>, before_rows: &mut impl FnMut(usize)) {
        // SAFETY: forwarded.
        unsafe {
            match self.run.native {
                None => self.run_in_blocks(rows, before_rows),
                Some(native) => {
                    before_rows(rows.end);
                    self.run_native(&native, rows);
                }
            }
        }
    }

    /// Runs a range of rows in blocks.
    ///
    /// # Safety
    /// As [`Worker::run`].
    pub(crate) unsafe fn run_in_blocks(
        &mut self,
        rows: Range<usize>,
        before_rows: &mut impl FnMut(usize),
    ) {
        if !self.run.has_lines() {
            // SAFETY: forwarded.
            return unsafe {
                let addresses = (self.whole, self.ragged);
                self.run_blocks_at(addresses, self.is_in_place, rows, before_rows)
            };
        }
        let mut first = rows.start;
        let mut addresses = std::mem::take(self.line);
        let (whole, rest) = addresses.split_at_mut(self.whole.len());
        while first < rows.end {
            let mut end = rows.end;
            if let Some(lines) = self.run.lines {
                let (line, around) = lines.around(first);
                end = around.end.min(end);
                lines.aim(line, self.lined, (whole, rest), self.ragged);
            }
            // SAFETY: forwarded; the addresses are those of the line that these rows lie in.
            unsafe { self.run_blocks_at((whole, rest), false, first..end, before_rows) };
            first = end;
        }
        *self.line = addresses;
    }

    /// Runs blocks of rows: whole chunks at the first addresses, which may be those of the arrays
    /// themselves, the rest at the second.
    unsafe fn run_blocks_at(
        &mut self,
        (whole_at, rest_at): (&[Address], &[Address]),
        is_in_place: bool,
        rows: Range<usize>,
        before_rows: &mut impl FnMut(usize),
    ) {
        let longest = match is_in_place && self.is_one_map() {
            true => rows.len(),
            false => self.run.block_len,
        };
        let mut first = rows.start;
        while first < rows.end {
            let n = longest.min(rows.end - first);
            before_rows(first + n);
            let whole = n - n % CHUNK;
            // SAFETY: forwarded.
            unsafe {
                if whole > 0 {
                    self.run_steps((whole_at, is_in_place), first, whole);
                }
                if whole < n {
                    self.run_steps((rest_at, false), first + whole, n - whole);
                }
            }
            first += n;
        }
    }
}
