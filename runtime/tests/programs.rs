//! Small programs on the runtime alone: what fuses, why not, what the memory does, what fails.

use sparsefuse_kernels::{ArgKind, DType, Element, KernelBuilder, UnaryOp, Value};
use sparsefuse_runtime::{
    Body, Config, Error, Refusal, Runtime, Shape, StoreHandle, TaskArg, View, run_ranks,
};
use sparsefuse_testing::bodies::{axpy, copy, dot, ratio, scale, spmv};
use sparsefuse_testing::small;
use sparsefuse_testing::stores::{ramp, vector};
use std::sync::{Arc, Mutex};

/// Issues a task that writes one new store of the given shape.
fn issue(body: &Arc<Body>, shape: Shape, args: &[&StoreHandle], params: &[Value]) -> StoreHandle {
    let runtime = args[0].runtime();
    let out = runtime.new_store(shape, DType::F64);
    let mut all: Vec<TaskArg<'_>> = args.iter().map(|&store| store.into()).collect();
    all.push((&out).into());
    runtime
        .submit(body, &all, params)
        .expect("the arguments fit the body");
    out
}

#[test]
fn a_chain_of_vectors_is_one_task_without_temporaries() {
    let n = 1000;
    let expected: Vec<f64> = ramp(n, 0.3)
        .iter()
        .zip(ramp(n, 0.7))
        .map(|(x, y)| 2.0 * x + (2.0 * x + y))
        .collect();
    for ranks in [1, 2, 3, 5] {
        let results = run_ranks(ranks, &small(), |runtime| {
            let (x, y) = (vector(runtime, ramp(n, 0.3)), vector(runtime, ramp(n, 0.7)));
            let before = runtime.memory_in_use();
            let shape = x.shape();
            let t = issue(axpy(), shape, &[&x, &y], &[2.0f64.to_value()]);
            let z = issue(axpy(), shape, &[&x, &t], &[2.0f64.to_value()]);
            drop(t);
            runtime.flush();
            let counters = runtime.counters();
            assert_eq!((counters.tasks, counters.fused_tasks), (2, 1));
            let grown = runtime.memory_in_use() - before;
            assert!(
                grown < before * 3 / 4,
                "z has memory, t has none: {grown} beside {before}"
            );
            runtime.read::<f64>(&z, None).unwrap()
        })
        .unwrap();
        for result in results {
            assert_eq!(result, expected, "{ranks} ranks");
        }
    }
}

#[test]
fn a_reduction_ends_its_group_and_scalars_never_wait() {
    let n = 50;
    for ranks in [1, 2, 3, 8] {
        let results = run_ranks(ranks, &small(), |runtime| {
            let (x, y) = (vector(runtime, ramp(n, 0.3)), vector(runtime, ramp(n, 0.7)));
            let xy = issue(dot(), Shape::SCALAR, &[&x, &y], &[]);
            let xx = issue(dot(), Shape::SCALAR, &[&x, &x], &[]);
            let ratio = issue(ratio(), Shape::SCALAR, &[&xy, &xx], &[]);
            let z = issue(scale(), x.shape(), &[&ratio, &x], &[]);
            runtime.flush();
            let ends = runtime.group_ends();
            assert_eq!(ends.len(), 2, "{}", runtime.explain());
            assert!(matches!(ends[0], Some(Refusal::Reduction { .. })));
            assert_eq!(runtime.counters().fused_tasks, 2);
            let text = runtime.explain();
            assert!(text.contains("reduction: s2 is complete only when the group has ended"));
            runtime.read::<f64>(&z, None).unwrap()
        })
        .unwrap();
        let whole = &results[0];
        let bits = |x: &[f64]| x.iter().map(|x| f64::to_bits(*x)).collect::<Vec<_>>();
        let alone = run_ranks(1, &small(), |runtime| {
            let (x, y) = (vector(runtime, ramp(n, 0.3)), vector(runtime, ramp(n, 0.7)));
            let xy = issue(dot(), Shape::SCALAR, &[&x, &y], &[]);
            let xx = issue(dot(), Shape::SCALAR, &[&x, &x], &[]);
            let ratio = issue(ratio(), Shape::SCALAR, &[&xy, &xx], &[]);
            runtime
                .read::<f64>(&issue(scale(), x.shape(), &[&ratio, &x], &[]), None)
                .unwrap()
        });
        assert_eq!(bits(whole), bits(&alone.unwrap()[0]), "{ranks} ranks");
    }
}

