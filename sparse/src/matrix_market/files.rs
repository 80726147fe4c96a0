//! A matrix or a vector from and to a Matrix Market file.
//!
//! On several ranks each reads and parses a part of the file and sends what it finds to its owners
//! ([`crate::matrix_market`]); rank 0 writes for all, in the order of the rows, what the others
//! send it piece by piece. No rank ever holds more than its rows and a piece.

use crate::assembly::{self, ASSEMBLE, triplets};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::triplets::Triplets;
use crate::matrix_market::pieces::Pieces;
use crate::matrix_market::{
    self, Content, Format, Header, InOrder, ReadError, ReadErrorKind, Text, Whole, WriteError,
    WriteErrorKind,
};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape, reserve, try_collect};
use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::{Add, Range};
use std::path::Path;

impl<T: Field + Add<Output = T>> Csr<T> {
    /// The matrix of a Matrix Market file, plain or gzip, as [`matrix_market::read`] reads it:
    /// symmetric kinds are made whole, entries at the same place are summed in the order of the
    /// file, and of an `array` file the elements that are not 0 are kept.
    ///
    /// On several ranks every rank parses blocks of its own and sends the entries to the owners of
    /// their rows; a compressed file is decompressed by each of them, block by block. All ranks
    /// must ask and get the same error, that of the first line at fault.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is malformed, or is complex where `T` is real; if only some
    /// ranks can read it; if memory runs out.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        as_task("read_matrix_market", path, |runtime| {
            if runtime.ranks() == 1 {
                let (header, whole) = matrix_market::read_whole(runtime, path)?;
                return Ok(match whole {
                    Whole::Matrix(matrix) => of_matrix(runtime, (header, *matrix)),
                    Whole::Content(content) => assemble(content),
                });
            }
            let (header, own) = matrix_market::read_own_rows(runtime, path)?;
            let own = match header.format {
                Format::Coordinate => own,
                Format::Array => own.without_zeros(),
            };
            let stores = runtime.eager_task(ASSEMBLE, &[], || triplets::stores(Cow::Owned(own)));
            Ok(stores.map(Self::of_stores))
        })
    }
}

/// What `read` makes of a file, as an eager task.
fn as_task<R>(
    name: &'static str,
    path: &Path,
    read: impl FnOnce(&Runtime) -> Result<Result<R, Error>, ReadError>,
) -> Result<R, ReadError> {
    let refuse = |cause| refuse_read(path, ReadErrorKind::Assembly(cause));
    let runtime = Runtime::current();
    let read = runtime.eager_task(name, &[], || Ok(read(&runtime)));
    read.map_err(refuse)??.map_err(refuse)
}

/// The matrix whose entries are in memory of the runtime, in their order.
fn of_matrix<T: Field>(
    runtime: &Runtime,
    (header, matrix): (Header, InOrder<T>),
) -> Result<Csr<T>, Error> {
    let shape = (header.n_rows, header.n_cols);
    let InOrder { pos, crd, vals, .. } = matrix;
    let stores = || assembly::of_rooms(runtime, shape, pos, (crd, vals));
    runtime
        .eager_task(ASSEMBLE, &[], stores)
        .map(Csr::of_stores)
}

fn assemble<T: Field + Add<Output = T>>(content: Content<T>) -> Result<Csr<T>, Error> {
    match content {
        Content::Sparse(triplets) => Csr::from_whole_triplets(triplets),
        Content::Dense {
            n_rows,
            n_cols,
            vals,
        } => {
            let row = |row: usize| vals[row * n_cols..(row + 1) * n_cols].iter().copied();
            Csr::from_dense_rows(n_rows, n_cols, row)
        }
    }
}

/// The vector of a Matrix Market file with one column, read as [`Csr::read`] reads a matrix; what a
/// `coordinate` file does not name is 0.
///
/// # Errors
///
/// As [`Csr::read`], or if the file has not one column.
pub fn read_vector<T: Field + Add<Output = T>>(
    path: impl AsRef<Path>,
) -> Result<Vector<T>, ReadError> {
    let path = path.as_ref();
    let check = |header: &Header| match *header {
        Header { n_cols: 1, .. } => Ok(()),
        Header { n_rows, n_cols, .. } => Err(refuse_read(
            path,
            ReadErrorKind::NotVector { n_rows, n_cols },
        )),
    };
    let mut columns = as_task("read_vector", path, |runtime| columns(runtime, path, check))?;
    Ok(columns.swap_remove(0))
}

