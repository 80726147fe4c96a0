//! Exchanges: how a rank comes to hold parts of a store that other ranks hold.
//!
//! A [`Fetch`] is planned from the boxes of the store that every rank needs and the rows that
//! every rank holds; [`Fetch::run`] sends and receives them. Every rank takes part in every fetch,
//! also one that has failed, so no rank waits forever.
#![expect(
    unsafe_code,
    reason = "boxes of elements are copied as bytes between instances"
)]

use crate::comm::{self, Comm, Message};
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::geometry::view::Region;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::memory::reserve::zeros;
use crate::shape::Shape;
use std::sync::Arc;

/// The boxes of one store that this rank sends and receives.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) slot: u32,
    /// What this rank needs, row-major in new memory.
    pub(crate) region: Region,
    /// What every rank needs: two fetches are the same only if they are on every rank.
    needs: Vec<Region>,
    /// What this rank holds.
    held: Region,
    sends: Vec<(usize, Region)>,
    receives: Vec<(usize, Region)>,
    /// Bytes of an element.
    size: usize,
}

/// The fetch that gives every rank the box of a store that it needs.
pub(crate) fn plan(
    (slot, shape, size): (u32, Shape, usize),
    partition: Partition,
    rank: usize,
    cuts: &CutsTable,
    needs: impl Fn(usize) -> Region,
) -> Fetch {
    let holds = |rank| Region::of_rows(shape, &cuts.rows(partition, shape, rank));
    let needs: Vec<Region> = (0..cuts.ranks()).map(needs).collect();
    let region = needs[rank];
    let held = holds(rank);
    let mut fetch = Fetch {
        slot,
        region,
        needs,
        held,
        sends: Vec::new(),
        receives: Vec::new(),
        size,
    };
    if partition == Partition::Replicated {
        return fetch;
    }
    for other in (0..cuts.ranks()).filter(|&other| other != rank) {
        let send = held.intersect(&fetch.needs[other]);
        if !send.is_empty() {
            fetch.sends.push((other, send));
        }
        let receive = holds(other).intersect(&region);
        if !receive.is_empty() {
            fetch.receives.push((other, receive));
        }
    }
    fetch
}

impl Fetch {
    /// Whether two fetches bring the same to every rank.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.slot == other.slot && self.needs == other.needs
    }

    /// The bytes that this rank sends.
    pub(crate) fn bytes_sent(&self) -> usize {
        self.sends
            .iter()
            .map(|(_, region)| region.len() * self.size)
            .sum()
    }

    /// The number of messages that this rank sends.
    pub(crate) fn messages(&self) -> usize {
        self.sends.len()
    }

    /// Sends and receives; `source` is this rank's instance of the store, or why there is none.
    pub(crate) fn run(
        &self,
        comm: &dyn Comm,
        pool: &Arc<Pool>,
        source: Result<&Instance, Error>,
    ) -> Result<Instance, Error> {
        let room = source.and_then(|source| Ok((source, self.make_room(pool)?)));
        for (to, region) in &self.sends {
            let room = room.as_ref().map_err(Clone::clone);
            let message = match room.and_then(|(source, _)| self.pack(source, region)) {
                Ok(bytes) => Message::Data(bytes),
                Err(cause) => Message::Failed(cause),
            };
            comm.send(*to, message);
        }
        let mut received = Vec::with_capacity(self.receives.len());
        for (from, region) in &self.receives {
            received.push((comm.receive(*from).data(), region));
        }
        let (source, instance) = room?;
        let own = self.held.intersect(&self.region);
        self.unpack(&instance, &own, &self.pack(source, &own)?);
        for (bytes, region) in received {
            let bytes = bytes?;
            if bytes.len() != region.len() * self.size {
                return Err(comm::apart(comm.rank()));
            }
            self.unpack(&instance, region, &bytes);
        }
        Ok(instance)
    }

    /// Memory for what this rank needs.
    pub(crate) fn make_room(&self, pool: &Arc<Pool>) -> Result<Instance, Error> {
        let len = self.region.len();
        let memory = pool.allocate(len, self.size)?;
        let rows = self.region.lo[0]..self.region.hi[0];
        Ok(Instance::new(memory, rows, len, self.size))
    }

    /// The elements of a box of this rank's part, row-major, if there is memory for them.
    fn pack(&self, source: &Instance, region: &Region) -> Result<Vec<u8>, Error> {
        let len = region.len() * self.size;
        let mut bytes = zeros(len)?;
        self.held.for_each_run(region, |from, to, run| {
            let target = &mut bytes[to * self.size..(to + run) * self.size];
            assert!(
                from + run <= source.len(),
                "a held box lies within its instance"
            );
            // SAFETY: the run lies within the instance, as just checked, and `target` is `run`
            // elements of memory of our own.
            unsafe {
                let from = source.data().add(from * self.size);
                std::ptr::copy_nonoverlapping(from, target.as_mut_ptr(), target.len());
            }
        });
        Ok(bytes)
    }

    /// Puts the elements of a box, row-major, where they belong in the fetched memory.
    fn unpack(&self, target: &Instance, region: &Region, bytes: &[u8]) {
        assert_eq!(
            bytes.len(),
            region.len() * self.size,
            "sender and receiver planned one box"
        );
        self.region.for_each_run(region, |to, from, run| {
            let source = &bytes[from * self.size..(from + run) * self.size];
            assert!(
                to + run <= target.len(),
                "a received box lies within what is fetched"
            );
            // SAFETY: the run lies within the target, as just checked, which is new memory that
            // no other thread knows.
            unsafe {
                let to = target.data().add(to * self.size);
                std::ptr::copy_nonoverlapping(source.as_ptr(), to, source.len());
            }
        });
    }
}
