//! What the ranks need of a store that is cut, and what follows from it for all of them.
//!
//! A task reads a store through a view, each rank for its rows of the launch ([`Read`]). Whether
//! every rank holds what it needs, or has room for it around its rows, how much moves, and between
//! which ranks, depends on cuts and views alone. It is found by looking at all ranks, once, and
//! remembered: a window like earlier ones looks at the cuts of its own rank and of the neighbours
//! of that.

use super::{CutsId, CutsTable, Partition, Pieces};
use crate::geometry::region::Region;
use crate::geometry::view::View;
use crate::shape::{MAX_RANK, Shape};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What is read of a store: by each rank what its rows of a launch see through a view, and through
/// views that begin further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Read {
    launch: Partition,
    view: View,
    /// How much further the last one begins, along each dimension of the store.
    further: [usize; MAX_RANK],
    /// How many rows around these are read, too.
    around: usize,
}

/// What the ranks need of a store that is cut in this way: the smallest box, for each of them,
/// around what is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needs {
    partition: Partition,
    /// At least one; none of them can be joined.
    reads: Vec<Read>,
}

/// The number of needs in the runtime's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NeedsId(pub(crate) u32);

impl NeedsId {
    /// The needs as one word of a window's key; none has 0.
    pub(crate) fn word(of: Option<Self>) -> u64 {
        of.map_or(0, |Self(id)| 1 + u64::from(id))
    }

    /// The needs that have this word.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        word.checked_sub(1).map(|id| Self(id as u32))
    }
}

/// What needs mean for all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The elements that all ranks together need and do not hold.
    pub(crate) moved: usize,
    /// Whether every rank holds what it needs.
    pub(crate) is_local: bool,
    /// Whether what every rank needs is next to its own rows, and not more than half of these, or a
    /// few.
    pub(crate) is_around: bool,
}

/// The ranks with which a rank exchanges what is needed, ascending.
#[derive(Debug)]
pub(crate) struct Partners {
    /// Those that need something that it holds.
    pub(crate) takers: Vec<usize>,
    /// Those that hold something that it needs.
    pub(crate) givers: Vec<usize>,
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    reaches: BTreeMap<Needs, Reach>,
    /// By the needs and the rank.
    partners: BTreeMap<(Needs, usize), Arc<Partners>>,
    /// How many rows more of one store are read than of another one are written.
    overlaps: BTreeMap<(Pieces, usize, CutsId, usize), usize>,
    /// Pieces by what they are, if that is rows around those of the launch.
    as_launched: BTreeMap<Pieces, Pieces>,
    /// Whether one brings every rank all that another does.
    covered: BTreeMap<(NeedsId, Needs), bool>,
    numbers: BTreeMap<Needs, NeedsId>,
    numbered: Vec<Needs>,
}

/// The rows around a rank's own that there is room for, however few its own are.
const FEW: usize = 8;

/// The facts of a kind that are remembered; beyond this, all are forgotten and found again.
pub(super) const MOST: usize = 1 << 14;

impl Read {
    pub(crate) fn new(launch: Partition, view: View) -> Self {
        Self {
            launch,
            view,
            further: [0; MAX_RANK],
            around: 0,
        }
    }

    /// The same, and this many rows around them.
    pub(crate) fn around(launch: Partition, view: View, rows: usize) -> Self {
        Self {
            around: rows,
            ..Self::new(launch, view)
        }
    }

    pub(crate) fn launch(&self) -> Partition {
        self.launch
    }

    /// The first and the last place where the views of one begin, and those of another; none where
    /// they differ in more.
    fn ends(&self, other: &Self) -> Option<[[[usize; MAX_RANK]; 2]; 2]> {
        let firsts = match self.view == other.view {
            // Also of views in another shape.
            true => Some([[0; MAX_RANK]; 2]),
            false => (self.view.offset_beside(&other.view))
                .zip(other.view.offset_beside(&self.view))
                .map(|(one, other)| [one, other]),
        };
        let [one, two] = firsts.filter(|_| self.launch == other.launch)?;
        let last = |first: [usize; MAX_RANK], read: &Self| {
            std::array::from_fn(|d| first[d] + read.further[d])
        };
        Some([[one, last(one, self)], [two, last(two, other)]])
    }

