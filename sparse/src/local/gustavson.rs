//! The product of the rows of two sparse matrices, in two phases after Gustavson.
//!
//! F. G. Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted
//! transposition" (ACM TOMS 4, 1978): row `i` of `C = A B` is the sum of the rows `k` of `B`, each
//! times `a[i, k]`. The first phase counts the entries of the rows of `C`, the second fills them.
//! Each `c[i, j]` is summed over ascending `k` with one fused multiply-add each, from zero, so its
//! bits depend on nothing else.
//!
//! Rows are added up in an array where there are few enough columns ([`Accumulator`]). Others, and
//! rows that repeat, are planned: a hash table numbers the columns of a row, and the plan says for
//! each product where its sum is. Rows of stencils repeat: row `i` of `A` is row `i - 1` moved by
//! one column, and so are the rows of `B` that it meets. Then row `i` of `C` is row `i - 1` moved
//! by one column, and its plan is the same; finding that out takes one look at each entry of `A`
//! and `B`.
//!
//! Rows whose products come by ascending columns, as those of a product with a diagonal matrix do,
//! are written as they come.
//!
//! Moves, per product, 4 bytes of columns and an element from the caches, and writes each entry of
//! `C` once.

use super::accumulator::Accumulator;
use super::factors::Factors;
use super::parallel::{self, Threads};
use super::rows::{Rows, add_up};
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::{Computation, Isa};
use sparsefuse_runtime::{Error, try_collect, try_concat};
use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::Range;

/// The first phase: finds the positions of the rows of the product, the first of which is there,
/// and which of the rows repeat.
pub(crate) fn count<T: Numeric>(
    threads: &Threads,
    factors: Factors<'_, T>,
    pos: &mut [u64],
) -> Result<Vec<bool>, Error> {
    let (left, right) = (factors.left, factors.right);
    let of_left = repeats(threads, left)?;
    let of_right = match std::ptr::eq(left.crd, right.crd) && std::ptr::eq(left.pos, right.pos) {
        true => Cow::Borrowed(&of_left),
        false => Cow::Owned(repeats(threads, right)?),
    };
    let parts = factors.parts();
    let mut repeats = try_collect(repeat_n(false, left.len()))?;
    let lens = || parts.iter().map(Range::len);
    let counts_of = parallel::split(&mut pos[1..], lens());
    let repeats_of = parallel::split(&mut repeats, lens());
    let work = parts.iter().cloned().zip(counts_of).zip(repeats_of);
    let is_narrow = Accumulator::fits(factors);
    let is_ahead = factors.are_far_apart();
    parallel::each_with(
        threads,
        work,
        || Work::new(factors),
        |again, ((rows, counts), repeats)| {
            for (number, row) in rows.enumerate() {
                let meets_repeats = || left.columns(row).iter().all(|&k| of_right[k as usize]);
                repeats[number] = number > 0 && of_left[row] && meets_repeats();
                counts[number] = match repeats[number] {
                    true => counts[number - 1],
                    false => {
                        factors
                            .count_in_order(row, is_ahead)
                            .unwrap_or_else(|| match is_narrow {
                                true => again.sums.count(factors, row),
                                false => again.plan.count(factors, row),
                            })
                    }
                };
            }
        },
    );
    add_up(pos);
    Ok(repeats)
}

/// Whether each row is the one before, moved by one column.
fn repeats<T: Numeric>(threads: &Threads, rows: Rows<'_, T>) -> Result<Vec<bool>, Error> {
    let repeats = |row: usize| {
        row > 0 && {
            let (before, now) = (rows.columns(row - 1), rows.columns(row));
            before.len() == now.len() && before.iter().zip(now).all(|(b, n)| b + 1 == *n)
        }
    };
    let parts = parallel::parts(rows.pos);
    let found = parallel::map(threads, parts, |part| try_collect(part.map(repeats)));
    try_concat(&found.into_iter().collect::<Result<Vec<_>, _>>()?)
}

