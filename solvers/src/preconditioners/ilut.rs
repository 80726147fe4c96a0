//! Incomplete LU factorisation with a threshold.

use super::elimination::{Elimination, first_pivot, with_rows_in};
use super::factors::{Factors, applies_factors};
use super::upper_rows::UpperRows;
use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::{Factored, Pivot, Rule, has_inverse};
use crate::local::pattern::Pattern;
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, Runtime, try_collect};
use sparsefuse_sparse::{Csr, RowLayout, Rows, eager};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::repeat_n;

const OP: &str = "ilut";

/// What [`Ilut`] drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IlutOptions {
    /// Entries below this multiple of the Euclidean norm of their row of the matrix.
    pub drop_tolerance: f64,
    /// Of what is left of a row of L, and of U, all but this many of the largest; the diagonal is
    /// always kept.
    pub fill: usize,
}

impl Default for IlutOptions {
    /// 0.001 and 20.
    fn default() -> Self {
        Self {
            drop_tolerance: 1e-3,
            fill: 20,
        }
    }
}

/// ILUT(p, tau): z = U^-1 L^-1 r, where L and U have what is large.
///
/// Saad (1994); *Iterative Methods for Sparse Linear Systems*, 2nd edition, Algorithm 10.10, but
/// that entries of L are compared before they are divided by the pivot: what is kept does not
/// depend on the scale of A, or of its rows. There is no pivoting: a pivot that is 0 or not finite
/// is an error. Of entries of equal magnitude that with the lower column is kept. Holds the entries
/// of L and U (at most 2 p + 1 a row), their columns once more, and the inverse of U's diagonal; an
/// application costs about as much as two products with as many entries.
///
/// New values of the same structure are factored **on the structure of L and U that the first ones
/// have chosen**: there L U equals the new matrix, and entries of the matrix that have no place in
/// it are left out. That is several times as fast as a fresh start, but not the same: what has
/// become large where nothing is kept stays dropped, and nothing is eliminated with before it is
/// dropped. Make it anew where values change so much that others are large, or iterations grow. A
/// pivot on the kept structure that cannot be divided by and another structure are a fresh start.
///
/// On several ranks it is the factorisation of one: the ranks factor, and solve, one after the
/// other. While it factors a rank holds U of all ranks before it, and a vector of all columns.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::{Ilut, IlutOptions};
/// use sparsefuse_solvers::{Options, bicgstab_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let m = Ilut::new(&a, IlutOptions::default())?;
/// let options = Options {
///     preconditioner: Some(&m),
///     ..Options::default()
/// };
/// let solution = bicgstab_with(&a, &Vector::ones([256]), options)?;
/// assert!(solution.converged() && solution.iterations < 6);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ilut<T> {
    options: IlutOptions,
    /// The hash of the structure of the matrix.
    matrix: u64,
    /// What is kept.
    kept: Pattern,
    elimination: Elimination,
    factors: Factors<T>,
}

impl<T: Field> Ilut<T> {
    /// The factorisation of a square matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, the tolerance is negative
    /// or not a number, a pivot is 0 or not finite, or the computation of the values failed.
    pub fn new(a: &Csr<T>, options: IlutOptions) -> Result<Self, Error> {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        if !(options.drop_tolerance >= 0.0) {
            let found = options.drop_tolerance.to_string();
            return Err(Error::argument(OP, "a drop tolerance of at least 0", found));
        }
        eager(OP, &[a], || Self::factored(a, options))
    }

