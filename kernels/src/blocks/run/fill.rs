//! Filling the panels of a thread, and aiming what reads them.
#![expect(unsafe_code, reason = "copies elements through pointers of the launch")]

use super::copies::copy_across;
use super::panels::{Across, Panels};
use super::worker::Worker;
use crate::abi::CHUNK;
use crate::blocks::compile::slots::Slot;
use std::ops::Range;

impl Worker<'_> {
    /// Sees to it that the panels hold a row, and returns the rows that they hold.
    ///
    /// # Safety
    /// As [`crate::blocks::Program::run`], for all rows of the loop; the panels are those of the
    /// run.
    pub(crate) unsafe fn fill_panels(&mut self, panels: &Panels, row: usize) -> Range<usize> {
        if self.paneled.contains(&row) {
            return self.paneled.clone();
        }
        let (line, rows) = panels.from(row, self.end_of_part);
        let len = panels.lines.len();
        let n_lines = rows.len() / len;
        for array in panels.arrays.iter().flatten() {
            let panel = self.panels.wrapping_add(array.offset);
            let (step, between) = panels.lines.steps(&array.layout);
            let start = panels.lines.start(line, &array.layout) * array.size as isize;
            let from = (array.data.wrapping_offset(start), [between, step]);
            // SAFETY: whole lines of the array, which the caller promises and the loop does not
            // write; the panel has room for them.
            unsafe { copy_across(array.size, [n_lines, len], from, (panel, [len as isize, 1])) };
            self.aim_at_panel(array, panel, rows.start);
        }
        self.paneled = rows.clone();
        rows
    }

    /// Sets the addresses of an array to those of its panel, which begins with a row.
    fn aim_at_panel(&mut self, array: &Across, panel: *mut u8, first: usize) {
        let data = panel.wrapping_sub(first * array.size);
        let slots = &self.run.program.slots;
        let of_array = |slot: &Slot| matches!(*slot, Slot::Memory { arg, .. } if arg == array.arg);
        for number in (0..slots.len()).filter(|&number| of_array(&slots[number])) {
            for table in [0, slots.len()] {
                if let Some(address) = self.line.get_mut(table + number) {
                    address.data = data;
                    address.row_bytes = array.size;
                    address.step = CHUNK * array.size;
                }
            }
        }
        let natives = self.run.native.iter().flat_map(|run| run.native.arrays);
        for (address, (arg, _)) in self.natives.iter_mut().zip(natives) {
            if *arg == array.arg {
                *address = data;
            }
        }
    }
}
