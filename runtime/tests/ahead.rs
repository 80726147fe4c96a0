//! Windows that run while the program goes on: order, results, failures, memory, and the same
//! schedules whether or not they do.

use sparsefuse_kernels::DType;
use sparsefuse_runtime::{
    Access, Config, Counters, Error, HostArgs, HostBody, HostTask, Privilege, Runtime, Shape,
    StoreHandle,
};
use sparsefuse_testing::bodies::dot;
use sparsefuse_testing::stores::{read, sum, vector};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, LazyLock, Mutex};
use std::time::Duration;

static MARK: LazyLock<HostBody> = LazyLock::new(|| {
    let read = (Privilege::Read, Access::Rows, DType::F64);
    let write = (Privilege::Write, Access::Rows, DType::F64);
    HostBody::new("mark", &[read, write])
});

/// How long a test waits for what should come at once, before it fails.
const LONG: Duration = Duration::from_secs(60);

fn runtime(run_ahead: usize) -> Runtime {
    let config = Config {
        run_ahead,
        ahead_threshold: 0,
        ..Config::default()
    };
    Runtime::new(config).expect("the settings are in range")
}

/// Issues a host task that writes a new store.
fn host(
    x: &StoreHandle,
    function: impl Fn(&[f64], &mut [f64]) -> Result<(), Error> + Send + Sync + 'static,
) -> StoreHandle {
    let out = x.runtime().new_store(x.shape(), DType::F64);
    let task = HostTask::new(move |args: &mut HostArgs<'_>| {
        let x = args.read::<f64>(0)?;
        function(x, args.write::<f64>(1)?)
    });
    let issued = x.runtime().submit_host(&MARK, &[x, &out], task);
    issued.expect("the arguments fit the body");
    out
}

/// A task that copies when it is told to go on, and how to tell it.
fn gate(x: &StoreHandle) -> (StoreHandle, Sender<()>) {
    let (open, wait): (_, Receiver<()>) = channel();
    let wait = Mutex::new(wait);
    let out = host(x, move |x, y| {
        let told = wait.lock().map(|wait| wait.recv_timeout(LONG));
        assert!(matches!(told, Ok(Ok(()))), "the program has gone on");
        y.copy_from_slice(x);
        Ok(())
    });
    (out, open)
}

fn scaled(x: &StoreHandle, by: f64) -> StoreHandle {
    sum(by - 1.0, x, x)
}

