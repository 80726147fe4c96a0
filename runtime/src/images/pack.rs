//! Packing: when entries and their structure are packed, and how.
#![expect(unsafe_code, reason = "entries of any type are packed as words")]

use super::packed::{PackedEntries, PackedIndices, allocate};
use super::piece::Piece;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use sparsefuse_kernels::DType;
use sparsefuse_kernels::packed::{PackedStructure, PackedValues, PlainRows, Words};
use sparsefuse_kernels::workers::Workers;
use std::sync::Arc;

/// The products that packing costs where rows lie in windows: 5 to 10 have been measured, where
/// runs of rows cost 1 to 2.
const WINDOW_COST: usize = 8;

/// What a store of entries remembers of how they were read by their structure, for the decision
/// whether to pack them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Prospect {
    /// Not at all, or packed since then.
    #[default]
    Unknown,
    /// Not yet, but many times from now on.
    Expected,
    /// In plain form, by one structure, which is known by the number of its ranges; after as many
    /// more reads they are packed.
    Plain { structure: u64, more: usize },
    /// Often enough, but packing takes more bytes, or more memory than there is.
    Refused { structure: u64, bytes: usize },
}

/// Entries that may be packed.
#[derive(Debug)]
pub(crate) struct Pack<'a> {
    pub(crate) piece: &'a Piece,
    pub(crate) entries: &'a Instance,
    /// The type of the entries.
    pub(crate) dtype: DType,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) workers: &'a Workers,
    /// Reads of the plain form before, where packing costs about one of them.
    pub(crate) after: usize,
}

impl Prospect {
    /// The packed form has been read: others that read the plain one have to begin anew, so that
    /// two pieces in turn do not pack for each other.
    pub(crate) fn is_read_packed(&mut self) {
        if matches!(self, Self::Plain { .. }) {
            *self = Self::Unknown;
        }
    }
}

impl Pack<'_> {
    /// The packed form, once the entries have been read often enough; `None` before, for elements
    /// that are not read packed, where it takes more bytes than the plain one, and without memory
    /// for it.
    pub(crate) fn entries(&self, prospect: &mut Prospect) -> Option<Arc<PackedEntries>> {
        let structure = self.piece.key.ranges;
        let more = match *prospect {
            Prospect::Plain {
                structure: of,
                more,
            } if of == structure => more,
            Prospect::Refused { structure: of, .. } if of == structure => return None,
            Prospect::Expected if self.after < usize::MAX => 0,
            Prospect::Unknown
            | Prospect::Expected
            | Prospect::Plain { .. }
            | Prospect::Refused { .. } => self.reads_before(),
        };
        if let Some(more) = more.checked_sub(1) {
            *prospect = Prospect::Plain { structure, more };
            return None;
        }
        let packed = self.pack().map(Arc::new);
        *prospect = match &packed {
            Some(_) => Prospect::Unknown,
            None => Prospect::Refused {
                structure,
                bytes: self.plain_bytes(),
            },
        };
        packed
    }

    /// The reads of the plain form before the entries are packed: about as many as packing costs,
    /// so that a matrix that is read a few times loses at most that, however often it is read.
    fn reads_before(&self) -> usize {
        let has_runs = |indices: Counted<Instance>| self.piece.plain_rows(Some(&indices)).go_on();
        // Without plain indices, or with packed ones, the values alone are packed.
        let is_cheap =
            self.piece.packed_indices().is_some() || self.piece.indices().is_none_or(has_runs);
        let times = if is_cheap { 1 } else { WINDOW_COST };
        self.after.saturating_mul(times)
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
        let indices = piece.indices();
        let rows = piece.plain_rows(indices.as_deref());
        let skip = piece.entries.start.checked_sub(self.entries.rows.start)?;
        if self.entries.len() < skip + piece.entries.len() {
            return None;
        }
        let data = self
            .entries
            .to_read()
            .wrapping_add(skip * self.dtype.size());
        // SAFETY: the instance has elements of this type (the body of a task says so), and as
        // many from `skip` on as the piece has entries; nothing writes an instance that a task
        // reads.
        let words = unsafe { Words::of(self.dtype, data, piece.entries.len()) }?;
        let kept = piece.packed_indices();
        let new = match kept {
            None => Some(PackedStructure::plan(rows, workers).ok()?),
            Some(_) => None,
        };
        let structure = kept
            .as_ref()
            .map(|indices| &indices.structure)
            .or(new.as_ref())?;
        let values = PackedValues::plan(structure, rows, words, workers).ok()?;
        let summary = values.summary(structure);
        if summary.bytes > self.plain_bytes() {
            return None;
        }
        let (data, target) = allocate(pool, values.bytes()).ok()?;
        values.fill(structure, rows, words, target, workers);
        let indices = match (kept, new) {
            (Some(indices), _) => indices,
            (None, structure) => piece.keep_packed(self.pack_indices(structure?, rows)?),
        };
        Some(PackedEntries {
            indices,
            values,
            data,
            size: self.dtype.size(),
            summary,
        })
    }

    fn pack_indices(
        &self,
        structure: PackedStructure,
        rows: PlainRows<'_>,
    ) -> Option<PackedIndices> {
        let (indices, target) = allocate(self.pool, structure.column_bytes()).ok()?;
        structure.fill_columns(rows, target, self.workers);
        Some(PackedIndices {
            structure,
            indices,
            ranges: self.piece.ranges().clone(),
            rows: self.piece.rows.clone(),
        })
    }
}
