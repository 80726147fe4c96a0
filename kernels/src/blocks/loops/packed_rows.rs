//! Products with packed pieces: what their loops share: the rows of a call, and how values are
//! stored.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::written_out::for_each_lane;
use crate::isa::prefetch;
use crate::ops::NumericOps;
use crate::packed::{GROUP, PackedStructure, PackedValues};
use std::ops::Range;

/// The rows of a packed piece that one call multiplies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedRows<'a> {
    pub(crate) structure: &'a PackedStructure,
    pub(crate) values: &'a PackedValues,
    pub(crate) columns: *const u8,
    pub(crate) data: *const u8,
    /// The first row of the piece, and the number of rows.
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// The elements of `x` with indices below `own_len`.
    pub(crate) own: *const u8,
    pub(crate) own_len: usize,
    /// The others; null if there are none.
    pub(crate) ghosts: *const u8,
    /// The loop for windows, which is no part of this one: the compiler takes four times as long
    /// for one function of both.
    pub(crate) windows: WindowLoop,
}

/// Some rows of a window of a packed piece.
#[derive(Debug)]
pub(crate) struct WindowRange<'a> {
    pub(crate) of: &'a PackedRows<'a>,
    pub(crate) part: usize,
    /// The number of the window, its first row, and the first of its stored values.
    pub(crate) number: u32,
    pub(crate) first: usize,
    pub(crate) values: usize,
    /// The rows, counted from the first of the part.
    pub(crate) rows: Range<usize>,
}

/// Writes the sums of some rows of a window to `out`.
///
/// # Safety
/// As [`super::packed::PackedLoop`]; the part has this window, whose first row and values are
/// these, and the rows are some of its rows.
pub(crate) type WindowLoop = unsafe fn(range: &WindowRange<'_>, out: *mut u8);

/// The stored values of a part.
pub(crate) trait Stored<T>: Copy {
    /// The value with this number.
    ///
    /// # Safety
    /// The part has it.
    unsafe fn one(self, at: usize) -> T;

    /// Eight values from this number on.
    ///
    /// # Safety
    /// The part has the first of them; behind the last one there is room to read seven more, which
    /// mean nothing ([`PackedValues::fill`]).
    unsafe fn eight(self, at: usize) -> [T; GROUP];
}

/// Values as they are.
pub(super) struct Elements<T>(pub(super) *const T);

/// The numbers of the values in a dictionary.
pub(super) struct Codes<T> {
    pub(super) codes: *const u8,
    pub(super) dictionary: *const T,
}

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Elements<T> {}
impl<T> Clone for Codes<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Codes<T> {}

impl<T: Copy> Stored<T> for Elements<T> {
    #[inline(always)]
    unsafe fn one(self, at: usize) -> T {
        // SAFETY: the caller promises the value.
        unsafe { self.0.add(at).read_unaligned() }
    }

    #[inline(always)]
    unsafe fn eight(self, at: usize) -> [T; GROUP] {
        prefetch(self.0.wrapping_add(at + AHEAD));
        // SAFETY: the caller promises the values.
        unsafe { self.0.add(at).cast::<[T; GROUP]>().read_unaligned() }
    }
}

impl<T: Copy> Stored<T> for Codes<T> {
    #[inline(always)]
    unsafe fn one(self, at: usize) -> T {
        // SAFETY: the caller promises the number, which the dictionary has.
        unsafe {
            self.dictionary
                .add(*self.codes.add(at) as usize)
                .read_unaligned()
        }
    }

    #[inline(always)]
    unsafe fn eight(self, at: usize) -> [T; GROUP] {
        // SAFETY: as above, eight times.
        unsafe {
            let codes = self.codes.add(at).cast::<[u8; GROUP]>().read_unaligned();
            let mut values = [self.dictionary.add(codes[0] as usize).read_unaligned(); GROUP];
            for_each_lane::<GROUP>(|l| {
                values[l] = self.dictionary.add(codes[l] as usize).read_unaligned();
            });
            values
        }
    }
}

/// How many values ahead of their use memory is asked for.
pub(super) const AHEAD: usize = 256;
/// The bytes of `x` up to which it is taken to lie in the L2 cache.
pub(crate) const NEAR: usize = 1 << 20;

/// One row, whose columns are counted from that of `x`.
///
/// # Safety
/// `x` has all of them.
#[inline(always)]
pub(super) unsafe fn sum_row<T: NumericOps>(
    offsets: &[i32],
    x: *const T,
    value: impl Fn(usize) -> T,
) -> T {
    let mut sum = T::ZERO;
    for (k, &offset) in offsets.iter().enumerate() {
        // SAFETY: the caller promises the column.
        let x = unsafe { x.wrapping_offset(offset as isize).read_unaligned() };
        sum = value(k).mul_add(x, sum);
    }
    sum
}
