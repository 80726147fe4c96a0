//! Bodies with several structures, and with several images by one: each has its own piece, with
//! the same bits on any ranks, fused with neighbours and alone.

use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Inst, KernelBuilder, ReduceOp};
use sparsefuse_runtime::{
    Access, Body, BodyArg, Config, Error, Partition, Privilege, Runtime, Shape, StoreHandle,
    TaskArg, View, run_ranks,
};
use sparsefuse_testing::bodies::{copy, dot, spmv, sum};
use sparsefuse_testing::stores::ramp;
use sparsefuse_testing::{bits, everywhere, small};
use std::panic::catch_unwind;
use std::sync::{Arc, LazyLock};

const N: usize = 61;

/// What the rows of a structure hold: an index and a value for each entry.
type Rows = Vec<Vec<(u32, f64)>>;

/// `len` rows of entries of an `x` of length `width`: near the diagonal, `wide` of them far away.
fn rows(len: usize, width: usize, seed: usize, wide: usize) -> Rows {
    let of_row = |row: usize| {
        let near = [row, row + 1, row + seed].map(|index| index % width);
        let far = (0..wide).map(|k| (row * 7 + seed + 13 * k) % width);
        let mut indices: Vec<usize> = near.into_iter().chain(far).collect();
        indices.truncate((row + seed) % 5);
        indices.sort_unstable();
        indices.dedup();
        let value = |index: usize| ((row * 3 + index * 5 + seed) as f64).sin();
        let entry = |index| (index as u32, value(index));
        indices.into_iter().map(entry).collect()
    };
    (0..len).map(of_row).collect()
}

/// What kernels make of rows and an `x`.
fn gathered(rows: &Rows, x: &[f64]) -> Vec<f64> {
    let of_row = |row: &Vec<(u32, f64)>| {
        let entries = row.iter();
        entries.fold(0.0, |sum, &(index, value): &(u32, f64)| {
            value.mul_add(x[index as usize], sum)
        })
    };
    rows.iter().map(of_row).collect()
}

/// The three stores of a structure with its entries: ranges, indices, entries.
struct Stores([StoreHandle; 3]);

/// A structure of which each rank holds the rows between these cuts.
fn structure(runtime: &Runtime, rows: &Rows, cuts: Option<&[usize]>) -> Result<Stores, Error> {
    let mut first = vec![0];
    for row in rows {
        first.push(first[first.len() - 1] + row.len());
    }
    let n = rows.len();
    let (here, of_ranges, of_entries) = match cuts {
        None => (0..n, Partition::Replicated, Partition::Replicated),
        Some(cuts) => {
            let mut one_more = cuts.to_vec();
            one_more[cuts.len() - 1] += 1;
            let entries: Vec<usize> = cuts.iter().map(|&cut| first[cut]).collect();
            (
                cuts[runtime.rank()]..cuts[runtime.rank() + 1],
                runtime.partition_at(&one_more)?,
                runtime.partition_at(&entries)?,
            )
        }
    };
    let entries = first[here.start]..first[here.end];
    let all: Vec<(u32, f64)> = rows[here.clone()].concat();
    let ranges = first[here.start..=here.end].iter().map(|&at| at as u64);
    let shape = Shape::new(&[first[n]]);
    let (indices, values) = all.into_iter().unzip();
    Ok(Stores([
        runtime.store_of_rows(
            Shape::new(&[n + 1]),
            of_ranges,
            here.start..here.end + 1,
            ranges.collect(),
        )?,
        runtime.store_of_rows::<u32>(shape, of_entries, entries.clone(), indices)?,
        runtime.store_of_rows::<f64>(shape, of_entries, entries, values)?,
    ]))
}

/// The cuts that new stores have.
fn default_cuts(runtime: &Runtime, n: usize) -> Option<Vec<usize>> {
    let (partition, _) = runtime.default_rows(Shape::new(&[n]));
    runtime.cuts(partition).map(|cuts| cuts.to_vec())
}