#[test]
fn windows_are_remembered_and_parameters_are_not_part_of_the_key() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let x = vector(&runtime, ramp(10, 0.1));
    for step in 0..5 {
        let factor = f64::from(step);
        let y = issue(axpy(), x.shape(), &[&x, &x], &[factor.to_value()]);
        let y = runtime.read::<f64>(&y, None).unwrap();
        assert_eq!(y[3], factor * ramp(10, 0.1)[3] + ramp(10, 0.1)[3]);
    }
    let counters = runtime.counters();
    assert_eq!((counters.windows, counters.trace_hits), (5, 4));
}

#[test]
fn a_dying_vector_gives_its_memory_to_its_successor() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let x = vector(&runtime, ramp(1 << 16, 0.1));
    let mut y = issue(copy(), x.shape(), &[&x], &[]);
    for _ in 0..4 {
        y = issue(axpy(), x.shape(), &[&x, &y], &[1.0f64.to_value()]);
        runtime.flush();
    }
    assert_eq!(
        runtime.peak_memory(),
        2 * (8 << 16),
        "x and one y, never a third"
    );
    let y = runtime.read::<f64>(&y, None).unwrap();
    let x = ramp(1 << 16, 0.1);
    assert_eq!(y[77], x[77] + x[77] + x[77] + x[77] + x[77]);
}

#[test]
fn shifted_views_are_fetched_from_their_owners_and_written_where_they_are() {
    let n = 41;
    let expected: Vec<f64> = {
        let x = ramp(n, 0.3);
        (0..n)
            .map(|i| {
                if i == 0 || i == n - 1 {
                    x[i]
                } else {
                    x[i + 1] + 2.0 * x[i - 1]
                }
            })
            .collect()
    };
    for ranks in [1, 2, 3, 5, 8] {
        for fusion in [true, false] {
            let config = Config { fusion, ..small() };
            let results = run_ranks(ranks, &config, |runtime| {
                let x = vector(runtime, ramp(n, 0.3));
                let whole = View::identity(x.shape());
                let view = |range| Arc::new(whole.slice(0, range, 1).unwrap());
                let (left, right, middle) = (view(0..n - 2), view(2..n), view(1..n - 1));
                let sum = runtime.new_store(middle.shape(), DType::F64);
                let args = [
                    TaskArg {
                        store: &x,
                        view: Some(&left),
                    },
                    TaskArg {
                        store: &x,
                        view: Some(&right),
                    },
                    (&sum).into(),
                ];
                runtime.submit(axpy(), &args, &[2.0f64.to_value()]).unwrap();
                let target = TaskArg {
                    store: &x,
                    view: Some(&middle),
                };
                runtime
                    .submit(copy(), &[(&sum).into(), target], &[])
                    .unwrap();
                drop(sum);
                runtime.read::<f64>(&x, None).unwrap()
            });
            for result in results.unwrap() {
                assert_eq!(result, expected, "{ranks} ranks, fusion {fusion}");
            }
        }
    }
}