    fn factored(a: &Csr<T>, options: IlutOptions) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let own = a.own_rows()?;
        let (factored, pivot) = factor(&layout, own.as_rows(), options)?;
        if let Some(pivot) = first_pivot(&layout, pivot)? {
            return Err(pivot.error(OP));
        }
        let kept = layout.runtime().agree(factored.pattern())?;
        Ok(Self {
            options,
            matrix: hash(own.as_rows()),
            elimination: Elimination::new(OP, &layout, &kept, Rule::General)?,
            factors: Factors::new(&layout, factored)?,
            kept,
        })
    }

    /// The entries of L and U on this rank, the ones of L's diagonal not counted.
    #[must_use]
    pub fn local_entries(&self) -> usize {
        self.kept.n_entries()
    }

    /// L and U of a matrix on the structure that is kept; `None` if the matrix is not like the one
    /// that was factored, or there is a pivot that cannot be divided by. Every rank must ask.
    fn on_kept_structure(&self, a: &Csr<T>) -> Result<Option<Factored<T>>, Error> {
        let layout = self.elimination.layout();
        let runtime = layout.runtime();
        with_rows_in(layout, a, |rows| {
            let is_same = hash(rows) == self.matrix;
            let everywhere = runtime.all_gather(&[is_same])?;
            if !everywhere.iter().all(|is_same| is_same[0]) {
                return Ok(None);
            }
            let kept = runtime.agree(self.kept.try_copy())?;
            Ok(self.elimination.run(rows, kept, None)?.ok())
        })
    }
}

applies_factors!(Ilut solve_adjoint);

impl<T: Field> Preconditioner<T> for Ilut<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        match eager(OP, &[a], || self.on_kept_structure(a))? {
            Some(factored) => self.factors.update(factored)?,
            None => *self = Self::new(a, self.options)?,
        }
        Ok(())
    }
}

/// A hash of the structure of rows: the words one after the other, mixed as in FNV-1a.
fn hash<T: Field>(rows: Rows<'_, T>) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(29);
    let first = rows.pos()[0];
    let positions = rows.pos().iter().map(|&position| position - first);
    let columns = rows.crd().iter().map(|&column| u64::from(column));
    positions.chain(columns).fold(PRIME, mix)
}

/// L and U, up to the first pivot of this rank that cannot be divided by.
fn factor<T: Field>(
    layout: &RowLayout,
    rows: Rows<'_, T>,
    options: IlutOptions,
) -> Result<(Factored<T>, Option<Pivot<T>>), Error> {
    let mut upper = match UpperRows::receive(layout) {
        Ok(upper) => upper,
        Err(cause) => return layout.runtime().agree(Err(cause)),
    };
    let factored = factor_after(&mut upper, layout, rows, options);
    // Ranks behind one that has no memory continue with rows that are empty, and then fail too.
    upper.end_rows(layout.rows().end);
    let forwarded = upper.forward(layout);
    layout
        .runtime()
        .agree(factored.and_then(|factored| forwarded.map(|()| factored)))
}

/// The rows of this rank behind those that are finished.
fn factor_after<T: Field>(
    upper: &mut UpperRows<T>,
    layout: &RowLayout,
    rows: Rows<'_, T>,
    options: IlutOptions,
) -> Result<(Factored<T>, Option<Pivot<T>>), Error> {
    let mut factored = Factored::with_capacity(rows.len(), rows.crd().len() / 2)?;
    let mut work = Row::new(layout.n_rows())?;
    let mut failed = None;
    for (number, row) in layout.rows().enumerate() {
        let limit = options.drop_tolerance * norm(rows.values(number));
        work.fill(row, rows.row(number));
        work.eliminate(upper, limit);
        let pivot = work.values[row];
        if failed.is_none() && !has_inverse(pivot) {
            failed = Some(Pivot { row, value: pivot });
        }
        work.finish(row, (limit, options.fill), &mut factored, upper)?;
    }
    Ok((factored, failed))
}

/// The Euclidean norm of a row, of which no square overflows.
fn norm<T: Field>(values: &[T]) -> f64 {
    let sizes = || values.iter().map(|value| value.magnitude().to_f64());
    match sizes().fold(0.0, f64::max) {
        0.0 => 0.0,
        largest => {
            let squares = sizes().map(|size| (size / largest).powi(2));
            largest * squares.sum::<f64>().sqrt()
        }
    }
}

/// A row while it is eliminated.
struct Row<T> {
    /// The values of all columns.
    values: Vec<T>,
    /// Whether a column has an entry.
    is_entry: Vec<bool>,
    /// The columns below the diagonal that are still to be eliminated.
    ahead: BinaryHeap<Reverse<u32>>,
    /// Those that have been, and are kept.
    lower: Vec<u32>,
    /// The columns above the diagonal.
    upper: Vec<u32>,
    row: usize,
}

