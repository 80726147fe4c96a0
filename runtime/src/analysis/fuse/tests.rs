//! Each rule, on tasks that keep it and tasks that break it.

use super::*;
use crate::geometry::partition::CutsId;
use crate::shape::Shape;
use crate::tasks::argument::BodyArg;
use sparsefuse_kernels::{ArgKind, DType, KernelBuilder, ReduceOp, UnaryOp};

/// y = -x; with `sums`, also s = sum(x); with `whole`, x by broadcast.
fn body(sums: bool, whole: bool) -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let (x, y) = if whole {
        let rows = build.arg(DType::F64, ArgKind::DenseRows);
        let x = Some(build.arg(DType::F64, ArgKind::Gather));
        let op = ReduceOp::Sum;
        let reduce = sparsefuse_kernels::Inst::RowReduce { op, rows, x };
        (build.push(reduce), build.arg(DType::F64, ArgKind::Array))
    } else {
        let x = build.arg(DType::F64, ArgKind::Array);
        (build.load(x), build.arg(DType::F64, ArgKind::Array))
    };
    if sums {
        let s = build.arg(DType::F64, ArgKind::Reduction);
        build.reduce(ReduceOp::Sum, s, x);
    }
    let negative = build.unary(UnaryOp::Neg, x);
    build.store(y, negative);
    Body::new("test", build.finish())
}

/// t = -s on scalars.
fn scalar_body() -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let (s, t) = (
        build.arg(DType::F64, ArgKind::Scalar),
        build.arg(DType::F64, ArgKind::Scalar),
    );
    let loaded = build.load_scalar(s);
    let negative = build.unary(UnaryOp::Neg, loaded);
    build.store_scalar(t, negative);
    Body::new("scalar", build.finish())
}

const TILE: Launch = Launch::On(Partition::Tile(CutsId(0)));
const OTHER_TILE: Launch = Launch::On(Partition::Tile(CutsId(1)));
const ONE_PIECE: Launch = Launch::On(Partition::Replicated);

/// A body, the slots of its arguments, each whole or through a slice of rows 1.., and a launch.
type Given<'a> = (&'a Arc<Body>, &'a [(u32, bool)], Launch);

/// Groups tasks and compares the groups' ends.
fn check(tasks: &[Given<'_>], expected: &[(usize, Option<Refusal>)]) {
    let slice = Arc::new(View::identity(Shape::new(&[9])).slice(0, 1..9, 1).unwrap());
    let args: Vec<Vec<Arg>> = tasks
        .iter()
        .map(|(_, slots, _)| {
            let arg = |&(slot, is_slice): &(u32, bool)| Arg {
                slot,
                view: is_slice.then(|| Arc::clone(&slice)),
            };
            slots.iter().map(arg).collect()
        })
        .collect();
    let solved: Vec<Solved<'_>> = tasks
        .iter()
        .zip(&args)
        .map(|((body, _, launch), args)| Solved {
            number: 0,
            body,
            args,
            params: 0..0,
            launch: *launch,
            local: Vec::new(),
            overlap: None,
        })
        .collect();
    let ends: Vec<_> = groups(&solved, 30, true)
        .iter()
        .map(|group| (group.tasks.end, group.end))
        .collect();
    assert_eq!(ends, expected);
    let alone = groups(&solved, 30, false);
    assert_eq!(
        alone.len(),
        tasks.len(),
        "without fusion each task is its own group"
    );
}

#[test]
fn neighbours_that_exchange_rows_are_one_group() {
    let map = body(false, false);
    check(
        &[
            (&map, &[(0, false), (1, false)], TILE),
            (&map, &[(1, false), (2, false)], TILE),
        ],
        &[(2, None)],
    );
}

#[test]
fn rule_1_tasks_without_structures_have_pieces_of_their_own() {
    let (map, scalar, sum) = (body(false, false), scalar_body(), body(true, false));
    let tasks: [Given<'_>; 5] = [
        (&map, &[(0, false), (1, false)], TILE),
        (&scalar, &[(5, false), (6, false)], Launch::Any),
        (&map, &[(2, false), (3, false)], OTHER_TILE),
        (&map, &[(2, false), (4, false)], ONE_PIECE),
        (&sum, &[(2, false), (7, false), (8, false)], TILE),
    ];
    check(&tasks, &[(5, None)]);
    let refused = Some(Refusal::LaunchDomain);
    let of_structures = gather();
    let product = [1, 20, 21, 22, 9].map(|slot| (slot, false));
    for other in [OTHER_TILE, ONE_PIECE] {
        check(
            &[
                (&map, &[(0, false), (3, false)], other),
                (&of_structures, &product, TILE),
                (&map, &[(0, false), (4, false)], other),
            ],
            &[(1, refused), (2, refused), (3, None)],
        );
        check(
            &[
                (&sum, &[(0, false), (1, false), (5, false)], TILE),
                // Its sum would travel otherwise.
                (&sum, &[(2, false), (3, false), (6, false)], other),
            ],
            &[(1, refused), (2, None)],
        );
    }
}

#[test]
fn rule_1_a_group_of_different_pieces_admits_no_structure() {
    let (map, of_structures) = (body(false, false), gather());
    let product = [1, 20, 21, 22, 9].map(|slot| (slot, false));
    check(
        &[
            (&map, &[(0, false), (3, false)], TILE),
            (&map, &[(0, false), (4, false)], OTHER_TILE),
            (&of_structures, &product, TILE),
        ],
        &[(2, Some(Refusal::LaunchDomain)), (3, None)],
    );
}

#[test]
fn rule_2_what_other_pieces_have_written_is_not_there() {
    let map = body(false, false);
    for (one, other) in [(TILE, OTHER_TILE), (ONE_PIECE, TILE), (TILE, ONE_PIECE)] {
        check(
            &[
                (&map, &[(0, false), (1, false)], one),
                (&map, &[(1, false), (2, false)], other),
            ],
            &[(1, Some(Refusal::TrueDependence { slot: 1 })), (2, None)],
        );
    }
}

#[test]
fn rule_2_what_was_written_is_used_through_the_same_partition() {
    let (map, whole) = (body(false, false), body(false, true));
    let refused = Some(Refusal::TrueDependence { slot: 1 });
    let sliced: [Given<'_>; 2] = [
        (&map, &[(0, false), (1, false)], TILE),
        (&map, &[(1, true), (2, false)], TILE),
    ];
    check(&sliced, &[(1, refused), (2, None)]);
    let gathered: [Given<'_>; 2] = [
        (&map, &[(0, false), (1, false)], TILE),
        (&whole, &[(3, false), (1, false), (2, false)], TILE),
    ];
    check(&gathered, &[(1, refused), (2, None)]);
    let in_one_piece = gathered.map(|(body, args, _)| (body, args, ONE_PIECE));
    check(&in_one_piece, &[(2, None)]);
}

/// y = A x, with the arguments y, ranges, indices, entries, x.
pub(crate) fn gather() -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let y = build.arg(DType::F64, ArgKind::Array);
    let structure = build.arg(DType::U32, ArgKind::Structure);
    let entries = build.arg(DType::F64, ArgKind::Entries);
    let x = build.arg(DType::F64, ArgKind::Gather);
    let sum = build.push(sparsefuse_kernels::Inst::RowSum {
        structure,
        entries,
        x,
    });
    build.store(y, sum);
    let arg = |privilege, access, kernel_arg| BodyArg {
        privilege,
        access,
        kernel_arg,
    };
    let args = vec![
        arg(Privilege::Write, Access::Rows, Some(y)),
        arg(Privilege::Read, Access::Ranges, None),
        arg(
            Privilege::Read,
            Access::Within { ranges: 1 },
            Some(structure),
        ),
        arg(Privilege::Read, Access::Within { ranges: 1 }, Some(entries)),
        arg(Privilege::Read, Access::At { indices: 2 }, Some(x)),
    ];
    Body::with_args("gather", build.finish(), args)
}

