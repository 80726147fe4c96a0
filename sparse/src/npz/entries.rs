//! From the arrays of an archive to rows, and to entries one by one.
//!
//! A rank reads what it needs of each array: of csr the entries of its rows, of the other formats a
//! share of the values, in the order of the file. Arrays are read one after the other, since each
//! is decompressed from its beginning.

use super::header::{NpzFormat, NpzHeader};
use super::numbers::{DATA, indices, values};
use crate::assembly::MAX_COLUMNS;
use crate::local::parallel::{self, Threads};
use crate::local::rows::LocalRows;
use sparsefuse_dense::npz::{Archive, Member};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Runtime, reserve, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// Rows, columns and values of entries.
type Entries<T> = (Vec<u32>, Vec<u32>, Vec<T>);

/// Some rows of a matrix in the format csr.
pub(super) fn rows<T: Numeric>(
    runtime: &Runtime,
    archive: &Archive,
    header: &NpzHeader,
    rows: Range<usize>,
) -> Result<LocalRows<T>, Error> {
    // A rank relies on what the others have seen of the positions.
    let pos = positions(archive, header.n_rows, rows.clone(), header.n_stored);
    let pos = runtime.agree(pos)?;
    let read = || {
        let entries = pos[0] as usize..pos[rows.len()] as usize;
        let columns = 0..header.n_cols as i64;
        let data = || array(archive, DATA, &[header.n_stored]);
        // Each is decompressed from its beginning, by a thread of its own.
        let (crd, vals) = parallel::join(
            &Threads::of(runtime),
            || {
                let crd = array(archive, "indices", &[header.n_stored])?;
                indices(crd, entries.clone(), columns, narrow)
            },
            || values(data()?, entries.clone(), |_| Some((0, 0))),
        );
        let (crd, first) = (crd?, pos[0]);
        let place = |k: usize| {
            let row = pos.partition_point(|&end| end <= first + k as i64) - 1;
            Some(((rows.start + row) as u64, u64::from(crd[k])))
        };
        // What is wrong is found again, and its place told.
        let vals = vals.or_else(|_| values(data()?, entries.clone(), place))?;
        let pos = try_collect(pos.iter().map(|&position| (position - first) as u64))?;
        let mut rows = LocalRows { pos, crd, vals };
        rows.sort_and_sum();
        Ok(rows)
    };
    read()
}

/// A rank's share of the entries of a matrix in another format than csr.
pub(super) fn share<T: Numeric>(
    archive: &Archive,
    header: &NpzHeader,
    (rank, ranks): (usize, usize),
) -> Result<Entries<T>, Error> {
    let end = |rank: usize| (header.n_stored as u128 * rank as u128 / ranks as u128) as usize;
    let share = end(rank)..end(rank + 1);
    match header.format {
        NpzFormat::Csr | NpzFormat::Csc => of_columns(archive, header, share),
        NpzFormat::Coo => of_coordinates(archive, header, share),
        NpzFormat::Dia => of_diagonals(archive, header, share),
        NpzFormat::Bsr => of_blocks(archive, header, share),
    }
}

fn of_columns<T: Numeric>(
    archive: &Archive,
    header: &NpzHeader,
    share: Range<usize>,
) -> Result<Entries<T>, Error> {
    let n = header.n_cols;
    let pos = positions(archive, n, 0..n, header.n_stored)?;
    let rows = array(archive, "indices", &[header.n_stored])?;
    let rows = indices(rows, share.clone(), 0..header.n_rows as i64, narrow)?;
    let mut cols = reserve(share.len())?;
    let first = if share.is_empty() {
        n
    } else {
        owner(&pos, share.start)
    };
    for column in first..n {
        let (start, end) = (pos[column] as usize, pos[column + 1] as usize);
        if start >= share.end {
            break;
        }
        let count = end.min(share.end) - start.max(share.start);
        cols.extend(repeat_n(column as u32, count));
    }
    entries(array(archive, DATA, &[header.n_stored])?, share, rows, cols)
}

