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
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

/// The compilations that go on.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    places: Vec::new(),
    has_ended: false,
});

struct Running {
    /// The folder of each compilation, and the group of its compiler while one runs.
    places: Vec<(PathBuf, Option<Pid>)>,
    /// Whether the process ends: nothing begins any more.
    has_ended: bool,
}

/// Makes the folder of a compilation, which is removed with the program if it is there then.
///
/// The lock is held meanwhile, so that the program ends before or after it, not between.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        // SAFETY: `end` has the type that `atexit` asks for, and does not unwind: it takes a
        // lock without a panic, and ignores all failures. If it is refused, what is running at
        // the end goes on.
        let _ = unsafe { atexit(end) };
    });
    let mut running = begin()?;
    DirBuilder::new().mode(0o700).create(folder)?;
    running.places.push((folder.to_owned(), None));
    Ok(())
}

/// Removes what [`make_folder`] has made. What cannot be removed now is stale later.
pub(super) fn remove_folder(folder: &Path) {
    let mut running = running();
    let _ = fs::remove_dir_all(folder);
    running.places.retain(|(path, _)| path != folder);
}

/// A compiler that ends with the program, while this lives.
#[derive(Debug)]
pub(super) struct Guard<'a>(&'a Path);

/// Starts a compiler in a folder of [`make_folder`], as the leader of its process group.
pub(super) fn spawn<'a>(command: &mut Command, folder: &'a Path) -> io::Result<(Child, Guard<'a>)> {
    let mut running = begin()?;
    let child = command.process_group(0).spawn()?;
    running.set_group(folder, Some(Pid::from_child(&child)));
    Ok((child, Guard(folder)))
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        running().set_group(self.0, None);
    }
}

impl Running {
    fn set_group(&mut self, folder: &Path, group: Option<Pid>) {
        for place in &mut self.places {
            if place.0 == folder {
                place.1 = group;
            }
        }
    }
}

unsafe extern "C" {
    /// Of the C library, which the standard library is linked with on Unix.
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

#[expect(
    clippy::disallowed_methods,
    reason = "what waits is the end of the process"
)]
extern "C" fn end() {
    let mut running = running();
    running.has_ended = true;
    for (folder, group) in running.places.drain(..) {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A process that is being ended may still write; then the folder is not empty at first.
        for _ in 0..100 {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    thread::sleep(Duration::from_millis(1));
                }
                _ => break,
            }
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
