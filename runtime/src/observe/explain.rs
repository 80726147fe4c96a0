//! The last window as text: tasks, partitions, groups, kernels, and what this rank does.

use crate::analysis::regions::Regions;
use crate::analysis::schedule::{FusedTask, Schedule, TaskNote};
use crate::analysis::solve::Launch;
use crate::comm::exchange::Sent;
use crate::geometry::partition::{CutsTable, Partition};
use crate::tasks::argument::{Access, Privilege};
use sparsefuse_kernels::blocks::Program;
use std::fmt::Write as _;

/// The text of [`crate::Runtime::explain`].
pub(crate) fn text(schedule: &Schedule, regions: &Regions, cuts: &CutsTable) -> String {
    let mut out = String::from("stores\n");
    for (number, slot) in schedule.slots.iter().enumerate() {
        let held = if slot.is_held {
            ", held by the program"
        } else {
            ""
        };
        let _ = writeln!(out, "  s{number}: {} {}{held}", slot.shape, slot.dtype);
    }
    out.push_str("tasks\n");
    for (number, task) in schedule.tasks.iter().enumerate() {
        let region = regions.of(std::iter::once(task.number));
        let region = match &*region {
            "" => String::new(),
            region => format!("[{region}] "),
        };
        let _ = writeln!(out, "  t{number}: {region}{}", task_line(task, cuts));
    }
    for (number, task) in schedule.fused.iter().enumerate() {
        group(&mut out, number, task, cuts);
    }
    out
}

/// The eager tasks that have run since the last window, and how often; nothing without any.
pub(crate) fn eager(tasks: &[(&str, u64)]) -> String {
    let mut out = String::new();
    for (number, (name, times)) in tasks.iter().enumerate() {
        let head = if number == 0 {
            "eager tasks since then\n"
        } else {
            ""
        };
        let _ = match times {
            1 => writeln!(out, "{head}  {name}"),
            _ => writeln!(out, "{head}  {name}, {times} times"),
        };
    }
    out
}

fn partition_text(partition: Partition, cuts: &CutsTable) -> String {
    match partition {
        Partition::Replicated => "replicated".to_owned(),
        Partition::Tile(id) => {
            let cuts = cuts.get(id);
            let shown = if cuts.len() <= 9 {
                format!("{cuts:?}")
            } else {
                format!("{} cuts", cuts.len())
            };
            format!("tile{}{shown}", id.0)
        }
    }
}

fn task_line(task: &TaskNote, cuts: &CutsTable) -> String {
    let launch = match task.launch {
        Launch::Any => "any".to_owned(),
        Launch::On(partition) => partition_text(partition, cuts),
    };
    let mut line = format!("{} on {launch}:", task.name);
    for (privilege, access, slot, view) in &task.args {
        let privilege = match privilege {
            Privilege::Read => "read".to_owned(),
            Privilege::Write => "write".to_owned(),
            Privilege::Reduce(op) => format!("reduce({})", op.name()),
        };
        let access = match access {
            Access::Rows => String::new(),
            Access::Ranges => " equal".to_owned(),
            Access::Within { ranges: of } | Access::At { indices: of } => {
                format!(" image(s{})", task.args[*of as usize].2)
            }
            Access::Whole | Access::Elements(_) => " broadcast".to_owned(),
            Access::Held => " held".to_owned(),
            Access::Block => " block".to_owned(),
        };
        let _ = write!(line, " {privilege} s{slot}");
        if let Some(shape) = view {
            let _ = write!(line, " seen as {shape}");
        }
        let _ = write!(line, "{access},");
    }
    line.pop();
    line
}

fn group(out: &mut String, number: usize, task: &FusedTask, cuts: &CutsTable) {
    let tasks = &task.group.tasks;
    let launch = partition_text(task.group.launch, cuts);
    let _ = writeln!(
        out,
        "group {number}: t{}..t{} on {launch}",
        tasks.start,
        tasks.end - 1
    );
    let reason = task
        .group
        .end
        .map_or("the window ended".to_owned(), |end| end.to_string());
    let _ = writeln!(out, "  ended: {reason}");
    if task.group.overlaps {
        let _ = writeln!(out, "  ranks compute rows of their neighbours, too");
    }
    for fetch in &task.fetches {
        let _ = writeln!(out, "  fetch s{}", fetch.slot);
    }
    for halo in &task.halos {
        let _ = writeln!(out, "  halo of s{}", halo.slot);
    }
    if !task.fetches.is_empty() || !task.halos.is_empty() {
        let Sent { messages, bytes } = task.fetched();
        let _ = writeln!(out, "  sends {messages} messages, {bytes} bytes");
    }
    for piece in &task.pieces {
        let _ = writeln!(out, "  ghosts of s{} by image(s{})", piece.x, piece.indices);
    }
    for (version, of) in task.versions.last() {
        let _ = writeln!(out, "  s{of} becomes s{version}");
    }
    for output in &task.outputs {
        let _ = match output.reuse {
            Some(reuse) => {
                let of = reuse.slot();
                writeln!(out, "  s{} takes over the memory of s{of}", output.slot)
            }
            None => writeln!(
                out,
                "  s{} gets memory for {} elements",
                output.slot, output.len
            ),
        };
    }
    match (&task.program, &task.host) {
        (Some(_), _) => {}
        (None, Some(host)) => {
            let rows = &host.rows;
            let _ = writeln!(out, "  host task `{}` on rows {rows:?}", task.name);
        }
        (None, None) => out.push_str("  nothing to compute\n"),
    }
    for line in task.kernel.to_string().lines() {
        let _ = writeln!(out, "  | {line}");
    }
    match task.on_device.get() {
        Some(Ok(_)) => out.push_str("  has kernels for the device\n"),
        Some(Err(reason)) => {
            let _ = writeln!(out, "  stays on the host: {reason}");
        }
        None => {}
    }
    for (number, note) in task.program.iter().flat_map(Program::native_notes) {
        let _ = writeln!(out, "  loop {number} runs {note}");
    }
    for note in task.program.iter().flat_map(Program::band_notes) {
        let _ = writeln!(out, "  {note}");
    }
    for note in task.program.iter().flat_map(Program::made_notes) {
        let _ = writeln!(out, "  {note}");
    }
    for reduction in &task.reductions {
        let over = if reduction.is_partial() {
            "over all ranks"
        } else {
            "here"
        };
        let _ = writeln!(
            out,
            "  reduce({}) into s{} {over}",
            reduction.op.name(),
            reduction.slot
        );
    }
    if !task.frees.is_empty() {
        let names: Vec<String> = task.frees.iter().map(|slot| format!("s{slot}")).collect();
        let _ = writeln!(out, "  free {}", names.join(" "));
    }
}
