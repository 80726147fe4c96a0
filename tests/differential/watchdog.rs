//! A watchdog: ranks that wait for each other for ever are reported, not waited for.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long one program may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Aborts the process when what it watches takes too long.
pub(crate) struct Watchdog {
    news: Sender<Option<String>>,
}

impl Watchdog {
    pub(crate) fn start() -> Self {
        let (news, incoming) = channel::<Option<String>>();
        let watch = move || {
            let mut watched = None;
            loop {
                watched = match (&watched, incoming.recv_timeout(LIMIT)) {
                    (_, Ok(news)) => news,
                    (Some(text), Err(RecvTimeoutError::Timeout)) => {
                        say(&format!("no end after {LIMIT:?}: {text}"));
                        std::process::abort();
                    }
                    (None, Err(RecvTimeoutError::Timeout)) => None,
                    (_, Err(RecvTimeoutError::Disconnected)) => return,
                };
            }
        };
        std::thread::Builder::new()
            .spawn(watch)
            .expect("the system grants a thread");
        Self { news }
    }

    /// Begins to watch what the text describes.
    pub(crate) fn watch(&self, text: &str) {
        self.tell(Some(text.to_owned()));
    }

    /// Ends to watch.
    pub(crate) fn rest(&self) {
        self.tell(None);
    }

    fn tell(&self, news: Option<String>) {
        self.news
            .send(news)
            .expect("the watchdog lives as long as its handle");
    }
}

/// Prints a line past the capture of the test harness.
pub(crate) fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nothing is left to do if even this fails.
    let _ = writeln!(stderr, "differential: {text}");
}