/// A vector cut in this way, or as new stores are.
fn vector(runtime: &Runtime, all: &[f64], cuts: Option<&[usize]>) -> Result<StoreHandle, Error> {
    let shape = Shape::new(&[all.len()]);
    let (partition, rows) = match cuts {
        None => runtime.default_rows(shape),
        Some(cuts) => (
            runtime.partition_at(cuts)?,
            cuts[runtime.rank()]..cuts[runtime.rank() + 1],
        ),
    };
    runtime.store_of_rows(shape, partition, rows.clone(), all[rows].to_vec())
}

fn arg(privilege: Privilege, access: Access, kernel_arg: Option<u32>) -> BodyArg {
    BodyArg {
        privilege,
        access,
        kernel_arg,
    }
}

fn read(access: Access, kernel_arg: u32) -> BodyArg {
    arg(Privilege::Read, access, Some(kernel_arg))
}

/// The kernel of `y = A x + B z`, and the declarations of `y`, of A's ranges, indices and entries,
/// `x`, and of B's and `z`.
fn pair_parts() -> (sparsefuse_kernels::Kernel, Vec<BodyArg>) {
    let mut build = KernelBuilder::new();
    let y = build.arg(DType::F64, ArgKind::Array);
    let mut args = vec![arg(Privilege::Write, Access::Rows, Some(y))];
    let sums = [1, 5].map(|ranges| {
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let entries = build.arg(DType::F64, ArgKind::Entries);
        let x = build.arg(DType::F64, ArgKind::Gather);
        let indices = ranges + 1;
        args.extend([
            arg(Privilege::Read, Access::Ranges, None),
            read(Access::Within { ranges }, structure),
            read(Access::Within { ranges }, entries),
            read(Access::At { indices }, x),
        ]);
        build.push(Inst::RowSum {
            structure,
            entries,
            x,
        })
    });
    let sum = build.binary(BinaryOp::Add, sums[0], sums[1]);
    build.store(y, sum);
    (build.finish(), args)
}

fn pair() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let (kernel, args) = pair_parts();
        Body::with_args("pair", kernel, args)
    });
    &BODY
}

fn submit(
    runtime: &Runtime,
    body: &Arc<Body>,
    args: &[&StoreHandle],
) -> Result<StoreHandle, Error> {
    let y = runtime.new_store(Shape::new(&[N]), DType::F64);
    let mut all: Vec<TaskArg<'_>> = vec![(&y).into()];
    all.extend(args.iter().map(|&store| TaskArg::from(store)));
    runtime.submit(body, &all, &[])?;
    Ok(y)
}

/// Issues a task of a body whose last argument is the one that it writes.
fn map(runtime: &Runtime, body: &Arc<Body>, args: &[&StoreHandle]) -> Result<StoreHandle, Error> {
    let out = runtime.new_store(args[0].shape(), DType::F64);
    let mut all: Vec<TaskArg<'_>> = args.iter().map(|&store| store.into()).collect();
    all.push((&out).into());
    runtime.submit(body, &all, &[])?;
    Ok(out)
}

fn product(runtime: &Runtime, a: &Stores, x: &StoreHandle) -> Result<StoreHandle, Error> {
    let Stores([ranges, indices, entries]) = a;
    submit(runtime, spmv(), &[ranges, indices, entries, x])
}

fn products(
    runtime: &Runtime,
    (a, x): (&Stores, &StoreHandle),
    (b, z): (&Stores, &StoreHandle),
) -> Result<StoreHandle, Error> {
    let (Stores([a0, a1, a2]), Stores([b0, b1, b2])) = (a, b);
    submit(runtime, pair(), &[a0, a1, a2, x, b0, b1, b2, z])
}

