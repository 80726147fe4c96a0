//! Incomplete LU factorisation with a threshold.

use super::elimination::{Pivot, first_pivot};
use super::factors::Factors;
use super::upper_rows::UpperRows;
use super::{Preconditioner, check_shape, check_square};
use crate::operator::LinearOperator;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, LocalRows, RowLayout};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const OP: &str = "ilut";

/// What [`Ilut`] drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IlutOptions {
    /// Entries below this multiple of the Euclidean norm of their row of the matrix.
    pub drop_tolerance: f64,
    /// Of what is left of a row of L, and of U, all but so many of the largest; the diagonal is
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
/// Saad (1994); *Iterative Methods for Sparse Linear Systems*, 2nd edition, Algorithm 10.10. There
/// is no pivoting: a pivot that is 0 or not finite is an error. Of entries of equal magnitude that
/// with the lower column is kept. Holds the entries of L and U (at most 2 p + 1 a row) and the inverse of
/// U's diagonal; an application costs about as much as two products with as many entries.
///
/// New values are a fresh start and cost as much, since what is dropped depends on them and the
/// elimination is almost all of the work; any structure will do.
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
    entries: usize,
    factors: Factors<T>,
}

impl<T: Field> Ilut<T> {
    /// The factorisation of a square matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the tolerance is negative or not a number, a pivot is 0 or not
    /// finite, or the computation of the values failed.
    pub fn new(a: &Csr<T>, options: IlutOptions) -> Result<Self, Error> {
        check_square(OP, a)?;
        if !(options.drop_tolerance >= 0.0) {
            let found = options.drop_tolerance.to_string();
            return Err(Error::argument(OP, "a drop tolerance of at least 0", found));
        }
        let layout = RowLayout::of(a)?;
        let (_, rows) = a.local_rows()?;
        let (rows, pivot) = factor(&layout, &rows, options)?;
        if let Some(pivot) = first_pivot(&layout, pivot)? {
            return Err(pivot.error(OP));
        }
        Ok(Self {
            options,
            entries: rows.crd.len(),
            factors: Factors::of_rows(&layout, &rows)?,
        })
    }

    /// The entries of L and U on this rank, the ones of L's diagonal not counted.
    #[must_use]
    pub fn local_entries(&self) -> usize {
        self.entries
    }
}

impl<T: Field> LinearOperator<T> for Ilut<T> {
    fn shape(&self) -> (usize, usize) {
        (self.factors.n_rows(), self.factors.n_rows())
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.factors.solve(r)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.factors.solve_adjoint(r)
    }
}

impl<T: Field> Preconditioner<T> for Ilut<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_shape(OP, self.shape(), a)?;
        *self = Self::new(a, self.options)?;
        Ok(())
    }
}

/// L and U in the same rows, up to the first pivot of this rank that cannot be divided by.
fn factor<T: Field>(
    layout: &RowLayout,
    rows: &LocalRows<T>,
    options: IlutOptions,
) -> Result<(LocalRows<T>, Option<Pivot<T>>), Error> {
    let mut upper = UpperRows::receive(layout)?;
    let mut factored = LocalRows::with_capacity(rows.pos.len(), rows.crd.len());
    let mut work = Row::new(layout.n_rows());
    let mut failed = None;
    for (number, row) in layout.rows().enumerate() {
        let entries = rows.pos[number] as usize..rows.pos[number + 1] as usize;
        let entries = (&rows.crd[entries.clone()], &rows.vals[entries]);
        let norm = entries
            .1
            .iter()
            .map(|value| value.magnitude().to_f64().powi(2));
        let limit = options.drop_tolerance * norm.sum::<f64>().sqrt();
        work.fill(row, entries);
        work.eliminate(&upper, limit);
        let pivot = work.values[row];
        if failed.is_none() && !is_pivot(pivot) {
            failed = Some(Pivot { row, value: pivot });
        }
        work.finish(row, (limit, options.fill), &mut factored, &mut upper);
    }
    upper.hand_on(layout)?;
    Ok((factored, failed))
}

fn is_pivot<T: Field>(value: T) -> bool {
    let (re, im) = value.parts();
    value != T::ZERO && re.is_finite() && im.is_finite()
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
    fn new(n_cols: usize) -> Self {
        Self {
            values: vec![T::ZERO; n_cols],
            is_entry: vec![false; n_cols],
            ahead: BinaryHeap::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            row: 0,
        }
    }

    fn fill(&mut self, row: usize, (columns, values): (&[u32], &[T])) {
        self.row = row;
        for (&column, &value) in columns.iter().zip(values) {
            self.add(column, value);
        }
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
        self.values[place] = self.values[place] + value;
    }

    /// Subtracts multiples of finished rows in the order of the columns; factors below the limit are
    /// dropped.
    fn eliminate(&mut self, finished: &UpperRows<T>, limit: f64) {
        while let Some(Reverse(column)) = self.ahead.pop() {
            let place = column as usize;
            let (columns, values) = finished.row(place);
            let factor = self.values[place] / values[0];
            if !(factor.magnitude().to_f64() >= limit) || factor == T::ZERO {
                self.clear(column);
                continue;
            }
            for (&column, &value) in columns.iter().zip(values).skip(1) {
                self.add(column, -(factor * value));
            }
            self.values[place] = factor;
            self.lower.push(column);
        }
    }

    /// Appends what is kept to the factors, and leaves the row empty.
    fn finish(
        &mut self,
        row: usize,
        (limit, fill): (f64, usize),
        factored: &mut LocalRows<T>,
        finished: &mut UpperRows<T>,
    ) {
        let lower = std::mem::take(&mut self.lower);
        for column in self.largest(lower, 0.0, fill) {
            factored.push(column, self.values[column as usize]);
            self.clear(column);
        }
        let pivot = std::mem::replace(&mut self.values[row], T::ZERO);
        factored.push(row as u32, pivot);
        finished.push(row as u32, pivot);
        let upper = std::mem::take(&mut self.upper);
        for column in self.largest(upper, limit, fill) {
            factored.push(column, self.values[column as usize]);
            finished.push(column, self.values[column as usize]);
            self.clear(column);
        }
        factored.end_row();
        finished.end_row();
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
