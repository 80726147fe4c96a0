//! The directory of compiled libraries; kernels of a GPU have one of their own, in which they are
//! libraries too.
//!
//! Code from here is run, so everything on the way must be beyond the reach of other users: the
//! directory and those above it belong to the user or to root and cannot be written by others
//! (above it, by nobody but owners where the sticky bit says so), and a library is a plain file of
//! the user. A library gets its name, the hash of source and options, by one rename when it is
//! complete, so processes may share the directory; until then it lies in a directory of its own,
//! which is removed with everything in it, if need be by a later process: a process that works
//! in one holds a lock there, and so does its compiler, so one without is left behind. A library
//! that a compiler has completed there after its program had ended is kept.
//!
//! Behind a library stand its length and the hash of its bytes, which no loader reads. They are
//! compared before it is loaded, since code that a disk or a full file system has damaged is run
//! all the same, or ends the process in the loader.

use super::{Failure, exit};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// What the names of workplaces begin with.
const WORKPLACE: &str = "compile-";
/// What the names of libraries of the C compiler end with.
const LIBRARY: &str = "so";
/// The file of a workplace that is locked while there is work.
const LOCK: &str = "lock";
/// Its name before it is locked.
const UNLOCKED: &str = "unlocked";
/// The bytes of a seal, which stands behind a library: a length and a hash.
pub(crate) const SEAL: usize = size_of::<u64>() + size_of::<u128>();

/// The directory of compiled libraries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache<'a> {
    directory: &'a Path,
    /// What the names of libraries end with.
    extension: &'static str,
    most_bytes: u64,
}

/// What [`Cache::find_or_begin`] gives.
#[derive(Debug)]
pub(crate) enum Found {
    Library(PathBuf),
    Workplace(Workplace),
}

/// A directory for one compilation, removed when dropped. Its name is that of the library, so there
/// is one for each.
#[derive(Debug)]
pub(crate) struct Workplace {
    pub(super) directory: PathBuf,
    extension: &'static str,
    /// Locked for as long as it is open, here or in a compiler that works here; none where the file
    /// system has no locks.
    lock: Option<File>,
}

impl Workplace {
    /// What a compiler that works here reads, which keeps the lock as long as it does.
    pub(super) fn input(&self) -> Stdio {
        let lock = self.lock.as_ref().and_then(|lock| lock.try_clone().ok());
        lock.map_or_else(Stdio::null, Stdio::from)
    }

    /// Where the complete library with this key is put, for [`Cache::keep`] or a later process.
    pub(crate) fn complete(&self, key: &str) -> PathBuf {
        self.directory.join(key).with_extension(self.extension)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        exit::remove_folder(&self.directory);
    }
}

impl<'a> Cache<'a> {
    pub(super) fn new(directory: &'a Path, most_bytes: u64) -> Self {
        Self::of(LIBRARY, directory, most_bytes)
    }

    /// A directory for libraries of one kind, and for nothing else.
    pub(crate) fn of(extension: &'static str, directory: &'a Path, most_bytes: u64) -> Self {
        Self {
            directory,
            extension,
            most_bytes,
        }
    }

