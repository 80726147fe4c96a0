//! The transpose of a sparse matrix, and its conjugate.
//!
//! Entries are dealt out to their new rows in the order of the old ones, so each new row is sorted.
//! On several ranks each sends its entries to the ranks that own their columns as rows first.
//!
//! There are two ways, and which is taken follows from the structure and the number of threads; it
//! does not show. Where neighbouring rows have entries in neighbouring columns, as on grids and in
//! bands, new rows are written nearly in order ([`direct`]). Elsewhere each entry would touch lines
//! of memory that no cache has, so entries are dealt into blocks of new rows first: that moves 14
//! bytes of each entry one time more, of which 2 are in memory that is needed for it alone.

mod direct;

use crate::assemble::{self, Positions};
use crate::at_once::at_once;
use crate::csr::Csr;
use crate::dealing::{Blocks, ByRow};
use crate::distribute::Owners;
use crate::parallel;
use crate::rows::Rows;
use crate::sorting;
use crate::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape};
use std::borrow::Cow;
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The transpose, a new matrix. Linear in rows, columns and entries; executes the window, and
    /// works on all threads.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn transpose(&self) -> Result<Self, Error> {
        self.transposed(false)
    }

    /// The conjugate transpose, as [`Csr::transpose`]: the matrix that moves to the other side of
    /// an inner product.
    ///
    /// ```
    /// use num_complex::Complex;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let i = Complex::new(0.0, 1.0);
    /// let a = Csr::new(1, 2, vec![0, 1], vec![1], vec![i])?;
    /// let adjoint = a.adjoint()?;
    /// assert_eq!(adjoint.shape(), (2, 1));
    /// assert_eq!(adjoint.values().to_vec()?, [-i]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn adjoint(&self) -> Result<Self, Error> {
        self.transposed(true)
    }

    /// The transpose, of which all values may be conjugated. That is said by a value, and not by a
    /// function for the values, so that all that it takes is compiled once and not twice.
    fn transposed(&self, conjugates: bool) -> Result<Self, Error> {
        let map = move |value: T| match conjugates {
            true => value.conjugate(),
            false => value,
        };
        at_once("transpose", &[self], || self.turned(map))
    }

    fn turned(&self, map: impl Fn(T) -> T + Copy + Send + Sync) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let shape = (self.n_cols(), self.n_rows());
        if own.partition != Partition::Replicated {
            let entries = turned_entries(shape, own.rows.clone(), own.as_rows(), map);
            let entries = Owners::of_rows(runtime, shape.0).send(runtime, entries)?;
            return runtime.enter(|| sorting::matrix(Cow::Owned(entries)));
        }
        // Every rank holds all entries and keeps those of its columns.
        let new_own = runtime.default_rows(Shape::new(&[shape.0]));
        let turn = Turn {
            rows: own.as_rows(),
            n_cols: shape.0,
            wanted: new_own.1.clone(),
        };
        match direct::plan(runtime, turn.clone()) {
            Some(direct) => direct.matrix(runtime, new_own, map),
            None => turn.deal(runtime, new_own, map),
        }
    }
}

/// The entries of some rows, row by row, as entries of the transpose.
fn turned_entries<T: Numeric>(
    (n_cols, n_rows): (usize, usize),
    numbers: Range<usize>,
    rows: Rows<'_, T>,
    map: impl Fn(T) -> T,
) -> Triplets<T> {
    let row_of = numbers
        .enumerate()
        .flat_map(|(number, row)| std::iter::repeat_n(row as u32, rows.columns(number).len()))
        .collect();
    let vals = rows.vals.iter().map(|&value| map(value)).collect();
    Triplets::from_checked_parts(n_cols, n_rows, rows.crd.to_vec(), row_of, vals)
}

/// A transposition of all rows of a matrix, of which some columns are wanted.
#[derive(Clone)]
struct Turn<'a, T> {
    rows: Rows<'a, T>,
    n_cols: usize,
    wanted: Range<usize>,
}

impl<T: Numeric> Turn<'_, T> {
    /// The shape of the transpose.
    fn shape(&self) -> (usize, usize) {
        (self.n_cols, self.rows.len())
    }

    /// The matrix, by way of blocks of new rows.
    fn deal(
        &self,
        runtime: &Runtime,
        own: (Partition, Range<usize>),
        map: impl Fn(T) -> T + Copy + Sync + Send,
    ) -> Result<Csr<T>, Error> {
        let (rows, wanted) = (self.rows, &self.wanted);
        let blocks = Blocks::to_deal_into(wanted.len(), rows.crd.len());
        let share = (rows.len() + rows.crd.len()).div_ceil(runtime.config().threads);
        let chunks = parallel::parts_of(rows.pos, share as u64);
        let counts = blocks.count(runtime, &chunks, |chunk| {
            let columns = rows.range(chunk).crd.iter();
            columns.filter_map(|&column| number(wanted, column))
        });
        let entries = |chunk: Range<usize>| {
            chunk.flat_map(move |row| {
                let entries = rows.row(row);
                entries.filter_map(move |(column, value)| {
                    Some((number(wanted, column)?, row as u32, map(value)))
                })
            })
        };
        let lens = counts.lens();
        let len = lens.iter().sum();
        let pos = Positions::room(runtime, wanted.len())?;
        assemble::filled_with(runtime, self.shape(), own, (pos, len), |pos, crd, vals| {
            let rows = counts.deal(runtime, &chunks, entries, (&mut *crd, &mut *vals));
            let lens = || lens.iter().copied();
            let ends = blocks.rows().into_iter().map(|rows| rows.len());
            let ends = parallel::split(&mut pos[1..], ends);
            let begins = lens().scan(0, |end, len| {
                *end += len;
                Some(*end - len)
            });
            let entries = parallel::split(crd, lens())
                .into_iter()
                .zip(parallel::split(vals, lens()));
            let work = begins.zip(ends).zip(entries);
            parallel::each_with(runtime, work, ByRow::new, |by_row, ((begin, ends), to)| {
                let rows = &rows[begin..begin + to.0.len()];
                put_to_rows(by_row, (begin, ends), rows, to);
            });
        })
    }
}

/// The number of a column among those wanted.
#[inline(always)]
fn number(wanted: &Range<usize>, column: u32) -> Option<usize> {
    let number = (column as usize).wrapping_sub(wanted.start);
    (number < wanted.len()).then_some(number)
}

/// Puts the entries of a block, which begins here, to their rows within it, and tells where these
/// end.
fn put_to_rows<T: Numeric>(
    by_row: &mut ByRow<T>,
    (begin, ends): (usize, &mut [u64]),
    rows: &[u16],
    (crd, vals): (&mut [u32], &mut [T]),
) {
    let entries = rows.iter().zip(&*crd).zip(&*vals);
    by_row.put(
        ends.len(),
        rows.iter().copied(),
        entries.map(|((&row, &column), &value)| (row, column, value)),
    );
    crd.copy_from_slice(&by_row.crd);
    vals.copy_from_slice(&by_row.vals);
    for (to, end) in ends.iter_mut().zip(&by_row.ends) {
        *to = (begin + end) as u64;
    }
}

#[cfg(test)]
mod tests;
