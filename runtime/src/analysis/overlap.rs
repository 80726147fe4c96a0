//! Overlapped rows: what a rank computes of its neighbours' rows, in place of waiting for them.
//!
//! A sweep of a stencil needs a row of each neighbour, as the sweep before has left it. With a halo
//! of `k` rows, exchanged once, a rank can do `k` sweeps: the first one also on `k - 1` rows of
//! each neighbour, the second one on `k - 2`, and the last one on its own. The rows are computed
//! twice, with the same bits. The field calls it overlapped tiling, or a ghost zone expansion:
//! Kamil et al., "Implicit and explicit optimizations for stencil computations" (2006).
//!
//! A task goes in, with how its stores are cut; out comes its [`Overlap`]: how many rows of its
//! stores it needs more than it writes. Fusion adds them up, and admits tasks while they are few
//! (`fuse/mod.rs`); [`Planned`] goes back through a group, from what is needed behind it to the
//! rows that each task computes, and those that have to be there before.
//!
//! The invariant: when a task of the group has run, a rank has of each store its own rows and as
//! many around them as later tasks of the group need, with the bits that their owners have.

use crate::analysis::window::Arg;
use crate::geometry::partition::needs::{Needs, Read};
use crate::geometry::partition::{CutsId, CutsTable, Partition, Pieces};
use crate::geometry::view::View;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::body::Body;
use sparsefuse_kernels::{ArgKind, Inst};
use std::collections::BTreeMap;

/// What a task adds to the rows around those of a rank, if it may compute such rows at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlap {
    /// For each argument, how many rows more of its store than of what is written a rank needs at
    /// either side; none of arguments that every rank holds whole.
    pub(crate) widths: Vec<Option<usize>>,
    /// The cuts of the store that is written, and its first row that is written; none where every
    /// rank does all of the task.
    written: Option<(CutsId, usize)>,
    /// The most rows that a rank may compute of its neighbours' at either side.
    pub(crate) most: usize,
}

impl Overlap {
    /// The overlap of a task, where `partition` says how its stores are cut.
    pub(crate) fn of(
        (body, args): (&Body, &[Arg]),
        launch: Partition,
        place: impl Fn(u32) -> (Shape, Partition),
        cuts: &mut CutsTable,
    ) -> Option<Self> {
        let mut insts = body.kernel().loops.iter().flat_map(|loop_| &loop_.body);
        if body.is_host() || !insts.all(Inst::is_elementwise) {
            return None;
        }
        let mut written = None;
        for (number, (declared, arg)) in body.args().iter().zip(args).enumerate() {
            if declared.privilege == Privilege::Read {
                continue;
            }
            let is_rows = declared.access == Access::Rows && body.kind(number) == ArgKind::Array;
            if written.is_some() || !is_rows {
                return None;
            }
            written = Some(arg);
        }
        let written = written?;
        let (shape, partition) = place(written.slot);
        let domain = written.view.as_deref().map_or(shape, View::shape);
        let mut overlap = Self {
            widths: vec![None; args.len()],
            written: None,
            most: usize::MAX,
        };
        if let (Partition::Tile(_), Partition::Tile(of)) = (launch, partition) {
            overlap.written = Some((of, first_row(written)?));
            overlap.most = cuts.most_overlap(of, domain.row_len());
        } else if (launch, partition) != (Partition::Replicated, Partition::Replicated) {
            return None;
        }
        for (number, (declared, arg)) in body.args().iter().zip(args).enumerate() {
            let Partition::Tile(read) = place(arg.slot).1 else {
                continue;
            };
            if declared.access != Access::Rows || body.kind(number) != ArgKind::Array {
                return None;
            }
            overlap.most = overlap.most.min(cuts.most_overlap(read, domain.row_len()));
        }
        let Some((of, first)) = overlap.written else {
            let mut slots = args.iter().map(|arg| place(arg.slot).1);
            let is_whole = slots.all(|partition| partition == Partition::Replicated);
            return is_whole.then_some(overlap);
        };
        for (arg, width) in args.iter().zip(&mut overlap.widths) {
            if let Partition::Tile(read) = place(arg.slot).1 {
                let written = (
                    Pieces::more(launch, overlap.most, (of, first)),
                    domain.rows(),
                );
                *width = Some(cuts.overlap(written, (read, first_row(arg)?))?);
            }
        }
        Some(overlap)
    }
}

/// The row of its store at which an argument begins, if it goes on row by row.
fn first_row(arg: &Arg) -> Option<usize> {
    arg.view.as_deref().map_or(Some(0), View::first_row)
}

/// The rows of a group whose tasks compute rows of neighbours.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// Which rows each task computes.
    pub(crate) pieces: Vec<Pieces>,
    /// How many rows around those of a rank have to be there before the group.
    pub(crate) around: BTreeMap<u32, usize>,
}

