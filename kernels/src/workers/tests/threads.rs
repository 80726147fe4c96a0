//! Runs on real threads, more than the machine has cores among them.

use crate::workers::{Sections, Workers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ThreadId};

const COUNTS: [usize; 5] = [1, 2, 3, 4, 9];

#[test]
fn each_part_runs_once_in_each_phase_and_not_before_the_phase() {
    for count in COUNTS {
        let workers = Workers::new(count).unwrap();
        assert_eq!(workers.count(), count);
        for (phases, parts) in [(0, 3), (1, 0), (1, 1), (1, 5), (2, 2), (3, 4), (5, 20)] {
            let runs: Vec<_> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            let ended = AtomicUsize::new(0);
            workers.run_phases(phases, parts, |phase, part| {
                assert!(ended.load(Ordering::SeqCst) >= phase * parts);
                assert_eq!(runs[part].fetch_add(1, Ordering::SeqCst), phase);
                ended.fetch_add(1, Ordering::SeqCst);
            });
            assert_eq!(ended.into_inner(), phases * parts);
        }
    }
}

#[test]
fn a_part_has_its_thread() {
    let workers = Workers::new(3).unwrap();
    let threads = || -> Vec<ThreadId> {
        let threads = [const { Mutex::new(None) }; 3];
        let all_came = Barrier::new(3);
        workers.run_phases(2, 3, |phase, part| {
            if phase == 0 {
                all_came.wait();
            }
            let id = thread::current().id();
            let before = threads[part].lock().unwrap().replace(id);
            assert!(phase == 0 || before == Some(id));
        });
        threads.map(|id| id.into_inner().unwrap().unwrap()).to_vec()
    };
    let first = threads();
    assert_eq!(first[0], thread::current().id());
    assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2]);
    for _ in 0..100 {
        assert_eq!(first, threads());
    }
}

#[test]
fn what_a_thread_has_not_begun_runs_on_others() {
    for count in [2, 3, 5] {
        let workers = Workers::new(count).unwrap();
        // One thread is held up in its first part until all others have run.
        let runs = AtomicUsize::new(0);
        let (phases, parts) = (3, 4 * count);
        workers.run_phases(phases, parts, |phase, _| {
            let before = runs.fetch_add(1, Ordering::SeqCst);
            if before == phase * parts {
                while runs.load(Ordering::SeqCst) < (phase + 1) * parts {
                    thread::yield_now();
                }
            }
        });
        assert_eq!(runs.into_inner(), phases * parts);
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_threads_live_on() {
    for count in COUNTS {
        let workers = Workers::new(count).unwrap();
        for guilty in 0..6 {
            let later = AtomicUsize::new(0);
            let run = || {
                workers.run_phases(3, 3, |phase, part| {
                    assert!(phase * 3 + part != guilty, "part {part}");
                    later.fetch_add(usize::from(phase > guilty / 3), Ordering::SeqCst);
                });
            };
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            let expected = format!("part {}", guilty % 3);
            assert_eq!(panic.downcast_ref(), Some(&expected));
            assert_eq!(later.into_inner(), 0, "no phase follows a panic");
        }
        workers.run(3, |_| ());
    }
}

#[test]
fn parts_may_run_parts_and_threads_may_share_workers() {
    let workers = Workers::new(3).unwrap();
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    workers.run_phases(2, 4, |_, part| {
                        workers.run(2, |inner| {
                            sum.fetch_add(10 * part + inner, Ordering::SeqCst);
                        });
                    });
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), 4 * 200 * 2 * (2 * 60 + 4));
}

#[test]
fn threads_that_sleep_are_woken() {
    let workers = Workers::new(2).unwrap();
    let sum = AtomicUsize::new(0);
    for round in 0..200 {
        // Some pauses are shorter than a thread looks for work, some are longer.
        let pause = std::time::Duration::from_micros(round);
        let start = std::time::Instant::now();
        while start.elapsed() < pause {
            thread::yield_now();
        }
        workers.run_phases(2, 2, |_, part| {
            sum.fetch_add(part + 1, Ordering::SeqCst);
        });
    }
    assert_eq!(sum.into_inner(), 200 * 2 * 3);
}

