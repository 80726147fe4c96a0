//! The product of two sparse matrices, in two phases after Gustavson.
//!
//! F. G. Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted
//! transposition" (ACM TOMS 4, 1978): row `i` of `C = A B` is the sum of the rows `k` of `B`, each
//! times `a[i, k]`. The first phase counts the entries of the rows of `C`, the second fills them.
//! Each `c[i, j]` is summed over ascending `k` with one fused multiply-add each, from zero, so its
//! bits depend on nothing else.
//!
//! Where a row of `C` is to be planned, a hash table numbers its columns; the plan says for each
//! product where its sum is. Rows of stencils repeat: row `i` of `A` is row `i - 1` moved by one
//! column, and so are the rows of `B` that it meets. Then row `i` of `C` is row `i - 1` moved by
//! one column, and its plan is the same; finding that out takes one look at each entry of `A` and
//! `B`.
//!
//! Moves, per product, 4 bytes of columns and an element from the caches, and writes each entry of
//! `C` once. Rows of `B` that other ranks own are fetched once, together.

use crate::assemble;
use crate::at_once::at_once;
use crate::csr::Csr;
use crate::ghosts::{self, Ghosts};
use crate::parallel;
use crate::rows::{OwnRows, Rows};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Computation;
use sparsefuse_runtime::{Error, Runtime, Shape};
use std::borrow::Cow;
use std::ops::Range;

/// A product of two sparse matrices that keeps what depends on their structures alone, so that it
/// is computed again quickly when only values change.
///
/// It holds the factors, the product, a byte for each row, and on several ranks the
/// structure of the rows of the right factor that the others own.
///
/// ```
/// use sparsefuse_sparse::{Csr, Multiplication, gallery};
///
/// let a = gallery::poisson1d::<f64>(4)?;
/// let mut square = Multiplication::new(&a, &a)?;
/// assert_eq!(square.product().to_ndarray()?.row(0).to_vec(), [5.0, -4.0, 1.0, 0.0]);
///
/// let twice = a.scale(2.0);
/// square.update(&twice, &a)?;
/// assert_eq!(square.product().to_ndarray()?.row(0).to_vec(), [10.0, -8.0, 2.0, 0.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Multiplication<T> {
    left: Csr<T>,
    right: Csr<T>,
    foreign: Option<Foreign>,
    /// Whether a row of the product is the one before, moved by one column.
    repeats: Vec<bool>,
    product: Csr<T>,
}

/// The rows of the right factor that this rank's rows of the left one meet, where some of them are
/// on other ranks.
#[derive(Clone, Debug)]
struct Foreign {
    ghosts: Ghosts,
    /// The columns of the left factor, as numbers of these rows.
    left_crd: Vec<u32>,
    pos: Vec<u64>,
    crd: Vec<u32>,
}

impl<T: Numeric> Csr<T> {
    /// The product of two sparse matrices. Executes the window; works on all threads.
    ///
    /// An entry whose terms cancel is stored, as a 0. [`Multiplication`] computes the product
    /// again when values have changed.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let b = Csr::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![4.0, 5.0])?;
    /// let c = a.multiply(&b)?;
    /// assert_eq!(c.to_ndarray()?, ndarray::array![[10.0, 4.0], [15.0, 0.0]]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the right factor has not as many rows as this one has columns, the computation of the
    /// values failed, or memory runs out.
    pub fn multiply(&self, right: &Self) -> Result<Self, Error> {
        Ok(Multiplication::new(self, right)?.product)
    }
}

impl<T: Numeric> Multiplication<T> {
    /// The product of two matrices, and what it takes to compute it again.
    ///
    /// # Errors
    ///
    /// As [`Csr::multiply`].
    pub fn new(left: &Csr<T>, right: &Csr<T>) -> Result<Self, Error> {
        if left.n_cols() != right.n_rows() {
            let expected = format!("a right factor with {} rows", left.n_cols());
            let found = format!("one with {}", right.n_rows());
            return Err(Error::argument("spgemm", expected, found));
        }
        at_once("spgemm", &[left, right], || Self::made(left, right))
    }

    fn made(left: &Csr<T>, right: &Csr<T>) -> Result<Self, Error> {
        let runtime = left.runtime();
        let (a, b) = (left.own_rows()?, right.own_rows()?);
        let foreign = Foreign::find(runtime, (&a, left.n_cols()), &b)?;
        let foreign_vals = Foreign::vals(&foreign, &b)?;
        let factors = Factors::new(&a, &b, foreign.as_ref(), &foreign_vals);
        let mut pos = assemble::Positions::room(runtime, factors.left.len())?;
        let repeats = count(runtime, factors, &mut pos);
        let shape = (left.n_rows(), right.n_cols());
        let own = (a.partition, a.rows.clone());
        let product = assemble::filled(runtime, shape, own, pos, |pos, crd, vals| {
            fill(runtime, factors, &repeats, pos, (crd, vals));
        })?;
        Ok(Self {
            left: left.clone(),
            right: right.clone(),
            foreign,
            repeats,
            product,
        })
    }

