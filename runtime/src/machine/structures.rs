//! What a task needs of its structures before it runs: their pieces, and of the entries the packed
//! form or the plain one.
//!
//! A piece is looked up, or built, on all ranks alike; a piece that could not be had is had on no
//! rank. What is packed, and what is evicted for it, each rank decides for itself.

use super::failures::Failure;
use super::{Context, Inputs, Running};
use crate::analysis::compose::PieceSpec;
use crate::analysis::schedule::{Binding, From};
use crate::config::{Config, Executor};
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::images::pack::Pack;
use crate::images::packed::{PackedElements, PackedEntries, PackedIndices};
use crate::images::piece::{Inspect, Piece, PieceKey};
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::shape::Shape;
use std::sync::Arc;

impl Running<'_, '_> {
    /// Makes sure that what the task reads is there, be it packed where that is enough.
    pub(super) fn materialise(&mut self, failures: &mut Vec<Failure>) {
        for &slot in &self.task.reads {
            let plain = match self.frame.is_evicted(slot) {
                true if self.task.only_gathered.contains(&slot) => continue,
                true => self.frame.plain(slot, self.window, self.context.workers),
                false => self.frame.instance(slot),
            };
            failures.extend(plain.err().map(|cause| Failure::of(slot, cause)));
        }
    }

    /// The pieces of the task's structures.
    pub(super) fn find_pieces(&mut self, inputs: &mut Inputs, failures: &mut Vec<Failure>) {
        for spec in &self.task.pieces {
            let piece = self.piece(spec);
            let piece = piece.map_err(|cause| failures.push(Failure::within(spec.indices, cause)));
            inputs.pieces.push(piece.ok());
        }
    }

    /// A piece: the one kept with its indices, or a new one. All ranks keep the same ones, so all
    /// of them build one or none does; who lacks the indices takes part.
    fn piece(&mut self, spec: &PieceSpec) -> Result<Arc<Piece>, Error> {
        let ranges = self.frame.instance(spec.ranges).cloned();
        let launch = self.task.group.launch;
        let key = PieceKey {
            ranges: ranges.as_ref().map_or(0, |ranges| ranges.number()),
            launch,
            x_partition: spec.x_partition,
            x_len: self.schedule.slots[spec.x as usize].shape.rows(),
        };
        let store = &self.window.stores[spec.indices as usize];
        if let Some(piece) = store.piece(&key) {
            return Ok(piece);
        }
        let n_rows = self.schedule.slots[spec.ranges as usize].shape.rows() - 1;
        self.check_cuts(spec, n_rows)?;
        let indices = self
            .frame
            .plain(spec.indices, self.window, self.context.workers)
            .cloned();
        let Context {
            comm, cuts, pool, ..
        } = *self.context;
        let rows = cuts.rows(launch, Shape::new(&[n_rows]), comm.rank());
        let piece = Piece::build(&Inspect {
            key,
            rows,
            ranges: &ranges,
            indices: &indices,
            comm,
            cuts,
            pool,
        })?;
        let piece = Arc::new(piece);
        store.keep_piece(Arc::clone(&piece));
        Ok(piece)
    }

    /// A structure is cut as the task is launched, or every rank holds it: its rows are not moved,
    /// since how many entries they have is not known where a schedule is made.
    fn check_cuts(&self, spec: &PieceSpec, n_rows: usize) -> Result<(), Error> {
        let (Partition::Tile(found), Partition::Tile(launch)) =
            (spec.partition, self.task.group.launch)
        else {
            return Ok(());
        };
        let [launch, found] = [launch, found].map(|id| self.context.cuts.get(id));
        let differ = |rank: &usize| launch[*rank] != found[*rank].min(n_rows);
        let Some(rank) = (0..launch.len()).find(differ) else {
            return Ok(());
        };
        let (first, other) = (launch[rank], found[rank]);
        Err(Error::argument(
            "gather",
            format!("structures of one task that are cut alike, rank {rank} from row {first}"),
            format!("one that it has from row {other}"),
        ))
    }

