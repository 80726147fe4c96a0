//! Gauss-Jordan elimination of a dense matrix, some columns at a time.
//!
//! Eliminating with a row changes all of the matrix, which for thousands of rows is far larger than
//! the caches. So the columns of a panel are eliminated first, alone; what this does to all rows is
//! a matrix T with a column for each pivot, and the other columns follow by one product with it:
//! the rows with the pivots, `B`, become `T B`, and each other row has its part of `T B` added.
//! That is 2 n^3 operations, as always, but nearly all of them in products of matrices.

use super::square::square;
use sparsefuse_kernels::isa::{Computation, Isa};
use sparsefuse_kernels::matmul::{self, Matrix};
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::{Error, try_collect};
use sparsefuse_sparse::{Threads, parallel};
use std::iter::repeat_n;
use std::ops::Range;

/// Columns of a panel.
const PANEL: usize = 64;
/// Rows that a thread multiplies at a time.
const ROWS: usize = 192;

/// What eliminates: threads and their instruction set.
pub(super) type Machine<'a> = (&'a Threads, Isa);

/// What stands in the place of the columns that have a pivot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those of the inverse, with its columns and rows in another order; the first column without a
    /// pivot ends the elimination.
    Inverse,
    /// Unit vectors.
    ReducedRows,
}

/// Where elimination has found pivots.
#[derive(Debug, Default)]
pub(super) struct Pivots {
    /// The columns with a pivot, which is in the row of their place here.
    pub(super) columns: Vec<usize>,
    /// For each of these rows, the one that it was exchanged with.
    pub(super) swaps: Vec<usize>,
    /// The columns without.
    pub(super) free: Vec<usize>,
}

/// Eliminates in a row-major matrix with `n` rows and columns, with pivots searched within each
/// column, which must exceed what `least` says for it.
///
/// # Errors
///
/// If there is no memory for three panels.
pub(super) fn eliminate<W: Field>(
    machine: Machine<'_>,
    n: usize,
    a: &mut [W],
    least: &[f64],
    wanted: Wanted,
) -> Result<Pivots, Error> {
    let mut pivots = Pivots::default();
    for first in (0..n).step_by(PANEL) {
        let columns = first..n.min(first + PANEL);
        let n_before = pivots.columns.len();
        let mut panel = Panel::of(n, a, columns.clone(), n_before)?;
        machine.1.run(Elimination {
            panel: &mut panel,
            least: &least[columns.clone()],
            wanted,
            pivots: &mut pivots,
        });
        if wanted == Wanted::Inverse && !pivots.free.is_empty() {
            break;
        }
        for (row, &other) in (n_before..).zip(&pivots.swaps[n_before..]) {
            swap_rows(n, a, row, other);
        }
        if columns.len() < n && panel.n_pivots > 0 {
            panel.apply(machine, a)?;
        }
        panel.put_back(a, wanted);
    }
    Ok(pivots)
}

/// Some columns of a matrix while they are eliminated.
struct Panel<W> {
    /// The columns of the matrix.
    columns: Range<usize>,
    /// Their elements, row by row.
    values: Vec<W>,
    /// T, as many columns, of which those are there that have had a pivot.
    transform: Vec<W>,
    /// The first row that had no pivot yet, and how many have got one here.
    first_row: usize,
    n_pivots: usize,
}

impl<W: Field> Panel<W> {
    fn of(n: usize, a: &[W], columns: Range<usize>, first_row: usize) -> Result<Self, Error> {
        let width = columns.len();
        let place = |k: usize| k / width * n + columns.start + k % width;
        Ok(Self {
            values: try_collect((0..n * width).map(|k| a[place(k)]))?,
            transform: try_collect(repeat_n(W::ZERO, n * width))?,
            columns,
            first_row,
            n_pivots: 0,
        })
    }

    /// The row from `first` on with the largest element of a column.
    #[inline(always)]
    fn largest(&self, first: usize, column: usize) -> Option<(usize, f64)> {
        let rows = self.values.chunks_exact(self.columns.len()).enumerate();
        let sizes = rows
            .skip(first)
            .map(|(row, values)| (row, square(values[column])));
        let larger = |best: (usize, f64), next: (usize, f64)| match next.1 > best.1 {
            true => next,
            false => best,
        };
        sizes.reduce(larger).map(|(row, size)| (row, size.sqrt()))
    }