/// A task between neighbours: the one before writes what one of its structures gathers, the ones
/// after it read what it writes.
#[test]
fn two_structures_with_a_piece_each() {
    let (a, b) = (rows(N, N, 1, 2), rows(N, 2 * N, 3, 1));
    let (x, z) = (ramp(N, 0.3), ramp(2 * N, 0.7));
    let found = everywhere(|| {
        let runtime = Runtime::current();
        let cuts = default_cuts(&runtime, N);
        let cuts = cuts.as_deref();
        let [of_a, of_b] = [&a, &b].map(|rows| structure(&runtime, rows, cuts));
        let (of_a, of_b) = (of_a?, of_b?);
        let (x, z) = (vector(&runtime, &x, None)?, vector(&runtime, &z, None)?);
        let mut all = Vec::new();
        // Packed from the second one on, with what it has inspected before.
        for _ in 0..4 {
            let same = map(&runtime, copy(), &[&x])?;
            let y = products(&runtime, (&of_a, &same), (&of_b, &z))?;
            let again = map(&runtime, copy(), &[&y])?;
            drop(same);
            let norm = runtime.new_store(Shape::SCALAR, DType::F64);
            runtime.submit(dot(), &[&y, &again, &norm].map(TaskArg::from), &[])?;
            drop(y);
            all.extend(bits(&[runtime.read_scalar::<f64>(&norm)?]));
            all.extend(bits(&runtime.read::<f64>(&again, None)?));
        }
        // What was packed is there for all other readers.
        let entries = runtime.read::<f64>(&of_a.0[2], None)?;
        assert_eq!(
            entries,
            a.concat()
                .iter()
                .map(|&(_, value)| value)
                .collect::<Vec<_>>()
        );
        Ok(all)
    });
    let sums = gathered(&a, &x).into_iter().zip(gathered(&b, &z));
    let expected: Vec<f64> = sums.map(|(a, b)| a + b).collect();
    for round in found.chunks(N + 1) {
        assert_eq!(round[1..], bits(&expected));
        assert_eq!(round[0], found[0]);
    }
}

#[test]
fn a_body_with_two_structures_fuses_with_its_neighbours() {
    let (a, b) = (rows(N, N, 1, 2), rows(N, N, 3, 1));
    for ranks in [1, 3] {
        let outcomes = run_ranks(ranks, &small(), |runtime| {
            let cuts = default_cuts(runtime, N);
            let of_a = structure(runtime, &a, cuts.as_deref())?;
            let of_b = structure(runtime, &b, cuts.as_deref())?;
            let x = vector(runtime, &ramp(N, 0.3), None)?;
            let before = runtime.counters().fused_tasks;
            let same = map(runtime, copy(), &[&x])?;
            // One structure gathers what the group has written, the other what was there.
            let y = products(runtime, (&of_a, &same), (&of_b, &x))?;
            drop(same);
            let z = map(runtime, copy(), &[&y])?;
            drop(y);
            runtime.flush();
            let fused = runtime.counters().fused_tasks - before;
            assert_eq!(fused, 1, "{}", runtime.explain());
            let text = runtime.explain();
            let pieces = text.matches("  ghosts of ").count();
            assert_eq!(pieces, 2, "{text}");
            // As its two stores are, in the order of their first use.
            assert!(text.contains("read s1 image(s4)"), "{text}");
            assert!(text.contains("read s0 image(s7)"), "{text}");
            runtime.read::<f64>(&z, None)
        });
        for found in outcomes.unwrap() {
            let x = ramp(N, 0.3);
            let sums = gathered(&a, &x).into_iter().zip(gathered(&b, &x));
            let expected: Vec<f64> = sums.map(|(a, b)| a + b).collect();
            assert_eq!(bits(&found.unwrap()), bits(&expected), "{ranks} ranks");
        }
    }
}

/// What gathers in the same group once more finds its ghosts too, though they were there before
/// those that the group writes.
#[test]
fn another_gather_behind_one_of_two_structures() {
    let (a, b) = (rows(N, N, 1, 2), rows(N, N, 3, 1));
    let x = ramp(N, 0.3);
    let found = everywhere(|| {
        let runtime = Runtime::current();
        let cuts = default_cuts(&runtime, N);
        let of_a = structure(&runtime, &a, cuts.as_deref())?;
        let of_b = structure(&runtime, &b, cuts.as_deref())?;
        let x = vector(&runtime, &x, None)?;
        let mut all = Vec::new();
        for _ in 0..3 {
            let same = map(&runtime, copy(), &[&x])?;
            let both = products(&runtime, (&of_a, &same), (&of_b, &x))?;
            let alone = product(&runtime, &of_b, &x)?;
            for store in [&alone, &both] {
                all.push(bits(&runtime.read::<f64>(store, None)?));
            }
        }
        Ok(all)
    });
    let (of_a, of_b) = (gathered(&a, &x), gathered(&b, &x));
    let both: Vec<f64> = of_a.iter().zip(&of_b).map(|(a, b)| a + b).collect();
    for pair in found.chunks(2) {
        assert_eq!(pair, [bits(&of_b), bits(&both)]);
    }
}

