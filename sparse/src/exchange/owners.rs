//! Entries of a matrix to the ranks that own their rows.
//!
//! What arrives is in the order of the ranks that sent it, and of each in its order; so entries at
//! the same place are summed in the order (rank, position) later.

use crate::local::triplets::Triplets;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape};
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
        let (places, vals) = match &self.rows {
            None => {
                let places: Vec<u64> = entries
                    .iter()
                    .map(|(row, col, _)| place(row, col))
                    .collect();
                let vals = entries.into_parts().2;
                (vec![places; runtime.ranks()], vec![vals; runtime.ranks()])
            }
            Some(owned) => by_owner(owned, &entries),
        };
        let places = runtime.all_to_all(&places)?.concat();
        let vals = runtime.all_to_all(&vals)?.concat();
        let rows = places.iter().map(|place| (place >> 32) as u32).collect();
        let cols = places.iter().map(|&place| place as u32).collect();
        Ok(Triplets::from_checked_parts(
            n_rows, n_cols, rows, cols, vals,
        ))
    }
}

/// Row and column in one word.
fn place(row: u32, col: u32) -> u64 {
    u64::from(row) << 32 | u64::from(col)
}

/// Places and values for each owner, in the order of the entries.
fn by_owner<T: Element>(
    owned: &[Range<usize>],
    entries: &Triplets<T>,
) -> (Vec<Vec<u64>>, Vec<Vec<T>>) {
    let owner = |row: u32| owned.partition_point(|rows| rows.end <= row as usize);
    let mut counts = vec![0; owned.len()];
    for &row in entries.rows() {
        counts[owner(row)] += 1;
    }
    let mut places: Vec<_> = counts
        .iter()
        .map(|&count| Vec::with_capacity(count))
        .collect();
    let mut vals: Vec<_> = counts
        .iter()
        .map(|&count| Vec::with_capacity(count))
        .collect();
    for (row, col, val) in entries.iter() {
        let owner = owner(row);
        places[owner].push(place(row, col));
        vals[owner].push(val);
    }
    (places, vals)
}
