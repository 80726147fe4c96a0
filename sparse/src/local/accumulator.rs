//! Sums of products at columns in any order: an array with a sum for each column, of matrices that
//! have few enough, and bits that say which columns have occurred.
//!
//! J. R. Gilbert, C. Moler, R. Schreiber, "Sparse matrices in MATLAB: design and implementation"
//! (SIAM J. Matrix Anal. Appl. 13, 1992) call it SPA. Between rows no bit is set, and sums are what
//! they were, so a row costs what it has and not what the matrix is wide.

use super::factors::Factors;
use sparsefuse_kernels::Numeric;

/// Columns of a matrix up to which there is an array: 8 MB of doubles for each thread.
const MOST_COLUMNS: usize = 1 << 20;

/// The sums of one row after the other.
pub(crate) struct Accumulator<T> {
    /// Whether rows of the right factor are asked for ahead.
    pub(super) is_ahead: bool,
    marks: Vec<u64>,
    sums: Vec<T>,
    /// The columns of a row in the order in which they occur, and whatever was there before.
    found: Vec<u32>,
}

impl<T: Numeric> Accumulator<T> {
    /// For the rows of a product.
    pub(crate) fn new(factors: Factors<'_, T>) -> Self {
        Self {
            is_ahead: factors.are_far_apart(),
            marks: Vec::new(),
            sums: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Whether a product is narrow enough.
    pub(crate) fn fits(factors: Factors<'_, T>) -> bool {
        factors.n_cols <= MOST_COLUMNS
    }

    /// The number of entries of a row of the product.
    #[inline(always)]
    pub(crate) fn count(&mut self, factors: Factors<'_, T>, row: usize) -> u64 {
        self.marks.resize(factors.n_cols.div_ceil(64), 0);
        let marks = &mut self.marks[..];
        let mut count = 0;
        for entry in factors.left.entries(row) {
            if self.is_ahead {
                factors.fetch_columns(entry);
            }
            for &column in factors.right.columns(factors.left.crd[entry] as usize) {
                count += u64::from(mark(marks, column));
            }
        }
        for &k in factors.left.columns(row) {
            for &column in factors.right.columns(k as usize) {
                marks[column as usize / 64] = 0;
            }
        }
        count
    }

    /// Finds the columns of a row of the product, and their sums.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        factors: Factors<'_, T>,
        row: usize,
        (crd, vals): (&mut [u32], &mut [T]),
    ) {
        self.marks.resize(factors.n_cols.div_ceil(64), 0);
        self.sums.resize(factors.n_cols, T::ZERO);
        if self.found.len() < crd.len() + MEDIUM {
            self.found.resize(crd.len() + MEDIUM, 0);
        }
        let (marks, sums, found) = (&mut self.marks[..], &mut self.sums[..], &mut self.found[..]);
        let mut len = 0;
        each_product((factors, self.is_ahead), row, |factor, column, value| {
            let is_new = mark(marks, column);
            let sum = &mut sums[column as usize];
            let before = if is_new { T::ZERO } else { *sum };
            *sum = factor.times_plus(value, before);
            found[len] = column;
            len += usize::from(is_new);
        });
        let made = (crd, vals);
        match len {
            0..=8 => sort_short::<8, T>(found, marks, sums, made),
            9..=16 => sort_short::<16, T>(found, marks, sums, made),
            17..=24 => sort_short::<24, T>(found, marks, sums, made),
            25..=32 => sort_short::<32, T>(found, marks, sums, made),
            33..=MEDIUM => sort_short::<MEDIUM, T>(found, marks, sums, made),
            _ => sort_long(&found[..len], marks, sums, made),
        }
    }

    /// The sums of a row of the product, whose columns are known.
    #[inline(always)]
    pub(crate) fn fill_at(
        &mut self,
        factors: Factors<'_, T>,
        row: usize,
        crd: &[u32],
        vals: &mut [T],
    ) {
        self.sums.resize(factors.n_cols, T::ZERO);
        let sums = &mut self.sums[..];
        for &column in crd {
            sums[column as usize] = T::ZERO;
        }
        each_product((factors, self.is_ahead), row, |factor, column, value| {
            let sum = &mut sums[column as usize];
            *sum = factor.times_plus(value, *sum);
        });
        for (&column, value) in crd.iter().zip(vals) {
            *value = sums[column as usize];
        }
    }
}

/// Calls `visit` with the factor, the column and the value of each product that makes a row, over
/// ascending `k`.
#[inline(always)]
fn each_product<T: Numeric>(
    (factors, is_ahead): (Factors<'_, T>, bool),
    row: usize,
    mut visit: impl FnMut(T, u32, T),
) {
    for entry in factors.left.entries(row) {
        if is_ahead {
            factors.fetch(entry);
        }
        let (k, factor) = (factors.left.crd[entry], factors.left.vals[entry]);
        for (column, value) in factors.right.row(k as usize) {
            visit(factor, column, value);
        }
    }
}

/// Marks a column; whether it was not.
#[inline(always)]
fn mark(marks: &mut [u64], column: u32) -> bool {
    let (word, bit) = (&mut marks[column as usize / 64], 1 << (column % 64));
    let is_new = *word & bit == 0;
    *word |= bit;
    is_new
}

/// Up to this many columns are sorted by comparing each with each.
const MEDIUM: usize = 64;

/// Writes up to N columns in order, with their sums, and forgets their marks. The place of each is
/// the number of smaller ones: there are no branches, since no processor could predict them, and
/// nothing that the next row reads, whose columns may be the same, waits for places.
#[inline(always)]
fn sort_short<const N: usize, T: Numeric>(
    found: &[u32],
    marks: &mut [u64],
    sums: &[T],
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let len = crd.len();
    let found = found.first_chunk::<N>();
    let mut columns = *found.expect("N columns, the last ones of no meaning");
    for (k, column) in columns.iter_mut().enumerate() {
        *column = if k < len { *column } else { u32::MAX };
    }
    let mut places = [0u32; N];
    for smaller in columns {
        for (place, &column) in places.iter_mut().zip(&columns) {
            *place += u32::from(smaller < column);
        }
    }
    for (&column, place) in columns.iter().zip(places).take(len) {
        marks[column as usize / 64] = 0;
        crd[place as usize] = column;
        vals[place as usize] = sums[column as usize];
    }
}

/// As [`sort_short`] of any number of columns.
#[inline(always)]
fn sort_long<T: Numeric>(
    found: &[u32],
    marks: &mut [u64],
    sums: &[T],
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let first = found
        .iter()
        .fold(u32::MAX, |first, &column| first.min(column));
    let last = found.iter().fold(0, |last, &column| last.max(column));
    let words = first as usize / 64..last as usize / 64 + 1;
    // Where there are few words of marks for each column, going through them takes less time.
    if 2 * words.len() <= found.len() {
        ascending(words.start, &mut marks[words], crd);
    } else {
        crd.copy_from_slice(found);
        crd.sort_unstable();
        for &column in found {
            marks[column as usize / 64] = 0;
        }
    }
    for (&column, value) in crd.iter().zip(vals) {
        *value = sums[column as usize];
    }
}

/// The columns that are marked in some words, the first of which has this number; the marks are
/// forgotten.
#[inline(always)]
fn ascending(first: usize, marks: &mut [u64], crd: &mut [u32]) {
    let mut places = crd.iter_mut();
    for (number, word) in marks.iter_mut().enumerate() {
        let mut rest = std::mem::take(word);
        while rest != 0 {
            if let Some(place) = places.next() {
                *place = (first + number) as u32 * 64 + rest.trailing_zeros();
            }
            rest &= rest - 1;
        }
    }
}
