//! Row operations: the products of a sparse and of a dense matrix, a block of rows at a time.
#![expect(
    unsafe_code,
    reason = "reads the matrix through pointers of the launch"
)]

use super::lanes::{
    AllTrue, AnyTrue, Fold, Greatest, LaneElement, Least, Prod, Sum, fold_elements, join_lanes,
};
use crate::element::DType;
use crate::ir::ReduceOp;
use crate::isa::{PerIsa, per_isa, prefetch};
use crate::ops::{NumericOps, OrderedOps};
use crate::reduce::{LANES, identity};
use num_complex::Complex;
use std::marker::PhantomData;

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

/// The rows of a dense matrix that one call reduces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DenseRows {
    /// The number of rows.
    pub(crate) n: usize,
    /// The first element of the first row. The elements of a row are neighbours, or those of a
    /// column are.
    pub(crate) data: *const u8,
    /// Bytes from row to row, and from column to column.
    pub(crate) row_bytes: isize,
    pub(crate) column_bytes: isize,
    /// Elements of a row.
    pub(crate) columns: usize,
    /// `columns` elements, or null where the rows are reduced as they are.
    pub(crate) x: *const u8,
    pub(crate) tile_len: usize,
    /// The bits of the reduction of nothing.
    pub(crate) identity: [u64; 2],
}

/// Writes the reductions of the rows of a dense matrix to `out`.
///
/// # Safety
/// The pointers of `rows` must be readable as their fields say, `out` writable as `n` elements,
/// and the instruction set available.
pub(crate) type RowReduceLoop = unsafe fn(rows: &DenseRows, out: *mut u8);

/// How [`crate::Inst::RowReduce`] reduces elements of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowReduction {
    pub(crate) run: PerIsa<RowReduceLoop>,
    /// The bits of the reduction of nothing.
    pub(crate) identity: [u64; 2],
    /// Bytes of an element, and of its reduction.
    pub(crate) size: usize,
}

impl RowReduction {
    /// The reduction of rows as they are, or of their products with an `x`.
    pub(crate) fn new(op: ReduceOp, dtype: DType, with_x: bool) -> Self {
        Self {
            run: row_reduce(op, dtype, with_x),
            identity: identity(op, dtype).bits,
            size: dtype.size(),
        }
    }
}

fn row_reduce(op: ReduceOp, dtype: DType, with_x: bool) -> PerIsa<RowReduceLoop> {
    match dtype {
        DType::F32 => of_ordered_float::<f32>(op, with_x),
        DType::F64 => of_ordered_float::<f64>(op, with_x),
        DType::I32 => of_ordered::<i32>(op, with_x),
        DType::I64 => of_ordered::<i64>(op, with_x),
        DType::U32 => of_ordered::<u32>(op, with_x),
        DType::U64 => of_ordered::<u64>(op, with_x),
        DType::ComplexF32 => of_float::<Complex<f32>>(op, with_x),
        DType::ComplexF64 => of_float::<Complex<f64>>(op, with_x),
        DType::Bool => match op {
            ReduceOp::Any => rare_reduce_loop::<Plain<AnyTrue<u8>>>(),
            _ => rare_reduce_loop::<Plain<AllTrue<u8>>>(),
        },
    }
}

fn of_ordered_float<T: OrderedOps>(op: ReduceOp, with_x: bool) -> PerIsa<RowReduceLoop> {
    match op {
        ReduceOp::Sum => of_float::<T>(op, with_x),
        _ => of_ordered::<T>(op, with_x),
    }
}

/// Sums, which are products with matrices too, are compiled for each instruction set.
fn of_float<T: NumericOps>(op: ReduceOp, with_x: bool) -> PerIsa<RowReduceLoop> {
    match (op, with_x) {
        (ReduceOp::Sum, false) => row_reduce_loop::<Plain<Sum<T>>>(),
        (ReduceOp::Sum, true) => row_reduce_loop::<Scaled<Sum<T>>>(),
        _ => of_numeric::<T>(op, with_x),
    }
}

fn of_ordered<T: OrderedOps>(op: ReduceOp, with_x: bool) -> PerIsa<RowReduceLoop> {
    match (op, with_x) {
        (ReduceOp::Min, false) => rare_reduce_loop::<Plain<Least<T>>>(),
        (ReduceOp::Min, true) => rare_reduce_loop::<Scaled<Least<T>>>(),
        (ReduceOp::Max, false) => rare_reduce_loop::<Plain<Greatest<T>>>(),
        (ReduceOp::Max, true) => rare_reduce_loop::<Scaled<Greatest<T>>>(),
        _ => of_numeric::<T>(op, with_x),
    }
}

