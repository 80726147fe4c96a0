//! The reductions of rows, and of their products with a vector, of a dense matrix, a block of rows
//! at a time.
#![expect(
    unsafe_code,
    reason = "reads the matrix through pointers of the launch"
)]

use super::folds::{
    AllTrue, AnyTrue, Fold, Greatest, LaneElement, Least, Prod, Sum, fold_each, fold_elements,
    join_lanes,
};
use super::row_fold::{DenseRows, Element, Plain, RowFold, Scaled};
use super::rows_together::{have_whole_chunks, reduce_four, reduce_two};
use crate::element::DType;
use crate::ir::ReduceOp;
use crate::isa::{Isa, PerIsa, per_isa};
use crate::ops::{NumericOps, OrderedOps};
use crate::reduce::{LANES, identity};
use num_complex::Complex;

/// Writes the reductions of the rows of a dense matrix to `out`.
///
/// # Safety
/// The pointers of `rows` must be readable, and `panel` writable, as their fields say, `out`
/// writable as `n` elements, and the instruction set available.
pub(crate) type RowReduceLoop = unsafe fn(rows: &DenseRows, out: *mut u8);

/// Joins the elements `left` to `right`, as many as `n`, and leaves the results in `right`.
///
/// # Safety
/// `left` must be readable, and `right` writable, as `n` elements.
pub(crate) type JoinEach = unsafe fn(left: *const u8, right: *mut u8, n: usize);

/// How [`crate::Inst::RowReduce`] reduces elements of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowReduction {
    pub(crate) run: PerIsa<RowReduceLoop>,
    pub(crate) join: JoinEach,
    /// The bits of the reduction of nothing.
    pub(crate) identity: [u64; 2],
    /// Bytes of an element, and of its reduction.
    pub(crate) size: usize,
}

impl RowReduction {
    /// The reduction of rows as they are, or of their products with an `x`.
    pub(crate) fn new(op: ReduceOp, dtype: DType, with_x: bool) -> Self {
        let (run, join) = row_reduce(op, dtype, with_x);
        Self {
            run,
            join,
            identity: identity(op, dtype).bits,
            size: dtype.size(),
        }
    }
}

type Loops = (PerIsa<RowReduceLoop>, JoinEach);

fn row_reduce(op: ReduceOp, dtype: DType, with_x: bool) -> Loops {
    let is_extremum = matches!(op, ReduceOp::Min | ReduceOp::Max);
    match dtype {
        DType::F32 => of_ordered::<f32>(op, with_x),
        DType::F64 => of_ordered::<f64>(op, with_x),
        // Sums and products wrap, and have the bits of those without a sign.
        DType::I32 if is_extremum => of_ordered::<i32>(op, with_x),
        DType::I64 if is_extremum => of_ordered::<i64>(op, with_x),
        DType::I32 | DType::U32 => of_unsigned::<u32>(op, with_x),
        DType::I64 | DType::U64 => of_unsigned::<u64>(op, with_x),
        DType::ComplexF32 => of_numeric::<Complex<f32>>(op, with_x),
        DType::ComplexF64 => of_numeric::<Complex<f64>>(op, with_x),
        DType::Bool => match op {
            ReduceOp::Any => plain::<AnyTrue>(),
            _ => plain::<AllTrue>(),
        },
    }
}

fn of_ordered<T: OrderedOps>(op: ReduceOp, with_x: bool) -> Loops {
    match (op, with_x) {
        (ReduceOp::Min, false) => plain::<Least<T>>(),
        (ReduceOp::Min, true) => rare_scaled::<Least<T>>(),
        (ReduceOp::Max, false) => plain::<Greatest<T>>(),
        (ReduceOp::Max, true) => rare_scaled::<Greatest<T>>(),
        _ => of_numeric::<T>(op, with_x),
    }
}

/// Extrema of numbers without a sign are rare.
fn of_unsigned<T: OrderedOps>(op: ReduceOp, with_x: bool) -> Loops {
    match (op, with_x) {
        (ReduceOp::Min, false) => rare_plain::<Least<T>>(),
        (ReduceOp::Max, false) => rare_plain::<Greatest<T>>(),
        _ => of_ordered::<T>(op, with_x),
    }
}

