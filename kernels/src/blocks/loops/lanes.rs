//! Reductions: the 16 lanes of a tile, as [`crate::reduce`] defines them.
//!
//! [`Lanes`] is the state of one reduction between the blocks of a tile: an element for each lane
//! and, for `ArgMin` and `ArgMax`, the row that it came from. Elements of a lane are joined one
//! after the other, so the length of the blocks leaves no trace in the result.
#![expect(unsafe_code, reason = "reads blocks through pointers, with SIMD")]

use super::folds::{
    AllTrue, AnyTrue, Fold, Greatest, LaneElement, Least, Prod, Search, Sum, fold_block, fold_each,
    join_lanes, place_of,
};
use super::map::Input;
use super::tiled::{
    TileLoop, fold_tiles_loop, product_tiles_loop, rare_fold_tiles_loop, search_tiles_loop,
};
use crate::abi::Lanes;
use crate::element::DType;
use crate::ir::ReduceOp;
use crate::isa::{PerIsa, per_isa};
use crate::ops::{NumericOps, OrderedOps};
use crate::reduce::{LANES, Partial, identity};
use num_complex::Complex;

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

fn fold<F: Fold>() -> Reduction {
    fold_with::<F>(fold_loop::<F>(), fold_tiles_loop::<F>())
}

/// A reduction without a variant for AVX-512: an operation that is rare, or that the one for AVX2
/// does faster (extrema 1.35 times on AMD Zen 5).
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

pub(super) fn start_fold<F: Fold>(lanes: &mut Lanes, identity: Partial) {
    *lanes.of() = [F::T::from_lane_bits(identity.bits); LANES];
}

pub(super) fn finish_fold<F: Fold>(lanes: &mut Lanes) -> Partial {
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

/// The functions of a search.
fn search<S: Search>() -> Reduction {
    Reduction::of_functions(
        start_search::<S>,
        search_loop::<S>(),
        finish_search::<S>,
        search_tiles_loop::<S>(),
    )
}

fn start_search<S: Search>(lanes: &mut Lanes, identity: Partial) {
    lanes.of()[0] = S::T::from_lane_bits(identity.bits);
    lanes.rows[0] = identity.index;
}

/// The order of elements with their rows is total, so it leaves no trace in which lane the best of
/// some rows is kept: it is the first.
fn finish_search<S: Search>(lanes: &mut Lanes) -> Partial {
    Partial {
        bits: lanes.of::<S::T>()[0].to_lane_bits(),
        index: lanes.rows[0],
    }
}

per_isa!(fn search_loop<S: Search>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) = search_rows, up to avx2);

/// Folds the elements, and looks for the row only where the result is better than what there was.
#[inline(always)]
unsafe fn search_rows<S: Search>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) {
    let values = values.cast::<S::T>();
    if n == 0 {
        return;
    }
    let (best, row) = (lanes.of::<S::T>()[0], lanes.rows[0]);
    let scratch = lanes.of::<S::T>();
    // SAFETY: forwarded: the caller promises `n` elements, of which there is one.
    unsafe {
        *scratch = [values.read_unaligned(); LANES];
        fold_block::<S>(scratch, 0, n, values);
    }
    let found = join_lanes::<S>(*scratch);
    lanes.of()[0] = best;
    if S::is_better(found, first, best, row) {
        // SAFETY: as above.
        let place = unsafe { place_of::<S>(found, n, values) };
        // SAFETY: a place is below `n`.
        lanes.of()[0] = unsafe { values.add(place).read_unaligned() };
        lanes.rows[0] = first + place as u64;
    }
}
