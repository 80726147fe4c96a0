//! A watchdog: ranks that wait for each other for ever are a failure, not waited for.

use crate::check::{Meaning, check};
use crate::run::{Seen, Setup};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long one program may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// [`check`], which has failed if it takes longer than `limit`; then its threads are left behind.
pub(crate) fn check_within(
    limit: Duration,
    meaning: &Arc<Meaning>,
    setup: &Setup,
) -> Result<Vec<Seen>, String> {
    let (tell, outcome) = channel();
    let (meaning, setup) = (Arc::clone(meaning), setup.clone());
    // The receiver is gone if the outcome comes too late.
    let run = move || drop(tell.send(check(&meaning, &setup)));
    let spawned = std::thread::Builder::new().spawn(run);
    spawned.map_err(|error| error.to_string())?;
    let outcome = outcome.recv_timeout(limit);
    outcome.unwrap_or_else(|error| Err(format!("no end after {limit:?}: {error}")))
}

/// Prints a line past the capture of the test harness.
pub(crate) fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nothing is left to do if even this fails.
    let _ = writeln!(stderr, "differential: {text}");
}