/// `y = (A x) (A z)`, with one structure for both: a masked product. `x` and `z` may be spread in
/// two ways, so that the structure has two pieces.
fn both_by_one() -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let y = build.arg(DType::F64, ArgKind::Array);
    let structure = build.arg(DType::U32, ArgKind::Structure);
    let entries = build.arg(DType::F64, ArgKind::Entries);
    let [x, z] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Gather));
    let [of_x, of_z] = [x, z].map(|x| {
        build.push(Inst::RowSum {
            structure,
            entries,
            x,
        })
    });
    let both = build.binary(BinaryOp::Mul, of_x, of_z);
    build.store(y, both);
    let args = vec![
        arg(Privilege::Write, Access::Rows, Some(y)),
        arg(Privilege::Read, Access::Ranges, None),
        read(Access::Within { ranges: 1 }, structure),
        read(Access::Within { ranges: 1 }, entries),
        read(Access::At { indices: 2 }, x),
        read(Access::At { indices: 2 }, z),
    ];
    Body::with_args("both", build.finish(), args)
}

#[test]
fn one_structure_gathers_from_stores_that_are_spread_differently() {
    let a = rows(N, N, 2, 3);
    let body = both_by_one();
    let (x, long) = (ramp(N, 0.3), ramp(N + 30, 0.7));
    let found = everywhere(|| {
        let runtime = Runtime::current();
        let cuts = default_cuts(&runtime, N);
        let of_a = structure(&runtime, &a, cuts.as_deref())?;
        let Stores([ranges, indices, entries]) = &of_a;
        let here = vector(&runtime, &x, None)?;
        // Almost all on the last rank; on one rank the length alone differs.
        let mut odd: Vec<usize> = (0..=runtime.ranks()).collect();
        odd[runtime.ranks()] = long.len();
        let there = vector(&runtime, &long, Some(&odd))?;
        let mut all = Vec::new();
        for _ in 0..3 {
            for z in [&there, &here] {
                let y = submit(&runtime, &body, &[ranges, indices, entries, &here, z])?;
                all.push(bits(&runtime.read::<f64>(&y, None)?));
            }
        }
        Ok(all)
    });
    for pair in found.chunks(2) {
        for (found, z) in pair.iter().zip([&long, &x]) {
            let both = gathered(&a, &x).into_iter().zip(gathered(&a, z));
            let expected: Vec<f64> = both.map(|(x, z)| x * z).collect();
            assert_eq!(*found, bits(&expected));
        }
    }
}

