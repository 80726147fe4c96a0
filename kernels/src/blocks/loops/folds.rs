//! What reductions join: elements of a lane, lanes, and blocks of elements into lanes.
//!
//! [`Fold`] joins elements; [`Search`] is one that also tells which row an element came from.
#![expect(unsafe_code, reason = "reads blocks through pointers, with SIMD")]

use crate::element::Element;
use crate::ops::{NumericOps, OrderedOps};
use crate::reduce::LANES;
use std::marker::PhantomData;

/// An element of a lane: the types of the IR, and the byte of a `bool`.
pub(crate) trait LaneElement: Copy {
    /// As [`Element::from_bits`].
    fn from_lane_bits(bits: [u64; 2]) -> Self;
    /// As [`Element::to_bits`].
    fn to_lane_bits(self) -> [u64; 2];
}

impl<T: Element> LaneElement for T {
    #[inline(always)]
    fn from_lane_bits(bits: [u64; 2]) -> Self {
        T::from_bits(bits)
    }
    #[inline(always)]
    fn to_lane_bits(self) -> [u64; 2] {
        self.to_bits()
    }
}

impl LaneElement for u8 {
    #[inline(always)]
    fn from_lane_bits(bits: [u64; 2]) -> Self {
        bits[0] as Self
    }
    #[inline(always)]
    fn to_lane_bits(self) -> [u64; 2] {
        [u64::from(self), 0]
    }
}

/// A reduction that only looks at elements.
pub(crate) trait Fold {
    type T: LaneElement;
    /// Whether it leaves no trace how elements of a lane are grouped, as long as they keep their
    /// order.
    const IS_ASSOCIATIVE: bool;
    fn join(a: Self::T, b: Self::T) -> Self::T;

    /// Whether nothing that is joined to this changes it.
    #[inline(always)]
    fn is_final(_: Self::T) -> bool {
        false
    }

    /// Two more elements of a lane.
    #[inline(always)]
    fn join_two(lane: Self::T, a: Self::T, b: Self::T) -> Self::T {
        Self::join(lane, Self::join(a, b))
    }
}

macro_rules! folds {
    ($($name:ident<$T:ident: $bound:ident>($a:ident, $b:ident) = $value:expr,
        associative: $is_associative:literal;)*) => {$(
        pub(crate) struct $name<$T>(PhantomData<$T>);
        impl<$T: $bound> Fold for $name<$T> {
            type T = $T;
            const IS_ASSOCIATIVE: bool = $is_associative;
            #[inline(always)]
            fn join($a: $T, $b: $T) -> $T {
                $value
            }
        }
    )*};
}

folds! {
    Sum<T: NumericOps>(a, b) = a.add(b), associative: false;
    Prod<T: NumericOps>(a, b) = a.mul(b), associative: false;
}

/// Whether any of some `bool` is true, and whether all are: of their bytes.
pub(crate) struct AnyTrue;
pub(crate) struct AllTrue;

impl Fold for AnyTrue {
    type T = u8;
    const IS_ASSOCIATIVE: bool = true;
    #[inline(always)]
    fn join(a: u8, b: u8) -> u8 {
        a | b
    }
    #[inline(always)]
    fn is_final(a: u8) -> bool {
        a != 0
    }
}

impl Fold for AllTrue {
    type T = u8;
    const IS_ASSOCIATIVE: bool = true;
    #[inline(always)]
    fn join(a: u8, b: u8) -> u8 {
        a & b
    }
    #[inline(always)]
    fn is_final(a: u8) -> bool {
        a == 0
    }
}

macro_rules! extrema {
    ($($name:ident: $join:ident, $comparison:tt;)*) => {$(
        pub(crate) struct $name<T>(PhantomData<T>);
        impl<T: OrderedOps> Fold for $name<T> {
            type T = T;
            const IS_ASSOCIATIVE: bool = true;
            #[inline(always)]
            fn join(a: T, b: T) -> T {
                OrderedOps::$join(a, b)
            }
            /// Looks for NaN in the two together.
            #[inline(always)]
            fn join_two(lane: T, a: T, b: T) -> T {
                let first = |a: T, b: T| if b $comparison a { b } else { a };
                first(lane, first(a, b)).or_nan_if(a.is_nan() | b.is_nan())
            }
        }

        impl<T: OrderedOps> Search for $name<T> {
            #[inline(always)]
            fn wins(a: T, b: T) -> bool {
                a $comparison b
            }
        }
    )*};
}

extrema! {
    Least: min, <;
    Greatest: max, >;
}

