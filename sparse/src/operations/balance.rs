//! Balance: rows spread over the ranks so that all have about the same to do.
//!
//! By default ranks get equally many rows. Where some rows have far more entries than others,
//! [`Csr::balance`] cuts elsewhere: still between tiles, as the order of summation asks, so results
//! keep their bits. Vectors follow by themselves, since a task runs where most of what it reads is.

use crate::assembly;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Exchange, Partition};

/// What a row costs beside its entries, in entries: an iteration of conjugate gradients moves 88
/// bytes of vectors and 8 of positions for a row, and 12 for an entry.
const ROW_LOAD: u64 = 8;

impl<T: Numeric> Csr<T> {
    /// The work of the rank that has the most, as a multiple of the mean: 1 where the rows are
    /// spread evenly. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If a rank failed.
    pub fn imbalance(&self) -> Result<f64, Error> {
        let Some(old) = self.row_cuts()? else {
            return Ok(1.0);
        };
        let loads = self.tile_loads()?;
        Ok(imbalance(&loads, &self.in_tiles(&old)))
    }

    /// The same matrix with its rows spread over the ranks so that the largest share of the work,
    /// entries and rows, is as small as cuts between tiles allow; itself if it is so already, or if
    /// it is too small to be cut. Every rank must ask; executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn balance(&self) -> Result<Self, Error> {
        let Some(old) = self.row_cuts()? else {
            return Ok(self.clone());
        };
        let loads = self.tile_loads()?;
        let in_tiles = even_cuts(&loads, self.runtime().ranks());
        if imbalance(&loads, &in_tiles) >= imbalance(&loads, &self.in_tiles(&old)) {
            return Ok(self.clone());
        }
        let tile_len = self.runtime().config().tile_len;
        let cuts: Vec<usize> = in_tiles
            .iter()
            .map(|&tile| (tile * tile_len).min(self.n_rows()))
            .collect();
        eager("balance", &[self], || self.with_cuts(&old, &cuts))
    }

    /// Where the rows are cut; `None` if every rank holds all of them.
    fn row_cuts(&self) -> Result<Option<Vec<usize>>, Error> {
        let partition = self.row_partition()?;
        Ok(self.runtime().cuts(partition).map(|cuts| cuts.to_vec()))
    }

    fn in_tiles(&self, cuts: &[usize]) -> Vec<usize> {
        let tile_len = self.runtime().config().tile_len;
        cuts.iter().map(|cut| cut.div_ceil(tile_len)).collect()
    }

    /// The work of each tile of rows, of all ranks.
    fn tile_loads(&self) -> Result<Vec<u64>, Error> {
        let runtime = self.runtime();
        let pos = runtime.agree(runtime.local::<u64>(self.pos()))?;
        let tile_len = runtime.config().tile_len;
        let n_rows = pos.len() - 1;
        let load = |first: usize| {
            let last = (first + tile_len).min(n_rows);
            pos[last] - pos[first] + ROW_LOAD * (last - first) as u64
        };
        // Pieces begin at tiles, so no tile is on two ranks.
        let mine: Vec<u64> = (0..n_rows).step_by(tile_len).map(load).collect();
        Ok(runtime.all_gather(&mine)?.concat())
    }

    /// The same matrix, cut elsewhere.
    fn with_cuts(&self, old: &[usize], cuts: &[usize]) -> Result<Self, Error> {
        let runtime = self.runtime();
        let rank = runtime.rank();
        let rows = Exchange::to_ranges(rank, old, |rank| cuts[rank]..cuts[rank + 1])?;
        let moved = self.own_rows()?.as_rows().exchange(runtime, &rows)?;
        let own = cuts[rank]..cuts[rank + 1];
        let partition: Partition = runtime.partition_at(cuts)?;
        let stores = assembly::from_local(runtime, self.shape(), (partition, own), moved);
        stores.map(Self::of_stores)
    }
}

/// The largest load of a rank as a multiple of the mean.
fn imbalance(loads: &[u64], cuts: &[usize]) -> f64 {
    let total: u64 = loads.iter().sum();
    let of_rank = |pair: &[usize]| loads[pair[0]..pair[1]].iter().sum::<u64>();
    let largest = cuts.windows(2).map(of_rank).max().unwrap_or(0);
    if total == 0 {
        return 1.0;
    }
    largest as f64 * (cuts.len() - 1) as f64 / total as f64
}

/// The cuts between tiles that make the largest load of a rank as small as possible.
fn even_cuts(loads: &[u64], ranks: usize) -> Vec<usize> {
    let total: u64 = loads.iter().sum();
    // The smallest limit under which the ranks can take all tiles lies in `least..=most`.
    let (mut least, mut most) = (0, total);
    while least < most {
        let limit = least + (most - least) / 2;
        match cuts_under(limit, loads, ranks) {
            Some(_) => most = limit,
            None => least = limit + 1,
        }
    }
    cuts_under(most, loads, ranks).expect("one rank can take everything")
}

/// Cuts under which no rank has more than `limit`, if there are such: each rank takes as much as it
/// may.
fn cuts_under(limit: u64, loads: &[u64], ranks: usize) -> Option<Vec<usize>> {
    let mut cuts = vec![0];
    let mut tile = 0;
    for _ in 0..ranks {
        let mut load = 0;
        while tile < loads.len() && load + loads[tile] <= limit {
            load += loads[tile];
            tile += 1;
        }
        cuts.push(tile);
    }
    (tile == loads.len()).then_some(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest load of any cuts, by trying all of them.
    fn least_by_trying(loads: &[u64], ranks: usize) -> u64 {
        if ranks == 1 {
            return loads.iter().sum();
        }
        (0..=loads.len())
            .map(|cut| {
                let first: u64 = loads[..cut].iter().sum();
                first.max(least_by_trying(&loads[cut..], ranks - 1))
            })
            .min()
            .expect("there is at least one cut")
    }

    #[test]
    fn the_largest_load_is_the_smallest_possible() {
        for seed in 0..200u64 {
            let draw = |k| sparsefuse_kernels::random::bits(seed, k);
            let n = (draw(0) % 9) as usize;
            let loads: Vec<u64> = (0..n as u64).map(|k| draw(k + 2) % 50).collect();
            let ranks = 1 + (draw(1) % 4) as usize;
            let cuts = even_cuts(&loads, ranks);
            assert_eq!((cuts.len(), cuts[0], cuts[ranks]), (ranks + 1, 0, n));
            let largest = cuts
                .windows(2)
                .map(|pair| loads[pair[0]..pair[1]].iter().sum::<u64>())
                .max();
            assert_eq!(
                largest,
                Some(least_by_trying(&loads, ranks)),
                "{loads:?}, {ranks}"
            );
        }
    }
}
