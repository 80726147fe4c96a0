//! Reductions: the 16 lanes of a tile, as [`crate::reduce`] defines them.
//!
//! [`Lanes`] is the state of one reduction between the blocks of a tile: an element for each lane
//! and, for `ArgMin` and `ArgMax`, the row that it came from. Elements of a lane are joined one
//! after the other, so the length of the blocks leaves no trace in the result.
#![expect(unsafe_code, reason = "reads blocks through pointers, with SIMD")]

use super::map::Input;
use super::search::{Search, search};
use super::tiled::{TileLoop, fold_tiles_loop, product_tiles_loop, rare_fold_tiles_loop};
use crate::abi::Lanes;
use crate::element::{DType, Element};
use crate::ir::ReduceOp;
use crate::isa::{PerIsa, per_isa};
use crate::ops::{NumericOps, OrderedOps};
use crate::reduce::{LANES, Partial, identity};
use num_complex::Complex;
use std::marker::PhantomData;

/// Joins `n` rows of a tile to the lanes; `first` is the place of the first one within the tile.
///
/// # Safety
/// `values` must be readable as `n` elements of the reduction's type, and the instruction set of
/// the function available.
pub(crate) type LaneLoop = unsafe fn(lanes: &mut Lanes, first: u64, n: usize, values: *const u8);

/// The functions of one reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    identity: Partial,
    start: fn(&mut Lanes, Partial),
    add: PerIsa<LaneLoop>,
    finish: fn(&mut Lanes) -> Partial,
    tiles: PerIsa<TileLoop>,
}

impl Reduction {
    /// The functions for a reduction of elements of a type.
    pub(crate) fn new(op: ReduceOp, dtype: DType) -> Self {
        let mut reduction = of(op, dtype);
        reduction.identity = identity(op, dtype);
        reduction
    }

    /// From its functions; the identity is 0.
    pub(super) fn of_functions(
        start: fn(&mut Lanes, Partial),
        add: PerIsa<LaneLoop>,
        finish: fn(&mut Lanes) -> Partial,
        tiles: PerIsa<TileLoop>,
    ) -> Self {
        Self {
            identity: Partial {
                bits: [0; 2],
                index: 0,
            },
            start,
            add,
            finish,
            tiles,
        }
    }

    /// The result of no rows.
    #[inline]
    pub(crate) fn identity(&self) -> Partial {
        self.identity
    }

    /// The loop that reduces whole tiles.
    #[inline]
    pub(crate) fn tiles(&self) -> PerIsa<TileLoop> {
        self.tiles
    }

    /// Begins a tile.
    #[inline]
    pub(crate) fn start(&self, lanes: &mut Lanes) {
        (self.start)(lanes, self.identity);
    }

    /// The loop that joins the rows of a block.
    #[inline]
    pub(crate) fn add(&self) -> PerIsa<LaneLoop> {
        self.add
    }

    /// Ends a tile whose first row has the global number `start`.
    #[inline]
    pub(crate) fn finish(&self, lanes: &mut Lanes, start: u64) -> Partial {
        let tile = (self.finish)(lanes);
        match self.identity.index {
            0 => tile,
            // What looks for a row knows its place within the tile; there is always one.
            _ => Partial {
                index: start.saturating_add(tile.index),
                ..tile
            },
        }
    }
}

fn of(op: ReduceOp, dtype: DType) -> Reduction {
    match op {
        ReduceOp::Sum => match dtype {
            DType::F32 => fold::<Sum<f32>>(),
            DType::F64 => fold::<Sum<f64>>(),
            DType::ComplexF32 => fold::<Sum<Complex<f32>>>(),
            DType::ComplexF64 => fold::<Sum<Complex<f64>>>(),
            DType::I32 | DType::U32 => rare_fold::<Sum<u32>>(),
            DType::I64 | DType::U64 => rare_fold::<Sum<u64>>(),
            DType::Bool => undefined(op, dtype),
        },
        ReduceOp::Prod => match dtype {
            DType::F32 => rare_fold::<Prod<f32>>(),
            DType::F64 => rare_fold::<Prod<f64>>(),
            DType::ComplexF32 => rare_fold::<Prod<Complex<f32>>>(),
            DType::ComplexF64 => rare_fold::<Prod<Complex<f64>>>(),
            DType::I32 | DType::U32 => rare_fold::<Prod<u32>>(),
            DType::I64 | DType::U64 => rare_fold::<Prod<u64>>(),
            DType::Bool => undefined(op, dtype),
        },
        ReduceOp::Any => rare_fold::<AnyTrue>(),
        ReduceOp::All => rare_fold::<AllTrue>(),
        ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax => match dtype {
            DType::F32 => extremum::<f32>(op, rare_fold::<Least<f32>>, rare_fold::<Greatest<f32>>),
            DType::F64 => extremum::<f64>(op, rare_fold::<Least<f64>>, rare_fold::<Greatest<f64>>),
            DType::I32 => extremum::<i32>(op, rare_fold::<Least<i32>>, rare_fold::<Greatest<i32>>),
            DType::I64 => extremum::<i64>(op, rare_fold::<Least<i64>>, rare_fold::<Greatest<i64>>),
            DType::U32 => extremum::<u32>(op, rare_fold::<Least<u32>>, rare_fold::<Greatest<u32>>),
            DType::U64 => extremum::<u64>(op, rare_fold::<Least<u64>>, rare_fold::<Greatest<u64>>),
            DType::ComplexF32 | DType::ComplexF64 | DType::Bool => undefined(op, dtype),
        },
    }
}