impl<T: Field> Row<T> {
    fn new(n_cols: usize) -> Result<Self, Error> {
        Ok(Self {
            values: try_collect(repeat_n(T::ZERO, n_cols))?,
            is_entry: try_collect(repeat_n(false, n_cols))?,
            ahead: BinaryHeap::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            row: 0,
        })
    }

    fn fill(&mut self, row: usize, entries: impl Iterator<Item = (u32, T)>) {
        self.row = row;
        entries.for_each(|(column, value)| self.add(column, value));
    }

    fn add(&mut self, column: u32, value: T) {
        let place = column as usize;
        if !self.is_entry[place] && place != self.row {
            self.is_entry[place] = true;
            if place < self.row {
                self.ahead.push(Reverse(column));
            } else {
                self.upper.push(column);
            }
        }
        self.values[place] += value;
    }

    /// Subtracts multiples of finished rows in the order of the columns. What is below the limit
    /// is dropped before it is divided by the pivot: a factor has no unit, the limit has that of
    /// the row.
    fn eliminate(&mut self, finished: &UpperRows<T>, limit: f64) {
        while let Some(Reverse(column)) = self.ahead.pop() {
            let place = column as usize;
            let (columns, values) = finished.row(place);
            // A rank that has no memory ends its rows without entries.
            let Some(&pivot) = values.first() else {
                self.clear(column);
                continue;
            };
            let value = self.values[place];
            if !(value.magnitude().to_f64() >= limit) || value == T::ZERO {
                self.clear(column);
                continue;
            }
            let factor = value.over(pivot);
            for (&column, &value) in columns.iter().zip(values).skip(1) {
                self.add(column, -(factor * value));
            }
            // It is divided when it is kept: what is kept has no unit, what is compared has that of
            // the row.
            self.lower.push(column);
        }
    }

    /// Appends what is kept to the factors, and leaves the row empty.
    fn finish(
        &mut self,
        row: usize,
        (limit, fill): (f64, usize),
        factored: &mut Factored<T>,
        finished: &mut UpperRows<T>,
    ) -> Result<(), Error> {
        let Factored {
            lower,
            upper,
            pivots,
            inverse,
        } = factored;
        lower.try_reserve(self.lower.len())?;
        upper.try_reserve(self.upper.len())?;
        finished.try_reserve(1 + self.upper.len())?;
        let columns = std::mem::take(&mut self.lower);
        for column in self.largest(columns, 0.0, fill) {
            // A row that has eliminated has a pivot.
            let pivot = finished.row(column as usize).1[0];
            lower.push(column, self.values[column as usize].over(pivot));
            self.clear(column);
        }
        lower.end_row();
        let pivot = std::mem::replace(&mut self.values[row], T::ZERO);
        pivots.push(pivot);
        inverse.push(T::ONE.over(pivot));
        finished.push(row as u32, pivot);
        let columns = std::mem::take(&mut self.upper);
        let columns = self.largest(columns, limit, fill);
        for &column in columns.iter().rev() {
            upper.push(column, self.values[column as usize]);
        }
        upper.end_row();
        for column in columns {
            finished.push(column, self.values[column as usize]);
            self.clear(column);
        }
        finished.end_row();
        Ok(())
    }

    /// Of some columns those with the `most` largest values of at least `limit`, ascending; the
    /// others are cleared.
    fn largest(&mut self, mut columns: Vec<u32>, limit: f64, most: usize) -> Vec<u32> {
        let magnitude = |column: u32| self.values[column as usize].magnitude().to_f64();
        columns.sort_by(|&a, &b| magnitude(b).total_cmp(&magnitude(a)).then(a.cmp(&b)));
        let is_large = |&column: &u32| magnitude(column) >= limit && magnitude(column) > 0.0;
        let kept = columns
            .iter()
            .take(most)
            .take_while(|c| is_large(c))
            .count();
        for column in columns.split_off(kept) {
            self.clear(column);
        }
        columns.sort_unstable();
        columns
    }

    fn clear(&mut self, column: u32) {
        self.values[column as usize] = T::ZERO;
        self.is_entry[column as usize] = false;
    }
}
