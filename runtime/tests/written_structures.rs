//! Structures that kernels write: tasks use what stands there when it is their turn, fused or not.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Element, Inst, KernelBuilder};
use sparsefuse_runtime::{
    Access, Body, BodyArg, Config, Error, Runtime, Shape, StoreHandle, TaskArg, View, run_ranks,
};
use sparsefuse_testing::{bits, small};
use std::sync::{Arc, LazyLock};

const N: usize = 61;

/// `y[i] = x[indices[i]]`, of a structure with one index for each row.
fn gather() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let mut build = KernelBuilder::new();
        let y = build.arg(DType::F64, ArgKind::Array);
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let x = build.arg(DType::F64, ArgKind::Gather);
        let element = build.push(Inst::Gather { structure, x });
        build.store(y, element);
        let args = vec![
            BodyArg::write(y),
            BodyArg::read(Access::Ranges, None),
            BodyArg::read(Access::Within { ranges: 1 }, structure),
            BodyArg::read(Access::At { indices: 2 }, x),
        ];
        Body::with_args("gather", build.finish(), args)
    });
    &BODY
}

/// `to[i] = N - 1 - from[i]`, which may be the same store.
fn mirror() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let mut build = KernelBuilder::new();
        let [from, to] = [(); 2].map(|()| build.arg(DType::U32, ArgKind::Array));
        let last = build.constant((N as u32 - 1).to_value());
        let index = build.load(from);
        let index = build.binary(BinaryOp::Sub, last, index);
        build.store(to, index);
        let args = vec![BodyArg::read(Access::Rows, from), BodyArg::write(to)];
        Body::with_args("mirror", build.finish(), args)
    });
    &BODY
}

fn gathered(runtime: &Runtime, [ranges, indices, x]: [&StoreHandle; 3]) -> StoreHandle {
    let y = runtime.new_store(Shape::new(&[N]), DType::F64);
    let args: [TaskArg<'_>; 4] = [(&y).into(), ranges.into(), indices.into(), x.into()];
    runtime.submit(gather(), &args, &[]).unwrap();
    y
}

/// Indices that a kernel of the same window writes, in place and into a new store, before a task
/// gathers by them and behind it.
#[test]
fn structures_that_kernels_write_are_those_that_follow() {
    let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.3).sin()).collect();
    let indices: Vec<u32> = (0..N as u32).map(|i| i * 7 % N as u32).collect();
    let by = |indices: &[u32]| -> Vec<f64> { indices.iter().map(|&i| x[i as usize]).collect() };
    let mirrored: Vec<u32> = indices.iter().map(|i| N as u32 - 1 - i).collect();
    let expected = [&indices, &mirrored, &mirrored, &indices]
        .map(|indices| by(indices))
        .concat();
    for fusion in [true, false] {
        let config = Config {
            fusion,
            threads: 1,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        let ranges = (0..=N as u64).collect();
        let ranges = runtime
            .store_from_vec(Shape::new(&[N + 1]), ranges)
            .unwrap();
        let shape = Shape::new(&[N]);
        let at = runtime.store_from_vec(shape, indices.clone()).unwrap();
        let of_x = runtime.store_from_vec(shape, x.clone()).unwrap();
        let mut found = Vec::new();
        for _ in 0..2 {
            let made = runtime.new_store(shape, DType::U32);
            let change = [TaskArg::from(&at), TaskArg::from(&made)];
            let before = gathered(&runtime, [&ranges, &at, &of_x]);
            runtime.submit(mirror(), &change, &[]).unwrap();
            let of_made = gathered(&runtime, [&ranges, &made, &of_x]);
            let in_place = [TaskArg::from(&at), TaskArg::from(&at)];
            runtime.submit(mirror(), &in_place, &[]).unwrap();
            let changed = gathered(&runtime, [&ranges, &at, &of_x]);
            let [before, of_made, changed] = [&before, &of_made, &changed]
                .map(|store| runtime.read::<f64>(store, None).unwrap().to_vec());
            assert_eq!(bits(&of_made), bits(&changed), "fusion {fusion}");
            found.extend(before);
            found.extend(changed);
        }
        assert_eq!(bits(&found), bits(&expected), "fusion {fusion}");
    }
}

/// `to[i] = from[i] + by`, which may be the same store.
fn shift() -> &'static Arc<Body> {
    static BODY: LazyLock<Arc<Body>> = LazyLock::new(|| {
        let mut build = KernelBuilder::new();
        let [from, to] = [(); 2].map(|()| build.arg(DType::U64, ArgKind::Array));
        let (by, position) = (build.param(DType::U64), build.load(from));
        let position = build.binary(BinaryOp::Add, position, by);
        build.store(to, position);
        let args = vec![BodyArg::read(Access::Rows, from), BodyArg::write(to)];
        Body::with_args("shift", build.finish(), args)
    });
    &BODY
}

