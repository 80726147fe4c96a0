//! Products with packed pieces: the loops for windows, whose rows have no common pattern.
//!
//! A window is summed group by group (`packed/window.rs`): the nodes of a group side by side as far
//! as all of them have entries, then the rest of each.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::packed_rows::{AHEAD, Codes, Elements, NEAR, Stored, WindowRange};
use super::written_out::for_each_lane;
use crate::isa::{per_isa, prefetch};
use crate::ops::NumericOps;
use crate::packed::{
    COLUMN_SLACK, GROUP, Group, NodesOf, SingleRows, WINDOW, Width, Window, side_by_side,
};
use std::hint::black_box;
use std::mem::MaybeUninit;

/// How many entries ahead of their use the elements of `x` are asked for.
const FAR_AHEAD: usize = COLUMN_SLACK - GROUP;

per_isa!(
    // `x` is read here and there: with AVX-512 the compiler uses gather instructions for it, which
    // take up to 1.4 times as long as many loads (AMD Zen 5; on Intel machines microcode has made
    // them slower still).
    pub(crate) fn window_loop<T: NumericOps>(range: &WindowRange<'_>, out: *mut u8) = sum_side_by_side,
    baseline sum_one_by_one, up to avx2
);

#[inline(always)]
unsafe fn sum_side_by_side<T: NumericOps>(range: &WindowRange<'_>, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { sum_window::<T, true>(range, out) }
}

#[inline(always)]
unsafe fn sum_one_by_one<T: NumericOps>(range: &WindowRange<'_>, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { sum_window::<T, false>(range, out) }
}

#[inline(always)]
unsafe fn sum_window<T: NumericOps, const SIDE_BY_SIDE: bool>(
    range: &WindowRange<'_>,
    out: *mut u8,
) {
    let values = &range.of.values.parts[range.part];
    let data = range.of.data.wrapping_add(values.start);
    let dictionary = &range.of.values.dictionary;
    // SAFETY: forwarded; the values are stored so.
    unsafe {
        if dictionary.is_empty() {
            sum_stored::<T, _, SIDE_BY_SIDE>(range, Elements(data.cast::<T>()), out.cast());
        } else {
            let dictionary = dictionary.as_ptr().cast::<T>();
            let codes = Codes {
                codes: data,
                dictionary,
            };
            sum_stored::<T, _, SIDE_BY_SIDE>(range, codes, out.cast());
        }
    }
}

#[inline(always)]
unsafe fn sum_stored<T: NumericOps, S: Stored<T>, const SIDE_BY_SIDE: bool>(
    range: &WindowRange<'_>,
    stored: S,
    out: *mut T,
) {
    let (rows, of) = (&range.rows, range.of);
    let (window, nodes) = of.structure.window(range.part, range.number);
    let of = WindowRows {
        window,
        nodes,
        stored,
        values: range.values,
        columns: of.columns.wrapping_add(window.columns),
        own: of.own.cast::<T>(),
        own_len: of.own_len,
        ghosts: of.ghosts.cast::<T>(),
        is_far: of.own_len * size_of::<T>() > NEAR,
    };
    let mut sums = [const { MaybeUninit::<T>::uninit() }; WINDOW];
    let is_whole = rows.len() == window.len as usize;
    let target = if is_whole {
        out
    } else {
        sums.as_mut_ptr().cast()
    };
    // SAFETY: forwarded; `sums` has room for every row of a window, and all are written.
    unsafe {
        match SIDE_BY_SIDE {
            true => of.sum(target),
            false => of.sum_one_by_one(target),
        }
        if !is_whole {
            let wanted = target.add(rows.start - range.first);
            out.copy_from_nonoverlapping(wanted, rows.len());
        }
    }
}

/// A window, where its entries lie, and `x`.
struct WindowRows<'a, T, S> {
    window: &'a Window,
    nodes: NodesOf<'a>,
    stored: S,
    values: usize,
    columns: *const u8,
    own: *const T,
    own_len: usize,
    ghosts: *const T,
    /// Whether `x` is too large for the L2 cache.
    is_far: bool,
}

/// The numbers of columns and of values before a group.
struct Place {
    columns: usize,
    values: usize,
}

