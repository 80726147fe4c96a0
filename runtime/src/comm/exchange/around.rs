//! Halos of stores that are seen through shifted views: rows of neighbours, where they are read.
//!
//! A view that reaches a few rows beyond what a rank holds reads the rank's instance itself, which
//! has room for these rows; only they travel. All views of a store in a task have one exchange, so
//! each neighbour gets one message, with the smallest box of its rows that they see.
#![expect(
    unsafe_code,
    reason = "halos are written beside the elements of an instance"
)]

use super::{Exchange, Item, Sent};
use crate::comm::Comm;
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::geometry::region::Region;
use crate::memory::bytes;
use crate::memory::instance::{Instance, Side};
use crate::shape::Shape;
use sparsefuse_kernels::DType;
use std::ops::Range;

/// The exchange of the rows around those that a rank holds of a store.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    pub(crate) slot: u32,
    /// What every rank needs, its own rows among it.
    needs: Vec<Region>,
    /// The rows of this rank's halos, in front of its own and behind them.
    n_rows: [usize; 2],
    /// One for each of them.
    sides: [Exchange; 2],
    item: Item,
    row_len: usize,
}

/// The part of a box in front of some rows, or behind them.
fn beyond(need: Region, own: &Range<usize>, side: Side) -> Region {
    let mut part = need;
    match side {
        Side::Before => part.hi[0] = need.hi[0].min(own.start).max(need.lo[0]),
        Side::Behind => part.lo[0] = need.lo[0].max(own.end).min(need.hi[0]),
    }
    part
}

const SIDES: [Side; 2] = [Side::Before, Side::Behind];

impl Around {
    /// Whether what every rank needs of a store lies around its own rows, and is not more than these:
    /// it is exchanged as halos.
    pub(crate) fn fits(
        (partition, shape): (Partition, Shape),
        cuts: &CutsTable,
        need: impl Fn(usize) -> Region,
    ) -> bool {
        (0..cuts.ranks()).all(|rank| {
            let (own, need) = (cuts.rows(partition, shape, rank), need(rank));
            let around = SIDES.map(|side| beyond(need, &own, side));
            let n_around: usize = around.iter().map(|part| part.hi[0] - part.lo[0]).sum();
            let touches = need.lo[0] <= own.end && own.start <= need.hi[0];
            need.is_empty() || touches && n_around <= own.len()
        })
    }

    /// The exchange that brings every rank the box that it needs, but for its own rows.
    pub(crate) fn new(
        (slot, shape, dtype): (u32, Shape, DType),
        partition: Partition,
        rank: usize,
        cuts: &CutsTable,
        needs: Vec<Region>,
    ) -> Self {
        let rows = |rank| cuts.rows(partition, shape, rank);
        let held = |rank| Region::of_rows(shape, &rows(rank));
        let own = rows(rank);
        let parts = SIDES.map(|side| beyond(needs[rank], &own, side));
        let n_rows = match needs[rank].is_empty() {
            true => [0; 2],
            false => parts.map(|part| part.hi[0] - part.lo[0]),
        };
        let into = [
            own.start - n_rows[0]..own.start,
            own.end..own.end + n_rows[1],
        ];
        let sides = [0, 1].map(|side| {
            let needed = |rank: usize| beyond(needs[rank], &rows(rank), SIDES[side]);
            let into = Region::of_rows(shape, &into[side]);
            Exchange::of_boxes((rank, cuts.ranks()), held, needed, into)
        });
        Self {
            slot,
            needs,
            n_rows,
            sides,
            item: Item::new(dtype, 1),
            row_len: shape.row_len(),
        }
    }

    /// Whether this brings every rank all that another one does.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let mut needs = self.needs.iter().zip(&other.needs);
        self.slot == other.slot && needs.all(|(need, other)| need.contains(other))
    }

    /// How many rows this rank has to have room for, in front of its own and behind them.
    pub(crate) fn room(&self) -> [usize; 2] {
        self.n_rows
    }

    /// What this rank sends.
    pub(crate) fn sent(&self) -> Sent {
        let sides = self.sides.iter();
        sides.map(|side| side.sent(self.item.size)).sum()
    }

    /// Sends what others need of this rank's rows, or why there is nothing.
    pub(crate) fn post(
        &self,
        comm: &dyn Comm,
        instance: Result<&Instance, Error>,
    ) -> Result<(), Error> {
        let source = instance.map(|instance| bytes::of_instance(instance, self.item.size));
        let [before, behind] = &self.sides;
        let posted = before.post(comm, self.item, source.clone());
        posted.and(behind.post(comm, self.item, source))
    }

    /// Waits for the halos of this rank, which has room for them, or not.
    pub(crate) fn wait(
        &self,
        comm: &dyn Comm,
        instance: Result<&Instance, Error>,
    ) -> Result<(), Error> {
        let row_bytes = self.row_len * self.item.size;
        let mut outcome = Ok(());
        for side in SIDES {
            let n_rows = self.n_rows[side as usize];
            let target = instance.clone().map(|instance| {
                // SAFETY: the machine runs one task at a time; what reads the room is its kernel,
                // which does not run on rows that need the halo before this is over.
                unsafe { instance.halo(side, n_rows, row_bytes) }
            });
            let arrived = self.sides[side as usize].wait(comm, self.item, target);
            outcome = outcome.and(arrived);
        }
        outcome
    }
}