fn of_numeric<T: NumericOps>(op: ReduceOp, with_x: bool) -> PerIsa<RowReduceLoop> {
    match (op, with_x) {
        (ReduceOp::Sum, false) => rare_reduce_loop::<Plain<Sum<T>>>(),
        (ReduceOp::Sum, true) => rare_reduce_loop::<Scaled<Sum<T>>>(),
        (ReduceOp::Prod, false) => rare_reduce_loop::<Plain<Prod<T>>>(),
        (ReduceOp::Prod, true) => rare_reduce_loop::<Scaled<Prod<T>>>(),
        _ => panic!("the verifier admits no row reduction `{}` here", op.name()),
    }
}

/// A reduction of a row, and what happens to its elements before.
trait RowFold {
    type F: Fold;
    const WITH_X: bool;
    fn scale(element: Element<Self>, x: Element<Self>) -> Element<Self>;
}

type Element<R> = <<R as RowFold>::F as Fold>::T;

/// The elements as they are.
struct Plain<F>(PhantomData<F>);
impl<F: Fold> RowFold for Plain<F> {
    type F = F;
    const WITH_X: bool = false;
    #[inline(always)]
    fn scale(element: F::T, _: F::T) -> F::T {
        element
    }
}

/// The elements times those of `x`.
struct Scaled<F>(PhantomData<F>);
impl<F: Fold<T: NumericOps>> RowFold for Scaled<F> {
    type F = F;
    const WITH_X: bool = true;
    #[inline(always)]
    fn scale(element: F::T, x: F::T) -> F::T {
        element.mul(x)
    }
}

per_isa!(
    // As for `row_sum_loop`: rows side by side would be gathered.
    fn row_reduce_loop<R: RowFold>(rows: &DenseRows, out: *mut u8) = reduce_rows,
    baseline reduce_rows_of_few,
    up to avx2
);
per_isa!(
    fn rare_reduce_loop<R: RowFold>(rows: &DenseRows, out: *mut u8) = reduce_rows_of_few,
    one for all
);

#[inline(always)]
unsafe fn reduce_rows<R: RowFold>(rows: &DenseRows, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { reduce_rows_by::<R, SIDE_BY_SIDE>(rows, out) }
}

/// The same with short loops: with the registers of the baseline long ones gain nothing, and were a
/// fifth of the crate's machine code.
#[inline(always)]
unsafe fn reduce_rows_of_few<R: RowFold>(rows: &DenseRows, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { reduce_rows_by::<R, FEW>(rows, out) }
}

#[inline(always)]
unsafe fn reduce_rows_by<R: RowFold, const ROWS: usize>(rows: &DenseRows, out: *mut u8) {
    let out = out.cast::<Element<R>>();
    // SAFETY: the rows `row < n` of the matrix, and as many elements of `out`.
    unsafe {
        if rows.column_bytes != size_of::<Element<R>>() as isize {
            return reduce_side_by_side::<R, ROWS>(rows, out);
        }
        for row in 0..rows.n {
            let data = rows.data.offset(row as isize * rows.row_bytes).cast();
            let [value] = reduce_group::<R, 1>(rows, (data, 1));
            out.add(row).write_unaligned(value);
        }
    }
}

/// Rows that are reduced side by side where the elements of a column are neighbours: their lanes
/// stay in the first cache, and a matrix of this many rows is read from its first element to its
/// last.
const SIDE_BY_SIDE: usize = 32;
/// The same where registers are few.
const FEW: usize = 4;

/// The rows of a matrix whose columns are contiguous: what [`reduce_rows`] does, for some rows at a
/// time.
#[inline(always)]
unsafe fn reduce_side_by_side<R: RowFold, const ROWS: usize>(
    rows: &DenseRows,
    out: *mut Element<R>,
) {
    let mut row = 0;
    while row < rows.n {
        let count = ROWS.min(rows.n - row);
        // SAFETY: the rows `row..row + count` are among those of the matrix and of `out`.
        unsafe {
            let data = rows.data.cast::<Element<R>>().add(row);
            let values = reduce_group::<R, ROWS>(rows, (data, count));
            for place in 0..count {
                out.add(row + place).write_unaligned(values[place]);
            }
        }
        row += count;
    }
}

