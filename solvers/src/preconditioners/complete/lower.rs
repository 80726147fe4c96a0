//! The factor L of a Cholesky factorisation, from faer's columns or blocks of columns to rows.

use super::number::Number;
use super::{Factors, Values};
use crate::preconditioners::system::Lower;
use faer::sparse::linalg::cholesky::supernodal::SupernodalLltRef;
use faer::sparse::linalg::cholesky::{SymbolicCholesky, SymbolicCholeskyRaw};
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;

impl<E: Number> Factors<E> {
    /// The factor, whose entries become those of another type; none of L U.
    pub(super) fn lower<T: Clone + Default>(
        &self,
        entry: impl Fn(E) -> T,
    ) -> Result<Option<Lower<T>>, Error> {
        let Values::Cholesky(symbolic, values) = &self.values else {
            return Ok(None);
        };
        let n = symbolic.nrows();
        let mut pos: Vec<u64> = try_collect(repeat_n(0, n + 1))?;
        for_each(symbolic, values, |row, _, _| pos[row + 1] += 1);
        for row in 0..n {
            pos[row + 1] += pos[row];
        }
        let n_entries = pos[n] as usize;
        let mut ends: Vec<u64> = try_collect(pos.iter().copied())?;
        let mut crd = try_collect(repeat_n(0, n_entries))?;
        let mut vals = try_collect(repeat_n(T::default(), n_entries))?;
        for_each(symbolic, values, |row, column, value| {
            let end = ends[row] as usize;
            (crd[end], vals[end]) = (column as u32, entry(value));
            ends[row] += 1;
        });
        let order = match symbolic.perm() {
            Some(order) => try_collect(order.arrays().0.iter().copied())?,
            None => try_collect(0..n)?,
        };
        Ok(Some(Lower {
            pos,
            crd,
            vals,
            order,
        }))
    }
}

/// The entries that are not 0 with their rows and columns, column by column.
fn for_each<E: Number>(
    symbolic: &SymbolicCholesky<usize>,
    values: &[E],
    mut visit: impl FnMut(usize, usize, E),
) {
    let mut visit = |row, column, value: E| {
        if value.largest_part() != 0.0 {
            visit(row, column, value);
        }
    };
    match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(columns) => {
            for (column, ends) in columns.col_ptr().windows(2).enumerate() {
                for entry in ends[0]..ends[1] {
                    visit(columns.row_idx()[entry], column, values[entry]);
                }
            }
        }
        SymbolicCholeskyRaw::Supernodal(blocks) => {
            let factors = SupernodalLltRef::new(blocks, values);
            for block in (0..blocks.n_supernodes()).map(|block| factors.supernode(block)) {
                let (values, first) = (block.val(), block.start());
                let width = values.ncols();
                for column in 0..width {
                    // The block on the diagonal is full, what is above the diagonal no part of L.
                    for row in column..width {
                        visit(first + row, first + column, values[(row, column)]);
                    }
                    for (row, &number) in block.pattern().iter().enumerate() {
                        visit(number, first + column, values[(width + row, column)]);
                    }
                }
            }
        }
    }
}