    /// Both as one, if they differ in nothing but where they begin.
    fn joined(&self, other: &Self) -> Option<Self> {
        if self.around != other.around {
            return None;
        }
        let [[first, last], [other_first, other_last]] = self.ends(other)?;
        let least: [usize; MAX_RANK] = std::array::from_fn(|d| first[d].min(other_first[d]));
        let view = match self.view == other.view {
            true => self.view,
            false => self.view.at_offset(least),
        };
        Some(Self {
            launch: self.launch,
            view,
            further: std::array::from_fn(|d| last[d].max(other_last[d]) - least[d]),
            around: self.around,
        })
    }

    /// Whether what another one reads is among what this one does.
    fn includes(&self, other: &Self) -> bool {
        self.around >= other.around
            && self
                .ends(other)
                .is_some_and(|[[first, last], [other_first, other_last]]| {
                    (0..MAX_RANK).all(|d| first[d] <= other_first[d] && other_last[d] <= last[d])
                })
    }

    /// The box that a rank reads.
    fn of_rank(&self, rank: usize, cuts: &CutsTable) -> Region {
        let rows = cuts.rows(self.launch, self.view.shape(), rank);
        let mut region = self.view.region(&rows);
        if !region.is_empty() {
            for (hi, further) in region.hi.iter_mut().zip(self.further) {
                *hi += further;
            }
            region.lo[0] = region.lo[0].saturating_sub(self.around);
            let end = (region.hi[0] + self.around).min(self.view.base().rows());
            region.hi[0] = end.max(region.hi[0]);
        }
        region
    }

    /// The same from the first element of each row on, which changes neither between which ranks
    /// nor how much moves: ranks hold whole rows.
    fn at_first_columns(&self) -> Self {
        let box_ = self.view.region(&(0..self.view.shape().rows()));
        let view = self.view.offset_beside(&self.view).map(|mut offset| {
            for (offset, lo) in offset.iter_mut().zip(box_.lo).skip(1) {
                *offset -= lo;
            }
            self.view.at_offset(offset)
        });
        Self {
            view: view.unwrap_or(self.view),
            ..*self
        }
    }
}

impl Needs {
    pub(crate) fn new(partition: Partition, read: Read) -> Self {
        let reads = vec![read];
        Self { partition, reads }
    }

    fn shape(&self) -> Shape {
        self.reads[0].view.base()
    }

    /// Whether all that these others read is among what these do.
    pub(crate) fn include(&self, others: &Self) -> bool {
        let mut reads = others.reads.iter();
        self.partition == others.partition
            && reads.all(|read| self.reads.iter().any(|mine| mine.includes(read)))
    }

    /// Needs something more.
    fn add(&mut self, read: &Read) {
        for known in &mut self.reads {
            if let Some(joined) = known.joined(read) {
                *known = joined;
                return;
            }
        }
        self.reads.push(*read);
        self.reads.sort_unstable();
    }

    /// The box that a rank needs.
    pub(crate) fn of_rank(&self, rank: usize, cuts: &CutsTable) -> Region {
        let mut reads = self.reads.iter().map(|read| read.of_rank(rank, cuts));
        let first = reads.next().expect("needs are those of a read at least");
        reads.fold(first, |hull, region| hull.hull(&region))
    }

    /// The box that a rank holds.
    pub(crate) fn held(&self, rank: usize, cuts: &CutsTable) -> Region {
        let shape = self.shape();
        Region::of_rows(shape, &cuts.rows(self.partition, shape, rank))
    }
}

/// How many of the rows that are needed lie in front of a rank's own, and behind them.
pub(crate) fn rows_around(need: &Region, own: &Range<usize>) -> [usize; 2] {
    let (lo, hi) = (need.lo[0], need.hi[0]);
    match need.is_empty() {
        true => [0; 2],
        false => [
            hi.min(own.start).saturating_sub(lo),
            hi.saturating_sub(lo.max(own.end)),
        ],
    }
}

