//! Where the factors of an incomplete factorisation have entries, on one rank.

use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, ErrorKind, reserve, try_collect};
use sparsefuse_sparse::Rows;
use std::ops::Range;

/// Where L and U have entries, the diagonal not counted; in the order in which a triangular solve
/// subtracts them, of L in ascending columns and of U in descending ones. Columns are global.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) lower: Structure,
    pub(crate) upper: Structure,
}

/// Where the entries of some rows are.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    pub(crate) pos: Vec<u64>,
    pub(crate) crd: Vec<u32>,
}

impl Pattern {
    /// No rows, with memory for as many and for about as many entries in each of L and U.
    pub(crate) fn with_capacity(rows: usize, entries: usize) -> Result<Self, Error> {
        Ok(Self {
            lower: Structure::with_capacity(rows, entries)?,
            upper: Structure::with_capacity(rows, entries)?,
        })
    }

    /// The pattern of rows, which are those of a range and have their diagonal.
    pub(crate) fn of_rows<T: Element>(
        op: &'static str,
        own: Range<usize>,
        rows: Rows<'_, T>,
    ) -> Result<Self, Error> {
        let besides_diagonal = rows.crd().len().saturating_sub(own.len());
        let mut pattern = Self::with_capacity(own.len(), besides_diagonal / 2)?;
        for (number, row) in own.enumerate() {
            let columns = rows.columns(number);
            let below = columns.partition_point(|&column| (column as usize) < row);
            if columns.get(below) != Some(&(row as u32)) {
                return Err(no_diagonal(op, row));
            }
            pattern.lower.push_row(columns[..below].iter().copied())?;
            let above = columns[below + 1..].iter().rev();
            pattern.upper.push_row(above.copied())?;
        }
        Ok(pattern)
    }

    /// A copy, which may need more memory than there is.
    pub(crate) fn try_copy(&self) -> Result<Self, Error> {
        Ok(Self {
            lower: Structure::copied(&self.lower.pos, &self.lower.crd)?,
            upper: Structure::copied(&self.upper.pos, &self.upper.crd)?,
        })
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.lower.pos.len() - 1
    }

    /// The entries of L and U, the ones of L's diagonal not counted.
    pub(crate) fn n_entries(&self) -> usize {
        self.lower.crd.len() + self.n_rows() + self.upper.crd.len()
    }

    /// Whether rows, those of a range, have entries nowhere but here.
    pub(crate) fn covers<T: Element>(&self, own: Range<usize>, rows: Rows<'_, T>) -> bool {
        let is_covered = |(number, row): (usize, usize)| {
            let diagonal = [row as u32];
            let (lower, upper) = (self.lower.columns(number), self.upper.columns(number));
            let mut places = lower.iter().chain(&diagonal).chain(upper.iter().rev());
            let mut columns = rows.columns(number).iter();
            columns.all(|column| places.any(|place| place == column))
        };
        rows.len() == self.n_rows() && own.enumerate().all(is_covered)
    }

    /// The columns from the first to behind the last one in which the rows of a range have entries.
    pub(crate) fn span(&self, own: Range<usize>) -> Range<usize> {
        let mut span = own.clone();
        for (number, _) in own.enumerate() {
            if let Some(&first) = self.lower.columns(number).first() {
                span.start = span.start.min(first as usize);
            }
            if let Some(&last) = self.upper.columns(number).first() {
                span.end = span.end.max(last as usize + 1);
            }
        }
        span
    }
}

impl Structure {
    fn with_capacity(rows: usize, entries: usize) -> Result<Self, Error> {
        let mut pos = reserve(rows + 1)?;
        pos.push(0);
        let crd = reserve(entries)?;
        Ok(Self { pos, crd })
    }

    /// A copy.
    pub(crate) fn copied(pos: &[u64], crd: &[u32]) -> Result<Self, Error> {
        let (pos, crd) = (pos.iter().copied(), crd.iter().copied());
        Ok(Self {
            pos: try_collect(pos)?,
            crd: try_collect(crd)?,
        })
    }

    /// Appends a row.
    pub(crate) fn push_row(
        &mut self,
        columns: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), Error> {
        if self.crd.try_reserve(columns.len()).is_err() {
            let wanted = (self.crd.len() + columns.len()).saturating_mul(size_of::<u32>());
            return Err(ErrorKind::Refused { wanted }.into());
        }
        self.crd.extend(columns);
        self.pos.push(self.crd.len() as u64);
        Ok(())
    }

    /// The places of the entries of a row.
    #[inline(always)]
    pub(crate) fn entries(&self, row: usize) -> Range<usize> {
        self.pos[row] as usize..self.pos[row + 1] as usize
    }

    /// The columns of a row.
    #[inline(always)]
    pub(crate) fn columns(&self, row: usize) -> &[u32] {
        &self.crd[self.entries(row)]
    }
}

/// A row has no entry on the diagonal, and gets none.
pub(crate) fn no_diagonal(op: &'static str, row: usize) -> Error {
    Error::argument(op, format!("a diagonal entry in row {row}"), "none")
}
