//! Files that a process was writing when it was killed.
//!
//! A file is written beside its place, under a hidden name that says which process does it, and
//! takes its place when it is complete. What a killed process has left is removed by the next one
//! that writes to the same place.

use std::fs;
use std::path::Path;

/// Removes what processes that are no more have left beside `path`: hidden files named after it,
/// then the number of the process, then `.` and an ending for which `is_ours` holds. Where a
/// system does not say which processes there are, nothing is removed.
pub fn remove_stale(path: &Path, is_ours: impl Fn(&str) -> bool) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return;
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
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

    #[test]
    fn only_files_of_processes_that_have_ended_are_removed() {
        let folder = format!("sparsefuse-stale-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
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
        fs::remove_dir_all(&folder).unwrap();
    }
}