impl CutsTable {
    /// What needs mean for all ranks.
    pub(crate) fn reach(&mut self, needs: &Needs) -> Reach {
        let needs = match &needs.reads[..] {
            [read] => &Needs::new(needs.partition, read.at_first_columns()),
            _ => needs,
        };
        if let Some(&known) = self.known.reaches.get(needs) {
            return known;
        }
        let mut reach = Reach {
            moved: 0,
            is_local: true,
            is_around: true,
        };
        for rank in 0..self.ranks() {
            let (need, held) = (needs.of_rank(rank, self), needs.held(rank, self));
            let own = held.lo[0]..held.hi[0];
            let touches = need.lo[0] <= own.end && own.start <= need.hi[0];
            let around: usize = rows_around(&need, &own).iter().sum();
            reach.moved += need.len() - need.intersect(&held).len();
            reach.is_local &= held.contains(&need);
            let most = (own.len() / 2).max(FEW);
            reach.is_around &= need.is_empty() || touches && around <= most;
        }
        if self.known.reaches.len() == MOST {
            self.known.reaches.clear();
        }
        self.known.reaches.insert(needs.clone(), reach);
        reach
    }

    /// All that two needs of one store are, if the boxes around them bring no more than twice of
    /// those of each: not of the first column and the last one.
    pub(crate) fn joined(&mut self, one: &Needs, other: &Needs) -> Option<Needs> {
        let mut joined = one.clone();
        for read in &other.reads {
            joined.add(read);
        }
        let apart = self.reach(one).moved + self.reach(other).moved;
        let reach = self.reach(&joined);
        (reach.is_around && reach.moved <= 2 * apart).then_some(joined)
    }

    /// With whom a rank exchanges what is needed.
    pub(crate) fn partners(&mut self, needs: &Needs, rank: usize) -> Arc<Partners> {
        let key = (needs.clone(), rank);
        if let Some(known) = self.known.partners.get(&key) {
            return Arc::clone(known);
        }
        let (need, held) = (needs.of_rank(rank, self), needs.held(rank, self));
        let meet = |one: &Region, other: &Region| !one.intersect(other).is_empty();
        let others = || (0..self.ranks()).filter(|&other| other != rank);
        let partners = Arc::new(Partners {
            takers: others()
                .filter(|&other| meet(&held, &needs.of_rank(other, self)))
                .collect(),
            givers: others()
                .filter(|&other| meet(&need, &needs.held(other, self)))
                .collect(),
        });
        if self.known.partners.len() == MOST {
            self.known.partners.clear();
        }
        self.known.partners.insert(key, Arc::clone(&partners));
        partners
    }

    /// How many rows more at either side a rank reads of a store that is cut in the one way, from
    /// row `first` on, than it writes of another one: the most of all ranks.
    pub(crate) fn overlap(
        &mut self,
        (written, rows): (Pieces, usize),
        (read, first): (CutsId, usize),
    ) -> Option<usize> {
        let more = written.more?;
        let key = (written, rows, read, first);
        if let Some(&known) = self.known.overlaps.get(&key) {
            return Some(known);
        }
        let (written, read) = (self.get(more.cuts), self.get(read));
        let width = |rank: usize| {
            let [begin, end] = [0, 1].map(|side| {
                let cut = written[rank + side] as isize - more.first as isize;
                if side == 0 {
                    cut.max(0)
                } else {
                    cut.min(rows as isize)
                }
            });
            let own = more.rows as isize;
            let is_empty = (begin - own).max(0) >= (end + own).min(rows as isize);
            let [own_begin, own_end] = [0, 1].map(|side| read[rank + side] as isize);
            let first = first as isize;
            match is_empty {
                true => 0,
                false => (own_begin - first - begin)
                    .max(end + first - own_end)
                    .max(0),
            }
        };
        let width = (0..self.ranks()).map(width).max().unwrap_or(0) as usize;
        if self.known.overlaps.len() == MOST {
            self.known.overlaps.clear();
        }
        self.known.overlaps.insert(key, width);
        Some(width)
    }

