//! Host tasks side by side: independent ones meet, dependent ones wait, and results, failures and
//! memory are those of one after the other.

use sparsefuse_kernels::DType;
use sparsefuse_runtime::{
    Access, Config, Error, HostArgs, HostBody, HostTask, Privilege, Runtime, Shape, StoreHandle,
    TaskArg, View,
};
use sparsefuse_testing::stores::read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test waits for what should come at once, before it fails.
const LONG: Duration = Duration::from_secs(60);
const LEN: usize = 500;

fn runtime(threads: usize, memory_limit: usize) -> Runtime {
    let config = Config {
        threads,
        memory_limit,
        parallel_threshold: 0,
        ..Config::default()
    };
    Runtime::new(config).expect("the settings are in range")
}

fn vector(runtime: &Runtime, element: f64) -> StoreHandle {
    let stored = runtime.store_from_vec(Shape::new(&[LEN]), vec![element; LEN]);
    stored.expect("the shape is that of the elements")
}

type Function = dyn Fn(&[&[f64]], &mut [f64]) -> Result<(), Error> + Send + Sync;

/// Issues a host task that reads some stores and writes a new one.
fn host(name: &str, reads: &[&StoreHandle], function: Arc<Function>) -> StoreHandle {
    let read = (Privilege::Read, Access::Rows, DType::F64);
    let write = (Privilege::Write, Access::Rows, DType::F64);
    let mut args = vec![read; reads.len()];
    args.push(write);
    let runtime = reads[0].runtime();
    let out = runtime.new_store(reads[0].shape(), DType::F64);
    let stores: Vec<&StoreHandle> = reads.iter().copied().chain([&out]).collect();
    let n_reads = reads.len();
    let function = move |args: &mut HostArgs<'_>| {
        let read: Result<Vec<&[f64]>, Error> = (0..n_reads).map(|k| args.read(k)).collect();
        function(&read?, args.write(n_reads)?)
    };
    let task = HostTask::new(function);
    let issued = runtime.submit_host(&HostBody::new(name, &args), &stores, task);
    issued.expect("the arguments fit the body");
    out
}

/// Two functions that end only if both run at once.
fn meeting() -> [Arc<Function>; 2] {
    let (to_second, from_first) = channel();
    let (to_first, from_second) = channel();
    [(to_second, from_second), (to_first, from_first)].map(|(send, receive)| {
        let ends = Mutex::new((send, receive));
        let meet = move |x: &[&[f64]], y: &mut [f64]| {
            let ends = ends.lock().expect("it is called once");
            let met = ends.0.send(()).is_ok() && ends.1.recv_timeout(LONG).is_ok();
            assert!(met, "the other one runs");
            y.copy_from_slice(x[0]);
            Ok(())
        };
        Arc::new(meet) as Arc<Function>
    })
}

#[test]
fn independent_tasks_run_at_once() {
    let runtime = runtime(2, usize::MAX);
    let [x, y] = [1.0, 2.0].map(|element| vector(&runtime, element));
    let [first, second] = meeting();
    let [x, y] = [host("meet", &[&x], first), host("meet", &[&y], second)];
    assert_eq!(read(&x).unwrap(), [1.0; LEN]);
    assert_eq!(read(&y).unwrap(), [2.0; LEN]);
}

#[test]
fn those_behind_different_tasks_run_at_once_too() {
    let runtime = runtime(3, usize::MAX);
    let x = vector(&runtime, 1.0);
    let add = |by: f64| -> Arc<Function> {
        Arc::new(move |x, y| {
            y.iter_mut().zip(x[0]).for_each(|(y, x)| *y = x + by);
            Ok(())
        })
    };
    let [first, second] = meeting();
    let left = host("add", &[&host("add", &[&x], add(1.0))], add(2.0));
    let right = host("add", &[&x], add(10.0));
    let [left, right] = [
        host("meet", &[&left], first),
        host("meet", &[&right], second),
    ];
    assert_eq!(read(&left).unwrap(), [4.0; LEN]);
    assert_eq!(read(&right).unwrap(), [11.0; LEN]);
}