/// The columns of a Matrix Market file as vectors, each as [`read_vector`] reads a file with one
/// column: several right-hand sides, say.
///
/// # Errors
///
/// As [`Csr::read`].
pub fn read_columns<T: Field + Add<Output = T>>(
    path: impl AsRef<Path>,
) -> Result<Vec<Vector<T>>, ReadError> {
    let path = path.as_ref();
    as_task("read_columns", path, |runtime| {
        columns(runtime, path, |_| Ok(()))
    })
}

/// The columns of a file whose header passes the check.
fn columns<T: Field + Add<Output = T>>(
    runtime: &Runtime,
    path: &Path,
    check: impl Fn(&Header) -> Result<(), ReadError>,
) -> Result<Result<Vec<Vector<T>>, Error>, ReadError> {
    if runtime.ranks() > 1 {
        let (header, own) = matrix_market::read_own_rows(runtime, path)?;
        check(&header)?;
        if let Err(refused) = check_columns::<T>(runtime, &header) {
            return Ok(Err(refused));
        }
        return Ok(columns_of_entries(runtime, header.format, &own));
    }
    let (header, content) = matrix_market::read::<T>(path)?;
    check(&header)?;
    if let Err(refused) = check_columns::<T>(runtime, &header) {
        return Ok(Err(refused));
    }
    Ok(match content {
        Content::Dense {
            n_cols: 1, vals, ..
        } => Vector::from_shape_vec([vals.len()], vals).map(|vector| vec![vector]),
        Content::Dense { n_cols, vals, .. } => {
            let column = |column| try_collect(vals.iter().skip(column).step_by(n_cols).copied());
            let vector = |vals: Vec<T>| Vector::from_shape_vec([vals.len()], vals);
            (0..n_cols)
                .map(|number| column(number).and_then(vector))
                .collect()
        }
        Content::Sparse(triplets) => columns_of_entries(runtime, header.format, &triplets),
    })
}

/// The columns with these entries, of which a rank holds at least those of its rows. Those of a
/// `coordinate` file are summed.
fn columns_of_entries<T: Field + Add<Output = T>>(
    runtime: &Runtime,
    format: Format,
    entries: &Triplets<T>,
) -> Result<Vec<Vector<T>>, Error> {
    let shape = Shape::new(&[entries.n_rows()]);
    let (partition, rows) = runtime.default_rows(shape);
    runtime.agree(assembly::check_memory(runtime, &rows))?;
    let columns = (0..entries.n_cols()).map(|_| try_collect(repeat_n(T::ZERO, rows.len())));
    let mut columns: Vec<_> = runtime.agree(columns.collect::<Result<_, Error>>())?;
    for (row, column, value) in entries.iter() {
        let element = &mut columns[column as usize][row as usize - rows.start];
        *element = match format {
            Format::Coordinate => *element + value,
            Format::Array => value,
        };
    }
    let make = |column| vector_of_rows(runtime, shape, (partition, rows.clone()), column);
    columns.into_iter().map(make).collect()
}

/// Whether there is memory for the columns of a file, of which a few bytes may name any number. All
/// of it is asked for together, since a system grants more than it has if that comes in small
/// parts.
fn check_columns<T>(runtime: &Runtime, header: &Header) -> Result<(), Error> {
    /// What a vector takes besides its elements: its store, and the list that it is made of.
    const STORE: usize = 512;
    let (_, rows) = runtime.default_rows(Shape::new(&[header.n_rows]));
    let of_column = rows.len().saturating_mul(size_of::<T>());
    let bytes = of_column
        .saturating_add(STORE)
        .saturating_mul(header.n_cols);
    let is_room = runtime.check_limit(bytes);
    runtime.agree(is_room.and_then(|()| reserve::<u8>(bytes).map(drop)))
}

fn vector_of_rows<T: Field>(
    runtime: &Runtime,
    shape: Shape,
    (partition, rows): (Partition, Range<usize>),
    elements: Vec<T>,
) -> Result<Vector<T>, Error> {
    let store = runtime.store_of_rows(shape, partition, rows, elements);
    Vector::from_store(runtime.agree(store)?, None)
}

