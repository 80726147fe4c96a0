//! The solver: from the constraints of a task and the partitions of its stores to its launch.
//!
//! All `Rows` arguments of a task form one class (`equal`), so a task has one unknown: how its
//! rows are cut. The rules, in order: a task with blocks is not cut; a structure stays where it is;
//! a task that writes a store in place, or a slice of it, runs where the store is; small domains
//! are cut only where what they read lies; else the partition, of the default one and those that
//! arguments have, that moves the fewest bytes, of equals one that was chosen, which vectors beside
//! a balanced structure take over for good. Everything here is a function of shapes and partitions,
//! the same on every rank.

use crate::analysis::window::Arg;
use crate::geometry::partition::needs::{Needs, Read};
use crate::geometry::partition::{CutsId, CutsTable, Partition};
use crate::geometry::view::View;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::body::Body;
use sparsefuse_kernels::{ArgKind, DType};

/// What the analysis of a window knows of a store.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    /// Whether the program holds it after the window.
    pub(crate) is_held: bool,
    /// The partition at this point of the window; `None` while nothing has written it.
    pub(crate) partition: Option<Partition>,
}

/// How the rows of a task are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The task has no rows: scalar arithmetic, done by every rank beside whatever else it does.
    Any,
    /// One piece per rank, or the whole on every rank.
    On(Partition),
}

impl Launch {
    /// How what the task writes is cut.
    pub(crate) fn partition(self) -> Partition {
        match self {
            Self::Any => Partition::Replicated,
            Self::On(partition) => partition,
        }
    }
}

/// The shape of the rows of a task; `None` for scalar arithmetic.
pub(crate) fn domain(body: &Body, args: &[Arg], slots: &[Slot]) -> Option<Shape> {
    let array = (0..args.len()).find(|&arg| body.kind(arg) == ArgKind::Array)?;
    Some(shape(&args[array], slots))
}

/// The shape of what a task sees of an argument.
pub(super) fn shape(arg: &Arg, slots: &[Slot]) -> Shape {
    arg.view
        .as_ref()
        .map_or(slots[arg.slot as usize].shape, |view| view.shape())
}

/// The launch of a task; see the module's text. Where nothing fixes it, it takes the `hint` that
/// there may be (see [`super::classes`]).
pub(crate) fn solve(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    cuts: &mut CutsTable,
    hint: Option<Partition>,
) -> Launch {
    if body.has_blocks() {
        return Launch::On(Partition::Replicated);
    }
    let Some(domain) = domain(body, args, slots) else {
        return Launch::Any;
    };
    if cuts.ranks() == 1 {
        return Launch::On(Partition::Replicated);
    }
    let fixed = fixed_by_structure(body, args, slots, cuts)
        .or_else(|| fixed_by_target(body, args, slots, cuts));
    if let Some(partition) = fixed {
        return Launch::On(partition);
    }
    let default = cuts.default_partition(work(body, args, slots, domain));
    let Partition::Tile(even) = default else {
        let beside = may_be_cut(body).then(|| where_read(body, args, slots, cuts));
        return Launch::On(beside.flatten().unwrap_or(default));
    };
    if let Some(hint @ Partition::Tile(id)) = hint
        && cuts.cuts_all(hint, domain.rows())
        && (!reduces(body) || cuts.begins_at(id, cuts.tiles(domain)))
    {
        return Launch::On(hint);
    }
    Launch::On(cheapest(body, args, slots, cuts, even))
}

/// The shape by which it is decided whether a task is worth cutting, and where: that of the rows
/// which are reduced to its elements, if there are any; else its domain.
fn work(body: &Body, args: &[Arg], slots: &[Slot], domain: Shape) -> Shape {
    let reduced = (0..args.len()).find(|&arg| body.kind(arg) == ArgKind::DenseRows);
    match reduced {
        Some(arg) if !reduces(body) => shape(&args[arg], slots),
        _ => domain,
    }
}

