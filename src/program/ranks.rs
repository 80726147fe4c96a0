//! The profile of several ranks as one table: how evenly they share the work, and how much of the
//! time of messages is hidden behind it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The sums of one task, by rank.
#[derive(Default)]
struct Task {
    calls: f64,
    seconds: Vec<f64>,
    waited: f64,
    overlapped: f64,
}

/// The tasks of all ranks, fused ones and others, those that took longest first.
///
/// `busy` is the time without waiting for others; its imbalance is the largest of a rank over the
/// mean. `overlap` is the part of the time between sending ghosts and having those of others in
/// which a rank computed.
pub(super) fn table(profiles: &[Value]) -> String {
    let mut tasks: BTreeMap<(&str, &str), Task> = BTreeMap::new();
    for kernel in profiles.iter().flat_map(|profile| {
        let kernels = profile["kernels"].as_array();
        kernels.into_iter().flatten()
    }) {
        let number = |name: &str| kernel[name].as_f64().unwrap_or_default();
        let name = kernel["name"].as_str().unwrap_or_default();
        let kind = kernel["kind"].as_str().unwrap_or_default();
        let task = tasks.entry((name, kind)).or_default();
        task.calls = task.calls.max(number("calls"));
        task.seconds.push(number("seconds") - number("waited"));
        task.waited += number("waited");
        task.overlapped += number("overlapped");
    }
    let mut rows: Vec<_> = tasks.into_iter().collect();
    rows.sort_by(|a, b| maximum(&b.1.seconds).total_cmp(&maximum(&a.1.seconds)));
    let mut text = format!(
        "{:>10} {:>11} {:>11} {:>11} {:>9} {:>11} {:>7}  task\n",
        "calls", "busy min s", "mean", "max", "imbalance", "waited mean", "overlap"
    );
    for ((name, kind), task) in rows {
        let kind = match kind {
            "" | "fused" => String::new(),
            kind => format!(" ({kind})"),
        };
        let n_ranks = task.seconds.len() as f64;
        let mean = task.seconds.iter().sum::<f64>() / n_ranks;
        let least = task.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = maximum(&task.seconds);
        let overlap = match task.overlapped {
            0.0 => "-".to_owned(),
            hidden => format!("{:.0}%", 100.0 * hidden / (hidden + task.waited)),
        };
        let _ = writeln!(
            text,
            "{:>10} {least:>11.6} {mean:>11.6} {most:>11.6} {:>9.2} {:>11.6} {overlap:>7}  \
             {name}{kind}",
            task.calls,
            most / mean.max(1e-12),
            task.waited / n_ranks,
        );
    }
    text
}

fn maximum(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_shows_the_slowest_rank_and_what_was_hidden() {
        let rank = |seconds: f64| {
            json!({ "kernels": [
                { "name": "spmv", "calls": 2, "seconds": seconds, "waited": 1.0, "overlapped": 3.0 },
                { "name": "add", "calls": 9, "seconds": 0.5, "waited": 0.0, "overlapped": 0.0 },
                { "name": "add", "kind": "eager", "calls": 1, "seconds": 0.25 },
            ]})
        };
        let text = table(&[rank(3.0), rank(5.0)]);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let numbers = [
            "2", "2.000000", "3.000000", "4.000000", "1.33", "1.000000", "75%", "spmv",
        ];
        assert_eq!(rows[1], numbers);
        let numbers = [
            "9", "0.500000", "0.500000", "0.500000", "1.00", "0.000000", "-", "add",
        ];
        assert_eq!(rows[2], numbers);
        assert_eq!(rows[3][..2], ["1", "0.250000"]);
        assert!(rows[3].ends_with(&["add", "(eager)"]), "{:?}", rows[3]);
    }
}