/// `y = A x - B x` where both have as many entries in each row, so that one store has the ranges
/// of both; and in the same loop the sum of `y`.
#[test]
fn two_structures_with_the_same_ranges() {
    let a = rows(N, N, 2, 3);
    let mirrored = |row: &Vec<(u32, f64)>| {
        let entry = |&(index, value): &(u32, f64)| (N as u32 - 1 - index, value * 3.0);
        row.iter().map(entry).collect()
    };
    let b: Rows = a.iter().map(mirrored).collect();
    let mut build = KernelBuilder::new();
    let y = build.arg(DType::F64, ArgKind::Array);
    let s = build.arg(DType::F64, ArgKind::Reduction);
    let x = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Gather));
    let parts = x.map(|x| {
        let entries = build.arg(DType::F64, ArgKind::Entries);
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let sum = build.push(Inst::RowSum {
            structure,
            entries,
            x,
        });
        (entries, structure, sum)
    });
    let difference = build.binary(BinaryOp::Sub, parts[0].2, parts[1].2);
    build.store(y, difference);
    build.reduce(ReduceOp::Sum, s, difference);
    let within = Access::Within { ranges: 5 };
    let args = vec![
        arg(Privilege::Write, Access::Rows, Some(y)),
        read(within, parts[0].0),
        read(within, parts[1].0),
        read(Access::At { indices: 6 }, x[0]),
        read(Access::At { indices: 7 }, x[1]),
        arg(Privilege::Read, Access::Ranges, None),
        read(within, parts[0].1),
        read(within, parts[1].1),
        arg(Privilege::Reduce(ReduceOp::Sum), Access::Whole, Some(s)),
    ];
    let body = Body::with_args("difference", build.finish(), args);
    let x = ramp(N, 0.3);
    let found = everywhere(|| {
        let runtime = Runtime::current();
        let cuts = default_cuts(&runtime, N);
        let of_a = structure(&runtime, &a, cuts.as_deref())?;
        let of_b = structure(&runtime, &b, cuts.as_deref())?;
        let (Stores([ranges, a1, a2]), Stores([_, b1, b2])) = (&of_a, &of_b);
        let x = vector(&runtime, &x, None)?;
        let mut all = Vec::new();
        for _ in 0..3 {
            let s = runtime.new_store(Shape::SCALAR, DType::F64);
            let y = submit(&runtime, &body, &[a2, b2, &x, &x, ranges, a1, b1, &s])?;
            let alone = runtime.new_store(Shape::SCALAR, DType::F64);
            runtime.submit(sum(), &[&y, &alone].map(TaskArg::from), &[])?;
            let sums = [&s, &alone].map(|sum| runtime.read_scalar::<f64>(sum));
            let [s, alone] = sums;
            assert_eq!(s?.to_bits(), alone?.to_bits());
            all.push(bits(&runtime.read::<f64>(&y, None)?));
        }
        Ok(all)
    });
    let both = gathered(&a, &x).into_iter().zip(gathered(&b, &x));
    let expected: Vec<f64> = both.map(|(a, b)| a - b).collect();
    for found in found {
        assert_eq!(found, bits(&expected));
    }
}

/// Where the rows of two structures are cut differently, the task runs where the first one is, and
/// fails on all ranks, whatever it is fused with; other tasks do not notice.
#[test]
fn structures_that_are_cut_differently() {
    let (a, b) = (rows(N, N, 1, 2), rows(N, N, 3, 1));
    for fusion in [true, false] {
        let config = Config { fusion, ..small() };
        let outcomes = run_ranks(3, &config, |runtime| {
            let of_a = structure(runtime, &a, Some(&[0, 20, 40, N]))?;
            let of_b = structure(runtime, &b, Some(&[0, 20, 44, N]))?;
            let x = vector(runtime, &ramp(N, 0.3), None)?;
            let alone = product(runtime, &of_a, &x)?;
            let failed = products(runtime, (&of_a, &x), (&of_b, &x))?;
            let behind = map(runtime, copy(), &[&failed])?;
            let other_way = products(runtime, (&of_b, &x), (&of_a, &x))?;
            let of_other = product(runtime, &of_b, &x)?;
            let text = |store: &StoreHandle| {
                let read = runtime.read::<f64>(store, None);
                read.expect_err("it has no value").to_string()
            };
            let expected = |[first, other]: [usize; 2]| {
                format!(
                    "`pair` failed: gather: expected structures of one task that are cut alike, \
                     rank 2 from row {first}, found one that it has from row {other}"
                )
            };
            assert_eq!(text(&failed), expected([40, 44]));
            assert_eq!(text(&behind), expected([40, 44]));
            assert_eq!(text(&other_way), expected([44, 40]));
            let read = |store| runtime.read::<f64>(store, None);
            Ok::<_, Error>([read(&alone)?, read(&of_other)?])
        });
        for found in outcomes.unwrap() {
            let [of_a, of_b] = found.unwrap();
            assert_eq!(bits(&of_a), bits(&gathered(&a, &ramp(N, 0.3))));
            assert_eq!(bits(&of_b), bits(&gathered(&b, &ramp(N, 0.3))));
        }
    }
}