#[test]
fn the_program_goes_on_and_reads_what_has_ended() {
    let runtime = runtime(2);
    let x = vector(&runtime, vec![1.0, 2.0, 3.0]);
    let before = scaled(&x, 2.0);
    runtime.start();
    let (held, open) = gate(&x);
    runtime.start();
    // Neither what ran before nor what was never issued with it waits for the gate.
    assert_eq!(read(&before).unwrap(), [2.0, 4.0, 6.0]);
    let other = vector(&runtime, vec![5.0]);
    assert_eq!(read(&other).unwrap(), [5.0]);
    let behind = scaled(&held, 10.0);
    runtime.start();
    open.send(()).unwrap();
    assert_eq!(read(&behind).unwrap(), [10.0, 20.0, 30.0]);
    assert_eq!(read(&held).unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn flush_waits() {
    let runtime = runtime(2);
    let x = vector(&runtime, vec![1.0; 4]);
    let ended = Arc::new(AtomicUsize::new(0));
    for _ in 0..5 {
        let counted = Arc::clone(&ended);
        host(&x, move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        runtime.start();
    }
    runtime.flush();
    assert_eq!(ended.load(Ordering::Relaxed), 5);
}

/// What is in the window when the last handle goes never runs; what has been started does.
#[test]
fn a_runtime_that_is_dropped_runs_what_it_has_started() {
    for (is_started, expected) in [(true, 1), (false, 0)] {
        let ended = Arc::new(AtomicUsize::new(0));
        let runtime = runtime(2);
        let x = vector(&runtime, vec![1.0; 4]);
        let counted = Arc::clone(&ended);
        host(&x, move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        if is_started {
            runtime.start();
        }
        drop((runtime, x));
        assert_eq!(ended.load(Ordering::Relaxed), expected);
        assert_eq!(Arc::strong_count(&ended), 1, "the task is gone");
    }
}

#[test]
fn a_thread_that_waits_lets_others_read_and_issue() {
    let runtime = runtime(4);
    let (x, other) = (
        vector(&runtime, vec![1.0, 2.0]),
        vector(&runtime, vec![3.0, 4.0]),
    );
    let (y, open) = gate(&x);
    runtime.start();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| read(&y).unwrap());
        let (done, is_done) = channel();
        let other = &other;
        scope.spawn(move || {
            // Long enough for the other thread to begin to wait.
            for _ in 0..200 {
                assert_eq!(read(other).unwrap(), [3.0, 4.0]);
                std::thread::park_timeout(Duration::from_micros(200));
            }
            let _sum = sum(2.0, other, other);
            done.send(()).unwrap();
        });
        let outcome = is_done.recv_timeout(LONG / 2);
        // Also where the test fails, so that it ends.
        open.send(()).unwrap();
        assert!(outcome.is_ok(), "the others waited too");
        waits.join().unwrap();
    });
}

#[test]
fn no_more_windows_are_under_way_than_asked_for() {
    for run_ahead in [1, 2, 5] {
        let runtime = runtime(run_ahead);
        let x = vector(&runtime, vec![1.0; 4]);
        let ended = Arc::new(AtomicUsize::new(0));
        for issued in 0..20_usize {
            let counted = Arc::clone(&ended);
            host(&x, move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            runtime.start();
            let ended = ended.load(Ordering::SeqCst);
            assert!(issued + 1 - ended <= run_ahead, "{ended} of {}", issued + 1);
        }
    }
}

#[test]
fn a_failure_reaches_those_who_read_what_depends_on_it() {
    let runtime = runtime(3);
    let x = vector(&runtime, vec![1.0; 4]);
    let failed = host(&x, |_, _| Err(Error::argument("mark", "a reason", "none")));
    runtime.start();
    let behind = scaled(&failed, 2.0);
    runtime.start();
    let panicked = host(&x, |_, _| panic!("on purpose"));
    runtime.start();
    let well = scaled(&x, 3.0);
    runtime.start();
    assert_eq!(read(&well).unwrap(), [3.0; 4]);
    for store in [&failed, &behind] {
        let message = read(store).unwrap_err().to_string();
        assert!(
            message.contains("expected a reason, found none"),
            "{message}"
        );
    }
    let message = read(&panicked).unwrap_err().to_string();
    assert!(message.contains("on purpose"), "{message}");
}

#[test]
fn a_host_task_under_way_that_calls_its_runtime_fails() {
    let runtime = runtime(2);
    let x = vector(&runtime, vec![1.0; 4]);
    // It holds a handle of its runtime, which it gives up as it runs.
    let (own, of_task) = (runtime.clone(), x.clone());
    let own = Mutex::new(Some((own, of_task)));
    let y = host(&x, move |_, _| {
        let taken = own.lock().ok().and_then(|mut own| own.take());
        let (runtime, x) = taken.expect("it runs once");
        runtime.read::<f64>(&x, None).map(drop)
    });
    runtime.start();
    let message = read(&y).unwrap_err().to_string();
    assert!(message.contains("leaves its runtime alone"), "{message}");
}

#[test]
fn the_end_of_a_runtime_waits_for_what_was_started() {
    let ended = Arc::new(AtomicBool::new(false));
    let runtime = runtime(2);
    let x = vector(&runtime, vec![1.0; 4]);
    let (held, open) = gate(&x);
    let at_end = Arc::clone(&ended);
    let last = host(&held, move |_, _| {
        at_end.store(true, Ordering::SeqCst);
        Ok(())
    });
    runtime.start();
    open.send(()).unwrap();
    drop((x, held, last, runtime));
    assert!(ended.load(Ordering::SeqCst));
}

/// A loop without reads but one of every seventh round, and what its runtime counted.
fn rounds(run_ahead: usize, slow: bool) -> (Vec<u64>, Counters) {
    let runtime = runtime(run_ahead);
    let n = 3000;
    let mut x = vector(&runtime, (0..n).map(|i| f64::from(i) * 0.001).collect());
    let mut y = vector(&runtime, vec![0.5; n as usize]);
    let mut values = Vec::new();
    for round in 0..100 {
        let twice = scaled(&x, 0.9);
        y = sum(0.25, &twice, &y);
        if round % 5 == 3 {
            x = host(&twice, move |x, y| {
                if slow {
                    std::hint::black_box((0..20_000).fold(0.0, |s, k| s + f64::from(k).sqrt()));
                }
                y.copy_from_slice(x);
                Ok(())
            });
        } else {
            x = twice;
        }
        if round % 3 == 0 {
            runtime.start();
        }
        if round % 7 == 6 {
            let sum = runtime.new_store(Shape::SCALAR, DType::F64);
            let args = [(&x).into(), (&y).into(), (&sum).into()];
            runtime.submit(dot(), &args, &[]).expect("a dot product");
            let sum = runtime.read_scalar::<f64>(&sum);
            values.push(sum.expect("a number").to_bits());
            y = scaled(&y, 0.5);
        }
    }
    values.extend(read(&y).expect("a vector").iter().map(|y| y.to_bits()));
    (values, runtime.counters())
}

#[test]
fn schedules_and_results_do_not_depend_on_who_runs_them() {
    let expected = rounds(0, false);
    assert!(expected.1.trace_hits > 0 && expected.1.fused_tasks < expected.1.tasks);
    for run_ahead in [1, 2, 7] {
        for slow in [false, true] {
            assert_eq!(rounds(run_ahead, slow), expected, "{run_ahead}");
        }
    }
}

#[test]
fn memory_is_given_back() {
    let runtime = runtime(2);
    let mut x = vector(&runtime, vec![1.0; 1000]);
    for _ in 0..50 {
        x = scaled(&scaled(&x, 2.0), 0.5);
        runtime.start();
    }
    assert_eq!(read(&x).unwrap(), vec![1.0; 1000]);
    runtime.flush();
    assert!(
        runtime.memory_in_use() <= 8192,
        "{}",
        runtime.memory_in_use()
    );
    drop(x);
    runtime.flush();
    assert_eq!(runtime.memory_in_use(), 0);
}

#[test]
fn a_limit_that_suffices_one_window_after_the_other_suffices() {
    const LEN: usize = 1 << 16;
    for (threads, run_ahead) in [(1, 2), (2, 2), (1, 8), (2, 8)] {
        let config = Config {
            threads,
            run_ahead,
            ahead_threshold: 0,
            memory_limit: 7 * LEN * size_of::<f64>() / 2,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        let x = vector(&runtime, vec![1.0; LEN]);
        // What each window makes is dropped when the next one has been started.
        let mut last = None;
        for _ in 0..20 {
            let copied = host(&x, |x, y| {
                y.copy_from_slice(x);
                Ok(())
            });
            runtime.start();
            last = Some(copied);
        }
        assert_eq!(read(&last.unwrap()).unwrap()[0], 1.0);
        assert_eq!(runtime.counters().host_tasks, 20);
    }
}

#[test]
fn a_window_runs_once_also_where_what_a_function_has_brought_panics_at_its_end() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "what the function has brought");
        }
    }
    let runtime = runtime(2);
    let x = vector(&runtime, vec![1.0; 4]);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = || {
        let ran = Arc::clone(&ran);
        host(&x, move |x, y| {
            ran.fetch_add(1, Ordering::SeqCst);
            y.copy_from_slice(x);
            Ok(())
        })
    };
    let bad = Bad;
    host(&x, move |_, _| {
        let _brought = &bad;
        Ok(())
    });
    runtime.start();
    let first = count();
    runtime.start();
    // Whoever clears the window has the panic.
    let flushed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.flush()));
    assert!(flushed.is_err());
    for _ in 0..10 {
        count();
        runtime.start();
    }
    assert_eq!(read(&first).unwrap(), [1.0; 4]);
    assert_eq!(read(&count()).unwrap(), [1.0; 4]);
    assert_eq!(ran.load(Ordering::SeqCst), 12);
}

