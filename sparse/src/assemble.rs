//! Assembly: from rows to the stores of a matrix.
//!
//! Every rank makes the rows that it is going to own; [`LocalRows`] is what it hands over. The
//! positions become global by adding what the ranks before it have. What leaves this file is
//! sorted: within a row, columns ascend strictly, which the order of summation relies on.

use crate::csr::Csr;
use crate::parallel;
use crate::rows::Rows;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{
    Counted, Error, ErrorKind, Partition, Room, Runtime, Shape, Store, reserve,
};
use std::ops::{Deref, DerefMut, Range};

/// The name of the tasks that make matrices of what is no matrix.
pub(crate) const ASSEMBLE: &str = "assemble";

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

    /// As [`LocalRows::with_capacity`], for rows as large as a matrix: one that cannot be held is an
    /// error and not the end of the process. Where ranks go on together, all must fail
    /// ([`Runtime::agree`]).
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
    pub(crate) fn try_copy(rows: Rows<'_, T>) -> Result<Self, Error> {
        let mut copy = Self::try_with_capacity(rows.len(), rows.crd.len())?;
        let first = rows.pos[0];
        let ends = rows.pos[1..].iter().map(|position| position - first);
        copy.pos.extend(ends);
        copy.crd.extend_from_slice(rows.crd);
        copy.vals.extend_from_slice(rows.vals);
        Ok(copy)
    }

    /// Makes sure that so many entries can be appended; seldom asks the system.
    ///
    /// # Errors
    ///
    /// As [`LocalRows::try_with_capacity`].
    pub fn try_reserve(&mut self, entries: usize) -> Result<(), Error> {
        let reserved = self.crd.try_reserve(entries);
        let wanted = (self.crd.len() + entries).saturating_mul(size_of::<u32>() + size_of::<T>());
        reserved
            .and_then(|()| self.vals.try_reserve(entries))
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
}

/// The largest number of columns: column indices have 32 bits.
pub(crate) const MAX_COLUMNS: usize = u32::MAX as usize;

/// Refuses shapes whose indices do not fit.
pub(crate) fn check_shape(op: &'static str, n_rows: usize, n_cols: usize) -> Result<(), Error> {
    if n_rows <= MAX_COLUMNS && n_cols <= MAX_COLUMNS {
        return Ok(());
    }
    let expected = format!("at most {MAX_COLUMNS} rows and columns");
    Err(Error::argument(
        op,
        expected,
        format!("{n_rows} by {n_cols}"),
    ))
}

/// What makes the rows of a matrix that a rank is going to own.
type Make<'m, T> = Box<dyn FnOnce(Range<usize>) -> Result<LocalRows<T>, Error> + 'm>;

/// A matrix whose rows `make` makes on the rank that is going to own them; where it fails on one rank,
/// all do. A task; compiled once for a type and not for every `make`.
pub(crate) fn from_made<T: Numeric>(
    n_rows: usize,
    n_cols: usize,
    make: Make<'_, T>,
) -> Result<Csr<T>, Error> {
    check_shape("csr", n_rows, n_cols)?;
    let runtime = Runtime::current();
    let (partition, rows) = runtime.default_rows(Shape::new(&[n_rows]));
    runtime.task_at_once(ASSEMBLE, &[], || {
        let local = check_memory(&runtime, &rows).and_then(|()| make(rows.clone()));
        let local = runtime.agree(local)?;
        from_local(&runtime, (n_rows, n_cols), (partition, rows), local)
    })
}

