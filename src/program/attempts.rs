//! Solving by one candidate after the other, until one converges.
//!
//! Where nothing was left to be chosen there is one candidate, whose failure is the failure.

use super::arguments::SolveArguments;
use super::choice::Candidate;
use super::failure::Failure;
use sparsefuse::kernels::Field;
use sparsefuse::prelude::Vector;
use sparsefuse::runtime::{Counters, Runtime};
use sparsefuse::solvers::{Checkpoint, KrylovSolver, Monitor, Options, Solution};
use sparsefuse::sparse::Csr;
use std::time::Instant;

/// The solve that counts.
pub(super) struct Solved<T> {
    pub(super) candidate: Candidate,
    /// One for each right-hand side.
    pub(super) solutions: Vec<Solution<T>>,
    /// What the runtime had counted before.
    pub(super) before: Counters,
    /// What it had counted behind the solve.
    pub(super) after: Counters,
    /// Seconds for the preconditioner and all candidates before it or after it, and for the solver.
    pub(super) setup: f64,
    pub(super) solve: f64,
    /// The candidates before it, and what came of them.
    pub(super) tried: Vec<Tried>,
}

/// A candidate that did not lead to a solution.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) candidate: Candidate,
    pub(super) outcome: String,
    pub(super) seconds: f64,
}

/// Iterations of a candidate that others follow.
const PATIENCE: usize = 1000;

/// Solves; every rank must ask.
pub(super) fn solve<T: Field>(
    runtime: &Runtime,
    arguments: &SolveArguments,
    candidates: Vec<Candidate>,
    (a, b): (&Csr<T>, &[Vector<T>]),
    monitor: &mut Option<Monitor<'_>>,
    announce: &mut dyn FnMut(&Candidate),
) -> Result<Solved<T>, Failure> {
    let mut tried: Vec<Tried> = Vec::new();
    let mut best: Option<Solved<T>> = None;
    // None of them would do a step, so the first that can be made is as good as the others.
    let is_stepless = arguments.max_iter == Some(0);
    let begin = Instant::now();
    let setup_of = |solved: &Solved<T>| begin.elapsed().as_secs_f64() - solved.solve;
    let last = candidates.len() - 1;
    for (number, candidate) in candidates.into_iter().enumerate() {
        let patience = (number < last).then_some(PATIENCE);
        announce(&candidate);
        let begin = Instant::now();
        let attempt = attempt(
            runtime,
            arguments,
            candidate.clone(),
            patience,
            (a, b),
            monitor,
        );
        let outcome = match attempt {
            Ok(solved) if is_stepless || solved.solutions.iter().all(Solution::converged) => {
                let setup = setup_of(&solved);
                return Ok(Solved {
                    tried,
                    setup,
                    ..solved
                });
            }
            Ok(solved) => {
                let outcome = outcome(&solved.solutions);
                let residual = |solved: &Solved<T>| largest_residual(&solved.solutions);
                let is_best = best.as_ref().is_none_or(|best| {
                    residual(best).is_nan() || residual(&solved) < residual(best)
                });
                if is_best {
                    best = Some(solved);
                }
                outcome
            }
            Err(error) if number == last && best.is_none() => return Err(error),
            Err(error) => error.to_string(),
        };
        tried.push(Tried {
            candidate,
            outcome,
            seconds: begin.elapsed().as_secs_f64(),
        });
    }
    let best = best.expect("a last candidate without a solution has failed");
    let of_others = |tried: &Tried| {
        (tried.candidate.solver, &tried.candidate.pc) != (best.candidate.solver, &best.candidate.pc)
    };
    tried.retain(of_others);
    let setup = setup_of(&best);
    Ok(Solved {
        tried,
        setup,
        ..best
    })
}

/// What came of the first right-hand side that was not solved.
fn outcome<T: Field>(solutions: &[Solution<T>]) -> String {
    let failed = solutions.iter().position(|solution| !solution.converged());
    let number = failed.unwrap_or(0);
    let solution = &solutions[number];
    let column = match solutions.len() {
        1 => String::new(),
        _ => format!("column {}: ", number + 1),
    };
    format!(
        "{column}{} after {} iterations, |b - A x| / |b| = {:.1e}",
        solution.reason,
        solution.iterations,
        solution.relative_residual()
    )
}

/// The largest relative residual, which is not a number if any is.
pub(super) fn largest_residual<T: Field>(solutions: &[Solution<T>]) -> f64 {
    let residuals = solutions.iter().map(Solution::relative_residual);
    residuals.fold(0.0, |most, residual| {
        match residual > most || residual.is_nan() {
            true => residual,
            false => most,
        }
    })
}

fn attempt<T: Field>(
    runtime: &Runtime,
    arguments: &SolveArguments,
    candidate: Candidate,
    patience: Option<usize>,
    (a, b): (&Csr<T>, &[Vector<T>]),
    monitor: &mut Option<Monitor<'_>>,
) -> Result<Solved<T>, Failure> {
    let method = arguments.method(candidate.solver);
    // Now, and not after a preconditioner that takes long.
    method.check_operator(a)?;
    let (rows, columns) = (a.n_rows(), a.n_cols());
    if rows != columns && !candidate.pc.is_none() {
        let expected = format!("none for a matrix of {rows} x {columns}, which is not square");
        let found = candidate.to_string();
        return Err(Failure::input("--pc", expected, found));
    }
    let preconditioner = candidate.pc.make(a, arguments.grid().as_deref())?;
    runtime.flush();
    let options = Options {
        rtol: arguments.rtol(),
        atol: arguments.atol,
        dtol: arguments.dtol,
        max_iter: arguments.max_iter.or(patience),
        preconditioner: preconditioner.as_deref(),
        checkpoint: arguments.checkpoint.as_ref().map(|file| Checkpoint {
            file,
            every: arguments.every,
        }),
        resume: arguments.resume.as_deref(),
        monitor: match monitor {
            Some(monitor) => Some(&mut **monitor),
            None => None,
        },
        ..Options::default()
    };
    let before = runtime.counters();
    let begin = Instant::now();
    let solutions = match b {
        [b] => vec![method.solve(a, b, options)?],
        columns => KrylovSolver::new(method, a, options).solve_many(columns)?,
    };
    let solve = begin.elapsed().as_secs_f64();
    Ok(Solved {
        candidate,
        solutions,
        before,
        after: runtime.counters(),
        setup: 0.0,
        solve,
        tried: Vec::new(),
    })
}