/// The second phase: columns and values.
pub(crate) fn fill<T: Numeric>(
    (threads, isa): (&Threads, Isa),
    factors: Factors<'_, T>,
    repeats: &[bool],
    pos: &[u64],
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let parts = factors.parts();
    let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
    let crds = parallel::split(crd, parts.iter().map(len));
    let vals = parallel::split(vals, parts.iter().map(len));
    let work = parts.iter().cloned().zip(crds).zip(vals);
    parallel::each_with(
        threads,
        work,
        || Work::new(factors),
        |again, ((rows, crd), vals)| {
            let columns = Columns::Wanted(crd);
            isa.run(Part {
                again,
                factors,
                repeats,
                rows,
                pos,
                columns,
                vals,
            });
        },
    );
}

/// The values of a product whose structure is known.
pub(crate) fn recompute<T: Numeric>(
    (threads, isa): (&Threads, Isa),
    factors: Factors<'_, T>,
    repeats: &[bool],
    (pos, crd): (&[u64], &[u32]),
    vals: &mut [T],
) {
    let parts = factors.parts();
    let entries = |rows: &Range<usize>| {
        (pos[rows.start] - pos[0]) as usize..(pos[rows.end] - pos[0]) as usize
    };
    let vals = parallel::split(vals, parts.iter().map(|rows| entries(rows).len()));
    let work = parts.iter().cloned().zip(vals);
    parallel::each_with(
        threads,
        work,
        || Work::new(factors),
        |again, (rows, vals)| {
            let columns = Columns::Known(&crd[entries(&rows)]);
            isa.run(Part {
                again,
                factors,
                repeats,
                rows,
                pos,
                columns,
                vals,
            });
        },
    );
}

/// What a thread uses again for other rows.
struct Work<T> {
    sums: Accumulator<T>,
    plan: Plan,
}

impl<T: Numeric> Work<T> {
    fn new(factors: Factors<'_, T>) -> Self {
        Self {
            sums: Accumulator::new(factors),
            plan: Plan::default(),
        }
    }
}

/// Some rows of the product in the second phase.
struct Part<'a, T> {
    again: &'a mut Work<T>,
    factors: Factors<'a, T>,
    repeats: &'a [bool],
    rows: Range<usize>,
    /// The positions of all rows.
    pos: &'a [u64],
    columns: Columns<'a>,
    /// Room for the values of these rows.
    vals: &'a mut [T],
}

/// The columns of some rows of the product.
enum Columns<'a> {
    Wanted(&'a mut [u32]),
    Known(&'a [u32]),
}

impl<T: Numeric> Computation for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let position = |row: usize| (self.pos[row] - self.pos[self.rows.start]) as usize;
        let Work { sums, plan } = self.again;
        let is_narrow = Accumulator::fits(self.factors);
        let mut row = self.rows.start;
        while row < self.rows.end {
            let end = end_of_run(self.repeats, row, self.rows.end);
            let entries = position(row)..position(end);
            if let Columns::Wanted(crd) = &mut self.columns
                && end == row + 1
                && self.factors.count_in_order(row, sums.is_ahead).is_some()
            {
                let made = (&mut crd[entries.clone()], &mut self.vals[entries]);
                self.factors.fill_in_order(row, made);
                row = end;
                continue;
            }
            if is_narrow && end == row + 1 {
                let vals = &mut self.vals[entries.clone()];
                match &mut self.columns {
                    Columns::Wanted(crd) => sums.fill(self.factors, row, (&mut crd[entries], vals)),
                    Columns::Known(crd) => sums.fill_at(self.factors, row, &crd[entries], vals),
                }
                row = end;
                continue;
            }
            match &mut self.columns {
                Columns::Wanted(crd) => {
                    plan.make(self.factors, row);
                    plan.write_columns(&mut crd[entries.clone()]);
                }
                Columns::Known(crd) => {
                    plan.find(self.factors, row, &crd[position(row)..position(row + 1)]);
                }
            }
            add(self.factors, row..end, &plan.slots, &mut self.vals[entries]);
            row = end;
        }
    }
}

/// The sums of some rows that have one plan.
#[inline(always)]
fn add<T: Numeric>(
    Factors { left, right, .. }: Factors<'_, T>,
    rows: Range<usize>,
    plan: &[u32],
    vals: &mut [T],
) {
    let len = vals.len() / rows.len();
    for (number, row) in rows.enumerate() {
        let sums = &mut vals[number * len..(number + 1) * len];
        sums.fill(T::ZERO);
        let mut slots = plan;
        let entries = left.entries(row);
        for (&k, &factor) in left.crd[entries.clone()].iter().zip(&left.vals[entries]) {
            let values = right.values(k as usize);
            let (of_row, rest) = slots.split_at(values.len());
            slots = rest;
            for (&value, &slot) in values.iter().zip(of_row) {
                let sum = &mut sums[slot as usize];
                *sum = factor.times_plus(value, *sum);
            }
        }
    }
}