fn undefined(op: ReduceOp, dtype: DType) -> ! {
    panic!("the verifier admits no `{}` of {dtype}", op.name())
}

fn extremum<T: OrderedOps>(
    op: ReduceOp,
    least: fn() -> Reduction,
    greatest: fn() -> Reduction,
) -> Reduction {
    match op {
        ReduceOp::Min => least(),
        ReduceOp::Max => greatest(),
        ReduceOp::ArgMin => search::<Least<T>>(),
        _ => search::<Greatest<T>>(),
    }
}

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
    /// Whether it leaves no trace how elements of a lane are grouped, as long as they keep their order.
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

fn fold<F: Fold>() -> Reduction {
    fold_with::<F>(fold_loop::<F>(), fold_tiles_loop::<F>())
}

/// A reduction without a variant for AVX-512: an operation that is rare, or that the one for AVX2 does
/// faster (extrema 1.35 times on AMD Zen 5).
fn rare_fold<F: Fold>() -> Reduction {
    fold_with::<F>(rare_fold_loop::<F>(), rare_fold_tiles_loop::<F>())
}

fn fold_with<F: Fold>(add: PerIsa<LaneLoop>, tiles: PerIsa<TileLoop>) -> Reduction {
    Reduction::of_functions(start_fold::<F>, add, finish_fold::<F>, tiles)
}

impl Lanes {
    /// The elements of the lanes.
    #[inline(always)]
    pub(crate) fn of<T: LaneElement>(&mut self) -> &mut [T; LANES] {
        const { assert!(size_of::<T>() <= 16 && align_of::<T>() <= 8) };
        // SAFETY: `elements` has 16 bytes for each lane, is aligned for every element type, and
        // all of them admit any bits.
        unsafe { &mut *self.elements.as_mut_ptr().cast::<[T; LANES]>() }
    }
}

fn start_fold<F: Fold>(lanes: &mut Lanes, identity: Partial) {
    *lanes.of() = [F::T::from_lane_bits(identity.bits); LANES];
}

fn finish_fold<F: Fold>(lanes: &mut Lanes) -> Partial {
    Partial {
        bits: join_lanes::<F>(*lanes.of()).to_lane_bits(),
        index: 0,
    }
}

per_isa!(fn fold_loop<F: Fold>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) = fold_rows);
per_isa!(fn rare_fold_loop<F: Fold>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) = fold_rows, up to avx2);

#[inline(always)]
unsafe fn fold_rows<F: Fold>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) {
    let lane = (first % LANES as u64) as usize;
    // SAFETY: forwarded: the caller promises `n` elements.
    unsafe { fold_block::<F>(lanes.of(), lane, n, values.cast()) };
}

/// As [`fold_elements`], of long blocks: whole chunks in registers, which the lanes in memory are not
/// while their number is not known, and two at a time where that leaves no trace, since each join waits
/// for the one before it.
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

/// Joins the products of `n` rows to the lanes of a sum.
///
/// # Safety
/// As [`LaneLoop`], for each of the two factors; one with step 0 has a chunk of equal elements.
pub(crate) type ProductLoop =
    unsafe fn(lanes: &mut Lanes, first: u64, n: usize, factors: &[Input; 2]);

/// The loops for products of floating-point numbers: of rows, and of whole tiles.
pub(crate) fn sum_of_products(dtype: DType) -> (PerIsa<ProductLoop>, PerIsa<TileLoop>) {
    match dtype {
        DType::F32 => (product_loop::<f32>(), product_tiles_loop::<f32>()),
        DType::F64 => (product_loop::<f64>(), product_tiles_loop::<f64>()),
        DType::ComplexF32 => (
            product_loop::<Complex<f32>>(),
            product_tiles_loop::<Complex<f32>>(),
        ),
        DType::ComplexF64 => (
            product_loop::<Complex<f64>>(),
            product_tiles_loop::<Complex<f64>>(),
        ),
        DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool => {
            undefined(ReduceOp::Sum, dtype)
        }
    }
}

per_isa!(fn product_loop<T: NumericOps>(lanes: &mut Lanes, first: u64, n: usize, factors: &[Input; 2]) = sum_products);

#[inline(always)]
unsafe fn sum_products<T: NumericOps>(
    lanes: &mut Lanes,
    first: u64,
    n: usize,
    factors: &[Input; 2],
) {
    let factor = |input: &Input| (input.data.cast::<T>(), usize::from(input.step > 0));
    let (a, b) = (factor(&factors[0]), factor(&factors[1]));
    // SAFETY: the caller promises row `i`, which a factor without step has at its beginning.
    let value =
        |(data, step): (*const T, usize), i: usize| unsafe { data.add(i * step).read_unaligned() };
    // SAFETY: the caller promises the rows `i..i + LANES`, or a chunk that stands for all rows.
    let chunk = |(data, step): (*const T, usize), i: usize| unsafe {
        data.add(i * step).cast::<[T; LANES]>().read_unaligned()
    };
    let lane = (first % LANES as u64) as usize;
    let lanes = lanes.of::<T>();
    *lanes = fold_each::<Sum<T>>(
        *lanes,
        (lane, n),
        |i| value(a, i).mul(value(b, i)),
        |i| {
            let (mut products, b) = (chunk(a, i), chunk(b, i));
            for l in 0..LANES {
                products[l] = products[l].mul(b[l]);
            }
            products
        },
    );
}
