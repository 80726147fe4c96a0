//! What is kept of an integration: states at some times, and where events happened.

use super::options::{Crossing, Event, Output};
use super::progress::Progress;
use super::trajectory::IvpEnd;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// The state at a time within the last step.
type StateAt<'s, T, const D: usize> = dyn FnMut(f64) -> Result<Array<T, D>, Error> + 's;

pub(super) struct Sampling<'a, T, const D: usize> {
    output: Output<'a>,
    pub(super) times: Vec<f64>,
    pub(super) states: Vec<Array<T, D>>,
    events: Vec<Event<'a, T, D>>,
    /// What the events have been at the last time; none before the first step.
    values: Vec<f64>,
    pub(super) found: Vec<Vec<(f64, Array<T, D>)>>,
}

impl<'a, T: Field, const D: usize> Sampling<'a, T, D> {
    pub(super) fn new(
        output: Output<'a>,
        mut events: Vec<Event<'a, T, D>>,
        at: &Progress<T, D>,
    ) -> Result<Self, Error> {
        if let Output::At(times) = output {
            check_times(times, at)?;
        }
        let values = events.iter_mut().map(|event| (event.value)(at.t, &at.y));
        let mut sampling = Self {
            values: values.collect::<Result<_, _>>()?,
            found: events.iter().map(|_| Vec::new()).collect(),
            output,
            times: Vec::new(),
            states: Vec::new(),
            events,
        };
        match sampling.output {
            Output::Steps => sampling.keep(at.t, at.y.clone()),
            Output::At(_) => sampling.keep_until(at, &mut |_| Ok(at.y.clone()))?,
            Output::End => {}
        }
        Ok(sampling)
    }

    /// Looks at a step that has begun at the time `before`; a last event makes it shorter.
    pub(super) fn step(
        &mut self,
        before: f64,
        at: &mut Progress<T, D>,
        state_at: &mut StateAt<'_, T, D>,
    ) -> Result<Option<IvpEnd>, Error> {
        let end = self.look_for_events(before, at, state_at)?;
        match self.output {
            Output::Steps => self.keep(at.t, at.y.clone()),
            Output::At(_) => self.keep_until(at, state_at)?,
            Output::End => {}
        }
        Ok(end)
    }

    fn keep(&mut self, t: f64, y: Array<T, D>) {
        self.times.push(t);
        self.states.push(y);
    }

    /// Keeps the states at the times up to this one that are asked for.
    fn keep_until(
        &mut self,
        at: &Progress<T, D>,
        state_at: &mut StateAt<'_, T, D>,
    ) -> Result<(), Error> {
        let Output::At(times) = self.output else {
            return Ok(());
        };
        let rest = times[self.times.len()..].iter();
        for &t in rest.take_while(|t| at.towards * (**t - at.t) <= 0.0) {
            let y = match t == at.t {
                true => at.y.clone(),
                false => state_at(t)?,
            };
            self.keep(t, y);
        }
        Ok(())
    }

    fn look_for_events(
        &mut self,
        before: f64,
        at: &mut Progress<T, D>,
        state_at: &mut StateAt<'_, T, D>,
    ) -> Result<Option<IvpEnd>, Error> {
        // Number, time and state of what has happened.
        let mut happened = Vec::new();
        for (number, event) in self.events.iter_mut().enumerate() {
            let value = (event.value)(at.t, &at.y)?;
            let last = std::mem::replace(&mut self.values[number], value);
            let is_crossing = match event.crossing {
                Crossing::Any => last < 0.0 && value >= 0.0 || last > 0.0 && value <= 0.0,
                Crossing::Rising => last < 0.0 && value >= 0.0,
                Crossing::Falling => last > 0.0 && value <= 0.0,
            };
            if is_crossing {
                let step = [(before, last), (at.t, value)];
                let (t, y) = crossing(event, step, at, state_at)?;
                happened.push((number, t, y));
            }
        }
        // Those that happen at the same time in the order of their numbers.
        happened.sort_by(|(_, one, _), (_, other, _)| {
            (at.towards * one).total_cmp(&(at.towards * other))
        });
        for (number, t, y) in happened {
            self.found[number].push((t, y.clone()));
            if self.events[number].is_last {
                (at.t, at.y) = (t, y);
                return Ok(Some(IvpEnd::Event(number)));
            }
        }
        Ok(None)
    }
}

/// The time in a step at which an event's value has just crossed 0, and the state then: by linear
/// interpolation, where the value at an end that stays a second time counts half (the Illinois
/// method), and by halving where three rounds have not halved the interval.
fn crossing<T: Field, const D: usize>(
    event: &mut Event<'_, T, D>,
    [(mut from, mut low), (mut to, mut high)]: [(f64, f64); 2],
    at: &Progress<T, D>,
    state_at: &mut StateAt<'_, T, D>,
) -> Result<(f64, Array<T, D>), Error> {
    let mut y = at.y.clone();
    let rounding = f64::EPSILON * to.abs().max(from.abs());
    // Which end has moved last, and the lengths of the interval in the last three rounds.
    let mut moved = None;
    let mut lengths = [f64::INFINITY; 3];
    for round in 0..200 {
        let length = (to - from).abs();
        if high == 0.0 || length <= 4.0 * rounding {
            break;
        }
        let before = std::mem::replace(&mut lengths[round % 3], length);
        let part = low / (low - high);
        let part = match part.is_nan() || length > before / 2.0 {
            true => 0.5,
            false => part,
        };
        // Near an end, beyond the rounding of the time.
        let least = 2.0 * rounding;
        let middle = from + (length * part).clamp(least, length - least) * (to - from).signum();
        if middle == from || middle == to {
            break;
        }
        let state = state_at(middle)?;
        let value = (event.value)(middle, &state)?;
        if value != 0.0 && (value > 0.0) == (low > 0.0) {
            let share = if moved == Some(End::Begin) { 0.5 } else { 1.0 };
            (from, low, high, moved) = (middle, value, high * share, Some(End::Begin));
        } else {
            let share = if moved == Some(End::Behind) { 0.5 } else { 1.0 };
            (to, high, low, y) = (middle, value, low * share, state);
            moved = Some(End::Behind);
        }
    }
    Ok((to, y))
}

/// An end of the interval that holds a crossing.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Begin,
    Behind,
}

/// Whether times lie between begin and end, in the order of the integration.
fn check_times<T, const D: usize>(times: &[f64], at: &Progress<T, D>) -> Result<(), Error> {
    let expected = "times of output between begin and end, in the order of the integration";
    let mut last = at.t;
    for &t in times {
        if !(at.towards * (t - last) >= 0.0 && at.towards * (t - at.end()) <= 0.0) {
            let found = format!("{t} behind {last}");
            return Err(Error::argument("solve_ivp", expected, found));
        }
        last = t;
    }
    Ok(())
}
