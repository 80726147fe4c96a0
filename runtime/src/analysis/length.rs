//! How many tasks a window takes before it is full: as many as whole periods of the program.
//!
//! A program that reads nothing for long is executed in full windows. Were these cut at a fixed
//! number of tasks, each would begin at another place of the program's loop, have a key of its own
//! and be analysed. So [`Length`] keeps the tasks of the last full windows, looks for the smallest
//! period of their end, and cuts at multiples of it; then all full windows have the same key.
//!
//! A program may go from one loop to another one and back. Windows are cut at whole periods behind
//! the place where a loop has begun, and what was decided behind a window that was new is decided
//! again when it comes back; so the second time all its windows are known.
//!
//! All of this is a function of the tasks, of where they see their stores, of the shapes of these
//! and of the settings, so every rank decides alike.

use crate::analysis::schedule::{After, Schedule};

/// Full windows that are remembered before the window grows: a longer one is analysed anew, which
/// pays where the program goes on repeating itself.
const HITS_TO_GROW: u32 = 8;

/// Tasks that must be the same as one period before them, where the period is longer than that.
const PROOF: usize = 128;

/// Bytes of results that a window may make and drop again in products on several ranks. There they
/// all have memory until their task has run, so a window with more of them than the cache of a core
/// holds sends them to memory and back; elsewhere later results have the memory of earlier ones
/// (`reuse::share`), and the length makes no difference. Measured before that was so, with caches
/// of 2 MiB, in us a round of `x = x + (b - A x) w` on 256² points, of which each round makes one
/// that passes, in windows of 1, 2, 4, 8 and 16 rounds: 66, 71, 75, 77, 90. On 64² points windows
/// of 2 to 16 rounds are equal, one of 64 takes a fifth longer.
const MOST_PASSING: usize = 512 << 10;

/// Elements that the tasks of a window write from which on a longer one costs less by a few
/// hundredths at most, if it has several periods: a millisecond, beside which it does not matter
/// that a window is looked up, begun and ended. But its fused tasks are new and long, and run in
/// blocks for seconds until they have native code: 102 steps of `mandelbrot` were 1020 operations,
/// of 3.7 ms a step in place of 1.0.
const MUCH: usize = 4 << 20;
/// The least number of periods of such a window.
const SEVERAL: usize = 8;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Length {
    /// Tasks that make the window full.
    tasks: usize,
    /// Tasks that a full window has where no period is known, and at most where several fit.
    capacity: usize,
    /// What the capacity may grow to.
    most: usize,
    /// Remembered full windows since the capacity grew.
    hits: u32,
    period: Option<usize>,
    /// Periods whose passing results fit the cache; at least 1.
    fitting: usize,
    /// Hashes of the last tasks, see [`Schedule::steps`]; only those of consecutive full windows.
    recent: Vec<u64>,
}

impl Length {
    pub(crate) fn new(first: usize, most: usize) -> Self {
        Self {
            tasks: first,
            capacity: first,
            most,
            hits: 0,
            period: None,
            fitting: usize::MAX,
            recent: Vec::new(),
        }
    }

    /// Tasks that make the window full.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }

    /// The program has ended a window: the next one begins where it wants.
    pub(crate) fn begin(&mut self) {
        self.recent.clear();
        self.tasks = self.regular();
    }

    /// A full window has run, with this schedule.
    pub(crate) fn filled(&mut self, schedule: &Schedule, was_remembered: bool) {
        self.keep(&schedule.steps);
        if was_remembered {
            self.grow(schedule);
            self.tasks = self.regular();
            let after = schedule.after.get();
            if let Some(after) = after.filter(|after| after.capacity == self.capacity) {
                (self.period, self.fitting) = (after.period, after.fitting);
                self.tasks = after.tasks;
            }
        } else {
            let begun = self.look_for_period(schedule);
            let early = self
                .period
                .map_or(0, |period| early(&schedule.alive, period, begun));
            self.tasks = self.regular() - early - self.surplus(begun, early);
            // It is new, so nothing has been decided behind it.
            let _ = schedule.after.set(After {
                capacity: self.capacity,
                period: self.period,
                fitting: self.fitting,
                tasks: self.tasks,
            });
        }
    }

    /// The tasks of whole periods by which the next window had better be shorter, so that the
    /// windows of a loop that began this number of tasks ago are cut where they would be if one had
    /// begun with it.
    fn surplus(&self, begun: Option<usize>, early: usize) -> usize {
        let behind = begun.and_then(|begun| begun.checked_sub(early));
        let (Some(period), Some(behind)) = (self.period, behind) else {
            return 0;
        };
        behind % self.regular() / period * period
    }

    /// Tasks of a full window that begins at the place where the one before has ended.
    fn regular(&self) -> usize {
        match self.period {
            Some(period) => period * (self.capacity / period).clamp(1, self.fitting),
            None => self.capacity,
        }
    }

    fn keep(&mut self, steps: &[u64]) {
        self.recent.extend_from_slice(steps);
        let enough = self.most.saturating_mul(2);
        if self.recent.len() / 2 > enough {
            self.recent.drain(..self.recent.len() - enough);
        }
    }

    fn grow(&mut self, schedule: &Schedule) {
        let fits = match self.period {
            Some(period) => {
                let periods = self.capacity / period;
                let is_long = periods >= SEVERAL && schedule.elements >= MUCH;
                periods < self.fitting && !is_long
            }
            None => schedule.passing <= MOST_PASSING / 2,
        };
        if !fits || schedule.fused.len() != 1 || self.capacity == self.most {
            return;
        }
        self.hits += 1;
        if self.hits == HITS_TO_GROW {
            self.hits = 0;
            self.capacity = self.capacity.saturating_mul(2).min(self.most);
        }
    }