/// A matrix whose rows every rank has made itself: those that the partition gives it, which begin
/// at a tile. Where one rank fails, all do.
pub(crate) fn from_local<T: Numeric>(
    runtime: &Runtime,
    (n_rows, n_cols): (usize, usize),
    (partition, rows): (Partition, Range<usize>),
    local: LocalRows<T>,
) -> Result<Csr<T>, Error> {
    let checked =
        check_local(&rows, n_cols, &local).and_then(|()| check_order(&rows, local.as_rows()));
    runtime.agree(checked)?;
    let LocalRows { pos, crd, vals } = local;
    let spread = Spread::new(runtime, n_rows, (partition, rows), crd.len())?;
    let make = || {
        let vals = spread.store_of_entries(runtime, vals)?;
        Ok((spread.store_of_entries(runtime, crd)?, vals))
    };
    let made = make();
    spread.matrix(runtime, (n_rows, n_cols), Positions::Vector(pos), made)
}

/// The positions of the rows of a rank, from 0, one more than rows.
#[derive(Debug)]
pub(crate) enum Positions {
    /// In a vector that becomes the store's memory.
    Vector(Vec<u64>),
    /// In memory of the pool, which costs less where there are many.
    Room(Room<u64>),
}

impl Positions {
    /// Room for the positions of so many rows, the first of which is 0. Where one rank has none,
    /// all fail.
    pub(crate) fn room(runtime: &Runtime, n_rows: usize) -> Result<Self, Error> {
        let mut room = runtime.agree(runtime.room(n_rows + 1))?;
        room[0] = 0;
        Ok(Self::Room(room))
    }
}

impl Deref for Positions {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            Self::Vector(pos) => pos,
            Self::Room(pos) => pos,
        }
    }
}

impl DerefMut for Positions {
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Vector(pos) => pos,
            Self::Room(pos) => pos,
        }
    }
}

/// A matrix whose rows every rank has counted, which are those that the partition gives it. `fill`
/// gets their positions, and room for columns and values with whatever was there before, which it
/// fills with rows that ascend strictly. Where one rank fails, all do.
pub(crate) fn filled<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    pos: Positions,
    fill: impl FnOnce(&[u64], &mut [u32], &mut [T]),
) -> Result<Csr<T>, Error> {
    let len = pos[own.1.len()] as usize;
    filled_with(runtime, shape, own, (pos, len), |pos, crd, vals| {
        fill(pos, crd, vals);
    })
}

/// As [`filled`], of rows that have so many entries; `fill` finds their positions too.
pub(crate) fn filled_with<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    pos: (Positions, usize),
    fill: impl FnOnce(&mut [u64], &mut [u32], &mut [T]),
) -> Result<Csr<T>, Error> {
    filled_by(runtime, shape, own, pos, Box::new(fill))
}

/// What fills positions, columns and values.
type Fill<'f, T> = Box<dyn FnOnce(&mut [u64], &mut [u32], &mut [T]) + 'f>;

/// As [`filled_with`], compiled once for a type and not for every `fill`.
fn filled_by<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    (mut pos, len): (Positions, usize),
    fill: Fill<'_, T>,
) -> Result<Csr<T>, Error> {
    let rows = own.1.clone();
    let spread = Spread::new(runtime, shape.0, own, len)?;
    let shape_of_entries = Shape::new(&[spread.nnz]);
    let mut vals = None;
    let crd = runtime.store_by_filling(shape_of_entries, spread.crd_partition, |crd| {
        vals = Some(
            runtime.store_by_filling(shape_of_entries, spread.crd_partition, |vals| {
                fill(&mut pos, crd, vals);
                let rows_made = Rows {
                    pos: &pos,
                    crd,
                    vals,
                };
                debug_assert_eq!(
                    check_order(&rows, rows_made),
                    Ok(()),
                    "rows are filled in order"
                );
                Ok(())
            })?,
        );
        Ok(())
    });
    let made = crd.map(|crd| (crd, vals.expect("values are filled with the columns")));
    spread.matrix(runtime, shape, pos, made)
}

