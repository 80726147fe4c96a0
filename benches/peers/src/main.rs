//! sparsefuse beside its peers: the same work, alternately, on the same cores, results compared.
//!
//! `cargo xtask bench peers` starts it. One program with three faces: the driver, and the processes
//! that it starts of itself, `worker` (a competitor) and `probe` (the bandwidth of the machine).

mod work;

mod competitors;
mod tools;

mod child;
mod rounds;

mod matrices;
mod worker;

mod probe;

mod plots;
mod processes;
mod report;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use rounds::{Effort, Group};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tools::Tools;
use work::Work;

/// sparsefuse beside its peers; `cargo xtask bench peers --help` tells all.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only work whose name contains this, or one of these
    #[arg(long)]
    only: Vec<String>,
    /// Only competitors whose name contains this, or one of these, beside sparsefuse
    #[arg(long)]
    against: Vec<String>,
    /// Rounds of each piece of work
    #[arg(long)]
    rounds: Option<usize>,
    /// Three short rounds, and smaller matrices where a single time takes long
    #[arg(long)]
    quick: bool,
    /// Install nothing
    #[arg(long)]
    no_install: bool,
    /// Where the report goes
    #[arg(long)]
    results: PathBuf,
    /// Where everything else goes
    #[arg(long)]
    folder: PathBuf,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.first().map(String::as_str) {
        Some("worker") => worker::run(&words[1..]),
        Some("probe") => {
            probe::run(&words[1..]);
            Ok(())
        }
        _ => drive(&Arguments::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("peers: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Prepares, measures, writes the report.
fn drive(arguments: &Arguments) -> Result<(), String> {
    let mut chosen = chosen(&arguments.only, arguments.quick)?;
    chosen.retain(|work| {
        let is_there = work.is_dense() || matrices::is_there(work.on);
        if !is_there {
            eprintln!(
                "skipped: {}, there is no shared/matrices/{}",
                work.name(),
                work.on
            );
        }
        is_there
    });
    let against = competitors::chosen(&arguments.against)?;
    let (rounds, batch) = if arguments.quick { (3, 0.1) } else { (5, 0.4) };
    let effort = Effort {
        rounds: arguments.rounds.unwrap_or(rounds).max(1),
        batch,
    };
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = if all == 1 { vec![1] } else { vec![1, all] };
    let bar = bar(chosen.len() * cores.len());
    let tools = Tools::prepare(&arguments.folder, !arguments.no_install, &|what| {
        bar.set_message(what.to_owned());
    })?;
    bar.set_message("bandwidth of the machine");
    let machine: Vec<_> = cores
        .iter()
        .flat_map(|&threads| probe::measure(&tools.program, threads, true))
        .collect();
    let mut groups = Vec::new();
    for work in chosen {
        for &threads in &cores {
            let name = work.name();
            let say =
                |what: &str| bar.set_message(format!("{name}, {}: {what}", report::cores(threads)));
            let group = rounds::run(&tools, work, &against, threads, effort, &say)?;
            bar.suspend(|| announce(&group));
            groups.push(group);
            bar.inc(1);
            // After every group, so that an interrupted run leaves what it has.
            write(
                &arguments.results,
                &report::page(&tools, &machine, &groups, effort),
            )?;
        }
    }
    bar.finish_and_clear();
    let folder = arguments.results.parent().unwrap_or(Path::new("."));
    let plots = plots::draw(folder, &groups)?;
    let images: String = plots
        .iter()
        .map(|name| format!("![{name}]({name})\n\n"))
        .collect();
    let page = report::page(&tools, &machine, &groups, effort);
    write(
        &arguments.results,
        &format!("{page}## Plots\n\n{}", images.trim_end()),
    )?;
    println!("written: {}", arguments.results.display());
    Ok(())
}

/// The work whose names contain one of these; all if there are none.
fn chosen(only: &[String], quick: bool) -> Result<Vec<Work>, String> {
    let all = work::ALL.iter();
    let all: Vec<Work> = all
        .map(|work| if quick { work.quick() } else { *work })
        .collect();
    let is_chosen = |work: &&Work| {
        let name = work.name();
        only.is_empty() || only.iter().any(|part| name.contains(part.as_str()))
    };
    let chosen: Vec<Work> = all.iter().filter(is_chosen).copied().collect();
    if chosen.is_empty() {
        let names: Vec<String> = all.iter().map(Work::name).collect();
        return Err(format!(
            "no work of that name; there are: {}",
            names.join("; ")
        ));
    }
    Ok(chosen)
}

fn bar(groups: usize) -> ProgressBar {
    let bar = ProgressBar::new(groups as u64);
    let style = ProgressStyle::with_template("[{elapsed}] {bar:24} {pos}/{len} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// One line on standard error for each group, and one for each who is not in it.
fn announce(group: &Group) {
    let figures = group
        .timed
        .iter()
        .map(|timed| format!("{} {}", timed.name, report::time(timed.median())));
    let figures: Vec<String> = figures.collect();
    let cores = report::cores(group.threads);
    eprintln!("{}, {cores}: {}", group.work.name(), figures.join(", "));
    for (competitor, reason) in &group.left_out {
        eprintln!("  {competitor}: {reason}");
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let say = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(say)?;
    }
    std::fs::write(path, format!("{}\n", text.trim_end())).map_err(say)
}
