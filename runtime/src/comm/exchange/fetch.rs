//! Fetches: the boxes of a store that the ranks need for a task, or that the program reads.

use super::{Exchange, Item, Sent};
use crate::comm::Comm;
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::geometry::region::Region;
use crate::memory::bytes;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::shape::Shape;
use sparsefuse_kernels::DType;
use std::sync::Arc;

/// The exchange of one store that gives every rank the box that it needs, in new memory.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) slot: u32,
    /// What this rank needs, row-major in new memory.
    pub(crate) region: Region,
    /// What every rank needs: two fetches are the same only if they are on every rank.
    needs: Vec<Region>,
    exchange: Exchange,
    item: Item,
}

impl Fetch {
    /// The fetch that gives every rank the box that it needs of a store that is cut.
    pub(crate) fn new(
        (slot, shape, dtype): (u32, Shape, DType),
        partition: Partition,
        rank: usize,
        cuts: &CutsTable,
        needs: impl Fn(usize) -> Region,
    ) -> Self {
        let ranks = cuts.ranks();
        let held = |rank| Region::of_rows(shape, &cuts.rows(partition, shape, rank));
        let needs: Vec<Region> = (0..ranks).map(needs).collect();
        Self {
            slot,
            region: needs[rank],
            exchange: Exchange::of_boxes((rank, ranks), held, |rank| needs[rank], needs[rank]),
            needs,
            item: Item::new(dtype, 1),
        }
    }

    /// Whether two fetches bring the same to every rank.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.slot == other.slot && self.needs == other.needs
    }

    /// What this rank sends.
    pub(crate) fn sent(&self) -> Sent {
        self.exchange.sent(self.item.size)
    }

    /// Sends and receives; `source` is this rank's instance of the store, or why there is none.
    pub(crate) fn run(
        &self,
        comm: &dyn Comm,
        pool: &Arc<Pool>,
        source: Result<&Instance, Error>,
    ) -> Result<Instance, Error> {
        let size = self.item.size;
        let source = source.map(|source| bytes::of_instance(source, size));
        let mut room = self.make_room(pool);
        let target = room.as_mut().map_err(|cause| cause.clone());
        let target = target.map(|room| bytes::of_instance_mut(room, size));
        let carried = self.exchange.carry(comm, self.item, source, target);
        carried.and(room)
    }

    /// Memory for what this rank needs.
    pub(crate) fn make_room(&self, pool: &Arc<Pool>) -> Result<Instance, Error> {
        let len = self.region.len();
        let memory = pool.allocate(len, self.item.size)?;
        let rows = self.region.lo[0]..self.region.hi[0];
        Ok(Instance::new(memory, rows, len, self.item.size))
    }
}
