//! `sparsefuse plan`: what each of many ranks would do in an iteration, one rank after the other.
//!
//! Each rank runs the solve on a runtime that analyses and does not compute; its rows are made, and
//! dropped before the next rank's. The third iteration is like all that follow. A rank learns what
//! others send to it; what it sends follows when all are done.

use super::Status;
use super::arguments::{PlanArguments, PlannedPc, Precision};
use super::failure::Failure;
use super::model::{Machine, Row, Table};
use super::output;
use super::source::Generator;
use super::together::Together;
use sparsefuse::Error;
use sparsefuse::kernels::Field;
use sparsefuse::prelude::Vector;
use sparsefuse::runtime::{Config, PlannedTask, Runtime, plan_rank};
use sparsefuse::solvers::{Jacobi, LinearOperator, Options};
use std::ops::{Add, ControlFlow};

/// The iterations that are planned; the last one is shown. A matrix is packed at its ninth product
/// at the latest.
const ITERATIONS: usize = 10;

/// Plans, and reports; the first process does.
pub(super) fn run(arguments: &PlanArguments, together: &Together) -> Result<Status, Failure> {
    let outcome = if together.is_first() {
        report(arguments)
    } else {
        Ok(Status::Done)
    };
    together.agree(together.processes.number(), outcome)
}

fn report(arguments: &PlanArguments) -> Result<Status, Failure> {
    let rows = match arguments.dtype {
        Precision::F32 => plan::<f32>(arguments),
        Precision::F64 => plan::<f64>(arguments),
    }?;
    let machine = Machine {
        latency: arguments.latency,
        bandwidth: arguments.bandwidth,
        flops: arguments.flops,
        memory_bandwidth: arguments.memory_bandwidth,
    };
    let table = Table::new(arguments, machine, rows);
    output::print(&if arguments.json {
        format!("{}\n", table.to_json())
    } else {
        table.to_text()
    })?;
    Ok(Status::Done)
}

fn plan<T: Field + Add<Output = T>>(arguments: &PlanArguments) -> Result<Vec<Row>, Failure> {
    let ranks = arguments.ranks;
    let generator = arguments.source.generator(ranks, size_of::<T>())?;
    let config = Config {
        native: None,
        threads: 1,
        profile: false,
        ..Config::from_env()?
    };
    let mut rows = Vec::with_capacity(ranks);
    let mut iterations = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        let planned = plan_rank(rank, ranks, &config, |runtime| {
            on_rank::<T>(runtime, arguments, generator)
        })?;
        let (row, tasks) = planned?;
        rows.push(row);
        iterations.push(tasks);
    }
    // What arrives at one rank was sent by another.
    for ghost in iterations.iter().flatten().flat_map(|task| &task.ghosts) {
        let sender = &mut rows[ghost.from];
        sender.ghost_messages += 1;
        sender.ghost_bytes += ghost.bytes;
    }
    Ok(rows)
}

/// What one rank does in an iteration, but for the ghosts that it sends.
fn on_rank<T: Field + Add<Output = T>>(
    runtime: &Runtime,
    arguments: &PlanArguments,
    generator: Generator,
) -> Result<(Row, Vec<PlannedTask>), Error> {
    let a = generator.make::<T>()?;
    let matrix_bytes = runtime.memory_in_use();
    let (rows, local) = a.local_rows()?;
    let (n_rows, nonzeros) = (rows.len(), local.crd.len());
    drop(local);
    let b = a.try_matvec(&Vector::ones([a.n_cols()]))?;
    let jacobi = match arguments.pc {
        PlannedPc::None => None,
        PlannedPc::Jacobi => Some(Jacobi::new(&a)?),
    };
    runtime.flush();
    let mut tasks = Vec::new();
    let mut monitor = |_: usize, _: f64| {
        tasks = runtime.take_plan();
        ControlFlow::Continue(())
    };
    let options = Options {
        rtol: 0.0,
        max_iter: Some(ITERATIONS),
        preconditioner: jacobi
            .as_ref()
            .map(|jacobi| jacobi as &dyn LinearOperator<T>),
        monitor: Some(&mut monitor),
        ..Options::default()
    };
    let solution = arguments.solver.method().solve(&a, &b, options)?;
    drop(solution);
    let row = Row::new(
        n_rows,
        nonzeros,
        matrix_bytes,
        runtime.peak_memory(),
        &tasks,
    );
    Ok((row, tasks))
}
