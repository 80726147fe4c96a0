//! `peers.md`: the machine, the competitors, one summary against the targets, one table per work.

use crate::competitors;
use crate::probe::{Access, Level, Measured};
use crate::processes;
use crate::rounds::{Effort, Group, Timed};
use crate::tools::Tools;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

/// The whole page.
pub(crate) fn page(
    tools: &Tools,
    machine: &[Measured],
    groups: &[Group],
    effort: Effort,
) -> String {
    let mut text = String::new();
    head(&mut text, effort);
    probe(&mut text, machine);
    versions(&mut text, tools, groups);
    summary(&mut text, groups);
    processes::section(&mut text, groups);
    processes::scaling(&mut text, groups);
    text.push_str("## All figures\n\n");
    text.push_str(HOW_TO_READ);
    for group in groups {
        table(&mut text, group);
    }
    text
}

const HOW_TO_READ: &str = "\
Times are those of one product, iteration, pass or whatever the column says: the median over the \
rounds, the fastest and the slowest.\nSetup and solve of `gmg` and `amg` lead from a matrix in memory \
to a solution; the residual is ||b - A x|| / ||b||, computed afterwards.\nThe bandwidth is that of the bytes counted, as a share of the better triad from DRAM, \
measured before and after each table: for sparsefuse the bytes that its profile counts, for the \
others those of compressed rows with one loop for each vector operation. Where everything fits the \
caches it exceeds 100 %.\n\n";

