//! The rows of a matrix that a rank holds, read where they lie.
//!
//! [`OwnRows`] keeps the memory of the stores alive, [`Rows`] is what algorithms read, of a matrix
//! or of rows that came from other ranks. Within a row columns ascend strictly.

use crate::assemble::LocalRows;
use crate::csr::Csr;
use crate::ghosts::Ghosts;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, Local, Partition};
use std::ops::Range;

/// Some neighbouring rows of a matrix, borrowed. Their positions need not begin with 0, but the
/// entries are those of these rows alone.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    pub(crate) pos: &'a [u64],
    pub(crate) crd: &'a [u32],
    pub(crate) vals: &'a [T],
}

impl<'a, T: Copy> Rows<'a, T> {
    /// The number of rows.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.pos.len() - 1
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of the entries of a row.
    #[must_use]
    #[inline(always)]
    pub fn entries(&self, row: usize) -> Range<usize> {
        let first = self.pos[0];
        (self.pos[row] - first) as usize..(self.pos[row + 1] - first) as usize
    }

    /// The positions of the rows, one more than rows, which need not begin with 0.
    #[must_use]
    pub fn pos(&self) -> &'a [u64] {
        self.pos
    }

    /// The columns of all entries.
    #[must_use]
    pub fn crd(&self) -> &'a [u32] {
        self.crd
    }

    /// The values of all entries.
    #[must_use]
    #[inline(always)]
    pub fn vals(&self) -> &'a [T] {
        self.vals
    }

    /// The columns of a row.
    #[must_use]
    #[inline(always)]
    pub fn columns(&self, row: usize) -> &'a [u32] {
        &self.crd[self.entries(row)]
    }

    /// The values of a row.
    #[must_use]
    #[inline(always)]
    pub fn values(&self, row: usize) -> &'a [T] {
        &self.vals[self.entries(row)]
    }

    /// The columns and values of a row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> impl DoubleEndedIterator<Item = (u32, T)> + use<'a, T> {
        let columns = self.columns(row).iter().copied();
        columns.zip(self.values(row).iter().copied())
    }

    /// Some of the rows.
    #[must_use]
    pub fn range(&self, rows: Range<usize>) -> Self {
        let entries = self.entries_before(rows.start)..self.entries_before(rows.end);
        Self {
            pos: &self.pos[rows.start..=rows.end],
            crd: &self.crd[entries.clone()],
            vals: &self.vals[entries],
        }
    }

    /// The number of entries of the rows before one, or before the end.
    #[must_use]
    pub fn entries_before(&self, row: usize) -> usize {
        (self.pos[row] - self.pos[0]) as usize
    }
}

impl<T: Element> LocalRows<T> {
    /// The same, borrowed.
    #[must_use]
    pub fn as_rows(&self) -> Rows<'_, T> {
        Rows {
            pos: &self.pos,
            crd: &self.crd,
            vals: &self.vals,
        }
    }
}

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

/// Some neighbouring rows of a matrix, on the rank that needs them.
#[derive(Debug)]
pub(crate) enum HeldRows<T> {
    /// Among those that the rank has anyway, counted from its first one.
    Own(OwnRows<T>, Range<usize>),
    /// From other ranks.
    Fetched(LocalRows<T>),
}

impl<T: Element> HeldRows<T> {
    /// The rows, to be read.
    pub(crate) fn as_rows(&self) -> Rows<'_, T> {
        match self {
            Self::Own(own, range) => own.as_rows().range(range.clone()),
            Self::Fetched(rows) => rows.as_rows(),
        }
    }
}

impl<T: Numeric> Csr<T> {
    /// The rows `wanted` on this rank, which are those of a partition if one is given; on other
    /// ranks other ones. Executes the window; every rank must ask.
    pub(crate) fn rows_at(
        &self,
        partition: Option<Partition>,
        wanted: Range<usize>,
    ) -> Result<HeldRows<T>, Error> {
        let own = self.own_rows()?;
        // Every rank answers alike.
        let is_own = own.partition == Partition::Replicated || partition == Some(own.partition);
        if is_own {
            let first = own.rows.start;
            return Ok(HeldRows::Own(own, wanted.start - first..wanted.end - first));
        }
        let needed = wanted.map(|row| row as u32).collect();
        let ghosts = Ghosts::new(self.runtime(), own.partition, needed)?;
        Ok(HeldRows::Fetched(ghosts.rows(own.as_rows())?))
    }

    /// The rows of this rank, read where they lie, without a copy; executes the window. Every rank
    /// must ask, and where one fails, all do.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn own_rows(&self) -> Result<OwnRows<T>, Error> {
        let runtime = self.runtime();
        let pos = runtime.agree(runtime.local::<u64>(self.pos()))?;
        // Columns may have to be brought back, for which there may be no memory on some rank.
        let crd = runtime.agree(runtime.local::<u32>(self.crd()))?;
        let entries = pos[0] as usize..pos[pos.len() - 1] as usize;
        // Values that elementwise work has cut in another way are brought back, by all ranks
        // together: so none goes on alone, nor stays behind, where values could not be computed.
        let values = self.values().contiguous()?;
        let vals = runtime.agree(runtime.local::<T>(values.store()))?;
        let vals = if vals.partition() == crd.partition() {
            Values::Stored(vals)
        } else {
            let all = runtime.agree(runtime.read::<T>(values.store(), None))?;
            Values::BroughtBack(all[entries].to_vec())
        };
        let rows = pos.rows();
        Ok(OwnRows {
            rows: rows.start..rows.end - 1,
            partition: self.row_partition()?,
            pos,
            crd,
            vals,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn ranges_without_rows() {
        for (pos, crd) in [(&[0][..], &[][..]), (&[3, 4, 6], &[0, 1, 2])] {
            let rows = Rows {
                pos,
                crd,
                vals: crd,
            };
            let end = rows.len();
            assert!(rows.range(end..end).is_empty());
            assert_eq!(rows.range(0..end).crd(), crd);
        }
    }
}
