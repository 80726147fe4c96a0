//! The part of the report about MPI processes: against PETSc, one process a core each; what is sent;
//! and how processes compare with threads.

use crate::child::Traffic;
use crate::competitors::{OURS, OURS_MPI};
use crate::report::time;
use crate::rounds::{Group, Timed};
use std::fmt::Write as _;

const PETSC: [&str; 2] = ["PETSc AIJ", "PETSc SELL"];

/// Writes the section, if anything was run on several processes.
pub(crate) fn section(text: &mut String, groups: &[Group]) {
    let groups: Vec<&Group> = groups
        .iter()
        .filter(|group| group.threads > 1 && group.find(OURS_MPI).is_some())
        .collect();
    if groups.is_empty() {
        return;
    }
    text.push_str(
        "## MPI processes\n\n\
         Both under `mpiexec`, one process a core, one thread each; times of an iteration, medians. \
         Messages, bytes and reductions are the most that a process sends in an iteration, averaged \
         over a solve; those of PETSc as `-log_view` counts them.\n\n\
         | work | processes | sparsefuse | PETSc | its time | ratio | target | messages | bytes | \
         reductions |\n|---|--:|--:|---|--:|--:|---|--:|--:|--:|\n",
    );
    for group in &groups {
        against_petsc(text, group);
    }
    text.push('\n');
}

fn against_petsc(text: &mut String, group: &Group) {
    let Some(ours) = group.find(OURS_MPI) else {
        return;
    };
    let Some(petsc) = group.fastest(|timed| PETSC.contains(&timed.name)) else {
        return;
    };
    let ratio = petsc.median() / ours.median();
    let target = match group.work.target_on_processes() {
        None => String::new(),
        Some(target) if ratio >= target => format!("{target} met"),
        Some(target) => format!("{target} **missed**"),
    };
    let both = |number: fn(&Traffic) -> f64| {
        let of = |timed: &Timed| timed.traffic.as_ref().map_or(f64::NAN, number);
        format!("{:.1} / {:.1}", of(ours), of(petsc))
    };
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {ratio:.2} | {target} | {} | {} | {} |",
        group.work.name(),
        group.threads,
        time(ours.median()),
        petsc.name,
        time(petsc.median()),
        both(|traffic| traffic.messages),
        both(|traffic| traffic.bytes),
        both(|traffic| traffic.reductions),
    );
}

/// Writes how much faster several processes are than one, and several threads than one.
pub(crate) fn scaling(text: &mut String, groups: &[Group]) {
    let mut rows = String::new();
    for group in groups.iter().filter(|group| group.threads > 1) {
        let alone = groups
            .iter()
            .find(|other| other.threads == 1 && other.work.name() == group.work.name());
        let gain = |name: &str| Some(alone?.find(name)?.median() / group.find(name)?.median());
        if let (Some(processes), Some(threads)) = (gain(OURS_MPI), gain(OURS)) {
            let _ = writeln!(
                rows,
                "| {} | {} | {processes:.2} | {threads:.2} | {:+.0} % |",
                group.work.name(),
                group.threads,
                100.0 * (processes / threads - 1.0),
            );
        }
    }
    if !rows.is_empty() {
        text.push_str(
            "How many times as fast as one of it sparsefuse is on so many processes, and on so many \
             threads:\n\n| work | cores | processes | threads | difference |\n\
             |---|--:|--:|--:|--:|\n",
        );
        text.push_str(&rows);
        text.push('\n');
    }
}
