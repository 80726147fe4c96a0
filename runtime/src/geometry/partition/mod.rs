//! Partitions: how a store is cut into pieces, symbolically.
//!
//! A store is cut along dimension 0. The places of the cuts are interned in [`CutsTable`], so that
//! comparing two partitions is comparing two numbers, however many ranks there are.

pub(crate) mod needs;

use self::needs::Known;
use crate::geometry::view::{View, gcd};
use crate::shape::Shape;
use sparsefuse_kernels::tiles::Tiles;
use std::collections::BTreeMap;
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

/// Which rows of a domain each rank computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pieces {
    /// Those of each rank alone.
    pub(crate) launch: Partition,
    /// Those of its neighbours that it computes too.
    more: Option<More>,
}

/// Rows of a view of a store that is cut: of each rank those that it holds, and some around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct More {
    rows: usize,
    cuts: CutsId,
    /// The row of the store that is row 0 of the view.
    first: usize,
}

impl Pieces {
    /// Every rank computes its own rows.
    pub(crate) fn of(launch: Partition) -> Self {
        Self { launch, more: None }
    }

    /// Every rank also computes this many `rows` around its own of a store that is cut in this way,
    /// and of which `first` is row 0 of the domain.
    pub(crate) fn more(launch: Partition, rows: usize, (cuts, first): (CutsId, usize)) -> Self {
        let more = Some(More { rows, cuts, first });
        Self { launch, more }
    }

    /// How many rows around its own a rank computes at either side.
    pub(crate) fn rows_more(self) -> usize {
        self.more.map_or(0, |more| more.rows)
    }
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
///
/// Lists are as long as there are ranks, so what is derived from one is remembered: the analysis of
/// a window that is like earlier ones looks at the rows of its own rank alone.
#[derive(Clone, Debug)]
pub(crate) struct CutsTable {
    lists: Vec<Cuts>,
    /// Which list has these cuts.
    interned: BTreeMap<Arc<[usize]>, CutsId>,
    /// The default partitions, by the number of rows and the grain of the cuts.
    defaults: BTreeMap<(usize, usize), Partition>,
    /// Lists that end earlier, by the list and the end.
    clipped: BTreeMap<(CutsId, usize), CutsId>,
    /// Lists as the rows of a view see them, if there is such a list.
    seen: BTreeMap<(CutsId, View), Option<CutsId>>,
    known: Known,
    ranks: usize,
    tile_len: usize,
    threshold: usize,
    /// Cuts that were looked at.
    #[cfg(test)]
    looked_at: Looks,
}

/// Counts cuts that are looked at; a copy begins anew.
#[cfg(test)]
#[derive(Debug, Default)]
struct Looks(std::sync::atomic::AtomicUsize);

#[cfg(test)]
impl Clone for Looks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Clone, Debug)]
struct Cuts {
    list: Arc<[usize]>,
    /// The largest number that divides all cuts within; 0 where there are none.
    divisor: usize,
    /// The most rows that a rank has, and the fewest.
    most: usize,
    fewest: usize,
}

/// The elements that a rank may compute for its neighbours in place of an exchange, at least: about
/// as many as it computes while a message is under way.
const ELEMENTS_OF_EXCHANGE: usize = 1 << 14;
/// The share of its rows that a rank may compute for its neighbours in any case, at either side:
/// one in this many.
const SHARE_OF_OVERLAP: usize = 32;
/// The share of its rows around which there is room, and the rows that there is room for in any
/// case.
const SHARE_OF_ROOM: usize = 4;
const ROOM: usize = 4;