/// A runtime that runs ahead, in this many bytes.
fn limited(memory_limit: usize) -> Runtime {
    let config = Config {
        run_ahead: 2,
        ahead_threshold: 0,
        memory_limit,
        ..Config::default()
    };
    Runtime::new(config).expect("the settings are in range")
}

#[test]
fn what_the_program_makes_finds_the_memory_of_what_it_has_dropped() {
    const LEN: usize = 100_000;
    let shape = Shape::new(&[LEN]);
    let bytes = LEN * size_of::<f64>();
    let fill = |elements: &mut [f64]| {
        elements.fill(2.0);
        Ok(())
    };
    for number in 0..3 {
        let runtime = limited(bytes * 9 / 2);
        let x = vector(&runtime, vec![1.0; LEN]);
        let y = scaled(&x, 2.0);
        runtime.start();
        drop(y);
        // x, y and this are more than there is.
        let large = Shape::new(&[3 * LEN]);
        let made = match number {
            0 => runtime.store_from_vec(large, vec![2.0; 3 * LEN]),
            1 => runtime.store_by_filling(large, runtime.default_rows(large).0, fill),
            _ => {
                runtime.check_limit(3 * bytes).expect("there is room");
                runtime.store_from_rows(large, |_, elements: &mut [f64]| elements.fill(2.0))
            }
        };
        let made = made.expect("what has ended is given back");
        assert_eq!(read(&made).unwrap(), vec![2.0; 3 * LEN]);
        assert!(runtime.store_from_vec(shape, vec![0.0; LEN]).is_err());
        drop(x);
    }
}

