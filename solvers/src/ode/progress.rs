//! How far an integration has come.

use super::trajectory::IvpEnd;
use sparsefuse_dense::Array;

/// A step that is tried again is at least this many times as long as it was,
pub(super) const LEAST_FACTOR: f64 = 0.2;
/// and one that follows at most this many times.
pub(super) const MOST_FACTOR: f64 = 10.0;
/// Why there is a last step.
pub(super) const AFTER_A_STEP: &str = "times within a step are asked for after a step";

/// A step that is tried.
#[derive(Clone, Copy)]
pub(super) struct Try {
    /// The time behind it.
    pub(super) t: f64,
    /// How far it goes, with a sign: to that time, which has been rounded, so that the state is
    /// one of it.
    pub(super) h: f64,
    /// The length that was wanted, before the time was rounded.
    pub(super) length: f64,
}

/// Time and state, and where they are to go.
pub(super) struct Progress<T, const D: usize> {
    pub(super) t: f64,
    pub(super) y: Array<T, D>,
    end: f64,
    /// 1 or -1.
    pub(super) towards: f64,
    max_step: f64,
    max_steps: usize,
    /// Steps that have been tried.
    pub(super) tries: usize,
}

impl<T, const D: usize> Progress<T, D> {
    /// From a time and a state up to another time.
    pub(super) fn new(
        (t, y): (f64, Array<T, D>),
        end: f64,
        max_step: f64,
        max_steps: Option<usize>,
    ) -> Self {
        Self {
            t,
            y,
            end,
            towards: if end < t { -1.0 } else { 1.0 },
            max_step,
            max_steps: max_steps.unwrap_or(usize::MAX),
            tries: 0,
        }
    }

    /// The next try of a step: about as far as `length`, but not beyond the end, and not so little
    /// that the time would not change. What is too short when it is tried again is the end of the
    /// integration, and so is a longest step that is.
    pub(super) fn next_try(&mut self, length: f64, is_again: bool) -> Result<Try, IvpEnd> {
        let least = self.least_step();
        if self.max_step < least || is_again && length < least {
            return Err(IvpEnd::StepTooShort);
        }
        if self.tries == self.max_steps {
            return Err(IvpEnd::StepLimit);
        }
        self.tries += 1;
        let length = length.min(self.max_step).max(least);
        let t = self.t + self.towards * length;
        let is_beyond = self.towards * (t - self.end) > 0.0;
        let t = if is_beyond { self.end } else { t };
        let h = t - self.t;
        let length = if is_beyond { h.abs() } else { length };
        Ok(Try { t, h, length })
    }

    pub(super) fn max_step(&self) -> f64 {
        self.max_step
    }

    /// The time to go to.
    pub(super) fn end(&self) -> f64 {
        self.end
    }

    /// Whether the end is reached.
    pub(super) fn is_done(&self) -> bool {
        self.t == self.end
    }

    /// The shortest step: ten times the distance to the next time that has another number.
    pub(super) fn least_step(&self) -> f64 {
        let next = match self.towards > 0.0 {
            true => self.t.next_up() - self.t,
            false => self.t - self.t.next_down(),
        };
        10.0 * next
    }
}