fn of_numeric<T: NumericOps>(op: ReduceOp, with_x: bool) -> Loops {
    match (op, with_x) {
        (ReduceOp::Sum, false) => plain::<Sum<T>>(),
        (ReduceOp::Sum, true) => scaled::<Sum<T>>(),
        (ReduceOp::Prod, false) => plain::<Prod<T>>(),
        (ReduceOp::Prod, true) => rare_scaled::<Prod<T>>(),
        _ => panic!("the verifier admits no row reduction `{}` here", op.name()),
    }
}

fn plain<F: Fold>() -> Loops {
    (row_reduce_loop::<Plain<F>>(), join_bytes::<F>)
}

fn scaled<F: Fold<T: NumericOps>>() -> Loops {
    (scaled_rows_loop::<Scaled<F>>(), join_bytes::<F>)
}

fn rare_plain<F: Fold>() -> Loops {
    (rare_reduce_loop::<Plain<F>>(), join_bytes::<F>)
}

/// Reductions of products other than sums: no operation of arrays is one.
fn rare_scaled<F: Fold<T: NumericOps>>() -> Loops {
    (rare_reduce_loop::<Scaled<F>>(), join_bytes::<F>)
}

per_isa!(
    // As for `row_sum_loop`: rows side by side would be gathered.
    fn row_reduce_loop<R: RowFold>(rows: &DenseRows, out: *mut u8) = reduce_side_by_side,
    baseline reduce_one_by_one, up to avx2
);
per_isa!(
    fn scaled_rows_loop<R: RowFold>(rows: &DenseRows, out: *mut u8) = reduce_side_by_side,
    baseline reduce_one_by_one, avx512 reduce_four_at_a_time
);
per_isa!(
    fn rare_reduce_loop<R: RowFold>(rows: &DenseRows, out: *mut u8) = reduce_one_by_one,
    one for all
);

#[inline(always)]
unsafe fn reduce_side_by_side<R: RowFold>(rows: &DenseRows, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { reduce_rows::<R, true>(rows, out) }
}

/// Less code: rows, elements and columns are reduced one after the other.
#[inline(always)]
unsafe fn reduce_one_by_one<R: RowFold>(rows: &DenseRows, out: *mut u8) {
    // SAFETY: forwarded.
    unsafe { reduce_rows::<R, false>(rows, out) }
}

#[inline(always)]
unsafe fn reduce_rows<R: RowFold, const SIDE_BY_SIDE: bool>(rows: &DenseRows, out: *mut u8) {
    let out = out.cast::<Element<R>>();
    // SAFETY: the rows `row < n` of the matrix, and as many elements of `out`.
    unsafe {
        if rows.column_bytes != size_of::<Element<R>>() as isize {
            let widest = panel_rows(size_of::<Element<R>>());
            let mut row = 0;
            while row < rows.n {
                let count = widest.min(rows.n - row);
                let data = rows.data.cast::<Element<R>>().add(row);
                reduce_panel::<R, SIDE_BY_SIDE>(rows, (data, count), out.add(row));
                row += count;
            }
            return;
        }
        let data = |row: usize| rows.data.wrapping_offset(row as isize * rows.row_bytes);
        let mut row = 0;
        if SIDE_BY_SIDE && rows.first == 0 && rows.end <= LANES.min(rows.tile_len) {
            while row + GROUP <= rows.n {
                reduce_group::<R>(rows, data(row).cast(), out.add(row));
                row += GROUP;
            }
        }
        if SIDE_BY_SIDE && R::WITH_X && have_whole_chunks(rows) {
            while row + 2 <= rows.n {
                let values = reduce_two::<R>(rows, data(row).cast());
                out.add(row).cast::<[_; 2]>().write_unaligned(values);
                row += 2;
            }
        }
        while row < rows.n {
            let value = reduce_row::<R, SIDE_BY_SIDE>(rows, data(row).cast());
            out.add(row).write_unaligned(value);
            row += 1;
        }
    }
}

/// Rows with no more elements than lanes that are reduced together, so that the joins of their
/// lanes use whole registers.
const GROUP: usize = 16;

