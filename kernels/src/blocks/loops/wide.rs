//! Products of a sparse and a dense matrix: several columns of `x` at a time, in registers.
//!
//! An element is summed as in the product with its column: in the order of the row's entries, one
//! fused multiply-add each, from zero. For each row the matrix is read once for a strip of columns,
//! and the strip of each row of `x` that it names.
#![expect(
    unsafe_code,
    reason = "reads the matrix and x through pointers of the launch"
)]

use super::sparse_rows::{RowSumLoop, SparseRows};
use crate::element::DType;
use crate::isa::{PerIsa, per_isa};
use crate::ops::NumericOps;
use num_complex::Complex;
use std::ops::Range;

/// Columns that are summed side by side: in four of the widest registers, for `f64`.
const STRIP: usize = 32;
/// The same for what is left.
const NARROW: usize = 8;

/// The loop of [`crate::Inst::RowSum`] where `x` is a matrix.
pub(crate) fn wide_row_sum(dtype: DType) -> PerIsa<RowSumLoop> {
    match dtype {
        DType::F32 => wide_loop::<f32>(),
        DType::F64 => wide_loop::<f64>(),
        DType::ComplexF32 => wide_loop::<Complex<f32>>(),
        DType::ComplexF64 => wide_loop::<Complex<f64>>(),
        DType::I32 | DType::U32 => wide_loop::<u32>(),
        DType::I64 | DType::U64 => wide_loop::<u64>(),
        DType::Bool => panic!("the verifier admits no row sum of {dtype}"),
    }
}

per_isa!(fn wide_loop<T: NumericOps>(rows: &SparseRows, out: *mut u8) = sum_wide_rows);

#[inline(always)]
unsafe fn sum_wide_rows<T: NumericOps>(rows: &SparseRows, out: *mut u8) {
    let (mut row, mut column, mut done) = (0, rows.skip, 0);
    while done < rows.n {
        let count = (rows.width - column).min(rows.n - done);
        let out = out.cast::<T>().wrapping_add(done);
        // SAFETY: the caller promises as many rows as `n` elements touch, and room for these.
        unsafe {
            let first = (*rows.pos.add(row) - rows.base) as usize;
            let end = (*rows.pos.add(row + 1) - rows.base) as usize;
            sum_columns::<T>(rows, first..end, column..column + count, out);
        }
        (row, column, done) = (row + 1, 0, done + count);
    }
}

/// Some elements of one row of the product.
#[inline(always)]
unsafe fn sum_columns<T: NumericOps>(
    rows: &SparseRows,
    entries: Range<usize>,
    columns: Range<usize>,
    out: *mut T,
) {
    let mut column = columns.start;
    while column < columns.end {
        let out = out.wrapping_add(column - columns.start);
        let left = columns.end - column;
        // SAFETY: forwarded; there are as many columns left as a strip has.
        column += unsafe {
            if left >= STRIP {
                sum_strip::<T, STRIP>(rows, entries.clone(), column, out)
            } else if left >= NARROW {
                sum_strip::<T, NARROW>(rows, entries.clone(), column, out)
            } else if left >= NARROW / 2 {
                sum_strip::<T, { NARROW / 2 }>(rows, entries.clone(), column, out)
            } else if left >= NARROW / 4 {
                sum_strip::<T, { NARROW / 4 }>(rows, entries.clone(), column, out)
            } else {
                sum_strip::<T, 1>(rows, entries.clone(), column, out)
            }
        };
    }
}

/// `N` neighbouring elements of one row of the product; gives `N`.
#[inline(always)]
unsafe fn sum_strip<T: NumericOps, const N: usize>(
    rows: &SparseRows,
    entries: Range<usize>,
    column: usize,
    out: *mut T,
) -> usize {
    let values = rows.entries.cast::<T>();
    let mut sums = [T::ZERO; N];
    for k in entries {
        // SAFETY: `k` is an entry of the structure, whose column is a row of `x`: one of the first
        // `own_len`, which are `own`, or of the others, which are `ghosts`; without ghosts all of
        // them are `own`. A row has `width` elements, and `column + N` of them are there.
        let (value, x) = unsafe {
            let row = *rows.crd.add(k) as usize;
            let x = if row < rows.own_len || rows.ghosts.is_null() {
                rows.own.cast::<T>().add(row * rows.width)
            } else {
                rows.ghosts
                    .cast::<T>()
                    .add((row - rows.own_len) * rows.width)
            };
            let x = x.add(column).cast::<[T; N]>().read_unaligned();
            (values.add(k).read_unaligned(), x)
        };
        for (sum, x) in sums.iter_mut().zip(x) {
            *sum = value.mul_add(x, *sum);
        }
    }
    // SAFETY: the caller promises room for `N` elements.
    unsafe { out.cast::<[T; N]>().write_unaligned(sums) };
    N
}