#[test]
fn a_function_that_divides_its_work_has_all_threads() {
    let runtime = runtime(2, usize::MAX);
    let x = vector(&runtime, 1.0);
    let body = HostBody::new(
        "divided",
        &[
            (Privilege::Read, Access::Rows, DType::F64),
            (Privilege::Write, Access::Rows, DType::F64),
        ],
    );
    let issue = || {
        let y = runtime.new_store(x.shape(), DType::F64);
        let ends = meeting();
        let function = move |args: &mut HostArgs<'_>| {
            let x = args.read::<f64>(0)?;
            let y = args.write::<f64>(1)?;
            args.in_parts(y, 1, |first, part| {
                let of_part = &ends[usize::from(first > 0)];
                of_part(&[&x[first..first + part.len()]], part)
            })
        };
        let task = HostTask::new(function);
        runtime.submit_host(&body, &[&x, &y], task).unwrap();
        y
    };
    // The first time it is alone; from then on that it divides its work is known.
    assert_eq!(read(&issue()).unwrap(), [1.0; LEN]);
    let results = [(); 3].map(|()| issue());
    for y in &results {
        assert_eq!(read(y).unwrap(), [1.0; LEN]);
    }
}

/// A random graph of tasks, some of which fail; what each has made.
fn graph(seed: u64, threads: usize) -> Vec<Result<u64, String>> {
    let runtime = runtime(threads, usize::MAX);
    let mut state = seed;
    let mut dice = move |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    let mut stores: Vec<StoreHandle> = (0..3).map(|k| vector(&runtime, f64::from(k))).collect();
    for number in 0..40 {
        let (a, b) = (dice(stores.len()), dice(stores.len()));
        let fails = dice(15) == 0;
        let function = move |x: &[&[f64]], y: &mut [f64]| {
            if fails {
                return Err(Error::argument("task", "a good day", number.to_string()));
            }
            for (y, (a, b)) in y.iter_mut().zip(x[0].iter().zip(x[1])) {
                *y = (a * 0.7 + b).sin() + f64::from(number);
            }
            Ok(())
        };
        let made = host("mix", &[&stores[a], &stores[b]], Arc::new(function));
        match dice(3) {
            0 => stores.push(made),
            _ => {
                let place = dice(stores.len());
                stores[place] = made;
            }
        }
        if dice(9) == 0 {
            runtime.start();
        }
    }
    let bits = |x: Vec<f64>| {
        x.iter()
            .fold(0, |hash: u64, x| hash.rotate_left(5) ^ x.to_bits())
    };
    let seen = stores.iter().map(|store| {
        let read = read(store).map(bits);
        read.map_err(|error| error.to_string())
    });
    let seen = seen.collect();
    assert_eq!(runtime.counters().host_tasks, 40);
    drop(stores);
    runtime.flush();
    assert_eq!(runtime.memory_in_use(), 0);
    seen
}

#[test]
fn random_graphs_give_the_same_on_any_number_of_threads() {
    for seed in 0..60 {
        let expected = graph(seed, 1);
        for threads in [2, 3, 5] {
            assert_eq!(
                graph(seed, threads),
                expected,
                "seed {seed}, {threads} threads"
            );
        }
    }
}

#[test]
fn a_task_without_memory_waits_for_those_that_give_it_back() {
    // Room for the input, its result, and one chain at a time of the two.
    let bytes = LEN * 8;
    let runtime = runtime(2, 5 * bytes);
    let x = vector(&runtime, 1.0);
    let copy: Arc<Function> = Arc::new(|x, y| {
        y.copy_from_slice(x[0]);
        Ok(())
    });
    let sums: Vec<StoreHandle> = (0..2)
        .map(|_| {
            let mut last = host("copy", &[&x], copy.clone());
            for _ in 0..10 {
                last = host("copy", &[&last], copy.clone());
            }
            last
        })
        .collect();
    for sum in &sums {
        assert_eq!(read(sum).unwrap(), [1.0; LEN]);
    }
}

/// Counts the calls of both variants of tasks on a rank: how many on one thread, how many divided.
fn variants(config: Config, tasks: usize) -> (usize, usize) {
    let runtime = Runtime::new(config).expect("the settings are in range");
    let x = vector(&runtime, 1.0);
    let args = [Privilege::Read, Privilege::Write].map(|to| (to, Access::Rows, DType::F64));
    let body = HostBody::new("doubled", &args);
    let calls = Arc::new(Mutex::new((0, 0)));
    let issue = |_| {
        let (serial, divided) = (Arc::clone(&calls), Arc::clone(&calls));
        let task = HostTask::new(move |args| {
            divided.lock().expect("no call panics").1 += 1;
            let (x, y) = (args.read::<f64>(0)?, args.write::<f64>(1)?);
            args.in_parts(y, 1, |first, part| {
                part.iter_mut()
                    .zip(&x[first..])
                    .for_each(|(y, x)| *y = 2.0 * x);
                Ok(())
            })
        });
        let task = task.with_serial(move |args| {
            serial.lock().expect("no call panics").0 += 1;
            let (x, y) = (args.read::<f64>(0)?, args.write::<f64>(1)?);
            y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x);
            Ok(())
        });
        let y = runtime.new_store(x.shape(), DType::F64);
        let issued = runtime.submit_host(&body, &[&x, &y], task);
        issued.expect("the arguments fit the body");
        y
    };
    let results: Vec<StoreHandle> = (0..tasks).map(issue).collect();
    for y in &results {
        assert_eq!(read(y).expect("no task fails"), [2.0; LEN]);
    }
    let calls = calls.lock().expect("no call panics");
    *calls
}

