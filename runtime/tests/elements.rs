//! Reductions into the elements of one vector: their bits, what reads them, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Kernel, KernelBuilder, ReduceOp};
use sparsefuse_runtime::{
    Access, Body, BodyArg, Config, Privilege, Runtime, Shape, StoreHandle, TaskArg, run_ranks,
};
use sparsefuse_testing::bodies::{copy, dot};
use sparsefuse_testing::small;
use std::sync::{Arc, OnceLock};

/// The sums of x y, y y and x x.
fn kernel() -> Kernel {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let sums = [(); 3].map(|()| build.arg(DType::F64, ArgKind::Reduction));
    let (x, y) = (build.load(x), build.load(y));
    for (sum, (a, b)) in sums.into_iter().zip([(x, y), (y, y), (x, x)]) {
        let product = build.binary(BinaryOp::Mul, a, b);
        build.reduce(ReduceOp::Sum, sum, product);
    }
    build.finish()
}

fn args(op: ReduceOp, count: u32) -> Vec<BodyArg> {
    let arg = |privilege, access, number| BodyArg {
        privilege,
        access,
        kernel_arg: Some(number),
    };
    vec![
        arg(Privilege::Read, Access::Rows, 0),
        arg(Privilege::Read, Access::Rows, 1),
        arg(Privilege::Reduce(op), Access::Elements(count), 2),
    ]
}

fn sums() -> &'static Arc<Body> {
    static BODY: OnceLock<Arc<Body>> = OnceLock::new();
    BODY.get_or_init(|| Body::with_args("sums", kernel(), args(ReduceOp::Sum, 3)))
}

fn vector(runtime: &Runtime, n: usize, seed: f64) -> StoreHandle {
    let elements = (0..n).map(|i| ((i as f64 + 1.0) * seed).sin()).collect();
    runtime.store_from_vec(Shape::new(&[n]), elements).unwrap()
}

fn issue(runtime: &Runtime, x: &StoreHandle, y: &StoreHandle, shape: &[usize]) -> StoreHandle {
    let out = runtime.new_store(Shape::new(shape), DType::F64);
    let body = if shape.is_empty() { dot() } else { sums() };
    let args = [x, y, &out].map(TaskArg::from);
    runtime.submit(body, &args, &[]).unwrap();
    out
}

fn bits(elements: &[f64]) -> Vec<u64> {
    elements.iter().map(|element| element.to_bits()).collect()
}

#[test]
fn each_element_has_the_bits_of_a_reduction_of_its_own() {
    for n in [1, 7, 50, 1000] {
        for (ranks, fusion) in [(1, true), (1, false), (2, true), (3, false), (8, true)] {
            let config = Config { fusion, ..small() };
            let results = run_ranks(ranks, &config, |runtime| {
                let (x, y) = (vector(runtime, n, 0.3), vector(runtime, n, 0.7));
                let sums = issue(runtime, &x, &y, &[3]);
                let pairs = [(&x, &y), (&y, &y), (&x, &x)];
                let each = pairs.map(|(a, b)| issue(runtime, a, b, &[]));
                let sums = runtime.read_scalars::<f64>(&sums).unwrap();
                let each = each.map(|sum| runtime.read_scalar::<f64>(&sum).unwrap());
                assert_eq!(bits(&sums), bits(&each), "{n} rows, {ranks} ranks");
                if fusion {
                    assert_eq!(runtime.counters().fused_tasks, 1, "{}", runtime.explain());
                }
                if ranks > 1 && fusion && n >= 50 {
                    assert_eq!(runtime.counters().reductions, 1, "one message");
                }
                sums
            });
            let results = results.unwrap();
            assert!(results.iter().all(|sums| bits(sums) == bits(&results[0])));
        }
    }
}

#[test]
fn what_has_been_reduced_is_a_vector_that_every_rank_holds() {
    for ranks in [1, 2, 3, 5] {
        let results = run_ranks(ranks, &small(), |runtime| {
            let (x, y) = (vector(runtime, 50, 0.3), vector(runtime, 50, 0.7));
            let sums = issue(runtime, &x, &y, &[3]);
            let copied = runtime.new_store(Shape::new(&[3]), DType::F64);
            let args = [&sums, &copied].map(TaskArg::from);
            runtime.submit(copy(), &args, &[]).unwrap();
            let copied = runtime.read::<f64>(&copied, None).unwrap();
            assert_eq!(copied, runtime.read_scalars::<f64>(&sums).unwrap());
            assert_eq!(copied, runtime.read::<f64>(&sums, None).unwrap());
            // The rows of x are cut, where there are ranks enough.
            assert_eq!(runtime.read_scalars::<f64>(&x).is_err(), ranks > 1);
            copied
        });
        let results = results.unwrap();
        assert!(results.iter().all(|sums| bits(sums) == bits(&results[0])));
    }
}

#[test]
fn stores_that_are_no_vector_of_the_elements_are_refused() {
    let runtime = Runtime::new(small()).unwrap();
    let x = vector(&runtime, 5, 0.3);
    for shape in [Shape::SCALAR, Shape::new(&[2]), Shape::new(&[3, 1])] {
        let out = runtime.new_store(shape, DType::F64);
        let args = [&x, &x, &out].map(TaskArg::from);
        let refused = runtime.submit(sums(), &args, &[]).unwrap_err();
        let expected = format!("submit: expected a shape of (3), found {shape}");
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
#[should_panic(expected = "privilege of `sums`")]
fn elements_are_reduced_in_the_declared_way() {
    let _ = Body::with_args("sums", kernel(), args(ReduceOp::Max, 3));
}

#[test]
#[should_panic(expected = "declarations of a4 of `sums`")]
fn every_element_is_declared() {
    let _ = Body::with_args("sums", kernel(), args(ReduceOp::Sum, 2));
}
