//! `sparsefuse solve`: read, assemble on every rank, solve, report.

use super::Status;
use super::arguments::{Precision, Preconditioner, SolveArguments, Solver};
use super::failure::Failure;
use super::hash;
use super::output;
use super::progress::Progress;
use super::report::{Report, Totals};
use super::rhs::Elements;
use super::source::{self, Matrix};
use num_complex::Complex;
use serde_json::{Value, json};
use sparsefuse::Error;
use sparsefuse::kernels::Field;
use sparsefuse::prelude::Vector;
use sparsefuse::runtime::{Config, Profile, Runtime, run_ranks};
use sparsefuse::solvers::{
    Jacobi, LinearOperator, Options, Solution, bicgstab_with, cg_with, cgs_with,
};
use sparsefuse::sparse::{Csr, matrix_market};
use std::fmt::Write as _;
use std::fs;
use std::ops::{Add, ControlFlow};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Solves, and reports.
pub(super) fn run(arguments: &SolveArguments) -> Result<Status, Failure> {
    let begin = Instant::now();
    let config = arguments.config()?;
    for path in [&arguments.out, &arguments.profile].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let header = arguments.source.header()?;
    let is_complex =
        header.as_ref().is_some_and(source::is_complex) || arguments.rhs.is_complex()?;
    let solve = match (arguments.dtype, is_complex) {
        (Precision::F32, false) => solve::<f32>,
        (Precision::F64, false) => solve::<f64>,
        (Precision::F32, true) => solve::<Complex<f32>>,
        (Precision::F64, true) => solve::<Complex<f64>>,
    };
    let real = match arguments.dtype {
        Precision::F32 => size_of::<f32>(),
        Precision::F64 => size_of::<f64>(),
    };
    let element = if is_complex { 2 * real } else { real };
    arguments.source.check_solvable(header.as_ref(), element)?;
    solve(arguments, &config, begin)
}

/// What all ranks share until each has made its part of it.
struct Input<T> {
    matrix: Matrix<T>,
    rhs: Elements<T>,
}

/// What a rank gives back.
struct Run<T> {
    totals: Totals,
    explained: Option<String>,
    profile: Option<Profile>,
    /// The hash of the solution, and the solution if it is to be written; from rank 0 alone.
    solution: Option<(u64, Option<Vec<T>>)>,
}

fn solve<T: Field + Add<Output = T>>(
    arguments: &SolveArguments,
    config: &Config,
    begin: Instant,
) -> Result<Status, Failure> {
    let progress = Progress::start(
        &arguments.source.to_string(),
        arguments.rtol,
        arguments.atol,
    );
    let progress = Mutex::new(progress);
    let matrix = arguments.source.read::<T>()?;
    let rhs = arguments.rhs.read::<T>(matrix.n_rows())?;
    // One handle for each rank; the last rank that has assembled its part frees the input.
    let input = Arc::new(Input { matrix, rhs });
    let handles: Vec<_> = (0..arguments.ranks).map(|_| Arc::clone(&input)).collect();
    let handles = Mutex::new(handles);
    drop(input);
    let runs = run_ranks(arguments.ranks, config, |runtime| {
        let input = lock(&handles)
            .pop()
            .expect("there is a handle for each rank");
        let progress = lock(&progress).take_if(|_| runtime.rank() == 0);
        on_rank(runtime, arguments, input, progress, begin)
    })?;
    let mut runs = runs.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let (hash, x) = runs[0]
        .solution
        .take()
        .expect("rank 0 has read the solution");
    let report = Report {
        arguments,
        dtype: T::DTYPE,
        threads: config.threads,
        solution_hash: hash,
        totals: Totals::of_ranks(runs.iter().map(|run| &run.totals)),
    };
    show(&report, &runs)?;
    if let (Some(path), Some(x)) = (&arguments.out, x) {
        let comment = format!("x of A x = b, A from {}", arguments.source);
        matrix_market::write_dense(path, x.len(), 1, &x, &comment)?;
    }
    if let Some(path) = &arguments.profile {
        write_profile(path, &runs)?;
    }
    Ok(if report.totals.converged() {
        Status::Done
    } else {
        Status::NotConverged
    })
}

