//! Host tasks: functions in the window, among kernels, on several ranks; what fails in them.

use sparsefuse_kernels::{DType, Element, Value};
use sparsefuse_runtime::{
    Access, Config, Error, Exchange, HostArgs, HostBody, HostTask, Privilege, Refusal, Runtime,
    Shape, StoreHandle, TaskArg, TaskKind, View, plan_rank, run_ranks,
};
use sparsefuse_testing::bodies::{axpy, copy, dot, scale};
use sparsefuse_testing::stores::{ramp, vector};
use sparsefuse_testing::{bits, small};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

const READ: Privilege = Privilege::Read;
const WRITE: Privilege = Privilege::Write;

fn body(name: &str, read: Access) -> HostBody {
    let args = [(READ, read, DType::F64), (WRITE, Access::Rows, DType::F64)];
    HostBody::new(name, &args)
}

static RUNNING_SUM: LazyLock<HostBody> = LazyLock::new(|| body("running_sum", Access::Rows));
static REVERSE: LazyLock<HostBody> = LazyLock::new(|| body("reverse", Access::Whole));

/// A task that moves nothing besides its arguments.
fn task(
    function: impl Fn(&mut HostArgs<'_>) -> Result<(), Error> + Send + Sync + 'static,
) -> HostTask {
    HostTask::new(function)
}

/// Each element and all before it, added from the first on; the ranks follow one another.
fn running_sum((rank, ranks): (usize, usize)) -> HostTask {
    task(move |args| {
        let x = args.read::<f64>(0)?;
        let y = args.write::<f64>(1)?;
        assert_eq!(x.len(), args.rows().len());
        let is_cut = x.len() < 50 && ranks > 1;
        let mut sum = match is_cut && rank > 0 {
            true => args.receive::<f64>(rank - 1)?[0],
            false => 0.0,
        };
        for (x, y) in x.iter().zip(y) {
            sum += x;
            *y = sum;
        }
        match is_cut && rank + 1 < ranks {
            true => args.send(rank + 1, &[sum]),
            false => Ok(()),
        }
    })
}

fn reverse() -> HostTask {
    task(|args| {
        let rows = args.rows();
        let x = args.read::<f64>(0)?;
        for (y, row) in args.write::<f64>(1)?.iter_mut().zip(rows) {
            *y = x[x.len() - 1 - row];
        }
        Ok(())
    })
}

/// Issues a kernel that writes a new store.
fn kernel(
    body: &Arc<sparsefuse_runtime::Body>,
    shape: Shape,
    args: &[&StoreHandle],
    params: &[Value],
) -> StoreHandle {
    let out = args[0].runtime().new_store(shape, DType::F64);
    let mut all: Vec<TaskArg<'_>> = args.iter().map(|&store| store.into()).collect();
    all.push((&out).into());
    let issued = args[0].runtime().submit(body, &all, params);
    issued.expect("the arguments fit the body");
    out
}

/// Issues a host task that writes a new store.
fn host(body: &HostBody, x: &StoreHandle, task: HostTask) -> StoreHandle {
    let out = x.runtime().new_store(x.shape(), DType::F64);
    let issued = x.runtime().submit_host(body, &[x, &out], task);
    issued.expect("the arguments fit the body");
    out
}

/// z = running sums of (2 x + x reversed), reversed, plus x.
fn expected(x: &[f64]) -> Vec<f64> {
    let reversed = |x: &[f64]| x.iter().rev().copied().collect::<Vec<f64>>();
    let t = x.iter().zip(reversed(x)).map(|(x, y)| 2.0 * x + y);
    let sums = t.scan(0.0, |sum, t| {
        *sum += t;
        Some(*sum)
    });
    let sums = reversed(&sums.collect::<Vec<f64>>());
    sums.iter().zip(x).map(|(s, x)| 1.0 * s + x).collect()
}

fn chained(runtime: &Runtime, x: &StoreHandle) -> StoreHandle {
    let place = (runtime.rank(), runtime.ranks());
    let y = host(&REVERSE, x, reverse());
    let t = kernel(axpy(), x.shape(), &[x, &y], &[2.0.to_value()]);
    let s = host(&RUNNING_SUM, &t, running_sum(place));
    let r = host(&REVERSE, &s, reverse());
    kernel(axpy(), x.shape(), &[&r, x], &[1.0.to_value()])
}

#[test]
fn kernels_and_host_tasks_run_in_their_order_also_from_memory() {
    for (ranks, threads, fusion) in [
        (1, 1, true),
        (1, 2, false),
        (2, 1, true),
        (3, 2, true),
        (5, 1, false),
    ] {
        let config = Config {
            threads,
            fusion,
            check_ranks: true,
            ..small()
        };
        let results = run_ranks(ranks, &config, |runtime| {
            let x = vector(runtime, ramp(50, 0.3));
            for round in 0..3 {
                let z = chained(runtime, &x);
                let counters = runtime.counters();
                assert_eq!((counters.tasks, counters.windows), (5 * (round + 1), round));
                let z = runtime.read::<f64>(&z, None).unwrap();
                assert_eq!(bits(&z), bits(&expected(&ramp(50, 0.3))), "{ranks} ranks");
            }
            let counters = runtime.counters();
            assert_eq!((counters.windows, counters.trace_hits), (3, 2));
            assert_eq!((counters.host_tasks, counters.fused_tasks), (9, 6));
            let ends = runtime.group_ends();
            let end = match fusion {
                true => Refusal::HostTask,
                false => Refusal::SwitchedOff,
            };
            assert_eq!(ends, [Some(end), Some(end), Some(end), Some(end), None]);
        });
        results.unwrap();
    }
}

#[test]
fn what_is_written_in_place_waits_for_what_reads_it() {
    for ranks in [1, 3] {
        let outcomes = run_ranks(ranks, &small(), |runtime| {
            let place = (runtime.rank(), runtime.ranks());
            let (x, ones) = (
                vector(runtime, vec![1.0; 50]),
                vector(runtime, vec![5.0; 20]),
            );
            let before = host(&RUNNING_SUM, &x, running_sum(place));
            let view = Arc::new(View::identity(x.shape()).slice(0, 10..30, 1).unwrap());
            let slice = TaskArg {
                store: &x,
                view: Some(&view),
            };
            runtime
                .submit(copy(), &[(&ones).into(), slice], &[])
                .unwrap();
            let after = host(&RUNNING_SUM, &x, running_sum(place));
            let last = |store| runtime.read::<f64>(store, None).unwrap()[49];
            assert_eq!(last(&before), 50.0);
            assert_eq!(last(&after), 30.0 + 100.0);
            assert_eq!(runtime.counters().windows, 1);
        });
        outcomes.unwrap();
    }
}

#[test]
fn a_host_task_can_be_overtaken_by_what_does_not_depend_on_it() {
    let runtime = Runtime::new(small()).unwrap();
    let x = vector(&runtime, ramp(50, 0.3));
    let double = |x: &StoreHandle| kernel(axpy(), x.shape(), &[x, x], &[1.0.to_value()]);
    let first = double(&x);
    let sums = host(&RUNNING_SUM, &first, running_sum((0, 1)));
    let others = [double(&x), double(&x)];
    let last = double(&sums);
    runtime.flush();
    // The first kernel and the two others; the host task; the last one.
    assert_eq!(runtime.group_ends().len(), 3, "{}", runtime.explain());
    for other in &others {
        assert_eq!(
            runtime.read::<f64>(other, None),
            runtime.read::<f64>(&first, None)
        );
    }
    let sums = runtime.read::<f64>(&sums, None).unwrap();
    assert_eq!(
        runtime.read::<f64>(&last, None).unwrap()[49],
        2.0 * sums[49]
    );
}

#[test]
fn a_task_runs_where_it_says() {
    let seen = run_ranks(2, &small(), |runtime| {
        let x = vector(runtime, ramp(50, 0.3));
        let out = runtime.new_store(x.shape(), DType::F64);
        let launch = runtime.partition_at(&[0, 7, 50]).unwrap();
        let rank = runtime.rank();
        let task = HostTask {
            launch: Some(launch),
            ..running_sum((rank, 2))
        };
        runtime
            .submit_host(&RUNNING_SUM, &[&x, &out], task)
            .unwrap();
        assert_eq!(
            runtime.local::<f64>(&out).unwrap().rows(),
            [0..7, 7..50][rank]
        );
        runtime.read::<f64>(&out, None).unwrap()[49]
    });
    let sum = ramp(50, 0.3).iter().fold(0.0, |sum, x| sum + x);
    assert_eq!(seen.unwrap(), [sum, sum]);
}

/// Sums of what each rank holds of a store, also where every rank writes the whole result.
#[test]
fn what_a_rank_holds_may_be_cut_unlike_the_task() {
    static SUMS: LazyLock<HostBody> = LazyLock::new(|| body("sums", Access::Held));
    for (ranks, rows) in [(1, 3), (2, 3), (2, 20), (3, 20)] {
        let sums = run_ranks(ranks, &small(), |runtime| {
            let cuts = [vec![0, 50], vec![0, 7, 50], vec![0, 1, 1, 50]];
            let cuts = cuts[ranks - 1].clone();
            let partition = runtime.partition_at(&cuts).unwrap();
            let own = cuts[runtime.rank()]..cuts[runtime.rank() + 1];
            let part = ramp(50, 0.3)[own.clone()].to_vec();
            let x = runtime.store_of_rows(Shape::new(&[50]), partition, own.clone(), part);
            let x = x.unwrap();
            let out = runtime.new_store(Shape::new(&[rows]), DType::F64);
            let is_cut = ranks > 1;
            let sum = task(move |args| {
                assert_eq!(args.cuts(0), is_cut.then_some(&cuts[..]));
                assert_eq!(args.cuts(1).is_some(), is_cut && rows > 4);
                assert_eq!(args.cuts(2), None);
                let held = args.read::<f64>(0)?;
                assert_eq!(held.len(), own.len());
                let parts = vec![held.to_vec(); args.ranks()];
                let all = args.all_to_all(&parts)?.concat();
                let sum = all.iter().fold(0.0, |sum, x| sum + x);
                args.write::<f64>(1)?.fill(sum);
                Ok(())
            });
            runtime.submit_host(&SUMS, &[&x, &out], sum).unwrap();
            runtime.read::<f64>(&out, None).unwrap()
        });
        let sum = ramp(50, 0.3).iter().fold(0.0, |sum, x| sum + x);
        assert_eq!(sums.unwrap(), vec![vec![sum; rows]; ranks]);
    }
}

/// The elements of a vector from the other end, and back; a wrong index of one rank fails them all.
#[test]
fn a_function_asks_other_ranks_for_elements() {
    static REVERSED: LazyLock<HostBody> = LazyLock::new(|| body("reversed", Access::Rows));
    for last in [49, 50] {
        let outcomes = run_ranks(3, &small(), move |runtime| {
            let x = vector(runtime, ramp(50, 0.3));
            let y = runtime.new_store(Shape::new(&[50]), DType::F64);
            let reversed = task(move |args| {
                let x = args.read::<f64>(0)?;
                let cuts = args.cuts(0).expect("the rows are cut").to_vec();
                let needed: Vec<u32> = args.rows().rev().map(|row| (last - row) as u32).collect();
                let exchange = Exchange::gather(args, Some(&cuts), &needed)?;
                let found = exchange.run(args, x)?;
                assert_eq!(bits(&exchange.reversed().run(args, &found)?), bits(x));
                let (back, arrived) = Exchange::scatter(args, Some(&cuts), &needed)?;
                assert_eq!(arrived.len(), x.len());
                assert_eq!(back.run(args, &needed)?, arrived);
                let made = args.write::<f64>(1)?.iter_mut();
                made.zip(found.iter().rev()).for_each(|(y, &x)| *y = x);
                Ok(())
            });
            runtime.submit_host(&REVERSED, &[&x, &y], reversed).unwrap();
            runtime.read::<f64>(&y, None)
        });
        for outcome in outcomes.unwrap() {
            match outcome {
                Ok(found) => {
                    assert_eq!(last, 49);
                    let expected: Vec<f64> = ramp(50, 0.3).into_iter().rev().collect();
                    assert_eq!(bits(&found), bits(&expected));
                }
                Err(error) => {
                    assert_eq!(last, 50, "{error}");
                    let expected = "exchange: expected indices below 50, found 50";
                    assert!(error.to_string().contains(expected), "{error}");
                }
            }
        }
    }
}

/// Rows of two elements, by every pair of cuts, and without.
#[test]
fn rows_by_other_cuts() {
    static MOVED: LazyLock<HostBody> = LazyLock::new(|| body("moved", Access::Held));
    let elements = ramp(20, 0.3);
    let all = [
        None,
        Some(vec![0, 4, 4, 10]),
        Some(vec![0, 0, 10, 10]),
        Some(vec![0, 3, 9, 10]),
    ];
    for (held, wanted) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        let outcomes = run_ranks(3, &small(), |runtime| {
            let rank = runtime.rank();
            let rows = |cuts: &Option<Vec<usize>>| match cuts {
                Some(cuts) => 2 * cuts[rank]..2 * cuts[rank + 1],
                None => 0..20,
            };
            let (own, expected) = (&elements[rows(held)], elements[rows(wanted)].to_vec());
            let (own, held, wanted) = (own.to_vec(), held.clone(), wanted.clone());
            let x = vector(runtime, ramp(50, 0.3));
            let recut = task(move |args| {
                args.write::<f64>(1)?.fill(0.0);
                let found = args.recut(&own, 2, held.as_deref(), wanted.as_deref())?;
                assert_eq!(bits(&found), bits(&expected));
                let wrong = args.recut(&own, 2, held.as_deref(), Some(&[0, 4, 4, 11]));
                assert!(wrong.is_err() || (held.is_none() && args.rank() < 2));
                Ok(())
            });
            let y = host(&MOVED, &x, recut);
            runtime.read::<f64>(&y, None).unwrap();
        });
        outcomes.unwrap();
    }
}

