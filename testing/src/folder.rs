//! The folder of real matrices, `shared/matrices` beside the checkout or beside a folder that holds
//! it. A test that wants it says that it is not there, and passes.

use std::path::{Path, PathBuf};

/// The folder of real matrices, which has a table of them, `manifest.csv`; `None`, and a line that
/// says so, where it is not there.
#[must_use]
pub fn matrices() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(2);
    let mut folders = above.map(|folder| folder.join("shared/matrices"));
    let found = folders.find(|folder| folder.join("manifest.csv").is_file());
    if found.is_none() {
        println!("skipped: no folder shared/matrices beside the checkout");
    }
    found
}

/// The file of a real matrix, by its name without `.mtx`; `None`, and a line that says so, where it
/// is not there.
#[must_use]
pub fn matrix(name: &str) -> Option<PathBuf> {
    let file = matrices()?.join(format!("{name}.mtx"));
    if !file.is_file() {
        println!("skipped: no {}", file.display());
        return None;
    }
    Some(file)
}
