//! Tasks that would reach beyond their stores, or of which one row would write what another one
//! reads: refused at the call, or where only the contents tell, when they run.

use sparsefuse_kernels::{ArgKind, DType, Element, Inst, KernelBuilder, ReduceOp};
use sparsefuse_runtime::{
    Access, Body, BodyArg, Config, Error, Partition, Runtime, Shape, StoreHandle, TaskArg, View,
    run_ranks,
};
use sparsefuse_testing::bodies::{spmv, sum};
use sparsefuse_testing::small;
use std::panic::catch_unwind;
use std::sync::Arc;

/// y = x, of `n` arguments: all but the last are read.
fn copy(n: usize) -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let args: Vec<_> = (0..n)
        .map(|_| build.arg(DType::F64, ArgKind::Array))
        .collect();
    let loaded: Vec<_> = args[..n - 1].iter().map(|&arg| build.load(arg)).collect();
    build.store(args[n - 1], loaded[0]);
    Body::new("copy", build.finish())
}

fn store<T: Element>(runtime: &Runtime, elements: Vec<T>) -> StoreHandle {
    let shape = Shape::new(&[elements.len()]);
    runtime
        .store_from_vec(shape, elements)
        .expect("memory suffices")
}

fn through<'a>(store: &'a StoreHandle, view: &'a Arc<View>) -> TaskArg<'a> {
    let view = Some(view);
    TaskArg { store, view }
}

fn slice(n: usize, range: std::ops::Range<usize>, step: isize) -> Arc<View> {
    let whole = View::identity(Shape::new(&[n]));
    Arc::new(
        whole
            .slice(0, range, step)
            .expect("a slice within the array"),
    )
}

