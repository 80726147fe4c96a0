//! Packed pieces: the packed form of a structure and of its entries, in memory of the pool.
//!
//! The first read of some entries by their structure reads them plain, since packing costs as much
//! as some reads; the second one packs (where rows lie in windows, which cost more, the ninth), or
//! the first one where it is known that there will be many
//! ([`Store::pack_early`](crate::Store::pack_early)). The packed indices are kept with the
//! piece, the packed entries with their store, which loses them when a task writes it; so new
//! entries of an old structure are packed without looking at the indices again.
//!
//! What has been packed holds all that the plain arrays hold, so these may be evicted
//! ([`Residency`](super::residency::Residency)). The first reader of the plain form materialises
//! it, for good.
#![expect(
    unsafe_code,
    reason = "the pool's memory is filled through raw pointers"
)]

use super::residency::Unpack;
use crate::error::Error;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::{Memory, Pool};
use sparsefuse_kernels::Packed;
use sparsefuse_kernels::packed::{PackedStructure, PackedValues, Summary};
use sparsefuse_kernels::workers::Workers;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// The packed form of the structure of a piece.
#[derive(Debug)]
pub(crate) struct PackedIndices {
    pub(super) structure: PackedStructure,
    pub(super) indices: Memory,
    /// The ranges of the piece's rows are `rows.len() + 1` elements of this instance.
    pub(super) ranges: Counted<Instance>,
    pub(super) rows: Range<usize>,
}

/// The packed form of a piece with the entries of an instance.
#[derive(Debug)]
pub(crate) struct PackedEntries {
    pub(crate) indices: Arc<PackedIndices>,
    pub(super) values: PackedValues,
    pub(super) data: Memory,
    /// The bytes of an entry.
    pub(super) size: usize,
    pub(crate) summary: Summary,
}

/// The packed form of what a store holds.
#[derive(Clone, Debug)]
pub(crate) enum PackedElements {
    /// Of the indices of all entries.
    Indices(Arc<PackedIndices>),
    /// Of entries.
    Entries(Arc<PackedEntries>),
}

impl Unpack for PackedElements {
    fn unpack(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
        match self {
            Self::Indices(indices) => indices.unpack(workers),
            Self::Entries(entries) => entries.unpack(workers),
        }
    }
}

impl PackedIndices {
    /// The ranges of the rows.
    fn ranges(&self) -> &[u64] {
        let skip = self.rows.start - self.ranges.rows.start;
        // SAFETY: stores of ranges have element type u64 (`Body` checks types), and
        // an instance with a second handle, as this one has, is not written (`Frame::make_unique`).
        let all = unsafe { self.ranges.as_slice::<u64>() };
        &all[skip..=skip + self.rows.len()]
    }

    /// The entries of the piece, of all entries.
    pub(crate) fn entries(&self) -> Range<usize> {
        let ranges = self.ranges();
        ranges[0] as usize..ranges[ranges.len() - 1] as usize
    }
}

impl Unpack for Arc<PackedIndices> {
    fn unpack(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
        let entries = self.entries();
        let memory = self
            .indices
            .pool()
            .allocate(entries.len(), size_of::<u32>())?;
        // SAFETY: the memory has room for these indices, is aligned to more than 4 bytes and
        // initialised (`Block::new`), and no other code has its address yet.
        let target = unsafe { slice::from_raw_parts_mut(memory.data().cast(), entries.len()) };
        // SAFETY: `pack_indices` has filled this many bytes, which are not written any more.
        let packed =
            unsafe { slice::from_raw_parts(self.indices.to_read(), self.structure.column_bytes()) };
        self.structure
            .unpack(self.ranges(), packed, target, workers);
        let len = entries.len();
        Ok(Counted::new(Instance::new(
            memory,
            entries,
            len,
            size_of::<u32>(),
        )))
    }
}

impl PackedEntries {
    /// The operand of the kernels that gather.
    pub(crate) fn operand(&self) -> Packed {
        Packed {
            structure: &raw const self.indices.structure,
            values: &raw const self.values,
            columns: self.indices.indices.to_read(),
            data: self.data.to_read(),
        }
    }

    fn unpack(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
        let entries = self.indices.entries();
        let bytes = entries.len() * self.size;
        let (memory, target) = allocate(self.data.pool(), bytes)?;
        // SAFETY: `Pack::pack` has filled this many bytes, which are not written any more.
        let data = unsafe { slice::from_raw_parts(self.data.to_read(), self.values.bytes()) };
        let structure = &self.indices.structure;
        self.values
            .unpack(structure, self.indices.ranges(), data, target, workers);
        let len = entries.len();
        Ok(Counted::new(Instance::new(memory, entries, len, self.size)))
    }
}

/// Memory of the pool, and the bytes of it.
pub(super) fn allocate<'a>(
    pool: &Arc<Pool>,
    bytes: usize,
) -> Result<(Memory, &'a mut [u8]), Error> {
    let memory = pool.allocate(bytes, 1)?;
    // SAFETY: the memory has at least this many bytes, all of them initialised (`Block::new`),
    // and no other code has its address; the callers use the slice while they own the memory.
    let target = unsafe { slice::from_raw_parts_mut(memory.data(), bytes) };
    Ok((memory, target))
}
