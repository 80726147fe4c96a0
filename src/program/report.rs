//! The report of a solve: as text for people, as JSON for programs.

use super::arguments::{SolveArguments, Solver};
use super::attempts::{Tried, largest_residual};
use super::choice::Candidate;
use super::memory;
use super::output::{aligned, bytes, counted, grouped, seconds};
use serde_json::{Value, json};
use sparsefuse::Error;
use sparsefuse::kernels::{DType, Field};
use sparsefuse::runtime::{Counters, Runtime};
use sparsefuse::solvers::{Breakdown, Solution, StopReason};
use sparsefuse::sparse::Csr;

/// What to try where no x solves the system.
const SMALLEST: &str = "--solver lsqr finds the x of the smallest |b - A x|";

/// How many times the precision of a type a relative residual is that no other way makes smaller.
const NEAR: f64 = 1e3;

/// The relative residual above which a solve has not ended by rounding, in single precision either.
const ROUNDING: f64 = 1e-3;

/// What a solve was and how it went.
pub(super) struct Report<'a> {
    pub(super) arguments: &'a SolveArguments,
    /// The method and the preconditioner that the figures are of.
    pub(super) chosen: Candidate,
    /// Those that were tried before, and what came of them.
    pub(super) tried: Vec<Tried>,
    pub(super) dtype: DType,
    /// Ranks of all processes.
    pub(super) ranks: usize,
    /// Threads of each rank.
    pub(super) threads: usize,
    pub(super) solution_hash: u64,
    pub(super) totals: Totals,
}

/// How evenly the rows are spread: the work of the busiest rank as a multiple of the mean, with
/// equally many rows for each rank, and as they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Balance {
    pub(super) before: f64,
    pub(super) after: f64,
}

/// What was counted: on one rank, then on all.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    rows: usize,
    cols: usize,
    nnz: usize,
    /// What came of each right-hand side.
    columns: Vec<Column>,
    /// Of all right-hand sides together.
    iterations: usize,
    resumed_at: usize,
    /// The largest.
    true_residual: f64,
    setup_s: f64,
    solve_s: f64,
    /// Issued, the same on every rank.
    tasks: u64,
    /// Run, the same on every rank.
    fused_tasks: u64,
    /// What runs tasks besides the processors, on this rank.
    device: Option<String>,
    /// Tasks that ran there, bytes copied there and back; of this rank, then of all.
    device_tasks: u64,
    uploaded: u64,
    downloaded: u64,
    /// Read and written, on all ranks.
    bytes: u64,
    /// Of the arrays of all ranks.
    peak_memory: u64,
    /// Of the largest process, if the system tells.
    process_memory: Option<u64>,
    /// The same on every rank.
    balance: Balance,
}

/// What came of a right-hand side.
#[derive(Clone, Copy, Debug)]
struct Column {
    reason: StopReason,
    iterations: usize,
    true_residual: f64,
}

impl Column {
    fn converged(&self) -> bool {
        self.reason == StopReason::Converged
    }

    fn result(&self) -> String {
        let iterations = counted(self.iterations, "iteration");
        let Self {
            reason,
            true_residual,
            ..
        } = self;
        format!("{reason} after {iterations}, residual {true_residual:.3e}")
    }
}

impl Totals {
    /// What one rank has counted from `before` to `counters`.
    pub(super) fn of_rank<T: Field>(
        a: &Csr<T>,
        solutions: &[Solution<T>],
        (setup_s, solve_s): (f64, f64),
        runtime: &Runtime,
        (before, counters): (&Counters, &Counters),
    ) -> Self {
        let column = |solution: &Solution<T>| Column {
            reason: solution.reason,
            iterations: solution.iterations,
            true_residual: solution.relative_residual(),
        };
        let columns: Vec<Column> = solutions.iter().map(column).collect();
        Self {
            rows: a.n_rows(),
            cols: a.n_cols(),
            nnz: a.nnz(),
            iterations: columns.iter().map(|column| column.iterations).sum(),
            resumed_at: solutions[0].resumed_at,
            true_residual: largest_residual(solutions),
            columns,
            setup_s,
            solve_s,
            tasks: counters.tasks - before.tasks,
            fused_tasks: counters.fused_tasks - before.fused_tasks,
            device: runtime.device().map(str::to_owned),
            device_tasks: counters.device_tasks - before.device_tasks,
            uploaded: counters.uploaded,
            downloaded: counters.downloaded,
            bytes: counters.bytes - before.bytes,
            peak_memory: runtime.peak_memory() as u64,
            process_memory: memory::peak_of_process(),
            balance: Balance {
                before: 1.0,
                after: 1.0,
            },
        }
    }