    /// The product.
    #[must_use]
    pub fn product(&self) -> &Csr<T> {
        &self.product
    }

    /// Computes the product again, for factors with the same structures and perhaps other values.
    /// Every rank must ask.
    ///
    /// # Errors
    ///
    /// If a structure is another one, the computation of the values failed, or memory runs out.
    pub fn update(&mut self, left: &Csr<T>, right: &Csr<T>) -> Result<&Csr<T>, Error> {
        let is_same = left.has_structure_of(&self.left)? && right.has_structure_of(&self.right)?;
        if !is_same {
            let expected = "factors with the structures of the first ones";
            return Err(Error::argument("spgemm", expected, "other structures"));
        }
        let values = || self.values(left, right);
        let vals = at_once("spgemm_numeric", &[left, right, &self.product], values)?;
        self.product = self.product.with_values(vals)?;
        // The values of the old ones are not kept alive.
        (self.left, self.right) = (left.clone(), right.clone());
        Ok(&self.product)
    }

    /// The values of the product of such factors.
    fn values(&self, left: &Csr<T>, right: &Csr<T>) -> Result<Vector<T>, Error> {
        let runtime = left.runtime();
        let (a, b) = (left.own_rows()?, right.own_rows()?);
        let foreign_vals = Foreign::vals(&self.foreign, &b)?;
        let factors = Factors::new(&a, &b, self.foreign.as_ref(), &foreign_vals);
        let old = self.product.own_rows()?;
        let Rows { pos, crd, .. } = old.as_rows();
        let partition = runtime.local::<u32>(self.product.crd())?.partition();
        let shape = Shape::new(&[self.product.nnz()]);
        let store = runtime.store_by_filling(shape, partition, |vals| {
            recompute(runtime, factors, &self.repeats, (pos, crd), vals);
            Ok(())
        });
        Vector::from_store(runtime.agree(store)?, None)
    }
}

impl Foreign {
    /// Finds and fetches the structure of the rows of the right factor; `None` if this rank and
    /// all others hold what they need.
    fn find<T: Numeric>(
        runtime: &Runtime,
        (left, n_cols): (&OwnRows<T>, usize),
        right: &OwnRows<T>,
    ) -> Result<Option<Self>, Error> {
        if runtime.cuts(right.partition).is_none() || runtime.ranks() == 1 {
            return Ok(None);
        }
        let columns = left.as_rows().crd;
        let needed = ghosts::distinct(columns, n_cols);
        let ghosts = Ghosts::new(runtime, right.partition, needed)?;
        let (pos, crd) = ghosts.structure(right.as_rows())?;
        Ok(Some(Self {
            left_crd: ghosts.numbers(columns),
            ghosts,
            pos,
            crd,
        }))
    }

    /// The values of these rows.
    fn vals<T: Numeric>(foreign: &Option<Self>, right: &OwnRows<T>) -> Result<Vec<T>, Error> {
        let rows = right.as_rows();
        match foreign {
            Some(foreign) => foreign.ghosts.fetch_entries(rows.pos, rows.vals),
            None => Ok(Vec::new()),
        }
    }
}

/// What a rank multiplies: its rows of the left factor, whose columns are numbers of the rows of
/// the right one.
#[derive(Clone, Copy)]
struct Factors<'a, T> {
    left: Rows<'a, T>,
    right: Rows<'a, T>,
}

impl<'a, T: Numeric> Factors<'a, T> {
    fn new(
        left: &'a OwnRows<T>,
        right: &'a OwnRows<T>,
        foreign: Option<&'a Foreign>,
        foreign_vals: &'a [T],
    ) -> Self {
        match foreign {
            None => Self {
                left: left.as_rows(),
                right: right.as_rows(),
            },
            Some(foreign) => Self {
                left: Rows {
                    crd: &foreign.left_crd,
                    ..left.as_rows()
                },
                right: Rows {
                    pos: &foreign.pos,
                    crd: &foreign.crd,
                    vals: foreign_vals,
                },
            },
        }
    }

    /// The number of products that make a row.
    fn products(&self, row: usize) -> usize {
        let columns = self.left.columns(row).iter();
        columns.map(|&k| self.right.entries(k as usize).len()).sum()
    }

    /// The columns of the products that make a row, in the order in which they are summed.
    fn columns(&self, row: usize) -> impl Iterator<Item = u32> + 'a {
        let right = self.right;
        let rows = self.left.columns(row).iter();
        rows.flat_map(move |&k| right.columns(k as usize).iter().copied())
    }
}

