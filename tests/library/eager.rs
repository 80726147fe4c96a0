//! Eager tasks: the runtime knows them by name, in its profile, its counters and `explain`; what
//! fails in them fails as it did.

use sparsefuse::prelude::*;
use sparsefuse::runtime::{KernelProfile, TaskKind};
use sparsefuse::solvers::preconditioners::Ilu0;
use sparsefuse::solvers::{Options, cg_with};
use sparsefuse::sparse::gallery;
use sparsefuse_testing::small;
use std::time::{Duration, Instant};

fn config() -> Config {
    Config {
        profile: true,
        check_ranks: true,
        native: None,
        ..small()
    }
}

/// The sums of an eager task; of none if it has not run.
fn sums_of(runtime: &Runtime, name: &str) -> Option<KernelProfile> {
    sums_of_kind(runtime, name, TaskKind::Eager)
}

fn sums_of_kind(runtime: &Runtime, name: &str, kind: TaskKind) -> Option<KernelProfile> {
    let profile = runtime.profile().unwrap();
    let mut tasks = profile.kernels();
    let task = tasks.find(|(other, task)| *other == name && task.kind == kind);
    task.map(|(_, task)| task.clone())
}

#[test]
fn a_profile_names_operations_with_their_calls_and_bytes() {
    for ranks in [1, 3] {
        let outcomes = run_ranks(ranks, &config(), |runtime| {
            let a = gallery::diffusion2d::<f64>(12)?;
            let square = a.transpose()?.try_matmul(&a)?;
            assert_eq!(square.transpose()?.nnz(), square.nnz());
            let ilu = Ilu0::new(&a)?;
            let options = Options {
                preconditioner: Some(&ilu),
                ..Options::default()
            };
            let solution = cg_with(&a, &Vector::ones([144]), options)?;
            assert!(solution.converged());
            let calls_of = |name: &str, kind| {
                let sums = sums_of_kind(runtime, name, kind);
                let sums = sums.unwrap_or_else(|| panic!("no {name}"));
                assert!(sums.bytes > 0, "{name} on rank {}", runtime.rank());
                assert!(sums.waited <= sums.seconds, "{name}: {sums:?}");
                sums.calls
            };
            let calls = |name| calls_of(name, TaskKind::Eager);
            assert_eq!(calls("assemble"), 1);
            assert_eq!(calls("transpose"), 2);
            assert_eq!(calls("spgemm"), 1);
            assert_eq!(calls("ilu0"), 1);
            assert_eq!(calls("triangular_setup"), 2);
            // Its application is a task of the window.
            let solves = calls_of("triangular_solve", TaskKind::Host);
            let iterations = solution.iterations as u64;
            assert!((iterations..=iterations + 2).contains(&solves), "{solves}");
            let counters = runtime.counters();
            assert_eq!((counters.eager, counters.host_tasks), (7, solves));
            let table = runtime.profile().unwrap().table();
            for expected in ["spgemm (eager)", "triangular_solve (host)", "spmv"] {
                assert!(table.contains(expected), "{table}");
            }
            Ok::<_, Error>(())
        });
        outcomes
            .unwrap()
            .into_iter()
            .for_each(|outcome| outcome.unwrap());
    }
}

#[test]
fn a_rank_reads_and_makes_the_bytes_of_its_rows() {
    let a_bytes = |rows: usize, entries: usize| 8 * (rows + 1) + 12 * entries;
    let runtime = Runtime::new(config()).unwrap();
    runtime.enter(|| {
        let a = gallery::poisson1d::<f64>(40).unwrap();
        let whole = a_bytes(40, 118);
        a.transpose().unwrap();
        let sums = sums_of(&runtime, "transpose").unwrap();
        assert_eq!(sums.bytes as usize, 2 * whole);
        a.diagonal(0).unwrap();
        let sums = sums_of(&runtime, "diagonal").unwrap();
        assert_eq!(sums.bytes as usize, whole + 8 * 40);
    });
    let read = run_ranks(2, &config(), |runtime| {
        let a = gallery::poisson1d::<f64>(40).unwrap();
        a.diagonal(0).unwrap();
        sums_of(runtime, "diagonal").unwrap().bytes as usize
    });
    // The last rank has the position behind the last row.
    let read: usize = read.unwrap().iter().sum();
    assert_eq!(read, a_bytes(40, 118) + 8 * 40);
}

