//! Loops over the lanes of a chunk, written out.
//!
//! A loop over eight elements in the midst of a long function costs the compiler more than the
//! function itself: it unrolls each of them there, and forgets what it knew of all others. So these
//! are written out beforehand, as far as neighbours become one register anyway.

/// Calls `f` with the numbers below `N`, in ascending order.
#[inline(always)]
pub(super) fn for_each_lane<const N: usize>(mut f: impl FnMut(usize)) {
    let mut l = 0;
    while l + 8 <= N {
        f(l);
        f(l + 1);
        f(l + 2);
        f(l + 3);
        f(l + 4);
        f(l + 5);
        f(l + 6);
        f(l + 7);
        l += 8;
    }
    if N % 8 >= 4 {
        f(l);
        f(l + 1);
        f(l + 2);
        f(l + 3);
        l += 4;
    }
    if N % 4 >= 2 {
        f(l);
        f(l + 1);
        l += 2;
    }
    if N % 2 == 1 {
        f(l);
    }
}
