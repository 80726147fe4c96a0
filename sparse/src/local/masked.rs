//! The product of two sparse matrices at the entries of a third one, by rows (Gustavson) with a
//! masked accumulator (Milaković, Selvitopi, Nisa, Budimlić, Buluç, "Parallel algorithms for masked
//! sparse matrix-matrix products", ICPP 2022).
//!
//! A row of the mask says which columns are wanted; an array finds where a column goes, and terms
//! at other columns are dropped. Each element is summed over ascending `k` with one fused
//! multiply-add per term, from zero, as in the whole product. An entry of the mask that no term
//! meets becomes 0.
//!
//! Looks at each term of the whole product once, and writes the entries of the mask alone.

use super::factors::Factors;
use super::parallel::{self, Threads};
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::{Computation, Isa};
use std::ops::Range;

/// Columns of a mask's row that are less than this far apart are looked up in an array, of at most
/// 16 MB for each thread; others by halving.
const MOST_SLOTS: usize = 1 << 22;

/// The values at the entries of a mask, whose rows have these positions and columns, and are those
/// of the left factor.
pub(crate) fn fill<T: Numeric>(
    (threads, isa): (&Threads, Isa),
    factors: Factors<'_, T>,
    (pos, crd): (&[u64], &[u32]),
    vals: &mut [T],
) {
    let parts = factors.parts();
    let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
    let vals = parallel::split(vals, parts.iter().map(len));
    let work = parts.iter().cloned().zip(vals);
    parallel::each_with(threads, work, Places::default, |places, (rows, vals)| {
        isa.run(Part {
            factors,
            rows,
            mask: (pos, crd),
            places,
            vals,
        });
    });
}

/// Some rows of the product.
struct Part<'a, T> {
    factors: Factors<'a, T>,
    rows: Range<usize>,
    mask: (&'a [u64], &'a [u32]),
    places: &'a mut Places,
    vals: &'a mut [T],
}

impl<T: Numeric> Computation for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (pos, crd) = self.mask;
        let Factors { left, right, .. } = self.factors;
        self.vals.fill(T::ZERO);
        let mut rest = self.vals;
        for row in self.rows {
            let entries = (pos[row] - pos[0]) as usize..(pos[row + 1] - pos[0]) as usize;
            let (sums, others) = rest.split_at_mut(entries.len());
            rest = others;
            let wanted = &crd[entries];
            let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) else {
                continue;
            };
            self.places.set(wanted);
            for (k, factor) in left.row(row) {
                for (column, value) in right.row(k as usize) {
                    if column < first || column > last {
                        continue;
                    }
                    if let Some(place) = self.places.of(wanted, column) {
                        sums[place] = factor.times_plus(value, sums[place]);
                    }
                }
            }
            self.places.clear(wanted);
        }
    }
}

/// Where the columns of a row of the mask stand among them.
#[derive(Default)]
struct Places {
    /// For each column from the first one on, one more than its place; 0 for others.
    slots: Vec<u32>,
}

impl Places {
    /// Whether the columns are near enough to each other for an array.
    #[inline(always)]
    fn are_near(wanted: &[u32]) -> bool {
        ((wanted[wanted.len() - 1] - wanted[0]) as usize) < MOST_SLOTS
    }

    #[inline(always)]
    fn set(&mut self, wanted: &[u32]) {
        if !Self::are_near(wanted) {
            return;
        }
        let span = (wanted[wanted.len() - 1] - wanted[0]) as usize + 1;
        if self.slots.len() < span {
            self.slots.resize(span, 0);
        }
        for (place, column) in wanted.iter().enumerate() {
            self.slots[(column - wanted[0]) as usize] = place as u32 + 1;
        }
    }

    /// The place of a column that is not before the first one nor behind the last.
    #[inline(always)]
    fn of(&self, wanted: &[u32], column: u32) -> Option<usize> {
        if Self::are_near(wanted) {
            let slot = self.slots[(column - wanted[0]) as usize];
            return (slot as usize).checked_sub(1);
        }
        wanted.binary_search(&column).ok()
    }

    #[inline(always)]
    fn clear(&mut self, wanted: &[u32]) {
        if Self::are_near(wanted) {
            for column in wanted {
                self.slots[(column - wanted[0]) as usize] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::rows::LocalRows;
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    /// Rows with entries at the places that a hash of seed and place picks, `stride` apart.
    fn rows(n_rows: usize, n_cols: u32, stride: u32, seed: u64) -> LocalRows<f64> {
        let mut rows = LocalRows::with_capacity(n_rows, 0);
        for row in 0..n_rows as u64 {
            for column in 0..n_cols {
                let hash =
                    (seed ^ (row << 32 | u64::from(column))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if hash >> 62 == 0 {
                    rows.push(column * stride, (hash >> 40) as f64 * 1e-6 - 7.0);
                }
            }
            rows.end_row();
        }
        rows
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn entries_are_those_of_the_whole_product(
            (n_rows, n_inner, n_cols) in (1usize..30, 1usize..20, 0u32..30),
            stride in proptest::sample::select(vec![1u32, 100, 1_000_000]),
            seed in 0u64..1000,
        ) {
            let left = rows(n_rows, n_inner as u32, 1, seed);
            let right = rows(n_inner, n_cols, stride, seed + 1);
            let mask = rows(n_rows, n_cols, stride, seed + 2);
            let (a, b) = (left.as_rows(), right.as_rows());
            let mut expected = Vec::new();
            for row in 0..n_rows {
                for &column in mask.as_rows().columns(row) {
                    let mut sum = 0.0;
                    for (k, factor) in a.row(row) {
                        for (_, value) in b.row(k as usize).filter(|entry| entry.0 == column) {
                            sum = f64::mul_add(factor, value, sum);
                        }
                    }
                    expected.push(sum);
                }
            }
            let factors = Factors { left: a, right: b, n_cols: n_cols as usize };
            for threads in [1, 3].map(Threads::new) {
                for isa in Isa::available() {
                    let mut vals = vec![f64::NAN; mask.crd.len()];
                    fill((&threads, isa), factors, (&mask.pos, &mask.crd), &mut vals);
                    prop_assert_eq!(&vals, &expected);
                }
            }
        }
    }
}