    pub(super) fn with_balance(self, balance: Balance) -> Self {
        Self { balance, ..self }
    }

    /// Those of all ranks, on every rank: the times of the slowest, the bytes of all. Every rank
    /// must ask.
    pub(super) fn of_all_ranks(self, runtime: &Runtime) -> Result<Self, Error> {
        let times = runtime.all_gather(&[self.setup_s, self.solve_s])?;
        let of_process = self.process_memory.unwrap_or(0);
        let counts = [self.bytes, self.peak_memory, of_process];
        let of_device = [self.device_tasks, self.uploaded, self.downloaded];
        let counts = runtime.all_gather(&[counts, of_device].concat())?;
        let slowest = |time: usize| {
            times
                .iter()
                .map(|of_rank| of_rank[time])
                .fold(0.0, f64::max)
        };
        let sum = |count: usize| counts.iter().map(|of_rank| of_rank[count]).sum();
        let largest = counts.iter().map(|of_rank| of_rank[2]).max();
        Ok(Self {
            setup_s: slowest(0),
            solve_s: slowest(1),
            bytes: sum(0),
            peak_memory: sum(1),
            process_memory: largest.filter(|&bytes| bytes > 0),
            device_tasks: sum(3),
            uploaded: sum(4),
            downloaded: sum(5),
            ..self
        })
    }

    pub(super) fn converged(&self) -> bool {
        self.columns.iter().all(Column::converged)
    }

    /// Why the solver stopped at the first right-hand side that it has not solved, or at all.
    fn reason(&self) -> StopReason {
        let failed = self.columns.iter().find(|column| !column.converged());
        failed.unwrap_or(&self.columns[0]).reason
    }

    /// A total for each iteration of this run, 0 without any.
    fn per_iteration(&self, total: f64) -> f64 {
        match self.iterations - self.resumed_at {
            0 => 0.0,
            iterations => total / iterations as f64,
        }
    }
}

