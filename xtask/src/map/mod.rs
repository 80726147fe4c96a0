//! Writes the page `docs/map.md`: see [`page`].

mod page;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Makes the page and writes it.
pub(crate) fn run() -> Result<ExitCode, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let written = page::map(&root).and_then(|text| fs::write(root.join(page::PAGE), text));
    written.map_err(|error| format!("{}: {error}", page::PAGE))?;
    Ok(ExitCode::SUCCESS)
}
