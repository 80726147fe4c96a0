//! `sparsefuse solve`: read, assemble on every rank, solve, report.
//!
//! Between the steps that a process does alone all processes agree that none has failed; rank 0
//! has the report of all ranks, and its process prints and writes.

use super::Status;
use super::arguments::{Precision, SolveArguments, Solver};
use super::attempts::{self, Solved, Tried};
use super::choice::{self, Asked, Candidate};
use super::columns::{self, Elements};
use super::failure::Failure;
use super::header::Header;
use super::output;
use super::plot::Plot;
use super::progress::Progress;
use super::ranks;
use super::report::{Balance, Report, Totals};
use super::together::Together;
use num_complex::Complex;
use serde_json::{Value, json};
use sparsefuse::Error;
use sparsefuse::kernels::Field;
use sparsefuse::runtime::{Config, Profile, Runtime};
use sparsefuse::solvers::Monitor;
use sparsefuse::sparse::Csr;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::{Add, ControlFlow};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Solves, and reports.
pub(super) fn run(arguments: &SolveArguments, together: &Together) -> Result<Status, Failure> {
    let begin = Instant::now();
    let first_rank = together.processes.number() * arguments.machine.ranks;
    let checked = check(arguments, together);
    let (config, is_complex) = together.agree(first_rank, checked)?;
    let solve = match (arguments.dtype, is_complex) {
        (Precision::F32, false) => solve::<f32>,
        (Precision::F64, false) => solve::<f64>,
        (Precision::F32, true) => solve::<Complex<f32>>,
        (Precision::F64, true) => solve::<Complex<f64>>,
    };
    solve(arguments, &config, begin, together)
}

/// Refuses what cannot be solved before it is read; the settings, and whether the system is a
/// complex one.
fn check(arguments: &SolveArguments, together: &Together) -> Result<(Config, bool), Failure> {
    arguments.check_method()?;
    arguments.check_files()?;
    let config = arguments.config()?;
    let SolveArguments {
        out,
        profile,
        checkpoint,
        plot,
        ..
    } = arguments;
    let outputs = [out, profile, checkpoint, plot];
    let outputs = outputs.into_iter().flatten();
    for path in outputs.filter(|_| together.is_first()) {
        output::check_writable(path)?;
    }
    let header = arguments.source.header()?;
    let is_complex =
        header.as_ref().is_some_and(Header::is_complex) || arguments.rhs.is_complex()?;
    let real = match arguments.dtype {
        Precision::F32 => size_of::<f32>(),
        Precision::F64 => size_of::<f64>(),
    };
    let element = if is_complex { 2 * real } else { real };
    let shares = together.processes.count();
    let solver = arguments.solver;
    let may_be_rectangular = solver == Solver::Auto || solver.method().is_least_squares();
    arguments
        .source
        .check_solvable(header.as_ref(), may_be_rectangular, element, shares)?;
    let rows = arguments.source.n_rows(header.as_ref());
    arguments.check_columns(arguments.rhs.columns(rows)?)?;
    Ok((config, is_complex))
}

/// What a rank knows in the end, of itself and, in `totals`, of all ranks.
struct Run<T> {
    totals: Totals,
    /// The method and the preconditioner that the figures are of, and those tried before.
    chosen: Candidate,
    tried: Vec<Tried>,
    /// The norms of the residuals of the first right-hand side, through that of b.
    history: Vec<f64>,
    /// Where the residuals of the history are small enough.
    tolerance: f64,
    explained: Option<String>,
    /// What this rank has recorded, with `--profile`.
    profile: Option<Value>,
    solution: Elements<T>,
}

fn solve<T: Field + Add<Output = T>>(
    arguments: &SolveArguments,
    config: &Config,
    begin: Instant,
    together: &Together,
) -> Result<Status, Failure> {
    let first_rank = together.processes.number() * arguments.machine.ranks;
    let progress = together.is_first().then(|| {
        let source = arguments.source.to_string();
        Progress::start(&source, arguments.rtol(), arguments.atol)
    });
    let progress = Mutex::new(progress.flatten());
    let runs = together.run_ranks(arguments.machine.ranks, config, |runtime| {
        // A panic could leave nothing half done.
        let progress = progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take_if(|_| runtime.rank() == 0);
        on_rank::<T>(runtime, arguments, progress, begin)
    })?;
    let converged = runs[0].totals.converged();
    let profiles = all_profiles(together, &runs)?;
    let shown = match runs.into_iter().next() {
        Some(run) if together.is_first() => report(arguments, config, run, profiles, together),
        _ => Ok(()),
    };
    together.agree(first_rank, shown)?;
    Ok(if converged {
        Status::Done
    } else {
        Status::NotConverged
    })
}

