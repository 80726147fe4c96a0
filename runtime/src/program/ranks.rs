//! Ranks as threads of this process: every rank runs the same program.

use crate::comm::{self, Comm};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::machine::compute::Runs;
use crate::program::runtime::Runtime;

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

/// Runs `program` on `ranks` ranks of this process, each a thread with a runtime of its own that is
/// current while the program runs, and returns what each rank returned, in the order of the ranks.
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
    let ranks = comms.len();
    let mut runtimes = Vec::with_capacity(ranks);
    for comm in comms {
        runtimes.push(Runtime::with_comm(config.clone(), comm, &Runs)?);
    }
    let program = &program;
    std::thread::scope(|scope| {
        let threads: Vec<_> = runtimes
            .into_iter()
            .map(|runtime| {
                let thread = std::thread::Builder::new();
                thread.spawn_scoped(scope, move || {
                    let _abandon = AbandonOnPanic(&runtime);
                    let value = runtime.enter(|| program(&runtime));
                    (value, runtime.end())
                })
            })
            .collect();
        // A rank whose thread could not be had has left, so the others end; then they are joined.
        let threads: Result<Vec<_>, _> = threads.into_iter().collect();
        let threads = threads.map_err(|error| {
            Error::argument(
                "ranks",
                "as many threads as the system grants",
                error.to_string(),
            )
        })?;
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        let mut ends = Vec::with_capacity(ranks);
        for (rank, result) in results.into_iter().enumerate() {
            ends.push(result.map_err(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let message = format!("panicked: {}", text.unwrap_or("no message"));
                ErrorKind::Rank { rank, message }
            })?);
        }
        let values = ends.into_iter().map(|(value, end)| end.map(|()| value));
        values.collect()
    })
}