/// A matrix whose rows `make` makes one by one: it appends the entries of a row, given by its number
/// on this rank, to what it gets. It is called twice for each row, to count and to fill, by the
/// parts into which the rows are divided.
pub(crate) fn by_row<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    parts: &[Range<usize>],
    make: impl Fn(usize, &mut LocalRows<T>) + Sync + Send,
) -> Result<Csr<T>, Error> {
    let mut pos = vec![0u64; own.1.len() + 1];
    let counts = parallel::split(&mut pos[1..], parts.iter().map(Range::len));
    let work = parts.iter().cloned().zip(counts);
    parallel::each(runtime, work, |(rows, counts)| {
        let mut made = LocalRows::with_capacity(0, 0);
        for (row, count) in rows.zip(counts) {
            make(row, &mut made);
            *count = made.crd.len() as u64;
            made.crd.clear();
            made.vals.clear();
        }
    });
    add_up(&mut pos);
    filled(
        runtime,
        shape,
        own,
        Positions::Vector(pos),
        |pos, crd, vals| {
            let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
            let crds = parallel::split(crd, parts.iter().map(len));
            let vals = parallel::split(vals, parts.iter().map(len));
            let work = parts.iter().cloned().zip(crds).zip(vals);
            parallel::each(runtime, work, |((rows, crd), vals)| {
                let mut made = LocalRows::with_capacity(0, crd.len());
                rows.for_each(|row| make(row, &mut made));
                crd.copy_from_slice(&made.crd);
                vals.copy_from_slice(&made.vals);
            });
        },
    )
}