/// Prints what rank 0 knows, and writes the files that were asked for.
fn report<T: Field>(
    arguments: &SolveArguments,
    config: &Config,
    run: Run<T>,
    profiles: Vec<Value>,
    together: &Together,
) -> Result<(), Failure> {
    let Elements { hash, columns } = run.solution;
    let report = Report {
        arguments,
        chosen: run.chosen,
        tried: run.tried,
        dtype: T::DTYPE,
        ranks: together.processes.count() * arguments.machine.ranks,
        threads: config.threads,
        solution_hash: hash,
        totals: run.totals,
    };
    show(&report, run.explained.as_deref(), &profiles)?;
    if let (Some(path), Some(columns)) = (&arguments.out, columns) {
        let comment = format!("x of A x = b, A from {}", arguments.source);
        columns::write(path, &columns, "solution", &comment)?;
    }
    if let Some(path) = &arguments.plot {
        let title = format!("{}: {}", arguments.source, report.method());
        let plot = Plot {
            title: &title,
            residuals: &run.history,
            tolerance: run.tolerance,
        };
        plot.write(path)?;
    }
    match &arguments.profile {
        Some(path) => write_profile(path, profiles),
        None => Ok(()),
    }
}

/// What every rank does.
fn on_rank<T: Field + Add<Output = T>>(
    runtime: &Runtime,
    arguments: &SolveArguments,
    progress: Option<Progress>,
    begin: Instant,
) -> Result<Run<T>, Failure> {
    let (a, balance) = balanced(arguments.source.assemble()?)?;
    arguments.check_points(a.n_rows())?;
    let b = arguments.rhs.vectors(&a)?;
    let asked = Asked {
        solver: arguments.solver,
        pc: &arguments.pc,
        has_grid: arguments.grid().is_some(),
    };
    let candidates = choice::candidates(&a, &asked)?;
    runtime.flush();
    let assembly = begin.elapsed().as_secs_f64();

    let mut explained = None;
    let prints = arguments.monitor && runtime.rank() == 0;
    let progress = RefCell::new(progress);
    // Several right-hand sides are solved side by side, which nothing can watch one by one.
    let shows_progress = progress.borrow().is_some() && b.len() == 1;
    // All ranks watch or none: those that do solve one after the other.
    let is_watched = shows_progress || arguments.explain || arguments.monitor;
    let mut column = 0;
    let mut watch = |iteration: usize, norm: f64| {
        if let Some(progress) = &mut *progress.borrow_mut() {
            progress.update(iteration, norm);
        }
        if prints {
            if iteration == 0 && b.len() > 1 {
                column = column % b.len() + 1;
                print_line(arguments, &format!("column {column}\n"));
            }
            print_line(arguments, &format!("{iteration:>6}  {norm:.6e}\n"));
        }
        // The second iteration is like all that follow; some solves have but one.
        if arguments.explain && (1..=2).contains(&iteration) {
            explained = Some(runtime.explain());
        }
        ControlFlow::Continue(())
    };
    let mut monitor: Option<Monitor<'_>> = if is_watched { Some(&mut watch) } else { None };
    let mut announce = |candidate: &Candidate| {
        if let Some(progress) = &*progress.borrow() {
            progress.announce(&candidate.to_string());
        }
    };
    let solved = attempts::solve(
        runtime,
        arguments,
        candidates,
        (&a, &b),
        &mut monitor,
        &mut announce,
    )?;
    drop(progress.take());
    let times = (assembly + solved.setup, solved.solve);
    let totals = Totals::of_rank(
        &a,
        &solved.solutions,
        times,
        runtime,
        (&solved.before, &solved.after),
    );
    let totals = totals.with_balance(balance);
    let profile = runtime.profile();
    let Solved {
        candidate,
        solutions,
        tried,
        ..
    } = solved;
    let x = solutions.iter().map(|solution| &solution.x);
    let solution = columns::read(x, arguments.out.is_some())?;
    let first = &solutions[0];
    let unit = if first.rhs_norm > 0.0 {
        first.rhs_norm
    } else {
        1.0
    };
    Ok(Run {
        totals: totals.of_all_ranks(runtime)?,
        chosen: candidate,
        tried,
        history: first.history.iter().map(|norm| norm / unit).collect(),
        tolerance: arguments.rtol().max(arguments.atol / unit),
        explained: explained.or_else(|| arguments.explain.then(|| runtime.explain())),
        profile: profile.map(|profile| recorded(runtime.rank(), &profile)),
        solution,
    })
}

