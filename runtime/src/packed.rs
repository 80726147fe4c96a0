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
    /// None, or one with another piece.
    #[default]
    None,
    /// One, with this piece, by the address of its positions.
    Once(usize),
    /// Several.
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

/// The packed form of a piece and its entries, from the second time on that it is asked for;
/// `None` before, for elements that no packed product reads, and without memory for it.
pub(crate) fn entries(
    piece: &Piece,
    entries: &Instance,
    dtype: DType,
    pool: &Arc<Pool>,
    workers: &Workers,
) -> Option<Arc<PackedEntries>> {
    let mut packing = entries.packing();
    match &*packing {
        Packing::Packed(packed) if piece.has_packed(&packed.columns) => Some(Arc::clone(packed)),
        Packing::Once(positions) if *positions == piece.key.pos => {
            let packed = Arc::new(pack(piece, entries, dtype, pool, workers)?);
            *packing = Packing::Packed(Arc::clone(&packed));
            Some(packed)
        }
        Packing::None | Packing::Once(_) | Packing::Packed(_) => {
            *packing = Packing::Once(piece.key.pos);
            None
        }
    }
}

fn pack(
    piece: &Piece,
    entries: &Instance,
    dtype: DType,
    pool: &Arc<Pool>,
    workers: &Workers,
) -> Option<PackedEntries> {
    let rows = piece.plain_rows();
    let skip = piece.entries.start.checked_sub(entries.rows.start)?;
    if entries.len() < skip + piece.entries.len() {
        return None;
    }
    let data = entries.data().wrapping_add(skip * dtype.size());
    // SAFETY: the instance has elements of this type (the body of a task says so), and as many
    // from `skip` on as the piece has entries; nothing writes an instance that a task reads.
    let words = unsafe { Words::of(dtype, data, piece.entries.len()) }?;
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
