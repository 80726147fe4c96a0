//! Rounds of loops that are done again without being issued: the same bits everywhere, and rounds
//! that may not be done again.

use sparsefuse_dense::{Rounds, Scalar, State, Vector, repeat};
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_testing::{bits, everywhere, small};
use std::cell::{Cell, RefCell};

/// Runs rounds of a loop, by [`Rounds`] or all issued; returns how many were done again.
fn rounds<S: State>(
    (count, by_rounds): (usize, bool),
    state: &mut S,
    round: impl Fn(&mut S) -> Result<(), Error>,
    mut after: impl FnMut(usize, &mut S) -> Result<(), Error>,
) -> Result<u64, Error> {
    let runtime = Runtime::current();
    runtime.flush();
    let before = runtime.counters().rounds;
    let mut rounds = Rounds::new();
    for number in 0..count {
        match by_rounds {
            true => rounds.run(state, &round)?,
            false => round(state)?,
        }
        after(number, state)?;
        runtime.flush();
    }
    Ok(runtime.counters().rounds - before)
}

/// The same loop with all rounds issued, and with rounds done again: equal bits, and this many of
/// the rounds were.
#[track_caller]
fn expect_again<S: State>(
    (count, again): (usize, u64),
    state: impl Fn() -> S + Sync,
    round: impl Fn(&mut S) -> Result<(), Error> + Sync,
    after: impl Fn(usize, &mut S) -> Result<(), Error> + Sync,
    result: impl Fn(&S) -> Result<Vec<f64>, Error> + Sync,
) {
    everywhere(|| {
        let (mut issued, mut repeated) = (state(), state());
        let none = rounds((count, false), &mut issued, &round, &after)?;
        let some = rounds((count, true), &mut repeated, &round, &after)?;
        assert_eq!((none, some), (0, again), "rounds that were done again");
        let (issued, repeated) = (bits(&result(&issued)?), bits(&result(&repeated)?));
        assert_eq!(issued, repeated);
        Ok(repeated)
    });
}

fn ramp(n: usize) -> Vector<f64> {
    Vector::from_vec((0..n).map(|i| (i as f64 * 0.7).sin()).collect())
}

fn nothing<S>(_: usize, _: &mut S) -> Result<(), Error> {
    Ok(())
}

#[test]
fn a_round_is_issued_twice_and_done_again() {
    let state = || (ramp(29), ramp(29) * 2.0, Scalar::new(1.0));
    let round = |(x, y, s): &mut (Vector<f64>, Vector<f64>, Scalar<f64>)| {
        *s = x.dot(y) * 0.001 + &*s;
        let next = &*y + &*x * &*s;
        *x = std::mem::replace(y, next * 0.5);
        Ok(())
    };
    let result = |(x, y, s): &(Vector<f64>, Vector<f64>, Scalar<f64>)| {
        let mut all = x.to_vec()?;
        all.extend(y.to_vec()?);
        all.push(s.get()?);
        Ok(all)
    };
    expect_again((10, 8), state, round, nothing, result);
}

#[test]
fn stores_that_change_places_are_followed() {
    let state = || [ramp(9), ramp(9) + 1.0, ramp(9) + 2.0];
    let round = |state: &mut [Vector<f64>; 3]| {
        state.rotate_left(1);
        Ok(())
    };
    // Nothing is issued, so there is nothing to be done again.
    let sum = |state: &[Vector<f64>; 3]| (&state[0] - &state[1] * 3.0).to_vec();
    expect_again((7, 0), state, round, nothing, sum);
    let round = |state: &mut [Vector<f64>; 3]| {
        state.rotate_left(1);
        state[0] += 0.25;
        Ok(())
    };
    expect_again((7, 5), state, round, nothing, sum);
}

#[test]
fn one_store_in_two_places_is_not_two() {
    // x and y are one store at first, then two.
    let state = || {
        let x = ramp(12);
        (x.clone(), x)
    };
    let round = |(x, y): &mut (Vector<f64>, Vector<f64>)| {
        *y = &*x * 0.5 + &*y;
        Ok(())
    };
    let result = |(x, y): &(Vector<f64>, Vector<f64>)| (x - y).to_vec();
    expect_again((6, 3), state, round, nothing, result);
    // Behind the fifth round they are one store again.
    let join = |number, (x, y): &mut (Vector<f64>, Vector<f64>)| {
        if number == 4 {
            *y = x.clone();
        }
        Ok(())
    };
    expect_again((9, 3), state, round, join, result);
}