    /// Eliminates a column with the pivot in row `found`, which becomes that of the next pivot.
    #[inline(always)]
    fn eliminate(&mut self, column: usize, found: usize) {
        let (width, row, number) = (
            self.columns.len(),
            self.first_row + self.n_pivots,
            self.n_pivots,
        );
        swap_rows(width, &mut self.values, row, found);
        swap_rows(width, &mut self.transform, row, found);
        self.n_pivots += 1;
        let factor = W::ONE / self.values[row * width + column];
        self.transform[row * width + number] = W::ONE;
        let mut of_pivot = [[W::ZERO; PANEL]; 2];
        for (copy, all) in of_pivot
            .iter_mut()
            .zip([&mut self.values, &mut self.transform])
        {
            let elements = &mut all[row * width..][..width];
            scale(elements, factor);
            copy[..width].copy_from_slice(elements);
        }
        let [values, transform] = &of_pivot;
        let rows = self.values.chunks_exact_mut(width);
        let rows = rows.zip(self.transform.chunks_exact_mut(width)).enumerate();
        for (other, (of_values, of_transform)) in rows {
            let factor = of_values[column];
            if other != row && factor != W::ZERO {
                subtract(of_values, factor, &values[..width]);
                subtract(&mut of_transform[..=number], factor, &transform[..=number]);
            }
        }
    }

    /// Does to all columns of the matrix what has been done to these.
    fn apply(&self, (threads, isa): Machine<'_>, a: &mut [W]) -> Result<(), Error> {
        let width = self.columns.len();
        let n = self.values.len() / width;
        let with_pivots = self.first_row..self.first_row + self.n_pivots;
        let pivot_rows = &mut a[with_pivots.start * n..with_pivots.end * n];
        let b = try_collect(pivot_rows.iter().copied())?;
        pivot_rows.fill(W::ZERO);
        let b = Matrix::of_rows(&b, [self.n_pivots, n]);
        let transform = Matrix {
            strides: [width as isize, 1],
            ..Matrix::of_rows(&self.transform, [n, self.n_pivots])
        };
        let work = a.chunks_mut(ROWS * n).enumerate();
        let done = parallel::map_with(
            threads,
            work,
            || (Vec::new(), Vec::new()),
            |(made, workspace), (number, rows)| {
                let n_rows = rows.len() / n;
                let needed = matmul::workspace::<W>(isa, [n_rows, n, self.n_pivots]);
                lengthen(made, rows.len())?;
                lengthen(workspace, needed)?;
                let made = &mut made[..rows.len()];
                let factor = transform.rows(number * ROWS, n_rows);
                matmul::product(isa, factor, b, made, &mut workspace[..needed]);
                for (value, &made) in rows.iter_mut().zip(&*made) {
                    *value += made;
                }
                Ok::<(), Error>(())
            },
        );
        done.into_iter().collect()
    }

    /// Writes the columns to their places in the matrix.
    fn put_back(&self, a: &mut [W], wanted: Wanted) {
        let width = self.columns.len();
        let from = match wanted {
            Wanted::Inverse => &self.transform,
            Wanted::ReducedRows => &self.values,
        };
        let n = from.len() / width;
        for (row, elements) in a.chunks_exact_mut(n).zip(from.chunks_exact(width)) {
            row[self.columns.clone()].copy_from_slice(elements);
        }
    }
}

/// The elimination of a panel.
struct Elimination<'a, W> {
    panel: &'a mut Panel<W>,
    least: &'a [f64],
    wanted: Wanted,
    pivots: &'a mut Pivots,
}

impl<W: Field> Computation for Elimination<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panel, pivots, .. } = self;
        for (column, &least) in self.least.iter().enumerate() {
            let first = panel.first_row + panel.n_pivots;
            let of_matrix = panel.columns.start + column;
            match panel
                .largest(first, column)
                .filter(|(_, size)| *size > least)
            {
                Some((found, _)) => {
                    panel.eliminate(column, found);
                    pivots.columns.push(of_matrix);
                    pivots.swaps.push(found);
                }
                None => {
                    pivots.free.push(of_matrix);
                    if self.wanted == Wanted::Inverse {
                        return;
                    }
                }
            }
        }
    }
}

/// Makes a list at least so long.
fn lengthen<W: Numeric>(list: &mut Vec<W>, len: usize) -> Result<(), Error> {
    if list.len() < len {
        *list = try_collect(repeat_n(W::ZERO, len))?;
    }
    Ok(())
}

fn swap_rows<W: Field>(n: usize, a: &mut [W], row: usize, other: usize) {
    for column in 0..n {
        a.swap(row * n + column, other * n + column);
    }
}

/// Multiplies elements by a number.
#[inline(always)]
pub(super) fn scale<W: Field>(elements: &mut [W], factor: W) {
    elements.iter_mut().for_each(|value| *value *= factor);
}

/// Subtracts a multiple of other elements.
#[inline(always)]
pub(super) fn subtract<W: Field>(elements: &mut [W], factor: W, others: &[W]) {
    for (value, &other) in elements.iter_mut().zip(others) {
        *value -= factor * other;
    }
}
