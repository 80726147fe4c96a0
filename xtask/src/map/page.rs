//! The page `docs/map.md`: every source file with the first sentence of its header.
//!
//! `tests/tidy.rs` makes the page too, and compares.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

pub(crate) const PAGE: &str = "docs/map.md";

/// The crates from the lowest to the highest, then those of tests and examples: folder, package.
const CRATES: [(&str, &str); 8] = [
    ("kernels/src", "sparsefuse-kernels"),
    ("runtime/src", "sparsefuse-runtime"),
    ("dense/src", "sparsefuse-dense"),
    ("sparse/src", "sparsefuse-sparse"),
    ("solvers/src", "sparsefuse-solvers"),
    ("src", "sparsefuse"),
    ("testing/src", "sparsefuse-testing"),
    ("examples/frame/src", "sparsefuse-frame"),
];

/// The text of the page.
pub(crate) fn map(root: &Path) -> io::Result<String> {
    let mut page = String::from(
        "# Map\n\nEvery source file, by folder, with the first sentence of its header. Made by \
         `cargo xtask map`; the order is that of the alphabet, ARCHITECTURE.md has the order in \
         which to read.\n",
    );
    for (folder, package) in CRATES {
        let _ = write!(page, "\n## `{package}`\n");
        describe(&root.join(folder), folder, &mut page)?;
    }
    Ok(page)
}

/// The table of a folder, and then those of the folders in it.
fn describe(path: &Path, name: &str, page: &mut String) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    if entries.is_empty() {
        // What a checkout has left of a folder that was moved.
        return Ok(());
    }
    let _ = write!(page, "\n`{name}/`\n\n| file | |\n|---|---|\n");
    for entry in &entries {
        let file = entry.file_name().to_string_lossy().into_owned();
        if let Some(module) = file.strip_suffix(".rs") {
            let sentence = first_sentence(&fs::read_to_string(entry.path())?);
            let _ = writeln!(page, "| `{module}` | {sentence} |");
        }
    }
    for entry in &entries {
        let folder = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && folder != "tests" {
            describe(&entry.path(), &format!("{name}/{folder}"), page)?;
        }
    }
    Ok(())
}

/// The first sentence of the header of a file, without links.
fn first_sentence(text: &str) -> String {
    let header = text.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph = header.map(str::trim).take_while(|line| !line.is_empty());
    let paragraph = paragraph.collect::<Vec<_>>().join(" ");
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    let sentence = paragraph[..end].trim_end_matches('.');
    sentence
        .replace("[`", "`")
        .replace("`]", "`")
        .replace('|', "\\|")
}
