//! How far an integration has come.

use super::trajectory::IvpEnd;
use sparsefuse_dense::Array;

/// A step that is tried again is at least this many times as long as it was,
pub(super) const LEAST_FACTOR: f64 = 0.2;
/// and one that follows at most this many times.
pub(super) const MOST_FACTOR: f64 = 10.0;
/// Why there is a last step.
pub(super) const AFTER_A_STEP: &str = "times within a step are asked for after a step";

/// Time and state, and where they are to go.
pub(super) struct Progress<T, const D: usize> {
    pub(super) t: f64,
    pub(super) y: Array<T, D>,
    end: f64,
    /// 1 or -1.
    pub(super) towards: f64,
    longest_step: f64,
    most_steps: usize,
    /// Steps that have been tried.
    pub(super) tries: usize,
}

impl<T, const D: usize> Progress<T, D> {
    /// From a time and a state up to another time.
    pub(super) fn new(
        (t, y): (f64, Array<T, D>),
        end: f64,
        longest_step: f64,
        most_steps: Option<usize>,
    ) -> Self {
        Self {
            t,
            y,
            end,
            towards: if end < t { -1.0 } else { 1.0 },
            longest_step,
            most_steps: most_steps.unwrap_or(usize::MAX),
            tries: 0,
        }
    }

    /// How far to go at the next try of a step, with a sign: about `length`, but not beyond the
    /// end, and not so little that the time would not change. What is too short when it is tried
    /// again is the end of the integration.
    pub(super) fn next_try(&mut self, length: f64, is_again: bool) -> Result<f64, IvpEnd> {
        let least = 10.0 * self.rounding();
        if is_again && length < least {
            return Err(IvpEnd::StepTooShort);
        }
        if self.tries == self.most_steps {
            return Err(IvpEnd::StepLimit);
        }
        self.tries += 1;
        let h = self.towards * length.min(self.longest_step).max(least);
        Ok(match self.is_end(self.t + h) {
            true => self.end - self.t,
            false => h,
        })
    }

    /// The time behind a step.
    pub(super) fn after(&self, h: f64) -> f64 {
        match self.is_end(self.t + h) {
            true => self.end,
            false => self.t + h,
        }
    }

    /// Whether this time is the end, or would be beyond.
    fn is_end(&self, t: f64) -> bool {
        self.towards * (t - self.end) >= 0.0
    }

    /// The time to go to.
    pub(super) fn end(&self) -> f64 {
        self.end
    }

    /// Whether the end is reached.
    pub(super) fn is_done(&self) -> bool {
        self.t == self.end
    }

    /// The distance to the next time that has another number.
    fn rounding(&self) -> f64 {
        match self.towards > 0.0 {
            true => self.t.next_up() - self.t,
            false => self.t - self.t.next_down(),
        }
    }
}