#[test]
fn products_exchange_ghosts_and_keep_their_bits() {
    // A band with a far corner entry, so that some rows need ghosts from far away.
    let n = 37;
    let row = |i: usize| {
        let mut columns: Vec<usize> = (i.saturating_sub(2)..(i + 3).min(n)).collect();
        if i.is_multiple_of(5) {
            columns.insert(0, 0);
            columns.push(n - 1);
            columns.dedup();
        }
        columns
    };
    let value = |i: usize, j: usize| 1.0 / (1.0 + (3 * i + 7 * j) as f64);
    let x = ramp(n, 0.9);
    let expected: Vec<f64> = (0..n)
        .map(|i| {
            row(i)
                .iter()
                .fold(0.0, |sum, &j| value(i, j).mul_add(x[j], sum))
        })
        .collect();
    for ranks in [1, 2, 3, 5] {
        let results = run_ranks(ranks, &small(), |runtime| -> Result<Vec<f64>, Error> {
            let mut pos = vec![0u64];
            let (mut crd, mut vals) = (Vec::new(), Vec::new());
            for i in 0..n {
                crd.extend(row(i).iter().map(|&j| j as u32));
                vals.extend(row(i).iter().map(|&j| value(i, j)));
                pos.push(crd.len() as u64);
            }
            let nnz = crd.len();
            let (partition, rows) = runtime.default_rows(Shape::new(&[n]));
            let entries = pos[rows.start] as usize..pos[rows.end] as usize;
            let (pos_partition, crd_partition) = match runtime.cuts(partition) {
                None => (partition, partition),
                Some(cuts) => {
                    let mut of_pos = cuts.to_vec();
                    *of_pos.last_mut().unwrap() = n + 1;
                    let of_crd: Vec<usize> = cuts.iter().map(|&cut| pos[cut] as usize).collect();
                    (
                        runtime.partition_at(&of_pos)?,
                        runtime.partition_at(&of_crd)?,
                    )
                }
            };
            let own_pos = pos[rows.start..=rows.end].to_vec();
            let pos = runtime.store_of_rows(
                Shape::new(&[n + 1]),
                pos_partition,
                rows.start..rows.end + 1,
                own_pos,
            )?;
            let shape = Shape::new(&[nnz]);
            let crd = runtime.store_of_rows(
                shape,
                crd_partition,
                entries.clone(),
                crd[entries.clone()].to_vec(),
            )?;
            let vals = runtime.store_of_rows(
                shape,
                crd_partition,
                entries.clone(),
                vals[entries].to_vec(),
            )?;
            let x = vector(runtime, ramp(n, 0.9));
            let y = runtime.new_store(Shape::new(&[n]), DType::F64);
            let args: Vec<TaskArg<'_>> = [&y, &pos, &crd, &vals, &x]
                .into_iter()
                .map(TaskArg::from)
                .collect();
            runtime.submit(spmv(), &args, &[])?;
            // Once more, with what the first product has inspected, and values that have moved.
            let doubled = issue(axpy(), shape, &[&vals, &vals], &[0.0f64.to_value()]);
            let again = runtime.new_store(Shape::new(&[n]), DType::F64);
            let args: Vec<TaskArg<'_>> = [&again, &pos, &crd, &doubled, &x]
                .into_iter()
                .map(TaskArg::from)
                .collect();
            runtime.submit(spmv(), &args, &[])?;
            let first = runtime.read::<f64>(&y, None)?;
            let second = runtime.read::<f64>(&again, None)?;
            assert_eq!(first, second);
            if ranks > 1 {
                assert!(runtime.counters().messages > 0);
            }
            Ok(first)
        });
        for result in results.unwrap() {
            assert_eq!(result.unwrap(), expected, "{ranks} ranks");
        }
    }
}

#[test]
fn a_failure_poisons_what_depends_on_it_and_names_the_first_task() {
    let config = Config {
        memory_limit: 3000,
        fusion: false,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    let x = vector(&runtime, ramp(200, 0.1));
    let y = issue(axpy(), x.shape(), &[&x, &x], &[1.0f64.to_value()]);
    let z = issue(axpy(), x.shape(), &[&x, &y], &[1.0f64.to_value()]);
    let sum = issue(dot(), Shape::SCALAR, &[&z, &z], &[]);
    let error = runtime.read_scalar::<f64>(&sum).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("`axpy` failed: expected 1792 bytes of memory"),
        "{text}"
    );
    assert_eq!(
        runtime.read::<f64>(&x, None).unwrap(),
        ramp(200, 0.1),
        "x is as it was"
    );
}

