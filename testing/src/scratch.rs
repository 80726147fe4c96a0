//! Folders for the files of tests, so that programs of tests that run at the same time do not write
//! the same files.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of this process below `parent`, which is `env!("CARGO_TARGET_TMPDIR")` or another
/// folder for temporary files; it is empty when it is first asked for, and the same ever after.
///
/// Folders are numbered. A process takes the first one that no living process holds and locks a
/// file beside it, so a later process takes the same folder again: few are left behind, however
/// often tests run.
///
/// ```
/// use sparsefuse_testing::own_folder;
///
/// let folder = own_folder(&std::env::temp_dir());
/// std::fs::write(folder.join("x.mtx"), "").unwrap();
/// assert_eq!(own_folder(&std::env::temp_dir()), folder);
/// # std::fs::remove_file(folder.join("x.mtx")).unwrap();
/// ```
///
/// # Panics
///
/// If the folder cannot be made.
#[must_use]
pub fn own_folder(parent: &Path) -> &'static Path {
    static OWN: OnceLock<(PathBuf, File)> = OnceLock::new();
    // The lock is let go when the process ends.
    let (folder, _lock) = OWN.get_or_init(|| take(parent));
    folder
}

/// The first folder that no process holds, emptied, with the lock that now holds it.
fn take(parent: &Path) -> (PathBuf, File) {
    fs::create_dir_all(parent).expect("the folder of temporary files can be made");
    let places = (0..1000).map(|number| parent.join(format!("sparsefuse-tests-{number}")));
    for folder in places {
        // Another user's, in a folder that users share.
        let Ok(lock) = File::create(folder.with_extension("lock")) else {
            continue;
        };
        match lock.try_lock() {
            Ok(()) => {
                let _ = fs::remove_dir_all(&folder);
                fs::create_dir(&folder).expect("the folder of a process that has ended is free");
                return (folder, lock);
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => panic!("{}: {error}", folder.display()),
        }
    }
    panic!("no folder of tests is free in {}", parent.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_by_one_and_again_when_that_has_ended() {
        let parent =
            std::env::temp_dir().join(format!("sparsefuse-scratch-{}", std::process::id()));
        let (first, held) = take(&parent);
        let (second, _) = take(&parent);
        assert_ne!(first, second);
        fs::write(first.join("left"), "").expect("it is there");
        drop(held);
        let (again, _) = take(&parent);
        assert_eq!(again, first);
        assert!(!again.join("left").exists(), "it is empty");
        fs::remove_dir_all(parent).expect("it is there");
    }
}
