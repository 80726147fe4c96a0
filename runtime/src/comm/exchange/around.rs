//! Halos of stores that are seen through shifted views: rows of neighbours, where they are read.
//!
//! A view that reaches a few rows beyond what a rank holds reads the rank's instance itself, which
//! has room for these rows; only they travel. All views of a store that tasks read before it is
//! written again have one exchange, with the smallest box of a neighbour's rows that they see.
#![expect(
    unsafe_code,
    reason = "halos are written beside the elements of an instance"
)]

use super::{Exchange, Item};
use crate::geometry::partition::CutsTable;
use crate::geometry::partition::needs::{Needs, NeedsId, rows_around};
use crate::geometry::region::Region;
use crate::memory::instance::{Instance, Side};
use crate::shape::Shape;
use sparsefuse_kernels::DType;

/// The exchange of the rows around those that a rank holds of a store.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    pub(crate) slot: u32,
    /// What every rank needs, its own rows among it.
    pub(crate) needs: NeedsId,
    /// How many rows this rank has.
    own: usize,
    /// The rows of this rank's halos, in front of its own and behind them.
    n_rows: [usize; 2],
    /// One for each of them.
    sides: [Exchange; 2],
    pub(crate) item: Item,
    row_len: usize,
}

/// The two halos of a rank.
pub(crate) const SIDES: [Side; 2] = [Side::Before, Side::Behind];

/// The part of a box in front of what a rank holds, or behind it.
fn beyond(need: Region, held: &Region, side: Side) -> Region {
    let mut part = need;
    match side {
        Side::Before => part.hi[0] = need.hi[0].min(held.lo[0]).max(need.lo[0]),
        Side::Behind => part.lo[0] = need.lo[0].max(held.hi[0]).min(need.hi[0]),
    }
    part
}

impl Around {
    /// The exchange that brings every rank the box that it needs, but for its own rows.
    pub(crate) fn new(
        (slot, shape, dtype): (u32, Shape, DType),
        needs: &Needs,
        rank: usize,
        cuts: &mut CutsTable,
    ) -> Self {
        let partners = cuts.partners(needs, rank);
        let number = cuts.number_of(needs);
        let held = needs.held(rank, cuts);
        let own = held.lo[0]..held.hi[0];
        let n_rows = rows_around(&needs.of_rank(rank, cuts), &own);
        let into = [
            own.start - n_rows[0]..own.start,
            own.end..own.end + n_rows[1],
        ];
        let sides = SIDES.map(|side| {
            let part = |rank| beyond(needs.of_rank(rank, cuts), &needs.held(rank, cuts), side);
            let into = Region::of_rows(shape, &into[side as usize]);
            let ranks: [&[usize]; 2] = [&partners.takers, &partners.givers];
            Exchange::of_boxes_between(rank, ranks, |rank| needs.held(rank, cuts), part, into)
        });
        Self {
            slot,
            needs: number,
            own: own.len(),
            n_rows,
            sides,
            item: Item::new(dtype, 1),
            row_len: shape.row_len(),
        }
    }

    /// How many rows this rank has to have room for, in front of its own and behind them.
    pub(crate) fn room(&self) -> [usize; 2] {
        self.n_rows
    }

    /// The exchange of one of the halos.
    pub(crate) fn side(&self, side: Side) -> &Exchange {
        &self.sides[side as usize]
    }

    /// The memory of a halo of this rank; none where its instance has no room for it.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes the room around the instance while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "the room is no part of what is shared")]
    pub(crate) unsafe fn target<'i>(
        &self,
        side: Side,
        instance: &'i Instance,
    ) -> Option<&'i mut [u8]> {
        let (n_rows, row_bytes) = (self.n_rows[side as usize], self.row_len * self.item.size);
        // SAFETY: as the caller promises.
        let halo = || unsafe { instance.halo(side, (self.own, n_rows), row_bytes) };
        instance.has_room(self.n_rows, row_bytes).then(halo)
    }
}
