//! Products with packed pieces: the loops for stencils and diagonals; those for windows are in
//! `windows.rs`.
//!
//! All of them sum a row in the order of its entries, one fused multiply-add each, starting from
//! zero, and compute several rows side by side.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::packed_rows::{Codes, Elements, PackedRows, Stored, WindowLoop, WindowRange, sum_row};
use super::windows::window_loop;
use super::written_out::for_each_lane;
use crate::element::DType;
use crate::isa::{PerIsa, per_isa};
use crate::ops::NumericOps;
use crate::packed::{Form, GROUP, PART, Pattern, Segment, ValuesPart, WINDOW};
use num_complex::Complex;
use std::ops::Range;

/// Rows of a stencil that are computed side by side, where there are as many.
const WIDE: usize = 32;
/// The rows of a stencil behind those, of which there are fewer.
const HALF: usize = 16;

/// Writes the row sums of a packed matrix to `out`.
///
/// # Safety
/// The pieces' arrays must be those that the plans of structure and values have filled, `own` and
/// `ghosts` readable at every column of these rows, `out` writable as `n` elements, and the
/// instruction set available.
pub(crate) type PackedLoop = unsafe fn(rows: &PackedRows<'_>, out: *mut u8);

/// The loops of [`crate::Inst::RowSum`] for packed pieces with elements of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedLoops {
    pub(crate) run: PerIsa<PackedLoop>,
    pub(crate) windows: PerIsa<WindowLoop>,
}

impl PackedLoops {
    /// `None` for types of which no matrix is packed.
    pub(crate) fn new(dtype: DType) -> Option<Self> {
        match dtype {
            DType::F32 => Some(Self::of::<f32>()),
            DType::F64 => Some(Self::of::<f64>()),
            DType::ComplexF32 => Some(Self::of::<Complex<f32>>()),
            DType::ComplexF64 => Some(Self::of::<Complex<f64>>()),
            DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool => None,
        }
    }

    fn of<T: NumericOps>() -> Self {
        Self {
            run: packed_loop::<T>(),
            windows: window_loop::<T>(),
        }
    }
}

per_isa!(
    fn packed_loop<T: NumericOps>(rows: &PackedRows<'_>, out: *mut u8) = sum_side_by_side,
    baseline sum_one_by_one
);

#[inline(always)]
unsafe fn sum_side_by_side<T: NumericOps>(rows: &PackedRows<'_>, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { sum_packed::<T, true>(rows, out) }
}

/// Without fused multiply-adds each of them is a call, and rows side by side gain nothing.
#[inline(always)]
unsafe fn sum_one_by_one<T: NumericOps>(rows: &PackedRows<'_>, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { sum_packed::<T, false>(rows, out) }
}

#[inline(always)]
unsafe fn sum_packed<T: NumericOps, const SIDE_BY_SIDE: bool>(rows: &PackedRows<'_>, out: *mut u8) {
    let end = rows.first + rows.n;
    let mut row = rows.first;
    while row < end {
        let number = row / PART;
        let part_end = ((number + 1) * PART).min(end);
        let part = PackedPart::<T, SIDE_BY_SIDE> {
            rows,
            number,
            values: &rows.values.parts[number],
            offsets: rows.structure.offsets(number),
            out: out.cast::<T>().wrapping_add(row - rows.first),
        };
        let range = row - number * PART..part_end - number * PART;
        // SAFETY: forwarded; the rows are some of this part.
        unsafe { part.sum(range) };
        row = part_end;
    }
}

/// The rows of one part; `out` belongs to the first of them. With equal offsets they are computed
/// side by side, or one by one.
pub(crate) struct PackedPart<'a, T, const SIDE_BY_SIDE: bool> {
    pub(crate) rows: &'a PackedRows<'a>,
    pub(crate) number: usize,
    pub(crate) values: &'a ValuesPart,
    /// The offsets of all patterns.
    offsets: &'a [i32],
    out: *mut T,
}