/// A lock that holds nothing which a panic could leave half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What every rank does.
fn on_rank<T: Field + Add<Output = T>>(
    runtime: &Runtime,
    arguments: &SolveArguments,
    input: Arc<Input<T>>,
    mut progress: Option<Progress>,
    begin: Instant,
) -> Result<Run<T>, Error> {
    let a = input.matrix.assemble()?;
    let b = input.rhs.vector(&a)?;
    let jacobi = match arguments.pc {
        Preconditioner::None => None,
        Preconditioner::Jacobi => Some(Jacobi::new(&a)?),
    };
    drop(input);
    runtime.flush();
    let setup = begin.elapsed().as_secs_f64();

    let mut explained = None;
    let is_watched = progress.is_some() || arguments.explain;
    let mut monitor = |iteration: usize, norm: f64| {
        if let Some(progress) = &mut progress {
            progress.update(iteration, norm);
        }
        // The second iteration is like all that follow; some solves have but one.
        if arguments.explain && (1..=2).contains(&iteration) {
            explained = Some(runtime.explain());
        }
        ControlFlow::Continue(())
    };
    let options = Options {
        rtol: arguments.rtol,
        atol: arguments.atol,
        max_iter: arguments.max_iter,
        preconditioner: jacobi
            .as_ref()
            .map(|jacobi| jacobi as &dyn LinearOperator<T>),
        monitor: if is_watched { Some(&mut monitor) } else { None },
        ..Options::default()
    };
    let before = runtime.counters();
    let solve_begin = Instant::now();
    let solution = method(arguments.solver, &a, &b, options)?;
    let solve = solve_begin.elapsed().as_secs_f64();
    drop(progress);
    let totals = Totals::of_rank(&a, &solution, (setup, solve), runtime, &before);
    let profile = runtime.profile();
    let solution = read_solution(&solution.x, arguments.out.is_some())?;
    Ok(Run {
        totals,
        explained: explained.or_else(|| arguments.explain.then(|| runtime.explain())),
        profile,
        solution: (runtime.rank() == 0).then_some(solution),
    })
}

fn method<T: Field>(
    solver: Solver,
    a: &Csr<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    match solver {
        Solver::Cg => cg_with(a, b, options),
        Solver::Cgs => cgs_with(a, b, options),
        Solver::Bicgstab => bicgstab_with(a, b, options),
    }
}

/// The hash of a vector, and its elements if they are wanted. Every rank must ask.
fn read_solution<T: Field>(x: &Vector<T>, is_wanted: bool) -> Result<(u64, Option<Vec<T>>), Error> {
    let is_first = x.runtime().rank() == 0;
    x.with_slice(|x| {
        let hash = if is_first { hash::of(x) } else { 0 };
        (hash, (is_first && is_wanted).then(|| x.to_vec()))
    })
}

/// Prints the report, then what else was asked for.
fn show<T>(report: &Report<'_>, runs: &[Run<T>]) -> Result<(), Failure> {
    let mut more = String::new();
    if let Some(explained) = &runs[0].explained {
        let _ = write!(more, "\nOne iteration\n\n{explained}");
    }
    for (rank, run) in runs.iter().enumerate() {
        if let Some(profile) = &run.profile {
            let _ = write!(more, "\nFused tasks of rank {rank}\n\n{}", profile.table());
        }
    }
    if report.arguments.json {
        output::complain(more.trim_start_matches('\n'));
        return output::print(&format!("{}\n", report.to_json()));
    }
    output::print(&(report.to_text() + &more))
}

fn write_profile<T>(path: &Path, runs: &[Run<T>]) -> Result<(), Failure> {
    let mut events = Vec::new();
    let mut kernels = Vec::new();
    for (rank, run) in runs.iter().enumerate() {
        let Some(profile) = &run.profile else {
            continue;
        };
        let name = json!({ "name": format!("rank {rank}") });
        events.push(json!({ "name": "process_name", "ph": "M", "pid": rank, "args": name }));
        events.extend(profile.chrome_events(rank));
        if let Value::Array(of_rank) = profile.to_json()["kernels"].take() {
            kernels.extend(of_rank.into_iter().map(|mut kernel| {
                kernel["rank"] = json!(rank);
                kernel
            }));
        }
    }
    let trace = json!({ "traceEvents": events, "kernels": kernels });
    fs::write(path, trace.to_string()).map_err(|error| Failure::system(path, "write", error))
}