    /// The same pieces by rows around those of the launch, if they are that: then loops over the
    /// same rows have equal pieces, whichever store they write.
    pub(crate) fn as_launched(&mut self, pieces: Pieces) -> Pieces {
        let (Some(more), Partition::Tile(launch)) = (pieces.more, pieces.launch) else {
            return pieces;
        };
        if let Some(&known) = self.known.as_launched.get(&pieces) {
            return known;
        }
        let (of, own) = (self.get(more.cuts), self.get(launch));
        let is_same = (1..self.ranks()).all(|cut| of[cut] == own[cut] + more.first);
        let same = match is_same {
            true => Pieces::more(pieces.launch, more.rows, (launch, 0)),
            false => pieces,
        };
        if self.known.as_launched.len() == MOST {
            self.known.as_launched.clear();
        }
        self.known.as_launched.insert(pieces, same);
        same
    }

    /// The number of needs, by which stores say what is around their rows.
    pub(crate) fn number_of(&mut self, needs: &Needs) -> NeedsId {
        let Known {
            numbers, numbered, ..
        } = &mut self.known;
        *numbers.entry(needs.clone()).or_insert_with(|| {
            numbered.push(needs.clone());
            NeedsId(numbered.len() as u32 - 1)
        })
    }

    /// Whether what is there brings every rank what these needs do.
    pub(crate) fn covers(&mut self, there: NeedsId, needs: &Needs) -> bool {
        let all = &self.known.numbered[there.0 as usize];
        if all.include(needs) {
            return true;
        }
        let key = (there, needs.clone());
        if let Some(&known) = self.known.covered.get(&key) {
            return known;
        }
        let mut ranks = 0..self.ranks();
        let covers = ranks.all(|rank| {
            let (all, need) = (all.of_rank(rank, self), needs.of_rank(rank, self));
            all.contains(&need)
        });
        if self.known.covered.len() == MOST {
            self.known.covered.clear();
        }
        self.known.covered.insert(key, covers);
        covers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 rows of 8 on 4 ranks, seen through a slice of 14 rows and some columns, by the ranks that
    /// have these rows of the slice.
    fn needs(table: &mut CutsTable, row: usize, columns: Range<usize>) -> Needs {
        let cut = |cuts: [usize; 5], table: &mut CutsTable| Partition::Tile(table.intern(&cuts));
        let view = View::identity(Shape::new(&[16, 8]));
        let view = view.slice(0, row..row + 14, 1);
        let view = view.and_then(|view| view.slice(1, columns, 1));
        let held = cut([0, 4, 8, 12, 16], table);
        let launch = cut([0, 3, 7, 11, 14], table);
        let view = view.expect("the slice is one of the grid");
        Needs::new(held, Read::new(launch, view))
    }

    #[test]
    fn slices_that_differ_in_their_place_are_one_box() {
        let table = &mut CutsTable::new(4, 1, 1);
        let middle = needs(table, 1, 1..7);
        assert!(table.reach(&middle).is_local);
        let mut all = middle.clone();
        for (row, columns) in [(0, 1..7), (2, 1..7), (1, 0..6), (1, 2..8)] {
            let other = needs(table, row, columns);
            assert!(!all.include(&other));
            all = table.joined(&all, &other).expect("boxes beside each other");
            assert!(all.include(&other) && all.include(&middle));
        }
        assert_eq!(all.reads.len(), 1);
        let reach = table.reach(&all);
        assert!(reach.is_around && !reach.is_local);
        assert_eq!(reach.moved, 6 * 8, "six halos of a whole row");
        assert_eq!(all.of_rank(1, table).lo[..2], [3, 0]);
        assert_eq!(all.of_rank(1, table).hi[..2], [9, 8]);
        let partners = table.partners(&all, 1);
        assert_eq!(
            (&partners.takers[..], &partners.givers[..]),
            (&[0, 2][..], &[0, 2][..])
        );
        let number = table.number_of(&all);
        assert!(table.covers(number, &middle));
        let number = table.number_of(&middle);
        assert!(!table.covers(number, &all));
    }

    #[test]
    fn the_first_column_and_the_last_one_are_two_boxes() {
        let table = &mut CutsTable::new(4, 1, 1);
        let [first, last] = [0..1, 7..8].map(|columns| needs(table, 2, columns));
        assert_eq!(table.reach(&first).moved, 3);
        assert_eq!(table.joined(&first, &last), None);
    }
}
