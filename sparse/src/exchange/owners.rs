//! Entries of a matrix to the ranks that own their rows.
//!
//! What arrives is in the order of the ranks that sent it, and of each in its order; so entries at
//! the same place are summed in the order (rank, position) later.

use crate::local::triplets::Triplets;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange, Partition, Runtime, Shape};
use std::sync::Arc;

/// Which rank owns which rows.
pub(crate) struct Owners {
    /// Where the rows are cut; none if every rank owns all.
    cuts: Option<Arc<[usize]>>,
}

impl Owners {
    /// The owners of the rows of a new matrix.
    pub(crate) fn of_rows(runtime: &Runtime, n_rows: usize) -> Self {
        let (partition, _) = runtime.default_rows(Shape::new(&[n_rows]));
        Self::of_partition(runtime, partition)
    }

    /// The owners of the rows of something that is cut so.
    pub(crate) fn of_partition(runtime: &Runtime, partition: Partition) -> Self {
        let cuts = runtime.cuts(partition);
        Self { cuts }
    }

    /// Sends each entry to the owner of its row, or to all of them; every rank must ask.
    pub(crate) fn send<T: Element>(
        &self,
        runtime: &Runtime,
        entries: Triplets<T>,
    ) -> Result<Triplets<T>, Error> {
        if runtime.ranks() == 1 {
            return Ok(entries);
        }
        let (n_rows, n_cols) = (entries.n_rows(), entries.n_cols());
        let (rows, cols, vals) = entries.into_parts();
        let (exchange, arrived) = Exchange::scatter(runtime, self.cuts.as_deref(), &rows)?;
        drop(rows);
        let (rows, cols) = (arrived, exchange.run(runtime, &cols)?);
        let vals = exchange.run(runtime, &vals)?;
        Ok(Triplets::from_checked_parts(
            n_rows, n_cols, rows, cols, vals,
        ))
    }
}
