//! The transpose of a sparse matrix.
//!
//! Each rank sorts its entries by column and sends them to the ranks that own these columns as
//! rows; within a new row the entries arrive in the order of the old rows, so they are sorted.

use crate::assemble::LocalRows;
use crate::csr::Csr;
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
        let target = Shape::new(&[self.n_cols()]);
        let (partition, own) = runtime.default_rows(target);
        let source = runtime.default_rows(Shape::new(&[self.n_rows()])).0;
        let (row_of, columns, vals) = if source == Partition::Replicated {
            // Every rank holds all entries and keeps those of its columns.
            entries_in(&rows, &local, &own)
        } else {
            let owners = match runtime.cuts(partition) {
                Some(cuts) => cuts.windows(2).map(|pair| pair[0]..pair[1]).collect(),
                None => vec![own.clone(); runtime.ranks()],
            };
            let parts: Vec<_> =
                owners.iter().map(|owner| entries_in(&rows, &local, owner)).collect();
            let send = |pick: fn(&Entries<T>) -> &Vec<u32>| {
                runtime.all_to_all(&parts.iter().map(|part| pick(part).clone()).collect::<Vec<_>>())
            };
            let row_of = send(|part| &part.0)?.concat();
            let columns = send(|part| &part.1)?.concat();
            let vals: Vec<Vec<T>> = parts.iter().map(|part| part.2.clone()).collect();
            (row_of, columns, runtime.all_to_all(&vals)?.concat())
        };
        let transposed = by_column(&own, &row_of, &columns, &vals);
        runtime.enter(|| {
            Self::from_rows(self.n_cols(), self.n_rows(), |_| transposed)
        })
    }
}

/// Rows, columns and values of some entries.
type Entries<T> = (Vec<u32>, Vec<u32>, Vec<T>);

/// The entries of some rows whose columns lie in `wanted`, row by row.
fn entries_in<T: Numeric>(
    rows: &Range<usize>,
    local: &LocalRows<T>,
    wanted: &Range<usize>,
) -> Entries<T> {
    let (mut row_of, mut columns, mut vals) = (Vec::new(), Vec::new(), Vec::new());
    for (number, row) in rows.clone().enumerate() {
        for k in local.pos[number] as usize..local.pos[number + 1] as usize {
            if wanted.contains(&(local.crd[k] as usize)) {
                row_of.push(row as u32);
                columns.push(local.crd[k]);
                vals.push(local.vals[k]);
            }
        }
    }
    (row_of, columns, vals)
}

/// A stable counting sort of entries by column; the columns become rows.
fn by_column<T: Numeric>(
    own: &Range<usize>,
    row_of: &[u32],
    columns: &[u32],
    vals: &[T],
) -> LocalRows<T> {
    let mut pos = vec![0u64; own.len() + 1];
    for &column in columns {
        pos[column as usize - own.start + 1] += 1;
    }
    for row in 0..own.len() {
        pos[row + 1] += pos[row];
    }
    let mut next = pos.clone();
    let mut crd = vec![0u32; columns.len()];
    let mut sorted = vec![T::ZERO; columns.len()];
    for (k, &column) in columns.iter().enumerate() {
        let place = &mut next[column as usize - own.start];
        crd[*place as usize] = row_of[k];
        sorted[*place as usize] = vals[k];
        *place += 1;
    }
    LocalRows { pos, crd, vals: sorted }
}