/// Keeps the thread busy for so long.
fn work_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn no_second_is_counted_twice() {
    const PAUSE: Duration = Duration::from_millis(20);
    let runtime = Runtime::new(config()).unwrap();
    runtime.enter(|| {
        let x = Vector::<f64>::ones([100]);
        let begin = Instant::now();
        let inner = || {
            work_for(PAUSE);
            (&x + 1.0).sum().get()
        };
        let outer = || {
            work_for(PAUSE);
            runtime.eager_task("inner", &[], inner)
        };
        let sum = runtime.eager_task("outer", &[x.store()], outer).unwrap();
        assert_eq!(sum, 200.0);
        let elapsed = begin.elapsed().as_secs_f64();
        let seconds = |name| sums_of(&runtime, name).unwrap().seconds;
        let pause = PAUSE.as_secs_f64();
        assert!(seconds("inner") >= pause && seconds("outer") >= pause);
        let profile = runtime.profile().unwrap();
        let all = profile.kernels().map(|(_, task)| task.seconds);
        assert!(all.sum::<f64>() <= elapsed, "{}", profile.table());
        let fused = profile
            .kernels()
            .filter(|(_, task)| task.kind == TaskKind::Fused);
        let calls: u64 = fused.map(|(_, task)| task.calls).sum();
        assert_eq!(calls, runtime.counters().fused_tasks);
        assert_eq!(sums_of(&runtime, "outer").unwrap().bytes, 800);
    });
}

#[test]
fn what_fails_in_a_task_fails_as_it_is() {
    // [ 1 2 ]
    // [ 2 4 ]
    let runtime = Runtime::new(config()).unwrap();
    runtime.enter(|| {
        let a = Csr::new(
            2,
            2,
            vec![0, 2, 4],
            vec![0, 1, 0, 1],
            vec![1.0, 2.0, 2.0, 4.0],
        )
        .unwrap();
        let error = Ilu0::new(&a).unwrap_err().to_string();
        let expected = "ilu(0): expected a finite pivot other than 0 in row 1, found 0";
        assert_eq!(error, expected);
        assert_eq!(sums_of(&runtime, "ilu0").unwrap().calls, 1);
        let refused = Error::argument("work", "luck", "none");
        let outcome = runtime.eager_task("work", &[], || Err::<(), _>(refused.clone()));
        assert_eq!(outcome, Err(refused));
    });
}

#[test]
fn the_failure_of_another_task_passes_through() {
    let runtime = Runtime::new(Config {
        memory_limit: 60_000,
        ..config()
    });
    let runtime = runtime.unwrap();
    runtime.enter(|| {
        let a = gallery::poisson1d::<f64>(1000).unwrap();
        let b = a.scale(2.0);
        let failed = b.transpose().unwrap_err().to_string();
        assert!(failed.starts_with("`mul` failed: expected"), "{failed}");
        assert_eq!(b.values().to_vec().unwrap_err().to_string(), failed);
    });
}

#[test]
fn explain_names_what_has_run_since_the_last_window() {
    let runtime = Runtime::new(config()).unwrap();
    runtime.enter(|| {
        let a = gallery::poisson1d::<f64>(40).unwrap();
        let b = a.scale(2.0);
        b.transpose().unwrap();
        b.transpose().unwrap();
        b.diagonal(0).unwrap();
        let text = runtime.explain();
        let (window, since) = text.split_once("eager tasks since then\n").unwrap();
        assert!(window.contains("mul"), "{text}");
        assert_eq!(since, "  transpose, 2 times\n  diagonal\n");
        (b.values() * 3.0).to_vec().unwrap();
        assert!(!runtime.explain().contains("eager"));
    });
}
