//! The figures of a plan: what ranks do in an iteration, and how long it takes on a machine.
//!
//! The model: a fused task takes as long as its bytes take from memory, or its operations, whatever
//! is longer; a message costs its sender the latency and its bytes, one after the other. Nothing
//! overlaps, and an iteration is as long as that of the slowest rank.

use super::arguments::{PlanArguments, PlannedPc};
use super::output::{aligned, bytes, counted, grouped, seconds};
use serde_json::{Map, Value, json};
use sparsefuse::runtime::PlannedTask;
use std::fmt::Write as _;

/// What ranks run on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Seconds for each message.
    pub(super) latency: f64,
    /// Bytes a second between ranks.
    pub(super) bandwidth: f64,
    /// Operations a second.
    pub(super) flops: f64,
    /// Bytes a second from memory.
    pub(super) memory_bandwidth: f64,
}

/// What one rank has, and does in an iteration.
#[derive(Clone, Debug)]
pub(super) struct Row {
    rows: usize,
    nonzeros: usize,
    /// Elements of vectors that other ranks hold, summed over the products.
    ghosts: u64,
    /// Ranks that send them.
    neighbours: usize,
    /// Sent to ranks that need ghosts, or rows that are cut in another way.
    pub(super) ghost_messages: u64,
    pub(super) ghost_bytes: u64,
    /// Sent for reductions.
    reduction_messages: u64,
    reduction_bytes: u64,
    reductions: usize,
    fused_tasks: usize,
    /// Of the matrix as it is assembled, and as a product reads it.
    matrix_bytes: usize,
    product_bytes: u64,
    /// The most at a time.
    peak_memory: usize,
    /// Operations and bytes of each fused task.
    work: Vec<(u64, u64)>,
}

impl Row {
    /// What a rank does in an iteration of these tasks, the ghosts apart that it sends.
    pub(super) fn new(
        rows: usize,
        nonzeros: usize,
        matrix_bytes: usize,
        peak_memory: usize,
        tasks: &[PlannedTask],
    ) -> Self {
        let ghosts = || tasks.iter().flat_map(|task| &task.ghosts);
        let mut neighbours: Vec<usize> = ghosts().map(|ghost| ghost.from).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        let sum = |part: &dyn Fn(&PlannedTask) -> u64| tasks.iter().map(part).sum();
        Self {
            rows,
            nonzeros,
            ghosts: ghosts().map(|ghost| ghost.elements).sum(),
            neighbours: neighbours.len(),
            ghost_messages: sum(&|task| task.fetches.messages),
            ghost_bytes: sum(&|task| task.fetches.bytes),
            reduction_messages: sum(&|task| task.reductions.messages),
            reduction_bytes: sum(&|task| task.reductions.bytes),
            reductions: tasks
                .iter()
                .filter(|task| task.reductions.bytes > 0)
                .count(),
            fused_tasks: tasks.len(),
            matrix_bytes,
            product_bytes: tasks
                .iter()
                .map(|task| task.structure_bytes)
                .max()
                .unwrap_or(0),
            peak_memory,
            work: tasks.iter().map(|task| (task.flops, task.bytes)).collect(),
        }
    }

    fn compute_s(&self, machine: &Machine) -> f64 {
        let time = |&(flops, bytes): &(u64, u64)| {
            (flops as f64 / machine.flops).max(bytes as f64 / machine.memory_bandwidth)
        };
        self.work.iter().map(time).sum()
    }

    fn communication_s(&self, machine: &Machine) -> f64 {
        let messages = self.ghost_messages + self.reduction_messages;
        let bytes = self.ghost_bytes + self.reduction_bytes;
        messages as f64 * machine.latency + bytes as f64 / machine.bandwidth
    }
}

/// How a column is shown.
#[derive(Clone, Copy)]
enum Unit {
    Count,
    Bytes,
    Seconds,
}

/// A figure of every rank.
struct Column {
    name: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&Row, &Machine) -> f64,
}

/// The figures, in the order in which they are shown.
const COLUMNS: [Column; 15] = {
    use Unit::{Bytes, Count, Seconds};
    const fn column(
        name: &'static str,
        label: &'static str,
        unit: Unit,
        of: fn(&Row, &Machine) -> f64,
    ) -> Column {
        Column {
            name,
            label,
            unit,
            of,
        }
    }
    [
        column("rows", "rows", Count, |row, _| row.rows as f64),
        column("nonzeros", "nonzeros", Count, |row, _| row.nonzeros as f64),
        column("ghosts", "ghosts", Count, |row, _| row.ghosts as f64),
        column("neighbours", "neighbours", Count, |row, _| {
            row.neighbours as f64
        }),
        column("ghost_messages", "messages, ghosts", Count, |row, _| {
            row.ghost_messages as f64
        }),
        column("ghost_bytes", "bytes, ghosts", Bytes, |row, _| {
            row.ghost_bytes as f64
        }),
        column(
            "reduction_messages",
            "messages, reductions",
            Count,
            |row, _| row.reduction_messages as f64,
        ),
        column("reduction_bytes", "bytes, reductions", Bytes, |row, _| {
            row.reduction_bytes as f64
        }),
        column("matrix_bytes", "matrix, plain", Bytes, |row, _| {
            row.matrix_bytes as f64
        }),
        column("product_bytes", "matrix, as read", Bytes, |row, _| {
            row.product_bytes as f64
        }),
        column("peak_memory_bytes", "memory at most", Bytes, |row, _| {
            row.peak_memory as f64
        }),
        column("bytes", "bytes of kernels", Bytes, |row, _| {
            row.work.iter().map(|work| work.1).sum::<u64>() as f64
        }),
        column("flops", "operations", Count, |row, _| {
            row.work.iter().map(|work| work.0).sum::<u64>() as f64
        }),
        column("compute_s", "time, compute", Seconds, Row::compute_s),
        column(
            "communication_s",
            "time, messages",
            Seconds,
            Row::communication_s,
        ),
    ]
};

