//! Products with paced runs of packed pieces: rows whose columns advance by two each row, or by one
//! every second row.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::packed::PackedPart;
use super::packed_rows::{NEAR, Stored, sum_row};
use super::written_out::for_each_lane;
use crate::isa::prefetch;
use crate::ops::NumericOps;
use crate::packed::{GROUP, Pace, Paced, Pattern};
use std::ops::Range;

/// Groups of rows that are computed side by side, where there are as many: a sum waits for the one
/// before it.
const WIDE: usize = 2;

/// How many elements ahead of its use `x` is asked for, where it is read with a stride.
const AHEAD: usize = 128;

impl<T: NumericOps, const SIDE_BY_SIDE: bool> PackedPart<'_, T, SIDE_BY_SIDE> {
    /// Rows of a paced run with equal values in each period, by their distance from the first.
    ///
    /// # Safety
    /// As [`super::packed::PackedLoop`]; the rows are some of the run.
    #[inline(always)]
    pub(crate) unsafe fn paced_stencil(
        &self,
        number: u32,
        values: [u32; 2],
        rows: Range<usize>,
        out: *mut T,
    ) {
        let run = *self.rows.structure.paced(self.number, number);
        let stencils = self.values.stencils.as_ptr().cast::<T>();
        let [even, odd] = values;
        let values = [
            stencils.wrapping_add(even as usize),
            stencils.wrapping_add(odd as usize),
        ];
        let at = |row: usize| out.wrapping_add(row - rows.start);
        let mut row = rows.start;
        while row < rows.end {
            let rest = row..rows.end;
            // SAFETY: forwarded; chunks are rows of the range, some of which may be computed twice.
            unsafe {
                let n = match self.chunk::<WIDE>(run, values, rest.clone(), at(row)) {
                    0 => self.chunk::<1>(run, values, rest.clone(), at(row)),
                    n => n,
                };
                if n > 0 {
                    row += n;
                    continue;
                }
                // The last rows, together with some before them.
                let chunk = GROUP * run.pace.period();
                if rest.len() < chunk && rows.len() >= chunk {
                    let first = rows.end - chunk;
                    let first = first.wrapping_sub(first % run.pace.period());
                    let goes_on = (rows.start..row).contains(&first) && first + chunk > row;
                    if goes_on && self.chunk::<1>(run, values, first..rows.end, at(first)) > 0 {
                        row = first + chunk;
                        continue;
                    }
                }
                let value = values[row % run.pace.period()];
                let sum = self.paced_row(run, row, |k| value.add(k).read_unaligned());
                at(row).write_unaligned(sum);
            }
            row += 1;
        }
    }

    /// `G` groups of rows for each of a period, if there are as many; how many rows it were.
    #[inline(always)]
    unsafe fn chunk<const G: usize>(
        &self,
        run: Paced,
        values: [*const T; 2],
        rows: Range<usize>,
        out: *mut T,
    ) -> usize {
        if !SIDE_BY_SIDE {
            return 0;
        }
        // SAFETY: forwarded.
        unsafe {
            match run.pace {
                Pace::Double => self.double::<G>(run, values[0], rows, out),
                Pace::Half => self.half::<G>(run, values, rows, out),
            }
        }
    }

    /// Rows of a paced run with values of their own, by their distance from the first.
    ///
    /// # Safety
    /// As [`super::packed::PackedLoop`]; the rows are some of the run.
    #[inline(always)]
    pub(crate) unsafe fn paced<S: Stored<T>>(
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
        // SAFETY: the row has these columns, which are own ones.
        unsafe { sum_row(self.offsets(pattern), self.columns_at(column), value) }
    }

    /// `G` groups of rows whose columns advance by two each, if there are as many; how many rows it
    /// were.
    #[inline(always)]
    unsafe fn double<const G: usize>(
        &self,
        run: Paced,
        values: *const T,
        rows: Range<usize>,
        out: *mut T,
    ) -> usize {
        let (pattern, column) = run.row(rows.start);
        let offsets = self.offsets(pattern);
        // The last of the elements that are read for each entry is that of no row.
        let last = offsets
            .iter()
            .max()
            .map_or(0, |&offset| column + offset as usize + 2 * G * GROUP);
        if rows.len() < G * GROUP || last > self.rows.own_len {
            return 0;
        }
        let is_far = self.rows.own_len * size_of::<T>() > NEAR;
        let mut sums = [[T::ZERO; GROUP]; G];
        for (k, &offset) in offsets.iter().enumerate() {
            let x = self.columns_at(column + offset as usize);
            // SAFETY: the run has a value for each entry.
            let value = unsafe { values.add(k).read_unaligned() };
            for (group, sums) in sums.iter_mut().enumerate() {
                if is_far {
                    // Neighbouring entries ask for different cache lines.
                    prefetch(x.wrapping_add(AHEAD + (2 * group + k % 2) * GROUP));
                }
                // SAFETY: columns ascend, so these sixteen elements end at `last` at the latest.
                let x = unsafe {
                    let x = x.add(group * 2 * GROUP);
                    x.cast::<[T; 2 * GROUP]>().read_unaligned()
                };
                for_each_lane::<GROUP>(|l| sums[l] = value.mul_add(x[2 * l], sums[l]));
            }
        }
        // SAFETY: there are as many rows.
        unsafe { out.cast::<[[T; GROUP]; G]>().write_unaligned(sums) };
        G * GROUP
    }

    /// `G` groups of pairs of rows whose columns advance by one each, if there are as many; how
    /// many rows it were.
    #[inline(always)]
    unsafe fn half<const G: usize>(
        &self,
        run: Paced,
        values: [*const T; 2],
        rows: Range<usize>,
        out: *mut T,
    ) -> usize {
        if rows.start % 2 == 1 || rows.len() < 2 * G * GROUP {
            return 0;
        }
        let column = run.row(rows.start).1;
        // SAFETY: there are as many rows of each of the two patterns.
        let [even, odd] = unsafe {
            [
                self.groups::<G>(run.patterns[0], values[0], column),
                self.groups::<G>(run.patterns[1], values[1], column),
            ]
        };
        for (group, (even, odd)) in even.iter().zip(&odd).enumerate() {
            let mut both = [T::ZERO; 2 * GROUP];
            for_each_lane::<GROUP>(|l| (both[2 * l], both[2 * l + 1]) = (even[l], odd[l]));
            // SAFETY: there are as many rows.
            unsafe {
                let out = out.add(group * 2 * GROUP);
                out.cast::<[T; 2 * GROUP]>().write_unaligned(both);
            }
        }
        2 * G * GROUP
    }

    /// `G` groups of rows of one pattern, each one column further.
    #[inline(always)]
    unsafe fn groups<const G: usize>(
        &self,
        pattern: Pattern,
        values: *const T,
        column: usize,
    ) -> [[T; GROUP]; G] {
        let mut sums = [[T::ZERO; GROUP]; G];
        for (k, &offset) in self.offsets(pattern).iter().enumerate() {
            let x = self.columns_at(column + offset as usize);
            // SAFETY: the run has a value for each entry.
            let value = unsafe { values.add(k).read_unaligned() };
            for (group, sums) in sums.iter_mut().enumerate() {
                // SAFETY: eight rows have this entry, in neighbouring columns.
                let x = unsafe {
                    let x = x.add(group * GROUP);
                    x.cast::<[T; GROUP]>().read_unaligned()
                };
                for_each_lane::<GROUP>(|l| sums[l] = value.mul_add(x[l], sums[l]));
            }
        }
        sums
    }

    /// `x` from a column on.
    #[inline(always)]
    fn columns_at(&self, column: usize) -> *const T {
        self.rows.own.cast::<T>().wrapping_add(column)
    }
}
