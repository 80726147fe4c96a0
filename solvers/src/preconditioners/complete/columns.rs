//! Systems for the columns of a matrix, some of them together: they are brought into blocks, which
//! the threads of a rank share, and from there to the rows that the rank has. The blocks are the
//! same on any number of threads and ranks.

use super::{Complete, Precision, complex_solve, real_solve};
use crate::preconditioners::system::System;
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, HostArgs, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// The most columns that are in memory a second time.
const COLUMNS: usize = 64;
/// How a block is solved for in place: what it holds, how many columns, and which system.
type Solve<'s, E> = &'s (dyn Fn(&mut [E], usize) -> Result<(), Error> + Sync);

impl<T: Field> Complete<T> {
    /// Solves for the columns of `b`, which has `n_columns` and is stored row by row, and writes
    /// these rows of the solutions.
    pub(in crate::preconditioners) fn solve_columns(
        &self,
        (b, n_columns): (&[T], usize),
        system: System,
        (x, rows): (&mut [T], Range<usize>),
        args: &HostArgs<'_>,
    ) -> Result<(), Error> {
        let b = Columns { b, n_columns };
        match &self.factors {
            Precision::Real(factors) => {
                let solve = |x: &mut [f64], width| real_solve(factors, x, width, system);
                let layout = (factors.is_by_rows(), factors.most_columns());
                let part = |value: &T| value.parts().0;
                b.solve((&solve, layout), (&part, &T::from_f64), (x, rows), args)
            }
            Precision::Complex(factors) => {
                let solve = |x: &mut [_], width| complex_solve(factors, x, width, system);
                let layout = (factors.is_by_rows(), factors.most_columns());
                let wide = |value: &T| Complex::new(value.parts().0, value.parts().1);
                let narrow = |x: Complex<f64>| T::from_parts(x.re, x.im);
                b.solve((&solve, layout), (&wide, &narrow), (x, rows), args)
            }
        }
    }
}

/// A matrix, row by row.
struct Columns<'b, T> {
    b: &'b [T],
    n_columns: usize,
}

impl<T: Field> Columns<'_, T> {
    fn solve<E: Copy + Default + Send + Sync>(
        &self,
        (solve, (is_by_rows, most_columns)): (Solve<'_, E>, (bool, usize)),
        (wide, narrow): (&(impl Fn(&T) -> E + Sync), &(impl Fn(E) -> T + Sync)),
        (x, rows): (&mut [T], Range<usize>),
        args: &HostArgs<'_>,
    ) -> Result<(), Error> {
        let n = self.b.len() / self.n_columns;
        if n == 0 {
            return Ok(());
        }
        let width = self.n_columns.next_power_of_two().min(most_columns);
        // Where a row of a block has its columns, and a column its rows.
        let (row_step, column_step) = if is_by_rows { (width, 1) } else { (1, n) };
        let most = self.n_columns.div_ceil(width).min(COLUMNS / width);
        let mut blocks = try_collect(repeat_n(E::default(), most * width * n))?;
        for first in (0..self.n_columns).step_by(COLUMNS) {
            let columns = (self.n_columns - first).min(COLUMNS);
            let blocks = &mut blocks[..columns.div_ceil(width) * width * n];
            args.in_parts(blocks, width * n, |number, part| {
                for (block, x) in part.chunks_exact_mut(width * n).enumerate() {
                    let first = first + (number + block) * width;
                    let filled = (self.n_columns - first).min(width);
                    for (row, b) in self.b.chunks_exact(self.n_columns).enumerate() {
                        let at = row * row_step;
                        for column in 0..filled {
                            x[at + column * column_step] = wide(&b[first + column]);
                        }
                        for column in filled..width {
                            x[at + column * column_step] = E::default();
                        }
                    }
                    solve(x, width)?;
                }
                Ok(())
            })?;
            let blocks = &*blocks;
            args.in_parts(x, self.n_columns, |number, part| {
                for (row, x) in part.chunks_exact_mut(self.n_columns).enumerate() {
                    let at = (rows.start + number + row) * row_step;
                    let own = x[first..first + columns].chunks_mut(width);
                    for (x, block) in own.zip(blocks.chunks_exact(width * n)) {
                        for (column, x) in x.iter_mut().enumerate() {
                            *x = narrow(block[at + column * column_step]);
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