/// Such rows, the first of which begins at `data`.
#[inline(always)]
unsafe fn reduce_group<R: RowFold>(
    rows: &DenseRows,
    data: *const Element<R>,
    out: *mut Element<R>,
) {
    let identity = Element::<R>::from_lane_bits(rows.identity);
    let mut lanes = [[identity; GROUP]; LANES];
    // SAFETY: the caller promises all elements of these rows, as many of `x`, and the results.
    unsafe {
        for k in 0..rows.end {
            let x = match R::WITH_X {
                true => rows.x.cast::<Element<R>>().add(k).read_unaligned(),
                false => identity,
            };
            for row in 0..GROUP {
                let element = data.wrapping_byte_offset(row as isize * rows.row_bytes);
                let element = R::scale(element.wrapping_add(k).read_unaligned(), x);
                lanes[k][row] = R::F::join(lanes[k][row], element);
            }
        }
        // As `join_lanes`.
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                for row in 0..GROUP {
                    lanes[l][row] = R::F::join(lanes[l][row], lanes[l + half][row]);
                }
            }
            half /= 2;
        }
        for row in 0..GROUP {
            out.add(row).write_unaligned(lanes[0][row]);
        }
    }
}

/// With the registers of AVX-512 four rows at a time, where there are whole chunks; else, and the
/// rows that remain, as with AVX2.
#[inline(always)]
unsafe fn reduce_four_at_a_time<R: RowFold>(rows: &DenseRows, out: *mut u8) {
    let mut row = 0;
    if rows.column_bytes == size_of::<Element<R>>() as isize && have_whole_chunks(rows) {
        while row + 4 <= rows.n {
            let data = rows.data.wrapping_offset(row as isize * rows.row_bytes);
            // SAFETY: the rows `row..row + 4` of the matrix, and as many elements of `out`.
            unsafe {
                let values = reduce_four::<R>(rows, data.cast());
                let out = out.cast::<Element<R>>().add(row);
                out.cast::<[_; 4]>().write_unaligned(values);
            }
            row += 4;
        }
    }
    let others = DenseRows {
        n: rows.n - row,
        data: rows.data.wrapping_offset(row as isize * rows.row_bytes),
        ..*rows
    };
    let out = out.wrapping_add(row * size_of::<Element<R>>());
    // SAFETY: the rows that are left, and their elements of `out`; who has AVX-512 has AVX2.
    unsafe { scaled_rows_loop::<R>().get(Isa::Avx2)(&others, out) };
}

/// One row, the elements of which begin at `data`: its tiles, joined by the tree of
/// [`crate::reduce`] as they come. The subtree that ends with tile `t` swallows as many earlier
/// ones as `t` has trailing one bits.
#[inline(always)]
unsafe fn reduce_row<R: RowFold, const SIDE_BY_SIDE: bool>(
    rows: &DenseRows,
    data: *const Element<R>,
) -> Element<R> {
    let identity = Element::<R>::from_lane_bits(rows.identity);
    if SIDE_BY_SIDE && rows.first == 0 && rows.end <= rows.tile_len {
        // SAFETY: these are all columns of the row; of none the lanes are identities.
        return unsafe { reduce_tile::<R>(rows, data, identity, 0, rows.end) };
    }
    let mut trees = [identity; 64];
    let mut n_trees = 0;
    let (mut tile, mut first) = (0_usize, rows.first);
    while first < rows.end {
        let n = rows.tile_len.min(rows.end - first);
        // SAFETY: the columns `first..first + n` are among those of the row.
        let mut value = unsafe {
            match SIDE_BY_SIDE {
                true => reduce_tile::<R>(rows, data, identity, first, n),
                false => reduce_elements::<R>(rows, data, identity, first, n),
            }
        };
        for _ in 0..tile.trailing_ones() {
            n_trees -= 1;
            value = R::F::join(trees[n_trees], value);
        }
        trees[n_trees] = value;
        n_trees += 1;
        (tile, first) = (tile + 1, first + n);
    }
    let [earlier @ .., last] = &trees[..n_trees] else {
        return identity;
    };
    let join = |right, &tree| R::F::join(tree, right);
    earlier.iter().rev().fold(*last, join)
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
    let (lanes, lane) = ([identity; LANES], 0);
    if !R::WITH_X {
        // SAFETY: the caller promises these columns.
        return join_lanes::<R::F>(unsafe {
            fold_elements::<R::F>(lanes, lane, n, data.add(first))
        });
    }
    let x = rows.x.cast::<Element<R>>();
    join_lanes::<R::F>(fold_each::<R::F>(
        lanes,
        (lane, n),
        |i| {
            // SAFETY: the caller promises these columns, and `x` has an element for each.
            let (a, b) = unsafe {
                (
                    data.add(first + i).read_unaligned(),
                    x.add(first + i).read_unaligned(),
                )
            };
            R::scale(a, b)
        },
        |i| {
            let data = data.wrapping_add(first + i);
            // SAFETY: as above, for the columns from `first + i` on.
            let (mut chunk, x) = unsafe {
                (
                    data.cast::<[Element<R>; LANES]>().read_unaligned(),
                    x.add(first + i)
                        .cast::<[Element<R>; LANES]>()
                        .read_unaligned(),
                )
            };
            for l in 0..LANES {
                chunk[l] = R::scale(chunk[l], x[l]);
            }
            chunk
        },
    ))
}

