//! Regions of a program: profiles and explanations tell where tasks were issued, and nothing else
//! changes.

use sparsefuse_dense::{Scalar, Vector, repeat};
use sparsefuse_runtime::{Config, Runtime, run_ranks};
use sparsefuse_testing::small;

fn config() -> Config {
    Config {
        profile: true,
        ..small()
    }
}

/// Regions with their tasks: name, calls.
fn found(runtime: &Runtime) -> Vec<(String, String, u64)> {
    let profile = runtime.profile().expect("it was asked for");
    let tasks = profile.kernels();
    let mut tasks: Vec<_> = tasks
        .map(|(name, task)| (task.region.clone(), name.to_owned(), task.calls))
        .collect();
    tasks.sort();
    tasks
}

#[test]
fn tasks_are_listed_under_the_region_where_they_were_issued() {
    for ranks in [1, 3] {
        let outcomes = run_ranks(ranks, &config(), |runtime| {
            let x = Vector::<f64>::from_fn([50], |[i]| i as f64);
            runtime.flush();
            runtime.reset_profile();
            let outer = runtime.region("solve");
            let y = {
                let _inner = runtime.region("scale");
                let y = &x * 2.0;
                runtime.flush();
                y
            };
            let z = &y + 1.0;
            let sum = z.sum();
            drop(outer);
            // Issued outside of all, and fused with what was issued within one.
            let w = &z * 3.0;
            runtime.flush();
            let text = runtime.explain();
            assert!(text.contains("t0: [solve] add"), "{text}");
            assert!(text.contains("t2: mul"), "{text}");
            let v = &w - 1.0;
            runtime.flush();
            drop((sum, w, v));
            found(runtime)
        });
        for tasks in outcomes.unwrap() {
            let tasks: Vec<_> = tasks
                .iter()
                .map(|(region, name, calls)| (region.as_str(), name.as_str(), *calls))
                .collect();
            assert_eq!(
                tasks,
                [
                    ("", "sub", 1),
                    ("solve", "add+sum+mul", 1),
                    ("solve/scale", "mul", 1),
                ]
            );
        }
    }
}

#[test]
fn a_fused_task_is_listed_under_all_its_regions() {
    let runtime = Runtime::new(config()).unwrap();
    runtime.enter(|| {
        let x = Vector::<f64>::ones([50]);
        runtime.flush();
        let first = runtime.region("first");
        let y = &x * 2.0;
        // A region may end later than one that began after it.
        let second = runtime.region("second");
        drop(first);
        let z = &y + 1.0;
        drop(second);
        runtime.flush();
        drop((y, z));
    });
    let profile = runtime.profile().unwrap();
    let regions: Vec<_> = profile.regions().map(|(name, _)| name).collect();
    assert_eq!(regions, ["", "first+first/second"]);
    let table = profile.table();
    assert!(table.contains("first+first/second: mul+add\n"), "{table}");
    assert!(table.contains("  (none)\n"), "{table}");
}

#[test]
fn regions_change_neither_bits_nor_what_is_remembered() {
    let run = |is_named: bool| {
        let runtime = Runtime::new(config()).unwrap();
        let bits = runtime.enter(|| {
            let mut x = Vector::<f64>::from_fn([300], |[i]| (i as f64).sin());
            for step in 0..8 {
                let name = if step % 2 == 0 { "even" } else { "odd" };
                let region = is_named.then(|| runtime.region(name));
                x = &x * 1.5 - &x * &x;
                drop(region);
                x = x.tanh();
                runtime.flush();
            }
            x.to_vec().unwrap()
        });
        let bits: Vec<_> = bits.into_iter().map(f64::to_bits).collect();
        let counters = runtime.counters();
        let names: Vec<_> = (runtime.profile().unwrap().regions())
            .map(|(name, _)| name.to_owned())
            .collect();
        (bits, counters.trace_hits, counters.fused_tasks, names)
    };
    let (bits, hits, fused, names) = run(true);
    let (plain_bits, plain_hits, plain_fused, plain_names) = run(false);
    assert_eq!(bits, plain_bits);
    assert_eq!((hits, fused), (plain_hits, plain_fused));
    assert!(hits > 0);
    assert_eq!(names, ["even", "odd"]);
    assert_eq!(plain_names, [""]);
}

#[test]
fn rounds_that_are_done_again_are_in_their_regions() {
    let runtime = Runtime::new(config()).unwrap();
    let rounds = runtime.enter(|| {
        let mut x = Vector::<f64>::full([50], 100.0);
        runtime.flush();
        repeat(6, &mut x, |x: &mut Vector<f64>| {
            let _region = runtime.region("halve");
            *x = &*x * 0.5;
            let goes_on: Scalar<bool> = x.max().greater(1.0);
            Ok(goes_on)
        })
        .unwrap()
    });
    assert_eq!(rounds, 6);
    assert!(runtime.counters().rounds > 0);
    let tasks = found(&runtime);
    let calls = tasks.iter().filter(|(region, ..)| region == "halve");
    assert_eq!(calls.map(|(.., calls)| calls).max(), Some(&6), "{tasks:?}");
}

#[test]
fn names_of_many_operations_are_shortened() {
    let runtime = Runtime::new(config()).unwrap();
    runtime.enter(|| {
        let mut x = Vector::<f64>::ones([50]);
        for _ in 0..30 {
            x = (&x + 1.0).sqrt() * 2.0;
        }
        runtime.flush();
        drop(x);
    });
    let profile = runtime.profile().unwrap();
    let (name, _) = profile
        .kernels()
        .max_by_key(|(name, _)| name.len())
        .unwrap();
    assert!(name.len() > 200, "{name}");
    let table = profile.table();
    assert!(table.contains("+... (91 operations)\n"), "{table}");
    let longest = table.lines().map(str::len).max();
    assert!(longest.is_some_and(|longest| longest < 160), "{table}");
}
