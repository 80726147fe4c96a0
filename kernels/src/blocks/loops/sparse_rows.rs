//! The product of a sparse matrix and a vector, a block of rows at a time.
#![expect(
    unsafe_code,
    reason = "reads the matrix through pointers of the launch"
)]

use crate::element::DType;
use crate::isa::{PerIsa, per_isa, prefetch};
use crate::ops::NumericOps;
use num_complex::Complex;

/// The rows of a sparse matrix that one call multiplies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseRows {
    /// The number of elements to write: of rows, or where `x` is a matrix (`wide.rs`) of rows times
    /// its width.
    pub(crate) n: usize,
    /// The elements of a row of `x`, and how many of the first row to leave out.
    pub(crate) width: usize,
    pub(crate) skip: usize,
    /// The positions of the rows, one more than rows.
    pub(crate) pos: *const u64,
    /// The position of the first entry of `crd` and `entries`.
    pub(crate) base: u64,
    /// Column indices, by position from `base`.
    pub(crate) crd: *const u32,
    /// Entries, by position from `base`.
    pub(crate) entries: *const u8,
    /// The elements, or rows, of `x` with indices below `own_len`.
    pub(crate) own: *const u8,
    pub(crate) own_len: usize,
    /// The others; null if there are none.
    pub(crate) ghosts: *const u8,
    /// Whether the whole matrix is too large for the L2 cache.
    pub(crate) is_large: bool,
}

/// Writes the row sums of a sparse matrix to `out`.
///
/// # Safety
/// The pointers of `rows` must be valid as [`crate::launch::Structure`] and
/// [`crate::launch::Operand`] say, `out` writable as `n` elements, and the instruction set
/// available.
pub(crate) type RowSumLoop = unsafe fn(rows: &SparseRows, out: *mut u8);

/// The loop of [`crate::Inst::RowSum`].
pub(crate) fn row_sum(dtype: DType) -> PerIsa<RowSumLoop> {
    match dtype {
        DType::F32 => row_sum_loop::<f32>(),
        DType::F64 => row_sum_loop::<f64>(),
        DType::ComplexF32 => row_sum_loop::<Complex<f32>>(),
        DType::ComplexF64 => row_sum_loop::<Complex<f64>>(),
        DType::I32 | DType::U32 => row_sum_loop::<u32>(),
        DType::I64 | DType::U64 => row_sum_loop::<u64>(),
        DType::Bool => panic!("the verifier admits no row sum of {dtype}"),
    }
}

// With AVX-512 the compiler reads `x` by gather instructions, which take up to 1.4 times as long as
// as many loads (AMD Zen 5; on Intel machines microcode has made them slower still).
per_isa!(fn row_sum_loop<T: NumericOps>(rows: &SparseRows, out: *mut u8) = sum_rows, up to avx2);

#[inline(always)]
unsafe fn sum_rows<T: NumericOps>(rows: &SparseRows, out: *mut u8) {
    let (own, ghosts) = (rows.own.cast::<T>(), rows.ghosts.cast::<T>());
    // SAFETY: a column index is a valid index of the operand `x`, whose first `own_len` elements
    // are `own` and whose others are `ghosts`; without ghosts all of them are `own`.
    unsafe {
        if rows.ghosts.is_null() {
            let x = |j: usize| own.add(j).read_unaligned();
            if rows.is_large {
                sum_rows_of::<T, true>(rows, out, x);
            } else {
                sum_rows_of::<T, false>(rows, out, x);
            }
        } else {
            let own_len = rows.own_len;
            sum_rows_of::<T, true>(rows, out, |j| {
                let (from, index) = if j < own_len {
                    (own, j)
                } else {
                    (ghosts, j - own_len)
                };
                from.add(index).read_unaligned()
            });
        }
    }
}

#[inline(always)]
unsafe fn sum_rows_of<T: NumericOps, const PREFETCHES: bool>(
    rows: &SparseRows,
    out: *mut u8,
    x: impl Fn(usize) -> T,
) {
    let (out, entries) = (out.cast::<T>(), rows.entries.cast::<T>());
    // SAFETY: positions never decrease and lie in the structure, so `k` is an entry of it.
    unsafe {
        let mut k = (*rows.pos - rows.base) as usize;
        for row in 0..rows.n {
            if PREFETCHES {
                prefetch(entries.wrapping_add(k + 512));
                prefetch(rows.crd.wrapping_add(k + 512));
                prefetch(rows.pos.wrapping_add(row + 128));
                prefetch(out.wrapping_add(row + 128));
            }
            let end = (*rows.pos.add(row + 1) - rows.base) as usize;
            let mut sum = T::ZERO;
            while k < end {
                let entry = entries.add(k).read_unaligned();
                sum = entry.mul_add(x(*rows.crd.add(k) as usize), sum);
                k += 1;
            }
            out.add(row).write_unaligned(sum);
        }
    }
}