#[track_caller]
fn check<R: std::fmt::Debug>(outcome: Result<R, Error>, expected: &str) {
    let error = outcome.expect_err("what does not fit is refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn views_of_stores_of_another_shape() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let ten = store(&runtime, vec![1.0; 10]);
    for n in [100, 100_000_000] {
        let expected = |op| {
            format!(
                "{op}: expected a view of a store of shape (10), found a view of one of shape ({n})"
            )
        };
        let view = slice(n, n - 5..n, 1);
        let out = runtime.new_store(view.shape(), DType::F64);
        let read = [through(&ten, &view), (&out).into()];
        check(runtime.submit(&copy(2), &read, &[]), &expected("submit"));
        let five = store(&runtime, vec![2.0; 5]);
        let written = [(&five).into(), through(&ten, &view)];
        check(runtime.submit(&copy(2), &written, &[]), &expected("submit"));
        check(runtime.read::<f64>(&ten, Some(&view)), &expected("read"));
        check(
            runtime.gather::<f64>(&ten, Some(&view), 0),
            &expected("read"),
        );
        // As it is, but of another store: for arguments that are never seen through views.
        let whole = Arc::new(View::identity(Shape::new(&[n])));
        let mut build = KernelBuilder::new();
        let (m, x, y) = (
            build.arg(DType::F64, ArgKind::DenseRows),
            build.arg(DType::F64, ArgKind::Gather),
            build.arg(DType::F64, ArgKind::Array),
        );
        let (op, rows) = (ReduceOp::Sum, m);
        let sum = build.push(Inst::RowReduce {
            op,
            rows,
            x: Some(x),
        });
        build.store(y, sum);
        let matvec = Body::new("matvec", build.finish());
        let dense = runtime
            .store_from_vec(Shape::new(&[1, 10]), vec![1.0f64; 10])
            .unwrap();
        let out = runtime.new_store(Shape::new(&[1]), DType::F64);
        let args = [(&dense).into(), through(&ten, &whole), (&out).into()];
        check(runtime.submit(&matvec, &args, &[]), &expected("submit"));
        let wide = Arc::new(View::identity(Shape::new(&[1, n])));
        let args = [through(&dense, &wide), (&ten).into(), (&out).into()];
        let text = runtime.submit(&matvec, &args, &[]).unwrap_err().to_string();
        assert!(
            text.contains("a view of a store of shape (1, 10)"),
            "{text}"
        );
    }
    assert_eq!(runtime.read::<f64>(&ten, None).unwrap(), [1.0; 10]);
}

#[test]
fn arguments_of_a_task_with_many_that_share_elements() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let stores: Vec<_> = (0..20)
        .map(|_| store(&runtime, (0..10).map(f64::from).collect()))
        .collect();
    let (left, right, other) = (slice(10, 0..5, 1), slice(10, 4..9, 1), slice(10, 5..10, 1));
    let submit = |last: &Arc<View>| {
        let mut args: Vec<_> = stores.iter().map(|store| through(store, &left)).collect();
        args.push(through(&stores[7], last));
        runtime.submit(&copy(21), &args, &[])
    };
    let refused = "submit: expected arguments that share no element, found one that reads what \
                   another writes";
    check(submit(&right), refused);
    submit(&other).unwrap();
    let found = runtime.read::<f64>(&stores[7], None).unwrap();
    assert_eq!(found, [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn arguments_of_one_task_that_share_elements() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let x = store(&runtime, (0..10).map(f64::from).collect());
    let meets = |from: &Arc<View>, to: &Arc<View>| {
        let args = [through(&x, from), through(&x, to)];
        runtime.submit(&copy(2), &args, &[])
    };
    let refused = "submit: expected arguments that share no element, found one that reads what \
                   another writes";
    check(meets(&slice(10, 0..8, 1), &slice(10, 1..9, 1)), refused);
    check(meets(&slice(10, 0..9, 3), &slice(10, 0..6, 2)), refused);
    check(meets(&slice(10, 0..10, -1), &slice(10, 0..10, 1)), refused);
    // The row that reads an element is the one that writes it.
    let same = slice(10, 2..6, 1);
    meets(&same, &same).unwrap();
    // Every second one, from those between them.
    meets(&slice(10, 0..10, 2), &slice(10, 1..10, 2)).unwrap();
    let found = runtime.read::<f64>(&x, None).unwrap();
    assert_eq!(found, [0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0]);

    // Two outputs.
    let mut build = KernelBuilder::new();
    let [a, b] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let one = build.constant(1.0f64.to_value());
    build.store(a, one);
    build.store(b, one);
    let both = Body::new("both", build.finish());
    let (left, right, other) = (slice(10, 0..5, 1), slice(10, 4..9, 1), slice(10, 5..10, 1));
    let args = [through(&x, &left), through(&x, &right)];
    let refused = "submit: expected arguments that share no element, found two that write the \
                   same elements";
    check(runtime.submit(&both, &args, &[]), refused);
    let args = [(&x).into(), (&x).into()];
    check(runtime.submit(&both, &args, &[]), refused);
    let args = [through(&x, &left), through(&x, &other)];
    runtime.submit(&both, &args, &[]).unwrap();
    assert_eq!(runtime.read::<f64>(&x, None).unwrap(), [1.0; 10]);

    // A vector that is gathered, and a scalar that is reduced into.
    let pos = store(&runtime, (0..=10u64).collect());
    let crd = store(&runtime, (0..10u32).rev().collect());
    let vals = store(&runtime, vec![1.0; 10]);
    let args = [&x, &pos, &crd, &vals, &x].map(TaskArg::from);
    let refused = "submit: expected arguments that share no element, found one that reads what \
                   another writes";
    check(runtime.submit(spmv(), &args, &[]), refused);
    let mut build = KernelBuilder::new();
    let (y, s, t) = (
        build.arg(DType::F64, ArgKind::Array),
        build.arg(DType::F64, ArgKind::Scalar),
        build.arg(DType::F64, ArgKind::Reduction),
    );
    let (y, s) = (build.load(y), build.load_scalar(s));
    let sum = build.binary(sparsefuse_kernels::BinaryOp::Add, y, s);
    build.reduce(ReduceOp::Sum, t, sum);
    let body = Body::new("sum", build.finish());
    let s = runtime.store_from_vec(Shape::SCALAR, vec![1.0f64]).unwrap();
    let args = [&x, &s, &s].map(TaskArg::from);
    check(runtime.submit(&body, &args, &[]), refused);
}

/// A store that is read and written through one argument must have contents.
#[test]
fn an_update_of_a_store_that_nothing_has_written() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let mut build = KernelBuilder::new();
    let x = build.arg(DType::F64, ArgKind::Array);
    let loaded = build.load(x);
    let doubled = build.binary(sparsefuse_kernels::BinaryOp::Add, loaded, loaded);
    build.store(x, doubled);
    let double = Body::new("double", build.finish());
    let new = runtime.new_store(Shape::new(&[4]), DType::F64);
    let expected = "submit: expected a store with contents, found one that nothing has written";
    check(runtime.submit(&double, &[(&new).into()], &[]), expected);
    let x = store(&runtime, vec![1.0, 2.0]);
    runtime.submit(&double, &[(&x).into()], &[]).unwrap();
    assert_eq!(runtime.read::<f64>(&x, None).unwrap(), [2.0, 4.0]);
}

/// y = A x of 4 rows and 4 entries with these lengths in place of the right ones.
fn product(
    runtime: &Runtime,
    (pos, crd, vals, x): (Vec<u64>, Vec<u32>, usize, usize),
) -> Result<Vec<f64>, Error> {
    let y = runtime.new_store(Shape::new(&[4]), DType::F64);
    let stores = [
        store(runtime, pos),
        store(runtime, crd),
        store(runtime, vec![1.0; vals]),
        store(runtime, vec![1.0; x]),
    ];
    let [pos, crd, vals, x] = &stores;
    runtime.submit(spmv(), &[&y, pos, crd, vals, x].map(TaskArg::from), &[])?;
    runtime.read::<f64>(&y, None)
}

#[test]
fn products_of_arrays_that_are_too_short() {
    let pos = || (0..=4u64).collect::<Vec<_>>();
    let crd = || vec![0u32, 1, 2, 3];
    for ranks in [1, 3] {
        let outcome = run_ranks(ranks, &Config::default(), |runtime| {
            let product = |parts| product(runtime, parts);
            assert_eq!(product((pos(), crd(), 4, 4)).unwrap(), [1.0; 4]);
            for n in [0, 1, 3, 6] {
                let pos = (0..n).collect();
                let expected = format!("submit: expected a shape of (5), found ({n})");
                check(product((pos, crd(), 4, 4)), &expected);
            }
            let expected = |n| format!("submit: expected a shape of (4), found ({n})");
            check(product((pos(), crd(), 2, 4)), &expected(2));
            check(product((pos(), crd(), 0, 4)), &expected(0));
            // What only the contents tell.
            for (pos, crd, x, expected) in [
                (
                    vec![0, 1, 2, 3, 5],
                    crd(),
                    4,
                    "expected indices of the entries",
                ),
                (
                    vec![0, 1, 2, 3, u64::MAX],
                    crd(),
                    4,
                    "expected indices of the entries",
                ),
                (
                    vec![0, 3, 2, 3, 4],
                    crd(),
                    4,
                    "expected ranges that never decrease, found 2 behind 3 in row 1",
                ),
                (
                    pos(),
                    vec![0, 1, 2, 4],
                    4,
                    "expected indices below 4, found 4 in row 3",
                ),
                (
                    pos(),
                    vec![0, 1, 2, u32::MAX],
                    4,
                    "expected indices below 4",
                ),
                (
                    vec![0, 0, 2, 4, 4],
                    crd(),
                    3,
                    "expected indices below 3, found 3 in row 2",
                ),
            ] {
                let error = product((pos, crd, 4, x)).unwrap_err().to_string();
                assert!(error.contains(expected), "{error}");
            }
        });
        outcome.unwrap();
    }
}

/// A rank may hold more of its columns than its part, but then it needs as many values.
#[test]
fn products_of_values_that_end_before_the_columns_of_a_rank() {
    let config = Config {
        tile_len: 1,
        ..small()
    };
    let outcomes = run_ranks(2, &config, |runtime| {
        let first = runtime.rank() == 0;
        let (n, halves) = (4, runtime.partition_at(&[0, 2, 4]).unwrap());
        let of = |all: std::ops::Range<usize>| all.map(|_| 1.0).collect::<Vec<f64>>();
        let own = if first { 0..2 } else { 2..4 };
        // Rank 0 has the columns of all entries, and its rows name three of them.
        let columns = if first { 0..4 } else { 2..4 };
        let crd: Vec<u32> = columns.clone().map(|column| column as u32).collect();
        let shape = Shape::new(&[n]);
        let crd = runtime.store_of_rows(shape, halves, columns, crd).unwrap();
        let vals = runtime
            .store_of_rows(shape, halves, own.clone(), of(own.clone()))
            .unwrap();
        let pos: Vec<u64> = if first { vec![0, 1, 3] } else { vec![3, 3, 4] };
        let rows = runtime.partition_at(&[0, 2, 5]).unwrap();
        let (all, held) = (Shape::new(&[n + 1]), own.start..own.start + 3);
        let pos = runtime.store_of_rows(all, rows, held, pos).unwrap();
        let x = runtime
            .store_of_rows(shape, halves, own.clone(), of(own))
            .unwrap();
        let y = runtime.new_store(shape, DType::F64);
        let args = [&y, &pos, &crd, &vals, &x].map(TaskArg::from);
        runtime.submit(spmv(), &args, &[]).unwrap();
        runtime.read::<f64>(&y, None).unwrap_err().to_string()
    });
    for text in outcomes.unwrap() {
        assert!(
            text.contains("expected values of the entries 0..3, found 0..2"),
            "{text}"
        );
    }
}

#[test]
fn sizes_beyond_memory() {
    let runtime = Runtime::new(Config::default()).unwrap();
    assert!(runtime.room::<f64>(1 << 61).is_err());
    assert!(runtime.room::<f64>(usize::MAX).is_err());
    let mut build = KernelBuilder::new();
    let y = build.arg(DType::F64, ArgKind::Array);
    let one = build.constant(1.0f64.to_value());
    build.store(y, one);
    let fill = Body::new("fill", build.finish());
    for dims in [&[1 << 61][..], &[usize::MAX], &[1 << 40, 1 << 40]] {
        let shape = Shape::new(dims);
        let new = runtime.new_store(shape, DType::F64);
        let expected = format!(
            "submit: expected a store of fewer bytes than there are addresses, found one of {shape}"
        );
        check(runtime.submit(&fill, &[(&new).into()], &[]), &expected);
        assert!(runtime.store_from_vec(shape, vec![1.0f64]).is_err());
        let filled = runtime.store_by_filling(shape, Partition::Replicated, |_: &mut [f64]| Ok(()));
        assert!(filled.is_err());
        let rows = 0..dims[0];
        let made = runtime.store_of_rows(shape, Partition::Replicated, rows, vec![0.0f64; 0]);
        assert!(made.is_err());
    }
    let one = View::identity(Shape::new(&[1]));
    assert!(one.broadcast_to(Shape::new(&[1 << 40, 1 << 40])).is_err());
    assert!(one.broadcast_to(Shape::new(&[usize::MAX])).is_err());
    // A view of few elements, and one step that leads nowhere.
    let ends = View::identity(Shape::new(&[4]))
        .slice(0, 3..4, isize::MIN)
        .unwrap();
    assert_eq!(
        ends.slice(0, 0..1, isize::MAX).unwrap().shape(),
        Shape::new(&[1])
    );
}

#[test]
fn partitions_that_do_not_cut_the_store() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let shape = Shape::new(&[10]);
    let expected = "store_of_rows: expected a partition of 10 rows by this runtime, found another";
    for rows in [5, 20] {
        let partition = runtime.partition_at(&[0, rows]).unwrap();
        let made = runtime.store_of_rows(shape, partition, 0..rows, vec![0.0f64; rows]);
        check(made, expected);
    }
    let other = Runtime::new(Config::default()).unwrap();
    let partition = runtime.partition_at(&[0, 10]).unwrap();
    let made = other.store_of_rows(shape, partition, 0..10, vec![0.0f64; 10]);
    check(made, expected);
    assert_eq!(other.cuts(partition), None);
}