/// The first phase: finds the positions of the rows of the product, the first of which is there,
/// and which of the rows repeat.
fn count<T: Numeric>(runtime: &Runtime, factors: Factors<'_, T>, pos: &mut [u64]) -> Vec<bool> {
    let (left, right) = (factors.left, factors.right);
    let of_left = repeats(runtime, left);
    let of_right = match std::ptr::eq(left.crd, right.crd) && std::ptr::eq(left.pos, right.pos) {
        true => Cow::Borrowed(&of_left),
        false => Cow::Owned(repeats(runtime, right)),
    };
    let parts = parallel::parts(left.pos);
    let mut repeats = vec![false; left.len()];
    let lens = || parts.iter().map(Range::len);
    let counts_of = parallel::split(&mut pos[1..], lens());
    let repeats_of = parallel::split(&mut repeats, lens());
    let work = parts.iter().cloned().zip(counts_of).zip(repeats_of);
    parallel::each(runtime, work, |((rows, counts), repeats)| {
        let mut plan = Plan::default();
        for (number, row) in rows.enumerate() {
            let meets_repeats = || left.columns(row).iter().all(|&k| of_right[k as usize]);
            repeats[number] = number > 0 && of_left[row] && meets_repeats();
            counts[number] = match repeats[number] {
                true => counts[number - 1],
                false => plan.count(factors, row),
            };
        }
    });
    assemble::add_up(pos);
    repeats
}

/// Whether each row is the one before, moved by one column.
fn repeats<T: Numeric>(runtime: &Runtime, rows: Rows<'_, T>) -> Vec<bool> {
    let repeats = |row: usize| {
        row > 0 && {
            let (before, now) = (rows.columns(row - 1), rows.columns(row));
            before.len() == now.len() && before.iter().zip(now).all(|(b, n)| b + 1 == *n)
        }
    };
    let parts = parallel::parts(rows.pos);
    parallel::map(runtime, parts, |part| part.map(repeats).collect::<Vec<_>>()).concat()
}

/// The second phase: columns and values.
fn fill<T: Numeric>(
    runtime: &Runtime,
    factors: Factors<'_, T>,
    repeats: &[bool],
    pos: &[u64],
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let parts = parallel::parts(factors.left.pos);
    let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
    let crds = parallel::split(crd, parts.iter().map(len));
    let vals = parallel::split(vals, parts.iter().map(len));
    let isa = runtime.config().isa;
    let work = parts.iter().cloned().zip(crds).zip(vals);
    parallel::each(runtime, work, |((rows, crd), vals)| {
        let columns = Columns::Wanted(crd);
        isa.run(Part {
            factors,
            repeats,
            rows,
            pos,
            columns,
            vals,
        });
    });
}

/// The values of a product whose structure is known.
fn recompute<T: Numeric>(
    runtime: &Runtime,
    factors: Factors<'_, T>,
    repeats: &[bool],
    (pos, crd): (&[u64], &[u32]),
    vals: &mut [T],
) {
    let parts = parallel::parts(factors.left.pos);
    let entries = |rows: &Range<usize>| {
        (pos[rows.start] - pos[0]) as usize..(pos[rows.end] - pos[0]) as usize
    };
    let vals = parallel::split(vals, parts.iter().map(|rows| entries(rows).len()));
    let isa = runtime.config().isa;
    let work = parts.iter().cloned().zip(vals);
    parallel::each(runtime, work, |(rows, vals)| {
        let columns = Columns::Known(&crd[entries(&rows)]);
        isa.run(Part {
            factors,
            repeats,
            rows,
            pos,
            columns,
            vals,
        });
    });
}

/// Some rows of the product in the second phase.
struct Part<'a, T> {
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
        let mut plan = Plan::default();
        let mut row = self.rows.start;
        while row < self.rows.end {
            let end = end_of_run(self.repeats, row, self.rows.end);
            let entries = position(row)..position(end);
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
    Factors { left, right }: Factors<'_, T>,
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
        self.table.clear(factors.products(row));
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
        self.table.clear(factors.products(row));
        self.slots.clear();
        self.slots
            .extend(factors.columns(row).map(|column| self.table.number(column)));
    }
}

/// A hash table that numbers columns in the order in which they occur first.
#[derive(Default)]
struct Table {
    /// A column and its number, or `FREE`; a power of two of places, at most half of them taken.
    places: Vec<u64>,
    taken: Vec<u32>,
    columns: Vec<u32>,
}

/// No column is as large.
const FREE: u64 = u64::MAX;

impl Table {
    /// Forgets all columns, and makes room for so many.
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
        self.taken.clear();
        self.columns.clear();
    }

    /// The number of a column.
    #[inline(always)]
    fn number(&mut self, column: u32) -> u32 {
        // Knuth's multiplicative hash: the bits of the golden ratio.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mask = self.places.len() - 1;
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