/// Ranges that a kernel has made in this window and that another writes in place, or that were
/// there before: rows have the entries of the new ones.
#[test]
fn ranges_that_are_written_in_place() {
    let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.3).sin()).collect();
    let indices: Vec<u32> = (0..2 * N as u32).map(|i| i * 7 % N as u32).collect();
    let by = |indices: &[u32]| -> Vec<f64> { indices.iter().map(|&i| x[i as usize]).collect() };
    for (fusion, is_made) in [(true, true), (false, true), (true, false), (false, false)] {
        let config = Config {
            fusion,
            threads: 1,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        let vector = |elements| {
            runtime
                .store_from_vec(Shape::new(&[N + 1]), elements)
                .unwrap()
        };
        let mut ranges = vector((0..=N as u64).collect());
        let at = runtime.store_from_vec(Shape::new(&[2 * N]), indices.clone());
        let of_x = runtime.store_from_vec(Shape::new(&[N]), x.clone()).unwrap();
        let at = at.unwrap();
        if is_made {
            let made = runtime.new_store(Shape::new(&[N + 1]), DType::U64);
            let args = [TaskArg::from(&ranges), TaskArg::from(&made)];
            runtime.submit(shift(), &args, &[0u64.to_value()]).unwrap();
            ranges = made;
        }
        let before = gathered(&runtime, [&ranges, &at, &of_x]);
        let in_place = [TaskArg::from(&ranges), TaskArg::from(&ranges)];
        let by_all = [(N as u64).to_value()];
        runtime.submit(shift(), &in_place, &by_all).unwrap();
        let behind = gathered(&runtime, [&ranges, &at, &of_x]);
        let read = |store| bits(&runtime.read::<f64>(store, None).unwrap());
        let setting = format!("fusion {fusion}, made in the window {is_made}");
        assert_eq!(read(&behind), bits(&by(&indices[N..])), "{setting}");
        assert_eq!(read(&before), bits(&by(&indices[..N])), "{setting}");
    }
}

/// A rank's ranges have one position more than its rows, which is the next rank's: a kernel that
/// writes them in place does not write it, so they are ranges no longer.
#[test]
fn ranges_of_ranks_that_are_written_in_place() {
    let n = N + 1;
    let indices: Vec<u32> = (0..=N as u32).map(|i| i * 7 % N as u32).collect();
    for (ranks, is_moved) in [(1, false), (1, true), (2, false), (2, true)] {
        let outcomes = run_ranks(ranks, &small(), |runtime| {
            let cut = match ranks {
                1 => N,
                _ => runtime.default_rows(Shape::new(&[N])).1.len(),
            };
            let cut = runtime.all_gather(&[cut as u64])?[0][0] as usize;
            let store = |cuts: &[usize], more: usize| {
                let partition = runtime.partition_at(cuts)?;
                let rank = runtime.rank();
                Ok::<_, Error>((partition, cuts[rank]..(cuts[rank + 1] + more).min(n)))
            };
            let cuts = |cut: usize| match ranks {
                1 => vec![0, n],
                _ => vec![0, cut, n],
            };
            let (partition, rows) = store(&cuts(cut), 1)?;
            let positions = rows.clone().map(|row| row as u64).collect();
            let ranges = runtime.store_of_rows(Shape::new(&[n]), partition, rows, positions)?;
            let (partition, rows) = store(&cuts(cut), 0)?;
            let own = indices[rows.clone()].to_vec();
            let at = runtime.store_of_rows(Shape::new(&[n]), partition, rows, own)?;
            let x: Vec<f64> = (0..N).map(|i| (i as f64 * 0.3).sin()).collect();
            let x = runtime.store_from_vec(Shape::new(&[N]), x)?;
            runtime.read::<f64>(&gathered(runtime, [&ranges, &at, &x]), None)?;
            if is_moved {
                // What is read through a shifted view has room for the next rank's rows.
                let whole = View::identity(Shape::new(&[n]));
                let behind = Arc::new(whole.slice(0, 1..n, 1)?);
                let out = runtime.new_store(Shape::new(&[N]), DType::U64);
                let from = TaskArg {
                    store: &ranges,
                    view: Some(&behind),
                };
                runtime.submit(shift(), &[from, (&out).into()], &[0u64.to_value()])?;
                runtime.flush();
                runtime.read::<f64>(&gathered(runtime, [&ranges, &at, &x]), None)?;
            }
            let in_place = [TaskArg::from(&ranges), TaskArg::from(&ranges)];
            runtime.submit(shift(), &in_place, &[1u64.to_value()])?;
            runtime.read::<f64>(&gathered(runtime, [&ranges, &at, &x]), None)
        });
        for outcome in outcomes.unwrap() {
            match (ranks, outcome) {
                (1, found) => assert_eq!(found.unwrap()[0], (7f64 * 0.3).sin()),
                (_, found) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains("those of other rows"), "{error}");
                }
            }
        }
    }
}