/// From the counts of rows behind a 0 to their positions.
pub(crate) fn add_up(counts: &mut [u64]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// How the stores of a matrix are spread over the ranks, and what of them is on this one.
struct Spread {
    pos_partition: Partition,
    pos_rows: Range<usize>,
    crd_partition: Partition,
    entries: Range<usize>,
    nnz: usize,
}

impl Spread {
    /// From the rows of this rank and the number of their entries.
    fn new(
        runtime: &Runtime,
        n_rows: usize,
        (partition, rows): (Partition, Range<usize>),
        len: usize,
    ) -> Result<Self, Error> {
        let mut spread = Self {
            pos_partition: partition,
            pos_rows: rows.start..rows.end + 1,
            crd_partition: partition,
            entries: 0..len,
            nnz: len,
        };
        if let Some(cuts) = runtime.cuts(partition) {
            let counts = runtime.all_gather(&[len as u64])?;
            let mut entry_cuts = vec![0usize];
            for count in counts {
                spread.nnz = entry_cuts[entry_cuts.len() - 1] + count[0] as usize;
                entry_cuts.push(spread.nnz);
            }
            let first = entry_cuts[runtime.rank()];
            spread.entries = first..first + len;
            let mut pos_cuts = cuts.to_vec();
            if let Some(last) = pos_cuts.last_mut() {
                *last = n_rows + 1;
            }
            spread.pos_partition = runtime.partition_at(&pos_cuts)?;
            spread.crd_partition = runtime.partition_at(&entry_cuts)?;
        }
        Ok(spread)
    }

    /// The store of something that each entry has, of which this rank has made its part.
    fn store_of_entries<E: Element>(
        &self,
        runtime: &Runtime,
        own: Vec<E>,
    ) -> Result<Counted<Store>, Error> {
        let shape = Shape::new(&[self.nnz]);
        runtime.store_of_rows(shape, self.crd_partition, self.entries.clone(), own)
    }

    /// The matrix with these positions, from 0 on each rank, and stores of columns and values, if
    /// every rank could make its part of them.
    fn matrix<T: Numeric>(
        &self,
        runtime: &Runtime,
        (n_rows, n_cols): (usize, usize),
        mut pos: Positions,
        made: Result<(Counted<Store>, Counted<Store>), Error>,
    ) -> Result<Csr<T>, Error> {
        let first = self.entries.start as u64;
        if first > 0 {
            pos.iter_mut().for_each(|position| *position += first);
        }
        let shape = Shape::new(&[n_rows + 1]);
        let (partition, rows) = (self.pos_partition, self.pos_rows.clone());
        let pos = match pos {
            Positions::Vector(pos) => runtime.store_of_rows(shape, partition, rows, pos),
            Positions::Room(pos) => runtime.store_of_room(shape, partition, rows, pos),
        };
        let (pos, (crd, vals)) = runtime.agree(pos.and_then(|pos| Ok((pos, made?))))?;
        let vals = Vector::from_store(vals, None)?;
        Ok(Csr::from_stores((n_rows, n_cols), pos, crd, vals))
    }
}

pub(crate) fn check_local<T: Element>(
    rows: &Range<usize>,
    n_cols: usize,
    local: &LocalRows<T>,
) -> Result<(), Error> {
    const OP: &str = "csr";
    let LocalRows { pos, crd, vals } = local;
    let refuse = |expected: String, found: String| Err(Error::argument(OP, expected, found));
    if pos.len() != rows.len() + 1 || pos[0] != 0 {
        let expected = format!("{} positions, beginning with 0", rows.len() + 1);
        let first = pos.first().map_or("none".to_owned(), u64::to_string);
        return refuse(expected, format!("{}, beginning with {first}", pos.len()));
    }
    if let Some(row) = (0..rows.len()).find(|&row| pos[row] > pos[row + 1]) {
        let expected = "positions that never decrease".to_owned();
        return refuse(
            expected,
            format!("{} after {} in row {row}", pos[row + 1], pos[row]),
        );
    }
    let last = pos[rows.len()] as usize;
    if last != crd.len() || last != vals.len() {
        let expected = format!("{last} columns and values, as the last position says");
        return refuse(expected, format!("{} and {}", crd.len(), vals.len()));
    }
    if let Some(column) = crd.iter().find(|&&column| column as usize >= n_cols) {
        return refuse(format!("columns below {n_cols}"), column.to_string());
    }
    Ok(())
}

/// Refuses rows whose columns do not ascend strictly, of rows that are checked otherwise.
fn check_order<T: Element>(rows: &Range<usize>, local: Rows<'_, T>) -> Result<(), Error> {
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

/// Refuses rows whose positions alone are beyond memory, before anything is allocated: an
/// allocation that fails later ends the process.
pub(crate) fn check_memory(runtime: &Runtime, rows: &Range<usize>) -> Result<(), Error> {
    // Assembly holds the positions up to three times.
    const COPIES: usize = 3;
    let limit = runtime.config().memory_limit;
    let available = limit.saturating_sub(runtime.memory_in_use());
    let positions = rows.len() + 1;
    let wanted = positions.saturating_mul(size_of::<u64>());
    if wanted > available {
        let kind = ErrorKind::OutOfMemory {
            wanted,
            available,
            limit,
        };
        return Err(kind.into());
    }
    let is_granted = Vec::<u64>::new()
        .try_reserve_exact(positions.saturating_mul(COPIES))
        .is_ok();
    if is_granted {
        return Ok(());
    }
    let found = format!("{} rows", rows.len());
    Err(Error::argument("csr", "rows that fit in memory", found))
}

/// Sorts the entries of a row by column, those of one column in their order. One function, because
/// sorting is long, and would be compiled for every closure that it is given.
pub(crate) fn sort_by_column<T>(entries: &mut [(u32, T)]) {
    entries.sort_by_key(|&(column, _)| column);
}

/// Appends a row with its columns in ascending order and duplicates summed in their order.
pub(crate) fn append_sorted<T: Numeric>(local: &mut LocalRows<T>, entries: &mut [(u32, T)]) {
    if !entries.is_sorted_by(|a, b| a.0 < b.0) {
        sort_by_column(entries);
    }
    let begin = local.crd.len();
    for &(column, value) in entries.iter() {
        match local.crd.last() {
            Some(&last) if local.crd.len() > begin && last == column => {
                let sum = local.vals.len() - 1;
                local.vals[sum] = local.vals[sum].plus(value);
            }
            _ => local.push(column, value),
        }
    }
    local.end_row();
}
