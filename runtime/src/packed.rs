//! Packed pieces: when a sparse matrix is packed, and in what memory.
//!
//! The first product with some values reads the plain arrays, since packing costs about as much as
//! three products; the second one packs. The packed structure is kept with the piece, the packed
//! values with the instance of the values, which loses them when it is written in place; so new
//! values on an old structure are packed without looking at the columns again.
#![expect(
    unsafe_code,
    reason = "the pool's memory is filled through raw pointers"
)]

use crate::image::Piece;
use crate::instance::{Instance, Memory, Pool};
use sparsefuse_kernels::packed::{PackedStructure, PackedValues, PlainRows, Summary, Words};
use sparsefuse_kernels::workers::Workers;
use sparsefuse_kernels::{DType, Packed};
use std::sync::Arc;

/// The packed form of the structure of a piece.
#[derive(Debug)]
pub(crate) struct PackedColumns {
    structure: PackedStructure,
    columns: Memory,
}

/// The packed form of a piece with the values of an instance.
#[derive(Debug)]
pub(crate) struct PackedEntries {
    columns: Arc<PackedColumns>,
    values: PackedValues,
    data: Memory,
    pub(crate) summary: Summary,
}

/// What an instance of entries remembers of the products that it was part of.
#[derive(Clone, Debug, Default)]
pub(crate) enum Packing {
    /// None.
    #[default]
    None,
    /// So many with one piece, which is known by the address of its positions.
    Plain(usize, usize),
    /// Enough.
    Packed(Arc<PackedEntries>),
}

impl PackedEntries {
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
    /// The packed form, once it has been asked for often enough; `None` before, for elements that
    /// no packed product reads, and without memory for it.
    pub(crate) fn entries(&self) -> Option<Arc<PackedEntries>> {
        let mut packing = self.entries.packing();
        let positions = self.piece.key.pos;
        let products = match &*packing {
            Packing::Packed(packed) if self.piece.has_packed(&packed.columns) => {
                return Some(Arc::clone(packed));
            }
            Packing::Plain(of, products) if *of == positions => *products,
            Packing::None | Packing::Plain(..) | Packing::Packed(_) => 0,
        };
        if products < self.after {
            *packing = Packing::Plain(positions, products + 1);
            return None;
        }
        let packed = Arc::new(self.pack()?);
        *packing = Packing::Packed(Arc::clone(&packed));
        Some(packed)
    }

    fn pack(&self) -> Option<PackedEntries> {
        let Self {
            piece,
            pool,
            workers,
            ..
        } = *self;
        let rows = piece.plain_rows();
        let skip = piece.entries.start.checked_sub(self.entries.rows.start)?;
        if self.entries.len() < skip + piece.entries.len() {
            return None;
        }
        let data = self.entries.data().wrapping_add(skip * self.dtype.size());
        // SAFETY: the instance has elements of this type (the body of a task says so), and as
        // many from `skip` on as the piece has entries; nothing writes an instance that a task
        // reads.
        let words = unsafe { Words::of(self.dtype, data, piece.entries.len()) }?;
        let columns = piece.packed_columns(|| pack_columns(rows, pool, workers))?;
        let values = PackedValues::plan(&columns.structure, rows, words, workers);
        let (memory, target) = allocate(pool, values.bytes())?;
        values.fill(&columns.structure, rows, words, target, workers);
        Some(PackedEntries {
            summary: values.summary(&columns.structure),
            columns,
            values,
            data: memory,
        })
    }
}

fn pack_columns(rows: PlainRows<'_>, pool: &Arc<Pool>, workers: &Workers) -> Option<PackedColumns> {
    let structure = PackedStructure::plan(rows, workers);
    let (columns, target) = allocate(pool, structure.column_bytes())?;
    structure.fill_columns(rows, target, workers);
    Some(PackedColumns { structure, columns })
}

/// Memory of the pool, and the bytes of it.
fn allocate<'a>(pool: &Arc<Pool>, bytes: usize) -> Option<(Memory, &'a mut [u8])> {
    let memory = pool.allocate(bytes).ok()?;
    // SAFETY: the memory has at least this many bytes, all of them initialised (`Block::new`),
    // and nobody else has its address; the callers use the slice while they own the memory.
    let target = unsafe { std::slice::from_raw_parts_mut(memory.data(), bytes) };
    Some((memory, target))
}
