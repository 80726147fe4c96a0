//! Graphs of tasks beside loops.

use crate::{
    block_cholesky, block_product, check_result, everywhere, synthetic_graphs, task_bench,
};

#[test]
fn the_factor_in_blocks_is_that_of_loops() {
    let n = 40;
    let arguments = ["--size", "40", "--steps", "2", "--block", "8"];
    let report = everywhere(&block_cholesky::ABOUT, &arguments, block_cholesky::program);
    let a = |i: usize, j: usize| {
        let sum = (7 * i + 13 * j) % 101 + (13 * i + 7 * j) % 101;
        sum as f64 / 202.0 + if i == j { n as f64 } else { 0.0 }
    };
    let mut l = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            let known: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a(i, j) - known;
            l[i * n + j] = match i == j {
                true => rest.sqrt(),
                false => rest / l[j * n + j],
            };
        }
    }
    check_result(&report, &l, 1e-14);
}

#[test]
fn the_product_in_blocks_is_that_of_loops_to_the_bit() {
    // Blocks of 7, the last of which has 4 rows or columns.
    let n = 25;
    let arguments = ["--size", "25", "--steps", "2", "--block", "7"];
    let report = everywhere(&block_product::ABOUT, &arguments, block_product::program);
    let a = |i: usize, j: usize| ((7 * i + 13 * j) % 101) as f64 / 101.0;
    let b = |i: usize, j: usize| ((13 * i + 7 * j) % 101) as f64 / 101.0;
    let mut c = vec![0.0; n * n];
    for _ in 0..2 {
        for k in 0..n {
            for (place, c) in c.iter_mut().enumerate() {
                *c += a(place / n, k) * b(k, place % n);
            }
        }
    }
    check_result(&report, &c, 0.0);
}

#[test]
fn every_task_of_a_synthetic_graph_runs_once() {
    for (graph, size, expected) in [
        ("serial", "9", [10.0, 1.0, 1.0]),
        ("independent", "9", [2.0, 2.0, 2.0]),
        ("reduction", "11", [11.0, 1.0, 2.0]),
    ] {
        let arguments = ["--size", size, "--steps", "2", "--graph", graph];
        let arguments = [&arguments[..], &["--beside", "rayon"]].concat();
        let about = &synthetic_graphs::ABOUT;
        let report = everywhere(about, &arguments, synthetic_graphs::program);
        if report.shape().is_empty() {
            continue;
        }
        let first: Vec<f64> = report.values().iter().step_by(8).take(3).copied().collect();
        assert_eq!(first, expected, "{graph}");
    }
}

#[test]
fn every_point_of_task_bench_gets_its_inputs_in_both_forms() {
    let (width, steps) = (40_usize, 10_usize);
    for pattern in ["stencil_1d", "nearest", "fft", "no_comm", "tree", "dom"] {
        // The last time step of each point: of the wavefront, none for those that it does not reach.
        let last = |i: usize| match pattern {
            "dom" => (0..steps).rev().find(|&t| {
                let first = (t + width).saturating_sub(steps);
                (first..first + (t + 1).min(steps - t)).contains(&i)
            }),
            "tree" => (i < 1 << (steps - 1)).then_some(steps - 1),
            _ => Some(steps - 1),
        };
        let output = |i| last(i).map_or(0.0, |t| t as f64 * 2f64.powi(32) + i as f64);
        let outputs: Vec<f64> = (0..width).map(output).collect();
        for form in ["tasks", "arrays"] {
            let arguments = ["--size", "40", "--steps", "2", "--time-steps", "10"];
            let arguments = [&arguments[..], &["--pattern", pattern, "--form", form]].concat();
            let report = everywhere(&task_bench::ABOUT, &arguments, task_bench::program);
            check_result(&report, &outputs, 0.0);
        }
    }
}