/// A structure that every rank holds is read by the cuts of the other one, whichever comes first.
#[test]
fn a_structure_that_every_rank_holds_is_cut_like_the_other() {
    let (a, b) = (rows(N, N, 1, 2), rows(N, N, 3, 1));
    let x = ramp(N, 0.3);
    for (ranks, fusion) in [(2, true), (3, true), (3, false)] {
        let config = Config { fusion, ..small() };
        let outcomes = run_ranks(ranks, &config, |runtime| {
            let mut cuts: Vec<usize> = (0..=ranks).map(|rank| 9 * rank).collect();
            cuts[ranks] = N;
            let of_a = structure(runtime, &a, Some(&cuts))?;
            let of_b = structure(runtime, &b, None)?;
            let x = vector(runtime, &x, None)?;
            let mut all = Vec::new();
            for _ in 0..3 {
                let y = products(runtime, (&of_a, &x), (&of_b, &x))?;
                let z = products(runtime, (&of_b, &x), (&of_a, &x))?;
                let rows = runtime.local::<f64>(&y)?.rows();
                assert_eq!(rows.start, cuts[runtime.rank()], "where `a` is");
                all.push(runtime.read::<f64>(&y, None)?);
                all.push(runtime.read::<f64>(&z, None)?);
            }
            Ok::<_, Error>(all)
        });
        let both = gathered(&a, &x).into_iter().zip(gathered(&b, &x));
        let expected: Vec<f64> = both.map(|(a, b)| a + b).collect();
        for found in outcomes.unwrap() {
            for found in found.unwrap() {
                assert_eq!(bits(&found), bits(&expected), "{ranks} ranks");
            }
        }
    }
}

#[test]
fn shapes_of_the_second_structure_are_checked_too() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let (a, b) = (rows(N, N, 1, 2), rows(N, N, 3, 1));
    let of = |rows: &Rows| structure(&runtime, rows, None).unwrap();
    let (of_a, of_b) = (of(&a), of(&b));
    let x = vector(&runtime, &ramp(N, 0.3), None).unwrap();
    let refused = |of_b: [&StoreHandle; 4]| {
        let Stores([a0, a1, a2]) = &of_a;
        let [b0, b1, b2, z] = of_b;
        let submitted = submit(&runtime, pair(), &[a0, a1, a2, &x, b0, b1, b2, z]);
        submitted.expect_err("it does not fit").to_string()
    };
    let Stores([b0, b1, b2]) = &of_b;
    let (len, other) = (b1.shape(), of_a.0[2].shape());
    assert_ne!(len, other);
    let short = of(&rows(N - 1, N, 3, 1));
    let wide = Shape::new(&[N, 2]);
    let wide = runtime.store_from_vec(wide, vec![1.0f64; 2 * N]).unwrap();
    let shapes = |expected, found| format!("submit: expected a shape of {expected}, found {found}");
    assert_eq!(
        refused([b0, b1, &of_a.0[2], &x]),
        shapes(len, other),
        "entries of the other structure"
    );
    assert_eq!(
        refused([&short.0[0], b1, b2, &x]),
        shapes(Shape::new(&[N + 1]), Shape::new(&[N]))
    );
    assert_eq!(
        refused([b0, b1, b2, &wide]),
        shapes(wide.shape(), Shape::new(&[N]))
    );
}

/// An index beyond the store that it names fails the task, and no other one of its group.
#[test]
fn indices_of_the_second_structure_are_checked_too() {
    let (a, mut b) = (rows(N, N, 1, 2), rows(N, N, 3, 1));
    b[N - 2] = vec![(N as u32, 1.0)];
    for (ranks, fusion) in [(1, true), (1, false), (3, true), (3, false)] {
        let config = Config { fusion, ..small() };
        let outcomes = run_ranks(ranks, &config, |runtime| {
            let cuts = default_cuts(runtime, N);
            let of_a = structure(runtime, &a, cuts.as_deref())?;
            let of_b = structure(runtime, &b, cuts.as_deref())?;
            let x = vector(runtime, &ramp(N, 0.3), None)?;
            let alone = product(runtime, &of_a, &x)?;
            let failed = products(runtime, (&of_a, &x), (&of_b, &x))?;
            let text = runtime.read::<f64>(&failed, None).unwrap_err().to_string();
            Ok::<_, Error>((text, runtime.read::<f64>(&alone, None)?))
        });
        for outcome in outcomes.unwrap() {
            let (text, alone) = outcome.unwrap();
            assert!(text.starts_with("`pair` failed: "), "{text}");
            let facts = format!("below {N}, found {N}");
            assert!(text.contains(&facts), "{text}");
            assert_eq!(bits(&alone), bits(&gathered(&a, &ramp(N, 0.3))));
        }
    }
}

