//! sparsefuse, as its users call it.
//!
//! The bytes are those that its runtime counts, in a run before the timed ones. Not so for dense
//! Jacobi, whose iterations are one fused task: that counts the matrix once, though each of its
//! products reads it; and not for what makes matrices.

mod multigrid;
mod structures;

use super::gate::Gate;
use super::{Order, Prepared, Seconds, fingerprint, input, inputs, next_batch, unknown, vector};
use crate::matrices;
use crate::work::LOBPCG_VECTORS;
use sparsefuse::solvers::eigen::{LobpcgOptions, lobpcg};
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Counters, Processes};
use sparsefuse::sparse::LocalRows;
use std::sync::Mutex;
use std::time::Instant;

const RATE: f64 = 0.02;
const VOLATILITY: f64 = 0.3;

/// What a unit of work has computed.
#[derive(Default)]
struct Results {
    vectors: Vec<Vector<f64>>,
    numbers: Vec<f64>,
    made: Option<structures::Made>,
    solve: Option<multigrid::Solve>,
}

/// Does the work once, with so many iterations.
type Once = Box<dyn FnMut(usize) -> Result<Results, Error>>;

/// With threads, in this process.
pub(super) fn prepare(order: &Order) -> Result<Prepared, String> {
    let config = config(order.threads);
    let runtime = Runtime::new(config).map_err(|error| error.to_string())?;
    on_runtime(order, &runtime)
}

/// With a rank in each of several processes, of which the first talks to the driver.
pub(super) fn run_on_processes(order: &Order) -> Result<(), String> {
    let text = |error: Error| error.to_string();
    let processes = Processes::join().map_err(text)?;
    let first = processes.all_gather(std::process::id().to_le_bytes().to_vec());
    let first = first.map_err(text)?[0].clone().try_into();
    let gate = Gate::new(u32::from_le_bytes(first.map_err(|_| "no process number")?));
    let is_first = processes.number() == 0;
    let gate = Mutex::new(gate);
    let outcomes = processes.run_ranks(1, &config(1), |runtime| {
        let mut gate = gate.lock().map_err(|_| "a rank has panicked")?;
        let mut prepared = on_runtime(order, runtime)?;
        if is_first {
            prepared.introduce();
        }
        loop {
            let repetitions = if is_first {
                let repetitions = next_batch()?;
                gate.tell(repetitions)?;
                repetitions
            } else {
                gate.hear()
            };
            let meet = || runtime.all_gather(&[0_u32]).map(drop).map_err(text);
            meet()?;
            let Some(repetitions) = repetitions else {
                return Ok(());
            };
            let begin = Instant::now();
            (prepared.batch)(repetitions);
            meet()?;
            if is_first {
                let all = begin.elapsed().as_secs_f64();
                Seconds { all, setup: None }.say();
            }
        }
    });
    if let (true, Ok(gate)) = (is_first, gate.into_inner()) {
        gate.close();
    }
    outcomes.map_err(text)?.into_iter().collect()
}

fn config(threads: usize) -> Config {
    Config {
        threads,
        ..Config::default()
    }
}

/// Sets the work up, does it once for the check and a few times more to count what it moves.
fn on_runtime(order: &Order, runtime: &Runtime) -> Result<Prepared, String> {
    let mut once = runtime.enter(|| set_up(order))?;
    let results = runtime.enter(|| once(order.check_iterations()));
    let results = results.map_err(|error| error.to_string())?;
    let mut check = Vec::new();
    for vector in &results.vectors {
        let elements = vector.to_vec().map_err(|error| error.to_string())?;
        check.extend(fingerprint(&elements));
    }
    check.extend(results.numbers);
    if let Some(made) = results.made {
        check.extend(made.check().map_err(|error| error.to_string())?);
    }
    let solved = match (results.solve, results.vectors.first()) {
        (Some(solve), Some(x)) => {
            let x = x.to_vec().map_err(|error| error.to_string())?;
            Some((solve.iterations, multigrid::residual(order, &x)?))
        }
        _ => None,
    };
    let iterations = order.iterations;
    let is_counted = is_counted(order);
    let mut counted = |iterations: usize| match is_counted {
        true => count(iterations, runtime, &mut once),
        false => Ok(Counters::default()),
    };
    let units = if is_solve(order) { iterations } else { 1 } as f64;
    let sent = |counted: &Counters| [counted.messages, counted.bytes_sent, counted.reductions];
    let (once_as_many, twice_as_many) = (counted(iterations)?, counted(2 * iterations)?);
    let (total, twice) = (sent(&once_as_many), sent(&twice_as_many));
    let unit = |k: usize| match is_solve(order) {
        true => (twice[k] - total[k]) as f64 / units,
        false => total[k] as f64,
    };
    let beside = |k: usize| total[k] as f64 - units * unit(k);
    let traffic = std::array::from_fn(|k| if k < 3 { unit(k) } else { beside(k - 3) });
    let runtime = runtime.clone();
    Ok(Prepared {
        version: "sparsefuse, this checkout".to_owned(),
        bytes: is_counted.then(|| (once_as_many.bytes as f64 / units) as u64),
        traffic: (runtime.ranks() > 1).then_some(traffic),
        check,
        solved,
        batch: Box::new(move |repetitions| {
            runtime.enter(|| batch(&runtime, &mut once, iterations, repetitions))
        }),
    })
}

