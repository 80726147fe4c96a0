//! Packed pieces: the packed form of a sparse matrix, in memory of the pool.
//!
//! The first product with some values reads the plain arrays, since packing costs about as much as
//! three products; the second one packs, or the first one where it is known that there will be
//! many ([`Store::expect_products`](crate::Store::expect_products)). The packed structure is kept
//! with the piece, the packed values with the store of the values, which loses them when a task
//! writes it; so new values on an old structure are packed without looking at the columns
//! again.
//!
//! What has been packed holds all that the plain arrays hold, so these are evicted at that moment
//! ([`Evicted`] takes their place in the store). The first reader materialises them, for good.
#![expect(
    unsafe_code,
    reason = "the pool's memory is filled through raw pointers"
)]

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
pub(crate) struct PackedColumns {
    pub(super) structure: PackedStructure,
    pub(super) columns: Memory,
    /// The positions of the piece's rows are `rows.len() + 1` of this instance.
    pub(super) positions: Counted<Instance>,
    pub(super) rows: Range<usize>,
}

/// The packed form of a piece with the values of an instance.
#[derive(Debug)]
pub(crate) struct PackedEntries {
    pub(crate) columns: Arc<PackedColumns>,
    pub(super) values: PackedValues,
    pub(super) data: Memory,
    /// The bytes of an entry.
    pub(super) size: usize,
    pub(crate) summary: Summary,
}

/// What a store held before it was evicted for a packed piece.
#[derive(Clone, Debug)]
pub(crate) enum Evicted {
    /// The columns of all entries.
    Columns(Arc<PackedColumns>),
    /// The values of all entries.
    Values(Arc<PackedEntries>),
}

impl Evicted {
    /// The instance as it was.
    pub(crate) fn materialise(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
        match self {
            Self::Columns(columns) => columns.unpack(workers),
            Self::Values(entries) => entries.unpack(workers),
        }
    }
}

impl PackedColumns {
    /// The positions of the rows.
    fn pos(&self) -> &[u64] {
        let skip = self.rows.start - self.positions.rows.start;
        // SAFETY: `pos` stores have element type u64 (`Body` checks types), and nothing writes a
        // structure once it is assembled.
        let all = unsafe { self.positions.as_slice::<u64>() };
        &all[skip..=skip + self.rows.len()]
    }

    /// The entries of the piece, of all entries.
    pub(crate) fn entries(&self) -> Range<usize> {
        let pos = self.pos();
        pos[0] as usize..pos[pos.len() - 1] as usize
    }

    /// The columns of all entries, as they were.
    pub(crate) fn unpack(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
        let entries = self.entries();
        let memory = self
            .columns
            .pool()
            .allocate(entries.len(), size_of::<u32>())?;
        // SAFETY: the memory has room for these columns, is aligned to more than 4 bytes and
        // initialised (`Block::new`), and no other code has its address yet.
        let target = unsafe { slice::from_raw_parts_mut(memory.data().cast(), entries.len()) };
        // SAFETY: `pack_columns` has filled this many bytes, which are not written any more.
        let columns =
            unsafe { slice::from_raw_parts(self.columns.data(), self.structure.column_bytes()) };
        self.structure.unpack(self.pos(), columns, target, workers);
        let len = entries.len();
        Ok(Counted::new(Instance::new(
            memory,
            entries,
            len,
            size_of::<u32>(),
        )))
    }
}

/// What an instance of entries remembers of the products that it was part of.
#[derive(Clone, Debug, Default)]
pub(crate) enum Packing {
    /// None.
    #[default]
    None,
    /// None, but it is going to be part of many.
    Wanted,
    /// Some with one piece, which is known by the address of its positions.
    Plain { piece: usize, products: usize },
    /// Enough, but packing it takes more bytes, or more memory than there is.
    Refused { piece: usize, bytes: usize },
    /// Enough.
    Packed(Arc<PackedEntries>),
}

impl PackedEntries {
    fn unpack(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
        let entries = self.columns.entries();
        let bytes = entries.len() * self.size;
        let (memory, target) = allocate(self.data.pool(), bytes)?;
        // SAFETY: `Pack::pack` has filled this many bytes, which are not written any more.
        let data = unsafe { slice::from_raw_parts(self.data.data(), self.values.bytes()) };
        let structure = &self.columns.structure;
        self.values
            .unpack(structure, self.columns.pos(), data, target, workers);
        let len = entries.len();
        Ok(Counted::new(Instance::new(memory, entries, len, self.size)))
    }

    /// The operand of the product kernels.
    pub(crate) fn operand(&self) -> Packed {
        Packed {
            structure: &raw const self.columns.structure,
            values: &raw const self.values,
            columns: self.columns.columns.data(),
            data: self.data.data(),
        }
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