#[test]
fn threads_that_join_a_team_take_part_until_it_is_dismissed() {
    for count in COUNTS {
        let team = Workers::team(count);
        assert_eq!(team.count(), count);
        thread::scope(|scope| {
            // One more than there are places.
            for _ in 0..count {
                scope.spawn(|| team.join());
            }
            // Each part waits for all others, so all threads must come.
            let together = Barrier::new(count);
            let ids = Mutex::new(Vec::new());
            team.run(count, |_| {
                together.wait();
                ids.lock().unwrap().push(thread::current().id());
            });
            let mut ids = ids.into_inner().unwrap();
            assert_eq!(ids.len(), count);
            ids.sort_by_key(|id| format!("{id:?}"));
            ids.dedup();
            assert_eq!(ids.len(), count);
            team.dismiss();
        });
        // No thread is left, and none may join.
        team.join();
        let runs = AtomicUsize::new(0);
        team.run(5, |_| {
            runs.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(runs.into_inner(), 5);
    }
}

#[test]
fn only_the_leader_of_a_team_dismisses_it_and_only_between_runs() {
    let started = Workers::new(2).unwrap();
    started.dismiss();
    started.join();
    let runs = AtomicUsize::new(0);
    started.run(2, |_| {
        started.dismiss();
        runs.fetch_add(1, Ordering::SeqCst);
    });
    let team = Workers::team(2);
    thread::scope(|scope| {
        scope.spawn(|| team.join());
        team.run(2, |_| {
            team.dismiss();
            runs.fetch_add(1, Ordering::SeqCst);
        });
        team.dismiss();
    });
    assert_eq!(runs.into_inner(), 4);
}

/// Steps on a grid, `width` to a line: each needs those before it in its line and in the line
/// before.
fn wave(lines: usize, width: usize, section: usize) -> Sections {
    let (mut pos, mut needs) = (vec![0], Vec::new());
    for step in 0..lines * width {
        needs.extend((step % width > 0).then(|| step as u32 - 1));
        needs.extend((step >= width).then(|| (step - width) as u32));
        pos.push(needs.len() as u32);
    }
    let ends = (section..lines * width)
        .step_by(section)
        .map(|end| end as u32);
    let ends: Vec<u32> = ends.chain([(lines * width) as u32]).collect();
    Sections::new(&ends, &pos, &needs).unwrap()
}

#[test]
fn a_step_begins_when_those_that_it_needs_have_ended() {
    let (lines, width) = (9, 5);
    for count in COUNTS {
        let workers = Workers::new(count).unwrap();
        for section in [1, 2, 5, 7, 100] {
            let sections = wave(lines, width, section);
            assert_eq!(sections.steps(), lines * width);
            let ends: Vec<_> = (0..lines * width).map(|_| AtomicUsize::new(0)).collect();
            for run in 1..20 {
                workers.run_sections(&sections, |step| {
                    let ended = |before: usize| ends[before].load(Ordering::Relaxed) == run;
                    assert!(step % width == 0 || ended(step - 1));
                    assert!(step < width || ended(step - width));
                    ends[step].store(run, Ordering::Relaxed);
                });
                assert!(ends.iter().all(|end| end.load(Ordering::Relaxed) == run));
            }
        }
    }
}

#[test]
fn a_step_may_need_very_many_sections() {
    const N: u32 = 100;
    // Each step needs all before it, or every third one.
    for stride in [1, 3] {
        let (mut pos, mut needs) = (vec![0], Vec::new());
        for step in 0..N {
            needs.extend((0..step).step_by(stride));
            pos.push(needs.len() as u32);
        }
        let ends: Vec<u32> = (1..=N).collect();
        let sections = Sections::new(&ends, &pos, &needs).unwrap();
        let workers = Workers::new(3).unwrap();
        let ended: Vec<_> = (0..N).map(|_| AtomicUsize::new(0)).collect();
        workers.run_sections(&sections, |step| {
            let mut needs = (0..step).step_by(stride);
            assert!(needs.all(|need| ended[need].load(Ordering::Relaxed) == 1));
            ended[step].store(1, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_panic_of_a_step_is_that_of_the_caller() {
    for count in COUNTS {
        let workers = Workers::new(count).unwrap();
        let sections = wave(6, 6, 6);
        let run = || workers.run_sections(&sections, |step| assert!(step != 14, "step 14"));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        workers.run_sections(&sections, |_| ());
    }
}

#[test]
fn sections_are_all_steps_which_need_earlier_ones() {
    let none: [u32; 0] = [];
    assert_eq!(
        Sections::new(&none, &[0], &none).map(|s| s.steps()),
        Some(0)
    );
    assert!(Sections::new(&[2], &[0, 0, 1], &[0]).is_some());
    for (ends, pos, needs) in [
        (&[2][..], &[0, 0, 1][..], &[1][..]),
        (&[1], &[0, 0, 1], &[0]),
        (&[2, 1, 2], &[0, 0, 1], &[0]),
        (&[2], &[0, 0, 2], &[0]),
        (&[2], &[0, 1, 0], &[]),
        (&[2], &[0, 0, 1], &[7]),
        (&[], &[], &[]),
    ] {
        assert_eq!(
            Sections::new(ends, pos, needs),
            None,
            "{ends:?} {pos:?} {needs:?}"
        );
    }
}
