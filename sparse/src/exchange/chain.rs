//! Ranks that follow one another.
//!
//! A sweep through all rows in order (a triangular solve, an incomplete factorisation) needs, in
//! each row, results of rows before it. Rows lie on the ranks in order; so each rank waits for what
//! it needs of the ranks before it, sweeps through its own rows, and hands on what later ranks
//! need. The result is that of one rank, to the bit. Nothing is computed at the same time where the
//! rows depend on each other: this is exact, not scalable.

use super::layout::RowLayout;
use super::messages::Messages;
use crate::local::rows::LocalRows;
use crate::local::triangular::Sweep;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, reserve, try_collect};
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
    /// Earlier ranks, and which of the needed rows are theirs.
    sources: Vec<(usize, Range<usize>)>,
    /// Later ranks, and which of this rank's rows (counted from its first) they need.
    targets: Vec<(usize, Vec<u32>)>,
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
        let mut chain = Self {
            needed: Vec::new(),
            sources: Vec::new(),
            targets: Vec::new(),
        };
        let runtime = layout.runtime();
        let Some(cuts) = runtime.cuts(layout.partition()) else {
            return Ok(chain);
        };
        let rows = layout.rows();
        let is_needed = |column: u32| match sweep {
            Sweep::Forward => (column as usize) < rows.start,
            Sweep::Backward => column as usize >= rows.end,
        };
        chain.needed = columns.iter().copied().filter(|&c| is_needed(c)).collect();
        chain.needed.sort_unstable();
        chain.needed.dedup();
        let first_of = |cut: usize| chain.needed.partition_point(|&row| (row as usize) < cut);
        let parts: Vec<Range<usize>> = cuts
            .windows(2)
            .map(|pair| first_of(pair[0])..first_of(pair[1]))
            .collect();
        let wanted = parts
            .iter()
            .map(|part| try_collect(chain.needed[part.clone()].iter().copied()));
        let asked = runtime.agree(runtime.all_to_all(wanted.collect()))?;
        let is_used = |part: &(usize, Range<usize>)| !part.1.is_empty();
        chain.sources = parts.into_iter().enumerate().filter(is_used).collect();
        for (rank, mut asked) in asked.into_iter().enumerate() {
            if !asked.is_empty() {
                asked.iter_mut().for_each(|row| *row -= rows.start as u32);
                chain.targets.push((rank, asked));
            }
        }
        Ok(chain)
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
        let mut elements = reserve(self.needed.len())?;
        for (source, _) in &self.sources {
            elements.extend(messages.receive::<T>(*source)?);
        }
        Ok(elements)
    }

    /// Hands on the elements of this rank's rows that later ranks need.
    ///
    /// # Errors
    ///
    /// None of this rank's own, memory apart.
    pub fn hand_on<T: Element>(&self, messages: &impl Messages, own: &[T]) -> Result<(), Error> {
        for (target, rows) in &self.targets {
            let elements = try_collect(rows.iter().map(|&row| own[row as usize]))?;
            messages.send(*target, &elements)?;
        }
        Ok(())
    }

    /// Waits for the needed rows of a matrix.
    ///
    /// # Errors
    ///
    /// If an earlier rank has left or failed.
    pub fn receive_rows<T: Element>(
        &self,
        messages: &impl Messages,
    ) -> Result<LocalRows<T>, Error> {
        let mut rows = LocalRows::with_capacity(self.needed.len(), 0);
        for &(source, _) in &self.sources {
            for count in messages.receive::<u64>(source)? {
                rows.pos.push(rows.pos[rows.pos.len() - 1] + count);
            }
            rows.crd.extend(messages.receive::<u32>(source)?);
            rows.vals.extend(messages.receive::<T>(source)?);
        }
        Ok(rows)
    }

    /// Hands on the rows of a matrix that later ranks need: `entries` gives the columns and values
    /// of a row of this rank, counted from its first.
    ///
    /// # Errors
    ///
    /// None of this rank's own, memory apart.
    pub fn hand_on_rows<'a, T: Element>(
        &self,
        messages: &impl Messages,
        entries: impl Fn(usize) -> (&'a [u32], &'a [T]),
    ) -> Result<(), Error> {
        for (target, rows) in &self.targets {
            let (mut counts, mut crd, mut vals) = (Vec::new(), Vec::new(), Vec::new());
            for &row in rows {
                let (columns, values) = entries(row as usize);
                counts.push(columns.len() as u64);
                crd.extend_from_slice(columns);
                vals.extend_from_slice(values);
            }
            messages.send(*target, &counts)?;
            messages.send(*target, &crd)?;
            messages.send(*target, &vals)?;
        }
        Ok(())
    }
}