/// Ranks hold other elements of a vector.
#[test]
fn a_vector_is_no_scalar() {
    let errors = run_ranks(2, &small(), |runtime| {
        let x = store(runtime, (0..61).map(f64::from).collect());
        runtime.read_scalar::<f64>(&x).unwrap_err().to_string()
    });
    let errors = errors.unwrap();
    assert!(
        errors[0] == errors[1] && errors[0].contains("(61)"),
        "{errors:?}"
    );
}

#[test]
fn settings_out_of_range_are_refused() {
    for tile_len in [0, Config::LONGEST_TILE + 1, usize::MAX] {
        let config = Config {
            tile_len,
            ..Config::default()
        };
        let error = Runtime::new(config).unwrap_err().to_string();
        assert!(error.starts_with("tile_len: expected "), "{error}");
    }
    for block_len in [Config::LONGEST_TILE + 1, 1 << 61, usize::MAX] {
        let config = Config {
            block_len,
            ..Config::default()
        };
        let error = Runtime::new(config).unwrap_err().to_string();
        assert!(error.starts_with("block_len: expected at most "), "{error}");
    }
}

#[test]
fn stores_of_another_runtime_are_not_read() {
    let [mine, other] = [(); 2].map(|()| Runtime::new(Config::default()).unwrap());
    let x = store(&other, vec![1.0]);
    let expected = "read: expected stores of one runtime, found stores of two";
    check(mine.read::<f64>(&x, None), expected);
    // Also with a window that has as many stores, and does not write them.
    let y = store(&mine, vec![2.0]);
    let z = mine.new_store(y.shape(), DType::F64);
    let args = [TaskArg::from(&y), TaskArg::from(&z)];
    mine.submit(&copy(2), &args, &[]).unwrap();
    check(mine.read::<f64>(&x, None), expected);
    assert!(!mine.is_unique(&x));
    check(mine.local::<f64>(&x), expected);
    check(mine.read_scalar::<f64>(&x), expected);
    let expected = "test: expected stores of one runtime, found stores of two";
    check(mine.eager_task("test", &[&x], || Ok(())), expected);
}

