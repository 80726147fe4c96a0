//! Packing: when a matrix is packed, and how.
#![expect(unsafe_code, reason = "the elements of a matrix are packed as words")]

use super::packed::{PackedColumns, PackedEntries, Packing, allocate};
use super::piece::Piece;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use sparsefuse_kernels::DType;
use sparsefuse_kernels::packed::{PackedStructure, PackedValues, PlainRows, Words};
use sparsefuse_kernels::workers::Workers;
use std::sync::Arc;

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
    pub(crate) fn entries(&self, packing: &mut Packing) -> Option<(Arc<PackedEntries>, bool)> {
        let piece = self.piece.key.pos;
        let products = match packing {
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
        let new = match kept {
            None => Some(PackedStructure::plan(rows, workers).ok()?),
            Some(_) => None,
        };
        let structure = kept
            .as_ref()
            .map(|columns| &columns.structure)
            .or(new.as_ref())?;
        let values = PackedValues::plan(structure, rows, words, workers).ok()?;
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