/// What a kernel multiplies with each other lies within the same ranges, and is gathered by the
/// indices that lie there.
#[test]
fn declarations_that_mix_structures() {
    let body = |change: &dyn Fn(&mut Vec<BodyArg>)| {
        let (kernel, mut args) = pair_parts();
        change(&mut args);
        catch_unwind(|| Body::with_args("bad", kernel, args))
    };
    assert!(body(&|_| ()).is_ok());
    for (number, access) in [
        (2, Access::Within { ranges: 5 }),
        (3, Access::Within { ranges: 5 }),
        (4, Access::At { indices: 6 }),
        (4, Access::At { indices: 3 }),
        (7, Access::Within { ranges: 1 }),
        (8, Access::At { indices: 2 }),
    ] {
        let mixed = body(&|args: &mut Vec<BodyArg>| args[number].access = access);
        assert!(mixed.is_err(), "{number} as {access:?}");
    }
    // Indices are whole numbers of 32 bits.
    let (mut kernel, args) = pair_parts();
    let structure = args[2].kernel_arg.expect("it is one of the kernel") as usize;
    for dtype in [DType::Bool, DType::I32, DType::U64, DType::F64] {
        kernel.args[structure].dtype = dtype;
        let (kernel, args) = (kernel.clone(), args.clone());
        assert!(
            catch_unwind(|| Body::with_args("bad", kernel, args)).is_err(),
            "{dtype}"
        );
    }
}

/// `s = sum(A x)`, and `y = A x`: where rows are cut within a tile there is no sum.
#[test]
fn sums_by_structures_that_are_cut_within_a_tile() {
    let a = rows(N, N, 1, 2);
    let mut build = KernelBuilder::new();
    let y = build.arg(DType::F64, ArgKind::Array);
    let of_rows = build.arg(DType::U32, ArgKind::Structure);
    let entries = build.arg(DType::F64, ArgKind::Entries);
    let x = build.arg(DType::F64, ArgKind::Gather);
    let s = build.arg(DType::F64, ArgKind::Reduction);
    let row = build.push(Inst::RowSum {
        structure: of_rows,
        entries,
        x,
    });
    build.store(y, row);
    build.reduce(ReduceOp::Sum, s, row);
    let args = vec![
        arg(Privilege::Write, Access::Rows, Some(y)),
        arg(Privilege::Read, Access::Ranges, None),
        read(Access::Within { ranges: 1 }, of_rows),
        read(Access::Within { ranges: 1 }, entries),
        read(Access::At { indices: 2 }, x),
        arg(Privilege::Reduce(ReduceOp::Sum), Access::Whole, Some(s)),
    ];
    let body = Body::with_args("product_and_sum", build.finish(), args);
    for (cut, fusion) in [(20, true), (18, true), (18, false)] {
        let config = Config { fusion, ..small() };
        let outcomes = run_ranks(2, &config, |runtime| {
            let of_a = structure(runtime, &a, Some(&[0, cut, N]))?;
            let Stores([ranges, indices, entries]) = &of_a;
            let x = vector(runtime, &ramp(N, 0.3), None)?;
            let s = runtime.new_store(Shape::SCALAR, DType::F64);
            let alone = product(runtime, &of_a, &x)?;
            let y = submit(runtime, &body, &[ranges, indices, entries, &x, &s])?;
            let alone = runtime.read::<f64>(&alone, None)?;
            assert_eq!(bits(&alone), bits(&gathered(&a, &ramp(N, 0.3))));
            let outcomes = [
                runtime.read_scalar::<f64>(&s).map(drop),
                runtime.read::<f64>(&y, None).map(drop),
            ];
            Ok::<_, Error>(outcomes.map(|outcome| outcome.err().map(|error| error.to_string())))
        });
        let expected = (cut == 18).then(|| {
            let facts = "rows to reduce that are cut at multiples of 4, found a cut at row 18";
            format!("`product_and_sum` failed: reduce: expected {facts}")
        });
        for found in outcomes.unwrap() {
            assert_eq!(found.unwrap(), [expected.clone(), expected.clone()]);
        }
    }
}