/// Bodies are written by programmers, so what does not fit their kernels panics; but it must not
/// get as far as a task.
#[test]
fn declarations_that_do_not_fit_the_kernel() {
    let kernel = || spmv().kernel().clone();
    let args = || spmv().args().to_vec();
    let refused = |args: Vec<BodyArg>| catch_unwind(|| Body::with_args("bad", kernel(), args));
    assert!(refused(args()).is_ok());
    for number in 0..args().len() {
        let mut missing = args();
        missing.remove(number);
        assert!(refused(missing).is_err(), "without {number}");
        let mut twice = args();
        twice.push(twice[number]);
        assert!(refused(twice).is_err(), "{number} twice");
        for access in [
            Access::Rows,
            Access::Ranges,
            Access::Within { ranges: 0 },
            Access::Within { ranges: 1 },
            Access::Within { ranges: 9 },
            Access::At { indices: 1 },
            Access::At { indices: 2 },
            Access::At { indices: 3 },
            Access::At { indices: 9 },
            Access::Whole,
        ] {
            let mut other = args();
            if other[number].access != access {
                other[number].access = access;
                assert!(refused(other).is_err(), "{number} as {access:?}");
            }
        }
    }
    // With a vector of which nothing says that the columns are its own.
    assert!(catch_unwind(|| Body::new("bad", kernel())).is_err());
}

