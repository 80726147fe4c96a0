//! Every interleaving of short runs, up to a number of forced switches between threads.
//!
//! The parts use cells that loom watches: an access that is not ordered after the one before fails,
//! as does a thread that nobody wakes.

use crate::workers::{Sections, Workers};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn explore(program: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(program);
}

/// A number without any synchronisation of its own.
#[derive(Default)]
struct Number(UnsafeCell<usize>);

// SAFETY: not sound at all by itself, but loom fails where two accesses are not ordered.
unsafe impl Sync for Number {}
// SAFETY: as above.
unsafe impl Send for Number {}

impl Number {
    fn add(&self, n: usize) {
        // SAFETY: loom checks that no other access happens meanwhile.
        self.0.with_mut(|number| unsafe { *number += n });
    }

    fn get(&self) -> usize {
        // SAFETY: as above.
        self.0.with(|number| unsafe { *number })
    }
}

#[test]
fn two_runs_and_the_end() {
    explore(|| {
        let workers = Workers::new(2).unwrap();
        let numbers: [Number; 2] = Default::default();
        for runs in 1..3 {
            workers.run(2, |part| numbers[part].add(1));
            assert_eq!(numbers.each_ref().map(Number::get), [runs; 2]);
        }
    });
}

#[test]
fn a_phase_sees_the_one_before() {
    explore(|| {
        let workers = Workers::new(2).unwrap();
        let numbers: [Number; 2] = Default::default();
        let seen: [Number; 2] = Default::default();
        workers.run_phases(2, 2, |phase, part| match phase {
            0 => numbers[part].add(part + 1),
            _ => seen[part].add(numbers[1 - part].get()),
        });
        assert_eq!(seen.each_ref().map(Number::get), [2, 1]);
    });
}

#[test]
fn three_threads_in_two_phases() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(1);
    model.check(|| {
        let workers = Workers::new(3).unwrap();
        let numbers: [Number; 3] = Default::default();
        workers.run_phases(2, 3, |phase, part| numbers[(part + phase) % 3].add(1));
        assert_eq!(numbers.each_ref().map(Number::get), [2; 3]);
    });
}

#[test]
fn parts_that_others_have_not_begun() {
    explore(|| {
        let workers = Workers::new(2).unwrap();
        let numbers: [Number; 3] = Default::default();
        for runs in 1..3 {
            workers.run(3, |part| numbers[part].add(1));
            assert_eq!(numbers.each_ref().map(Number::get), [runs; 3]);
        }
    });
}

#[test]
fn parts_that_others_have_not_begun_in_two_phases() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let workers = Workers::new(2).unwrap();
        let numbers: [Number; 4] = Default::default();
        workers.run_phases(2, 4, |phase, part| numbers[(part + phase) % 4].add(1));
        assert_eq!(numbers.each_ref().map(Number::get), [2; 4]);
    });
}

#[test]
fn a_panic_lets_nobody_wait() {
    explore(|| {
        let workers = Workers::new(2).unwrap();
        let run = || workers.run_phases(2, 2, |phase, part| assert!((phase, part) != (0, 1)));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        workers.run(2, |_| ());
    });
}

#[test]
fn two_callers() {
    explore(|| {
        let workers = Arc::new(Workers::new(2).unwrap());
        let other = {
            let workers = Arc::clone(&workers);
            loom::thread::spawn(move || {
                let numbers: [Number; 2] = Default::default();
                workers.run(2, |part| numbers[part].add(1));
                assert_eq!(numbers.each_ref().map(Number::get), [1; 2]);
            })
        };
        let numbers: [Number; 2] = Default::default();
        workers.run(2, |part| numbers[part].add(1));
        assert_eq!(numbers.each_ref().map(Number::get), [1; 2]);
        other.join().unwrap();
    });
}

#[test]
fn a_thread_joins_a_team_that_runs_and_is_dismissed() {
    explore(|| {
        let team = Arc::new(Workers::team(2));
        let joins = loom::thread::spawn({
            let team = Arc::clone(&team);
            move || team.join()
        });
        let numbers: [Number; 2] = Default::default();
        team.run(2, |part| numbers[part].add(1));
        assert_eq!(numbers.each_ref().map(Number::get), [1; 2]);
        team.dismiss();
        team.run(2, |part| numbers[part].add(1));
        assert_eq!(numbers.each_ref().map(Number::get), [2; 2]);
        joins.join().unwrap();
    });
}

/// As `explore`, with fewer switches: threads of sections look at many words.
fn explore_few(switches: usize, program: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(program);
}

/// Two sections of two steps, each of which needs its counterpart in the section before.
fn two_sections() -> Sections {
    Sections::new(&[2, 4], &[0, 0, 0, 1, 2], &[0, 1]).unwrap()
}

#[test]
fn a_step_sees_those_that_it_needs() {
    explore_few(2, || {
        let workers = Workers::new(2).unwrap();
        let numbers: [Number; 4] = Default::default();
        workers.run_sections(&two_sections(), |step| {
            let before = step
                .checked_sub(2)
                .map_or(0, |before| numbers[before].get());
            numbers[step].add(before + 1);
        });
        assert_eq!(numbers.each_ref().map(Number::get), [1, 1, 2, 2]);
    });
}

#[test]
fn a_step_that_panics_lets_no_other_begin_that_needs_it() {
    explore_few(1, || {
        let workers = Workers::new(2).unwrap();
        let has_run = Number::default();
        let run = || {
            workers.run_sections(&two_sections(), |step| match step {
                0 => panic!("step 0"),
                2 => has_run.add(1),
                _ => {}
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(has_run.get(), 0);
        workers.run(2, |_| ());
    });
}