/// Where the rows end that are planned as `row` is.
fn end_of_run(repeats: &[bool], row: usize, end: usize) -> usize {
    let more = repeats[row + 1..end].iter().take_while(|&&is| is).count();
    row + 1 + more
}

/// Where the products that make a row of the product go.
#[derive(Default)]
struct Plan {
    table: Table,
    /// The columns of the row, ascending.
    columns: Vec<u32>,
    /// For each product, in the order of summation, the number of its column among these.
    slots: Vec<u32>,
    /// Columns with their numbers in the table.
    order: Vec<u64>,
    rank: Vec<u32>,
}

impl Plan {
    /// The number of entries of a row.
    fn count<T: Numeric>(&mut self, factors: Factors<'_, T>, row: usize) -> u64 {
        self.table.clear(factors.products(row).min(factors.n_cols));
        factors.columns(row).for_each(|column| {
            self.table.number(column);
        });
        self.table.columns.len() as u64
    }

    /// The plan of a row.
    fn make<T: Numeric>(&mut self, factors: Factors<'_, T>, row: usize) {
        self.number(factors, row);
        let numbered = self.table.columns.iter().enumerate();
        self.order.clear();
        self.order
            .extend(numbered.map(|(number, &column)| u64::from(column) << 32 | number as u64));
        self.order.sort_unstable();
        self.columns.clear();
        self.columns
            .extend(self.order.iter().map(|word| (word >> 32) as u32));
        self.rank.resize(self.order.len(), 0);
        for (rank, word) in self.order.iter().enumerate() {
            self.rank[*word as u32 as usize] = rank as u32;
        }
        for slot in &mut self.slots {
            *slot = self.rank[*slot as usize];
        }
    }

    /// Writes the columns of rows that have this plan, each moved by one from the one before.
    fn write_columns(&self, crd: &mut [u32]) {
        let rows = crd.chunks_exact_mut(self.columns.len().max(1));
        for (moved, row) in rows.enumerate() {
            for (column, first) in row.iter_mut().zip(&self.columns) {
                *column = first + moved as u32;
            }
        }
    }

    /// The plan of a row whose columns are known.
    fn find<T: Numeric>(&mut self, factors: Factors<'_, T>, row: usize, columns: &[u32]) {
        self.table.clear(columns.len());
        for &column in columns {
            self.table.number(column);
        }
        self.slots.clear();
        self.slots
            .extend(factors.columns(row).map(|column| self.table.number(column)));
    }

    /// The columns of the products, numbered in the order in which they occur.
    fn number<T: Numeric>(&mut self, factors: Factors<'_, T>, row: usize) {
        self.table.clear(factors.products(row).min(factors.n_cols));
        self.slots.clear();
        self.slots
            .extend(factors.columns(row).map(|column| self.table.number(column)));
    }
}

/// A hash table that numbers columns in the order in which they occur first.
#[derive(Default)]
struct Table {
    /// A column and its number, or `FREE`.
    places: Vec<u64>,
    /// One less than the first places that are used, a power of two, of which at most half are
    /// taken: a table that a long row has made large is small again for the rows that follow, which
    /// find it in the cache.
    mask: usize,
    taken: Vec<u32>,
    columns: Vec<u32>,
}

/// No column is as large.
const FREE: u64 = u64::MAX;

impl Table {
    /// Forgets all columns, and makes room for `most`.
    fn clear(&mut self, most: usize) {
        let wanted = (2 * most).next_power_of_two().max(16);
        if self.places.len() < wanted {
            self.places.clear();
            self.places.resize(wanted, FREE);
        } else {
            for &place in &self.taken {
                self.places[place as usize] = FREE;
            }
        }
        self.mask = wanted - 1;
        self.taken.clear();
        self.columns.clear();
    }