#[test]
fn more_threads_and_ranks_than_make_sense() {
    for threads in [1025, 100_000_000, usize::MAX] {
        let config = Config {
            threads,
            ..Config::default()
        };
        let expected = format!("threads: expected at most 1024, found {threads}");
        check(Runtime::new(config.clone()), &expected);
        check(run_ranks(2, &config, |_| ()), &expected);
    }
    for ranks in [1025, 5000, usize::MAX] {
        let expected = format!("ranks: expected at most 1024 in a process, found {ranks}");
        check(run_ranks(ranks, &Config::default(), |_| ()), &expected);
    }
}

/// Without `check_ranks` too, ranks that ask for different things get an error and no panic.
#[test]
fn ranks_that_ask_for_different_things() {
    let mut build = KernelBuilder::new();
    let x = build.arg(DType::F64, ArgKind::Array);
    let sums = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Reduction));
    let x = build.load(x);
    build.reduce(ReduceOp::Sum, sums[0], x);
    build.reduce(ReduceOp::Max, sums[1], x);
    let both = Body::new("both", build.finish());
    let config = Config {
        check_ranks: false,
        ..small()
    };
    for other in 0..3 {
        let outcomes = run_ranks(3, &config, |runtime| {
            let x = store(runtime, vec![1.0; 40]);
            let (s, t) = (
                runtime.new_store(Shape::SCALAR, DType::F64),
                runtime.new_store(Shape::SCALAR, DType::F64),
            );
            let submitted = match runtime.rank() == other {
                true => runtime.submit(sum(), &[(&x).into(), (&s).into()], &[]),
                false => runtime.submit(&both, &[&x, &s, &t].map(TaskArg::from), &[]),
            };
            submitted.unwrap();
            runtime.read_scalar::<f64>(&s).unwrap_err().to_string()
        });
        for text in outcomes.unwrap() {
            assert!(text.contains("a message about something else"), "{text}");
        }
    }
    let outcomes = run_ranks(2, &config, |runtime| match runtime.rank() {
        0 => runtime.all_gather(&[1.0f64]).map(drop),
        _ => runtime.all_gather(&[1u32]).map(drop),
    });
    let outcomes = outcomes.unwrap();
    assert!(
        outcomes[0].is_err() && outcomes[1].is_ok(),
        "8 bytes may be two numbers"
    );
    let outcomes = run_ranks(2, &config, |runtime| match runtime.rank() {
        0 => runtime.all_gather(&[true]).map(drop),
        _ => runtime.all_gather(&[7u32]).map(drop),
    });
    assert!(outcomes.unwrap().iter().all(Result::is_err));
}