#[test]
fn parts_end_where_they_are_told_to() {
    let runtime = Runtime::new(Config {
        threads: 3,
        ..small()
    });
    let runtime = runtime.unwrap();
    let x = vector(&runtime, ramp(10, 0.3));
    for ends in [&[10][..], &[0, 3, 3, 10], &[7, 10]] {
        let numbered = task(move |args| {
            let y = args.write::<f64>(1)?;
            args.in_parts_to(y, ends, |number, part| {
                part.fill(number as f64);
                Ok(())
            })
        });
        let y = runtime.read::<f64>(&host(&REVERSE, &x, numbered), None);
        let part = |i: usize| ends.iter().position(|&end| i < end).unwrap() as f64;
        assert_eq!(y.unwrap(), (0..10).map(part).collect::<Vec<_>>());
    }
    for (ends, found) in [
        (&[9][..], "[9]"),
        (&[11], "[11]"),
        (&[7, 3, 10], "[7, 3, 10]"),
        (&[], "[]"),
    ] {
        let wrong = task(move |args| {
            let y = args.write::<f64>(1)?;
            args.in_parts_to(y, ends, |_, _| Ok(()))
        });
        let y = host(&REVERSE, &x, wrong);
        let error = runtime.read::<f64>(&y, None).unwrap_err().to_string();
        let expected = format!("expected ascending ends, the last of which is 10, found {found}");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn elements_are_divided_among_threads_in_whole_units() {
    for (threads, threshold) in [(1, 0), (3, 0), (3, 1000)] {
        let config = Config {
            threads,
            parallel_threshold: threshold,
            ..small()
        };
        let runtime = Runtime::new(config).unwrap();
        for (n, unit) in [(50, 1), (50, 7), (2, 1), (5, 9), (0, 3)] {
            let x = vector(&runtime, ramp(n, 0.3));
            let numbered = task(move |args| {
                let y = args.write::<f64>(1)?;
                args.in_parts(y, unit, |first, part| {
                    for (number, unit) in part.chunks_mut(unit).enumerate() {
                        unit.fill((first + number) as f64);
                    }
                    Ok(())
                })
            });
            let y = host(&REVERSE, &x, numbered);
            let expected: Vec<f64> = (0..n).map(|i| (i / unit) as f64).collect();
            assert_eq!(runtime.read::<f64>(&y, None).unwrap(), expected);
        }
        // Of several parts that fail, the first one tells.
        let x = vector(&runtime, ramp(50, 0.3));
        let fails = task(|args| {
            let y = args.write::<f64>(1)?;
            args.in_parts(y, 1, |first, part| match first + part.len() {
                50 => Err(Error::argument("test", "luck", first.to_string())),
                _ if first > 0 => Err(Error::argument("test", "luck", "none")),
                _ => Ok(()),
            })
        });
        let y = host(&REVERSE, &x, fails);
        let error = runtime.read::<f64>(&y, None).unwrap_err().to_string();
        let found = match (threads, threshold) {
            (3, 0) => "none",
            _ => "0",
        };
        assert!(
            error.ends_with(&format!("test: expected luck, found {found}")),
            "{error}"
        );
        let panics = task(|args| {
            let y = args.write::<f64>(1)?;
            args.in_parts(y, 1, |_, _| panic!("no luck"))
        });
        let y = host(&REVERSE, &x, panics);
        let error = runtime.read::<f64>(&y, None).unwrap_err().to_string();
        assert!(error.ends_with("`reverse` panicked: no luck"), "{error}");
    }
}

#[test]
fn a_function_that_fails_poisons_what_depends_on_it_on_all_ranks() {
    let refused = "`running_sum` failed: test: expected luck, found none";
    let panicked = "`running_sum` failed: `running_sum` panicked: no luck";
    for ranks in [1, 2, 3] {
        for failing in 0..ranks {
            for (panics, expected) in [(false, refused), (true, panicked)] {
                let outcomes = run_ranks(ranks, &small(), |runtime| {
                    let x = vector(runtime, ramp(50, 0.3));
                    let place = (runtime.rank(), runtime.ranks());
                    let good = running_sum(place);
                    let fails = task(move |args| match place.0 == failing {
                        true if panics => panic!("no luck"),
                        true => Err(Error::argument("test", "luck", "none")),
                        false => (good.function)(args),
                    });
                    let sums = host(&RUNNING_SUM, &x, fails);
                    let t = kernel(axpy(), x.shape(), &[&x, &sums], &[2.0.to_value()]);
                    let s = kernel(dot(), Shape::SCALAR, &[&t, &x], &[]);
                    let r = host(&REVERSE, &t, reverse());
                    let spared = kernel(dot(), Shape::SCALAR, &[&x, &x], &[]);
                    for store in [&s, &r, &sums] {
                        let error = match store.shape() {
                            Shape::SCALAR => runtime.read_scalar::<f64>(store).unwrap_err(),
                            _ => runtime.read::<f64>(store, None).unwrap_err(),
                        };
                        assert_eq!(error.to_string(), expected, "{ranks} ranks, {failing}");
                    }
                    let spared = runtime.read_scalar::<f64>(&spared).unwrap();
                    assert!(spared > 0.0);
                    assert_eq!(runtime.counters().windows, 1);
                    // The ranks go on in step.
                    let z = chained(runtime, &x);
                    let z = runtime.read::<f64>(&z, None).unwrap();
                    assert_eq!(bits(&z), bits(&self::expected(&ramp(50, 0.3))));
                });
                outcomes.unwrap();
            }
        }
    }
}

#[test]
fn what_one_rank_cannot_begin_fails_on_all() {
    // The first rank has no memory for its rows of the launch; the second one waits for it.
    let n = 5000;
    let config = Config {
        memory_limit: 50_000,
        ..small()
    };
    let errors = run_ranks(2, &config, |runtime| {
        let x = vector(runtime, vec![1.0; n]);
        let out = runtime.new_store(x.shape(), DType::F64);
        let rank = runtime.rank();
        let waits = task(move |args| match rank {
            0 => args.send(1, &[1.0]),
            _ => args.receive::<f64>(0).map(drop),
        });
        let task = HostTask {
            launch: Some(runtime.partition_at(&[0, n - 100, n]).unwrap()),
            ..waits
        };
        runtime
            .submit_host(&RUNNING_SUM, &[&x, &out], task)
            .unwrap();
        runtime.local::<f64>(&out).unwrap_err().to_string()
    });
    let errors = errors.unwrap();
    assert!(
        errors[0].starts_with("`running_sum` failed: expected 40960 bytes of memory, found"),
        "{errors:?}"
    );
    assert_eq!(errors[0], errors[1]);
}

/// How many bytes a task moves is what the program says, and only counted.
#[test]
fn any_number_of_bytes_is_counted() {
    let runtime = Runtime::new(small()).unwrap();
    let mut x = vector(&runtime, ramp(50, 0.3));
    for _ in 0..3 {
        let huge = HostTask {
            bytes: usize::MAX,
            ..reverse()
        };
        x = host(&REVERSE, &x, huge);
    }
    assert_eq!(runtime.read::<f64>(&x, None).unwrap().len(), 50);
    assert_eq!(runtime.counters().bytes, u64::MAX);
}

#[test]
fn a_task_whose_input_has_failed_is_not_run() {
    let runtime = Runtime::new(small()).unwrap();
    let x = vector(&runtime, ramp(50, 0.3));
    let fails = task(|_| Err(Error::argument("first", "luck", "none")));
    let failed = host(&RUNNING_SUM, &x, fails);
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let counts = task(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let next = host(&REVERSE, &failed, counts);
    let error = runtime.read::<f64>(&next, None).unwrap_err().to_string();
    let expected = "`running_sum` failed: first: expected luck, found none";
    assert_eq!(
        (error.as_str(), calls.load(Ordering::Relaxed)),
        (expected, 0)
    );
    assert_eq!(Arc::strong_count(&calls), 1, "the window lets go of it");
}

#[test]
fn a_function_that_calls_its_runtime_fails() {
    let runtime = Runtime::new(small()).unwrap();
    let x = vector(&runtime, ramp(5, 0.3));
    let inner = runtime.clone();
    let y = host(
        &RUNNING_SUM,
        &x,
        task(move |_| {
            inner.flush();
            Ok(())
        }),
    );
    let error = runtime.read::<f64>(&y, None).unwrap_err().to_string();
    let expected = "`running_sum` failed: `running_sum` panicked: expected a host task that leaves \
                    its runtime alone, found one that calls it";
    assert_eq!(error, expected);
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let runtime = Runtime::new(small()).unwrap();
    let x = vector(&runtime, ramp(5, 0.3));
    let new = |n| runtime.new_store(Shape::new(&[n]), DType::F64);
    let issue = |body: &HostBody, args: &[&StoreHandle], launch| {
        let task = HostTask {
            launch,
            ..reverse()
        };
        let refused = runtime.submit_host(body, args, task).unwrap_err();
        refused.to_string()
    };
    let refused = issue(&RUNNING_SUM, &[&x], None);
    assert_eq!(
        refused,
        "submit: expected 2 arguments and 0 parameters, found 1 arguments and 0 parameters"
    );
    let refused = issue(&RUNNING_SUM, &[&x, &new(4)], None);
    assert_eq!(refused, "submit: expected a shape of (5), found (4)");
    let refused = issue(&RUNNING_SUM, &[&new(5), &new(5)], None);
    assert!(refused.contains("nothing has written"), "{refused}");
    let refused = issue(&RUNNING_SUM, &[&x, &x], None);
    let expected = "submit_host: expected a new store to write, found one that has contents";
    assert_eq!(refused, expected);
    let y = host(&REVERSE, &x, reverse());
    assert_eq!(issue(&REVERSE, &[&x, &y], None), expected);
    let cuts = runtime.partition_at(&[0, 4]).unwrap();
    let refused = issue(&RUNNING_SUM, &[&x, &new(5)], Some(cuts));
    let expected = "submit_host: expected a partition of 5 rows by this runtime, found another";
    assert_eq!(refused, expected);
    assert_eq!(runtime.counters().tasks, 1);
    // What the function asks for is checked, too.
    let wrong = [
        (
            task(|args| args.read::<f32>(0).map(drop)),
            "host task: expected elements of type f32, found f64",
        ),
        (
            task(|args| args.read::<f64>(1).map(drop)),
            "host task: expected argument 1 to be one that is read, found one that is written",
        ),
        (
            task(|args| {
                args.write::<f64>(1)?;
                args.write::<f64>(1).map(drop)
            }),
            "host task: expected argument 1 to be one that is written and not taken yet, found one \
             that is taken",
        ),
        (
            task(|_| Ok(())),
            "host task: expected a function that takes all arguments that it writes, found one that \
             has left argument 1",
        ),
        (
            task(|args| args.send(1, &[1.0])),
            "host task: expected a host task that is cut, whose ranks talk to each other, found \
             one that is not",
        ),
    ];
    for (task, expected) in wrong {
        let y = host(&RUNNING_SUM, &x, task);
        let error = runtime.read::<f64>(&y, None).unwrap_err().to_string();
        assert_eq!(error, format!("`running_sum` failed: {expected}"));
    }
}

#[test]
fn a_host_task_has_its_own_line_in_explain_and_profile() {
    let config = Config {
        profile: true,
        ..small()
    };
    let runtime = Runtime::new(config).unwrap();
    let x = vector(&runtime, ramp(50, 0.3));
    let y = kernel(axpy(), x.shape(), &[&x, &x], &[1.0.to_value()]);
    let heavy = HostTask {
        bytes: 1000,
        ..running_sum((0, 1))
    };
    let z = host(&RUNNING_SUM, &y, heavy);
    drop(y);
    runtime.flush();
    let text = runtime.explain();
    for expected in [
        "t1: running_sum on replicated: read s1, write s2",
        "ended: host task: it is a group of its own",
        "host task `running_sum` on rows 0..50",
        "s2 gets memory for 50 elements",
        "free s1",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let profile = runtime.profile().unwrap();
    let mut tasks = profile.kernels();
    let (name, sums) = tasks.find(|(_, sums)| sums.kind == TaskKind::Host).unwrap();
    assert_eq!((name, sums.calls, sums.bytes), ("running_sum", 1, 1800));
    assert!(profile.table().contains("running_sum (host)"));
    drop(z);
}

#[test]
fn ranks_that_issue_different_host_tasks_are_told() {
    let config = Config {
        check_ranks: true,
        ..small()
    };
    let errors = run_ranks(2, &config, |runtime| {
        let x = vector(runtime, ramp(50, 0.3));
        let rank = runtime.rank();
        let y = match rank {
            0 => host(&REVERSE, &x, reverse()),
            _ => host(&RUNNING_SUM, &x, running_sum((rank, 2))),
        };
        runtime.read::<f64>(&y, None).unwrap_err().to_string()
    });
    let expected = "expected all ranks to run the same program, but they diverge at task 1: rank 0 \
                    issues `reverse` of s0 (50) f64, s1 (50) f64, rank 1 issues `running_sum` of \
                    s0 (50) f64, s1 (50) f64";
    assert_eq!(errors.unwrap_err().to_string(), expected);
}

#[test]
fn a_plan_counts_host_tasks_and_does_not_run_them() {
    let planned = plan_rank(1, 3, &small(), |runtime| {
        let x = vector(runtime, ramp(50, 0.3));
        let never = HostTask {
            bytes: 100,
            ..task(|_| panic!("a plan computes nothing"))
        };
        let y = host(&RUNNING_SUM, &x, never);
        let z = kernel(
            scale(),
            x.shape(),
            &[&kernel(dot(), Shape::SCALAR, &[&y, &y], &[]), &y],
            &[],
        );
        runtime.flush();
        drop(z);
        (
            runtime.take_plan(),
            runtime.counters().host_tasks,
            runtime.local::<f64>(&y).unwrap().len(),
        )
    });
    let (plan, host_tasks, own) = planned.unwrap();
    assert_eq!(
        (plan[0].name.as_str(), plan[0].bytes),
        ("running_sum", 16 * own as u64 + 100)
    );
    assert_eq!((host_tasks, plan.len()), (1, 3));
}

#[test]
fn a_part_of_a_function_that_calls_its_runtime_fails() {
    let config = Config {
        threads: 3,
        parallel_threshold: 0,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    let x = vector(&runtime, ramp(12, 0.3));
    let held = runtime.clone();
    let calls = task(move |args| {
        let y = args.write::<f64>(1)?;
        args.in_parts(y, 1, |_, _| {
            let _ = held.counters();
            Ok(())
        })
    });
    let y = host(&body("calls", Access::Rows), &x, calls);
    let failed = runtime.read::<f64>(&y, None).unwrap_err().to_string();
    assert!(failed.contains("panicked"), "{failed}");
    // So does one that runs a window of another runtime, whose function calls the first one.
    let other = Runtime::new(Config::default()).unwrap();
    let (of_other, first) = (vector(&other, ramp(3, 0.3)), runtime.clone());
    let outer = task(move |args| {
        let first = first.clone();
        let inner = task(move |_| {
            let _ = first.counters();
            Ok(())
        });
        let z = host(&body("inner", Access::Rows), &of_other, inner);
        let inner = z.runtime().read::<f64>(&z, None);
        args.write::<f64>(1)?
            .fill(f64::from(u8::from(inner.is_err())));
        Ok(())
    });
    let y = host(&body("outer", Access::Rows), &x, outer);
    assert_eq!(runtime.read::<f64>(&y, None).unwrap(), [1.0; 12]);
}
