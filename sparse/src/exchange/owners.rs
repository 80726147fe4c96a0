//! Entries of a matrix to the ranks that own their rows.
//!
//! What arrives is in the order of the ranks that sent it, and of each in its order; so entries at
//! the same place are summed in the order (rank, position) later.

use crate::local::triplets::Triplets;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape, reserve, try_collect, try_concat};
use std::ops::Range;

/// Which rank owns which rows.
pub(crate) struct Owners {
    /// The rows of each rank, ascending; none if every rank owns all.
    rows: Option<Vec<Range<usize>>>,
}

impl Owners {
    /// The owners of the rows of a new matrix.
    pub(crate) fn of_rows(runtime: &Runtime, n_rows: usize) -> Self {
        let (partition, _) = runtime.default_rows(Shape::new(&[n_rows]));
        Self::of_partition(runtime, partition)
    }

    /// The owners of the rows of something that is cut so.
    pub(crate) fn of_partition(runtime: &Runtime, partition: Partition) -> Self {
        let cuts = runtime.cuts(partition);
        let rows = cuts.map(|cuts| cuts.windows(2).map(|pair| pair[0]..pair[1]).collect());
        Self { rows }
    }

    /// Sends each entry to the owner of its row, or to all of them; every rank must ask.
    pub(crate) fn send<T: Element>(
        &self,
        runtime: &Runtime,
        entries: Triplets<T>,
    ) -> Result<Triplets<T>, Error> {
        if runtime.ranks() == 1 {
            return Ok(entries);
        }
        let (n_rows, n_cols) = (entries.n_rows(), entries.n_cols());
        let sent = match &self.rows {
            None => for_all(runtime.ranks(), &entries),
            Some(owned) => by_owner(owned, &entries),
        };
        drop(entries);
        let (places, vals) = runtime.agree(sent)?;
        let places = runtime.all_to_all(Ok(places));
        let vals = runtime.all_to_all(Ok(vals));
        let joined = || {
            let (places, vals) = (places?, vals?);
            let places = || places.iter().flatten();
            let (mut rows, mut cols) = (reserve(places().count())?, reserve(places().count())?);
            rows.extend(places().map(|place| (place >> 32) as u32));
            cols.extend(places().map(|&place| place as u32));
            Ok((rows, cols, try_concat(&vals)?))
        };
        let (rows, cols, vals) = runtime.agree(joined())?;
        Ok(Triplets::from_checked_parts(
            n_rows, n_cols, rows, cols, vals,
        ))
    }
}

/// Row and column in one word.
fn place(row: u32, col: u32) -> u64 {
    u64::from(row) << 32 | u64::from(col)
}

/// Places and values for each rank.
type Sent<T> = (Vec<Vec<u64>>, Vec<Vec<T>>);

/// All places and values for every rank.
fn for_all<T: Element>(ranks: usize, entries: &Triplets<T>) -> Result<Sent<T>, Error> {
    let places = || try_collect(entries.iter().map(|(row, col, _)| place(row, col)));
    let vals = || try_collect(entries.iter().map(|(_, _, val)| val));
    let places = (0..ranks).map(|_| places()).collect::<Result<_, _>>()?;
    Ok((
        places,
        (0..ranks).map(|_| vals()).collect::<Result<_, _>>()?,
    ))
}

/// Places and values for each owner, in the order of the entries.
fn by_owner<T: Element>(owned: &[Range<usize>], entries: &Triplets<T>) -> Result<Sent<T>, Error> {
    let owner = |row: u32| owned.partition_point(|rows| rows.end <= row as usize);
    let mut counts = vec![0; owned.len()];
    for &row in entries.rows() {
        counts[owner(row)] += 1;
    }
    let places = counts.iter().map(|&count| reserve(count));
    let mut places = places.collect::<Result<Vec<_>, _>>()?;
    let vals = counts.iter().map(|&count| reserve(count));
    let mut vals = vals.collect::<Result<Vec<_>, _>>()?;
    for (row, col, val) in entries.iter() {
        let owner = owner(row);
        places[owner].push(place(row, col));
        vals[owner].push(val);
    }
    Ok((places, vals))
}
