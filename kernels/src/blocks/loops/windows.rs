//! Products with packed pieces: the loops for windows, whose rows have no common pattern.
//!
//! A window is summed group by group (`packed/window.rs`): the nodes of a group side by side as far
//! as all of them have entries, then the rest of each.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::packed::{AHEAD, NEAR, PackedPart, Stored};
use crate::isa::prefetch;
use crate::ops::NumericOps;
use crate::packed::{COLUMN_SLACK, GROUP, Group, NodesOf, WINDOW, Width, Window, side_by_side};
use std::hint::black_box;
use std::ops::Range;

/// How many entries ahead of their use the elements of `x` are asked for.
const FAR_AHEAD: usize = COLUMN_SLACK - GROUP;

impl<T: NumericOps, const SIDE_BY_SIDE: bool> PackedPart<'_, T, SIDE_BY_SIDE> {
    /// Rows of a window, all of it at once if possible.
    ///
    /// # Safety
    /// The part has this window, whose first row is `first` and whose values begin at `values`;
    /// `rows` are some of its rows, `out` has room for them, and `x` has all columns.
    #[inline(always)]
    pub(super) unsafe fn window<S: Stored<T>>(
        &self,
        stored: S,
        number: u32,
        values: usize,
        first: usize,
        rows: Range<usize>,
        out: *mut T,
    ) {
        let (window, nodes) = self.rows.structure.window(self.number, number);
        let of = WindowRows {
            window,
            nodes,
            stored,
            values,
            columns: self.rows.columns.wrapping_add(window.columns),
            own: self.rows.own.cast::<T>(),
            own_len: self.rows.own_len,
            ghosts: self.rows.ghosts.cast::<T>(),
            is_far: self.rows.own_len * size_of::<T>() > NEAR,
        };
        // SAFETY: forwarded; `sums` has room for every row of a window.
        unsafe {
            if rows.len() == window.len as usize {
                return of.sum(out);
            }
            let mut sums = [T::ZERO; WINDOW];
            of.sum(sums.as_mut_ptr());
            let wanted = &sums[rows.start - first..rows.end - first];
            out.copy_from_nonoverlapping(wanted.as_ptr(), wanted.len());
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
        for group in self.nodes.groups() {
            let at = &mut at;
            // SAFETY: forwarded. Columns are distances from the base, all of them of own elements;
            // with ghosts, indices of both.
            unsafe {
                match (group.height, self.window.width) {
                    (1, Width::U8) => {
                        self.rows(&group, at, out, |j: u8| from_base.wrapping_add(j as usize));
                    }
                    (1, Width::U16) => {
                        self.rows(&group, at, out, |j: u16| from_base.wrapping_add(j as usize));
                    }
                    (1, Width::U32) => {
                        self.rows(&group, at, out, |j: u32| from_base.wrapping_add(j as usize));
                    }
                    (1, Width::Ghosts) => self.rows(&group, at, out, |j: u32| {
                        let j = j as usize;
                        if j < self.own_len {
                            own.wrapping_add(j)
                        } else {
                            ghosts.wrapping_add(j - self.own_len)
                        }
                    }),
                    (2, _) => self.higher::<2, { side_by_side(2) }>(&group, at, out),
                    (3, _) => self.higher::<3, { side_by_side(3) }>(&group, at, out),
                    _ => self.higher::<4, { side_by_side(4) }>(&group, at, out),
                }
            }
        }
    }

    /// A group of single rows, whose elements of `x` are found from columns of type `C`.
    #[inline(always)]
    unsafe fn rows<C: Copy>(
        &self,
        group: &Group<'_>,
        place: &mut Place,
        out: *mut T,
        x: impl Fn(C) -> *const T,
    ) {
        let columns = self.columns.cast::<C>().wrapping_add(place.columns);
        let values = self.values + place.values;
        let mut at = 0;
        let mut sums = [T::ZERO; GROUP];
        let common = group.common_length();
        // SAFETY: the window has these entries in this order: those that all rows of the group
        // have, side by side, then the rest of each row. Behind its columns and values there is
        // room to read as far ahead.
        unsafe {
            for _ in 0..common {
                let values = self.stored.eight(values + at);
                prefetch(columns.wrapping_add(at + AHEAD));
                if self.is_far {
                    let later = columns.add(at + FAR_AHEAD).cast::<[C; GROUP]>();
                    later
                        .read_unaligned()
                        .into_iter()
                        .for_each(|column| prefetch(x(column)));
                }
                let cols = columns.add(at).cast::<[C; GROUP]>().read_unaligned();
                sums = std::array::from_fn(|l| {
                    values[l].mul_add(x(cols[l]).read_unaligned(), sums[l])
                });
                at += GROUP;
            }
            for ((&row, &length), sum) in group.rows.iter().zip(group.lengths).zip(sums) {
                let mut sum = sum;
                for k in common..length as usize {
                    if self.is_far && k % GROUP == 0 {
                        let later = columns.add(at + FAR_AHEAD).cast::<[C; GROUP]>();
                        later
                            .read_unaligned()
                            .into_iter()
                            .for_each(|column| prefetch(x(column)));
                    }
                    let x = x(columns.add(at).read_unaligned()).read_unaligned();
                    sum = self.stored.one(values + at).mul_add(x, sum);
                    at += 1;
                }
                out.add(row as usize).write_unaligned(sum);
            }
        }
        place.columns += at;
        place.values += at;
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
                let xs = self.x::<L>(column).map(|x| x.read_unaligned());
                for sums in &mut sums {
                    let values = self.stored.eight(value);
                    *sums = std::array::from_fn(|l| values[l].mul_add(xs[l], sums[l]));
                    value += L;
                }
                column += L;
            }
            // Through memory: else the compiler keeps the sums in the registers that suit the rest
            // of each node, one by one, and the loop above is half as fast.
            let sums = black_box(sums);
            for (l, (&row, &length)) in group.rows.iter().zip(group.lengths).enumerate() {
                let mut sum: [T; H] = std::array::from_fn(|h| sums[h][l]);
                for _ in common..length as usize {
                    let [x] = self.x::<1>(column);
                    let x = x.read_unaligned();
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

    /// Where the elements of `x` are that the columns from this one on name.
    #[inline(always)]
    unsafe fn x<const L: usize>(&self, at: usize) -> [*const T; L] {
        // SAFETY: the caller promises the columns, or room to read them.
        let columns: [u32; L] = unsafe {
            match self.window.width {
                Width::U8 => self.columns_at::<u8, L>(at).map(u32::from),
                Width::U16 => self.columns_at::<u16, L>(at).map(u32::from),
                Width::U32 | Width::Ghosts => self.columns_at::<u32, L>(at),
            }
        };
        let base = self.window.base as usize;
        if self.window.width == Width::Ghosts {
            columns.map(|column| match (column as usize).checked_sub(self.own_len) {
                None => self.own.wrapping_add(column as usize),
                Some(ghost) => self.ghosts.wrapping_add(ghost),
            })
        } else {
            columns.map(|column| self.own.wrapping_add(base + column as usize))
        }
    }

    #[inline(always)]
    unsafe fn columns_at<C: Copy, const L: usize>(&self, at: usize) -> [C; L] {
        // SAFETY: the caller promises the columns, or room to read them.
        unsafe {
            let columns = self.columns.cast::<C>().add(at);
            columns.cast::<[C; L]>().read_unaligned()
        }
    }
}