#[test]
fn a_variant_is_chosen_by_threads_elements_and_company() {
    let config = |threads, parallel_threshold| Config {
        threads,
        parallel_threshold,
        ..Config::default()
    };
    assert_eq!(variants(config(1, 0), 3), (3, 0), "one thread");
    assert_eq!(variants(config(2, LEN + 1), 1), (1, 0), "few elements");
    assert_eq!(variants(config(2, LEN), 1), (0, 1), "one task");
    assert_eq!(variants(config(2, 0), 2), (2, 0), "a task for each thread");
    assert_eq!(
        variants(config(3, 0), 2),
        (0, 2),
        "fewer tasks than threads"
    );
}

#[test]
fn a_limit_that_suffices_one_after_the_other_suffices() {
    let bytes = LEN.next_power_of_two() * size_of::<f64>();
    for threads in [1, 2, 4] {
        // x, what one pair makes, and little more; side by side the first tasks of all pairs fit,
        // and then none of those that would give memory back.
        let runtime = runtime(threads, 3 * bytes + bytes / 4);
        let x = vector(&runtime, 1.0);
        let calls = Arc::new(AtomicUsize::new(0));
        let twice = |x: &StoreHandle| {
            let calls = Arc::clone(&calls);
            let double = move |x: &[&[f64]], y: &mut [f64]| {
                calls.fetch_add(1, Ordering::Relaxed);
                // So that all threads have begun one.
                std::hint::black_box((0..300_000).fold(0.0, |s, k| s + f64::from(k).sqrt()));
                y.iter_mut().zip(x[0]).for_each(|(y, x)| *y = 2.0 * x);
                Ok(())
            };
            host("double", &[x], Arc::new(double))
        };
        let mut last = None;
        for _ in 0..4 {
            last = Some(twice(&twice(&x)));
        }
        assert_eq!(read(&last.unwrap()).unwrap(), [4.0; LEN]);
        assert_eq!(calls.load(Ordering::Relaxed), 8, "none has failed");
    }
}

/// A task that reads all of a store, and a block of it too, waits for who writes another block.
#[test]
fn what_reads_all_of_a_store_waits_for_its_blocks() {
    for threads in [1, 3] {
        let runtime = runtime(threads, usize::MAX);
        let store = vector(&runtime, 1.0);
        let half = |from: usize| {
            let whole = View::identity(Shape::new(&[LEN]));
            Arc::new(whole.slice(0, from..from + LEN / 2, 1).unwrap())
        };
        let (first, second) = (half(0), half(LEN / 2));
        let write = [(Privilege::Write, Access::Block, DType::F64)];
        let slow = HostTask::new(|args: &mut HostArgs<'_>| {
            let mut block = args.block_mut::<f64>(0)?;
            for row in block.rows_mut() {
                row.fill(2.0);
                std::thread::yield_now();
            }
            Ok(())
        });
        let args = [TaskArg::from((&store, &first))];
        let body = HostBody::new("slow", &write);
        runtime.submit_host(&body, &args, slow).unwrap();
        let sum = runtime.new_store(Shape::new(&[1]), DType::F64);
        let read = [
            (Privilege::Read, Access::Whole, DType::F64),
            (Privilege::Read, Access::Block, DType::F64),
            (Privilege::Write, Access::Rows, DType::F64),
        ];
        let add = HostTask::new(|args: &mut HostArgs<'_>| {
            let total = args.read::<f64>(0)?.iter().sum();
            args.write::<f64>(2)?[0] = total;
            Ok(())
        });
        let args = [
            TaskArg::from(&store),
            TaskArg::from((&store, &second)),
            TaskArg::from(&sum),
        ];
        let body = HostBody::new("add", &read);
        runtime.submit_host(&body, &args, add).unwrap();
        let expected = (LEN / 2) as f64 * 3.0;
        assert_eq!(runtime.read::<f64>(&sum, None).unwrap(), [expected]);
    }
}
