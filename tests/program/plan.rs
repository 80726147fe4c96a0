//! The dry run: what `sparsefuse plan` counts for each rank is what each of as many real ranks
//! does.

use super::text;
use serde_json::Value;
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Config, Counters, run_ranks};
use sparsefuse::solvers::{Jacobi, LinearOperator, Method, Options};
use sparsefuse::sparse::{Csr, gallery};
use sparsefuse_testing::small;
use std::ops::ControlFlow;
use std::process::{Command, Output};

const TILE: usize = 16;

fn run(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
        .args(line.split_whitespace())
        .env("SPARSEFUSE_TILE", TILE.to_string())
        .env("SPARSEFUSE_CUT", "1")
        .output()
        .unwrap()
}

fn plan(line: &str) -> Value {
    let output = run(&format!("plan {line} --json"));
    assert_eq!(text(&output.stderr), "", "{line}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a real rank has and does in an iteration.
#[derive(Debug, PartialEq)]
struct Real {
    rows: usize,
    nonzeros: usize,
    messages: u64,
    bytes_sent: u64,
    reductions: u64,
    fused_tasks: u64,
    bytes: u64,
    peak_memory: usize,
}

type Make = fn() -> Result<Csr<f64>, Error>;

/// Iterations between the two looks at the counters of a real run.
const FROM: usize = 4;
const UNTIL: usize = 8;

fn real(ranks: usize, make: Make, solver: &str, is_preconditioned: bool) -> Vec<Real> {
    let config = Config {
        tile_len: TILE,
        native: None,
        ..small()
    };
    let on_rank = |runtime: &Runtime| {
        let a = make()?;
        let (rows, local) = a.local_rows()?;
        let nonzeros = local.crd.len();
        drop(local);
        let b = &a * &Vector::ones([a.n_cols()]);
        let jacobi = match is_preconditioned {
            true => Some(Jacobi::new(&a)?),
            false => None,
        };
        let preconditioner = jacobi
            .as_ref()
            .map(|jacobi| jacobi as &dyn LinearOperator<f64>);
        runtime.flush();
        let mut looks: Vec<Counters> = Vec::new();
        let mut monitor = |iteration: usize, _: f64| {
            if iteration == FROM || iteration == UNTIL {
                looks.push(runtime.counters());
            }
            ControlFlow::Continue(())
        };
        let options = Options {
            rtol: 0.0,
            max_iter: Some(UNTIL),
            preconditioner,
            monitor: Some(&mut monitor),
            ..Options::default()
        };
        let method = Method::from_name(&solver.replace('-', "_")).unwrap();
        let _ = method.solve(&a, &b, options)?;
        let [from, until] = looks[..] else {
            panic!("the solve takes {UNTIL} iterations");
        };
        let each =
            |count: fn(&Counters) -> u64| (count(&until) - count(&from)) / (UNTIL - FROM) as u64;
        Ok(Real {
            rows: rows.len(),
            nonzeros,
            messages: each(|counters| counters.messages),
            bytes_sent: each(|counters| counters.bytes_sent),
            reductions: each(|counters| counters.reductions),
            fused_tasks: each(|counters| counters.fused_tasks),
            bytes: each(|counters| counters.bytes),
            peak_memory: runtime.peak_memory(),
        })
    };
    let ranks = run_ranks(ranks, &config, on_rank).unwrap();
    ranks.into_iter().collect::<Result<_, Error>>().unwrap()
}

/// Compares a plan with real runs at 1, 2, 3, 4 and 8 ranks.
fn check(source: &str, make: Make, solver: &str, is_preconditioned: bool) {
    let pc = if is_preconditioned { "jacobi" } else { "none" };
    for ranks in [1, 2, 3, 4, 8] {
        let line = format!("{source} --ranks {ranks} --solver {solver} --pc {pc}");
        let plan = plan(&line);
        let rows = plan["per_rank"].as_array().unwrap().iter();
        let number = |row: &Value, field: &str| row[field].as_u64().unwrap();
        let planned: Vec<Real> = rows
            .map(|row| Real {
                rows: number(row, "rows") as usize,
                nonzeros: number(row, "nonzeros") as usize,
                messages: number(row, "ghost_messages"),
                bytes_sent: number(row, "ghost_bytes"),
                reductions: number(&plan, "reductions_per_iteration"),
                fused_tasks: number(&plan, "fused_tasks_per_iteration"),
                bytes: number(row, "bytes"),
                peak_memory: number(row, "peak_memory_bytes") as usize,
            })
            .collect();
        let mut real = real(ranks, make, solver, is_preconditioned);
        if source.starts_with("rmat") {
            // A planned rank draws the edges of all ranks, and holds them for a while.
            for (real, planned) in real.iter_mut().zip(&planned) {
                assert!(planned.peak_memory >= real.peak_memory, "{line}");
                real.peak_memory = planned.peak_memory;
            }
        }
        assert_eq!(planned, real, "{line}");
    }
}

#[test]
fn stencils_are_counted_as_they_run() {
    check("poisson2d:24", || gallery::poisson2d(24), "cg", false);
    check("poisson3d:9", || gallery::poisson3d(9), "cg", true);
    check(
        "diffusion2d:20",
        || gallery::diffusion2d(20),
        "bicgstab",
        false,
    );
}

#[test]
fn bands_and_graphs_are_counted_as_they_run() {
    check("banded:500,9", || gallery::banded(500, 9), "cgs", true);
    check(
        "random:400,5,3",
        || gallery::random(400, 5, 3),
        "bicgstab",
        true,
    );
    check("rmat:9", || gallery::rmat(9, 16, 1), "cgs", false);
}

#[test]
fn every_method_that_is_planned_is_counted_as_it_runs() {
    for method in ["single-reduction-cg", "pipelined-cg", "minres", "tfqmr"] {
        check("poisson2d:24", || gallery::poisson2d(24), method, false);
        check("poisson2d:20", || gallery::poisson2d(20), method, true);
    }
}

#[test]
fn many_ranks_are_planned_as_few_are() {
    let small = plan("poisson2d:64 --ranks 4");
    let large = plan("poisson2d:64 --ranks 256");
    for field in [
        "fused_tasks_per_iteration",
        "reductions_per_iteration",
        "nnz",
        "rows",
    ] {
        assert_eq!(small[field], large[field], "{field}");
    }
    // 16 rows of the matrix a rank; each needs the 16 above and below, and two beside them.
    let row = &large["per_rank"][130];
    for (field, expected) in [("rows", 16), ("ghosts", 34), ("neighbours", 4)] {
        assert_eq!(row[field], expected, "{field}");
    }
    // Half of the messages of a tree of 256 ranks are those of its leaves.
    assert_eq!(large["spread"]["reduction_messages"]["min"], 2.0);
    assert_eq!(large["spread"]["reduction_messages"]["max"], 16.0);
    assert_eq!(large["spread"]["reduction_messages"]["rank_of_max"], 0);
    // More ranks than tiles: some have nothing to do.
    let idle = plan("poisson2d:8 --ranks 9");
    assert_eq!(idle["spread"]["rows"]["min"], 0.0);
    assert_eq!(idle["rows"], 64);
}

#[test]
fn the_model_is_what_the_help_says() {
    let machine = "--latency 0.5 --bandwidth 16 --flops 1e3 --memory-bandwidth 1e30";
    let plan = plan(&format!("poisson2d:24 --ranks 3 {machine}"));
    for row in plan["per_rank"].as_array().unwrap() {
        let number = |field: &str| row[field].as_f64().unwrap();
        assert_eq!(number("compute_s"), number("flops") / 1e3);
        let messages = number("ghost_messages") + number("reduction_messages");
        let bytes = number("ghost_bytes") + number("reduction_bytes");
        assert_eq!(number("communication_s"), messages * 0.5 + bytes / 16.0);
    }
    let slowest = plan["slowest_rank"].as_u64().unwrap() as usize;
    let row = &plan["per_rank"][slowest];
    let time = row["compute_s"].as_f64().unwrap() + row["communication_s"].as_f64().unwrap();
    assert_eq!(plan["iteration_s"].as_f64().unwrap(), time);
}

#[test]
fn the_report_has_a_line_for_each_figure() {
    let output = run("plan poisson2d:24 --ranks 4");
    let report = text(&output.stdout);
    for expected in [
        "matrix     poisson2d:24",
        "ranks      4",
        "iteration  2 fused tasks, 2 reductions over all ranks",
        "each rank                        min          mean           max  on rank",
        "neighbours                         1           1.5             2  1",
        "messages, ghosts                   1           1.5             2  1",
    ] {
        assert!(report.contains(expected), "{expected}:\n{report}");
    }
}

#[test]
fn what_cannot_be_planned_is_refused() {
    for (line, expected) in [
        (
            "plan tests/data/general.mtx --ranks 2",
            "expected a generator, of which each rank makes its own rows, found a file",
        ),
        ("plan poisson2d:24", "were not provided: --ranks <N>"),
        ("plan poisson2d:24 --ranks 0", "from 1 to 65536, found 0"),
        (
            "plan poisson2d:24 --ranks 2 --bandwidth 0",
            "expected a number above 0, found 0",
        ),
        (
            "plan poisson2d:24 --ranks 2 --latency -1",
            "expected a number that is 0 or more",
        ),
        (
            "plan banded:4294967295,4294967295 --ranks 2",
            "expected a matrix that fits",
        ),
    ] {
        let output = run(line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert_eq!(complaint.matches('\n').count(), 1, "{line}: {complaint}");
        assert!(complaint.contains(expected), "{line}: {complaint}");
    }
}