/// A task of such a group.
pub(crate) struct Member<'a> {
    pub(crate) body: &'a Body,
    pub(crate) args: &'a [Arg],
    pub(crate) launch: Partition,
    pub(crate) overlap: Overlap,
}

impl Planned {
    /// Goes back through the tasks of a group; of stores that are `new` the first task that writes
    /// them writes all.
    pub(crate) fn of(
        members: &[Member<'_>],
        is_new: impl Fn(u32) -> bool,
        cuts: &mut CutsTable,
    ) -> Self {
        let mut around: BTreeMap<u32, usize> = BTreeMap::new();
        let mut pieces = Vec::with_capacity(members.len());
        for member in members.iter().rev() {
            let mut args = member.body.args().iter().zip(member.args);
            let written = args.find(|(declared, _)| declared.privilege != Privilege::Read);
            let written = written.map(|(_, arg)| arg);
            let more = written.and_then(|arg| around.get(&arg.slot)).copied();
            let more = more.unwrap_or(0);
            if let Some(arg) = written.filter(|arg| arg.view.is_none() && is_new(arg.slot)) {
                around.remove(&arg.slot);
            }
            let args = member.body.args().iter().zip(member.args);
            for ((declared, arg), width) in args.zip(&member.overlap.widths) {
                if let (Privilege::Read, Some(width)) = (declared.privilege, width) {
                    let known = around.entry(arg.slot).or_default();
                    *known = (*known).max(more + width);
                }
            }
            pieces.push(match member.overlap.written {
                Some(of) if more > 0 => cuts.as_launched(Pieces::more(member.launch, more, of)),
                _ => Pieces::of(member.launch),
            });
        }
        pieces.reverse();
        around.retain(|_, rows| *rows > 0);
        Self { pieces, around }
    }

    /// What the ranks need of a store that is cut, and of which this many rows are needed around
    /// those of each.
    pub(crate) fn needs(shape: Shape, partition: Partition, rows: usize) -> Needs {
        Needs::new(
            partition,
            Read::around(partition, View::identity(shape), rows),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::{DType, KernelBuilder, UnaryOp};
    use std::sync::Arc;

    /// y = -x, where x is a view of slot `from` and y one of slot `to`.
    fn args(from: (u32, Option<View>), to: (u32, Option<View>)) -> [Arg; 2] {
        [from, to].map(|(slot, view)| Arg {
            slot,
            view: view.map(Arc::new),
        })
    }

    /// Two sweeps over 16 rows of 8 on 4 ranks: slot 1 gets what is below the inner rows of slot 0,
    /// which then become that.
    #[test]
    fn a_sweep_needs_a_row_more_than_the_next_one() {
        let mut build = KernelBuilder::new();
        let [x, y] = [0, 1].map(|_| build.arg(DType::F64, ArgKind::Array));
        let loaded = build.load(x);
        let negative = build.unary(UnaryOp::Neg, loaded);
        build.store(y, negative);
        let body = Body::new("negate", build.finish());
        let mut cuts = CutsTable::new(4, 1, 1);
        let (grid, inner) = (Shape::new(&[16, 8]), Shape::new(&[14, 8]));
        let home = Partition::Tile(cuts.intern(&[0, 4, 8, 12, 16]));
        let launch = Partition::Tile(cuts.intern(&[0, 3, 7, 11, 14]));
        let rows = |first: usize| View::identity(grid).slice(0, first..first + 14, 1).ok();
        let sweep = [args((0, rows(2)), (1, None)), args((1, None), (0, rows(1)))];
        let place = |slot: u32| [(grid, home), (inner, launch)][slot as usize];
        let all: Vec<_> = sweep.iter().chain(&sweep).collect();
        let members: Vec<Member<'_>> = all
            .iter()
            .filter_map(|args| {
                let overlap = Overlap::of((&body, *args), launch, place, &mut cuts)?;
                Some(Member {
                    body: &body,
                    args: *args,
                    launch,
                    overlap,
                })
            })
            .collect();
        let widths: Vec<_> = members.iter().map(|it| it.overlap.widths[0]).collect();
        assert_eq!(widths, [Some(1), Some(0), Some(1), Some(0)]);
        let planned = Planned::of(&members, |slot| slot == 1, &mut cuts);
        let more: Vec<_> = planned.pieces.iter().map(|it| it.rows_more()).collect();
        assert_eq!(more, [1, 1, 0, 0]);
        assert_eq!(planned.pieces[0], planned.pieces[1], "loops that may merge");
        assert_eq!(planned.around, BTreeMap::from([(0, 2)]));
        assert_eq!(cuts.rows_of(planned.pieces[0], inner, 1), 2..8);
        assert_eq!(cuts.rows_of(planned.pieces[0], inner, 0), 0..4);
    }
}
