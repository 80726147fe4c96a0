//! One piece of work on one number of cores: all competitors set up, compared, and timed in turn.
//!
//! In each round every competitor does one batch, A B C A B C, so that a slow phase of the machine
//! hits them all. Results are compared before anything is timed; who disagrees is named and left
//! out. The triad is measured before and after.

use crate::child::{Running, Seconds, Solved, Traffic};
use crate::competitors::{self, Competitor};
use crate::matrices;
use crate::probe;
use crate::tools::Tools;
use crate::work::{RESIDUAL, Work};
use std::path::{Path, PathBuf};

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// Seconds that a batch should take.
    pub(crate) batch: f64,
}

/// What came of one piece of work on one number of cores.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) work: Work,
    pub(crate) threads: usize,
    pub(crate) timed: Vec<Timed>,
    /// Who did not take part or disagreed, and why.
    pub(crate) left_out: Vec<(&'static str, String)>,
    /// Bytes a second, before and after.
    pub(crate) triad: [f64; 2],
    /// The largest distance from the others, relative to the size of the result.
    pub(crate) distance: f64,
}

/// The times of a competitor.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    /// Seconds of a unit of work in each round, ascending.
    pub(crate) seconds: Vec<f64>,
    /// The same in the order of the rounds.
    in_order: Vec<f64>,
    /// Those before the iterations, in the same way; empty where the work is no setup and solve.
    pub(crate) setups: Vec<f64>,
    /// Bytes of a unit of work, where the work is one of streaming memory.
    pub(crate) bytes: Option<u64>,
    pub(crate) traffic: Option<Traffic>,
    pub(crate) solved: Option<Solved>,
}

impl Timed {
    pub(crate) fn median(&self) -> f64 {
        middle(&self.seconds)
    }

    /// How many times as long as another it takes: the median over the rounds, in each of which
    /// both met the same phase of the machine.
    pub(crate) fn times_as_long_as(&self, other: &Self) -> f64 {
        let rounds = self.in_order.iter().zip(&other.in_order);
        median(rounds.map(|(mine, other)| mine / other).collect())
    }

    /// The median of the time before the iterations.
    pub(crate) fn setup(&self) -> Option<f64> {
        (!self.setups.is_empty()).then(|| middle(&self.setups))
    }
}

/// The median of ascending numbers.
fn middle(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    match ascending.len() % 2 {
        0 => (ascending[middle - 1] + ascending[middle]) / 2.0,
        _ => ascending[middle],
    }
}

impl Group {
    /// The mean of the triad before and after, in bytes a second.
    pub(crate) fn bandwidth(&self) -> f64 {
        (self.triad[0] + self.triad[1]) / 2.0
    }