    /// The packed forms of the entries that have such; the others get what they need of the plain
    /// ones.
    pub(super) fn find_packed(&mut self, inputs: &mut Inputs) -> Result<(), Failure> {
        let blame = |slot| move |cause| Failure::within(slot, cause);
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            let packed = match from {
                // Where rows are gathered, and not elements, the plain form is read.
                _ if self.task.pieces[piece].width != 1 => None,
                // Entries that the task itself computes are not there yet.
                From::Slot(slot) if !self.task.writes.contains(&slot) => {
                    let packed = self.packed_entries(slot, (piece, inputs.piece(piece)));
                    packed.map_err(blame(slot))?
                }
                From::Slot(_) | From::Fetched(_) => None,
            };
            if let Some(packed) = packed {
                inputs.packed.push((number, packed));
            }
        }
        // Only now, since the indices may have been evicted for other entries of their structure,
        // and these entries for another image of this task.
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            if inputs.packed_at(number).is_none() {
                let workers = self.context.workers;
                let indices = inputs.piece(piece).materialise_indices(workers);
                indices.map_err(blame(self.task.pieces[piece].indices))?;
                if let From::Slot(slot) = from
                    && self.frame.is_evicted(slot)
                {
                    let plain = self.frame.plain(slot, self.window, workers);
                    plain.map_err(blame(slot))?;
                }
            }
        }
        for &piece in &self.task.plain_pieces {
            let indices = inputs
                .piece(piece)
                .materialise_indices(self.context.workers);
            indices.map_err(blame(self.task.pieces[piece].indices))?;
        }
        Ok(())
    }

    /// The packed form of entries for a piece, if they have one or it is time to make it.
    fn packed_entries(
        &mut self,
        slot: u32,
        (number, piece): (usize, &Piece),
    ) -> Result<Option<Arc<PackedEntries>>, Error> {
        let Config {
            executor,
            pack_after,
            ..
        } = *self.context.config;
        let store = &self.window.stores[slot as usize];
        if let Some(PackedElements::Entries(entries)) = self.frame.packed(slot)
            && piece.has_packed(&entries.indices)
        {
            if !self.frame.is_evicted(slot) {
                store.with_prospect(|prospect| prospect.is_read_packed());
            }
            return Ok(Some(Arc::clone(entries)));
        }
        let entries = self.frame.plain(slot, self.window, self.context.workers)?;
        // The kernels of a device read the plain form.
        if executor == Executor::Reference || self.context.pool.device().is_some() {
            return Ok(None);
        }
        let pack = Pack {
            piece,
            entries,
            dtype: self.schedule.slots[slot as usize].dtype,
            pool: self.context.pool,
            workers: self.context.workers,
            after: pack_after,
        };
        // On several ranks the plain arrays stay: whether there is memory to materialise them may
        // differ from rank to rank.
        let is_alone = self.context.comm.size() == 1;
        let is_whole = is_alone && entries.len() == piece.entries.len();
        let Some(packed) = store.with_prospect(|prospect| pack.entries(prospect)) else {
            return Ok(None);
        };
        let local = piece.evict_indices();
        if is_alone {
            let indices = self.task.pieces[number].indices;
            self.evict_indices(indices, local, &packed.indices);
        }
        let kept = PackedElements::Entries(Arc::clone(&packed));
        let evicts = is_whole && self.task.only_gathered.contains(&slot);
        self.frame.keep_packed(slot, kept, evicts, self.window);
        Ok(Some(packed))
    }

    /// Gives the indices of a structure up, if they are the local ones of the piece.
    fn evict_indices(
        &mut self,
        slot: u32,
        local: Option<Counted<Instance>>,
        packed: &Arc<PackedIndices>,
    ) {
        let is_same = match (self.frame.instance(slot), local) {
            (Ok(indices), Some(local)) => {
                indices.ptr_eq(&local) && indices.len() == packed.entries().len()
            }
            (Ok(_) | Err(_), _) => false,
        };
        if is_same && self.task.only_gathered.contains(&slot) {
            let kept = PackedElements::Indices(Arc::clone(packed));
            self.frame.keep_packed(slot, kept, true, self.window);
        }
    }

    /// The bytes that the task reads of structures and their entries.
    #[inline]
    pub(super) fn structure_bytes(&self, inputs: &Inputs) -> usize {
        if self.task.pieces.is_empty() {
            return 0;
        }
        let gathers = self.task.plain_pieces.iter();
        let pieces = gathers.filter_map(|&piece| inputs.pieces[piece].as_ref());
        let mut bytes = pieces.map(|piece| piece.bytes()).sum();
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            let packed = inputs.packed_at(number);
            let plain = || {
                let size = self.schedule.slots[self.task.slot(from) as usize]
                    .dtype
                    .size();
                let piece = inputs.pieces[piece].as_ref();
                piece.map_or(0, |piece| piece.bytes() + piece.entries.len() * size)
            };
            bytes += packed.map_or_else(plain, |packed| packed.summary.bytes);
        }
        bytes
    }

    /// Every image has an entry for each index of its piece on this rank. That a store of entries
    /// is as long as that of the indices does not say so: a rank may hold more of the indices than
    /// its part.
    pub(super) fn check_entries(&self, inputs: &Inputs) -> Result<(), Failure> {
        for (number, binding) in self.task.bindings.iter().enumerate() {
            let Binding::Entries { from, piece } = *binding else {
                continue;
            };
            let needed = &inputs.piece(piece).entries;
            if inputs.packed_at(number).is_some() || needed.is_empty() {
                continue;
            }
            let entries = self.locate(from, inputs);
            let held = entries.rows.start..entries.rows.start + entries.len();
            if held.start > needed.start || held.end < needed.end {
                let expected = format!("values of the entries {needed:?}");
                let cause = Error::argument("gather", expected, format!("{held:?}"));
                let slot = self.task.slot(from);
                return Err(Failure::within(slot, cause));
            }
        }
        Ok(())
    }
}