impl<T: NumericOps, S: Stored<T>> WindowRows<'_, T, S> {
    /// Writes the sums of all rows to `out`, which belongs to the first.
    #[inline(always)]
    unsafe fn sum(&self, out: *mut T) {
        let (own, ghosts) = (self.own, self.ghosts);
        let from_base = own.wrapping_add(self.window.base as usize);
        let mut at = Place {
            columns: 0,
            values: 0,
        };
        // SAFETY: forwarded. Columns are distances from the base, all of them of own elements;
        // with ghosts, indices of both.
        unsafe {
            for group in self.nodes.higher().groups() {
                match group.height {
                    2 => self.higher::<2, { side_by_side(2) }>(&group, &mut at, out),
                    3 => self.higher::<3, { side_by_side(3) }>(&group, &mut at, out),
                    _ => self.higher::<4, { side_by_side(4) }>(&group, &mut at, out),
                }
            }
            let single = self.nodes.single();
            match self.window.width {
                Width::U8 => {
                    self.rows(single, &at, out, |j: u8| from_base.wrapping_add(j as usize));
                }
                Width::U16 => {
                    self.rows(single, &at, out, |j: u16| {
                        from_base.wrapping_add(j as usize)
                    });
                }
                Width::U32 => {
                    self.rows(single, &at, out, |j: u32| {
                        from_base.wrapping_add(j as usize)
                    });
                }
                Width::Ghosts => self.rows(single, &at, out, |j: u32| {
                    let j = j as usize;
                    if j < self.own_len {
                        own.wrapping_add(j)
                    } else {
                        ghosts.wrapping_add(j - self.own_len)
                    }
                }),
            }
        }
    }

    /// Nodes of one row, whose elements of `x` are found from columns of type `C`: as many entries
    /// as all eight rows of a group have side by side, then the rest of each. Most groups have no
    /// rest, since rows lie by length.
    #[inline(always)]
    unsafe fn rows<C: Copy>(
        &self,
        single: SingleRows<'_>,
        place: &Place,
        out: *mut T,
        x: impl Fn(C) -> *const T,
    ) {
        let mut columns = self.columns.cast::<C>().wrapping_add(place.columns);
        let mut value = self.values + place.values;
        let (groups, left) = single.rows.as_chunks::<GROUP>();
        let (lengths, left_lengths) = single.lengths.as_chunks::<GROUP>();
        // SAFETY: the window has these entries in this order. Behind its columns and values there
        // is room to read as far ahead.
        unsafe {
            for (rows, lengths) in groups.iter().zip(lengths) {
                let common = lengths[GROUP - 1] as usize;
                let mut sums = [T::ZERO; GROUP];
                let end = columns.wrapping_add(common * GROUP);
                while columns != end {
                    let values = self.stored.eight(value);
                    prefetch(columns.wrapping_add(AHEAD));
                    if self.is_far {
                        self.ask(columns, &x);
                    }
                    let cols = columns.cast::<[C; GROUP]>().read_unaligned();
                    for_each_lane::<GROUP>(|l| {
                        sums[l] = values[l].mul_add(x(cols[l]).read_unaligned(), sums[l])
                    });
                    columns = columns.wrapping_add(GROUP);
                    value += GROUP;
                }
                if lengths[0] as usize == common {
                    for_each_lane::<GROUP>(|l| out.add(rows[l] as usize).write_unaligned(sums[l]));
                } else {
                    for ((&row, &length), sum) in rows.iter().zip(lengths).zip(sums) {
                        let rest = length as usize - common;
                        let sum = self.rest(sum, (&mut columns, &mut value), rest, &x);
                        out.add(row as usize).write_unaligned(sum);
                    }
                }
            }
            for (&row, &length) in left.iter().zip(left_lengths) {
                let sum = self.rest(T::ZERO, (&mut columns, &mut value), length as usize, &x);
                out.add(row as usize).write_unaligned(sum);
            }
        }
    }

    /// Adds the entries of one row from here on to its sum.
    #[inline(always)]
    unsafe fn rest<C: Copy>(
        &self,
        mut sum: T,
        (columns, value): (&mut *const C, &mut usize),
        n: usize,
        x: &impl Fn(C) -> *const T,
    ) -> T {
        for k in 0..n {
            // SAFETY: the caller promises the entries, and room to read ahead.
            unsafe {
                if self.is_far && k % GROUP == 0 {
                    self.ask(*columns, x);
                }
                let x = x(columns.read_unaligned()).read_unaligned();
                sum = self.stored.one(*value).mul_add(x, sum);
            }
            *columns = columns.wrapping_add(1);
            *value += 1;
        }
        sum
    }

    /// Asks for the elements of `x` that are read some entries later.
    #[inline(always)]
    unsafe fn ask<C: Copy>(&self, columns: *const C, x: &impl Fn(C) -> *const T) {
        // SAFETY: behind the columns there is room to read as far ahead.
        let later = unsafe {
            let later = columns.add(FAR_AHEAD).cast::<[C; GROUP]>();
            later.read_unaligned()
        };
        for_each_lane::<GROUP>(|l| prefetch(x(later[l])));
    }

    /// A group of `L` nodes of `H` rows: each element of `x` is read once for all rows of its node.
    /// None is asked for ahead of its use: so few are read that the processor has enough of them
    /// under way.
    #[inline(always)]
    unsafe fn higher<const H: usize, const L: usize>(
        &self,
        group: &Group<'_>,
        place: &mut Place,
        out: *mut T,
    ) {
        let mut column = place.columns;
        let mut value = self.values + place.values;
        let mut sums = [[T::ZERO; L]; H];
        let common = group.common_length();
        // SAFETY: as in `rows`; each column is followed by values for `H` rows, and the values of
        // a group by room for eight.
        unsafe {
            for _ in 0..common {
                let xs = self.x::<L>(column);
                for sums in &mut sums {
                    let values = self.stored.eight(value);
                    for_each_lane::<L>(|l| sums[l] = values[l].mul_add(xs[l], sums[l]));
                    value += L;
                }
                column += L;
            }
            // Through memory: else the compiler keeps the sums in the registers that suit the rest
            // of each node, one by one, and the loop above is half as fast.
            let sums = black_box(sums);
            for (l, (&row, &length)) in group.rows.iter().zip(group.lengths).enumerate() {
                let mut sum = [T::ZERO; H];
                for_each_lane::<H>(|h| sum[h] = sums[h][l]);
                for _ in common..length as usize {
                    let [x] = self.x::<1>(column);
                    for sum in &mut sum {
                        *sum = self.stored.one(value).mul_add(x, *sum);
                        value += 1;
                    }
                    column += 1;
                }
                out.add(row as usize).cast::<[T; H]>().write_unaligned(sum);
            }
        }
        place.columns = column;
        place.values = value - self.values;
    }

    /// The elements of `x` that the columns from this one on name.
    #[inline(always)]
    unsafe fn x<const L: usize>(&self, at: usize) -> [T; L] {
        let base = self.window.base as usize;
        let mut xs = [T::ZERO; L];
        // SAFETY: the caller promises the columns, and `x` has the elements that they name.
        unsafe {
            let columns: [u32; L] = match self.window.width {
                Width::U8 => self.columns_at::<u8, L>(at),
                Width::U16 => self.columns_at::<u16, L>(at),
                Width::U32 | Width::Ghosts => self.columns_at::<u32, L>(at),
            };
            if self.window.width == Width::Ghosts {
                for_each_lane::<L>(|l| {
                    let x = match (columns[l] as usize).checked_sub(self.own_len) {
                        None => self.own.wrapping_add(columns[l] as usize),
                        Some(ghost) => self.ghosts.wrapping_add(ghost),
                    };
                    xs[l] = x.read_unaligned();
                });
            } else {
                for_each_lane::<L>(|l| {
                    let x = self.own.wrapping_add(base + columns[l] as usize);
                    xs[l] = x.read_unaligned();
                });
            }
        }
        xs
    }

    #[inline(always)]
    unsafe fn columns_at<C: Copy + Into<u32>, const L: usize>(&self, at: usize) -> [u32; L] {
        let columns = self.columns.cast::<C>().wrapping_add(at);
        // SAFETY: the caller promises the columns.
        let columns = unsafe { columns.cast::<[C; L]>().read_unaligned() };
        let mut wide = [0; L];
        for_each_lane::<L>(|l| wide[l] = columns[l].into());
        wide
    }

    /// What [`Self::sum`] does, one entry after the other in the order in which they are stored.
    #[inline(always)]
    unsafe fn sum_one_by_one(&self, out: *mut T) {
        let mut sums = [T::ZERO; WINDOW];
        let (mut column, mut value) = (0, self.values);
        // The next column, of these nodes, and its values.
        let mut join = |rows: &[u8], height: usize| {
            for of_node in 0..height {
                for (l, &row) in rows.iter().enumerate() {
                    let sum = &mut sums[usize::from(row) + of_node];
                    // SAFETY: the window has these columns, and a value for each row of each.
                    unsafe {
                        let [x] = self.x::<1>(column + l);
                        *sum = self.stored.one(value).mul_add(x, *sum);
                    }
                    value += 1;
                }
            }
            column += rows.len();
        };
        for group in self.nodes.groups() {
            let common = group.common_length();
            for _ in 0..common {
                join(group.rows, group.height);
            }
            for (row, &length) in group.rows.iter().zip(group.lengths) {
                for _ in common..length as usize {
                    join(std::slice::from_ref(row), group.height);
                }
            }
        }
        // SAFETY: the caller promises room for the rows of the window, which are at most as many.
        unsafe { out.copy_from_nonoverlapping(sums.as_ptr(), self.window.len as usize) };
    }
}
