//! Structures that kernels write: tasks use what stands there when it is their turn, fused or not.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Element, Inst, KernelBuilder};
use sparsefuse_runtime::{Access, Body, BodyArg, Config, Runtime, Shape, StoreHandle, TaskArg};
use sparsefuse_testing::bits;
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
