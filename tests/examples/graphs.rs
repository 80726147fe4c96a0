//! Graphs of tasks beside loops.

use crate::{
    block_cholesky, block_jacobi, block_product, check_result, everywhere, low_rank_product,
    synthetic_graphs, task_bench, tree_n_body,
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
fn sweeps_on_blocks_are_those_of_loops_to_the_bit() {
    // Blocks of 7, the last of which has 4 rows or columns.
    let (n, steps) = (25, 6);
    let arguments = ["--size", "25", "--steps", "6", "--block", "7"];
    let report = everywhere(&block_jacobi::ABOUT, &arguments, block_jacobi::program);
    let mut u = vec![0.0; n * n];
    for _ in 0..steps {
        let at = |i: usize, j: usize| match (i, j) {
            (0, _) => 1.0,
            (i, j) if i > n || j == 0 || j > n => 0.0,
            (i, j) => u[(i - 1) * n + j - 1],
        };
        let next = |i, j| (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) * 0.25;
        u = (0..n * n)
            .map(|place| next(place / n + 1, place % n + 1))
            .collect();
    }
    check_result(&report, &u, 0.0);
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
fn the_product_of_low_rank_is_that_of_loops() {
    // Blocks of 7, the last of which has 2 rows or columns, fewer than the rank.
    let (n, block, rank) = (23, 7, 4);
    let arguments = ["--size", "23", "--steps", "2", "--block", "7"];
    let about = &low_rank_product::ABOUT;
    let report = everywhere(about, &arguments, low_rank_product::program);
    let number =
        |r: usize, c: usize, [p, q]: [usize; 2]| ((p * r + q * c) % 101) as f64 / 101.0 - 0.5;
    let element = |r: usize, c: usize, [p, q]: [usize; 2]| {
        let (i, j) = (r / block, c / block);
        let term =
            |k: usize| number(r, j * rank + k, [q, p]) * number(c, i * rank + k, [p + 1, q + 1]);
        match i == j {
            true => number(r, c % block, [p, q]),
            false => (0..rank).map(term).sum(),
        }
    };
    let sum = |r: usize, c: usize| {
        let terms = (0..n).map(|k| element(r, k, [7, 13]) * element(k, c, [13, 7]));
        2.0 * terms.sum::<f64>()
    };
    let c: Vec<f64> = (0..n * n).map(|place| sum(place / n, place % n)).collect();
    check_result(&report, &c, 1e-13);
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
        // The last time step of each point: of the wavefront, none for those that it does not
        // reach.
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

#[test]
fn bodies_of_a_tree_that_is_opened_move_as_by_direct_sums() {
    // Enough for a third level, below the branches.
    let (n, steps) = (150, 2);
    let arguments = ["--size", "150", "--steps", "2", "--theta"];
    let about = &tree_n_body::ABOUT;
    everywhere(
        about,
        &[&arguments[..], &["0.5"]].concat(),
        tree_n_body::program,
    );
    let report = everywhere(
        about,
        &[&arguments[..], &["0"]].concat(),
        tree_n_body::program,
    );
    if report.shape().is_empty() {
        return;
    }
    let digit = |mut number: usize, base: usize| {
        let (mut numerator, mut denominator) = (0, 1);
        while number > 0 {
            (numerator, denominator) = (numerator * base + number % base, denominator * base);
            number /= base;
        }
        numerator as f64 / denominator as f64
    };
    let mut at: Vec<[f64; 2]> = (1..=n).map(|i| [digit(i, 2), digit(i, 3)]).collect();
    let mut velocity = vec![[0.0; 2]; n];
    for _ in 0..steps {
        let before = at.clone();
        for (i, velocity) in velocity.iter_mut().enumerate() {
            for other in &before {
                let [x, y] = [0, 1].map(|d| other[d] - before[i][d]);
                let factor = 1e-3 / n as f64 / (x * x + y * y + 1e-4).powf(1.5);
                *velocity = [velocity[0] + factor * x, velocity[1] + factor * y];
            }
            at[i] = [0, 1].map(|d| before[i][d] + 1e-3 * velocity[d]);
        }
    }
    // The report has them along a curve.
    let mut found: Vec<[f64; 2]> = report.values().chunks(2).map(|at| [at[0], at[1]]).collect();
    for bodies in [&mut found, &mut at] {
        bodies.sort_by(|a, b| a[0].total_cmp(&b[0]));
    }
    for (found, expected) in found.iter().zip(&at) {
        let difference = f64::hypot(found[0] - expected[0], found[1] - expected[1]);
        assert!(difference < 1e-13, "{found:?}, expected {expected:?}");
    }
}
