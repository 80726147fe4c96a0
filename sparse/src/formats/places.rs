//! Places of triplets, remembered for the values that come next: what the matrices of a loop have
//! in common that assembles the same places again and again, as finite elements do.
//!
//! The first assembly finds the structure of the row format. The second one looks each triplet up
//! in it; this and all others sum the values, and sort nothing.

use crate::assembly::Structure;
use crate::local::parallel::{self, Threads};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, reserve};
use std::fmt;
use std::sync::OnceLock;

/// What all triplets at the same places share.
#[derive(Default)]
pub(super) struct Places {
    /// Where the entries are that they are summed into, once they have been.
    pub(super) structure: OnceLock<Structure>,
    /// Which of them each entry is the sum of.
    pub(super) sums: OnceLock<Sums>,
}

/// Triplets, or entries, that a thread takes at a time.
const CHUNK: usize = 1 << 14;

/// Which triplets each entry of the row format is the sum of.
pub(super) struct Sums {
    /// The numbers of the triplets, entry by entry, and of each entry in their order.
    triplets: Vec<u32>,
    /// Where those of each entry begin: one more than entries.
    starts: Vec<u32>,
}

impl Sums {
    /// From the row and column of each triplet, and the structure that they were summed into.
    /// `None` where there are more than 32 bits can count.
    pub(super) fn new(
        threads: &Threads,
        (rows, cols): (&[u32], &[u32]),
        (pos, crd): (&[u64], &[u32]),
    ) -> Result<Option<Self>, Error> {
        if u32::try_from(rows.len()).is_err() {
            return Ok(None);
        }
        let mut entries: Vec<u32> = reserve(rows.len())?;
        entries.resize(rows.len(), 0);
        let chunks = parallel::chunks(rows.len(), CHUNK);
        let targets = parallel::split(&mut entries, chunks.iter().map(ExactSizeIterator::len));
        parallel::each(
            threads,
            chunks.into_iter().zip(targets),
            |(chunk, entries)| {
                let places = rows[chunk.clone()].iter().zip(&cols[chunk]);
                for (entry, (&row, &col)) in entries.iter_mut().zip(places) {
                    let first = pos[row as usize] as usize;
                    let columns = &crd[first..pos[row as usize + 1] as usize];
                    *entry = (first + columns.partition_point(|&column| column < col)) as u32;
                }
            },
        );
        let mut starts: Vec<u32> = reserve(crd.len() + 2)?;
        starts.resize(crd.len() + 2, 0);
        for &entry in &entries {
            starts[entry as usize + 2] += 1;
        }
        // `starts[entry + 1]` is where the next triplet of the entry goes, and in the end where
        // those of the next entry begin.
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        let mut triplets: Vec<u32> = reserve(rows.len())?;
        triplets.resize(rows.len(), 0);
        for (triplet, &entry) in entries.iter().enumerate() {
            let next = &mut starts[entry as usize + 1];
            triplets[*next as usize] = triplet as u32;
            *next += 1;
        }
        starts.truncate(crd.len() + 1);
        Ok(Some(Self { triplets, starts }))
    }

    /// The sum of each entry, in the order of its triplets.
    pub(super) fn sum<T: Numeric>(&self, threads: &Threads, vals: &[T], sums: &mut [T]) {
        let chunks = parallel::chunks(sums.len(), CHUNK);
        let targets = parallel::split(sums, chunks.iter().map(ExactSizeIterator::len));
        let work = chunks.iter().cloned().zip(targets);
        parallel::each(threads, work, |(entries, sums)| {
            let starts = &self.starts[entries.start..=entries.end];
            for (ends, sum) in starts.windows(2).zip(sums) {
                let triplets = &self.triplets[ends[0] as usize..ends[1] as usize];
                let mut values = triplets.iter().map(|&triplet| vals[triplet as usize]);
                // Every entry is the sum of at least one.
                let first = values.next().unwrap_or(T::ZERO);
                *sum = values.fold(first, T::plus);
            }
        });
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").finish_non_exhaustive()
    }
}