/// `count` rows of at most `ROWS`, the first of which begins at `data`: their tiles, joined by the
/// tree of [`crate::reduce`] as they come. The subtree that ends with tile `t` swallows as many
/// earlier ones as `t` has trailing one bits.
#[inline(always)]
unsafe fn reduce_group<R: RowFold, const ROWS: usize>(
    rows: &DenseRows,
    group: (*const Element<R>, usize),
) -> [Element<R>; ROWS] {
    let identity = Element::<R>::from_lane_bits(rows.identity);
    if rows.columns <= rows.tile_len {
        // SAFETY: these are all columns of the rows; of none the lanes are identities.
        return unsafe { reduce_tiles::<R, ROWS>(rows, group, identity, 0, rows.columns) };
    }
    let mut trees = [[identity; ROWS]; 64];
    let mut n_trees = 0;
    let (mut tile, mut first) = (0_usize, 0);
    while first < rows.columns {
        let n = rows.tile_len.min(rows.columns - first);
        // SAFETY: the columns `first..first + n` are among those of the rows.
        let mut value = unsafe { reduce_tiles::<R, ROWS>(rows, group, identity, first, n) };
        for _ in 0..tile.trailing_ones() {
            n_trees -= 1;
            value = join_each::<R::F, ROWS>(trees[n_trees], value);
        }
        trees[n_trees] = value;
        n_trees += 1;
        (tile, first) = (tile + 1, first + n);
    }
    let Some(last) = n_trees.checked_sub(1) else {
        return [identity; ROWS];
    };
    let mut value = trees[last];
    for tree in (0..last).rev() {
        value = join_each::<R::F, ROWS>(trees[tree], value);
    }
    value
}

#[inline(always)]
fn join_each<F: Fold, const ROWS: usize>(
    left: [F::T; ROWS],
    mut right: [F::T; ROWS],
) -> [F::T; ROWS] {
    for row in 0..ROWS {
        right[row] = F::join(left[row], right[row]);
    }
    right
}

/// The columns `first..first + n` of a group of rows, one tile of each.
#[inline(always)]
unsafe fn reduce_tiles<R: RowFold, const ROWS: usize>(
    rows: &DenseRows,
    (data, count): (*const Element<R>, usize),
    identity: Element<R>,
    first: usize,
    n: usize,
) -> [Element<R>; ROWS] {
    if ROWS == 1 {
        // SAFETY: the caller promises these columns of the one row.
        return [unsafe { reduce_tile::<R>(rows, data, identity, first, n) }; ROWS];
    }
    let mut lanes = [[identity; ROWS]; LANES];
    for k in first..first + n {
        let lane = &mut lanes[k % LANES];
        // SAFETY: the caller promises these columns, and as many elements of `x` if there is one.
        unsafe {
            let column = data.byte_offset(k as isize * rows.column_bytes);
            let x = match R::WITH_X {
                true => rows.x.cast::<Element<R>>().add(k).read_unaligned(),
                false => identity,
            };
            // A number that the compiler knows where possible.
            match count == ROWS {
                true => join_column::<R, ROWS>(lane, column, x, ROWS),
                false => join_column::<R, ROWS>(lane, column, x, count),
            }
        }
    }
    // As `join_lanes`.
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            lanes[l] = join_each::<R::F, ROWS>(lanes[l], lanes[l + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Joins `count` elements of a column to a lane of each of their rows.
#[inline(always)]
unsafe fn join_column<R: RowFold, const ROWS: usize>(
    lane: &mut [Element<R>; ROWS],
    column: *const Element<R>,
    x: Element<R>,
    count: usize,
) {
    for row in 0..count {
        // SAFETY: the caller promises `count` elements, of at most `ROWS` rows.
        let element = unsafe { column.add(row).read_unaligned() };
        lane[row] = R::F::join(lane[row], R::scale(element, x));
    }
}

/// The columns `first..first + n` of a row, which are one tile.
#[inline(always)]
unsafe fn reduce_tile<R: RowFold>(
    rows: &DenseRows,
    data: *const Element<R>,
    identity: Element<R>,
    first: usize,
    n: usize,
) -> Element<R> {
    let mut lanes = [identity; LANES];
    let lane = first % LANES;
    if !R::WITH_X {
        // SAFETY: the caller promises these columns.
        lanes = unsafe { fold_elements::<R::F>(lanes, lane, n, data.add(first)) };
        return join_lanes::<R::F>(lanes);
    }
    let x = rows.x.cast::<Element<R>>();
    let mut k = first;
    let end = first + n;
    while k < end {
        // Whole chunks while possible, so that `k % LANES` is 0 from the second step on.
        let lane = k % LANES;
        let count = (LANES - lane).min(end - k);
        if count == LANES {
            prefetch(data.wrapping_add(k + 512));
            prefetch(data.wrapping_add(k + 512 + LANES / 2));
            // SAFETY: the columns `k..k + LANES` are before `end`.
            let (a, b) = unsafe {
                (
                    data.add(k).cast::<[Element<R>; LANES]>().read_unaligned(),
                    x.add(k).cast::<[Element<R>; LANES]>().read_unaligned(),
                )
            };
            lanes = std::array::from_fn(|l| R::F::join(lanes[l], R::scale(a[l], b[l])));
        } else {
            for i in 0..count {
                // SAFETY: column `k + i` is before `end`.
                let (a, b) = unsafe {
                    (
                        data.add(k + i).read_unaligned(),
                        x.add(k + i).read_unaligned(),
                    )
                };
                lanes[lane + i] = R::F::join(lanes[lane + i], R::scale(a, b));
            }
        }
        k += count;
    }
    join_lanes::<R::F>(lanes)
}