#[test]
fn arguments_that_do_not_fit_are_refused_at_the_call() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let (x, y) = (
        vector(&runtime, ramp(3, 1.0)),
        vector(&runtime, ramp(4, 1.0)),
    );
    let out = runtime.new_store(x.shape(), DType::F64);
    let refused = |args: &[&StoreHandle], params: &[Value]| {
        let args: Vec<TaskArg<'_>> = args.iter().map(|&store| store.into()).collect();
        runtime
            .submit(axpy(), &args, params)
            .unwrap_err()
            .to_string()
    };
    let one = 1.0f64.to_value();
    assert_eq!(
        refused(&[&x, &y, &out], &[one]),
        "submit: expected a shape of (3), found (4)"
    );
    assert_eq!(
        refused(&[&out, &x, &x], &[one]),
        "submit: expected a store with contents, found one that nothing has written"
    );
    assert_eq!(
        refused(&[&x, &x, &out], &[1u32.to_value()]),
        "submit: expected elements of type f64, found u32"
    );
    let squares = UnaryOp::Sqrt; // the body below takes the square root of its argument
    let mut build = KernelBuilder::new();
    let (from, to) = (
        build.arg(DType::F32, ArgKind::Array),
        build.arg(DType::F32, ArgKind::Array),
    );
    let loaded = build.load(from);
    let root = build.unary(squares, loaded);
    build.store(to, root);
    let sqrt = Body::new("sqrt", build.finish());
    let error = runtime
        .submit(&sqrt, &[(&x).into(), (&out).into()], &[])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "submit: expected elements of type f32, found f64"
    );
}

#[test]
fn a_rank_that_panics_is_named_and_nobody_waits_for_it() {
    let error = run_ranks(3, &small(), |runtime| {
        let x = vector(runtime, ramp(40, 0.3));
        let y = issue(axpy(), x.shape(), &[&x, &x], &[1.0f64.to_value()]);
        assert!(runtime.rank() != 1, "rank one has had enough");
        let text = runtime.read::<f64>(&y, None).unwrap_err().to_string();
        assert_eq!(text, "rank 1: expected a message, but the rank has ended");
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "rank 1: panicked: rank one has had enough"
    );
}

/// A handle that outlives its rank returns an error, and no rank waits for the one that has left.
#[test]
fn handles_that_outlive_their_ranks() {
    let kept = run_ranks(2, &small(), |runtime| vector(runtime, ramp(40, 0.3))).unwrap();
    for x in kept {
        let error = x.runtime().read::<f64>(&x, None).unwrap_err().to_string();
        assert!(error.ends_with("but the rank has ended"), "{error}");
    }
    let kept = Mutex::new(Vec::new());
    let error = run_ranks(2, &small(), |runtime| {
        let x = vector(runtime, ramp(40, 0.3));
        kept.lock().expect("no rank fails here").push(x.clone());
        assert!(runtime.rank() != 0, "rank zero has had enough");
        let error = runtime.read::<f64>(&x, None).unwrap_err().to_string();
        assert_eq!(error, "rank 0: expected a message, but the rank has ended");
    });
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "rank 0: panicked: rank zero has had enough");
}

/// What `explain` says of the program below on rank 0 of two.
const EXPLAINED: &str = "\
stores
  s0: (10) f64, held by the program
  s1: (10) f64
  s2: () f64
  s3: () f64, held by the program
tasks
  t0: axpy on tile0[0, 4, 10]: read s0, read s0, write s1
  t1: dot on tile0[0, 4, 10]: read s1, read s1, reduce(sum) s2 broadcast
  t2: ratio on any: read s2 broadcast, read s2 broadcast, write s3 broadcast
group 0: t0..t1 on tile0[0, 4, 10]
  ended: reduction: s2 is complete only when the group has ended
  s2 gets memory for 1 elements
  | kernel(a0: array f64 @0, a1: reduction f64 @2; p0: f64) {
  |   loop d0 {
  |     %0 = param p0
  |     %1 = load a0
  |     %2 = mul %0 %1
  |     %3 = add %2 %1
  |     %4 = mul %3 %3
  |     reduce sum a1 %4
  |   }
  | }
  reduce(sum) into s2 over all ranks
  free s1
group 1: t2..t2 on replicated
  ended: the window ended
  s3 gets memory for 1 elements
  | kernel(a0: scalar f64 @2, a1: scalar f64 @3) {
  |   loop d0 {
  |     %0 = load_scalar a0
  |     %1 = div %0 %0
  |     store_scalar a1 %1
  |   }
  | }
  free s2
";