impl CutsTable {
    pub(crate) fn new(ranks: usize, tile_len: usize, threshold: usize) -> Self {
        Self {
            lists: Vec::new(),
            interned: BTreeMap::new(),
            defaults: BTreeMap::new(),
            clipped: BTreeMap::new(),
            seen: BTreeMap::new(),
            known: Known::default(),
            ranks,
            tile_len,
            threshold,
            #[cfg(test)]
            looked_at: Looks::default(),
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
        self.look_at(self.ranks + 1);
        &self.lists[id.0 as usize].list
    }

    /// As [`CutsTable::get`]; `None` if the table does not have it.
    pub(crate) fn known(&self, id: CutsId) -> Option<&Arc<[usize]>> {
        Some(&self.lists.get(id.0 as usize)?.list)
    }

    /// The number of a list of `ranks + 1` ascending cuts.
    pub(crate) fn intern(&mut self, cuts: &[usize]) -> CutsId {
        debug_assert_eq!(cuts.len(), self.ranks + 1, "one more cut than ranks");
        self.look_at(cuts.len());
        if let Some(&known) = self.interned.get(cuts) {
            return known;
        }
        let last = cuts[cuts.len() - 1];
        let within = cuts.iter().filter(|&&cut| cut != last);
        let divisor = within.fold(0, |divisor, &cut| gcd(divisor, cut));
        let pieces = cuts.windows(2).map(|pair| pair[1] - pair[0]);
        let most = pieces.clone().max().unwrap_or(0);
        let fewest = pieces.min().unwrap_or(0);
        let (id, list) = (CutsId(self.lists.len() as u32), Arc::<[usize]>::from(cuts));
        self.interned.insert(Arc::clone(&list), id);
        self.lists.push(Cuts {
            list,
            divisor,
            most,
            fewest,
        });
        id
    }

    /// The list of which no cut lies behind `end`.
    pub(crate) fn clipped(&mut self, id: CutsId, end: usize) -> CutsId {
        if let Some(&known) = self.clipped.get(&(id, end)) {
            return known;
        }
        let list: Vec<usize> = self.get(id).iter().map(|&cut| cut.min(end)).collect();
        let clipped = self.intern(&list);
        if self.clipped.len() == needs::MOST {
            self.clipped.clear();
        }
        self.clipped.insert((id, end), clipped);
        clipped
    }

    /// The list as the rows of a view see it, where they walk upwards along those of the store.
    pub(crate) fn seen(&mut self, id: CutsId, view: &View) -> Option<CutsId> {
        if let Some(&known) = self.seen.get(&(id, *view)) {
            return known;
        }
        let list = Arc::clone(self.get(id));
        let row = |&cut: &usize| Some(view.rows_within(cut..cut)?.start);
        let rows: Option<Vec<usize>> = list.iter().map(row).collect();
        let seen = rows.map(|mut rows| {
            rows[0] = 0;
            rows[list.len() - 1] = view.shape().rows();
            self.intern(&rows)
        });
        if self.seen.len() == needs::MOST {
            self.seen.clear();
        }
        self.seen.insert((id, *view), seen);
        seen
    }

    /// The rows of a store of this shape that a rank holds.
    pub(crate) fn rows(&self, partition: Partition, shape: Shape, rank: usize) -> Range<usize> {
        match partition {
            Partition::Replicated => 0..shape.rows(),
            Partition::Tile(id) => {
                self.look_at(2);
                let cuts = &self.lists[id.0 as usize].list;
                cuts[rank]..cuts[rank + 1]
            }
        }
    }

    /// The rows of a domain of this shape that a rank computes.
    pub(crate) fn rows_of(&self, pieces: Pieces, shape: Shape, rank: usize) -> Range<usize> {
        let Some(More { rows, cuts, first }) = pieces.more else {
            return self.rows(pieces.launch, shape, rank);
        };
        self.look_at(2);
        let cuts = &self.lists[cuts.0 as usize].list;
        let begin = cuts[rank].saturating_sub(first + rows).min(shape.rows());
        let end = (cuts[rank + 1] + rows).saturating_sub(first);
        begin..end.clamp(begin, shape.rows())
    }

    /// The most rows that a rank may compute for each of two neighbours, in place of exchanging
    /// rows of this length.
    pub(crate) fn most_overlap(&self, id: CutsId, row_len: usize) -> usize {
        let fewest = self.lists[id.0 as usize].fewest;
        let cheap = (ELEMENTS_OF_EXCHANGE / row_len.max(1)).max(fewest / SHARE_OF_OVERLAP);
        match fewest {
            0 => 0,
            _ => cheap.min((fewest / SHARE_OF_ROOM).max(ROOM)),
        }
    }

    /// Whether a partition is one of this table, and cuts all of this many rows.
    pub(crate) fn cuts_all(&self, partition: Partition, rows: usize) -> bool {
        match partition {
            Partition::Replicated => true,
            Partition::Tile(id) => {
                let cuts = self.lists.get(id.0 as usize);
                cuts.is_some_and(|cuts| cuts.list.last() == Some(&rows))
            }
        }
    }

    /// The tiles of an array of this shape.
    pub(crate) fn tiles(&self, shape: Shape) -> Tiles {
        Tiles::of(shape.dims(), self.tile_len)
    }

    /// The partition of a new store, where nothing else asks for another: whole tiles, evenly;
    /// small stores are not cut.
    ///
    /// Arrays are cut where a vector with an element for each of their rows would be, as long as no
    /// rank gets more than its share and a quarter by that: what belongs together lies together.
    /// Others are cut where their tiles allow.
    pub(crate) fn default_partition(&mut self, shape: Shape) -> Partition {
        let rows = shape.rows();
        if self.ranks == 1 || shape.rank() == 0 || shape.len() < self.threshold {
            return Partition::Replicated;
        }
        let largest = rows.div_ceil(self.tile_len).div_ceil(self.ranks) * self.tile_len;
        let is_even = largest * self.ranks <= rows + rows / 4;
        let grain = match is_even {
            true => self.tile_len,
            false => self.tiles(shape).grain(),
        };
        if rows <= grain {
            return Partition::Replicated;
        }
        if let Some(&known) = self.defaults.get(&(rows, grain)) {
            return known;
        }
        let tiles = rows.div_ceil(grain);
        let cuts: Vec<usize> = (0..=self.ranks)
            .map(|rank| (tiles * rank / self.ranks * grain).min(rows))
            .collect();
        let partition = Partition::Tile(self.intern(&cuts));
        self.defaults.insert((rows, grain), partition);
        partition
    }

    /// Whether every piece begins at a tile, as reductions of arrays with these tiles need.
    pub(crate) fn begins_at(&self, id: CutsId, tiles: Tiles) -> bool {
        self.lists[id.0 as usize]
            .divisor
            .is_multiple_of(tiles.grain())
    }

    /// Whether no rank has more rows by the one list than the most by the other, and a quarter.
    pub(crate) fn is_even_beside(&self, one: CutsId, other: CutsId) -> bool {
        let most = |id: CutsId| self.lists[id.0 as usize].most;
        most(one) <= most(other) + most(other) / 4
    }

    /// Counts cuts that are looked at, in tests.
    fn look_at(&self, _cuts: usize) {
        #[cfg(test)]
        self.looked_at
            .0
            .fetch_add(_cuts, std::sync::atomic::Ordering::Relaxed);
    }

    /// The cuts that were looked at so far.
    #[cfg(test)]
    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at.0.load(std::sync::atomic::Ordering::Relaxed)
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
            assert!(table.begins_at(id, Tiles::of_vector(4)));
        }
        let mut table = CutsTable::new(8, 1024, 4096);
        for dims in [&[1000, 1_000_000][..], &[4096, 4096], &[256, 256, 256]] {
            let Partition::Tile(id) = table.default_partition(Shape::new(dims)) else {
                panic!("{dims:?} is cut");
            };
            let cuts = table.get(id);
            let pieces = || cuts.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(
                pieces().max().unwrap() - pieces().min().unwrap() <= 1,
                "{dims:?}"
            );
        }
        let beside = [&[100_000][..], &[100_000, 3], &[100_000, 4, 4]]
            .map(|dims| table.default_partition(Shape::new(dims)));
        assert!(beside.iter().all(|&partition| partition == beside[0]));
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
