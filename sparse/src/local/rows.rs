//! Some rows of a matrix on one rank: [`LocalRows`] owns them, [`Rows`] borrows them.
//!
//! [`Rows`] is what algorithms read, of a matrix or of rows that came from other ranks. Within a
//! row columns ascend strictly, which the order of summation relies on; [`check_local`] and
//! [`check_order`] refuse other rows.

use super::triplets::Triplets;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, ErrorKind, reserve};
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
    /// Rows with these positions, one at least, and as many columns and values as they say.
    #[must_use]
    pub fn of_parts(pos: &'a [u64], crd: &'a [u32], vals: &'a [T]) -> Self {
        Self { pos, crd, vals }
    }

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

    /// The numbers of the entries of some rows.
    pub(crate) fn entries_of(&self, rows: &Range<usize>) -> Range<usize> {
        self.entries_before(rows.start)..self.entries_before(rows.end)
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
        let entries = self.entries_of(&rows);
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

/// Some neighbouring rows of a matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalRows<T> {
    /// The positions of the rows in `crd` and `vals`, one more than rows, from 0.
    pub pos: Vec<u64>,
    /// The column of each entry; ascending within a row.
    pub crd: Vec<u32>,
    /// The value of each entry.
    pub vals: Vec<T>,
}

impl<T: Element> LocalRows<T> {
    /// No rows, with room for as many.
    #[must_use]
    pub fn with_capacity(rows: usize, entries: usize) -> Self {
        let mut pos = Vec::with_capacity(rows + 1);
        pos.push(0);
        Self {
            pos,
            crd: Vec::with_capacity(entries),
            vals: Vec::with_capacity(entries),
        }
    }

    /// As [`LocalRows::with_capacity`], for rows as large as a matrix: one that cannot be held is
    /// an error and not the end of the process. Where ranks go on together, all must fail
    /// ([`Runtime::agree`](sparsefuse_runtime::Runtime::agree)).
    ///
    /// # Errors
    ///
    /// If the system refuses the memory.
    pub fn try_with_capacity(rows: usize, entries: usize) -> Result<Self, Error> {
        let mut pos = reserve(rows + 1)?;
        pos.push(0);
        Ok(Self {
            pos,
            crd: reserve(entries)?,
            vals: reserve(entries)?,
        })
    }

    /// A copy of rows, with positions from 0.
    ///
    /// # Errors
    ///
    /// As [`LocalRows::try_with_capacity`].
    pub fn try_copy(rows: Rows<'_, T>) -> Result<Self, Error> {
        let mut copy = Self::try_with_capacity(rows.len(), rows.crd.len())?;
        let first = rows.pos[0];
        let ends = rows.pos[1..].iter().map(|position| position - first);
        copy.pos.extend(ends);
        copy.crd.extend_from_slice(rows.crd);
        copy.vals.extend_from_slice(rows.vals);
        Ok(copy)
    }

    /// Makes sure that a row with this many entries can be appended. Capacity grows geometrically,
    /// so that few calls allocate.
    ///
    /// # Errors
    ///
    /// As [`LocalRows::try_with_capacity`].
    pub fn try_reserve(&mut self, entries: usize) -> Result<(), Error> {
        let reserved = self.crd.try_reserve(entries);
        let wanted = (self.crd.len() + entries).saturating_mul(size_of::<u32>() + size_of::<T>());
        reserved
            .and_then(|()| self.vals.try_reserve(entries))
            .and_then(|()| self.pos.try_reserve(1))
            .map_err(|_| ErrorKind::Refused { wanted }.into())
    }

    /// The bytes of positions, columns and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.pos[..]) + size_of_val(&self.crd[..]) + size_of_val(&self.vals[..])
    }

    /// Appends an entry to the row that is being made.
    pub fn push(&mut self, column: u32, value: T) {
        self.crd.push(column);
        self.vals.push(value);
    }

    /// Ends the row that is being made.
    pub fn end_row(&mut self) {
        self.pos.push(self.crd.len() as u64);
    }

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

impl<T: Numeric> LocalRows<T> {
    /// Sorts the entries of each row by column, and sums those of one column in their order. In
    /// place.
    pub(crate) fn sort_and_sum(&mut self) {
        let Self { pos, crd, vals } = self;
        let (mut begin, mut at) = (0, 0);
        for end in &mut pos[1..] {
            let entries = begin..*end as usize;
            begin = entries.end;
            let is_sorted = crd[entries.clone()].is_sorted_by(|a, b| a < b);
            if is_sorted && at == entries.start {
                at = entries.end;
                continue;
            }
            sort_row(&mut crd[entries.clone()], &mut vals[entries.clone()]);
            let first = at;
            for k in entries {
                if at > first && crd[at - 1] == crd[k] {
                    vals[at - 1] = vals[at - 1].plus(vals[k]);
                } else {
                    (crd[at], vals[at]) = (crd[k], vals[k]);
                    at += 1;
                }
            }
            *end = at as u64;
        }
        crd.truncate(at);
        vals.truncate(at);
    }

    /// The entries, row by row; the rows are all rows of a matrix.
    pub(crate) fn into_triplets(self, n_cols: usize) -> Result<Triplets<T>, Error> {
        let n_rows = self.pos.len() - 1;
        let mut rows = reserve(self.crd.len())?;
        for (row, &end) in self.pos[1..].iter().enumerate() {
            rows.resize(end as usize, row as u32);
        }
        Triplets::from_parts(n_rows, n_cols, rows, self.crd, self.vals).map_err(|error| {
            Error::argument("to_triplets", "entries of a matrix", error.to_string())
        })
    }
}

