//! Where the data of each argument of a fused task is.
//!
//! An argument of the composed kernel goes in; out comes its [`Binding`]: a place in the instance
//! that this rank has of a store, or in what a fetch brings, which is then added to those of the
//! task.
//!
//! The invariant: every rank decides alike whether a store is read where it is or fetched, since
//! all ranks take part in a fetch; and what a binding names holds all elements that the rank's rows
//! of the launch need.

use super::Planner;
use crate::analysis::compose::{PieceSpec, Source};
use crate::analysis::schedule::{Binding, From};
use crate::analysis::solve;
use crate::comm::exchange::fetch::Fetch;
use crate::geometry::partition::Partition;
use crate::geometry::view::{Region, View};
use crate::shape::Shape;
use sparsefuse_kernels::{ArgKind, Layout};
use std::ops::Range;

impl Planner<'_> {
    pub(super) fn bind(
        &mut self,
        source: &Source,
        pieces: &[PieceSpec],
        fetches: &mut Vec<Fetch>,
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
                let (from, held) = self.locate(place, fetches, |planner, rank| {
                    view.region(&planner.rows_of(view.shape(), rank))
                });
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
                let (from, _) = self.locate((slot, false), fetches, |_, _| whole);
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
                    let (from, _) = self.locate((slot, false), fetches, |planner, rank| {
                        Region::of_rows(shape, &planner.cuts.rows(partition, shape, rank))
                    });
                    from
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
        let partition = self.partition(slot);
        let shape = self.slots[slot as usize].shape;
        let is_local = partition == Partition::Replicated
            || is_as_launched && partition == self.group.launch
            || (0..self.cuts.ranks()).all(|rank| {
                let held = Region::of_rows(shape, &self.cuts.rows(partition, shape, rank));
                held.contains(&needs(self, rank))
            });
        if is_local {
            return (From::Slot(slot), self.held(slot));
        }
        let dtype = self.slots[slot as usize].dtype;
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