/// Joins the lanes pairwise, as [`crate::reduce::join_lanes`].
#[inline(always)]
pub(crate) fn join_lanes<F: Fold>(mut lanes: [F::T; LANES]) -> F::T {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = F::join(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// As [`fold_elements`], of long blocks: whole chunks in registers, which the lanes in memory are
/// not while their number is not known, and two at a time where that leaves no trace, since each
/// join waits for the one before it.
///
/// # Safety
/// `values` must be readable as `n` elements.
#[inline(always)]
pub(super) unsafe fn fold_block<F: Fold>(
    lanes: &mut [F::T; LANES],
    lane: usize,
    n: usize,
    values: *const F::T,
) {
    let mut done = 0;
    if lane == 0 {
        let mut whole = *lanes;
        while F::IS_ASSOCIATIVE && done + 2 * LANES <= n {
            // SAFETY: the elements `done..done + 2 * LANES` are among the `n`.
            let [a, b] = unsafe {
                let chunks = values.add(done).cast::<[[F::T; LANES]; 2]>();
                chunks.read_unaligned()
            };
            for l in 0..LANES {
                whole[l] = F::join_two(whole[l], a[l], b[l]);
            }
            done += 2 * LANES;
        }
        while done + LANES <= n {
            // SAFETY: the elements `done..done + LANES` are among the `n`.
            let chunk = unsafe { values.add(done).cast::<[F::T; LANES]>().read_unaligned() };
            for l in 0..LANES {
                whole[l] = F::join(whole[l], chunk[l]);
            }
            done += LANES;
        }
        *lanes = whole;
    }
    if done < n {
        // SAFETY: the rest of the `n` elements.
        *lanes = unsafe { fold_elements::<F>(*lanes, lane, n - done, values.add(done)) };
    }
}

/// Joins `n` elements to lanes, beginning with lane `lane`.
///
/// # Safety
/// `values` must be readable as `n` elements.
#[inline(always)]
pub(crate) unsafe fn fold_elements<F: Fold>(
    lanes: [F::T; LANES],
    lane: usize,
    n: usize,
    values: *const F::T,
) -> [F::T; LANES] {
    fold_each::<F>(
        lanes,
        (lane, n),
        // SAFETY: element `i` is among the `n`.
        |i| unsafe { values.add(i).read_unaligned() },
        // SAFETY: so are the elements `i..i + LANES`.
        |i| unsafe { values.add(i).cast::<[F::T; LANES]>().read_unaligned() },
    )
}

/// Joins `n` elements to lanes, beginning with lane `lane`: asks for each of the `n` once, alone or
/// with those after it as a chunk.
#[inline(always)]
pub(crate) fn fold_each<F: Fold>(
    mut lanes: [F::T; LANES],
    (lane, n): (usize, usize),
    value: impl Fn(usize) -> F::T,
    chunk: impl Fn(usize) -> [F::T; LANES],
) -> [F::T; LANES] {
    let head = ((LANES - lane) % LANES).min(n);
    for i in 0..head {
        lanes[lane + i] = F::join(lanes[lane + i], value(i));
    }
    let mut i = head;
    while i + LANES <= n {
        let chunk = chunk(i);
        for l in 0..LANES {
            lanes[l] = F::join(lanes[l], chunk[l]);
        }
        i += LANES;
    }
    for l in 0..n - i {
        lanes[l] = F::join(lanes[l], value(i + l));
    }
    lanes
}

/// A reduction that looks for a row: the one whose element a fold of the elements gives.
pub(super) trait Search: Fold<T: OrderedOps> {
    /// Whether `a` wins over `b` wherever they come from, neither being NaN.
    fn wins(a: Self::T, b: Self::T) -> bool;

    /// Whether `a` of row `i` wins over `b` of row `j`, as in [`crate::reduce`]; `u64::MAX` is no
    /// row.
    #[inline(always)]
    fn is_better(a: Self::T, i: u64, b: Self::T, j: u64) -> bool {
        if i == u64::MAX || j == u64::MAX {
            return i < j;
        }
        match (a.is_nan(), b.is_nan()) {
            (true, false) => true,
            (false, true) => false,
            (true, true) => i < j,
            (false, false) => Self::wins(a, b) || (!Self::wins(b, a) && i < j),
        }
    }
}

/// The place of an element among `n`, the first of equals; of a NaN the first NaN's.
///
/// # Safety
/// `values` must be readable as `n` elements, at least one.
#[inline(always)]
pub(super) unsafe fn place_of<S: Search>(found: S::T, n: usize, values: *const S::T) -> usize {
    // SAFETY: forwarded.
    unsafe {
        match found.is_nan() {
            true => place_where(|x: S::T| x.is_nan(), n, values),
            false => place_where(|x| x == found, n, values),
        }
    }
}

/// The first of `n` elements that is one that is looked for; the last if there is none.
///
/// # Safety
/// `values` must be readable as `n` elements, at least one.
#[inline(always)]
unsafe fn place_where<T: Copy>(is_it: impl Fn(T) -> bool, n: usize, values: *const T) -> usize {
    let mut i = 0;
    while i + LANES < n {
        // SAFETY: the elements `i..i + LANES` are among the `n`.
        let chunk = unsafe { values.add(i).cast::<[T; LANES]>().read_unaligned() };
        let mut any = false;
        for x in chunk {
            any |= is_it(x);
        }
        if any {
            break;
        }
        i += LANES;
    }
    // SAFETY: `i` is below `n`.
    while i + 1 < n && !is_it(unsafe { values.add(i).read_unaligned() }) {
        i += 1;
    }
    i
}
