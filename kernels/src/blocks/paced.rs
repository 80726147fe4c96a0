//! Products with paced runs of packed pieces: rows whose columns advance by two each row, or by one
//! every second row.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::packed::{PackedPart, Stored};
use crate::ops::NumericOps;
use crate::packed::{GROUP, Pace, Paced, Pattern};
use std::ops::Range;

impl<T: NumericOps> PackedPart<'_, T> {
    /// Rows of a paced run with equal values in each period, by their distance from the first.
    ///
    /// # Safety
    /// As [`super::packed::PackedLoop`]; the rows are some of the run.
    #[inline(always)]
    pub(super) unsafe fn paced_stencil(
        &self,
        number: u32,
        values: [u32; 2],
        rows: Range<usize>,
        out: *mut T,
    ) {
        let run = *self.rows.structure.paced(self.number, number);
        let stencils = self.values.stencils.as_ptr().cast::<T>();
        let values = values.map(|values| stencils.wrapping_add(values as usize));
        let (mut row, mut out) = (rows.start, out);
        // SAFETY: forwarded; rows before `rows.end`, and a chunk where there is one.
        unsafe {
            while row < rows.end {
                let n = match run.pace {
                    Pace::Double => self.double(run, values[0], row..rows.end, out),
                    Pace::Half => self.half(run, values, row..rows.end, out),
                };
                let n = if n > 0 {
                    n
                } else {
                    let value = values[row % run.pace.period()];
                    out.write_unaligned(
                        self.paced_row(run, row, |k| value.add(k).read_unaligned()),
                    );
                    1
                };
                (row, out) = (row + n, out.add(n));
            }
        }
    }

    /// Rows of a paced run with values of their own, by their distance from the first.
    ///
    /// # Safety
    /// As [`super::packed::PackedLoop`]; the rows are some of the run.
    #[inline(always)]
    pub(super) unsafe fn paced<S: Stored<T>>(
        &self,
        stored: S,
        number: u32,
        values: usize,
        rows: Range<usize>,
        out: *mut T,
    ) {
        let run = *self.rows.structure.paced(self.number, number);
        for row in rows.clone() {
            let at = values + run.entries_before(row);
            // SAFETY: the row is one of the run, whose values are stored row by row.
            unsafe {
                let sum = self.paced_row(run, row, |k| stored.one(at + k));
                out.add(row - rows.start).write_unaligned(sum);
            }
        }
    }

    /// One row.
    #[inline(always)]
    unsafe fn paced_row(&self, run: Paced, row: usize, value: impl Fn(usize) -> T) -> T {
        let (pattern, column) = run.row(row);
        let x = self.rows.own.cast::<T>().wrapping_add(column);
        let mut sum = T::ZERO;
        for (k, &offset) in self.offsets(pattern).iter().enumerate() {
            // SAFETY: the row has this column, which is an own one.
            let x = unsafe { x.wrapping_offset(offset as isize).read_unaligned() };
            sum = value(k).mul_add(x, sum);
        }
        sum
    }

    /// Eight rows whose columns advance by two each, if there are as many; how many it were.
    #[inline(always)]
    unsafe fn double(
        &self,
        run: Paced,
        values: *const T,
        rows: Range<usize>,
        out: *mut T,
    ) -> usize {
        let (pattern, column) = run.row(rows.start);
        let offsets = self.offsets(pattern);
        // The last of the sixteen elements that are read for each entry is that of no row.
        let last = offsets
            .last()
            .map_or(0, |&offset| column + offset as usize + 2 * GROUP);
        if rows.len() < GROUP || last > self.rows.own_len {
            return 0;
        }
        let mut sums = [T::ZERO; GROUP];
        for (k, &offset) in offsets.iter().enumerate() {
            let x = self
                .rows
                .own
                .cast::<T>()
                .wrapping_add(column + offset as usize);
            // SAFETY: columns ascend, so these sixteen elements end before `last` at the latest.
            let (value, x) = unsafe {
                let x = x.cast::<[T; 2 * GROUP]>().read_unaligned();
                (values.add(k).read_unaligned(), x)
            };
            sums = std::array::from_fn(|l| value.mul_add(x[2 * l], sums[l]));
        }
        // SAFETY: there are eight rows.
        unsafe { out.cast::<[T; GROUP]>().write_unaligned(sums) };
        GROUP
    }

    /// Eight pairs of rows whose columns advance by one each, if there are as many; how many rows it
    /// were.
    #[inline(always)]
    unsafe fn half(
        &self,
        run: Paced,
        values: [*const T; 2],
        rows: Range<usize>,
        out: *mut T,
    ) -> usize {
        if rows.start % 2 == 1 || rows.len() < 2 * GROUP {
            return 0;
        }
        let column = run.row(rows.start).1;
        // SAFETY: there are eight rows of each of the two patterns.
        let [even, odd] = unsafe {
            [
                self.eight(run.patterns[0], values[0], column),
                self.eight(run.patterns[1], values[1], column),
            ]
        };
        let both: [T; 2 * GROUP] =
            std::array::from_fn(|l| if l % 2 == 0 { even[l / 2] } else { odd[l / 2] });
        // SAFETY: there are sixteen rows.
        unsafe { out.cast::<[T; 2 * GROUP]>().write_unaligned(both) };
        2 * GROUP
    }

    /// Eight rows of one pattern, each one column further.
    #[inline(always)]
    unsafe fn eight(&self, pattern: Pattern, values: *const T, column: usize) -> [T; GROUP] {
        let mut sums = [T::ZERO; GROUP];
        for (k, &offset) in self.offsets(pattern).iter().enumerate() {
            let x = self
                .rows
                .own
                .cast::<T>()
                .wrapping_add(column + offset as usize);
            // SAFETY: eight rows have this entry, in neighbouring columns.
            let (value, x) = unsafe {
                let x = x.cast::<[T; GROUP]>().read_unaligned();
                (values.add(k).read_unaligned(), x)
            };
            sums = std::array::from_fn(|l| value.mul_add(x[l], sums[l]));
        }
        sums
    }
}
