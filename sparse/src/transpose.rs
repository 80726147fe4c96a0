//! The transpose of a sparse matrix.
//!
//! Each rank sends its entries to the ranks that own their columns as rows; within a new row they
//! arrive in the order of the old rows, so they are sorted.

use crate::assemble::LocalRows;
use crate::csr::Csr;
use crate::distribute::Owners;
use crate::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Shape};
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The transpose, a new matrix. Linear in rows, columns and entries; executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn transpose(&self) -> Result<Self, Error> {
        let (rows, local) = self.local_rows()?;
        let runtime = self.runtime();
        let (_, own) = runtime.default_rows(Shape::new(&[self.n_cols()]));
        let entries = transposed_entries(self.shape(), rows, local);
        let entries = if self.row_partition()? == Partition::Replicated {
            // Every rank holds all entries and keeps those of its columns.
            entries
        } else {
            Owners::of_rows(runtime, self.n_cols()).send(runtime, entries)?
        };
        let transposed = by_row(&own, &entries);
        runtime.enter(|| Self::from_rows(self.n_cols(), self.n_rows(), |_| transposed))
    }
}

/// The entries of some rows, row by row, as entries of the transpose.
fn transposed_entries<T: Numeric>(
    (n_rows, n_cols): (usize, usize),
    rows: Range<usize>,
    local: LocalRows<T>,
) -> Triplets<T> {
    let LocalRows { pos, crd, vals } = local;
    let counts = pos.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
    let row_of = rows
        .zip(counts)
        .flat_map(|(row, count)| std::iter::repeat_n(row as u32, count))
        .collect();
    Triplets::from_checked_parts(n_cols, n_rows, crd, row_of, vals)
}

/// A stable counting sort by row of those entries that lie in the rows `own`.
fn by_row<T: Numeric>(own: &Range<usize>, entries: &Triplets<T>) -> LocalRows<T> {
    let is_own = |row: u32| own.contains(&(row as usize));
    let mut pos = vec![0u64; own.len() + 1];
    for &row in entries.rows().iter().filter(|&&row| is_own(row)) {
        pos[row as usize - own.start + 1] += 1;
    }
    for row in 0..own.len() {
        pos[row + 1] += pos[row];
    }
    let mut next = pos.clone();
    let nnz = pos[own.len()] as usize;
    let mut crd = vec![0u32; nnz];
    let mut vals = vec![T::ZERO; nnz];
    for (row, column, value) in entries.iter().filter(|&(row, ..)| is_own(row)) {
        let place = &mut next[row as usize - own.start];
        crd[*place as usize] = column;
        vals[*place as usize] = value;
        *place += 1;
    }
    LocalRows { pos, crd, vals }
}