/// Entries that a window writes, packs, reads plain and writes again, in every order of states:
/// what is gathered is what was written last.
#[test]
fn entries_written_and_packed_in_one_window() {
    // Few entries are not packed: that takes no fewer bytes.
    let n = 403;
    let band = |row: usize| (row.saturating_sub(2)..(row + 3).min(n)).map(|index| index as u32);
    let value = |row: usize, index: u32| (index, ((row * 7 + index as usize * 3) as f64).sin());
    let of_row = |row: usize| band(row).map(|index| value(row, index)).collect();
    let a: Rows = (0..n).map(of_row).collect();
    let values: Vec<f64> = a.concat().iter().map(|&(_, value)| value).collect();
    let (len, x) = (values.len(), ramp(n, 0.3));
    let plain_bytes = 12 * len + 8 * (n + 1);
    let with = |values: &[f64]| {
        let mut values = values.iter();
        let mut entry = |&(index, _): &(u32, f64)| (index, *values.next().expect("one for each"));
        let rows: Rows = a
            .iter()
            .map(|row| row.iter().map(&mut entry).collect())
            .collect();
        bits(&gathered(&rows, &x))
    };
    let mut changed = values.clone();
    let step = changed.iter_mut().step_by(2);
    step.for_each(|value| *value = 0.5);
    let every_second = View::identity(Shape::new(&[len])).slice(0, 0..len, 2);
    let every_second = Arc::new(every_second.expect("a slice within the array"));
    for (pack_after, fusion, ranks) in [
        (0, false, 1),
        (0, true, 1),
        (1, false, 1),
        (usize::MAX, false, 1),
        (0, false, 3),
        (1, true, 3),
    ] {
        let config = Config {
            pack_after,
            fusion,
            ..small()
        };
        let outcomes = run_ranks(ranks, &config, |runtime| {
            let cuts = default_cuts(runtime, n);
            let Stores([ranges, indices, entries]) = structure(runtime, &a, cuts.as_deref())?;
            let x = vector(runtime, &x, None)?;
            let halves = vector(runtime, &vec![0.5; len.div_ceil(2)], None)?;
            let gather = |entries: &StoreHandle| {
                let y = runtime.new_store(Shape::new(&[n]), DType::F64);
                let args = [&y, &ranges, &indices, entries, &x].map(TaskArg::from);
                runtime.submit(spmv(), &args, &[]).map(|()| y)
            };
            let mut all = Vec::new();
            for flushes in [false, true] {
                let flush = || flushes.then(|| runtime.flush());
                let new = map(runtime, copy(), &[&entries])?;
                flush();
                let first = [gather(&new)?, gather(&new)?];
                flush();
                let plain = map(runtime, copy(), &[&new])?;
                let again = gather(&new)?;
                flush();
                let slice = TaskArg {
                    store: &new,
                    view: Some(&every_second),
                };
                runtime.submit(copy(), &[(&halves).into(), slice], &[])?;
                let after = [gather(&new)?, gather(&new)?];
                let read =
                    |store: &StoreHandle| runtime.read::<f64>(store, None).map(|all| bits(&all));
                let [first, second] = [read(&first[0])?, read(&first[1])?];
                all.push([first, second, read(&again)?]);
                all.push([read(&after[0])?, read(&after[1])?, read(&after[0])?]);
                assert_eq!(read(&plain)?, bits(&values));
                assert_eq!(read(&new)?, bits(&changed));
                // Two reads alike, and one of what the same task writes, may be one and plain.
                let is_packed = new.bytes_of_pass().is_some_and(|bytes| bytes < plain_bytes);
                assert!(fusion || is_packed == (pack_after < usize::MAX));
            }
            Ok::<_, Error>(all)
        });
        let (before, after) = (with(&values), with(&changed));
        for found in outcomes.unwrap() {
            for pair in found.unwrap().chunks(2) {
                let setting = format!("packed after {pack_after}, fusion {fusion}, {ranks} ranks");
                let [first, last] = [&pair[0], &pair[1]];
                assert_eq!(*first, [(); 3].map(|()| before.clone()), "{setting}");
                assert_eq!(*last, [(); 3].map(|()| after.clone()), "{setting}");
            }
        }
    }
}
