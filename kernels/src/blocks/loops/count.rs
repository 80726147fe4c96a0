//! How many bytes of a mask are true: the sum of a `bool` as a number, without the numbers.
//!
//! The sum of whole numbers, and of small ones in `f64`, does not depend on its order. So as many
//! bytes are added as bytes as cannot overflow one. What they make is added to the first of the
//! lanes of a sum, which are those of [`Reduction::new`]: native code adds numbers to all of them,
//! also to lanes that blocks have begun.
#![expect(unsafe_code, reason = "reads bytes through pointers, with SIMD")]

use super::folds::{Fold, Sum};
use super::lanes::{Reduction, finish_fold, start_fold};
use super::map::Input;
use super::tiled::TileRun;
use crate::abi::Lanes;
use crate::element::{DType, Element};
use crate::isa::per_isa;
use crate::ops::NumericOps;

/// How many bytes are added as bytes: their sum is below 256.
const PLACES: usize = 128;

/// The sum of the elements of a mask as numbers of a type; `None` where it may depend on the order.
pub(crate) fn count(dtype: DType) -> Option<Reduction> {
    match dtype {
        DType::I32 | DType::U32 => Some(counting::<u32>()),
        DType::I64 | DType::U64 => Some(counting::<u64>()),
        DType::F64 => Some(counting::<f64>()),
        DType::F32 | DType::ComplexF32 | DType::ComplexF64 | DType::Bool => None,
    }
}

/// What a number of elements is as their sum.
trait Count: Element + NumericOps {
    fn of(count: u64) -> Self;
}

macro_rules! counts {
    ($($T:ident)*) => {$(
        impl Count for $T {
            #[inline(always)]
            fn of(count: u64) -> Self {
                count as $T
            }
        }
    )*};
}

counts!(u32 u64 f64);

fn counting<T: Count>() -> Reduction {
    Reduction::of_functions(
        start_fold::<Sum<T>>,
        count_loop::<T>(),
        finish_fold::<Sum<T>>,
        count_tiles_loop::<T>(),
    )
}

per_isa!(fn count_loop<T: Count>(lanes: &mut Lanes, first: u64, n: usize, values: *const u8) = count_rows);
per_isa!(fn count_tiles_loop<T: Count>(tiles: &TileRun, inputs: &[Input; 2]) = count_tiles);

#[inline(always)]
unsafe fn count_rows<T: Count>(lanes: &mut Lanes, _: u64, n: usize, values: *const u8) {
    // SAFETY: the caller promises `n` elements.
    let count = unsafe { count_true(n, values) };
    let first = &mut lanes.of::<T>()[0];
    *first = Sum::<T>::join(*first, T::of(count));
}

#[inline(always)]
unsafe fn count_tiles<T: Count>(tiles: &TileRun, inputs: &[Input; 2]) {
    for tile in 0..tiles.n_tiles {
        // SAFETY: the caller promises the rows of each tile, and its partial.
        unsafe {
            let count = count_true(tiles.len, inputs[0].data.add(tile * tiles.len));
            tiles.write(tile, T::of(count).to_bits(), 0);
        }
    }
}

/// The sum of `n` bytes that are 0 or 1.
#[inline(always)]
unsafe fn count_true(n: usize, values: *const u8) -> u64 {
    // SAFETY: the caller promises `n` elements.
    let bytes = unsafe { std::slice::from_raw_parts(values, n) };
    let (whole, rest) = bytes.as_chunks::<PLACES>();
    let few = |bytes: &[u8]| {
        u64::from(
            bytes
                .iter()
                .fold(0, |sum: u8, &byte| sum.wrapping_add(byte)),
        )
    };
    whole
        .iter()
        .fold(few(rest), |count, bytes| count + few(bytes))
}