fn head(text: &mut String, effort: Effort) {
    let command = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output();
        let bytes = output.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor
        .lines()
        .find(|line| line.starts_with("model name"));
    let model = model
        .and_then(|line| line.split(": ").nth(1))
        .unwrap_or("unknown processor");
    let pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let pages = pages.unwrap_or_default();
    let pages = pages.split(['[', ']']).nth(1).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = write!(
        text,
        "# sparsefuse beside its peers\n\n\
         Made by `cargo xtask bench peers`: {} rounds, alternately, batches of {} s.\n\n\
         - date: {}\n- machine: {model}, {cores} cores, {}, transparent huge pages: {pages}\n\
         - compilers: {}; {}\n- checkout: {}\n\n",
        effort.rounds,
        effort.batch,
        command("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        command("uname", &["-sr"]),
        command("rustc", &["--version"]),
        command("cc", &["--version"])
            .lines()
            .next()
            .unwrap_or("no C compiler"),
        command("git", &["describe", "--always", "--dirty"]),
    );
}

fn probe(text: &mut String, machine: &[Measured]) {
    text.push_str("## The machine\n\nGB/s of all threads together, bytes as the program names them (read 8, copy 16, triad 24 an element).\n\n| | cores |");
    for access in Access::ALL {
        let _ = write!(text, " {access} |");
    }
    text.push_str("\n|---|--:|");
    text.push_str(&"--:|".repeat(Access::ALL.len()));
    text.push('\n');
    let mut rows: Vec<(Level, usize)> = Vec::new();
    for measured in machine {
        if !rows.contains(&(measured.level, measured.threads)) {
            rows.push((measured.level, measured.threads));
        }
    }
    for (level, threads) in rows {
        let _ = write!(text, "| {level} | {threads} |");
        for measured in machine {
            if (measured.level, measured.threads) == (level, threads) {
                let _ = write!(text, " {:.1} |", measured.rate / 1e9);
            }
        }
        text.push('\n');
    }
    text.push('\n');
}

fn versions(text: &mut String, tools: &Tools, groups: &[Group]) {
    let timed = groups.iter().flat_map(|group| &group.timed);
    let versions: BTreeMap<&str, &str> = timed
        .map(|timed| (timed.name, timed.version.as_str()))
        .collect();
    text.push_str("## Competitors\n\n");
    for competitor in competitors::ALL {
        let name = competitor.name;
        match (versions.get(name), tools.missing(competitor.program)) {
            (Some(version), _) => {
                let _ = writeln!(text, "- {name}: {version}");
            }
            (None, Some(reason)) => {
                let _ = writeln!(text, "- {name}: **missing**; {reason}");
            }
            (None, None) => {}
        }
    }
    text.push('\n');
}

fn summary(text: &mut String, groups: &[Group]) {
    text.push_str(
        "## Against the project's own targets\n\n\
         How many times as fast as the fastest of those named sparsefuse is, by medians.\n\n\
         | work | cores | sparsefuse | against | its time | ratio | target | |\n\
         |---|--:|--:|---|--:|--:|--:|---|\n",
    );
    for group in groups {
        let Some(ours) = group.ours() else { continue };
        for target in group.work.targets {
            let rival = group.fastest(|timed| target.against.contains(&timed.name));
            let Some(rival) = rival else { continue };
            let ratio = rival.median() / ours.median();
            let at_least = target.on(group.threads);
            let verdict = if ratio >= at_least {
                "met"
            } else {
                "**missed**"
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {ratio:.2} | {at_least} | {verdict} |",
                group.work.name(),
                group.threads,
                time(ours.median()),
                rival.name,
                time(rival.median()),
            );
        }
    }
    text.push('\n');
}

/// What a competitor has in the last columns of a table.
type Cells = fn(&Group, &Timed) -> String;

/// The figures of a group. Works of streaming memory have the bandwidth in their last columns,
/// solves their parts and how they ended.
fn table(text: &mut String, group: &Group) {
    let (names, last): (&[&str], Cells) = if group.work.is_solved() {
        (&["setup", "solve", "iterations", "residual"], parts)
    } else if group.timed.iter().any(|timed| timed.bytes.is_some()) {
        (&["GB/s counted", "share of the triad"], bandwidth)
    } else {
        (&[], |_, _| String::new())
    };
    let _ = write!(
        text,
        "### {}, {}\n\nTriad {:.1} GB/s before, {:.1} after; results differ by at most {:.0e}.\n\n\
         | | one {} | fastest | slowest | against the fastest peer |",
        group.work.name(),
        cores(group.threads),
        group.triad[0] / 1e9,
        group.triad[1] / 1e9,
        group.distance,
        group.work.unit(),
    );
    for name in names {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(
        text,
        "\n|---|--:|--:|--:|--:|{}",
        "--:|".repeat(names.len())
    );
    let best = group.fastest(|timed| !competitors::is_ours(timed.name));
    let mut timed: Vec<&Timed> = group.timed.iter().collect();
    timed.sort_by(|a, b| a.median().total_cmp(&b.median()));
    for one in timed {
        let median = one.median();
        let ratio = best.map_or(f64::NAN, |best| best.median() / median);
        let slowest = one.seconds.last().copied().unwrap_or(median);
        let name = if competitors::is_ours(one.name) {
            format!("**{}**", one.name)
        } else {
            one.name.to_owned()
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {ratio:.2} |{}",
            time(median),
            time(one.seconds[0]),
            time(slowest),
            last(group, one),
        );
    }
    for (name, reason) in &group.left_out {
        let _ = write!(text, "\n{name} is not in the table: {reason}.\n");
    }
    text.push('\n');
}

/// Bytes counted over time, and as a share of the triad.
fn bandwidth(group: &Group, one: &Timed) -> String {
    let rate = one.bytes.map_or(f64::NAN, |bytes| bytes as f64) / one.median();
    let share = 100.0 * rate / group.bandwidth();
    format!(" {:.1} | {share:.0} % |", rate / 1e9)
}

/// The setup, the rest, iterations and residual.
fn parts(_: &Group, one: &Timed) -> String {
    let setup = one.setup().unwrap_or(f64::NAN);
    let (iterations, residual) = one
        .solved
        .map_or((0, f64::NAN), |solved| (solved.iterations, solved.residual));
    let (setup, solve) = (time(setup), time(one.median() - setup));
    format!(" {setup} | {solve} | {iterations} | {residual:.1e} |")
}

/// "1 core", "2 cores".
pub(crate) fn cores(threads: usize) -> String {
    match threads {
        1 => "1 core".to_owned(),
        _ => format!("{threads} cores"),
    }
}

/// A time with three digits and its unit.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_three_digits() {
        for (seconds, expected) in [(0.0123, "12.3 ms"), (1.5e-6, "1.50 us"), (0.25, "250 ms")] {
            assert_eq!(time(seconds), expected);
        }
    }
}
