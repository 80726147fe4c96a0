//! Files that appear under their names only when they are complete.
//!
//! A file is written beside its place, under a hidden name that says which process does it, and
//! takes its place when it is complete: what was there before survives every error. What a killed
//! process has left is removed by the next one that writes to the same place.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// The ending of the names of files that are being written.
const ENDING: &str = ".tmp";

/// Lets `fill` write a file, which takes the place of the one at `path` only if all went well. A
/// link stays a link: the file behind it is replaced. A device or a pipe is written to.
///
/// # Errors
///
/// Those of `fill` and of the system.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fill(&mut OpenOptions::new().write(true).open(path)?);
    }
    let path = behind_links(path);
    remove_stale(&path, |ending| ending.ends_with(ENDING));
    let mut file = file_beside(&path)?;
    if let Ok(found) = fs::metadata(&path) {
        // What others may not read they may not read either when it is replaced.
        file.as_file().set_permissions(found.permissions())?;
    }
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Makes a file beside the one that `path` means, named after it and this process, which goes when
/// it is dropped.
///
/// # Errors
///
/// Those of the system.
pub fn file_beside(path: &Path) -> io::Result<NamedTempFile> {
    let path = behind_links(path);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.", std::process::id()));
    // Made as every other file, for all who may read those.
    let make = |path: &Path| File::create_new(path);
    let mut builder = Builder::new();
    let builder = builder.prefix(&hidden).suffix(ENDING);
    builder.make_in(folder_of(&path), make)
}

/// The file that a path means, through all links, also where it is not there yet.
fn behind_links(path: &Path) -> PathBuf {
    /// As many as systems follow.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Removes what processes that are no more have left beside `path`: hidden files named after it,
/// then the number of the process, then `.` and an ending for which `is_ours` holds. Where a
/// system does not say which processes there are, nothing is removed.
pub fn remove_stale(path: &Path, is_ours: impl Fn(&str) -> bool) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return;
    };
    let entries = fs::read_dir(folder_of(path));
    for entry in entries.into_iter().flatten().flatten() {
        let hidden = entry.file_name();
        let rest = hidden.to_str().and_then(|hidden| {
            let rest = hidden.strip_prefix('.')?.strip_prefix(name)?;
            rest.strip_prefix('.')?.split_once('.')
        });
        let Some((process, ending)) = rest else {
            continue;
        };
        if is_ours(ending) && process.parse().is_ok_and(has_ended) {
            // If another process was first, it is gone all the same.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether there is no process with this number, as far as the system says.
fn has_ended(process: u32) -> bool {
    let processes = Path::new("/proc");
    processes.join("self").exists() && !processes.join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_files_of_processes_that_have_ended_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mine = format!(".x.mtx.{}.0.tmp", std::process::id());
        let names = [
            "x.mtx",
            ".x.mtx.4294967295.0.tmp",
            mine.as_str(),
            ".x.mtx.4294967295.0.other",
            ".y.mtx.4294967295.0.tmp",
            ".x.mtx.backup.0.tmp",
            "x.mtx.4294967295.0.tmp",
        ];
        for name in names {
            fs::write(at(name), "").unwrap();
        }
        remove_stale(&at("x.mtx"), |ending| ending.ends_with(".tmp"));
        for name in names {
            let is_stale = Path::new("/proc/self").exists() && name == names[1];
            assert_eq!(at(name).exists(), !is_stale, "{name}");
        }
    }

    #[test]
    fn a_file_is_replaced_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mtx");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        for text in ["first", "second"] {
            let replaced: io::Result<()> = replace_file(&path, |file| {
                assert_eq!(
                    (names(), path.exists()),
                    (1 + usize::from(text == "second"), text == "second")
                );
                file.write_all(text.as_bytes())
            });
            replaced.unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            let failed: io::Result<()> = replace_file(&path, |file| {
                file.write_all(b"half")?;
                Err(io::Error::other("refused"))
            });
            assert_eq!(failed.unwrap_err().to_string(), "refused");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(), 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_may_be_read_by_all_who_may_read_files_that_are_made() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        File::create(at("made")).unwrap();
        symlink(at("replaced"), at("link")).unwrap();
        let filled: io::Result<()> = replace_file(&at("replaced"), |_| Ok(()));
        filled.unwrap();
        let through: io::Result<()> = replace_file(&at("link"), |file| file.write_all(b"x"));
        through.unwrap();
        assert_eq!(fs::read(at("replaced")).unwrap(), b"x");
        assert!(at("link").is_symlink());
        let mode = |name| fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode("replaced"), mode("made"));
        fs::set_permissions(at("replaced"), fs::Permissions::from_mode(0o600)).unwrap();
        let again: io::Result<()> = replace_file(&at("replaced"), |_| Ok(()));
        again.unwrap();
        assert_eq!(mode("replaced") & 0o777, 0o600);
    }
}
