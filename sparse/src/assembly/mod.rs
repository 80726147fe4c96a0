//! Assembly: from rows to the stores of a matrix.
//!
//! Every rank makes the rows that it is going to own; [`LocalRows`] is what it hands over. The
//! positions become global by adding what the ranks before it have. What leaves this file is
//! sorted: within a row, columns ascend strictly, which the order of summation relies on. It leaves
//! as [`Stores`], of which [`Csr`](crate::Csr) is the handle.

pub(crate) mod triplets;

use crate::local::parallel::{self, Threads};
use crate::local::rows::{LocalRows, Rows, add_up, check_local, check_order};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, Partition, Room, Runtime, Shape, StoreHandle};
use std::ops::{Deref, DerefMut, Range};

/// The name of the tasks that make matrices of what is no matrix.
pub(crate) const ASSEMBLE: &str = "assemble";

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

/// The stores of a matrix by rows.
pub(crate) struct Stores<T> {
    /// The numbers of rows and columns.
    pub(crate) shape: (usize, usize),
    pub(crate) pos: StoreHandle,
    pub(crate) crd: StoreHandle,
    pub(crate) vals: Vector<T>,
}

/// Where the entries of a matrix are, without their values.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    pub(crate) pos: StoreHandle,
    pub(crate) crd: StoreHandle,
}

/// What makes the rows of a matrix that a rank is going to own.
type Make<'m, T> = Box<dyn FnOnce(Range<usize>) -> Result<LocalRows<T>, Error> + 'm>;

