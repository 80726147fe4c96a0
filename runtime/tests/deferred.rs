//! Deferred results: their place in the window, their parts on ranks, and what fails in them.

use sparsefuse_kernels::DType;
use sparsefuse_runtime::{
    Access, Config, Deferred, Error, HostBody, HostTask, Part, Privilege, Room, Runtime, Shape,
    StoreHandle, TaskKind, plan_rank, run_ranks,
};
use sparsefuse_testing::small;
use sparsefuse_testing::stores::{sum, vector};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test waits for what should come at once, before it fails.
const LONG: Duration = Duration::from_secs(60);

/// Elements of which every third one, more or less, is negative.
fn mixed(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * i) as f64 + 0.5).sin() + 0.4).collect()
}

fn read(x: &StoreHandle) -> Vec<f64> {
    x.runtime().read(x, None).expect("its task has succeeded")
}

fn planned(runtime: &Runtime) -> Result<Part<f64>, Error> {
    Ok(Part::Own(runtime.room(1)?))
}

fn filled(mut room: Room<f64>, elements: &[f64]) -> Room<f64> {
    room.copy_from_slice(elements);
    room
}

/// The elements below a bound, on each rank those of its own; `before` runs first.
fn below(
    x: &StoreHandle,
    bound: f64,
    before: impl FnOnce(usize) -> Result<(), Error> + Send + 'static,
) -> Deferred<StoreHandle> {
    let runtime = x.runtime();
    let found = runtime.submit_deferred("below", &[x], planned, move |args| {
        before(args.rank())?;
        let x = args.read::<f64>(0)?;
        let found: Vec<f64> = x.iter().copied().filter(|&x| x < bound).collect();
        let room = filled(args.room(found.len())?, &found);
        Ok(match args.cuts(0) {
            Some(_) => Part::Own(room),
            None => Part::All(room),
        })
    });
    let found = found.expect("the arguments fit");
    found.then(|runtime, part| runtime.store_of_part(part))
}

fn nothing(_rank: usize) -> Result<(), Error> {
    Ok(())
}

fn expected(x: &[f64], bound: f64) -> Vec<f64> {
    x.iter().copied().filter(|&x| x < bound).collect()
}

#[test]
fn it_has_its_place_among_tasks_before_and_after_in_one_window() {
    for fusion in [true, false] {
        let config = Config { fusion, ..small() };
        let runtime = Runtime::new(config).unwrap();
        let x = vector(&runtime, mixed(50));
        let twice = sum(1.0, &x, &x);
        let found = below(&twice, 0.0, nothing);
        // What is found is not what a later task makes of the same store.
        let later = sum(3.0, &twice, &x);
        drop(twice);
        let (found, later) = (found.get().unwrap(), read(&later));
        let doubled: Vec<f64> = mixed(50).iter().map(|x| x + x).collect();
        assert_eq!(read(&found), expected(&doubled, 0.0));
        let last = doubled.iter().zip(mixed(50)).map(|(d, x)| 3.0 * d + x);
        assert_eq!(later, last.collect::<Vec<f64>>());
        let counters = runtime.counters();
        assert_eq!(
            (counters.windows, counters.host_tasks, counters.eager),
            (1, 1, 0)
        );
    }
}

#[test]
fn each_rank_finds_its_own_and_they_agree_on_the_cuts() {
    for ranks in 1..=5 {
        for (n, bound) in [(50, 0.0), (50, 9.0), (50, -9.0), (3, 0.0), (0, 0.0)] {
            let seen = run_ranks(ranks, &small(), |runtime| {
                let x = vector(runtime, mixed(n));
                let cuts = runtime.local::<f64>(&x).unwrap();
                let own = expected(&cuts, bound).len();
                let found = below(&x, bound, nothing).get().unwrap();
                assert_eq!(read(&found), expected(&mixed(n), bound));
                let local = runtime.local::<f64>(&found).unwrap();
                assert_eq!(local.len(), own);
                // It is a store like any other.
                let twice = sum(1.0, &found, &found);
                assert_eq!(
                    read(&twice),
                    read(&found).iter().map(|x| x + x).collect::<Vec<_>>()
                );
                found.shape().len()
            });
            let len = expected(&mixed(n), bound).len();
            assert_eq!(seen.unwrap(), vec![len; ranks]);
        }
    }
}

#[test]
fn two_results_are_asked_for_in_any_order() {
    for ranks in [1, 3] {
        let windows = run_ranks(ranks, &small(), |runtime| {
            let x = vector(runtime, mixed(40));
            let (few, many) = (below(&x, -0.3, nothing), below(&x, 0.6, nothing));
            let many = many.get().unwrap();
            let few = few.get().unwrap();
            assert_eq!(read(&few), expected(&mixed(40), -0.3));
            assert_eq!(read(&many), expected(&mixed(40), 0.6));
            runtime.counters().windows
        });
        assert_eq!(windows.unwrap(), vec![1; ranks]);
    }
}