impl<T: Field> Csr<T> {
    /// Writes all stored entries, zeros among them, as [`matrix_market::write_sparse`] does, with
    /// the digits that read back to the same bits. Executes the window; every rank must ask.
    ///
    /// Rank 0 writes the file; the others send it their rows in turn, as text in pieces of a few
    /// megabytes, so it never holds the matrix.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, a value is not finite, or the file cannot be
    /// written. All ranks get the same error.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let path = path.as_ref();
        let written = eager("write_matrix_market", &[self], || Ok(self.write_to(path)));
        written.map_err(|cause| refuse_write(path, WriteErrorKind::Values(cause)))?
    }

    fn write_to(&self, path: &Path) -> Result<(), WriteError> {
        let refuse = |kind| refuse_write(path, kind);
        let runtime = self.runtime();
        let own = self.own_rows();
        let own = own.map_err(|cause| refuse(WriteErrorKind::Values(cause)))?;
        let (rows, local) = (own.rows(), own.as_rows());
        // The entries of a range from that with this number on, with their rows.
        let first = local.pos[0];
        let row_of = |k: usize| local.pos.partition_point(|&end| end <= first + k as u64) - 1;
        let place = |k| (rows.start + row_of(k), local.crd[k] as usize);
        check_finite(runtime, local.vals, place).map_err(refuse)?;
        let put = |range: Range<usize>, text: &mut Text| {
            let mut row = if range.is_empty() {
                0
            } else {
                row_of(range.start)
            };
            for k in range {
                while local.pos[row + 1] <= first + k as u64 {
                    row += 1;
                }
                text.entry(rows.start + row, local.crd[k] as usize, local.vals[k])?;
            }
            Ok(())
        };
        let pieces = Pieces::new(runtime, own.is_replicated(), local.crd.len(), put);
        let head = Text::head_of_sparse::<T>(self.shape(), self.nnz());
        pieces.write(runtime, path, head).map_err(refuse)
    }
}

/// Writes a vector as a Matrix Market file with one column, in the way of [`Csr::write`];
/// `comment` becomes comment lines, none if it is empty.
///
/// # Errors
///
/// As [`Csr::write`].
pub fn write_vector<T: Field>(
    path: impl AsRef<Path>,
    vector: &Vector<T>,
    comment: &str,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    let write = || Ok(write_vector_to(path, vector, comment));
    let reads = [vector.store()];
    let written = vector.runtime().eager_task("write_vector", &reads, write);
    written.map_err(|cause| refuse_write(path, WriteErrorKind::Values(cause)))?
}

fn write_vector_to<T: Field>(
    path: &Path,
    vector: &Vector<T>,
    comment: &str,
) -> Result<(), WriteError> {
    let refuse = |kind| refuse_write(path, kind);
    let runtime = vector.runtime();
    let local = vector
        .contiguous()
        .and_then(|vector| runtime.local::<T>(vector.store()));
    let local = runtime.agree(local);
    let local = local.map_err(|cause| refuse(WriteErrorKind::Values(cause)))?;
    let first = local.rows().start;
    check_finite(runtime, &local, |k| (first + k, 0)).map_err(refuse)?;
    let is_whole = local.partition() == Partition::Replicated;
    let put = |range: Range<usize>, text: &mut Text| {
        let mut range = range;
        range.try_for_each(|k| text.element(first + k, 0, local[k]))
    };
    let pieces = Pieces::new(runtime, is_whole, local.len(), put);
    let head = Text::head_of_vector::<T>(vector.len(), comment);
    pieces.write(runtime, path, head).map_err(refuse)
}

/// Refuses values that the format has no text for, before a file is touched: on all ranks the
/// first one of the lowest rank that has such. `place` says the row and column of a value.
fn check_finite<T: Field>(
    runtime: &Runtime,
    vals: &[T],
    place: impl Fn(usize) -> (usize, usize),
) -> Result<(), WriteErrorKind> {
    let is_bad = |value: T| {
        let (re, im) = value.parts();
        !re.is_finite() || !im.is_finite()
    };
    let bad = vals.iter().position(|&value| is_bad(value));
    let text = bad.map(|k| {
        let (row, col) = place(k);
        format!("{row} {col} {}", vals[k])
    });
    let all = runtime
        .all_gather_bytes(text.unwrap_or_default().into_bytes())
        .map_err(WriteErrorKind::Values)?;
    let Some(first) = all.iter().find(|text| !text.is_empty()) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(first);
    let mut words = text.splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let (row, col) = (number(), number());
    let found = words.next().unwrap_or_default().to_owned();
    Err(WriteErrorKind::NotFinite { found, row, col })
}

fn refuse_read(path: &Path, kind: ReadErrorKind) -> ReadError {
    ReadError::new(&path.to_string_lossy(), kind)
}

fn refuse_write(path: &Path, kind: WriteErrorKind) -> WriteError {
    WriteError::new(&path.to_string_lossy(), kind)
}