/// Does the work so many times. Solves time themselves, so that their results are dropped outside.
fn batch(runtime: &Runtime, once: &mut Once, iterations: usize, repetitions: usize) -> Seconds {
    let mut solves: Vec<multigrid::Solve> = Vec::new();
    let seconds = Seconds::of(repetitions, || {
        let results = once(iterations);
        runtime.flush();
        assert!(results.is_ok(), "what succeeded once succeeds again");
        solves.extend(results.ok().and_then(|results| results.solve));
    });
    if solves.is_empty() {
        return seconds;
    }
    Seconds {
        all: solves.iter().map(|solve| solve.seconds).sum(),
        setup: Some(solves.iter().map(|solve| solve.setup).sum()),
    }
}

/// What one run of the work moves, once the program repeats itself.
fn count(iterations: usize, runtime: &Runtime, once: &mut Once) -> Result<Counters, String> {
    let mut counted = Counters::default();
    for _ in 0..3 {
        let before = runtime.counters();
        let results = runtime.enter(|| once(iterations));
        runtime.flush();
        results.map_err(|error| error.to_string())?;
        let after = runtime.counters();
        counted.bytes = after.bytes - before.bytes;
        counted.messages = after.messages - before.messages;
        counted.bytes_sent = after.bytes_sent - before.bytes_sent;
        counted.reductions = after.reductions - before.reductions;
    }
    Ok(counted)
}

/// Whether the runtime's count of bytes is that of the work: it knows tasks, and not what is done
/// on structures.
fn is_counted(order: &Order) -> bool {
    let uncounted = [
        "jacobi",
        "multiply",
        "transpose",
        "triplets",
        "triplets-scattered",
        "gmg",
        "amg",
        "lobpcg",
    ];
    !uncounted.contains(&order.work.as_str())
}

fn is_solve(order: &Order) -> bool {
    matches!(order.work.as_str(), "cg" | "cgs" | "bicgstab" | "gmres" | "fgmres")
}

fn set_up(order: &Order) -> Result<Once, String> {
    match order.work.as_str() {
        "spmv" => product(order),
        "cg" => solve(order, cg_with),
        "cgs" => solve(order, cgs_with),
        "bicgstab" => solve(order, bicgstab_with),
        "gmres" => solve(order, gmres_with),
        "fgmres" => solve(order, fgmres_with),
        "lobpcg" => eigenvalues(order),
        "multiply" | "spmm" | "transpose" | "triplets" | "triplets-scattered" => {
            structures::set_up(order)
        }
        "gmg" | "amg" => multigrid::set_up(order),
        "black-scholes" => black_scholes(elements(order)?),
        "combination" => combination(elements(order)?),
        "jacobi" => jacobi(elements(order)?),
        _ => Err(unknown(order)),
    }
}

fn elements(order: &Order) -> Result<usize, String> {
    let parsed = order.matrix.parse();
    parsed.map_err(|_| format!("{}: expected a number of elements", order.matrix))
}