#[test]
fn what_is_written_in_place_and_held_elsewhere_stays() {
    let state = || ramp(20);
    let round = |x: &mut Vector<f64>| x.try_assign_slice(3..15, 0.125);
    everywhere(|| {
        let mut x = state();
        let mut kept = Vec::new();
        let keep = |number: usize, x: &mut Vector<f64>| {
            *x += &ramp(20);
            if number >= 4 {
                kept.push((x.clone(), bits(&x.to_vec()?)));
            }
            Ok(())
        };
        rounds((8, true), &mut x, round, keep)?;
        for (kept, then) in &kept {
            assert_eq!(bits(&kept.to_vec()?), *then);
        }
        x.to_vec().map(|x| bits(&x))
    });
}

#[test]
fn a_round_that_asks_or_changes_is_issued_each_time() {
    let result = |x: &Vector<f64>| x.to_vec();
    let state = || ramp(17);
    // A value decides.
    let asks = |x: &mut Vector<f64>| {
        *x = match x.sum().get()? > 1.0 {
            true => &*x * 0.5,
            false => &*x + 1.0,
        };
        Ok(())
    };
    expect_again((8, 0), state, asks, nothing, result);
    // A number that another round does not have.
    let calls = Cell::new(0);
    let mut x = ramp(5);
    let counts = |x: &mut Vector<f64>| {
        calls.set(calls.get() + 1);
        *x += f64::from(calls.get());
        Ok(())
    };
    assert_eq!(rounds((6, true), &mut x, counts, nothing).unwrap(), 0);
    assert_eq!(calls.get(), 6);
    // Elements of its own, which lie where an earlier state lay.
    let makes = |(x, y): &mut (Vector<f64>, Vector<f64>)| {
        *y = &*x + Vector::from_vec(vec![0.5; 17]);
        *x = &*y * 0.5;
        Ok(())
    };
    let sum = |(x, y): &(Vector<f64>, Vector<f64>)| (x + y).to_vec();
    expect_again((8, 0), || (ramp(17), ramp(17)), makes, nothing, sum);
}

#[test]
fn views_are_issued_and_shapes_may_change() {
    let result = |x: &Vector<f64>| x.to_vec();
    let round = |x: &mut Vector<f64>| {
        *x = &*x * 0.5 + 1.0;
        Ok(())
    };
    let shorten = |number, x: &mut Vector<f64>| {
        match number {
            3 => *x = x.slice(1..),
            6 => *x = Vector::from_vec(x.slice(2..).to_vec()?),
            _ => (),
        }
        Ok(())
    };
    // Each time two are issued before others are done again; that of the view is no such round.
    expect_again((11, 4), || ramp(23), round, shorten, result);
}

/// A state of another number of stores behind a round than before it.
#[test]
fn states_that_grow_are_issued() {
    let round = |stack: &mut Vec<Vector<f64>>| {
        let y = &stack[0] * 0.5;
        let z = &y + 1.0;
        stack[0] = y;
        stack.push(z);
        Ok(())
    };
    let after = |_: usize, stack: &mut Vec<Vector<f64>>| {
        let z = stack.pop().expect("the round has pushed it");
        stack[0] += z;
        Ok(())
    };
    let result = |stack: &Vec<Vector<f64>>| stack[0].to_vec();
    expect_again((7, 0), || vec![ramp(9)], round, after, result);
}

#[test]
fn failures_are_those_of_issued_rounds() {
    let runtime = Runtime::current();
    let mut x = ramp(8);
    let mut tries = Rounds::new();
    for number in 0..6 {
        let found = tries.run(&mut x, |x| {
            if number == 1 {
                return Err(Error::argument("test", "nothing", "something"));
            }
            *x += 1.0;
            Ok(())
        });
        assert_eq!(found.is_err(), number == 1);
        runtime.flush();
    }
    // One is issued before the failure, two behind it.
    assert_eq!(x.to_vec().unwrap()[0], 5.0);
}

#[test]
fn repeat_goes_on_as_long_as_it_is_told() {
    everywhere(|| {
        let mut state = (ramp(33) + 2.0, Scalar::new(0.0));
        let calls = Cell::new(0);
        let round = |(x, count): &mut (Vector<f64>, Scalar<f64>)| {
            calls.set(calls.get() + 1);
            *x = &*x * 0.75;
            *count = &*count + 1.0;
            Ok(x.sum().greater(0.01))
        };
        let count = repeat(100, &mut state, round)?;
        assert!(
            count > 5 && calls.get() < count,
            "{count} rounds, {} calls",
            calls.get()
        );
        assert_eq!(state.1.get()?, count as f64);
        assert_eq!(repeat(3, &mut state, |_| Ok(Scalar::new(true)))?, 3);
        assert_eq!(repeat(0, &mut state, |_| Ok(Scalar::new(true)))?, 0);
        Ok((count, bits(&state.0.to_vec()?)))
    });
}

