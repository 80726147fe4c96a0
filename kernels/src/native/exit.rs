//! What a program that ends leaves of a compilation: nothing.
//!
//! Nobody waits for the compiler, so a program may end while it works. Then its process group is
//! ended and its folder removed. Of a program that is killed, the folder is removed by a later one
//! that compiles ([`super::cache`]).
#![expect(
    unsafe_code,
    reason = "registers a function that the process calls at its end"
)]

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The compilations that go on: the group of the compiler, and its folder.
static RUNNING: Mutex<Vec<(Pid, PathBuf)>> = Mutex::new(Vec::new());

/// Ends a compilation with the program, while it lives.
#[derive(Debug)]
pub(super) struct Guard(Pid);

impl Guard {
    pub(super) fn new(group: Pid, folder: &Path) -> Self {
        static REGISTER: Once = Once::new();
        REGISTER.call_once(|| {
            // SAFETY: `end` has the type that `atexit` asks for, and does not unwind: it takes a
            // lock without a panic, and ignores all failures. If it is refused, what is running at
            // the end goes on.
            let _ = unsafe { atexit(end) };
        });
        running().push((group, folder.to_owned()));
        Self(group)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        running().retain(|(group, _)| *group != self.0);
    }
}

unsafe extern "C" {
    /// Of the C library, which the standard library is linked with on Unix.
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

extern "C" fn end() {
    for (group, folder) in running().drain(..) {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = fs::remove_dir_all(folder);
    }
}

fn running() -> MutexGuard<'static, Vec<(Pid, PathBuf)>> {
    // A panic while it is locked leaves it whole: it is only pushed and filtered.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