impl Report<'_> {
    /// One object; `--help` explains its fields.
    pub(super) fn to_json(&self) -> Value {
        let totals = &self.totals;
        let tried: Vec<Value> = (self.tried.iter())
            .map(|tried| {
                json!({
                    "solver": tried.candidate.solver.name(),
                    "pc": tried.candidate.pc.to_string(),
                    "outcome": tried.outcome,
                    "seconds": tried.seconds,
                })
            })
            .collect();
        let columns: Vec<Value> = (totals.columns.iter())
            .map(|column| {
                json!({
                    "converged": column.converged(),
                    "reason": column.reason.to_string(),
                    "iterations": column.iterations,
                    "true_residual": column.true_residual,
                })
            })
            .collect();
        json!({
            "source": self.arguments.source.to_string(),
            "solver": self.chosen.solver.name(),
            "pc": self.chosen.pc.to_string(),
            "chosen_because": (!self.chosen.why.is_empty()).then_some(&self.chosen.why),
            "tried": tried,
            "rows": totals.rows,
            "cols": totals.cols,
            "nnz": totals.nnz,
            "dtype": self.dtype.name(),
            "threads": self.threads,
            "ranks": self.ranks,
            "imbalance": totals.balance.after,
            "imbalance_of_equal_rows": totals.balance.before,
            "converged": totals.converged(),
            "reason": totals.reason().to_string(),
            "hint": self.hint(),
            "iterations": totals.iterations,
            "columns": columns,
            "resumed_at": totals.resumed_at,
            "true_residual": totals.true_residual,
            "setup_s": totals.setup_s,
            "solve_s": totals.solve_s,
            "us_per_iteration": totals.per_iteration(totals.solve_s * 1e6),
            "tasks_per_iteration": totals.per_iteration(totals.tasks as f64),
            "fused_tasks_per_iteration": totals.per_iteration(totals.fused_tasks as f64),
            "device": totals.device,
            "device_tasks_per_iteration": totals.per_iteration(totals.device_tasks as f64),
            "uploaded_bytes": totals.uploaded,
            "downloaded_bytes": totals.downloaded,
            "bytes_per_iteration": totals.per_iteration(totals.bytes as f64),
            "peak_memory_bytes": totals.peak_memory,
            "process_memory_bytes": totals.process_memory,
            "solution_hash": format!("{:016x}", self.solution_hash),
        })
    }

    /// Aligned lines, in three groups: what was asked, what came out, what it took.
    pub(super) fn to_text(&self) -> String {
        let Self {
            arguments, totals, ..
        } = self;
        let empty = || ("", String::new());
        let mut lines = vec![
            ("matrix", arguments.source.to_string()),
            ("", self.size()),
            ("method", self.method()),
            ("machine", self.machine()),
            empty(),
            ("result", self.result()),
            (
                "residual",
                format!("{:.3e}  |b - A x| / |b|", totals.true_residual),
            ),
            ("solution", format!("{:016x}", self.solution_hash)),
            empty(),
            ("setup", seconds(totals.setup_s)),
            ("solve", self.time()),
        ];
        if let Some(balance) = self.balance() {
            lines.insert(4, ("balance", balance));
        }
        let mut at = 3;
        let mut insert = |line| {
            lines.insert(at, line);
            at += 1;
        };
        if !self.chosen.why.is_empty() {
            insert(("chosen", self.chosen.why.clone()));
        }
        for tried in &self.tried {
            let took = seconds(tried.seconds);
            let Tried {
                candidate, outcome, ..
            } = tried;
            insert(("tried", format!("{candidate}: {outcome}, {took}")));
        }
        let columns = &totals.columns;
        for (number, column) in columns.iter().enumerate().filter(|_| columns.len() > 1) {
            // Below the result of all.
            let at = lines.len() - 5;
            let label = if number == 0 { "columns" } else { "" };
            lines.insert(at, (label, format!("{}: {}", number + 1, column.result())));
        }
        if totals.iterations > 0 {
            lines.extend([("tasks", self.tasks()), ("traffic", self.traffic())]);
        }
        if let Some(device) = &totals.device {
            lines.push(("device", self.on_device(device)));
        }
        lines.push(("memory", self.memory()));
        if let Some(hint) = self.hint() {
            lines.push(empty());
            lines.push(("hint", hint));
        }
        aligned(&lines)
    }

    fn memory(&self) -> String {
        let arrays = bytes(self.totals.peak_memory as f64);
        let of_process = self.totals.process_memory.map(|memory| {
            let whose = match self.ranks {
                1 => "the process",
                _ => "the largest process",
            };
            format!(", {} of {whose}", bytes(memory as f64))
        });
        format!(
            "{arrays} of arrays at most{}",
            of_process.unwrap_or_default()
        )
    }

    fn size(&self) -> String {
        let Totals {
            rows, cols, nnz, ..
        } = self.totals;
        let [rows, cols, nnz] = [rows, cols, nnz].map(grouped);
        format!("{rows} x {cols}, {nnz} entries")
    }

    /// The method in words.
    pub(super) fn method(&self) -> String {
        let pc = match self.chosen.pc.is_none() {
            true => "no preconditioner".to_owned(),
            false => format!("{} preconditioner", self.chosen.pc),
        };
        let complex = if self.dtype.is_complex() {
            " (complex)"
        } else {
            ""
        };
        format!(
            "{}, {pc}, {}{complex}",
            self.chosen.solver.name(),
            self.dtype
        )
    }

    fn machine(&self) -> String {
        let threads = counted(self.threads, "thread");
        match self.ranks {
            1 => format!("1 rank, {threads}"),
            ranks => format!("{}, {threads} each", counted(ranks, "rank")),
        }
    }

    /// What the device has done.
    fn on_device(&self, name: &str) -> String {
        let totals = &self.totals;
        let tasks = totals.per_iteration(totals.device_tasks as f64);
        let [there, back] = [totals.uploaded, totals.downloaded].map(|count| bytes(count as f64));
        format!("{name}: {tasks:.1} tasks per iteration; {there} copied there, {back} back")
    }

    /// How the rows are spread, where equally many for each rank were not good enough.
    fn balance(&self) -> Option<String> {
        let Balance { before, after } = self.totals.balance;
        (after < before).then(|| {
            format!(
                "rows redistributed by entries: the busiest rank has {after:.2} of the mean work, not \
                 {before:.2}"
            )
        })
    }

    fn result(&self) -> String {
        let mut iterations = counted(self.totals.iterations, "iteration");
        if self.totals.resumed_at > 0 {
            let before = grouped(self.totals.resumed_at);
            iterations.push_str(&format!(", {before} of them before the checkpoint"));
        }
        let columns = &self.totals.columns;
        if columns.len() > 1 {
            let solved = columns.iter().filter(|column| column.converged()).count();
            let all = counted(columns.len(), "column");
            return format!(
                "{} of {all} converged, {iterations} in all",
                grouped(solved)
            );
        }
        if self.totals.converged() {
            return format!("converged after {iterations}");
        }
        format!("not converged: {} after {iterations}", self.totals.reason())
    }

    fn time(&self) -> String {
        let total = seconds(self.totals.solve_s);
        if self.totals.iterations == 0 {
            return total;
        }
        let each = self.totals.per_iteration(self.totals.solve_s * 1e6);
        format!("{total}, {each:.1} us/iteration")
    }

    fn tasks(&self) -> String {
        let issued = self.totals.per_iteration(self.totals.tasks as f64);
        let fused = self.totals.per_iteration(self.totals.fused_tasks as f64);
        format!("{issued:.1} issued, {fused:.1} run after fusion, per iteration")
    }

    fn traffic(&self) -> String {
        let each = bytes(self.totals.per_iteration(self.totals.bytes as f64));
        let rate = self.totals.bytes as f64 / self.totals.solve_s.max(1e-9) / 1e9;
        format!("{each}/iteration, {rate:.1} GB/s")
    }

    /// What may help a solve that has not converged.
    fn hint(&self) -> Option<String> {
        let Candidate { solver, pc, .. } = &self.chosen;
        let is_least_squares = solver.method().is_least_squares();
        let is_plain = pc.is_none() && !is_least_squares;
        let auto = if is_plain { "--pc auto, " } else { "" };
        let other = match solver {
            Solver::Bicgstab => "--solver gmres",
            Solver::Lsqr => "--solver lsmr",
            Solver::Lsmr => "--solver lsqr",
            _ => "--solver bicgstab",
        };
        Some(match self.totals.reason() {
            StopReason::Converged => return None,
            StopReason::LeastSquares => match is_least_squares {
                true => "|b - A x| is minimal to within --rtol; try a smaller --rtol",
                false => "the matrix is singular, and no x makes |b - A x| smaller for this b",
            }
            .to_owned(),
            StopReason::IterationLimit => {
                if let Some((name, instead)) = pc.symmetric_instead(self.ranks)
                    && solver.method().needs_hermitian()
                {
                    let needs = solver.name();
                    return Some(format!(
                        "{name} is not symmetric, as {needs} needs; try {instead}"
                    ));
                }
                let limit = format!("{auto}a larger --max-iter, {other}");
                if !solver.method().is_for_definite() {
                    return Some(format!("try {limit}"));
                }
                format!(
                    "try {limit}; {} needs a symmetric definite matrix, see `sparsefuse \
                     info`",
                    solver.name()
                )
            }
            StopReason::IndefiniteMatrix => {
                format!(
                    "the matrix is neither positive nor negative definite, as {} needs; try \
                     --solver minres if it is symmetric, else {other}",
                    solver.name()
                )
            }
            StopReason::IndefinitePreconditioner => {
                format!(
                    "the preconditioner is not positive definite, as {} needs; try --pc none or \
                     {other}",
                    solver.name()
                )
            }
            StopReason::Breakdown(Breakdown::Projection) => {
                format!("the matrix is singular; {SMALLEST}")
            }
            StopReason::Breakdown(_) => {
                format!("the method divides by this number; try {auto}{other} or another --rhs")
            }
            StopReason::Diverged => {
                format!(
                    "the residual has grown beyond --dtol times |b|; try {auto}{other}, or a larger \
                     --dtol if it may fall again"
                )
            }
            StopReason::NotFinite => {
                format!(
                    "the numbers grew beyond {}; try {auto}{other}, or scale the rows",
                    self.dtype
                )
            }
            StopReason::Underflow if self.dtype.real() == DType::F32 => {
                "scale b or the matrix, or try --dtype f64".to_owned()
            }
            StopReason::Underflow => "scale b or the matrix".to_owned(),
            StopReason::Stagnation if !(self.totals.true_residual < ROUNDING) => {
                format!("try {auto}another --pc; if the matrix is singular, {SMALLEST}")
            }
            StopReason::Stagnation => format!(
                "rounding in {} allows no smaller residual{} a larger --rtol{}",
                self.dtype,
                match self.totals.true_residual < NEAR * epsilon(self.dtype) {
                    true => "; try",
                    false => " this way; try another --pc,",
                },
                if self.dtype.real() == DType::F32 {
                    ", or --dtype f64"
                } else {
                    ""
                }
            ),
            _ => return None,
        })
    }
}

/// The precision of a type.
fn epsilon(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F32 => f32::EPSILON.into(),
        _ => f64::EPSILON,
    }
}
