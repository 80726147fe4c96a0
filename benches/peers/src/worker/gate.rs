//! How the first process of several tells the others what the driver wants, without their waiting
//! in MPI, which would keep their cores busy while others are timed: through a file.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How often a process looks whether there is something to do.
const PERIOD: Duration = Duration::from_micros(500);

/// The file, and how many orders have been read from it.
#[derive(Debug)]
pub(super) struct Gate {
    path: PathBuf,
    orders: usize,
}

impl Gate {
    /// The gate of the processes whose first has this number in the system.
    pub(super) fn new(first: u32) -> Self {
        let path = std::env::temp_dir().join(format!("sparsefuse-peers-{first}"));
        Self { path, orders: 0 }
    }

    /// Gives the next order: how often the work is to be done, or that all is done.
    pub(super) fn tell(&mut self, repetitions: Option<usize>) -> Result<(), String> {
        self.orders += 1;
        let number = repetitions.map_or(-1, |repetitions| repetitions as i64);
        let unfinished = self.path.with_extension("next");
        let written = fs::write(&unfinished, format!("{} {number}", self.orders));
        let written = written.and_then(|()| fs::rename(&unfinished, &self.path));
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Waits for the next order.
    pub(super) fn hear(&mut self) -> Option<usize> {
        self.orders += 1;
        loop {
            let text = fs::read_to_string(&self.path).unwrap_or_default();
            if let Some((order, number)) = text.split_once(' ')
                && order.parse() == Ok(self.orders)
            {
                return number.parse().ok();
            }
            std::thread::sleep(PERIOD);
        }
    }

    /// Removes the file; by the first process, when all have heard that all is done.
    pub(super) fn close(&self) {
        // It is a file of a few bytes in the folder of temporary ones.
        let _ = fs::remove_file(&self.path);
    }
}
