//! Partitions: how a store is cut into pieces, symbolically.
//!
//! A store is cut along dimension 0. The places of the cuts are interned in [`CutsTable`], so that
//! comparing two partitions is comparing two numbers, however many ranks there are.

use crate::shape::Shape;
use std::ops::Range;
use std::sync::Arc;

/// How the elements of a store are spread over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Partition {
    /// Every rank holds every element.
    Replicated,
    /// Rank `r` holds the rows between cut `r` and cut `r + 1`.
    Tile(CutsId),
}

/// The number of a list of cuts in the runtime's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CutsId(pub(crate) u32);

impl Partition {
    /// The partition as one word of a window's key.
    pub(crate) fn word(self) -> u64 {
        match self {
            Self::Replicated => 1,
            Self::Tile(CutsId(id)) => 2 + u64::from(id),
        }
    }

    /// The partition that has this word; none has 0.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        match word {
            0 => None,
            1 => Some(Self::Replicated),
            _ => Some(Self::Tile(CutsId((word - 2) as u32))),
        }
    }
}

/// The lists of cuts in use; the same on every rank, since every rank takes the same decisions.
#[derive(Debug)]
pub(crate) struct CutsTable {
    lists: Vec<Arc<[usize]>>,
    ranks: usize,
    tile_len: usize,
    threshold: usize,
}

impl CutsTable {
    pub(crate) fn new(ranks: usize, tile_len: usize, threshold: usize) -> Self {
        Self {
            lists: Vec::new(),
            ranks,
            tile_len,
            threshold,
        }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    pub(crate) fn tile_len(&self) -> usize {
        self.tile_len
    }

    /// The cuts of a partition that is not replicated.
    pub(crate) fn get(&self, id: CutsId) -> &Arc<[usize]> {
        &self.lists[id.0 as usize]
    }

    /// The number of a list of `ranks + 1` ascending cuts.
    pub(crate) fn intern(&mut self, cuts: &[usize]) -> CutsId {
        debug_assert_eq!(cuts.len(), self.ranks + 1, "one more cut than ranks");
        let known = self.lists.iter().position(|list| **list == *cuts);
        CutsId(known.unwrap_or_else(|| {
            self.lists.push(cuts.into());
            self.lists.len() - 1
        }) as u32)
    }

    /// The rows of a store of this shape that a rank holds.
    pub(crate) fn rows(&self, partition: Partition, shape: Shape, rank: usize) -> Range<usize> {
        match partition {
            Partition::Replicated => 0..shape.rows(),
            Partition::Tile(id) => {
                let cuts = self.get(id);
                cuts[rank]..cuts[rank + 1]
            }
        }
    }

    /// The partition of a new store, where nothing else asks for another: whole tiles of rows,
    /// as even as tiles allow; small stores are not cut.
    pub(crate) fn default_partition(&mut self, shape: Shape) -> Partition {
        let rows = shape.rows();
        let is_small = shape.len() < self.threshold || rows <= self.tile_len;
        if self.ranks == 1 || shape.rank() == 0 || is_small {
            return Partition::Replicated;
        }
        let tiles = rows.div_ceil(self.tile_len);
        let cuts: Vec<usize> = (0..=self.ranks)
            .map(|rank| (tiles * rank / self.ranks * self.tile_len).min(rows))
            .collect();
        Partition::Tile(self.intern(&cuts))
    }

    /// Whether every piece begins at a tile, as reductions need.
    pub(crate) fn begins_at_tiles(&self, id: CutsId) -> bool {
        let cuts = self.get(id);
        let last = cuts[cuts.len() - 1];
        cuts.iter()
            .all(|cut| cut % self.tile_len == 0 || *cut == last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_cuts_are_whole_tiles_and_cover_all_rows() {
        for (ranks, rows) in [(2, 5), (3, 100), (8, 9), (5, 33)] {
            let mut table = CutsTable::new(ranks, 4, 1);
            let Partition::Tile(id) = table.default_partition(Shape::new(&[rows])) else {
                panic!("{rows} rows are cut");
            };
            let cuts = table.get(id);
            assert_eq!((cuts[0], cuts[ranks]), (0, rows));
            assert!(cuts.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(table.begins_at_tiles(id));
        }
        let mut table = CutsTable::new(4, 1024, 4096);
        assert_eq!(
            table.default_partition(Shape::new(&[4095])),
            Partition::Replicated
        );
        assert_eq!(
            table.default_partition(Shape::SCALAR),
            Partition::Replicated
        );
    }
}