impl<T: NumericOps, const SIDE_BY_SIDE: bool> PackedPart<'_, T, SIDE_BY_SIDE> {
    #[inline(always)]
    unsafe fn sum(&self, range: Range<usize>) {
        let data = self.rows.data.wrapping_add(self.values.start);
        let dictionary = &self.rows.values.dictionary;
        // SAFETY: forwarded; the values are stored so.
        unsafe {
            if dictionary.is_empty() {
                self.sum_stored(range, Elements(data.cast::<T>()));
            } else {
                let dictionary = dictionary.as_ptr().cast::<T>();
                self.sum_stored(
                    range,
                    Codes {
                        codes: data,
                        dictionary,
                    },
                );
            }
        }
    }

    #[inline(always)]
    unsafe fn sum_stored<S: Stored<T>>(&self, range: Range<usize>, stored: S) {
        let number = self.values.index[range.start / WINDOW] as usize;
        let mut segments = &self.values.segments[number..];
        let mut row = range.start;
        while row < range.end {
            // SAFETY: forwarded.
            row = unsafe { self.stencils(&mut segments, row..range.end, range.start) };
            let Some((segment, rest)) = segments.split_first() else {
                return;
            };
            segments = rest;
            let (first, end) = (segment.first as usize, segment.end());
            let last = end.min(range.end);
            if last <= row {
                continue;
            }
            let out = self.out.wrapping_add(row - range.start);
            // SAFETY: forwarded; rows `row..last` are of this segment.
            unsafe {
                match segment.form {
                    Form::Stencil { .. } => continue,
                    Form::Diagonals { pattern, values } => {
                        self.diagonals(stored, pattern, values, (first, end), row..last, out);
                    }
                    Form::PacedStencil { number, values } => {
                        self.paced_stencil(number, values, row - first..last - first, out);
                    }
                    Form::Paced { number, values } => {
                        self.paced(stored, number, values, row - first..last - first, out);
                    }
                    Form::Window { number, values } => {
                        let range = WindowRange {
                            of: self.rows,
                            part: self.number,
                            number,
                            first,
                            values,
                            rows: row..last,
                        };
                        (self.rows.windows)(&range, out.cast());
                    }
                }
            }
            row = last;
        }
    }

    /// The stencils among the rows that these segments begin with; returns the first row behind
    /// them. `out` belongs to row `start`.
    ///
    /// The lines of a grid are short stencils, so a loop of their own keeps in registers what
    /// they share.
    #[inline(always)]
    unsafe fn stencils(
        &self,
        segments: &mut &[Segment],
        rows: Range<usize>,
        start: usize,
    ) -> usize {
        let mut row = rows.start;
        while let [segment, rest @ ..] = *segments {
            let Form::Stencil { pattern, values } = segment.form else {
                break;
            };
            let last = segment.end().min(rows.end);
            if row < last {
                let out = self.out.wrapping_add(row - start);
                // SAFETY: forwarded; rows `row..last` are of this segment.
                unsafe { self.stencil(pattern, values, row..last, out) };
                row = last;
            }
            if row == rows.end {
                break;
            }
            *segments = rest;
        }
        row
    }

    /// `x` of the diagonal at a row of the part.
    #[inline(always)]
    fn x_at(&self, row: usize) -> *const T {
        self.rows
            .own
            .cast::<T>()
            .wrapping_add(self.number * PART + row)
    }

    #[inline(always)]
    pub(crate) fn offsets(&self, pattern: Pattern) -> &[i32] {
        &self.offsets[pattern.start as usize..][..pattern.len as usize]
    }

    #[inline(always)]
    unsafe fn stencil(&self, pattern: Pattern, values: u32, rows: Range<usize>, out: *mut T) {
        let stencil = Stencil {
            offsets: self.offsets(pattern),
            values: self
                .values
                .stencils
                .as_ptr()
                .cast::<T>()
                .wrapping_add(values as usize),
        };
        let (n, x) = (rows.len(), self.x_at(rows.start));
        // SAFETY: the rows `i..i + W` are before `n`; overlapping chunks write the same twice.
        unsafe {
            let mut i = 0;
            while SIDE_BY_SIDE && i + WIDE <= n {
                stencil.chunk::<WIDE>(x.wrapping_add(i), out.add(i));
                i += WIDE;
            }
            if SIDE_BY_SIDE && i + HALF + GROUP < n {
                stencil.chunks::<HALF>([i, n - HALF], x, out);
                return;
            }
            if SIDE_BY_SIDE && i + HALF <= n {
                stencil.chunk::<HALF>(x.wrapping_add(i), out.add(i));
                i += HALF;
            }
            if SIDE_BY_SIDE && i + GROUP < n && n >= HALF {
                i = n - HALF;
                stencil.chunk::<HALF>(x.wrapping_add(i), out.add(i));
            } else if SIDE_BY_SIDE && i < n && n >= GROUP {
                if i + GROUP < n {
                    stencil.chunk::<GROUP>(x, out);
                }
                i = n - GROUP;
                stencil.chunk::<GROUP>(x.wrapping_add(i), out.add(i));
            } else {
                while i < n {
                    stencil.chunk::<1>(x.wrapping_add(i), out.add(i));
                    i += 1;
                }
            }
        }
    }

    /// Rows of the diagonals of the rows `(first, end)`.
    #[inline(always)]
    unsafe fn diagonals<S: Stored<T>>(
        &self,
        stored: S,
        pattern: Pattern,
        values: usize,
        (first, end): (usize, usize),
        rows: Range<usize>,
        out: *mut T,
    ) {
        let offsets = self.offsets(pattern);
        let values_at = |row: usize| values + (row - first) * offsets.len();
        let (mut row, mut out) = (rows.start, out);
        while row < rows.end {
            // SAFETY: the rows of a group lie within `first..end`, and so do their values; rows
            // `row..row + n` are those asked for.
            unsafe {
                // From two places at a time, half of the rows apart: the prefetchers of the
                // hardware have more under way for two streams than for one (AMD Zen 3, eleven
                // diagonals from memory: 22 ms in place of 31).
                if SIDE_BY_SIDE && row % GROUP == 0 {
                    let half = (rows.end - row) / (2 * GROUP) * GROUP;
                    for near in (0..half).step_by(GROUP) {
                        let two = [near, near + half];
                        let x = two.map(|far| self.x_at(row + far));
                        let at = two.map(|far| values_at(row + far));
                        let sums = full_groups(stored, offsets, at, x);
                        for (far, sums) in two.into_iter().zip(sums) {
                            out.add(far).cast::<[T; GROUP]>().write_unaligned(sums);
                        }
                    }
                    (row, out) = (row + 2 * half, out.add(2 * half));
                }
                if row == rows.end {
                    return;
                }
                let group = row - row % GROUP;
                let (from, to) = (group.max(first), (group + GROUP).min(end));
                let n = to.min(rows.end) - row;
                if !SIDE_BY_SIDE {
                    let values =
                        |k: usize| stored.one(values_at(from) + k * (to - from) + row - from);
                    out.write_unaligned(sum_row(offsets, self.x_at(row), values));
                    (row, out) = (row + 1, out.add(1));
                    continue;
                }
                let sums = self.group(stored, offsets, values_at(from), from, to - from);
                for (i, sum) in sums[row - from..row - from + n].iter().enumerate() {
                    out.add(i).write_unaligned(*sum);
                }
                (row, out) = (row + n, out.add(n));
            }
        }
    }

    /// The sums of the `width` rows of one group, the first of which is `row`. Eight rows are
    /// computed wherever `x` has as many elements; what the others would give is not used.
    #[inline(always)]
    unsafe fn group<S: Stored<T>>(
        &self,
        stored: S,
        offsets: &[i32],
        at: usize,
        row: usize,
        width: usize,
    ) -> [T; GROUP] {
        let mut sums = [T::ZERO; GROUP];
        let (x, first) = (self.x_at(row), (self.number * PART + row) as isize);
        for (k, &offset) in offsets.iter().enumerate() {
            let column = first + offset as isize;
            let n_columns = self.rows.own_len - column as usize;
            let x = x.wrapping_offset(offset as isize);
            // SAFETY: the caller promises `width` rows, their values and their columns; the
            // values are followed by room for eight more.
            unsafe {
                let values = stored.eight(at + k * width);
                let xs = if n_columns >= GROUP {
                    x.cast::<[T; GROUP]>().read_unaligned()
                } else {
                    let mut xs = [T::ZERO; GROUP];
                    xs[..width].copy_from_slice(std::slice::from_raw_parts(x, width));
                    xs
                };
                for_each_lane::<GROUP>(|l| sums[l] = values[l].mul_add(xs[l], sums[l]));
            }
        }
        sums
    }
}