    /// The number of a column.
    #[inline(always)]
    fn number(&mut self, column: u32) -> u32 {
        // Knuth's multiplicative hash: the bits of the golden ratio.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mask = self.mask;
        let mut place = (u64::from(column).wrapping_mul(GOLDEN) >> 32) as usize & mask;
        loop {
            let found = self.places[place];
            if found >> 32 == u64::from(column) && found != FREE {
                return found as u32;
            }
            if found == FREE {
                let number = self.columns.len() as u32;
                self.places[place] = u64::from(column) << 32 | u64::from(number);
                self.taken.push(place as u32);
                self.columns.push(column);
                return number;
            }
            place = (place + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::rows::LocalRows;
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
    use std::collections::BTreeMap;

    /// Rows with entries at some of these places; every third row is the one before, moved.
    fn rows(n_rows: usize, n_cols: u32, draws: &[u32]) -> LocalRows<f64> {
        let mut rows = LocalRows::with_capacity(n_rows, 0);
        for row in 0..n_rows {
            let before = rows.pos[row.saturating_sub(1)] as usize..rows.crd.len();
            let before = rows.crd[before].to_vec();
            let is_moved = row % 3 == 2 && before.iter().all(|column| column + 1 < n_cols);
            let columns: Vec<u32> = match is_moved {
                true => before.iter().map(|column| column + 1).collect(),
                false => {
                    let draw = draws[row % draws.len()];
                    (0..n_cols)
                        .filter(|column| draw >> (column % 31) & 1 == 1)
                        .collect()
                }
            };
            for column in columns {
                rows.push(column, f64::from(1 + row as u32) - 0.5 * f64::from(column));
            }
            rows.end_row();
        }
        rows
    }

    #[test]
    fn a_table_is_small_again_after_a_long_row() {
        let mut table = Table::default();
        for (most, places) in [(3, 16), (5000, 16_384), (9, 32), (5000, 16_384), (0, 16)] {
            table.clear(most);
            assert_eq!(table.mask + 1, places);
            let columns = || (0..most as u32).map(|column| 77 * column + 5);
            for again in 0..2 {
                let numbers: Vec<u32> = columns().map(|column| table.number(column)).collect();
                assert!(numbers.into_iter().eq(0..most as u32), "{most} {again}");
            }
            assert!(table.columns.iter().copied().eq(columns()));
        }
    }

    /// Each entry summed over ascending k with one fused multiply-add each.
    fn expected(left: &LocalRows<f64>, right: &LocalRows<f64>) -> LocalRows<f64> {
        let (left, right) = (left.as_rows(), right.as_rows());
        let mut product = LocalRows::with_capacity(left.len(), 0);
        for row in 0..left.len() {
            let mut sums = BTreeMap::new();
            for (k, factor) in left.row(row) {
                for (column, value) in right.row(k as usize) {
                    let sum = sums.entry(column).or_insert(0.0);
                    *sum = f64::mul_add(factor, value, *sum);
                }
            }
            sums.into_iter()
                .for_each(|(column, sum)| product.push(column, sum));
            product.end_row();
        }
        product
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn products_have_the_bits_of_the_definition(
            (n_rows, n_inner, n_cols) in (1usize..50, 1usize..30, 1u32..40),
            draws in proptest::collection::vec(0u32..u32::MAX, 1..7),
        ) {
            let left = rows(n_rows, n_inner as u32, &draws);
            let right = rows(n_inner, n_cols, &draws);
            let (left_rows, right_rows) = (left.as_rows(), right.as_rows());
            // Narrow enough to be found among marks, to be sorted, and too wide for sums of all.
            let widths = [n_cols as usize, 1 << 12, 1 << 22];
            let factors = widths.map(|n_cols| Factors { left: left_rows, right: right_rows, n_cols });
            let on = [1, 3].map(Threads::new);
            for (&factors, threads) in factors.iter().flat_map(|of| on.iter().map(move |on| (of, on))) {
                for isa in Isa::available() {
                    let mut pos = vec![0; n_rows + 1];
                    let repeats = count(threads, factors, &mut pos).unwrap();
                    let len = pos[n_rows] as usize;
                    let (mut crd, mut vals) = (vec![0; len], vec![0.0; len]);
                    fill((threads, isa), factors, &repeats, &pos, (&mut crd, &mut vals));
                    let mut again = vec![0.0; len];
                    recompute((threads, isa), factors, &repeats, (&pos, &crd), &mut again);
                    prop_assert_eq!(&vals, &again);
                    prop_assert_eq!(LocalRows { pos, crd, vals }, expected(&left, &right));
                }
            }
        }
    }
}