/// Smallest, mean and largest, and the first rank with the largest.
struct Spread {
    min: f64,
    mean: f64,
    max: f64,
    rank_of_max: usize,
}

impl Spread {
    fn of(figures: impl ExactSizeIterator<Item = f64>) -> Self {
        let n = figures.len() as f64;
        let mut spread = Self {
            min: f64::INFINITY,
            mean: 0.0,
            max: f64::NEG_INFINITY,
            rank_of_max: 0,
        };
        for (rank, figure) in figures.enumerate() {
            spread.min = spread.min.min(figure);
            spread.mean += figure / n;
            if figure > spread.max {
                (spread.max, spread.rank_of_max) = (figure, rank);
            }
        }
        spread
    }
}

/// All figures of a plan.
pub(super) struct Table<'a> {
    arguments: &'a PlanArguments,
    machine: Machine,
    rows: Vec<Row>,
}

impl<'a> Table<'a> {
    pub(super) fn new(arguments: &'a PlanArguments, machine: Machine, rows: Vec<Row>) -> Self {
        Self {
            arguments,
            machine,
            rows,
        }
    }

    fn spread(&self, of: fn(&Row, &Machine) -> f64) -> Spread {
        Spread::of(self.rows.iter().map(|row| of(row, &self.machine)))
    }

    /// The time of the slowest rank.
    fn iteration(&self) -> Spread {
        self.spread(|row, machine| row.compute_s(machine) + row.communication_s(machine))
    }

    /// One object; `--help` explains its fields.
    pub(super) fn to_json(&self) -> Value {
        let Self {
            arguments, machine, ..
        } = self;
        let mut spreads = Map::new();
        for column in &COLUMNS {
            let Spread {
                min,
                mean,
                max,
                rank_of_max,
            } = self.spread(column.of);
            let spread =
                json!({ "min": min, "mean": mean, "max": max, "rank_of_max": rank_of_max });
            spreads.insert(column.name.to_owned(), spread);
        }
        let rows = self.rows.iter().enumerate().map(|(rank, row)| {
            let mut object = Map::new();
            object.insert("rank".to_owned(), json!(rank));
            for column in &COLUMNS {
                let figure = (column.of)(row, machine);
                let figure = match column.unit {
                    Unit::Count | Unit::Bytes => json!(figure as u64),
                    Unit::Seconds => json!(figure),
                };
                object.insert(column.name.to_owned(), figure);
            }
            Value::Object(object)
        });
        json!({
            "source": arguments.source.to_string(),
            "solver": arguments.solver.name(),
            "pc": arguments.pc.name(),
            "ranks": arguments.ranks,
            "rows": self.size().0,
            "nnz": self.size().1,
            "fused_tasks_per_iteration": self.rows[0].fused_tasks,
            "reductions_per_iteration": self.rows[0].reductions,
            "machine": {
                "latency_s": machine.latency,
                "bandwidth": machine.bandwidth,
                "flops": machine.flops,
                "memory_bandwidth": machine.memory_bandwidth,
            },
            "iteration_s": self.iteration().max,
            "slowest_rank": self.iteration().rank_of_max,
            "spread": spreads,
            "per_rank": rows.collect::<Vec<Value>>(),
        })
    }

    /// The rows and the entries of the matrix, which every rank holds if it is too small to be cut.
    fn size(&self) -> (usize, usize) {
        let rows = self.arguments.source.n_rows(None);
        let first = &self.rows[0];
        if first.rows == rows {
            return (rows, first.nonzeros);
        }
        (rows, self.rows.iter().map(|row| row.nonzeros).sum())
    }

    /// What was asked, what one iteration takes, and the spread of each figure.
    pub(super) fn to_text(&self) -> String {
        let (arguments, iteration) = (self.arguments, self.iteration());
        let (rows, nonzeros) = self.size();
        let pc = match arguments.pc {
            PlannedPc::None => "no preconditioner".to_owned(),
            PlannedPc::Jacobi => format!("{} preconditioner", arguments.pc.name()),
        };
        let mut text = aligned(&[
            ("matrix", arguments.source.to_string()),
            (
                "",
                format!("{} rows, {} entries", grouped(rows), grouped(nonzeros)),
            ),
            ("method", format!("{}, {pc}", arguments.solver.name())),
            ("ranks", grouped(arguments.ranks)),
            (
                "iteration",
                format!(
                    "{}, {} over all ranks",
                    counted(self.rows[0].fused_tasks, "fused task"),
                    counted(self.rows[0].reductions, "reduction")
                ),
            ),
            (
                "time",
                format!(
                    "{} on rank {}, the slowest",
                    seconds(iteration.max),
                    iteration.rank_of_max
                ),
            ),
        ]);
        text.push_str(&self.spreads());
        text
    }

    fn spreads(&self) -> String {
        let mut text = format!(
            "\n{:<22}{:>14}{:>14}{:>14}  on rank\n",
            "each rank", "min", "mean", "max"
        );
        for column in &COLUMNS {
            let show = |figure: f64| match column.unit {
                Unit::Count if figure.fract() == 0.0 => grouped(figure as usize),
                Unit::Count => format!("{figure:.1}"),
                Unit::Bytes => bytes(figure),
                Unit::Seconds => seconds(figure),
            };
            let spread = self.spread(column.of);
            let [min, mean, max] = [spread.min, spread.mean, spread.max].map(show);
            let (label, rank) = (column.label, spread.rank_of_max);
            let _ = writeln!(text, "{label:<22}{min:>14}{mean:>14}{max:>14}  {rank}");
        }
        text
    }
}
