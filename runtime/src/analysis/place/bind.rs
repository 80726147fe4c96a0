//! Where the data of each argument of a fused task is.
//!
//! An argument of the composed kernel goes in; out comes its [`Binding`]: a place in the instance
//! that this rank has of a store, or in what a fetch brings. Where the ranks need a few rows beyond
//! those that they hold, they are read in the instance too, which gets them as halos. What has to
//! move is noted in [`Moves`].
//!
//! The invariant: every rank decides alike whether a store is read where it is or fetched, since
//! all ranks take part in a fetch; and what a binding names holds all elements that the rank's rows
//! of the launch need.

use super::Planner;
use crate::analysis::compose::{PieceSpec, Source};
use crate::analysis::schedule::{Binding, From};
use crate::comm::exchange::fetch::Fetch;
use crate::geometry::partition::Partition;
use crate::geometry::partition::needs::{Needs, Read};
use crate::geometry::region::Region;
use crate::geometry::view::View;
use sparsefuse_kernels::{ArgKind, Layout};

/// What has to move before a task.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) fetches: Vec<Fetch>,
    /// What the ranks need of stores that are read beyond their rows.
    pub(super) needs: Vec<(u32, Needs)>,
    has_no_halos: bool,
}

impl Moves {
    /// For a task that gets what it reads in memory of its own.
    pub(super) fn without_halos() -> Self {
        Self {
            has_no_halos: true,
            ..Self::default()
        }
    }
}

impl Planner<'_> {
    pub(super) fn bind(
        &mut self,
        source: &Source,
        pieces: &[PieceSpec],
        moves: &mut Moves,
    ) -> Binding {
        let slot = source.slot;
        let of_image = || source.piece.expect("what an image needs has a piece");
        match source.kind {
            ArgKind::Scalar | ArgKind::Reduction => Binding::Scalar { slot },
            ArgKind::Structure => Binding::Structure { piece: of_image() },
            ArgKind::Array | ArgKind::DenseRows => {
                let view = self.view(source);
                let launch = source.pieces.launch;
                let rows = self.rows(view.shape(), source.pieces);
                let needs = match self.group.overlaps {
                    // What is needed around the rows of a rank is known for all tasks.
                    true => None,
                    false => self.needs(slot, Read::new(launch, view), source.view.is_none()),
                };
                let (from, held) = self.locate(slot, needs, moves);
                let (offset, strides) = view.placement(&held, rows.start);
                let mut dims = view.shape().padded_dims();
                dims[0] = rows.len();
                let rank = view.shape().rank().max(1);
                let layout = Layout {
                    rank: rank as u8,
                    dims,
                    strides,
                };
                if source.kind == ArgKind::Array {
                    return Binding::Array {
                        from,
                        offset,
                        layout,
                    };
                }
                // The last dimension is what is reduced.
                let last = rank - 1;
                Binding::DenseRows {
                    from,
                    offset,
                    layout: Layout {
                        rank: last as u8,
                        ..layout
                    },
                    columns: dims[last],
                    column_stride: strides[last],
                }
            }
            ArgKind::Gather => {
                if let Some(piece) = source.piece {
                    return Binding::Gathered { slot, piece };
                }
                let shape = self.slots[slot as usize].shape;
                let whole = Read::new(Partition::Replicated, View::identity(shape));
                let needs = self.needs(slot, whole, false);
                let (from, _) = self.fetched(slot, needs, moves);
                Binding::Whole {
                    from,
                    len: shape.len(),
                }
            }
            ArgKind::Entries => {
                // Entries lie where the indices lie.
                let piece = of_image();
                let partition = self.partition(pieces[piece].indices);
                let shape = self.slots[slot as usize].shape;
                let from = if self.partition(slot) == partition {
                    From::Slot(slot)
                } else {
                    let beside = Read::new(partition, View::identity(shape));
                    let needs = self.needs(slot, beside, false);
                    self.fetched(slot, needs, moves).0
                };
                Binding::Entries { from, piece }
            }
        }
    }

    pub(super) fn view(&self, source: &Source) -> View {
        let shape = self.slots[source.slot as usize].shape;
        source
            .view
            .as_deref()
            .copied()
            .unwrap_or_else(|| View::identity(shape))
    }

    /// What the ranks need of a store for their rows of the launch, seen through a view; nothing
    /// where each of them holds it.
    fn needs(&mut self, slot: u32, read: Read, is_as_launched: bool) -> Option<Needs> {
        let partition = self.partition(slot);
        let is_held =
            partition == Partition::Replicated || is_as_launched && partition == read.launch();
        let needs = (!is_held).then(|| Needs::new(partition, read))?;
        (!self.cuts.reach(&needs).is_local).then_some(needs)
    }

    /// Where the data is that the ranks need of a store: in their instances, if each holds all of
    /// it or has room for the rest around it, else in what a fetch brings; what has to move is
    /// noted. The box is the one that the memory holds.
    fn locate(&mut self, slot: u32, needs: Option<Needs>, moves: &mut Moves) -> (From, Region) {
        let Some(needs) = needs else {
            return (From::Slot(slot), self.held(slot));
        };
        if !moves.has_no_halos && self.cuts.reach(&needs).is_around {
            let known = moves.needs.iter_mut().find(|(known, _)| *known == slot);
            match known.map(|(_, known)| (self.cuts.joined(known, &needs), known)) {
                None => moves.needs.push((slot, needs)),
                Some((Some(joined), known)) => *known = joined,
                Some((None, _)) => return self.fetched(slot, Some(needs), moves),
            }
            return (From::Slot(slot), self.held(slot));
        }
        self.fetched(slot, Some(needs), moves)
    }

    /// The same, where nothing is read around the rows of a rank.
    fn fetched(&mut self, slot: u32, needs: Option<Needs>, moves: &mut Moves) -> (From, Region) {
        let Some(needs) = needs else {
            return (From::Slot(slot), self.held(slot));
        };
        let dtype = self.slots[slot as usize].dtype;
        let fetch = Fetch::new((slot, dtype), needs, self.rank, self.cuts);
        let region = fetch.region;
        let known = moves.fetches.iter().position(|known| known.is_same(&fetch));
        let number = known.unwrap_or(moves.fetches.len());
        if known.is_none() {
            moves.fetches.push(fetch);
        }
        (From::Fetched(number), region)
    }
}
