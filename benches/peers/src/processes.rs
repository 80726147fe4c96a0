//! The part of the report about MPI processes: against PETSc, one process a core each; what is
//! sent; and how processes compare with threads.

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
         Messages, bytes and reductions are the most that a process sends in an iteration: the \
         difference of solves with twice as many and once as many, over their number; what a solve \
         sends beside its iterations follows. Those of PETSc as `-log_view` counts them, with the \
         cheapest norm that it can test; in brackets with the norm that it takes by default.\n\n\
         | work | processes | sparsefuse | PETSc | its time | ratio | target | messages | bytes | \
         reductions | a solve: messages | reductions |\n\
         |---|--:|--:|---|--:|--:|---|--:|--:|--:|--:|--:|\n",
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
    let default = petsc.traffic.and_then(|traffic| traffic.default_reductions);
    let default = default.map_or(String::new(), |number| format!(" ({number:.1})"));
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {ratio:.2} | {target} | {} | {} | {}{default} | {} | {} |",
        group.work.name(),
        group.threads,
        time(ours.median()),
        petsc.name,
        time(petsc.median()),
        both(|traffic| traffic.unit.messages),
        both(|traffic| traffic.unit.bytes),
        both(|traffic| traffic.unit.reductions),
        both(|traffic| traffic.solve.messages),
        both(|traffic| traffic.solve.reductions),
    );
}

/// Writes how much faster several processes are than one, and several threads than one.
pub(crate) fn scaling(text: &mut String, groups: &[Group]) {
    let mut rows = String::new();
    for group in groups.iter().filter(|group| group.threads > 1) {
        let alone = groups
            .iter()
            .find(|other| other.threads == 1 && other.work.name() == group.work.name());
        let (Some(alone), Some(processes), Some(threads)) =
            (alone, group.find(OURS_MPI), group.find(OURS))
        else {
            continue;
        };
        let (Some(process), Some(thread)) = (alone.find(OURS_MPI), alone.find(OURS)) else {
            continue;
        };
        let difference = process.times_as_long_as(thread) * threads.times_as_long_as(processes);
        let _ = writeln!(
            rows,
            "| {} | {} | {:.2} | {:.2} | {:+.0} % |",
            group.work.name(),
            group.threads,
            process.median() / processes.median(),
            thread.median() / threads.median(),
            100.0 * (difference - 1.0),
        );
    }
    if !rows.is_empty() {
        text.push_str(
            "How many times as fast as one of it sparsefuse is on so many processes, and on so many \
             threads. The difference is that of the medians over the rounds, in each of which \
             processes and threads took turns.\n\n| work | cores | processes | threads | difference |\n\
             |---|--:|--:|--:|--:|\n",
        );
        text.push_str(&rows);
        text.push('\n');
    }
}