fn of_coordinates<T: Numeric>(
    archive: &Archive,
    header: &NpzHeader,
    share: Range<usize>,
) -> Result<Entries<T>, Error> {
    let (n_stored, rows, cols) = (header.n_stored, 0..header.n_rows, 0..header.n_cols);
    let data = array(archive, DATA, &[n_stored])?;
    if archive.has("coords") {
        // Rows, and behind them columns.
        let of = |range: Range<usize>, first: usize, within: Range<usize>| {
            let coords = array(archive, "coords", &[2, n_stored])?;
            if coords.is_by_columns() {
                return Err(coords.error("coordinates row by row", "column by column"));
            }
            let range = first + range.start..first + range.end;
            let within = within.start as i64..within.end as i64;
            indices(coords, range, within, narrow)
        };
        let rows = of(share.clone(), 0, rows)?;
        let cols = of(share.clone(), n_stored, cols)?;
        return entries(data, share, rows, cols);
    }
    let of = |name: &str, within: Range<usize>| {
        let array = array(archive, name, &[n_stored])?;
        let within = within.start as i64..within.end as i64;
        indices(array, share.clone(), within, narrow)
    };
    let (rows, cols) = (of("row", rows)?, of("col", cols)?);
    entries(data, share, rows, cols)
}

/// Of the diagonals, element `k` of which is in column `k`, what lies in the matrix and is not 0.
fn of_diagonals<T: Numeric>(
    archive: &Archive,
    header: &NpzHeader,
    share: Range<usize>,
) -> Result<Entries<T>, Error> {
    let data = archive.member(DATA)?;
    let [n_diagonals, len] = dims(&data)?;
    let offsets = array(archive, "offsets", &[n_diagonals])?;
    // Diagonals may lie outside the matrix.
    let within = -(MAX_COLUMNS as i64)..MAX_COLUMNS as i64 + 1;
    let offsets = indices(offsets, 0..n_diagonals, within, |offset| offset)?;
    let is_by_columns = data.is_by_columns();
    let first = share.start;
    let place = |k: usize| {
        let (diagonal, column) = match is_by_columns {
            true => ((first + k) % n_diagonals, (first + k) / n_diagonals),
            false => ((first + k) / len, (first + k) % len),
        };
        let row = column as i64 - offsets[diagonal];
        let is_inside = (0..header.n_rows as i64).contains(&row) && column < header.n_cols;
        is_inside.then_some((row as u64, column as u64))
    };
    let vals = values::<T>(data, share, place)?;
    let kept = || {
        let nonzero = vals.iter().enumerate().filter(|&(_, &val)| val != T::ZERO);
        nonzero.filter_map(|(k, &val)| Some((place(k)?, val)))
    };
    let n = kept().count();
    let (mut rows, mut cols, mut of_kept) = (reserve(n)?, reserve(n)?, reserve(n)?);
    for ((row, column), val) in kept() {
        rows.push(row as u32);
        cols.push(column as u32);
        of_kept.push(val);
    }
    Ok((rows, cols, of_kept))
}