/// The same, one element after the other.
#[inline(always)]
unsafe fn reduce_elements<R: RowFold>(
    rows: &DenseRows,
    data: *const Element<R>,
    identity: Element<R>,
    first: usize,
    n: usize,
) -> Element<R> {
    let mut lanes = [identity; LANES];
    let x = rows.x.cast::<Element<R>>();
    for k in first..first + n {
        // SAFETY: the caller promises these columns, and `x` has an element for each.
        let (element, x) = unsafe {
            let element = data.add(k).read_unaligned();
            match R::WITH_X {
                true => (element, x.add(k).read_unaligned()),
                false => (element, identity),
            }
        };
        let lane = &mut lanes[(k - first) % LANES];
        *lane = R::F::join(*lane, R::scale(element, x));
    }
    join_lanes::<R::F>(lanes)
}

/// Bytes of a column of the rows that are reduced side by side where the elements of a column are
/// neighbours: their lanes stay in the L2 cache, and what is read from memory in one go is long.
const PANEL: usize = 8192;

/// The most rows of elements of `size` bytes that are reduced side by side.
pub(crate) const fn panel_rows(size: usize) -> usize {
    PANEL / size
}

/// What [`DenseRows::panel`] has: the lanes of the rows that are reduced side by side, and their
/// subtrees of `n_tiles` tiles.
pub(crate) fn panel_bytes(n_tiles: usize) -> usize {
    (LANES + usize::BITS as usize - n_tiles.leading_zeros() as usize) * PANEL
}

/// What [`reduce_row`] does, for `count` rows of a matrix whose columns are contiguous, the first
/// of which begins at `data`.
#[inline(always)]
unsafe fn reduce_panel<R: RowFold, const SIDE_BY_SIDE: bool>(
    rows: &DenseRows,
    (data, count): (*const Element<R>, usize),
    out: *mut Element<R>,
) {
    let identity = Element::<R>::from_lane_bits(rows.identity);
    let panel = rows.panel.cast::<Element<R>>();
    // SAFETY: the panel has room for the lanes of `count` rows, and behind them for their subtrees,
    // of which there are never more than the number of tiles has bits; `out` has `count` elements.
    unsafe {
        let lanes = std::slice::from_raw_parts_mut(panel, LANES * count);
        let tree = |number: usize| panel.add((LANES + number) * count);
        let mut n_trees = 0;
        let (mut tile, mut first) = (0_usize, rows.first);
        while first < rows.end {
            let n = rows.tile_len.min(rows.end - first);
            lanes.fill(identity);
            fold_panel::<R, SIDE_BY_SIDE>(rows, (data, count), lanes, first, n);
            // As `join_lanes`.
            let mut half = LANES / 2 * count;
            while half >= count {
                let (left, right) = lanes.split_at_mut(half);
                for (left, right) in left.iter_mut().zip(right) {
                    *left = R::F::join(*left, *right);
                }
                half /= 2;
            }
            for _ in 0..tile.trailing_ones() {
                n_trees -= 1;
                join_each::<R::F>(tree(n_trees), lanes.as_mut_ptr(), count);
            }
            tree(n_trees).copy_from_nonoverlapping(lanes.as_ptr(), count);
            n_trees += 1;
            (tile, first) = (tile + 1, first + n);
        }
        if n_trees == 0 {
            lanes.fill(identity);
            return out.copy_from_nonoverlapping(panel, count);
        }
        let last = tree(n_trees - 1);
        for number in (0..n_trees - 1).rev() {
            join_each::<R::F>(tree(number), last, count);
        }
        out.copy_from_nonoverlapping(last, count);
    }
}