#[test]
fn an_array_that_is_captured_and_held_by_the_loop_is_not_what_takes_its_place() {
    everywhere(|| {
        let runtime = Runtime::current();
        let c = Vector::from_fn([7], |[i]| i as f64);
        let mut state = (Vector::<f64>::zeros([7]), c.clone());
        let (before, mut rounds) = (runtime.counters().rounds, Rounds::new());
        for number in 0..11 {
            if number == 6 {
                state.1 = Vector::full([7], 100.0);
            }
            runtime.flush();
            rounds.run(&mut state, |(x, _): &mut (Vector<f64>, Vector<f64>)| {
                *x = &*x + &c;
                Ok::<(), Error>(())
            })?;
        }
        // Once it is replaced, the array is none of the loop's: two are issued again.
        assert_eq!(runtime.counters().rounds - before, 7);
        assert_eq!(state.0.to_vec()?, (&c * 11.0).to_vec()?);
        state.0.to_vec()
    });
}

/// The program puts an array into the state that the round has captured, and then another one.
#[test]
fn a_captured_array_that_the_program_puts_into_the_state_is_not_what_takes_its_place() {
    everywhere(|| {
        let (runtime, mut rounds) = (Runtime::current(), Rounds::new());
        let [c, d] = [1.0, 10.0].map(|c| Vector::<f64>::full([7], c));
        let mut found = Vec::new();
        for number in 0..6 {
            let begin = if number < 4 { &c } else { &d };
            let mut state = (begin.clone(), Vector::<f64>::zeros([7]));
            runtime.flush();
            rounds.run(&mut state, |(x, _): &mut (Vector<f64>, Vector<f64>)| {
                *x = &*x + &c;
                Ok::<(), Error>(())
            })?;
            found.push(state.0.to_vec()?[0]);
        }
        assert_eq!(found, [2.0, 2.0, 2.0, 2.0, 11.0, 11.0]);
        let mut rounds = Rounds::new();
        for number in 0..6 {
            let begin = if number < 4 { &c } else { &d };
            let mut state = (begin.clone(), Vector::<f64>::zeros([7]));
            runtime.flush();
            rounds.run(&mut state, |(x, y): &mut (Vector<f64>, Vector<f64>)| {
                (*x, *y) = (c.clone(), &*y + 1.0);
                Ok::<(), Error>(())
            })?;
            assert_eq!(state.0.to_vec()?[0], 1.0);
        }
        Ok(found)
    });
}

#[test]
fn a_round_belongs_to_one_runtime() {
    let two = [(); 2].map(|()| Runtime::new(small()).unwrap());
    let [c, mut x] = [1.0, 0.0].map(|c| two[0].enter(|| Vector::full([3], c)));
    let mut rounds = Rounds::new();
    let round = |x: &mut Vector<f64>| {
        *x = x.try_add(&c)?;
        Ok::<(), Error>(())
    };
    for _ in 0..5 {
        two[0].flush();
        rounds.run(&mut x, round).unwrap();
    }
    assert!(two[0].counters().rounds > 0);
    x = two[1].enter(|| Vector::zeros([3]));
    two[1].flush();
    let error = rounds.run(&mut x, round).unwrap_err().to_string();
    assert!(error.contains("stores of one runtime"), "{error}");
}

#[test]
fn rounds_that_issue_to_another_runtime_are_issued() {
    let two = [(); 2].map(|()| Runtime::new(small()).unwrap());
    let other = two[1].enter(|| RefCell::new(Vector::<f64>::zeros([3])));
    two[0].enter(|| {
        let mut x = Vector::<f64>::zeros([3]);
        let round = |x: &mut Vector<f64>| {
            *x = &*x + 1.0;
            *other.borrow_mut() += 1.0;
            Ok(x.sum().greater(-1.0))
        };
        assert_eq!(repeat(10, &mut x, round).unwrap(), 10);
        assert_eq!(x.to_vec().unwrap(), [10.0; 3]);
    });
    assert_eq!(other.into_inner().to_vec().unwrap(), [10.0; 3]);
}

/// Between rounds the program alone holds the state, also behind a round that has asked for a
/// value.
#[test]
fn rounds_keep_no_handles() {
    let mut x = Vector::<f64>::ones([50]);
    let mut rounds = Rounds::new();
    for _ in 0..6 {
        let runtime = x.runtime().clone();
        rounds
            .run(&mut x, |x| {
                *x = &*x * 0.5;
                x.sum().get().map(drop)
            })
            .unwrap();
        assert!(runtime.is_unique(x.store()));
        let _pending = &x + 1.0;
        rounds
            .run(&mut x, |x| {
                *x = &*x * 2.0;
                Ok::<_, Error>(())
            })
            .unwrap();
        runtime.flush();
        assert!(runtime.is_unique(x.store()));
    }
}
