//! What criterion has measured, from the JSON files that it leaves behind.
//!
//! A bench has a folder with `new/estimates.json` (times in nanoseconds) and `new/benchmark.json`
//! (its name, and how many bytes or elements an iteration goes through).

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The measurement of one bench.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) name: String,
    /// The median time of an iteration, in nanoseconds.
    pub(crate) median: f64,
    /// The median of the distances from the median, in nanoseconds.
    pub(crate) deviation: f64,
    /// What an iteration goes through, if the bench says so.
    pub(crate) elements: Option<f64>,
    pub(crate) bytes: Option<f64>,
}

impl Estimate {
    /// Operations and bytes per second.
    pub(crate) fn rates(&self) -> impl Iterator<Item = String> {
        // One per nanosecond is 1e9 per second.
        let elements = self
            .elements
            .map(|elements| rate(1e9 * elements / self.median));
        let bytes = self
            .bytes
            .map(|bytes| format!("{:.2} GB/s", bytes / self.median));
        elements.into_iter().chain(bytes)
    }
}

/// The measurements under a folder that are not older than `since`, by name.
pub(crate) fn collect(folder: &Path, since: SystemTime) -> Result<Vec<Estimate>, String> {
    let mut estimates = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
            if path.is_dir() {
                folders.push(path);
            }
        }
        let file = folder.join("estimates.json");
        let is_fresh = fs::metadata(&file)
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|modified| modified >= since);
        if is_fresh && folder.file_name().is_some_and(|name| name == "new") {
            estimates.push(read(&json(file)?, &json(folder.join("benchmark.json"))?)?);
        }
    }
    estimates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(estimates)
}

fn json(file: PathBuf) -> Result<Value, String> {
    let text = fs::read(&file).map_err(|error| unreadable(&file, &error))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("{} could not be read: {error}", path.display())
}

fn read(estimates: &Value, benchmark: &Value) -> Result<Estimate, String> {
    let name = benchmark["full_id"]
        .as_str()
        .unwrap_or("without a name")
        .to_owned();
    let estimate = |key: &str| {
        let value = estimates[key]["point_estimate"].as_f64();
        value.ok_or_else(|| format!("criterion's estimates of `{name}` have no `{key}`"))
    };
    let throughput = &benchmark["throughput"];
    let both = &throughput["ElementsAndBytes"];
    let bytes = [
        &throughput["Bytes"],
        &throughput["BytesDecimal"],
        &both["bytes"],
    ];
    let elements = [&throughput["Elements"], &both["elements"]];
    Ok(Estimate {
        median: estimate("median")?,
        deviation: estimate("median_abs_dev")?,
        elements: elements.into_iter().find_map(Value::as_f64),
        bytes: bytes.into_iter().find_map(Value::as_f64),
        name,
    })
}

/// A time in nanoseconds with the unit that suits it.
pub(crate) fn time(nanoseconds: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let found = units.into_iter().find(|&(unit, _)| nanoseconds >= unit);
    let (unit, name) = found.unwrap_or((1.0, "ns"));
    format!("{:.3} {name}", nanoseconds / unit)
}

/// A number per second with the unit that suits it.
fn rate(per_second: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let found = units.into_iter().find(|&(unit, _)| per_second >= unit);
    let (unit, name) = found.unwrap_or((1.0, ""));
    format!("{:.2} {name}op/s", per_second / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn estimates() -> Value {
        json!({
            "mean": { "point_estimate": 3000.0 },
            "median": { "point_estimate": 2000.0 },
            "median_abs_dev": { "point_estimate": 10.0 },
        })
    }

    #[test]
    fn throughput_becomes_rates() {
        let cases = [
            (json!({ "Bytes": 40_000 }), &["20.00 GB/s"][..]),
            (json!({ "Elements": 1 }), &["500.00 kop/s"]),
            (
                json!({ "ElementsAndBytes": { "elements": 4, "bytes": 2000 } }),
                &["2.00 Mop/s", "1.00 GB/s"],
            ),
            (Value::Null, &[]),
        ];
        for (throughput, expected) in cases {
            let benchmark = json!({ "full_id": "cg/1024", "throughput": throughput });
            let estimate = read(&estimates(), &benchmark).unwrap();
            assert_eq!(estimate.rates().collect::<Vec<_>>(), expected);
            assert_eq!((estimate.median, estimate.deviation), (2000.0, 10.0));
        }
    }

    #[test]
    fn missing_estimates_are_named() {
        let error = read(&json!({}), &json!({ "full_id": "cg" })).unwrap_err();
        assert_eq!(error, "criterion's estimates of `cg` have no `median`");
    }

    #[test]
    fn only_fresh_results_are_collected() {
        let folder = std::env::temp_dir().join(format!("xtask-estimates-{}", std::process::id()));
        for (name, run) in [("a", "new"), ("b/c", "new"), ("a", "base")] {
            let folder = folder.join(name).join(run);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("estimates.json"), estimates().to_string()).unwrap();
            let benchmark = json!({ "full_id": name, "throughput": null });
            fs::write(folder.join("benchmark.json"), benchmark.to_string()).unwrap();
        }
        let names = |since| -> Vec<String> {
            let estimates = collect(&folder, since).unwrap();
            estimates
                .into_iter()
                .map(|estimate| estimate.name)
                .collect()
        };
        assert_eq!(names(SystemTime::UNIX_EPOCH), ["a", "b/c"]);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert!(names(later).is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn times_have_units() {
        let texts = [0.5, 1500.0, 2.5e6, 3e9].map(time);
        assert_eq!(texts, ["0.500 ns", "1.500 us", "2.500 ms", "3.000 s"]);
    }
}