/// Prints a line of `--monitor`. Where nothing can be printed the report fails too.
fn print_line(arguments: &SolveArguments, line: &str) {
    if arguments.json {
        output::complain(line);
    } else {
        let _ = output::print(line);
    }
}

/// The matrix with its rows spread over the ranks by what they have to do, where that gains more
/// than a tenth; and the work of the busiest rank as a multiple of the mean, before and after.
fn balanced<T: Field>(a: Csr<T>) -> Result<(Csr<T>, Balance), Error> {
    const WORTH: f64 = 1.1;
    let before = a.imbalance()?;
    if before < WORTH {
        let after = before;
        return Ok((a, Balance { before, after }));
    }
    let balanced = a.balance()?;
    let after = balanced.imbalance()?;
    if before < WORTH * after {
        let after = before;
        return Ok((a, Balance { before, after }));
    }
    Ok((balanced, Balance { before, after }))
}

/// What a rank has recorded: its table, its events, its sums.
fn recorded(rank: usize, profile: &Profile) -> Value {
    json!({
        "table": profile.table(),
        "events": profile.chrome_events(rank),
        "kernels": profile.to_json()["kernels"].take(),
    })
}

/// What all ranks have recorded, on every process; nothing without `--profile`.
fn all_profiles<T>(together: &Together, runs: &[Run<T>]) -> Result<Vec<Value>, Error> {
    let mine: Vec<&Value> = runs.iter().filter_map(|run| run.profile.as_ref()).collect();
    if mine.is_empty() {
        return Ok(Vec::new());
    }
    let mine = json!(mine).to_string().into_bytes();
    let all = together.processes.all_gather(mine)?;
    let parse = |bytes: &Vec<u8>| serde_json::from_slice::<Vec<Value>>(bytes).unwrap_or_default();
    Ok(all.iter().flat_map(parse).collect())
}

/// Prints the report, then what else was asked for.
fn show(report: &Report<'_>, explained: Option<&str>, profiles: &[Value]) -> Result<(), Failure> {
    let mut more = String::new();
    if let Some(explained) = explained {
        let _ = write!(more, "\nOne iteration\n\n{explained}");
    }
    if let Some(profile) = profiles.first() {
        let table = profile["table"].as_str().unwrap_or_default();
        let _ = write!(more, "\nTasks of rank 0\n\n{table}");
    }
    if profiles.len() > 1 {
        let _ = write!(
            more,
            "\nTasks of {} ranks\n\n{}",
            profiles.len(),
            ranks::table(profiles)
        );
    }
    if report.arguments.json {
        output::complain(more.trim_start_matches('\n'));
        return output::print(&format!("{}\n", report.to_json()));
    }
    output::print(&(report.to_text() + &more))
}

fn write_profile(path: &Path, profiles: Vec<Value>) -> Result<(), Failure> {
    let mut events = Vec::new();
    let mut kernels = Vec::new();
    for (rank, mut profile) in profiles.into_iter().enumerate() {
        let name = json!({ "name": format!("rank {rank}") });
        events.push(json!({ "name": "process_name", "ph": "M", "pid": rank, "args": name }));
        if let Value::Array(of_rank) = profile["events"].take() {
            events.extend(of_rank);
        }
        if let Value::Array(of_rank) = profile["kernels"].take() {
            kernels.extend(of_rank.into_iter().map(|mut kernel| {
                kernel["rank"] = json!(rank);
                kernel
            }));
        }
    }
    let trace = json!({ "traceEvents": events, "kernels": kernels });
    output::replace_file(path, |file| write!(file, "{trace}"))
}