/// A stencil, whose offsets and values are the same for all of its rows.
///
/// The compiler does not know how many entries it has, and that is well: where it does, AVX-512
/// code reads neighbouring elements of `x` by gather instructions, and a product out of the cache
/// takes twice as long (AMD Zen 5, stencils of five).
struct Stencil<'a, T> {
    offsets: &'a [i32],
    values: *const T,
}

impl<T: NumericOps> Stencil<'_, T> {
    /// `W` rows; `x` and `out` belong to the first.
    #[inline(always)]
    unsafe fn chunk<const W: usize>(&self, x: *const T, out: *mut T) {
        let mut sums = [T::ZERO; W];
        for (k, &offset) in self.offsets.iter().enumerate() {
            // SAFETY: the stencil has a value for each offset, and the caller promises the
            // columns of `W` rows.
            let (value, xs) = unsafe {
                (
                    self.values.add(k).read_unaligned(),
                    x.offset(offset as isize).cast::<[T; W]>().read_unaligned(),
                )
            };
            for_each_lane::<W>(|l| sums[l] = value.mul_add(xs[l], sums[l]));
        }
        // SAFETY: the caller promises room for `W` elements.
        unsafe { out.cast::<[T; W]>().write_unaligned(sums) };
    }

    /// Twice `W` rows, which may overlap, behind the one of `x` and `out`: what is known of an
    /// entry is read once for both.
    #[inline(always)]
    unsafe fn chunks<const W: usize>(&self, rows: [usize; 2], x: *const T, out: *mut T) {
        let mut sums = [[T::ZERO; W]; 2];
        for (k, &offset) in self.offsets.iter().enumerate() {
            // SAFETY: as in `chunk`, twice.
            let (value, xs) = unsafe {
                let x = x.offset(offset as isize);
                let xs = rows.map(|row| x.add(row).cast::<[T; W]>().read_unaligned());
                (self.values.add(k).read_unaligned(), xs)
            };
            for_each_lane::<W>(|l| sums[0][l] = value.mul_add(xs[0][l], sums[0][l]));
            for_each_lane::<W>(|l| sums[1][l] = value.mul_add(xs[1][l], sums[1][l]));
        }
        for (row, sums) in rows.into_iter().zip(sums) {
            // SAFETY: the caller promises room for the rows.
            unsafe { out.add(row).cast::<[T; W]>().write_unaligned(sums) };
        }
    }
}

/// The sums of two groups of eight rows of diagonals; `x` belongs to the first row of each.
///
/// # Safety
/// `stored` has the values from `at` on, `x` the columns of the rows.
#[inline(always)]
unsafe fn full_groups<T: NumericOps, S: Stored<T>>(
    stored: S,
    offsets: &[i32],
    at: [usize; 2],
    x: [*const T; 2],
) -> [[T; GROUP]; 2] {
    let mut sums = [[T::ZERO; GROUP]; 2];
    for (k, &offset) in offsets.iter().enumerate() {
        for group in 0..2 {
            // SAFETY: the caller promises eight rows, their values and their columns.
            let (values, xs) = unsafe {
                let xs = x[group].offset(offset as isize).cast::<[T; GROUP]>();
                (stored.eight(at[group] + k * GROUP), xs.read_unaligned())
            };
            for_each_lane::<GROUP>(|l| sums[group][l] = values[l].mul_add(xs[l], sums[group][l]));
        }
    }
    sums
}
