//! Packed pieces: when a sparse matrix is packed, in what memory, and what is given up for it.
//!
//! The first product with some values reads the plain arrays, since packing costs about as much as
//! three products; the second one packs, or the first one where it is known that there will be
//! many ([`Store::expect_products`](crate::Store::expect_products)). The packed structure is kept
//! with the piece, the packed values with the instance of the values, which loses them when it is
//! written in place; so new values on an old structure are packed without looking at the columns
//! again.
//!
//! What has been packed holds all that the plain arrays hold, so these are given up at that moment
//! ([`GivenUp`] takes their place in the store). Whoever reads them brings them back, for good.
#![expect(
    unsafe_code,
    reason = "the pool's memory is filled through raw pointers"
)]

use crate::counted::Counted;
use crate::error::Error;
use crate::image::Piece;
use crate::instance::{Instance, Memory, Pool};
use sparsefuse_kernels::packed::{PackedStructure, PackedValues, PlainRows, Summary, Words};
use sparsefuse_kernels::workers::Workers;
use sparsefuse_kernels::{DType, Packed};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// The packed form of the structure of a piece.
#[derive(Debug)]
pub(crate) struct PackedColumns {
    structure: PackedStructure,
    columns: Memory,
    /// The positions of the piece's rows are `rows.len() + 1` of this instance.
    positions: Counted<Instance>,
    rows: Range<usize>,
}

/// The packed form of a piece with the values of an instance.
#[derive(Debug)]
pub(crate) struct PackedEntries {
    pub(crate) columns: Arc<PackedColumns>,
    values: PackedValues,
    data: Memory,
    /// The bytes of an entry.
    size: usize,
    pub(crate) summary: Summary,
}

/// What a store held before it was given up for a packed piece.
#[derive(Clone, Debug)]
pub(crate) enum GivenUp {
    /// The columns of all entries.
    Columns(Arc<PackedColumns>),
    /// The values of all entries.
    Values(Arc<PackedEntries>),
}

impl GivenUp {
    /// The instance as it was.
    pub(crate) fn bring_back(&self, workers: &Workers) -> Result<Counted<Instance>, Error> {
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
        // initialised (`Block::new`), and nobody else has its address yet.
        let target = unsafe { slice::from_raw_parts_mut(memory.data().cast(), entries.len()) };
        // SAFETY: `pack_columns` has filled so many bytes, which nobody writes any more.
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
    fn unpack(self: &Arc<Self>, workers: &Workers) -> Result<Counted<Instance>, Error> {
        let entries = self.columns.entries();
        let bytes = entries.len() * self.size;
        let (memory, target) = allocate(self.data.pool(), bytes)?;
        // SAFETY: `Pack::pack` has filled so many bytes, which nobody writes any more.
        let data = unsafe { slice::from_raw_parts(self.data.data(), self.values.bytes()) };
        let structure = &self.columns.structure;
        self.values
            .unpack(structure, self.columns.pos(), data, target, workers);
        let len = entries.len();
        let instance = Instance::new(memory, entries, len, self.size);
        *instance.packing() = Packing::Packed(Arc::clone(self));
        Ok(Counted::new(instance))
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

/// A matrix that may be packed.
#[derive(Debug)]
pub(crate) struct Pack<'a> {
    pub(crate) piece: &'a Piece,
    pub(crate) entries: &'a Instance,
    /// The type of the entries.
    pub(crate) dtype: DType,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) workers: &'a Workers,
    /// Products that read the plain arrays before.
    pub(crate) after: usize,
}

impl Pack<'_> {
    /// The packed form, once it has been asked for often enough, and whether it is new; `None`
    /// before, for elements that no packed product reads, where it takes more bytes than the
    /// plain one, and without memory for it.
    pub(crate) fn entries(&self) -> Option<(Arc<PackedEntries>, bool)> {
        let mut packing = self.entries.packing();
        let piece = self.piece.key.pos;
        let products = match &*packing {
            Packing::Packed(packed) if self.piece.has_packed(&packed.columns) => {
                return Some((Arc::clone(packed), false));
            }
            Packing::Plain {
                piece: of,
                products,
            } if *of == piece => *products,
            Packing::Refused { piece: of, .. } if *of == piece => return None,
            Packing::Wanted if self.after < usize::MAX => self.after,
            Packing::None
            | Packing::Wanted
            | Packing::Plain { .. }
            | Packing::Refused { .. }
            | Packing::Packed(_) => 0,
        };
        if products < self.after {
            let products = products + 1;
            *packing = Packing::Plain { piece, products };
            return None;
        }
        let packed = self.pack().map(Arc::new);
        *packing = match &packed {
            Some(packed) => Packing::Packed(Arc::clone(packed)),
            None => Packing::Refused {
                piece,
                bytes: self.plain_bytes(),
            },
        };
        Some((packed?, true))
    }

    /// The bytes of the plain form.
    fn plain_bytes(&self) -> usize {
        self.piece.bytes() + self.piece.entries.len() * self.dtype.size()
    }

    fn pack(&self) -> Option<PackedEntries> {
        let Self {
            piece,
            pool,
            workers,
            ..
        } = *self;
        let crd = piece.columns();
        let rows = piece.plain_rows(crd.as_deref());
        let skip = piece.entries.start.checked_sub(self.entries.rows.start)?;
        if self.entries.len() < skip + piece.entries.len() {
            return None;
        }
        let data = self.entries.data().wrapping_add(skip * self.dtype.size());
        // SAFETY: the instance has elements of this type (the body of a task says so), and as
        // many from `skip` on as the piece has entries; nothing writes an instance that a task
        // reads.
        let words = unsafe { Words::of(self.dtype, data, piece.entries.len()) }?;
        let kept = piece.packed_columns();
        let new = kept.is_none().then(|| PackedStructure::plan(rows, workers));
        let structure = kept
            .as_ref()
            .map(|columns| &columns.structure)
            .or(new.as_ref())?;
        let values = PackedValues::plan(structure, rows, words, workers);
        let summary = values.summary(structure);
        if summary.bytes > self.plain_bytes() {
            return None;
        }
        let (data, target) = allocate(pool, values.bytes()).ok()?;
        values.fill(structure, rows, words, target, workers);
        let columns = match (kept, new) {
            (Some(columns), _) => columns,
            (None, structure) => piece.keep_packed(self.pack_columns(structure?, rows)?),
        };
        Some(PackedEntries {
            columns,
            values,
            data,
            size: self.dtype.size(),
            summary,
        })
    }

    fn pack_columns(
        &self,
        structure: PackedStructure,
        rows: PlainRows<'_>,
    ) -> Option<PackedColumns> {
        let (columns, target) = allocate(self.pool, structure.column_bytes()).ok()?;
        structure.fill_columns(rows, target, self.workers);
        Some(PackedColumns {
            structure,
            columns,
            positions: self.piece.positions().clone(),
            rows: self.piece.rows.clone(),
        })
    }
}

/// Memory of the pool, and the bytes of it.
fn allocate<'a>(pool: &Arc<Pool>, bytes: usize) -> Result<(Memory, &'a mut [u8]), Error> {
    let memory = pool.allocate(bytes, 1)?;
    // SAFETY: the memory has at least this many bytes, all of them initialised (`Block::new`),
    // and nobody else has its address; the callers use the slice while they own the memory.
    let target = unsafe { slice::from_raw_parts_mut(memory.data(), bytes) };
    Ok((memory, target))
}