    /// Makes the directory where there is none, and checks that it is the user's alone.
    pub(crate) fn open(&self) -> Result<(), Failure> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.directory)
            .map_err(|error| self.failure(error))?;
        let real = fs::canonicalize(self.directory).map_err(|error| self.failure(error))?;
        for (above, path) in real.ancestors().enumerate() {
            let data = fs::metadata(path).map_err(|error| self.failure(error))?;
            let is_safe = match above {
                0 => is_mine(&data),
                _ => is_trusted(&data),
            };
            if !is_safe {
                let reason = format!("others may write to {}", path.display());
                return Err(self.failure(reason));
            }
        }
        Ok(())
    }

    /// The library with this key, if there is one that may be loaded. It counts as new again; a
    /// damaged one is removed.
    pub(super) fn find(&self, key: &str) -> Option<PathBuf> {
        let path = self.path(key);
        let data = fs::symlink_metadata(&path).ok()?;
        if !data.is_file() || !is_mine(&data) {
            return None;
        }
        if !fs::read(&path).is_ok_and(|bytes| is_sealed(&bytes)) {
            self.forget(key);
            return None;
        }
        // Only the order in which libraries are removed depends on it.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(path)
    }

    /// Removes a library that does not load, or is damaged.
    pub(crate) fn forget(&self, key: &str) {
        let _ = fs::remove_file(self.path(key));
    }

    /// Where the library with this key is, or a directory for its compilation. Where another
    /// process, or the compiler of one that has ended, makes the same library, this waits for it,
    /// no longer than `limit`: all processes of a program want the same loops at about the same
    /// time.
    pub(crate) fn find_or_begin(&self, key: &str, limit: Duration) -> Result<Found, Failure> {
        let root = std::path::absolute(self.directory).map_err(|error| self.failure(error))?;
        let directory = root.join(format!("{WORKPLACE}{key}"));
        let begin = Instant::now();
        loop {
            if let Some(path) = self.find(key) {
                return Ok(Found::Library(path));
            }
            match exit::make_folder(&directory) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failure(error)),
            }
            self.sweep(2 * limit + Duration::from_secs(60));
            if begin.elapsed() > limit {
                return Err(Failure::Slow(limit));
            }
            look_again_later();
        }
        let lock = locked(&directory);
        let extension = self.extension;
        let workplace = Workplace {
            directory,
            extension,
            lock,
        };
        self.sweep(2 * limit + Duration::from_secs(60));
        // It may have come between the two looks.
        Ok(match self.find(key) {
            Some(path) => Found::Library(path),
            None => Found::Workplace(workplace),
        })
    }

    /// Moves a complete library to its place, and removes the oldest beyond the bound.
    pub(crate) fn keep(&self, key: &str, library: &Path) -> Result<PathBuf, Failure> {
        let path = self.path(key);
        let keep = || {
            fs::set_permissions(library, fs::Permissions::from_mode(0o600))?;
            let bytes = fs::read(library)?;
            let mut file = OpenOptions::new().append(true).open(library)?;
            file.write_all(&seal(&bytes))?;
            file.sync_all()?;
            fs::rename(library, &path)
        };
        keep().map_err(|error: io::Error| self.failure(error))?;
        self.trim(&path);
        Ok(path)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(key).with_extension(self.extension)
    }

    /// Removes the oldest libraries but `newest` until the others fit the bound.
    fn trim(&self, newest: &Path) {
        let is_library = |path: &PathBuf| path.extension().is_some_and(|end| end == self.extension);
        let mut libraries: Vec<_> = self
            .entries()
            .filter(|(path, _)| is_library(path))
            .collect();
        libraries.sort_by_key(|(path, data)| (data.modified().ok(), path.clone()));
        let mut bytes: u64 = libraries.iter().map(|(_, data)| data.len()).sum();
        for (path, data) in libraries {
            if bytes > self.most_bytes && path != newest {
                // If another process was first, it is gone all the same.
                let _ = fs::remove_file(path);
                bytes -= data.len();
            }
        }
    }

    /// Removes workplaces that are older than `age`, or whose lock has been let go, of which it
    /// keeps what is complete.
    fn sweep(&self, age: Duration) {
        for (path, data) in self.entries() {
            let name = path.file_name().map(|name| name.to_string_lossy());
            if !name.is_some_and(|name| name.starts_with(WORKPLACE)) {
                continue;
            }
            let modified = data.modified().ok();
            let is_old = modified.and_then(|time| time.elapsed().ok()) > Some(age);
            // The lock is held until the workplace is gone, so that a library is kept once, and no
            // other workplace has the name.
            let lock = lock_of_left_behind(&path);
            if lock.is_some() {
                self.keep_complete(&path);
            }
            if is_old || lock.is_some() {
                let _ = fs::remove_dir_all(path);
            }
        }
    }

    /// Moves the library that a compiler has completed in a workplace to its place.
    fn keep_complete(&self, workplace: &Path) {
        for (path, data) in entries(workplace) {
            let key = path.file_stem().map(|key| key.to_string_lossy());
            let is_library = path.extension().is_some_and(|end| end == self.extension);
            if let Some(key) = key.filter(|_| is_library && data.is_file() && is_mine(&data)) {
                let _ = self.keep(&key, &path);
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = (PathBuf, Metadata)> {
        entries(self.directory)
    }

    fn failure(&self, reason: impl ToString) -> Failure {
        Failure::Cache {
            directory: self.directory.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// What a directory holds.
fn entries(directory: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
}

/// What stands behind a library of these bytes.
fn seal(bytes: &[u8]) -> [u8; SEAL] {
    let mut seal = [0; SEAL];
    let (length, content) = seal.split_at_mut(size_of::<u64>());
    length.copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    content.copy_from_slice(&hash(bytes.iter().copied()).to_le_bytes());
    seal
}

/// Whether a library is as long, and has the bytes, as when it was kept.
fn is_sealed(file: &[u8]) -> bool {
    let parts = file.split_last_chunk::<SEAL>();
    parts.is_some_and(|(library, found)| seal(library) == *found)
}

/// A hash of bytes (FNV-1a of 128 bits).
pub(crate) fn hash(bytes: impl Iterator<Item = u8>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

/// The lock of a new workplace, which gets its name when it is locked: until then it would look
/// like one that was left behind.
fn locked(workplace: &Path) -> Option<File> {
    let unlocked = workplace.join(UNLOCKED);
    let lock = File::create_new(&unlocked).ok()?;
    lock.try_lock().ok()?;
    fs::rename(unlocked, workplace.join(LOCK)).ok()?;
    Some(lock)
}

/// The lock of a workplace that no one held: its process and the compiler have ended. One without a
/// lock is about to get it, or lies where there are none.
fn lock_of_left_behind(workplace: &Path) -> Option<File> {
    let path = workplace.join(LOCK);
    let lock = File::open(&path).ok()?;
    lock.try_lock().ok()?;
    // Whoever held it may have removed the workplace, and another one have its name.
    let [of_lock, of_path] = [lock.metadata().ok()?, fs::metadata(path).ok()?];
    let is_same = (of_lock.dev(), of_lock.ino()) == (of_path.dev(), of_path.ino());
    is_same.then_some(lock)
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process tells nothing when it ends, and the thread is the compiler's"
)]
fn look_again_later() {
    thread::sleep(Duration::from_millis(5));
}

/// Whether a file or directory is the user's, and nobody else may write it.
fn is_mine(data: &Metadata) -> bool {
    data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0
}

/// Whether nobody but the user and root can put something else in place of what a directory holds.
fn is_trusted(data: &Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    let owner = data.uid();
    let is_closed = data.mode() & 0o022 == 0 || data.mode() & STICKY != 0;
    is_closed && (owner == 0 || owner == rustix::process::geteuid().as_raw())
}
