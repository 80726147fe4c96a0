//! Fetches: the boxes of a store that the ranks need for a task, or that the program reads.

use super::{Exchange, Item};
use crate::comm::Comm;
use crate::error::Error;
use crate::geometry::partition::CutsTable;
use crate::geometry::partition::needs::Needs;
use crate::geometry::region::Region;
use crate::memory::bytes;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use sparsefuse_kernels::DType;
use std::sync::Arc;

/// The exchange of one store that gives every rank the box that it needs, in new memory.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) slot: u32,
    /// What this rank needs, row-major in new memory.
    pub(crate) region: Region,
    /// What every rank needs: two fetches are the same only if they are on every rank.
    needs: Needs,
    pub(crate) exchange: Exchange,
    pub(crate) item: Item,
}

impl Fetch {
    /// The fetch that gives every rank the box that it needs of a store that is cut.
    pub(crate) fn new(
        (slot, dtype): (u32, DType),
        needs: Needs,
        rank: usize,
        cuts: &mut CutsTable,
    ) -> Self {
        let partners = cuts.partners(&needs, rank);
        let region = needs.of_rank(rank, cuts);
        let exchange = Exchange::of_boxes_between(
            rank,
            [&partners.takers, &partners.givers],
            |rank| needs.held(rank, cuts),
            |rank| needs.of_rank(rank, cuts),
            region,
        );
        Self {
            slot,
            region,
            needs,
            exchange,
            item: Item::new(dtype, 1),
        }
    }

    /// Whether two fetches bring the same to every rank.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.slot == other.slot && self.needs == other.needs
    }

    /// Memory for what this rank needs.
    pub(crate) fn make_room(&self, pool: &Arc<Pool>) -> Result<Instance, Error> {
        make_room(self.region, self.item, pool)
    }
}

/// In new memory what a rank needs, the box `region`, into which the exchange puts what it brings;
/// `source` is the rank's own instance of the store, or why there is none.
pub(crate) fn read(
    (exchange, region, item): (&Exchange, Region, Item),
    comm: &dyn Comm,
    pool: &Arc<Pool>,
    source: Result<&Instance, Error>,
) -> Result<Instance, Error> {
    let source = source.map(|source| bytes::of_instance(source, item.size));
    let mut room = make_room(region, item, pool);
    let target = room.as_mut().map_err(|cause| cause.clone());
    let target = target.map(|room| bytes::of_instance_mut(room, item.size));
    let carried = exchange.carry(comm, item, source, target);
    carried.and(room)
}

fn make_room(region: Region, item: Item, pool: &Arc<Pool>) -> Result<Instance, Error> {
    let len = region.len();
    let memory = pool.allocate(len, item.size)?;
    let rows = region.lo[0]..region.hi[0];
    Ok(Instance::new(memory, rows, len, item.size))
}