fn matrix(order: &Order) -> Result<(Csr<f64>, Vector<f64>), String> {
    let LocalRows { pos, crd, vals } = matrices::read(&order.matrix)?;
    let n = pos.len() - 1;
    let a = Csr::new(n, n, pos, crd, vals).map_err(|error| error.to_string())?;
    Ok((a, Vector::from_vec(vector(order, n))))
}

fn product(order: &Order) -> Result<Once, String> {
    let (a, x) = matrix(order)?;
    Ok(Box::new(move |_| {
        Ok(Results {
            vectors: vec![&a * &x],
            ..Results::default()
        })
    }))
}

type Solver =
    fn(&dyn LinearOperator<f64>, &Vector<f64>, Options<'_, f64>) -> Result<Solution<f64>, Error>;

fn solve(order: &Order, solver: Solver) -> Result<Once, String> {
    let (a, b) = matrix(order)?;
    Ok(Box::new(move |iterations| {
        let options = Options {
            rtol: 0.0,
            max_iter: Some(iterations),
            ..Options::default()
        };
        let solution = solver(&a, &b, options)?;
        assert_eq!(solution.iterations, iterations, "{}", solution.reason);
        Ok(Results {
            vectors: vec![solution.x],
            ..Results::default()
        })
    }))
}

/// The smallest eigenvalues, from vectors of the input.
fn eigenvalues(order: &Order) -> Result<Once, String> {
    let (a, _) = matrix(order)?;
    let n = a.shape().0;
    let column = |k: usize| Vector::from_vec((0..n).map(|i| input(k * n + i, 0) - 0.5).collect());
    let start: Vec<Vector<f64>> = (0..LOBPCG_VECTORS).map(column).collect();
    Ok(Box::new(move |iterations| {
        let options = LobpcgOptions {
            tol: 0.0,
            max_iter: Some(iterations),
            ..LobpcgOptions::default()
        };
        let found = lobpcg(&a, &start, &options)?;
        Ok(Results {
            numbers: found.values,
            ..Results::default()
        })
    }))
}

fn black_scholes(n: usize) -> Result<Once, String> {
    let scaled = |stream, low, width| {
        let elements = (0..n).map(|i| low + width * input(i, stream));
        Vector::from_vec(elements.collect::<Vec<f64>>())
    };
    let spot = scaled(0, 10.0, 40.0);
    let strike = scaled(1, 10.0, 40.0);
    let years = scaled(2, 1.0, 1.0);
    Ok(Box::new(move |_| {
        let cumulative =
            |x: &Vector<f64>| ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
        let root = years.sqrt() * VOLATILITY;
        let drift = &years * (RATE + 0.5 * VOLATILITY * VOLATILITY);
        let d1 = ((&spot / &strike).ln() + drift) / &root;
        let d2 = &d1 - &root;
        let discounted = &strike * (&years * -RATE).exp();
        let call = &spot * cumulative(&d1) - &discounted * cumulative(&d2);
        let put = &discounted * cumulative(&-&d2) - &spot * cumulative(&-&d1);
        Ok(Results {
            vectors: vec![call, put],
            ..Results::default()
        })
    }))
}

/// y = a x + b z - c, and the sum of y.
fn combination(n: usize) -> Result<Once, String> {
    let (a, b, c) = (1.5, -0.7, 0.25);
    let x = Vector::from_vec(inputs(n, 0));
    let z = Vector::from_vec(inputs(n, 1));
    Ok(Box::new(move |_| {
        let y = &x * a + &z * b - c;
        let sum = y.sum().get()?;
        Ok(Results {
            vectors: vec![y],
            numbers: vec![sum],
            ..Results::default()
        })
    }))
}

/// Jacobi's method with a dense matrix: x = (b - R x) / d.
fn jacobi(n: usize) -> Result<Once, String> {
    let a = Array::<f64, 2>::from_fn([n, n], |[i, j]| {
        let off_diagonal = input(i * n + j, 0) / n as f64;
        if i == j { 0.0 } else { off_diagonal }
    });
    let b = Vector::from_vec(inputs(n, 1));
    let d = Vector::from_vec(inputs(n, 2)) + 2.0;
    Ok(Box::new(move |iterations| {
        let mut x = Vector::zeros([n]);
        for _ in 0..iterations {
            x = (&b - a.matvec(&x)) / &d;
        }
        Ok(Results {
            vectors: vec![x],
            ..Results::default()
        })
    }))
}