#[test]
fn rule_2_what_was_written_before_anything_was_gathered_is_gathered() {
    let (map, gather) = (body(false, false), gather());
    let of = |y, x| [y, 20, 21, 22, x].map(|slot| (slot, false));
    let refused = |slot| Some(Refusal::TrueDependence { slot });
    check(
        &[
            (&map, &[(0, false), (1, false)], TILE),
            (&gather, &of(2, 1), TILE),
            (&gather, &of(3, 1), TILE),
            (&map, &[(3, false), (4, false)], TILE),
            // A second exchange would be needed.
            (&gather, &of(5, 4), TILE),
        ],
        &[(4, refused(4)), (5, None)],
    );
    check(
        &[
            (&map, &[(0, false), (1, false)], TILE),
            (&gather, &of(2, 0), TILE),
            // The first one has been there before.
            (&gather, &of(3, 1), TILE),
        ],
        &[(2, refused(1)), (3, None)],
    );
    check(
        &[
            (&map, &[(0, false), (1, false)], TILE),
            (&gather, &of(2, 1), TILE),
            (&gather, &of(3, 0), TILE),
        ],
        &[(2, refused(0)), (3, None)],
    );
    // What a gather writes is not there before it.
    check(
        &[
            (&map, &[(0, false), (1, false)], TILE),
            (&gather, &of(2, 1), TILE),
            (&gather, &of(3, 2), TILE),
        ],
        &[(2, refused(2)), (3, None)],
    );
    check(
        &[(&gather, &of(1, 0), TILE), (&gather, &of(2, 1), TILE)],
        &[(1, refused(1)), (2, None)],
    );
    let shifted: [Given<'_>; 2] = [
        (&map, &[(0, false), (1, true)], TILE),
        (&gather, &of(2, 1), TILE),
    ];
    check(&shifted, &[(1, refused(1)), (2, None)]);
    let sum = body(true, false);
    check(
        &[
            (&sum, &[(0, false), (1, false), (5, false)], TILE),
            // It runs while the sum travels.
            (&gather, &of(2, 1), TILE),
            (&sum, &[(2, false), (3, false), (6, false)], TILE),
        ],
        &[(1, refused(1)), (3, None)],
    );
}

#[test]
fn rule_3_what_was_read_is_written_through_the_same_partition() {
    let map = body(false, false);
    let tasks: [Given<'_>; 2] = [
        (&map, &[(0, false), (1, false)], TILE),
        (&map, &[(2, false), (0, true)], TILE),
    ];
    check(
        &tasks,
        &[(1, Some(Refusal::AntiDependence { slot: 0 })), (2, None)],
    );
}

#[test]
fn rule_4_a_reduction_is_read_after_its_group() {
    let (sum, scalar) = (body(true, false), scalar_body());
    let tasks: [Given<'_>; 2] = [
        (&sum, &[(0, false), (1, false), (5, false)], ONE_PIECE),
        (&scalar, &[(5, false), (6, false)], Launch::Any),
    ];
    check(
        &tasks,
        &[(1, Some(Refusal::Reduction { slot: 5 })), (2, None)],
    );
}