/// A window that is issued as an earlier one was is not checked again, but what is new in it is.
#[test]
fn a_task_that_does_not_fit_is_refused_in_a_window_that_was_seen_before() {
    let runtime = Runtime::new(Config::default()).expect("the defaults are in range");
    let copy = copy(2);
    let x = store(&runtime, vec![1.0, 2.0, 3.0, 4.0]);
    let short = store(&runtime, vec![9.0; 3]);
    for round in 0..12 {
        let [y, z, unwritten] = [(); 3].map(|()| runtime.new_store(x.shape(), DType::F64));
        let submit = |args: [&StoreHandle; 2]| {
            let args = args.map(TaskArg::from);
            runtime.submit(&copy, &args, &[])
        };
        submit([&x, &y]).expect("the stores fit");
        if round >= 4 {
            // Where the expected window has a task that fits.
            let number = runtime.new_store(x.shape(), DType::F64);
            let refused = match round % 4 {
                0 => submit([&short, &z]),
                1 => submit([&unwritten, &z]),
                2 => submit([&number, &number]),
                _ => runtime.submit(&copy, &[(&y).into(), (&z).into()], &[1.0.to_value()]),
            };
            refused.expect_err("the task does not fit");
        }
        // The window is as it was: what was refused is not in it.
        submit([&y, &z]).expect("the stores fit");
        submit([&z, &unwritten]).expect("the stores fit");
        let read = runtime
            .read::<f64>(&unwritten, None)
            .expect("it was written");
        assert_eq!(read, [1.0, 2.0, 3.0, 4.0], "round {round}");
        let read = runtime.read::<f64>(&short, None).expect("it was written");
        assert_eq!(read, [9.0; 3]);
    }
    let counters = runtime.counters();
    assert_eq!((counters.windows, counters.trace_hits), (12, 11));
}