#[test]
fn windows_are_remembered_whatever_is_found() {
    let runtime = Runtime::new(small()).unwrap();
    let round = |bound: f64| {
        let x = vector(&runtime, mixed(30));
        let twice = sum(1.0, &x, &x);
        let found = below(&twice, bound, nothing).get().unwrap();
        found.shape().len()
    };
    let found = [0.0, 1.0, -1.0, 0.5].map(round);
    assert!(found.windows(2).all(|pair| pair[0] != pair[1]), "{found:?}");
    let counters = runtime.counters();
    assert_eq!((counters.windows, counters.trace_hits), (4, 3));
}

#[test]
fn the_program_goes_on_while_it_runs() {
    let config = |run_ahead| Config {
        run_ahead,
        ..Config::default()
    };
    let runtime = Runtime::new(config(4)).unwrap();
    let x = vector(&runtime, mixed(20));
    let (open, wait) = channel();
    let wait = Mutex::new(wait);
    let found = below(&x, 0.0, move |_| {
        let told = wait.lock().map(|wait| wait.recv_timeout(LONG));
        assert!(matches!(told, Ok(Ok(()))), "the program has gone on");
        Ok(())
    });
    runtime.start();
    // Issued, and read, while it runs.
    let other = sum(1.0, &x, &x);
    open.send(()).unwrap();
    assert_eq!(read(&found.get().unwrap()), expected(&mixed(20), 0.0));
    assert_eq!(read(&other).len(), 20);

    // Where windows do not run ahead, it has ended when `start` returns.
    let runtime = Runtime::new(config(0)).unwrap();
    let x = vector(&runtime, mixed(20));
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let found = below(&x, 0.0, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    runtime.start();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    assert_eq!(read(&found.get().unwrap()), expected(&mixed(20), 0.0));
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn a_result_that_is_dropped_is_made_all_the_same() {
    for run_ahead in [0, 4] {
        let config = Config {
            run_ahead,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        let x = vector(&runtime, mixed(20));
        let before = runtime.memory_in_use();
        let ran = Arc::new(AtomicUsize::new(0));
        let counted = || {
            let ran = Arc::clone(&ran);
            move |_| {
                ran.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        };
        drop(below(&x, 0.0, counted()));
        runtime.start();
        let late = below(&x, 9.0, counted());
        runtime.flush();
        drop(late);
        runtime.flush();
        assert_eq!(ran.load(Ordering::Relaxed), 2);
        assert_eq!(runtime.memory_in_use(), before);
    }
}

#[test]
fn a_failure_of_one_rank_is_that_of_all_and_they_go_on() {
    let refused = "`below` failed: test: expected luck, found none";
    let panicked = "`below` failed: `below` panicked: no luck";
    for ranks in 1..=3 {
        for failing in 0..ranks {
            for (panics, message) in [(false, refused), (true, panicked)] {
                let outcome = run_ranks(ranks, &small(), |runtime| {
                    let x = vector(runtime, mixed(50));
                    let fails = below(&x, 0.0, move |rank| match rank == failing {
                        true if panics => panic!("no luck"),
                        true => Err(Error::argument("test", "luck", "none")),
                        false => Ok(()),
                    });
                    let spared = below(&x, 0.5, nothing);
                    let error = fails.get().unwrap_err();
                    assert_eq!(error.to_string(), message, "{ranks} ranks, {failing}");
                    assert_eq!(read(&spared.get().unwrap()), expected(&mixed(50), 0.5));
                    assert_eq!(runtime.counters().windows, 1);
                });
                outcome.unwrap();
            }
        }
    }
}

#[test]
fn a_failure_of_what_it_reads_is_its_own() {
    static FAILS: std::sync::LazyLock<HostBody> = std::sync::LazyLock::new(|| {
        HostBody::new("fails", &[(Privilege::Write, Access::Rows, DType::F64)])
    });
    for ranks in [1, 2] {
        let outcome = run_ranks(ranks, &small(), |runtime| {
            let x = runtime.new_store(Shape::new(&[20]), DType::F64);
            let task = HostTask::new(|_| Err(Error::argument("test", "luck", "none")));
            runtime.submit_host(&FAILS, &[&x], task).unwrap();
            let found = below(&x, 0.0, |_| panic!("it is not called"));
            found.get().unwrap_err().to_string()
        });
        let expected = "`fails` failed: test: expected luck, found none";
        assert_eq!(outcome.unwrap(), vec![expected; ranks]);
    }
}

#[test]
fn memory_that_is_refused_is_a_failure_and_given_back() {
    let config = Config {
        memory_limit: 100_000,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    let x = vector(&runtime, mixed(20));
    let before = runtime.memory_in_use();
    let large = runtime.submit_deferred("large", &[&x], planned, |args| {
        let room = args.room(1000)?;
        args.room::<f64>(1_000_000)?;
        Ok(Part::All(room))
    });
    let error = large.unwrap().get().unwrap_err().to_string();
    assert!(error.starts_with("`large` failed: "), "{error}");
    assert_eq!(runtime.memory_in_use(), before);
    assert_eq!(
        read(&below(&x, 0.0, nothing).get().unwrap()),
        expected(&mixed(20), 0.0)
    );
}

#[test]
fn parts_that_do_not_fit_fail_on_all_ranks() {
    let found = |what: [(bool, usize); 2]| {
        let outcome = run_ranks(2, &small(), |runtime| {
            let x = vector(runtime, mixed(20));
            let part = runtime.submit_deferred("parts", &[&x], planned, move |args| {
                let (is_all, len) = what[args.rank()];
                let room = args.room(len)?;
                Ok(if is_all {
                    Part::All(room)
                } else {
                    Part::Own(room)
                })
            });
            let stored = part
                .unwrap()
                .then(|runtime, part| runtime.store_of_part(part));
            stored
                .get()
                .map(|store| store.shape().len())
                .map_err(|error| error.to_string())
        });
        let outcome = outcome.unwrap();
        assert_eq!(outcome[0], outcome[1]);
        outcome[0].clone()
    };
    assert_eq!(found([(false, 2), (false, 5)]), Ok(7));
    assert_eq!(found([(true, 5), (true, 5)]), Ok(5));
    let expected = "store_of_part: expected parts as that of rank 0, ";
    let error = format!("{expected}all of 2 elements, found all of 5 elements on rank 1");
    assert_eq!(found([(true, 2), (true, 5)]), Err(error));
    let error = format!("{expected}own of 5 elements, found all of 5 elements on rank 1");
    assert_eq!(found([(false, 5), (true, 5)]), Err(error));
}

#[test]
fn a_function_that_calls_its_runtime_fails() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let x = vector(&runtime, mixed(20));
    let held = runtime.clone();
    let found = below(&x, 0.0, move |_| {
        held.flush();
        Ok(())
    });
    let error = found.get().unwrap_err().to_string();
    assert!(error.contains("leaves its runtime alone"), "{error}");
}

#[test]
fn ranks_exchange_what_they_need() {
    for ranks in 1..=5 {
        let all = run_ranks(ranks, &small(), |runtime| {
            let x = vector(runtime, mixed(30));
            // All, the same on every rank, whatever is found.
            let found = runtime.submit_deferred("gathered", &[&x], planned, |args| {
                let all = args.read_between::<f64>(0, 1, None)?;
                let found = expected(&all, 0.0);
                Ok(Part::All(filled(args.room(found.len())?, &found)))
            });
            let found = found
                .unwrap()
                .then(|runtime, part| runtime.store_of_part(part));
            let found = found.get().unwrap();
            runtime.local::<f64>(&found).unwrap().to_vec()
        });
        assert_eq!(all.unwrap(), vec![expected(&mixed(30), 0.0); ranks]);
    }
}

#[test]
fn it_is_explained_and_profiled_as_a_host_task_with_the_bytes_that_it_finds() {
    let config = Config {
        profile: true,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    let x = vector(&runtime, mixed(100));
    let _region = runtime.region("search");
    let found = below(&sum(1.0, &x, &x), 0.0, nothing).get().unwrap();
    let explained = runtime.explain();
    assert!(explained.contains("below"), "{explained}");
    let profile = runtime.profile().unwrap();
    let task = profile.kernels().find(|(name, _)| *name == "below");
    let (_, task) = task.expect("the profile has it by its name");
    assert_eq!((task.kind, task.calls), (TaskKind::Host, 1));
    // What it reads, a byte that says that it has ended, what it finds.
    assert_eq!(task.bytes, 800 + 1 + 8 * found.shape().len() as u64);
}

#[test]
fn a_plan_does_not_call_the_function() {
    let found = plan_rank(1, 3, &small(), |runtime| {
        let x = vector(runtime, mixed(50));
        let found = below(&x, 0.0, |_| panic!("a plan computes nothing"));
        let found = found.get().unwrap();
        let plan = runtime.take_plan();
        (plan[0].name.clone(), found.shape().len())
    });
    // One element on each rank.
    assert_eq!(found.unwrap(), ("below".to_owned(), 3));
}

#[test]
fn stores_that_do_not_fit_are_refused() {
    let runtimes = [(); 2].map(|()| Runtime::new(Config::default()).unwrap());
    let x = vector(&runtimes[0], mixed(3));
    let refused = |runtime: &Runtime, x: &StoreHandle| {
        let issued =
            runtime.submit_deferred("refused", &[x], planned, |_| panic!("it is not called"));
        issued.unwrap_err().to_string()
    };
    let error = refused(&runtimes[1], &x);
    assert_eq!(
        error,
        "submit_host: expected stores of one runtime, found stores of two"
    );
    let unwritten = runtimes[0].new_store(Shape::new(&[3]), DType::F64);
    let error = refused(&runtimes[0], &unwritten);
    assert!(error.contains("written"), "{error}");
}
