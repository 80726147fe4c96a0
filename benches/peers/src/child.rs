//! A competitor that runs: set up once, then a batch whenever it is told to.
//!
//! The conversation: it prints `version`, perhaps `bytes`, `traffic` and `solved`, `check` and
//! `ready`; each line `go N` makes it do the work N times and print `seconds`. While others are
//! timed it waits for its standard input, which costs nothing.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a competitor that is no longer needed may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// A competitor that is ready; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Closed first: the competitor then ends.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    log: PathBuf,
    pub(crate) version: String,
    /// Bytes of a unit of work, where it counts them itself.
    pub(crate) bytes: Option<u64>,
    pub(crate) check: Vec<f64>,
    /// What a rank sends in a unit of work, if it says so.
    pub(crate) traffic: Option<Traffic>,
    /// How its solve ended, if it solves until the residual is small.
    pub(crate) solved: Option<Solved>,
}

/// The seconds of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds {
    pub(crate) all: f64,
    /// Those before the iterations, where the work is to set up and solve.
    pub(crate) setup: Option<f64>,
}

/// The end of a solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solved {
    pub(crate) iterations: usize,
    /// ||b - A x|| / ||b||, computed afterwards.
    pub(crate) residual: f64,
}

impl Solved {
    fn parse(numbers: &str) -> Option<Self> {
        let (iterations, residual) = numbers.split_once(' ')?;
        Some(Self {
            iterations: iterations.parse().ok()?,
            residual: residual.parse().ok()?,
        })
    }
}

impl Seconds {
    fn parse(numbers: &str) -> Option<Self> {
        let (all, setup) = match numbers.split_once(' ') {
            Some((all, setup)) => (all, Some(setup.parse().ok()?)),
            None => (numbers, None),
        };
        Some(Self {
            all: all.parse().ok()?,
            setup,
        })
    }
}

/// What a rank sends; the most of all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// In a unit of work.
    pub(crate) unit: Sent,
    /// In a solve, however many units it has.
    pub(crate) solve: Sent,
    /// Reductions of a unit with the competitor's own choice of a norm, where another was taken.
    pub(crate) default_reductions: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) messages: f64,
    pub(crate) bytes: f64,
    pub(crate) reductions: f64,
}

impl Traffic {
    fn parse(numbers: &str) -> Option<Self> {
        let parsed: Result<Vec<f64>, _> = numbers.split(' ').map(str::parse).collect();
        let parsed = parsed.ok()?;
        let sent = |at: usize| match parsed.get(at..at + 3) {
            Some(&[messages, bytes, reductions]) => Some(Sent {
                messages,
                bytes,
                reductions,
            }),
            _ => None,
        };
        Some(Self {
            unit: sent(0)?,
            solve: sent(3)?,
            default_reductions: parsed.get(6).copied(),
        })
    }
}

impl Running {
    /// Starts a competitor and waits until it is ready. What it says on standard error goes to
    /// `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Self, String> {
        let errors = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .map_err(|error| format!("{program} could not be started: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or("no standard output")?;
        let mut running = Self {
            child,
            input,
            output: BufReader::new(output),
            log: log.to_owned(),
            version: String::new(),
            bytes: None,
            check: Vec::new(),
            traffic: None,
            solved: None,
        };
        running.listen()?;
        Ok(running)
    }

    /// Reads what it says until it is ready.
    fn listen(&mut self) -> Result<(), String> {
        loop {
            let line = self.line()?;
            match line.split_once(' ').unwrap_or((&line, "")) {
                ("version", version) => self.version = version.trim().to_owned(),
                ("bytes", number) => self.bytes = number.parse().ok(),
                ("traffic", numbers) => self.traffic = Traffic::parse(numbers),
                ("solved", numbers) => self.solved = Solved::parse(numbers),
                ("check", numbers) => {
                    let parsed: Result<Vec<f64>, _> = numbers.split(' ').map(str::parse).collect();
                    self.check = parsed.map_err(|error| format!("`{numbers}`: {error}"))?;
                }
                ("ready", _) => return Ok(()),
                // Libraries print what they like.
                _ => {}
            }
        }
    }

    /// Seconds of the work done so many times.
    pub(crate) fn batch(&mut self, repetitions: usize) -> Result<Seconds, String> {
        let input = self.input.as_mut().ok_or("it has been told to end")?;
        let sent = writeln!(input, "go {repetitions}").and_then(|()| input.flush());
        sent.map_err(|error| format!("it does not listen: {error}"))?;
        loop {
            let line = self.line()?;
            if let Some(numbers) = line.strip_prefix("seconds ") {
                let seconds = Seconds::parse(numbers);
                return seconds.ok_or_else(|| format!("`{line}` has no seconds"));
            }
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) | Err(_) => Err(self.last_words()),
            Ok(_) => Ok(line.trim_end().to_owned()),
        }
    }

    /// The last line of its standard error that says what went wrong.
    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        // The message of a panic is before its backtrace.
        let mut lines = text.lines();
        let panicked = lines.find(|line| line.contains("panicked at"));
        let message = panicked.and_then(|_| lines.next());
        let last = || text.lines().rev().find(|line| !line.trim().is_empty());
        let words = message.or_else(last).unwrap_or("it ended without a word");
        words.trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.input.take());
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // It may have ended in between, and then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{Seconds, Solved};

    #[test]
    fn the_answers_of_a_competitor() {
        let parts = |numbers| Seconds::parse(numbers).map(|seconds| (seconds.all, seconds.setup));
        assert_eq!(parts("1.5e-3"), Some((1.5e-3, None)));
        assert_eq!(parts("2.5 0.5"), Some((2.5, Some(0.5))));
        assert_eq!(parts("2.5 x"), None);
        assert_eq!(parts(""), None);
        let solved = |numbers| Solved::parse(numbers).map(|end| (end.iterations, end.residual));
        assert_eq!(solved("7 9.5e-9"), Some((7, 9.5e-9)));
        assert_eq!(solved("7"), None);
    }
}