/// A task that writes a store in place runs where that is; what it reduces there must be cut at
/// tiles. Found as partial results of one tile more than there was memory for.
#[test]
fn sums_where_a_store_is_that_is_cut_within_a_tile() {
    let mut build = KernelBuilder::new();
    let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let s = build.arg(DType::F64, ArgKind::Reduction);
    let x = build.load(x);
    build.store(y, x);
    build.reduce(ReduceOp::Sum, s, x);
    let body = Body::new("copy_and_sum", build.finish());
    let shape = Shape::new(&[61]);
    for cut in [18, 20] {
        let outcomes = run_ranks(2, &small(), |runtime| {
            let partition = runtime.partition_at(&[0, cut, 61]).unwrap();
            let rows = [0..cut, cut..61][runtime.rank()].clone();
            let zeros = vec![0.0f64; rows.len()];
            let y = runtime.store_of_rows(shape, partition, rows, zeros);
            let (x, y) = (store(runtime, vec![1.0; 61]), y.unwrap());
            let s = runtime.new_store(Shape::SCALAR, DType::F64);
            let args = [&x, &y, &s].map(TaskArg::from);
            runtime.submit(&body, &args, &[]).unwrap();
            runtime.read_scalar::<f64>(&s)
        });
        for outcome in outcomes.unwrap() {
            match cut {
                20 => assert_eq!(outcome.unwrap(), 61.0),
                _ => check(
                    outcome,
                    "`copy_and_sum` failed: reduce: expected rows to reduce that are cut at \
                     multiples of 4, found a cut at row 18",
                ),
            }
        }
    }
}