/// A matrix whose rows `make` makes on the rank that is going to own them; where it fails on one
/// rank, all do. A task; compiled once for a type and not for every `make`.
pub(crate) fn from_made<T: Numeric>(
    n_rows: usize,
    n_cols: usize,
    make: Make<'_, T>,
) -> Result<Stores<T>, Error> {
    check_shape("csr", n_rows, n_cols)?;
    let runtime = Runtime::current();
    let (partition, rows) = runtime.default_rows(Shape::new(&[n_rows]));
    runtime.eager_task(ASSEMBLE, &[], || {
        // Before `make`, which may ask other ranks: one that has no memory would not answer.
        runtime.agree(check_memory(&runtime, &rows))?;
        let local = runtime.agree(make(rows.clone()))?;
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
) -> Result<Stores<T>, Error> {
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
    /// Memory for the positions of `n_rows` rows, the first of which is 0. Where one rank has none,
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
) -> Result<Stores<T>, Error> {
    let len = pos[own.1.len()] as usize;
    filled_with(runtime, shape, own, (pos, len), |pos, crd, vals| {
        fill(pos, crd, vals);
        Ok(())
    })
}

/// As [`filled`], of rows with a known number of entries; `fill` finds their positions too, and may
/// fail.
pub(crate) fn filled_with<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    pos: (Positions, usize),
    fill: impl FnOnce(&mut [u64], &mut [u32], &mut [T]) -> Result<(), Error>,
) -> Result<Stores<T>, Error> {
    filled_by(runtime, shape, own, pos, Box::new(fill))
}

/// What fills positions, columns and values.
type Fill<'f, T> = Box<dyn FnOnce(&mut [u64], &mut [u32], &mut [T]) -> Result<(), Error> + 'f>;

/// As [`filled_with`], compiled once for a type and not for every `fill`.
fn filled_by<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    (mut pos, len): (Positions, usize),
    fill: Fill<'_, T>,
) -> Result<Stores<T>, Error> {
    let rows = own.1.clone();
    let spread = Spread::new(runtime, shape.0, own, len)?;
    let shape_of_entries = Shape::new(&[spread.nnz]);
    let mut vals = None;
    let crd = runtime.store_by_filling(shape_of_entries, spread.crd_partition, |crd| {
        vals = Some(
            runtime.store_by_filling(shape_of_entries, spread.crd_partition, |vals| {
                fill(&mut pos, crd, vals)?;
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

/// The matrix of one rank whose positions, columns and values are in memory of the runtime: rows
/// that ascend strictly.
pub(crate) fn of_rooms<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    pos: Room<u64>,
    (crd, vals): (Room<u32>, Room<T>),
) -> Result<Stores<T>, Error> {
    check_shape("csr", shape.0, shape.1)?;
    let own = runtime.default_rows(Shape::new(&[shape.0]));
    let rows_made = Rows {
        pos: &pos,
        crd: &crd,
        vals: &vals,
    };
    debug_assert_eq!(check_order(&own.1, rows_made), Ok(()), "rows are in order");
    let spread = Spread::new(runtime, shape.0, own, crd.len())?;
    let make = || {
        let vals = spread.store_of_room(runtime, vals)?;
        Ok((spread.store_of_room(runtime, crd)?, vals))
    };
    let made = make();
    spread.matrix(runtime, shape, Positions::Room(pos), made)
}

/// The structure of a matrix whose rows every rank has counted, as [`filled`] without values.
pub(crate) fn structure(
    runtime: &Runtime,
    n_rows: usize,
    own: (Partition, Range<usize>),
    pos: Positions,
    fill: impl FnOnce(&[u64], &mut [u32]),
) -> Result<Structure, Error> {
    let len = pos[own.1.len()] as usize;
    let spread = Spread::new(runtime, n_rows, own, len)?;
    let shape = Shape::new(&[spread.nnz]);
    let crd = runtime.store_by_filling(shape, spread.crd_partition, |crd| {
        fill(&pos, crd);
        Ok(())
    });
    let (pos, crd) = runtime.agree(
        spread
            .positions(runtime, n_rows, pos)
            .and_then(|pos| Ok((pos, crd?))),
    )?;
    Ok(Structure { pos, crd })
}

/// The values of a matrix, of which this rank has this many: as those of [`filled`] without a
/// structure.
pub(crate) fn values<T: Numeric>(
    runtime: &Runtime,
    n_rows: usize,
    own: (Partition, Range<usize>),
    len: usize,
    fill: impl FnOnce(&mut [T]),
) -> Result<Vector<T>, Error> {
    let spread = Spread::new(runtime, n_rows, own, len)?;
    let shape = Shape::new(&[spread.nnz]);
    let vals = runtime.store_by_filling(shape, spread.crd_partition, |vals| {
        fill(vals);
        Ok(())
    });
    Vector::from_store(runtime.agree(vals)?, None)
}

/// What writes the numbers of entries of some rows, given by their numbers on this rank.
pub(crate) type CountRows<'m> = &'m (dyn Fn(Range<usize>, &mut [u64]) + Sync);

/// What writes columns and values of some rows, which have exactly this memory.
pub(crate) type FillRows<'m, T> = &'m (dyn Fn(Range<usize>, &mut [u32], &mut [T]) + Sync);

/// A matrix whose rows are counted, then filled, by the parts into which they are divided. Compiled
/// once for a type and not for every `count` and `fill`.
pub(crate) fn in_parts<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: (Partition, Range<usize>),
    parts: &[Range<usize>],
    (count, fill): (CountRows<'_>, FillRows<'_, T>),
) -> Result<Stores<T>, Error> {
    let threads = &Threads::of(runtime);
    let mut pos = Positions::room(runtime, own.1.len())?;
    let counts = parallel::split(&mut pos[1..], parts.iter().map(Range::len));
    let work = parts.iter().cloned().zip(counts);
    parallel::each(threads, work, |(rows, counts)| count(rows, counts));
    add_up(&mut pos);
    filled(runtime, shape, own, pos, |pos, crd, vals| {
        let len = |rows: &Range<usize>| (pos[rows.end] - pos[rows.start]) as usize;
        let crds = parallel::split(crd, parts.iter().map(len));
        let vals = parallel::split(vals, parts.iter().map(len));
        let work = parts.iter().cloned().zip(crds).zip(vals);
        parallel::each(threads, work, |((rows, crd), vals)| fill(rows, crd, vals));
    })
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
    ) -> Result<StoreHandle, Error> {
        let shape = Shape::new(&[self.nnz]);
        runtime.store_of_rows(shape, self.crd_partition, self.entries.clone(), own)
    }

    /// As [`Spread::store_of_entries`], in memory of the runtime.
    fn store_of_room<E: Element>(
        &self,
        runtime: &Runtime,
        own: Room<E>,
    ) -> Result<StoreHandle, Error> {
        let shape = Shape::new(&[self.nnz]);
        runtime.store_of_room(shape, self.crd_partition, self.entries.clone(), own)
    }

    /// The matrix with these positions, from 0 on each rank, and stores of columns and values, if
    /// every rank could make its part of them.
    fn matrix<T: Numeric>(
        &self,
        runtime: &Runtime,
        (n_rows, n_cols): (usize, usize),
        pos: Positions,
        made: Result<(StoreHandle, StoreHandle), Error>,
    ) -> Result<Stores<T>, Error> {
        let pos = self.positions(runtime, n_rows, pos);
        let (pos, (crd, vals)) = runtime.agree(pos.and_then(|pos| Ok((pos, made?))))?;
        let vals = Vector::from_store(vals, None)?;
        Ok(Stores {
            shape: (n_rows, n_cols),
            pos,
            crd,
            vals,
        })
    }

    /// The store of the positions, from those of this rank's rows, from 0.
    fn positions(
        &self,
        runtime: &Runtime,
        n_rows: usize,
        mut pos: Positions,
    ) -> Result<StoreHandle, Error> {
        let first = self.entries.start as u64;
        if first > 0 {
            pos.iter_mut().for_each(|position| *position += first);
        }
        let shape = Shape::new(&[n_rows + 1]);
        let (partition, rows) = (self.pos_partition, self.pos_rows.clone());
        match pos {
            Positions::Vector(pos) => runtime.store_of_rows(shape, partition, rows, pos),
            Positions::Room(pos) => runtime.store_of_room(shape, partition, rows, pos),
        }
    }
}

/// Refuses rows whose positions alone are beyond memory, before anything is allocated: an
/// allocation that fails later ends the process.
pub(crate) fn check_memory(runtime: &Runtime, rows: &Range<usize>) -> Result<(), Error> {
    // Assembly holds the positions up to three times.
    const COPIES: usize = 3;
    let positions = rows.len() + 1;
    runtime.check_limit(positions.saturating_mul(size_of::<u64>()))?;
    let is_granted = Vec::<u64>::new()
        .try_reserve_exact(positions.saturating_mul(COPIES))
        .is_ok();
    if is_granted {
        return Ok(());
    }
    let found = format!("{} rows", rows.len());
    Err(Error::argument("csr", "rows that fit in memory", found))
}
