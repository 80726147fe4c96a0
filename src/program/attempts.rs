//! Solving by one candidate after the other, until one converges.
//!
//! Where nothing was left to be chosen there is one candidate, whose failure is the failure.

use super::arguments::SolveArguments;
use super::choice::Candidate;
use super::failure::Failure;
use sparsefuse::kernels::Field;
use sparsefuse::prelude::Vector;
use sparsefuse::runtime::{Counters, Runtime};
use sparsefuse::solvers::{Checkpoint, Monitor, Options, Solution};
use sparsefuse::sparse::Csr;
use std::time::Instant;

/// The solve that counts.
pub(super) struct Solved<T> {
    pub(super) candidate: Candidate,
    pub(super) solution: Solution<T>,
    /// What the runtime had counted before.
    pub(super) before: Counters,
    /// Seconds for the preconditioner, and for the solver.
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
}

/// Iterations of a candidate that others follow.
const PATIENCE: usize = 1000;

/// Solves; every rank must ask.
pub(super) fn solve<T: Field>(
    runtime: &Runtime,
    arguments: &SolveArguments,
    candidates: Vec<Candidate>,
    (a, b): (&Csr<T>, &Vector<T>),
    monitor: &mut Option<Monitor<'_>>,
) -> Result<Solved<T>, Failure> {
    let mut tried: Vec<Tried> = Vec::new();
    let mut best: Option<Solved<T>> = None;
    let last = candidates.len() - 1;
    for (number, candidate) in candidates.into_iter().enumerate() {
        let patience = (number < last).then_some(PATIENCE);
        let attempt = attempt(
            runtime,
            arguments,
            candidate.clone(),
            patience,
            (a, b),
            monitor,
        );
        let outcome = match attempt {
            Ok(solved) if solved.solution.converged() => {
                return Ok(Solved { tried, ..solved });
            }
            Ok(solved) => {
                let outcome = format!(
                    "{} after {} iterations, |b - A x| / |b| = {:.1e}",
                    solved.solution.reason,
                    solved.solution.iterations,
                    solved.solution.relative_residual()
                );
                let residual = |solved: &Solved<T>| solved.solution.residual_norm;
                let is_best = best
                    .as_ref()
                    .is_none_or(|best| !(residual(best) <= residual(&solved)));
                if is_best {
                    best = Some(solved);
                }
                outcome
            }
            Err(error) if number == last && best.is_none() => return Err(error),
            Err(error) => error.to_string(),
        };
        tried.push(Tried { candidate, outcome });
    }
    let best = best.expect("a last candidate without a solution has failed");
    let of_others = |tried: &Tried| {
        (tried.candidate.solver, &tried.candidate.pc) != (best.candidate.solver, &best.candidate.pc)
    };
    tried.retain(of_others);
    Ok(Solved { tried, ..best })
}

fn attempt<T: Field>(
    runtime: &Runtime,
    arguments: &SolveArguments,
    candidate: Candidate,
    patience: Option<usize>,
    (a, b): (&Csr<T>, &Vector<T>),
    monitor: &mut Option<Monitor<'_>>,
) -> Result<Solved<T>, Failure> {
    let begin = Instant::now();
    let preconditioner = candidate.pc.make(a, arguments.grid().as_deref())?;
    runtime.flush();
    let setup = begin.elapsed().as_secs_f64();
    let defaults = Options::<'_, T>::default();
    let options = Options {
        rtol: arguments.rtol,
        atol: arguments.atol,
        dtol: arguments.dtol,
        max_iter: arguments.max_iter.or(patience),
        preconditioner: preconditioner.as_deref(),
        checkpoint: arguments.checkpoint.as_ref().map(|file| Checkpoint {
            file,
            every: arguments.every,
        }),
        restart: arguments.restart_file(),
        restart_length: arguments
            .restart_length()
            .unwrap_or(defaults.restart_length),
        monitor: match monitor {
            Some(monitor) => Some(&mut **monitor),
            None => None,
        },
        ..defaults
    };
    let before = runtime.counters();
    let begin = Instant::now();
    let solution = candidate.solver.method().solve(a, b, options)?;
    Ok(Solved {
        candidate,
        solution,
        before,
        setup,
        solve: begin.elapsed().as_secs_f64(),
        tried: Vec::new(),
    })
}
