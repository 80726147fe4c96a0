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
use crate::analysis::solve::{self, Slot};
use crate::comm::exchange::around::Around;
use crate::comm::exchange::fetch::Fetch;
use crate::geometry::partition::Partition;
use crate::geometry::region::Region;
use crate::geometry::view::View;
use crate::shape::Shape;
use sparsefuse_kernels::{ArgKind, Layout};
use std::ops::Range;

/// What has to move before a task.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) fetches: Vec<Fetch>,
    /// For each store that is read beyond the rows of its ranks, the box that each of them needs.
    halos: Vec<(u32, Vec<Region>)>,
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
                let rows = self.rows(view.shape());
                let place = (slot, source.view.is_none());
                let needs =
                    |planner: &Self, rank| view.region(&planner.rows_of(view.shape(), rank));
                let (from, held) = self
                    .around(place, moves, needs)
                    .unwrap_or_else(|| self.locate(place, &mut moves.fetches, needs));
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
                let whole = Region::of_rows(shape, &(0..shape.rows()));
                let (from, _) = self.locate((slot, false), &mut moves.fetches, |_, _| whole);
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
                    let needs = |planner: &Self, rank| {
                        Region::of_rows(shape, &planner.cuts.rows(partition, shape, rank))
                    };
                    self.locate((slot, false), &mut moves.fetches, needs).0
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

    fn rows_of(&self, shape: Shape, rank: usize) -> Range<usize> {
        solve::launch_rows(self.group.launch, shape, rank, self.cuts)
    }

    /// The instance of the rank, if what each rank needs of a store is there or around it, and
    /// something is around it; that is noted.
    fn around(
        &self,
        (slot, is_as_launched): (u32, bool),
        moves: &mut Moves,
        needs: impl Fn(&Self, usize) -> Region,
    ) -> Option<(From, Region)> {
        let partition = self.partition(slot);
        let is_local = self.is_local((slot, is_as_launched), &needs);
        let shape = self.slots[slot as usize].shape;
        let need = |rank| needs(self, rank);
        if is_local || moves.has_no_halos || !Around::fits((partition, shape), self.cuts, need) {
            return None;
        }
        let needs = (0..self.cuts.ranks()).map(need);
        match moves.halos.iter_mut().find(|(known, _)| *known == slot) {
            Some((_, known)) => {
                for (known, need) in known.iter_mut().zip(needs) {
                    *known = known.hull(&need);
                }
            }
            None => moves.halos.push((slot, needs.collect())),
        }
        Some((From::Slot(slot), self.held(slot)))
    }

    /// The exchanges of what was noted.
    pub(super) fn exchanges(&self, moves: Moves) -> (Vec<Fetch>, Vec<Around>) {
        let halos = moves.halos.into_iter().map(|(slot, needs)| {
            let Slot { shape, dtype, .. } = self.slots[slot as usize];
            let what = (slot, shape, dtype);
            Around::new(what, self.partition(slot), self.rank, self.cuts, needs)
        });
        (moves.fetches, halos.collect())
    }

    /// Whether each rank holds what it needs of a store.
    fn is_local(
        &self,
        (slot, is_as_launched): (u32, bool),
        needs: &impl Fn(&Self, usize) -> Region,
    ) -> bool {
        let partition = self.partition(slot);
        let shape = self.slots[slot as usize].shape;
        partition == Partition::Replicated
            || is_as_launched && partition == self.group.launch
            || (0..self.cuts.ranks()).all(|rank| {
                let held = Region::of_rows(shape, &self.cuts.rows(partition, shape, rank));
                held.contains(&needs(self, rank))
            })
    }

    /// Where the data that each rank needs of a store is: in its instance, if that is so on every
    /// rank, else in what a fetch brings. The box is the one that the memory holds. Where the rows
    /// of the launch need the same rows of the store (`is_as_launched`), and it is cut alike, no
    /// rank needs to be looked at.
    fn locate(
        &self,
        (slot, is_as_launched): (u32, bool),
        fetches: &mut Vec<Fetch>,
        needs: impl Fn(&Self, usize) -> Region,
    ) -> (From, Region) {
        if self.is_local((slot, is_as_launched), &needs) {
            return (From::Slot(slot), self.held(slot));
        }
        let partition = self.partition(slot);
        let Slot { shape, dtype, .. } = self.slots[slot as usize];
        let fetch = Fetch::new(
            (slot, shape, dtype),
            partition,
            self.rank,
            self.cuts,
            |rank| needs(self, rank),
        );
        let region = fetch.region;
        let known = fetches.iter().position(|known| known.is_same(&fetch));
        let number = known.unwrap_or(fetches.len());
        if known.is_none() {
            fetches.push(fetch);
        }
        (From::Fetched(number), region)
    }
}