#[test]
fn the_memory_that_a_function_takes_is_that_of_its_window() {
    const LEN: usize = 100_000;
    let bytes = LEN * size_of::<f64>();
    let runtime = limited(5 * bytes);
    let x = vector(&runtime, vec![1.0]);
    // A window that leaves one array which the program drops while it runs, then one whose function
    // takes all that is left when that is given back.
    let (held, open) = gate(&x);
    let body = HostBody::new("make", &[(Privilege::Write, Access::Rows, DType::F64)]);
    let large = runtime.new_store(Shape::new(&[LEN]), DType::F64);
    let task = HostTask::new(|args: &mut HostArgs<'_>| {
        args.write::<f64>(0)?.fill(1.0);
        Ok(())
    });
    runtime
        .submit_host(&body, &[&large], task)
        .expect("it fits");
    runtime.start();
    drop((held, large));
    open.send(()).expect("the task receives it");
    let small = runtime.new_store(Shape::new(&[4]), DType::F64);
    let task = HostTask::new(|args: &mut HostArgs<'_>| {
        args.write::<f64>(0)?.fill(3.0);
        Ok(())
    });
    let scratch = 5 * bytes - 64 * 1024;
    let task = HostTask { scratch, ..task };
    runtime
        .submit_host(&body, &[&small], task)
        .expect("it fits");
    runtime.start();
    assert_eq!(read(&small).unwrap(), [3.0; 4]);
}

#[test]
fn the_last_handle_may_be_dropped_by_a_task_beside_another() {
    let config = Config {
        threads: 2,
        run_ahead: 2,
        ahead_threshold: 0,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    let x = vector(&runtime, vec![1.0, 2.0]);
    let (tell, ended) = channel();
    let are_there = Arc::new(Barrier::new(3));
    let last = Arc::new(Mutex::new(Some(x.clone())));
    // Two tasks at the same time, of which one runs on another thread than the machine's.
    for _ in 0..2 {
        let (last, are_there) = (Arc::clone(&last), Arc::clone(&are_there));
        let tell = Mutex::new(tell.clone());
        host(&x, move |_, _| {
            are_there.wait();
            if std::thread::current().name() != Some("sparsefuse machine") {
                drop(last.lock().unwrap().take());
            }
            tell.lock().unwrap().send(()).unwrap();
            Ok(())
        });
    }
    runtime.start();
    let tell = Mutex::new(tell);
    host(&x, move |_, _| {
        tell.lock().unwrap().send(()).unwrap();
        Ok(())
    });
    runtime.start();
    drop((x, runtime));
    are_there.wait();
    for _ in 0..3 {
        ended.recv_timeout(LONG).expect("no task waits for itself");
    }
    assert!(last.lock().unwrap().is_none(), "a task has dropped it");
}
