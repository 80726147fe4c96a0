//! What an integration has found, and why it ended.

use sparsefuse_dense::Array;
use std::fmt;

/// What an integration has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trajectory<T, const D: usize> {
    /// The times of the states that were asked for.
    pub times: Vec<f64>,
    /// These states.
    pub states: Vec<Array<T, D>>,
    /// The time that was reached: the end, or where the integration ended before.
    pub t: f64,
    /// The state at that time.
    pub y: Array<T, D>,
    /// Why it ended.
    pub end: IvpEnd,
    /// The times of each event, and the states at them.
    pub events: Vec<Vec<(f64, Array<T, D>)>>,
    /// The steps.
    pub steps: usize,
    /// The steps that were tried and were too long.
    pub rejected: usize,
    /// The evaluations of f.
    pub evaluations: usize,
    /// The factorisations of matrices.
    pub factorisations: usize,
}

/// Why an integration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum IvpEnd {
    /// It has reached the time that was asked for.
    Reached,
    /// An event was the last, that with this number.
    Event(usize),
    /// The monitor asked for it.
    Stopped,
    /// The error is too large with steps that hardly change the time: the state grows without
    /// bound, the slopes jump, are infinite or not a number, or the tolerances ask for more than
    /// the precision.
    StepTooShort,
    /// There were as many steps as were allowed.
    StepLimit,
}

impl fmt::Display for IvpEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reached => "reached the end",
            Self::Event(number) => return write!(f, "event {number}"),
            Self::Stopped => "stopped by the monitor",
            Self::StepTooShort => "the steps have become too short",
            Self::StepLimit => "step limit",
        })
    }
}

impl<T, const D: usize> Trajectory<T, D> {
    /// Whether the integration went where it was to go: to the end, or to a last event.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self.end, IvpEnd::Reached | IvpEnd::Event(_))
    }
}
