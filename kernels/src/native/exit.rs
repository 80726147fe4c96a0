//! What a program that ends leaves of a compilation: a compiler at work, or nothing.
//!
//! A program does not wait for the compiler, so it may end while that works. The compiler goes on,
//! in a folder of its own, and what it has made is found by the next program that would compile
//! ([`super::cache`]); else a program that takes less time than its compilations would run in
//! blocks for ever. A folder in which no compiler works is removed.
#![expect(
    unsafe_code,
    reason = "registers a function that the process calls at its end"
)]

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The compilations that go on.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    places: Vec::new(),
    has_ended: false,
});

struct Running {
    /// The folder of each compilation, and whether a compiler works there.
    places: Vec<(PathBuf, bool)>,
    /// Whether the process ends: nothing begins any more.
    has_ended: bool,
}

/// Makes the folder of a compilation, which is removed at the end of the program if no compiler
/// works there.
///
/// The lock is held meanwhile, so that the program ends before or after it, not between.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        // SAFETY: `end` has the type that `atexit` asks for, and does not unwind: it takes a
        // lock without a panic, and ignores all failures. If it is refused, the folder stays
        // until a later program removes it.
        let _ = unsafe { atexit(end) };
    });
    let mut running = begin()?;
    DirBuilder::new().mode(0o700).create(folder)?;
    running.places.push((folder.to_owned(), false));
    Ok(())
}

/// Removes what [`make_folder`] has made. What cannot be removed now is stale later.
pub(super) fn remove_folder(folder: &Path) {
    let mut running = running();
    let _ = fs::remove_dir_all(folder);
    running.places.retain(|(path, _)| path != folder);
}

/// A compiler that works in a folder, as long as this lives.
#[derive(Debug)]
pub(super) struct Guard<'a>(&'a Path);

/// Starts a compiler in a folder of [`make_folder`], as the leader of its process group: what ends
/// the group of the program, such as Ctrl-C, does not end the compiler.
pub(super) fn spawn<'a>(command: &mut Command, folder: &'a Path) -> io::Result<(Child, Guard<'a>)> {
    let mut running = begin()?;
    let child = command.process_group(0).spawn()?;
    running.set_works(folder, true);
    Ok((child, Guard(folder)))
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        running().set_works(self.0, false);
    }
}

impl Running {
    fn set_works(&mut self, folder: &Path, works: bool) {
        for place in &mut self.places {
            if place.0 == folder {
                place.1 = works;
            }
        }
    }
}

unsafe extern "C" {
    /// Of the C library, which the standard library is linked with on Unix.
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

extern "C" fn end() {
    let mut running = running();
    running.has_ended = true;
    for (folder, works) in running.places.drain(..) {
        if !works {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// What is running, for one that begins; an error where the program ends.
fn begin() -> io::Result<MutexGuard<'static, Running>> {
    let running = running();
    if running.has_ended {
        return Err(io::Error::other("the program ends"));
    }
    Ok(running)
}

fn running() -> MutexGuard<'static, Running> {
    // A panic while it is locked leaves it whole: its list is only pushed, set and filtered.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