fn of_blocks<T: Numeric>(
    archive: &Archive,
    header: &NpzHeader,
    share: Range<usize>,
) -> Result<Entries<T>, Error> {
    let data = archive.member(DATA)?;
    let [n_blocks, height, width] = dims(&data)?;
    let divides = |block: usize, whole: usize| block > 0 && whole.is_multiple_of(block);
    if !divides(height, header.n_rows) || !divides(width, header.n_cols) {
        let (n_rows, n_cols) = (header.n_rows, header.n_cols);
        let expected = format!("blocks that divide a matrix of {n_rows} by {n_cols}");
        return Err(data.error(expected, format!("blocks of {height} by {width}")));
    }
    let n_block_rows = header.n_rows / height;
    let pos = positions(archive, n_block_rows, 0..n_block_rows, n_blocks)?;
    let is_by_columns = data.is_by_columns();
    let of_block = height * width;
    // In the order by columns each element of all blocks comes before the next element of any.
    let inside = |k: usize| match is_by_columns {
        true => (k % n_blocks, k / n_blocks % height, k / n_blocks / height),
        false => (k / of_block, k % of_block / width, k % width),
    };
    let blocks = match is_by_columns {
        true => 0..n_blocks,
        false => share.start / of_block..share.end.div_ceil(of_block),
    };
    let crd = array(archive, "indices", &[n_blocks])?;
    let crd = indices(
        crd,
        blocks.clone(),
        0..(header.n_cols / width) as i64,
        narrow,
    )?;
    let (mut rows, mut cols) = (reserve(share.len())?, reserve(share.len())?);
    // Of one block after the other, or of all of them again and again.
    let mut last = (usize::MAX, 0);
    for k in share.clone() {
        let (block, row, column) = inside(k);
        if block != last.0 {
            last = (block, owner(&pos, block));
        }
        rows.push((last.1 * height + row) as u32);
        cols.push((crd[block - blocks.start] as usize * width + column) as u32);
    }
    entries(data, share, rows, cols)
}

/// Entries at these places with a share of the values.
fn entries<T: Numeric>(
    data: Member<'_>,
    share: Range<usize>,
    rows: Vec<u32>,
    cols: Vec<u32>,
) -> Result<Entries<T>, Error> {
    let place = |k: usize| Some((u64::from(rows[k]), u64::from(cols[k])));
    let vals = values(data, share, place)?;
    Ok((rows, cols, vals))
}

/// The positions of some rows, or columns, of which there are `n`: one more than them. Those of all
/// of them ascend from 0 to the number of entries.
fn positions(
    archive: &Archive,
    n: usize,
    wanted: Range<usize>,
    n_entries: usize,
) -> Result<Vec<i64>, Error> {
    let member = array(archive, "indptr", &[n + 1])?;
    let place = member.place().to_owned();
    let refuse = |expected: String, found: String| Error::file(&place, expected, found);
    let pos = indices(
        member,
        wanted.start..wanted.end + 1,
        0..n_entries as i64 + 1,
        |position| position,
    )?;
    if wanted.start == 0 && pos[0] != 0 {
        return Err(refuse(
            "0 as the first position".to_owned(),
            pos[0].to_string(),
        ));
    }
    if let Some(k) = (0..wanted.len()).find(|&k| pos[k] > pos[k + 1]) {
        let expected = "positions that never decrease".to_owned();
        let found = format!(
            "{} after {} at {}",
            pos[k + 1],
            pos[k],
            wanted.start + k + 1
        );
        return Err(refuse(expected, found));
    }
    if wanted.end == n && pos[wanted.len()] != n_entries as i64 {
        let expected = format!("{n_entries}, the number of entries, as the last position");
        return Err(refuse(expected, pos[wanted.len()].to_string()));
    }
    Ok(pos)
}

/// The row, or column, that an entry belongs to.
fn owner(pos: &[i64], entry: usize) -> usize {
    pos.partition_point(|&end| end <= entry as i64) - 1
}

/// An index in 32 bits, which it has since it lies in a matrix.
fn narrow(index: i64) -> u32 {
    index as u32
}

/// An array of these dimensions.
fn array<'a>(archive: &'a Archive, name: &str, shape: &[usize]) -> Result<Member<'a>, Error> {
    let member = archive.member(name)?;
    match member.shape() == shape {
        true => Ok(member),
        false => {
            let found = format!("one of {:?}", member.shape());
            Err(member.error(format!("an array of {shape:?} elements"), found))
        }
    }
}

/// The dimensions of an array that has as many.
fn dims<const N: usize>(member: &Member<'_>) -> Result<[usize; N], Error> {
    let dims = member.shape().try_into();
    dims.map_err(|_| {
        let found = format!("{}", member.shape().len());
        member.error(format!("an array of {N} dimensions"), found)
    })
}