/// Whether the elements of the domain are reduced.
fn reduces(body: &Body) -> bool {
    let mut args = body.args().iter();
    args.any(|arg| matches!(arg.privilege, Privilege::Reduce(_)))
}

/// Whether a task with little work may be cut all the same: it neither reduces nor has a function
/// that would talk to the other ranks then.
fn may_be_cut(body: &Body) -> bool {
    !reduces(body) && !body.is_host()
}

/// The partition that moves nothing of what a small task reads, where something moves if every rank
/// does all of it: the boundary of a grid is made where it lies.
fn where_read(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    cuts: &mut CutsTable,
) -> Option<Partition> {
    let moved_by = |launch: Partition, cuts: &mut CutsTable| -> usize {
        let read = rows_read(body, args);
        read.map(|arg| moved(arg, slots, launch, cuts)).sum()
    };
    if moved_by(Partition::Replicated, cuts) == 0 {
        return None;
    }
    rows_read(body, args).find_map(|arg| {
        let partition = slots[arg.slot as usize].partition?;
        let seen = seen_through(partition, arg.view.as_deref(), cuts);
        seen.filter(|&seen| seen != Partition::Replicated && moved_by(seen, cuts) == 0)
    })
}

/// Rows are cut like the ranges of their entries, of which there is one element more. Of several
/// structures the first one that is cut decides: those that every rank holds whole can be read by
/// any cuts, and one that is cut otherwise is refused when its piece is asked for.
fn fixed_by_structure(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    cuts: &mut CutsTable,
) -> Option<Partition> {
    let mut fixed = None;
    for (declared, arg) in body.args().iter().zip(args) {
        if declared.access != Access::Ranges {
            continue;
        }
        let slot = &slots[arg.slot as usize];
        match slot.partition {
            None => {}
            Some(Partition::Replicated) => fixed = Some(Partition::Replicated),
            Some(Partition::Tile(id)) => {
                return Some(Partition::Tile(cuts.clipped(id, slot.shape.rows() - 1)));
            }
        }
    }
    fixed
}

/// A task that writes a store that is there already runs where the rows that it writes are.
fn fixed_by_target(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    cuts: &mut CutsTable,
) -> Option<Partition> {
    let (target, partition) = body.args().iter().zip(args).find_map(|(declared, arg)| {
        let partition = slots[arg.slot as usize].partition?;
        let is_written = declared.privilege == Privilege::Write;
        let has_rows = arg.view.is_some() || slots[arg.slot as usize].shape.rank() > 0;
        (is_written && has_rows).then_some((arg, partition))
    })?;
    seen_through(partition, target.view.as_deref(), cuts)
}

/// The cuts of a store as the rows of a view of it see them.
fn seen_through(
    partition: Partition,
    view: Option<&View>,
    cuts: &mut CutsTable,
) -> Option<Partition> {
    match (partition, view) {
        (Partition::Tile(id), Some(view)) => cuts.seen(id, view).map(Partition::Tile),
        (Partition::Tile(_) | Partition::Replicated, _) => Some(partition),
    }
}

/// Among the default partition and those that the arguments have, the one that moves the fewest
/// bytes; of equals the first that cuts between tiles elsewhere than by default, since it was
/// chosen explicitly; else the default, so that tasks which see a grid through other slices agree.
/// Where an argument is repeated along dimensions of the task, its partition counts only if it is
/// as even as the default one: a vector of few tiles does not decide how a grid is cut.
fn cheapest(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    cuts: &mut CutsTable,
    default: CutsId,
) -> Partition {
    let reduces = reduces(body);
    let domain = domain(body, args, slots).unwrap_or(Shape::SCALAR);
    let tiles = cuts.tiles(domain);
    let cost_of = |candidate: Partition, cuts: &mut CutsTable| -> usize {
        let read = rows_read(body, args);
        read.map(|arg| moved(arg, slots, candidate, cuts)).sum()
    };
    let all = Partition::Tile(default);
    let mut best = ((cost_of(all, cuts), true), all);
    for arg in rows_read(body, args) {
        let Some(partition) = slots[arg.slot as usize].partition else {
            continue;
        };
        let seen = seen_through(partition, arg.view.as_deref(), cuts);
        let Some(candidate @ Partition::Tile(id)) = seen else {
            continue;
        };
        let is_repeated = slots[arg.slot as usize].shape.len() < domain.len();
        if reduces && !cuts.begins_at(id, tiles) || is_repeated && !cuts.is_even_beside(id, default)
        {
            continue;
        }
        let is_chosen = id != default && cuts.begins_at(id, tiles);
        let cost = (cost_of(candidate, cuts), !is_chosen);
        if cost < best.0 {
            best = (cost, candidate);
        }
    }
    best.1
}

