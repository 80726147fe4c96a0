//! `cargo xtask bench`: the benches of the root package, and one table of what they measured.

use crate::cargo::{cargo, show};
use crate::estimates::{self, Estimate};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

/// The package that owns `benches/`.
const PACKAGE: &str = "sparsefuse";

/// Runs one bench, or all.
pub(crate) fn run(name: Option<&str>) -> Result<ExitCode, String> {
    let Benches { names, target } = benches()?;
    if names.is_empty() {
        return Err(format!("the package `{PACKAGE}` has no benches"));
    }
    let chosen: Vec<&str> = match name {
        None => names.iter().map(String::as_str).collect(),
        Some(name) if names.iter().any(|known| known == name) => vec![name],
        Some(name) => {
            let known = names.join(", ");
            return Err(format!("there is no bench `{name}`; there are: {known}"));
        }
    };
    let begin = SystemTime::now();
    for bench in chosen {
        println!("=== bench {bench} ===");
        show(cargo(["bench", "--package", PACKAGE, "--bench", bench]))?;
    }
    let estimates = estimates::collect(&target.join("criterion"), begin)?;
    println!("\n{}", table(&estimates));
    Ok(ExitCode::SUCCESS)
}

/// What cargo knows of the benches.
struct Benches {
    names: Vec<String>,
    /// The folder of everything that is built.
    target: PathBuf,
}

fn benches() -> Result<Benches, String> {
    let mut command = cargo(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command
        .output()
        .map_err(|error| format!("`cargo metadata` could not be started: {error}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`cargo metadata` did not print JSON: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages
        .filter(|package| package["name"] == PACKAGE)
        .flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let is_bench = |target: &&Value| target["kind"][0] == "bench";
    let mut names: Vec<String> = targets
        .filter(is_bench)
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    let target = metadata["target_directory"].as_str().unwrap_or("target");
    Ok(Benches {
        names,
        target: target.into(),
    })
}

/// The estimates as a table, one line each.
fn table(estimates: &[Estimate]) -> String {
    let width = estimates.iter().map(|estimate| estimate.name.len()).max();
    let width = width.unwrap_or(0).max("bench".len());
    let mut text = format!(
        "{:width$} {:>12} {:>8} {:>16}\n",
        "bench", "median", "spread", "rate"
    );
    for estimate in estimates {
        let Estimate { name, median, .. } = estimate;
        let spread = format!("{:.1} %", 100.0 * estimate.deviation / median);
        let rates: Vec<String> = estimate.rates().collect();
        let line = format!(
            "{name:width$} {:>12} {spread:>8} {:>16}",
            estimates::time(*median),
            rates.join(" ")
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up() {
        let estimate = |name: &str, median, bytes| Estimate {
            name: name.to_owned(),
            median,
            deviation: median / 50.0,
            elements: None,
            bytes,
        };
        let estimates = [
            estimate("spmv/poisson2d/1024", 2.5e6, Some(5e7)),
            estimate("overhead", 80.0, None),
        ];
        assert_eq!(
            table(&estimates),
            "\
bench                     median   spread             rate
spmv/poisson2d/1024     2.500 ms    2.0 %       20.00 GB/s
overhead               80.000 ns    2.0 %
"
        );
    }
}