    pub(crate) fn ours(&self) -> Option<&Timed> {
        self.find(competitors::OURS)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Timed> {
        self.timed.iter().find(|timed| timed.name == name)
    }

    /// The fastest of the competitors for which this holds.
    pub(crate) fn fastest(&self, is_asked: impl Fn(&Timed) -> bool) -> Option<&Timed> {
        let asked = self.timed.iter().filter(|timed| is_asked(timed));
        asked.min_by(|a, b| a.median().total_cmp(&b.median()))
    }
}

/// A competitor that takes part.
struct Entrant {
    competitor: &'static Competitor,
    running: Running,
    repetitions: usize,
    batches: Vec<Seconds>,
}

/// Does all of it, with those of the competitors that do such work; `say` hears what is going on.
pub(crate) fn run(
    tools: &Tools,
    work: Work,
    competitors: &[&'static Competitor],
    threads: usize,
    effort: Effort,
    say: &dyn Fn(&str),
) -> Result<Group, String> {
    let (input, size) = input(tools, &work)?;
    let mut left_out = Vec::new();
    let mut entrants = Vec::new();
    for competitor in competitors.iter().filter(|one| one.does(&work)) {
        if threads > 1 && competitor.is_serial(&work) {
            continue;
        }
        say(&format!("setting up {}", competitor.name));
        match enter(tools, competitor, &work, (&input, size), threads) {
            Ok(running) => entrants.push(Entrant {
                competitor,
                running,
                repetitions: 1,
                batches: Vec::new(),
            }),
            Err(reason) => left_out.push((competitor.name, reason)),
        }
    }
    check_residuals(&work, &mut entrants, &mut left_out);
    let distance = compare(&work, &mut entrants, &mut left_out);
    say("bandwidth");
    let before = probe::triad(&tools.program, threads);
    calibrate(&mut entrants, &mut left_out, effort, say);
    for round in 1..=effort.rounds {
        for entrant in &mut entrants {
            let name = entrant.competitor.name;
            say(&format!("round {round} of {}: {name}", effort.rounds));
            match entrant.running.batch(entrant.repetitions) {
                Ok(seconds) => entrant.batches.push(seconds),
                Err(reason) => left_out.push((name, reason)),
            }
        }
    }
    let timed = entrants
        .into_iter()
        .filter(|entrant| entrant.batches.len() == effort.rounds)
        .map(|entrant| timed(entrant, &work, size));
    let timed = timed.collect();
    say("bandwidth");
    Ok(Group {
        work,
        threads,
        timed,
        left_out,
        triad: [before, probe::triad(&tools.program, threads)],
        distance,
    })
}

/// What the work reads, and its rows and entries.
fn input(tools: &Tools, work: &Work) -> Result<(PathBuf, (usize, usize)), String> {
    if work.is_dense() {
        let elements = work.on.parse().map_err(|_| work.name())?;
        return Ok((work.on.into(), (elements, 0)));
    }
    let path = matrices::file(&tools.folder.join("data"), work.on)?;
    let size = matrices::size(&path)?;
    Ok((path, size))
}

/// Starts a competitor, if it can be had and the memory is likely to suffice.
fn enter(
    tools: &Tools,
    competitor: &Competitor,
    work: &Work,
    (input, size): (&Path, (usize, usize)),
    threads: usize,
) -> Result<Running, String> {
    if let Some(reason) = tools.missing(competitor.program) {
        return Err(reason.to_owned());
    }
    let file = std::fs::metadata(input).map_or(0, |metadata| metadata.len());
    let needed = work.memory(file, size.0);
    let free = free_memory();
    if free < needed {
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        return Err(format!(
            "set up beside the others it may need {:.1} GB, and {:.1} GB are free",
            gigabytes(needed),
            gigabytes(free)
        ));
    }
    let log = format!("{}-{}-{threads}.log", competitor.name, work.name());
    let log = tools
        .folder
        .join("log")
        .join(log.replace([' ', ':', ','], "-"));
    Running::start(competitor.command(tools, work, input, threads), &log)
}

/// Bytes that the system can give; without limit where it does not tell.
fn free_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or(u64::MAX, |kilobytes| kilobytes << 10)
}

/// Drops those whose solution is not as good as the work asks.
fn check_residuals(
    work: &Work,
    entrants: &mut Vec<Entrant>,
    left_out: &mut Vec<(&'static str, String)>,
) {
    if !work.is_solved() {
        return;
    }
    entrants.retain(|entrant| {
        let residual = entrant.running.solved.map(|solved| solved.residual);
        // The residual that a solver updates differs a little from the true one.
        let is_small = residual.is_some_and(|residual| residual <= 1.01 * RESIDUAL);
        if !is_small {
            let found = residual.map_or("unknown".to_owned(), |residual| format!("{residual:.1e}"));
            let reason = format!("its residual is {found}, not {RESIDUAL:e}");
            left_out.push((entrant.competitor.name, reason));
        }
        is_small
    });
}

/// Drops those whose results are not near the median of all, and tells the largest distance of the
/// others.
fn compare(
    work: &Work,
    entrants: &mut Vec<Entrant>,
    left_out: &mut Vec<(&'static str, String)>,
) -> f64 {
    let numbers = entrants.iter().map(|entrant| entrant.running.check.len());
    let expected: Vec<f64> = (0..numbers.max().unwrap_or(0))
        .map(|k| {
            let found = entrants
                .iter()
                .flat_map(|entrant| entrant.running.check.get(k));
            median(found.copied().collect())
        })
        .collect();
    let mut largest: f64 = 0.0;
    entrants.retain(|entrant| {
        let distance = distance(&entrant.running.check, &expected);
        let agrees = distance <= work.tolerance();
        if agrees {
            largest = largest.max(distance);
        } else {
            let reason = format!("DISAGREES with the others by {distance:.1e} of the result");
            left_out.push((entrant.competitor.name, reason));
        }
        agrees
    });
    largest
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The largest difference, relative to the largest element of its vector. The numbers are those of
/// [`crate::worker`]: a norm and eight elements of each vector, then single numbers.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let mut largest: f64 = 0.0;
    for (found, expected) in found.chunks(9).zip(expected.chunks(9)) {
        let norm = (expected[0], found[0]);
        let size = |numbers: &[f64]| numbers.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let scale = size(&expected[1..]);
        let elements = found[1..].iter().zip(&expected[1..]);
        let elements = elements.map(|(found, expected)| (found - expected).abs() / scale);
        for distance in elements.chain([(norm.0 - norm.1).abs() / norm.0.abs()]) {
            largest = if distance.is_nan() {
                f64::INFINITY
            } else {
                largest.max(distance)
            };
        }
    }
    largest
}

/// Warms up, and finds how often each does its work in a batch.
fn calibrate(
    entrants: &mut Vec<Entrant>,
    left_out: &mut Vec<(&'static str, String)>,
    effort: Effort,
    say: &dyn Fn(&str),
) {
    entrants.retain_mut(|entrant| {
        let name = entrant.competitor.name;
        say(&format!("warming up {name}"));
        let mut repetitions = 1;
        loop {
            match entrant.running.batch(repetitions) {
                Ok(Seconds { all, .. }) if all < effort.batch / 4.0 => {
                    let factor = (effort.batch / all / 2.0).clamp(2.0, 50.0);
                    repetitions = (repetitions as f64 * factor).ceil() as usize;
                }
                Ok(Seconds { all, .. }) => {
                    let exact = repetitions as f64 * effort.batch / all;
                    entrant.repetitions = (exact.round() as usize).max(1);
                    return true;
                }
                Err(reason) => {
                    left_out.push((name, reason));
                    return false;
                }
            }
        }
    });
}

fn timed(entrant: Entrant, work: &Work, size: (usize, usize)) -> Timed {
    let units = (entrant.repetitions * work.iterations) as f64;
    let ascending = |seconds: &mut dyn Iterator<Item = f64>| {
        let mut seconds: Vec<f64> = seconds.map(|seconds| seconds / units).collect();
        seconds.sort_by(f64::total_cmp);
        seconds
    };
    let batches = &entrant.batches;
    let running = entrant.running;
    Timed {
        name: entrant.competitor.name,
        seconds: ascending(&mut batches.iter().map(|batch| batch.all)),
        in_order: batches.iter().map(|batch| batch.all / units).collect(),
        setups: ascending(&mut batches.iter().filter_map(|batch| batch.setup)),
        bytes: running.bytes.or_else(|| work.plain_bytes(size)),
        version: running.version.clone(),
        traffic: running.traffic,
        solved: running.solved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_relative_to_the_vector() {
        let expected = [10.0, 0.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 50.0];
        assert_eq!(distance(&expected, &expected), 0.0);
        let with = |k: usize, value: f64| {
            let mut found = expected;
            found[k] = value;
            distance(&found, &expected)
        };
        assert_eq!(with(1, 0.4), 0.1);
        assert_eq!(with(0, 11.0), 0.1);
        assert_eq!(with(9, 45.0), 0.1);
        assert_eq!(with(2, f64::NAN), f64::INFINITY);
        assert_eq!(distance(&expected[1..], &expected), f64::INFINITY);
    }
}
