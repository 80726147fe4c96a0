//! Sums of products at columns in any order: an array with a sum for each column, of matrices that
//! have few enough, and bits that say which columns have occurred.
//!
//! J. R. Gilbert, C. Moler, R. Schreiber, "Sparse matrices in MATLAB: design and implementation"
//! (SIAM J. Matrix Anal. Appl. 13, 1992) call it SPA. Between rows all sums are 0 and no bit is set, so
//! a row costs what it has and not what the matrix is wide.

use super::factors::Factors;
use sparsefuse_kernels::Numeric;

/// Columns of a matrix up to which there is an array: 8 MB of doubles for each thread.
const MOST_COLUMNS: usize = 1 << 20;

/// The sums of one row after the other.
pub(crate) struct Accumulator<T> {
    marks: Vec<u64>,
    sums: Vec<T>,
}

impl<T: Numeric> Accumulator<T> {
    pub(crate) fn new() -> Self {
        Self {
            marks: Vec::new(),
            sums: Vec::new(),
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
            factors.fetch_columns(entry);
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
        let (marks, sums) = (&mut self.marks[..], &mut self.sums[..]);
        let mut found = 0;
        add(sums, factors, row, |column| {
            let is_new = mark(marks, column);
            // Behind the last one there is no new one.
            if let Some(place) = crd.get_mut(found) {
                *place = column;
            }
            found += usize::from(is_new);
        });
        sort(marks, crd);
        for (&column, value) in crd.iter().zip(vals) {
            marks[column as usize / 64] = 0;
            *value = take(sums, column);
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
        add(sums, factors, row, |_| {});
        for (&column, value) in crd.iter().zip(vals) {
            *value = take(sums, column);
        }
    }
}

/// Adds the products that make a row, over ascending `k`.
#[inline(always)]
fn add<T: Numeric>(
    sums: &mut [T],
    factors: Factors<'_, T>,
    row: usize,
    mut visit: impl FnMut(u32),
) {
    for entry in factors.left.entries(row) {
        factors.fetch(entry);
        let (k, factor) = (factors.left.crd[entry], factors.left.vals[entry]);
        for (column, value) in factors.right.row(k as usize) {
            let sum = &mut sums[column as usize];
            *sum = factor.times_plus(value, *sum);
            visit(column);
        }
    }
}

/// A sum, which becomes 0.
#[inline(always)]
fn take<T: Numeric>(sums: &mut [T], column: u32) -> T {
    std::mem::replace(&mut sums[column as usize], T::ZERO)
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

/// Sorts columns, which are those that are marked.
#[inline(always)]
fn sort(marks: &[u64], crd: &mut [u32]) {
    match crd.len() {
        0..=1 => {}
        2..=8 => sort_short::<8>(crd),
        9..=16 => sort_short::<16>(crd),
        17..=32 => sort_short::<32>(crd),
        33..=MEDIUM => sort_short::<MEDIUM>(crd),
        len => {
            let first = crd.iter().fold(u32::MAX, |first, &column| first.min(column));
            let last = crd.iter().fold(0, |last, &column| last.max(column));
            let words = first as usize / 64..last as usize / 64 + 1;
            // Where there are few words of marks for each column, going through them takes less time.
            match 2 * words.len() <= len {
                true => ascending(words.start, &marks[words], crd),
                false => crd.sort_unstable(),
            }
        }
    }
}

/// Sorts up to N different columns: the place of each is the number of smaller ones. There are no
/// branches, since no processor could predict them.
#[inline(always)]
fn sort_short<const N: usize>(crd: &mut [u32]) {
    let mut columns = [u32::MAX; N];
    columns[..crd.len()].copy_from_slice(crd);
    let mut places = [0u32; N];
    for smaller in columns {
        for (place, &column) in places.iter_mut().zip(&columns) {
            *place += u32::from(smaller < column);
        }
    }
    for (&column, place) in columns.iter().zip(places).take(crd.len()) {
        crd[place as usize] = column;
    }
}

/// The columns that are marked in some words, the first of which has this number.
#[inline(always)]
fn ascending(first: usize, marks: &[u64], crd: &mut [u32]) {
    let mut places = crd.iter_mut();
    for (number, &word) in marks.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            if let Some(place) = places.next() {
                *place = (first + number) as u32 * 64 + rest.trailing_zeros();
            }
            rest &= rest - 1;
        }
    }
}
