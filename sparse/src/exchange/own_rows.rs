//! The rows of a matrix that this rank holds, and rows that it needs and others hold.
//!
//! [`OwnRows`] keeps the memory of the stores alive, so rows are read where they lie.

use super::ghosts::Ghosts;
use crate::local::rows::{LocalRows, Rows};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange, Local, Partition, Runtime, StoreHandle, try_collect};
use std::ops::Range;

/// The rows of a matrix that this rank holds.
#[derive(Debug)]
pub struct OwnRows<T> {
    /// Which they are.
    pub(crate) rows: Range<usize>,
    /// How the rows are spread over the ranks.
    pub(crate) partition: Partition,
    pos: Local<u64>,
    crd: Local<u32>,
    vals: Values<T>,
}

#[derive(Debug)]
enum Values<T> {
    /// As the store holds them.
    Stored(Local<T>),
    /// Elementwise work had cut them in another way.
    BroughtBack(Vec<T>),
}

impl<T: Element> OwnRows<T> {
    /// The rows of a matrix with these positions, columns and values, whose rows are spread so.
    /// Executes the window; every rank must ask, and where one fails, all do.
    pub(crate) fn of_stores(
        runtime: &Runtime,
        structure: (&StoreHandle, &StoreHandle),
        values: &Vector<T>,
        partition: impl FnOnce() -> Result<Partition, Error>,
    ) -> Result<Self, Error> {
        let structure = OwnStructure::of_stores(runtime, structure, partition)?;
        let OwnStructure { pos, crd, .. } = &structure;
        let entries = pos[0] as usize..pos[pos.len() - 1] as usize;
        // Values that elementwise work has cut in another way are brought back, by all ranks
        // together: so none goes on alone, nor stays behind, where values could not be computed.
        let values = values.contiguous()?;
        let vals = runtime.agree(runtime.local::<T>(values.store()))?;
        let vals = if vals.partition() == crd.partition() {
            Values::Stored(vals)
        } else {
            Values::BroughtBack(brought_back(runtime, &vals, entries)?)
        };
        let OwnStructure {
            rows,
            partition,
            pos,
            crd,
        } = structure;
        Ok(Self {
            rows,
            partition,
            pos,
            crd,
            vals,
        })
    }

    /// Which rows they are.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// How the rows are spread over the ranks.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Whether every rank holds all rows.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.partition == Partition::Replicated
    }

    /// The rows, to be read.
    #[must_use]
    pub fn as_rows(&self) -> Rows<'_, T> {
        Rows {
            pos: &self.pos,
            crd: &self.crd,
            vals: match &self.vals {
                Values::Stored(vals) => vals,
                Values::BroughtBack(vals) => vals,
            },
        }
    }
}

/// Where the entries of the rows are that this rank holds of a matrix.
#[derive(Debug)]
pub(crate) struct OwnStructure {
    /// Which rows they are, and how the rows are spread over the ranks.
    pub(crate) rows: Range<usize>,
    pub(crate) partition: Partition,
    pub(crate) pos: Local<u64>,
    pub(crate) crd: Local<u32>,
}

impl OwnStructure {
    /// As [`OwnRows::of_stores`], whatever the values are.
    pub(crate) fn of_stores(
        runtime: &Runtime,
        (pos, crd): (&StoreHandle, &StoreHandle),
        partition: impl FnOnce() -> Result<Partition, Error>,
    ) -> Result<Self, Error> {
        let pos = runtime.agree(runtime.local::<u64>(pos))?;
        // Columns may have to be brought back, for which there may be no memory on some rank.
        let crd = runtime.agree(runtime.local::<u32>(crd))?;
        let rows = pos.rows();
        Ok(Self {
            rows: rows.start..rows.end - 1,
            partition: partition()?,
            pos,
            crd,
        })
    }
}

/// Positions, from 0, and columns of the rows `wanted` on this rank, of a matrix whose rows are
/// spread so. Every rank must ask, and where one fails, all do.
pub(crate) fn structure_at(
    runtime: &Runtime,
    (pos, crd): (&StoreHandle, &StoreHandle),
    partition: Partition,
    wanted: Range<usize>,
) -> Result<(Vec<u64>, Vec<u32>), Error> {
    let pos = runtime.agree(runtime.local::<u64>(pos))?;
    let crd = runtime.agree(runtime.local::<u32>(crd))?;
    let ghosts = Ghosts::of_range(runtime, partition, wanted)?;
    let (pos, entries) = ghosts.entries(&pos)?;
    Ok((pos, entries.run(runtime, &crd)?))
}

/// Some neighbouring rows of a matrix, on the rank that needs them.
#[derive(Debug)]
pub(crate) enum HeldRows<T> {
    /// Among those that the rank has anyway, counted from its first one.
    Own(OwnRows<T>, Range<usize>),
    /// From other ranks.
    Fetched(LocalRows<T>),
}

impl<T: Element> HeldRows<T> {
    /// The rows `wanted` on this rank, which are those of a partition if one is given, of a matrix
    /// of which every rank has some. Every rank must ask.
    pub(crate) fn of(
        runtime: &Runtime,
        own: OwnRows<T>,
        partition: Option<Partition>,
        wanted: Range<usize>,
    ) -> Result<Self, Error> {
        // Every rank answers alike.
        let is_own = own.partition == Partition::Replicated || partition == Some(own.partition);
        if is_own {
            let first = own.rows.start;
            return Ok(Self::Own(own, wanted.start - first..wanted.end - first));
        }
        let ghosts = Ghosts::of_range(runtime, own.partition, wanted)?;
        Ok(Self::Fetched(ghosts.fetch_rows(own.as_rows())?))
    }

    /// The rows, to be read.
    pub(crate) fn as_rows(&self) -> Rows<'_, T> {
        match self {
            Self::Own(own, range) => own.as_rows().range(range.clone()),
            Self::Fetched(rows) => rows.as_rows(),
        }
    }
}

/// Elements of a vector for the rows that this rank holds, from the ranks that hold them. Every
/// rank asks for its own.
pub(crate) fn brought_back<T: Element>(
    runtime: &Runtime,
    held: &Local<T>,
    wanted: Range<usize>,
) -> Result<Vec<T>, Error> {
    let Some(cuts) = runtime.cuts(held.partition()) else {
        // Every rank has them all.
        return runtime.agree(try_collect(held[wanted].iter().copied()));
    };
    let all = runtime.all_gather(&[wanted.start as u64, wanted.end as u64])?;
    let of_rank = |rank: usize| all[rank][0] as usize..all[rank][1] as usize;
    let way = runtime.agree(Exchange::to_ranges(runtime.rank(), &cuts, of_rank))?;
    way.run(runtime, held)
}
