//! Ranks that follow one another.
//!
//! A sweep through all rows in order (a triangular solve, an incomplete factorisation) needs, in
//! each row, results of rows before it. Rows lie on the ranks in order; so each rank waits for what
//! it needs of the ranks before it, sweeps through its own rows, and hands on what later ranks
//! need. The result is that of one rank, to the bit. Nothing is computed at the same time where the
//! rows depend on each other: this is exact, not scalable.

use super::ghosts::distinct;
use super::layout::RowLayout;
use crate::local::triangular::Sweep;
use sparsefuse_runtime::{Error, Exchange};

/// What this rank needs of the rows of earlier ranks in a sweep, and what later ranks need of its
/// own; "earlier" and "later" are those of the sweep. The messages are those of the runtime, or of
/// the host task that sweeps.
///
/// In eager work: after a `receive` every rank must hand on, even if it has failed, since others
/// wait for it.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The rows of earlier ranks that are needed here, ascending.
    needed: Vec<u32>,
    exchange: Exchange,
}

impl Chain {
    /// The chain of a sweep in which this rank's rows depend on the rows `columns`, in any order
    /// and as often as may be; those of this rank or of later ones do not count. Every rank must
    /// ask.
    ///
    /// # Errors
    ///
    /// If another rank failed.
    pub fn new(layout: &RowLayout, sweep: Sweep, columns: &[u32]) -> Result<Self, Error> {
        let (runtime, rows) = (layout.runtime(), layout.rows());
        let cuts = runtime.cuts(layout.partition());
        let is_needed = |column: &u32| match sweep {
            Sweep::Forward => (*column as usize) < rows.start,
            Sweep::Backward => *column as usize >= rows.end,
        };
        // A rank that holds all rows needs none of others, and does not look for them.
        let needed = match &cuts {
            Some(cuts) => {
                let n_rows = cuts.last().copied().unwrap_or_default();
                let all = columns.iter().copied().filter(is_needed);
                runtime.agree(distinct(all, n_rows))?
            }
            None => Vec::new(),
        };
        let exchange = Exchange::gather(runtime, cuts.as_deref(), &needed)?;
        Ok(Self { needed, exchange })
    }

    /// The rows of earlier ranks that are needed here, ascending.
    #[must_use]
    pub fn needed(&self) -> &[u32] {
        &self.needed
    }

    /// The way of what this rank needs and what later ones need of it: elements, or rows of a
    /// matrix ([`Rows::send`](crate::Rows::send),
    /// [`LocalRows::receive`](crate::LocalRows::receive)).
    #[must_use]
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }
}