pub(super) fn rows_read<'a>(body: &'a Body, args: &'a [Arg]) -> impl Iterator<Item = &'a Arg> {
    let pairs = body.args().iter().zip(args);
    pairs
        .filter(|(declared, _)| {
            declared.privilege == Privilege::Read && declared.access == Access::Rows
        })
        .map(|(_, arg)| arg)
}

/// The bytes that all ranks together need for their rows of the launch, through this argument, and
/// do not hold.
pub(super) fn moved(arg: &Arg, slots: &[Slot], launch: Partition, cuts: &mut CutsTable) -> usize {
    let slot = &slots[arg.slot as usize];
    let elements = match slot.partition {
        None | Some(Partition::Replicated) => 0,
        Some(partition) if arg.view.is_none() && partition == launch => 0,
        Some(partition) => {
            let view = arg.view.as_deref().copied();
            let view = view.unwrap_or_else(|| View::identity(slot.shape));
            let needs = Needs::new(partition, Read::new(launch, view));
            cuts.reach(&needs).moved
        }
    };
    elements * slot.dtype.size()
}

/// For each argument of a task whether what a rank's rows of the launch reach are rows that it
/// holds; nothing where there is one rank.
pub(super) fn local(
    body: &Body,
    args: &[Arg],
    slots: &[Slot],
    launch: Partition,
    cuts: &mut CutsTable,
) -> Vec<bool> {
    if cuts.ranks() == 1 {
        return Vec::new();
    }
    let args = body.args().iter().zip(args);
    let local = args.map(|(declared, arg)| {
        let slot = &slots[arg.slot as usize];
        let partition = slot.partition.unwrap_or(launch);
        if declared.access != Access::Rows || slot.shape.rank() == 0 {
            return false;
        }
        if partition == Partition::Replicated || arg.view.is_none() && partition == launch {
            return true;
        }
        let view = arg.view.as_deref().copied();
        let view = view.unwrap_or_else(|| View::identity(slot.shape));
        let needs = Needs::new(partition, Read::new(launch, view));
        cuts.reach(&needs).is_local
    });
    local.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::{BinaryOp, KernelBuilder, ReduceOp};
    use std::sync::Arc;

    /// z = x + y; with `sums`, s = sum(x + y) instead of z.
    fn body(sums: bool) -> Arc<Body> {
        let mut build = KernelBuilder::new();
        let (x, y) = (
            build.arg(DType::F64, ArgKind::Array),
            build.arg(DType::F64, ArgKind::Array),
        );
        let (x, y) = (build.load(x), build.load(y));
        let sum = build.binary(BinaryOp::Add, x, y);
        if sums {
            let s = build.arg(DType::F64, ArgKind::Reduction);
            build.reduce(ReduceOp::Sum, s, sum);
        } else {
            let z = build.arg(DType::F64, ArgKind::Array);
            build.store(z, sum);
        }
        Body::new("add", build.finish())
    }

    fn slot(rows: usize, partition: Option<Partition>) -> Slot {
        let (shape, dtype) = (Shape::new(&[rows]), DType::F64);
        Slot {
            shape,
            dtype,
            is_held: true,
            partition,
        }
    }

    fn args(views: [Option<View>; 3]) -> Vec<Arg> {
        let arg = |(slot, view): (usize, Option<View>)| Arg {
            slot: slot as u32,
            view: view.map(Arc::new),
        };
        views.into_iter().enumerate().map(arg).collect()
    }

    /// Two ranks, tiles of four rows, everything is cut.
    fn cuts() -> CutsTable {
        CutsTable::new(2, 4, 1)
    }

    #[test]
    fn the_partition_that_moves_the_fewest_bytes_wins() {
        let mut cuts = cuts();
        let (early, late) = (cuts.intern(&[0, 4, 16]), cuts.intern(&[0, 12, 16]));
        let (early, late) = (Partition::Tile(early), Partition::Tile(late));
        let even = cuts.default_partition(Shape::new(&[16]));
        let new = slot(16, None);
        let mut launch = |x, y| {
            let slots = [slot(16, x), slot(16, y), new.clone()];
            solve(&body(false), &args([None; 3]), &slots, &mut cuts, None)
        };
        let replicated = Some(Partition::Replicated);
        assert_eq!(launch(Some(late), replicated), Launch::On(late));
        assert_eq!(launch(replicated, Some(early)), Launch::On(early));
        assert_eq!(
            launch(Some(late), Some(early)),
            Launch::On(late),
            "the first of equals"
        );
        assert_eq!(
            launch(Some(even), Some(late)),
            Launch::On(late),
            "what was chosen wins over the default"
        );
    }

    #[test]
    fn reductions_begin_at_tiles() {
        let mut cuts = cuts();
        let odd = Partition::Tile(cuts.intern(&[0, 5, 16]));
        let default = cuts.default_partition(Shape::new(&[16]));
        let slots = [slot(16, Some(odd)), slot(16, Some(odd)), slot(16, None)];
        assert_eq!(
            solve(&body(false), &args([None; 3]), &slots, &mut cuts, None),
            Launch::On(odd)
        );
        let slots = [
            slots[0].clone(),
            slots[1].clone(),
            Slot {
                shape: Shape::SCALAR,
                ..slots[2].clone()
            },
        ];
        assert_eq!(
            solve(&body(true), &args([None; 3]), &slots, &mut cuts, None),
            Launch::On(default)
        );
    }

    #[test]
    fn a_slice_is_written_where_its_store_is() {
        let mut cuts = cuts();
        let home = Partition::Tile(cuts.intern(&[0, 8, 16]));
        let slice = View::identity(Shape::new(&[16]))
            .slice(0, 3..15, 2)
            .unwrap();
        let slots = [
            slot(6, Some(Partition::Replicated)),
            slot(6, None),
            slot(16, Some(home)),
        ];
        let slots = [
            slots[0].clone(),
            Slot {
                partition: Some(Partition::Replicated),
                ..slots[1].clone()
            },
            slots[2].clone(),
        ];
        let launch = solve(
            &body(false),
            &args([None, None, Some(slice)]),
            &slots,
            &mut cuts,
            None,
        );
        // Rows 3, 5 and 7 of the store are on rank 0.
        let expected = Partition::Tile(cuts.intern(&[0, 3, 6]));
        assert_eq!(launch, Launch::On(expected));
    }

    #[test]
    fn small_domains_and_single_ranks_are_not_cut() {
        let mut one = CutsTable::new(1, 4, 1);
        let slots = [
            slot(16, Some(Partition::Replicated)),
            slot(16, Some(Partition::Replicated)),
            slot(16, None),
        ];
        let whole = Launch::On(Partition::Replicated);
        assert_eq!(
            solve(&body(false), &args([None; 3]), &slots, &mut one, None),
            whole
        );
        let mut coarse = CutsTable::new(2, 4, 1000);
        assert_eq!(
            solve(&body(false), &args([None; 3]), &slots, &mut coarse, None),
            whole
        );
    }
}