/// Refuses rows that are not those of a matrix: positions, lengths, or columns out of range.
pub(crate) fn check_local<T: Element>(
    rows: &Range<usize>,
    n_cols: usize,
    local: &LocalRows<T>,
) -> Result<(), Error> {
    let LocalRows { pos, crd, vals } = local;
    check_positions("csr", rows.len(), pos)?;
    let last = pos[rows.len()] as usize;
    if last != crd.len() || last != vals.len() {
        let expected = format!("{last} columns and values, as the last position says");
        let found = format!("{} and {}", crd.len(), vals.len());
        return Err(Error::argument("csr", expected, found));
    }
    check_columns("csr", n_cols, crd)
}

/// Refuses positions that are not those of so many rows: another number of them, not from 0, or
/// decreasing.
pub(crate) fn check_positions(op: &'static str, n_rows: usize, pos: &[u64]) -> Result<(), Error> {
    let refuse = |expected: String, found: String| Err(Error::argument(op, expected, found));
    if pos.len() != n_rows + 1 || pos[0] != 0 {
        let expected = format!("{} positions, beginning with 0", n_rows + 1);
        let first = pos.first().map_or("none".to_owned(), u64::to_string);
        return refuse(expected, format!("{}, beginning with {first}", pos.len()));
    }
    if let Some(row) = (0..n_rows).find(|&row| pos[row] > pos[row + 1]) {
        let expected = "positions that never decrease".to_owned();
        return refuse(
            expected,
            format!("{} after {} in row {row}", pos[row + 1], pos[row]),
        );
    }
    Ok(())
}

/// Refuses columns out of range.
pub(crate) fn check_columns(op: &'static str, n_cols: usize, crd: &[u32]) -> Result<(), Error> {
    match crd.iter().find(|&&column| column as usize >= n_cols) {
        None => Ok(()),
        Some(column) => {
            let expected = format!("columns below {n_cols}");
            Err(Error::argument(op, expected, column.to_string()))
        }
    }
}

/// Refuses rows whose columns do not ascend strictly, of rows that are checked otherwise.
pub(crate) fn check_order<T: Element>(
    rows: &Range<usize>,
    local: Rows<'_, T>,
) -> Result<(), Error> {
    for (number, row) in rows.clone().enumerate() {
        let columns = local.columns(number);
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
            let found = format!("{} after {} in row {row}", pair[1], pair[0]);
            return Err(Error::argument(
                "csr",
                "columns that ascend strictly",
                found,
            ));
        }
    }
    Ok(())
}

/// The positions, from 0, of rows with these counts.
pub(crate) fn positions(counts: &[u64]) -> Result<Vec<u64>, Error> {
    let mut pos = reserve(counts.len() + 1)?;
    pos.push(0);
    pos.extend_from_slice(counts);
    add_up(&mut pos);
    Ok(pos)
}

/// From the counts of rows behind a 0 to their positions.
pub(crate) fn add_up(counts: &mut [u64]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// Sorts the entries of a row by column, those of one column in their order. One function, because
/// sorting is long, and would be compiled for every closure that it is given.
pub(crate) fn sort_by_column<T>(entries: &mut [(u32, T)]) {
    entries.sort_by_key(|&(column, _)| column);
}

/// Rows up to this long are sorted by insertion.
const SHORT: usize = 32;

/// As [`sort_by_column`], of columns and values apart.
pub(crate) fn sort_row<T: Copy>(crd: &mut [u32], vals: &mut [T]) {
    if crd.len() > SHORT {
        if crd.is_sorted() {
            return;
        }
        let entries = crd.iter().copied().zip(vals.iter().copied());
        let mut entries: Vec<_> = entries.collect();
        sort_by_column(&mut entries);
        for ((column, value), sorted) in crd.iter_mut().zip(vals).zip(entries) {
            (*column, *value) = sorted;
        }
        return;
    }
    for end in 1..crd.len() {
        let (column, value) = (crd[end], vals[end]);
        let mut place = end;
        while place > 0 && crd[place - 1] > column {
            (crd[place], vals[place]) = (crd[place - 1], vals[place - 1]);
            place -= 1;
        }
        (crd[place], vals[place]) = (column, value);
    }
}

#[cfg(test)]
mod tests {
    use super::{LocalRows, Rows};

    #[test]
    fn rows_are_sorted_and_columns_that_occur_twice_are_summed_in_their_order() {
        let long = (0..100u32).map(|k| (99 - k) % 50);
        let crd: Vec<u32> = [0, 1, 5, 2, 5, 2, 5].into_iter().chain(long).collect();
        let vals = [1.0, 2.0, 1e16, 3.0, 1.0, 4.0, -1e16];
        let vals = vals.into_iter().chain((0..100).map(f64::from));
        let mut rows = LocalRows {
            pos: vec![0, 2, 7, 7, 107],
            crd,
            vals: vals.collect(),
        };
        rows.sort_and_sum();
        assert_eq!(rows.pos, [0, 2, 4, 4, 54]);
        assert_eq!(rows.crd[..4], [0, 1, 2, 5]);
        assert_eq!(rows.vals[..4], [1.0, 2.0, 7.0, (1e16 + 1.0) - 1e16]);
        assert!(rows.crd[4..].iter().copied().eq(0..50));
        let sums = (0..50).map(|column| f64::from(49 - column) + f64::from(99 - column));
        assert!(rows.vals[4..].iter().copied().eq(sums));
    }

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
