//! Ranks as threads of this process: every rank runs the same program.

use crate::comm::{self, Comm};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::machine::compute::Runs;
use crate::program::runtime::Runtime;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Forgets what a panicking rank has issued, so that its end of the messages closes and the ranks
/// that wait for it learn that it has left.
struct AbandonOnPanic<'a>(&'a Runtime);

impl Drop for AbandonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

/// Runs `program` on `ranks` ranks of this process and returns what each rank returned, in the
/// order of the ranks. Each is a thread, the first one the thread that calls, with a runtime of its
/// own that is current while the program runs.
///
/// # Errors
///
/// If the settings are out of range, or a rank panics: the error names the first that did. Where
/// [`Config::check_ranks`] is on, if the ranks have run different programs.
pub fn run_ranks<R: Send>(
    ranks: usize,
    config: &Config,
    program: impl Fn(&Runtime) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let comms = comm::connect(check_number(ranks)?);
    let comms = comms
        .into_iter()
        .map(|comm| Box::new(comm) as Box<dyn Comm>);
    run_on(comms.collect(), config, program)
}

pub(crate) fn check_number(ranks: usize) -> Result<usize, Error> {
    if ranks == 0 {
        return Err(Error::argument("ranks", "a number above 0", "0"));
    }
    if ranks > Config::MOST_RANKS {
        let expected = format!("at most {} in a process", Config::MOST_RANKS);
        return Err(Error::argument("ranks", expected, ranks.to_string()));
    }
    Ok(ranks)
}

/// Runs `program` on each of the given ranks of this process, as [`run_ranks`].
pub(crate) fn run_on<R: Send>(
    comms: Vec<Box<dyn Comm>>,
    config: &Config,
    program: impl Fn(&Runtime) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let values: Vec<_> = comms.iter().map(|_| Mutex::new(None)).collect();
    run_each(comms, config, &|rank, runtime| {
        let value = program(runtime);
        *lock(&values[rank]) = Some(value);
    })?;
    let values = values.into_iter().map(Mutex::into_inner);
    // There is a value of each rank, since all have ended well.
    let values = values.flat_map(|value| value.unwrap_or_else(PoisonError::into_inner));
    Ok(values.collect())
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`run_on`], compiled once for all programs: `program` gets the number of the rank among those
/// of this process too, and keeps what it returns.
fn run_each(
    comms: Vec<Box<dyn Comm>>,
    config: &Config,
    program: &(dyn Fn(usize, &Runtime) + Sync),
) -> Result<(), Error> {
    let mut runtimes = Vec::with_capacity(comms.len());
    for comm in comms {
        runtimes.push(Runtime::with_comm(config.clone(), comm, &Runs)?);
    }
    let run = &|(rank, runtime): (usize, Runtime)| {
        let _abandon = AbandonOnPanic(&runtime);
        runtime.enter(|| program(rank, &runtime));
        runtime.end()
    };
    let mut runtimes = runtimes.into_iter().enumerate();
    let first = runtimes.next();
    std::thread::scope(|scope| {
        let others = runtimes.map(|runtime| {
            let thread = std::thread::Builder::new();
            thread.spawn_scoped(scope, move || run(runtime))
        });
        let others: Vec<_> = others.collect();
        // The first rank is this thread: a program of one rank starts none, and its memory comes
        // from the allocator's own arena.
        let first = first.map(|runtime| catch_unwind(AssertUnwindSafe(|| run(runtime))));
        // A rank whose thread could not be had has left, so the others end; then they are joined.
        let joined = others
            .into_iter()
            .map(|thread| thread.map(|thread| thread.join()));
        let others: Result<Vec<_>, _> = joined.collect::<Vec<_>>().into_iter().collect();
        let others = others.map_err(|error| {
            Error::argument(
                "ranks",
                "as many threads as the system grants",
                error.to_string(),
            )
        })?;
        let mut ends = Vec::with_capacity(others.len() + 1);
        for (rank, result) in first.into_iter().chain(others).enumerate() {
            ends.push(result.map_err(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let message = format!("panicked: {}", text.unwrap_or("no message"));
                let fact = None;
                ErrorKind::Rank {
                    rank,
                    message,
                    fact,
                }
            })?);
        }
        ends.into_iter().collect()
    })
}
