//! Tasks that say how many threads and bytes they need, and functions that they spawn and wait for.

use sparsefuse_runtime::{Config, Error, HostArgs, Runtime, Shape, StoreHandle, TaskSpace};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test waits for what should come without delay, before it fails.
const LONG: Duration = Duration::from_secs(60);

fn runtime(threads: usize, memory_limit: usize) -> Runtime {
    let config = Config {
        threads,
        memory_limit,
        ..Config::default()
    };
    Runtime::new(config).expect("the settings are in range")
}

fn ones(runtime: &Runtime, len: usize) -> StoreHandle {
    let stored = runtime.store_from_vec(Shape::new(&[len]), vec![1.0; len]);
    stored.expect("the shape is that of the elements")
}

fn failure() -> Error {
    Error::argument("function", "a good day", "another one")
}

/// How much of something the tasks that run have, and the most that it ever was.
#[derive(Clone, Default)]
struct InUse(Arc<(AtomicUsize, AtomicUsize)>);

impl InUse {
    fn holding(&self, amount: usize, work: impl FnOnce()) {
        let now = self.0.0.fetch_add(amount, Ordering::SeqCst) + amount;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        work();
        self.0.0.fetch_sub(amount, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Takes a while, so that tasks that may run side by side do.
fn work(n: usize) {
    let sum = (0..n).fold(0.0, |sum: f64, k| (sum + k as f64).sin());
    assert!(sum.is_finite());
}

#[test]
fn tasks_at_once_never_have_more_threads_than_the_rank() {
    for threads in 1..=4 {
        let runtime = runtime(threads, usize::MAX);
        let in_use = InUse::default();
        let mut space = TaskSpace::new(&runtime, "wide");
        for number in 0..200 {
            let (needed, in_use) = (1 + number * 7 % 5 % threads, in_use.clone());
            let task = space.task(number).threads(needed);
            let run = task.run(move |args| {
                in_use.holding(needed, || work(if number % 2 == 0 { 10 } else { 3000 }));
                assert!(args.threads() >= needed);
                let mut parts = [0; 9];
                args.in_parts_to(&mut parts, &[3, 6, 9], |part, all| {
                    all.fill(part);
                    Ok(())
                })?;
                assert_eq!(parts, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
                Ok(())
            });
            run.unwrap();
        }
        space.wait_all().unwrap();
        assert!((1..=threads).contains(&in_use.most()), "{}", in_use.most());
    }
}

#[test]
fn a_task_has_the_threads_that_it_needs_beside_another_one() {
    let runtime = runtime(3, usize::MAX);
    let mut space = TaskSpace::new(&runtime, "team");
    let (to_first, from_second) = channel();
    let (to_second, from_first) = channel();
    let (has_met, met) = channel();
    // It ends when the functions of the other task have met, so it runs beside them.
    let narrow = space.task(0).run(move |_| {
        assert!(met.recv_timeout(LONG).is_ok(), "the others have met");
        Ok(())
    });
    narrow.unwrap();
    let wide = space.task(1).threads(2).run(move |args| {
        assert_eq!(args.threads(), 2);
        args.scope(|scope| {
            scope.spawn(move |_| {
                let sent = to_first.send(()).is_ok();
                assert!(sent && from_first.recv_timeout(LONG).is_ok());
                Ok(())
            });
            scope.spawn(move |_| {
                let sent = to_second.send(()).is_ok();
                assert!(sent && from_second.recv_timeout(LONG).is_ok());
                Ok(())
            });
            Ok(())
        })?;
        assert!(has_met.send(()).is_ok(), "the first task waits");
        Ok(())
    });
    wide.unwrap();
    space.wait_all().unwrap();
}

#[test]
fn tasks_at_once_never_take_more_bytes_than_the_limit() {
    let limit = 100_000;
    for threads in [1, 2, 4] {
        let runtime = runtime(threads, limit);
        let x = ones(&runtime, 1000);
        let in_use = InUse::default();
        let mut space = TaskSpace::new(&runtime, "bytes");
        for number in 0..100 {
            let (bytes, in_use) = (10_000 + number * 7919 % 40_000, in_use.clone());
            let task = space.task(number).reads(&x).scratch(bytes);
            let run = task.run(move |_| {
                in_use.holding(bytes, || work(2000));
                Ok(())
            });
            run.unwrap();
        }
        space.wait_all().unwrap();
        assert!(in_use.most() <= limit - 8000, "{}", in_use.most());
        drop((space, x));
        assert_eq!(runtime.memory_in_use(), 0);
    }
}

#[test]
fn what_a_rank_can_never_give_is_refused_at_once() {
    let runtime = runtime(2, 10_000);
    let mut space = TaskSpace::new(&runtime, "large");
    let many = space.task(0).threads(3).run(|_| Ok(())).unwrap_err();
    let none = space.task(0).threads(0).run(|_| Ok(())).unwrap_err();
    let bytes = space.task(0).scratch(10_001).run(|_| Ok(())).unwrap_err();
    let expected = [
        "threads: expected 1 to 2 threads, those of the rank, found 3",
        "threads: expected 1 to 2 threads, those of the rank, found 0",
        "scratch: expected at most the limit of 10000 bytes, found 10001",
    ];
    assert_eq!([many, none, bytes].map(|error| error.to_string()), expected);
    assert!(space.is_empty());
}

/// Without a limit, any number of bytes may be asked for; they are a promise, not memory.
#[test]
fn sizes_beyond_all_memory_break_nothing() {
    for threads in [1, 2] {
        let runtime = runtime(threads, usize::MAX);
        let x = ones(&runtime, 10);
        let mut space = TaskSpace::new(&runtime, "huge");
        for number in 0..2 {
            let task = space.task(number).scratch(usize::MAX);
            task.run(|_| Ok(())).unwrap();
        }
        // Those of x are in use, so these bytes are too many.
        let error = space.wait(0).unwrap_err().to_string();
        assert!(error.contains("memory"), "{error}");
        space.task(2).reads(&x).run(|_| Ok(())).unwrap();
        space.wait(2).unwrap();
        let y = ones(&runtime, 1000);
        drop((space, x, y));
        assert_eq!(runtime.memory_in_use(), 0);
    }
}

#[test]
fn a_task_whose_bytes_the_program_holds_fails_and_others_run() {
    for threads in [1, 2] {
        let runtime = runtime(threads, 10_000);
        let x = ones(&runtime, 1000);
        let mut space = TaskSpace::new(&runtime, "large");
        space
            .task(0)
            .reads(&x)
            .scratch(4000)
            .run(|_| Ok(()))
            .unwrap();
        space
            .task(1)
            .reads(&x)
            .scratch(1000)
            .run(|_| Ok(()))
            .unwrap();
        space.task(2).reads(&x).run(|_| Ok(())).unwrap();
        let error = space.wait(0).unwrap_err().to_string();
        assert!(
            error.starts_with("`large` failed: expected 4000 bytes of memory"),
            "{error}"
        );
        space.wait(1).unwrap();
        space.wait(2).unwrap();
    }
}

/// What a task makes of a function that has its arguments.
fn run_in(
    threads: usize,
    function: impl FnOnce(&mut HostArgs<'_>) -> Result<(), Error> + Send + 'static,
) -> Result<(), Error> {
    let runtime = runtime(threads, usize::MAX);
    let mut space = TaskSpace::new(&runtime, "scope");
    space.task(0).threads(threads).run(function)?;
    // So that the first one does not run by itself.
    space.task(1).run(|_| Ok(()))?;
    space.wait(0)
}

#[test]
fn spawned_functions_spawn_others_and_all_have_ended_behind_the_scope() {
    /// Adds 1 to each element, by halves.
    fn add<'e>(scope: &sparsefuse_runtime::Scope<'_, 'e>, part: &'e mut [f64]) {
        if let [x] = part {
            *x += 1.0;
            return;
        }
        let (left, right) = part.split_at_mut(part.len() / 2);
        for half in [left, right] {
            scope.spawn(|scope| {
                add(scope, half);
                Ok(())
            });
        }
    }
    for threads in 1..=4 {
        let outcome = run_in(threads, |args| {
            let mut elements = vec![0.0; 777];
            for steps in 1..=3 {
                args.scope(|scope| {
                    add(scope, &mut elements);
                    Ok(())
                })?;
                assert!(elements.iter().all(|&x| x == f64::from(steps)));
            }
            Ok(())
        });
        outcome.unwrap();
    }
}

#[test]
fn the_failure_of_a_scope_is_the_first_in_the_order_of_spawning() {
    for threads in 1..=4 {
        let ended = Arc::new(Mutex::new(0));
        let of_task = Arc::clone(&ended);
        let outcome = run_in(threads, move |args| {
            args.scope(|scope| {
                for number in 0..20 {
                    let ended = &of_task;
                    scope.spawn(move |scope| {
                        scope.spawn(move |_| match number {
                            3 | 11 => Err(Error::argument("spawned", "no", number.to_string())),
                            _ => Ok(()),
                        });
                        *ended.lock().unwrap() += 1;
                        if number == 7 { Err(failure()) } else { Ok(()) }
                    });
                }
                Ok(())
            })
        });
        let error = outcome.unwrap_err().to_string();
        assert_eq!(error, "`scope[0]` failed: spawned: expected no, found 3");
        assert_eq!(*ended.lock().unwrap(), 20);
    }
}

#[test]
fn a_spawned_function_that_panics_fails_the_task() {
    for threads in [1, 2] {
        let outcome = run_in(threads, |args| {
            args.scope(|scope| {
                scope.spawn(|_| panic!("out of ink"));
                scope.spawn(|_| Ok(()));
                Ok(())
            })
        });
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.contains("scope[0]") && error.contains("out of ink"),
            "{error}"
        );
    }
}

#[test]
fn a_spawned_function_must_not_call_the_runtime() {
    let runtime = runtime(2, usize::MAX);
    let x = ones(&runtime, 4);
    let mut space = TaskSpace::new(&runtime, "calls");
    let run = space.task(0).threads(2).run(move |args| {
        let x = &x;
        args.scope(|scope| {
            scope.spawn(move |_| x.runtime().read::<f64>(x, None).map(|_| ()));
            Ok(())
        })
    });
    run.unwrap();
    let error = space.wait(0).unwrap_err().to_string();
    assert!(error.contains("leaves its runtime alone"), "{error}");
}
