//! Ranks that follow one another.
//!
//! A sweep through all rows in order (a triangular solve, an incomplete factorisation) needs, in
//! each row, results of rows before it. Rows lie on the ranks in order; so each rank waits for what
//! it needs of the ranks before it, sweeps through its own rows, and hands on what later ranks
//! need. The result is that of one rank, to the bit. Nothing is computed at the same time where the
//! rows depend on each other: this is exact, not scalable.

use super::layout::RowLayout;
use crate::local::rows::{LocalRows, Rows, positions};
use crate::local::triangular::Sweep;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange, Messages, reserve, try_collect};
use std::ops::Range;

/// What this rank needs of the rows of earlier ranks in a sweep, and what later ranks need of its
/// own; "earlier" and "later" are those of the sweep. The messages are those of the runtime, or of
/// the host task that sweeps.
///
/// In eager work: after a `receive` every rank must hand on, even if it has failed, since others wait for it.
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
        let all = || columns.iter().copied().filter(is_needed);
        let mut needed = runtime.agree(reserve(all().count()))?;
        needed.extend(all());
        needed.sort_unstable();
        needed.dedup();
        let exchange = Exchange::gather(runtime, cuts.as_deref(), &needed)?;
        Ok(Self { needed, exchange })
    }

    /// The rows of earlier ranks that are needed here, ascending.
    #[must_use]
    pub fn needed(&self) -> &[u32] {
        &self.needed
    }

    /// Waits for one element for each needed row.
    ///
    /// # Errors
    ///
    /// If an earlier rank has left or failed, or memory runs out.
    pub fn receive<T: Element>(&self, messages: &impl Messages) -> Result<Vec<T>, Error> {
        self.exchange.receive(messages)
    }

    /// Hands on the elements of this rank's rows that later ranks need.
    ///
    /// # Errors
    ///
    /// If there are not as many as this rank has rows.
    pub fn hand_on<T: Element>(&self, messages: &impl Messages, own: &[T]) -> Result<(), Error> {
        self.exchange.send(messages, Ok(own))
    }

    /// Waits for the needed rows of a matrix.
    ///
    /// # Errors
    ///
    /// If an earlier rank has left or failed, or memory runs out.
    pub fn receive_rows<T: Element>(
        &self,
        messages: &impl Messages,
    ) -> Result<LocalRows<T>, Error> {
        let pos = positions(&self.exchange.receive::<u64>(messages)?)?;
        let arrived = |row: usize| pos[row] as usize..pos[row + 1] as usize;
        let entries = self.exchange.of_runs(|_| 0..0, arrived);
        let (crd, vals) = (entries.receive(messages)?, entries.receive(messages)?);
        Ok(LocalRows { pos, crd, vals })
    }

    /// Hands on what later ranks need of the rows of this rank: of each row the entries `part`,
    /// counted from the first of all.
    ///
    /// # Errors
    ///
    /// If there are other rows than those of the layout, or memory runs out.
    pub fn hand_on_rows<T: Element>(
        &self,
        messages: &impl Messages,
        rows: Rows<'_, T>,
        part: impl Fn(usize) -> Range<usize>,
    ) -> Result<(), Error> {
        let counts = try_collect((0..rows.len()).map(|row| part(row).len() as u64));
        let counts = counts.as_deref().map_err(Clone::clone);
        self.exchange.send(messages, counts)?;
        let entries = self.exchange.of_runs(part, |_| 0..0);
        entries.send(messages, Ok(rows.crd))?;
        entries.send(messages, Ok(rows.vals))
    }
}