#[test]
fn explain_tells_tasks_partitions_groups_kernels_and_schedule() {
    let texts = run_ranks(2, &small(), |runtime| {
        let x = vector(runtime, ramp(10, 0.3));
        let y = issue(axpy(), x.shape(), &[&x, &x], &[2.0f64.to_value()]);
        let yy = issue(dot(), Shape::SCALAR, &[&y, &y], &[]);
        let ratio = issue(ratio(), Shape::SCALAR, &[&yy, &yy], &[]);
        drop((y, yy));
        runtime.flush();
        drop(ratio);
        runtime.explain()
    })
    .unwrap();
    assert_eq!(texts[0], EXPLAINED);
}

#[test]
fn threads_that_share_a_runtime_do_not_disturb_each_other() {
    let runtime = Runtime::new(Config::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let runtime = &runtime;
            scope.spawn(move || {
                let x = vector(runtime, ramp(20, f64::from(thread)));
                let one = [1.0f64.to_value()];
                for _ in 0..500 {
                    let y = issue(axpy(), x.shape(), &[&x, &x], &one);
                    let z = issue(axpy(), x.shape(), &[&y, &x], &one);
                    drop(y);
                    let z = runtime.read::<f64>(&z, None).unwrap();
                    assert_eq!(z[3], 3.0 * ramp(20, f64::from(thread))[3]);
                }
            });
        }
    });
}

/// Two computations issued one after the other run as fused tasks of both, where each alone takes
/// two.
#[test]
fn like_steps_of_two_computations_fuse() {
    let n = 50;
    for ranks in [1, 3] {
        let normalized = |side_by_side: bool| {
            let results = run_ranks(ranks, &small(), |runtime| {
                let step = |x: &StoreHandle| {
                    let xx = issue(dot(), Shape::SCALAR, &[x, x], &[]);
                    let xs = issue(dot(), Shape::SCALAR, &[x, x], &[]);
                    let ratio = issue(ratio(), Shape::SCALAR, &[&xx, &xs], &[]);
                    let y = issue(scale(), x.shape(), &[&ratio, x], &[]);
                    if !side_by_side {
                        runtime.flush();
                    }
                    y
                };
                let vectors = [0.3, 0.7, 1.1].map(|slope| vector(runtime, ramp(n, slope)));
                let scaled = vectors.each_ref().map(step);
                runtime.flush();
                let tasks = runtime.counters().fused_tasks;
                let read = |y| runtime.read::<f64>(y, None).unwrap();
                (tasks, scaled.each_ref().map(read))
            });
            results.unwrap().remove(0)
        };
        let (together, alone) = (normalized(true), normalized(false));
        assert_eq!((together.0, alone.0), (2, 6), "{ranks} ranks");
        assert_eq!(together.1, alone.1, "{ranks} ranks");
    }
}

/// A value of a thread that ends after those of the library may still ask for the current runtime.
#[test]
fn a_thread_that_ends_has_a_current_runtime() {
    struct Last(std::sync::mpsc::Sender<usize>);
    impl Drop for Last {
        fn drop(&mut self) {
            let _ = self.0.send(Runtime::current().ranks());
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    let (sender, ranks) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The values of a thread end in the reverse order of their first use.
            LAST.set(Some(Last(sender)));
            Runtime::new(Config::default()).unwrap().enter(|| ());
        });
    });
    assert!(ranks.recv().is_ok_and(|ranks| ranks > 0));
}

#[test]
fn a_body_is_found_again_by_what_it_is() {
    let kernel = |op| {
        let mut build = KernelBuilder::new();
        let (x, y) = (
            build.arg(DType::F64, ArgKind::Array),
            build.arg(DType::F64, ArgKind::Array),
        );
        let element = build.load(x);
        let element = build.unary(op, element);
        build.store(y, element);
        build.finish()
    };
    let body = Body::new("found_again", kernel(UnaryOp::Exp));
    let again = Body::with_args("found_again", kernel(UnaryOp::Exp), body.args().to_vec());
    assert!(Arc::ptr_eq(&body, &again));
    let other_name = Body::new("found", kernel(UnaryOp::Exp));
    assert!(!Arc::ptr_eq(&body, &other_name));
    let other_kernel = Body::new("found_again", kernel(UnaryOp::Sqrt));
    assert!(!Arc::ptr_eq(&body, &other_kernel));
}