/// A task may write several slices of one store, a slice of a store beside a structure that is cut
/// otherwise, and reduce into a store that is cut: on several ranks as on one.
#[test]
fn what_a_task_writes_may_be_cut_in_another_way_than_it_runs() {
    let config = Config {
        check_ranks: true,
        ..small()
    };
    for ranks in [1, 2, 3] {
        let found = run_ranks(ranks, &config, |runtime| {
            let n = 40;
            let mut build = KernelBuilder::new();
            let (a, b) = (
                build.arg(DType::F64, ArgKind::Array),
                build.arg(DType::F64, ArgKind::Array),
            );
            let z = build.arg(DType::F64, ArgKind::Array);
            let of_z = build.load(z);
            let twice = build.binary(sparsefuse_kernels::BinaryOp::Add, of_z, of_z);
            build.store(a, twice);
            build.store(b, of_z);
            let both = Body::new("both", build.finish());
            let x = store(runtime, (0..n).map(f64::from).collect());
            let z = store(runtime, (0..n / 2).map(f64::from).collect());
            let (left, right) = (slice(40, 0..20, 1), slice(40, 20..40, 1));
            let args = [through(&x, &left), through(&x, &right), (&z).into()];
            runtime.submit(&both, &args, &[])?;
            let halves = runtime.read::<f64>(&x, None)?;

            // A part of the same store is read that is not written.
            let w = store(runtime, vec![0.0; 20]);
            let args = [(&w).into(), through(&x, &right), through(&x, &left)];
            runtime.submit(&both, &args, &[])?;
            let (w, of_x) = (
                runtime.read::<f64>(&w, None)?,
                runtime.read::<f64>(&x, None)?,
            );
            assert!(w.iter().enumerate().all(|(k, w)| *w == 4.0 * k as f64));
            assert!(
                of_x[20..]
                    .iter()
                    .enumerate()
                    .all(|(k, x)| *x == 2.0 * k as f64)
            );

            // The second slice is read too, and is cut in another way on several ranks.
            let mut build = KernelBuilder::new();
            let (a, b) = (
                build.arg(DType::F64, ArgKind::Array),
                build.arg(DType::F64, ArgKind::Array),
            );
            let (of_a, of_b) = (build.load(a), build.load(b));
            build.store(a, of_b);
            build.store(b, of_a);
            let exchange = Body::new("exchange", build.finish());
            let args = [through(&x, &left), through(&x, &right)];
            runtime.submit(&exchange, &args, &[])?;
            let exchanged = runtime.read::<f64>(&x, None);
            match ranks {
                1 => assert_eq!(exchanged?[..3], [0.0, 2.0, 4.0]),
                _ => assert!(
                    exchanged
                        .unwrap_err()
                        .to_string()
                        .contains("cut in another way")
                ),
            }

            // The structure lies on the last rank, the target by tiles.
            let mut cuts = vec![0; ranks + 1];
            cuts[ranks] = 10;
            let of_rows = runtime.partition_at(&cuts)?;
            let is_last = runtime.rank() + 1 == ranks;
            let own = if is_last { 0..10 } else { 0..0 };
            cuts[ranks] = 11;
            let of_pos = runtime.partition_at(&cuts)?;
            // Each rank has one position more than rows.
            let positions = own.start..own.end + 1;
            let elements: Vec<u64> = positions.clone().map(|k| k as u64).collect();
            let shape = Shape::new(&[11]);
            let pos = runtime.store_of_rows(shape, of_pos, positions, elements)?;
            let columns: Vec<u32> = own.clone().map(|k| 9 - k as u32).collect();
            let shape = Shape::new(&[10]);
            let crd = runtime.store_of_rows(shape, of_rows, own.clone(), columns)?;
            let vals = runtime.store_of_rows(shape, of_rows, own.clone(), vec![2.0; own.len()])?;
            let short = store(runtime, (0..10).map(f64::from).collect());
            let y = store(runtime, vec![-1.0; 40]);
            let part = slice(40, 20..40, 2);
            let [pos, crd, vals, short] = [&pos, &crd, &vals, &short].map(TaskArg::from);
            let args = [through(&y, &part), pos, crd, vals, short];
            runtime.submit(spmv(), &args, &[])?;
            let products = runtime.read::<f64>(&y, None)?;

            let mut build = KernelBuilder::new();
            let x_arg = build.arg(DType::F64, ArgKind::Array);
            let sums = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Reduction));
            let element = build.load(x_arg);
            build.reduce(ReduceOp::Sum, sums[0], element);
            let twice = build.binary(sparsefuse_kernels::BinaryOp::Add, element, element);
            build.reduce(ReduceOp::Sum, sums[1], twice);
            let declared = vec![
                BodyArg::read(Access::Rows, x_arg),
                BodyArg::reduce_elements(ReduceOp::Sum, 2, sums[0]),
            ];
            let body = Body::with_args("two_sums", build.finish(), declared);
            cuts[ranks] = 2;
            let of_sums = runtime.partition_at(&cuts)?;
            let own = if is_last { 0..2 } else { 0..0 };
            let zeros = vec![0.0; own.len()];
            let sums = runtime.store_of_rows(Shape::new(&[2]), of_sums, own, zeros)?;
            let x = store(runtime, (0..n).map(f64::from).collect());
            runtime.submit(&body, &[&x, &sums].map(TaskArg::from), &[])?;
            let sums = runtime.read::<f64>(&sums, None)?;
            Ok::<_, Error>((halves, products, sums))
        });
        let twice = (0..20).map(|k| 2 * k);
        let expected: Vec<f64> = twice.chain(0..20).map(f64::from).collect();
        for of_rank in found.unwrap() {
            let (halves, products, sums) = of_rank.unwrap();
            assert_eq!(sums, [780.0, 1560.0], "{ranks} ranks");
            assert_eq!(halves, expected, "{ranks} ranks");
            for (k, product) in products.into_iter().enumerate() {
                let is_written = k >= 20 && k % 2 == 0;
                let expected = match is_written {
                    true => 2.0 * (9.0 - ((k - 20) / 2) as f64),
                    false => -1.0,
                };
                assert_eq!(product, expected, "{ranks} ranks, element {k}");
            }
        }
    }
}