/// Joins the columns `first..first + n` of `count` rows side by side to their lanes: lane 0 of each
/// row, lane 1 of each row, and so on.
#[inline(always)]
unsafe fn fold_panel<R: RowFold, const SIDE_BY_SIDE: bool>(
    rows: &DenseRows,
    (data, count): (*const Element<R>, usize),
    lanes: &mut [Element<R>],
    first: usize,
    n: usize,
) {
    // Where the rows are all that there are, the next column follows, and with it the next lane.
    let column_bytes = (count * size_of::<Element<R>>()) as isize;
    let at_once = match !R::WITH_X && rows.column_bytes == column_bytes {
        true => LANES,
        false => 1,
    };
    let is_long = SIDE_BY_SIDE && at_once == 1 && column_bytes >= LONG;
    let (mut k, end) = (first, first + n);
    while k < end {
        // The lanes begin anew with each tile, whatever its length is.
        let lane = (k - first) % LANES;
        let columns = (LANES - lane).min(at_once).min(end - k);
        let stretch = &mut lanes[lane * count..][..columns * count];
        // SAFETY: the caller promises the columns `first..end`; those of the later streams are the
        // ones that follow in the same lanes.
        unsafe {
            if is_long && k - lane + STREAMS * LANES <= end {
                join_columns::<R, STREAMS>(rows, (data, k), stretch);
                k += 1;
                if lane + 1 == LANES {
                    k += (STREAMS - 1) * LANES;
                }
            } else {
                join_columns::<R, 1>(rows, (data, k), stretch);
                k += columns;
            }
        }
    }
}

/// How many long columns are joined to the same lanes in one go, which are read and written once
/// for all of them.
const STREAMS: usize = 4;

/// Bytes of a column from which on it is long. Shorter ones are read in the order of the memory.
const LONG: isize = 2048;

/// Joins `N` columns to the lanes of column `k`, as many elements of each as there are lanes: that
/// column, and those that follow in its lane.
#[inline(always)]
unsafe fn join_columns<R: RowFold, const N: usize>(
    rows: &DenseRows,
    (data, k): (*const Element<R>, usize),
    lanes: &mut [Element<R>],
) {
    let x = rows.x.cast::<Element<R>>();
    let column = |s: usize| data.wrapping_byte_offset((k + s * LANES) as isize * rows.column_bytes);
    let mut columns = [data; N];
    let mut scales = [Element::<R>::from_lane_bits(rows.identity); N];
    for s in 0..N {
        columns[s] = column(s);
        if R::WITH_X {
            // SAFETY: the caller promises these columns, and `x` has an element for each.
            scales[s] = unsafe { x.add(k + s * LANES).read_unaligned() };
        }
    }
    for row in 0..lanes.len() {
        let mut lane = lanes[row];
        for s in 0..N {
            // SAFETY: the caller promises as many elements of each column.
            let element = unsafe { columns[s].add(row).read_unaligned() };
            lane = R::F::join(lane, R::scale(element, scales[s]));
        }
        lanes[row] = lane;
    }
}

/// Joins `n` elements `left` to `right`.
#[inline(always)]
unsafe fn join_each<F: Fold>(left: *const F::T, right: *mut F::T, n: usize) {
    for i in 0..n {
        // SAFETY: the caller promises `n` elements on both sides.
        unsafe {
            let value = F::join(left.add(i).read_unaligned(), right.add(i).read_unaligned());
            right.add(i).write_unaligned(value);
        }
    }
}

/// A [`JoinEach`].
unsafe fn join_bytes<F: Fold>(left: *const u8, right: *mut u8, n: usize) {
    // SAFETY: forwarded.
    unsafe { join_each::<F>(left.cast(), right.cast(), n) }
}
