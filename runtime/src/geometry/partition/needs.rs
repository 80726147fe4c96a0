//! What the ranks need of a store that is cut, and what follows from it for all of them.
//!
//! A task reads a store through a view, each rank for its rows of the launch ([`Read`]). Whether every
//! rank holds what it needs, or has room for it around its rows, how much moves, and between which
//! ranks, depends on cuts and views alone. It is found by looking at all ranks, once, and remembered: a
//! window like earlier ones looks at the cuts of its own rank and of the neighbours of that.

use super::{CutsTable, Partition};
use crate::geometry::region::Region;
use crate::geometry::view::View;
use crate::shape::Shape;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What is read of a store: by each rank what its rows of a launch see through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Read {
    pub(crate) launch: Partition,
    pub(crate) view: View,
}

/// What the ranks need of a store that is cut in this way: the smallest box, for each of them, around
/// what is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needs {
    partition: Partition,
    /// Ascending; at least one.
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
    /// Whether what every rank needs is next to its own rows, and not more than these, or a few.
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
    /// Whether one brings every rank all that another does.
    covered: BTreeMap<(NeedsId, Needs), bool>,
    numbers: BTreeMap<Needs, NeedsId>,
    numbered: Vec<Needs>,
}

/// The rows around a rank's own that there is room for, however few its own are.
const FEW: usize = 8;

/// The facts of a kind that are remembered; beyond this, all are forgotten and found again.
const MOST: usize = 1 << 14;

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
            && reads.all(|read| self.reads.binary_search(read).is_ok())
    }

    /// The box that a rank needs.
    pub(crate) fn of_rank(&self, rank: usize, cuts: &CutsTable) -> Region {
        let mut reads = self.reads.iter().map(|Read { launch, view }| {
            let rows = cuts.rows(*launch, view.shape(), rank);
            view.region(&rows)
        });
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
            reach.is_around &= need.is_empty() || touches && around <= own.len().max(FEW);
        }
        if self.known.reaches.len() == MOST {
            self.known.reaches.clear();
        }
        self.known.reaches.insert(needs.clone(), reach);
        reach
    }

    /// All that two needs of one store are, if the boxes around them bring no more than twice of those
    /// of each: not of the first column and the last one.
    pub(crate) fn joined(&mut self, one: &Needs, other: &Needs) -> Option<Needs> {
        let mut joined = one.clone();
        for read in &other.reads {
            if let Err(place) = joined.reads.binary_search(read) {
                joined.reads.insert(place, *read);
            }
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