    /// How many tasks ago the loop has begun that the program is in, if it is another one than
    /// before.
    fn look_for_period(&mut self, schedule: &Schedule) -> Option<usize> {
        let tasks = schedule.steps.len();
        let found = period(&self.recent, tasks / 2).filter(|&(period, _)| period <= self.most);
        let mut begun = None;
        if let Some((period, length)) = found
            && self.period != Some(period)
        {
            self.period = Some(period);
            self.fitting = usize::MAX;
            begun = Some(length);
        }
        if let Some(period) = self.period {
            let passing = (schedule.passing / tasks * period).max(1);
            // It never grows again: a shorter window makes fewer results that pass.
            self.fitting = self.fitting.min(MOST_PASSING / passing).max(1);
        }
        begun
    }
}

/// How many tasks before the end of a window it had better been cut, and the next one will be:
/// where the fewest bytes were alive within the last period. Of several such places it is the last
/// one, or, behind a loop that began this number of tasks ago, the first one of its rounds.
fn early(alive: &[usize], period: usize, begun: Option<usize>) -> usize {
    let Some(before) = (alive.len() - 1).checked_sub(period) else {
        return 0;
    };
    let bytes = |early: usize| match early {
        // What the program holds at the end may not be needed any more; one period before, that is
        // known.
        0 => alive[before].min(alive[before + period]),
        _ => alive[before + period - early],
    };
    let place = |early: usize| match begun {
        Some(begun) => (begun - early) % period,
        None => early,
    };
    let places = (0..period).map(|early| (bytes(early), place(early), early));
    places.min().map_or(0, |(_, _, early)| early)
}

/// The smallest period of the longest end of a list that has one, and how long that end is, if it
/// has `least` elements or more: what comes before, such as the beginning of a program, does not
/// matter.
fn period(list: &[u64], least: usize) -> Option<(usize, usize)> {
    // Backwards, an end is a beginning: the failure function of Knuth, Morris and Pratt, "Fast
    // pattern matching in strings" (1977), has for each of them the longest that it also ends with.
    let element = |place: usize| list[list.len() - 1 - place];
    let mut borders = vec![0; list.len()];
    let mut found = None;
    let mut border = 0;
    for place in 1..list.len() {
        while border > 0 && element(place) != element(border) {
            border = borders[border - 1];
        }
        border += usize::from(element(place) == element(border));
        borders[place] = border;
        let period = place + 1 - border;
        if place + 1 >= least && border >= period.min(PROOF) {
            found = Some((period, place + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{PROOF, early, period};

    /// A beginning that is not repeated, then rounds of `round` different tasks.
    fn rounds(before: u64, round: u64, tasks: u64) -> Vec<u64> {
        let before = (0..before).map(|number| 1000 + number);
        before.chain((0..tasks).map(|task| task % round)).collect()
    }

    #[test]
    fn the_period_of_an_end_is_found() {
        assert_eq!(period(&rounds(0, 37, 128), 64), Some((37, 128)));
        assert_eq!(period(&rounds(50, 37, 78), 64), Some((37, 78)));
        assert_eq!(period(&rounds(0, 1, 128), 64), Some((1, 128)));
        // Twice, or as much as proves it.
        assert_eq!(period(&rounds(0, 90, 179), 64), None);
        assert_eq!(period(&rounds(0, 90, 180), 64), Some((90, 180)));
        let proven = 700 + PROOF as u64;
        assert_eq!(period(&rounds(3, 700, proven - 1), 64), None);
        assert_eq!(period(&rounds(3, 700, proven), 64), Some((700, 828)));
        // A short end proves nothing.
        assert_eq!(period(&rounds(100, 3, 28), 64), None);
        assert_eq!(period(&[], 0), None);
    }

    #[test]
    fn windows_are_cut_where_little_is_alive() {
        // Before the first task, between the tasks, and after the last.
        assert_eq!(early(&[2, 3, 3, 2, 3, 3, 2], 3, None), 0);
        assert_eq!(early(&[3, 3, 2, 3, 3, 2, 3], 3, None), 1);
        assert_eq!(early(&[3, 2, 3, 3, 2, 3, 3], 3, None), 2);
        // The program still holds what it has replaced.
        assert_eq!(early(&[2, 3, 3, 2, 3, 3, 4], 3, None), 0);
        // The first of several places, seen from where the loop began.
        assert_eq!(early(&[2, 2, 3, 2, 2, 3, 2], 3, Some(7)), 0);
        assert_eq!(early(&[2, 2, 3, 2, 2, 3, 2], 3, Some(8)), 2);
        assert_eq!(early(&[2, 2, 2, 2, 2, 2, 2], 3, Some(8)), 2);
        assert_eq!(early(&[2, 2, 2, 2, 2, 2, 2], 3, Some(9)), 0);
        // Less than a period was seen.
        assert_eq!(early(&[3, 2, 3], 3, None), 0);
    }

    #[test]
    fn an_inner_loop_is_part_of_the_round_around_it() {
        let round: Vec<u64> = [vec![7, 8, 9], [1, 2].repeat(20)].concat();
        assert_eq!(period(&round.repeat(3), 64), Some((43, 129)));
    }
}
